"""AdditiveModel: what a trained model answers with. A score is a sum of terms.

A term is the line of a feature, w (x' - t) with x' the scaled value, or an entry of a table: of the bin that
a feature lies in, of its category, of the cell of several features together. A feature may have a line beside
its bins. Lines and tables are held as arrays, so that a million features cost no more than their weights;
``terms`` has them one by one, as exporters need them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from .._rows.cells import Categories, Coder
from .._rows.inputs import complain_of_bad_value
from .._rows.matrix import Matrix
from .._summary.summary import Summary
from .._system.types import Array, Floats, Label
from .._weights.hyperplanes import Hyperplanes, leave_out_missing
from .curves import Curve, curves_of


@dataclass(frozen=True)
class Line:
    """A feature's part of each of R scores: (x - base) * coef + part."""

    base: float  # a value that was seen
    coef: Floats  # (R,)
    parts: Floats  # (R,), what it says at its base


@dataclass(frozen=True)
class Steps:
    """A feature's part of each of R scores: a constant per bin, of which edge b begins number b + 1."""

    edges: Floats  # (bins - 1,)
    parts: Floats  # (R, bins)
    gone: Floats | None  # (R,), of a missing value; None: there is no answer


@dataclass(frozen=True)
class SlopedSteps:
    """A feature's part of each of R scores: a line plus steps; of a missing value, what the steps say."""

    line: Line
    steps: Steps


@dataclass(frozen=True)
class Choice:
    """A feature's part of each of R scores: a constant per category, the last one for any other value."""

    categories: Categories
    parts: Floats  # (R, categories + 1)
    gone: Floats | None  # as for Steps


@dataclass(frozen=True)
class Question:
    """Whether a feature is at or above an edge, or one of some categories; without either, if it is missing.

    With ``others``, whether it has a value that is none of the categories.
    """

    feature: int
    edge: float | None = None
    categories: tuple[Label, ...] | None = None
    others: bool = False


@dataclass(frozen=True)
class Fern:
    """What several features say together: a constant per cell, whose number has the answers for its bits."""

    questions: tuple[Question, ...]  # the first has the highest bit
    parts: Floats  # (R, 2**questions)
    place: int  # of the set of its features among all


@dataclass(frozen=True)
class Terms:
    """All terms of R scores of m features, one by one."""

    features: tuple[Line | Steps | SlopedSteps | Choice, ...]  # (m,)
    ferns: tuple[Fern, ...]
    constant: Floats  # (R,), what the terms do not add up to, if anything


@dataclass(frozen=True)
class CellTable:
    """What each cell adds to each score: ``entries`` (R, cells). A row lies in one cell of each column.

    ``values`` (cells of features,) are the mean values of the rows in each, if there are lines beside.
    """

    coder: Coder
    entries: Floats
    values: Floats | None = None


