"""Intervals of SEFRRegressor: which part of the held-out rows they cover, of tables and of drawn rows.

    python -m benchmarks.accuracy.coverage

Writes ``coverage.csv`` beside this file, a row per setting and table: the part of the held-out rows within
intervals of 50, 80, 90 and 95 %, means over the folds of ``regression.py``. Drawn rows are a line, a curve,
an interaction and errors, normal or of Student's distribution with three degrees of freedom, of which a few
are large; a fold is 1,000 rows to learn from and 4,000 more. ``width`` is the mean width of an interval of
90 %, in units of the standard deviation of y.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sefr import SEFRRegressor

from ..machine import commit, machine
from ..tables import write_lines
from .moments import NUMBERS, load_numbers, number_folds
from .regression import methods
from .tables import rows_of

HERE = Path(__file__).parent
SHARES = (0.5, 0.8, 0.9, 0.95)
LEARNED, NEW, SEEDS = 1000, 4000, 10
Rows = tuple[Any, NDArray[Any], Any, NDArray[Any]]
Errors = Callable[[np.random.Generator, int], NDArray[np.float64]]


def folds_of_table(name: str, *, categories: bool) -> Iterator[Rows]:
    """Yield the rows to learn from and those held out, of each fold."""
    table = load_numbers(name)
    X = table.frame if categories else table.columns
    for train, test in number_folds(table.y):
        yield rows_of(X, train), table.y[train], rows_of(X, test), table.y[test]


def drawn_folds(errors: Errors) -> Iterator[Rows]:
    """Yield rows of each seed; ``errors`` draws them, in units of 0.5."""
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, (LEARNED + NEW, 4))
        y = X[:, 3] + np.sin(3 * X[:, 0]) + np.sign(X[:, 1] * X[:, 2]) + errors(rng, len(X)) / 2
        yield X[:LEARNED], y[:LEARNED], X[LEARNED:], y[LEARNED:]


def measure(make: Callable[[], SEFRRegressor], folds: Iterator[Rows]) -> tuple[list[float], float, int]:
    """Return the part covered by each interval, the width of those of 90 %, and the number of folds."""
    found, widths = [], []
    for X, y, after, truth in folds:
        model = make().fit(X, y)
        covered = []
        for share in SHARES:
            _, low, high = model.predict(after, interval=share)
            covered.append(float(np.mean((low <= truth) & (truth <= high))))
            if share == 0.9:
                widths.append(float(np.mean(high - low) / truth.std()))
        found.append(covered)
    return np.mean(found, axis=0).tolist(), float(np.mean(widths)), len(found)


def main() -> None:
    """Measure, and write."""
    warnings.filterwarnings("ignore")
    drawn: dict[str, Errors] = {
        "drawn, normal errors": lambda rng, n: rng.standard_normal(n),
        "drawn, a few large errors": lambda rng, n: rng.standard_t(3, n),
    }
    lines: list[dict[str, str]] = []
    for name, make, categories in methods():
        if not name.startswith("SEFR"):
            continue
        folds = {table: partial(folds_of_table, table, categories=categories) for table in NUMBERS}
        folds |= {table: partial(drawn_folds, errors) for table, errors in drawn.items()}
        for table, start in folds.items():
            with threadpool_limits(1):
                covered, width, count = measure(make, start())
            parts = {
                f"within_{100 * share:.0f}": f"{part:.3f}"
                for share, part in zip(SHARES, covered, strict=True)
            }
            own = {"method": name, "table": table, "folds": str(count), **parts, "width": f"{width:.3f}"}
            lines.append({**own, "machine": machine(), "commit": commit()})
            print(*list(lines[-1].values())[:-2], flush=True)
    write_lines(HERE / "coverage.csv", lines)


if __name__ == "__main__":
    main()
