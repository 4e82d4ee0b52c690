"""The features of a window by their definition, one number at a time. The oracle: never optimised.

The definition stands in ``device/src/sefr_signal.h``; the kernel of the host and every board must give these
bytes. ``//`` and ``>>`` round down.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .kernels import TAPS, chosen_kernels

TOP = 2047


def normalise(x: Sequence[int]) -> list[int]:
    """Return a window from 0 to at most 2047: less its lowest value, halved as often as that takes."""
    low, shift = min(x), 0
    while (max(x) - low) >> shift > TOP:
        shift += 1
    return [(value - low) >> shift for value in x]


def spread(u: Sequence[int], dilation: int) -> int:
    """Return the mean difference of samples one dilation apart, at least 1."""
    steps = [abs(a - b) for a, b in zip(u[dilation:], u, strict=False)]
    return max(1, sum(steps) // len(steps))


def convolution(u: Sequence[int], dilation: int, taps: Sequence[int]) -> list[int]:
    """Return 3 times the three taps less the nine, at every sample; beyond the ends they repeat."""
    last = len(u) - 1
    result = []
    for p in range(len(u)):
        values = [u[min(max(p + (i - 4) * dilation, 0), last)] for i in range(9)]
        result.append(3 * sum(values[i] for i in taps) - sum(values))
    return result


def logarithm(v: int) -> int:
    """Return the base-2 logarithm of v + 1 in eighths, straight between powers of two."""
    e = (v + 1).bit_length() - 1
    return 8 * e + ((v + 1) * 8 >> e) - 8


def level(value: int, low: int, high: int) -> int:
    """Return a value as a byte of its range."""
    if value <= low:
        return 0
    return 255 if value >= high else (255 * (value - low) + (high - low) // 2) // (high - low)


def _roughness(x: Sequence[int]) -> int:
    return logarithm(16 * sum(abs(b - a) for a, b in pairwise(x)) // (len(x) - 1))


def statistics(x: Sequence[int], low: int, high: int, segments: int) -> list[int]:
    """Return level and spread of a window, and level, shape and roughness of its segments."""
    n, u = len(x), normalise(x)
    mean = sum(x) // n
    result = [level(value, low, high) for value in (mean, min(x), max(x))]
    result += [logarithm(16 * (max(x) - min(x))), _roughness(x)]
    result.append(logarithm(16 * sum(abs(value - mean) for value in x) // n))
    for k in range(segments):
        part = slice(k * n // segments, (k + 1) * n // segments)
        result.append(level(sum(x[part]) // len(x[part]), low, high))
        result += [sum(u[part]) // len(u[part]) >> 3, _roughness(x[part])]
    return result


def features(
    window: Sequence[Sequence[int]],
    dilations: Sequence[int],
    kernels: int,
    thresholds: Sequence[int],
    segments: int,
    ranges: Sequence[tuple[int, int]],
) -> list[int]:
    """Return the features of a window (axes x samples): the counts of all axes, then their statistics.

    ``thresholds`` has one per count, in eighths of the spread; ``segments`` 0 leaves the statistics out.
    """
    groups = len(window) * len(dilations)
    each = len(thresholds) // (groups * kernels)
    left, result = list(thresholds), []
    for axis, x in enumerate(window):
        u, scale = normalise(x), (255 << 16) // len(x)
        for i, dilation in enumerate(dilations):
            s = spread(u, dilation)
            for kernel in chosen_kernels(axis * len(dilations) + i, kernels):
                c = convolution(u, dilation, TAPS[kernel])
                for _ in range(each):
                    bound = left.pop(0) * s >> 3
                    result.append(sum(value > bound for value in c) * scale + (1 << 15) >> 16)
    if segments:
        for x, (low, high) in zip(window, ranges, strict=True):
            result += statistics(x, low, high, segments)
    return result
