"""Twelve ordinary tables: SEFR with and without bins beside boosting, forests and linear models.

    python -m benchmarks.accuracy.tables [--only METHOD ...] [--tables TABLE ...] [--scores] [--out FILE]

Writes ``tables.csv`` beside this file, a row per method and table: macro F1, accuracy and log loss of rows
that were held out (means over the folds), the CPU time of a fit and of a prediction of the held-out rows (in
one thread; the median over the folds of the least of up to five repetitions), and the bytes of the pickled
model. Folds are stratified and shuffled, seed 0: ten up to 500 rows, else five, of which the first five are
measured, or two above 2,000 rows. Slow methods have fewer folds or tables; ``folds`` says how many they had.
Tables whose first fold took a method longer than it is given are in ``tables_too_slow.csv``.
``--only`` measures some methods and keeps the others' rows; ``--scores`` keeps the times that are there, if
those of other methods, on another machine, are compared with them.
"""

from __future__ import annotations

import argparse
import csv
import pickle
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from ..machine import commit, machine
from ..tables import write_lines
from .sets import BESIDE
from .table_methods import Method, methods

HERE = Path(__file__).parent
TABLES = (
    "ionosphere",
    "pima",
    "vehicle",
    "vowel",
    "german",
    "segment",
    "spambase",
    "phoneme",
    "satimage",
    "magic",
    "adult",
    "letter",
)
REPEATS, ENOUGH = 5, 0.25  # a fit is repeated until it took so many seconds
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


class TableOfRows(NamedTuple):
    """Numbers, categories as codes, and labels."""

    numbers: NDArray[np.float64]
    categories: NDArray[np.int64]
    y: NDArray[np.int64]

    @property
    def frame(self) -> Any:
        """The rows for methods that know categories: a frame, or an array where all is numbers."""
        if not self.categories.shape[1]:
            return self.numbers
        columns: dict[str, Any] = {f"n{j}": column for j, column in enumerate(self.numbers.T)}
        columns |= {f"c{j}": pd.Categorical(column) for j, column in enumerate(self.categories.T)}
        return pd.DataFrame(columns)

    @property
    def columns(self) -> NDArray[np.float64]:
        """The rows for methods that know numbers only: a column of 0 and 1 per category."""
        one_hot = [column[:, None] == np.unique(column) for column in self.categories.T]
        return np.hstack([self.numbers, *one_hot]).astype(np.float64)


def load(name: str) -> TableOfRows:
    """Return one of the tables."""
    with np.load(BESIDE / "tabular" / f"c_{name}.npz", allow_pickle=False) as data:
        y = np.unique(data["y"], return_inverse=True)[1]
        return TableOfRows(data["Xn"].astype(np.float64), data["Xc"].astype(np.int64), y)


class Group(NamedTuple):
    """Tables that are measured together."""

    names: tuple[str, ...]
    load: Callable[[str], TableOfRows]


TWELVE = Group(TABLES, load)


def folds(y: NDArray[np.int64]) -> list[Fold]:
    """Return the training and the held-out rows of each fold that is measured."""
    cut = StratifiedKFold(10 if len(y) <= 500 else 5, shuffle=True, random_state=0)
    return list(cut.split(y, y))[: 5 if len(y) <= 2000 else 2]


def rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a frame or an array."""
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def least_time(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least CPU time of some repetitions of work, and what it returned last."""
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < ENOUGH:
        started = time.process_time()
        result = work()
        times.append(time.process_time() - started)
    return min(times), result


class TooSlowError(Exception):
    """A fold took more CPU time than a method is given."""


@contextmanager
def given_up_after(seconds: float | None) -> Iterator[None]:
    """Raise ``TooSlowError`` if what is done here takes more CPU time, which is looked at every second.

    A limit of the process (``ulimit -t``) would be met anywhere, but some systems count CPU time in steps of
    milliseconds under one.
    """
    if seconds is None:
        yield
        return
    end = time.process_time() + seconds

    def look(_signal: int, _frame: FrameType | None) -> None:
        if time.process_time() > end:
            raise TooSlowError

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Measured(NamedTuple):
    """What one fold said about a method."""

    f1: float
    accuracy: float
    log_loss: float
    fit_s: float
    predict_s: float
    bytes: float


