"""What was measured, as CSV, as Markdown for the README and as pictures."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from ..machine import commit, machine
from .growth import slopes

Rows = list[dict[str, Any]]
INK, GREY, GOOD = "#1f2933", "#9aa5b1", "#0b7285"


def write_csv(rows: Rows, path: Path) -> None:
    """Write every result with machine and commit."""
    names = ["machine", "commit", *dict.fromkeys(key for row in rows for key in row)]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for row in rows:
            short = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}
            writer.writerow({"machine": machine(), "commit": commit(), **short})


def markdown(rows: Rows) -> str:
    """Return the tables for the README."""
    parts = [f"Measured on: {machine()}. 1.00 is the time merely to read the same bytes.\n"]
    heads = [
        "shape",
        "type",
        "classes",
        "threads",
        "limit GB/s",
        "kernel",
        "fit",
        "fit / kernel",
        "predict",
        "fit ms",
    ]
    parts += ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for r in _of(rows, "shapes"):
        plain = [str(r[key]) for key in ("shape", "type", "classes", "threads")]
        figures = [f"{r[key]:.2f}" for key in ("kernel", "fit", "fit_over_kernel", "predict", "fit_ms")]
        parts.append("| " + " | ".join([*plain, f"{r['limit_gb_s']:.0f}", *figures]) + " |")
    for r in _of(rows, "shapes"):
        if r["shape"] == "1000x10" and r["classes"] == 2:
            fit, predict = r["fit_ms"] * 1e3, r["predict_one_us"]
            parts.append(f"\n1000x10, {r['type']}: fit {fit:.0f} us, predict of one row {predict:.0f} us.")
    peers = _of(rows, "peers")
    if peers:
        shapes = list(dict.fromkeys(r["shape"] for r in peers))
        parts.append(
            "\n| fit time, times ours | " + " | ".join(shapes) + " |\n|---" * 1 + "|---" * len(shapes) + "|"
        )
        for name in dict.fromkeys(r["name"] for r in peers):
            cells = {r["shape"]: _times(r) for r in peers if r["name"] == name}
            parts.append(f"| {name} | " + " | ".join(cells.get(s, "") for s in shapes) + " |")
    for r in _of(rows, "folds"):
        parts.append(
            f"\nTen folds at {r['shape']}: {r['over_fit_and_predict']:.2f} times one fit and one predict, "
            f"{r['times_faster_than_sklearn']:.0f} times faster than cross_val_score."
        )
    files = _of(rows, "files")
    if files:
        parts.append("\n| file | decode ms | decode and train ms | of decode speed |\n|---|---|---|---|")
        for r in files:
            figures = f"{r['decode_ms']:.0f} | {r['train_ms']:.0f} | {r['of_decode_speed']:.2f}"
            parts.append(f"| {r['name']}, {r['shape']} | {figures} |")
    if found := slopes(rows):
        text = ", ".join(f"{name} {slope:.2f}" for name, slope in found.items())
        parts.append(f"\nLog-log slope of the time of a fit (1 is linear): {text}.")
    return "\n".join(parts) + "\n"


def _times(peer: dict[str, Any]) -> str:
    """Return how many times longer a peer takes, and on how many rows if not on all."""
    text = f"{peer['times_ours']:,.0f}"
    if peer["rows_measured"] == peer["rows"]:
        return text
    return f"> {text} (on {peer['rows_measured']:,} rows)"


def _of(rows: Rows, section: str) -> Rows:
    return [row for row in rows if row["section"] == section]


def draw(rows: Rows, folder: Path) -> list[Path]:
    """Draw what was measured; return the files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": GREY,
            "text.color": INK,
            "axes.labelcolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
        }
    )
    done = []
    for name, function in (("peers", _draw_peers), ("limit", _draw_limit), ("growth", _draw_growth)):
        figure = function(plt, rows)
        if figure is not None:
            path = folder / f"{name}.png"
            figure.savefig(path, dpi=150, bbox_inches="tight", facecolor="white")
            plt.close(figure)
            done.append(path)
    return done


def _draw_peers(plt: Any, rows: Rows) -> Any:
    peers = _of(rows, "peers")
    if not peers:
        return None
    shape = peers[0]["shape"]
    bars = [(r["times_ours"], r["name"], _times(r)) for r in peers if r["shape"] == shape]
    bars = [*sorted(bars, reverse=True), (1.0, "SEFR", "1")]
    figure, axes = plt.subplots(figsize=(7, 0.34 * len(bars) + 1))
    colours = [GOOD if name == "SEFR" else GREY for _, name, _ in bars]
    axes.barh([name for _, name, _ in bars], [value for value, _, _ in bars], color=colours, height=0.7)
    for at, (value, _, text) in enumerate(bars):
        axes.text(value * 1.12, at, text, va="center", fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(0.5, max(value for value, _, _ in bars) * 20)
    axes.set_xlabel("time of a fit, times SEFR's (log scale)")
    axes.set_title(f"Training on {shape} float32, one thread", loc="left", fontweight="bold")
    axes.tick_params(axis="y", length=0)
    return figure


def _draw_limit(plt: Any, rows: Rows) -> Any:
    found = [
        r for r in _of(rows, "shapes") if r["threads"] == 1 and r["classes"] <= 10 and r["shape"] != "1000x10"
    ]
    if not found:
        return None
    shapes = list(dict.fromkeys(r["shape"] for r in found))
    kinds = list(dict.fromkeys((r["type"], r["classes"]) for r in found))
    figure, axes = plt.subplots(figsize=(8, 4))
    palette = {"float32": "#0b7285", "float64": "#5f3dc4", "uint8": "#e8590c"}
    width = 0.8 / len(kinds)
    for i, (kind, k) in enumerate(kinds):
        values = [
            next((r["kernel"] for r in found if (r["shape"], r["type"], r["classes"]) == (s, kind, k)), 0)
            for s in shapes
        ]
        places = [at + (i - (len(kinds) - 1) / 2) * width for at in range(len(shapes))]
        axes.bar(
            places,
            values,
            width * 0.9,
            color=palette[kind],
            alpha=1 if k == 2 else 0.55,
            label=f"{kind}, {k} classes",
        )
    axes.axhline(1, color=INK, linewidth=1)
    axes.text(len(shapes) - 0.45, 1.01, "read limit", ha="right", va="bottom", fontsize=9)
    axes.set_xticks(range(len(shapes)), [s.replace("x", " x ") for s in shapes])
    axes.set_ylabel("speed of the training pass / read limit")
    axes.set_title("Training costs little more than reading the data", loc="left", fontweight="bold")
    axes.legend(frameon=False, ncols=3, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1))
    return figure


def _draw_growth(plt: Any, rows: Rows) -> Any:
    found = slopes(rows)
    if not found:
        return None
    figure, panels = plt.subplots(1, len(found), figsize=(9, 3), sharey=True)
    for axes, (name, slope) in zip(panels, found.items(), strict=True):
        points = [(r["at"], r["fit_ms"]) for r in rows if r.get("sweep") == name]
        axes.loglog(*zip(*points, strict=True), "o-", color=GOOD, linewidth=2)
        axes.set_title(f"{name}: slope {slope:.2f}", loc="left", fontweight="bold", fontsize=10)
        axes.set_xlabel(name)
        axes.grid(color=GREY, alpha=0.3)
    panels[0].set_ylabel("fit, ms")
    return figure
