"""A Summary from Arrow batches, added up by our own kernel: for wide tables, in the process that holds them.

The batches come from DuckDB, Polars or Ibis in this process, or from Spark in an executor's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .._rows.cells import Categories, Coder, code_matrix
from .._rows.inputs import checked_weights
from .._rows.labelled import Labelled
from .._rows.matrix import KERNEL_TYPES, Columnar, Dense, Matrix, Sparse
from .._summary.source import RowBatch
from .._summary.summary import Summary
from .._system.types import Floats
from .columns import Columns, coded_labels
from .error import EngineError, counted

# Cells of one batch: 32 MB as float64, enough to make the cost of a batch small.
BATCH_CELLS = 4_000_000


def batch_rows(n_features: int) -> int:
    """Return how many rows a batch should have."""
    return max(1, BATCH_CELLS // max(1, n_features))


class Reading(NamedTuple):
    """How batches of Arrow become rows: which columns, and where features are cut into bins."""

    columns: Columns
    coder: Coder | None = None

    def rows(self, batches: Iterable[pa.RecordBatch], where: str = "") -> Iterator[RowBatch]:
        """Yield the rows of batches, those without any left out; what is wrong names its batch."""
        for number, batch in enumerate(batches):
            try:
                rows = rows_of_batch(batch, self.columns) if batch.num_rows else None
            except ValueError as error:
                raise EngineError(f"{self.columns.engine}: {where}batch {number}: {error}") from None
            if rows is not None:
                names = feature_names_of_batch(batch, self.columns)
                if names is self.columns.elements and len(names or ()) != rows.matrix.shape[1]:
                    names = None  # they are of other vectors
                yield RowBatch(rows._replace(matrix=code_matrix(rows.matrix, self.coder)), names, number)


def summary_of_batches(
    batches: Iterable[pa.RecordBatch], columns: Columns, *, missing: str, moments: int = 1
) -> Summary | None:
    """Return the Summary of all batches, None if they have no rows; errors name engine, batch and column."""
    total: Summary | None = None
    for rows, names, number in Reading(columns).rows(batches):
        try:
            part = Summary.of_rows(rows, names, missing=missing, moments=moments)
        except ValueError as error:
            raise EngineError(f"{columns.engine}: batch {number}: {error}") from None
        total = part if total is None else total + part
    return total


def rows_of_batch(batch: pa.RecordBatch, columns: Columns) -> Labelled | None:
    """Return a batch as the kernels read it; None if every weight is 0. What is wrong is a ``ValueError``."""
    # Asked once: a schema makes its list of names anew each time, and there may be thousands of columns.
    places = {name: place for place, name in enumerate(batch.schema.names)}
    if absent := [name for name in columns.all if name not in places]:
        raise ValueError(f"there is no column {absent[0]!r}; the columns are {counted(list(places), 20)}")
    weights = None
    if columns.weight is not None:
        values = batch.column(places[columns.weight]).cast(pa.float64()).to_numpy(zero_copy_only=False)
        if not values.any():
            return None
        try:
            weights = checked_weights(values, batch.num_rows)
        except ValueError as error:
            raise ValueError(f"weight column {columns.weight!r}: {error}") from None
    classes, codes, targets = coded_labels(lambda name: labels_of(batch.column(places[name])), columns)
    return Labelled.of(_matrix_of_batch(batch, places, columns), classes, codes, weights, targets)


def feature_names_of_batch(batch: pa.RecordBatch, columns: Columns) -> tuple[str, ...] | None:
    """Return the names of the features; those of the elements of a column of vectors may not be known."""
    kind = batch.schema.field(columns.features[0]).type
    return columns.elements if _are_vectors(kind, columns) else columns.features


def _are_vectors(kind: pa.DataType, columns: Columns) -> bool:
    """Say whether the features are the elements of one column of this type."""
    return len(columns.features) == 1 and not columns.categories and not _is_number(kind)


def _matrix_of_batch(batch: pa.RecordBatch, places: dict[str, int], columns: Columns) -> Matrix:
    first = batch.column(places[columns.features[0]])
    if _are_vectors(first.type, columns):
        return matrix_of_vectors(first, columns.features[0])
    named = columns.categories
    arrays = [
        category_numbers(batch.column(places[name]), named[j], name)
        if j in named
        else _numbers(batch.column(places[name]), name)
        for j, name in enumerate(columns.features)
    ]
    return Columnar(arrays, batch.num_rows)


def category_numbers(column: pa.Array, categories: Categories, name: str) -> Floats:
    """Return the number of each value among the categories, their count for an unknown one, NaN for none."""
    if not pa.types.is_dictionary(column.type):
        if pa.types.is_nested(column.type):
            raise ValueError(f"column {name!r} is {column.type}, which has no categories")
        column = column.dictionary_encode()
    place = {value: float(number) for number, value in enumerate(categories)}
    values = column.dictionary.to_pylist()
    numbers = [
        np.nan if value is None or value != value else place.get(value, float(len(place))) for value in values
    ]
    at = column.indices.cast(pa.int64()).fill_null(len(values)).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*numbers, np.nan])[at], dtype=np.float64)


def labels_of(column: pa.Array) -> Any:
    """Return a column of labels as numpy has it; a missing one as None or NaN."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.to_numpy(zero_copy_only=False)


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _numbers(column: pa.Array, name: str) -> Any:
    if not _is_number(column.type):
        raise ValueError(f"column {name!r} is {column.type}, not a number")
    return _as_floats(column)