@dataclass(frozen=True)
class AdditiveModel(ABC):
    """A score as a sum of terms: ``LineModel`` has a line per feature, ``TableModel`` tables over cells.

    ``midpoints`` returns where each scaled feature speaks for no class (R, m). ``low`` (m,) is the lowest
    value of each column that was seen. ``constant`` (R,) is what no feature says: of classes 0, or -inf for
    one that was never seen; of numbers their mean.
    """

    midpoints: Callable[[], Floats]
    low: Floats
    constant: Floats

    @property
    @abstractmethod
    def entries(self) -> Floats:
        """What each cell adds to each score (R, cells); without bins there are no cells."""

    @property
    @abstractmethod
    def feature_sets(self) -> list[tuple[int, ...]]:
        """What scores are sums over: each feature, then each set of features that ferns look at together."""

    @property
    @abstractmethod
    def terms(self) -> Terms:
        """All terms, one by one."""

    @abstractmethod
    def scores(self, matrix: Matrix, names: Array | None, missing: str, n_threads: int = 1) -> Floats:
        """Return the scores (n, R); a value that cannot be scored is an error that names its place."""

    @abstractmethod
    def missing(self, asked: str) -> str:
        """Return whether missing values are ignored or an error: as is asked, or as the cells were made."""

    @abstractmethod
    def contributions(self, matrix: Matrix) -> Floats:
        """Return the part of every set of features in every score, (n, R, sets); of a missing value 0."""

    @abstractmethod
    def effects(self, summary: Summary) -> Floats:
        """Return what each feature does on average, (1, m) for two classes, else (K, m); then what sets do.

        The size is how much the feature moves the score from the mean row of the other classes to the mean
        row of this one.
        """

    @abstractmethod
    def spreads(self, summary: Summary) -> Floats:
        """Return the standard deviation of the part of each feature, and set, in predictions (R, sets)."""

    @abstractmethod
    def strengths(self, summary: Summary, *, is_paper: bool) -> Floats:
        """Return the weight of each scaled feature, or the entry of the strongest cell of each set (R, sets).

        The weights of the paper are shares; others are told in units of the largest.
        """

    @property
    @abstractmethod
    def slopes(self) -> Floats | None:
        """What a unit of each feature adds to each score (R, m); None with bins."""

    @abstractmethod
    def curves(self, summary: Summary) -> list[Curve]:
        """Return the effect of each feature over its bins, if it has any."""

    @abstractmethod
    def planes(self, name: str) -> Hyperplanes:
        """Return the weights of features, which attribute ``name`` is of; AttributeError with bins."""

    @property
    def _seen(self) -> int:
        """The number of a score that is not -inf for every row."""
        return 0 if isfinite(self.constant[0]) else int(np.argmax(np.isfinite(self.constant)))

    def _line_scores(
        self,
        lines: Hyperplanes,
        matrix: Matrix,
        names: Array | None,
        missing: str,
        n_threads: int,
        constant: Floats,
    ) -> Floats:
        """Return the scores of lines, and a ``constant`` (R,) beside what features say."""
        scores = lines.raw_scores(matrix, n_threads)
        if not isfinite(scores[:, self._seen].sum()):
            complain_of_bad_value(matrix, names, missing=missing)
            gone = np.isnan(scores[:, self._seen])
            leave_out_missing(lines, self.midpoints(), matrix, scores, gone, constant)
        return scores

    def _add_line_parts(self, lines: Hyperplanes, matrix: Matrix, parts: Floats) -> None:
        """Add what the lines say to the parts of features (n, R, sets)."""
        weights, midpoints = lines.weights, self.midpoints()
        for rows, block in matrix.blocks():
            x = lines.scaling.apply(block)
            own = np.nan_to_num((x[:, None, :] - midpoints) * weights, copy=False, nan=0.0)
            parts[rows, :, : len(lines.scaling.low)] += own

    def _lines(self, planes: Hyperplanes, low: Floats) -> tuple[Line, ...]:
        """Return the line of each feature, from its lowest value on."""
        base = np.where(np.isfinite(low), low, 0.0)
        parts = planes.weights * (planes.scaling.apply(base[None])[0] - self.midpoints())
        return tuple(Line(float(base[j]), planes.coef[:, j], parts[:, j]) for j in range(len(base)))


