"""How much of what moves the scores of a model is of each feature."""

from __future__ import annotations

import numpy as np

from .._system.types import Floats
from .fitted import Fitted


def importances_of(fitted: Fitted, effects: Floats) -> Floats:
    """Return the share of each feature in effects (R, sets), none below 0: (m,), together 1.

    The effect of a set of features is shared out equally among them.
    """
    shares = np.zeros(fitted.summary.n_features)
    for effect, members in zip(effects.mean(axis=0), fitted.model.feature_sets, strict=True):
        shares[list(members)] += effect / len(members)
    total = shares.sum()
    return shares / total if total > 0 else shares
