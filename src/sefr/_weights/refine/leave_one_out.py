"""The sample's scores as if each row had been left out of the passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._rows.labelled import CodedRows
from ..._system.types import Floats
from ..held_out import HeldOut, unseen_by_leverage, unseen_by_loss
from ..loss import chances, residuals
from .lbfgs import Objective
from .thermometer import CellSample

# Rows whose products tell how many directions the rows share, and how much they vary along each.
GRAM_ROWS = 128
SPECTRUM_ROWS = 256
# A row of more weight counts as so many copies: squares of weights stay within float64.
MOST_COPIES = 2.0**30
# Multiplications that the leverage of every row may take, if the sample holds all rows.
LEVERAGE_PRODUCTS = 1 << 20
# The least curvature along a direction, over the mean: the ridge is lost if rows have huge weights.
LEAST_CURVATURE = 1e-12
# A row had a say in which ferns were grown, too: left out, its score moves so many times as far.
FERN_SAY = 1.4
# n rows that determine f weights leave 1 - f / n over, see ``SeenByPasses``; at least this much is assumed,
# since rows that determine nearly n weights do not show what more rows would.
LEAST_LEFT = 1 / 4
# The logarithm of the ridge is searched by halving, from SPAN below the least it can be if no row determines
# its own score.
SPAN, HALVINGS = 20.0, 50


def held_out(objective: Objective, point: Floats, sampled: CodedRows) -> HeldOut:
    """Return the sample's scores as if each row had been left out, for probabilities.

    If the sample holds all rows, and these are few, the leverage of each follows from the curvature of the
    loss along all directions; with several classes, whose curvatures differ, its mean over the directions is
    the better guess. Of the many weights of cells rows determine a part, which is found when it is asked for.
    """
    if isinstance(objective.sample, CellSample):
        return seen_by_passes(objective, objective.sample, point, sampled)
    sample, n_scores = objective.sample, len(point) - objective.penalty.n_weights
    products = len(sample.codes) * (objective.penalty.n_weights + 1) ** 2
    few = sampled.weights is not None and products <= LEVERAGE_PRODUCTS
    if not (few and n_scores == 1) or objective.penalty.prior_mean is not None:
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
    return unseen_by_leverage(seen, _pushes(objective, sampled) * leverage)


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
    leverage = _pushes(objective, sampled) * sample.squared_lengths
    seen = HeldOut(scores, sample.codes, weights)
    return unseen_by_loss(seen, leverage, directions, objective.penalty.ridge)


def _pushes(objective: Objective, sampled: CodedRows) -> Floats:
    """Return the weight in the loss (S,) of what is left out: one row, or as much of it as there is."""
    own = objective.rows.class_weights[objective.sample.codes]
    return own if sampled.weights is None else own * np.minimum(sampled.weights, 1.0)


@dataclass(frozen=True)
class SeenByPasses:
    """Passes over cells, whose weights are more than the rows determine.

    Without row i its score is s + g r, with r its residual. Its reach g is its weight in the loss times
    x' (c S + ridge)^-1 x, as its squared length tells from the mean of that. S are the second moments of the
    rows, and c is the curvature of the loss along a score: the mean of d / (1 + g d), with d = p (1 - p), as
    a row that alone holds its score holds no weight. Residuals of K classes add up to 0: of the reach, 1 / K
    would move all scores alike.

    S has the spectrum that ``n_rows`` show under a weaker ridge: n rows that determine f weights under a
    ridge t have the spectrum of any number of rows that do so under t / (1 - f / n).
    """

    products: Floats  # of n_rows, weighted (m, m)
    n_rows: float
    pushes: Floats  # of a row, by its weight in the loss (S,)
    squared_lengths: Floats
    shares: Floats  # of the loss (S,)
    ridge: float
    say: float

    def unseen(self, seen: HeldOut) -> HeldOut:
        """Return the scores as if the rows had been left out."""
        chance = chances(seen.scores)
        reach = self.say * self._reach((chance * (1 - chance)).mean(axis=1))
        moved = seen.scores + reach[:, None] * residuals(chance, seen.codes)
        return HeldOut(moved, seen.codes, seen.weights, seen.evidence)

    def _reach(self, doubt: Floats) -> Floats:
        """Return the reach of each row (S,) from how much doubt there is of it: search the ridge for c."""
        spectrum = np.maximum(np.linalg.eigvalsh(self.products), 0)
        total = max(float(spectrum.sum()), 1e-300)
        lengths = self.pushes * self.squared_lengths / total

        def reach_under(weaker: float) -> tuple[Floats, float]:
            determined = float((spectrum / (spectrum + weaker)).sum())
            curvature = self.ridge * max(1 - determined / self.n_rows, LEAST_LEFT) / weaker
            return (lengths * determined + self.pushes) / curvature, curvature

        most = float(self.shares @ doubt)
        least = float(self.shares @ (doubt / (1 + lengths * (total / self.ridge) * doubt)))
        low, high = (np.log(self.ridge / max(part, 1e-200)) for part in (most, least))
        low -= SPAN
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            reach, curvature = reach_under(np.exp(middle))
            if curvature > self.shares @ (doubt / (1 + reach * doubt)):
                low = middle
            else:
                high = middle
        return reach_under(np.exp(high))[0]


def seen_by_passes(objective: Objective, sample: CellSample, point: Floats, sampled: CodedRows) -> HeldOut:
    """Return the scores of the sample's rows, and what leave-one-out scores follow from: no row is kept."""
    scores = objective.scores(point[None])[0]
    most = min(len(scores), SPECTRUM_ROWS, sample.most_products)
    rows = np.linspace(0, len(scores) - 1, most).astype(int)
    weights = np.ones(len(scores)) if sampled.weights is None else sampled.weights
    root = np.sqrt(sample.weights[rows] / max(float(sample.weights[rows].sum()), 1e-300))
    pushes = _pushes(objective, sampled)
    if scores.shape[1] > 1:
        pushes = pushes * (1 - 1 / scores.shape[1])
    penalty, ridge = objective.penalty, objective.penalty.ridge
    if penalty.prior_precision is not None:  # the prior of earlier rows holds the weights, too
        live = np.count_nonzero(sample.space.scale) * scores.shape[1]
        ridge += float(penalty.prior_precision[: penalty.n_weights].sum()) / max(1, live)
    learned = SeenByPasses(
        sample.products(rows) * root * root[:, None],
        max(float(weights[rows].sum()), len(rows)),
        pushes,
        sample.squared_lengths,
        sample.weights,
        ridge,
        1.0 if sample.space.coder.ferns is None else FERN_SAY,
    )
    return HeldOut(scores, sample.codes, weights, None, learned)
