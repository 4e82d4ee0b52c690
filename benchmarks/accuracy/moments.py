"""Second moments on the twelve tables and on five tables of numbers, and what each choice is worth.

    python -m benchmarks.accuracy.moments [--only METHOD ...]
    python -m benchmarks.accuracy.moments --numbers
    python -m benchmarks.accuracy.moments --passes

Writes ``moments.csv`` beside this file, with the columns and the folds of ``tables.csv``, beside LightGBM in
the same run; with ``--numbers`` ``moments_numbers.csv``: R2 of rows that were held out (means over the folds,
cut by the same rule) and the CPU time of a fit, beside scikit-learn's RidgeCV and LightGBM. Models are solved
from sums alone; edges and ferns are chosen by the library before rows are counted. A line is of features as
they are, categories a column of 0 and 1 each.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import RidgeCV
from sklearn.metrics import f1_score, log_loss, r2_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sefr import SEFRClassifier, Summary
from sefr._answers import learn
from sefr._rows.cells import Cut, code_matrix
from sefr._rows.inputs import matrix_of, read_rows
from sefr._rows.matrix import Grouping, Matrix
from sefr._summary.multiply import products
from sefr._summary.products import Products
from sefr._weights import moments
from sefr._weights.hyperplanes import Hyperplanes, planes_of
from sefr._weights.refine.refine import Refined, Start, carried_over, refine

from ..machine import commit, machine
from ..tables import write_lines
from .sets import BESIDE
from .table_methods import Method
from .table_methods import methods as other_methods
from .tables import TABLES, Fold, TableOfRows, folds, least_time, load, rows_of, run

HERE = Path(__file__).parent
NUMBERS = ("diabetes", "concrete", "abalone", "bike", "california")
PASSES = (3, 10, 20)
ON_NUMBERS = (
    "line",
    "16 bins",
    "32 bins",
    "64 bins",
    "32 bins, no lines",
    "32 bins, lines of 8",
    "32 bins, generalised cross-validation",
)
Changes = dict[str, Any]
BY_LIKELIHOOD = moments.ridge_regressions


def generalised_cross_validation(
    tridiagonal: moments.Tridiagonal,
    power: NDArray[Any],
    count: float,
    ridge: float | None,
    *,
    together: bool,
    cost: float = 1.4,
) -> moments.Ridges:
    """Return them with the ridge of the least generalised cross-validation, so much per degree of freedom."""
    values, vectors = eigh_tridiagonal(tridiagonal.diagonal, tridiagonal.beside)
    values, rotated = np.maximum(values, 0), vectors.T @ tridiagonal.rotated
    losses = []
    for penalty in moments.RIDGES * count:
        share = 1 / (values + penalty)[:, None]
        left = power - (rotated**2 * (share + penalty * share**2)).sum(axis=0)
        degrees = count - 1 - cost * (values[:, None] * share).sum()
        losses.append(float((left / degrees**2).sum()) if degrees > 0 else np.inf)
    least = float(moments.RIDGES[np.argmin(losses)])
    return BY_LIKELIHOOD(tridiagonal, power, count, least, together=together)


def finite(found: Products | None) -> Products:
    """Return products; the tables have no values that are not finite."""
    if found is None:
        raise ValueError("a value is not finite")
    return found


class SecondMoments(BaseEstimator):  # type: ignore[misc]
    """What both tasks share: cells, and constants of the module that are changed."""

    def __init__(
        self, bins: int | None = None, interactions: int | None = None, changes: Changes | None = None
    ) -> None:
        self.bins = bins
        self.interactions = interactions
        self.changes = changes

    def _changed(self) -> ExitStack:
        stack = ExitStack()
        for name, value in (self.changes or {}).items():
            stack.enter_context(mock.patch.object(moments, name, value))
        return stack

    def _read(self, X: Any, y: NDArray[Any]) -> Any:
        rows, _ = read_rows(X, y, None, Cut.of(self.bins, "minmax", "error", self.interactions, 2))
        self.coder_ = rows.matrix.coder
        if self.coder_ is not None and hasattr(rows.matrix, "cells"):
            _ = rows.matrix.cells  # coded once
        return rows

    def _matrix(self, X: Any) -> Matrix:
        if self.coder_ is None:
            return matrix_of(X)
        return code_matrix(matrix_of(X, self.coder_.categories), self.coder_)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        own = self.solution_
        return self._matrix(X).scores(own.weights, own.level - own.weights @ own.centre)


class Classifier(ClassifierMixin, SecondMoments):  # type: ignore[misc]
    """A discriminant of second moments under other constants than those of the library."""

    def fit(self, X: Any, y: NDArray[Any]) -> Classifier:
        """Cut, count, solve."""
        rows = self._read(X, y)
        self.classes_ = rows.classes
        raw = rows.matrix.summarise(Grouping(rows.codes, None, len(rows.classes)))
        found = finite(products(rows.matrix))
        sums = raw.sums - raw.counts[:, None] * found.origin
        with self._changed():
            self.solution_ = moments.solve_classes(
                found, raw.counts, sums, coder=self.coder_, power=moments.PRIOR_POWER
            )
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        return np.asarray(self.classes_[self._scores(X).argmax(axis=1)])


class Regressor(RegressorMixin, SecondMoments):  # type: ignore[misc]
    """A ridge regression of second moments."""

    def fit(self, X: Any, y: NDArray[Any]) -> Regressor:
        """Cut, count, solve."""
        rows = self._read(X, np.zeros(len(y), dtype=int))
        found = finite(products(rows.matrix, targets=y[:, None]))
        with self._changed():
            self.solution_ = moments.solve_numbers(found, coder=self.coder_)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the number of each row."""
        return self._scores(X)[:, 0]


