"""Further passes: from SEFR's weights towards those of a linear SVM, one pass over the rows at a time.

SEFR is the first pass, in which every row weighs the same. In each further one a row weighs as much as the
model is still wrong about it: that is the gradient of the logistic (softmax) loss, and L-BFGS makes the most
of it. Features are standardised in passing, never in memory. The result is linear as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._rows.labelled import CodedRows
from ..._rows.matrix import blas_threads
from ..._summary.summary import Summary
from ..._system.types import Array, Floats
from ..held_out import HeldOut
from ..hyperplanes import Hyperplanes, Scaling, per_class, planes_of
from ..solve import means
from .lbfgs import Evaluated, Limits, Objective, Penalty, RowSource, Sample, Search, minimise, mixture
from .leave_one_out import leave_one_out
from .relax import ROWS_PER_WEIGHT, relax
from .standardise import ClassMeans, Space, standardise
from .thermometer import CellSample, StepSpace, step_space

# The score of a typical row is expected to have this variance before any row is seen: the ridge penalty.
PRIOR_VARIANCE = 10.0
# A row of a class weighs share**-0.5: halfway between every row and every class counting the same. Macro F1
# is best there: with 0 rare classes are given up, with 1 they are overrated (docs/guide/passes.md).
RARITY = 0.5
# Mean of p (1 - p) when a model fits well: the curvature of the loss, by which earlier rows hold on to their
# weights.
CURVATURE = 0.1


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


class TrainingRows(NamedTuple):
    """The rows: ``tables`` returns them, anew for each pass; ``sampled`` are some, see ``sample_of``.

    ``class_weight`` (K,) says how often the rows of each class count; None: as they come.
    """

    tables: Callable[[], Iterable[CodedRows]]
    sampled: CodedRows
    n_threads: int = 1
    class_weight: Floats | None = None


class Earlier(NamedTuple):
    """Refined weights of ``n_rows`` rows that are not among the training rows, and their classes."""

    refined: Refined
    classes: Array
    n_rows: float


def refine(
    summary: Summary,
    sefr: Hyperplanes,
    rows: TrainingRows,
    limits: Limits,
    earlier: Earlier | None = None,
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
        Refined weights to start from, which hold on as strongly as the rows behind them would.
    """
    counts = summary.counts
    seen = np.flatnonzero(counts > 0)
    if len(seen) < 2 or not len(rows.sampled.codes):
        return None if earlier is None else earlier.refined
    with blas_threads(1):
        if len(seen) == len(counts):
            classes = _class_means(summary, rows.class_weight, sefr.scaling)
            return _refine_seen(classes, sefr, rows, limits, _carried_over(earlier, summary, sefr.scaling))
        place = np.full(len(counts), -1, dtype=np.int32)
        place[seen] = np.arange(len(seen))
        coded = TrainingRows(
            lambda: (table._replace(codes=place[table.codes]) for table in rows.tables()),
            rows.sampled._replace(codes=place[rows.sampled.codes]),
            rows.n_threads,
        )
        planes = planes_of(sefr.scaling, per_score(sefr.weights[seen]), per_score(sefr.bias[seen]))
        among = summary.without_empty_classes()
        own = None if rows.class_weight is None else rows.class_weight[seen]
        classes = _class_means(among, own, sefr.scaling)
        found = _refine_seen(classes, planes, coded, limits, _carried_over(earlier, among, sefr.scaling))
        return _over_all_classes(found, seen, len(counts))


def _class_means(summary: Summary, class_weight: Floats | None, scaling: Scaling) -> ClassMeans:
    counts = summary.counts
    weights = _row_weights(counts, class_weight)
    return ClassMeans(means(summary, scaling), counts, weights / (weights @ counts))


def _row_weights(counts: Floats, class_weight: Floats | None) -> Floats:
    """Return what a row of each class weighs in the loss (K,): more in a rare class."""
    often = np.ones_like(counts) if class_weight is None else class_weight
    weighted = counts * often
    return np.asarray((weighted / weighted.sum()) ** -RARITY * often)


