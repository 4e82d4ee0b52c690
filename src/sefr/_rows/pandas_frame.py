"""A pandas frame as it is stored: the array of each column, without a Series around it."""

from __future__ import annotations

import sys
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from .._system.types import Foreign


def is_pandas_frame(X: Foreign) -> TypeGuard[Foreign]:
    """Say whether X is a frame of pandas, which need not be there."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def stored_columns(X: Foreign) -> list[Foreign]:
    """Return the array of each column: of numpy, or of pandas where it has a type of its own.

    A Series per column, which all doors that pandas documents make, takes longer than a small fit. Where
    pandas has no such iterator, they are made.
    """
    arrays = getattr(X, "_iter_column_arrays", None)
    return [X.iloc[:, j].values for j in range(X.shape[1])] if arrays is None else list(arrays())


def is_categorical_array(column: Foreign) -> bool:
    """Say whether an array of ``stored_columns`` has categories."""
    return isinstance(column, sys.modules["pandas"].Categorical)


def is_sparse_type(kind: Foreign) -> bool:
    """Say whether the type of such an array is that of sparse columns."""
    return isinstance(kind, sys.modules["pandas"].SparseDtype)


def numbers_of_categories(column: Foreign, categories: tuple[Foreign, ...]) -> NDArray[np.generic]:
    """Return the number of each value among the categories, their count for an unknown one, NaN for none.

    The column's own numbers, in place, where its categories are these and no value is missing.
    """
    own, codes = column.dtype.categories.tolist(), column.codes
    if tuple(own) == categories and (not len(codes) or np.minimum.reduce(codes) >= 0):
        return np.asarray(codes)
    place: dict[Foreign, float] = {value: float(code) for code, value in enumerate(categories)}
    known = [place.get(value, float(len(categories))) for value in own]
    return np.asarray(np.array([*known, np.nan])[codes])
