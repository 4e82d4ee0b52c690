"""Categories of columns of text, wherever the rows are: with bins, each value has a cell of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from .._rows.cells import AnyCut
from .._rows.cells.categories import MOST_CATEGORIES, categories_of, is_categorical, most_frequent
from .._system.types import Params
from .batches import batch_rows
from .columns import Columns
from .error import engine_errors
from .selection import select_columns
from .streams import ArrowStream


def columns_with_categories(columns: Columns, table: Any, schema: Params | None, cut: AnyCut) -> Columns:
    """Return the columns with the categories of those that are text; without bins, the same columns.

    Categories are those that bins are given with, else those that a frame in this process declares, else
    those that occur, which the engine counts: of more than fit, the most frequent. ``table`` is a narwhals
    frame, or Arrow data that is no frame, whose types ``schema`` has.
    """
    if cut.given is not None:
        return replace(columns, categories=cut.given)
    if isinstance(table, ArrowStream):
        text = [j for j, name in enumerate(columns.features) if _is_text(table.schema.field(name).type)]
        found = _counted_by_arrow(table, columns, text)
    else:
        kinds = [(schema or {})[name] for name in columns.features]
        text = [j for j, kind in enumerate(kinds) if kind == nw.String or is_categorical(kind)]
        if isinstance(table, nw.DataFrame) and text:
            own = select_columns(table, [columns.features[j] for j in text])
            declared = categories_of(own.to_native())
            return replace(columns, categories={text[i]: each for i, each in declared.items()})
        found = [_counted_by_engine(table, columns, j) for j in text]
    named = {
        j: most_frequent(sorted(often), often, MOST_CATEGORIES) for j, often in zip(text, found, strict=True)
    }
    return replace(columns, categories=named)


def _counted_by_engine(table: Any, columns: Columns, feature: int) -> Counter[Any]:
    """Return how often each value of a feature occurs."""
    name = columns.features[feature]
    with engine_errors(columns.engine, f"count the categories of column {name!r}"):
        own = select_columns(table, [name], ["value"])
        if own.columns == [name]:  # pandas and Dask keep names
            own = own.rename({name: "value"})
        if not table.implementation.is_dask():  # whose categories may be numbers
            own = own.select(nw.col("value").cast(nw.String))
        counted = own.drop_nulls().group_by("value").agg(nw.len().alias("rows")).collect()
    pairs = zip(counted["value"].to_list(), counted["rows"].to_list(), strict=True)
    return Counter({value: int(rows) for value, rows in pairs if rows})


def _counted_by_arrow(table: ArrowStream, columns: Columns, text: Sequence[int]) -> list[Counter[Any]]:
    """Return how often each value of some features occurs; all batches are read."""
    found: list[Counter[Any]] = [Counter() for _ in text]
    names = [columns.features[j] for j in text]
    if not names:
        return found
    with (
        engine_errors(columns.engine, "count the categories"),
        closing(table.batches(names, batch_rows(len(names)))) as batches,
    ):
        for batch in batches:
            for often, column in zip(found, batch.columns, strict=True):
                for pair in pc.value_counts(column.drop_null()).to_pylist():
                    often[pair["values"]] += pair["counts"]
    return found


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_dictionary)
    return any(test(kind) for test in tests)
