"""Other tables than the twelve: what interactions gain where their form was checked, and not first chosen.

    python -m benchmarks.accuracy.others [--only METHOD ...] [--out FILE]

Five tables of regression whose target is cut into two and into five classes of about as many rows, sets of
the paper and of scikit-learn, and rows that scikit-learn draws. Nothing of auto=True and of second moments
was chosen on them. Writes ``others.csv`` beside this file, with the columns of ``tables.csv``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from sefr import SEFRClassifier

from . import sets
from .table_methods import Method, methods
from .tables import Group, TableOfRows, run

HERE = Path(__file__).parent
REGRESSION = ("abalone", "bike", "california", "concrete", "diabetes")
KNOWN = ("sonar", "semeion", "waveform_5000", "digits", "breast_cancer", "wine")
CLASSES = {"two": 2, "five": 5}
DRAWN: dict[str, Callable[[], tuple[Any, Any]]] = {
    "clusters, two classes": partial(
        datasets.make_classification,
        4000,
        20,
        n_informative=8,
        n_redundant=4,
        n_clusters_per_class=4,
        flip_y=0.05,
        random_state=1,
    ),
    "clusters, eight classes": partial(
        datasets.make_classification, 6000, 20, n_informative=10, n_classes=8, random_state=2
    ),
    "clusters, few rows": partial(
        datasets.make_classification, 500, 10, n_informative=5, flip_y=0.2, random_state=3
    ),
    "sum of squares": partial(datasets.make_hastie_10_2, 6000, random_state=0),
    "shells": partial(
        datasets.make_gaussian_quantiles, n_samples=4000, n_features=6, n_classes=4, random_state=0
    ),
}


def load(name: str) -> TableOfRows:
    """Return one of the tables."""
    of, _, classes = name.partition(", ")
    if of in REGRESSION:
        with np.load(sets.BESIDE / "tabular" / f"r_{of}.npz", allow_pickle=False) as data:
            y = data["y"].astype(np.float64)
            n = CLASSES[classes.split()[0]]
            labels = np.searchsorted(np.quantile(y, np.arange(1, n) / n), y)
            return TableOfRows(data["Xn"].astype(np.float64), data["Xc"].astype(np.int64), labels)
    X, y = DRAWN[name]() if name in DRAWN else sets.load(name)
    codes: NDArray[np.int64] = np.unique(y, return_inverse=True)[1]
    return TableOfRows(np.asarray(X, dtype=np.float64), np.empty((len(y), 0), dtype=np.int64), codes)


OTHERS = Group(
    (*(f"{name}, {number} classes" for name in REGRESSION for number in CLASSES), *KNOWN, *DRAWN), load
)


def compared() -> list[Method]:
    """Return auto, second moments, bins, interactions and, if it is installed, LightGBM."""
    ours: dict[str, dict[str, Any]] = {
        "SEFR, auto": {"auto": True},
        "SEFR, moments=2": {"moments": 2},
        "SEFR, moments=2, 32 bins": {"moments": 2, "bins": 32},
        "SEFR, moments=2, 16 bins, 40 interactions": {"moments": 2, "bins": 16, "interactions": 40},
    }
    new = [
        Method(name, partial(SEFRClassifier, n_jobs=1, **how), categories="bins" in how or "auto" in how)
        for name, how in ours.items()
    ]
    return new + [
        method
        for method in methods()
        if method.name == "LightGBM" or (" bins, " in method.name and "20 passes" in method.name)
    ]


if __name__ == "__main__":
    run(compared(), HERE / "others.csv", __doc__ or "", OTHERS)
