"""Features standardised for further passes: in passing, never in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._rows.labelled import CodedRows
from ..._rows.matrix import LinearModel, Sparse, Standardisation
from ..._system.types import Floats
from ..hyperplanes import Hyperplanes, Scaling, carried_intercepts
from .lbfgs import PointModel, Sample

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Blocks = Iterable[tuple[slice, Floats]]

# Samples of up to this many values are standardised in float64; if the sample is all rows, passes use it.
FEW_CELLS = 1 << 17
# Below this many informative rows a feature's variance is shrunk towards mean (1 - mean).
SHY_ROWS = 8.0
# If few rows inform on any feature, variances are guessed. Of values in [a, b] they are at most
# (mean - a)(b - mean), and EVEN of that if values are spread evenly; without a range AS_COUNTS: the variance
# of a count is its mean.
EVEN, AS_COUNTS = 1 / 3, 1.0
# A feature that is at one end of its range in all but this part of the rows is rare: below that, the variance
# that is expected of the weight of a standardised feature falls with the square root of its rarity.
RARE, RAREST = 1 / 40, 1e-12


@dataclass(frozen=True)
class Space:
    """Where the minimum is searched: scaled features x', less ``mean`` and divided by ``spread``.

    A point is a vector of weights (R, m) and intercepts (R,), flat. Features have the ``variance`` (m,) here:
    1, less if they are rare. ``unit`` shrinks all so that a typical row has length 1, that of the intercept's
    own feature. ``class_means`` (K, m) are those of the features here, 0 where a class has no value.
    """

    mean: Floats
    spread: Floats
    variance: Floats
    standard: Standardisation
    unit: float
    class_means: Floats

    def model(self, weights: Floats, intercepts: Floats) -> LinearModel:
        """Return the weights and intercepts of standardised features at a point."""
        return LinearModel(np.ascontiguousarray(weights * self.unit), intercepts)

    @property
    def point_model(self) -> PointModel:
        """How a model follows from a point."""
        return PointModel(None, None, None, self.unit)

    @property
    def weight_variance(self) -> float:
        """The variance that a weight is expected to have, in units of ``PRIOR_VARIANCE``."""
        return 1.0

    def carried(self, weights: Floats, intercepts: Floats) -> Floats:
        """Return intercepts that the weights of a point can carry."""
        return carried_intercepts(weights, intercepts)

    @property
    def curvature(self) -> Floats:
        """How much the loss is curved along each weight (m,), beside along an intercept."""
        return np.asarray(self.unit**2 * self.variance)

    def point(self, planes: Hyperplanes) -> Floats:
        """Return the point of hyperplanes for the features x'."""
        weights = planes.weights
        return np.concatenate(
            [(weights * self.spread / self.unit).ravel(), planes.bias + weights @ self.mean]
        )

    def hyperplanes(self, weights: Floats, intercepts: Floats) -> tuple[Floats, Floats, Floats]:
        """Return weights, biases and midpoints t for x': a score is the sum of w (x' - t) over the features.

        The midpoints lie around the mean of all rows; the intercept is shared out by how much each feature
        moves the score.
        """
        spread = np.broadcast_to(self.spread, weights.shape)
        for_scaled = np.divide(weights * self.unit, spread, out=np.zeros(weights.shape), where=spread > 0)
        share = shared_out(weights, intercepts)
        shift = np.divide(share, for_scaled, out=np.zeros_like(share), where=for_scaled != 0)
        return for_scaled, intercepts - for_scaled @ self.mean, np.asarray(self.mean - shift)


def shared_out(weights: Floats, intercepts: Floats) -> Floats:
    """Return the part of each intercept (R,) that each feature takes, by the square of its weight (R, m)."""
    largest = np.abs(weights).max(axis=1, keepdims=True)
    power = np.ldexp(weights, -np.frexp(largest)[1]) ** 2  # a power of 2, so that no square is lost
    total = power.sum(axis=1, keepdims=True)
    share = np.divide(power, total, out=np.zeros_like(power), where=total > 0)
    return np.asarray(share * intercepts[:, None])


