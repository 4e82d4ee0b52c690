"""Raw values as a board reads them: all of one type, with the words for a value that is not of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from .._system.types import Array

INPUTS = ("uint8", "int16", "int32", "float")
_CODES = {"uint8": "u1", "int16": "<i2", "int32": "<i4", "float": "<f4"}


def checked_values(X: Any, kind: str, n_features: int, *, missing: bool = False) -> NDArray[np.float64]:
    """Return the values (n, m) in float64, or say which one the board's type does not hold.

    Floats are what float32 makes of them; with ``missing`` they may be NaN.
    """
    finite: bool | str = "allow-nan" if missing and kind == "float" else True
    X = check_array(X, accept_sparse=False, dtype=np.float64, ensure_all_finite=finite)
    if X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the model has {n_features}")
    if kind == "float":
        with np.errstate(over="ignore"):
            return np.asarray(X.astype(np.float32), np.float64)
    limits = np.iinfo(np.dtype(kind))
    bad = (np.floor(X) != X) | (limits.min > X) | (limits.max < X)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"row {row}, feature {column}: {X[row, column]:g} is not a value of the board's input type "
            f"{kind} ({limits.min} to {limits.max}); choose another with input=..."
        )
    return np.asarray(X)


def whole_range(low: Array, high: Array, kind: str, widest: int) -> tuple[Array, Array]:
    """Return the range of each feature in whole numbers; one that the type does not hold is an error."""
    limits = np.iinfo(np.dtype(kind))
    low, high = np.floor(low), np.ceil(high)
    if low.min() < limits.min or high.max() > limits.max or (high - low).max() > widest:
        raise ValueError(f"input={kind!r} does not hold the range {low.min():g} to {high.max():g}")
    return low.astype(np.int32), high.astype(np.int32)


def raw_values(X: Any, kind: str) -> Array:
    """Return values in the type and the order of bytes that a board reads."""
    return np.ascontiguousarray(X, np.dtype(_CODES[kind]))
