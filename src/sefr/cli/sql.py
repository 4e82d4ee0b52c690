"""``sefr sql``: the query that trains inside a database, and the one that scores there."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .. import model_file
from ..engines.catalogue import Catalogue, catalogue_of
from ..engines.columns import chosen
from ..engines.scoring import SCORED, Plan, Scoring
from ..engines.sql import Query
from ..files.recipe import Recipe


class Dialect(StrEnum):
    """Whose SQL."""

    duckdb = "duckdb"
    postgresql = "postgresql"
    sqlite = "sqlite"
    ansi = "ansi"


def sql(
    table: Annotated[
        str, typer.Option("--table", "-t", help="The table, or a file that DuckDB reads.", metavar="TABLE")
    ],
    label: Annotated[
        str | None,
        typer.Option("--label", "-l", help="The column of labels.", metavar="COLUMN", show_default=False),
    ] = None,
    dialect: Annotated[
        Dialect | None,
        typer.Option("--dialect", help="Whose SQL; duckdb, or that of --database.", show_default=False),
    ] = None,
    features: Annotated[
        str, typer.Option("--features", help="Columns to learn from, a,b,c.", metavar="COLUMNS")
    ] = "",
    drop: Annotated[str, typer.Option("--drop", help="Columns to leave out, a,b,c.", metavar="COLUMNS")] = "",
    weight: Annotated[
        str | None,
        typer.Option("--weight", help="The column of weights.", metavar="COLUMN", show_default=False),
    ] = None,
    group_by: Annotated[
        str | None,
        typer.Option(
            "--group-by",
            help="A column of which every value gets a model of its own.",
            metavar="COLUMN",
            show_default=False,
        ),
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
    predict: Annotated[
        str | None,
        typer.Option(
            "--predict",
            help="Print the query that scores with a .sefr model.",
            metavar="MODEL",
            show_default=False,
        ),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="With --predict: a column per class.")
    ] = False,
    explain: Annotated[
        int, typer.Option("--explain", help="With --predict: so many features that say most.", min=0)
    ] = 0,
) -> None:
    """Print the query whose result is a model's Summary, or with --predict what a model says of each row.

    Summary.of_query reads the Summary. With --features, --database or a file as --table the columns are named
    in the query, which makes it several times faster than one that finds them out.

    For example:

      sefr sql --label y --table t --database shop.db | sqlite3 -header -csv shop.db > summary.csv

      sefr sql --label species --table iris.parquet | duckdb -csv > summary.csv

      sefr sql --predict model.sefr --table t --dialect postgresql --probabilities --explain 3 | psql shop
    """
    found, table = _looked_up(database, table, dialect)
    spoken = Dialect(found.dialect) if found is not None else dialect or Dialect.duckdb
    if predict is not None:
        if label or features or drop or weight or group_by or origin:
            raise typer.BadParameter(
                "--predict takes no --label, --features, --drop, --weight, --group-by, --origin"
            )
        booleans = [] if found is None else found.booleans
        print(_scoring(predict, table, booleans, probabilities, explain).sql(_scored(spoken)), end="")
        return
    if probabilities or explain:
        raise typer.BadParameter("--probabilities and --explain go with --predict MODEL")
    if label is None:
        raise typer.BadParameter("which column is the label? (--label)")
    names = [name.strip() for name in features.split(",") if name.strip()]
    dropped = [name.strip() for name in drop.split(",") if name.strip()]
    booleans = []
    if found is not None:
        booleans = found.booleans
        columns = chosen(found.dialect, found.columns, label, names or None, weight)
        names = [name for name in columns.features if name not in {*dropped, group_by}]
    elif dropped:
        raise typer.BadParameter("--drop needs --database or --features: the query does not know the columns")
    query = Query(table, label, names or None, weight, booleans, _origins(origin or []), group_by)
    print(query.sql(spoken.value), end="")


def _looked_up(database: str | None, table: str, dialect: Dialect | None) -> tuple[Catalogue | None, str]:
    """Return the columns of the table where they can be known, and the table's name for the query."""
    is_file = database is None and Path(table).is_file()
    if database is None and not is_file:
        return None, table
    if is_file:
        table = "'" + table.replace("'", "''") + "'"
    found = catalogue_of(database, table)
    if dialect is not None and dialect != found.dialect:
        raise typer.BadParameter(f"--dialect {dialect.value}, but {database or table} speaks {found.dialect}")
    return found, table


def _scored(dialect: Dialect) -> str:
    if dialect.value not in SCORED:
        raise typer.BadParameter(f"--predict speaks {', '.join(SCORED)}, not {dialect.value}")
    return dialect.value


def _scoring(model: str, table: str, booleans: list[str], probabilities: bool, explain: int) -> Scoring:
    clf = model_file.load(model)
    stored = model_file.columns_of(clf)
    categories = {}
    if stored is not None:
        recipe = Recipe.from_member(stored)
        categories = {
            f"{column}={value}": (column, value)
            for column, values in recipe.categories.items()
            for value in values
        }
    return Scoring(table, Plan.of(clf, probabilities=probabilities), booleans, categories, explain)


def _origins(texts: list[str]) -> dict[str, float]:
    origins = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            origins[name] = float(number)
        except ValueError:
            raise typer.BadParameter(f"--origin takes NAME=NUMBER, not {text!r}") from None
    return origins
