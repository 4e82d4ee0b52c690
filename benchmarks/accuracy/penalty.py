"""A penalty that is chosen for each table, beside the fixed one.

    python -m benchmarks.accuracy.penalty [--only KIND ...]

Writes ``penalty.csv`` beside this file, a row per kind of model and table: macro F1 of rows that were held
out (means over the folds of ``tables.py``). The penalty is 1 over the variance that scores are expected to
have: 1, 10 (the library's), 100 or 1,000. ``held_out`` takes the one whose loss is least on a quarter of the
training rows, which a first fit leaves out; ``leave_one_out`` the one whose estimated leave-one-out loss is
least; ``hindsight`` the best of them, which nobody knows beforehand. ``left_over`` is the library's rule: it
begins with 10 and spends the passes that are left over on weaker penalties, where rows are many. ``--only``
measures some kinds and keeps the others' rows.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from sefr import SEFRClassifier
from sefr._weights.hyperplanes import per_class
from sefr._weights.refine import refine, relax

from ..machine import commit, machine
from ..tables import write_lines
from .others import OTHERS
from .table_methods import BINS, INTERACTIONS
from .tables import TWELVE, Group, TableOfRows, folds, rows_of

HERE = Path(__file__).parent
VARIANCES = (1.0, 10.0, 100.0, 1000.0)


class Kind(NamedTuple):
    """The settings of a model, and tables."""

    bins: int | None
    passes: int
    group: Group = TWELVE
    interactions: int | None = None

    def model(self) -> SEFRClassifier:
        """Return it, as it comes."""
        return SEFRClassifier(bins=self.bins, interactions=self.interactions, passes=self.passes, n_jobs=1)


KINDS = {
    "linear, 20 passes": Kind(None, 20),
    "linear, 100 passes": Kind(None, 100),
    "other sets, linear, 100 passes": Kind(None, 100, OTHERS),
    "bins, 20 passes": Kind(BINS, 20),
    "interactions, 20 passes": Kind(BINS, 20, interactions=INTERACTIONS),
}


def fitted(settings: Kind, variance: float, X: Any, y: NDArray[Any]) -> SEFRClassifier:
    """Return a model of a penalty that stays."""
    stays = mock.patch.object(relax, "FEWEST_LEFT", settings.passes)
    with stays, mock.patch.object(refine, "PRIOR_VARIANCE", variance):
        return settings.model().fit(X, y)


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


def line(settings: Kind, table: TableOfRows) -> dict[str, float]:
    """Return the figures of one table."""
    X, y = table.columns if settings.bins is None else table.frame, table.y
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
        ours = settings.model().fit(rows, labels).predict(others)
        figures["left_over"] = 100 * f1_score(y[test], ours, average="macro")
        for name, value in figures.items():
            found.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="a penalty that is chosen for each table")
    parser.add_argument("--only", nargs="+", default=list(KINDS), choices=list(KINDS), metavar="KIND")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    path, rows = HERE / "penalty.csv", list[dict[str, str]]()
    if path.exists():
        with path.open() as file:
            rows = [row for row in csv.DictReader(file) if row["kind"] not in options.only]
    where = {"machine": machine(), "commit": commit()}
    for kind in options.only:
        settings = KINDS[kind]
        for name in settings.group.names:
            with threadpool_limits(1):
                figures = line(settings, settings.group.load(name))
            said = {key: f"{value:.2f}" for key, value in figures.items()}
            rows.append({"kind": kind, "table": name, **said, **where})
            print(*list(rows[-1].values())[:-2], flush=True)
            write_lines(path, sorted(rows, key=lambda row: list(KINDS).index(row["kind"])))


if __name__ == "__main__":
    main()
