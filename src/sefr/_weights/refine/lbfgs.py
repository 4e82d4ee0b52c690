"""L-BFGS on the logistic (softmax) loss with a ridge penalty: one pass over the rows per step.

How far to step is chosen on a sample of the rows. A step is a handful of numbers, so that a thousand rows are
enough to choose it; the pass over all rows then says what it was worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ... import _native
from ..._rows.labelled import CodedRows
from ..._rows.matrix import Gradient, LinearModel, WeightedRows
from ..._system.types import Floats

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

    def scores(self, coef: Floats) -> Floats:
        """Return the scores (S, R) of weights (R, m), without intercepts."""
        scores = np.asarray(self.rows @ coef.T.astype(self.rows.dtype, copy=False), dtype=np.float64)
        return scores if self.shift is None else scores - self.shift @ coef.T

    def gradient(self, model: LinearModel) -> Gradient:
        """Return the mean loss of the rows and its derivatives by weights (R, m) and intercepts (R,)."""
        loss, residual = _loss(self.scores(model.coef) + model.intercept, self)
        if residual.shape[1] == 1:
            residual -= (self.codes == 1)[:, None]
        else:
            residual[np.arange(len(residual)), self.codes] -= 1
        residual *= self.weights[:, None]
        coef = np.asarray((self.rows.T @ residual).T)
        sums = residual.sum(axis=0)
        return Gradient(loss, coef if self.shift is None else coef - sums[:, None] * self.shift, sums)

    def products(self, rows: NDArray[np.intp]) -> Floats:
        """Return the inner products of some of the rows as they are in the space."""
        some = self.rows[rows]
        some = some.toarray() if hasattr(some, "toarray") else some
        some = np.asarray(some if self.shift is None else some - self.shift) * self.unit
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
        gradient = np.zeros_like(point)
        gradient[: self.n_weights] = self.ridge * weights
        value = self.ridge / 2 * float((weights * weights).sum())
        if self.prior_mean is not None and self.prior_precision is not None:
            from_prior = self.prior_precision * (point - self.prior_mean)
            gradient += from_prior
            value += float(from_prior @ (point - self.prior_mean)) / 2
        return value, gradient

    def hessian(self, points: list[Floats]) -> Floats:
        """Return the second derivatives along some points (q, q)."""
        stacked = np.stack(points)
        weights = stacked[:, : self.n_weights]
        found = self.ridge * (weights @ weights.T)
        if self.prior_precision is not None:
            found += (stacked * self.prior_precision) @ stacked.T
        return np.asarray(found)


class RowSource(NamedTuple):
    """The rows, anew for each pass, and the weight of a row of each class."""

    tables: Callable[[], Iterable[CodedRows]]
    class_weights: Floats
    n_threads: int


class Evaluated(NamedTuple):
    """Loss and gradient at a point."""

    point: Floats
    loss: float
    gradient: Floats


class Limits(NamedTuple):
    """How many passes are made at most, the first included, and who is told of each and the loss after it."""

    passes: int
    watch: Callable[[int, float], None] | None = None


@dataclass(frozen=True)
class Objective:
    """The penalised loss of all rows at a point: one pass over the rows each."""

    rows: RowSource
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
            class_weights, n_threads = self.rows.class_weights, self.rows.n_threads
            standard = self.space.standard
            parts = (
                matrix.gradient(WeightedRows(codes, weights, class_weights), standard, model, n_threads)
                for matrix, codes, weights in self.rows.tables()
            )
            found = reduce(add, parts)
        value, gradient = self.penalty(point)
        gradient += np.concatenate([self.space.pull(found).ravel(), found.intercept])
        return Evaluated(point, found.loss + value, gradient)

    def scores(self, points: list[Floats]) -> Floats:
        """Return the scores of the sample's rows at some points (q, S, R)."""
        n_weights, n_scores = self.penalty.n_weights, len(points[0]) - self.penalty.n_weights
        stacked = np.stack(points)
        model = self.space.model(
            stacked[:, :n_weights].reshape(len(points) * n_scores, -1), stacked[:, n_weights:].ravel()
        )
        scores = self.sample.scores(model.coef) + model.intercept
        by_point = scores.reshape(len(scores), len(points), n_scores).transpose(1, 0, 2)
        return np.ascontiguousarray(by_point)

    def best_mixture(
        self, points: list[Floats], start: Floats, hessian: Floats, slope: Floats | None = None
    ) -> Floats:
        """Return the best linear combination of some points: see ``_native.minimise_mixture``."""
        shares, rows = np.empty(len(points)), (self.sample.codes, self.sample.weights)
        _native.minimise_mixture(self.scores(points), *rows, hessian, start, slope, shares)
        return np.asarray(sum(share * point for share, point in zip(shares, points, strict=True)))


