"""The original file formats: bytes in, (X, y) out. Nothing is scaled, shuffled or filtered.

A reader gets the bytes of the files its catalogue entry lists, in that order. Whole numbers come back in the
smallest integer type that holds them, everything else as float64, so a dataset has the same type whichever
way it was stored.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from sefr._system.types import Array

Rows = tuple[Array | scipy.sparse.csr_matrix, Array]
Reader = Callable[[Sequence[bytes]], Rows]


def compact(X: Any) -> Any:
    """Return X in the smallest type that holds its values: (u)int8..64 for whole numbers, else float64."""
    values = X.data if scipy.sparse.issparse(X) else X
    if values.dtype.kind == "f" and not np.array_equal(values, np.rint(values)):
        return X.astype(np.float64)
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    return X.astype(np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high)))


def mat(files: Sequence[bytes]) -> Rows:
    """MATLAB file of the ASU feature selection repository: X (dense or sparse) and Y, a column."""
    content = scipy.io.loadmat(io.BytesIO(files[0]))
    X, y = content["X"], np.ravel(content["Y"])
    if scipy.sparse.issparse(X):
        X = scipy.sparse.csr_matrix(X)
        X.sort_indices()
    return compact(X), compact(y)


def nips(files: Sequence[bytes]) -> Rows:
    """NIPS 2003 challenge text: .data and .labels files in pairs, blank-separated, put together."""
    data, labels = files[0::2], files[1::2]
    X = np.concatenate([np.loadtxt(io.BytesIO(part), dtype=np.int64, ndmin=2) for part in data])
    y = np.concatenate([np.loadtxt(io.BytesIO(part), dtype=np.int64, ndmin=1) for part in labels])
    return compact(X), compact(y)


def sonar(files: Sequence[bytes]) -> Rows:
    """UCI text: 60 values and a letter, R for rock (0) or M for mine (1), separated by commas."""
    table = np.loadtxt(io.BytesIO(files[0]), dtype=str, delimiter=",", ndmin=2)
    letters = np.char.strip(table[:, -1])
    unknown = set(letters.tolist()) - {"R", "M"}
    if unknown:
        raise ValueError(f"label {sorted(unknown)[0]!r} is neither R nor M")
    return compact(table[:, :-1].astype(np.float64)), (letters == "M").astype(np.uint8)


def label_first(files: Sequence[bytes]) -> Rows:
    """UCI text: the label and then the values, separated by commas."""
    table = np.loadtxt(io.BytesIO(files[0]), delimiter=",", ndmin=2)
    return compact(table[:, 1:]), compact(table[:, 0])


def one_hot_last(files: Sequence[bytes]) -> Rows:
    """UCI text: the values and then one column per class, of which exactly one holds 1; blank-separated."""
    table = np.loadtxt(io.BytesIO(files[0]), ndmin=2)
    X, hot = table[:, :-10], table[:, -10:]
    if not (((hot == 0) | (hot == 1)).all() and (hot.sum(axis=1) == 1).all()):
        raise ValueError("the last ten columns do not name one class per row")
    return compact(X), compact(hot.argmax(axis=1))


def arff(files: Sequence[bytes]) -> Rows:
    """Weka's ARFF: numeric attributes, then the class as the last one."""
    from scipy.io.arff import loadarff

    records, meta = loadarff(io.StringIO(files[0].decode("ascii")))
    *columns, target = meta.names()
    X = np.column_stack([records[column].astype(np.float64) for column in columns])
    return compact(X), compact(records[target].astype(np.float64))
