"""Where further passes search: features standardised, in passing and never in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._rows.labelled import Table
from ..._rows.matrix import Matrix
from ..._summary.summary import Summary
from ..hyperplanes import Scaling
from ..solve import means
from .step import Sample

Floats = NDArray[np.float64]

# So few values are kept standardised in float64, and the passes made over these.
FEW_CELLS = 1 << 17
# A feature's variance is taken from its mean as far as fewer than this many rows of the sample inform on it.
SHY_ROWS = 8.0


@dataclass(frozen=True)
class Space:
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
        """Number of features."""
        return len(self.mean)

    def weights(self, point: Floats) -> Floats:
        """Return the weights of a point, a view."""
        return point[: self.n_scores * self.n_features].reshape(self.n_scores, -1)

    def intercepts(self, point: Floats) -> Floats:
        """Return the intercepts of a point, a view."""
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

    def distances(self, summary: Summary) -> Floats:
        """Return how far the class means lie from the mean of all, in spreads (K, m); 0 where unknown."""
        distance = np.nan_to_num(means(summary, self.scaling)) - self.mean
        return np.divide(distance, self.spread, out=np.zeros_like(distance), where=self.spread > 0)

    def scores(self, sample: Sample, points: list[Floats]) -> Floats:
        """Return the scores of the sample's rows at some points (q, S, R)."""
        weights = np.concatenate([self.weights(point) for point in points]) * self.unit
        scores = sample.scores(weights).reshape(len(sample.codes), len(points), self.n_scores)
        intercepts = np.stack([self.intercepts(point) for point in points])
        return np.ascontiguousarray(scores.transpose(1, 0, 2)) + intercepts[:, None]

    def midpoints(self, point: Floats, weights: Floats) -> Floats:
        """Return t: a record's score is the sum of w (x' - t) over its features.

        Around the mean of all rows; the intercept is shared out by how much each feature moves the score.
        """
        power = self.weights(point) ** 2
        total = power.sum(axis=1, keepdims=True)
        share = np.divide(power, total, out=np.zeros_like(power), where=total > 0)
        share *= self.intercepts(point)[:, None]
        return np.asarray(self.mean - np.divide(share, weights, out=np.zeros_like(share), where=weights != 0))


def space_of(
    summary: Summary, scaling: Scaling, sampled: Table, class_weights: Floats, n_before: float
) -> tuple[Space, Sample]:
    """Return the space of a Summary's features, and the sampled rows in it."""
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
    space = Space(scaling, moved, spread, centre, scale, 1 / np.sqrt(n_live), n_scores)
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
