"""Rows with their labels as codes, and a sample of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .matrix import Codes, Matrix

Floats = NDArray[np.float64]

# Rows that choose the steps. One in a thousand steps the wrong way is caught by the pass that follows it.
SAMPLE_ROWS = 1024
FEWEST_ROWS = 256
SAMPLE_SCORES = 1 << 13
SAMPLE_CELLS = 1 << 23


class Table(NamedTuple):
    """Rows whose labels are coded by the classes of the Summary; a code below 0 leaves a row out."""

    matrix: Matrix
    codes: Codes
    weights: Floats | None


class Labelled(NamedTuple):
    """Rows as they come: coded by the classes of their own labels."""

    matrix: Matrix
    classes: NDArray[Any]
    codes: Codes
    weights: Floats | None

    def over(self, classes: NDArray[Any]) -> Table:
        """Return the rows coded by other classes; rows of a class that is not among them are left out."""
        if classes is self.classes or np.array_equal(classes, self.classes):
            return Table(self.matrix, self.codes, self.weights)
        at = np.minimum(np.searchsorted(classes, self.classes), len(classes) - 1)
        place = np.where(classes[at] == self.classes, at, -1).astype(np.int32)
        return Table(self.matrix, place[self.codes], self.weights)


def sample_size(n_classes: int, n_features: int) -> int:
    """Return how many rows choose the steps: a thousand, fewer where they are wide or have many scores."""
    by_scores = max(FEWEST_ROWS, SAMPLE_SCORES // (n_classes if n_classes > 2 else 1))
    return int(min(SAMPLE_ROWS, by_scores, max(64, SAMPLE_CELLS // n_features)))


def sample_of(table: Table, n_classes: int) -> Table:
    """Return up to ``sample_size`` rows, evenly spread by weight, so that a row twice is a row of weight 2.

    Those of a sample that is not all rows have no weights.
    """
    weights = np.ones(len(table.codes)) if table.weights is None else table.weights
    live = np.flatnonzero((table.codes >= 0) & (weights > 0))
    most = sample_size(n_classes, table.matrix.shape[1])
    if len(live) <= most:
        return Table(table.matrix.take(live), table.codes[live], weights[live])
    so_far = np.cumsum(weights[live])
    places = (np.arange(most) + 0.5) / most * so_far[-1]
    rows = live[np.minimum(np.searchsorted(so_far, places, side="right"), len(live) - 1)]
    return Table(table.matrix.take(rows), table.codes[rows], None)
