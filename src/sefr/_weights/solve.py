"""From a Summary to weights: equations 3 to 9 of the paper, scaling folded in.

The scores' means of equations 7 and 8 are w·mu, so the rows are not needed again; the "rest" of
one-against-all is the total minus the class. Cost: O(m·K), whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._rows.inputs import describe_feature
from .._rows.matrix import Matrix
from .._summary.accumulate import delicate
from .._summary.double_double import Twofold
from .._summary.summary import Summary

Floats = NDArray[np.float64]

# coef·x cancels against the intercept where values lie further from zero than this many spans; there the
# score is taken from (x - low) / span itself. 2**8 spans cost 8 of 53 bits.
FAR = 2.0**8
# Below this span the weight of a raw value could leave float64's range.
NARROW = 1e-290


@dataclass(frozen=True)
class Scaling:
    """x' = (x - low) / span, and 0 where the span is 0."""

    low: Floats
    span: Floats

    def apply(self, X: Floats) -> Floats:
        """Return the features of ``X`` (n, m) scaled."""
        moved = X - self.low
        return np.divide(
            moved, self.span, out=np.zeros_like(moved), where=np.broadcast_to(self.span > 0, X.shape)
        )


@dataclass(frozen=True)
class Hyperplanes:
    """One hyperplane for two classes, one a class for more, in scikit-learn's sign: the higher score wins.

    ``feature_scores`` (R, m) are the weights for scaled features, ``bias`` (R,) goes with them (eq. 5 and 9,
    or what further passes made of them); ``coef`` and ``intercept`` do the same for raw features. ``far``
    lists the features that need care, None if there are none. A class that was never seen scores -inf.
    """

    scaling: Scaling
    feature_scores: Floats
    bias: Floats
    far: NDArray[np.intp] | None

    @cached_property
    def coef(self) -> Floats:
        """The weights for raw features: 0 for a constant one, and the largest float where it overflows."""
        span, weights = self.scaling.span, self.feature_scores
        with np.errstate(all="ignore"):
            coef = weights / span
            if np.isfinite(coef).all():
                return coef
            coef = np.divide(weights, span, out=np.zeros_like(weights), where=span > 0)
        return np.nan_to_num(coef, copy=False)

    @cached_property
    def intercept(self) -> Floats:
        """What goes with ``coef``."""
        # not coef @ low: waking the threads of BLAS can cost more than the rest of a fit
        return np.asarray(self.bias - (self.coef * self.scaling.low).sum(axis=1))

    def scores(self, matrix: Matrix, n_threads: int = 1) -> Floats:
        """Return the score of every row and hyperplane."""
        if self.far is None:
            return matrix.scores(self.coef, self.intercept, None, n_threads)
        near = self.coef.copy()
        near[:, self.far] = 0
        scores = matrix.scores(near, self.bias - (near * self.scaling.low).sum(axis=1), None, n_threads)
        scaling = Scaling(self.scaling.low[self.far], self.scaling.span[self.far])
        for where, block in matrix.blocks(self.far):
            scores[where] += scaling.apply(block) @ self.feature_scores[:, self.far].T
        return scores


class Unsolved(Hyperplanes):
    """The hyperplanes that a Summary defines, found when they are first asked for."""

    def __init__(self, summary: Summary, scaling: Scaling, epsilon: float) -> None:
        self.__dict__.update(summary=summary, scaling=scaling, epsilon=epsilon)

    def __getattr__(self, name: str) -> Any:
        if name not in {"feature_scores", "bias", "far"}:
            raise AttributeError(name)
        found = solve_within(self.summary, self.scaling, self.epsilon)
        self.__dict__.update(feature_scores=found.feature_scores, bias=found.bias, far=found.far)
        return self.__dict__[name]


def scaling_of(summary: Summary, scale: Any) -> Scaling:
    """Return how the features are scaled: by their extremes, by known ranges, or not at all."""
    m = summary.n_features
    if scale is None:
        _check_range(
            summary, np.zeros(m), np.full(m, np.inf), "Negative values in data passed to X: scale=None"
        )
        return Scaling(np.zeros(m), np.ones(m))
    if isinstance(scale, str):
        with np.errstate(over="ignore"):
            span = summary.high - summary.low
        if np.isfinite(span).all():
            return Scaling(summary.low, span)
        seen = summary.high >= summary.low
        low = np.where(seen, summary.low, 0.0)
        high = np.where(seen, summary.high, 0.0)
    else:
        low, high = known_ranges(scale, m)
        _check_range(summary, low, high, "scale=(low, high)")
    with np.errstate(over="ignore"):
        span = high - low
    if not np.isfinite(span).all():
        j = int(np.argmin(np.isfinite(span)))
        raise ValueError(
            f"the range of {describe_feature(j, summary.feature_names)} is wider than float64 can hold"
        )
    return Scaling(low, span)


def known_ranges(scale: Any, n_features: int) -> tuple[Floats, Floats]:
    """Return low and high for every feature from a pair given for all of them or one by one."""
    try:
        low, high = (np.asarray(side, dtype=np.float64) for side in scale)
    except (TypeError, ValueError):
        raise ValueError(f"scale must be 'minmax', None or a pair (low, high), not {scale!r}") from None
    for name, side in (("low", low), ("high", high)):
        if side.ndim > 1 or side.size not in {1, n_features}:
            raise ValueError(f"scale: {name} has {side.size} values for {n_features} features")
        if not np.isfinite(side).all():
            raise ValueError(f"scale: {name} must be finite")
    low, high = (np.broadcast_to(side.ravel(), (n_features,)) for side in (low, high))
    if not (low < high).all():
        j = int(np.argmin(low < high))
        raise ValueError(f"scale: low must be below high; feature {j} has {low[j]:g} and {high[j]:g}")
    return low, high


