"""Ferns grown on rows: each tells what those before it left to tell, as long as rows held out agree."""

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
TRIED = 4
BOUNDS = 8
SEED = 0


def grow_ferns(rows: Labelled, coder: Coder, count: int) -> Ferns | None:
    """Return up to so many ferns for rows that are few enough to be looked at often.

    There are fewer where further ones would tell nothing about rows that they were not grown on, and at least
    one; None where nothing varies.
    """
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
    if not grown:
        return None
    features, bounds = (comparisons[:grown, :, part].ravel() for part in (0, 1))
    return Ferns(features, bounds, np.arange(grown + 1, dtype=np.int64) * DEPTH)
