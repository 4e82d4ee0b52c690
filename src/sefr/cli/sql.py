"""``sefr sql``: the query that trains inside a database."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from . import options


class Dialect(StrEnum):
    """Whose SQL."""

    duckdb = "duckdb"
    postgresql = "postgresql"
    sqlite = "sqlite"


def sql(
    label: options.Label,
    table: Annotated[
        str, typer.Option("--table", "-t", help="The table, or a file that DuckDB reads.", metavar="TABLE")
    ],
    dialect: Annotated[
        Dialect | None,
        typer.Option("--dialect", help="Whose SQL; duckdb, or that of --database.", show_default=False),
    ] = None,
    features: options.Features = "",
    drop: options.Drop = "",
    weight: Annotated[
        str | None,
        typer.Option("--weight", help="The column of weights.", metavar="COLUMN", show_default=False),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            help="Look up the columns: a DuckDB or SQLite file, postgresql://...",
            metavar="DATABASE",
            show_default=False,
        ),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            "--origin", help="NAME=NUMBER near the values of a column far from zero.", show_default=False
        ),
    ] = None,
) -> None:
    """Print the query whose result is a model's Summary; Summary.of_query reads it.

    With --features, --database or a file as --table the columns are named in the query, which makes it
    several times faster than one that finds them out.

    For example:

      sefr sql --label y --table t --database shop.db | sqlite3 -header -csv shop.db > summary.csv

      sefr sql --label species --table iris.parquet | duckdb -csv > summary.csv
    """
    from pathlib import Path

    from ..engines.catalogue import catalogue_of
    from ..engines.columns import chosen
    from ..engines.sql import Query
    from .screen import binary_output, output

    names, dropped = options.names(features), options.names(drop)
    booleans: list[str] = []
    chosen_dialect = dialect
    is_file = database is None and Path(table).is_file()
    if database is not None or is_file:
        if is_file:
            table = "'" + table.replace("'", "''") + "'"
        found = catalogue_of(database, table)
        if dialect is not None and dialect != found.dialect:
            raise typer.BadParameter(
                f"--dialect {dialect.value}, but {database or table} speaks {found.dialect}"
            )
        chosen_dialect, booleans = Dialect(found.dialect), found.booleans
        columns = chosen(found.dialect, found.columns, label, names or None, weight)
        names = [name for name in columns.features if name not in dropped]
    elif dropped:
        raise typer.BadParameter("--drop needs --database or --features: the query does not know the columns")
    query = Query(table, label, names or None, weight, booleans, _origins(origin or []))
    text = query.sql((chosen_dialect or Dialect.duckdb).value)
    with output():
        out = binary_output()
        out.write(text.encode())
        out.flush()


def _origins(texts: list[str]) -> dict[str, float]:
    origins = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            origins[name] = float(number)
        except ValueError:
            raise typer.BadParameter(f"--origin takes NAME=NUMBER, not {text!r}") from None
    return origins
