"""Categories: the values of a feature that has no order, each with a cell of its own."""

from __future__ import annotations

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..._system.types import Foreign, Rows
from ..pandas_frame import is_categorical_array, is_pandas_frame, stored_columns, values_of_index

# A cell per category, one for all others and one for missing values have numbers below 256.
MOST_CATEGORIES = 254


class Categories(tuple[Foreign, ...]):
    """The categories of a feature, in the order of its cells; a last cell is for any other value.

    Examples
    --------
    >>> Categories(["red", "green"])
    Categories(['red', 'green'])
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Categories({list(self)!r})"


def is_categorical(dtype: Foreign) -> bool:
    """Say whether a column has categories: of pandas or Polars, or a dictionary of Arrow."""
    return dtype in (nw.Categorical, nw.Enum) or isinstance(dtype, nw.Enum)


def categories_of(X: Rows) -> dict[int, Categories]:
    """Return the categories of each column of a frame that has some, by its number.

    Those that a pandas or Polars type declares, else those that occur, sorted. Of more than
    ``MOST_CATEGORIES`` the most frequent are kept; the others share the cell of unknown values.
    """
    if type(X) is np.ndarray:  # asking what X might be takes 30 us
        return {}
    if is_pandas_frame(X):
        return categories_of_stored(X, stored_columns(X))
    if not nw.dependencies.is_into_dataframe(X):
        return {}
    frame = nw.from_native(X, eager_only=True)
    return {
        j: _categories(frame.get_column(name))
        for j, (name, dtype) in enumerate(frame.schema.items())
        if is_categorical(dtype)
    }


def categories_of_stored(X: Foreign, columns: list[Foreign]) -> dict[int, Categories]:
    """Return the same of a pandas frame whose arrays are at hand."""
    found = {}
    for j, column in enumerate(columns):
        if is_categorical_array(column):
            declared = column.dtype.categories
            if len(declared) <= MOST_CATEGORIES:
                found[j] = Categories(values_of_index(declared))
            else:
                found[j] = _categories(nw.from_native(X.iloc[:, j], series_only=True))
    return found


def _categories(series: Foreign) -> Categories:
    native = series.to_native()
    declared = getattr(getattr(native, "cat", None), "categories", None)
    if declared is not None and nw.dependencies.is_pandas_series(native):
        values = list(declared)
    elif isinstance(series.dtype, nw.Enum) and getattr(series.dtype, "categories", None):
        values = list(series.dtype.categories)
    else:
        values = sorted({value for value in series.to_list() if value is not None})
    if len(values) <= MOST_CATEGORIES:
        return Categories(values)
    often: dict[Foreign, int] = dict.fromkeys(values, 0)
    for value in series.to_list():
        if value in often:
            often[value] += 1
    kept = set(sorted(values, key=lambda value: -often[value])[:MOST_CATEGORIES])  # a stable sort
    return Categories(value for value in values if value in kept)


def category_codes(series: Foreign, categories: Categories) -> NDArray[np.float64]:
    """Return the number of each value among the categories, their count for an unknown one, NaN for none."""
    place: dict[Foreign, float] = {value: float(code) for code, value in enumerate(categories)}
    unknown = float(len(categories))
    return np.array(
        [
            np.nan if value is None or value != value else place.get(value, unknown)
            for value in series.to_list()
        ],
        dtype=np.float64,
    )
