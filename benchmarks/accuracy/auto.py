"""``auto=True`` on the twelve tables, beside single settings and LightGBM.

    python -m benchmarks.accuracy.auto [--only TABLE ...] [--scores]
    python -m benchmarks.accuracy.auto --large

Writes ``auto.csv`` beside this file, a row per table: macro F1 and log loss of rows that were held out (means
over the folds of ``tables.py``) of ``auto=True``, and beside them what ``tables.csv`` has of LightGBM and of
the single settings on the same folds. ``share_error`` is how far the mean probability of a class is from its
share of the held-out rows, at most. CPU times are those of a fit of the first fold in one thread; the fits
take turns, so that a machine with other work disturbs all alike, and a ratio is the median over the turns.
The weights are those of the first fold. ``regret`` is how far macro F1 is below that of the best single
setting of ``tables.csv`` and ``moments.csv`` in hindsight. It needs LightGBM. ``--scores`` keeps the times
that are there.

With ``--large`` ``auto_large.csv``: the same times of many drawn rows, one turn, and macro F1 and log loss of
50,000 more.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, log_loss
from threadpoolctl import threadpool_limits

from sefr import SEFRClassifier

from ..host.clock import interleaved, ratio, typical
from ..machine import commit, machine
from ..tables import write_lines
from .table_methods import BINS, INTERACTIONS
from .tables import TABLES, TableOfRows, folds, load, rows_of

HERE = Path(__file__).parent
TURNS, SECONDS, LEAST = 5, 20.0, 0.02
TIMES = ("auto_ms", "ferns_ms", "lightgbm_ms", "auto_over_lightgbm", "auto_over_ferns")
# Rows and classes of large tables, and rows beyond them that are answered.
LARGE, MORE = ((200_000, 2), (200_000, 6), (1_000_000, 2)), 50_000
# What tables.csv has of other methods on the same folds.
BESIDE = {
    "lightgbm": "LightGBM",
    "line": "SEFR, 20 passes",
    "bins": f"SEFR, {BINS} bins, 20 passes",
    "ferns": f"SEFR, {BINS} bins, {INTERACTIONS} interactions, 20 passes",
}


def model() -> SEFRClassifier:
    """Return what is measured."""
    return SEFRClassifier(auto=True, n_jobs=1)


def scores(table: TableOfRows) -> dict[str, str]:
    """Return macro F1, log loss and honesty, as means over the folds, and what the first fold chose."""
    found, chosen = [], None
    for train, test in folds(table.y):
        clf = model().fit(rows_of(table.frame, train), table.y[train])
        after, y = rows_of(table.frame, test), table.y[test]
        likely = clf.predict_proba(after)
        share = np.bincount(y, minlength=likely.shape[1]) / len(y)
        found.append(
            [
                100 * f1_score(y, clf.predict(after), average="macro"),
                log_loss(y, np.clip(likely, 1e-12, 1), labels=np.arange(likely.shape[1])),
                np.abs(likely.mean(axis=0) - share).max(),
            ]
        )
        chosen = chosen or clf.auto_
    f1, loss, error = np.mean(found, axis=0)
    weights: dict[str, float] = {} if chosen is None else dict(chosen.weights)
    return {
        "f1": f"{f1:.2f}",
        "log_loss": f"{loss:.4f}",
        "share_error": f"{error:.4f}",
        **{f"weight_{part}": f"{weights.get(part, 0):.2f}" for part in ("line", "bins", "ferns")},
        "n_ferns": str(0 if chosen is None else chosen.n_ferns),
    }


def side_by_side() -> dict[str, Callable[[], Any]]:
    """Return what is fitted in turns."""
    from lightgbm import LGBMClassifier

    return {
        "auto": model,
        "ferns": partial(SEFRClassifier, bins=BINS, interactions=INTERACTIONS, passes=20, n_jobs=1),
        "lightgbm": lambda: LGBMClassifier(n_jobs=1, verbose=-1),
    }


def times(table: TableOfRows) -> dict[str, str]:
    """Return the CPU times of a fit of the first fold, side by side."""
    train, _ = folds(table.y)[0]
    X, y = rows_of(table.frame, train), table.y[train]
    fits = {name: partial(lambda make: make().fit(X, y), make) for name, make in side_by_side().items()}
    for fit in fits.values():
        fit()  # once before: what is made ready at the first call is no part of a fit
    taken = interleaved(fits, TURNS, seconds=SECONDS, clock=time.process_time, least=LEAST)
    return {
        **{f"{name}_ms": f"{1e3 * typical(taken, name):.4g}" for name in fits},
        "auto_over_lightgbm": f"{ratio(taken, 'auto', 'lightgbm'):.3g}",
        "auto_over_ferns": f"{ratio(taken, 'auto', 'ferns'):.3g}",
    }


def drawn(n_rows: int, n_classes: int) -> tuple[Any, Any]:
    """Return rows of 20 features: of each class a line, curves and products of two features tell a part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 20)).astype(np.float32)
    z = X @ rng.normal(size=(20, n_classes)) / 2 + np.sin(2 * X[:, :10]) @ rng.normal(size=(10, n_classes))
    z += (X[:, :9] * X[:, 1:10]) @ rng.normal(size=(9, n_classes))
    return X, np.argmax(z + rng.gumbel(size=z.shape), axis=1)


