"""Pictures of what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .sets import PAPER, SCIKIT_LEARN


def draw_frontier(results: dict[str, Any], path: Path) -> None:
    """Draw mean macro F1 against the geometric mean of fit times, one panel a group of sets."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (title, group) in zip(
        figure.subplots(1, 2),
        {"the paper's sets at hand": PAPER, "scikit-learn's sets": SCIKIT_LEARN}.items(),
        strict=True,
    ):
        points = {}
        for method, by_set in results.items():
            if all(name in by_set for name in group):
                times = [max(by_set[name]["seconds"], 1e-4) for name in group]
                points[method] = (
                    np.exp(np.mean(np.log(times))),
                    np.mean([by_set[name]["f1"] for name in group]),
                )
        ours = [points[method] for method in points if method.startswith("SEFR")]
        axes.plot(*zip(*ours, strict=True), marker="o", color="C0", label="SEFR, by passes")
        for method, (x, y) in points.items():
            if method.startswith("SEFR"):
                axes.annotate(
                    method.split("=")[1], (x, y), xytext=(4, -12), textcoords="offset points", color="C0"
                )
            else:
                axes.plot(x, y, marker="s", color="0.35")
                axes.annotate(method, (x, y), xytext=(5, 4), textcoords="offset points", fontsize=8)
        axes.set(
            xscale="log", xlabel="seconds to fit (CPU, geometric mean)", ylabel="mean macro F1", title=title
        )
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def draw_reliability(curves: dict[str, Any], path: Path) -> None:
    """Draw how often answers are right against how sure they are, one panel a set."""
    figure = Figure(figsize=(3.2 * len(curves), 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (name, by_passes) in zip(
        figure.subplots(1, len(curves), sharey=True), curves.items(), strict=True
    ):
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for passes, line in by_passes.items():
            said, right, _ = zip(*line["curve"], strict=True)
            axes.plot(said, right, marker="o", markersize=4, label=f"{passes}: Brier {line['brier']:.3f}")
        base = next(iter(by_passes.values()))["base"]
        axes.set(
            title=f"{name}\nbase rates {base:.3f}",
            xlabel="probability of the answer",
            xlim=(0, 1),
            ylim=(0, 1.02),
        )
        axes.legend(fontsize=7, title="passes", title_fontsize=7)
    figure.axes[0].set_ylabel("share that is right")
    figure.savefig(path, dpi=110)
