"""The Summary of all folds but one: what a model of cross-validation is made from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .double_double import DoubleDouble, Totals, sums_of_others
from .summary import Summary


def summaries_of_rests(folds: Sequence[Summary], others: Summary) -> list[Summary]:
    """Return, for each fold, the Summary of the other folds and of ``others``; all have equal classes."""
    every, shape = [*folds, others], others.sums.shape
    counts = sums_of_others([DoubleDouble(fold.counts, fold.count_tails) for fold in every])
    sums = sums_of_others([DoubleDouble(fold.sums, fold.tails) for fold in every])
    present: list[DoubleDouble] | None = None
    if any(fold.present is not None for fold in every):
        cells = [fold.cells.each(lambda part: np.array(np.broadcast_to(part, shape))) for fold in every]
        present = sums_of_others(cells)
    low, high = (np.array([getattr(fold, side) for fold in every]) for side in ("low", "high"))
    found = []
    for f in range(len(folds)):
        rest = np.arange(len(every)) != f
        ends = (low[rest].min(axis=0), high[rest].max(axis=0))
        totals = Totals(counts[f], sums[f], None if present is None else present[f])
        found.append(Summary.from_doubles(others.classes, totals, ends, others.feature_names, others.coder))
    return found
