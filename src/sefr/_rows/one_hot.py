"""One-hot rows: what a model without bins learns of categories."""

from __future__ import annotations

from typing import Any, cast

import narwhals as nw
import numpy as np

from .._system.types import Rows
from .arrow import arrow_table
from .cells.categories import categories_of
from .inputs import matrix_of


def one_hot(X: Rows) -> Rows:
    """Return rows with a column of 0 and 1 per category, in place of each column that has some.

    A missing value is missing in all of them. The columns have names, "sex=male", for errors to name; none if
    two would have the same. Rows without categories are returned as they are.
    """
    X = arrow_table(X)
    categories = categories_of(X, most=None)
    if not categories:
        return X
    values = np.concatenate([block for _rows, block in matrix_of(X, categories).blocks()])
    frame = nw.from_native(cast(Any, X), eager_only=True)
    columns, names = [], list[str]()
    for j, name in enumerate(frame.columns):
        own = values[:, j : j + 1]
        if j in categories:
            own = np.where(np.isnan(own), np.nan, own == np.arange(len(categories[j])))
            names += [f"{name}={value}" for value in categories[j]]
        else:
            names.append(name)
        columns.append(own)
    spread = np.hstack(columns)
    if len(set(names)) < len(names):
        return spread
    named: Rows = nw.from_numpy(spread, names, backend=frame.implementation).to_native()
    return named
