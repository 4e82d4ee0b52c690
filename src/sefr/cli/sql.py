"""``sefr sql``: the query that trains inside a database, and the one that scores there."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from . import options


class Macros(StrEnum):
    """Whose macros."""

    duckdb = "duckdb"
    dbt = "dbt"


class DialectName(StrEnum):
    """Whose SQL."""

    duckdb = "duckdb"
    postgresql = "postgresql"
    sqlite = "sqlite"
    ansi = "ansi"
    bigquery = "bigquery"
    clickhouse = "clickhouse"
    databricks = "databricks"
    mysql = "mysql"
    redshift = "redshift"
    snowflake = "snowflake"
    spark = "spark"
    trino = "trino"


def sql(
    table: Annotated[
        str, typer.Option("--table", "-t", help="The table, or a file that DuckDB reads.", metavar="TABLE")
    ] = "",
    label: Annotated[
        str | None,
        typer.Option("--label", "-l", help="The column of labels.", metavar="COLUMN", show_default=False),
    ] = None,
    dialect: Annotated[
        DialectName | None,
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
    moments: Annotated[
        int, typer.Option("--moments", help="2 adds up products of features too.", min=1, max=2)
    ] = 1,
    maintain: Annotated[
        bool,
        typer.Option("--maintain", help="Print triggers that keep the Summary in a table (postgresql)."),
    ] = False,
    task: Annotated[
        options.Task,
        typer.Option("--task", help="regress: the label is a number, to be predicted from the features."),
    ] = options.Task.classify,
    coefficients: Annotated[
        bool,
        typer.Option("--coefficients", help="With --task regress: solve it in the query, a row per model."),
    ] = False,
    ridge: Annotated[
        float,
        typer.Option("--ridge", help="With --coefficients: penalty of squared coefficients.", min=0.0),
    ] = 0.0,
    macros: Annotated[
        Macros | None,
        typer.Option("--macros", help="Print macros that train and score, and stop.", show_default=False),
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
        int, typer.Option("--explain", help="With --predict: number of strongest features to add.", min=0)
    ] = 0,
    prefix: Annotated[
        str,
        typer.Option(
            "--prefix",
            help="With --predict or --coefficients: what new columns' names begin with.",
            metavar="WORD",
        ),
    ] = "",
) -> None:
    """Print the query whose result is a model's Summary, or with --predict what a model says of each row.

    sefr train --from-query and Summary.of_query read the Summary. With --features, --database or a file as
    --table the columns are named in the query: several times faster than one that finds them out.

    With --task regress --coefficients the query itself does linear or ridge regression, of all rows or for
    every value of --group-by.

    For example:

      sefr sql --label y --table t --database shop.db | sqlite3 -header -csv shop.db > summary.csv

      sefr train --from-query summary.csv -o shop.sefr

      sefr sql --label species --table iris.parquet | duckdb -csv > summary.csv

      sefr sql --label y --table t --database postgresql:///shop --maintain | psql shop

      sefr sql --label load --table t --features hour,rain --task regress --coefficients --group-by shop

      sefr sql --macros duckdb > sefr.sql

      sefr sql --predict model.sefr --table t --dialect postgresql --probabilities --explain 3 | psql shop
    """
    from . import queries
    from .screen import binary_output, output

    if macros is None and not table:
        raise typer.BadParameter("which table? (--table)")
    asked = queries.Asked(table, database, None if dialect is None else dialect.value)
    if macros is not None:
        text = queries.macros(macros.value)
    elif predict is not None:
        about = (maintain, label, features, drop, weight, group_by, origin, moments > 1, ridge, coefficients)
        if any(about) or task is options.Task.regress:
            raise typer.BadParameter(
                "--predict takes no --label, --features, --drop, --weight, --group-by, --origin, --moments, "
                "--task"
            )
        text = queries.scoring(asked, predict, queries.ScoringColumns(probabilities, explain, prefix))
    elif probabilities or explain or (prefix and not coefficients):
        raise typer.BadParameter("--probabilities, --explain and --prefix go with --predict MODEL")
    elif label is None:
        raise typer.BadParameter("which column is the label? (--label)")
    else:
        columns = queries.TrainingColumns(
            label, options.names(features), options.names(drop), weight, group_by, moments, task
        )
        near = queries.origins(origin or [])
        if ridge and not coefficients:
            raise typer.BadParameter("--ridge goes with --coefficients")
        if task is options.Task.regress and maintain:
            raise typer.BadParameter("--maintain keeps sums of classes: leave out --task regress")
        if coefficients:
            if task is not options.Task.regress or near or moments > 1:
                raise typer.BadParameter(
                    "--coefficients goes with --task regress, without --origin and --moments"
                )
            text = queries.regression(asked, columns, ridge, prefix)
        else:
            text = queries.training(asked, columns, near, maintain=maintain)
    with output():
        out = binary_output()
        out.write(text.encode())
        out.flush()