VARIANTS: dict[str, tuple[int | None, int | None, Changes]] = {
    "line": (None, None, {}),
    "line, priors are shares": (None, None, {"PRIOR_POWER": 1.0}),
    "16 bins": (16, None, {}),
    "32 bins": (32, None, {}),
    "64 bins": (64, None, {}),
    "32 bins, no lines": (32, None, {"LINE_UNIT": 1e-6}),
    "32 bins, lines of 8": (32, None, {"LINE_UNIT": 8.0}),
    "32 bins, steps standardised": (32, None, {"STEP_POWER": 1.0}),
    "32 bins, steps as they are": (32, None, {"STEP_POWER": 0.0}),
    "32 bins, priors are shares": (32, None, {"PRIOR_POWER": 1.0}),
    "32 bins, generalised cross-validation": (32, None, {"ridge_regressions": generalised_cross_validation}),
    "16 bins, 40 ferns": (16, 40, {}),
    "32 bins, 40 ferns": (32, 40, {}),
    "32 bins, 40 ferns of 0.25": (32, 40, {"FERN_UNIT": 0.25}),
    "32 bins, 40 ferns of 1": (32, 40, {"FERN_UNIT": 1.0}),
}


def methods() -> list[Method]:
    """Return what is measured on the twelve tables."""
    ours = []
    for name, (bins, interactions, changes) in VARIANTS.items():
        make = partial(SEFRClassifier, moments=2, bins=bins, interactions=interactions)
        if changes:
            make = partial(Classifier, bins, interactions, changes)
        ours.append(Method(f"second moments, {name}", make, categories=bins is not None))
    return [*ours, *(method for method in other_methods() if method.name == "LightGBM")]


def number_methods() -> Iterator[tuple[str, Callable[[], Any], bool]]:
    """Yield what is measured on tables of numbers: a name, how it is made, whether it knows categories."""
    for name in ON_NUMBERS:
        own = VARIANTS[name]
        yield f"second moments, {name}", partial(Regressor, *own), own[0] is not None
    yield "RidgeCV", lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))), False
    from lightgbm import LGBMRegressor

    yield "LightGBM", lambda: LGBMRegressor(n_jobs=1, verbose=-1), True


def load_numbers(name: str) -> TableOfRows:
    """Return one of the tables of numbers."""
    with np.load(BESIDE / "tabular" / f"r_{name}.npz", allow_pickle=False) as data:
        y = data["y"].astype(np.float64)
        return TableOfRows(data["Xn"].astype(np.float64), data["Xc"].astype(np.int64), y)


def number_folds(y: NDArray[Any]) -> list[Fold]:
    """Return the folds of a table of numbers: as many as of a table with labels."""
    cut = KFold(10 if len(y) <= 500 else 5, shuffle=True, random_state=0)
    return list(cut.split(y))[: 5 if len(y) <= 2000 else 2]


