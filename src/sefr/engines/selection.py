"""Columns by their exact names: what an engine would take for a pattern, a part or a star is a name here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from .._system.types import Expression
from .dialects import quoted


def select_columns(table: Any, names: Sequence[str], aliases: Sequence[str] | None = None) -> Any:
    """Return a narwhals frame of some columns of another; ``aliases`` are names to give them.

    Each engine is asked in its own words: narwhals hands names on, and Polars takes ``^a$`` for a pattern,
    DuckDB ``*`` for all columns, Spark ``a.b`` for a part of ``a``. Frames of pandas and pyarrow know names
    only, and keep them, so that their rows are not copied.
    """
    frame, kind = table.to_native(), table.implementation
    pairs = list(zip(names, aliases or names, strict=True))
    if kind.is_polars():
        return nw.from_native(frame.select([polars_column(name).alias(own) for name, own in pairs]))
    if kind.is_duckdb():
        listed = ", ".join(f"{quoted(name)} AS {quoted(own)}" for name, own in pairs)
        return nw.from_native(frame.project(listed))
    if kind.is_ibis():
        return nw.from_native(frame.select(**{own: frame[name] for name, own in pairs}))
    if kind.is_pyspark() or kind.is_pyspark_connect():
        return nw.from_native(frame.select(*(spark_column(frame, name).alias(own) for name, own in pairs)))
    return table.select(list(names))


def polars_column(name: str) -> Expression:
    """Return a column of Polars, which takes ``*`` and names from ``^`` to ``$`` for patterns."""
    import polars as pl
    import polars.selectors as cs

    pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return cs.by_name(name).as_expr() if pattern else pl.col(name)


def spark_column(frame: Any, name: str) -> Expression:
    """Return a column of a Spark data frame, whose name may have dots and backticks."""
    return frame[spark_name(name)]


def spark_name(name: str) -> str:
    """Return a name in backticks."""
    return "`" + name.replace("`", "``") + "`"
