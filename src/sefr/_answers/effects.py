"""How much each feature moves the scores of a model on average, from its Summary alone."""

from __future__ import annotations

import numpy as np

from .._system.types import Floats
from .fitted import Fitted


def effects_of(fitted: Fitted) -> Floats:
    """Return what each feature does on average, (1, m) for two classes, else (K, m); then what sets do.

    The size is how much the feature moves the score from the mean row of the other classes to the mean row of
    this one: its weight times the distance of the two means. The sign is that of the weight. With bins it is
    the mean part of the feature in the rows of the class less that in the others.
    """
    summary = fitted.summary
    if summary.coder is not None:
        return _effects_of_bins(fitted)
    sums = summary.sums if summary.tails is None else summary.sums + summary.tails
    counts = (
        np.broadcast_to(summary.counts[:, None], sums.shape) if summary.present is None else summary.present
    )
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        own = sums / counts
        others = (sums.sum(axis=0) - sums) / (counts.sum(axis=0) - counts)
        distance = np.abs(own - others)
        found = fitted.planes.coef * (distance[1:] if len(sums) == 2 else distance)
    return np.asarray(np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0), dtype=np.float64)


def _effects_of_bins(fitted: Fitted) -> Floats:
    summary, cells = fitted.summary, fitted.model.binned
    if cells is None:
        raise ValueError("this model has no bins")
    sums, counts = summary.sums, summary.counts[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = sums / counts - (sums.sum(axis=0) - sums) / (counts.sum() - counts)
    moved = np.nan_to_num((distance[1:] if len(sums) == 2 else distance) * cells.entries)
    return cells.coder.by_set(np.add.reduceat(moved, cells.coder.offsets[:-1], axis=1))


def spreads_of(fitted: Fitted) -> Floats:
    """Return the standard deviation of the part of each feature, and set, in predictions (R, sets)."""
    summary, cells, products = fitted.summary, fitted.model.binned, fitted.summary.products
    if cells is not None:
        begins, column_of = cells.coder.offsets[:-1], cells.coder.column_of
        rows = summary.sums.sum(axis=0)
        share = rows / np.maximum(np.add.reduceat(rows, begins), 1e-300)[column_of]
        mean = np.add.reduceat(cells.entries * share, begins, axis=1)
        power = np.add.reduceat((cells.entries - mean[:, column_of]) ** 2 * share, begins, axis=1)
        return cells.coder.by_set(np.sqrt(power))
    if products is None:
        raise ValueError("this model has no products")
    m, count = products.n_features, products.count
    sums = products.sums[:m]
    variance = (products.own_squares[:m] - sums * sums / count) / count
    return np.abs(fitted.planes.coef) * np.sqrt(np.maximum(variance, 0.0))


def importances_of(fitted: Fitted, effects: Floats) -> Floats:
    """Return the share of each feature in effects (R, sets), none below 0: (m,), together 1.

    The effect of a set of features is shared out equally among them.
    """
    shares = np.zeros(fitted.summary.n_features)
    for effect, members in zip(effects.mean(axis=0), fitted.model.feature_sets, strict=True):
        shares[list(members)] += effect / len(members)
    total = shares.sum()
    return shares / total if total > 0 else shares
