"""RowSource: where the rows of a training are, and what training asks of them.

Rows lie in memory, come in batches that are read again for every pass, or stay on a cluster. Training
(``_answers/learn.py``) treats all of them alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._rows.batches import Gatherer, unpack_batch
from .._rows.cells import NO_CUT, AnyCut, Categories, Coder, Cutter
from .._rows.cells.categories import categories_of
from .._rows.cells.learn import EDGE_ROWS, rows_for_ferns
from .._rows.inputs import feature_names_in, labelled, matrix_of, read_rows
from .._rows.labelled import CodedRows, Labelled, sample_of
from .._rows.labels import ONE_CLASS, ReadTarget, Target
from .._rows.matrix import Gradient, LinearModel, Standardisation, WeightedRows
from .._system.threads import thread_count
from .._system.types import Array, Floats, Names, Rows
from ..settings import AnySettings
from .summary import Summary

# What stands for auto=True if the rows are too many, or elsewhere.
WITHOUT_AUTO = "bins=32, interactions=100, passes=20"
# Passes over so few values of rows of numbers are made in float64.
FEW_CELLS = 1 << 17
# Values that are kept in memory of rows that come in batches: 2 GB of float64.
MOST_VALUES = 1 << 28


class TooManyValuesError(ValueError):
    """Rows do not fit in memory."""


class EveryRow(Gatherer):
    """Keeps every row; too many are an error."""

    def __init__(self, most_values: int = MOST_VALUES) -> None:
        super().__init__(most_values)
        self.most_values = most_values
        self.values = 0

    def add(self, rows: Labelled) -> None:
        """Keep a batch."""
        self.values += len(rows.codes) * rows.matrix.n_features
        if self.values > self.most_values:
            raise TooManyValuesError(
                f"auto=True holds all rows in memory, and more than {self.most_values:,} values are too "
                f"many: leave out auto for {WITHOUT_AUTO}, which read the batches again for every pass"
            )
        super().add(rows)


@dataclass(frozen=True)
class Sweep:
    """What one further pass computes of every row: the loss at a model, and its derivatives.

    Rows are coded by ``classes``, whose rows weigh ``class_weights`` (K,) each; other rows are left out. The
    loss is the logistic one, or softmax.
    """

    classes: Array
    class_weights: Floats
    standard: Standardisation
    model: LinearModel

    def over(self, rows: CodedRows, n_threads: int = 1) -> Gradient:
        """Return loss and derivatives of some rows, coded by the classes."""
        weighted = WeightedRows(rows.codes, rows.weights, self.class_weights, self._targets(len(rows.codes)))
        return rows.matrix.gradient(weighted, self.standard, self.model, n_threads)

    def _targets(self, n_rows: int) -> Floats | None:
        """Return the numbers that the scores of rows should be; None for classes."""
        return None


class SquaredSweep(Sweep):
    """A sweep of the squared loss, of targets 0, so that its derivative is X'X times the model."""

    def over(self, rows: CodedRows, n_threads: int = 1) -> Gradient:
        """Return loss and derivatives of some rows."""
        if rows.matrix.shape[0] * rows.matrix.shape[1] <= FEW_CELLS:
            return self._in_float64(rows)
        return super().over(rows, n_threads)

    def _targets(self, n_rows: int) -> Floats:
        return np.zeros((n_rows, len(self.model.coef)))

    def _in_float64(self, rows: CodedRows) -> Gradient:
        """Return the squared loss of few rows, which the kernels would work on in float32."""
        x = rows.matrix.block(np.arange(rows.matrix.shape[0]))
        x = np.nan_to_num((x - self.standard.centre) * self.standard.scale)
        weights = np.where(rows.codes < 0, 0.0, 1.0 if rows.weights is None else rows.weights)
        scores = x @ self.model.coef.T + self.model.intercept
        residual = weights[:, None] * scores
        return Gradient(float((residual * scores).sum() / 2), residual.T @ x, residual.sum(axis=0))