def measure(method: Method, table: TableOfRows, fold: Fold) -> Measured:
    """Fit and predict one fold."""
    train, test = fold
    X, y = table.frame if method.categories else table.columns, table.y
    before, after = rows_of(X, train), rows_of(X, test)
    fit_s, model = least_time(lambda: method.make().fit(before, y[train]))
    predict_s, answers = least_time(lambda: model.predict(after))
    answers = np.asarray(answers).ravel()
    loss = np.nan
    if hasattr(model, "predict_proba"):
        chances = np.clip(model.predict_proba(after), 1e-12, 1)
        loss = log_loss(y[test], chances / chances.sum(axis=1, keepdims=True), labels=np.unique(y))
    return Measured(
        100 * f1_score(y[test], answers, average="macro"),
        100 * accuracy_score(y[test], answers),
        loss,
        fit_s,
        predict_s,
        len(pickle.dumps(model)),
    )


def summed_up(found: list[Measured]) -> dict[str, str]:
    """Return the means over the folds, of times the medians."""
    parts = dict(zip(Measured._fields, np.array(found, dtype=float).T, strict=True))
    times = {name: f"{np.median(parts[name]):.5f}" for name in ("fit_s", "predict_s")}
    scores = {name: f"{parts[name].mean():.2f}" for name in ("f1", "accuracy")}
    loss = "" if np.isnan(parts["log_loss"]).any() else f"{parts['log_loss'].mean():.4f}"
    return {**scores, "log_loss": loss, **times, "bytes": f"{parts['bytes'].mean():.0f}"}


def lines(method: Method, group: Group, only: list[str] | None = None) -> Iterator[dict[str, str]]:
    """Yield a row of the results per table, of all or of some; without them if a fold took too long."""
    where = {"machine": machine(), "commit": commit()}
    for name in group.names if only is None else only:
        table = group.load(name)
        cut = folds(table.y)[: method.most_folds]
        size = {
            "rows": str(len(table.y)),
            "features": str(table.numbers.shape[1] + table.categories.shape[1]),
            "classes": str(len(np.unique(table.y))),
        }
        line = {"method": method.name, "table": name, **size}
        found = []
        try:
            with threadpool_limits(1):
                for fold in cut:
                    with given_up_after(method.most_seconds):
                        found.append(measure(method, table, fold))
        except TooSlowError:
            yield {**line, "given_s": f"{method.most_seconds:g}", **where}
        else:
            yield {**line, "folds": str(len(cut)), **summed_up(found), **where}


def write(path: Path, rows: list[dict[str, str]], order: list[str], names: tuple[str, ...]) -> None:
    """Write the results, methods and tables in their order."""
    rows = sorted(rows, key=lambda row: (order.index(row["method"]), names.index(row["table"])))
    write_lines(path, rows)


def _read(path: Path) -> list[dict[str, str]]:
    """Return the results that are there."""
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def run(of: list[Method], path: Path, description: str, group: Group = TWELVE) -> None:
    """Measure some methods, or those that the command names, and write their rows beside what is there."""
    known = {method.name: method for method in of}
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=list(known), choices=list(known), metavar="METHOD")
    parser.add_argument("--tables", nargs="+", default=None, choices=group.names, metavar="TABLE")
    parser.add_argument("--scores", action="store_true", help="keep the times that are there")
    parser.add_argument("--out", type=Path, default=path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows, slow_path = _read(options.out), options.out.with_name(f"{options.out.stem}_too_slow.csv")
    slow = _read(slow_path)
    others = [row["method"] for row in rows if row["method"] not in known]  # installed elsewhere
    order = [*known, *dict.fromkeys(others)]
    for name in options.only:
        for line in lines(known[name], group, options.tables):
            print(*list(line.values())[:-2], flush=True)
            if "given_s" in line:
                slow = [row for row in slow if (row["method"], row["table"]) != (name, line["table"])]
                slow.append(line)
                write(slow_path, slow, order, group.names)
                continue
            old = [row for row in rows if (row["method"], row["table"]) == (name, line["table"])]
            if options.scores and old:
                line |= {key: old[0][key] for key in ("fit_s", "predict_s", "machine")}
            rows = [row for row in rows if row not in old]
            rows.append(line)
            write(options.out, rows, order, group.names)  # now: the next table may take an hour


if __name__ == "__main__":
    run(methods(), HERE / "tables.csv", __doc__ or "")
