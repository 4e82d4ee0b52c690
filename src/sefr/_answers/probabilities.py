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

from .. import _native
from .._system.types import Floats
from .._weights.held_out import HeldOut
from .._weights.hyperplanes import per_class
from .._weights.loss import softmax


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

    The rows of each class weigh as ``counts`` say, or as they come. See ``native/answers/probabilities.h``.
    """
    scores, codes = np.ascontiguousarray(sample.scores), sample.codes
    weights, evidence = sample.weights, sample.weights if sample.evidence is None else sample.evidence
    known: tuple[float, Floats | None, Floats | None] = (0.0, None, None)
    if prior is not None:
        known = (prior.inverse, prior.offsets, prior.precision)
    n_classes = max(2, scores.shape[1])
    offsets, precision = np.empty(n_classes), np.empty(n_classes + 1)
    inverse = _native.fit_scaling(scores, codes, weights, evidence, counts, *known, offsets, precision)
    return TemperatureScaling(inverse, offsets, precision)


def _log_shares(counts: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(counts / counts.sum(), 1e-300)))
