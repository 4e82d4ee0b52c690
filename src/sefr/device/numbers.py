"""A model that predicts numbers, in the board's integers: answers of 16 bits with a stated unit.

A score is the bias and a part per feature, in 2**-shift of the unit; an answer is the score without these
bits, rounded, at most 32767 to either side. A model with bins is a table; one without has a line per feature:
the value above the lowest that was learned, in 16 bits, times a weight of 32. A value outside of what was
learned counts as the nearest end of it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._answers.additive import TableModel
from .._system.types import Array, Floats
from .._weights.regression import targets_of
from .._weights.solve import scaling_of
from ..regressor import SEFRRegressor
from .mapping import WIDEST, Mapping, fixed_point, float_mapping
from .raw_values import checked_values, raw_values, whole_range
from .tables import ONE, QuantisedTable, checked_cells, moved_entries, smallest_type, table_parts

Integers = NDArray[np.int64]

MOST = 32767  # of an answer, on both sides
MOST_SCORE = (1 << 30) - 1  # rounding adds at most half a step per feature, and the half of a unit
MOST_WEIGHT = (1 << 31) - 1
FRACTION = 16  # bits of a product that are cut off
FINEST, COARSEST = 14, -14  # of the shift
# Standard deviations of y that answers must reach: in a unit chosen here, and in one that is given.
ROOM, LEAST_ROOM = 8, 2
SMALLEST_POWER, LARGEST_POWER = -30, 30  # of ten, for a unit
KINDS = ("uint8", "int16", "float")


class QuantisedNumbers:
    """What lines and tables of numbers have in common: scores become answers."""

    unit: float
    shift: int
    classes = np.empty(0)
    clear: tuple[int, ...] = ()
    wide = False  # a score never needs 64 bits

    def scores(self, X: Any) -> Integers:
        """Return the board's scores of raw values, (n, 1), to the bit."""
        raise NotImplementedError

    def answers(self, X: Any) -> Array:
        """Return what the board answers to raw values (n, m), in ``unit``, to the bit."""
        return self.rounded(self.scores(X)[:, 0])

    def rounded(self, scores: Integers) -> Array:
        """Return scores as answers; half a unit is in the bias."""
        found = scores >> self.shift if self.shift >= 0 else scores << -self.shift
        result: Array = np.clip(found, -MOST, MOST).astype(np.int16)
        return result


@dataclass(frozen=True)
class QuantisedLine(QuantisedNumbers):
    """Lines that predict a number, as the board has them.

    Attributes
    ----------
    input : type of the raw values: "uint8", "int16" or "float".
    low, high : the range of each feature that was learned.
    weights : (m,), of 32 bits: what one step of a value adds, in 2**-(shift + 16) of the unit.
    bias : (1,), at the lowest values.
    unit : what an answer of 1 stands for.
    shift : a score is in 2**-shift of the unit.
    """

    feature_names: tuple[str, ...] | None
    input: str
    low: Array
    high: Array
    weights: Integers
    bias: tuple[int, ...]
    unit: float
    shift: int

    weight_bits = 32
    takes_missing = False

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.weights)

    @functools.cached_property
    def mapping(self) -> Mapping:
        """How a raw value becomes a number of 16 bits: what is subtracted, and where that is clipped."""
        return steps_of(self.input, self.low, self.high)

    def raw_of(self, X: Any) -> Array:
        """Return raw values in the type the board reads, or say which value it cannot take."""
        return raw_values(checked_values(X, self.input, self.n_features), self.input)

    def scores(self, X: Any) -> Integers:
        """Return the board's scores of raw values, (n, 1), to the bit."""
        values, mapping = self.raw_of(X), self.mapping
        if mapping.exponents is None:
            steps = values.astype(np.int64)
        else:
            steps = fixed_point(values, np.broadcast_to(mapping.exponents, values.shape))
        above = np.clip(steps - mapping.low, 0, mapping.ranges)
        result: Integers = ((above * self.weights) >> FRACTION).sum(axis=1, keepdims=True) + self.bias[0]
        return result


