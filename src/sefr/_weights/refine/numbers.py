"""Further passes over rows of numbers: ridge regression without the products of features.

A pass gives X'X v for a vector v: the derivative of the squared loss at v, of targets 0. Lanczos' method
makes of that, pass by pass, an orthogonal basis in which X'X is tridiagonal, beginning with X'y. That is
what conjugate gradients and Golub and Kahan's bidiagonalisation do, and in so small a basis every penalty
is solved at once. The penalty is chosen by restricted likelihood, as from the products themselves
(``moments.py``): what is not known is the determinant of the rest of X'X, of which the trace is known, and
which is taken to be spread evenly. With as many passes as there are features the result is that of
``moments=2``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ... import _native
from ..._rows.labels import ONE_CLASS
from ..._rows.matrix import LinearModel, Standardisation, blas_threads
from ..._summary.products import Products
from ..._summary.source import RowSource, SquaredSweep
from ..._summary.summary import Summary
from ..._system.types import Floats
from ..moments import Ridges, basis_of_cells, feature_spans, likeliest_ridges
from ..regression import RegressionModel, regression_of_line, scale_of_features
from .lbfgs import Limits
from .refine import Refined
from .thermometer import AS_THEY_ARE

# A direction shorter than this part of what it was found in is rounding: rows are worked on in float32.
LEAST_DIRECTION = 1e-6


@dataclass(frozen=True)
class RefinedNumbers(Refined):
    """What further passes found, with noise, ridge and the mean leverage of a row, per output (R,)."""

    noise: Floats | None = None
    ridge: Floats | None = None
    leverage: Floats | None = None

    def regression(self, mean: Floats) -> RegressionModel:
        """Return what answers."""
        return RegressionModel(
            self.planes, self.midpoints, mean, noise=self.noise, ridge=self.ridge, leverage=self.leverage
        )


class _Problem(NamedTuple):
    """Columns as they are solved for: their products with targets, what a pass does, and the way back."""

    right: Floats  # (R, p)
    power: Floats  # (R,) the squares of targets about their means
    trace: float  # the squares of the columns about theirs, together
    n_rows: float
    multiply: Callable[[Floats], Floats]  # v (R, p) to X'X v
    weights: Callable[[Floats], Floats]  # v (R, p) to weights of the columns of X (R, q)


def refine_numbers(
    summary: Summary,
    source: RowSource,
    limits: Limits,
    n_threads: int,
) -> RefinedNumbers:
    """Return the weights after further passes over the rows of a Summary, which was the first."""
    near = summary.near_products()
    with blas_threads(1):
        problem, spans = _problem(summary, near, source, n_threads)
        chosen, found, curve = _solve(problem, limits)
    n, m, k = near.count, near.n_features, near.n_targets
    weights, distance = problem.weights(found), near.sums[:m] / n
    level = near.origin[m:] + (near.sums[-k:] / n - weights @ distance)
    line = regression_of_line(near.origin[:m], distance, weights, level, spans)
    noise = np.concatenate([each.left for each in chosen]) / max(n - 1, 1.0)
    leverage = (np.concatenate([each.freedom for each in chosen]) + 1) / n
    ridge = np.concatenate([each.chosen for each in chosen])
    return RefinedNumbers(
        line.planes, line.midpoints, tuple(curve), noise=noise, ridge=ridge, leverage=leverage
    )


def _problem(summary: Summary, near: Products, source: RowSource, n_threads: int) -> tuple[_Problem, Floats]:
    """Return what is to be solved, and how wide the columns are."""
    n, m, k, coder = near.count, near.n_features, near.n_targets, summary.coder
    sums, squares = near.sums, near.own_squares
    distance, ones = sums[:m] / n, np.ones(1)
    cross = (near.towards_targets() - np.outer(distance, sums[-k:])).T
    power = np.maximum(squares[-k:] - sums[-k:] ** 2 / n, 0.0)

    def sweep(standard: Standardisation, coef: Floats, mean: Floats) -> Floats:
        model = LinearModel(np.ascontiguousarray(coef), -coef @ mean)
        found = source.gradient(SquaredSweep(ONE_CLASS, ones, standard, model), n_threads)
        return np.asarray(found.coef - found.intercept[:, None] * mean)

    if coder is not None:
        basis = basis_of_cells(coder, sums[:m], n)
        return (
            _Problem(
                basis.of_rows(cross),
                power,
                n * basis.variance(distance),
                n,
                lambda v: basis.of_rows(sweep(AS_THEY_ARE, basis.table(v), distance)),
                basis.table,
            ),
            basis.spans,
        )
    scale = scale_of_features(summary, near)
    used = source.sample(ONE_CLASS).matrix.as_used(Standardisation(near.origin[:m] + distance, scale))
    mean = ((near.origin[:m] - used.centre) + distance) * used.scale  # of what passes see
    trace = float(((squares[:m] - sums[:m] * distance) * used.scale**2).sum())
    return (
        _Problem(
            cross * used.scale, power, trace, n, lambda v: sweep(used, v, mean), lambda v: v * used.scale
        ),
        feature_spans(scale),
    )


def _solve(problem: _Problem, limits: Limits) -> tuple[list[Ridges], Floats, list[float]]:
    """Return the choice of each target, solutions (R, p), and the part of y left over after each pass."""
    right, n_targets = problem.right, len(problem.right)
    length = np.sqrt((right * right).sum(axis=1))
    basis = [np.divide(right, length[:, None], out=np.zeros_like(right), where=length[:, None] > 0)]
    diagonal: list[Floats] = []
    beside: list[Floats] = []
    curve = [1.0]
    chosen: list[Ridges] = []
    stalled = 0
    for made in range(2, limits.passes + 1):
        now = basis[-1]
        image = problem.multiply(now)
        diagonal.append((now * image).sum(axis=1))
        size = np.sqrt((image * image).sum(axis=1))
        for _ in range(2):
            for earlier in basis:
                image -= (earlier * image).sum(axis=1)[:, None] * earlier
        further = np.sqrt((image * image).sum(axis=1))
        further[further <= LEAST_DIRECTION * size] = 0
        chosen = [
            _choose(problem, t, float(length[t]), _column(diagonal, t), _column(beside, t))
            for t in range(n_targets)
        ]
        left = [each.left[0] / power for each, power in zip(chosen, problem.power, strict=True) if power > 0]
        curve.append(float(np.mean(left)) if left else 0.0)
        if limits.watch is not None:
            limits.watch(made, curve[-1])
        stalled = stalled + 1 if curve[-2] - curve[-1] < _native.STALLED * curve[-1] else 0
        if stalled == 2 or not further.any():
            break
        beside.append(further)
        whole = further[:, None]
        basis.append(np.divide(image, whole, out=np.zeros_like(image), where=whole > 0))
    found = np.zeros_like(right)
    for t, each in enumerate(chosen):
        for coordinate, direction in zip(each.solved[0], basis, strict=False):
            found[t] += coordinate * direction[t]
    return chosen, found, curve


def _column(parts: list[Floats], target: int) -> Floats:
    return np.array([part[target] for part in parts])


def _choose(problem: _Problem, target: int, length: float, diagonal: Floats, beside: Floats) -> Ridges:
    """Return the likeliest ridge of a target and its solution, in coordinates of the basis."""
    n = problem.n_rows
    last = np.flatnonzero(beside[: len(diagonal) - 1] == 0)  # where the basis was complete
    size = int(last[0]) + 1 if len(last) else len(diagonal)
    told = np.zeros((1, size))
    told[0, 0] = length
    others = max(min(problem.right.shape[1], n - 1) - size, 0.0)
    square = max(problem.trace - float(diagonal[:size].sum()), 0.0) / max(others, 1.0)
    power = problem.power[target : target + 1]
    return likeliest_ridges(diagonal[:size], beside[: size - 1], told, power, n, others=(others, square))