def _check_range(summary: Summary, low: Floats, high: Floats, rule: str) -> None:
    outside = (summary.low < low) | ((summary.high > high) & (summary.high > -np.inf))
    if outside.any():
        j = int(np.argmax(outside))
        raise ValueError(
            f"{rule} takes values from {low[j]:g} to {high[j]:g}, but "
            f"{describe_feature(j, summary.feature_names)} has values from "
            f"{summary.low[j]:g} to {summary.high[j]:g}"
        )


def means(summary: Summary, scaling: Scaling, *, rest: bool = False) -> Floats:
    """Return the class means of the scaled features (eq. 3, 4), NaN where a class has no value.

    With ``rest``, those of all other classes together.
    """
    cells = summary.counts[:, None] if summary.present is None else summary.present
    sums = summary.twofold_sums
    total_cells, total = cells.sum(axis=0), sums.head.sum(axis=0)
    careful = sums.tail is not None or delicate(scaling.low, total, total_cells).any()
    if rest:
        cells = total_cells - cells
        sums = _others(sums) if careful else Twofold(total - sums.head)
    numerator = _distance(sums, cells, scaling.low) if careful else sums.head - cells * scaling.low
    divisor = cells * scaling.span
    if (divisor != 0).all():
        return numerator / divisor
    mean = np.divide(numerator, divisor, out=np.zeros(sums.head.shape), where=divisor != 0)
    return np.where(np.broadcast_to(cells > 0, mean.shape), mean, np.nan)


def _others(sums: Twofold) -> Twofold:
    """Return total minus each row."""
    total = sums.rows(slice(0, 1))
    for k in range(1, len(sums.head)):
        total = total + sums.rows(slice(k, k + 1))
    return total - sums


def _distance(sums: Twofold, cells: Floats, low: Floats) -> Floats:
    """Return sums - cells * low without losing the small difference of two large numbers."""
    difference = sums - Twofold(np.broadcast_to(cells, sums.head.shape)) * low
    return difference.head if difference.tail is None else difference.head + difference.tail


def solve(summary: Summary, scale: Any = "minmax", epsilon: float = 1e-7) -> Hyperplanes:
    """Return the hyperplanes that the rows behind a Summary define."""
    if not (summary.counts > 0).any():
        raise ValueError("there are no rows to learn from")
    return Unsolved(summary, scaling_of(summary, scale), float(epsilon))


def solve_within(summary: Summary, scaling: Scaling, epsilon: float) -> Hyperplanes:
    """Return the hyperplanes where it is known how the features are scaled."""
    if summary.tails is None and summary.present is None:
        n_planes = 1 if len(summary.counts) == 2 else len(summary.counts)
        weights, bias = np.empty((n_planes, summary.n_features)), np.empty(n_planes)
        low, span = (np.ascontiguousarray(side) for side in (scaling.low, scaling.span))
        if _native.solve(summary.sums, summary.counts, low, span, epsilon, weights, bias):
            return Hyperplanes(scaling, weights, bias, None)
    weights, midpoints = weights_and_midpoints(summary, scaling, epsilon)
    bias = _unseen(summary.counts) - (weights * midpoints).sum(axis=1)
    return planes_of(scaling, weights, bias)


def planes_of(scaling: Scaling, weights: Floats, bias: Floats) -> Hyperplanes:
    """Return hyperplanes from weights and biases for scaled features."""
    span = scaling.span
    far = (np.maximum(np.abs(scaling.low), np.abs(scaling.low + span)) > FAR * span) & (span > 0)
    far |= (span < NARROW) & (span > 0)
    return Hyperplanes(scaling, weights, bias, np.flatnonzero(far) if far.any() else None)


def weights_and_midpoints(summary: Summary, scaling: Scaling, epsilon: float) -> tuple[Floats, Floats]:
    """Return w of eq. 5 and t, both (R, m): a record's score is the sum of w (x' - t) over its features.

    t_j = (a_j N- + b_j N+) / (N- + N+): eq. 9 split over the features, since tau+ = w·a and tau- = w·b.
    """
    counts = summary.counts
    total = counts.sum()
    own = means(summary, scaling)
    if len(counts) == 2:
        others, own, n_own = own[:1], own[1:], counts[1:, None]
    else:
        others, n_own = means(summary, scaling, rest=True), counts[:, None]
    # "own" is the side that a high score speaks for; the paper's multiclass sign is turned, see Hyperplanes.
    divisor = own + others
    divisor += epsilon
    weights = own - others
    if (divisor != 0).all():
        weights /= divisor
    else:
        weights = np.divide(weights, divisor, out=np.zeros_like(weights), where=divisor != 0)
    midpoints = (own * (total - n_own) + others * n_own) / total
    undefined = np.isnan(weights) if summary.present is not None or not counts.all() else None
    if undefined is not None and undefined.any():  # a class without a value says nothing about the feature
        weights[undefined] = 0
        midpoints[undefined] = 0
    return weights, midpoints


def _unseen(counts: Floats) -> Floats | float:
    """Return what keeps a class that was never seen from being the answer."""
    if counts.all():
        return 0.0
    if len(counts) == 2:
        return np.array([np.inf if counts[1] else -np.inf])
    return np.where(counts > 0, 0.0, -np.inf)
