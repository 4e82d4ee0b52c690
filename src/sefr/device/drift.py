"""Drift of a board's answers, as ``sefr_drift`` notices it, to the bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST = (1 << 32) - 1
LEAST_BLOCKS = 8  # SEFR_DRIFT_LEAST
# From so many blocks on, by how many eighths of the distance of their extremes the range goes beyond them.
EIGHTHS = {8: 24, 12: 14, 16: 10, 24: 8, 32: 6, 64: 5, 128: 4}


class Drift:
    """An alarm when the mean of the leads leaves its range.

    The lead of an answer is how far its score lies from the border, or from the next class
    (``Twin.leads``); no label is needed. Leads are summed over blocks. The first ``blocks`` sums set the
    range: from the lowest to the highest, and a part of that distance more on both sides (``sefr_drift.h``).
    Without drift at most one block in 10,000 gives an alarm, on average over boards, if answers do not depend
    on each other and a block has 50 or more.

    Parameters
    ----------
    length : int
        Answers per block, 1 to 65535.
    blocks : int, default=16
        Blocks that set the range, 8 to 255; with more of them the range is narrower.

    Attributes
    ----------
    low, high : int
        The range of the sums of a block, once it is set: what ``SEFR_DRIFT_RANGE`` takes.

    Examples
    --------
    >>> from sefr.device import Drift
    >>> drift = Drift(length=2, blocks=16)
    >>> drift.watch([20, 22, 24, 22] * 8 + [22, 22, 5, 6])[-4:].tolist()
    [False, False, False, True]
    >>> drift.low, drift.high
    (37, 51)
    """

    def __init__(self, length: int, blocks: int = 16) -> None:
        if not 1 <= length <= 65535:
            raise ValueError(f"length must be 1 to 65535, not {length!r}")
        if not LEAST_BLOCKS <= blocks <= 255:
            raise ValueError(f"blocks must be {LEAST_BLOCKS} to 255, not {blocks!r}")
        self.length, self.blocks = length, blocks
        self.low = self.high = 0
        self._done, self._seen, self._sum = 0, 0, 0

    @property
    def is_set(self) -> bool:
        """Whether the range is set."""
        return self._done >= self.blocks

    def watch(self, leads: ArrayLike) -> NDArray[np.bool_]:
        """Count leads in their order; return where an alarm was given."""
        values = np.asarray(leads)
        if values.ndim != 1 or values.dtype.kind not in "iu" or ((values < 0) | (values > MOST)).any():
            raise ValueError(f"leads must be a row of whole numbers from 0 to {MOST}")
        alarms = np.zeros(len(values), np.bool_)
        for i, lead in enumerate(values.tolist()):
            self._sum += lead
            self._seen += 1
            if self._seen == self.length:
                alarms[i] = self._end(self._sum)
                self._sum = self._seen = 0
        return alarms

    def _end(self, total: int) -> bool:
        if self.is_set:
            return not self.low <= total <= self.high
        first = self._done == 0
        self.low, self.high = (total, total) if first else (min(self.low, total), max(self.high, total))
        self._done += 1
        if self.is_set:
            eighths = EIGHTHS[max(least for least in EIGHTHS if least <= self.blocks)]
            more = (self.high - self.low) * eighths >> 3
            self.low, self.high = max(self.low - more, 0), self.high + more
        return False