def minimise(
    objective: Objective, start: Evaluated, trial: Floats, curve: list[float], limits: Limits
) -> Floats:
    """Return the best point found from ``trial`` on; the loss after each pass is added to ``curve``."""
    at = start
    pairs = _Pairs(len(trial))
    best = Evaluated(trial, np.inf, trial)
    stalled = 0
    while True:
        tried = objective(trial)
        if np.isfinite(at.loss):
            pairs.add(tried.point - at.point, tried.gradient - at.gradient)
        gain = min(at.loss, best.loss) - tried.loss
        if tried.loss < best.loss:
            best = tried
        if tried.loss < at.loss:
            at = tried
        curve.append(best.loss)
        if limits.watch is not None:
            limits.watch(len(curve), curve[-1])
        stalled = stalled + 1 if gain < STALLED * abs(best.loss) else 0
        if len(curve) >= limits.passes or stalled == 2:
            return best.point
        direction = pairs.direction(at.gradient)
        if not direction @ at.gradient < 0:
            return best.point  # the gradient is 0
        last = pairs.steps[pairs.order[-1:]]
        points = [at.point, direction, *(step for step in last if not _parallel(step, at.point))]
        slope = np.array([at.gradient @ point for point in points])
        trial = objective.best_mixture(
            points, _FIRST[: len(points)], objective.penalty.hessian(points), slope
        )


_FIRST = np.eye(3)[0]


def _parallel(step: Floats, point: Floats) -> bool:
    """Say whether a step leads where the point lies: as a third direction it would add rounding alone."""
    along = (step @ point) ** 2
    return bool(along >= (1 - PARALLEL) * (step @ step) * (point @ point))


class _Pairs:
    """The last steps and the changes of the gradient along them: what L-BFGS remembers."""

    def __init__(self, size: int) -> None:
        self.most = int(np.clip(MEMORY_CELLS // max(1, size), 3, MEMORY))
        self.steps, self.changes = np.empty((2, self.most, size))
        self.order = np.empty(0, dtype=np.int64)  # where they lie, the oldest first

    def add(self, step: Floats, change: Floats) -> None:
        """Remember a step along which the gradient rises."""
        if not step @ change > 1e-10 * np.sqrt((step @ step) * (change @ change)):
            return
        full = len(self.order) == self.most
        place = int(self.order[0]) if full else len(self.order)
        self.steps[place], self.changes[place] = step, change
        self.order = np.append(self.order[1:] if full else self.order, place)

    def direction(self, gradient: Floats) -> Floats:
        """Return where to step from a point with this gradient."""
        found = np.empty_like(gradient)
        _native.find_direction(gradient, self.steps, self.changes, self.order, found)
        return found


def _loss(z: Floats, sample: Sample | CellSample) -> tuple[float, Floats]:
    """Return the loss of scores (S, R) and the probabilities (S, R); for one score, that of code 1."""
    codes, weights = sample.codes, sample.weights
    if z.shape[1] == 1:
        loss = float(weights @ np.logaddexp(0, np.where(codes == 1, -z[:, 0], z[:, 0])))
        return loss, np.asarray(expit(z))
    z -= z.max(axis=1, keepdims=True)
    own = z[np.arange(len(codes)), codes]
    probability = np.exp(z, out=z)
    total = probability.sum(axis=1)
    loss = float(weights @ (np.log(total) - own))
    probability /= total[:, None]
    return loss, probability
