"""Columns: fit of a table in Fortran order as a fraction of the read limit, as for rows in ``shapes.py``."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from sefr import SEFRClassifier

from .clock import interleaved, least, least_ratio
from .limit import fastest, readers
from .shapes import TYPES, table


def measure() -> Iterator[dict[str, Any]]:
    """Yield the share of the speed of reading at which a table in Fortran order is trained on."""
    n, m = 1_000_000, 40
    for dtype in TYPES:
        X = np.asfortranarray(table(n, m, dtype))
        for k in (2, 10):
            y = np.random.default_rng(k).permutation(np.arange(n) % k)
            model = SEFRClassifier().fit(X, y)
            functions = {**readers(X, 1), "fit": functools.partial(model.fit, X, y)}
            times = fastest(interleaved(functions, 15, seconds=4.0, clock=time.process_time))
            yield {
                "section": "columns",
                "shape": f"{n}x{m}",
                "type": dtype,
                "classes": k,
                "threads": 1,
                "fit": least_ratio(times, "limit", "fit"),
                "fit_ms": least(times, "fit") * 1e3,
            }
