"""How a raw value becomes a byte on a board: a product and a shift, with the proof that they are exact.

Integers: byte = floor(255 d / r + 1/2), d = value - low, r = high - low, as ``sefr_byte`` has it. A division
takes 600 cycles on AVR; here ``factor`` and the shift are found such that (d factor + half) >> shift is the
same for every d from 0 to r, and that is proved before code is written.

Floats: value -> t, the value times 2**s cut to an integer, s chosen per feature so that the range is 16 bits
wide where float has the digits; then d = t - low and the same product. Only the bits of the float are moved,
so that every machine has the same t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._system.types import Array

Integers = NDArray[np.int64]

SATURATED = (1 << 30) - 1  # |t| of every value beyond the range
NEVER = 1 << 30  # a low that no t exceeds: the byte of a constant feature is 0
NARROW_SHIFT, WIDE_SHIFT = 24, 32
WIDEST = (1 << 16) - 1  # range that 16 bits hold
FINE = 32641  # range from which (255 << 23) / range, rounded, has 16 bits


@dataclass(frozen=True)
class Mapping:
    """One row per feature: what the board subtracts, clips at and multiplies with.

    Attributes
    ----------
    how : "narrow" (one product of 16 x 32 bits), "wide" (two of 16 x 16), "fine" (one of 16 x 16, floats),
        "divide".
    shift : of the product.
    ranges : of a constant feature 1, with a factor of 0.
    exponents : of floats, 142 - s; else None.
    """

    how: str
    shift: int
    low: Integers
    ranges: Integers
    factors: Integers
    exponents: Integers | None = None

    @property
    def has_short(self) -> bool:
        """Whether a range is below 256, which the wide form takes times 256."""
        return bool(((self.ranges > 1) & (self.ranges < 256) | (self.factors > 0) & (self.ranges == 1)).any())


def integer_mapping(low: Array, high: Array, highest: int) -> Mapping:
    """Return the quickest exact mapping of integers up to ``highest``."""
    ranges = np.maximum(high.astype(np.int64) - low.astype(np.int64), 0)
    low = np.where(ranges > 0, low.astype(np.int64), highest)  # no value exceeds it: the byte is 0
    if ranges.max(initial=0) <= WIDEST:
        different, place = np.unique(ranges, return_inverse=True)
        for how, shift, scale in (("narrow", NARROW_SHIFT, 1), ("wide", WIDE_SHIFT, 256)):
            # In the wide form a range below 256 is taken times 256, so that its factor has 32 bits too.
            step = np.where((different < 256) & (how == "wide"), scale, 1)
            factors = exact_factors(different, step, shift)
            if factors is not None:
                return Mapping(how, shift, low, np.maximum(ranges, 1), factors[place])
    return Mapping("divide", 0, low, ranges, np.zeros_like(ranges))


def exact_factors(ranges: Integers, step: Integers, shift: int) -> Integers | None:
    """Return a factor per range r that equals the division for every d from 0 to r, or None.

    (step d factor + half) >> shift = floor(255 d / r + 1/2). Both sides rise with d, so it is enough that
    each byte b begins at the same d: with the first d whose byte is b or more, step d factor + half >= b <<
    shift, and step (d - 1) factor + half < b << shift.
    """
    r = ranges[:, None]
    byte = np.arange(1, 256, dtype=np.int64)[None, :]
    first = -(-(byte * r - (r >> 1)) // 255)
    edge = (byte << shift) - (1 << (shift - 1))
    lowest = -(-edge // np.maximum(first * step[:, None], 1))
    before = (first - 1) * step[:, None]
    highest = np.where(before > 0, (edge - 1) // np.maximum(before, 1), np.int64(1) << 40)
    factor: Integers = np.where(ranges > 0, lowest.max(axis=1), 0)
    top = np.where(ranges > 0, highest.min(axis=1), 0)
    if (factor > top).any() or (factor >= 1 << 32).any():
        return None
    return factor


def float_mapping(low: NDArray[np.float32], high: NDArray[np.float32]) -> Mapping:
    """Return the mapping of floats; say which feature is too narrow for them."""
    bottom, top = low.astype(np.float64), high.astype(np.float64)
    span, size = np.maximum(top - bottom, 0), np.maximum(np.abs(bottom), np.abs(top))
    with np.errstate(divide="ignore"):
        scale = np.minimum(15 - np.floor(np.log2(span)), 29 - np.floor(np.log2(size)))
    exponents = np.clip(142 - np.where(span > 0, scale, 0), 0, 254).astype(np.int64)
    too_wide = fixed_point(high, exponents) - fixed_point(low, exponents) > WIDEST  # by cutting the ends
    exponents += too_wide
    first, last = fixed_point(low, exponents), fixed_point(high, exponents)
    ranges = np.maximum(last - first, 0)
    lost = np.flatnonzero(((span > 0) & (ranges == 0)) | (ranges > WIDEST) | (exponents > 254))
    if len(lost):
        j = lost[0]
        raise ValueError(not_held(int(j), bottom[j], top[j]))
    fine = bool((ranges[span > 0] >= FINE).all())
    shift = 23 if fine else NARROW_SHIFT
    factors = np.where(ranges > 0, ((255 << shift) + (ranges >> 1)) // np.maximum(ranges, 1), 0)
    return Mapping(
        "fine" if fine else "narrow", shift, np.where(ranges > 0, first, NEVER), ranges, factors, exponents
    )


def not_held(feature: int, low: float, high: float) -> str:
    """Return why a range of floats is refused."""
    return (
        f"feature {feature}: floats on a board cannot hold the range {low:.9g} to {high:.9g}; train on "
        "values with another unit or offset"
    )


def fixed_point(values: NDArray[np.float32], exponents: Integers) -> Integers:
    """Return values times 2**(142 - exponent), cut towards 0; 2**30 - 1 beyond that, and for infinity."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.int64)
    exponent = (bits >> 23) & 255
    digits = (bits & 0x7FFFFF) | np.where(exponent > 0, 0x800000, 0)
    up = np.maximum(exponent, 1) - exponents - 8
    size = np.where(up >= 0, digits << np.clip(up, 0, 6), digits >> np.clip(-up, 0, 24))
    size = np.where((up > 6) | (exponent == 255), SATURATED, size)
    return np.where(bits >> 31 == 1, -size, size)


def float_bytes(values: NDArray[np.float32], mapping: Mapping) -> NDArray[np.uint8]:
    """Return the bytes that the board makes of floats (n, m)."""
    if mapping.exponents is None:
        raise ValueError("the mapping is of integers")
    t = fixed_point(values, np.broadcast_to(mapping.exponents, values.shape))
    d = np.clip(t - mapping.low, 0, mapping.ranges)
    product = (d * mapping.factors + (1 << (mapping.shift - 1))) >> mapping.shift
    full = (d >= mapping.ranges) & (mapping.ranges > 0)
    return np.where(np.isnan(values), 0, np.where(full, 255, product)).astype(np.uint8)
