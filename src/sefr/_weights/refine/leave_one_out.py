"""The sample's scores as if each row had been left out of the passes."""

from __future__ import annotations

import numpy as np

from ..._rows.labelled import CodedRows
from ..._system.types import Floats
from ..held_out import HeldOut, unseen_by_leverage, unseen_by_loss
from ..loss import chances
from .lbfgs import Objective, Sample

# Rows whose products tell how many directions the rows share.
GRAM_ROWS = 128
# A row of more weight is in as many copies as one of this: squares of weights stay within float64.
MOST_COPIES = 2.0**30
# Multiplications that the leverage of every row may take, if the sample holds all rows.
LEVERAGE_PRODUCTS = 1 << 20
# The least curvature along a direction, over the mean: the ridge is lost if rows have huge weights.
LEAST_CURVATURE = 1e-12


def held_out(objective: Objective, point: Floats, sampled: CodedRows) -> HeldOut:
    """Return the sample's scores as if each row had been left out, for probabilities.

    If the sample holds all rows, and these are few, the leverage of each follows from the curvature of the
    loss along all directions; with several classes, whose curvatures differ, its mean over the directions is
    the better guess.
    """
    sample, n_scores = objective.sample, len(point) - objective.penalty.n_weights
    products = len(sample.codes) * (objective.penalty.n_weights + 1) ** 2
    few = sampled.weights is not None and products <= LEVERAGE_PRODUCTS
    if not (few and n_scores == 1 and isinstance(sample, Sample)) or objective.penalty.prior_mean is not None:
        return leave_one_out(objective, point, sampled)
    scores = objective.scores(point[None])[0]
    rows = sample.vectors(np.arange(len(scores)))
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    chance = chances(scores)[:, 0]
    curvature = (rows * (sample.weights * chance * (1 - chance))[:, None]).T @ rows
    least = LEAST_CURVATURE * np.trace(curvature) / len(curvature)
    curvature[np.diag_indices(len(curvature))] += max(objective.penalty.ridge, least, 1e-300)
    leverage = ((rows @ np.linalg.inv(curvature)) * rows).sum(axis=1)
    seen = HeldOut(scores, sample.codes, np.asarray(sampled.weights))
    return unseen_by_leverage(seen, objective.rows.class_weights[sample.codes] * leverage)


def leave_one_out(objective: Objective, point: Floats, sampled: CodedRows) -> HeldOut:
    """Return the sample's scores as if each row had been left out.

    How far one row can have moved the weights depends on how many directions the rows share: for rows of
    length 1 that is the inverse of their mean squared product. Along each, the loss is as curved as its mean
    over the directions.
    """
    sample, scores = objective.sample, objective.scores(point[None])[0]
    rows = np.linspace(0, len(scores) - 1, min(len(scores), GRAM_ROWS)).astype(int)
    gram = sample.products(rows)
    weights = np.ones(len(scores)) if sampled.weights is None else sampled.weights
    share, lengths = weights[rows[: len(gram)]], np.diag(gram)
    share = share * (MOST_COPIES / max(float(share.max()), MOST_COPIES))
    # over pairs of different rows, where a row of weight 2 is two
    alike = max(0.0, float(share @ (gram * gram) @ share - share @ lengths**2))
    shared = alike / max(1e-300, float((share @ lengths) ** 2 - share @ lengths**2))
    directions = 1 / max(shared, 1 / max(1, len(objective.space.mean)))
    leverage = objective.rows.class_weights[sample.codes] * sample.squared_lengths
    leverage = objective.space.leverage * leverage
    seen = HeldOut(scores, sample.codes, weights)
    return unseen_by_loss(seen, leverage, directions, objective.penalty.ridge)
