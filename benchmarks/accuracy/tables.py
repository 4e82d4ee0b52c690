"""Ordinary tables: features cut into bins beside gradient boosting, linear models and forests.

    python -m benchmarks.accuracy.tables FOLDER [--out FOLDER] [--budget SECONDS] [--slow]

FOLDER has files c_NAME.npz with Xn (numbers), Xc (codes of categories) and y. Macro F1, accuracy, log loss,
CPU time to fit and to predict, and bytes of the model, on stratified folds (seed 0): five of ten for
up to 500 rows, five for up to 2,000, else the first two of five. Each method has its defaults and one thread.
Writes tables.csv with machine and commit, two pictures, and prints a table. CatBoost and EBM run with --slow.
"""

from __future__ import annotations

import argparse
import csv
import pickle
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from sefr import SEFRClassifier
from sefr.model_file import dump

from ..host.report import commit, machine
from .methods import boosters

FIGURES = ("f1", "accuracy", "log_loss", "fit_seconds", "predict_seconds", "bytes")
SLOW = ("CatBoost", "EBM")


def table_methods() -> dict[str, tuple[str, Callable[[], Any]]]:
    """Return what each method reads, "frame" or "columns" (categories one-hot), and its maker."""
    found: dict[str, tuple[str, Callable[[], Any]]] = {}
    for passes in (1, 10, 20):
        found[f"SEFR passes={passes}"] = ("columns", lambda p=passes: SEFRClassifier(passes=p))
        found[f"SEFR bins=32 passes={passes}"] = ("frame", lambda p=passes: SEFRClassifier(bins=32, passes=p))
    found["LogisticRegression"] = (
        "columns",
        lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    )
    found["LinearSVC"] = ("columns", lambda: make_pipeline(StandardScaler(), LinearSVC()))
    found["RandomForest"] = ("columns", lambda: RandomForestClassifier(n_jobs=1, random_state=0))
    found["HistGradientBoosting"] = ("columns", lambda: HistGradientBoostingClassifier(random_state=0))
    found |= {name: ("columns", make) for name, make in boosters().items() if name != "linearboost"}
    try:
        from interpret.glassbox import ExplainableBoostingClassifier

        found["EBM"] = ("columns", lambda: ExplainableBoostingClassifier(n_jobs=1))
    except ImportError:
        pass
    return found


def load(path: Path) -> tuple[dict[str, Any], np.ndarray]:
    """Return the rows of a file, as a frame with categories and as columns, and the labels."""
    with np.load(path) as data:
        numbers, codes, y = data["Xn"], data["Xc"], data["y"]
    hot = [(codes[:, [j]] == np.unique(codes[:, j])).astype(float) for j in range(codes.shape[1])]
    columns = np.hstack([numbers, *hot])
    if not codes.shape[1]:
        return {"frame": numbers, "columns": columns}, y
    frame = pd.DataFrame({f"n{j}": numbers[:, j] for j in range(numbers.shape[1])})
    for j in range(codes.shape[1]):
        frame[f"c{j}"] = pd.Categorical(codes[:, j])
    return {"frame": frame, "columns": columns}, y


