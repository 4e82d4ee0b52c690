"""Further passes: from SEFR's weights towards those of a linear SVM, one sweep over the rows at a time.

SEFR is the first pass, in which every row weighs the same. In each further one a row weighs as much as the model is
still wrong about it: that is the gradient of the logistic (softmax) loss, and L-BFGS makes the most of it. Features
are standardised in passing, never in memory. The result is linear as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .matrix import Codes, Matrix
from .search import Sample, best_step
from .solve import Hyperplanes, Scaling, means, planes_of
from .summary import Summary

Floats = NDArray[np.float64]

# Rows that choose the steps. One in a thousand steps the wrong way is caught by the pass that follows it.
SAMPLE_ROWS = 1024
SAMPLE_CELLS = 1 << 23
# A row of a class weighs share**-0.5: halfway between every row and every class counting the same. Macro F1 is best
# there: with 0 rare classes are given up, with 1 they are overrated (docs/passes.md has the figures).
RARITY = 0.5
# The score of a typical row is expected to have this variance before any row is seen: the l2 penalty.
PRIOR_VARIANCE = 10.0
MEMORY = 10
MEMORY_CELLS = 1 << 26
# Stop after two passes in a row that lower the loss by less than this part of it.
STALLED = 1e-4
# A feature's variance is taken from its mean as far as fewer than this many rows of the sample inform on it.
SHY_ROWS = 8.0
# Mean of p (1 - p) when a model fits well: how stiff the rows seen earlier hold their weights.
STIFFNESS = 0.1


class Table(NamedTuple):
    """Rows whose labels are coded by the classes of the Summary; a code below 0 leaves a row out."""

    matrix: Matrix
    codes: Codes
    weights: Floats | None


@dataclass(frozen=True)
class Refined:
    """What the further passes found: hyperplanes, where each feature speaks for no class, and how it went."""

    planes: Hyperplanes
    midpoints: Floats
    loss_curve: tuple[float, ...]

    @property
    def n_passes(self) -> int:
        """Passes that were made, the first included."""
        return len(self.loss_curve)


@dataclass(frozen=True)
class _Space:
    """Where the search happens: features x' of ``scaling``, moved by ``mean`` and divided by ``spread``.

    A point is a vector of weights (R, m) and intercepts (R,), flat. ``unit`` shrinks all features so that a typical
    row has length 1, that of the intercept's own feature.
    """

    scaling: Scaling
    mean: Floats
    spread: Floats
    centre: Floats
    scale: Floats
    unit: float
    n_scores: int

    @property
    def n_features(self) -> int:
        return len(self.mean)

    def weights(self, point: Floats) -> Floats:
        return point[: self.n_scores * self.n_features].reshape(self.n_scores, -1)

    def intercepts(self, point: Floats) -> Floats:
        return point[self.n_scores * self.n_features :]

    def point(self, weights: Floats, bias: Floats) -> Floats:
        """Return the point of weights and biases for the features x'."""
        return np.concatenate([(weights * self.spread / self.unit).ravel(), bias + weights @ self.mean])

    def for_scaled(self, point: Floats) -> tuple[Floats, Floats]:
        """Return weights and biases for the features x'."""
        weights = np.divide(
            self.weights(point) * self.unit,
            self.spread,
            out=np.zeros((self.n_scores, self.n_features)),
            where=np.broadcast_to(self.spread > 0, (self.n_scores, self.n_features)),
        )
        return weights, self.intercepts(point) - weights @ self.mean


