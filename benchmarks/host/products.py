"""What second moments cost: products of columns beside the first-order pass, BLAS and LightGBM, in one run.

    python -m benchmarks.host.products

Writes ``products.csv`` beside this file: for each shape the CPU seconds of one thread (the least of several
repetitions) of the products, and of what stands beside them. ``first order``: ``Summary.of`` of the same
rows; ``BLAS``: X.T @ X in the type of X; ``BLAS in float64``: blocks of 512 rows in float64, as many columns
are multiplied; ``LightGBM``: a fit at its defaults, beside which cells are counted and solved.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from sefr import Summary
from sefr._rows.cells import Cut
from sefr._rows.inputs import read_rows
from sefr._rows.matrix import Dense, Grouping
from sefr._summary import multiply
from sefr._summary.multiply import products
from sefr._weights.moments import solve_classes

from ..machine import commit, machine
from ..tables import write_lines

HERE = Path(__file__).parent
WIDTHS = (40, 100, 300, 700, 1000, 2000)
REPEATS = 7


def seconds(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Return the least CPU time of some repetitions."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def dense(n: int, m: int, dtype: str) -> dict[str, float]:
    """Return the times of one dense shape."""
    X = (np.random.default_rng(0).normal(size=(n, m)) * 20 + 128).clip(0, 255).astype(dtype)
    y = np.random.default_rng(1).integers(0, 2, n)
    found = {"first order": seconds(lambda: Summary.of(X, y))}
    found["BLAS"] = seconds(lambda: X.T @ X) if dtype != "u1" else np.nan
    with mock.patch.object(multiply, "WIDE", 10**9):
        found["products"] = seconds(lambda: products(Dense(X)))
    with mock.patch.object(multiply, "WIDE", 0):
        found["BLAS in float64"] = seconds(lambda: products(Dense(X)), 3)
    return found


def cells(n: int, m: int) -> dict[str, float]:
    """Return the times of counting pairs of cells, and of solving them, beside a fit of LightGBM."""
    from lightgbm import LGBMClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, m)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 1).astype(np.int32)
    rows, _ = read_rows(X, y, None, Cut.of(32, "minmax", "error", None))
    raw = rows.matrix.summarise(Grouping(rows.codes, None, 2))
    found = products(rows.matrix)
    if found is None:
        raise ValueError("a value is not finite")
    model = LGBMClassifier(n_jobs=1, verbose=-1)
    return {
        "products": seconds(lambda: products(rows.matrix), 3),
        "solved": seconds(lambda: solve_classes(found, raw.counts, raw.sums, coder=rows.matrix.coder), 3),
        "LightGBM": seconds(lambda: model.fit(X, y), 1),
    }


def main() -> None:
    """Measure and write."""
    lines: list[dict[str, str]] = []
    where = {"machine": machine(), "commit": commit()}

    def write(shape: dict[str, Any], found: dict[str, float]) -> None:
        names = ("products", "first order", "BLAS", "BLAS in float64", "solved", "LightGBM")
        said = {name: f"{found[name]:.5f}" if np.isfinite(found.get(name, np.nan)) else "" for name in names}
        lines.append({**{key: str(value) for key, value in shape.items()}, **said, **where})
        print(*list(lines[-1].values())[:-2], flush=True)
        write_lines(HERE / "products.csv", lines)

    with threadpool_limits(1):
        for dtype in ("f4", "f8", "u1"):
            write({"kind": dtype, "rows": 10**6, "columns": 40}, dense(10**6, 40, dtype))
        for m in WIDTHS[1:]:
            n = int(2e7 / m) if m < 1000 else int(1e7 / m)
            write({"kind": "f4", "rows": n, "columns": m}, dense(n, m, "f4"))
        for n, m in ((10**6, 40), (20_000, 63)):  # the latter has 2,016 cells
            write({"kind": "32 bins", "rows": n, "columns": m}, cells(n, m))


if __name__ == "__main__":
    main()
