"""Further passes over cells: a feature's effect is searched step by step, from one bin to the next.

In thermometer coding bin b of a feature is 1 where the value is at or above edge b, so that a weight is the
step of the effect at an edge, and the ridge penalty on steps makes neighbouring bins alike. Categories, cells
of ferns and missing values, which have no neighbours, keep a weight each. The rows are never coded so: a
table of effects is a cumulative sum of steps, and the gradient by the steps is a cumulative sum, from the
other side, of the gradient by the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ..._rows.cells import Coder
from ..._rows.labelled import CodedRows
from ..._rows.matrix import LinearModel, Matrix, Standardisation
from ..._system.types import Floats
from ..hyperplanes import Hyperplanes
from .lbfgs import PointModel
from .standardise import ClassMeans

# Steps are in units of their spread to this power: 0 takes them as they are, 1 would standardise them.
STEP_POWER = 0.5
# Weights of cells of ferns are in units of this part of those of bins: the penalty prefers bins.
FERN_UNIT = 0.5
# With ferns, the prior variance of scores is this part of the usual one: ferns were chosen by the labels.
FERN_VARIANCE = 0.5
# With ferns, rows are scaled to this length instead of 1: L-BFGS then converges in fewer passes.
FERN_LENGTH = 2.0
# Values of the rows whose products tell how many weights the rows determine.
GRAM_CELLS = 1 << 22
AS_THEY_ARE = Standardisation(np.zeros(1), np.ones(1))


@dataclass(frozen=True)
class CellSteps:
    """Which cells follow each other: where runs begin; each cell of a fern is a run by itself."""

    begins: NDArray[np.uint8]  # 1 where a run begins, else 0
    free: NDArray[np.bool_]  # whether a cell has a weight: the lowest bin of a feature has none

    @classmethod
    def of(cls, coder: Coder) -> CellSteps:
        """Return the steps of the cells of a coder."""
        begins = np.zeros(coder.n_cells, dtype=bool)
        free = np.ones(coder.n_cells, dtype=bool)
        begins[coder.offsets[:-1]] = True
        free[coder.offsets[:-1]] = False
        alone = coder.unordered[coder.column_of]
        begins[alone], free[alone] = True, True
        if coder.missing:
            begins[coder.offsets[1 : coder.n_features + 1] - 1] = True
        return cls(begins.view(np.uint8), free)

    def table(self, steps: Floats) -> Floats:
        """Return the effect of each cell (R, C) from the steps up to it."""
        found = np.empty(steps.shape)
        _native.step_tables(self.begins, None, None, steps, None, found, np.empty(len(steps)))
        return found

    def reached(self, by_cell: Floats) -> Floats:
        """Return sums over the cells from each step on (R, C): what ``table`` does, transposed."""
        found = np.empty(by_cell.shape)
        _native.step_slopes(self.begins, None, None, by_cell, None, found)
        found *= self.free
        return found

    def differences(self, table: Floats) -> Floats:
        """Return the steps that a table consists of; those of first cells are the cells themselves."""
        steps = table.copy()
        np.subtract(table[:, 1:], table[:, :-1], out=steps[:, 1:], where=self.begins[1:] == 0)
        return steps


@dataclass(frozen=True)
class StepSpace:
    """Where the minimum is searched: steps less ``mean`` times ``scale``, see ``standardise.Space``.

    ``shares`` (C,) are the parts of the rows in each cell, by their weight in the loss, and ``scale`` (C,) is
    0 for what is no step or never seen. ``unit`` is part of ``scale``, and not of ``class_means`` (K, C).
    """

    coder: Coder
    steps: CellSteps
    shares: Floats
    mean: Floats
    scale: Floats
    unit: float
    class_means: Floats

    def model(self, weights: Floats, intercepts: Floats) -> LinearModel:
        """Return the table and the intercepts of a point."""
        found = LinearModel(np.empty(weights.shape), np.empty(len(weights)))
        by_point = (np.ascontiguousarray(weights), np.ascontiguousarray(intercepts))
        _native.step_tables(self.steps.begins, self.mean, self.scale, *by_point, *found)
        return found

    @property
    def point_model(self) -> PointModel:
        """How a model follows from a point."""
        return PointModel(self.steps.begins, self.mean, self.scale, 1.0)

    def point(self, planes: Hyperplanes) -> Floats:
        """Return the point of a table."""
        table = planes.weights
        # steps are counted from the entry of the first bin; of categories, of one that was never seen, if any
        unseen = np.minimum.reduceat(
            np.where(self.scale > 0, len(self.scale), np.arange(len(self.scale))), self.coder.offsets[:-1]
        )
        at = np.where(self.coder.unordered, unseen, self.coder.offsets[:-1])
        first = np.where(at < len(self.scale), table[:, np.minimum(at, len(self.scale) - 1)], 0.0)
        steps = self.steps.differences(table - first[:, self.coder.column_of])
        weights = np.divide(steps, self.scale, out=np.zeros_like(steps), where=self.scale > 0)
        bias = planes.bias + first.sum(axis=1) + (weights * self.scale) @ self.mean
        return np.concatenate([weights.ravel(), bias])

    @property
    def weight_variance(self) -> float:
        """The variance that a weight is expected to have, in units of ``PRIOR_VARIANCE``."""
        return 1.0 if self.coder.ferns is None else FERN_VARIANCE / FERN_LENGTH**2

    def carried(self, weights: Floats, intercepts: Floats) -> Floats:
        """Return the intercepts: a row lies in some cell of every column, so that tables carry any."""
        return intercepts

    @property
    def standard(self) -> Standardisation:
        """Cells are taken as they are."""
        return AS_THEY_ARE

    @property
    def curvature(self) -> Floats:
        """How much the loss is curved along each weight (C,), beside along an intercept."""
        return np.asarray(self.scale**2 * self.mean * (1 - self.mean))

    def hyperplanes(self, weights: Floats, intercepts: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the table, biases and midpoints, the latter 0: a score is the sum of one entry per feature.

        Each feature's effect has its mean over the rows at its share of the intercept, which is shared out by
        how much features move the score.
        """
        table = self.steps.table(weights * self.scale)
        centred = centred_table(table, self.shares, self.coder, intercepts)
        return centred, np.zeros(len(table)), np.zeros_like(table)