class _Objective:
    """The loss of all rows, and its gradient, at a point: one pass over the rows each."""

    def __init__(
        self,
        tables: Callable[[], Iterable[Table]],
        space: _Space,
        class_weights: Floats,
        n_rows: float,
        n_threads: int,
        anchor: tuple[Floats, float] | None,
    ) -> None:
        self.tables = tables
        self.space = space
        self.class_weights = class_weights
        self.n_threads = n_threads
        self.penalty = 1 / (PRIOR_VARIANCE * n_rows)
        self.anchor = anchor

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        space = self.space
        coef = np.ascontiguousarray(space.weights(point) * space.unit)
        intercept = np.ascontiguousarray(space.intercepts(point))
        loss, slope, intercept_slope = 0.0, np.zeros_like(coef), np.zeros_like(intercept)
        for table in self.tables():
            part = table.matrix.sweep(
                table.codes, table.weights, self.class_weights, space.centre, space.scale, coef, intercept, self.n_threads
            )
            loss, slope, intercept_slope = loss + part.loss, slope + part.slope, intercept_slope + part.intercept_slope
        value, gradient = self.springs(point)
        gradient += np.concatenate([(slope * space.unit).ravel(), intercept_slope])
        return loss + value, gradient

    def springs(self, point: Floats) -> tuple[float, Floats]:
        """Return what does not depend on the rows: the penalty, and the pull towards the anchor."""
        gradient = np.zeros_like(point)
        weights = self.space.weights(point)
        self.space.weights(gradient)[:] = self.penalty * weights
        value = self.penalty / 2 * float((weights * weights).sum())
        if self.anchor is not None:
            home, stiffness = self.anchor
            gradient += stiffness * (point - home)
            value += stiffness / 2 * float(((point - home) ** 2).sum())
        return value, gradient


def refine(
    summary: Summary,
    sefr: Hyperplanes,
    tables: Callable[[], Iterable[Table]],
    sampled: Table,
    passes: int,
    *,
    n_threads: int = 1,
    start: Hyperplanes | None = None,
    n_before: float = 0.0,
    watch: Callable[[int, float], None] | None = None,
) -> Refined:
    """Return the weights after ``passes`` passes, of which the Summary was the first.

    Parameters
    ----------
    summary : Summary
        Of all rows; every class has some.
    sefr : Hyperplanes
        What the Summary alone gives.
    tables : callable
        Returns the rows, anew for each pass.
    sampled : Table
        Some of the rows, see ``sample_of``.
    passes : int
        At most so many, at least 2.
    n_threads : int
        Threads; the result does not depend on them.
    start : Hyperplanes, default=None
        Refined weights of ``n_before`` rows that are not in ``tables``: they are the start, and hold on as strongly
        as those rows would.
    watch : callable, default=None
        Told the number of each pass and the loss after it.
    """
    counts = summary.counts
    shares = counts / counts.sum()
    class_weights = shares**-RARITY
    class_weights /= class_weights @ counts
    space, sample = _space_of(summary, sefr.scaling, sampled, class_weights)
    n_rows = float(counts.sum()) - n_before
    class_weights *= counts.sum() / n_rows if n_before else 1.0
    base = class_weights * counts / (class_weights @ counts)
    bias = np.log(base) - np.log(base).mean()
    home = np.concatenate([np.zeros(space.n_scores * space.n_features), bias[1:] - bias[:1] if len(bias) == 2 else bias])
    anchor = None
    if start is not None and n_before > 0:
        point = space.point(start.feature_scores, start.bias)
        anchor = (point, STIFFNESS * n_before / n_rows * space.unit**2)
    objective = _Objective(tables, space, class_weights, float(counts.sum()), n_threads, anchor)
    if anchor is None:
        loss, gradient = _at_base_rates(summary, space, base, home)
        at = home
        trial = _first_step(summary, sefr, space, sample, home, objective.penalty)
        curve = [loss]
    else:
        at, trial, loss, gradient, curve = anchor[0], anchor[0], np.inf, np.zeros_like(home), [np.nan]
    best, curve = _descend(objective, sample, at, loss, gradient, trial, curve, passes, watch)
    weights, biases = space.for_scaled(best)
    planes = planes_of(sefr.scaling, weights, biases)
    return Refined(planes, _midpoints(space, best, weights), tuple(curve))


