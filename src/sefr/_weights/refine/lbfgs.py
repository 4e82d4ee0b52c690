"""L-BFGS on the logistic (softmax) loss with a ridge penalty: one pass over the rows per step.

How far to step is chosen on a sample of the rows. A step is a handful of numbers, so that a thousand rows are
enough to choose it; the pass over all rows then says what it was worth. The search itself is in C
(``native/refine/search.h``): it asks for passes and for scores of the sample, which are found here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ..._rows.matrix import Gradient, LinearModel, Standardisation
from ..._summary.source import RowSource, Sweep
from ..._system.types import Array, Floats

if TYPE_CHECKING:
    from .standardise import Space
    from .thermometer import CellSample, StepSpace

# Models that a search asks about at a time.
MOST_ASKED = 3


@dataclass(frozen=True)
class Sample:
    """Some rows, standardised: ``rows`` (S, m), dense or sparse, less ``shift`` (m,), times ``unit``.

    ``weights`` add up to 1. A sample that is ``complete`` has all rows, so few that float64 costs nothing.
    """

    rows: Any
    shift: Floats | None
    codes: NDArray[np.int32]
    weights: Floats
    unit: float
    complete: bool = False
    mixes = False  # products in float32 round too much

    def scores(self, coef: Floats) -> Floats:
        """Return the scores (S, R) of weights (R, m), without intercepts."""
        scores = np.asarray(self.rows @ coef.T.astype(self.rows.dtype, copy=False), dtype=np.float64)
        return scores if self.shift is None else scores - self.shift @ coef.T

    @property
    def all_rows(self) -> Floats | None:
        """All rows there are, standardised, if they are so few that the sample has them."""
        return self.rows if self.complete else None

    def vectors(self, rows: NDArray[np.intp]) -> Floats:
        """Return some of the rows as they are in the space."""
        some = self.rows[rows]
        some = some.toarray() if hasattr(some, "toarray") else some
        return np.asarray(some if self.shift is None else some - self.shift) * self.unit

    def products(self, rows: NDArray[np.intp]) -> Floats:
        """Return the inner products of some of the rows as they are in the space."""
        if self.shift is None:
            some = self.vectors(rows)
            return np.asarray(some @ some.T, dtype=np.float64)
        some = self.rows[rows]
        off = some @ self.shift
        found = (some @ some.T).toarray() - off - off[:, None] + self.shift @ self.shift
        return np.asarray(found * self.unit**2)

    @cached_property
    def squared_lengths(self) -> Floats:
        """The squared length of every row in the space (S,)."""
        rows, shift = self.rows, self.shift
        if hasattr(rows, "multiply"):
            lengths = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
        else:
            lengths = np.einsum("ij,ij->i", rows, rows).astype(np.float64)
        if shift is not None:
            lengths += shift @ shift - 2 * np.asarray(rows @ shift).ravel()
        return np.asarray(lengths * self.unit**2)


@dataclass(frozen=True)
class Penalty:
    """The ridge penalty on the weights, and a Gaussian prior around what earlier rows gave, if any.

    ``n_weights`` entries of a point are weights, the others intercepts.
    """

    ridge: float
    n_weights: int
    prior_mean: Floats | None = None
    prior_precision: Floats | None = None


class PointModel(NamedTuple):
    """How a model follows from a point: its weights times ``unit``, or, with runs of cells, tables of steps.

    See ``sefr._native.begin_search``.
    """

    begins: NDArray[np.uint8] | None
    mean: Floats | None
    scale: Floats | None
    unit: float


class SweptRows(NamedTuple):
    """The rows that passes are made over, coded by ``classes``, and the weight of a row of each class."""

    source: RowSource
    classes: Array
    class_weights: Floats
    n_threads: int

    def gradient(self, standard: Standardisation, model: LinearModel) -> Gradient:
        """Make one pass."""
        return self.source.gradient(Sweep(self.classes, self.class_weights, standard, model), self.n_threads)


class Evaluated(NamedTuple):
    """Loss and gradient at a point."""

    point: Floats
    loss: float
    gradient: Floats


class Limits(NamedTuple):
    """How many passes are made at most, the first included, and who is told of each and the loss after it.

    ``held_out``: whether scores as if rows had been left out are asked for, too, and ``memory``, whether what
    L-BFGS remembers at the end.
    """

    passes: int
    watch: Callable[[int, float], None] | None = None
    held_out: bool = True
    memory: bool = False


@dataclass(frozen=True)
class Objective:
    """The penalised loss of all rows: what is searched for its minimum."""

    rows: SweptRows
    sample: Sample | CellSample
    space: Space | StepSpace
    penalty: Penalty

    def model(self, point: Floats) -> LinearModel:
        """Return what scores the rows at a point."""
        n_weights = self.penalty.n_weights
        return self.space.model(
            point[:n_weights].reshape(len(point) - n_weights, -1), np.ascontiguousarray(point[n_weights:])
        )

    def scores(self, points: Floats) -> Floats:
        """Return the scores of the sample's rows at some points (q, S, R)."""
        models = [self.model(point) for point in points]
        return np.array([self.sample.scores(coef) + intercept for coef, intercept in models])