@dataclass(frozen=True)
class LineModel(AdditiveModel):
    """The line of each feature: ``lines`` are the hyperplanes."""

    lines: Hyperplanes

    @property
    def entries(self) -> Floats:
        return np.empty((len(self.constant), 0))

    @cached_property
    def feature_sets(self) -> list[tuple[int, ...]]:
        return [(j,) for j in range(len(self.low))]

    @cached_property
    def terms(self) -> Terms:
        return Terms(self._lines(self.lines, self.low), (), self.constant)

    def scores(self, matrix: Matrix, names: Array | None, missing: str, n_threads: int = 1) -> Floats:
        return self._line_scores(self.lines, matrix, names, missing, n_threads, self.constant)

    def missing(self, asked: str) -> str:
        return asked

    def contributions(self, matrix: Matrix) -> Floats:
        parts = np.zeros((matrix.shape[0], len(self.constant), len(self.feature_sets)))
        self._add_line_parts(self.lines, matrix, parts)
        return parts

    def effects(self, summary: Summary) -> Floats:
        """Return the weight of each feature times the distance of the two means; the sign is the weight's."""
        sums = summary.sums if summary.tails is None else summary.sums + summary.tails
        counts = np.broadcast_to(summary.value_counts.head, sums.shape)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            own = sums / counts
            others = (sums.sum(axis=0) - sums) / (counts.sum(axis=0) - counts)
            distance = np.abs(own - others)
            found = self.lines.coef * (distance[1:] if len(sums) == 2 else distance)
        return np.asarray(np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0), dtype=np.float64)

    def spreads(self, summary: Summary) -> Floats:
        products = summary.products
        if products is None:
            raise ValueError("this model has no products")
        m, count = products.n_features, products.count
        sums = products.sums[:m]
        variance = (products.own_squares[:m] - sums * sums / count) / count
        return np.abs(self.lines.coef) * np.sqrt(np.maximum(variance, 0.0))

    def strengths(self, summary: Summary, *, is_paper: bool) -> Floats:
        weights = self.lines.weights
        return weights if is_paper else weights / max(float(np.abs(weights).max()), np.finfo(float).tiny)

    @property
    def slopes(self) -> Floats | None:
        return self.lines.coef

    def curves(self, summary: Summary) -> list[Curve]:
        return []

    def planes(self, name: str) -> Hyperplanes:
        return self.lines


