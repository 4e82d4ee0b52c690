"""SEFRRegressor on five tables of numbers, beside linear models and boosting.

    python -m benchmarks.accuracy.regression [--only METHOD ...] [--tables TABLE ...] [--out FILE]
    python -m benchmarks.accuracy.regression --large

Writes ``regression.csv`` beside this file, a row per method and table: R2 and mean absolute error of rows
that were held out (means over the folds of ``moments.py``, the same for every method), the CPU time of a fit
and of a prediction (in one thread; medians), and, of methods that have intervals, the part of the held-out
rows that lie within those of 90 %. A line is of features as they are, categories a column of 0 and 1 each;
bins and boosting know categories. EBM is measured on one fold. With ``--large``
``regression_large.csv``: the CPU time of a fit of a million drawn rows of 40 features, and R2 of 100,000
more. A fit of SEFR includes the solution, which otherwise waits until it is asked for.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sefr import SEFRRegressor

from ..machine import commit, machine
from ..tables import write_lines
from .moments import NUMBERS, load_numbers, number_folds
from .tables import Fold, TableOfRows, least_time, rows_of

HERE = Path(__file__).parent
SHARE, LARGE = 0.9, 1_000_000
# What a million rows are not measured with.
LEFT_OUT = (
    "SEFR, 64 bins",
    "SEFR, 32 bins, 120 interactions",
    "RidgeCV",
    "HistGradientBoosting",
    "CatBoost",
    "EBM",
)
# What is measured on one fold.
SLOW = ("EBM",)


class Measured(NamedTuple):
    """What one fold said about a method."""

    r2: float
    mae: float
    coverage: float  # NaN if it has no intervals
    fit_s: float
    predict_s: float


def methods() -> Iterator[tuple[str, Callable[[], Any], bool]]:
    """Yield a name, how it is made, and whether it knows categories."""
    yield "SEFR, line", SEFRRegressor, False
    for bins in (16, 32, 64):
        yield f"SEFR, {bins} bins", lambda bins=bins: SEFRRegressor(bins=bins), True
    yield "SEFR, auto", lambda: SEFRRegressor(auto=True), True
    for count in (30, 120):
        made = {"bins": 32, "interactions": count}
        yield f"SEFR, 32 bins, {count} interactions", lambda made=made: SEFRRegressor(**made), True
    yield "LinearRegression", LinearRegression, False
    yield "RidgeCV", lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))), False
    known = {"categorical_features": "from_dtype", "random_state": 0}
    yield "HistGradientBoosting", lambda: HistGradientBoostingRegressor(**known), True
    from lightgbm import LGBMRegressor

    yield "LightGBM", lambda: LGBMRegressor(n_jobs=1, verbose=-1), True
    from catboost import CatBoostRegressor

    quiet = {"thread_count": 1, "verbose": 0, "allow_writing_files": False, "random_seed": 0}
    yield "CatBoost", lambda: CatBoostRegressor(**quiet), False
    from interpret.glassbox import ExplainableBoostingRegressor

    yield "EBM", lambda: ExplainableBoostingRegressor(n_jobs=1), True


def fitted(model: Any, X: Any, y: Any) -> Any:
    """Return a model that has learned all that it needs to predict."""
    model.fit(X, y)
    if isinstance(model, SEFRRegressor):
        _ = model.fitted_.model
    return model


def measure(make: Callable[[], Any], table: TableOfRows, categories: bool, fold: Fold) -> Measured:
    """Fit and predict one fold."""
    X, y = table.frame if categories else table.columns, table.y
    train, test = fold
    before, after = rows_of(X, train), rows_of(X, test)
    fit_s, model = least_time(lambda: fitted(make(), before, y[train]))
    predict_s, answers = least_time(lambda: model.predict(after))
    coverage = np.nan
    if isinstance(model, SEFRRegressor):
        _, low, high = model.predict(after, interval=SHARE)
        coverage = float(np.mean((low <= y[test]) & (y[test] <= high)))
    error = mean_absolute_error(y[test], answers)
    return Measured(r2_score(y[test], answers), error, coverage, fit_s, predict_s)


def line(name: str, table: str, rows: TableOfRows, found: list[Measured]) -> dict[str, str]:
    """Return a row of the results: means over the folds, of times the medians."""
    parts = dict(zip(Measured._fields, np.array(found).T, strict=True))
    coverage = parts["coverage"].mean()
    return {
        "method": name,
        "table": table,
        "rows": str(len(rows.y)),
        "folds": str(len(found)),
        "r2": f"{parts['r2'].mean():.4f}",
        "mae": f"{parts['mae'].mean():.4g}",
        "coverage": "" if np.isnan(coverage) else f"{coverage:.3f}",
        "fit_s": f"{np.median(parts['fit_s']):.5f}",
        "predict_s": f"{np.median(parts['predict_s']):.5f}",
        "machine": machine(),
        "commit": commit(),
    }


def measure_large() -> None:
    """Measure a million rows: a line and curves of half of the features, and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(LARGE + LARGE // 10, 40)) @ rng.normal(size=(40, 40))
    z = X / X.std(axis=0)
    y = z @ rng.normal(size=40) + np.sin(2 * z[:, :20]) @ rng.normal(size=20) + rng.normal(size=len(X))
    lines: list[dict[str, str]] = []
    for name, make, _ in methods():
        if name in LEFT_OUT:
            continue
        with threadpool_limits(1):
            started = time.process_time()
            model = fitted(make(), X[:LARGE], y[:LARGE])
            seconds = time.process_time() - started
            r2 = r2_score(y[LARGE:], model.predict(X[LARGE:]))
        said = {
            "method": name,
            "rows": str(LARGE),
            "features": "40",
            "r2": f"{r2:.4f}",
            "fit_s": f"{seconds:.2f}",
        }
        lines.append({**said, "machine": machine(), "commit": commit()})
        print(*list(lines[-1].values())[:-2], flush=True)
        write_lines(HERE / "regression_large.csv", lines)


def main() -> None:
    """Measure, and write."""
    warnings.filterwarnings("ignore")
    if "--large" in sys.argv:
        measure_large()
        return
    of = list(methods())
    order = [name for name, _, _ in of]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=order, choices=order, metavar="METHOD")
    parser.add_argument("--tables", nargs="+", default=NUMBERS, choices=NUMBERS, metavar="TABLE")
    parser.add_argument("--out", type=Path, default=HERE / "regression.csv")
    options = parser.parse_args()
    lines = list(csv.DictReader(options.out.open())) if options.out.exists() else []
    for table in options.tables:  # one method after the other: a machine that is busy is so for all
        rows = load_numbers(table)
        for name, make, categories in of:
            if name not in options.only:
                continue
            folds = number_folds(rows.y)[: 1 if name in SLOW else None]
            with threadpool_limits(1):
                found = [measure(make, rows, categories, fold) for fold in folds]
            lines = [own for own in lines if (own["method"], own["table"]) != (name, table)]
            lines.append(line(name, table, rows, found))
            print(*list(lines[-1].values())[:-2], flush=True)
        lines.sort(key=lambda own: (order.index(own["method"]), NUMBERS.index(own["table"])))
        write_lines(options.out, lines)


if __name__ == "__main__":
    main()