class Search:
    """How far a search has come: the best point, where steps start, and what L-BFGS remembers."""

    def __init__(self, state: object, size: int) -> None:
        self._state = state
        self._size = size

    @classmethod
    def begin(cls, objective: Objective, start: Evaluated, memory: Search | None = None) -> Search:
        """Begin where loss and gradient are known, with the steps that another search remembers, if any."""
        sample, penalty = objective.sample, objective.penalty
        state = _native.begin_search(
            len(start.point) - penalty.n_weights,
            *objective.space.point_model,
            penalty.ridge,
            penalty.prior_mean,
            penalty.prior_precision,
            sample.codes,
            sample.weights,
            sample.mixes,
            *start,
            None if memory is None else memory._state,
        )
        return cls(state, len(start.point))

    def try_points(self, points: Floats, start: Floats | None = None) -> None:
        """Let the first of some points (q, n), or with ``start`` (q,) their best mixture, be tried first."""
        _native.search_try(self._state, points, start)

    @property
    def best(self) -> Evaluated:
        """The best point so far."""
        point, gradient = np.empty((2, self._size))
        return Evaluated(point, _native.search_best(self._state, point, gradient), gradient)

    def under(self, ridge: float) -> Search:
        """Return the search at its best point under another ridge: no row need be read to know it there."""
        return Search(_native.search_under(self._state, ridge), self._size)

    def minimise(self, objective: Objective, curve: list[float], limits: Limits) -> None:
        """Make passes until they no longer help; the loss after each is added to ``curve``."""
        few = objective.sample.all_rows
        if few is None:
            self._over_all_rows(objective, curve, limits)
        else:
            self._over_few_rows(few, curve, limits)

    def _over_few_rows(self, rows: Floats, curve: list[float], limits: Limits) -> None:
        """Make passes over all rows, which are the sample: all passes at once unless each is watched."""
        while (left := limits.passes - len(curve)) > 0:
            losses = np.empty(left if limits.watch is None else 1)
            made = _native.search_rows(self._state, rows, losses)
            curve += losses[:made].tolist()
            if made < len(losses):
                return
            if limits.watch is not None:
                limits.watch(len(curve), curve[-1])

    def _over_all_rows(self, objective: Objective, curve: list[float], limits: Limits) -> None:
        n_scores = self._size - objective.penalty.n_weights
        coef = np.empty((MOST_ASKED * n_scores, objective.penalty.n_weights // n_scores))
        intercept = np.empty(len(coef))
        while len(curve) < limits.passes:
            while asked := _native.search_ask(self._state, coef, intercept):
                rows = asked * n_scores
                scores = objective.sample.scores(coef[:rows]) + intercept[:rows]
                _native.search_tell_scores(self._state, scores)
            if asked is None:
                return
            found = objective.rows.gradient(
                objective.space.standard, LinearModel(coef[:n_scores], intercept[:n_scores])
            )
            curve.append(_native.search_tell_pass(self._state, found.coef, found.intercept, found.loss))
            if limits.watch is not None:
                limits.watch(len(curve), curve[-1])