def measure_large() -> None:
    """Measure many rows: a turn each, for they take long."""
    lines: list[dict[str, str]] = []
    for n_rows, n_classes in LARGE:
        X, y = drawn(n_rows + MORE, n_classes)
        models: dict[str, Any] = {}
        fits = {
            name: partial(_fit_large, models, name, make, (X[:n_rows], y[:n_rows]))
            for name, make in side_by_side().items()
        }
        with threadpool_limits(1):
            taken = interleaved(fits, 1, clock=time.process_time)
            answers = {name: models[name].predict_proba(X[n_rows:]) for name in fits}
        found = {
            "rows": str(n_rows),
            "features": str(X.shape[1]),
            "classes": str(n_classes),
            **{f"{name}_s": f"{typical(taken, name):.4g}" for name in fits},
            "auto_over_lightgbm": f"{ratio(taken, 'auto', 'lightgbm'):.3g}",
        }
        for name, likely in answers.items():
            found[f"{name}_f1"] = f"{100 * f1_score(y[n_rows:], likely.argmax(axis=1), average='macro'):.2f}"
            found[f"{name}_log_loss"] = f"{log_loss(y[n_rows:], np.clip(likely, 1e-12, 1)):.4f}"
        lines.append({**found, "machine": machine(), "commit": commit()})
        print(*list(lines[-1].values())[:-2], flush=True)
        write_lines(HERE / "auto_large.csv", lines)


def _fit_large(models: dict[str, Any], name: str, make: Callable[[], Any], rows: tuple[Any, Any]) -> None:
    models[name] = make().fit(*rows)


def known() -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of ``tables.csv``, by method and table."""
    with (HERE / "tables.csv").open() as file:
        return {(row["method"], row["table"]): row for row in csv.DictReader(file)}


def regret(name: str, f1: str) -> dict[str, str]:
    """Return the single setting that is the best on a table in hindsight, and its macro F1 above auto's."""
    ours = {method: float(row["f1"]) for (method, of), row in known().items() if of == name}
    with (HERE / "moments.csv").open() as file:
        ours |= {row["method"]: float(row["f1"]) for row in csv.DictReader(file) if row["table"] == name}
    ours = {method: own for method, own in ours.items() if method.startswith(("SEFR", "second moments"))}
    best = max(ours, key=lambda method: ours[method])
    return {
        "best_setting": best,
        "best_setting_f1": f"{ours[best]:.2f}",
        "regret": f"{ours[best] - float(f1):.2f}",
    }


def line(name: str, before: dict[str, str] | None = None) -> dict[str, str]:
    """Return the results of one table, with the times of before, if there are any."""
    table, others = load(name), known()
    beside = {
        f"{short}_{value}": others[method, name][value]
        for short, method in BESIDE.items()
        for value in ("f1", "log_loss")
    }
    with threadpool_limits(1):
        found = scores(table) | beside
        found |= times(table) if before is None else {key: before[key] for key in before if key in TIMES}
    found |= regret(name, found["f1"])
    where = machine() if before is None else before["machine"]
    return {"table": name, "rows": str(len(table.y)), **found, "machine": where, "commit": commit()}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="auto=True on the twelve tables")
    parser.add_argument("--only", nargs="+", default=list(TABLES), choices=list(TABLES), metavar="TABLE")
    parser.add_argument("--scores", action="store_true", help="keep the times that are there")
    parser.add_argument("--large", action="store_true", help="many drawn rows instead")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.large:
        measure_large()
        return
    path = HERE / "auto.csv"
    rows: dict[str, dict[str, str]] = {}
    if path.exists():
        with path.open() as file:
            rows = {row["table"]: row for row in csv.DictReader(file)}
    for name in options.only:
        rows[name] = line(name, rows.get(name) if options.scores else None)
        print(*list(rows[name].values())[:-2], flush=True)
        write_lines(path, [rows[each] for each in TABLES if each in rows])


if __name__ == "__main__":
    main()
