"""From the rows of a Table to Summaries, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows.batches import Gatherer
from .._rows.labelled import Labelled
from .._rows.labels import Codes
from .._rows.matrix import Columns, Matrix
from .._summary.summary import Summary
from ..classifier import SEFRClassifier
from .label_column import Roll, like_the_model, relabelled
from .part import SourceError
from .recipe import Recipe
from .table import Batch, Table, summarise

Tick = Callable[[int], None]
FOLD_BYTES = 128 << 20


def learn(
    table: Table,
    recipe: Recipe,
    *,
    missing: str = "error",
    known: NDArray[Any] | None = None,
    gatherer: Gatherer | None = None,
    tick: Tick = lambda rows: None,
) -> Summary:
    """Summarise all rows; ``known`` are the labels of a model that the new ones must be like.

    ``gatherer`` keeps a sample of the rows, for further passes.
    """
    roll = Roll(_label(recipe))
    total: Summary | None = None
    for batch, matrix, classes, codes in _labelled(table, recipe, known):
        roll.add(classes, codes, batch.origin, matrix.shape[1])
        (summary,) = summarise(batch, matrix, classes, codes, recipe, missing)
        if gatherer is not None:
            gatherer.add(Labelled(matrix, classes, codes, None))
        total = summary if total is None else total + summary
        tick(len(batch))
    if total is None:
        raise SourceError(f"{table.parts[0].name}: there are no rows")
    return total if known is not None else relabelled(total, roll.settled(total, typed=table.typed))


def refine(
    table: Table, recipe: Recipe, clf: SEFRClassifier, summary: Summary, gatherer: Gatherer, tick: Tick
) -> SEFRClassifier:
    """Make the further passes of ``clf.passes`` over rows that were learned; each reads the files again."""
    classes = summary.classes

    def labelled(labels: NDArray[Any], codes: Codes, matrix: Matrix) -> Labelled:
        like = like_the_model(labels, classes, _label(recipe), typed=table.typed)
        distinct, places = np.unique(like, return_inverse=True)
        return Labelled(matrix, distinct, places.astype(np.int32)[codes], None)

    def rows() -> Iterator[Labelled]:
        for batch, matrix, labels, codes in _labelled(table, recipe, classes):
            yield Labelled(matrix, labels, codes, None)
            tick(len(batch))

    sampled = gatherer.sample(classes, lambda part: labelled(part.classes, part.codes, part.matrix))
    return clf.fit_from(summary, rows, sampled)


def learn_folds(table: Table, recipe: Recipe, n_folds: int, *, missing: str, tick: Tick) -> list[Summary]:
    """Summarise each fold of the rows; the rows of each class are dealt out to the folds like cards."""
    roll, dealer = Roll(_label(recipe)), Dealer(n_folds)
    folds: list[Summary] = []
    for batch, matrix, classes, codes in _labelled(table, recipe, None):
        roll.add(classes, codes, batch.origin, matrix.shape[1])
        if 8 * len(roll.first) * matrix.shape[1] * n_folds > FOLD_BYTES:
            raise SourceError(f"{n_folds} folds of so many features and classes do not fit: use fewer folds")
        at = dealer.deal(classes, codes) * np.int32(len(classes)) + codes
        parts = summarise(batch, matrix, classes, at, recipe, missing, n_folds)
        folds = parts if not folds else [a + b for a, b in zip(folds, parts, strict=True)]
        tick(len(batch))
    if not folds:
        raise SourceError(f"{table.parts[0].name}: there are no rows")
    total = sum(folds[1:], folds[0])
    rare = total.classes[int(np.argmin(total.counts))]
    if total.counts.min() < 2:
        raise SourceError(f"{roll.place(rare.item())}: class {rare!r} has one row only: too few for folds")
    classes = roll.settled(total, typed=table.typed)
    return [relabelled(fold.over(total.classes), classes) for fold in folds]


class Dealer:
    """Deals the rows of each class out to folds, one after the other, across batches."""

    def __init__(self, n_folds: int) -> None:
        self._n_folds = n_folds
        self._dealt: dict[Any, int] = {}

    def deal(self, classes: NDArray[Any], codes: Codes) -> Codes:
        """Return the fold of each row."""
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes, minlength=len(classes))
        labels = classes.tolist()
        before = np.array([self._dealt.get(label, 0) for label in labels])
        starts = np.cumsum(counts) - counts
        folds = np.empty(len(codes), dtype=np.int32)
        folds[order] = (np.arange(len(codes)) - np.repeat(starts - before, counts)) % self._n_folds
        self._dealt |= dict(zip(labels, (before + counts).tolist(), strict=True))
        return folds


class Confusion:
    """How often each label was given for each true label, and what follows from it."""

    def __init__(self) -> None:
        self._cells: dict[tuple[Any, Any], int] = {}

    def add(self, truth: NDArray[Any], answers: NDArray[Any]) -> None:
        """Count some rows."""
        true_values, true_codes = np.unique(truth, return_inverse=True)
        values, codes = np.unique(answers, return_inverse=True)
        counts = np.bincount(true_codes * len(values) + codes, minlength=len(values) * len(true_values))
        for cell in np.flatnonzero(counts):
            key = (true_values[cell // len(values)].item(), values[cell % len(values)].item())
            self._cells[key] = self._cells.get(key, 0) + int(counts[cell])

    @property
    def labels(self) -> list[Any]:
        """All labels, sorted."""
        return sorted({label for pair in self._cells for label in pair})

    def matrix(self) -> NDArray[np.int64]:
        """Return the counts: a row a true label, a column an answer."""
        at = {label: i for i, label in enumerate(self.labels)}
        counts = np.zeros((len(at), len(at)), dtype=np.int64)
        for (truth, answer), count in self._cells.items():
            counts[at[truth], at[answer]] = count
        return counts

    def report(self) -> dict[str, Any]:
        """Return accuracy, macro F1 and a line a class, computed as scikit-learn does."""
        counts = self.matrix()
        hits = np.diag(counts).astype(float)
        true, given = counts.sum(axis=1), counts.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            precision, recall = np.nan_to_num(hits / given), np.nan_to_num(hits / true)
            f1 = np.nan_to_num(2 * hits / (true + given))
        return {
            "rows": int(counts.sum()),
            "accuracy": float(hits.sum() / counts.sum()),
            "macro_f1": float(f1.mean()),
            "classes": [
                {"label": label, "rows": int(n), "precision": float(p), "recall": float(r), "f1": float(f)}
                for label, n, p, r, f in zip(self.labels, true, precision, recall, f1, strict=True)
            ],
            "confusion": counts.tolist(),
        }


def labelled_rows(
    table: Table, recipe: Recipe, missing: str, tick: Tick
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return all rows and their labels, in memory."""
    rows, labels = [], []
    for batch, matrix, classes, codes in _labelled(table, recipe, None):
        rows.append(checked_rows(batch, matrix, recipe, missing))
        labels.append(classes[codes])
        tick(len(batch))
    if not rows:
        raise SourceError(f"{table.parts[0].name}: there are no rows")
    return np.concatenate(rows), np.concatenate(labels)


