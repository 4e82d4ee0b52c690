"""The ridge regression of a Summary of numbers, as hyperplanes, and how sure it may be.

``moments.solve_numbers`` solves it. A prediction is the mean of y and a part of every feature, which is 0 at
the mean of the feature: so what is missing counts as its mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._rows.matrix import Matrix
from .._summary.products import Products
from .._summary.summary import Summary
from .._system.types import Floats
from .hyperplanes import Hyperplanes, Scaling, planes_of, refuse_no_rows
from .moments import Solution, feature_scale, solve_numbers


@dataclass(frozen=True)
class RegressionModel:
    """Hyperplanes, one per output, where the part of each feature is 0 (R, q), and the solution behind them.

    ``mean`` (R,) is that of y: what the parts of features are added to. ``solution`` is None where the
    products of features are not known; after further passes, ``leverage`` (R,) is that of a typical row. With
    first moments alone nothing is known of ``noise`` (R,), the variance of y about its predictions.
    """

    planes: Hyperplanes
    midpoints: Floats
    mean: Floats
    solution: Solution | None = None
    noise: Floats | None = None
    ridge: Floats | None = None
    leverage: Floats | None = None

    @property
    def typical_leverage(self) -> Floats | None:
        """The mean leverage of the rows learned (R,); None with first moments alone."""
        if self.leverage is not None or self.solution is None or self.solution.freedom is None:
            return self.leverage
        return np.asarray((self.solution.freedom + 1) / self.solution.count)

    def variances(self, matrix: Matrix) -> Floats:
        """Return the variance of a new y about its prediction (n, R): noise (1 + leverage)."""
        if self.noise is not None and self.leverage is not None:
            return np.repeat((self.noise * (1 + self.leverage))[None], matrix.shape[0], axis=0)
        own = self.known_solution()
        found = np.empty((matrix.shape[0], len(own.ridge)))
        for rows, block in matrix.blocks():
            found[rows] = own.variances(block)
        return found

    def standard_errors(self) -> Floats:
        """Return the standard errors of the weights of columns as they come (R, q)."""
        return self.known_solution().standard_errors()

    def known_solution(self) -> Solution:
        """Return the solution; an error if the products of features are not known."""
        if self.solution is None:
            raise ValueError(
                "how sure a model may be follows from the products of features: intervals and standard "
                "errors need moments=2"
            )
        return self.solution


def regression_of(summary: Summary) -> RegressionModel:
    """Return what follows from the second moments of rows whose targets are numbers."""
    own = solve_numbers(targets_of(summary), coder=summary.coder, ranges=summary.ranges)
    line = regression_of_line(own.centre, own.distance, own.weights, own.level, own.basis.spans)
    return replace(line, solution=own, noise=own.noise, ridge=own.ridge)


def regression_of_line(
    centre: Floats, distance: Floats, weights: Floats, level: Floats, span: Floats
) -> RegressionModel:
    """Return hyperplanes of weights·(x - centre) + level (R,).

    The means lie ``distance`` (q,) from the centre; columns are about ``span`` (q,) wide.
    """
    weights, mean = np.ascontiguousarray(weights), level + weights @ distance
    planes = planes_of(Scaling(centre, span), weights * span, level)
    middle = np.divide(distance, span, out=np.zeros_like(span), where=span > 0)
    return RegressionModel(planes, np.broadcast_to(middle, weights.shape), mean)


def scale_of_features(summary: Summary, near: Products) -> Floats:
    """Return one over the spread of each feature (m,), 0 for a constant, from products near its mean."""
    m = near.n_features
    moved = (near.origin - targets_of(summary).origin)[:m]
    return feature_scale(near.count, near.sums[:m], near.own_squares[:m], moved, summary.ranges)


def targets_of(summary: Summary) -> Products:
    """Return the products of a Summary of numbers; one of classes is an error."""
    if summary.products is None or not summary.products.n_targets:
        raise ValueError("this Summary is of classes: numbers are predicted from a Summary of numbers")
    return summary.products


def refuse_constant_targets(summary: Summary, place: str) -> None:
    """Raise an error if y has one distinct value: too few rows, or none that differ."""
    refuse_no_rows(summary.n_rows)
    products = targets_of(summary)
    at = constant_targets(products)
    if not at.any():
        return
    if summary.n_rows <= 1:
        raise ValueError(
            f"SEFRRegressor needs at least two rows, but {place} has n_samples={summary.n_rows:g}"
        )
    near = summary.near_products()
    output = int(np.argmax(at))
    mean = near.origin[near.n_features :] + near.sums[-near.n_targets :] / near.count
    which = f" of output {output}" if len(at) > 1 else ""
    raise ValueError(
        f"SEFRRegressor needs at least two different values of y, but every one{which} in {place} is "
        f"{mean[output]:g}"
    )


def constant_targets(products: Products) -> NDArray[np.bool_]:
    """Say which targets have one value in all rows, but for rounding."""
    near = products.near(movable=False)  # features may stay where they are
    k = near.n_targets
    squares = near.own_squares[-k:]
    moved = (near.origin - products.origin)[-k:]
    return np.asarray(feature_scale(near.count, near.sums[-k:], squares, moved, None) == 0)
