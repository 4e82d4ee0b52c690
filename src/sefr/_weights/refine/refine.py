"""Further passes: from SEFR's weights towards those of a linear SVM, one sweep over the rows at a time.

SEFR is the first pass, in which every row weighs the same. In each further one a row weighs as much as the
model is still wrong about it: that is the gradient of the logistic (softmax) loss, and L-BFGS makes the most
of it. Features are standardised in passing, never in memory. The result is linear as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._rows.labelled import Table
from ..._summary.summary import Summary
from ..held_out import HeldOut, unseen_by_loss
from ..hyperplanes import Hyperplanes, Scaling, planes_of
from .lbfgs import Objective, descend
from .standardise import Space, space_of
from .step import Sample, best_step

Floats = NDArray[np.float64]

GRAM_ROWS = 128
# A row of a class weighs share**-0.5: halfway between every row and every class counting the same. Macro F1
# is best there: with 0 rare classes are given up, with 1 they are overrated (docs/passes.md has the figures).
RARITY = 0.5
# Mean of p (1 - p) when a model fits well: how stiff the rows seen earlier hold their weights.
STIFFNESS = 0.1


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
    space, sample = space_of(summary, sefr.scaling, sampled, class_weights, n_before)
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
        anchor = (space.point(start.weights, start.bias), STIFFNESS * n_before / n_rows * stiffness)
    objective = Objective(tables, space, class_weights, float(counts.sum()), n_threads, sample, anchor)
    loss, gradient = _at_base_rates(summary, space, base, home)
    curve = [loss]
    if anchor is None:
        trial = _first_step(summary, sefr, space, sample, home, objective.penalty)
        best = descend(objective, sample, home, loss, gradient, trial, curve, passes, watch)
    else:
        best = descend(objective, sample, anchor[0], np.inf, gradient, anchor[0], curve, passes, watch)
    weights, biases = space.for_scaled(best)
    planes = planes_of(sefr.scaling, weights, biases)
    held_out = _held_out(space, sample, best, sampled, class_weights, objective.penalty)
    return Refined(planes, space.midpoints(best, weights), tuple(curve), held_out)


def _first_step(
    summary: Summary, sefr: Hyperplanes, space: Space, sample: Sample, home: Floats, penalty: float
) -> Floats:
    """Return the best mixture of SEFR, the class means over the variances, and the base rates."""
    distance = space.distances(summary)
    halves = -(distance * distance).sum(axis=1) / 2
    if space.n_scores == 1:
        distance, halves = distance[1:] - distance[:1], halves[1:] - halves[:1]
    basis = [
        space.point(sefr.weights, sefr.bias),
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
    a = best_step(space.scores(sample, basis), sample, start, stiffness)
    return np.asarray(sum(share * point for share, point in zip(a, basis, strict=True)))


def _at_base_rates(summary: Summary, space: Space, base: Floats, home: Floats) -> tuple[float, Floats]:
    """Return loss and gradient where every row is given the base rates: both follow from the Summary."""
    gradient = np.zeros_like(home)
    pull = -base[:, None] * space.distances(summary) * space.unit
    space.weights(gradient)[:] = pull[1:] if space.n_scores == 1 else pull
    return base_loss(summary.counts), gradient


def _held_out(
    space: Space, sample: Sample, point: Floats, sampled: Table, class_weights: Floats, penalty: float
) -> HeldOut:
    """Return the sample's scores as if each row had been left out.

    How far one row can have moved the weights depends on how many directions the rows share: for rows of
    length 1 that is the inverse of their mean squared product. Along each, the loss is as curved as its mean
    over the directions.
    """
    scores = sample.scores(space.weights(point) * space.unit) + space.intercepts(point)
    rows = np.linspace(0, len(scores) - 1, min(len(scores), GRAM_ROWS)).astype(int)
    few = sample.rows[rows]
    few = few.toarray() if hasattr(few, "toarray") else few
    few = few * space.unit if sample.shift is None else (few - sample.shift) * space.unit
    weights = np.ones(len(scores)) if sampled.weights is None else sampled.weights
    share, gram = weights[rows], np.asarray(few @ few.T, dtype=np.float64)
    lengths = np.diag(gram)
    # over pairs of different rows, where a row of weight 2 is two
    alike = max(0.0, float(share @ (gram * gram) @ share - share @ lengths**2))
    shared = alike / max(1e-300, float((share @ lengths) ** 2 - share @ lengths**2))
    directions = 1 / max(shared, 1 / max(1, space.n_features))
    if hasattr(sample.rows, "multiply"):
        all_lengths = np.asarray(sample.rows.multiply(sample.rows).sum(axis=1), dtype=np.float64).ravel()
    else:
        all_lengths = np.einsum("ij,ij->i", sample.rows, sample.rows).astype(np.float64)
    if sample.shift is not None:
        all_lengths += sample.shift @ sample.shift - 2 * np.asarray(sample.rows @ sample.shift).ravel()
    push = class_weights[sample.codes] * all_lengths * space.unit**2
    return unseen_by_loss(HeldOut(scores, sample.codes, weights), push, directions, penalty)


def base_loss(counts: Floats) -> float:
    """Return the loss of giving every row the base rates of classes of so many rows."""
    share = counts[counts > 0] / counts.sum()
    base = share ** (1 - RARITY)
    base /= base.sum()
    return float(-(base @ np.log(base)))


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
    weights, bias = planes.weights[seen], planes.bias[seen]
    if len(seen) == 2:
        weights, bias = weights[1:] - weights[:1], bias[1:] - bias[:1]
    return planes_of(planes.scaling, weights, bias)


def _spread(refined: Refined, seen: NDArray[np.intp], n_classes: int) -> Refined:
    """Return hyperplanes of the classes seen as those of all classes; a class never seen scores -inf."""
    scaling, t = refined.planes.scaling, refined.midpoints
    own, own_bias = refined.planes.weights, refined.planes.bias
    if len(seen) == 2:
        (own, own_bias), t = _two_rows(own, own_bias), np.concatenate([t, t])
    weights, midpoints = np.zeros((2, n_classes, len(scaling.low)))
    bias = np.full(n_classes, -np.inf)
    weights[seen], midpoints[seen], bias[seen] = own, t, own_bias
    held_out = None if refined.held_out is None else refined.held_out.over(seen, n_classes)
    return Refined(planes_of(scaling, weights, bias), midpoints, refined.loss_curve, held_out)


def _carried_over(
    planes: Hyperplanes, classes: NDArray[Any], summary: Summary, scaling: Scaling
) -> Hyperplanes:
    """Return refined hyperplanes for another scaling and for other classes, new ones without weights."""
    old = planes.scaling
    ratio = np.divide(scaling.span, old.span, out=np.zeros_like(old.span), where=old.span > 0)
    shift = np.divide(scaling.low - old.low, old.span, out=np.zeros_like(old.span), where=old.span > 0)
    weights, bias = planes.weights * ratio, planes.bias + planes.weights @ shift
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
