"""How far y lies from predictions of rows that ferns were not grown on, beside what the sums say.

Ferns are chosen by y, so that the sums of the rows that chose them leave too little over, and few errors are
normal. Rows that growing holds out tell both: each has its residual as if it had been left out of the sums
too, in units of the deviation that follows from them. The sums go on to change, and deviations with them;
what is kept is the shape, found once, as edges and ferns are. No row is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from .._rows.cells import cells_of
from .._rows.cells.grow import held_out_rows
from .._rows.labelled import Labelled
from .._system.types import Floats
from .._system.value import Value
from .regression import RegressionModel


@dataclass(frozen=True)
class Residuals(Value):
    """The sizes of residuals (R, S) in deviations, rising, and the share of new rows below each (R, S)."""

    sizes: Floats
    shares: Floats

    @property
    def spread(self) -> Floats:
        """The root of the mean square (R,)."""
        weights = np.diff(self.shares, prepend=0.0, axis=1)
        mean: Floats = (weights * self.sizes**2).sum(axis=1) / weights.sum(axis=1)
        return np.sqrt(mean)

    def quantile(self, share: float, count: float) -> Floats:
        """Return how many deviations to either side have this share of new y (R,).

        Beyond what so few residuals can tell, it is that of Student's distribution of ``count`` rows, and no
        less than the largest.
        """
        at = (self.shares < share).sum(axis=1)
        known = np.take_along_axis(self.sizes, np.minimum(at, self.sizes.shape[1] - 1)[:, None], axis=1)[:, 0]
        beyond = np.maximum(known, students(share, count) * self.spread)
        return np.where(at < self.sizes.shape[1], known, beyond)


def students(share: float, count: float) -> float:
    """Return how many deviations to either side have this share: of Student's distribution."""
    return float(stats.t.ppf(0.5 + share / 2, max(count - 1, 1.0)))


def held_out_residuals(rows: Labelled, regression: RegressionModel) -> Residuals | None:
    """Return what rows tell that a Summary has learned and growing has held out; None if there are none.

    Leaving a row out makes its residual 1 / (1 - leverage) times as large, and the variance of a prediction
    too: in units of the deviation a residual is e / sqrt(noise (1 - leverage)). The leverage is taken to be
    that of a typical row.
    """
    noise, leverage = regression.noise, regression.typical_leverage
    if noise is None or leverage is None:
        return None
    matrix = cells_of(rows.matrix, rows.matrix.coding.known_coder("interactions"))
    held = np.flatnonzero(held_out_rows(matrix.cells[:, : matrix.n_features], rows.weights))
    if not len(held):
        return None
    planes = regression.planes
    errors = np.abs(rows.targets[held] - matrix.scores(planes.weights, planes.bias, held))
    unit = np.sqrt(noise * np.maximum(1 - leverage, 0.0))
    sizes = np.divide(errors, unit, out=np.zeros_like(errors), where=unit > 0).T
    order = np.argsort(sizes, axis=1, kind="stable")
    weights = np.ones(len(held)) if rows.weights is None else rows.weights[held]
    # a new row is as likely to lie between any two of them as beyond the last
    shares = np.cumsum(weights[order], axis=1) / (weights.sum() + 1)
    return Residuals(np.take_along_axis(sizes, order, axis=1), shares)
