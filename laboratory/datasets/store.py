"""Where datasets are kept: find, download, verify, store. Nothing unverified carries a dataset's name."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from platformdirs import user_cache_path

from laboratory.datasets.catalogue import NAMES, Entry, entry
from sefr._system.atomic_file import atomic_file
from sefr._system.types import Array, Fields

_ROWS_PER_BLOCK = 256  # of float64: 10 MB for the widest dataset


class DatasetError(RuntimeError):
    """A dataset is missing, damaged or another one; the message says which file and what to do.

    Examples
    --------
    >>> from laboratory.datasets import DatasetError, load
    >>> try:
    ...     rows = len(load("sonar", download=False).y)
    ... except DatasetError:  # not at hand
    ...     rows = 208
    >>> rows
    208
    """


@dataclass(frozen=True)
class Dataset:
    """One dataset as its source has it: ``X`` (records x features, dense or CSR), ``y``, and its place.

    Examples
    --------
    >>> from laboratory import datasets
    >>> sonar = datasets.load("sonar")  # doctest: +SKIP
    >>> sonar.X.shape, sonar.title  # doctest: +SKIP
    ((208, 60), 'Sonar')
    """

    name: str
    title: str
    X: Array
    y: Array
    path: Path


def folders() -> tuple[Path, ...]:
    """Return the folders that are searched, first the one ``SEFR_DATA`` names, then the user's cache.

    Examples
    --------
    >>> from laboratory import datasets
    >>> len(datasets.folders()) >= 1
    True
    """
    cache = user_cache_path("sefr", appauthor=False)
    named = os.environ.get("SEFR_DATA")
    return (Path(named).expanduser(), cache) if named else (cache,)


def available() -> tuple[str, ...]:
    """Return the names of the paper's datasets that are at hand without a download.

    Examples
    --------
    >>> from laboratory import datasets
    >>> set(datasets.available()) <= set(datasets.NAMES)
    True
    """
    return tuple(name for name in NAMES if at_hand(name))


def at_hand(name: str) -> bool:
    """Tell whether a dataset is in one of the folders.

    Examples
    --------
    >>> from laboratory import datasets
    >>> datasets.at_hand("sonar") == ("sonar" in datasets.available())
    True
    """
    return _find(entry(name)) is not None


def load(name: str, *, download: bool = True) -> Dataset:
    """Load one of the paper's datasets, from a folder or its public source.

    Parameters
    ----------
    name : str
        One of ``laboratory.datasets.NAMES``.
    download : bool, default=True
        Fetch it where it is in none of the folders; otherwise that is an error.

    Raises
    ------
    DatasetError
        It cannot be had, or it is not what it should be. Nothing has been stored then.

    Examples
    --------
    >>> from laboratory import datasets
    >>> datasets.load("semeion").X.shape  # doctest: +SKIP
    (1593, 256)
    """
    item = entry(name)
    found = _find(item)
    if found is not None:
        X, y = _read_folder(item, found)
        return Dataset(item.name, item.title, X, y, found)
    if not download or not item.urls:
        raise DatasetError(f"{item.title} is not at hand. {_where_to_put(item)}")
    return _fetch(item)


def digest(X: Array, y: Array) -> str:
    """Return the sha256 of the values: X row by row as little-endian float64, then the rank of each label."""
    rows: Any = scipy.sparse.csr_matrix(X) if scipy.sparse.issparse(X) else np.asarray(X)
    state = hashlib.sha256(repr(tuple(map(int, rows.shape))).encode())
    for start in range(0, rows.shape[0], _ROWS_PER_BLOCK):
        block = rows[start : start + _ROWS_PER_BLOCK]
        dense = block.toarray() if scipy.sparse.issparse(block) else block
        state.update(np.ascontiguousarray(dense, dtype="<f8").tobytes())
    state.update(np.unique(y, return_inverse=True)[1].astype("<i4").tobytes())
    return state.hexdigest()


def verify(item: Entry, X: Array, y: Array, expected: str | None, origin: str) -> None:
    """Raise DatasetError unless shape, classes, values and (where known) digest are the catalogue's."""
    counts = tuple(sorted(np.unique(y, return_counts=True)[1].tolist()))
    values = X.data if scipy.sparse.issparse(X) else X
    if tuple(X.shape) != item.shape or len(y) != item.shape[0]:
        problem = f"has {X.shape[0]} records x {X.shape[1]} features and {len(y)} labels, not {item.shape}"
    elif counts != item.counts:
        problem = f"has classes of {counts} records, not {item.counts}"
    elif not np.isfinite(values).all():
        problem = "has a value that is not a finite number"
    elif expected is not None and digest(X, y) != expected:
        problem = "has the right shape but other values (checksum differs)"
    else:
        return
    raise DatasetError(f"{origin} is damaged or not {item.title}: it {problem}")


