"""L-BFGS on the logistic (softmax) loss with a ridge penalty: one pass over the rows per step.

How far to step is chosen on a sample of the rows. A step is a handful of numbers, so that a thousand rows are
enough to choose it; the pass over all rows then says what it was worth.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ..._rows.matrix import Gradient, LinearModel, Standardisation
from ..._summary.source import RowSource, Sweep
from ..._system.types import Array, Floats
from ..loss import residuals, row_losses

if TYPE_CHECKING:
    from .standardise import Space
    from .thermometer import CellSample, StepSpace

MEMORY = 10
MEMORY_CELLS = 1 << 26
# Stop after two passes in a row that lower the loss by less than this part of it.
STALLED = 1e-4
# The squared sine of the angle below which two directions are one: near it, rounding grows a millionfold.
PARALLEL = 1e-6


@dataclass(frozen=True)
class Sample:
    """Some rows, standardised: ``rows`` (S, m), dense or sparse, less ``shift`` (m,), times ``unit``.

    ``weights`` add up to 1. A sample that is ``complete`` has all rows, so few that float64 costs nothing.
    """

    rows: Any
    shift: Floats | None
    codes: NDArray[np.int32]
    weights: Floats
    unit: float
    complete: bool = False
    mixes = False  # products in float32 round too much

    def scores(self, coef: Floats) -> Floats:
        """Return the scores (S, R) of weights (R, m), without intercepts."""
        scores = np.asarray(self.rows @ coef.T.astype(self.rows.dtype, copy=False), dtype=np.float64)
        return scores if self.shift is None else scores - self.shift @ coef.T

    def gradient(self, model: LinearModel) -> Gradient:
        """Return the mean loss of the rows and its derivatives by weights (R, m) and intercepts (R,)."""
        loss, likely = sample_loss(self.scores(model.coef) + model.intercept, self)
        residual = residuals(likely, self.codes)
        residual *= self.weights[:, None]
        coef = np.asarray((self.rows.T @ residual).T)
        sums = residual.sum(axis=0)
        return Gradient(loss, coef if self.shift is None else coef - sums[:, None] * self.shift, sums)

    def vectors(self, rows: NDArray[np.intp]) -> Floats:
        """Return some of the rows as they are in the space."""
        some = self.rows[rows]
        some = some.toarray() if hasattr(some, "toarray") else some
        return np.asarray(some if self.shift is None else some - self.shift) * self.unit

    def products(self, rows: NDArray[np.intp]) -> Floats:
        """Return the inner products of some of the rows as they are in the space."""
        some = self.vectors(rows)
        return np.asarray(some @ some.T, dtype=np.float64)

    @cached_property
    def squared_lengths(self) -> Floats:
        """The squared length of every row in the space (S,)."""
        rows, shift = self.rows, self.shift
        if hasattr(rows, "multiply"):
            lengths = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
        else:
            lengths = np.einsum("ij,ij->i", rows, rows).astype(np.float64)
        if shift is not None:
            lengths += shift @ shift - 2 * np.asarray(rows @ shift).ravel()
        return np.asarray(lengths * self.unit**2)


@dataclass(frozen=True)
class Penalty:
    """The ridge penalty on the weights, and a Gaussian prior around what earlier rows gave, if any.

    ``n_weights`` entries of a point are weights, the others intercepts.
    """

    ridge: float
    n_weights: int
    prior_mean: Floats | None = None
    prior_precision: Floats | None = None

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""
        weights = point[: self.n_weights]
        gradient = self.ridge * point
        gradient[self.n_weights :] = 0
        value = self.ridge / 2 * float((weights * weights).sum())
        if self.prior_mean is not None and self.prior_precision is not None:
            from_prior = self.prior_precision * (point - self.prior_mean)
            gradient += from_prior
            value += float(from_prior @ (point - self.prior_mean)) / 2
        return value, gradient

    def hessian(self, points: Floats) -> Floats:
        """Return the second derivatives along some points (q, q)."""
        weights = points[:, : self.n_weights]
        # a copy, or numpy takes dsyrk, which is several times as slow for a few long rows
        found = self.ridge * (weights @ weights.copy().T)
        if self.prior_precision is not None:
            found += (points * self.prior_precision) @ points.T
        return np.asarray(found)


class SweptRows(NamedTuple):
    """The rows that passes are made over, coded by ``classes``, and the weight of a row of each class."""

    source: RowSource
    classes: Array
    class_weights: Floats
    n_threads: int

    def gradient(self, standard: Standardisation, model: LinearModel) -> Gradient:
        """Make one pass."""
        return self.source.gradient(Sweep(self.classes, self.class_weights, standard, model), self.n_threads)


class Evaluated(NamedTuple):
    """Loss and gradient at a point."""

    point: Floats
    loss: float
    gradient: Floats


class Limits(NamedTuple):
    """How many passes are made at most, the first included, and who is told of each and the loss after it.

    ``held_out``: whether scores as if rows had been left out are asked for, too, and ``memory``, whether what
    L-BFGS remembers at the end.
    """

    passes: int
    watch: Callable[[int, float], None] | None = None
    held_out: bool = True
    memory: bool = False


@dataclass(frozen=True)
class Objective:
    """The penalised loss of all rows at a point: one pass over the rows each."""

    rows: SweptRows
    sample: Sample | CellSample
    space: Space | StepSpace
    penalty: Penalty

    def model(self, point: Floats) -> LinearModel:
        """Return what scores the rows at a point."""
        n_weights = self.penalty.n_weights
        return self.space.model(
            point[:n_weights].reshape(len(point) - n_weights, -1), np.ascontiguousarray(point[n_weights:])
        )

    def __call__(self, point: Floats) -> Evaluated:
        """Return loss and gradient."""
        model = self.model(point)
        if self.sample.complete:
            found = self.sample.gradient(model)
        else:
            found = self.rows.gradient(self.space.standard, model)
        value, gradient = self.penalty(point)
        gradient[: self.penalty.n_weights] += self.space.pull(found).ravel()
        gradient[self.penalty.n_weights :] += found.intercept
        return Evaluated(point, found.loss + value, gradient)

    def scores(self, points: Floats) -> Floats:
        """Return the scores of the sample's rows at some points (q, S, R)."""
        n_weights, n_scores = self.penalty.n_weights, points.shape[1] - self.penalty.n_weights
        model = self.space.model(
            points[:, :n_weights].reshape(len(points) * n_scores, -1), points[:, n_weights:].ravel()
        )
        scores = self.sample.scores(model.coef) + model.intercept
        by_point = scores.reshape(len(scores), len(points), n_scores).transpose(1, 0, 2)
        return np.ascontiguousarray(by_point)

    def scores_beside(self, points: Floats, known: list[Floats | None]) -> Floats:
        """Return the same where those of some points are known."""
        unknown = [i for i, scores in enumerate(known) if scores is None]
        if len(unknown) == len(points):
            return self.scores(points)
        found = iter(self.scores(points[unknown]))
        return np.array([next(found) if scores is None else scores for scores in known])

    def best_mixture(
        self, scores: Floats, start: Floats, hessian: Floats, slope: Floats | None = None
    ) -> Floats:
        """Return the parts of points, whose scores are given, in the best: ``_native.minimise_mixture``."""
        shares, rows = np.empty(len(scores)), (self.sample.codes, self.sample.weights)
        _native.minimise_mixture(scores, *rows, hessian, start, slope, shares)
        return shares


