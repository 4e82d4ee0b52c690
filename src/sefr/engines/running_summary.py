"""A Summary that grows a row at a time: plain Python numbers, no array per row, features by name.

A row is a dict. A feature that a row lacks is a missing value: it enters no sum and contributes
nothing to a score, so features may appear and vanish. Each feature is added up as distances from its
first value, so that a timestamp keeps its bits however long the stream is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import inf
from numbers import Real
from typing import Any

import numpy as np

from .._summary.double_double import DoubleDouble
from .._summary.summary import Summary
from .._system.types import Floats, Label, Scale
from .._weights.hyperplanes import Scaling
from .._weights.solve import scaling_of, weights_and_midpoints

Name = Hashable
Row = Mapping[Any, Any]

# A feature's record: its first value, lowest, highest, then count and sum of distances for every class.
ORIGIN, LOW, HIGH, FIRST = 0, 1, 2, 3
# With a half-life, newer rows count more; beyond this weight of the newest row all sums are divided by it.
UNIT_LIMIT = 2.0**64
# A feature or class whose rows together count less than this part of a row is dropped: 50 half-lives.
FORGOTTEN = 2.0**-50
# Classes times features up to which a row is scored in plain Python; numpy is faster beyond.
NARROW = 1000


class RunningSummary:
    """Counts, sums and extremes of a stream of rows; the same as a Summary's, to be changed in place."""

    def __init__(
        self, scale: Scale = "minmax", epsilon: float = 1e-7, half_life: float | None = None
    ) -> None:
        self.range = _known_range(scale)
        self.scale = scale
        self.epsilon = epsilon
        self.growth = 1.0 if half_life is None else 2.0 ** (1.0 / half_life)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.labels: dict[Any, int] = {}
        self.order: list[tuple[Any, int]] = []  # label and its position, sorted by label
        self.counts: list[float] = []
        self.features: dict[Name, list[float]] = {}
        self.unit = 1.0  # the weight, in the sums, of a row that is learned now
        self._solved: _Solved | None = None

    def learn(self, x: Row, y: Label, weight: float = 1.0) -> None:
        """Add a row; one that cannot be added changes nothing."""
        values = self.values(x)
        if weight != 1.0 and not 0 <= weight < inf:
            raise ValueError(f"the weight of a row must be finite and not negative, not {weight!r}")
        if weight:
            self.add(values, y, weight)

    def add(self, values: Row, y: Label, weight: float = 1.0) -> None:
        """Add a row that was looked at."""
        k = self.labels.get(y)
        if k is None:
            k = self._new_class(y)
        unit = self.unit * weight
        at = FIRST + 2 * k
        features = self.features
        for name, value in values.items():
            record = features.get(name)
            if record is None:
                record = features[name] = [value, value, value, *([0.0] * (2 * len(self.counts)))]
            elif value < record[1]:
                record[1] = value
            elif value > record[2]:
                record[2] = value
            record[at] += unit
            record[at + 1] += (value - record[0]) * unit
        self.counts[k] += unit
        self._solved = None
        if self.growth != 1.0:
            self.age(1)

    def check(self, x: Row, y: Label) -> Row:
        """Return the values of a row; raise an error for one that ``learn`` would refuse."""
        if y is None or y != y:
            raise ValueError("river: the row has no label")
        return self.values(x)

    def values(self, x: Row) -> Row:
        """Return the values that are there. Python's own numbers pass unlooked at if their sum is finite."""
        try:
            total = sum(x.values())
        except TypeError:
            total = None
        if (type(total) is float or type(total) is int) and -1e300 < total < 1e300 and self.range is None:
            return x
        values = {}
        for name, value in x.items():
            if value is None or value != value:
                continue
            if not isinstance(value, Real | np.number | np.bool_):
                raise ValueError(f"river: feature {name!r} is {value!r}, not a number; encode it first")
            value = float(value)
            if not -inf < value < inf:
                raise ValueError(f"river: feature {name!r} is infinite")
            if self.range is not None and not self.range[0] <= value <= self.range[1]:
                raise ValueError(
                    f"river: feature {name!r} is {value!r}, outside scale={self.range[0]:g} to "
                    f"{self.range[1]:g}"
                )
            values[name] = value
        return values

    def _new_class(self, y: Label) -> int:
        if y is None or y != y:
            raise ValueError("river: the row has no label")
        try:
            order = sorted([*self.order, (y, len(self.counts))], key=lambda pair: pair[0])
        except TypeError:
            raise ValueError(f"river: label {y!r} cannot be ordered beside {self.order[0][0]!r}") from None
        self.order = order
        self.labels[y] = len(self.counts)
        self.counts.append(0.0)
        for record in self.features.values():
            record += [0.0, 0.0]
        return len(self.counts) - 1

    def age(self, rows: int) -> None:
        """Make all that was learned so far older by some rows."""
        self.unit *= self.growth**rows
        if self.unit > UNIT_LIMIT:
            self._rescale()

    def decay(self, factor: float) -> None:
        """Make all rows learned so far count ``factor`` times."""
        self.unit /= factor
        self._solved = None
        if self.unit > UNIT_LIMIT:
            self._rescale()

    def _rescale(self) -> None:
        """Let a row learned now count 1 again; drop what has faded."""
        factor = 1.0 / self.unit
        self.unit = 1.0
        kept = [(y, k) for y, k in self.order if self.counts[k] * factor > FORGOTTEN]
        places = sorted(k for _, k in kept)
        self.counts = [self.counts[k] * factor for k in places]
        self.labels = {y: places.index(k) for y, k in kept}
        self.order = [(y, places.index(k)) for y, k in kept]
        features = {}
        for name, record in self.features.items():
            cells = [record[i] * factor for k in places for i in (FIRST + 2 * k, FIRST + 2 * k + 1)]
            if sum(cells[::2]) > FORGOTTEN:
                features[name] = [*record[:FIRST], *cells]
        self.features = features
        self._solved = None

    def scores(self, x: Row) -> list[float]:
        """Return a score for each class in sorted order, highest wins; for two classes (-s, s)."""
        if len(self.counts) == 2:
            if 2 * len(x) <= NARROW:
                score = self._score_of_two(x)
            else:
                score = float(self.solved().scores_of_row(self.values(x))[0])
            return [-score, score]
        if len(self.counts) * len(x) <= NARROW:
            return self._scores_of_many(x)
        scores: list[float] = self.solved().scores_of_row(self.values(x)).tolist()
        return scores

    def _score_of_two(self, x: Row) -> float:
        """Return the score of two classes: equations 3 to 9 of the row's features, summed as w (x' - t).

        They are written out here and below, in Python's numbers: with the kernel that solves a Summary a row
        of 3 features takes seven times as long to predict and learn, one of 100 a third longer.
        """
        (_, negative), (_, positive) = self.order
        n_negative, n_positive = self.counts[negative], self.counts[positive]
        part = n_negative / (n_negative + n_positive)
        p, n, epsilon, known = FIRST + 2 * positive, FIRST + 2 * negative, self.epsilon, self.range
        features = self.features
        score = 0.0
        for name, value in self.values(x).items():
            record = features.get(name)
            if record is None:
                continue
            low, high = known or (record[1], record[2])
            n_p, n_n = record[p], record[n]
            if high <= low or not n_p or not n_n:
                continue
            span = high - low
            shift = record[0] - low
            a = (record[p + 1] / n_p + shift) / span
            b = (record[n + 1] / n_n + shift) / span
            divisor = a + b + epsilon
            if divisor:
                score += (a - b) / divisor * ((value - low) / span - a * part - b * (1 - part))
        return score

    def _scores_of_many(self, x: Row) -> list[float]:
        """Return the same for each class against the rest, which is the total minus the class."""
        order = [k for _, k in self.order]
        counts = self.counts
        total = sum(counts)
        epsilon, known = self.epsilon, self.range
        scores = [0.0] * len(order)
        for name, value in self.values(x).items():
            record = self.features.get(name)
            if record is None:
                continue
            low, high = known or (record[1], record[2])
            if high <= low:
                continue
            span = high - low
            shift = record[0] - low
            n_all, s_all = sum(record[FIRST::2]), sum(record[FIRST + 1 :: 2])
            scaled = (value - low) / span
            for i, k in enumerate(order):
                n_own = record[FIRST + 2 * k]
                n_rest = n_all - n_own
                if n_own <= 0 or n_rest <= n_all * 1e-15:
                    continue
                s_own = record[FIRST + 2 * k + 1]
                own = (s_own / n_own + shift) / span
                rest = ((s_all - s_own) / n_rest + shift) / span
                divisor = own + rest + epsilon
                if divisor:
                    part = counts[k] / total
                    scores[i] += (own - rest) / divisor * (scaled - own * (1 - part) - rest * part)
        return scores

    def solved(self) -> _Solved:
        """Return the weights as arrays, solved once until the next row is learned."""
        if self._solved is None:
            self._solved = _Solved(self)
        return self._solved

    def summary(self, features: Sequence[Name] | None = None) -> Summary:
        """Return what was learned as a Summary, its features in the order given or of their appearance."""
        names = list(self.features if features is None else features)
        order = [k for _, k in self.order]
        empty = [0.0, inf, -inf, *([0.0] * (2 * len(order)))]
        records = np.array([self.features.get(name, empty) for name in names], dtype=np.float64)
        records = records.reshape(len(names), FIRST + 2 * len(order)).T
        scale = 1.0 / self.unit
        cells = np.ascontiguousarray(records[FIRST::2][order]) * scale
        distances = np.ascontiguousarray(records[FIRST + 1 :: 2][order]) * scale
        sums = DoubleDouble(cells) * records[ORIGIN] + DoubleDouble(distances)
        counts = np.array([self.counts[k] for k in order]) * scale
        return Summary.from_parts(
            classes=np.array([label for label, _ in self.order]),
            counts=counts,
            sums=sums.head,
            tails=sums.tail,
            present=None if (cells == counts[:, None]).all() else cells,
            low=records[LOW],
            high=records[HIGH],
            feature_names=[str(n) for n in names] if all(isinstance(n, str) for n in names) else None,
        )

    def absorb(self, summary: Summary, names: Iterable[Name] | None = None) -> None:
        """Add what a Summary has learned; ``names`` are its features', its own or 0, 1, 2... if None."""
        names = list(names if names is not None else summary.feature_names or range(summary.n_features))
        if len(names) != summary.n_features:
            raise ValueError(f"river: {len(names)} names for a Summary of {summary.n_features} features")
        if self.range is not None:
            scaling_of(summary, self.scale)
        summary = summary.without_empty_classes()
        places = []
        for label in summary.classes.tolist():
            k = self.labels.get(label)
            places.append(self._new_class(label) if k is None else k)
        cells = np.ascontiguousarray(np.broadcast_to(summary.value_counts.head, summary.sums.shape))
        seen = np.flatnonzero(cells.any(axis=0)).tolist()
        low, high = summary.low.tolist(), summary.high.tolist()
        width = FIRST + 2 * len(self.counts)
        for j in seen:
            record = self.features.setdefault(names[j], [low[j], low[j], high[j], *([0.0] * (width - FIRST))])
            record[LOW], record[HIGH] = min(record[LOW], low[j]), max(record[HIGH], high[j])
        origin = np.array(
            [self.features[names[j]][ORIGIN] if cells[:, j].any() else 0.0 for j in range(len(names))]
        )
        distances = (summary.double_sums - DoubleDouble(cells) * origin).rounded
        for i, k in enumerate(places):
            at = FIRST + 2 * k
            self.counts[k] += float(summary.counts[i]) * self.unit
            for j in seen:
                record = self.features[names[j]]
                record[at] += float(cells[i, j]) * self.unit
                record[at + 1] += float(distances[i, j]) * self.unit
        self._solved = None


