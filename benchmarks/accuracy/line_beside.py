"""A line beside the bins of ``interactions=``, which the library does not have: a sketch of it.

    python -m benchmarks.accuracy.line_beside

Writes ``line_beside.csv`` beside this file, a row per table: macro F1 and log loss of rows that were held out
(means over the folds of ``tables.py``) of a model with interactions, and of the same with a weight more per
feature that is a number. Both have the cells, the row weights and the penalty of the library, the line those
of a line by itself; both are minimised by scipy in at most 100 steps, so that they differ in the line alone.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import log_softmax
from sklearn.metrics import f1_score, log_loss
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sefr import SEFRClassifier, _native
from sefr._rows.cells import Cells, Coder
from sefr._weights.hyperplanes import per_class
from sefr._weights.refine import refine
from sefr._weights.refine.thermometer import StepSpace

from ..machine import commit, machine
from ..tables import write_lines
from .table_methods import BINS, INTERACTIONS
from .tables import TABLES, TableOfRows, folds, load, rows_of

HERE = Path(__file__).parent
MOST_STEPS = 100
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """Rows as columns of 0 and 1 for their cells, and features beside them (n, m); m may be 0."""

    space: StepSpace
    cells: csr_matrix
    line: Floats
    y: NDArray[np.int64]
    by_row: Floats  # the weights of the rows, which add up to 1
    n_scores: int

    def split(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the weights of steps and of features, and the intercepts."""
        r, c, m = self.n_scores, self.cells.shape[1], self.line.shape[1]
        steps, line, bias = np.split(point, [r * c, r * (c + m)])
        return steps.reshape(r, c), line.reshape(r, m), bias

    def scores(self, point: Floats, cells: csr_matrix, line: Floats) -> Floats:
        """Return the scores of some rows."""
        steps, weights, bias = self.split(point)
        model = self.space.model(steps, bias)
        return np.asarray(cells @ model.coef.T + model.intercept + line @ weights.T)

    def loss(self, point: Floats) -> tuple[float, Floats]:
        """Return the penalised loss and its derivatives."""
        steps, weights, _ = self.split(point)
        logs = log_softmax(per_class(self.scores(point, self.cells, self.line)), axis=1)
        left = np.exp(logs)
        left[np.arange(len(self.y)), self.y] -= 1
        left *= self.by_row[:, None]
        left = left[:, -self.n_scores :] if self.n_scores == 1 else left
        coef, bias = np.ascontiguousarray((self.cells.T @ left).T), left.sum(axis=0)
        of_cells = 1 / (refine.PRIOR_VARIANCE * self.space.weight_variance * len(self.y))
        of_line = 1 / (refine.PRIOR_VARIANCE * len(self.y))
        value = -self.by_row @ logs[np.arange(len(self.y)), self.y]
        value += (of_cells * (steps**2).sum() + of_line * (weights**2).sum()) / 2
        by_steps, space = np.empty(coef.shape), self.space
        _native.step_slopes(space.steps.begins, space.mean, space.scale, coef, bias, by_steps)
        by_steps += of_cells * steps
        by_line = left.T @ self.line + of_line * weights
        return float(value), np.concatenate([by_steps.ravel(), by_line.ravel(), bias])

    def minimum(self) -> Floats:
        """Return the best point."""
        size = self.n_scores * (self.cells.shape[1] + self.line.shape[1] + 1)
        found = minimize(
            self.loss, np.zeros(size), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS}
        )
        return np.asarray(found.x)


def cells_of(clf: SEFRClassifier, X: Any, coder: Coder) -> csr_matrix:
    """Return rows as columns of 0 and 1."""
    cells = coder.offsets[:-1] + Cells(clf._matrix(X, clf.fitted_), coder).cells
    ends = np.arange(len(cells) + 1) * cells.shape[1]
    return csr_matrix((np.ones(cells.size), cells.ravel(), ends), shape=(len(cells), coder.n_cells))


def measure(table: TableOfRows, train: NDArray[np.intp], test: NDArray[np.intp]) -> dict[str, list[float]]:
    """Return macro F1 and log loss of one fold, without the line and with it."""
    seen: dict[str, Any] = {}
    usual = refine.step_space

    def note(classes: Any, coder: Coder, sampled: Any) -> Any:
        found = usual(classes, coder, sampled)
        seen.update(space=found[0], class_weights=classes.weights)
        return found

    X, y = rows_of(table.frame, train), table.y[train]
    with mock.patch.object(refine, "step_space", note):
        clf = SEFRClassifier(bins=BINS, interactions=INTERACTIONS, passes=2, n_jobs=1).fit(X, y)
    space, of_class = seen["space"], seen["class_weights"]
    before, after = (cells_of(clf, rows_of(table.frame, rows), space.coder) for rows in (train, test))
    scaler = StandardScaler().fit(table.numbers[train])
    unit = 1 / np.sqrt(max(1, table.numbers.shape[1]))
    by_row = of_class[y] / of_class[y].sum()
    rarity = np.log(of_class)
    found: dict[str, list[float]] = {}
    for name, m in (("without", 0), ("with", table.numbers.shape[1])):
        line, others = (unit * scaler.transform(table.numbers[rows])[:, :m] for rows in (train, test))
        problem = Problem(space, before, line, y, by_row, 1 if len(of_class) == 2 else len(of_class))
        scores = per_class(problem.scores(problem.minimum(), after, others))
        chances = np.exp(log_softmax(scores - rarity, axis=1))
        found[name] = [
            100 * f1_score(table.y[test], scores.argmax(axis=1), average="macro"),
            log_loss(table.y[test], np.clip(chances, 1e-12, 1), labels=np.arange(len(of_class))),
        ]
    return found


def main() -> None:
    """Measure and write."""
    warnings.filterwarnings("ignore")
    rows: list[dict[str, str]] = []
    for name in TABLES:
        table = load(name)
        with threadpool_limits(1):
            found = [measure(table, *fold) for fold in folds(table.y)]
        figures: dict[str, str] = {}
        for which in ("without", "with"):
            f1, loss = np.mean([each[which] for each in found], axis=0)
            figures |= {f"f1_{which}": f"{f1:.2f}", f"log_loss_{which}": f"{loss:.4f}"}
        rows.append({"table": name, **figures, "machine": machine(), "commit": commit()})
        print(*list(rows[-1].values())[:-2], flush=True)
        write_lines(HERE / "line_beside.csv", rows)


if __name__ == "__main__":
    main()