def _refine_seen(
    classes: ClassMeans,
    sefr: Hyperplanes,
    rows: TrainingRows,
    limits: Limits,
    prior: tuple[Hyperplanes, float] | None,
) -> Refined:
    """Do what ``refine`` does where every class has rows, and earlier weights, if any, are of the same."""
    counts, sampled = classes.counts, rows.sampled
    n_before = 0.0 if prior is None else prior[1]
    n_rows = float(counts.sum()) - n_before
    space: Space | StepSpace
    sample: Sample | CellSample
    if sampled.matrix.coder is None:
        space, sample = standardise(classes, sefr.scaling, sampled, n_before)
    else:
        space, sample = step_space(classes, sampled.matrix.coder, sampled)
    class_weights = classes.weights * (counts.sum() / n_rows if n_before else 1.0)
    base_rates = class_weights * counts / (class_weights @ counts)
    bias = per_score(np.log(base_rates) - np.log(base_rates).mean())
    origin = np.concatenate([np.zeros(len(bias) * len(space.mean)), bias])
    variance = PRIOR_VARIANCE * space.weight_variance
    penalty = Penalty(1 / (variance * float(counts.sum())), len(origin) - len(bias))
    if prior is not None:
        precision = np.ones_like(origin)
        precision[: penalty.n_weights] = np.tile(space.curvature, len(bias))
        penalty = replace(
            penalty,
            prior_mean=space.point(prior[0]),
            prior_precision=CURVATURE * n_before / n_rows * precision,
        )
    source = RowSource(rows.tables, class_weights, rows.n_threads)
    objective = Objective(source, sample, space, penalty)
    at_origin = _at_base_rates(space, base_rates, origin)
    curve = [at_origin.loss]
    if penalty.prior_mean is None:
        search = Search(at_origin)
        minimise(objective, search, _first_trial(sefr, space, objective, origin), curve, limits)
    else:
        search = Search(Evaluated(penalty.prior_mean, np.inf, at_origin.gradient))
        minimise(objective, search, penalty.prior_mean, curve, limits)
    best = search.best.point
    if isinstance(space, Space) and prior is None and n_rows >= ROWS_PER_WEIGHT * len(space.mean):
        objective, best = relax(objective, search, sampled, curve, limits)
    weights = best[: penalty.n_weights].reshape(len(bias), -1)
    weights, biases, midpoints = space.hyperplanes(weights, best[penalty.n_weights :])
    held_out = leave_one_out(objective, best, sampled)
    if sampled.matrix.coder is None:
        planes = planes_of(sefr.scaling, weights, biases)
    else:  # cells, 0 and 1, are never far from zero
        planes = Hyperplanes(sefr.scaling, weights, biases, None)
    return Refined(planes, midpoints, tuple(curve), held_out)


def _first_trial(sefr: Hyperplanes, space: Space | StepSpace, objective: Objective, origin: Floats) -> Floats:
    """Return the best mixture of SEFR, the class means over the variances, and the base rates."""
    by_means = per_score(space.class_means)
    halves = per_score(-(space.class_means * space.class_means).sum(axis=1) / 2)
    points = [space.point(sefr), np.concatenate([by_means.ravel() / space.unit, halves])]
    if np.abs(origin).max() > 1e-9:
        points.append(origin)
    points = [point for point in points if np.abs(point).max() > 0]
    if not points:
        return origin
    start = np.array([float(point is origin) for point in points])
    weights = [point[: objective.penalty.n_weights] for point in points]
    hessian = objective.penalty.ridge * np.array([[p @ q for p in weights] for q in weights])
    stacked = np.array(points)
    return mixture(objective.best_mixture(objective.scores(stacked), start, hessian), stacked)


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
    base = counts[seen] * _row_weights(counts[seen], None if class_weight is None else class_weight[seen])
    base /= base.sum()
    return float(-(base @ np.log(base)))


def per_score(by_class: Floats) -> Floats:
    """Return values of classes (K, ...) as those of scores: for two classes the second less the first."""
    return by_class[1:] - by_class[:1] if len(by_class) == 2 else by_class


def _over_all_classes(refined: Refined, seen: NDArray[np.intp], n_classes: int) -> Refined:
    """Return hyperplanes of the classes seen as those of all classes; a class never seen scores -inf."""
    planes, scaling = refined.planes, refined.planes.scaling
    weights, midpoints = np.zeros((2, n_classes, len(scaling.low)))
    bias = np.full(n_classes, -np.inf)
    weights[seen], bias[seen] = per_class(planes.weights, 0), per_class(planes.bias, 0)
    midpoints[seen] = refined.midpoints  # one row stands for both of two classes
    held_out = None if refined.held_out is None else refined.held_out.over(seen, n_classes)
    return Refined(planes_of(scaling, weights, bias), midpoints, refined.loss_curve, held_out)


def _carried_over(
    earlier: Earlier | None, summary: Summary, scaling: Scaling
) -> tuple[Hyperplanes, float] | None:
    """Return earlier hyperplanes for another scaling and other classes; those never seen have no weights."""
    if earlier is None:
        return None
    classes = summary.classes
    planes, old = earlier.refined.planes, earlier.refined.planes.scaling
    ratio = np.divide(scaling.span, old.span, out=np.zeros_like(old.span), where=old.span > 0)
    shift = np.divide(scaling.low - old.low, old.span, out=np.zeros_like(old.span), where=old.span > 0)
    weights, bias = planes.weights * ratio, planes.bias + planes.weights @ shift
    if not (np.array_equal(earlier.classes, classes) and np.isfinite(bias).all()):
        weights, bias = per_class(weights, 0), per_class(bias, 0)
        known = np.isfinite(bias) & np.isin(earlier.classes, classes)
        at = np.searchsorted(classes, earlier.classes[known])
        all_weights, all_bias = np.zeros((len(classes), weights.shape[1])), np.zeros(len(classes))
        all_weights[at], all_bias[at] = weights[known], bias[known]
        weights, bias = per_score(all_weights), per_score(all_bias)
    return planes_of(scaling, weights, bias), earlier.n_rows
