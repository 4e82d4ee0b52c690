"""The columns of a table in a DuckDB or SQLite file, on a PostgreSQL server, or in a file DuckDB reads."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

from .dialects import source_of
from .error import EngineError, engine_errors


class Catalogue(NamedTuple):
    """A table's columns, which of them are boolean, and the dialect that asks for them."""

    dialect: str
    columns: list[str]
    booleans: list[str]


def catalogue_of(database: str | None, table: str) -> Catalogue:
    """Return the columns of a table in a database, a file or postgresql://...; None: the table is a file."""
    if database is None:
        return _duckdb(None, table)
    if database.startswith(("postgresql://", "postgres://")):
        return _postgresql(database, table)
    path = Path(database)
    if not path.is_file():
        raise EngineError(f"there is no database {database}")
    with path.open("rb") as file:
        start = file.read(16)
    if start.startswith(b"SQLite format 3"):
        return _sqlite(database, table)
    if start[8:12] == b"DUCK":
        return _duckdb(database, table)
    raise EngineError(f"{database} is neither a DuckDB nor a SQLite database")


def _found(dialect: str, table: str, kinds: list[tuple[str, str]]) -> Catalogue:
    if not kinds:
        raise EngineError(f"{dialect}: there is no table {table!r}")
    return Catalogue(
        dialect, [name for name, _ in kinds], [name for name, kind in kinds if kind.lower() == "boolean"]
    )


def _duckdb(database: str | None, table: str) -> Catalogue:
    import duckdb

    source = source_of(table)
    with engine_errors("duckdb", f"read the columns of {table}"):
        connection = duckdb.connect() if database is None else duckdb.connect(database, read_only=True)
        with connection:
            kinds = [
                (row[0], row[1])
                for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608
            ]
    return _found("duckdb", table, kinds)


def _sqlite(database: str, table: str) -> Catalogue:
    with engine_errors("sqlite", f"read the columns of {table}"):
        connection = sqlite3.connect(f"{Path(database).resolve().as_uri()}?mode=ro", uri=True)
        try:
            rows = connection.execute("SELECT name, type FROM pragma_table_info(?)", [table]).fetchall()
        finally:
            connection.close()
    return _found("sqlite", table, rows)


def _postgresql(address: str, table: str) -> Catalogue:
    import psycopg

    schema, _, name = table.rpartition(".")
    with engine_errors("postgresql", f"read the columns of {table}"), psycopg.connect(address) as connection:
        rows = connection.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s "
            "AND (table_schema = %s OR (%s = '' AND table_schema = ANY (current_schemas(false)))) "
            "ORDER BY ordinal_position",
            [name, schema, schema],
        ).fetchall()
    return _found("postgresql", table, rows)
