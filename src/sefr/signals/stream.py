"""From recordings to windows: cut whole ones, and take samples as they come."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._system.types import Array
from .features import SignalFeatures


def cut(signal: ArrayLike, length: int, hop: int | None = None) -> Array:
    """Return the windows of a recording.

    Parameters
    ----------
    signal : array of shape (samples,) or (samples, axes)
        The oldest sample first.
    length : int
        Samples in a window.
    hop : int, default=None
        Samples from one window to the next. None: ``length``, so that windows do not overlap.

    Returns
    -------
    array of shape (windows, axes, length)
        A view; none if the recording is shorter than a window.

    Examples
    --------
    >>> from sefr.signals import cut
    >>> cut([1, 2, 3, 4, 5], length=3, hop=2).tolist()
    [[[1, 2, 3]], [[3, 4, 5]]]
    """
    values = np.asarray(signal)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or not values.shape[1]:
        raise ValueError(f"a recording has the shape (samples,) or (samples, axes), not {np.shape(signal)}")
    hop = length if hop is None else hop
    if length < 1 or hop < 1:
        raise ValueError(f"length and hop must be 1 or more, not {length} and {hop}")
    if len(values) < length:
        return np.empty((0, values.shape[1], length), values.dtype)
    return np.lib.stride_tricks.sliding_window_view(values, length, axis=0)[::hop]


class SignalStream:
    """Features of windows of a signal whose samples come a few at a time, in bounded memory.

    Parameters
    ----------
    features : SignalFeatures
        Fitted.
    hop : int, default=None
        Samples from one window to the next. None: the length of a window.

    Examples
    --------
    >>> from sefr.signals import SignalFeatures, SignalStream
    >>> features = SignalFeatures(length=16, range=(0, 1023)).fit()
    >>> stream = SignalStream(features, hop=4)
    >>> [len(stream.add([500 + i])) for i in range(24)]
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]
    """

    def __init__(self, features: SignalFeatures, hop: int | None = None) -> None:
        check_is_fitted(features, "plan_")
        self.features = features
        self.hop = features.plan_.length if hop is None else int(hop)
        if self.hop < 1:
            raise ValueError(f"hop must be 1 or more, not {hop!r}")
        self.reset()

    def reset(self) -> None:
        """Forget the samples: after a gap, a window must not reach over it."""
        self._kept = np.empty((0, self.features.plan_.axes))
        self._skip = 0

    def add(self, samples: ArrayLike) -> NDArray[np.uint8]:
        """Take samples (n,) or (n, axes), and return the features of the windows that they complete."""
        plan = self.features.plan_
        new = np.asarray(samples, dtype=np.float64)
        new = new[:, None] if new.ndim == 1 else new
        if new.ndim != 2 or new.shape[1] != plan.axes:
            raise ValueError(f"samples have shape {np.shape(samples)}, expected (n, {plan.axes})")
        if not np.isfinite(new).all():
            row, axis = np.argwhere(~np.isfinite(new))[0]
            raise ValueError(f"sample {row}, axis {axis} is {new[row, axis]}: reset the stream at a gap")
        skipped = min(self._skip, len(new))
        kept = np.concatenate([self._kept, new[skipped:]])
        windows = cut(kept, plan.length, self.hop)
        used = len(windows) * self.hop
        self._skip = self._skip - skipped + max(0, used - len(kept))
        self._kept = kept[used:].copy()
        if not len(windows):
            return np.empty((0, plan.n_features), np.uint8)
        return self.features.transform(windows)
