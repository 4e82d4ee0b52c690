"""Targets that are numbers: y as float64, a column per output; say what is wrong with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._system.types import Array, Floats


def read_numbers(y: ArrayLike) -> Floats:
    """Return targets (n,) or (n, k) as float64 (n, k).

    Raises ``ValueError`` for what is missing, infinite, text or complex.

    Examples
    --------
    >>> read_numbers([1, 2.5])
    array([[1. ],
           [2.5]])
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if type(y) is not np.ndarray and hasattr(y, "toarray"):
        raise TypeError("Sparse data was passed for y, but numbers are needed for every row; use y.toarray()")
    given = np.asarray(y)
    if given.ndim not in (1, 2) or (given.ndim == 2 and not given.shape[1]):
        raise ValueError(f"y should be an array of shape (n,) or (n, k), got {given.shape} instead.")
    numbers = np.ascontiguousarray(_floats(given.reshape(len(given), -1)))
    if not np.isfinite(numbers).all():
        row, output = np.argwhere(~np.isfinite(numbers))[0]
        where = f"row {row}" + (f", output {output}" if numbers.shape[1] > 1 else "")
        if np.isnan(numbers[row, output]):
            raise ValueError(f"Input y contains NaN: {where}.")
        raise ValueError(f"Input y contains infinity or a value too large for dtype('float64'): {where}.")
    return numbers


def _floats(given: Array) -> Floats:
    """Return an array of any type as float64; text is an error that names its row, even if it has digits."""
    kind = given.dtype.kind
    if kind == "c":
        raise ValueError("Complex data not supported: y has complex numbers")
    if kind in "fiub":
        return given.astype(np.float64)
    for row, values in enumerate(given.tolist()):
        for value in values:
            if isinstance(value, str | bytes) or not _is_number(value):
                raise ValueError(
                    f"y must be numbers, but row {row} has {value!r}; SEFRClassifier learns labels"
                )
    return np.array([[_number(value) for value in values] for values in given.tolist()], dtype=np.float64)


def _is_number(value: object) -> bool:
    try:
        _number(value)
    except (TypeError, ValueError):
        return False
    return True


def _number(value: object) -> float:
    """Return a number; NaN for None and pandas.NA, which stand for a missing one."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return float("nan")
    return float(value)  # type: ignore[arg-type]
