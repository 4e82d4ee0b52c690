"""How a dataset becomes folds. This is the protocol of every number in the report; docs/paper.md explains it.

Ten folds, stratified, shuffled with the row's seed. Features are scaled to [0, 1] by the lowest and highest
value of the nine training folds; the test fold may leave that range. Accuracy and macro F1 are means over
folds. Every method gets the same dense float64 arrays and labels 0..K-1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler

FOLDS = 10

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Data:
    """Records and labels as the methods see them, before scaling."""

    X: Floats
    y: Rows
    note: str = ""


@dataclass(frozen=True)
class Split:
    """One fold, scaled."""

    X_train: Floats
    y_train: Rows
    X_test: Floats
    y_test: Rows


def prepare(X: Any, y: Any) -> Data:
    """Return dense float64 records and labels 0..K-1."""
    dense = X.toarray() if scipy.sparse.issparse(X) else X
    return Data(np.ascontiguousarray(dense, dtype=np.float64), np.unique(y, return_inverse=True)[1])


def splitter(folds: int, seed: int) -> StratifiedKFold:
    """Return the splitter of the protocol."""
    return StratifiedKFold(folds, shuffle=True, random_state=seed)


def splits(data: Data, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield (training rows, test rows) fold by fold."""
    yield from splitter(folds, seed).split(data.X, data.y)


def split(data: Data, train: Rows, test: Rows) -> Split:
    """Return one fold with the scaling of its training rows."""
    scaler = MinMaxScaler().fit(data.X[train])
    return Split(scaler.transform(data.X[train]), data.y[train], scaler.transform(data.X[test]), data.y[test])
