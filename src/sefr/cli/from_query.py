"""Models from the result of a query that ``sefr sql`` printed: one, or one per group."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from .. import model_file
from .._summary.summary import Summary
from .._system.lock import locked
from ..base import Learner
from ..classifier import SEFRClassifier
from ..engines.error import EngineError
from ..engines.sql import summaries_of_result
from ..files import SourceError
from ..files.arrow_input import in_memory
from ..regressor import SEFRRegressor
from . import options
from .screen import Screen
from .task import whole, words_of

PLACE = "{}"  # where the group's name goes in the output's
MOST_OF_A_FILE_NAME = 80


def train_from_query(
    screen: Screen, source: str, output: str | None, settings: options.TrainingOptions
) -> None:
    """Write the model, or the models, that the result of a query stands for."""
    table = _read(source)
    missing = settings.from_sums().params()["missing"]
    if "model" not in table.column_names:
        with _naming(source, screen):
            summary = Summary.of_query(table, missing=missing)
            model = _model(summary, settings)
        _write(screen, model, options.output_path(output or "model.sefr"))
        return
    pattern = output or f"model-{PLACE}.sefr"
    if pattern.count(PLACE) != 1:
        raise typer.BadParameter(
            f"the result has a model per group: --output needs {PLACE} where its name goes"
        )
    with _naming(source, screen):
        found = summaries_of_result(table, missing=missing)
    paths = {group: pattern.replace(PLACE, _file_name(group)) for group in found}
    if len(set(paths.values())) < len(paths):
        raise SourceError(f"{source}: two groups would be written to the same file")
    made = {}
    for group, summary in found.items():
        try:
            made[group] = _model(summary, settings)
        except ValueError as error:
            raise SourceError(f"{source}: model {group!r}: {error}") from None
    for group, clf in made.items():
        _write(screen, clf, options.output_path(paths[group]))


def _model(summary: Summary, settings: options.TrainingOptions) -> Learner:
    """Return the model of a Summary: a regressor if the result names what is to be predicted."""
    if summary.n_targets:
        chosen = replace(settings, exact=True) if settings.is_default else settings
        return SEFRRegressor.from_summary(summary, **chosen.number_params())
    return SEFRClassifier.from_summary(summary, **settings.from_sums().params())


def _write(screen: Screen, clf: Learner, path: str) -> None:
    with locked(path, lambda: screen.note(f"waiting for another process that changes {path}")):
        model_file.save(clf, path)
    summary = clf.summary_
    words, rows = words_of(clf), summary.n_rows
    screen.line(f"{path}: {rows:,.0f} rows, {words.counted}, {clf.n_features_in_:,} features")
    words.show_strongest(screen)
    told = {"model": path, "rows": whole(rows), "features": clf.n_features_in_}
    screen.json(told | words.rows_of_classes())


def _read(source: str) -> pa.Table:
    """Return the result of a query, as a database wrote it to a file."""
    content = in_memory(Path(source).read_bytes())
    try:
        if source.lower().endswith(".parquet"):
            return parquet.read_table(content)
        delimiter = "\t" if source.lower().endswith(".tsv") else ","
        how = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        return arrow_csv.read_csv(content, parse_options=how)
    except pa.ArrowException as error:
        raise SourceError(f"{source}: {error}") from None


@contextmanager
def _naming(source: str, screen: Screen) -> Iterator[None]:
    """Put the file's name before what is wrong with it; warnings become notes."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            yield
        except EngineError as error:
            raise SourceError(f"{source}: {error}") from None
    for one in said:
        screen.note(f"{source}: {one.message}")


def _file_name(group: Any) -> str:
    """Return a group's name as a part of a file's name: letters, digits, - and _ only.

    Examples
    --------
    >>> _file_name("a/../b c"), _file_name(3)
    ('a____b_c', '3')
    """
    text = "".join(char if char.isalnum() or char in "-_" else "_" for char in str(group))
    return text[:MOST_OF_A_FILE_NAME] or "_"
