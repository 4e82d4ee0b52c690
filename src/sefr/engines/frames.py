"""A Summary from any data frame that narwhals knows, added up where the rows are.

================================  ==================================================================
frame                             added up by
================================  ==================================================================
pandas, Polars, pyarrow (eager)   our kernel, in place
Polars lazy, DuckDB               the engine (count, sum, min, max per class); beyond 64 features our
                                  kernel, on the batches that the engine streams in this process
Ibis                              the backend, 64 features per query
PySpark                           Spark; beyond 64 features or for a vector column, our kernel in the
                                  executors
Dask                              our kernel in the workers, a partition at a time
Arrow readers, batches, datasets  our kernel, on their batches
one column of lists, on any       our kernel, on Arrow batches: the elements are the features
================================  ==================================================================

Null and NaN are missing values, booleans 0 and 1, float32 is added up as float64, on every engine alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import narwhals as nw
import numpy as np

from .._rows.inputs import checked_weights, matrix_of
from .._rows.labelled import Labelled
from .._summary.summary import Summary
from ..settings import Settings
from .aggregates import summary_of_lazy
from .columns import Columns, Summing, choose_columns, coded_labels, is_vector, require_numbers
from .error import EngineError, engine_errors
from .selection import select_columns
from .streams import Batches, arrow_stream, foreign_stream, frame_batches, refuse_duplicates

# Engines plan one aggregate after the other: beyond this many features our kernel is faster
# (docs/guide/engines.md).
WIDE = 64
# Features whose products a database adds up itself, 2,080 sums; beyond, the rows come to our kernel.
WIDE_PRODUCTS = 64


def summary_of_frame(
    frame: Any,
    label: str | Sequence[str],
    features: Sequence[str] | None = None,
    weight: str | None = None,
    *,
    missing: str = "error",
    moments: int = 1,
    numbers: bool = False,
) -> Summary:
    """Return the Summary of a frame's rows; see ``Summary.of_frame``."""
    Settings(missing=missing, moments=moments).check()
    moments = 2 if numbers else moments
    summing = Summing(missing, moments)
    opened = open_frame(frame)
    if not isinstance(opened, nw.DataFrame | nw.LazyFrame):
        from .batches import batch_rows

        columns = choose_columns(opened.engine, opened.schema.names, label, features, weight, numbers=numbers)
        batches = opened.batches(columns.all, batch_rows(len(columns.features)))
        return _summary_of_stream(batches, columns, summing)
    table = opened
    engine = engine_of(table)
    with engine_errors(engine, "read the columns of the table"):
        schema = table.collect_schema()
    columns = choose_columns(engine, schema.names(), label, features, weight, numbers=numbers)
    if table.implementation.is_dask():
        from .cluster.dask import summary_of_dask

        require_numbers(columns, schema)
        return summary_of_dask(frame, columns, summing)
    on_spark = table.implementation.is_pyspark() or table.implementation.is_pyspark_connect()
    if on_spark and (moments == 2 or len(columns.features) > WIDE or not _is_plain(columns, schema)):
        from .cluster.spark import summary_of_spark

        return summary_of_spark(frame, columns, summing)
    require_numbers(columns, schema)
    if isinstance(table, nw.DataFrame):
        return summary_of_eager(table, columns, missing=missing, moments=moments)
    if is_vector(columns, schema) or _streams(table, len(columns.features), moments):
        from .batches import batch_rows

        batches = frame_batches(table, columns.all, batch_rows(len(columns.features)))
        if batches is not None:
            return _summary_of_stream(batches, columns, summing)
    return summary_of_lazy(table, columns, schema, summing, at_once=WIDE)


def open_frame(frame: Any) -> Any:
    """Return a narwhals frame, or an ``ArrowStream`` for Arrow data that is no frame."""
    stream = arrow_stream(frame)
    if stream is not None:
        refuse_duplicates(stream.engine, stream.schema.names)
        return stream
    if type(frame).__module__.startswith("pyarrow") and hasattr(frame, "num_columns"):  # a RecordBatch
        frame = _as_table(frame)
    _refuse_two_columns_of_one_name(frame)
    try:
        return nw.from_native(frame)
    except TypeError:
        stream = foreign_stream(frame)
        if stream is not None:
            return stream
        raise TypeError(
            "of_frame takes a data frame that narwhals knows (pandas, Polars, pyarrow, DuckDB, Ibis, Dask, "
            "PySpark) or Arrow data (RecordBatch, RecordBatchReader, Dataset), not "
            f"{type(frame).__module__}.{type(frame).__name__}"
        ) from None


