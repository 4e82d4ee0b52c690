"""Further passes: from SEFR's weights towards those of a linear SVM, one pass over the rows at a time.

SEFR is the first pass, in which every row weighs the same. In each further one a row weighs as much as the
model is still wrong about it: that is the gradient of the logistic (softmax) loss, and L-BFGS makes the most
of it. Features are standardised in passing, never in memory. The result is linear as before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._rows.labelled import CodedRows
from ..._rows.matrix import blas_threads
from ..._summary.source import RowSource
from ..._summary.summary import Summary
from ..._system.types import Array, Floats
from ..held_out import HeldOut
from ..hyperplanes import Hyperplanes, Scaling, per_class, per_score, planes_of
from ..solve import means
from .lbfgs import Evaluated, Limits, Objective, Penalty, Sample, Search, SweptRows
from .leave_one_out import held_out
from .relax import ROWS_PER_WEIGHT, relax
from .standardise import ClassMeans, Space, standardise
from .thermometer import CellSample, StepSpace, step_space

# The score of a typical row is expected to have this variance before any row is seen: the ridge penalty.
PRIOR_VARIANCE = 10.0
# A row of a class weighs share**-0.5: halfway between every row and every class counting the same. Macro F1
# is best there: with 0 rare classes are given up, with 1 they are overrated (docs/guide/passes.md).
RARITY = 0.5
# The mean of p (1 - p) if a model fits well. It is the curvature of the loss, hence how strongly earlier rows
# hold their weights; USUAL_SCORE is the score log(p / (1 - p)) at which p (1 - p) is that.
CURVATURE = 0.1
USUAL_SCORE = float(2 * np.arctanh(np.sqrt(1 - 4 * CURVATURE)))


@dataclass(frozen=True)
class Refined:
    """What the further passes found: hyperplanes, where each feature speaks for no class, and how it went.

    ``memory`` is the search, if it was asked for: passes over other rows may go on with what it remembers.
    """

    planes: Hyperplanes
    midpoints: Floats
    loss_curve: tuple[float, ...]
    held_out: HeldOut | None = None
    memory: Search | None = None

    @property
    def n_passes(self) -> int:
        """Passes that were made, the first included."""
        return len(self.loss_curve)


class TrainingRows(NamedTuple):
    """The rows that passes are made over; ``class_weight`` (K,) says how often those of each class count."""

    source: RowSource
    n_threads: int = 1
    class_weight: Floats | None = None


class Start(NamedTuple):
    """Where passes start instead of at SEFR's weights, in the same scaling, and the variance of weights.

    ``variance`` is in units of what is usual: above 1 the ridge penalty is weaker.
    """

    refined: Refined | None = None
    variance: float = 1.0


class Earlier(NamedTuple):
    """What is known of ``n_rows`` rows that are not among the ``n_new`` training rows, and their classes.

    ``refined`` is None where no further pass was made over them: then the Summary alone knows them.
    """

    refined: Refined | None
    classes: Array
    n_rows: float
    n_new: float


USUAL = Start()


def refine(
    summary: Summary,
    sefr: Hyperplanes,
    rows: TrainingRows,
    limits: Limits,
    earlier: Earlier | None = None,
    start: Start = USUAL,
) -> Refined | None:
    """Return the weights after further passes, of which the Summary was the first.

    None where only one class has rows, or the earlier weights, if any.

    Parameters
    ----------
    summary : Summary
        Of all rows, the earlier ones included. Codes of rows are by its classes.
    sefr : Hyperplanes
        What the Summary alone gives.
    rows : TrainingRows
        What the passes are made over. The result does not depend on the number of threads.
    limits : Limits
        How many passes, at least 2, and who is told of them.
    earlier : Earlier, default=None
        What is known of rows before: weights to start from, which hold on as strongly as the rows would.
    start : Start, default=USUAL
        Where to start. It has no say in where the minimum is, but for its penalty.
    """
    counts = summary.counts
    seen = np.flatnonzero(counts > 0)
    whole = len(seen) == len(counts)
    among = summary if whole else summary.without_empty_classes()
    if len(seen) < 2 or not len((sampled := rows.source.sample(among.classes)).codes):
        return None if earlier is None else earlier.refined
    with blas_threads(1):
        if whole:
            return _refine_seen(summary, sefr, (rows, sampled), limits, earlier, start)
        if rows.class_weight is not None:
            rows = rows._replace(class_weight=rows.class_weight[seen])
        planes = planes_of(sefr.scaling, per_score(sefr.weights[seen]), per_score(sefr.bias[seen]))
        found = _refine_seen(among, planes, (rows, sampled), limits, earlier, Start(None, start.variance))
        return _over_all_classes(found, seen, len(counts))


def _class_means(summary: Summary, class_weight: Floats | None, scaling: Scaling) -> ClassMeans:
    counts = summary.counts
    weights = row_weights(counts, class_weight)
    return ClassMeans(means(summary, scaling), counts, weights / (weights @ counts))


def row_weights(counts: Floats, class_weight: Floats | None) -> Floats:
    """Return what a row of each class weighs in the loss (K,): more in a rare class."""
    often = np.ones_like(counts) if class_weight is None else class_weight
    weighted = counts * often
    return np.asarray((weighted / weighted.sum()) ** -RARITY * often)


def _refine_seen(
    summary: Summary,
    sefr: Hyperplanes,
    training: tuple[TrainingRows, CodedRows],
    limits: Limits,
    earlier: Earlier | None,
    start: Start = USUAL,
) -> Refined:
    """Do what ``refine`` does if every class has rows, of which some are a sample."""
    rows, sampled = training
    classes = _class_means(summary, rows.class_weight, sefr.scaling)
    counts = classes.counts
    n_rows = float(counts.sum()) if earlier is None else earlier.n_new
    space: Space | StepSpace
    sample: Sample | CellSample
    if sampled.matrix.coder is None:
        space, sample = standardise(classes, sefr.scaling, sampled, n_rows, further=earlier is not None)
    else:
        space, sample = step_space(classes, sampled.matrix.coder, sampled)
    prior = None if earlier is None else _prior(earlier, summary.classes, sefr, classes, space)
    class_weights = classes.weights * (1.0 if earlier is None else counts.sum() / n_rows)
    base_rates = class_weights * counts / (class_weights @ counts)
    bias = per_score(np.log(base_rates) - np.log(base_rates).mean())
    origin = np.concatenate([np.zeros(len(bias) * len(space.mean)), bias])
    variance = PRIOR_VARIANCE * space.weight_variance * start.variance
    penalty = Penalty(1 / (variance * float(counts.sum())), len(origin) - len(bias))
    if earlier is not None and prior is not None:
        # earlier rows hold the weights by the curvature of their loss, and by the ridge they were fitted with
        precision = np.full_like(origin, CURVATURE)
        precision[: penalty.n_weights] = np.tile(CURVATURE * space.curvature, len(bias)) + penalty.ridge
        penalty = replace(
            penalty, prior_mean=space.point(prior), prior_precision=earlier.n_rows / n_rows * precision
        )
    swept = SweptRows(rows.source, summary.classes, class_weights, rows.n_threads)
    objective = Objective(swept, sample, space, penalty)
    at_origin = _at_base_rates(space, base_rates, origin)
    curve = [at_origin.loss]
    if penalty.prior_mean is not None:
        search = Search.begin(objective, Evaluated(penalty.prior_mean, np.inf, at_origin.gradient))
        search.try_points(penalty.prior_mean[None])
    elif start.refined is None:
        search = Search.begin(objective, at_origin)
        _try_first(search, sefr, objective, origin)
    else:
        trial, memory = space.point(start.refined.planes), start.refined.memory
        # with a memory, the loss at the base rates is no part of the search
        known = at_origin if memory is None else Evaluated(trial, np.inf, at_origin.gradient)
        search = Search.begin(objective, known, memory)
        search.try_points(trial[None])
    search.minimise(objective, curve, limits)
    best = search.best.point
    if isinstance(space, Space) and prior is None and n_rows >= ROWS_PER_WEIGHT * len(space.mean):
        objective, best = relax(objective, search, sampled, curve, limits)
    weights = best[: penalty.n_weights].reshape(len(bias), -1)
    intercepts = space.carried(weights, best[penalty.n_weights :])
    best = np.concatenate([best[: penalty.n_weights], intercepts])
    weights, biases, midpoints = space.hyperplanes(weights, intercepts)
    kept = held_out(objective, best, sampled) if limits.held_out else None
    planes = planes_of(sefr.scaling, weights, biases)
    return Refined(planes, midpoints, tuple(curve), kept, search if limits.memory else None)


def _try_first(search: Search, sefr: Hyperplanes, objective: Objective, origin: Floats) -> None:
    """Let the best mixture of SEFR, the class means over the variances, and the base rates be tried first."""
    space = objective.space
    by_means = per_score(space.class_means)
    halves = per_score(-(space.class_means * space.class_means).sum(axis=1) / 2)
    points = [space.point(sefr), np.concatenate([by_means.ravel() / space.unit, halves])]
    if np.abs(origin).max() > 1e-9:
        points.append(origin)
    points = [point for point in points if np.abs(point).max() > 0]
    if points:
        search.try_points(np.array(points), np.array([float(point is origin) for point in points]))
    else:
        search.try_points(origin[None])


def _at_base_rates(space: Space | StepSpace, base_rates: Floats, origin: Floats) -> Evaluated:
    """Return loss and gradient where every row is given the base rates: both follow from the Summary."""
    gradient = np.zeros_like(origin)
    by_class = -base_rates[:, None] * space.class_means * space.unit
    n_scores = len(origin) // (by_class.shape[1] + 1)
    gradient[: n_scores * by_class.shape[1]] = by_class[-n_scores:].ravel()
    return Evaluated(origin, float(-(base_rates @ np.log(base_rates))), gradient)


def base_loss(counts: Floats, class_weight: Floats | None = None) -> float:
    """Return the loss of giving every row the base rates of classes of so many rows."""
    seen = counts > 0
    base = counts[seen] * row_weights(counts[seen], None if class_weight is None else class_weight[seen])
    base /= base.sum()
    return float(-(base @ np.log(base)))


def _over_all_classes(refined: Refined, seen: NDArray[np.intp], n_classes: int) -> Refined:
    """Return hyperplanes of the classes seen as those of all classes; a class never seen scores -inf."""
    planes, scaling = refined.planes, refined.planes.scaling
    weights, midpoints = np.zeros((2, n_classes, len(scaling.low)))
    bias = np.full(n_classes, -np.inf)
    weights[seen], bias[seen] = per_class(planes.weights, 0), per_class(planes.bias, 0)
    midpoints[seen] = refined.midpoints  # one row stands for both of two classes
    held_out = None if refined.held_out is None else refined.held_out.over(seen, n_classes)
    return Refined(planes_of(scaling, weights, bias), midpoints, refined.loss_curve, held_out)


def _prior(
    earlier: Earlier, labels: Array, sefr: Hyperplanes, classes: ClassMeans, space: Space | StepSpace
) -> Hyperplanes:
    """Return what is known before the training rows: earlier weights, where there are any, else SEFR's.

    The Summary knows the rows of a class that no pass has seen, and the training rows need not have any.
    """
    if earlier.refined is None:
        return _as_log_odds(sefr, classes, space)
    weights, bias = carried_over(earlier.refined, sefr.scaling)
    if not (np.array_equal(earlier.classes, labels) and np.isfinite(bias).all()):
        known = np.isfinite(bias := per_class(bias, 0)) & np.isin(earlier.classes, labels)
        at, planes = np.searchsorted(labels, earlier.classes[known]), _as_log_odds(sefr, classes, space)
        all_weights, all_bias = per_class(planes.weights, 0), per_class(planes.bias, 0)
        all_weights[at], all_bias[at] = per_class(weights, 0)[known], bias[known]
        weights, bias = per_score(all_weights), per_score(all_bias)
    return planes_of(sefr.scaling, weights, bias)


def _as_log_odds(sefr: Hyperplanes, classes: ClassMeans, space: Space | StepSpace) -> Hyperplanes:
    """Return SEFR's hyperplanes in units of log odds.

    A class lies as far from the others as independent features of the space would have it, and at most as
    far as in a good fit.
    """

    def beyond_others(by_class: Floats) -> Floats:
        counts = classes.counts[:, None]
        return np.asarray(by_class - ((counts * by_class).sum(axis=0) - counts * by_class) / (total - counts))

    total, n_classes = classes.counts.sum(), len(classes.counts)
    weights, bias = per_class(sefr.weights, 0), per_class(sefr.bias, 0)
    gap = (weights * beyond_others(np.nan_to_num(classes.means))).sum(axis=1)
    odds = np.minimum((beyond_others(space.class_means) ** 2).sum(axis=1), 2 * USUAL_SCORE)
    odds *= (n_classes - 1) / n_classes  # the scores of the others fall as its own rises
    factor = np.divide(odds, gap, out=np.zeros_like(gap), where=gap > 1e-9 * np.abs(weights).sum(axis=1))
    return planes_of(sefr.scaling, per_score(weights * factor[:, None]), per_score(bias * factor))


def carried_over(refined: Refined, scaling: Scaling) -> tuple[Floats, Floats]:
    """Return the weights and biases of earlier hyperplanes for another scaling."""
    planes, old = refined.planes, refined.planes.scaling
    ratio = np.divide(scaling.span, old.span, out=np.zeros_like(old.span), where=old.span > 0)
    shift = np.divide(scaling.low - old.low, old.span, out=np.zeros_like(old.span), where=old.span > 0)
    return planes.weights * ratio, planes.bias + planes.weights @ shift
