"""What the paper's datasets are: shape, classes, where they come from, and how to know that a copy is right.

``digest`` is the sha256 of the values themselves (see ``store.digest``), so it holds for every format and
mirror. The three datasets without one could not be compared with a second source when this was written: the
digest of their first download is stored with them and compared from then on.
"""

from __future__ import annotations

from dataclasses import dataclass

from laboratory.datasets import readers

UCI = "https://archive.ics.uci.edu/static/public"
ASU = "https://jundongl.github.io/scikit-feature/files/datasets"
OPENML = "https://www.openml.org/data/download"


@dataclass(frozen=True)
class Entry:
    """One dataset.

    ``counts``: rows per class, smallest first. ``files``: the original files the reader takes, in its order.
    ``urls``: where to get them, tried in turn; each is the one file itself or a .zip that has all of them.
    """

    name: str
    title: str
    shape: tuple[int, int]
    counts: tuple[int, ...]
    reader: readers.Reader
    files: tuple[str, ...]
    urls: tuple[str, ...]
    origin: str
    licence: str
    digest: str | None = None


_ASU_LICENCE = "not stated by the source"

_ENTRIES = (
    Entry(
        name="gli_85",
        title="GLI_85",
        shape=(85, 22283),
        counts=(26, 59),
        reader=readers.mat,
        files=("GLI_85.mat",),
        urls=(f"{ASU}/GLI_85.mat",),
        origin="ASU feature selection repository; GEO series GSE4412",
        licence=_ASU_LICENCE,
    ),
    Entry(
        name="smk_can_187",
        title="SMK_CAN_187",
        shape=(187, 19993),
        counts=(90, 97),
        reader=readers.mat,
        files=("SMK_CAN_187.mat",),
        urls=(f"{ASU}/SMK_CAN_187.mat",),
        origin="ASU feature selection repository; GEO series GSE4115",
        licence=_ASU_LICENCE,
    ),
    Entry(
        name="basehock",
        title="BASEHOCK",
        shape=(1993, 4862),
        counts=(994, 999),
        reader=readers.mat,
        files=("BASEHOCK.mat",),
        urls=(f"{ASU}/BASEHOCK.mat",),
        origin="ASU feature selection repository; 20 Newsgroups, baseball against hockey",
        licence=_ASU_LICENCE,
        digest="6806038a4a16707364cbde3c121bc635bba76fb16565bc8df764e1933d5f79b6",
    ),
    Entry(
        name="gisette",
        title="Gisette",
        shape=(7000, 5000),
        counts=(3500, 3500),
        reader=readers.nips,
        files=(
            "gisette_train.data",
            "gisette_train.labels",
            "gisette_valid.data",
            "gisette_valid.labels",
        ),
        urls=(f"{UCI}/170/gisette.zip",),
        origin="NIPS 2003 feature selection challenge; UCI, doi 10.24432/C5HP5B",
        licence="CC BY 4.0",
    ),
    Entry(
        name="sonar",
        title="Sonar",
        shape=(208, 60),
        counts=(97, 111),
        reader=readers.sonar,
        files=("sonar.all-data",),
        urls=(f"{UCI}/151/connectionist+bench+sonar+mines+vs+rocks.zip",),
        origin="UCI, Connectionist Bench, doi 10.24432/C5T01Q",
        licence="CC BY 4.0",
        digest="229edcd9e25d56e113882cf9d87b72d851a5d371d98da153ebcba84ba0e6850e",
    ),
    Entry(
        name="cnae_9",
        title="CNAE-9",
        shape=(1080, 856),
        counts=(120,) * 9,
        reader=readers.label_first,
        files=("CNAE-9.data",),
        urls=(f"{UCI}/233/cnae+9.zip",),
        origin="UCI, CNAE-9, doi 10.24432/C51G7P",
        licence="CC BY 4.0",
        digest="157ecd96e1d3d48a96d2d6e39916353c4d819566467ac881b9aa77ee6fbbb7e6",
    ),
    Entry(
        name="waveform_5000",
        title="Waveform 5000",
        shape=(5000, 40),
        counts=(1653, 1655, 1692),
        reader=readers.arff,
        files=("dataset_60_waveform-5000.arff",),
        urls=(f"{OPENML}/60/dataset_60_waveform-5000.arff",),
        origin="UCI, Waveform Database Generator (Version 2), as OpenML dataset 60",
        licence="CC BY 4.0",
        digest="0043ed8607386ed639da2ab49835476f2ea2392e6cfaf295e4129b1b0ebb237e",
    ),
    Entry(
        name="semeion",
        title="Semeion",
        shape=(1593, 256),
        counts=(155, 158, 158, 159, 159, 159, 161, 161, 161, 162),
        reader=readers.one_hot_last,
        files=("semeion.data",),
        urls=(f"{UCI}/178/semeion+handwritten+digit.zip",),
        origin="UCI, Semeion Handwritten Digit, doi 10.24432/C5SC8V",
        licence="CC BY 4.0",
        digest="86c228eab93bac22b61fb67347ec305f66b393437c8129167a75f00fbadee5bf",
    ),
)

# Not the paper's Gisette, and not to be compared with its row: the 6000 training records with the first 1000
# features. Used where Gisette's kind of values matters. No public source: it is read from a folder only.
GISETTE_PART = Entry(
    name="gisette_part_6000x1000",
    title="Gisette, part",
    shape=(6000, 1000),
    counts=(3000, 3000),
    reader=readers.nips,
    files=(),
    urls=(),
    origin="NIPS 2003 feature selection challenge; UCI, doi 10.24432/C5HP5B",
    licence="CC BY 4.0",
)

NAMES = tuple(item.name for item in _ENTRIES)

_BY_NAME = {item.name: item for item in (*_ENTRIES, GISETTE_PART)}


def entry(name: str) -> Entry:
    """Return the catalogue's entry; ``name`` as in ``NAMES``, letter case and ``-`` for ``_`` forgiven.

    Examples
    --------
    >>> from laboratory import datasets
    >>> datasets.entry("waveform-5000").name
    'waveform_5000'
    """
    found = _BY_NAME.get(name.lower().replace("-", "_"))
    if found is None:
        raise KeyError(f"no dataset {name!r}; there are {', '.join(NAMES)}")
    return found