class ClassMeans(NamedTuple):
    """The means of the scaled features in each class (K, m), NaN where there is no value, and its rows (K,).

    A row of each class has its weight (K,) in the loss.
    """

    means: Floats
    counts: Floats
    weights: Floats

    def mean(self) -> Floats:
        """Return the mean of all rows (m,), by the weights of the classes."""
        known = ~np.isnan(self.means)
        weight = (self.weights * self.counts / (self.weights @ self.counts))[:, None] * known
        mean = np.where(known, self.means, 0.0)
        return np.asarray((mean * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300))


def standardise(
    classes: ClassMeans, scaling: Scaling, sampled: CodedRows, n_rows: float, *, further: bool
) -> tuple[Space, Sample]:
    """Return the space of the scaled features, and the sampled rows in it.

    The sample is from ``n_rows`` of the classes' rows; ``further`` says whether there were others before.
    """
    mean, matrix = classes.mean(), sampled.matrix
    weights = classes.weights[sampled.codes] * (1.0 if sampled.weights is None else sampled.weights)
    weights = weights / weights.sum()
    complete = sampled.weights is not None and float(sampled.weights.sum()) >= 0.999 * n_rows
    few = matrix.shape[0] * matrix.shape[1] <= FEW_CELLS
    blocks = list(matrix.blocks()) if few and not matrix.sparse else None
    centre = scaling.low + scaling.span * mean
    if isinstance(matrix, Sparse):
        moments = _sparse_moments(matrix, weights, centre, scaling.span)
    else:
        moments = _moments(blocks or matrix.blocks(), weights, centre, scaling.span)
    if further:  # around the mean of all rows: a batch may have one value of a feature, which has a weight
        guess = EVEN if _is_scaled(scaling) else AS_COUNTS
        variance = _with_doubt(_around(moments), matrix.shape[0], scaling, mean, guess)
    elif complete:
        variance = _variance(moments)
    else:
        variance = _with_doubt(_variance(moments), matrix.shape[0], scaling, mean)
    part = np.sqrt(np.clip(_rarity(mean, variance, scaling) / RARE, RAREST, 1.0))
    spread = np.sqrt(variance / part)
    spread[(scaling.span <= 0) | ~(spread > 0)] = 0
    raw_spread = spread * scaling.span
    with np.errstate(divide="ignore", over="ignore"):
        scale = np.where(raw_spread > 0, 1 / raw_spread, 0.0)
    scale[~np.isfinite(scale)] = 0
    spread[scale == 0] = 0
    standard = matrix.as_used(Standardisation(centre, scale))
    moved = np.divide(standard.centre - scaling.low, scaling.span, out=mean.copy(), where=scaling.span > 0)
    distance = np.nan_to_num(classes.means) - moved
    distance = np.divide(distance, spread, out=np.zeros_like(distance), where=spread > 0)
    unit = 1 / np.sqrt(float(part[spread > 0].sum()) or 1.0)
    space = Space(moved, spread, part, standard, unit, distance)
    rows: Any
    shift: Floats | None = None
    if isinstance(matrix, Sparse):
        rows, shift = _sparse_standardised(matrix, standard)
        if few:
            rows, shift = rows.toarray() - shift, None
    else:
        rows = np.empty(matrix.shape, dtype=np.float64 if few else np.float32)
        standardised(blocks or matrix.blocks(), standard, rows)
    return space, Sample(rows, shift, sampled.codes, weights, unit, complete=few and complete)


def _with_doubt(
    variance: Floats, n_rows: int, scaling: Scaling, mean: Floats, guess: float | None = None
) -> Floats:
    """Return variances of x', from the sample where it has something to say and from the mean elsewhere.

    A feature that is nearly always at one end of its range is non-constant in few sampled rows; its variance
    is estimated as a common fraction of mean (1 - mean), which is ``guess`` if the sample has no rows.
    """
    bound = np.maximum(mean * (1 - mean), 0) if _is_scaled(scaling) else np.abs(mean)
    informed = 4 * bound * n_rows
    trust = informed / (informed + SHY_ROWS)
    part = variance.sum() / max(float(bound.sum()), 1e-300)
    if guess is not None:
        part = (part * n_rows + guess * SHY_ROWS) / (n_rows + SHY_ROWS)
    return np.asarray(trust * variance + (1 - trust) * part * bound)


