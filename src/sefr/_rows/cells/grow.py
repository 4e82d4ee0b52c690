"""Ferns grown on rows: comparisons that tell the classes apart, each beside those before it."""

from __future__ import annotations

import numpy as np

from ... import _native
from ..labelled import Labelled
from .coder import Coder
from .ferns import Ferns
from .matrix import Cells

# Comparisons of a fern: it has 2**DEPTH cells.
DEPTH = 6
# Features that are drawn for a comparison, and bins of each; the best is kept. More would make ferns alike.
TRIED = 2
BOUNDS = 4
SEED = 0


def grow_ferns(rows: Labelled, coder: Coder, count: int) -> Ferns | None:
    """Return so many ferns for rows that are few enough to be looked at often; None where nothing varies."""
    cells = Cells(rows.matrix, coder).cells
    comparisons = np.empty((count, DEPTH, 2), dtype=np.int32)
    grown = _native.grow_ferns(
        cells,
        coder.coded_starts,
        coder.unordered.astype(np.uint8),
        rows.codes,
        rows.weights,
        len(rows.classes),
        TRIED,
        BOUNDS,
        SEED,
        comparisons,
    )
    starts = np.arange(count + 1, dtype=np.int64) * DEPTH
    return Ferns(comparisons[..., 0].ravel(), comparisons[..., 1].ravel(), starts) if grown else None
