"""Where to cut the features of rows that come in batches: they are read once more, for a sample of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ..batches import Gatherer
from ..labelled import Labelled
from .categories import MOST_CATEGORIES, Categories
from .coder import Coder
from .learn import Cut, learn_coder


def learn_coder_of_batches(
    batches: Iterable[tuple[Labelled, Mapping[int, Categories]]], cut: Cut
) -> Coder | None:
    """Return where features are cut, from batches of rows and the categories in each; None without rows.

    All rows are read, unless edges are given or follow from known ranges. Up to ``cut.sample_rows`` rows they
    are those of all rows together.
    """
    gatherer, known = Gatherer(cut.sample_rows), dict[int, Categories]()
    labels = []
    for rows, categories in batches:
        known = {j: _joined(known.get(j), own) for j, own in categories.items()}
        if cut.fixed:
            return learn_coder(rows, cut, known)
        gatherer.add(rows)
        labels.append(rows.classes)
    if not labels:
        return None
    classes = np.unique(np.concatenate(labels))
    sample, targets = gatherer.sample_with_targets(classes)
    return learn_coder(Labelled(sample.matrix, classes, sample.codes, sample.weights, targets), cut, known)


def _joined(before: Categories | None, more: Categories) -> Categories:
    if before is None or before == more:
        return more
    values = sorted({*before, *more}, key=str)
    if len(values) > MOST_CATEGORIES:
        raise ValueError(
            f"batches have {len(values)} categories in one column; at most {MOST_CATEGORIES} fit"
        )
    return Categories(values)
