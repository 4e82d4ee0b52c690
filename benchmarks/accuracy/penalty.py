"""A penalty that is chosen for each table, beside the fixed one.

    python -m benchmarks.accuracy.penalty

Writes ``penalty.csv`` beside this file, a row per kind of model and table: macro F1 of rows that were held
out (means over the folds of ``tables.py``). The penalty is 1 over the variance that scores are expected to
have: 1, 10 (the library's), 100 or 1,000. ``held_out`` takes the one whose loss is least on a quarter of the
training rows, which a first fit leaves out; ``leave_one_out`` the one whose estimated leave-one-out loss is
least; ``hindsight`` the best, which nobody knows beforehand.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from sefr import SEFRClassifier
from sefr._weights.hyperplanes import per_class
from sefr._weights.refine import refine

from ..machine import commit, machine
from ..tables import write_lines
from .table_methods import BINS
from .tables import TABLES, TableOfRows, folds, load, rows_of

HERE = Path(__file__).parent
VARIANCES = (1.0, 10.0, 100.0, 1000.0)
KINDS = {"linear, 20 passes": (None, 20), "linear, 100 passes": (None, 100), "bins, 20 passes": (BINS, 20)}


def fitted(settings: tuple[int | None, int], variance: float, X: Any, y: NDArray[Any]) -> SEFRClassifier:
    """Return a model of a penalty."""
    bins, passes = settings
    with mock.patch.object(refine, "PRIOR_VARIANCE", variance):
        return SEFRClassifier(bins=bins, passes=passes, n_jobs=1).fit(X, y)


def leave_one_out(clf: SEFRClassifier) -> float:
    """Return the loss of training rows as if each had been left out, as the model estimates it."""
    refined = clf.fitted_.refined
    if refined is None or refined.held_out is None:
        return np.inf
    seen = refined.held_out
    chances = log_softmax(per_class(seen.scores), axis=1)[np.arange(len(seen.codes)), seen.codes]
    return float(-(seen.weights @ chances) / seen.weights.sum())


def held_out(clf: SEFRClassifier, X: Any, y: NDArray[Any]) -> float:
    """Return the loss of rows that the model has not seen."""
    return float(log_loss(y, np.clip(clf.predict_proba(X), 1e-12, 1), labels=clf.classes_))


def line(kind: str, table: TableOfRows) -> dict[str, float]:
    """Return the figures of one table."""
    settings = KINDS[kind]
    X, y = table.columns if settings[0] is None else table.frame, table.y
    found: dict[str, list[float]] = {}
    for train, test in folds(y):
        rows, labels, others = rows_of(X, train), y[train], rows_of(X, test)
        models = {each: fitted(settings, each, rows, labels) for each in VARIANCES}
        scores = {
            each: 100 * f1_score(y[test], clf.predict(others), average="macro")
            for each, clf in models.items()
        }
        most, few = train_test_split(np.arange(len(train)), test_size=0.25, random_state=0, stratify=labels)
        tried = {each: fitted(settings, each, rows_of(rows, most), labels[most]) for each in VARIANCES}
        losses = {each: held_out(clf, rows_of(rows, few), labels[few]) for each, clf in tried.items()}
        left_out = {each: leave_one_out(clf) for each, clf in models.items()}
        figures = {f"variance_{each:g}": value for each, value in scores.items()}
        figures["held_out"] = scores[min(losses, key=lambda each: losses[each])]
        figures["leave_one_out"] = scores[min(left_out, key=lambda each: left_out[each])]
        figures["hindsight"] = max(scores.values())
        for name, value in figures.items():
            found.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    """Measure and write."""
    warnings.filterwarnings("ignore")
    rows: list[dict[str, str]] = []
    where = {"machine": machine(), "commit": commit()}
    for kind in KINDS:
        for name in TABLES:
            with threadpool_limits(1):
                figures = line(kind, load(name))
            said = {key: f"{value:.2f}" for key, value in figures.items()}
            rows.append({"kind": kind, "table": name, **said, **where})
            print(*list(rows[-1].values())[:-2], flush=True)
            write_lines(HERE / "penalty.csv", rows)


if __name__ == "__main__":
    main()
