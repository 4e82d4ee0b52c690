"""From a Summary to weights: equations 3 to 9 of the paper, scaling folded in.

The scores' means of equations 7 and 8 are w·mu, so the rows are not needed again; the "rest" of
one-against-all is the total minus the class. Cost: O(m·K), whatever the number of rows.
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from .. import _native
from .._rows.inputs import describe_feature
from .._rows.ranges import known_ranges
from .._summary.accumulate import delicate
from .._summary.double_double import DoubleDouble
from .._summary.summary import Summary
from .._system.types import Floats, Scale
from .hyperplanes import WIDE, Hyperplanes, Scaling, UnitScaling, planes_of, refuse_no_rows

# Products of two counts leave float64 beyond these.
SMALL = 1e-100
# The total minus a class that has more than this many times the rows of all others costs 8 of 53 bits.
DOMINANT = 2.0**8


def scaling_of(summary: Summary, scale: Scale) -> Scaling:
    """Return how the features are scaled: by their extremes, by known ranges, or not at all."""
    refuse_no_rows(summary.n_rows)
    m = summary.n_features
    if not summary.coding.movable:
        if scale is not None and not isinstance(scale, str):
            known_ranges(scale, m)  # refuses what is none
        return UnitScaling(summary.low, summary.high)
    if scale is None:
        _check_range(
            summary, np.zeros(m), np.full(m, np.inf), "Negative values in data passed to X: scale=None"
        )
        return Scaling(np.zeros(m), np.ones(m))
    if isinstance(scale, str):
        with np.errstate(over="ignore"):
            span = summary.high - summary.low
            plain = isfinite(span.sum())
        if plain:
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
    if float(scaling.span.max()) * summary.n_rows > WIDE:  # sums of distances could leave float64
        summary = summary * 2.0 ** -float(np.ceil(np.log2(summary.n_rows)))
    counts, sums = summary.value_counts, summary.double_sums
    total_counts, total = counts.head.sum(axis=0), sums.head.sum(axis=0)
    careful = bool(delicate(scaling.low, total, total_counts).any())
    if rest:
        careful |= bool((counts.head > DOMINANT * (total_counts - counts.head)).any())
        careful |= bool(delicate(summary.low, total, total_counts).any())
    if rest:
        sums = sums.added() - sums if careful else DoubleDouble(total - sums.head)
        counts = counts.added() - counts if careful else DoubleDouble(total_counts - counts.head)
    if careful:
        counted = counts.each(lambda part: np.broadcast_to(part, sums.head.shape))
        numerator = (sums - counted * scaling.low).rounded
    else:
        numerator = sums.head - counts.head * scaling.low
    divisor = counts.head * scaling.span
    if (divisor != 0).all():
        return numerator / divisor
    mean = np.divide(numerator, divisor, out=np.zeros(sums.head.shape), where=divisor != 0)
    return np.where(np.broadcast_to(counts.head > 0, mean.shape), mean, np.nan)


def solve(summary: Summary, scaling: Scaling, epsilon: float) -> Hyperplanes:
    """Return the hyperplanes that the rows behind a Summary define."""
    weights, bias, _, careful = _solve(summary, scaling, epsilon, midpoints=False)
    return planes_of(scaling, weights, bias) if careful else Hyperplanes(scaling, weights, bias, None)


def weights_and_midpoints(summary: Summary, scaling: Scaling, epsilon: float) -> tuple[Floats, Floats]:
    """Return w of eq. 5 and t, both (R, m): a record's score is the sum of w (x' - t) over its features.

    t_j = (a_j N- + b_j N+) / (N- + N+): eq. 9 split over the features, since tau+ = w·a and tau- = w·b.
    """
    weights, _, midpoints, _ = _solve(summary, scaling, epsilon, midpoints=True)
    return weights, midpoints


def _solve(
    summary: Summary, scaling: Scaling, epsilon: float, *, midpoints: bool
) -> tuple[Floats, Floats, Floats, bool]:
    """Return weights, biases, midpoints (if asked for), and whether the means had to be taken with care."""
    counts = summary.counts
    if not SMALL < counts.sum() < 1 / SMALL:  # all rows count the same part of what they did
        summary = summary * 2.0 ** -float(np.clip(np.round(np.log2(counts.sum())), -1000, 1000))
        counts = summary.counts
    shape = summary.n_scores, summary.sums.shape[1]
    weights, bias, middle = np.empty(shape), np.empty(shape[0]), np.empty(shape if midpoints else (0, 0))
    if summary.present is None and not _far_inside(summary, scaling):
        low, span = (np.ascontiguousarray(side) for side in (scaling.low, scaling.span))
        wanted = middle if midpoints else None
        if _native.solve(summary.sums, counts, low, span, epsilon, weights, bias, wanted):
            return weights, bias, middle, False
    own = means(summary, scaling)
    # "own" is the side that a high score speaks for; the paper's multiclass sign is turned, see Hyperplanes.
    rest = own[:1] if len(counts) == 2 else means(summary, scaling, rest=True)
    middle = np.empty(shape)
    _native.solve_means(own, counts, rest, epsilon, weights, bias, middle)
    return weights, bias + _unseen(counts), middle, True


def _far_inside(summary: Summary, scaling: Scaling) -> bool:
    """Say whether values lie so far from where the scale begins that the total minus a class loses digits."""
    if len(summary.counts) == 2 or scaling.low is summary.low:
        return False
    return _native.is_delicate(summary.sums, summary.counts, summary.low)


def _unseen(counts: Floats) -> Floats | float:
    """Return what keeps a class that was never seen from being the answer."""
    if counts.all():
        return 0.0
    if len(counts) == 2:
        return np.array([np.inf if counts[1] else -np.inf])
    return np.where(counts > 0, 0.0, -np.inf)
