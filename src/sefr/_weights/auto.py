"""auto=True: how much each of several models is to say, from how well they do on rows that were held out.

The models are parts of one: a line, a curve per feature, and ferns. Their log probabilities are added, each
times a weight. A log probability is a score times a constant plus a constant, but for what is the same for
all classes, so that the sum is again a score that is a sum over the features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from .._system.types import Floats
from .._system.value import Value
from .hyperplanes import Hyperplanes, Scaling, planes_of
from .loss import row_losses

# The weights are held at the last part alone by so much, over the number of rows.
HOLD = 2.0
# That of a class that a part has never seen. No score of a held-out row says more, for or against: a value of
# 1e200 would, and its square is no float64.
LEAST_LOGIT = -1e3
NEWTON_STEPS = 30


@dataclass(frozen=True)
class AutoChoice(Value):
    """What ``auto=True`` chose.

    ``weights`` say how much each part counts: "line", "bins" and "ferns", of those that there are.
    ``log_loss`` is that of each on ``n_held_out`` rows that it has not seen, and of their "sum".
    """

    weights: Mapping[str, float]
    log_loss: Mapping[str, float]
    n_ferns: int
    n_held_out: int


@dataclass(frozen=True)
class Auto(Value):
    """What was chosen, and the lines beside the cells with their midpoints (R, m); None if they say nothing.

    ``values`` are the mean values of the rows in each cell of a feature, as in ``CellTable``.
    """

    choice: AutoChoice
    lines: Hyperplanes | None
    midpoints: Floats
    values: Floats


def lines_of(scaling: Scaling, weights: Floats, midpoints: Floats) -> Hyperplanes:
    """Return lines that are w (x' - t), with t the midpoints."""
    return planes_of(scaling, weights, np.asarray(-(weights * midpoints).sum(axis=1)))


@dataclass(frozen=True)
class HeldOutParts:
    """What P parts say of n rows that they have not seen, beyond what is known without them.

    The probabilities of a part are the softmax of its ``logits`` (P, n, K) plus ``base`` (n, K), the
    logarithm of the shares of the classes.
    """

    logits: Floats
    base: Floats
    codes: NDArray[np.int32]
    weights: Floats

    def losses(self) -> list[float]:
        """Return the log loss of each part."""
        return [self.loss(alone) for alone in np.eye(len(self.logits))]

    def loss(self, shares: Floats) -> float:
        """Return the log loss of the sum of the parts, each times its weight."""
        losses, _ = self._losses(shares)
        return float(self.weights @ losses / self.weights.sum())

    @cached_property
    def best_weights(self) -> Floats:
        """The weights (P,), none below 0, of the least log loss; few rows keep to the last part."""
        n_parts = len(self.logits)
        shares = centre = np.append(np.zeros(n_parts - 1), 1.0)
        if not len(self.codes):
            return centre
        hold = HOLD / float(self.weights.sum())
        at = self._slopes(shares).held(shares - centre, hold)
        for _ in range(NEWTON_STEPS):
            step, shrink = _quadratic(at.curvature, at.slope, shares), 1.0
            if -(step @ at.slope) < 1e-7 * abs(at.loss):
                break
            while True:
                trial = shares + shrink * step
                found = self._slopes(trial).held(trial - centre, hold)
                if found.loss <= at.loss or shrink < 1e-4:
                    break
                shrink /= 2
            if not found.loss < at.loss:
                break
            shares, at = trial, found
        return shares

    def _slopes(self, shares: Floats) -> _Slopes:
        """Return the log loss and its first and second derivatives by the weights of the parts."""
        by_part, weights = self.logits, self.weights / self.weights.sum()
        losses, likely = self._losses(shares)
        likely *= weights[:, None]
        weighted = by_part * likely
        mean = weighted.sum(axis=2)
        slope = mean.sum(axis=1) - by_part[:, np.arange(len(self.codes)), self.codes] @ weights
        flat = by_part.reshape(len(by_part), -1)
        products = weighted.reshape(flat.shape) @ flat.T
        return _Slopes(float(weights @ losses), slope, products - (mean / weights) @ mean.T)

    def _losses(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the log loss of each row (n,), and the probability of every class (n, K)."""
        logits = np.tensordot(shares, self.logits, axes=1) + self.base
        return row_losses(logits, self.codes)


class _Slopes(NamedTuple):
    """A value at a point, and its first and second derivatives."""

    loss: float
    slope: Floats
    curvature: Floats

    def held(self, away: Floats, hold: float) -> _Slopes:
        """Return the same plus the squared distance from where the point is held."""
        return _Slopes(
            self.loss + hold * float(away @ away),
            self.slope + 2 * hold * away,
            self.curvature + 2 * hold * np.eye(len(away)),
        )


def _quadratic(curvature: Floats, slope: Floats, at: Floats) -> Floats:
    """Return the step to the minimum of a quadratic function over what is not below 0."""
    root = np.linalg.cholesky(curvature)
    to, _ = nnls(root.T, np.linalg.solve(root, curvature @ at - slope))
    return np.asarray(to - at)