def _descend(
    objective: _Objective,
    sample: Sample,
    at: Floats,
    loss: float,
    gradient: Floats,
    trial: Floats,
    curve: list[float],
    passes: int,
    watch: Callable[[int, float], None] | None,
) -> tuple[Floats, list[float]]:
    """Return the best point found and the loss after each pass."""
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
        curve.append(min(best_loss, curve[-1]) if np.isfinite(curve[-1]) else best_loss)
        if watch is not None:
            watch(len(curve), curve[-1])
        stalled = stalled + 1 if gain < STALLED * abs(best_loss) else 0
        if len(curve) >= passes or stalled == 2:
            return best, curve
        direction = _direction(gradient, pairs)
        if not direction @ gradient < 0:
            return best, curve  # the gradient is 0
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
    space: _Space, sample: Sample, objective: _Objective, at: Floats, gradient: Floats, directions: list[Floats]
) -> Floats:
    """Return the point to try next: the best in the span of where we are, where to go and where we came from."""
    basis = [at, *directions]
    springs = np.array([objective.springs(point)[1] for point in basis])
    if objective.anchor is not None:  # a spring that is not centred at 0 has a constant part, which the slope holds
        springs = springs - objective.springs(np.zeros_like(at))[1]
    stiffness = np.array([[spring @ point for point in basis] for spring in springs])
    start = np.eye(len(basis))[0]
    slope = np.array([gradient @ point for point in basis])
    a = best_step(_scores(space, sample, basis), sample, start, stiffness, slope)
    return np.asarray(sum(share * point for share, point in zip(a, basis, strict=True)))


def _scores(space: _Space, sample: Sample, points: list[Floats]) -> Floats:
    return np.stack([sample.scores(space.weights(p) * space.unit) + space.intercepts(p) for p in points])


def _first_step(
    summary: Summary, sefr: Hyperplanes, space: _Space, sample: Sample, home: Floats, penalty: float
) -> Floats:
    """Return the best mixture of SEFR, the class means over the variances, and the base rates."""
    distance = np.nan_to_num(means(summary, space.scaling)) - space.mean
    distance = np.divide(distance, space.spread, out=np.zeros_like(distance), where=space.spread > 0)
    halves = -(distance * distance).sum(axis=1) / 2
    if space.n_scores == 1:
        distance, halves = distance[1:] - distance[:1], halves[1:] - halves[:1]
    basis = [
        space.point(sefr.feature_scores, sefr.bias),
        np.concatenate([distance.ravel() / space.unit, halves]),
    ]
    if np.abs(home).max() > 1e-9:
        basis.append(home)
    basis = [point for point in basis if np.abs(point).max() > 0]
    if not basis:
        return home
    start = np.array([float(point is home) for point in basis])
    stiffness = penalty * np.array([[space.weights(p).ravel() @ space.weights(q).ravel() for p in basis] for q in basis])
    a = best_step(_scores(space, sample, basis), sample, start, stiffness)
    return np.asarray(sum(share * point for share, point in zip(a, basis, strict=True)))


def _at_base_rates(summary: Summary, space: _Space, base: Floats, home: Floats) -> tuple[float, Floats]:
    """Return loss and gradient where every row is given the base rates: both follow from the Summary."""
    loss = float(-(base @ np.log(base)))
    gradient = np.zeros_like(home)
    distance = np.nan_to_num(means(summary, space.scaling)) - space.mean
    distance = np.divide(distance, space.spread, out=np.zeros_like(distance), where=space.spread > 0)
    pull = -base[:, None] * distance * space.unit
    space.weights(gradient)[:] = pull[1:] if space.n_scores == 1 else pull
    return loss, gradient


