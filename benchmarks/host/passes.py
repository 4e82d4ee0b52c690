"""A further pass against the first one: both kernels in turns, one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sefr._rows.matrix import Dense, Grouping, LinearModel, Matrix, Standardisation, WeightedRows

from .clock import interleaved, ratio, typical
from .shapes import table

SHAPES = ((7000, 5000), (200_000, 200))


def measure() -> Iterator[dict[str, Any]]:
    """Yield one row of results per shape, type, order and number of classes."""
    for n, m in SHAPES:
        for dtype in ("float32", "float64", "uint8"):
            for k in (2, 10):
                yield _measure_one(Dense(table(n, m, dtype)), dtype, k)
        for k in (2, 10):
            yield _measure_one(Dense(np.asfortranarray(table(n, m, "float32"))), "float32 by columns", k)


def _measure_one(matrix: Matrix, kind: str, k: int) -> dict[str, Any]:
    n, m = matrix.shape
    codes = np.random.default_rng(k).permutation(np.arange(n) % k).astype(np.int32)
    rows, groups = WeightedRows(codes, None, np.ones(k) / n), Grouping(codes, None, k)
    planes = 1 if k == 2 else k
    model = LinearModel(np.random.default_rng(0).standard_normal((planes, m)) / 1e4, np.zeros(planes))
    space = matrix.as_used(Standardisation(np.full(m, 125.0), np.full(m, 72.0)))
    functions: dict[str, Callable[[], object]] = {
        "first": lambda: matrix.summarise(groups),
        "further": lambda: matrix.gradient(rows, space, model),
    }
    times = interleaved(functions, 9, seconds=3.0)
    return {
        "section": "passes",
        "shape": f"{n}x{m}",
        "type": kind,
        "classes": k,
        "threads": 1,
        "further_over_first": ratio(times, "further", "first"),
        "ms": typical(times, "further") * 1e3,
    }