def _find(item: Entry) -> Path | None:
    """Return the .npz, or the folder that has all the original files (or a downloaded .zip of them)."""
    for folder in folders():
        if (folder / f"{item.name}.npz").is_file():
            return folder / f"{item.name}.npz"
        if item.files and all((folder / file).is_file() for file in item.files):
            return folder
        for url in item.urls:
            if url.endswith(".zip") and (folder / url.rsplit("/", 1)[1]).is_file():
                return folder / url.rsplit("/", 1)[1]
    return None


def _read_folder(item: Entry, path: Path) -> tuple[Array | scipy.sparse.csr_matrix, Array]:
    if path.suffix == ".npz":
        return _read_npz(item, path)
    if path.suffix == ".zip":
        return _read_originals(item, _unpack(item, path), str(path))
    return _read_originals(item, {file: (path / file).read_bytes() for file in item.files}, str(path))


def _read_npz(item: Entry, path: Path) -> tuple[Array | scipy.sparse.csr_matrix, Array]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
            parts = {key: content[key] for key in content.files}
        if "indptr" in parts:
            indices = parts["indices"].astype(np.int32)
            X = scipy.sparse.csr_matrix(
                (parts["data"], indices, parts["indptr"]), shape=tuple(parts["shape"].tolist())
            )
        else:
            X = parts["X"]
        y = parts["y"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DatasetError(f"{path} cannot be read ({error}); delete it and load again") from error
    recorded = str(parts["digest"]) if "digest" in parts else None
    verify(item, X, y, item.digest or recorded, str(path))
    return X, y


def _read_originals(
    item: Entry, content: Mapping[str, bytes], origin: str
) -> tuple[Array | scipy.sparse.csr_matrix, Array]:
    try:
        X, y = item.reader([content[file] for file in item.files])
    except Exception as error:  # Readers are parsers of foreign bytes: whatever they raise means "damaged".
        files = ", ".join(item.files)
        raise DatasetError(f"{origin}: {files} cannot be read as {item.title}: {error}") from error
    verify(item, X, y, item.digest, origin)
    return X, y


def _unpack(item: Entry, path: Path) -> dict[str, bytes]:
    """Return the original files inside a .zip, wherever in it they are."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.rsplit("/", 1)[-1]: member for member in archive.namelist()}
            return {file: archive.read(members[file]) for file in item.files}
    except (OSError, EOFError, KeyError, zipfile.BadZipFile, ValueError) as error:
        raise DatasetError(f"{path} is damaged or lacks one of {', '.join(item.files)}: {error}") from error


def _fetch(item: Entry) -> Dataset:
    """Download into a temporary folder, verify, and only then store under the dataset's name."""
    from laboratory.datasets.download import DownloadError, download

    target = _writable_folder(item)
    problems = []
    for url in item.urls:
        with tempfile.TemporaryDirectory(prefix=f".{item.name}-", dir=target) as scratch:
            try:
                path = download(url, Path(scratch), item.title)
                content = _unpack(item, path) if url.endswith(".zip") else {item.files[0]: path.read_bytes()}
                X, y = _read_originals(item, content, url)
            except (DownloadError, DatasetError) as error:
                problems.append(str(error))
                continue
            stored = _write_npz(item, X, y, url, target)
            return Dataset(item.name, item.title, X, y, stored)
    raise DatasetError(f"{item.title} could not be downloaded. {' '.join(problems)} {_where_to_put(item)}")


def _write_npz(item: Entry, X: Array | scipy.sparse.csr_matrix, y: Array, url: str, target: Path) -> Path:
    parts: Fields = {"y": y, "digest": np.array(digest(X, y)), "source": np.array(url)}
    if not isinstance(X, np.ndarray):
        shape = np.array(X.shape)
        parts |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": shape}
    else:
        parts["X"] = X
    final = target / f"{item.name}.npz"
    with atomic_file(final) as file:
        np.savez_compressed(file, **parts)
    return final


def _writable_folder(item: Entry) -> Path:
    for folder in folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Root may write anywhere: a folder marked read-only is left alone all the same.
            if not folder.stat().st_mode & stat.S_IWUSR:
                continue
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    tried = " and ".join(map(str, folders()))
    raise DatasetError(
        f"{item.title} cannot be stored: no writing to {tried}. Set SEFR_DATA to a folder of yours."
    )


def _where_to_put(item: Entry) -> str:
    files = " and ".join(item.files or (f"{item.name}.npz",))
    source = f"Get it from {' or '.join(item.urls)} and put" if item.urls else "Put"
    places = " or ".join(map(str, folders()))
    return f"{source} {files} into {places}, or name another folder in SEFR_DATA."