def measure_fold(make: Callable[[], Any], X: Any, y: NDArray[Any], fold: Fold) -> tuple[float, float]:
    """Return R2 of the rows that one fold holds out, and the time of its fit."""
    train, test = fold
    before = rows_of(X, train)
    fit_s, model = least_time(lambda: make().fit(before, y[train]))
    return r2_score(y[test], model.predict(rows_of(X, test))), fit_s


def measure_numbers() -> None:
    """Measure tables of numbers, and write."""
    lines: list[dict[str, str]] = []
    where = {"machine": machine(), "commit": commit()}
    for name, make, categories in number_methods():
        for table in NUMBERS:
            rows = load_numbers(table)
            X, y = rows.frame if categories else rows.columns, rows.y
            with threadpool_limits(1):
                found = [measure_fold(make, X, y, fold) for fold in number_folds(y)]
            r2, fit_s = np.mean(found, axis=0)[0], np.median(found, axis=0)[1]
            said = {"rows": str(len(y)), "folds": str(len(found)), "r2": f"{r2:.4f}", "fit_s": f"{fit_s:.5f}"}
            lines.append({"method": name, "table": table, **said, **where})
            print(*list(lines[-1].values())[:-2], flush=True)
            write_lines(HERE / "moments_numbers.csv", lines)


def fit_from_moments(X: Any, y: NDArray[Any], settings: Changes) -> SEFRClassifier:
    """Return a model of further passes that start at the solution of second moments."""
    exact = SEFRClassifier(**{**settings, "passes": 1}, moments=2).fit(X, y).fitted_

    def started(summary: Summary, sefr: Hyperplanes, *others: Any) -> Refined | None:
        weights, bias = carried_over(Refined(exact.planes, exact.midpoints, ()), sefr.scaling)
        start = Refined(planes_of(sefr.scaling, weights, bias), exact.midpoints, ())
        return refine(summary, sefr, *others, start=Start(start))

    with mock.patch.object(learn, "refine", started):
        return SEFRClassifier(**settings).fit(X, y)


def measure_passes() -> None:
    """Measure passes by where they start, and write."""
    found: list[dict[str, str]] = []
    where = {"machine": machine(), "commit": commit()}
    for table in TABLES:
        rows = load(table)
        for bins in (None, 32):
            X, y = rows.columns if bins is None else rows.frame, rows.y
            for passes in PASSES:
                settings = {"bins": bins, "passes": passes}
                ways = {
                    "usual": lambda X, y, of=settings: SEFRClassifier(**of).fit(X, y),
                    "second moments": partial(fit_from_moments, settings=settings),
                }
                for start, fit in ways.items():
                    with threadpool_limits(1):
                        own = [measure_passes_fold(fit, X, y, fold) for fold in folds(y)[:2]]
                    f1, loss, minimised, fit_s = np.mean(own, axis=0)
                    said = {
                        "start": start,
                        "bins": str(bins or ""),
                        "passes": str(passes),
                        "table": table,
                        "f1": f"{f1:.2f}",
                        "log_loss": f"{loss:.4f}",
                        "minimised": f"{minimised:.5f}",
                        "fit_s": f"{fit_s:.5f}",
                    }
                    found.append({**said, **where})
                    print(*said.values(), flush=True)
        write_lines(HERE / "moments_passes.csv", found)


def measure_passes_fold(
    fit: Callable[[Any, Any], Any], X: Any, y: NDArray[Any], fold: Fold
) -> tuple[float, float, float, float]:
    """Return macro F1 and log loss of the rows that are held out, the loss minimised, and the time."""
    train, test = fold
    before, after = rows_of(X, train), rows_of(X, test)
    fit_s, model = least_time(lambda: fit(before, y[train]))
    f1 = 100 * f1_score(y[test], model.predict(after), average="macro")
    loss = log_loss(y[test], model.predict_proba(after), labels=np.unique(y))
    return f1, loss, model.loss_curve_[-1], fit_s


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    if "--numbers" in sys.argv:
        measure_numbers()
    elif "--passes" in sys.argv:
        measure_passes()
    else:
        run(methods(), HERE / "moments.csv", __doc__ or "")