class RowSource(ABC):
    """The rows of a training."""

    names: Array | None = None  # the features' names, as scikit-learn sees them
    place = "y"  # where the labels stand, for errors
    hint = ""  # what to do about a single class

    @abstractmethod
    def summarise(self, settings: AnySettings) -> Summary:
        """Read all rows and return their Summary; bins whose edges are learned take a reading before."""

    @abstractmethod
    def sample(self, classes: Array) -> CodedRows:
        """Return some of the rows, evenly spread by weight, coded by ``classes``: see ``sample_of``."""

    @abstractmethod
    def gradient(self, sweep: Sweep, n_threads: int) -> Gradient:
        """Make one pass: return what a sweep over all rows adds up to."""

    def in_memory(self, settings: AnySettings) -> MemoryRows:
        """Return all rows, cut into bins: what ``auto=True`` learns from."""
        raise ValueError(
            "auto=True looks at all rows at once, and these stay where they are: collect them and use fit, "
            f"or leave out auto for {WITHOUT_AUTO}"
        )

    def numbered(self) -> Labelled | None:
        """Return some of the rows with their numbers, cut into bins; None if none are in this process."""
        return None

    def scored(self, classes: Array) -> Labelled:
        """Return the rows from which a few are scored, for probabilities to be fitted to."""
        matrix, codes, weights = self.sample(classes)
        return Labelled(matrix, classes, codes, weights)


class MemoryRows(RowSource):
    """Rows in memory."""

    hint = "; partial_fit with classes=[...] can start from one"

    def __init__(self, rows: Labelled, feature_names: Names = None, names: Array | None = None) -> None:
        self.rows, self.feature_names, self.names = rows, feature_names, names
        self._coded: tuple[Array, CodedRows] | None = None

    @classmethod
    def read(
        cls,
        X: Rows,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        cut: Cutter = NO_CUT,
        read: ReadTarget = Target.of_labels,
    ) -> MemoryRows:
        """Return what was passed, checked and cut into bins; ``read`` says what y is taken for."""
        rows, feature_names = read_rows(X, y, sample_weight, cut, read)
        if feature_names is not None:
            return cls(rows, feature_names, np.array(feature_names, dtype=object))
        return cls(rows, None, None if type(X) is np.ndarray else feature_names_in(X))

    def summarise(self, settings: AnySettings) -> Summary:
        """Return the Summary of the rows."""
        n_rows, n_columns = self.rows.matrix.shape
        per_row = self.rows.matrix.n_features if settings.moments == 1 else n_columns**2
        n_threads = 1 if settings.n_jobs is None else thread_count(settings.n_jobs, n_rows * per_row)
        return Summary.of_rows(
            self.rows,
            self.feature_names,
            missing=settings.missing,
            moments=settings.moments,
            n_threads=n_threads,
        )

    def in_memory(self, settings: AnySettings) -> MemoryRows:
        """Return the rows as they are."""
        return self

    @property
    def n_rows(self) -> float:
        """The number of rows, by weight."""
        weights = self.rows.weights
        return float(len(self.rows.codes) if weights is None else weights.sum())

    def sample(self, classes: Array) -> CodedRows:
        """Return some of the rows."""
        return sample_of(self._over(classes), len(classes))

    def gradient(self, sweep: Sweep, n_threads: int) -> Gradient:
        """Make one pass over the rows."""
        return sweep.over(self._over(sweep.classes), n_threads)

    def numbered(self) -> Labelled:
        """Return the rows that ferns were grown on, and those held out beside them."""
        return rows_for_ferns(self.rows)

    def scored(self, classes: Array) -> Labelled:
        """Return all rows: a few of them are taken where they are scored."""
        return self.rows

    def _over(self, classes: Array) -> CodedRows:
        """Return the rows coded by ``classes``, the same ones for every pass."""
        if self._coded is None or self._coded[0] is not classes:
            self._coded = classes, self.rows.over(classes)
        return self._coded[1]


class RowBatch(NamedTuple):
    """A batch of labelled rows, the names of its features, and for errors its number or its source."""

    rows: Labelled
    names: Names = None
    origin: Any = 0


