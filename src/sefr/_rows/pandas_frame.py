"""A pandas frame as it is stored: the array of each column, without a Series around it."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray


def is_pandas_frame(X: Any) -> TypeGuard[Any]:
    """Say whether X is a frame of pandas, which need not be there."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def stored_columns(X: Any) -> list[Any]:
    """Return the array of each column: of numpy, or of pandas if it has a type of its own.

    A Series per column, which all doors that pandas documents make, takes longer than a small fit. Where
    pandas has no such iterator, they are made.
    """
    arrays = getattr(X, "_iter_column_arrays", None)
    return [X.iloc[:, j].values for j in range(X.shape[1])] if arrays is None else list(arrays())


def values_of_index(index: Any) -> list[Any]:
    """Return the values of an index as ``tolist`` does: text that Arrow holds in an eighth of the time."""
    if getattr(index.dtype, "storage", None) == "pyarrow":
        return cast(list[Any], index.array.__arrow_array__().to_pylist())
    return cast(list[Any], index.tolist())


def is_categorical_array(column: Any) -> bool:
    """Say whether an array of ``stored_columns`` has categories."""
    return isinstance(column, sys.modules["pandas"].Categorical)


def is_text_array(column: Any) -> bool:
    """Say whether an array of ``stored_columns`` holds text, and perhaps missing values, alone."""
    pandas = sys.modules["pandas"]
    if isinstance(column.dtype, pandas.StringDtype):
        return True
    return bool(column.dtype == object and pandas.api.types.infer_dtype(column, skipna=True) == "string")


def is_sparse_type(kind: Any) -> bool:
    """Say whether the type of such an array is that of sparse columns."""
    return isinstance(kind, sys.modules["pandas"].SparseDtype)


def numbers_of_categories(column: Any, categories: tuple[Any, ...]) -> NDArray[np.generic]:
    """Return the number of each value among the categories, their count for an unknown one, NaN for none.

    The column's own numbers, in place, where its categories are these and no value is missing.
    """
    own, codes = values_of_index(column.dtype.categories), column.codes
    if tuple(own) == categories and (not len(codes) or np.minimum.reduce(codes) >= 0):
        return np.asarray(codes)
    place: dict[Any, float] = {value: float(code) for code, value in enumerate(categories)}
    known = [place.get(value, float(len(categories))) for value in own]
    return np.asarray(np.array([*known, np.nan])[codes])