def mixture(shares: Floats, parts: Floats) -> Floats:
    """Return a linear combination of points (q, ...), or of scores."""
    return np.asarray(np.add.reduce(shares.reshape(-1, *(1,) * (parts.ndim - 1)) * parts))


class Search:
    """How far a search has come: the best point, where steps start, and what L-BFGS remembers."""

    def __init__(self, start: Evaluated, memory: Memory | None = None) -> None:
        self.at = start
        self.best = start._replace(loss=np.inf)
        self.stalled = 0
        self._failed: Evaluated | None = None  # the last trial, if the loss of all rows rose there
        self.memory = Memory(len(start.point)) if memory is None else memory
        # the sample's scores at the point, at the trial and along the last step, where they are known
        self._at_scores: Floats | None = None
        self._trial_scores: Floats | None = None
        self._step_scores: Floats | None = None

    def take(self, tried: Evaluated) -> None:
        """Learn from a point that was tried."""
        at = self.at
        if np.isfinite(at.loss) and self.memory.add(tried, at):
            both = self._trial_scores is not None and self._at_scores is not None
            self._step_scores = self._trial_scores - self._at_scores if both else None  # type: ignore[operator]
        gain = min(at.loss, self.best.loss) - tried.loss
        if tried.loss < self.best.loss:
            self.best = tried
        if tried.loss < at.loss:
            self.at, self._at_scores = tried, self._trial_scores
        small = STALLED * abs(self.best.loss)
        self._failed = tried if gain < -small else None
        self.stalled = self.stalled + 1 if abs(gain) < small else 0

    def trial(self, objective: Objective) -> Floats | None:
        """Return the point to be tried next; None where the gradient is 0."""
        at, pairs = self.at, self.memory
        if self._failed is not None:
            return _between(at, self._failed)
        direction = pairs.direction(at.gradient)
        if not (down := direction @ at.gradient) < 0:
            return None
        along, known, slopes = [at.point, direction], [self._at_scores, None], [at.gradient @ at.point, down]
        if pairs.order and not _parallel(last := pairs.steps[pairs.order[-1]], at.point):
            along, known, slopes = [*along, last], [*known, self._step_scores], [*slopes, at.gradient @ last]
        points, slope = np.array(along), np.array(slopes)
        scores = objective.scores_beside(points, known)
        shares = objective.best_mixture(
            scores, _FIRST[: len(points)], objective.penalty.hessian(points), slope
        )
        if objective.sample.mixes:
            self._at_scores, self._trial_scores = scores[0], mixture(shares, scores)
            self._step_scores = scores[2] if len(points) > 2 else None
        return mixture(shares, points)

    def under(self, before: Penalty, penalty: Penalty) -> Search:
        """Return the search at its best point under another ridge: no row need be read to know it there."""
        new, best = Search(self.best), self.best
        value, gradient = penalty(best.point)
        old_value, old_gradient = before(best.point)
        moved = Evaluated(best.point, best.loss + value - old_value, best.gradient + gradient - old_gradient)
        new.at = new.best = moved
        new.memory = self.memory.under(penalty.ridge - before.ridge, penalty.n_weights)
        return new


