"""``sefr update``: a model learns more rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import model_file
from .._summary.summary import Summary
from ..files import SourceError, open_table
from ..files.learning import learn
from . import options
from .screen import Screen
from .stored import fitted_recipe, read_model


def changing(verb: str, text: str) -> Callable[..., None]:
    """Return a command that reads rows and changes a model by them; ``verb`` says what it did."""

    def command(
        model: options.OneModel,
        data: options.Data,
        label: options.MaybeLabel = None,
        output: options.Out = None,
        format: options.FileFormat = None,
        delimiter: options.Delimiter = None,
        no_header: options.NoHeader = False,
        quiet: options.Quiet = False,
        json: options.Json = False,
    ) -> None:
        screen = Screen(quiet=quiet, as_json=json)
        reading = options.reading(format, delimiter, no_header)
        change(screen, model, output, read_rows(screen, model, data, label, reading), verb=verb)

    command.__doc__ = text
    return command


update = changing(
    "learned",
    """Learn more rows: the model is then the same as if it had been trained on all.

    Several processes may update one model at the same time; none loses rows.

    For example:

      sefr update iris.sefr today.csv

      sefr update iris.sefr today.csv -o tomorrow.sefr
    """,
)


def read_rows(
    screen: Screen, model: str, data: list[str], label: str | None, reading: dict[str, Any]
) -> Summary:
    """Return the Summary of rows that belong to a model."""
    clf, stored = read_model(model)
    table = open_table(data, again=True, **reading)
    recipe = fitted_recipe(table, clf, stored, label, screen)
    if recipe.categories:
        for batch in table.batches(recipe.wanted()):
            if strange := recipe.strangers(batch.rows):
                name, value = next(iter(strange.items()))
                raise SourceError(
                    f"{batch.place(0)}: column {name!r} has {value!r}, a category new to the model"
                )
    with screen.progress(table, "reading") as tick:
        return learn(table, recipe, missing=clf.missing, known=clf.classes_, tick=tick)


def change(screen: Screen, model: str, output: str | None, summary: Summary, *, verb: str) -> None:
    """Change a model under its lock, so that nobody else's change is lost, and write it."""
    if output:
        options.check_writable(output)
    with model_file.locked(model):
        clf, _recipe = read_model(model)
        if verb == "learned":
            clf.merge(summary)
        else:
            clf.forget(summary)
        model_file.save(clf, output or model)
    screen.line(
        f"{output or model}: {verb} {summary.n_rows:,.0f} rows, now {clf.summary_.n_rows:,.0f} rows, "
        f"{len(clf.classes_)} classes"
    )
    screen.json({"model": output or model, verb: summary.n_rows, "rows": clf.summary_.n_rows})