def _rarity(mean: Floats, variance: Floats, scaling: Scaling) -> Floats:
    """Return how rare what is not at an end of its range is, by the moments of x': of 0 and 1 its share."""
    distance = np.minimum(mean, 1 - mean) if _is_scaled(scaling) else mean
    square = distance * distance
    return np.asarray(square / np.maximum(square + variance, 1e-300))


def _is_scaled(scaling: Scaling) -> bool:
    """Say whether means of a mixture lie in [0, 1]: not where scale=None took the values as they are."""
    return bool((scaling.span != 1).any() or (scaling.low != 0).any())


def _moments(blocks: Blocks, weights: Floats, near: Floats, span: Floats) -> Floats:
    """Return sums of the weights, of the values and of their squares (3, m), over what is not missing.

    Values are in units of their span, less ``near`` (m,), which is about the mean.
    """
    total = np.zeros((3, len(span)))
    unit = np.where(span > 0, span, 1.0)
    for rows, block in blocks:
        x = block - near
        x /= unit
        share = weights[rows]
        if isfinite(x.sum()):
            total[0] += share.sum()
        else:
            here = np.isfinite(x)
            x[~here] = 0
            total[0] += share @ here
        total[1] += share @ x
        x *= x
        total[2] += share @ x
    return total


def _sparse_moments(matrix: Sparse, weights: Floats, near: Floats, span: Floats) -> Floats:
    """Return the same from what is stored, and from the weight of the zeros, which are not."""
    x, m = matrix.by_rows, matrix.shape[1]
    unit = np.where(span > 0, span, 1.0)
    weight = np.repeat(weights, np.diff(x.indptr))
    zeros = weights.sum() - np.bincount(x.indices, weight, m)
    zeros[np.bincount(x.indices, minlength=m) == matrix.shape[0]] = 0  # no rounding error
    value = (x.data - near[x.indices]) / unit[x.indices]
    here = np.isfinite(value)
    value, weight = np.where(here, value, 0.0), np.where(here, weight, 0.0)
    at_zero = np.where(zeros > 0, -near / unit, 0.0)
    return np.stack(
        [
            np.bincount(x.indices, weight, m) + zeros,
            np.bincount(x.indices, weight * value, m) + zeros * at_zero,
            np.bincount(x.indices, weight * value * value, m) + zeros * at_zero**2,
        ]
    )


def _around(moments: Floats) -> Floats:
    """Return mean squares, around what was subtracted from the values."""
    return np.asarray(moments[2] / np.maximum(moments[0], 1e-300))


def _variance(moments: Floats) -> Floats:
    """Return variances; rounding alone is 0."""
    squares = _around(moments)
    variance = squares - (moments[1] / np.maximum(moments[0], 1e-300)) ** 2
    return np.asarray(np.where(variance > 1e-13 * squares, variance, 0.0))


def standardised(blocks: Blocks, standard: Standardisation, out: Floats) -> None:
    """Write (x - centre) * scale, and 0 for what is missing."""
    for rows, block in blocks:
        x = block - standard.centre
        x *= standard.scale
        out[rows] = x if isfinite(x.sum()) else np.nan_to_num(x, nan=0.0)


def _sparse_standardised(matrix: Sparse, standard: Standardisation) -> tuple[csr_matrix, Floats]:
    """Return rows x * scale and what is to be subtracted from each, which is left to the products."""
    rows, left = matrix.without_far_columns(standard)
    rows = rows.astype(np.float64)  # a copy
    missing = np.isnan(rows.data)
    rows.data[missing] = left[rows.indices[missing]]
    rows.data *= standard.scale[rows.indices]
    return rows, left * standard.scale
