"""``SignalFeatures``: windows of a signal as bytes, in the manner of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from .._system.threads import thread_count
from .._system.types import Array
from .kernels import TAPS
from .plan import FURTHEST, LEAST, LONGEST, MOST, MOST_AXES, Samples, SignalPlan, samples_of

# One window in twenty may span fewer steps than this, before samples get more than 16 bits.
QUIETER, FEWEST_STEPS = 0.05, 64
DIVISORS = tuple(k for k in range(1, len(TAPS) + 1) if len(TAPS) % k == 0)


class SignalFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Windows of a signal as bytes: how often which shape occurs, and statistics of level and spread.

    Counts of convolutions with the 84 kernels of MiniRocket, in integers alone, so that a board computes the
    same bytes (``sefr_signal.h``). A count is the share of the samples where the convolution exceeds a
    threshold, which is relative to the spread of the window; so nothing needs to be learned for it.

    Parameters
    ----------
    length : int, default=None
        Samples in a window, 2 to 4096. None: as ``X`` has.
    axes : int, default=None
        Axes of the signal, 1 to 255. None: as ``X`` has.
    dilations : int or sequence of int, default=4
        Distances between the taps of a kernel, in samples. A number is how many at most, from 1 to an eighth
        of the window, in equal ratios.
    kernels : int, default=None
        How many of the 84 an axis and dilation use, a divisor of 84. None: 84 divided by the axes, so that
        more axes give no more counts.
    thresholds : int, default=1
        Counts per kernel.
    statistics : bool, default=True
        Six of the window (mean, lowest, highest, range, roughness, deviation) and three of each segment
        (level, shape, roughness), per axis.
    segments : int, default=8
        Parts of a window that statistics look at, at most half of ``length``.
    range : (low, high), default=None
        Of recorded values: the ends of the sensor, between which levels are measured; a number or one per
        axis for each end. None: a step beyond the values of ``X``.
    resolution : float or sequence of float, default=None
        What one step of a sample stands for, for all axes or each: recorded values are divided by it and
        rounded. None: 1 for whole numbers of 16 bits, else the power of ten with which 16 bits hold all of
        ``X``. If ``range`` is None too and some windows are so much quieter than others that 16 bits would
        lose their shape, it is the one with which 28 bits hold all: a board cannot sample such a signal.
    axis_names : sequence of str, default=None
        For the names of features. None: x, y, z of up to three axes, else axis 1, axis 2, ...
    n_jobs : int, default=None
        Threads; -1 for all. The result does not depend on it.

    Attributes
    ----------
    plan_ : SignalPlan
        All that was chosen.
    n_features_in_ : int
        Samples of a window of one axis; of more, the number of axes.

    Notes
    -----
    With ``length``, ``range`` and, for recorded values that are not whole, ``resolution``, ``fit`` needs no
    data.

    Examples
    --------
    >>> import numpy as np
    >>> from sefr.signals import SignalFeatures
    >>> time = np.arange(64)
    >>> X = np.stack([400 * np.sin(time / 3), 400 * np.sign(np.sin(time / 3))]).astype(int)
    >>> features = SignalFeatures(length=64, dilations=2, range=(-512, 511)).fit()
    >>> features.transform(X).shape
    (2, 198)
    >>> features.get_feature_names_out()[0]
    'x: falling edge of 9 samples, high at 1, 2, 3, above 1 spreads'
    """

    plan_: SignalPlan

    def __init__(
        self,
        length: int | None = None,
        axes: int | None = None,
        *,
        dilations: int | Sequence[int] = 4,
        kernels: int | None = None,
        thresholds: int = 1,
        statistics: bool = True,
        segments: int = 8,
        range: tuple[ArrayLike, ArrayLike] | None = None,
        resolution: ArrayLike | None = None,
        axis_names: Sequence[str] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.length = length
        self.axes = axes
        self.dilations = dilations
        self.kernels = kernels
        self.thresholds = thresholds
        self.statistics = statistics
        self.segments = segments
        self.range = range
        self.resolution = resolution
        self.axis_names = axis_names
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike | None = None, y: object = None) -> Self:
        """Choose what is not given: shape, resolution and ranges.

        Parameters
        ----------
        X : array of shape (n, length) or (n, axes, length), default=None
            Windows. None if ``length`` and ``range`` are given.
        y : ignored

        Returns
        -------
        self : SignalFeatures
        """
        if X is None:
            if self.length is None or self.range is None:
                raise ValueError("without X, length and range must be given")
            axes = _whole(1 if self.axes is None else self.axes, "axes", 1, MOST_AXES)
            self.n_features_in_ = _whole(self.length, "length", 2, LONGEST) if axes == 1 else axes
            values = np.zeros((1, axes, self.length), np.int16)
        else:
            values = self._windows(X, reset=True)
        self.plan_ = self._plan(values)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.uint8]:
        """Return the features of windows.

        Parameters
        ----------
        X : array of shape (n, length) or (n, axes, length)
            Recorded values.

        Returns
        -------
        array of uint8 of shape (n, features)
            In the order of ``get_feature_names_out``.
        """
        samples = self.samples(X)
        return self.plan_.features_of(samples, thread_count(self.n_jobs))

    def samples(self, X: ArrayLike) -> Samples:
        """Return windows (n, axes, length) as a board samples them, in steps of the resolution."""
        check_is_fitted(self, "plan_")
        return self.plan_.samples_of(self._windows(X, reset=False))

    def clipped(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return how many samples of each window lie at an end of ``range`` or beyond: a saturated sensor."""
        samples = self.samples(X)
        return self.plan_.clipped(samples)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the features in words, as ``x: peak of 9 samples, high at 4, 5, 6, above 1 spreads``."""
        check_is_fitted(self, "plan_")
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array(self.plan_.names(), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _windows(self, X: ArrayLike, *, reset: bool) -> Array:
        """Return X as (n, axes, length) of finite numbers, or say what is wrong with it."""
        _refuse_ragged(X)
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        if not reset and len(shape) == 3 and shape[1:] != (self.plan_.axes, self.plan_.length):
            raise ValueError(
                f"windows have {_shape_text(*shape[1:])}, and SignalFeatures was fitted with "
                f"{_shape_text(self.plan_.axes, self.plan_.length)}"
            )
        if not reset and len(shape) == 2 and self.plan_.axes > 1:
            raise ValueError(
                f"X has shape {tuple(shape)}, expected (n, {self.plan_.axes}, {self.plan_.length})"
            )
        values: Array = validate_data(
            self,
            np.asarray(X)[:, 0] if len(shape) == 3 and shape[1] == 1 else X,
            reset=reset,
            dtype="numeric",
            allow_nd=True,
            ensure_all_finite=False,
            ensure_min_features=1,
        )
        if values.ndim == 2:
            values = values[:, None, :]
        if values.ndim != 3:
            raise ValueError(f"X must have the shape (n, length) or (n, axes, length), not {values.shape}")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            window, axis, sample = np.argwhere(~np.isfinite(values))[0]
            value = values[window, axis, sample]
            what = "NaN" if np.isnan(value) else "infinity (inf)"
            raise ValueError(
                f"window {window}, axis {axis}, sample {sample} is {what}: fill gaps, or leave the window out"
            )
        if reset:
            for name, given, found in (
                ("axes", self.axes, values.shape[1]),
                ("length", self.length, values.shape[2]),
            ):
                if given is not None and given != found:
                    raise ValueError(f"{name} is {given}, and X with shape {values.shape} has {found}")
        return values

    def _takes_more_bits(self, values: Array) -> bool:
        """Return whether samples may have 28 bits: if that was said, or if 16 lose the shape of windows."""
        if self.resolution is not None or self.range is not None:
            return self.resolution is not None and self.range is not None
        return _loses_shape(values, _resolution(None, values, MOST))

    def _plan(self, values: Array) -> SignalPlan:
        axes = _whole(values.shape[1], "axes", 1, MOST_AXES)
        if values.shape[2] < 2:
            raise ValueError(
                f"a window needs 2 samples or more: X has {values.shape[2]} feature(s) "
                f"(shape={values.shape}) while a minimum of 2 is required."
            )
        length = _whole(values.shape[2], "length", 2, LONGEST)
        dilations = _dilations(self.dilations, length)
        kernels = (
            max(k for k in DIVISORS if k <= max(1, len(TAPS) // axes))
            if self.kernels is None
            else self.kernels
        )
        if kernels not in DIVISORS:
            raise ValueError(f"kernels must be a divisor of 84, one of {list(DIVISORS)}, not {kernels!r}")
        each = _whole(self.thresholds, "thresholds", 1, 1 << 16)
        segments = min(_whole(self.segments, "segments", 1, LONGEST), length // 2) if self.statistics else 0
        wide = self._takes_more_bits(values)
        resolution = _resolution(self.resolution, values, FURTHEST if wide else MOST)
        return SignalPlan(
            length=length,
            axes=axes,
            dilations=dilations,
            kernels=int(kernels),
            thresholds=each,
            segments=segments,
            ranges=_ranges(self.range, samples_of(values, resolution, wide=wide), resolution, wide=wide),
            resolution=resolution,
            axis_names=_axis_names(self.axis_names, axes),
        )


def _refuse_ragged(X: Any) -> None:
    """Say which window of a list has another length."""
    if not isinstance(X, list | tuple) or not X:
        return
    shapes = [
        np.shape(window) if not isinstance(window, list | tuple) else _list_shape(window) for window in X
    ]
    for number, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ValueError(
                f"window {number} has shape {shape}, and window 0 has {shapes[0]}: cut windows to one length"
            )


def _list_shape(window: Sequence[Any]) -> tuple[int, ...]:
    try:
        return np.shape(window)
    except ValueError:
        raise ValueError(
            f"the axes of a window have different lengths: {[len(axis) for axis in window]}"
        ) from None


def _shape_text(axes: int, length: int) -> str:
    return f"{axes} {'axis' if axes == 1 else 'axes'} of {length} samples"


def _whole(value: object, name: str, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not lowest <= value <= highest:
        raise ValueError(f"{name} must be a whole number from {lowest} to {highest}, not {value!r}")
    return int(value)


def _dilations(asked: int | Sequence[int], length: int) -> tuple[int, ...]:
    widest = max(1, (length - 1) // 8)
    if isinstance(asked, int | np.integer):
        n = _whole(asked, "dilations", 1, LONGEST)
        powers = np.linspace(0, np.log2(widest), n) if n > 1 else np.zeros(1)
        return tuple(sorted({int(round(2**power, 9)) for power in powers.tolist()}))
    chosen = tuple(_whole(d, "a dilation", 1, LONGEST) for d in asked)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"dilations must be different numbers, one at least, not {asked!r}")
    if max(chosen) > widest:
        raise ValueError(
            f"a dilation of {max(chosen)} needs windows of {8 * max(chosen) + 1} samples, "
            f"and these have {length}"
        )
    return chosen


def _per_axis(value: ArrayLike, name: str, axes: int) -> NDArray[np.float64]:
    try:
        result = np.broadcast_to(np.asarray(value, np.float64), (axes,))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, or one per axis ({axes}), not {value!r}") from None
    return result


def _resolution(asked: ArrayLike | None, values: Array, most: int) -> tuple[float, ...]:
    """Return the steps that were asked for, or powers of ten of which at most so many reach every value."""
    axes = values.shape[1]
    if asked is not None:
        steps = _per_axis(asked, "resolution", axes)
        if not (np.isfinite(steps) & (steps > 0)).all():
            raise ValueError(f"resolution must be above 0, not {asked!r}")
        return tuple(steps.tolist())
    found = []
    for axis in range(axes):
        part = values[:, axis]
        furthest = max(-float(part.min()), float(part.max()), 0.0)
        if furthest == 0 or (furthest <= most and _whole_numbers(part)):
            found.append(1.0)
        else:
            exponent = int(np.ceil(np.log10(furthest) - np.log10(most)))
            found.append(float(f"1e{max(exponent, -300)}"))
    return tuple(found)


def _whole_numbers(values: Array) -> bool:
    return values.dtype.kind in "iub" or bool((np.floor(values) == values).all())


def _loses_shape(values: Array, resolution: tuple[float, ...]) -> bool:
    """Return whether the quieter windows of an axis, of those that are not constant, span too few steps."""
    for axis, step in enumerate(resolution):
        part = values[:, axis]
        spans = np.ptp(part, axis=1)
        spans = spans[spans > 0]
        exact = step == 1 and _whole_numbers(part)
        if len(spans) and not exact and np.quantile(spans, QUIETER) < FEWEST_STEPS * step:
            return True
    return False


def _ranges(
    asked: tuple[ArrayLike, ArrayLike] | None, samples: Samples, resolution: tuple[float, ...], *, wide: bool
) -> tuple[tuple[int, int], ...]:
    axes = samples.shape[1]
    least, most = (-FURTHEST, FURTHEST) if wide else (LEAST, MOST)
    if asked is None:
        low, high = samples.min(axis=(0, 2)).astype(int) - 1, samples.max(axis=(0, 2)).astype(int) + 1
        low, high = np.maximum(low, least), np.minimum(high, most)
    else:
        if not isinstance(asked, tuple | list) or len(asked) != 2:
            raise ValueError(f"range must be (low, high), not {asked!r}")
        steps = np.array(resolution)
        sides = [np.rint(_per_axis(side, "an end of range", axes) / steps) for side in asked]
        if (
            not all(((side >= least) & (side <= most)).all() for side in sides)
            or (sides[0] >= sides[1]).any()
        ):
            raise ValueError(
                f"range must go up and lie within {least} to {most} steps of the resolution, not {asked!r}"
            )
        low, high = (side.astype(int) for side in sides)
    return tuple((int(a), int(b)) for a, b in zip(low, high, strict=True))


def _axis_names(asked: Sequence[str] | None, axes: int) -> tuple[str, ...]:
    if asked is None:
        return (
            ("x", "y", "z")[:axes] if axes <= 3 else tuple(f"axis {i + 1}" for i in np.arange(axes).tolist())
        )
    names = tuple(map(str, asked))
    if len(names) != axes or len(set(names)) < axes:
        raise ValueError(f"axis_names must be {axes} different names, not {asked!r}")
    return names
