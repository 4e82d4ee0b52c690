"""A Summary from any data frame that narwhals knows, added up where the rows are.

================================  ==================================================================
frame                             added up by
================================  ==================================================================
pandas, Polars, pyarrow (eager)   our kernel, in place
Polars lazy, DuckDB               the engine (count, sum, min, max per class); beyond 64 features our
                                  kernel, on the batches that the engine streams in this process
Ibis                              the backend, 64 features a query
PySpark                           Spark; beyond 64 features or for a vector column, our kernel in the
                                  executors
Dask                              our kernel in the workers, a partition at a time
================================  ==================================================================

Null and NaN are missing values, booleans 0 and 1, float32 is added up as float64, on every engine alike.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

import narwhals as nw

from .._rows.inputs import checked_weights, matrix_of
from .._rows.labelled import Labelled
from .._rows.labels import encode
from .._summary.summary import Summary
from .aggregates import summary_of_lazy
from .columns import Columns, chosen, refuse_what_is_no_number
from .error import EngineError, spoken_by

# Engines plan one aggregate after the other: beyond this many features our kernel is faster
# (docs/engines.md).
WIDE = 64


def summary_of_frame(
    frame: Any,
    label: str,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    *,
    missing: str = "error",
) -> Summary:
    """Return the Summary of a frame's rows; see ``Summary.of_frame``."""
    if missing not in ("error", "ignore"):
        raise ValueError(f"missing must be 'error' or 'ignore', not {missing!r}")
    try:
        table = nw.from_native(frame)
    except TypeError:
        raise TypeError(
            "of_frame takes a data frame that narwhals knows (pandas, Polars, pyarrow, DuckDB, Ibis, Dask, "
            f"PySpark), not {type(frame).__module__}.{type(frame).__name__}"
        ) from None
    engine = engine_of(table)
    with spoken_by(engine, "read the columns of the table"):
        schema = table.collect_schema()
        columns = chosen(engine, schema.names(), label, features, weight)
    if table.implementation.is_dask():
        from .dask import summary_of_dask

        refuse_what_is_no_number(columns, schema)
        return summary_of_dask(frame, columns, missing=missing)
    on_spark = table.implementation.is_pyspark() or table.implementation.is_pyspark_connect()
    if on_spark and (len(columns.features) > WIDE or not _is_plain(columns, schema)):
        from .spark import summary_of_spark

        return summary_of_spark(frame, columns, missing=missing)
    refuse_what_is_no_number(columns, schema)
    if isinstance(table, nw.DataFrame):
        return summary_of_eager(table, columns, missing=missing)
    if len(columns.features) > WIDE and (batches := _batches(frame, table, columns)) is not None:
        return _summary_of_stream(batches, columns, missing=missing)
    return summary_of_lazy(table, columns, schema, missing=missing, at_once=WIDE)


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


def summary_of_eager(table: Any, columns: Columns, *, missing: str) -> Summary:
    """Return the Summary of a narwhals DataFrame's rows, added up by our kernel."""
    rows = table.select(columns.features)
    if not rows.shape[0]:
        raise EngineError(f"{columns.engine}: the table has no rows")
    labels = table[columns.label]
    if labels.dtype in (nw.Categorical, nw.Enum) and not table.implementation.is_pandas():
        labels = labels.cast(nw.String)
    what = "weight"
    try:
        weights = None
        if columns.weight is not None:
            weights = checked_weights(table[columns.weight].cast(nw.Float64).to_numpy(), rows.shape[0])
        what = "label"
        classes, codes = encode(labels.to_numpy())
        what = ""
        labelled = Labelled(matrix_of(rows.to_native()), classes, codes, weights)
        return Summary.of_rows(labelled, columns.features, missing=missing)
    except ValueError as error:
        column = {
            "weight": f"weight column {columns.weight!r}: ",
            "label": f"label column {columns.label!r}: ",
        }
        raise EngineError(f"{columns.engine}: {column.get(what, '')}{error}") from None


def _batches(frame: Any, table: Any, columns: Columns) -> Generator[Any] | None:
    """Return Arrow batches of the columns from an engine in this process, None from any other."""
    from .batches import batch_rows

    rows = batch_rows(len(columns.features))
    if table.implementation.is_duckdb():
        return _duckdb_batches(table.select(columns.all).to_native(), rows)
    if table.implementation.is_polars():
        return _polars_batches(frame.select(columns.all), rows)
    return None


def _duckdb_batches(relation: Any, rows: int) -> Generator[Any]:
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # DuckDB before 1.4
    with read(rows) as reader:  # closed also after an error: its connection can do nothing else until then
        yield from reader


def _polars_batches(frame: Any, rows: int) -> Generator[Any]:
    for piece in frame.collect_batches(chunk_size=rows, maintain_order=False, engine="streaming"):
        yield from piece.to_arrow().to_batches()


def _summary_of_stream(batches: Generator[Any], columns: Columns, *, missing: str) -> Summary:
    from .batches import summary_of_batches

    with spoken_by(columns.engine, "read the rows"), closing(batches):
        summary = summary_of_batches(batches, columns, missing=missing)
    if summary is None:
        raise EngineError(f"{columns.engine}: the table has no rows")
    return summary
