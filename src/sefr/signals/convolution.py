"""Convolutions themselves, position by position, in NumPy: for explanations, which need to know where."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .kernels import TAPS
from .plan import Samples, SignalPlan
from .reference import TOP

Whole = NDArray[np.int64]


def each_convolution(plan: SignalPlan, samples: Samples) -> Iterator[tuple[Whole, Whole]]:
    """Yield c (n, length) and the spread (n,) of windows (n, axes, length), in the order of the counts."""
    u: Whole = np.empty((0, 0), np.int64)
    place, taps = (-1, -1), list[Whole]()
    for axis, dilation, kernel in plan.convolutions:
        if axis != place[0]:
            u = _normalised(samples[:, axis])
        if (axis, dilation) != place:
            place = axis, dilation
            taps = _taps(u, dilation)
            whole, spread = np.sum(taps, axis=0), _spread(u, dilation)
        i, j, k = TAPS[kernel]
        yield 3 * (taps[i] + taps[j] + taps[k]) - whole, spread


def _normalised(x: Samples) -> Whole:
    wide = x.astype(np.int64)
    wide -= wide.min(axis=1, keepdims=True)
    highest = wide.max(axis=1, keepdims=True)
    while (highest > TOP).any():  # only windows that are too high are halved
        wide, highest = (
            np.where(highest > TOP, wide >> 1, wide),
            np.where(highest > TOP, highest >> 1, highest),
        )
    return wide


def _taps(u: Whole, dilation: int) -> list[Whole]:
    padded = np.pad(u, ((0, 0), (4 * dilation, 4 * dilation)), mode="edge")
    return [padded[:, i * dilation : i * dilation + u.shape[1]] for i in range(9)]


def _spread(u: Whole, dilation: int) -> Whole:
    steps = np.abs(u[:, dilation:] - u[:, :-dilation])
    result: Whole = np.maximum(1, steps.sum(axis=1) // steps.shape[1])
    return result
