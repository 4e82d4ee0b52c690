"""The pictures, as SVG that follows the page: ink is ``currentColor``, so it turns light on a dark page."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from laboratory import gisette_shape
from laboratory.journal import Row
from laboratory.methods import METHODS
from laboratory.tables import Cell
from sefr._system.types import Fields
from sefr.displays import colour_map

if TYPE_CHECKING:
    pass


# Inches. A figure is drawn twice: for a desk, and for a phone at its own width, so that no letter is shrunk.
_WIDE = 9.2
_NARROW = 3.9

# Matplotlib cannot draw in currentColor, so ink is drawn in a colour that nothing else has and replaced.
_INK = "#0b0c0d"
_MUTED = "#0b0c0e"

# One hue per method, told apart by marker as well; SEFR's is the accent of the page.
_STYLE = {
    "lightgbm": ("#7f9f3f", "s"),
    "xgboost": ("#b5762a", "D"),
    "catboost": ("#a05fa8", "^"),
    "decision_tree": ("#6f8fb0", "v"),
    "random_forest": ("#3f9f8f", "P"),
    "naive_bayes": ("#8a8a8a", "X"),
    "svm": ("#c05f5f", "o"),
    "sefr": ("#2f6fde", "*"),
    "sefr_two_pass": ("#2f6fde", "o"),
}


@contextmanager
def _drawing(name: str, width: float, height: float, **grid: Any) -> Iterator[tuple[Any, Any, io.StringIO]]:
    """Yield (figure, axes, text); the text is the SVG once the block has ended."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.family": "sans-serif",
        "font.size": 9,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "axes.edgecolor": _MUTED,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "xtick.color": _MUTED,
        "ytick.color": _MUTED,
        "xtick.labelcolor": _INK,
        "ytick.labelcolor": _INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": _MUTED,
        "grid.alpha": 0.15,
        "grid.linewidth": 0.6,
        "legend.frameon": False,
    }
    text = io.StringIO()
    with mpl.rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(**grid)
        yield figure, axes, text
        raw = io.StringIO()
        figure.savefig(raw, format="svg", metadata={"Date": None, "Creator": None})
    text.write(_for_the_page(raw.getvalue(), name))


def _for_the_page(svg: str, name: str) -> str:
    """Return the <svg> element alone, in the page's ink and font, sized by the page."""
    body = svg[svg.index("<svg") :]
    body = body.replace(_INK, "currentColor").replace(_MUTED, "currentColor")
    head, rest = body.split(">", 1)
    view = head[head.index('viewBox="') :].split('"')[1]
    return f'<svg class="figure" id="figure-{name}" viewBox="{view}" role="img" ' + (
        f'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{rest}'
    )


def scalability(rows: Iterable[Row], narrow: bool = False) -> str:
    """Figure 1: run time by records and by features; empty where nothing was measured."""
    points = [row for row in rows if row.experiment == "scalability" and row.cpu_seconds is not None]
    if not points:
        return ""
    by_method: dict[str, list[tuple[int, int, float]]] = defaultdict(list)
    for row in points:
        by_method[row.method].append((*gisette_shape.parse(row.variant), row.cpu_seconds or 0.0))
    records = max(r for curve in by_method.values() for r, _, _ in curve)
    features = _common_features(by_method)
    lines, columns = (2, 1) if narrow else (1, 2)
    size = (_NARROW, 7.4) if narrow else (_WIDE, 4.2)
    with _drawing(_name("scalability", narrow), *size, nrows=lines, ncols=columns, sharey=True) as drawn:
        figure, axes, text = drawn
        for method in METHODS:
            curve = by_method.get(method, [])
            colour, marker = _STYLE[method]
            strong = method.startswith("sefr")
            look = {
                "color": colour,
                "marker": marker,
                "markersize": 7 if method == "sefr" else 4.5,
                "linewidth": 2.2 if strong else 1.2,
                "linestyle": "--" if method == "sefr_two_pass" else "-",
                "label": METHODS[method].title if curve else None,
            }
            along = sorted((r, s) for r, f, s in curve if f == features)
            across = sorted((f, s) for r, f, s in curve if r == records)
            if along:
                axes[0].plot(*zip(*along, strict=True), **look)
            if across:
                axes[1].plot(*zip(*across, strict=True), **look)
        axes[0].set(xlabel=f"records ({features:,} features)", ylabel="CPU seconds, one fold", yscale="log")
        axes[1].set(
            xlabel=f"features ({records:,} records)", ylabel="CPU seconds, one fold" if narrow else None
        )
        for axis in axes:
            axis.grid(True, which="major")
        place: Fields = {"loc": "outside right center"}
        if narrow:
            place = {"loc": "outside lower center", "ncols": 2}
        figure.legend(*axes[0].get_legend_handles_labels(), **place)
        note = points[0].note
        figure.suptitle(f"{note}: the real one is not at hand" if note else "Gisette", fontsize=9)
    return text.getvalue()


