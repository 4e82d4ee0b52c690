"""Hyperplanes: scaled features times weights plus bias, one for two classes, else one per class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from .._rows.matrix import Matrix
from .._system.types import Floats
from .._system.value import Value

# coef·x cancels against the intercept where values lie further from zero than this many spans; there the
# score is taken from (x - low) / span itself. 2**8 spans cost 8 of 53 bits.
FAR = 2.0**8
# Below this span the weight of a raw value could leave float64's range.
NARROW = 1e-290
# Above it, the weight of a raw value could lose digits for being too small.
WIDE = 1e290


def refuse_no_rows(count: float) -> None:
    """Raise an error if what is to be solved was learned from nothing."""
    if not count > 0:
        raise ValueError("there are no rows to learn from")


def constant_of(planes: Hyperplanes) -> Floats:
    """Return what no feature says of classes (R,): 0, and -inf for one that was never seen."""
    return np.where(np.isfinite(planes.bias), 0.0, planes.bias)


def per_class(scores: Floats, axis: int = 1) -> Floats:
    """Return scores (n, R) as one per class (n, K): the single score of two classes is their difference."""
    return np.concatenate([-scores, scores], axis=axis) / 2 if scores.shape[axis] == 1 else scores


def per_score(by_class: Floats) -> Floats:
    """Return values of classes (K, ...) as those of scores: for two classes the second less the first."""
    return by_class[1:] - by_class[:1] if len(by_class) == 2 else by_class


@dataclass(frozen=True)
class Scaling:
    """x' = (x - low) / span, and 0 where the span is 0."""

    low: Floats
    span: Floats

    def apply(self, X: Floats) -> Floats:
        """Return the features of ``X`` (n, m) scaled."""
        moved = X - self.low
        return np.divide(
            moved, self.span, out=np.zeros_like(moved), where=np.broadcast_to(self.span > 0, X.shape)
        )

    def some(self, features: NDArray[np.intp]) -> Scaling:
        """Return the scaling of some features."""
        return Scaling(self.low[features], self.span[features])

    def raw_weights(self, weights: Floats) -> Floats:
        """Return weights (R, m) for x: 0 for a constant feature, and the largest float if it overflows."""
        with np.errstate(all="ignore"):
            coef = weights / self.span
            if isfinite(coef.sum()):
                return coef
            coef = np.divide(weights, self.span, out=np.zeros_like(weights), where=self.span > 0)
        return np.nan_to_num(coef, copy=False)

    def raw_bias(self, bias: Floats, coef: Floats) -> Floats:
        """Return what goes with weights for x."""
        # not coef @ low: waking the threads of BLAS can cost more than the rest of a fit
        return np.asarray(bias - (coef * self.low).sum(axis=1))


@dataclass(frozen=True)
class UnitScaling(Scaling):
    """x' = x: ``low`` is 0 and ``span`` is 1, as of cells."""

    def raw_weights(self, weights: Floats) -> Floats:
        return weights

    def raw_bias(self, bias: Floats, coef: Floats) -> Floats:
        return bias


@dataclass(frozen=True)
class Hyperplanes(Value):
    """One hyperplane for two classes, one per class for more, in scikit-learn's sign: the higher score wins.

    ``weights`` (R, m) are for scaled features, ``bias`` (R,) goes with them (eq. 5 and 9, or what further
    passes made of them); ``coef`` and ``intercept`` do the same for raw features. ``far`` lists the features
    that need care, None if there are none. A class that was never seen scores -inf.
    """

    scaling: Scaling
    weights: Floats
    bias: Floats
    far: NDArray[np.intp] | None

    @cached_property
    def coef(self) -> Floats:
        """The weights for raw features."""
        return self.scaling.raw_weights(self.weights)

    @cached_property
    def intercept(self) -> Floats:
        """What goes with ``coef``."""
        return self.scaling.raw_bias(self.bias, self.coef)

    def raw_scores(self, matrix: Matrix, n_threads: int = 1, rows: NDArray[np.int64] | None = None) -> Floats:
        """Return the score of every row, or of those listed, and hyperplane; NaN where a value is."""
        if self.far is None:
            return matrix.scores(self.coef, self.intercept, rows, n_threads)
        near = self.coef.copy()
        near[:, self.far] = 0
        scores = matrix.scores(near, self.bias - (near * self.scaling.low).sum(axis=1), rows, n_threads)
        scaling, weights = self.scaling.some(self.far), self.weights[:, self.far]
        for where, block in matrix.blocks(self.far, rows):
            scores[where] += scaling.apply(block) @ weights.T
        return scores


def leave_out_missing(
    planes: Hyperplanes,
    midpoints: Floats,
    matrix: Matrix,
    scores: Floats,
    rows: NDArray[np.bool_],
    constant: Floats,
) -> None:
    """Score the rows that have missing values from the features that they have, into ``scores``.

    Each feature adds w (x' - t), with t its midpoint, to a ``constant`` (R,); a missing one adds nothing.
    """
    weights = planes.weights
    shares = weights * midpoints
    for where, block in matrix.blocks():
        some = np.flatnonzero(rows[where])
        if len(some):
            x = planes.scaling.apply(block[some])
            here = ~np.isnan(x)
            scores[where.start + some] = np.where(here, x, 0) @ weights.T - here @ shares.T + constant


def carried_intercepts(weights: Floats, intercepts: Floats) -> Floats:
    """Return intercepts (R,) that the weights (R, m) can carry: 0 where a hyperplane has none.

    A score is a sum over the features, so what no feature says is not said. What all classes have in common
    changes no answer and no probability: that of a class without weights is taken from the others.
    """
    alone = ~weights.any(axis=1) & np.isfinite(intercepts)
    if not alone.any():
        return intercepts
    common = intercepts[alone].max() if len(intercepts) > 1 else 0.0
    return np.where(alone, 0.0, intercepts - common)


def planes_of(scaling: Scaling, weights: Floats, bias: Floats) -> Hyperplanes:
    """Return hyperplanes from weights and biases for scaled features."""
    span = scaling.span
    far = (np.maximum(np.abs(scaling.low), np.abs(scaling.low + span)) / FAR > span) & (span > 0)
    far |= ((span < NARROW) | (span > WIDE)) & (span > 0)
    return Hyperplanes(scaling, weights, bias, np.flatnonzero(far) if far.any() else None)