def _refuse_two_columns_of_one_name(frame: Any) -> None:
    """Look where a frame can have such columns: Polars and DuckDB cannot."""
    engine = type(frame).__module__.split(".")[0]
    if engine in {"pandas", "dask", "pyspark"} and hasattr(frame, "columns"):
        refuse_duplicates(engine, list(frame.columns))
    elif engine == "pyarrow" and hasattr(frame, "column_names"):
        refuse_duplicates(engine, frame.column_names)


def _as_table(batch: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch


def engine_of(table: Any) -> str:
    """Return the name of the engine behind a narwhals frame, for people to read."""
    name = str(table.implementation)
    if table.implementation.is_ibis():
        return f"{name} ({_backend(table.to_native())})"
    return name


def _backend(table: Any) -> str:
    try:
        return str(table.get_backend().name)
    except Exception:  # a table made of several backends has none; its query will say so
        return "no backend"


def _is_plain(columns: Columns, schema: Any) -> bool:
    """Say whether the features are columns of numbers, not one column of vectors."""
    return len(columns.features) > 1 or not isinstance(
        schema[columns.features[0]], nw.List | nw.Array | nw.Unknown | nw.Struct
    )


def _streams(table: Any, n_features: int, moments: int) -> bool:
    """Say whether rows are carried to our kernel, since the engine's own aggregates take longer."""
    if table.implementation.is_ibis():  # the rows may have to come over a network
        return moments == 2 and n_features > WIDE_PRODUCTS
    return moments == 2 or n_features > WIDE


def summary_of_eager(table: Any, columns: Columns, *, missing: str, moments: int = 1) -> Summary:
    """Return the Summary of a narwhals DataFrame's rows, added up by our kernel."""
    rows = select_columns(table, columns.features)
    if not rows.shape[0]:
        raise EngineError(f"{columns.engine}: the table has no rows")
    if is_vector(columns, rows.schema) or _holds_vectors(rows):
        with engine_errors(columns.engine, "read the rows"):
            batches = frame_batches(table, columns.all, rows.shape[0])
        if batches is not None:
            return _summary_of_stream(batches, columns, Summing(missing, moments))
    what = f"weight column {columns.weight!r}: "
    try:
        weights = None
        if columns.weight is not None:
            weights = checked_weights(table[columns.weight].cast(nw.Float64).to_numpy(), rows.shape[0])
        what = ""
        classes, codes, targets = coded_labels(lambda name: _label_values(table, name), columns)
        labelled = Labelled.of(matrix_of(rows.to_native()), classes, codes, weights, targets)
        return Summary.of_rows(labelled, columns.features, missing=missing, moments=moments)
    except ValueError as error:
        raise EngineError(f"{columns.engine}: {what}{error}") from None


def _label_values(table: Any, name: str) -> Any:
    """Return labels as numpy has them; text with NUL as objects, since numpy's own strings end there."""
    labels = table[name]
    if labels.dtype in (nw.Categorical, nw.Enum) and not table.implementation.is_pandas():
        labels = labels.cast(nw.String)
    values = labels.to_numpy()
    if (
        labels.dtype == nw.String
        and values.dtype.kind != "O"
        and labels.str.contains("\0", literal=True).any()
    ):
        values = np.array(labels.to_list(), dtype=object)
    return values


def _holds_vectors(rows: Any) -> bool:
    """Say whether the one column is of Python objects, the first of which is a list or an array."""
    if rows.shape[1] != 1 or rows.schema[rows.columns[0]] != nw.Object:
        return False
    return isinstance(rows[rows.columns[0]].head(1).to_list()[0], list | tuple | np.ndarray)


def _summary_of_stream(batches: Batches, columns: Columns, summing: Summing) -> Summary:
    from .batches import summary_of_batches

    with engine_errors(columns.engine, "read the rows"), closing(batches):
        summary = summary_of_batches(batches, columns, **summing._asdict())
    if summary is None:
        raise EngineError(f"{columns.engine}: the table has no rows")
    return summary