def centred_table(table: Floats, shares: Floats, coder: Coder, intercepts: Floats) -> Floats:
    """Return a table (R, C) in which each feature's mean over the rows is its share of the intercept (R,).

    ``shares`` (C,) are the parts of the rows in each cell. The intercept is shared out by how much features
    move the score.
    """
    mean, variance = coder.means_and_variances(table, shares)
    return np.asarray(table + (shared_by_variance(variance, intercepts) - mean)[:, coder.column_of])


def shared_by_variance(variance: Floats, intercepts: Floats) -> Floats:
    """Return the part of each intercept (R,) that each column takes, by its variance (R, columns)."""
    total = variance.sum(axis=1, keepdims=True)
    alike = np.full(variance.shape, 1 / variance.shape[1])
    return np.asarray(np.divide(variance, total, out=alike, where=total > 0) * intercepts[:, None])


@dataclass(frozen=True)
class CellSample:
    """Some rows in cells: see ``lbfgs.Sample``."""

    matrix: Matrix
    space: StepSpace
    codes: NDArray[np.int32]
    weights: Floats
    all_rows = None  # passes are made over the rows themselves
    mixes = True  # the scores of a mixture of tables are the mixture of their scores

    def scores(self, coef: Floats) -> Floats:
        """Return the scores (S, R) of tables (R, C), without intercepts."""
        return self.matrix.scores(np.ascontiguousarray(coef), np.zeros(len(coef)))

    @property
    def most_products(self) -> int:
        """How many rows may be multiplied by each other: fewer if cells are many."""
        return max(2, GRAM_CELLS // self.matrix.shape[1])

    def products(self, rows: NDArray[np.intp]) -> Floats:
        """Return the inner products of some of the rows in the space."""
        space, coder = self.space, self.space.coder
        if self.matrix.sparse:
            vectors = (space.steps.reached(self.matrix.block(rows)) - space.mean) * space.scale
            return np.asarray(vectors @ vectors.T)
        cells, square = coder.offsets[:-1] + self.matrix.cells_at(rows), space.scale**2
        # Steps that two rows have in common: those up to the lower of their bins, or the cell both lie in.
        # Steps are centred: subtract each row's mean.
        off = space.steps.table((square * space.mean)[None])[0][cells].sum(axis=1)
        shared = _shared(space, cells, square)
        return np.asarray(shared - off - off[:, None] + float(square @ space.mean**2))

    @cached_property
    def squared_lengths(self) -> Floats:
        """The squared length of every row in the space (S,)."""
        mean, square = self.space.mean, self.space.scale**2
        table = self.space.steps.table((square * (1 - 2 * mean))[None])
        base = np.array([float(square @ mean**2)])
        return self.matrix.scores(np.ascontiguousarray(table), base)[:, 0]


def _shared(space: StepSpace, cells: NDArray[np.int64], square: Floats) -> Floats:
    """Return the squared steps that rows in some cells (n, columns) have in common, added up (n, n)."""
    coder, out = space.coder, np.empty((len(cells), len(cells)))
    unordered = coder.unordered
    ordered, chosen = cells[:, ~unordered], np.ascontiguousarray(cells[:, unordered].T)
    gone = np.ascontiguousarray(space.steps.table(square[None])[0][ordered].T)
    if not coder.missing:
        _native.shared_steps(gone, chosen.astype(np.float64), square[chosen], out)
        return out
    last = coder.offsets[1:][~unordered] - 1  # no step beyond the others
    none = (ordered == last) * space.scale[last]
    gone[none.T > 0] = 0
    _native.shared_steps(gone, chosen.astype(np.float64), square[chosen], out)
    return np.asarray(out + none @ none.T)


def step_space(classes: ClassMeans, coder: Coder, sampled: CodedRows) -> tuple[StepSpace, CellSample]:
    """Return the space of the steps between the cells of a coder, and the sampled rows in it."""
    steps, shares = CellSteps.of(coder), classes.mean()
    mean = steps.reached(shares[None])[0]
    variance = np.maximum(mean * (1 - mean), 0)
    live = steps.free & (variance > 1e-12)
    scale = np.zeros(len(mean))
    scale[live] = variance[live] ** (-STEP_POWER / 2)
    if coder.ferns is not None:
        scale[coder.offsets[coder.n_features] :] *= FERN_UNIT
    unit = 1 / np.sqrt(max(float(scale**2 @ variance), 1e-12)) if live.any() else 1.0
    if coder.ferns is not None:
        unit *= FERN_LENGTH
    of_class = (steps.reached(np.nan_to_num(classes.means)) - mean) * scale
    space = StepSpace(coder, steps, shares, mean, scale * unit, float(unit), of_class)
    sampled.matrix.code_once()
    weights = classes.weights[sampled.codes] * (1.0 if sampled.weights is None else sampled.weights)
    return space, CellSample(sampled.matrix, space, sampled.codes, weights / weights.sum())
