"""One-hot rows: what a model without bins learns of categories."""

from __future__ import annotations

import numpy as np

from .._system.types import Rows
from .arrow import arrow_table
from .cells.categories import categories_of
from .inputs import matrix_of


def one_hot(X: Rows) -> Rows:
    """Return rows with a column of 0 and 1 per category, in place of each column that has some.

    A missing value is missing in all of them. Rows without categories are returned as they are.
    """
    X = arrow_table(X)
    categories = categories_of(X, most=None)
    if not categories:
        return X
    values = np.concatenate([block for _rows, block in matrix_of(X, categories).blocks()])
    columns = []
    for j in range(values.shape[1]):
        own = values[:, j : j + 1]
        if j in categories:
            own = np.where(np.isnan(own), np.nan, own == np.arange(len(categories[j])))
        columns.append(own)
    return np.hstack(columns)
