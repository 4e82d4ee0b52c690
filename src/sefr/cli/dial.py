"""``sefr evaluate --passes 1,3,10``: what further passes buy, and what they cost."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..classifier import SEFRClassifier
from ..files.learning import Confusion, FoldAssigner, labelled_rows
from .screen import Screen, bar, grid, seconds


def counts_of(text: str) -> list[int]:
    """Return the numbers of passes in a list such as 1,3,10."""
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = [0]
    if min(counts) < 1:
        raise typer.BadParameter(f"--passes takes whole numbers from 1 up, such as 1,3,10, not {text!r}")
    return sorted(set(counts))


def compare(
    screen: Screen,
    table: Any,
    recipe: Any,
    n_folds: int,
    settings: dict[str, Any],
    counts: list[int],
    plot: str | None,
) -> None:
    """Cross-validate with each number of passes, in memory; show accuracy against the time of training."""
    with screen.progress(table, "reading") as tick:
        X, y = labelled_rows(table, recipe, settings["missing"], tick)
    classes, codes = np.unique(y, return_inverse=True)
    folds = FoldAssigner(n_folds).assign(classes, codes.astype(np.int32))
    lines = [_line(X, y, folds, n_folds, settings, passes) for passes in counts]
    low = min(line["macro_f1"] for line in lines)
    high = max(line["macro_f1"] for line in lines)
    shown = grid(
        "passes", "macro F1", "accuracy", "to train", "", right=["passes", "macro F1", "accuracy", "to train"]
    )
    for line in lines:
        length = (line["macro_f1"] - low) / (high - low) if high > low else 1.0
        shown.add_row(
            str(line["passes"]),
            f"{line['macro_f1']:.4f}",
            f"{line['accuracy']:.4f}",
            seconds(line["seconds"]),
            bar(max(0.02, length)),
        )
    screen.print(shown)
    screen.note(f"{n_folds} folds, {len(y):,} rows; time to train once; bars from {low:.4f} to {high:.4f}")
    if plot:
        _draw(lines, plot)
        screen.note(f"{plot}: macro F1 against the time to train")
    screen.json({"folds": n_folds, "rows": len(y), "dial": lines})


def _line(
    X: NDArray[Any], y: NDArray[Any], folds: NDArray[Any], n_folds: int, settings: dict[str, Any], passes: int
) -> dict[str, Any]:
    confusion, spent = Confusion(), 0.0
    for fold in range(n_folds):
        test = folds == fold
        started = time.perf_counter()
        clf = SEFRClassifier(**(settings | {"passes": passes})).fit(X[~test], y[~test])
        spent += time.perf_counter() - started
        confusion.add(y[test], clf.predict(X[test]))
    report = confusion.report()
    return {
        "passes": passes,
        "macro_f1": report["macro_f1"],
        "accuracy": report["accuracy"],
        "seconds": spent / n_folds,
    }


def _draw(lines: list[dict[str, Any]], path: str) -> None:
    """Draw macro F1 against the time to train."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.plot([line["seconds"] for line in lines], [line["macro_f1"] for line in lines], marker="o")
    for line in lines:
        axes.annotate(
            str(line["passes"]),
            (line["seconds"], line["macro_f1"]),
            xytext=(5, -11),
            textcoords="offset points",
        )
    axes.set(
        xscale="log", xlabel="seconds to train", ylabel="macro F1", title="Passes: accuracy against time"
    )
    axes.grid(alpha=0.3)
    figure.savefig(path)
