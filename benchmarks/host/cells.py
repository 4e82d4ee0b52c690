"""Bins at scale, 1,000,000 x 40: against the read limit, against passes without bins, against LightGBM.

    python -m benchmarks.host.cells [--avx2]

Writes ``cells.csv`` beside this file: CPU times, in one thread. Those that are compared were measured in
turns, and a ratio is the median over the turns, so that a machine with other work disturbs both sides alike.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sefr import SEFRClassifier, _native
from sefr._rows.cells import Cells, Coder
from sefr._rows.matrix import Dense, Grouping, LinearModel, Standardisation, WeightedRows

from ..machine import commit, machine, processor
from ..tables import lines, write_lines
from .clock import interleaved, ratio, typical
from .limit import fastest, readers

ROWS, FEATURES, BINS = 1_000_000, 40, 32
HERE = Path(__file__).parent
Row = dict[str, str]


def rows_of_two_classes() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return rows of normal numbers, no two alike, with a class that depends on some of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES), dtype=np.float32)
    score = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + rng.standard_normal(ROWS, dtype=np.float32)
    return X, (score > 0.8).astype(np.int64)


def measure(*, avx2: bool = False) -> Iterator[Row]:
    """Yield the rows of the results; with ``avx2``, a package built for that alone, of the first pass."""
    X, y = rows_of_two_classes()
    yield from one_pass(X, y)
    if avx2:
        return
    yield from further_pass(X, y)
    yield from predictions(X, y)


def compared(
    functions: dict[str, Callable[[], object]], above: str, below: str, turns: int
) -> tuple[float, float, float]:
    """Return the ratio of two CPU times, and both in ms."""
    times = interleaved(functions, turns, seconds=60.0, clock=time.process_time)
    if "limit" in (above, below):
        times = fastest(times)
    return ratio(times, above, below), 1e3 * typical(times, above), 1e3 * typical(times, below)


def one_pass(X: NDArray[np.float32], y: NDArray[np.int64]) -> Iterator[Row]:
    """Measure the counting kernel and a whole fit against merely reading the rows."""
    model = SEFRClassifier(bins=BINS, n_jobs=1).fit(X, y)
    codes, coder = y.astype(np.int32), Coder.of(model.edges_, missing=False)
    cells = Cells(Dense(X), coder)
    groups = Grouping(codes, None, 2)
    count, fit = (lambda: cells.summarise(groups)), (lambda: model.fit(X, y))
    yield _row("one pass, kernel: share of the read limit", {**readers(X, 1), "ours": count}, "limit", "ours")
    coded = np.empty(X.shape, dtype=np.uint8)
    code = {**readers(X, 1), "ours": lambda: _native.code_cells(X, *coder.operands, coded, 1)}
    yield _row("coding alone, cells written: share of the read limit", code, "limit", "ours")
    yield _row("one pass, fit: share of the read limit", {**readers(X, 1), "ours": fit}, "limit", "ours")
    linear = SEFRClassifier(n_jobs=1)
    both: dict[str, Callable[[], object]] = {"bins": fit, "linear": lambda: linear.fit(X, y)}
    yield _row("one pass, fit: times a linear fit", both, "bins", "linear")


def further_pass(X: NDArray[np.float32], y: NDArray[np.int64]) -> Iterator[Row]:
    """Measure a further pass over cells, which were coded before, against one over the values."""
    binned = SEFRClassifier(bins=BINS, n_jobs=1).fit(X, y)
    rows = WeightedRows(y.astype(np.int32), None, np.ones(2) / ROWS)
    cells, values = Cells(Dense(X), Coder.of(binned.edges_, missing=False)), Dense(X)
    rng = np.random.default_rng(1)
    table = LinearModel(rng.standard_normal((1, cells.shape[1])) / 10, np.zeros(1))
    plane = LinearModel(rng.standard_normal((1, FEATURES)) / 10, np.zeros(1))
    of_cells = Standardisation(np.zeros(0), np.ones(0))
    of_values = values.as_used(Standardisation(X[:1000].mean(axis=0), X[:1000].std(axis=0)))
    cells.gradient(rows, of_cells, table)  # codes them
    both: dict[str, Callable[[], object]] = {
        "cells": lambda: cells.gradient(rows, of_cells, table),
        "linear": lambda: values.gradient(rows, of_values, plane),
    }
    yield _row("a further pass: times a linear one", both, "cells", "linear")

    def passes(bins: int | None) -> Callable[[], object]:
        return lambda: SEFRClassifier(bins=bins, passes=10, n_jobs=1).fit(X, y)

    whole = {"cells": passes(BINS), "linear": passes(None)}
    yield _row("fit with 10 passes: times a linear fit with 10", whole, "cells", "linear", turns=3)


def predictions(X: NDArray[np.float32], y: NDArray[np.int64]) -> Iterator[Row]:
    """Measure predictions against LightGBM's, both models of the first 100,000 rows."""
    from lightgbm import LGBMClassifier

    some = slice(100_000)
    ours = SEFRClassifier(bins=BINS, passes=20, n_jobs=1).fit(X[some], y[some])
    theirs = LGBMClassifier(n_jobs=1, verbose=-1).fit(X[some], y[some])
    both = {"ours": lambda: ours.predict(X), "LightGBM": lambda: theirs.predict(X)}
    yield _row("predict: LightGBM's time over ours", both, "LightGBM", "ours", turns=3)
    above, below = (len(pickle.dumps(model)) for model in (theirs, ours))
    yield _named("model, pickled: LightGBM's bytes over ours", (above / below, above, below), "bytes")


def _row(
    name: str, functions: dict[str, Callable[[], object]], above: str, below: str, turns: int = 25
) -> Row:
    return _named(name, compared(functions, above, below, turns), "CPU ms")


def _named(name: str, found: tuple[float, float, float], unit: str) -> Row:
    share, above, below = found
    figures = {"ratio": f"{share:.3g}", "above": f"{above:.4g}", "below": f"{below:.4g}", "unit": unit}
    return {"what": name, "shape": f"{ROWS}x{FEATURES}", **figures, "machine": machine(), "commit": commit()}


def main(*, avx2: bool) -> None:
    """Measure and write; what was measured on another kind of processor stays."""
    here = processor(avx2=avx2)
    rows = [line for line in lines("host/cells.csv") if line["processor"] != here]
    for row in measure(avx2=avx2):
        print(*list(row.values())[:-2], flush=True)
        rows.append({**row, "processor": here})
    write_lines(HERE / "cells.csv", rows)


if __name__ == "__main__":
    main(avx2="--avx2" in sys.argv)
