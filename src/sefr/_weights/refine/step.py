"""How far to go: the best step along a few directions, judged on a sample of the rows.

A step is a handful of numbers, so that a thousand rows are enough to choose it; the pass over all rows then
says what it was worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

NEWTON_STEPS = 25
ENOUGH = 1e-4  # of the loss; the pass over all rows corrects what is left


@dataclass(frozen=True)
class Sample:
    """Some rows, standardised: ``rows`` (S, m), dense or sparse, whose products are moved by ``shift`` (m,).

    ``weights`` add up to 1. A sample that is ``whole`` has all rows, so few that float64 costs nothing.
    """

    rows: Any
    shift: Floats | None
    codes: NDArray[np.int32]
    weights: Floats
    whole: bool = False

    def sweep(self, coef: Floats, intercept: Floats) -> tuple[float, Floats, Floats]:
        """Return the mean loss of the rows and its derivatives by weights (R, m) and intercepts (R,)."""
        z = self.scores(coef) + intercept
        if z.shape[1] == 1:
            positive = self.codes == 1
            loss = float(self.weights @ np.logaddexp(0, np.where(positive, -z[:, 0], z[:, 0])))
            pull = expit(z) - positive[:, None]
        else:
            rows = np.arange(len(z))
            z -= z.max(axis=1, keepdims=True)
            own = z[rows, self.codes]
            pull = np.exp(z)
            total = pull.sum(axis=1)
            loss = float(self.weights @ (np.log(total) - own))
            pull /= total[:, None]
            pull[rows, self.codes] -= 1
        pull *= self.weights[:, None]
        slope = np.asarray((self.rows.T @ pull).T)
        sums = pull.sum(axis=0)
        return loss, slope if self.shift is None else slope - sums[:, None] * self.shift, sums

    def scores(self, coef: Floats) -> Floats:
        """Return the scores (S, R) of weights (R, m), without intercepts."""
        scores = np.asarray(self.rows @ coef.T.astype(self.rows.dtype, copy=False), dtype=np.float64)
        return scores if self.shift is None else scores - self.shift @ coef.T


def best_step(
    scores: Floats,
    sample: Sample,
    start: Floats,
    spring: Floats,
    slope: Floats | None = None,
) -> Floats:
    """Return the combination a that minimises the loss of sum_i a_i scores_i + a·spring·a / 2 on the sample.

    ``scores`` (q, S, R). ``spring`` (q, q). With ``slope`` (q,), the exact derivative at ``start`` over all
    rows, the sample is trusted for the curvature alone: its own derivative is replaced.
    """
    unit = 1 / (np.sqrt(np.einsum("isr,isr->i", scores, scores) / len(sample.codes)) + 1e-300)
    scores = scores * unit[:, None, None]
    spring = spring * np.outer(unit, unit)
    a = begin = start / unit
    value, gradient, curvature = _derivatives(scores, sample, a)
    bend = np.zeros(len(a)) if slope is None else slope * unit - gradient - spring @ a

    def with_springs(
        at: Floats, loss: float, gradient: Floats, curvature: Floats
    ) -> tuple[float, Floats, Floats]:
        value = loss + at @ spring @ at / 2 + bend @ (at - begin)
        return float(value), gradient + spring @ at + bend, curvature + spring

    value, gradient, curvature = with_springs(a, value, gradient, curvature)
    for _ in range(NEWTON_STEPS):
        ridge = 1e-10 * np.trace(curvature) / len(a) + 1e-300
        step = np.linalg.solve(curvature + ridge * np.eye(len(a)), -gradient)
        size = 1.0
        while size > 1e-4:
            at = a + size * step
            found = with_springs(at, *_derivatives(scores, sample, at))
            if found[0] <= value + 1e-4 * size * (gradient @ step):
                break
            size /= 2
        else:
            break
        a = at
        gain, (value, gradient, curvature) = value - found[0], found
        if gain <= ENOUGH * abs(value):
            break
    return np.asarray(a * unit)


def _derivatives(scores: Floats, sample: Sample, a: Floats) -> tuple[float, Floats, Floats]:
    """Return the loss of the combined scores, its gradient and its Hessian in ``a``."""
    z = np.tensordot(a, scores, 1)
    codes, weights = sample.codes, sample.weights
    if z.shape[1] == 1:
        positive = codes == 1
        probability = expit(z[:, 0])
        loss = float(weights @ np.logaddexp(0, np.where(positive, -z[:, 0], z[:, 0])))
        basis = scores[:, :, 0]
        gradient = basis @ (weights * (probability - positive))
        curvature = (basis * (weights * probability * (1 - probability))) @ basis.T
        return loss, gradient, curvature
    rows = np.arange(len(codes))
    z -= z.max(axis=1, keepdims=True)
    own = z[rows, codes]
    probability = np.exp(z, out=z)
    total = probability.sum(axis=1)
    loss = float(weights @ (np.log(total) - own))
    probability /= total[:, None]
    mean = np.einsum("isr,sr->is", scores, probability)
    gradient = (mean - scores[:, rows, codes]) @ weights
    probability *= weights[:, None]
    flat = scores.reshape(len(scores), -1)
    curvature = (flat * probability.ravel()) @ flat.T - (mean * weights) @ mean.T
    return loss, gradient, curvature
