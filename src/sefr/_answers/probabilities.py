"""From scores to probabilities that mean what they say: bias-corrected temperature scaling.

p_k is proportional to exp(s_k / T + b_k), with s the scores, one temperature T and one offset b_k per class,
fitted to leave-one-out scores of training rows by maximum likelihood. With a free offset per class the mean
predicted probability of a class equals its share of the rows; where scores tell nothing, 1 / T goes to 0 and
the base rates remain. Offsets are held near 0 by a weak prior: where they are 0, the likeliest class is the
answer of ``predict``; where honesty needs an offset, honesty wins.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .._system.types import Floats
from .._weights.held_out import HeldOut
from .._weights.hyperplanes import per_class
from .._weights.loss import softmax

# The variance of an offset before any row is seen.
OFFSET_VARIANCE = 25.0
# That of 1 / T, in units of the mean gap between the best two scores, is the rows outside the largest class
# over this, of two classes those of the rarer: few rows cannot show that scores are to be trusted.
TEMPERATURE_PRECISION = 4.0
# Scores must speak so many times as clearly as the criterion asks before the base rates are given up.
SURE_OF_SCORES = 3.0
NEWTON_STEPS = 50
# More rows than this are as sure: beside their curvature the priors would be lost to rounding.
MOST_EVIDENCE = 2.0**30
# Scores further behind the best than this many mean gaps are all the same.
FARTHEST_GAPS = 1e3


@dataclass(frozen=True)
class TemperatureScaling:
    """1 / T, the offsets (K,), and how well each of them is known: the precision, (K + 1,)."""

    inverse: float
    offsets: Floats
    precision: Floats

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of every class (n, K) from scores (n, R)."""
        by_class = per_class(scores)
        with np.errstate(invalid="ignore"):  # infinity times 0
            logits = by_class * self.inverse + self.offsets
        # a class that was never seen, or the only one that was
        logits = np.where(np.isinf(by_class), by_class, logits)
        if np.isposinf(logits).any():
            logits = np.where(np.isposinf(logits), 0.0, -np.inf) * np.isposinf(logits).any(1, keepdims=True)
        return softmax(logits)

    def over(self, at: NDArray[np.intp], n_classes: int) -> TemperatureScaling:
        """Return the same for more classes, the old ones at ``at``; of a new one nothing is known."""
        offsets, precision = np.zeros(n_classes), np.zeros(n_classes + 1)
        offsets[at] = self.offsets
        precision[0], precision[1 + np.asarray(at)] = self.precision[0], self.precision[1:]
        return TemperatureScaling(self.inverse, offsets, precision)

    def joined(self, other: TemperatureScaling) -> TemperatureScaling:
        """Return the mean of both, each by its precision."""
        total = self.precision + other.precision
        mine = np.divide(self.precision, total, out=np.full(len(total), 0.5), where=total > 0)
        inverse = self.inverse * mine[0] + other.inverse * (1 - mine[0])
        offsets = self.offsets * mine[1:] + other.offsets * (1 - mine[1:])
        return TemperatureScaling(float(inverse), offsets, total)