def folds(y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return training and test rows of each fold that is used."""
    splitter = StratifiedKFold(10 if len(y) <= 500 else 5, shuffle=True, random_state=0)
    return list(splitter.split(y, y))[: 5 if len(y) <= 2000 else 2]


def measure(make: Callable[[], Any], X: Any, y: np.ndarray, budget: float) -> dict[str, float]:
    """Return the means over the folds; after the fold that passes the budget no other is begun."""
    lines, spent = [], 0.0
    for train, test in folds(y):
        rows, others = (X.iloc[at] if hasattr(X, "iloc") else X[at] for at in (train, test))
        with threadpool_limits(1):
            started = time.process_time()
            model = make().fit(rows, y[train])
            fitted = time.process_time()
            answers = model.predict(others)
            predicted = time.process_time()
        loss = np.nan
        if hasattr(model, "predict_proba"):
            loss = log_loss(y[test], np.clip(model.predict_proba(others), 1e-15, 1), labels=np.unique(y))
        stored = dump(model) if isinstance(model, SEFRClassifier) else pickle.dumps(model)
        f1, right = f1_score(y[test], answers, average="macro"), accuracy_score(y[test], answers)
        lines.append((100 * f1, 100 * right, loss, fitted - started, predicted - fitted, len(stored)))
        spent += fitted - started
        if spent > budget:
            break
    return dict(zip(FIGURES, np.mean(lines, axis=0).tolist(), strict=True)) | {"folds": len(lines)}


def draw(results: dict[str, dict[str, dict[str, float]]], figure_of: str, label: str, path: Path) -> None:
    """Draw mean macro F1 against the geometric mean of another figure, a point per method."""
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    most = max(len(by_set) for by_set in results.values())
    for method, by_set in results.items():
        if len(by_set) < most:
            continue
        x = np.exp(np.mean([np.log(max(line[figure_of], 1e-5)) for line in by_set.values()]))
        y = np.mean([line["f1"] for line in by_set.values()])
        ours = "bins" in method, method.startswith("SEFR")
        axes.plot(x, y, "o" if ours[1] else "s", color="C0" if ours[0] else "C1" if ours[1] else "0.4")
        axes.annotate(method, (x, y), xytext=(5, 4), textcoords="offset points", fontsize=8)
    axes.set(xscale="log", xlabel=label, ylabel=f"mean macro F1 of {most} tables")
    axes.margins(x=0.2)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def markdown(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the means over the tables."""
    lines = [
        "| method | tables | F1 | accuracy | log loss | fit, ms | predict, ms | bytes |",
        "|---" * 8 + "|",
    ]
    for method, by_set in results.items():
        mean = {name: np.mean([line[name] for line in by_set.values()]) for name in FIGURES}
        fit, predict = (1e3 * mean[name] for name in ("fit_seconds", "predict_seconds"))
        right = f"{mean['f1']:.2f} | {mean['accuracy']:.2f} | {mean['log_loss']:.3f}"
        cost = f"{fit:.1f} | {predict:.1f} | {mean['bytes']:,.0f}"
        lines.append(f"| {method} | {len(by_set)} | {right} | {cost} |")
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/accuracy"))
    parser.add_argument(
        "--budget", type=float, default=60.0, help="CPU seconds a method may spend on a table"
    )
    parser.add_argument("--slow", action="store_true", help="with CatBoost and EBM")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    results: dict[str, dict[str, dict[str, float]]] = {}
    tables = {path.stem[2:]: load(path) for path in sorted(options.folder.glob("c_*.npz"))}
    for method, (form, make) in table_methods().items():
        if method in SLOW and not options.slow:
            continue
        for name, (X, y) in tables.items():
            line = measure(make, X[form], y, options.budget)
            results.setdefault(method, {})[name] = line
            print(f"{method:24} {name:12} {line['f1']:6.2f} {1e3 * line['fit_seconds']:9.1f} ms", flush=True)
        write(results, options.out)
    print(markdown(results))


def write(results: dict[str, dict[str, dict[str, float]]], folder: Path) -> None:
    """Write what was measured so far, with machine and commit, and draw it."""
    with (folder / "tables.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["machine", "commit", "method", "table", "folds", *FIGURES])
        for method, by_set in results.items():
            for name, line in by_set.items():
                figures = [f"{line[figure]:.6g}" for figure in FIGURES]
                writer.writerow([machine(), commit(), method, name, int(line["folds"]), *figures])
    draw(results, "fit_seconds", "seconds to fit (CPU, geometric mean)", folder / "tables-time.png")
    draw(results, "bytes", "bytes of the model (geometric mean)", folder / "tables-bytes.png")


if __name__ == "__main__":
    main()
