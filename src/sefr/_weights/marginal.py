"""Numbers from first moments: each feature by itself, and one scale for all of them.

``reference.marginal_regression`` has the equations. Sums of each feature do not tell how features go
together. So each is taken as one reading of y. If the readings err independently, Bayes' rule gives their
weights; if all of them are the same, it adds what is known several times over, and the scale that gives
their mean is right. The scale is halfway between the two: of one feature both are the regression line.
"""

from __future__ import annotations

import numpy as np

from .._rows.cells import Coder
from .._summary.summary import Summary
from .._system.types import Floats
from .moments import feature_spans
from .regression import RegressionModel, regression_of_line, scale_of_features

# The mean of y in a bin is shrunk to that of all rows as if so many more rows of the bin had that mean.
PRIOR_ROWS = 5.0
# No feature is taken to explain more of the variance of y than all but this part.
LEAST_LEFT = 1e-9


def combined(correlation: Floats, n: float) -> Floats:
    """Return the weights of standardised readings (R, m) of y, in units of its standard deviation.

    A correlation that so many rows have by chance is drawn to 0, by James and Stein's estimate.
    """
    r = np.clip(correlation, -1.0, 1.0)
    chance = np.divide((1 - r * r) / max(n - 2, 1.0), r * r, out=np.ones_like(r), where=r != 0)
    r = r * np.maximum(1 - chance, 0.0)
    w = r / np.maximum(1 - r * r, LEAST_LEFT)
    told, largest = (w * r).sum(axis=1, keepdims=True), np.abs(w).sum(axis=1, keepdims=True)
    if_same = np.divide(told, largest**2, out=np.zeros_like(told), where=largest > 0)
    return np.asarray(w * (1 / (1 + told) + if_same) / 2)


def marginal_regression_of(summary: Summary) -> RegressionModel:
    """Return what follows from the first moments of rows whose targets are numbers."""
    coder, near = summary.coder, summary.near_products()
    n, m, k = near.count, near.n_features, near.n_targets
    sums, squares = near.sums, near.own_squares
    mean, distance = sums[-k:] / n, sums[:m] / n
    spread = np.sqrt(np.maximum(squares[-k:] / n - mean**2, 0.0))
    cross = near.towards_targets() / n - np.outer(distance, mean)
    if coder is None:
        scale = scale_of_features(summary, near)
        spans = feature_spans(scale)
        weights = combined(cross.T * scale / spread[:, None], n) * scale * spread[:, None]
    else:
        spans = np.ones(m)
        weights = np.array([_curves(own, distance, n, coder) for own in (cross / spread).T]) * spread[:, None]
    level = near.origin[m:] + (mean - weights @ distance)
    return regression_of_line(near.origin[:m], distance, weights, level, spans)


def _curves(cross: Floats, share: Floats, n: float, coder: Coder) -> Floats:
    """Return the part of each cell (cells,), from the covariance of cells and y, whose spread is 1.

    The reading of a feature is the mean of y in its bin.
    """
    begins, column_of = coder.offsets[:-1], coder.column_of
    curve = cross / (share + PRIOR_ROWS / n)
    curve -= np.add.reduceat(curve * share, begins)[column_of]
    spread = np.sqrt(np.add.reduceat(curve * curve * share, begins))
    told = np.add.reduceat(curve * cross, begins)
    correlation = np.divide(told, spread, out=np.zeros_like(told), where=spread > 0)
    weights = combined(correlation[None], n)[0]
    scale = np.divide(weights, spread, out=np.zeros_like(weights), where=spread > 0)
    return np.asarray(curve * scale[column_of])
