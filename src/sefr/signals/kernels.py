"""The 84 kernels of MiniRocket (Dempster, Schmidt and Webb, 2021), thresholds that need no data, and words.

A kernel has nine taps, three of weight 2 and six of weight -1. They sum to 0, so that an offset of the signal
changes nothing.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

N_TAPS = 9
TAPS = tuple(combinations(range(N_TAPS), 3))  # where the weight is 2
EIGHTHS = 8  # a threshold is in eighths of the spread
# Quantiles (i + 1/2) / 32 of the Laplace distribution of scale 4 spreads: convolutions of a signal lie so.
LAPLACE = (
    *(-111, -76, -59, -49, -41, -34, -29, -24, -20, -17, -13, -11, -8, -5, -3, -1),
    *(1, 3, 5, 8, 11, 13, 17, 20, 24, 29, 34, 41, 49, 59, 76, 111),
)
GOLDEN = 40503  # 2**16 divided by the golden ratio: neighbours get thresholds far from each other
WHOLE = ("mean", "lowest", "highest", "range", "roughness", "deviation")
PER_SEGMENT = ("level", "shape", "roughness")


def fixed_thresholds(n: int) -> NDArray[np.int8]:
    """Return the thresholds of the first n counts, the same for every data set.

    Examples
    --------
    >>> from sefr.signals.kernels import fixed_thresholds
    >>> fixed_thresholds(4).tolist()
    [8, -24, 41, -1]
    """
    place = (np.arange(1, n + 1, dtype=np.int64) * GOLDEN & 0xFFFF) >> 11
    result: NDArray[np.int8] = np.array(LAPLACE, np.int8)[place]
    return result


def chosen_kernels(group: int, kernels: int) -> range:
    """Return which of the 84 kernels an axis and dilation use: every so many, each group from another."""
    stride = len(TAPS) // kernels
    return range(group % stride, len(TAPS), stride)


def shape_of(taps: tuple[int, int, int]) -> str:
    """Return a word for what a kernel answers to.

    Examples
    --------
    >>> from sefr.signals.kernels import shape_of
    >>> shape_of((6, 7, 8)), shape_of((3, 4, 5)), shape_of((0, 4, 8)), shape_of((0, 1, 8))
    ('rising edge', 'peak', 'ripple', 'dip')
    """
    first, middle, last = taps
    joined = (middle == first + 1) + (last == middle + 1)
    if joined == 2:
        return "falling edge" if first == 0 else "rising edge" if last == N_TAPS - 1 else "peak"
    if joined == 1 and first == 0 and last == N_TAPS - 1:
        return "dip"
    return "two peaks" if joined == 1 else "ripple"


def count_name(axis: str, dilation: int, taps: tuple[int, int, int], threshold: int) -> str:
    """Return a count in words: which shape, over how many samples, high where, and above which threshold."""
    high = ", ".join(str(1 + tap * dilation) for tap in taps)
    width = (N_TAPS - 1) * dilation + 1
    return (
        f"{axis}: {shape_of(taps)} of {width} samples, high at {high}, above {threshold / EIGHTHS:g} spreads"
    )


def statistic_names(axis: str, segments: int) -> list[str]:
    """Return the statistics of an axis in words."""
    names = [f"{axis}: {what}" for what in WHOLE]
    for k in range(segments):
        names += [f"{axis}: {what} of part {k + 1} of {segments}" for what in PER_SEGMENT]
    return names