def judge(
    table: Table,
    recipe: Recipe,
    clf: SEFRClassifier,
    *,
    tick: Tick = lambda rows: None,
) -> Confusion:
    """Compare a model's answers with the labels of a table."""
    confusion, scorer = Confusion(), nameless(clf)
    for batch, matrix, classes, codes in _labelled(table, recipe, clf.classes_):
        confusion.add(classes[codes], scorer.predict(checked_rows(batch, matrix, recipe, clf.missing)))
        tick(len(batch))
    return confusion


def judge_folds(
    table: Table, recipe: Recipe, models: list[SEFRClassifier], *, tick: Tick = lambda rows: None
) -> Confusion:
    """Compare the answers of each fold's model with the labels of that fold's rows."""
    confusion, dealer = Confusion(), Dealer(len(models))
    scorers = [nameless(clf) for clf in models]
    for batch, matrix, classes, codes in _labelled(table, recipe, None):
        folds = dealer.deal(classes, codes)
        truth = like_the_model(classes, models[0].classes_, _label(recipe), typed=table.typed)[codes]
        X = checked_rows(batch, matrix, recipe, models[0].missing)
        for fold, clf in enumerate(scorers):
            if (here := folds == fold).any():
                confusion.add(truth[here], clf.predict(X[here]))
        tick(len(batch))
    return confusion


def checked_rows(batch: Batch, matrix: Columns, recipe: Recipe, missing: str) -> NDArray[np.float64]:
    """Return the rows as one array; a value that the model cannot use is an error."""
    found = matrix.bad_cell(missing=missing == "ignore")
    if found is not None:
        row, column, value = found
        what = "is missing" if np.isnan(value) else "is infinite"
        raise SourceError(f"{batch.place(row)}: the value of column {recipe.feature_names[column]!r} {what}")
    return np.concatenate([block for _rows, block in matrix.blocks()])


def nameless(clf: SEFRClassifier) -> SEFRClassifier:
    """Return the same model for rows without names: a table has matched its columns by name already."""
    return SEFRClassifier.from_fitted(replace(clf.fitted_, names=None), **clf.get_params(deep=False))


def _label(recipe: Recipe) -> str:
    if recipe.label is None:
        raise SourceError("which column is the label? (--label)")
    return recipe.label


def _labelled(
    table: Table, recipe: Recipe, known: NDArray[Any] | None
) -> Iterator[tuple[Batch, Columns, NDArray[Any], Codes]]:
    """Yield labelled batches, the labels as text or, where a model's are known, like these."""
    for batch, matrix, classes, codes in table.labelled(recipe, _label(recipe)):
        if known is None:
            yield batch, matrix, classes, codes
            continue
        try:
            like = like_the_model(classes, known, _label(recipe), typed=table.typed)
        except SourceError as error:
            raise SourceError(f"{batch.place(0)}: {error}") from None
        distinct, places = np.unique(like, return_inverse=True)
        yield batch, matrix, distinct, places.astype(np.int32)[codes]
