"""Numbers predicted on a stream, with river's interface: second moments, a row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isnan
from typing import Any

import numpy as np
from river import base
from river.utils.dataframe import into_frame, into_series, to_native_series

from .._rows.coding import Uncut
from .._rows.labels import ONE_CLASS
from .._summary.double_double import DoubleDouble, Totals
from .._summary.products import Products, pack
from .._summary.summary import Summary
from .._system.types import Floats
from .._weights.regression import constant_targets
from ..regressor import SEFRRegressor

# Instead of making all sums smaller, later rows count more; beyond this weight all sums are divided by it.
MOST_WEIGHT = 1e100


class SEFRStreamRegressor(base.MiniBatchRegressor):  # type: ignore[misc]
    """The SEFR regressor for streams: ridge regression, whose penalty is found anew as rows come.

    After any number of rows it equals a ``SEFRRegressor(missing="ignore")`` fitted on all of them, but for
    rounding. A feature that a row lacks, or that is None or NaN, counts as its mean. What is kept grows with
    the square of the number of features.

    Parameters
    ----------
    half_life : float or None
        Rows after which a row counts half; None never forgets.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from sefr.engines.river import SEFRStreamRegressor
    >>> rows = datasets.TrumpApproval().take(200)
    >>> evaluate.progressive_val_score(rows, SEFRStreamRegressor(half_life=50), metrics.MAE())
    MAE: 0.628145
    """

    def __init__(self, half_life: float | None = None) -> None:
        if half_life is not None and not half_life > 0:
            raise ValueError(f"half_life must be a number of rows above 0, not {half_life!r}")
        self.half_life = half_life
        self._growth = 1.0 if half_life is None else 2.0 ** (1 / half_life)
        self._clear()

    def _clear(self) -> None:
        self._weight = 1.0  # of the next row
        self._places: dict[Any, int] = {}
        self._origin: list[float] = []  # of y, then of the features
        self._ends = np.empty((2, 0))
        # products of 1, y, and of each feature its value and whether it is missing
        self._matrix = np.zeros((2, 2))
        self._line: tuple[float, Floats, Floats] | None = None  # the mean of y, weights, means of features

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn a row; ``w`` is how often it counts."""
        self._learn([x], [y], w)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame: as ``learn_one`` of each in turn."""
        self._learn(into_frame(X).rows(named=True), into_series(y).to_list())

    def decay(self, factor: float) -> None:
        """Make all rows learned so far count ``factor`` times, 0 < factor <= 1: after a drift, say."""
        if not 0 < factor <= 1:
            raise ValueError(f"decay takes a factor above 0 and up to 1, not {factor!r}")
        self._matrix *= factor
        self._line = None

    def _learn(self, rows: Sequence[dict[Any, Any]], targets: Sequence[Any], w: float = 1.0) -> None:
        """Learn rows, after all of them were looked at."""
        known = [dict(_numbers(x)) for x in rows]
        y = np.array([float(each) for each in targets])
        if not np.isfinite(y).all():
            raise ValueError(f"river: y must be a finite number, not {y[~np.isfinite(y)][0]}")
        if not w >= 0 or not isfinite(w):
            raise ValueError(f"river: w must be a number from 0 up, not {w!r}")
        if not rows or w == 0:
            return
        if not self._origin:
            self._origin = [float(y[0])]
        for x in known:
            for name, value in x.items():
                if name not in self._places:
                    self._add_feature(name, value)
        values = np.full((len(rows), len(self._places)), np.nan)
        for row, x in zip(values, known, strict=True):
            for name, value in x.items():
                row[self._places[name]] = value
        self._ends = np.array(
            [np.fmin.reduce([*values, self._ends[0]]), np.fmax.reduce([*values, self._ends[1]])]
        )
        gone = np.isnan(values)
        columns = np.empty((len(rows), 2 + 2 * len(self._places)))
        columns[:, 0], columns[:, 1] = 1.0, y - self._origin[0]
        columns[:, 2::2] = np.where(gone, 0.0, values - self._origin[1:])
        columns[:, 3::2] = gone
        weights = w * self._weight * self._growth ** np.arange(len(rows))
        self._matrix += columns.T @ (weights[:, None] * columns)
        self._weight *= self._growth ** len(rows)
        if self._weight > MOST_WEIGHT:
            self._matrix /= self._weight
            self._weight = 1.0
        self._line = None

    def _add_feature(self, name: Any, value: float) -> None:
        """Take in a feature that no row had before: all of them lack it."""
        self._places[name] = len(self._places)
        self._origin.append(value)
        self._ends = np.hstack([self._ends, [[np.inf], [-np.inf]]])
        size = len(self._matrix)
        wider = np.zeros((size + 2, size + 2))
        wider[:size, :size] = self._matrix
        wider[size + 1, :size] = wider[:size, size + 1] = self._matrix[0]
        wider[size + 1, size + 1] = self._matrix[0, 0]
        self._matrix = wider

    def summary(self) -> Summary:
        """Return what was learned, for ``SEFRRegressor.from_summary``, to be added to others, or sent."""
        if not self._matrix[0, 0]:
            raise ValueError("river: nothing was learned yet")
        m = len(self._places)
        at = np.r_[0, 2 + 2 * np.arange(m), 3 + 2 * np.arange(m), 1]
        # the newest row counts once
        scaled = self._matrix[np.ix_(at, at)] / (self._weight / self._growth)
        origin = np.array([*self._origin[1:], self._origin[0]])
        products = Products(origin, DoubleDouble(pack(scaled)), True, 1)
        count, gone = scaled[:1, 0], scaled[:1, 1 + m : 1 + 2 * m]
        present = np.maximum(count[:, None] - gone, 0.0)
        sums = scaled[:1, 1 : 1 + m] + present * origin[:m]
        totals = Totals(DoubleDouble(count), DoubleDouble(sums), DoubleDouble(present))
        names = [str(name) for name in self._places]
        ends = (self._ends[0], self._ends[1])
        return Summary.from_doubles(ONE_CLASS, totals, ends, names, Uncut(m), products)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> float:
        """Return the number of a row; 0 before any row was learned."""
        if not self._origin:
            return 0.0
        mean, weights, means = self._solved()
        found = mean
        for name, value in _numbers(x):
            if (place := self._places.get(name)) is not None:
                found += weights[place] * (value - means[place])
        return float(found)

    def predict_many(self, X: Any) -> Any:
        """Return the numbers of a data frame's rows."""
        frame = into_frame(X)
        answers = [self.predict_one(row) for row in frame.rows(named=True)]
        return to_native_series(np.array(answers), name=None, like=frame)

    def _solved(self) -> tuple[float, Floats, Floats]:
        if self._line is None:
            summary = self.summary()
            products = summary.products
            if products is None or constant_targets(products).any():
                mean = self._origin[0] + self._matrix[0, 1] / self._matrix[0, 0]
                self._line = mean, np.zeros(len(self._places)), np.zeros(len(self._places))
            else:
                fitted = SEFRRegressor.from_summary(summary, missing="ignore").fitted_
                own = fitted.regression.known_solution()
                self._line = float(fitted.mean[0]), own.weights[0], own.centre + own.distance
        return self._line


def _numbers(x: dict[Any, Any]) -> list[tuple[Any, float]]:
    """Return the features of a row that have a value; one that is no finite number is an error."""
    found = []
    for name, value in x.items():
        if value is None:
            continue
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ValueError(f"river: feature {name!r} must be a number, not {value!r}") from None
        if isnan(number):
            continue
        if not isfinite(number):
            raise ValueError(f"river: feature {name!r} must be finite, not {value!r}")
        found.append((name, number))
    return found


__all__ = ["SEFRStreamRegressor"]