def _common_features(by_method: dict[str, list[tuple[int, int, float]]]) -> int:
    """Return the number of features that the curve by records is drawn for: the one with the most points."""
    counts: dict[int, int] = defaultdict(int)
    for curve in by_method.values():
        for _, features, _ in curve:
            counts[features] += 1
    return max(counts, key=lambda features: counts[features])


def _name(figure: str, narrow: bool) -> str:
    return f"{figure}-narrow" if narrow else figure


def weights(scores: NDArray[np.float64], narrow: bool = False) -> str:
    """Figure 2: the weights of Semeion, ten images of 16 x 16 (``scores``: 10 x 256, + is for the digit)."""
    lines, columns = (4, 3) if narrow else (2, 5)
    size = (_NARROW, 5.9) if narrow else (_WIDE, 4.1)
    with _drawing(_name("weights", narrow), *size, nrows=lines, ncols=columns) as (figure, axes, text):
        for axis in list(axes.flat)[len(scores) :]:
            axis.set_axis_off()
        for digit, axis in enumerate(list(axes.flat)[: len(scores)]):
            image = axis.imshow(
                scores[digit].reshape(16, 16), cmap=colour_map(), vmin=-1, vmax=1, interpolation="nearest"
            )
            axis.set_title(str(digit), fontsize=10)
            axis.set(xticks=[], yticks=[])
            for side in axis.spines.values():
                side.set_visible(False)
        edge = "bottom" if narrow else "right"
        ticks = [-1, -0.5, 0, 0.5, 1]
        bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02, location=edge, ticks=ticks)
        bar.outline.set_visible(False)
        bar.set_label("weight: speaks against … for the digit")
    return text.getvalue()


def overview(
    cells: dict[tuple[str, str], dict[str, Cell]], titles: dict[str, str], narrow: bool = False
) -> str:
    """Accuracy against run time, a panel per dataset: ours full, published hollow."""
    names = [name for name in titles if any(dataset == name for dataset, _ in cells)]
    if not names:
        return ""
    columns = 1 if narrow else min(3, len(names))
    lines = -(-len(names) // columns)
    size = (_NARROW, 2.3 * lines + 0.9) if narrow else (_WIDE, 2.7 * lines + 0.5)
    with _drawing(_name("overview", narrow), *size, nrows=lines, ncols=columns, squeeze=False) as drawn:
        figure, axes, text = drawn
        for axis, name in zip(axes.flat, names, strict=False):
            _overview_panel(axis, cells, name, titles[name])
        for axis in list(axes.flat)[len(names) :]:
            axis.set_axis_off()
        for row in axes:
            row[0].set_ylabel("accuracy, %")
        handles = _legend_handles(cells)
        figure.legend(handles=handles, loc="outside lower center", ncols=2 if narrow else 5)
    return text.getvalue()


def _overview_panel(axis: Any, cells: dict[tuple[str, str], dict[str, Cell]], name: str, title: str) -> None:
    for method in METHODS:
        found = cells.get((name, method))
        if found is None or found["seconds"].ours is None:
            continue
        colour, marker = _STYLE[method]
        size = 90 if method == "sefr" else 32
        axis.scatter(found["seconds"].ours, found["accuracy"].ours, s=size, c=colour, marker=marker, zorder=3)
        if METHODS[method].paper == method and found["seconds"].published is not None:
            axis.scatter(
                found["seconds"].published, found["accuracy"].published, s=size, marker=marker,
                facecolors="none", edgecolors=colour, linewidths=0.9, zorder=2, alpha=0.75,
            )  # fmt: skip
    axis.set_xscale("log")
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_xlabel("CPU seconds, ten folds")
    axis.grid(True, which="major")


def _legend_handles(cells: dict[tuple[str, str], dict[str, Cell]]) -> list[object]:
    from matplotlib.lines import Line2D

    used = [method for method in METHODS if any(name == method for _, name in cells)]
    return [
        Line2D(
            [], [], linestyle="none", marker=_STYLE[name][1], color=_STYLE[name][0],
            markersize=9 if name == "sefr" else 5.5, label=METHODS[name].title,
        )
        for name in used
    ]  # fmt: skip
