"""A model file on the command line: the model and how the columns of a file become its features."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import model_file
from ..base import Learner
from ..files import ColumnRecipe, Dataset, SourceError
from ..files.dates import part_names
from ..files.reader import NUMBER
from . import options
from .screen import Screen

if TYPE_CHECKING:
    pass


def read_model(path: str) -> tuple[Any, ColumnRecipe | None]:
    """Return a model and its recipe; None if the model knows no column names."""
    clf = model_file.load(path)
    if clf.summary_.n_targets > 1:
        raise model_file.ModelFileError(
            f"{path}: a model that predicts several numbers per row, which the command does not take; "
            "SEFRRegressor in Python does"
        )
    columns = model_file.columns_of(clf)
    if columns is not None:
        recipe = ColumnRecipe.from_member(columns)
        n_features, categories = clf.n_features_in_, clf.summary_.categories
        if len(recipe.feature_names) != n_features or recipe.coded_features != categories:
            raise model_file.ModelFileError(f"{path}: its table of columns does not fit its features")
        return clf, recipe
    names = clf.summary_.feature_names
    if names is None:
        return clf, None
    categories = {names[j]: tuple(map(str, own)) for j, own in clf.summary_.categories.items()}
    return clf, ColumnRecipe(None, tuple(names), categories, bool(categories))


def fitted_recipe(
    table: Dataset, clf: Learner, recipe: ColumnRecipe | None, label: str | None, screen: Screen
) -> ColumnRecipe:
    """Return the recipe for the columns of this table; missing ones are an error."""
    name = table.label_name(label) if label else recipe.label if recipe else None
    first = table.readers[0]
    _refuse_categories(clf, recipe)
    if recipe is None:
        columns = [column for column in table.columns if column != name]
        if len(columns) != clf.n_features_in_:
            raise SourceError(
                f"{first.name} has {len(columns)} columns for features; the model needs {clf.n_features_in_} "
                "and has no names to choose them by"
            )
        return ColumnRecipe(name, tuple(columns))
    for part in table.readers:
        missing = [column for column in recipe.dates if column not in part.columns]
        parts = {made for date in missing for made in part_names(date, recipe.dates[date])}
        missing += [column for column in recipe.columns if column not in {*part.columns, *parts}]
        if missing and not part.absent_means_zero():
            them = "them" if len(missing) > 1 else "it"
            raise SourceError(f"{part.name}: {_listed(missing)} missing; the model needs {them}")
        text = [
            c for c in recipe.columns if c not in recipe.categories and part.columns.get(c, NUMBER) != NUMBER
        ]
        if text:
            raise SourceError(f"{part.name}: {_listed(text)} not numbers{part.describe_text(text[0])}")
    known = {name, *recipe.columns, *recipe.left_out, *recipe.dates}
    extra = [column for column in table.columns if column not in known]
    if extra:
        screen.note(f"{first.name}: {_listed(extra)} not in the model and left out")
    return replace(recipe, label=name)


def known_rows(model: Any) -> str:
    """Return how many rows a model knows, and of how many classes unless it predicts numbers."""
    rows, labels = f"{model.summary_.n_rows:,.0f} rows", model.fitted_.labels
    return f"{rows}, {len(labels)} classes" if labels else rows


def refuse_without_sums(path: str, clf: Any, recipe: ColumnRecipe | None, verb: str) -> None:
    """Raise an error for a model that is more than its sums, and say how to train one that is not."""
    if clf.predicts_numbers or (not clf.auto and clf.passes == 1):
        return
    what = "--auto" if clf.auto else f"--passes {clf.passes}"
    command = train_command(recipe, "--exact")
    raise ValueError(f"{path}: a model of {what} cannot {verb}: train it again on all rows with {command}")


def train_command(recipe: ColumnRecipe | None, word: str) -> str:
    """Return the command that trains another model for the same label."""
    label = "COLUMN" if recipe is None or recipe.label is None else recipe.label
    return shlex.join([options.program(), "train", "DATA", "--label", label, word])


def _refuse_categories(clf: Learner, recipe: ColumnRecipe | None) -> None:
    """Raise an error for categories of a data frame that the text of a file does not tell."""
    for j, own in clf.summary_.categories.items():
        if recipe is None:
            raise SourceError(f"column {j} of the model has categories, and no name to find it by in a file")
        told = all(type(value) in (str, int) for value in own) and len(set(map(str, own))) == len(own)
        if not told:
            raise SourceError(
                f"the categories of column {recipe.columns[j]!r} are neither text nor whole numbers: they "
                "are told apart in a data frame (SEFRClassifier.predict), not in a file"
            )


def device_library() -> Any:
    """Return ``sefr.device``, which not every installation has."""
    try:
        return import_module("sefr.device")
    except ModuleNotFoundError as error:
        raise ValueError(f"this installation cannot make code for boards: {error}") from None


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"columns {shown} are" if len(names) > 1 else f"column {shown} is"
