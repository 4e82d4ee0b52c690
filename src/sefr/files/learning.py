"""From the rows of a Dataset to Summaries, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._rows.cells import Categories, Coder
from .._rows.labelled import CodedRows, Labelled
from .._rows.matrix import Matrix, Sparse
from .._summary.products import packed_size
from .._summary.source import BatchRows, MemoryRows, RowBatch
from .._summary.summary import Summary
from .._system.types import Array, Codes, Fields
from ..base import Learner
from ..classifier import SEFRClassifier
from ..settings import AnySettings, Settings
from .dataset import Batch, Dataset, LabelledBatch, refuse_bad_value, summarise
from .label_column import SeenLabels, UnlikeLabelError, like_the_model
from .reader import SourceError
from .recipe import ColumnRecipe

Tick = Callable[[int], None]
AnyModel = TypeVar("AnyModel", bound=Learner)
FOLD_BYTES = 128 << 20
DENSE_CELLS = 1 << 27  # 1 GB: sparse rows are not spread out beyond


def learn(
    dataset: Dataset,
    recipe: ColumnRecipe,
    *,
    missing: str = "error",
    moments: int = 1,
    known: Array | None = None,
    tick: Tick = lambda rows: None,
) -> Summary:
    """Summarise all rows; ``known`` are the labels of a model that the new ones must be like."""
    rows = FileRows(dataset, recipe, tick, known)
    return rows.add_up(Settings(missing=missing, moments=moments), sample=False)


class FileRows(BatchRows):
    """The rows of files, for every pass anew; errors name their place.

    Labels are text until all are seen, or like those of a model, ``known``.
    """

    def __init__(
        self,
        dataset: Dataset,
        recipe: ColumnRecipe,
        tick: Tick = lambda rows: None,
        known: Array | None = None,
    ) -> None:
        super().__init__()
        self.dataset, self.recipe, self.tick, self.known = dataset, recipe, tick, known
        self.names = np.array(recipe.feature_names, dtype=object)
        self.place = f"column {_label(recipe)!r}"
        self.cut = False  # whether it is known where features are cut
        self.summary: Summary | None = None

    def learn_edges(self, settings: AnySettings) -> None:
        """Read the files once and learn where features are cut; all further readings cut them so."""
        self.dataset.coder, self.cut = None, True
        self.dataset.coder = settings.cut.learn_from_batches(self._uncut(settings.missing))

    def _uncut(self, missing: str) -> Iterator[tuple[Labelled, dict[int, Categories]]]:
        for batch, matrix, classes, codes in _labelled(self.dataset, self.recipe, None):
            refuse_bad_value(batch, matrix, self.recipe, missing, hint=" (--missing ignore gives it a bin)")
            yield Labelled(matrix, classes, codes, None), self.recipe.coded_features
            self.tick(len(batch))

    def summarise(self, settings: AnySettings) -> Summary:
        """Read the files once, with bins once more before; what was read already stands."""
        if not self.cut:
            self.learn_edges(settings)
        if self.summary is None:
            self.summary = self.add_up(settings)
            self.known = self.summary.classes
        return self.summary

    def add_up(self, settings: AnySettings, *, sample: bool = True) -> Summary:
        """Read the files once and return their Summary, with the labels as what they turned out to be."""
        self.seen = SeenLabels(_label(self.recipe))
        total = super().add_up(settings, sample=sample)
        if self.known is not None:
            return total
        return total.relabelled(self.seen.final(total, typed=self.dataset.typed))

    def summary_of(self, batch: RowBatch, settings: AnySettings) -> Summary:
        """Return the Summary of a batch; what is wrong with it names its place."""
        matrix, classes, codes, _, _ = batch.rows
        self.seen.add(classes, codes, batch.origin.origin, matrix.shape[1])
        rows = LabelledBatch(batch.origin, matrix, classes, codes)
        return summarise(rows, self.recipe, settings.missing, moments=settings.moments)[0]

    def no_rows(self) -> Exception:
        """Return the error for files without rows."""
        return self.dataset.no_rows()

    def in_memory(self, settings: AnySettings) -> MemoryRows:
        """Return all rows; those that were read already need not be read again."""
        return super().in_memory(settings) if self.summary is None else self.all_rows(self.summary)

    def sample(self, classes: Array) -> CodedRows:
        """Return the rows that were kept, their labels like those of the model."""
        known = classes if self.known is None else self.known
        label, typed = _label(self.recipe), self.dataset.typed

        def like(rows: Labelled) -> Labelled:
            labels = like_the_model(rows.classes, known, label, typed=typed)
            distinct, places = np.unique(labels, return_inverse=True)
            return Labelled(rows.matrix, distinct, places.astype(np.int32)[rows.codes], None)

        return self.gatherer.sample(classes, like)

    def read(self, coder: Coder | None, classes: Array | None = None) -> Iterator[RowBatch]:
        """Yield the rows of the files."""
        known = classes if self.known is None else self.known
        for batch, matrix, labels, codes in _labelled(self.dataset, self.recipe, known):
            yield RowBatch(Labelled(matrix, labels, codes, None), origin=batch)
            self.tick(len(batch))


def learn_folds(
    dataset: Dataset, recipe: ColumnRecipe, n_folds: int, *, missing: str, moments: int = 1, tick: Tick
) -> list[Summary]:
    """Summarise each fold of the rows; the rows of each class go to the folds in turn."""
    seen, assigner = SeenLabels(_label(recipe)), FoldAssigner(n_folds)
    folds: list[Summary] = []
    for batch, matrix, classes, codes in _labelled(dataset, recipe, None):
        seen.add(classes, codes, batch.origin, matrix.shape[1])
        size = len(seen.first) * matrix.shape[1] + (packed_size(matrix.shape[1]) if moments == 2 else 0)
        if 8 * size * n_folds > FOLD_BYTES:
            raise SourceError(f"{n_folds} folds do not fit in memory: use fewer folds")
        at = assigner.assign(classes, codes) * np.int32(len(classes)) + codes
        more = summarise(LabelledBatch(batch, matrix, classes, at), recipe, missing, n_folds, moments)
        folds = more if not folds else [a + b for a, b in zip(folds, more, strict=True)]
        tick(len(batch))
    if not folds:
        raise dataset.no_rows()
    total = sum(folds[1:], folds[0])
    rare = total.classes[int(np.argmin(total.counts))].item()
    if total.counts.min() < 2:
        raise SourceError(f"{seen.place(rare)}: class {rare!r} has one row only: too few for folds")
    classes = seen.final(total, typed=dataset.typed)
    return [fold.over(total.classes).relabelled(classes) for fold in folds]


class FoldAssigner:
    """Assigns the rows of each class to the folds in turn, across batches: the folds are stratified."""

    def __init__(self, n_folds: int) -> None:
        self._n_folds = n_folds
        self._assigned: dict[Any, int] = {}

    def assign(self, classes: Array, codes: Codes) -> Codes:
        """Return the fold of each row."""
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes, minlength=len(classes))
        labels = classes.tolist()
        before = np.array([self._assigned.get(label, 0) for label in labels])
        starts = np.cumsum(counts) - counts
        folds = np.empty(len(codes), dtype=np.int32)
        folds[order] = (np.arange(len(codes)) - np.repeat(starts - before, counts)) % self._n_folds
        self._assigned |= dict(zip(labels, (before + counts).tolist(), strict=True))
        return folds


class Confusion:
    """How often each label was given for each true label, and what follows from it."""

    def __init__(self) -> None:
        self._cells: dict[tuple[Any, Any], int] = {}

    def add(self, truth: Array, answers: Array) -> None:
        """Count some rows."""
        true_values, true_codes = np.unique(truth, return_inverse=True)
        values, codes = np.unique(answers, return_inverse=True)
        counts = np.bincount(true_codes * len(values) + codes, minlength=len(values) * len(true_values))
        for cell in np.flatnonzero(counts):
            key = (true_values[cell // len(values)].item(), values[cell % len(values)].item())
            self._cells[key] = self._cells.get(key, 0) + int(counts[cell])

    @property
    def labels(self) -> list[object]:
        """All labels, sorted."""
        return sorted({label for pair in self._cells for label in pair})

    def matrix(self) -> NDArray[np.int64]:
        """Return the counts: one row per true label, one column per answer."""
        at = {label: i for i, label in enumerate(self.labels)}
        counts = np.zeros((len(at), len(at)), dtype=np.int64)
        for (truth, answer), count in self._cells.items():
            counts[at[truth], at[answer]] = count
        return counts

    def report(self) -> Fields:
        """Return accuracy, macro F1 and one line per class, computed as scikit-learn does."""
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


def evaluate_model(
    dataset: Dataset,
    recipe: ColumnRecipe,
    clf: SEFRClassifier,
    *,
    tick: Tick = lambda rows: None,
) -> Confusion:
    """Compare a model's answers with the labels of a dataset."""
    confusion, scorer = Confusion(), without_feature_names(clf)
    for batch, matrix, classes, codes in _labelled(dataset, recipe, clf.classes_):
        confusion.add(classes[codes], scorer.predict(checked(batch, matrix, recipe, clf.missing)))
        tick(len(batch))
    return confusion


