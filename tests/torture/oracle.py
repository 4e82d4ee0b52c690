"""SEFR in exact rationals: what every sequence of verbs must equal, whatever the order.

It holds the rows' sums per class as fractions, so that nothing is ever rounded, and knows nothing of the
package.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

# A row's values (None: missing), its label, and how often it counts.
Row = tuple[tuple[Fraction | None, ...], Hashable, Fraction]
# Weights and midpoints of scaled features, and what is added: 0, or infinity for a class without rows.
Plane = tuple[list[Fraction], list[Fraction], float]


@dataclass
class Sums:
    """The rows of one class, added up: their number, and per feature the values present and their sum.

    ``most`` is the largest number there ever was, in today's units: what is left after forgetting most rows
    has lost the digits that a subtraction loses.
    """

    count: Fraction
    present: list[Fraction]
    total: list[Fraction]
    most: Fraction = Fraction(0)


@dataclass(frozen=True)
class Cells:
    """Bins and ferns: which cells of 0 and 1 a row has; a missing value lies in the last bin of its feature.

    ``edges`` are those of each feature, ``ferns`` lists of comparisons (feature, bin): at or above it?
    """

    edges: list[list[float]]
    ferns: list[list[tuple[int, int]]]
    missing: bool

    @property
    def number(self) -> int:
        """How many cells there are."""
        own = sum(len(edges) + 1 + self.missing for edges in self.edges)
        return own + sum(2 ** len(fern) for fern in self.ferns)

    def coded(self, values: tuple[Fraction | None, ...]) -> tuple[Fraction, ...]:
        """Return a row's cells."""
        bins = [
            len(edges) + 1 if value is None else sum(Fraction(edge) <= value for edge in edges)
            for value, edges in zip(values, self.edges, strict=True)
        ]
        found: list[Fraction] = []
        for number, edges in zip(bins, self.edges, strict=True):
            found += [Fraction(b == number) for b in range(len(edges) + 1 + self.missing)]
        for fern in self.ferns:
            at = sum((bins[j] >= number) << place for place, (j, number) in enumerate(reversed(fern)))
            found += [Fraction(cell == at) for cell in range(2 ** len(fern))]
        return tuple(found)