@dataclass(frozen=True)
class NumberTable(QuantisedNumbers, QuantisedTable):
    """A table that predicts a number, as the board has it: ``QuantisedTable`` with one score.

    Attributes
    ----------
    unit : what an answer of 1 stands for.
    shift : a score is in 2**-shift of the unit.
    """

    unit: float = 1.0
    shift: int = 0

    def scores(self, X: Any) -> Integers:
        """Return the board's scores of raw values, (n, 1), to the bit."""
        return QuantisedTable.scores(self, X)


def quantise_numbers(
    reg: SEFRRegressor, weight_bits: int | None, input: str | None, unit: float | None
) -> QuantisedLine | NumberTable:
    """Turn a trained regressor into the board's integers.

    Without a ``unit`` it is the smallest power of ten with which 16 bits hold every prediction, or the mean
    of y and eight standard deviations to either side.
    """
    if len(reg.fitted_.constant) > 1:
        raise ValueError(
            f"a board answers one number, and the model has {len(reg.fitted_.constant)}: train one per output"
        )
    if unit is not None and not (isinstance(unit, int | float) and 0 < unit < math.inf):
        raise ValueError(f"unit must be a number above 0, not {unit!r}")
    if isinstance(model := reg.fitted_.model, TableModel):
        return _table(reg, model, weight_bits or 16, input, unit)
    if weight_bits not in (None, 16):
        raise ValueError(
            "a line that predicts numbers has weights of 32 bits: weights goes with bins, or is left out"
        )
    return _line(reg, input, unit)


def _mean_and_spread(reg: SEFRRegressor) -> tuple[float, float]:
    """Return the mean and the standard deviation of y."""
    targets = targets_of(reg.summary_)
    moved = float(targets.sums[-1]) / targets.count
    spread = math.sqrt(max(float(targets.matrix()[-1, -1]) / targets.count - moved * moved, 0.0))
    return moved + float(targets.origin[-1]), spread


def steps_of(kind: str, low: Array, high: Array) -> Mapping:
    """Return how values of a type become whole numbers of 16 bits above the lowest."""
    if kind == "float":
        return float_mapping(low, high)
    first = low.astype(np.int64)
    ranges = np.maximum(high.astype(np.int64) - first, 0)
    return Mapping("steps", FRACTION, first, ranges, np.zeros_like(ranges))


def _line(reg: SEFRRegressor, input: str | None, unit: float | None) -> QuantisedLine:
    planes = reg.fitted_.planes
    low, high = _learned_range(reg)
    kind = input or _smallest_line_type(reg, low, high)
    if kind not in KINDS:
        raise ValueError(f"a line that predicts numbers takes values of {', '.join(KINDS)}, not {kind}")
    low, high = _range_of_type(kind, low, high)
    mapping = steps_of(kind, low, high)
    exponents = 142 if mapping.exponents is None else mapping.exponents
    step = np.exp2(np.asarray(exponents, np.float64) - 142)
    # what one step adds, and what is said at the lowest values
    slopes = np.where(mapping.ranges > 0, planes.coef[0] * step, 0.0)
    bottom = np.where(mapping.ranges > 0, mapping.low * step, low)
    scaled = planes.scaling.apply(np.asarray(bottom, np.float64)[None])[0]
    start = float(planes.bias[0] + planes.weights[0] @ scaled)
    parts = slopes * mapping.ranges
    reach = max(abs(start + parts[parts < 0].sum()), abs(start + parts[parts > 0].sum()))

    def finest(unit: float) -> int | None:
        room = MOST_SCORE - len(slopes)
        sizes = abs(start) + float(np.abs(parts).sum()), float(np.abs(slopes).max()) * (1 << FRACTION)
        for shift in range(FINEST, -1, -1):
            if sizes[0] / unit * 2**shift < room and sizes[1] / unit * 2**shift < MOST_WEIGHT:
                return shift
        return None

    unit, shift = _unit_and_shift(reg, unit, reach, finest)
    weights = np.rint(slopes / unit * 2.0 ** (shift + FRACTION)).astype(np.int64)
    # a product loses half a step by being cut off; half a unit rounds
    bias = round(start / unit * 2**shift + np.count_nonzero(weights) / 2) + (1 << shift >> 1)
    return QuantisedLine(reg.summary_.feature_names, kind, low, high, weights, (bias,), unit, shift)


