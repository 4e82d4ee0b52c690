"""Categories: the values of a feature that has no order, each with a cell of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..._system.types import Rows
from ..arrow import stored_dictionary
from ..pandas_frame import (
    is_categorical_array,
    is_pandas_frame,
    is_text_array,
    stored_columns,
    values_of_index,
)

# A cell per category, one for all others and one for missing values have numbers below 256.
MOST_CATEGORIES = 254


class Categories(tuple[Any, ...]):
    """The categories of a feature, in the order of its cells; a last cell is for any other value.

    Examples
    --------
    >>> Categories(["red", "green"])
    Categories(['red', 'green'])
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Categories({list(self)!r})"

    def describe(self, number: int) -> str:
        """Return what a number of a category stands for, in words."""
        return str(self[number]) if number < len(self) else "any other value"


def is_categorical(dtype: Any) -> bool:
    """Say whether a column has categories: of pandas or Polars, or a dictionary of Arrow."""
    return dtype in (nw.Categorical, nw.Enum) or isinstance(dtype, nw.Enum)


def categories_of(
    X: Rows, most: int | None = MOST_CATEGORIES, stored: list[Any] | None = None
) -> dict[int, Categories]:
    """Return the categories of each column of a frame that has some or is text, by its number.

    Those that a pandas or Polars type declares, else those that occur, sorted. Of more than ``most``, if not
    None, the most frequent are kept; the others share the cell of unknown values. ``stored`` are the arrays
    of a pandas frame, if they are at hand.
    """
    if type(X) is np.ndarray:  # asking what X might be takes 30 us
        return {}
    if is_pandas_frame(X):
        return _of_pandas(X, stored_columns(X) if stored is None else stored, most)
    if not nw.dependencies.is_into_dataframe(X):
        return {}
    frame = nw.from_native(X, eager_only=True)
    return {
        j: _categories(frame.get_column(name), most)
        for j, (name, dtype) in enumerate(frame.schema.items())
        if is_categorical(dtype) or dtype == nw.String
    }


def _of_pandas(X: Any, columns: list[Any], most: int | None) -> dict[int, Categories]:
    found = {}
    for j, column in enumerate(columns):
        if is_categorical_array(column):
            declared = column.dtype.categories
            if most is None or len(declared) <= most:
                found[j] = Categories(values_of_index(declared))
            else:
                found[j] = _categories(nw.from_native(X.iloc[:, j], series_only=True), most)
        elif is_text_array(column):
            found[j] = _categories(nw.from_native(X.iloc[:, j], series_only=True), most)
    return found


def _categories(series: Any, most: int | None) -> Categories:
    native = series.to_native()
    declared = getattr(getattr(native, "cat", None), "categories", None)
    if declared is not None and nw.dependencies.is_pandas_series(native):
        values = list(declared)
    elif isinstance(series.dtype, nw.Enum) and getattr(series.dtype, "categories", None):
        values = list(series.dtype.categories)
    else:
        often = _often(series)
        return most_frequent(sorted(often), often, most)
    if most is None or len(values) <= most:
        return Categories(values)
    return most_frequent(values, _often(series), most)


def _often(series: Any) -> Counter[Any]:
    """Return how often each value occurs."""
    stored = stored_dictionary(series)
    if stored is None:
        often = Counter(series.drop_nulls().to_list())
    else:
        values, rows = stored
        often = Counter()
        for value, count in zip(values, np.bincount(rows[rows >= 0], minlength=len(values)), strict=True):
            if count:
                often[value] += int(count)
    del often[None]
    return often


def most_frequent(values: Sequence[Any], often: Mapping[Any, int], most: int | None) -> Categories:
    """Return those of the values that occur most often, at most so many or all (None), in their order."""
    if most is None:
        return Categories(values)
    kept = set(sorted(values, key=lambda value: -often.get(value, 0))[:most])  # a stable sort
    return Categories(value for value in values if value in kept)


def joined_categories(before: Categories | None, more: Categories) -> Categories:
    """Return the categories of a column in several batches."""
    if before is None or before == more:
        return more
    values = sorted({*before, *more}, key=str)
    if len(values) > MOST_CATEGORIES:
        raise ValueError(
            f"batches have {len(values)} categories in one column; at most {MOST_CATEGORIES} fit"
        )
    return Categories(values)


def category_codes(series: Any, categories: Categories) -> NDArray[np.float64]:
    """Return the number of each value among the categories, their count for an unknown one, NaN for none."""
    place: dict[Any, float] = {value: float(code) for code, value in enumerate(categories)}
    unknown, stored = float(len(categories)), stored_dictionary(series)
    values = series.to_list() if stored is None else stored[0]
    # pandas.NA is neither equal nor unequal to itself, so the series is asked; NaN is unequal.
    gone = series.is_null().to_list() if stored is None else [value is None for value in values]
    codes = np.array(
        [
            np.nan if none or value != value else place.get(value, unknown)
            for value, none in zip(values, gone, strict=True)
        ],
        dtype=np.float64,
    )
    return codes if stored is None else np.append(codes, np.nan)[stored[1]]
