"""What ``sefr sql`` prints: the query that trains inside a database, and the one that scores there."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import typer

from ..engines.catalogue import Catalogue, catalogue_of
from ..engines.columns import choose_columns
from ..engines.dialects import literal
from ..engines.duckdb import exact_file
from ..engines.maintained import maintenance_sql
from ..engines.regression_sql import RegressionQuery
from ..engines.scoring import SCORED, Scoring
from ..engines.scoring_model import ScoringModel
from ..engines.sql import Query
from .options import Task
from .stored import read_model


class Asked(NamedTuple):
    """The table, the database it is in, and whose SQL."""

    table: str
    database: str | None
    dialect: str | None

    def looked_up(self) -> tuple[Catalogue | None, str, str]:
        """Return the columns if they can be known, the table's name for the query, and the dialect."""
        is_file = self.database is None and Path(self.table).is_file()
        if self.database is None and not is_file:
            return None, self.table, self.dialect or "duckdb"
        table = literal(exact_file(self.table)) if is_file else self.table
        found = catalogue_of(self.database, table)
        if self.dialect is not None and self.dialect != found.dialect:
            where = self.database or table
            raise typer.BadParameter(f"--dialect {self.dialect}, but {where} speaks {found.dialect}")
        return found, table, found.dialect


class TrainingColumns(NamedTuple):
    """The columns that a model is to be trained from."""

    label: str
    features: list[str]
    dropped: list[str]
    weight: str | None
    group_by: str | None
    moments: int = 1
    task: Task = Task.classify

    def looked_up(self, found: Catalogue | None) -> tuple[list[str], list[str]]:
        """Return the features, none if they are not known, and which columns are boolean."""
        if found is None:
            if self.dropped:
                raise typer.BadParameter(
                    "--drop needs --database or --features: the query does not know the columns"
                )
            return self.features, []
        columns = choose_columns(found.dialect, found.columns, self.label, self.features or None, self.weight)
        left_out = {*self.dropped, self.group_by}
        return [name for name in columns.features if name not in left_out], found.booleans


def macros(which: str) -> str:
    """Return a file of macros: for DuckDB, or for dbt."""
    return (resources.files("sefr.engines") / f"{which}.sql").read_text(encoding="utf-8")


def training(asked: Asked, wanted: TrainingColumns, near: dict[str, float], *, maintain: bool = False) -> str:
    """Return the query whose result is a Summary, or the triggers that maintain that."""
    found, table, dialect = asked.looked_up()
    names, booleans = wanted.looked_up(found)
    query = Query(
        table, wanted.label, names or None, wanted.weight, booleans, near, wanted.group_by, wanted.moments
    )
    if wanted.task is Task.regress:  # the label is one more column whose products are added up
        if not names:
            raise typer.BadParameter("--task regress needs --features, or --database")
        query = replace(query, label=None, features=[*names, wanted.label], moments=2, target=wanted.label)
    if not maintain:
        return query.sql(dialect)
    if dialect != "postgresql":
        raise typer.BadParameter(f"--maintain takes postgresql, not {dialect}")
    return maintenance_sql(query)


def regression(asked: Asked, wanted: TrainingColumns, ridge: float, prefix: str) -> str:
    """Return the query that solves linear regression, or ridge regression, in the database."""
    found, table, dialect = asked.looked_up()
    names, booleans = wanted.looked_up(found)
    if not names:
        raise typer.BadParameter("--coefficients needs --features, or --database")
    query = RegressionQuery(
        table, wanted.label, names, wanted.weight, booleans, wanted.group_by, ridge, prefix
    )
    try:
        return query.sql(dialect)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


class ScoringColumns(NamedTuple):
    """What is wanted of each row beside its label and score, and what the new columns' names begin with."""

    probabilities: bool
    explain: int
    prefix: str


def scoring(asked: Asked, model: str, answers: ScoringColumns) -> str:
    """Return the query that scores the rows of a table."""
    found, table, dialect = asked.looked_up()
    if dialect not in SCORED:
        raise typer.BadParameter(f"--predict takes {', '.join(SCORED)}, not {dialect}")
    clf, recipe = read_model(model, numbers=True)
    if clf.predicts_numbers and answers.probabilities:
        raise typer.BadParameter("a model that predicts numbers has no --probabilities")
    categories = {}
    if recipe is not None and not recipe.coded:  # a ScoringModel knows coded ones by their columns
        categories = {
            f"{column}={value}": (column, value)
            for column, values in recipe.categories.items()
            for value in values
        }
    booleans = [] if found is None else found.booleans
    scored = ScoringModel.of(clf, probabilities=answers.probabilities)
    made = Scoring(table, scored, booleans, categories, answers.explain, answers.prefix)
    if found is not None and (taken := made.taken(found.columns, dialect)):
        raise typer.BadParameter(
            f"{asked.table} has a column {taken[0]!r} of its own: --prefix WORD puts a word before new names"
        )
    return made.sql(dialect)


def origins(texts: list[str]) -> dict[str, float]:
    """Return the values near which columns lie, from NAME=NUMBER."""
    origins = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            origins[name] = float(number)
        except ValueError:
            raise typer.BadParameter(f"--origin takes NAME=NUMBER, not {text!r}") from None
    return origins