@dataclass(frozen=True)
class TableModel(AdditiveModel):
    """A table over the cells of features and ferns; with ``auto=True``, ``lines`` of features beside it."""

    cells: CellTable
    lines: Hyperplanes | None = None

    @property
    def entries(self) -> Floats:
        return self.cells.entries

    @cached_property
    def feature_sets(self) -> list[tuple[int, ...]]:
        return list(self.cells.coder.feature_sets)

    @cached_property
    def terms(self) -> Terms:
        coder, entries = self.cells.coder, self.cells.entries
        shapes: list[Line | Steps | SlopedSteps | Choice] = list(_tables(coder, entries))
        if self.lines is not None:
            for j, line in enumerate(self._lines(self.lines, self.lines.scaling.low)):
                steps = shapes[j]
                if isinstance(steps, Steps) and line.coef.any():
                    shapes[j] = SlopedSteps(line, steps)
        return Terms(tuple(shapes), _ferns(coder, entries), self.constant)

    def scores(self, matrix: Matrix, names: Array | None, missing: str, n_threads: int = 1) -> Floats:
        coder, entries = self.cells.coder, self.cells.entries
        scores = coder.coded(matrix).scores(entries, self.constant, n_threads=n_threads)
        missing = self.missing(missing)
        if not isfinite(scores[:, self._seen].sum()):
            complain_of_bad_value(matrix, names, missing=missing)
        if self.lines is not None:
            nothing = np.zeros_like(self.constant)
            scores += self._line_scores(self.lines, matrix, names, missing, n_threads, nothing)
        return scores

    def missing(self, asked: str) -> str:
        return "ignore" if self.cells.coder.missing else "error"

    def contributions(self, matrix: Matrix) -> Floats:
        parts = np.zeros((matrix.shape[0], len(self.constant), len(self.feature_sets)))
        coder, entries = self.cells.coder, self.cells.entries
        for rows, block in matrix.blocks():
            by_column = entries[:, coder.offsets[:-1] + coder.code(block)].transpose(1, 0, 2)
            parts[rows] = coder.by_set(by_column)
        if self.lines is not None:
            self._add_line_parts(self.lines, matrix, parts)
        return parts

    def effects(self, summary: Summary) -> Floats:
        """Return the mean part of each feature in the rows of the class less that in the others."""
        sums, counts = summary.sums, summary.counts[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            distance = sums / counts - (sums.sum(axis=0) - sums) / (counts.sum() - counts)
        moved = np.nan_to_num((distance[1:] if len(sums) == 2 else distance) * self.binned.entries)
        coder = self.cells.coder
        return coder.by_set(np.add.reduceat(moved, coder.offsets[:-1], axis=1))

    def spreads(self, summary: Summary) -> Floats:
        coder = self.cells.coder
        _, variance = coder.means_and_variances(self.binned.entries, coder.shares(summary.sums.sum(axis=0)))
        return coder.by_set(np.sqrt(variance))

    def strengths(self, summary: Summary, *, is_paper: bool) -> Floats:
        coder, table = self.cells.coder, self.binned.entries
        seen, sets = summary.sums.sum(axis=0) > 0, coder.set_of[coder.column_of]
        found = [table[:, seen & (sets == number)] for number in range(len(coder.feature_sets))]
        return np.array([own[np.arange(len(own)), np.abs(own).argmax(axis=1)] for own in found]).T

    @property
    def slopes(self) -> Floats | None:
        return None

    def curves(self, summary: Summary) -> list[Curve]:
        return curves_of(self.cells.coder, self.binned.entries, summary)

    def planes(self, name: str) -> Hyperplanes:
        raise AttributeError(
            f"a model with bins has no {name}: its features have curves, not one weight each; see curves_"
        )

    @cached_property
    def binned(self) -> CellTable:
        """The table over cells with the lines in it, each at the mean value of the rows in a cell.

        It is the model itself if there are no lines beside the cells; else what pictures show, where a line
        rises by steps.
        """
        cells = self.cells
        if self.lines is None or cells.values is None:
            return cells
        entries, coder = cells.entries.copy(), cells.coder
        own = coder.column_of[: len(cells.values)]
        scaling = self.lines.scaling.some(own)
        moved = self.lines.weights[:, own] * (scaling.apply(cells.values[None])[0] - self.midpoints()[:, own])
        if coder.missing:
            moved[:, coder.offsets[1 : coder.n_features + 1] - 1] = 0.0
        entries[:, : len(cells.values)] += moved
        return CellTable(coder, entries)


def _tables(coder: Coder, table: Floats) -> tuple[Steps | Choice, ...]:
    """Return the constants of a model with bins."""
    shapes: list[Steps | Choice] = []
    for j, part in enumerate(coder.parts):
        own = table[:, coder.offsets[j] : coder.offsets[j + 1]]
        gone = own[:, -1] if coder.missing else None
        entries = own[:, :-1] if coder.missing else own
        if isinstance(part, Categories):
            shapes.append(Choice(part, entries, gone))
        else:
            shapes.append(Steps(part, entries, gone))
    return tuple(shapes)


def _ferns(coder: Coder, table: Floats) -> tuple[Fern, ...]:
    """Return the constants of the cells of ferns, and the questions that lead to them."""
    found = []
    for t, comparisons in enumerate(coder.ferns.parts if coder.ferns else ()):
        column = coder.n_features + t
        own = table[:, coder.offsets[column] : coder.offsets[column + 1]]
        parts = own.reshape(len(own), *[2] * len(comparisons))
        questions: list[Question] = []
        for feature, number in comparisons:
            if number == 0 and feature not in coder.categories:  # true of every row
                parts = np.take(parts, 1, axis=1 + len(questions))
            else:
                questions.append(_question(coder, feature, number))
        found.append(Fern(tuple(questions), parts.reshape(len(own), -1), int(coder.set_of[column])))
    return tuple(found)


def _question(coder: Coder, feature: int, number: int) -> Question:
    """Return what a comparison with a bin asks: see ``Ferns``. A missing value lies after all other bins."""
    part = coder.parts[feature]
    if not isinstance(part, Categories):
        return Question(feature, None if number > len(part) else float(part[number - 1]))
    if number > len(part):
        return Question(feature)
    values = tuple(part)
    return Question(
        feature, None, values if number == len(part) else values[number : number + 1], number == len(part)
    )
