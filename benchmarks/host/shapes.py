"""Fit and predict as a fraction of the read limit.

The least time of several turns counts, of one thread in CPU time: what else the machine does only adds to it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from sefr import SEFRClassifier, _native

from .clock import interleaved, least, least_ratio
from .limit import fastest, readers

SHAPES = ((7000, 5000), (1_000_000, 40), (200_000, 200), (85, 22_283), (1000, 10))
TYPES = ("float32", "float64", "uint8")
CLASSES = (2, 10, 100)


def table(n: int, m: int, dtype: str) -> Any:
    """Return made-up rows; one block of random numbers repeated, since values do not matter here."""
    rng = np.random.default_rng(0)
    block = rng.integers(0, 250, min(n * m, 1 << 20), dtype=np.uint8)
    return np.resize(block, (n, m)).astype(dtype)


def measure(most_threads: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield one row of results per shape, type, number of classes and number of threads."""
    everything = most_threads or os.cpu_count() or 1
    for n, m in SHAPES:
        for dtype in TYPES:
            X = table(n, m, dtype)
            for k in CLASSES:
                if k > n // 4:
                    continue
                for threads in sorted({1, everything}) if n > 1000 else (1,):
                    yield _measure_one(X, dtype, k, threads)


def _measure_one(X: Any, dtype: str, k: int, threads: int) -> dict[str, Any]:
    n, m = X.shape
    y = np.random.default_rng(k).permutation(np.arange(n) % k)
    model = SEFRClassifier(n_jobs=threads)
    codes = y.astype(np.int32)
    sums, counts, low, high = np.empty((k, m)), np.empty(k), np.empty((1, m)), np.empty((1, m))
    model.fit(X, y)
    functions = {
        **readers(X, threads),
        "kernel": lambda: _native.summarise(X, codes, None, k, sums, counts, low, high, None, threads),
        "fit": lambda: model.fit(X, y),
        "predict": lambda: model.predict(X),
    }
    if n <= 1000:
        functions["predict one"] = lambda: model.predict(X[:1])
    turns = 300 if n <= 1000 else 15
    clock = time.process_time if threads == 1 else time.perf_counter
    times = fastest(interleaved(functions, turns, seconds=4.0, clock=clock))
    result = {
        "section": "shapes",
        "shape": f"{n}x{m}",
        "type": dtype,
        "classes": k,
        "threads": threads,
        "limit_gb_s": X.nbytes / least(times, "limit") / 1e9,
        "kernel": least_ratio(times, "limit", "kernel"),
        "fit_over_kernel": least_ratio(times, "fit", "kernel"),
        "fit": least_ratio(times, "limit", "fit"),
        "predict": least_ratio(times, "limit", "predict"),
        "fit_ms": least(times, "fit") * 1e3,
        "predict_ms": least(times, "predict") * 1e3,
    }
    if "predict one" in times:
        result["predict_one_us"] = least(times, "predict one") * 1e6
    return result
