"""Interactions in the board's integers: comparisons of raw values, and a small table per fern.

A comparison of a cell's number with a bin is one of the value with an edge; that of a category asks for one
number. Both are whether a value lies from ``low`` to ``high``, in the type that the board reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._rows.cells import Coder
from .._rows.cells.ferns import Comparison
from .._system.types import Floats

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class RangeQuestion:
    """Whether a value of a feature lies from ``low`` to ``high``, both included; None is no end.

    Low above high: it never does. ``missing`` is the answer where the value is missing.
    """

    feature: int
    low: float
    high: float | None
    missing: bool

    def answers(self, values: Floats) -> NDArray[np.bool_]:
        """Return the answers of rows of raw values."""
        own = values[:, self.feature]
        found = own >= self.low
        if self.high is not None:
            found &= own <= self.high
        return np.where(np.isnan(own), self.missing, found)


@dataclass(frozen=True)
class QuantisedFern:
    """Questions, the first of which is the highest bit of a cell, and what each cell adds: (R, cells)."""

    questions: tuple[RangeQuestion, ...]
    entries: Integers

    def parts(self, values: Floats) -> Integers:
        """Return what rows of raw values add to each score, (n, R)."""
        return np.asarray(self.entries[:, self.cells(values)].T)

    def cells(self, values: Floats) -> Integers:
        """Return the cells that rows of raw values lie in."""
        found = np.zeros(len(values), np.int64)
        for question in self.questions:
            found = 2 * found + question.answers(values)
        return found


def quantise_ferns(coder: Coder, whole: Integers, kind: str) -> tuple[QuantisedFern, ...]:
    """Return the ferns of a coder for values of a type, with their part (R, cells) of whole entries."""
    if coder.ferns is None:
        return ()
    thresholds = [
        thresholds_of(coder.edges[start:end], kind)
        for start, end in zip(coder.starts[:-1], coder.starts[1:], strict=True)
    ]
    starts = coder.offsets[coder.n_features :]
    return tuple(
        QuantisedFern(
            tuple(_question(coder, thresholds[pair[0]], pair, kind) for pair in part),
            whole[:, start:end].copy(),
        )
        for part, start, end in zip(coder.ferns.parts, starts[:-1], starts[1:], strict=True)
    )


def _question(coder: Coder, thresholds: Floats, pair: Comparison, kind: str) -> RangeQuestion:
    """Return what stands for "in bin ``bound`` or a higher one", of categories "in that very bin"."""
    feature, bound = pair
    last = len(thresholds)  # the number of the highest cell but that of missing values
    lowest, highest = limits(kind)
    equal = feature in coder.categories
    missing = coder.missing and (bound == last + 1 if equal else bound <= last + 1)
    low = lowest if bound == 0 else float(thresholds[min(bound, last) - 1]) if last else highest
    if bound > last or low > highest:
        return RangeQuestion(feature, highest, lowest, missing)
    if not equal or bound == last:
        return RangeQuestion(feature, max(low, lowest), None, missing)
    return RangeQuestion(feature, max(low, lowest), _below(thresholds[bound], kind), missing)


def needed_thresholds(ferns: tuple[QuantisedFern, ...], feature: int, kind: str) -> Floats:
    """Return the values of a feature from which on an answer of a fern changes."""
    own = [question for fern in ferns for question in fern.questions if question.feature == feature]
    low = [question.low for question in own]
    above = [_above(question.high, kind) for question in own if question.high is not None]
    return np.array([*low, *above], np.float64)


def limits(kind: str) -> tuple[float, float]:
    """Return the lowest and the highest value of a board's type."""
    if kind == "float":
        return -np.inf, np.inf
    found = np.iinfo(np.dtype(kind))
    return float(found.min), float(found.max)


def thresholds_of(edges: Floats, kind: str) -> Floats:
    """Return the lowest values of a type at or above the edges, as float64; infinity beyond float32.

    An edge is a value that occurs, such as 4.7, and a board has the float32 next to that: it must reach the
    threshold. Since rounding keeps the order, a value at or above an edge always does; one below does only
    if float32 cannot tell it from the edge.
    """
    if kind != "float":
        return np.ceil(edges)
    with np.errstate(over="ignore"):
        return np.asarray(edges.astype(np.float32), np.float64)


def _below(threshold: float, kind: str) -> float:
    if kind != "float":
        return threshold - 1
    return float(np.nextafter(np.float32(threshold), np.float32(-np.inf)))


def _above(value: float, kind: str) -> float:
    if kind != "float":
        return value + 1
    return float(np.nextafter(np.float32(value), np.float32(np.inf)))
