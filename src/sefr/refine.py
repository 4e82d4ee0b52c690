"""Further passes: from SEFR's weights towards those of a linear SVM, one sweep over the rows at a time.

SEFR is the first pass, in which every row weighs the same. In each further one a row weighs as much as the
model is still wrong about it: that is the gradient of the logistic (softmax) loss, and L-BFGS makes the most
of it. Features are standardised in passing, never in memory. The result is linear as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .calibrate import HeldOut, unseen_by_loss
from .matrix import Codes, Matrix
from .search import Sample, best_step
from .solve import Hyperplanes, Scaling, means, planes_of
from .summary import Summary

Floats = NDArray[np.float64]

# Rows that choose the steps. One in a thousand steps the wrong way is caught by the pass that follows it.
SAMPLE_ROWS = 1024
FEWEST_ROWS = 256
SAMPLE_SCORES = 1 << 13
SAMPLE_CELLS = 1 << 23
# So few values are kept standardised in float64, and the passes made over these.
FEW_CELLS = 1 << 17
GRAM_ROWS = 128
# A row of a class weighs share**-0.5: halfway between every row and every class counting the same. Macro F1
# is best there: with 0 rare classes are given up, with 1 they are overrated (docs/passes.md has the figures).
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


class Labelled(NamedTuple):
    """Rows as they come: coded by the classes of their own labels."""

    matrix: Matrix
    classes: NDArray[Any]
    codes: Codes
    weights: Floats | None

    def over(self, classes: NDArray[Any]) -> Table:
        """Return the rows coded by other classes; rows of a class that is not among them are left out."""
        if np.array_equal(classes, self.classes):
            return Table(self.matrix, self.codes, self.weights)
        at = np.minimum(np.searchsorted(classes, self.classes), len(classes) - 1)
        place = np.where(classes[at] == self.classes, at, -1).astype(np.int32)
        return Table(self.matrix, place[self.codes], self.weights)


@dataclass(frozen=True)
class Refined:
    """What the further passes found: hyperplanes, where each feature speaks for no class, and how it went."""

    planes: Hyperplanes
    midpoints: Floats
    loss_curve: tuple[float, ...]
    held_out: HeldOut | None = None

    @property
    def n_passes(self) -> int:
        """Passes that were made, the first included."""
        return len(self.loss_curve)


@dataclass(frozen=True)
class _Space:
    """Where the search happens: features x' of ``scaling``, moved by ``mean`` and divided by ``spread``.

    A point is a vector of weights (R, m) and intercepts (R,), flat. ``unit`` shrinks all features so that a
    typical row has length 1, that of the intercept's own feature.
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
        Refined weights of ``n_before`` rows that are not in ``tables``: they are the start, and hold on as
        strongly as those rows would.
    watch : callable, default=None
        Told the number of each pass and the loss after it.
    """
    counts = summary.counts
    shares = counts / counts.sum()
    class_weights = shares**-RARITY
    class_weights /= class_weights @ counts
    space, sample = _space_of(summary, sefr.scaling, sampled, class_weights, n_before)
    n_rows = float(counts.sum()) - n_before
    class_weights *= counts.sum() / n_rows if n_before else 1.0
    base = class_weights * counts / (class_weights @ counts)
    bias = np.log(base) - np.log(base).mean()
    home = np.concatenate(
        [np.zeros(space.n_scores * space.n_features), bias[1:] - bias[:1] if len(bias) == 2 else bias]
    )
    anchor = None
    if start is not None and n_before > 0:
        stiffness = np.ones_like(home)
        space.weights(stiffness)[:] = space.unit**2
        anchor = (space.point(start.feature_scores, start.bias), STIFFNESS * n_before / n_rows * stiffness)
    objective = _Objective(tables, space, class_weights, float(counts.sum()), n_threads, sample, anchor)
    loss, gradient = _at_base_rates(summary, space, base, home)
    curve = [loss]
    if anchor is None:
        trial = _first_step(summary, sefr, space, sample, home, objective.penalty)
        best = _descend(objective, sample, home, loss, gradient, trial, curve, passes, watch)
    else:
        best = _descend(objective, sample, anchor[0], np.inf, gradient, anchor[0], curve, passes, watch)
    weights, biases = space.for_scaled(best)
    planes = planes_of(sefr.scaling, weights, biases)
    held_out = _held_out(space, sample, best, sampled, class_weights, objective.penalty)
    return Refined(planes, _midpoints(space, best, weights), tuple(curve), held_out)


def _held_out(
    space: _Space, sample: Sample, point: Floats, sampled: Table, class_weights: Floats, penalty: float
) -> HeldOut:
    """Return the sample's scores as if each row had been left out.

    How far one row can have moved the weights depends on how many directions the rows share: for rows of
    length 1 that is the inverse of their mean squared product. Along each, the loss is as curved as its mean
    over the directions.
    """
    scores = sample.scores(space.weights(point) * space.unit) + space.intercepts(point)
    rows = np.linspace(0, len(scores) - 1, min(len(scores), GRAM_ROWS)).astype(int)
    few = sample.rows[rows]
    few = np.asarray(few.toarray() if hasattr(few, "toarray") else few, dtype=np.float64)
    few = (few if sample.shift is None else few - sample.shift) * space.unit
    weights = np.ones(len(scores)) if sampled.weights is None else sampled.weights
    share, gram = weights[rows], few @ few.T
    lengths = np.diag(gram)
    # over pairs of different rows, where a row of weight 2 is two
    alike = max(0.0, float(share @ (gram * gram) @ share - share @ lengths**2))
    shared = alike / max(1e-300, float((share @ lengths) ** 2 - share @ lengths**2))
    directions = 1 / max(shared, 1 / max(1, space.n_features))
    squares = (
        sample.rows.multiply(sample.rows) if hasattr(sample.rows, "multiply") else sample.rows * sample.rows
    )
    all_lengths = np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
    if sample.shift is not None:
        all_lengths += sample.shift @ sample.shift - 2 * np.asarray(sample.rows @ sample.shift).ravel()
    push = class_weights[sample.codes] * all_lengths * space.unit**2
    return unseen_by_loss(scores, sample.codes, weights, push, directions, penalty)


def base_loss(counts: Floats) -> float:
    """Return the loss of giving every row the base rates of classes of so many rows."""
    share = counts[counts > 0] / counts.sum()
    base = share ** (1 - RARITY)
    base /= base.sum()
    return float(-(base @ np.log(base)))


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
    space: _Space,
    sample: Sample,
    objective: _Objective,
    at: Floats,
    gradient: Floats,
    directions: list[Floats],
) -> Floats:
    """Return the point to try next: the best by where we are, where to go and where we came from."""
    basis = [at, *directions]
    springs = np.array([objective.springs(point)[1] for point in basis])
    if (
        objective.anchor is not None
    ):  # a spring that is not centred at 0 has a constant part, which the slope holds
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
    stiffness = penalty * np.array(
        [[space.weights(p).ravel() @ space.weights(q).ravel() for p in basis] for q in basis]
    )
    a = best_step(_scores(space, sample, basis), sample, start, stiffness)
    return np.asarray(sum(share * point for share, point in zip(a, basis, strict=True)))


def _at_base_rates(summary: Summary, space: _Space, base: Floats, home: Floats) -> tuple[float, Floats]:
    """Return loss and gradient where every row is given the base rates: both follow from the Summary."""
    loss = base_loss(summary.counts)
    gradient = np.zeros_like(home)
    distance = np.nan_to_num(means(summary, space.scaling)) - space.mean
    distance = np.divide(distance, space.spread, out=np.zeros_like(distance), where=space.spread > 0)
    pull = -base[:, None] * distance * space.unit
    space.weights(gradient)[:] = pull[1:] if space.n_scores == 1 else pull
    return loss, gradient


def _space_of(
    summary: Summary, scaling: Scaling, sampled: Table, class_weights: Floats, n_before: float
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
    bound = (
        np.maximum(mean * (1 - mean), 0)
        if (scaling.span != 1).any() or (scaling.low != 0).any()
        else np.abs(mean)
    )
    complete = sampled.weights is not None and float(sampled.weights.sum()) >= 0.999 * (
        summary.n_rows - n_before
    )
    all_rows = complete and not n_before
    spread = np.sqrt(_variances(sampled.matrix, scaling, weights, mean, bound, all_rows=all_rows))
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
    few = complete and sampled.matrix.shape[0] * sampled.matrix.shape[1] <= FEW_CELLS
    rows, shift = sampled.matrix.standardised(centre, scale, np.float64 if few else np.float32)
    return space, Sample(rows, shift, sampled.codes, weights, whole=few)


def _variances(
    matrix: Matrix, scaling: Scaling, weights: Floats, mean: Floats, bound: Floats, *, all_rows: bool
) -> Floats:
    """Return the variances of x', from the sample where it has something to say and from the mean elsewhere.

    A feature that is nearly always at one end of its range shows itself in few rows; its variance is near
    mean (1 - mean), of which the features of the sample have a common part.
    """
    seen = matrix.variances(weights, scaling.low + scaling.span * mean, scaling.span)
    if all_rows:
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
    share = (
        np.divide(power, total, out=np.zeros_like(power), where=total > 0) * space.intercepts(point)[:, None]
    )
    return np.asarray(space.mean - np.divide(share, weights, out=np.zeros_like(share), where=weights != 0))


def sample_size(n_classes: int, n_features: int) -> int:
    """Return how many rows choose the steps: a thousand, fewer where they are wide or have many scores."""
    by_scores = max(FEWEST_ROWS, SAMPLE_SCORES // (n_classes if n_classes > 2 else 1))
    return int(min(SAMPLE_ROWS, by_scores, max(64, SAMPLE_CELLS // n_features)))


def sample_of(table: Table, n_classes: int) -> Table:
    """Return up to ``sample_size`` rows, evenly spread by weight, so that a row twice is a row of weight 2.

    Those of a sample that is not all rows have no weights.
    """
    weights = np.ones(len(table.codes)) if table.weights is None else table.weights
    live = np.flatnonzero((table.codes >= 0) & (weights > 0))
    most = sample_size(n_classes, table.matrix.shape[1])
    if len(live) <= most:
        return Table(table.matrix.take(live), table.codes[live], weights[live])
    so_far = np.cumsum(weights[live])
    places = (np.arange(most) + 0.5) / most * so_far[-1]
    rows = live[np.minimum(np.searchsorted(so_far, places, side="right"), len(live) - 1)]
    return Table(table.matrix.take(rows), table.codes[rows], None)


def refine_rows(
    summary: Summary,
    sefr: Hyperplanes,
    tables: Callable[[], Iterable[Table]],
    sampled: Table,
    passes: int,
    *,
    start: Refined | None = None,
    start_classes: NDArray[Any] | None = None,
    n_before: float = 0.0,
    n_threads: int = 1,
    watch: Callable[[int, float], None] | None = None,
) -> Refined | None:
    """Do what ``refine`` does where some classes may have no rows yet; None where only one has any.

    Codes are by the classes of ``summary``. ``start`` is by ``start_classes``, which are among them.
    """
    seen = np.flatnonzero(summary.counts > 0)
    if len(seen) < 2 or not len(sampled.codes):
        return start
    among = summary.without_empty_classes()
    place = np.full(len(summary.classes), -1, dtype=np.int32)
    place[seen] = np.arange(len(seen))

    def moved(table: Table) -> Table:
        return table if len(seen) == len(place) else Table(table.matrix, place[table.codes], table.weights)

    planes = sefr if len(seen) == len(place) else _among(sefr, seen)
    begin = None
    if start is not None and start_classes is not None:
        begin = _carried_over(start.planes, start_classes, among, sefr.scaling)
    found = refine(
        among,
        planes,
        lambda: map(moved, tables()),
        moved(sampled),
        passes,
        n_threads=n_threads,
        start=begin,
        n_before=n_before,
        watch=watch,
    )
    return found if len(seen) == len(place) else _spread(found, seen, len(place))


def _two_rows(weights: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """Return one score as two that differ by it."""
    return np.concatenate([-weights, weights]) / 2, np.concatenate([-bias, bias]) / 2


def _among(planes: Hyperplanes, seen: NDArray[np.intp]) -> Hyperplanes:
    """Return hyperplanes of more than two classes as those of the classes seen alone."""
    weights, bias = planes.feature_scores[seen], planes.bias[seen]
    if len(seen) == 2:
        weights, bias = weights[1:] - weights[:1], bias[1:] - bias[:1]
    return planes_of(planes.scaling, weights, bias)


def _spread(refined: Refined, seen: NDArray[np.intp], n_classes: int) -> Refined:
    """Return hyperplanes of the classes seen as those of all classes; a class never seen scores -inf."""
    scaling, t = refined.planes.scaling, refined.midpoints
    own, own_bias = refined.planes.feature_scores, refined.planes.bias
    if len(seen) == 2:
        (own, own_bias), t = _two_rows(own, own_bias), np.concatenate([t, t])
    weights, midpoints = np.zeros((2, n_classes, len(scaling.low)))
    bias = np.full(n_classes, -np.inf)
    weights[seen], midpoints[seen], bias[seen] = own, t, own_bias
    held_out = refined.held_out
    if held_out is not None:
        if len(seen) == 2:
            held_out = replace(held_out, scores=np.hstack([-held_out.scores, held_out.scores]) / 2)
        held_out = held_out.over(seen, n_classes)
    return Refined(planes_of(scaling, weights, bias), midpoints, refined.loss_curve, held_out)


def _carried_over(
    planes: Hyperplanes, classes: NDArray[Any], summary: Summary, scaling: Scaling
) -> Hyperplanes:
    """Return refined hyperplanes for another scaling and for other classes, new ones without weights."""
    old = planes.scaling
    ratio = np.divide(scaling.span, old.span, out=np.zeros_like(old.span), where=old.span > 0)
    shift = np.divide(scaling.low - old.low, old.span, out=np.zeros_like(old.span), where=old.span > 0)
    weights, bias = planes.feature_scores * ratio, planes.bias + planes.feature_scores @ shift
    if np.array_equal(classes, summary.classes):
        return planes_of(scaling, weights, bias)
    if len(classes) == 2:
        weights, bias = _two_rows(weights, bias)
    known = np.isfinite(bias) & np.isin(classes, summary.classes)
    at = np.searchsorted(summary.classes, classes[known])
    wide, biases = np.zeros((len(summary.classes), len(scaling.low))), np.zeros(len(summary.classes))
    wide[at], biases[at] = weights[known], bias[known]
    if len(summary.classes) == 2:
        wide, biases = wide[1:] - wide[:1], biases[1:] - biases[:1]
    return planes_of(scaling, wide, biases)