class _Solved:
    """Weights and midpoints of running sums as arrays: what many rows, or wide ones, are scored with."""

    def __init__(self, sums: RunningSummary) -> None:
        names = list(sums.features)
        self.place = {name: j for j, name in enumerate(names)}
        summary = sums.summary()
        self.scaling: Scaling = scaling_of(summary, sums.scale)
        self.weights, self.midpoints = weights_and_midpoints(summary, self.scaling, sums.epsilon)

    def scores_of_row(self, values: Row) -> Floats:
        """Return the scores, one per class (one for two classes)."""
        known = [(self.place[name], value) for name, value in values.items() if name in self.place]
        at = np.array([j for j, _ in known], dtype=np.intp)
        scaling = Scaling(self.scaling.low[at], self.scaling.span[at])
        x = scaling.apply(np.array([[value for _, value in known]], dtype=np.float64))
        return np.asarray(((x - self.midpoints[:, at]) * self.weights[:, at]).sum(axis=1))

    def scores(self, X: Floats, names: Sequence[Name]) -> Floats:
        """Return the scores of rows, NaN where a value is missing; (n, K), or (n, 1) for two classes."""
        at = np.array([self.place[name] for name in names if name in self.place], dtype=np.intp)
        used = [i for i, name in enumerate(names) if name in self.place]
        scaling = Scaling(self.scaling.low[at], self.scaling.span[at])
        x = scaling.apply(X[:, used])
        here = ~np.isnan(x)
        weights, midpoints = self.weights[:, at], self.midpoints[:, at]
        return np.asarray(np.where(here, x, 0.0) @ weights.T - here @ (weights * midpoints).T)


def _known_range(scale: Any) -> tuple[float, float] | None:
    if scale == "minmax":
        return None
    if scale is None:
        return 0.0, inf
    low, high = scale
    if not -inf < low < high < inf:
        raise ValueError(f"scale must be 'minmax', None or a pair (low, high) of numbers, not {scale!r}")
    return float(low), float(high)
