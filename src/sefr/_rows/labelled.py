"""Rows with their labels as codes, and a sample of them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._system.types import Array, Codes, Floats, Indices
from .labels import find_labels
from .matrix import Matrix, Sparse

# Rows that choose the steps. A step chosen wrongly on the sample is corrected by the next full pass.
SAMPLE_ROWS = 1024
FEWEST_ROWS = 256
SAMPLE_SCORES = 1 << 13
SAMPLE_VALUES = 1 << 23
# Rows of which less than this part is not 0 are sparse.
SPARSE = 1 / 16
# Values that are compared at a time.
COMPARED_VALUES = 1 << 20


class CodedRows(NamedTuple):
    """Rows whose labels are coded by the classes of the Summary; a code below 0 leaves a row out."""

    matrix: Matrix
    codes: Codes
    weights: Floats | None


class _Parts(NamedTuple):
    matrix: Matrix
    classes: Array
    codes: Codes
    weights: Floats | None
    targets: Floats


class Labelled(_Parts):
    """Rows as they come: coded by the classes of their own labels, with targets (n, k); see ``Target``.

    Of labels alone k is 0.
    """

    __slots__ = ()

    def __new__(
        cls,
        matrix: Matrix,
        classes: Array,
        codes: Codes,
        weights: Floats | None,
        targets: Floats | None = None,
    ) -> Labelled:
        if targets is None:
            targets = np.empty((len(codes), 0))
        return tuple.__new__(cls, (matrix, classes, codes, weights, targets))

    @classmethod
    def of(
        cls,
        matrix: Matrix,
        classes: Array,
        codes: Codes,
        weights: Floats | None,
        targets: Floats | None = None,
    ) -> Labelled:
        """Return rows as a user gave them: what a row of weight 0 holds is not looked at."""
        if weights is not None and isinstance(matrix, Sparse):
            matrix = matrix.without_faults_of(weights == 0)  # NaN times 0 is NaN
        return cls(matrix, classes, codes, weights, targets)

    def over(self, classes: Array) -> CodedRows:
        """Return the rows coded by other classes; rows of a class that is not among them are left out."""
        if classes is self.classes or np.array_equal(classes, self.classes):
            return CodedRows(self.matrix, self.codes, self.weights)
        place = find_labels(classes, self.classes).astype(np.int32)
        place = np.append(place, np.int32(-1))  # for a code of -1, a row that is left out already
        return CodedRows(self.matrix, place[self.codes], self.weights)

    def take(self, rows: Indices) -> Labelled:
        """Return a copy of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Labelled(self.matrix.take(rows), self.classes, self.codes[rows], weights, self.targets[rows])

    @property
    def kinds(self) -> Codes:
        """A number per row; rows of other ones are different, whatever their features say."""
        return np.arange(len(self.codes), dtype=np.int32) if self.targets.shape[1] else self.codes


def sample_size(n_classes: int, n_features: int, width: int | None = None) -> int:
    """Return how many rows choose the steps: a thousand, fewer if they are wide or have many scores.

    They are up to eight times as many if most values are 0, and a row takes the place of ``width``: of a
    thousand rows, few tell anything of a rare feature.
    """
    by_scores = max(FEWEST_ROWS, SAMPLE_SCORES // (n_classes if n_classes > 2 else 1))
    usual = min(SAMPLE_ROWS, by_scores, max(64, SAMPLE_VALUES // n_features))
    return usual if width is None else max(usual, min(by_scores, SAMPLE_VALUES // width))


def width_if_sparse(matrix: Matrix, rows: Indices) -> int | None:
    """Return how many values a row takes if most are 0, in whatever form; else None, as for cells."""
    if matrix.coder is not None or not len(rows):
        return None
    few = min(len(rows), FEWEST_ROWS, max(16, COMPARED_VALUES // matrix.shape[1]))
    some = rows[spread_rows(len(rows), None, few)]
    if isinstance(matrix, Sparse):
        stored = matrix.by_rows[some]
        values, width = stored.data, stored.nnz // len(some) + 1
    else:
        values, width = matrix.block(some), matrix.shape[1]
    return width if np.count_nonzero(values) < SPARSE * len(some) * matrix.shape[1] else None


def sample_of(table: CodedRows, n_classes: int) -> CodedRows:
    """Return up to ``sample_size`` rows, evenly spread by weight, so that a row twice is a row of weight 2.

    Weights are None unless the sample holds every row.
    """
    weights = np.ones(len(table.codes)) if table.weights is None else table.weights
    live = np.flatnonzero((table.codes >= 0) & (weights > 0))
    most = sample_size(n_classes, table.matrix.shape[1])
    if len(live) > most:
        most = sample_size(n_classes, table.matrix.shape[1], width_if_sparse(table.matrix, live))
    starts = run_starts(table.matrix, table.codes, live, most)
    if starts is not None:
        rows, sums = live[starts], np.add.reduceat(weights[live], starts)
        if len(rows) == len(table.codes):  # all of them: what is coded for the passes serves here too
            return CodedRows(table.matrix, table.codes, sums)
        return CodedRows(table.matrix.take(rows), table.codes[rows], sums)
    rows = live[spread_rows(len(live), weights[live], most)]
    return CodedRows(table.matrix.take(rows), table.codes[rows], None)


def spread_rows(n_rows: int, weights: Floats | None, most: int) -> Indices:
    """Return ``most`` rows, evenly spread by weight; a heavy row several times."""
    places = _even(most) * (n_rows if weights is None else weights.sum())
    if weights is None:
        return places.astype(np.int64)
    return np.minimum(np.searchsorted(np.cumsum(weights), places, side="right"), n_rows - 1)


@lru_cache(maxsize=4)
def _even(count: int) -> Floats:
    return (np.arange(count) + 0.5) / count


def run_starts(matrix: Matrix, codes: Codes, rows: Indices, most: int) -> NDArray[np.intp] | None:
    """Return where runs of equal rows of one code begin among ``rows``; None if there are more than ``most``.

    A few columns tell most rows apart; reading stops at more than ``most`` runs.
    """
    few = np.array(sorted({(matrix.shape[1] - 1) * i // 15 for i in range(16)}), dtype=np.int64)
    starts = np.empty(0, dtype=np.intp)
    for begin in range(0, len(rows), most + 1):
        part = rows[max(0, begin - 1) : begin + most + 1]  # with the row before
        new = np.ones(len(part), dtype=bool)
        new[1:] = (codes[part[1:]] != codes[part[:-1]]) | ~matrix.repeats(part, few)
        if len(starts) + new.sum() <= most + 1:
            unsure = np.flatnonzero(~new)
            parts = 1 + len(unsure) * matrix.shape[1] // COMPARED_VALUES
            for at in np.array_split(unsure, parts) if len(unsure) else ():
                pairs = np.column_stack([part[at - 1], part[at]]).ravel()
                new[at] = ~matrix.repeats(pairs, slice(None))[::2]
        starts = np.concatenate([starts, np.flatnonzero(new[min(1, begin) :]) + begin])
        if len(starts) > most:
            return None
    return starts
