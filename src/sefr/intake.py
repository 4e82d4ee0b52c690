"""What comes in beside X and y: weights, names; and the words for what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .matrix import Codes, Matrix, Raw

Floats = NDArray[np.float64]


def complain_of_sums(
    matrix: Matrix,
    codes: Codes,
    weights: Floats | None,
    raw: Raw,
    feature_names: Sequence[str] | None,
    missing: str,
) -> None:
    """Raise an error that says why the sums are not finite."""
    skip = codes < 0
    if weights is not None:
        skip |= weights == 0
    complain_of_bad_cell(matrix, feature_names, skip=skip, missing=missing)
    j = int(np.argmin(np.isfinite(raw.sums).all(axis=0)))
    raise ValueError(
        f"the values of {describe_feature(j, feature_names)} are too large to be summed in float64"
    )


def complain_of_bad_cell(
    matrix: Matrix,
    feature_names: Sequence[str] | None,
    *,
    skip: NDArray[np.bool_] | None = None,
    missing: str = "error",
) -> None:
    """Raise an error that names the first NaN or infinity; return if there is none."""
    found = matrix.bad_cell(skip=skip, missing=missing == "ignore")
    if found is None:
        return
    row, feature, value = found
    where = f"row {row}, {describe_feature(feature, feature_names)}"
    if np.isnan(value):
        raise ValueError(f"Input X contains NaN: {where}. missing='ignore' leaves such values out.")
    raise ValueError(f"Input X contains infinity: {where}.")


def describe_feature(feature: int, names: Sequence[str] | None) -> str:
    """Return "column 3" or "column 3 ('age')"."""
    return f"column {feature}" if names is None else f"column {feature} ({names[feature]!r})"


def checked_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return the weights as float64, one a row; say what is wrong with them."""
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_rows, sample_weight)
    weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array")
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight has {len(weights)} values for {n_rows} rows")
    if not np.isfinite(weights).all() or (weights < 0).any():
        row = int(np.flatnonzero(~np.isfinite(weights) | (weights < 0))[0])
        raise ValueError(f"sample_weight must be finite and not negative; row {row} has {weights[row]}")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
    return weights


def feature_names_of(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a dataframe whose names are all strings, else None."""
    columns = getattr(X, "column_names", None) or getattr(X, "columns", None)
    if columns is None:
        return None
    names = tuple(columns)
    return names if all(isinstance(name, str) for name in names) else None