def matrix_of_vectors(column: pa.Array, name: str) -> Matrix:
    """Return a column of arrays, or of Spark's vectors as structs, as a matrix: a row an array."""
    if column.null_count:
        raise ValueError(f"column {name!r} has rows without a vector (null)")
    kind = column.type
    if pa.types.is_struct(kind) and {f.name for f in kind} == {"type", "size", "indices", "values"}:
        return _matrix_of_structs(column, name)
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise ValueError(f"column {name!r} is {kind}, neither a number nor a vector")
    if pa.types.is_fixed_size_list(kind):
        width, flat = kind.list_size, column.flatten()
    else:
        widths = np.diff(column.offsets.to_numpy())
        width, flat = _one_width(widths, name), column.flatten()
    if not _is_number(flat.type):
        raise ValueError(f"column {name!r} holds {flat.type}, not numbers")
    return Dense(_as_floats(flat).reshape(len(column), width))


def _as_floats(flat: pa.Array) -> Any:
    """Return numbers as numpy has them, in place where Arrow and numpy agree; null as NaN."""
    if flat.null_count or pa.types.is_decimal(flat.type):
        flat = flat.cast(pa.float64())
    values = flat.to_numpy(zero_copy_only=False)
    return values if values.dtype in KERNEL_TYPES else values.astype(np.float64)


def _one_width(widths: Any, name: str) -> int:
    if (widths != widths[0]).any():
        row = int(np.argmax(widths != widths[0]))
        raise ValueError(
            f"column {name!r} holds vectors of {widths[0]} and, in row {row}, of {widths[row]} values"
        )
    if widths[0] == 0:
        raise ValueError(f"column {name!r} holds vectors of no values")
    return int(widths[0])


def _matrix_of_structs(column: pa.Array, name: str) -> Matrix:
    """Spark's vectors: type 1 has all values, type 0 the size and the values at some indices."""
    dense = column.field("type").to_numpy() == 1
    values, indices = column.field("values"), column.field("indices")
    lengths = np.diff(values.offsets.to_numpy())
    sizes = column.field("size").to_numpy(zero_copy_only=False)
    width = _one_width(np.where(dense, lengths, np.nan_to_num(sizes)).astype(np.int64), name)
    data = _as_floats(values.flatten())
    if dense.all():
        return Dense(data.reshape(len(column), width))
    from scipy import sparse

    at = np.empty(len(data), dtype=np.int32)
    of_dense = np.repeat(dense, lengths)
    at[of_dense] = np.tile(np.arange(width, dtype=np.int32), int(dense.sum()))
    at[~of_dense] = indices.flatten().to_numpy()
    start = np.concatenate([[0], np.cumsum(lengths)])
    return Sparse(sparse.csr_matrix((data, at, start), shape=(len(column), width)))
