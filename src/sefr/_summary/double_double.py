"""Double-double arithmetic: a number kept in two floats, head + tail, with 106 bits.

Adding and taking away then lose nothing that matters.

Most sums need no tail (integers, float32, values near zero); the tail is then None and costs nothing.
Error-free transformations by Knuth (sum) and Dekker (product).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._system.types import Floats


class DoubleDouble(NamedTuple):
    """``head + tail``, the head being the float nearest to the whole; ``tail`` None stands for zero."""

    head: Floats
    tail: Floats | None = None

    def __add__(self, other: DoubleDouble) -> DoubleDouble:  # type: ignore[override]
        head, error = two_sum(self.head, other.head)
        for tail in (self.tail, other.tail):
            if tail is not None:
                error = error + tail
        return normal(head, error)

    def __neg__(self) -> DoubleDouble:
        return DoubleDouble(-self.head, None if self.tail is None else -self.tail)

    def __sub__(self, other: DoubleDouble) -> DoubleDouble:
        return self + -other

    def __mul__(self, factor: float | Floats) -> DoubleDouble:  # type: ignore[override]
        head, error = two_product(self.head, np.asarray(factor, dtype=np.float64))
        return normal(head, error if self.tail is None else error + self.tail * factor)

    @property
    def rounded(self) -> Floats:
        """Head and tail as one float each."""
        return self.head if self.tail is None else self.head + self.tail

    @property
    def both(self) -> tuple[Floats, Floats]:
        """Head and tail, which is written out if it is zero throughout."""
        return self.head, np.zeros_like(self.head) if self.tail is None else self.tail

    def each(self, change: Callable[[Floats], Floats]) -> DoubleDouble:
        """Return head and tail, each changed: rows chosen, put elsewhere or set to zero."""
        return DoubleDouble(change(self.head), None if self.tail is None else change(self.tail))

    def added(self) -> DoubleDouble:
        """Return the sum along the first axis, which stays, with one place."""
        total = self.each(operator.itemgetter(slice(0, 1)))
        for k in range(1, len(self.head)):
            total = total + self.each(operator.itemgetter(slice(k, k + 1)))
        return total

    def zero_where(self, gone: NDArray[np.bool_]) -> DoubleDouble:
        """Return the same with zeros at some places."""
        return self.each(lambda part: np.where(gone, 0.0, part))


class Totals(NamedTuple):
    """What a Summary adds up: rows per class, sums of values and, with gaps, how many there were."""

    counts: DoubleDouble
    sums: DoubleDouble
    present: DoubleDouble | None = None

    def each(self, change: Callable[[Floats], Floats]) -> Totals:
        """Return every part, changed."""
        present = None if self.present is None else self.present.each(change)
        return Totals(self.counts.each(change), self.sums.each(change), present)


def sums_of_others(parts: Sequence[DoubleDouble]) -> list[DoubleDouble]:
    """Return, for each part but the last, the sum of all others: from sums before it and sums after it."""
    before = list(accumulate(parts[:-2], operator.add, initial=parts[-1]))
    after = list(accumulate(parts[-2:0:-1], operator.add))[::-1]
    return [*(a + b for a, b in zip(before, after, strict=False)), before[-1]]


def normal(head: Floats, error: Floats) -> DoubleDouble:
    """Return head + error with the head nearest to it, and no tail where it would be zero throughout."""
    if not error.any():
        return DoubleDouble(head)
    head, tail = two_sum(head, error)
    return DoubleDouble(head, tail) if tail.any() else DoubleDouble(head)


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sum and, exactly, what rounding lost."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the rounded product and what rounding lost: exact unless it underflows, 0 where it overflows."""
    product = a * b
    with np.errstate(over="ignore", invalid="ignore"):
        a_high, a_low = _halves(a)
        b_high, b_low = _halves(b)
        error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, np.where(np.isfinite(error), error, 0.0)


def _halves(a: Floats) -> tuple[Floats, Floats]:
    shifted = a * 134217729.0  # 2**27 + 1
    high = shifted - (shifted - a)
    return high, a - high


def full(part: Floats, shape: tuple[int, ...]) -> Floats:
    """Return a part as an array of its own of the whole shape."""
    return np.array(np.broadcast_to(part, shape))


def spread(part: Floats, at: NDArray[np.intp], n_classes: int) -> Floats:
    """Return a part with its rows at the places given, and zeros elsewhere."""
    wide = np.zeros((n_classes, *part.shape[1:]))
    wide[at] = part
    return wide
