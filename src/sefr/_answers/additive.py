"""AdditiveModel: what a trained model answers with. A score is a sum of terms.

A term is the line of a feature, w (x' - t) with x' the scaled value, or an entry of a table: of the bin that
a feature lies in, of its category, of the cell of several features together. A feature may have a line beside
its bins. Lines and tables are held as arrays, so that a million features cost no more than their weights;
``terms`` has them one by one, as exporters need them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from .._rows.cells import Categories, Coder, code_matrix
from .._rows.inputs import complain_of_bad_cell
from .._rows.matrix import Matrix
from .._system.types import Array, Floats, Label
from .._weights.hyperplanes import Hyperplanes, leave_out_missing


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
class AdditiveModel:
    """The lines of features, a table over their cells, or both.

    ``lines`` are the hyperplanes, and ``midpoints`` returns where each scaled feature speaks for no class
    (R, m). ``low`` (m,) is the lowest value of each feature that was seen. ``constant`` (R,) is what no
    feature says: of classes 0, or -inf for one that was never seen; of numbers their mean.
    """

    lines: Hyperplanes | None
    midpoints: Callable[[], Floats]
    cells: CellTable | None
    low: Floats
    constant: Floats

    @cached_property
    def feature_sets(self) -> list[tuple[int, ...]]:
        """What scores are sums over: each feature, then each set of features that ferns look at together."""
        if self.cells is None:
            return [(j,) for j in range(len(self.low))]
        return list(self.cells.coder.feature_sets)

    def scores(self, matrix: Matrix, names: Array | None, missing: str, n_threads: int = 1) -> Floats:
        """Return the scores (n, R); a value that cannot be scored is an error that names its place."""
        if self.cells is None:
            return self._line_scores(matrix, names, missing, n_threads)
        coder, entries = self.cells.coder, self.cells.entries
        scores = code_matrix(matrix, coder).scores(entries, self.constant, n_threads=n_threads)
        missing = self.missing(missing)
        if not isfinite(scores[:, self._seen].sum()):
            complain_of_bad_cell(matrix, names, missing=missing)
        if self.lines is not None:
            scores += self._line_scores(matrix, names, missing, n_threads)
        return scores

    def missing(self, asked: str) -> str:
        """Return whether missing values are ignored or an error: as is asked, or as the cells were made."""
        if self.cells is None:
            return asked
        return "ignore" if self.cells.coder.missing else "error"

    @property
    def _seen(self) -> int:
        """The number of a score that is not -inf for every row."""
        return 0 if isfinite(self.constant[0]) else int(np.argmax(np.isfinite(self.constant)))

    def _line_scores(self, matrix: Matrix, names: Array | None, missing: str, n_threads: int) -> Floats:
        """Return the scores of the lines alone; beside cells, without what no feature says."""
        assert self.lines is not None  # noqa: S101  a model has lines or cells
        scores = self.lines.raw_scores(matrix, n_threads)
        if not isfinite(scores[:, self._seen].sum()):
            complain_of_bad_cell(matrix, names, missing=missing)
            gone = np.isnan(scores[:, self._seen])
            constant = self.constant if self.cells is None else np.zeros_like(self.constant)
            leave_out_missing(self.lines, self.midpoints(), matrix, scores, gone, constant)
        return scores

    def contributions(self, matrix: Matrix) -> Floats:
        """Return the part of every set of features in every score, (n, R, sets); of a missing value 0."""
        parts = np.zeros((matrix.shape[0], len(self.constant), len(self.feature_sets)))
        if self.cells is not None:
            coder, entries = self.cells.coder, self.cells.entries
            for rows, block in matrix.blocks():
                by_column = entries[:, coder.offsets[:-1] + coder.code(block)].transpose(1, 0, 2)
                parts[rows] = coder.by_set(by_column)
        if self.lines is not None:
            weights, midpoints = self.lines.weights, self.midpoints()
            for rows, block in matrix.blocks():
                x = self.lines.scaling.apply(block)
                own = np.nan_to_num((x[:, None, :] - midpoints) * weights, copy=False, nan=0.0)
                parts[rows, :, : len(self.lines.scaling.low)] += own
        return parts

    @cached_property
    def terms(self) -> Terms:
        """All terms, one by one."""
        if self.cells is None:
            return Terms(self._lines(), (), self.constant)
        coder, entries = self.cells.coder, self.cells.entries
        shapes: list[Line | Steps | SlopedSteps | Choice] = list(_tables(coder, entries))
        if self.lines is not None:
            for j, line in enumerate(self._lines()):
                steps = shapes[j]
                if isinstance(steps, Steps) and line.coef.any():
                    shapes[j] = SlopedSteps(line, steps)
        return Terms(tuple(shapes), _ferns(coder, entries), self.constant)

    def _lines(self) -> tuple[Line, ...]:
        """Return the line of each feature."""
        assert self.lines is not None  # noqa: S101  who asks has lines
        planes, midpoints = self.lines, self.midpoints()
        low = self.low if self.cells is None else planes.scaling.low
        base = np.where(np.isfinite(low), low, 0.0)
        parts = planes.weights * (planes.scaling.apply(base[None])[0] - midpoints)
        lines = (Line(float(base[j]), planes.coef[:, j], parts[:, j]) for j in range(len(base)))
        return tuple(lines)

    @cached_property
    def binned(self) -> CellTable | None:
        """The table over cells with the lines in it, each at the mean value of the rows in a cell.

        It is the model itself if there are no lines beside the cells; else what pictures show, where a line
        rises by steps.
        """
        cells = self.cells
        if cells is None or self.lines is None or cells.values is None:
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