@dataclass
class Oracle:
    """All that was learned of rows with so many features; ``scale`` and ``epsilon`` as the classifier has."""

    n_features: int
    scale: str | tuple[float, float] | None
    epsilon: Fraction
    class_weight: str | dict[Hashable, float] | None = None
    cells: Cells | None = None
    classes: dict[Hashable, Sums] = field(default_factory=dict)
    low: list[Fraction | None] = field(default_factory=list)
    high: list[Fraction | None] = field(default_factory=list)
    # of pairs of features that both have a value: how often, and the sums of either and of their products
    pairs: dict[tuple[int, int], list[Fraction]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.low = self.low or [None] * self.n_features
        self.high = self.high or [None] * self.n_features

    def learn(self, rows: Iterable[Row], factor: Fraction = Fraction(1)) -> None:
        """Add rows, or with a factor below 0 take them back; the lowest and highest value stay."""
        for values, label, weight in rows:
            if weight == 0:
                continue
            nothing = Sums(Fraction(0), [Fraction(0)] * self.n_features, [Fraction(0)] * self.n_features)
            sums = self.classes.setdefault(label, nothing)
            sums.count += weight * factor
            sums.most = max(sums.most, sums.count)
            coded = self.coded(values)
            self._pair(coded, weight * factor)
            for j, value in enumerate(coded):
                if value is None:
                    continue
                sums.present[j] += weight * factor
                sums.total[j] += value * weight * factor
                low, high = self.low[j], self.high[j]
                self.low[j] = value if low is None else min(low, value)
                self.high[j] = value if high is None else max(high, value)

    def coded(self, values: tuple[Fraction | None, ...]) -> tuple[Fraction | None, ...]:
        """Return the features that are added up: the values, or 0 and 1 per cell."""
        return values if self.cells is None else self.cells.coded(values)

    def _pair(self, values: tuple[Fraction | None, ...], weight: Fraction) -> None:
        for i, a in enumerate(values):
            for j, b in enumerate(values[i:], i):
                if a is not None and b is not None:
                    sums = self.pairs.setdefault((i, j), [Fraction(0)] * 4)
                    self.pairs[i, j] = [
                        before + weight * more for before, more in zip(sums, (1, a, b, a * b), strict=True)
                    ]

    def product(self, i: int, j: int, origin: tuple[Fraction, Fraction]) -> Fraction:
        """Return the sum of the products of two features about an origin, a missing value being at it."""
        count, first, second, both = self.pairs.get((i, j), [Fraction(0)] * 4)
        a, b = origin
        return both - a * second - b * first + a * b * count

    def decay(self, factor: Fraction) -> None:
        """Make all rows count less."""
        self.pairs = {pair: [number * factor for number in sums] for pair, sums in self.pairs.items()}
        for sums in self.classes.values():
            sums.count *= factor
            sums.most *= factor
            sums.present = [number * factor for number in sums.present]
            sums.total = [number * factor for number in sums.total]

    @property
    def labels(self) -> list[Hashable]:
        """The classes, sorted, also those whose rows were all taken back."""
        return sorted(self.classes)  # type: ignore[type-var]

    def seen(self) -> int:
        """Return the number of classes that have rows."""
        return sum(sums.count > 0 for sums in self.classes.values())

    def cancelled(self) -> float:
        """Return the most rows there were over the fewest that are left; 1 if none was taken back."""
        left = [part for sums in self.classes.values() for part in (sums.count, *sums.present) if part > 0]
        return float(max(sums.most for sums in self.classes.values()) / min(left)) if self._forgot() else 1.0

    def _forgot(self) -> bool:
        return any(sums.most > sums.count for sums in self.classes.values())

    def scaling(self, j: int) -> tuple[Fraction, Fraction]:
        """Return the lowest value of a feature and its span."""
        if self.scale is None:
            return Fraction(0), Fraction(1)
        if self.scale == "minmax":
            low, high = self.low[j], self.high[j]
            return (Fraction(0), Fraction(0)) if low is None or high is None else (low, high - low)
        low, high = (Fraction(side) for side in self.scale)
        return low, high - low

    def planes(self) -> list[Plane]:
        """Return, per hyperplane, weights w and midpoints t of scaled features, and what is added: 0 or inf.

        A score is the sum of w (x' - t); high speaks for the class, which is the second of two.
        """
        labels = self.labels
        if len(labels) == 2:
            never = (
                inf
                if not self.classes[labels[0]].count
                else -inf
                if not self.classes[labels[1]].count
                else 0.0
            )
            return [(*self._plane(labels[1], labels[:1]), never)]
        return [
            (
                *self._plane(label, [other for other in labels if other != label]),
                0.0 if self.classes[label].count else -inf,
            )
            for label in labels
        ]

    def _weighed(self, label: Hashable) -> Sums:
        """Return the sums of a class, as often as the class weight says."""
        sums = self.classes[label]
        if self.class_weight is None or not sums.count:
            return sums
        if self.class_weight == "balanced":
            total = sum((other.count for other in self.classes.values()), Fraction(0))
            weight = total / self.seen() / sums.count
        else:
            weight = Fraction(self.class_weight.get(label, 1.0))  # type: ignore[union-attr]
        return Sums(
            sums.count * weight,
            [part * weight for part in sums.present],
            [part * weight for part in sums.total],
        )

    def _plane(self, label: Hashable, others: list[Hashable]) -> tuple[list[Fraction], list[Fraction]]:
        own = [self._weighed(label)]
        rest = [self._weighed(other) for other in others]
        n_own, n_rest = own[0].count, sum((sums.count for sums in rest), Fraction(0))
        weights, midpoints = [], []
        for j in range(self.n_features):
            a, b = self._mean(own, j), self._mean(rest, j)
            if a is None or b is None:
                weights.append(Fraction(0))
                midpoints.append(Fraction(0))
                continue
            divisor = a + b + self.epsilon
            weights.append((a - b) / divisor if divisor else Fraction(0))  # eq. 5
            midpoints.append((a * n_rest + b * n_own) / (n_own + n_rest))  # eq. 9, one feature's part
        return weights, midpoints

    def _mean(self, classes: list[Sums], j: int) -> Fraction | None:
        """Return the mean of a scaled feature (eq. 3, 4), None where there is no value."""
        present = sum((sums.present[j] for sums in classes), Fraction(0))
        if present == 0:
            return None
        low, span = self.scaling(j)
        total = sum((sums.total[j] for sums in classes), Fraction(0))
        return (total / present - low) / span if span else Fraction(0)

    def scores(
        self, values: tuple[Fraction | None, ...], planes: list[Plane] | None = None
    ) -> list[float | Fraction]:
        """Return the scores of one row; a missing value and a constant feature say nothing."""
        scores: list[float | Fraction] = []
        values = self.coded(values)
        for weights, midpoints, never in self.planes() if planes is None else planes:
            score = Fraction(0)
            for j, value in enumerate(values):
                low, span = self.scaling(j)
                if value is not None:
                    score += weights[j] * (((value - low) / span if span else Fraction(0)) - midpoints[j])
            scores.append(never or score)
        return scores
