"""The sample's scores as if each row had been left out of the passes: ``native/refine/leave_one_out.h``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ..._rows.labelled import CodedRows
from ..._system.types import Floats
from ..held_out import HeldOut
from .lbfgs import Objective, Sample
from .thermometer import CellSample

# What the leverage of rows is found from: the curvature along all directions, their products, or, where
# weights are more than the rows determine, the spectrum of these.
ALL_ROWS, PAIRS, SPECTRUM = range(3)
# Rows whose products tell how many directions the rows share, and how much they vary along each.
GRAM_ROWS = 128
SPECTRUM_ROWS = 256
# Multiplications that the leverage of every row may take, if the sample holds all rows.
LEVERAGE_PRODUCTS = 1 << 20
# A row had a say in which ferns were grown, too: left out, its score moves so many times as far.
FERN_SAY = 1.4


class SeenByPasses(NamedTuple):
    """What has learned the sample's rows, as ``_native.leave_one_out`` takes it beside these."""

    shares: Floats
    class_weights: Floats
    squared_lengths: Floats
    ridge: float
    by: int
    width: int
    known: Floats
    known_weights: Floats
    known_shares: Floats
    say: float

    def unseen(self, seen: HeldOut) -> HeldOut:
        """Return the scores as if the rows had been left out."""
        scores = np.empty(seen.scores.shape)
        _native.leave_one_out(seen.scores, seen.codes, seen.weights, *self, scores)
        return HeldOut(scores, seen.codes, seen.weights, seen.evidence)


def held_out(objective: Objective, point: Floats, sampled: CodedRows) -> HeldOut:
    """Return the sample's scores as if each row had been left out, for probabilities.

    If the sample holds all rows, and these are few, the leverage of each follows from the curvature of the
    loss along all directions; with several classes, whose curvatures differ, its mean over the directions is
    the better guess. Of the many weights of cells rows determine a part, which is found when it is asked for.
    """
    sample, penalty = objective.sample, objective.penalty
    if isinstance(sample, CellSample):
        return _learned_cells(objective, sample, point, sampled)
    n_scores, n_rows = len(point) - penalty.n_weights, len(sample.codes)
    few = sampled.weights is not None and n_rows * (penalty.n_weights + 1) ** 2 <= LEVERAGE_PRODUCTS
    if not (few and n_scores == 1) or penalty.prior_mean is not None:
        return leave_one_out(objective, point, sampled)
    rows = np.arange(n_rows)
    vectors = np.ascontiguousarray(sample.vectors(rows), dtype=np.float64)
    return _learned(objective, point, sampled, (ALL_ROWS, rows, vectors)).unseen


def leave_one_out(objective: Objective, point: Floats, sampled: CodedRows) -> HeldOut:
    """Return the sample's scores as if each row had been left out, from how many directions rows share."""
    rows = _spread(objective.sample, GRAM_ROWS)
    return _learned(objective, point, sampled, (PAIRS, rows, objective.sample.products(rows))).unseen


def _learned_cells(objective: Objective, sample: CellSample, point: Floats, sampled: CodedRows) -> HeldOut:
    """Return the scores of the sample's rows, and what leave-one-out scores follow from: no row is kept."""
    rows = _spread(sample, min(SPECTRUM_ROWS, sample.most_products))
    space, penalty, ridge = sample.space, objective.penalty, objective.penalty.ridge
    if penalty.prior_precision is not None:  # the prior of earlier rows holds the weights, too
        live = int(np.count_nonzero(space.scale)) * (len(point) - penalty.n_weights)
        ridge += float(penalty.prior_precision[: penalty.n_weights].sum()) / max(1, live)
    say = 1.0 if space.coder.ferns is None else FERN_SAY
    return _learned(objective, point, sampled, (SPECTRUM, rows, sample.products(rows)), ridge, say)


def _spread(sample: Sample | CellSample, most: int) -> NDArray[np.intp]:
    """Return at most so many of the rows, evenly spread, the first and the last among them."""
    n_rows = len(sample.codes)
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.intp)


def _learned(
    objective: Objective,
    point: Floats,
    sampled: CodedRows,
    known: tuple[int, NDArray[np.intp], Floats],
    ridge: float | None = None,
    say: float = 1.0,
) -> HeldOut:
    """Return the scores of the sample's rows, and what is ``known`` of some of them: how, which, and what."""
    sample, (by, rows, values) = objective.sample, known
    scores = objective.scores(point[None])[0]
    weights = np.ones(len(scores)) if sampled.weights is None else sampled.weights
    learned = SeenByPasses(
        sample.weights,
        objective.rows.class_weights,
        sample.squared_lengths,
        objective.penalty.ridge if ridge is None else ridge,
        by,
        len(objective.space.mean),
        values,
        weights[rows],
        sample.weights[rows],
        say,
    )
    return HeldOut(scores, sample.codes, weights, None, learned)