@dataclass(frozen=True)
class Calibration:
    """What probabilities are fitted to: scores of rows just learned, and what earlier rows have told.

    ``prior`` comes from ``calibrate`` or from a model file; the scores of ``sample`` move it. ``counts`` (K,)
    are the rows of each class that the prior of a file was found with.
    """

    sample: HeldOut | None = None
    prior: TemperatureScaling | None = None
    counts: Floats | None = field(default=None, compare=False)

    def scaling(self, counts: Floats) -> TemperatureScaling | None:
        """Return what turns scores into probabilities if the classes have so many rows; None if unknown.

        Rows of some classes alone cannot say how likely the others are: then what earlier rows told stands.
        """
        sample = self.sample
        if sample is None or not np.isin(np.flatnonzero(counts > 0), sample.codes).all():
            if self.prior is None or self.prior.inverse > 0:
                return self.prior
            # the base rates follow the counts, by a difference of exactly 0 if these are as they were
            shares = _log_shares(counts)
            if self.counts is not None:
                shares = self.prior.offsets + (shares - _log_shares(self.counts))
            return TemperatureScaling(0.0, shares, self.prior.precision)
        return fit_scaling(sample.unseen, self.prior, counts)

    def with_sample(self, sample: HeldOut) -> Calibration:
        """Return the calibration after further rows were learned."""
        return replace(self, sample=sample.joined(self.sample))

    def over(self, at: NDArray[np.intp], n_classes: int) -> Calibration:
        """Return the same for more classes, the old ones at ``at``: scores tell nothing of the new ones."""
        if n_classes == len(at):
            return self
        known = self.prior if self.sample is None else fit_scaling(self.sample.unseen, self.prior)
        return Calibration(prior=None if known is None else known.over(at, n_classes))

    def joined(self, other: Calibration) -> Calibration:
        """Return what both models know about their scores; of equal classes."""
        samples = [part.sample for part in (self, other) if part.sample is not None]
        priors = [part.prior for part in (self, other) if part.prior is not None]
        sample = samples[1].joined(samples[0]) if len(samples) == 2 else samples[0] if samples else None
        prior = priors[0].joined(priors[1]) if len(priors) == 2 else priors[0] if priors else None
        return Calibration(sample, prior)


def fit_scaling(
    sample: HeldOut, prior: TemperatureScaling | None = None, counts: Floats | None = None
) -> TemperatureScaling:
    """Return the temperature and the offsets that make the labels of the rows most likely.

    The rows of each class weigh as ``counts`` say, or as they come.

    Offsets are left at 0, where they cannot contradict the answers, unless Akaike's information criterion
    asks for them; the base rates stand unless the Bayesian one, stricter, speaks for the scores.
    """
    problem = _Likelihood.of(sample, prior, counts)
    n_classes = problem.gaps.shape[1]
    theta = problem.minimum(np.append(max(float(problem.centre[0]), 1.0), problem.centre[1:]))
    if prior is None or not prior.offsets.any():
        of_one = np.log(max(2.0, problem.weights.sum())) / 2
        plain = problem.minimum(np.append(1.0, np.zeros(n_classes)), only_temperature=True)
        if problem.value(plain) - problem.value(theta) < n_classes - 1:
            theta = plain
        base = np.append(0.0, _log_shares(problem.shares))
        if problem.value(base) - problem.value(theta) < SURE_OF_SCORES * of_one:
            theta = base
    likely = problem.likely(theta)
    mean = (likely * problem.gaps).sum(axis=1, keepdims=True)
    spread = problem.weights @ (likely * (problem.gaps - mean) ** 2).sum(axis=1)
    learned = np.append(spread * problem.size**2, problem.weights @ (likely * (1 - likely)))
    before = 0.0 if prior is None else prior.precision
    return TemperatureScaling(float(theta[0] / problem.size), theta[1:], learned + before)


def _log_shares(counts: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(counts / counts.sum(), 1e-300)))


