"""Known ranges of features: ``scale=(low, high)``, for all of them or one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._system.types import Floats


def known_ranges(scale: tuple[ArrayLike, ArrayLike], n_features: int) -> tuple[Floats, Floats]:
    """Return low and high for every feature from a pair given for all of them or one by one."""
    try:
        low, high = (np.asarray(side, dtype=np.float64) for side in scale)
    except (TypeError, ValueError):
        raise ValueError(f"scale must be 'minmax', None or a pair (low, high), not {scale!r}") from None
    for name, side in (("low", low), ("high", high)):
        if side.ndim > 1 or side.size not in {1, n_features}:
            raise ValueError(f"scale: {name} has {side.size} values for {n_features} features")
        if not np.isfinite(side).all():
            raise ValueError(f"scale: {name} must be finite")
    low, high = (np.broadcast_to(side.ravel(), (n_features,)) for side in (low, high))
    if not (low < high).all():
        j = int(np.argmin(low < high))
        raise ValueError(f"scale: low must be below high; feature {j} has {low[j]:g} and {high[j]:g}")
    return low, high
