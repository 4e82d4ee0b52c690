"""The linear discriminant of a Summary of second moments, as hyperplanes.

``moments.solve_classes`` solves it. A score is split over the features as after further passes: each speaks
for no class at its mean, and what is left over is shared out by how much each feature moves the score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._summary.summary import Summary
from .._system.types import Floats
from .hyperplanes import Hyperplanes, Scaling, carried_intercepts, per_score, planes_of
from .moments import Solution, solve_classes
from .refine.standardise import shared_out
from .refine.thermometer import centred_table

# A row that would move its own prediction by more than this part of its error has no leave-one-out score.
MOST_LEVERAGE = 0.95


@dataclass(frozen=True)
class Discriminant:
    """Hyperplanes, where each feature speaks for no class (R, q), and the solution that they come from."""

    planes: Hyperplanes
    midpoints: Floats
    solution: Solution
    seen: NDArray[np.bool_]  # (K,) the classes that have rows
    shares: Floats  # of the rows, for each class seen

    def unseen(self, scores: Floats, x: Floats, codes: NDArray[np.int32], weights: Floats) -> Floats:
        """Return the scores (S, R) of rows (S, q) that were learned as if they had not been.

        The scores are M f + c, with f the ridge regression of the classes, whose leave-one-out prediction is
        exact for a given ridge: f - (y - f) h / (1 - h), with h the leverage of the row.
        """
        own = self.solution
        if own.to_scores is None or own.regression is None:
            return scores
        rows = own.in_basis(x)
        leverage = np.minimum(own.leverage(rows) * weights, MOST_LEVERAGE)
        target = np.flatnonzero(self.seen) == codes[:, None]
        left = target - self.shares - rows @ own.regression
        change = np.zeros((len(rows), len(self.seen)))
        change[:, self.seen] = -(leverage / (1 - leverage))[:, None] * (left @ own.to_scores.T)
        return np.asarray(scores + per_score(change.T).T)


def discriminant_of(summary: Summary, scaling: Scaling, class_weight: Floats | None) -> Discriminant:
    """Return what follows from the second moments of rows."""
    products, coder = summary.products, summary.coder
    if products is None:
        raise ValueError("this Summary has no second moments")
    counted = summary.value_counts.each(lambda part: np.broadcast_to(part, summary.sums.shape))
    class_sums = (summary.double_sums - counted * products.origin).rounded
    solution = solve_classes(
        products,
        summary.counts,
        class_sums,
        present=summary.present,
        coder=coder,
        ranges=summary.ranges,
        class_weights=class_weight,
    )
    seen = summary.counts > 0
    level = np.where(seen, solution.level, 0.0)
    unseen = per_score(np.where(seen, 0.0, -np.inf)) if not seen.all() else np.zeros(summary.n_scores)
    weights = per_score(solution.weights)
    at_mean = per_score(level) + weights @ solution.distance
    shares = summary.counts[seen] / summary.counts.sum()
    if coder is not None:
        by_cell = solution.distance + solution.centre
        table = centred_table(weights, by_cell, coder, at_mean)
        planes = Hyperplanes(scaling, table, unseen, None)
        return Discriminant(planes, np.zeros_like(table), solution, seen, shares)
    at_mean = carried_intercepts(weights, at_mean)
    scale = solution.basis.scale
    spread = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    share = shared_out(weights * spread, at_mean)
    # at the mean of every feature the score is at_mean; x' is 0 at the low end of the scaling
    for_scaled = weights * scaling.span
    span = np.where(scaling.span > 0, scaling.span, 1.0)
    mean = ((solution.centre - scaling.low) + solution.distance) / span
    bias = at_mean - (weights * ((solution.centre - scaling.low) + solution.distance)).sum(axis=1)
    shift = np.divide(share, for_scaled, out=np.zeros_like(share), where=for_scaled != 0)
    return Discriminant(
        planes_of(scaling, for_scaled, bias + unseen), np.asarray(mean - shift), solution, seen, shares
    )
