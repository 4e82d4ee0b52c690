"""``sefr merge``: one model from several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from ..files import ColumnRecipe


def merge(
    *,
    models: Annotated[list[str], typer.Argument(help="Two or more .sefr files.", metavar="MODEL...")],
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write.", metavar="FILE")],
    printing: options.PrintingOptions,
) -> None:
    """Merge models: the result is the same as one trained on the rows of all.

    They are models of sefr train --exact or --paper, with the same settings.

    The output may be one of the models; others may change it at the same time, and none loses rows.

    For example:

      sefr merge monday.sefr tuesday.sefr -o week.sefr
    """
    from .. import model_file
    from .._system.lock import locked
    from .stored import known_rows, read_model, refuse_without_sums
    from .task import whole

    screen = printing.screen(output)
    if len(models) < 2:
        raise typer.BadParameter("two or more models are needed")
    output = options.output_path(output)
    with locked(output, lambda: screen.note(f"waiting for another process that changes {output}")):
        total, recipe = read_model(models[0])
        refuse_without_sums(models[0], total, recipe, "be merged")
        for path in models[1:]:
            clf, other = read_model(path)
            refuse_without_sums(path, clf, other, "be merged")
            if clf.task is not total.task:
                raise ValueError(f"{path} and {models[0]}: one predicts numbers, the other classes")
            if repr(clf.get_params()) != repr(total.get_params()):
                raise ValueError(f"{path} and {models[0]} have different settings: {clf} and {total}")
            if _categories(recipe) != _categories(other):
                raise ValueError(f"{path} and {models[0]} have different categories")
            twice = set(model_file.batches_of(total)) & set(model_file.batches_of(clf))
            if twice:
                raise ValueError(f"{path}: {min(twice)!r} was learned by another model, too (update --once)")
            total = model_file.with_batches(
                total, [*model_file.batches_of(total), *model_file.batches_of(clf)]
            )
            try:
                total.merge(clf)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from None
        model_file.save(total, output)
    rows = total.summary_.n_rows
    screen.line(f"{output}: {known_rows(total)}")
    labels = total.fitted_.labels
    screen.json({"model": output, "rows": whole(rows), **({"classes": labels} if labels else {})})


def _categories(recipe: ColumnRecipe | None) -> tuple[Mapping[str, tuple[str, ...]], bool]:
    """Return the values of the columns of categories, and whether they are coded."""
    return ({}, False) if recipe is None else (recipe.categories, recipe.coded)
