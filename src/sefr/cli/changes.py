"""A model file changed by the rows of other files, under its lock."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .. import model_file
from .._summary.summary import Summary
from .._system.lock import locked
from ..base import Learner
from ..files import Dataset, SourceError
from . import options
from .certificate import Certificate, digest_of_file
from .screen import Screen
from .stored import fitted_recipe, known_rows, read_model, refuse_without_sums
from .task import whole, words_of

BY_CONTENT = "content"  # --once content: the name is the digest of the files


@dataclass(frozen=True)
class Change:
    """What ``sefr update`` and ``sefr forget`` are asked."""

    model: str
    data: list[str]
    label: str | None
    output: str | None
    skip_unlabelled: bool
    once: str | None = None
    certificate: str | None = None

    @property
    def target(self) -> str:
        """The file that is written."""
        return self.output or self.model


def carry_out(screen: Screen, change: Change, reading: options.ReadingOptions, *, verb: str) -> None:
    """Learn the rows or take them back, and write the model; ``verb`` says which."""
    target = options.output_path(change.target)
    if change.certificate is not None:
        options.output_path(change.certificate)
        if "-" in change.data:
            raise SourceError("a certificate names the files of the rows: standard input has none")
    change = replace(change, output=change.output and target)
    clf, stored = read_model(change.model)
    refuse_without_sums(change.model, clf, stored, "learn more rows" if verb == "learned" else "forget rows")
    table = reading.open(change.data, reread=True, like=stored)
    if change.once == BY_CONTENT:
        change = replace(change, once=table.digest())
    if _batches_after(change, clf, verb) is None:
        _say_nothing_new(screen, change, verb)
        return
    summary = _read_rows(screen, change, table)
    # The rows were read without the lock; the model is read again under it, so nobody's change is lost.
    with locked(target, lambda: screen.note(f"waiting for another process that changes {target}")):
        clf, _recipe = read_model(change.model)
        batches = _batches_after(change, clf, verb)
        if batches is None:  # somebody else was faster
            _say_nothing_new(screen, change, verb)
            return
        before = clf
        clf = model_file.with_batches(clf, batches)
        if verb == "learned":
            clf.merge(summary)
        else:
            clf.forget(summary)
        if change.certificate is not None:
            files = {path: digest_of_file(path) for reader in table.readers for path in [reader.name]}
            Certificate.of(before, summary, clf, files).write(change.certificate)
        model_file.save(clf, target)
    screen.line(f"{target}: {verb} {summary.n_rows:,.0f} rows, now {known_rows(clf)}")
    screen.json({"model": target, verb: whole(summary.n_rows), "rows": whole(clf.summary_.n_rows)})


def _batches_after(change: Change, clf: Learner, verb: str) -> list[str] | None:
    """Return the names that the model remembers afterwards; None if it was done before, or never learned."""
    known = list(model_file.batches_of(clf))
    if change.once is None:
        return known
    if verb == "learned":
        return None if change.once in known else [*known, change.once]
    return [name for name in known if name != change.once] if change.once in known else None


def _say_nothing_new(screen: Screen, change: Change, verb: str) -> None:
    """Say that nothing is to be done; a model file of another name is then a copy."""
    clf, _recipe = read_model(change.model)
    if change.output is not None:
        model_file.save(clf, change.target)
    rows = clf.summary_.n_rows
    why = "was learned before" if verb == "learned" else "is not among what was learned with --once"
    screen.line(f"{change.target}: {change.once} {why}; nothing changed, {rows:,.0f} rows")
    screen.json({"model": change.target, verb: 0, "rows": whole(rows)})


def _read_rows(screen: Screen, change: Change, table: Dataset) -> Summary:
    """Return the Summary of rows that belong to a model."""
    clf, stored = read_model(change.model)
    table.skip_unlabelled = change.skip_unlabelled or (stored is not None and stored.skip_unlabelled)
    table.coder = clf.summary_.coder
    recipe = fitted_recipe(table, clf, stored, change.label, screen)
    if recipe.categories and not recipe.coded:  # coded ones have a bin for any other value
        for batch in table.batches(recipe.wanted()):
            if strange := recipe.unknown_categories(batch.rows):
                name, value = next(iter(strange.items()))
                raise SourceError(
                    f"{batch.place(0)}: column {name!r} has {value!r}, a category new to the model"
                )
    with screen.progress(table, "reading") as tick:
        summary: Summary = words_of(clf).summarise(table, recipe, tick)
        return summary
