"""How a dataset becomes folds. This is the protocol of every number in the report; docs/paper.md explains it.

Ten folds, stratified, shuffled with the row's seed. Features are scaled to [0, 1] by the lowest and highest
value of the nine training folds; the test fold may leave that range. Accuracy and macro F1 are means over
folds. Every method gets the same dense float64 arrays and labels 0..K-1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler

from sefr._system.types import Array, Floats, Indices

FOLDS = 10


@dataclass(frozen=True)
class Data:
    """Records and labels as the methods see them, before scaling."""

    X: Floats
    y: Indices
    note: str = ""


@dataclass(frozen=True)
class Split:
    """One fold, scaled."""

    X_train: Floats
    y_train: Indices
    X_test: Floats
    y_test: Indices


def prepare(X: Array | csr_array, y: Array) -> Data:
    """Return dense float64 records and labels 0..K-1."""
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    return Data(np.ascontiguousarray(dense, dtype=np.float64), np.unique(y, return_inverse=True)[1])


def splitter(folds: int, seed: int) -> StratifiedKFold:
    """Return the splitter of the protocol."""
    return StratifiedKFold(folds, shuffle=True, random_state=seed)


def splits(data: Data, folds: int, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """Yield (training rows, test rows) fold by fold."""
    yield from splitter(folds, seed).split(data.X, data.y)


def split(data: Data, train: Indices, test: Indices) -> Split:
    """Return one fold with the scaling of its training rows."""
    scaler = MinMaxScaler().fit(data.X[train])
    return Split(scaler.transform(data.X[train]), data.y[train], scaler.transform(data.X[test]), data.y[test])
