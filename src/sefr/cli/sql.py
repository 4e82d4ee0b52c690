"""``sefr sql``: the query that trains inside a database, and the one that scores there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from ..engines.catalogue import Catalogue


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


@dataclass(frozen=True)
class TableOptions:
    """The table, the database it is in, and whose SQL."""

    table: Annotated[
        str, typer.Option("--table", "-t", help="The table, or a file that DuckDB reads.", metavar="TABLE")
    ] = ""
    database: Annotated[
        str | None,
        typer.Option(
            help="Look up the columns: a DuckDB or SQLite file, postgresql://...", metavar="DATABASE"
        ),
    ] = None
    dialect: Annotated[DialectName | None, typer.Option(help="Whose SQL; duckdb, or that of --database.")] = (
        None
    )

    def looked_up(self) -> tuple[Catalogue | None, str, str]:
        """Return the columns if they can be known, the table's name for the query, and the dialect."""
        from ..engines.catalogue import catalogue_of
        from ..engines.dialects import literal
        from ..engines.duckdb import exact_file

        asked = None if self.dialect is None else self.dialect.value
        is_file = self.database is None and Path(self.table).is_file()
        if self.database is None and not is_file:
            return None, self.table, asked or "duckdb"
        table = literal(exact_file(self.table)) if is_file else self.table
        found = catalogue_of(self.database, table)
        if asked not in (None, found.dialect):
            where = self.database or table
            raise typer.BadParameter(f"--dialect {asked}, but {where} speaks {found.dialect}")
        return found, table, found.dialect


@dataclass(frozen=True)
class SumOptions:
    """What is added up, of which columns."""

    label: Annotated[
        str | None, typer.Option("--label", "-l", help="The column of labels.", metavar="COLUMN")
    ] = None
    features: Annotated[str, typer.Option(help="Columns to learn from, a,b,c.", metavar="COLUMNS")] = ""
    drop: Annotated[str, typer.Option(help="Columns to leave out, a,b,c.", metavar="COLUMNS")] = ""
    weight: Annotated[str | None, typer.Option(help="The column of weights.", metavar="COLUMN")] = None
    group_by: Annotated[
        str | None,
        typer.Option(help="A column of which every value gets a model of its own.", metavar="COLUMN"),
    ] = None
    origin: Annotated[
        list[str] | None,
        typer.Option(help="NAME=NUMBER near the values of a column far from zero."),
    ] = None
    moments: Annotated[int, typer.Option(help="2 adds up products of features too.", min=1, max=2)] = 1
    maintain: Annotated[
        bool, typer.Option("--maintain", help="Print triggers that keep the Summary in a table (postgresql).")
    ] = False
    task: Annotated[
        options.Task,
        typer.Option(help="regress: the label is a number, to be predicted from the features."),
    ] = options.Task.classify
    coefficients: Annotated[
        bool,
        typer.Option("--coefficients", help="With --task regress: solve it in the query, a row per model."),
    ] = False
    ridge: Annotated[
        float, typer.Option(help="With --coefficients: penalty of squared coefficients.", min=0.0)
    ] = 0.0

    @property
    def predicts_numbers(self) -> bool:
        """Whether the label is a number to be predicted."""
        return self.task is options.Task.regress

    def looked_up(self, found: Catalogue | None) -> tuple[list[str], list[str]]:
        """Return the features, none if they are not known, and which columns are boolean."""
        from ..engines.columns import choose_columns

        features, dropped = options.names(self.features), options.names(self.drop)
        if found is None:
            if dropped:
                raise typer.BadParameter(
                    "--drop needs --database or --features: the query does not know the columns"
                )
            return features, []
        columns = choose_columns(found.dialect, found.columns, str(self.label), features or None, self.weight)
        left_out = {*dropped, self.group_by}
        return [name for name in columns.features if name not in left_out], found.booleans

    def query(self, asked: TableOptions, prefix: str) -> str:
        """Return the query, or what it has to say about options that do not go together."""
        if self.label is None:
            raise typer.BadParameter("which column is the label? (--label)")
        origins = origins_of(self.origin or [])
        if self.ridge and not self.coefficients:
            raise typer.BadParameter("--ridge goes with --coefficients")
        if self.predicts_numbers and self.maintain:
            raise typer.BadParameter("--maintain keeps sums of classes: leave out --task regress")
        if not self.coefficients:
            return self._training(asked, origins)
        if not self.predicts_numbers or origins or self.moments > 1:
            raise typer.BadParameter(
                "--coefficients goes with --task regress, without --origin and --moments"
            )
        return self._solving(asked, prefix)

    def _training(self, asked: TableOptions, origins: dict[str, float]) -> str:
        """Return the query whose result is a Summary, or the triggers that maintain that."""
        from ..engines.maintained import maintenance_sql
        from ..engines.sql import Query

        found, table, dialect = asked.looked_up()
        features, booleans = self.looked_up(found)
        query = Query(
            table,
            self.label,
            features or None,
            self.weight,
            booleans,
            origins,
            self.group_by,
            self.moments,
        )
        if self.predicts_numbers:  # the label is one more column whose products are added up
            if not features:
                raise typer.BadParameter("--task regress needs --features, or --database")
            columns = [*features, str(self.label)]
            query = replace(query, label=None, features=columns, moments=2, target=self.label)
        if not self.maintain:
            return query.sql(dialect)
        if dialect != "postgresql":
            raise typer.BadParameter(f"--maintain takes postgresql, not {dialect}")
        return maintenance_sql(query)

    def _solving(self, asked: TableOptions, prefix: str) -> str:
        """Return the query that solves linear regression, or ridge regression, in the database."""
        from ..engines.regression_sql import RegressionQuery

        found, table, dialect = asked.looked_up()
        features, booleans = self.looked_up(found)
        if not features:
            raise typer.BadParameter("--coefficients needs --features, or --database")
        query = RegressionQuery(
            table,
            str(self.label),
            features,
            self.weight,
            booleans,
            self.group_by,
            self.ridge,
            prefix,
        )
        try:
            return query.sql(dialect)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None