def _learned_range(reg: SEFRRegressor) -> tuple[Floats, Floats]:
    """Return the lowest and the highest value of each feature: those seen, or the known ranges."""
    if reg.scale is None:
        return reg.summary_.low, reg.summary_.high
    scaling = scaling_of(reg.summary_, reg.scale)
    return scaling.low, scaling.low + scaling.span


def _smallest_line_type(reg: SEFRRegressor, low: Floats, high: Floats) -> str:
    whole = (reg.summary_.sums, low, high)
    if any((part != np.floor(part)).any() for part in whole):
        return "float"
    for kind in ("uint8", "int16"):
        limits = np.iinfo(np.dtype(kind))
        if low.min() >= limits.min and high.max() <= limits.max:
            return kind
    return "float"


def _range_of_type(kind: str, low: Floats, high: Floats) -> tuple[Array, Array]:
    if kind == "float":
        limit = float(np.finfo(np.float32).max)
        if max(np.abs(low).max(), np.abs(high).max()) > limit:
            raise ValueError("floats on a board cannot hold the values learned; train with another unit")
        return low.astype(np.float32), high.astype(np.float32)
    return whole_range(low, high, kind, WIDEST)


def _table(
    reg: SEFRRegressor, model: TableModel, weight_bits: int, input: str | None, unit: float | None
) -> NumberTable:
    coder, table = checked_cells(model)
    kind = input or smallest_type(reg.scale, coder)
    moved, middle, share = moved_entries(table, reg.summary_.sums, coder)
    start = float(reg.fitted_.constant[0] + middle.sum())
    first = coder.offsets[:-1]
    lowest, highest = (float(end.reduceat(moved[0], first).sum()) for end in (np.minimum, np.maximum))
    reach = max(abs(start + lowest), abs(start + highest))
    sizes = float(np.maximum.reduceat(np.abs(moved[0]), first).sum()), float(np.abs(moved).max())

    def finest(unit: float) -> int | None:
        room = MOST_SCORE - coder.n_columns
        for shift in range(FINEST, COARSEST - 1, -1):
            fits = sizes[1] / unit * 2.0**shift <= ONE[weight_bits]
            if fits and (abs(start) + sizes[0]) / unit * 2.0**shift < room:
                return shift
        return None

    unit, shift = _unit_and_shift(reg, unit, reach, finest)
    exact = moved / unit * 2.0**shift
    whole = np.rint(exact).astype(np.int64)
    lost = float(((exact - whole) * share).sum())
    bias = round(start / unit * 2.0**shift + lost) + (1 << shift >> 1 if shift > 0 else 0)
    return NumberTable(
        QuantisedNumbers.classes,
        reg.summary_.feature_names,
        kind,
        weight_bits,
        *table_parts(coder, whole, kind),
        (bias,),
        (),
        coder.categories,
        unit,
        shift,
    )


def _unit_and_shift(
    reg: SEFRRegressor, unit: float | None, reach: float, finest: Callable[[float], int | None]
) -> tuple[float, int]:
    """Return the unit that was asked for or the finest power of ten, and the finest shift with it.

    ``reach`` is the largest size that a prediction can have.
    """
    mean, spread = _mean_and_spread(reg)
    if unit is not None:
        shift = finest(unit)
        if shift is None or (abs(mean) + LEAST_ROOM * spread) / unit > MOST:
            raise ValueError(
                f"unit={unit:g} is too fine: y is about {mean:.6g}, give or take {spread:.3g}, and an answer "
                "has 16 bits"
            )
        return float(unit), shift
    largest = min(reach, abs(mean) + ROOM * spread)
    for power in range(SMALLEST_POWER, LARGEST_POWER + 1):
        decimal = float(f"1e{power}")
        shift = finest(decimal) if largest / decimal + 1 <= MOST else None
        if shift is not None:
            return decimal, shift
    raise ValueError(f"predictions reach {largest:g}, for which no unit from 1e-30 to 1e30 fits 16 bits")
