"""One style for every picture of the documentation: fonts, sizes, colours; light and dark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# Safe for readers who do not tell red from green; the first is ours in every picture.
LIGHT = {"ground": "#ffffff", "ink": "#1f2933", "faint": "#9aa5b1", "grid": "#e4e7eb"}
DARK = {"ground": "#14181e", "ink": "#e4e7eb", "faint": "#7b8794", "grid": "#323f4b"}
COLOURS_LIGHT = ("#2166ac", "#b35806", "#1b7837", "#7b3294", "#525252", "#c51b7d")
COLOURS_DARK = ("#6baed6", "#fdae61", "#7fbf7b", "#c2a5cf", "#bdbdbd", "#f1b6da")
DPI = 200


def settings(dark: bool = False) -> dict[str, Any]:
    """Return the settings of matplotlib."""
    look = DARK if dark else LIGHT
    return {
        "figure.facecolor": look["ground"],
        "savefig.facecolor": look["ground"],
        "axes.facecolor": look["ground"],
        "text.color": look["ink"],
        "axes.labelcolor": look["ink"],
        "axes.titlecolor": look["ink"],
        "axes.edgecolor": look["faint"],
        "xtick.color": look["ink"],
        "ytick.color": look["ink"],
        "grid.color": look["grid"],
        "axes.prop_cycle": mpl.cycler(color=COLOURS_DARK if dark else COLOURS_LIGHT),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.labelsize": 10,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "legend.fontsize": 9,
        "legend.frameon": False,
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "lines.linewidth": 1.8,
        "figure.constrained_layout.use": True,
    }


def draw_both(path: Path, size: tuple[float, float], draw: Callable[[Figure, tuple[str, ...]], None]) -> None:
    """Write NAME.png and NAME_dark.png; ``draw`` gets a figure and the colours; ink and faint come last."""
    for dark in (False, True):
        look, colours = (DARK, COLOURS_DARK) if dark else (LIGHT, COLOURS_LIGHT)
        with mpl.rc_context(settings(dark)):
            figure = Figure(figsize=size, layout="constrained")
            FigureCanvasAgg(figure)
            draw(figure, (*colours, look["ink"], look["faint"]))
            name = f"{path.stem}{'_dark' if dark else ''}.png"
            figure.savefig(path.with_name(name), dpi=DPI)
