"""All that turns a window of samples into bytes, as one value: the host, the file and a board read it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._system.members import ModelFileError, members_of
from .._system.types import Array, Fields
from .kernels import (
    PER_SEGMENT,
    TAPS,
    WHOLE,
    chosen_kernels,
    count_name,
    fixed_thresholds,
    statistic_names,
)

LONGEST = 4096  # samples in a window
MOST_AXES = 255
MOST_FEATURES = 1 << 16
LEAST, MOST = -32768, 32767  # a sample of a board has 16 bits
# Of a recorded sample from 0: 16 times a difference is below 2**32, and its logarithm a byte.
FURTHEST = (1 << 27) - 1

Samples = NDArray[np.int16] | NDArray[np.int32]


@dataclass(frozen=True)
class SignalPlan:
    """How a window becomes features.

    Attributes
    ----------
    length, axes : shape of a window.
    dilations : distances of a kernel's taps, in samples.
    kernels : of the 84, per axis and dilation.
    thresholds : counts per kernel.
    segments : parts of a window that statistics look at; 0: no statistics.
    ranges : lowest and highest sample per axis that statistics tell apart.
    resolution : what one step of a sample stands for, per axis.
    axis_names : in the names of features.
    """

    length: int
    axes: int
    dilations: tuple[int, ...]
    kernels: int
    thresholds: int
    segments: int
    ranges: tuple[tuple[int, int], ...]
    resolution: tuple[float, ...]
    axis_names: tuple[str, ...]

    def __post_init__(self) -> None:
        checks = {
            "length": 2 <= self.length <= LONGEST,
            "axes": 1 <= self.axes <= MOST_AXES,
            "dilations": len(self.dilations) > 0 and all(1 <= d < self.length for d in self.dilations),
            "kernels": self.kernels > 0 and len(TAPS) % self.kernels == 0,
            "thresholds": 1 <= self.thresholds <= MOST_FEATURES and self.n_features <= MOST_FEATURES,
            "segments": 0 <= self.segments <= self.length // 2,
            "ranges": len(self.ranges) == self.axes
            and all(-FURTHEST <= low < high <= FURTHEST for low, high in self.ranges),
            "resolution": len(self.resolution) == self.axes
            and all(0 < step < math.inf for step in self.resolution),
            "axis_names": len(self.axis_names) == self.axes,
        }
        for name, holds in checks.items():
            if not holds:
                raise ValueError(f"signal: {name} {getattr(self, name)!r} is not possible here")

    @property
    def counts(self) -> int:
        """How many features are counts of convolutions; they come first."""
        return self.axes * len(self.dilations) * self.kernels * self.thresholds

    @property
    def most_clipped(self) -> int:
        """How many samples of a window may lie at the ends of the range before there is no answer."""
        return self.axes * self.length // 8

    @property
    def wide(self) -> bool:
        """Whether samples take more than the 16 bits that a board has."""
        return any(low < LEAST or high > MOST for low, high in self.ranges)

    @property
    def statistics_per_axis(self) -> int:
        """How many features per axis are statistics."""
        return len(WHOLE) + len(PER_SEGMENT) * self.segments if self.segments else 0

    @property
    def n_features(self) -> int:
        """Bytes per window."""
        return self.counts + self.axes * self.statistics_per_axis

    @functools.cached_property
    def convolutions(self) -> tuple[tuple[int, int, int], ...]:
        """Axis, dilation and number of the kernel of every convolution, in the order of the counts."""
        return tuple(
            (axis, dilation, kernel)
            for axis in range(self.axes)
            for i, dilation in enumerate(self.dilations)
            for kernel in chosen_kernels(axis * len(self.dilations) + i, self.kernels)
        )

    @functools.cached_property
    def levels(self) -> NDArray[np.int8]:
        """The threshold of every count, in eighths of the spread."""
        return fixed_thresholds(self.counts)

    def names(self) -> list[str]:
        """Return the features in words."""
        result: list[str] = []
        for axis, dilation, kernel in self.convolutions:
            above = self.levels[len(result) : len(result) + self.thresholds].tolist()
            for i, level in enumerate(above):
                name = count_name(self.axis_names[axis], dilation, TAPS[kernel], level)
                again = above[:i].count(level)
                result.append(f"{name} (again, {again + 1})" if again else name)
        if self.segments:
            for name in self.axis_names:
                result += statistic_names(name, self.segments)
        return result

    def samples_of(self, values: Array) -> Samples:
        """Return recorded values (..., axes, samples) in steps of the resolution, within 16 or 28 bits."""
        return samples_of(values, self.resolution, wide=self.wide)

    def features_of(self, windows: Samples, n_threads: int = 1) -> NDArray[np.uint8]:
        """Return the features of windows (n, axes, length) of samples."""
        features = np.empty((len(windows), self.n_features), np.uint8)
        low, high = (np.array([pair[side] for pair in self.ranges], np.int32) for side in (0, 1))
        _native.signal_features(
            np.ascontiguousarray(windows, dtype=np.int32),
            np.array(self.dilations, np.int32),
            self.kernels,
            self.thresholds,
            self.levels,
            self.segments,
            low,
            high,
            features,
            n_threads,
        )
        return features

    def clipped(self, windows: Samples) -> NDArray[np.int64]:
        """Return how many samples of each window (n, axes, length) lie at an end of their range or beyond."""
        low, high = np.array(self.ranges).T[:, :, None]
        result: NDArray[np.int64] = ((windows <= low) | (windows >= high)).sum(axis=(1, 2))
        return result

    def plain(self) -> Fields:
        """Return the plan as JSON holds it."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_plain(cls, member: object) -> SignalPlan:
        """Return the plan from what ``plain`` gave, or say what is wrong with it."""
        found = members_of(member, tuple(cls.__dataclass_fields__), "signal")
        try:
            whole = {
                name: _whole(found[name]) for name in ("length", "axes", "kernels", "thresholds", "segments")
            }
            if not all(type(name) is str for name in found["axis_names"]):
                raise ValueError("the name of an axis is not text")
            return cls(
                dilations=tuple(map(_whole, found["dilations"])),
                ranges=tuple((_whole(low), _whole(high)) for low, high in found["ranges"]),
                resolution=tuple(float(step) for step in found["resolution"]),
                axis_names=tuple(found["axis_names"]),
                **whole,
            )
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"signal: {error}") from None


def samples_of(values: Array, resolution: tuple[float, ...], *, wide: bool) -> Samples:
    """Return recorded values (..., axes, samples) in steps of a resolution per axis, within 16 or 28 bits."""
    step = np.array(resolution)[:, None]
    if values.dtype.kind not in "iub" or (step != 1).any():
        values = np.rint(values / step)
    if wide:
        return np.clip(values, -FURTHEST, FURTHEST).astype(np.int32)
    return np.clip(values, LEAST, MOST).astype(np.int16)


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is no whole number")
    return value