class BatchRows(RowSource):
    """Batches that are read again for every pass; in between, only a sample of the rows is kept."""

    def __init__(self) -> None:
        self.coder: Coder | None = None
        self.gatherer = Gatherer()

    @abstractmethod
    def read(self, coder: Coder | None, classes: Array | None = None) -> Iterator[RowBatch]:
        """Yield all batches, cut into bins by ``coder``; ``classes`` are known after the first pass."""

    def summarise(self, settings: AnySettings) -> Summary:
        """Read the batches once, with bins once more before, and return their Summary."""
        self.coder = self.learn_coder(settings.cut)
        if settings.cut.grows:  # numbers ask for those that were held out
            self.gatherer = Gatherer(EDGE_ROWS)
        return self.add_up(settings)

    def add_up(self, settings: AnySettings, *, sample: bool = True) -> Summary:
        """Read the batches once and return their Summary; ``sample``: keep some of the rows."""
        total: Summary | None = None
        for batch in self.read(self.coder):
            part = self.summary_of(batch, settings)
            total = part if total is None else total + part
            if sample:
                self.gatherer.add(batch.rows)
        if total is None:
            raise self.no_rows()
        return total

    def learn_coder(self, cut: AnyCut) -> Coder | None:
        """Return where features are cut."""
        return cut.learn_from_batches((batch.rows, {}) for batch in self.read(None))

    def summary_of(self, batch: RowBatch, settings: AnySettings) -> Summary:
        """Return the Summary of a batch."""
        n_threads = thread_count(settings.n_jobs)
        return Summary.of_rows(
            batch.rows,
            batch.names,
            missing=settings.missing,
            moments=settings.moments,
            n_threads=n_threads,
        )

    def in_memory(self, settings: AnySettings) -> MemoryRows:
        """Read the batches, and keep all rows."""
        self.gatherer = EveryRow()
        return self.all_rows(self.summarise(settings))

    def all_rows(self, summary: Summary) -> MemoryRows:
        """Return the rows that the gatherer has kept, all that a Summary is of."""
        matrix, codes, weights = self.sample(summary.classes)
        rows = Labelled(matrix, summary.classes, codes, weights)
        return MemoryRows(rows, summary.feature_names, self.names)

    def no_rows(self) -> Exception:
        """Return the error for a source without rows."""
        return ValueError("there are no batches to learn from")

    def numbered(self) -> Labelled:
        """Return some of the rows that were kept: as many as ferns are grown on."""
        return rows_for_ferns(self.gatherer.rows(ONE_CLASS))

    def sample(self, classes: Array) -> CodedRows:
        """Return the rows that were kept."""
        return self.gatherer.sample(classes)

    def gradient(self, sweep: Sweep, n_threads: int) -> Gradient:
        """Make one pass: read all batches again."""
        batches = self.read(self.coder, sweep.classes)
        return reduce(add, (sweep.over(batch.rows.over(sweep.classes), n_threads) for batch in batches))


class GivenBatches(BatchRows):
    """Batches ``(X, y)`` or ``(X, y, sample_weight)`` that a callable of the user's yields."""

    place = "all batches together"

    def __init__(
        self, start: Callable[[], Iterator[Any]], read_target: ReadTarget = Target.of_labels
    ) -> None:
        super().__init__()
        self.start, self.read_target = start, read_target

    def read(self, coder: Coder | None, classes: Array | None = None) -> Iterator[RowBatch]:
        """Yield the batches, checked."""
        for X, y, sample_weight in self._unpacked():
            self.names = feature_names_in(X) if self.names is None else self.names
            yield RowBatch(*read_rows(X, y, sample_weight, coder or NO_CUT, self.read_target))

    def learn_coder(self, cut: AnyCut) -> Coder | None:
        """Return where features are cut, columns with categories into these."""

        def read() -> Iterator[tuple[Labelled, Mapping[int, Categories]]]:
            for X, y, sample_weight in self._unpacked():
                categories = categories_of(X)
                yield labelled(matrix_of(X, categories), y, sample_weight, self.read_target), categories

        return cut.learn_from_batches(read())

    def _unpacked(self) -> Iterator[tuple[Any, Any, Any]]:
        return (unpack_batch(batch, number) for number, batch in enumerate(self.start()))