@dataclass(frozen=True)
class _Likelihood:
    """Minus the logarithm of how likely the labels are, as a function of 1 / T and the offsets: convex.

    ``gaps`` (S, K) say how far each score lies behind the best, in units of ``size``, the mean gap of the
    second best; ``target`` (S, K) are the labels, ``shares`` (K,) how often each occurs. Before any row,
    1 / T and the offsets are Gaussian around ``centre``.
    """

    gaps: Floats
    size: float
    target: Floats
    shares: Floats
    weights: Floats
    centre: Floats
    precision: Floats

    @classmethod
    def of(cls, sample: HeldOut, prior: TemperatureScaling | None, counts: Floats | None) -> _Likelihood:
        scores, codes = per_class(sample.scores), sample.codes
        n_rows, n_classes = scores.shape
        evidence = sample.weights if sample.evidence is None else sample.evidence
        evidence = evidence * (MOST_EVIDENCE / max(float(evidence.sum()), MOST_EVIDENCE))
        weights = sample.weights
        if counts is not None:
            own = np.bincount(codes, weights, minlength=n_classes)
            weights = weights * np.divide(counts, own, out=np.ones(n_classes), where=own > 0)[codes]
        weights = weights * (evidence.sum() / weights.sum())
        gaps = scores - scores.max(axis=1, keepdims=True)
        second = np.partition(gaps, -2, axis=1)[:, -2] if n_classes > 1 else np.zeros(n_rows)
        behind = np.isfinite(second) & (second < 0)
        size = -float(np.average(second[behind], weights=weights[behind])) if weights[behind].any() else 1.0
        gaps = np.maximum(gaps / size, -FARTHEST_GAPS)
        # Platt's targets: n rows of one of two classes cannot show that it is surer than (n + 1) / (n + 2).
        # Of more classes all together are doubted as much as two are, or many classes would never be sure.
        # The doubt is about the likeliest of the others: of classes far away the scores may well be sure.
        found = np.bincount(codes, evidence, minlength=n_classes)
        sure = 1 - 2 / n_classes / (found + 2)
        rows, target, rivals = np.arange(n_rows), np.zeros_like(gaps), gaps.copy()
        rivals[rows, codes] = -np.inf
        target[rows, rivals.argmax(axis=1)] = (1 - sure)[codes]
        target[rows, codes] = sure[codes]
        centre = np.zeros(n_classes + 1)
        outside = max(1.0, float(found.sum() - found.max()))
        precision = np.append(TEMPERATURE_PRECISION / outside, np.full(n_classes, 1 / OFFSET_VARIANCE))
        if prior is not None:
            known = prior.precision * np.append(1 / size**2, np.ones(n_classes))
            centre = np.append(prior.inverse * size, prior.offsets) * known / (precision + known)
            precision = precision + known
        shares = np.bincount(codes, weights, minlength=n_classes) / weights.sum()
        return cls(gaps, size, target, shares, weights, centre, precision)

    def likely(self, theta: Floats) -> Floats:
        """Return the probability of every class (S, K)."""
        return softmax(theta[0] * self.gaps + theta[1:])

    def value(self, theta: Floats) -> float:
        """Return what is minimised."""
        logits = theta[0] * self.gaps + theta[1:]
        top = logits.max(axis=1, keepdims=True)
        total = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0]
        away = theta - self.centre
        return float(
            self.weights @ (total - (self.target * logits).sum(axis=1)) + self.precision @ away**2 / 2
        )

    def minimum(self, theta: Floats, *, only_temperature: bool = False) -> Floats:
        """Return the point of the lowest value, by Newton's method; 1 / T stays at 0 or above."""
        value = self.value(theta)
        for _ in range(NEWTON_STEPS):
            gradient, curvature = self._slopes(theta)
            moves = np.full(len(theta), not only_temperature)
            moves[0] = theta[0] > 0 or gradient[0] < 0
            step = np.zeros_like(theta)
            step[moves] = np.linalg.solve(curvature[np.ix_(moves, moves)], gradient[moves])
            # near the minimum the value is flat to its rounding, and the step is still right
            slack = 1e-13 * abs(value)
            shrink = 1.0
            while True:
                trial = theta - shrink * step
                trial[0] = max(trial[0], 0.0)
                trial_value = self.value(trial)
                if trial_value <= value + slack or shrink < 1e-6:
                    break
                shrink /= 2
            if not value - trial_value > slack:
                return trial if trial_value <= value + slack else theta
            theta, value = trial, trial_value
        return theta

    def _slopes(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return the first and second derivatives."""
        likely, gaps, weights = self.likely(theta), self.gaps, self.weights[:, None]
        error = (likely - self.target) * weights
        gradient = np.append((error * gaps).sum(), error.sum(axis=0)) + self.precision * (theta - self.centre)
        mean = (likely * gaps).sum(axis=1, keepdims=True)
        cross = (weights * likely * (gaps - mean)).sum(axis=0)
        curvature = np.empty((len(theta), len(theta)))
        curvature[0, 0] = (weights * likely * (gaps - mean) ** 2).sum()
        curvature[0, 1:] = curvature[1:, 0] = cross
        curvature[1:, 1:] = np.diag((weights * likely).sum(axis=0)) - (likely * weights).T @ likely
        return gradient, curvature + np.diag(self.precision)
