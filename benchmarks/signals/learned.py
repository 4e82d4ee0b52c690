"""Thresholds learned from data, quantiles of convolutions as MiniRocket takes them, in place of fixed ones.

Only here, to measure them: they were no better, and a board would need a table of them.
"""

import numpy as np

from sefr import _native
from sefr.signals import SignalFeatures
from sefr.signals.convolution import each_convolution
from sefr.signals.kernels import EIGHTHS, GOLDEN

MOST_WINDOWS = 64


class LearnedThresholds:
    """SignalFeatures with a threshold per count from the training part."""

    def __init__(self, **settings):
        self.features = SignalFeatures(**settings)

    def fit(self, X):
        """Take quantiles in an order that spreads them evenly."""
        samples = self.features.fit(X).samples(X)
        plan = self.features.plan_
        some = samples[np.unique(np.linspace(0, len(samples) - 1, MOST_WINDOWS).astype(int))]
        levels = []
        for convolved, spread in each_convolution(plan, some):
            ratios = np.sort((EIGHTHS * convolved // spread[:, None]).ravel())
            for _ in range(plan.thresholds):
                place = (len(levels) + 1) * GOLDEN & 0xFFFF
                levels.append(int(np.clip(ratios[place * len(ratios) >> 16], -128, 127)))
        self.levels = np.array(levels, np.int8)
        return self

    def transform(self, X):
        """Return the features."""
        plan = self.features.plan_
        out = np.empty((len(X), plan.n_features), np.uint8)
        low, high = (np.array([pair[side] for pair in plan.ranges], np.int32) for side in (0, 1))
        dilations = np.array(plan.dilations, np.int32)
        samples = np.ascontiguousarray(self.features.samples(X), dtype=np.int32)
        _native.signal_features(
            samples, dilations, plan.kernels, plan.thresholds, self.levels, plan.segments, low, high, out, 1
        )
        return out
