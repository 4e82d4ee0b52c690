"""The way down the loss: L-BFGS, one pass over the rows a step."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from ..._rows.labelled import Table
from .standardise import Space
from .step import Sample, best_step

Floats = NDArray[np.float64]

# The score of a typical row is expected to have this variance before any row is seen: the l2 penalty.
PRIOR_VARIANCE = 10.0
MEMORY = 10
MEMORY_CELLS = 1 << 26
# Stop after two passes in a row that lower the loss by less than this part of it.
STALLED = 1e-4


class Objective:
    """The loss of all rows, and its gradient, at a point: one pass over the rows each."""

    def __init__(
        self,
        tables: Callable[[], Iterable[Table]],
        space: Space,
        class_weights: Floats,
        n_rows: float,
        n_threads: int,
        sample: Sample,
        anchor: tuple[Floats, Floats] | None,
    ) -> None:
        self.tables = tables
        self.space = space
        self.class_weights = class_weights
        self.n_threads = n_threads
        self.sample = sample
        self.penalty = 1 / (PRIOR_VARIANCE * n_rows)
        self.anchor = anchor

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return loss and gradient."""
        space = self.space
        coef = np.ascontiguousarray(space.weights(point) * space.unit)
        intercept = np.ascontiguousarray(space.intercepts(point))
        if self.sample.whole:
            loss, slope, intercept_slope = self.sample.sweep(coef, intercept)
        else:
            loss, slope, intercept_slope = self._sweep(coef, intercept)
        value, gradient = self.springs(point)
        gradient += np.concatenate([(slope * space.unit).ravel(), intercept_slope])
        return loss + value, gradient

    def _sweep(self, coef: Floats, intercept: Floats) -> tuple[float, Floats, Floats]:
        loss, slope, intercept_slope = 0.0, np.zeros_like(coef), np.zeros_like(intercept)
        space = self.space
        for matrix, codes, weights in self.tables():
            part = matrix.sweep(
                codes, weights, self.class_weights, space.centre, space.scale, coef, intercept, self.n_threads
            )
            loss += part.loss
            slope += part.slope
            intercept_slope += part.intercept_slope
        return loss, slope, intercept_slope

    def springs(self, point: Floats) -> tuple[float, Floats]:
        """Return what does not depend on the rows: the penalty, and the pull towards the anchor."""
        gradient = np.zeros_like(point)
        weights = self.space.weights(point)
        self.space.weights(gradient)[:] = self.penalty * weights
        value = self.penalty / 2 * float((weights * weights).sum())
        if self.anchor is not None:
            home, stiffness = self.anchor
            pull = stiffness * (point - home)
            gradient += pull
            value += float(pull @ (point - home)) / 2
        return value, gradient


def descend(
    objective: Objective,
    sample: Sample,
    at: Floats,
    loss: float,
    gradient: Floats,
    trial: Floats,
    curve: list[float],
    passes: int,
    watch: Callable[[int, float], None] | None,
) -> Floats:
    """Return the best point found from ``trial`` on; the loss after each pass is added to ``curve``."""
    space = objective.space
    pairs: list[tuple[Floats, Floats]] = []
    memory = int(np.clip(MEMORY_CELLS // max(1, len(at)), 3, MEMORY))
    best, best_loss = trial, np.inf
    stalled = 0
    while True:
        trial_loss, trial_gradient = objective(trial)
        if np.isfinite(loss):
            step, change = trial - at, trial_gradient - gradient
            if step @ change > 1e-10 * np.sqrt((step @ step) * (change @ change)):
                pairs = [*pairs, (step, change)][-memory:]
        gain = min(loss, best_loss) - trial_loss
        if trial_loss < best_loss:
            best, best_loss = trial, trial_loss
        if trial_loss < loss:
            at, loss, gradient = trial, trial_loss, trial_gradient
        curve.append(best_loss)
        if watch is not None:
            watch(len(curve), curve[-1])
        stalled = stalled + 1 if gain < STALLED * abs(best_loss) else 0
        if len(curve) >= passes or stalled == 2:
            return best
        direction = _direction(gradient, pairs)
        if not direction @ gradient < 0:
            return best  # the gradient is 0
        trial = _step(space, sample, objective, at, gradient, [direction, *(pair[0] for pair in pairs[-1:])])


def _direction(gradient: Floats, pairs: list[tuple[Floats, Floats]]) -> Floats:
    """Return the direction of L-BFGS."""
    q = -gradient
    shares = []
    for step, change in reversed(pairs):
        share = (step @ q) / (step @ change)
        shares.append(share)
        q = q - share * change
    if pairs:
        step, change = pairs[-1]
        q *= (step @ change) / (change @ change)
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        q = q + step * (share - (change @ q) / (step @ change))
    return q


def _step(
    space: Space,
    sample: Sample,
    objective: Objective,
    at: Floats,
    gradient: Floats,
    directions: list[Floats],
) -> Floats:
    """Return the point to try next: the best by where we are, where to go and where we came from."""
    basis = [at, *directions]
    springs = np.array([objective.springs(point)[1] for point in basis])
    if objective.anchor is not None:
        # a spring that is not centred at 0 has a constant part, which the slope holds
        springs = springs - objective.springs(np.zeros_like(at))[1]
    stiffness = np.array([[spring @ point for point in basis] for spring in springs])
    start = np.eye(len(basis))[0]
    slope = np.array([gradient @ point for point in basis])
    a = best_step(space.scores(sample, basis), sample, start, stiffness, slope)
    return np.asarray(sum(share * point for share, point in zip(a, basis, strict=True)))
