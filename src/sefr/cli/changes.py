"""A model file changed by the rows of other files, under its lock."""

from __future__ import annotations

from dataclasses import dataclass

from .. import model_file
from .._summary.summary import Summary
from .._system.lock import locked
from ..files import SourceError
from ..files.learning import learn
from . import options
from .screen import Screen
from .stored import fitted_recipe, read_model, whole


@dataclass(frozen=True)
class Change:
    """What ``sefr update`` and ``sefr forget`` are asked."""

    model: str
    data: list[str]
    label: str | None
    output: str | None
    skip_unlabelled: bool

    @property
    def target(self) -> str:
        """The file that is written."""
        return self.output or self.model


def carry_out(screen: Screen, change: Change, reading: options.Reading, *, verb: str) -> None:
    """Learn the rows or take them back, and write the model; ``verb`` says which."""
    target = options.output_path(change.target)
    summary = _read_rows(screen, change, reading)
    # The rows were read without the lock; the model is read again under it, so nobody's change is lost.
    with locked(target, lambda: screen.note(f"waiting for another process that changes {target}")):
        clf, _recipe = read_model(change.model)
        if verb == "learned":
            clf.merge(summary)
        else:
            clf._refuse_without_rows("forget")
            clf._learned(clf.summary_ - summary, held_out=clf._held_out)
        model_file.save(clf, target)
    screen.line(
        f"{target}: {verb} {summary.n_rows:,.0f} rows, now {clf.summary_.n_rows:,.0f} rows, "
        f"{len(clf.classes_)} classes"
    )
    screen.json({"model": target, verb: whole(summary.n_rows), "rows": whole(clf.summary_.n_rows)})


def _read_rows(screen: Screen, change: Change, reading: options.Reading) -> Summary:
    """Return the Summary of rows that belong to a model."""
    clf, stored = read_model(change.model)
    table = reading.open(change.data, again=True)
    table.skip_unlabelled = change.skip_unlabelled
    recipe = fitted_recipe(table, clf, stored, change.label, screen)
    if recipe.categories:
        for batch in table.batches(recipe.wanted()):
            if strange := recipe.strangers(batch.rows):
                name, value = next(iter(strange.items()))
                raise SourceError(
                    f"{batch.place(0)}: column {name!r} has {value!r}, a category new to the model"
                )
    with screen.progress(table, "reading") as tick:
        return learn(table, recipe, missing=clf.missing, known=clf.classes_, tick=tick)
