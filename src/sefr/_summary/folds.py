"""The Summary of all folds but one: what a model of cross-validation is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .double_double import DoubleDouble, Totals, sums_of_others
from .products import Products
from .summary import Summary


def summaries_of_rests(folds: Sequence[Summary], others: Summary) -> list[Summary]:
    """Return, for each fold, the Summary of the other folds and of ``others``; all have equal classes."""
    every, shape = [*folds, others], others.sums.shape
    counts = sums_of_others([DoubleDouble(fold.counts, fold.count_tails) for fold in every])
    sums = sums_of_others([DoubleDouble(fold.sums, fold.tails) for fold in every])
    present: list[DoubleDouble] | None = None
    if any(fold.present is not None for fold in every):
        cells = [
            fold.value_counts.each(lambda part: np.array(np.broadcast_to(part, shape))) for fold in every
        ]
        present = sums_of_others(cells)
    low, high = (np.array([getattr(fold, side) for fold in every]) for side in ("low", "high"))
    products = _products_of_others(every)
    found = []
    for f in range(len(folds)):
        rest = np.arange(len(every)) != f
        ends = (low[rest].min(axis=0), high[rest].max(axis=0))
        totals = Totals(counts[f], sums[f], None if present is None else present[f])
        found.append(
            Summary.from_doubles(
                others.classes, totals, ends, others.feature_names, others.coding, products[f]
            )
        )
    return found


def _products_of_others(every: Sequence[Summary]) -> list[Products] | list[None]:
    """Return, for each Summary but the last, the products of all others."""
    own = [summary.products for summary in every if summary.products is not None]
    if len(own) < len(every):
        return [None] * (len(every) - 1)
    if any(part.missing for part in own):
        own = [part if part.missing else part.with_missing() for part in own]
    own = [part.about(own[0].origin) for part in own]
    return [replace(own[0], packed=packed) for packed in sums_of_others([part.packed for part in own])]