def minimise(
    objective: Objective, search: Search, trial: Floats | None, curve: list[float], limits: Limits
) -> None:
    """Search from ``trial`` on; the loss after each pass is added to ``curve``."""
    while trial is not None and len(curve) < limits.passes:
        search.take(objective(trial))
        curve.append(search.best.loss)
        if limits.watch is not None:
            limits.watch(len(curve), curve[-1])
        trial = None if search.stalled == 2 or len(curve) == limits.passes else search.trial(objective)


_FIRST = np.eye(3)[0]


def _between(low: Evaluated, high: Evaluated) -> Floats:
    """Return the lowest point of the cubic through two points with their slopes, of which one is higher.

    The sample chose the step to the higher one and was wrong about it, so that all rows decide now: where
    most features are rare, a thousand rows do not show how the loss curves along them.
    """
    step = high.point - low.point
    down, up = float(low.gradient @ step), float(high.gradient @ step)
    rise = 3 * (low.loss - high.loss) + down + up
    root = sqrt(max(rise * rise - down * up, 0.0))
    part = 1 - (up + root - rise) / (up - down + 2 * root) if up - down + 2 * root > 0 else 0.5
    return np.asarray(low.point + min(max(part, 0.1), 0.9) * step)


def _parallel(step: Floats, point: Floats) -> bool:
    """Say whether a step leads where the point lies: as a third direction it would add rounding alone."""
    along = (step @ point) ** 2
    return bool(along >= (1 - PARALLEL) * (step @ step) * (point @ point))


class Memory:
    """The last steps and the changes of the gradient along them: what L-BFGS remembers.

    One that is ``forked`` has room for two searches that go on from it, one after the other.
    """

    def __init__(self, size: int, *, forked: bool = False) -> None:
        self.most = int(np.clip(MEMORY_CELLS // max(1, size), 3, MEMORY))
        places = (2 if forked else 1) * self.most + 1  # one is looked at before another is dropped
        # two blocks: malloc gives back at once what is above 32 MB, and the next ones are new pages again
        self.steps, self.changes = np.empty((places, size)), np.empty((places, size))
        self.curved = np.zeros(places)  # products of the two, 0 before they are asked for
        self.order: list[int] = []  # where they lie, the oldest first
        self.kept: list[int] = []  # places that are not written to

    def fork(self) -> Memory:
        """Return the same for a search after which another one may go on from here."""
        new = copy.copy(self)
        new.order, new.kept = [*self.order], self.order
        return new

    def add(self, tried: Evaluated, at: Evaluated) -> bool:
        """Remember a step along which the gradient rises; say whether it does."""
        place = next(i for i in range(len(self.steps)) if i not in self.order and i not in self.kept)
        step = np.subtract(tried.point, at.point, out=self.steps[place])
        change = np.subtract(tried.gradient, at.gradient, out=self.changes[place])
        if not step @ change > 1e-10 * sqrt((step @ step) * (change @ change)):
            return False
        self.curved[place] = 0
        self.order = [*self.order, place][-self.most :]
        return True

    def under(self, ridge: float, n_weights: int) -> Memory:
        """Return the same where the ridge penalty on the weights is higher by ``ridge``."""
        new = copy.copy(self)
        new.steps, new.changes = np.empty_like(self.steps), np.empty_like(self.changes)
        for place in self.order:
            new.steps[place], new.changes[place] = self.steps[place], self.changes[place]
            new.changes[place, :n_weights] += ridge * self.steps[place, :n_weights]
        new.curved = np.zeros_like(self.curved)
        return new

    def direction(self, gradient: Floats) -> Floats:
        """Return where to step from a point with this gradient."""
        found = np.empty_like(gradient)
        order = np.array(self.order, dtype=np.int64)
        _native.find_direction(gradient, self.steps, self.changes, self.curved, order, found)
        return found


def sample_loss(z: Floats, sample: Sample | CellSample) -> tuple[float, Floats]:
    """Return the loss of scores (S, R) and the probabilities (S, R); for one score, that of code 1."""
    losses, likely = row_losses(z, sample.codes)
    return float(sample.weights @ losses), likely
