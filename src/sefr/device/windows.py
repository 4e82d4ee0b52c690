"""Windows over signals, the same bits as ``sefr_window`` on a board: train on these, and the board agrees."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEATURES = ("mean", "variance", "minimum", "maximum", "crossings", "energy", "difference")
LONGEST = 1024  # SEFR_WINDOW_LONGEST


def windows(signal: ArrayLike, length: int, hop: int | None = None) -> NDArray[np.int64]:
    """Return seven features of each axis over windows of a signal.

    Parameters
    ----------
    signal : array of shape (n,) or (n, axes)
        Whole numbers from -32768 to 32767, as an int16 sensor gives them; the oldest first.
    length : int
        Samples in a window, 2 to 1024.
    hop : int, default=None
        Samples from one window to the next; None: ``length``, so that windows do not overlap.

    Returns
    -------
    array of shape (windows, 7 * axes)
        Axis by axis in the order of ``window_names``. The first window is the first ``length`` samples.

    Notes
    -----
    mean = floor(sum x / N); variance = floor((N sum x**2 - (sum x)**2) / N**2); crossings: how often the
    signal changes the side of its mean; energy = floor(sum x**2 / N); difference =
    ``floor(sum |x[i] - x[i-1]| / (N - 1))``.

    Examples
    --------
    >>> from sefr.device import windows
    >>> windows([0, 10, 0, 10, 0, 10, 4, 4], length=4)
    array([[ 5, 25,  0, 10,  3, 50, 10],
           [ 4, 12,  0, 10,  1, 33,  5]])
    """
    values = np.asarray(signal)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or not 1 <= values.shape[1] <= 255:
        raise ValueError(f"signal must have the shape (samples,) or (samples, axes), not {np.shape(signal)}")
    length, hop = check_window(length, length if hop is None else hop)
    if values.dtype.kind not in "iufb":
        raise ValueError(f"signal must be numbers, not {values.dtype}")
    bad = ~((values >= -32768) & (values <= 32767))
    bad |= np.floor(np.where(bad, 0, values)) != np.where(bad, 0, values)
    if bad.any():
        row, axis = np.argwhere(bad)[0]
        raise ValueError(
            f"sample {row}, axis {axis}: {values[row, axis]} is not a whole number from -32768 to 32767"
        )
    whole = values.astype(np.int64)
    if len(whole) < length:
        return np.empty((0, len(FEATURES) * whole.shape[1]), np.int64)
    x = np.lib.stride_tricks.sliding_window_view(whole, length, axis=0)[::hop]  # windows, axes, length
    total, squares = x.sum(axis=2), (x * x).sum(axis=2)
    mean = total // length
    side = x >= mean[:, :, None]
    features = [
        mean,
        (length * squares - total * total) // length**2,
        x.min(axis=2),
        x.max(axis=2),
        (side[:, :, 1:] != side[:, :, :-1]).sum(axis=2),
        squares // length,
        np.abs(np.diff(x, axis=2)).sum(axis=2) // (length - 1),
    ]
    return np.stack(features, axis=2).reshape(len(x), -1)


def check_window(length: int, hop: int) -> tuple[int, int]:
    """Return a length and a hop that a board takes, or say what is wrong."""
    if not 2 <= length <= LONGEST:
        raise ValueError(f"length must be 2 to {LONGEST}, not {length!r}")
    if not 1 <= hop <= 65535:
        raise ValueError(f"hop must be 1 to 65535, not {hop!r}")
    return int(length), int(hop)


def window_names(axes: list[str] | tuple[str, ...]) -> list[str]:
    """Return the names of the features of axes of these names: ``x_mean``, ``x_variance``, ...

    Examples
    --------
    >>> from sefr.device import window_names
    >>> window_names(["x", "y"])[:3]
    ['x_mean', 'x_variance', 'x_minimum']
    """
    return [f"{axis}_{feature}" for axis in axes for feature in FEATURES]