@dataclass(frozen=True)
class ScoringOptions:
    """What a model is to say of each row."""

    predict: Annotated[
        str | None,
        typer.Option(help="Print the query that scores with a .sefr model.", metavar="MODEL"),
    ] = None
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="With --predict: a column per class.")
    ] = False
    explain: Annotated[
        int, typer.Option(help="With --predict: number of strongest features to add.", min=0)
    ] = 0
    prefix: Annotated[
        str,
        typer.Option(
            help="With --predict or --coefficients: what new columns' names begin with.", metavar="WORD"
        ),
    ] = ""

    def query(self, asked: TableOptions, model: str) -> str:
        """Return the query that scores the rows of a table."""
        from ..engines.scoring import SCORED, Scoring
        from ..engines.scoring_model import ScoringModel
        from .stored import read_model

        found, table, dialect = asked.looked_up()
        if dialect not in SCORED:
            raise typer.BadParameter(f"--predict takes {', '.join(SCORED)}, not {dialect}")
        clf, recipe = read_model(model)
        if clf.predicts_numbers and self.probabilities:
            raise typer.BadParameter("a model that predicts numbers has no --probabilities")
        categories = {}
        if recipe is not None and not recipe.coded:  # a ScoringModel knows coded ones by their columns
            categories = {
                f"{column}={value}": (column, value)
                for column, values in recipe.categories.items()
                for value in values
            }
        booleans = [] if found is None else found.booleans
        scored = ScoringModel.of(clf, probabilities=self.probabilities)
        made = Scoring(table, scored, booleans, categories, self.explain, self.prefix)
        if found is not None and (taken := made.taken(found.columns, dialect)):
            raise typer.BadParameter(
                f"{asked.table} has a column {taken[0]!r} of its own: "
                "--prefix WORD puts a word before new names"
            )
        return made.sql(dialect)


def sql(
    asked: TableOptions,
    sums: SumOptions,
    macros: Annotated[
        Macros | None, typer.Option(help="Print macros that train and score, and stop.")
    ] = None,
    *,
    scoring: ScoringOptions,
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
    from .screen import binary_output, output

    if macros is None and not asked.table:
        raise typer.BadParameter("which table? (--table)")
    if macros is not None:
        text = macros_of(macros.value)
    elif scoring.predict is not None:
        if sums != SumOptions():
            raise typer.BadParameter(
                "--predict takes no --label, --features, --drop, --weight, --group-by, --origin, --moments, "
                "--task"
            )
        text = scoring.query(asked, scoring.predict)
    elif scoring != ScoringOptions(prefix=scoring.prefix if sums.coefficients else ""):
        raise typer.BadParameter("--probabilities, --explain and --prefix go with --predict MODEL")
    else:
        text = sums.query(asked, scoring.prefix)
    with output():
        out = binary_output()
        out.write(text.encode())
        out.flush()


def macros_of(which: str) -> str:
    """Return a file of macros: for DuckDB, or for dbt."""
    from importlib import resources

    return (resources.files("sefr.engines") / f"{which}.sql").read_text(encoding="utf-8")


def origins_of(texts: list[str]) -> dict[str, float]:
    """Return the values near which columns lie, from NAME=NUMBER."""
    origins = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            origins[name] = float(number)
        except ValueError:
            raise typer.BadParameter(f"--origin takes NAME=NUMBER, not {text!r}") from None
    return origins
