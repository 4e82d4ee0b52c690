"""How much of what moves the scores of a model is of each feature, from its Summary alone."""

from __future__ import annotations

import numpy as np

from .._system.types import Floats
from .fitted import Fitted


def importances_of(fitted: Fitted) -> Floats:
    """Return the share of each feature in the effects, (m,): at least 0, together 1.

    The effect of a set of features is shared out equally among them. Numbers have no other class to differ
    from: there it is how far the part of a feature spreads over the rows that were learned.
    """
    of_numbers = fitted.summary.n_targets > 0
    model, summary = fitted.model, fitted.summary
    found = (model.spreads(summary) if of_numbers else np.abs(model.effects(summary))).mean(axis=0)
    shares = np.zeros(fitted.summary.n_features)
    for effect, members in zip(found, fitted.model.feature_sets, strict=True):
        shares[list(members)] += effect / len(members)
    total = shares.sum()
    return shares / total if total > 0 else shares
