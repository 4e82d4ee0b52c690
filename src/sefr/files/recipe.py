"""A ColumnRecipe: how the columns of a file become the features of a model. The model file stores it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from .._rows.cells import Categories
from .._rows.matrix import Columnar, Sparse
from .._system.types import Array, Fields, Params
from .dates import ORDERS, TIMES
from .reader import ENTRIES, NUMBER, TEXT, SourceError

# A column of a libsvm file.
INDEX = re.compile(r"x(0|[1-9][0-9]{0,6})")
# Arrow's types that add up as they are.
IN_PLACE = frozenset(
    kind.id
    for kind in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32()),
        *(pa.float32(), pa.float64()),
    )
)


@dataclass(frozen=True)
class ColumnRecipe:
    """The label's column, the columns of features in order, and the values of those that are categories.

    Features have the names of their columns. A column of categories is one-hot: a feature of 0 and 1 for each
    value, ``colour=red``. If it is ``coded``, for a model with bins, it is one feature, whose values are
    numbers of categories: a number for any other value comes last.

    ``left_out`` are columns that were not learned, and why. ``encoding`` and ``decimal`` say how the text of
    other files is read if these do not show it; with ``skip_unlabelled``, their rows without a label are left
    out. ``dates`` are columns of dates, and how each is written: their parts are among the columns.

    Examples
    --------
    >>> from sefr.files import ColumnRecipe
    >>> ColumnRecipe("price", ("size", "colour"), {"colour": ("blue", "red")}).feature_names
    ('size', 'colour=blue', 'colour=red')
    >>> ColumnRecipe("price", ("size", "colour"), {"colour": ("blue", "red")}, coded=True).feature_names
    ('size', 'colour')
    """

    label: str | None
    columns: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    coded: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    decimal: str | None = None
    skip_unlabelled: bool = False
    dates: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_member(cls, member: Params) -> ColumnRecipe:
        """Read what ``member`` wrote; raise ``SourceError`` if it does not hold together."""
        try:
            label, columns, categories = member["label"], member["columns"], member["categories"]
            coded = member.get("coded", False)  # files of before are one-hot
            lists = [columns, *categories.values()]
            sound = all(isinstance(values, list) and all(type(v) is str for v in values) for values in lists)
            sound = sound and (label is None or type(label) is str) and set(categories) <= set(columns)
            left_out, skips = member.get("left_out", {}), member.get("skip_unlabelled", False)
            encoding, decimal = member.get("encoding"), member.get("decimal")
            sound = sound and type(coded) is bool and type(skips) is bool
            dates = member.get("dates", {})
            pairs = [*left_out.items(), *dates.items()]
            sound = sound and all(type(name) is type(why) is str for name, why in pairs)
            sound = sound and all(order.removesuffix(TIMES) in ORDERS for order in dates.values())
            sound = sound and all(value is None or type(value) is str for value in (encoding, decimal))
        except (KeyError, TypeError, AttributeError):
            sound = False
        if not sound:
            raise SourceError("the model's table of columns does not hold together")
        values = {name: tuple(own) for name, own in categories.items()}
        return cls(label, tuple(columns), values, coded, left_out, encoding, decimal, skips, dates)

    def member(self) -> Fields:
        """Return the recipe as JSON."""
        return {
            "label": self.label,
            "columns": list(self.columns),
            "categories": {name: list(values) for name, values in self.categories.items()},
            **({"coded": True} if self.coded else {}),
            **({"left_out": dict(self.left_out)} if self.left_out else {}),
            **({"encoding": self.encoding} if self.encoding else {}),
            **({"decimal": self.decimal} if self.decimal else {}),
            **({"skip_unlabelled": True} if self.skip_unlabelled else {}),
            **({"dates": dict(self.dates)} if self.dates else {}),
        }

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        names: list[str] = []
        for column in self.columns:
            values = None if self.coded else self.categories.get(column)
            names += [column] if values is None else [f"{column}={value}" for value in values]
        return tuple(names)

    @property
    def coded_features(self) -> dict[int, Categories]:
        """The categories of features whose values are their numbers, by the number of the feature."""
        if not self.coded:
            return {}
        return {
            j: Categories(self.categories[column])
            for j, column in enumerate(self.columns)
            if column in self.categories
        }

    def wanted(self, *, with_label: str | None = None) -> dict[str, str]:
        """Return the columns to read and as what."""
        wanted = {column: TEXT if column in self.categories else NUMBER for column in self.columns}
        return wanted | ({with_label: NUMBER} if with_label else {})

    def matrix(self, batch: pa.Table) -> Columnar | Sparse:
        """Return the features of some rows, numbers without copying them; a missing value is NaN."""
        if ENTRIES in batch.schema.names:
            return _sparse(batch.column(ENTRIES), self.columns)
        arrays: list[Array] = []
        pieces = batch.to_batches()
        columns = pieces[0].columns if len(pieces) == 1 else batch.columns
        numbers = dict(zip(batch.schema.names, columns, strict=True))
        for name in self.columns:
            if name in self.categories:
                spread = _numbered if self.coded else _one_hot
                arrays += spread(batch.column(name), self.categories[name])
            else:
                arrays.append(_numbers(numbers[name]))
        matrix = Columnar(arrays, batch.num_rows)
        # Another format may give the same values as float64, and the sums must be the same.
        matrix.exact = all(array.dtype.kind in "iub" for array in arrays)
        return matrix

    def unknown_categories(self, batch: pa.Table) -> dict[str, str]:
        """Return, for columns of categories, a value that the model does not know."""
        found = {}
        for name, values in self.categories.items():
            known = pa.array(values, type=pa.string())
            unknown = batch.column(name).filter(
                pc.invert(pc.is_in(batch.column(name), known, skip_nulls=False))
            )
            unknown = unknown.drop_null()
            if len(unknown):
                found[name] = unknown[0].as_py()
        return found


def _numbers(column: pa.Array | pa.ChunkedArray) -> Array:
    """Return a column so that the same values give the same sums from every format.

    Narrow integers and booleans add up exactly as they are, float32 in the order of float64; anything else is
    float64.
    """
    if column.type.id in IN_PLACE and not column.null_count:
        return np.asarray(column.to_numpy())
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    if column.null_count:
        column = (
            column.cast(pa.float64(), safe=False)
            if not pa.types.is_boolean(column.type)
            else _as_bytes(column)
        )
    if pa.types.is_boolean(column.type):
        return np.asarray(_as_bytes(column).to_numpy()).view(np.bool_)
    return np.ascontiguousarray(column.to_numpy(), dtype=np.float64)


def _sparse(entries: pa.ChunkedArray, columns: tuple[str, ...]) -> Sparse:
    """Return rows of entries as a CSR matrix; entries of other columns are left out."""
    rows = entries.combine_chunks()
    rows = rows.chunk(0) if isinstance(rows, pa.ChunkedArray) else rows
    offsets = rows.offsets.to_numpy()
    values = rows.flatten()
    index = values.field("index").to_numpy()
    places = _places(columns)
    at = np.where(index < len(places), places[np.minimum(index, len(places) - 1)], -1)
    ends = np.concatenate([[0], np.cumsum(at >= 0)])
    kept = np.flatnonzero(at >= 0)
    data = values.field("value").to_numpy()[kept]
    indptr = ends[offsets - offsets[0]].astype(np.int32)
    matrix = sparse.csr_matrix((data, at[kept].astype(np.int32), indptr), shape=(len(rows), len(columns)))
    matrix.sort_indices()
    return Sparse(matrix)


@lru_cache(maxsize=1)
def _places(columns: tuple[str, ...]) -> NDArray[np.int64]:
    """Return, for every index of a libsvm file, its position among the columns, or -1."""
    found = {int(name[1:]): j for j, name in enumerate(columns) if INDEX.fullmatch(name)}
    places = np.full(max(found, default=0) + 1, -1, dtype=np.int64)
    places[list(found)] = list(found.values())
    return places


def _as_bytes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.uint8()) if not column.null_count else column.cast(pa.uint8()).cast(pa.float64())


def _one_hot(column: pa.ChunkedArray, values: Sequence[str]) -> list[Array]:
    if not column.null_count:
        return [pc.equal(column, value).cast(pa.uint8()).to_numpy() for value in values]
    return [np.asarray(pc.equal(column, value).cast(pa.float64()).to_numpy()) for value in values]


def _numbered(column: pa.ChunkedArray, values: Sequence[str]) -> list[Array]:
    """Return the number of each value among the categories, their count for an unknown one, NaN for none."""
    places = pc.fill_null(pc.index_in(column, pa.array(values, type=pa.string())), len(values))
    places = pc.if_else(column.is_valid(), places, pa.scalar(None, pa.int32()))
    return [np.asarray(places.cast(pa.float64()).to_numpy())]
