"""From scores to probabilities that mean what they say, and never contradict the answer.

The answer has the highest score; how sure it is follows from how far the others lie behind. That distance is
multiplied by the sharpness of the answer's class, which is fitted to scores of rows as if the model had not
seen them. One number a class is enough to make a class that is often given wrongly less sure of itself, and
it cannot change which class comes first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows.labelled import Labelled, spread_rows
from .._rows.matrix import Matrix, Rows, every_run
from .._summary.summary import Summary
from .._weights.solve import Hyperplanes, Scaling, means, solve_within

Floats = NDArray[np.float64]

GRID = np.geomspace(1e-3, 1e3, 121)
# How many rows a class's own sharpness needs to weigh as much as that of all classes together.
DOUBT = 10.0
MOST_ROWS = 1024
# Rows whose scores are kept for probabilities after one pass; the values that are read for it, and the
# multiplications: so many, and a part of the values that the pass reads.
SCORED_ROWS = 256
FEWEST_SCORED = 64
SCORED_PRODUCTS = 1 << 20
SCORED_PART = 16
FEW_CELLS, MOST_CELLS = 1 << 17, 1 << 18
# Where a row is too wide, some of its features stand for all: better more rows of these than few whole ones.
FEWEST_FEATURES = 256
# The variance of a value in [0, 1] is at most mean (1 - mean), and a third of it if values are spread evenly.
EVEN = 1 / 3


@dataclass(frozen=True)
class HeldOut:
    """Scores (S, R) of some rows as if the model had not seen them, with their codes and weights. No row."""

    scores: Floats
    codes: NDArray[np.int32]
    weights: Floats
    fitted: dict[str, Floats] = field(default_factory=dict, compare=False, repr=False)

    def joined(self, other: HeldOut | None) -> HeldOut:
        """Return both, the latest ``MOST_ROWS`` of them."""
        if other is None or other.scores.shape[1] != self.scores.shape[1]:
            return self
        return HeldOut(
            np.concatenate([other.scores, self.scores])[-MOST_ROWS:],
            np.concatenate([other.codes, self.codes])[-MOST_ROWS:],
            np.concatenate([other.weights, self.weights])[-MOST_ROWS:],
        )

    def over(self, at: NDArray[Any], n_classes: int) -> HeldOut | None:
        """Return the same for more classes, the old ones at ``at``; None where one score becomes several."""
        if n_classes == len(at):
            return self
        if self.scores.shape[1] == 1:
            return None
        scores = np.full((len(self.scores), n_classes), -np.inf)
        scores[:, at] = self.scores
        return HeldOut(scores, np.asarray(at, dtype=np.int32)[self.codes], self.weights)


def joined(before: HeldOut | None, after: HeldOut | None) -> HeldOut | None:
    """Return what is kept of both."""
    return before if after is None else after.joined(before)


def some_scores(rows: Labelled, summary: Summary, planes: Hyperplanes, epsilon: float) -> HeldOut:
    """Return the scores of a few of the rows behind a Summary, coded by its classes.

    Wide rows are scored by some of their features: by hyperplanes that know no others, times their number.
    """
    matrix = rows.matrix
    n_planes = 1 if len(summary.counts) == 2 else len(summary.counts)
    total = matrix.shape[0] if rows.weights is None else float(rows.weights.sum())
    most, step = _share(total, matrix.shape[1], n_planes, sparse=matrix.sparse)
    if max(total, matrix.shape[0]) > most:
        some = spread_rows(matrix.shape[0], rows.weights, most)
        weights = np.ones(most)
    elif rows.weights is None:
        some, weights = np.arange(matrix.shape[0]), np.ones(matrix.shape[0])
    else:
        some = np.flatnonzero(rows.weights)
        weights = rows.weights[some]
    if step > 1:
        scores = _scores_by_some_features(matrix, some, step, summary, planes, epsilon)
    elif planes.far is None:
        scores = matrix.scores(planes.coef, planes.intercept, some)
    else:
        scores = planes.scores(matrix.take(some))
    codes = rows.over(summary.classes).codes[some]
    if summary.present is not None:
        known = ~np.isnan(scores).any(axis=1)
        scores, codes, weights = scores[known], codes[known], weights[known]
    return HeldOut(scores, codes, weights)


def _share(n_rows: float, n_features: int, n_planes: int, *, sparse: bool) -> tuple[int, int]:
    """Return how many rows are scored, by every how many-th run of their features."""
    if sparse:
        return SCORED_ROWS, 1
    part = int(min(n_rows * n_features / SCORED_PART, 1e15))
    cells = min(max(FEW_CELLS, min(MOST_CELLS, part)), (SCORED_PRODUCTS + part) // n_planes)
    most = min(SCORED_ROWS, max(FEWEST_SCORED, cells // FEWEST_FEATURES))
    step = n_features // max(FEWEST_FEATURES, cells // most)
    if step > 1:
        return most, step
    return min(SCORED_ROWS, max(FEWEST_SCORED, cells // n_features)), 1


def _scores_by_some_features(
    matrix: Matrix, some: Rows, step: int, summary: Summary, planes: Hyperplanes, epsilon: float
) -> Floats:
    scaling = Scaling(every_run(planes.scaling.low, step), every_run(planes.scaling.span, step))
    part = solve_within(summary.every_run(step), scaling, epsilon)
    return part.scores(matrix.take_runs(some, step)) * (matrix.shape[1] / len(scaling.low))


def gaps_of(scores: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return how far each class lies behind the answer (n, K), and the answer (n,), from scores (n, R)."""
    if scores.shape[1] == 1:
        top = (scores[:, 0] > 0).astype(np.intp)
        gaps = np.zeros((len(scores), 2))
        gaps[np.arange(len(top)), 1 - top] = -np.abs(scores[:, 0])
        return gaps, top
    top = scores.argmax(axis=1)
    return scores - scores.max(axis=1, keepdims=True), top