def evaluate_folds(
    dataset: Dataset, recipe: ColumnRecipe, models: list[SEFRClassifier], *, tick: Tick = lambda rows: None
) -> Confusion:
    """Compare the answers of each fold's model with the labels of that fold's rows."""
    confusion, assigner = Confusion(), FoldAssigner(len(models))
    scorers = [without_feature_names(clf) for clf in models]
    for batch, matrix, classes, codes in _labelled(dataset, recipe, None):
        folds = assigner.assign(classes, codes)
        truth = like_the_model(classes, models[0].classes_, _label(recipe), typed=dataset.typed)[codes]
        X = checked(batch, matrix, recipe, models[0].missing)
        for fold, clf in enumerate(scorers):
            if len(here := np.flatnonzero(folds == fold)):
                confusion.add(truth[here], clf.predict(X.take(here)))
        tick(len(batch))
    return confusion


def checked(batch: Batch, matrix: Matrix, recipe: ColumnRecipe, missing: str) -> Matrix:
    """Return the features as they lie in the file; a value that the model cannot use is an error."""
    refuse_bad_value(batch, matrix, recipe, missing)
    return matrix


def checked_rows(batch: Batch, matrix: Matrix, recipe: ColumnRecipe, missing: str) -> NDArray[np.float64]:
    """Return the features as one array, for those who look at single rows; like ``checked`` otherwise."""
    rows, columns = matrix.shape
    if isinstance(matrix, Sparse) and rows * columns > DENSE_CELLS:
        raise SourceError(
            f"{batch.place(0)}: {rows:,} sparse rows of {columns:,} columns are too many for this"
        )
    return np.concatenate([block for _rows, block in checked(batch, matrix, recipe, missing).blocks()])


def without_feature_names(clf: AnyModel) -> AnyModel:
    """Return the same model for rows without names: a dataset has matched its columns by name already."""
    return clf.with_fitted(replace(clf.fitted_, names=None))


def _label(recipe: ColumnRecipe) -> str:
    if recipe.label is None:
        raise SourceError("which column is the label? (--label)")
    return recipe.label


def _labelled(dataset: Dataset, recipe: ColumnRecipe, known: Array | None) -> Iterator[LabelledBatch]:
    """Yield labelled batches, the labels as text or, if a model's are known, like these."""
    for rows in dataset.labelled(recipe, _label(recipe)):
        if known is None:
            yield rows
            continue
        batch, matrix, classes, codes = rows
        try:
            like = like_the_model(classes, known, _label(recipe), typed=dataset.typed)
        except UnlikeLabelError as error:
            row = int(np.argmax(codes == error.code))
            raise SourceError(f"{batch.place(row)}: {error}") from None
        distinct, places = np.unique(like, return_inverse=True)
        yield LabelledBatch(batch, matrix, distinct, places.astype(np.int32)[codes])