def _space_of(
    summary: Summary, scaling: Scaling, sampled: Table, class_weights: Floats
) -> tuple[_Space, Sample]:
    share = class_weights * summary.counts / (class_weights @ summary.counts)
    centres = means(summary, scaling)
    known = ~np.isnan(centres)
    weight = share[:, None] * known
    mean = np.where(known, centres, 0.0)
    mean = (mean * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
    weights = class_weights[sampled.codes] * (1.0 if sampled.weights is None else sampled.weights)
    weights = weights / weights.sum()
    # means of a mixture lie in [0, 1] unless scale=None took the values as they are
    bound = np.maximum(mean * (1 - mean), 0) if (scaling.span != 1).any() or (scaling.low != 0).any() else np.abs(mean)
    spread = np.sqrt(_variances(sampled.matrix, scaling, weights, mean, bound, float(summary.counts.sum())))
    spread[(scaling.span <= 0) | ~(spread > 0)] = 0
    raw_spread = spread * scaling.span
    with np.errstate(divide="ignore", over="ignore"):
        scale = np.where(raw_spread > 0, 1 / raw_spread, 0.0)
    scale[~np.isfinite(scale)] = 0
    spread[scale == 0] = 0
    centre = sampled.matrix.as_used(scaling.low + scaling.span * mean)
    scale = sampled.matrix.as_used(scale)
    moved = np.divide(centre - scaling.low, scaling.span, out=mean.copy(), where=scaling.span > 0)
    n_live = max(1, int((spread > 0).sum()))
    n_scores = 1 if len(summary.classes) == 2 else len(summary.classes)
    space = _Space(scaling, moved, spread, centre, scale, 1 / np.sqrt(n_live), n_scores)
    rows, shift = sampled.matrix.standardised(centre, scale)
    return space, Sample(rows, shift, sampled.codes, weights)


def _variances(
    matrix: Matrix, scaling: Scaling, weights: Floats, mean: Floats, bound: Floats, n_rows: float
) -> Floats:
    """Return the variances of x', from the sample where it has something to say and from the mean elsewhere.

    A feature that is nearly always at one end of its range shows itself in few rows; its variance is near
    mean (1 - mean), of which the features of the sample have a common part.
    """
    second = matrix.squares(weights, scaling.low, scaling.span)
    seen = np.maximum(second.squares - second.means**2, 0)
    if n_rows <= matrix.shape[0]:
        return seen
    informed = 4 * bound * matrix.shape[0]
    trust = informed / (informed + SHY_ROWS)
    part = seen.sum() / max(float(bound.sum()), 1e-300)
    return np.asarray(trust * seen + (1 - trust) * part * bound)


def _midpoints(space: _Space, point: Floats, weights: Floats) -> Floats:
    """Return t: a record's score is the sum of w (x' - t) over its features.

    Around the mean of all rows; the intercept is shared out by how much each feature moves the score.
    """
    power = space.weights(point) ** 2
    total = power.sum(axis=1, keepdims=True)
    share = np.divide(power, total, out=np.zeros_like(power), where=total > 0) * space.intercepts(point)[:, None]
    return space.mean - np.divide(share, weights, out=np.zeros_like(share), where=weights != 0)


def sample_of(table: Table) -> Table:
    """Return up to ``SAMPLE_ROWS`` rows, evenly spread by weight, so that a row twice is a row of weight 2."""
    weights = np.ones(len(table.codes)) if table.weights is None else table.weights
    live = np.flatnonzero((table.codes >= 0) & (weights > 0))
    most = int(min(SAMPLE_ROWS, max(64, SAMPLE_CELLS // table.matrix.shape[1])))
    if len(live) <= most:
        return Table(table.matrix.take(live), table.codes[live], weights[live])
    so_far = np.cumsum(weights[live])
    places = (np.arange(most) + 0.5) / most * so_far[-1]
    rows = live[np.minimum(np.searchsorted(so_far, places, side="right"), len(live) - 1)]
    return Table(table.matrix.take(rows), table.codes[rows], None)


def unseen_left_out(refined: Refined, summary: Summary, seen: Any) -> Refined:
    """Return hyperplanes over all classes of ``summary`` from those of the classes that have rows."""
    n_classes, scaling = len(summary.classes), refined.planes.scaling
    if len(seen) == n_classes:
        return refined
    shape = (n_classes, len(scaling.low))
    weights, midpoints, bias = np.zeros(shape), np.zeros(shape), np.full(n_classes, -np.inf)
    own, t, b = refined.planes.feature_scores, refined.midpoints, refined.planes.bias
    if len(seen) == 2:  # one score becomes two that differ by it
        own, t, b = np.concatenate([-own, own]) / 2, np.concatenate([t, t]), np.concatenate([-b, b]) / 2
    weights[seen], midpoints[seen], bias[seen] = own, t, b
    return Refined(planes_of(scaling, weights, bias), midpoints, refined.loss_curve)
