"""Whether probabilities are as sure as they may be: each setting beside one temperature from held-out rows.

    python -m benchmarks.accuracy.probabilities [--only SETTING ...]

Writes ``probabilities.csv`` beside this file, a row per setting and table, of the twelve tables and of the
others (``others.py``): means over their folds, since the rows that one fold holds out of a small table say
little. ``log_loss`` is that of the held-out rows as ``predict_proba`` has it. ``with_temperature`` is what it
would be if log p were multiplied by one number, the best for a quarter of the training rows that a second
model has not seen. ``in_hindsight`` is that of the best number for the held-out rows themselves, which nobody
can know. ``sure`` is the mean probability of the likeliest class, ``right`` how often it is right,
``share_error`` how far the mean probability of a class is from its share of the held-out rows, at most.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from sefr import SEFRClassifier

from ..machine import commit, machine
from ..tables import write_lines
from . import others, tables
from .tables import TableOfRows, folds, rows_of

HERE = Path(__file__).parent
Floats = NDArray[np.float64]
SETTINGS: dict[str, dict[str, Any]] = {
    "the paper": {},
    "passes=10": {"passes": 10},
    "bins=32": {"bins": 32},
    "bins=32, passes=20": {"bins": 32, "passes": 20},
    "bins=32, interactions=100": {"bins": 32, "interactions": 100},
    "bins=32, interactions=100, passes=20": {"bins": 32, "interactions": 100, "passes": 20},
    "moments=2": {"moments": 2},
    "moments=2, bins=32": {"moments": 2, "bins": 32},
    "auto": {"auto": True},
}


def powered(likely: Floats, power: float) -> Floats:
    """Return probabilities whose logarithms are multiplied by a number."""
    logits = power * np.log(np.clip(likely, 1e-12, 1))
    found = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def loss_of(likely: Floats, y: NDArray[np.int64]) -> float:
    """Return the log loss."""
    return float(log_loss(y, np.clip(likely, 1e-12, 1), labels=np.arange(likely.shape[1])))


def best_power(likely: Floats, y: NDArray[np.int64]) -> float:
    """Return the number of the least log loss."""
    found = minimize_scalar(
        lambda t: loss_of(powered(likely, np.exp(t)), y), bounds=(-3, 3), method="bounded"
    )
    return float(np.exp(found.x))


def measure(params: dict[str, Any], table: TableOfRows) -> dict[str, str]:
    """Return the figures of one setting on one table, means over its folds."""
    found = [_fold(params, table, *fold) for fold in folds(table.y)]
    return {name: f"{np.mean([each[name] for each in found]):.4f}" for name in found[0]}


def _fold(
    params: dict[str, Any], table: TableOfRows, train: NDArray[np.intp], test: NDArray[np.intp]
) -> dict[str, float]:
    X = table.frame if params.get("bins") or params.get("auto") else table.columns
    make = partial(SEFRClassifier, n_jobs=1, **params)
    most, quarter = train_test_split(train, test_size=0.25, stratify=table.y[train], random_state=0)
    likely = make().fit(rows_of(X, train), table.y[train]).predict_proba(rows_of(X, test))
    before = make().fit(rows_of(X, most), table.y[most]).predict_proba(rows_of(X, quarter))
    y = table.y[test]
    power, hindsight = best_power(before, table.y[quarter]), best_power(likely, y)
    share = np.bincount(y, minlength=likely.shape[1]) / len(y)
    return {
        "log_loss": loss_of(likely, y),
        "with_temperature": loss_of(powered(likely, power), y),
        "in_hindsight": loss_of(powered(likely, hindsight), y),
        "sure": float(likely.max(axis=1).mean()),
        "right": float((likely.argmax(axis=1) == y).mean()),
        "share_error": float(np.abs(likely.mean(axis=0) - share).max()),
    }


def main() -> None:
    """Measure and write; rows of other settings that are there are kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", default=list(SETTINGS), choices=list(SETTINGS), metavar="SETTING"
    )
    parser.add_argument("--out", type=Path, default=HERE / "probabilities.csv")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows: dict[tuple[str, str], dict[str, str]] = {}
    if options.out.exists():
        with options.out.open() as file:
            rows = {(row["setting"], row["table"]): row for row in csv.DictReader(file)}
    of = dict.fromkeys(tables.TABLES, ("twelve", tables.load))
    of |= dict.fromkeys(others.OTHERS.names, ("others", others.load))
    for name, (group, load) in of.items():
        table = load(name)
        for setting in options.only:
            with threadpool_limits(1):
                found = measure(SETTINGS[setting], table)
            size = {"rows": str(len(table.y)), "classes": str(len(np.unique(table.y)))}
            head = {"setting": setting, "group": group, "table": name, **size}
            rows[setting, name] = {**head, **found, "machine": machine(), "commit": commit()}
        order = [(setting, each) for setting in SETTINGS for each in of if (setting, each) in rows]
        write_lines(options.out, [rows[key] for key in order])
    for setting in options.only:
        mine = [rows[setting, name] for name in of]
        means = [np.mean([float(row[key]) for row in mine]) for key in ("log_loss", "with_temperature")]
        print(f"{setting:40} {means[0]:.4f} {means[1]:.4f}", flush=True)


if __name__ == "__main__":
    main()