def fit_sharpness(held_out: HeldOut, n_classes: int) -> Floats:
    """Return the sharpness of every class (K,) that makes the held-out labels most likely."""
    gaps, top = gaps_of(held_out.scores)
    weights = held_out.weights
    behind = np.isfinite(gaps) & (gaps < 0)
    total = max(float(weights @ behind.sum(axis=1)), 1e-300)
    size = -float(weights @ np.where(behind, gaps, 0).sum(axis=1)) / total
    if size == 0:
        return np.ones(n_classes)
    # so many rows cannot show that a class is surer than this: Platt's targets
    wrong = 1 / (weights.sum() + 2)
    limited = np.maximum(gaps, -1e6 * size)
    own = limited[np.arange(len(top)), held_out.codes]
    others = (limited.sum(axis=1) - own) / (gaps.shape[1] - 1) - own
    losses = np.empty((n_classes, len(GRID)))
    for g, sharpness in enumerate(GRID / size):
        loss = np.log(np.exp(sharpness * gaps).sum(axis=1)) - sharpness * (own + wrong * others)
        losses[:, g] = np.bincount(top, weights * loss, minlength=n_classes)
    common = int(losses.sum(axis=0).argmin())
    # a Gaussian on the logarithm, as wide as one unit of it for DOUBT rows
    doubt = DOUBT / 2 * np.log(GRID / GRID[common]) ** 2 / 10
    return np.asarray(GRID[(losses + doubt).argmin(axis=1)] / size)


def probabilities(scores: Floats, sharpness: Floats) -> Floats:
    """Return the probability of every class (n, K)."""
    gaps, top = gaps_of(scores)
    with np.errstate(invalid="ignore"):
        gaps *= sharpness[top][:, None]
    likely = np.exp(np.nan_to_num(gaps, nan=0.0, neginf=-np.inf), out=gaps)
    likely /= likely.sum(axis=1, keepdims=True)
    return likely


def unseen_by_sefr(seen: HeldOut, summary: Summary, planes: Hyperplanes) -> HeldOut:
    """Return SEFR's scores of rows it has learned as if it had not: less what a row does to its class's mean.

    The mean a of N rows moves by (x - a) / N, and w = (a - b) / (a + b) with it by 2 b / (a + b)^2 of that,
    so the row's own score is too high by the variance times that, added up over the features.
    """
    counts = summary.counts
    own = np.nan_to_num(means(summary, planes.scaling))
    rest = np.nan_to_num(means(summary, planes.scaling, rest=True))
    both = own + rest
    steep = np.divide(2 * rest, both**2, out=np.zeros_like(both), where=both > 1e-7)
    spread = np.clip(own * (1 - own), 0, None) * EVEN
    with np.errstate(divide="ignore", invalid="ignore"):
        favour = np.where(counts > 1, (steep * spread).sum(axis=1) / (counts - 1), 0.0)
    scores, codes = seen.scores.copy(), seen.codes
    if scores.shape[1] == 1:
        scores[:, 0] -= np.where(codes == 1, favour[codes], -favour[codes])
    else:
        scores[np.arange(len(codes)), codes] -= favour[codes]
    return HeldOut(scores, codes, seen.weights)


def unseen_by_loss(
    scores: Floats,
    codes: NDArray[np.int32],
    weights: Floats,
    push: Floats,
    directions: float,
    penalty: float,
) -> HeldOut:
    """Return the scores of rows as if the loss had been minimised without them.

    One step of Newton's method takes a row out: its score moves by h r / (1 - h p (1 - p)), with r its
    residual and h its leverage, ``push`` (its share of the loss times its squared length) over the curvature
    of the loss along one of ``directions`` equal directions.
    """
    gaps, _ = gaps_of(scores)
    probability = np.exp(gaps)
    probability /= probability.sum(axis=1, keepdims=True)
    doubt = probability * (1 - probability)
    curvature = float(weights @ doubt.mean(axis=1)) / weights.sum()
    leverage = push[:, None] / (curvature / directions + penalty)
    residual = probability
    residual[np.arange(len(codes)), codes] -= 1
    if scores.shape[1] == 1:
        residual, doubt = residual[:, 1:], doubt[:, 1:]
    return HeldOut(scores + leverage * residual / np.maximum(1 - leverage * doubt, 0.5), codes, weights)
