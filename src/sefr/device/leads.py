"""Which class scores stand for on a board, and by how much it leads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._system.types import Array


def answered(scores: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the number of the class of each row of scores (n, 1) or (n, K)."""
    codes = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
    return np.asarray(codes, np.uint8)


def mean_leads(scores: Array) -> tuple[int, ...]:
    """Return by how much each class leads in the scores (K, 1) or (K, K) of its mean row; at least 1.

    Examples
    --------
    >>> mean_leads(np.array([[-3], [9]])), mean_leads(np.array([[5, 2, 1], [4, 4, 0], [0, 1, 7]]))
    ((3, 9), (3, 1, 6))
    """
    leads = []
    for label, row in enumerate(scores.tolist()):
        if len(row) == 1:
            lead = row[0] if label else -row[0]
        else:
            lead = row[label] - max(row[:label] + row[label + 1 :])
        leads.append(max(int(lead), 1))
    return tuple(leads)
