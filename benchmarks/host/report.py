"""What was measured, as CSV and as Markdown; ``make pictures`` draws it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from ..machine import commit, machine, processor
from .growth import slopes

Rows = list[dict[str, Any]]


def write_csv(
    rows: Rows, path: Path, measured: list[str], *, one_thread: bool = False, avx2: bool = False
) -> None:
    """Write results with machine and commit; those of sections that were not ``measured`` stay.

    So do those of another kind of processor; with ``one_thread``, those of several threads, too.
    """
    where = {"machine": machine(), "processor": processor(avx2=avx2), "commit": commit()}
    lines: Rows = []
    if path.exists():
        with path.open() as file:
            lines = [
                line
                for line in csv.DictReader(file)
                if line["section"] not in measured
                or line["processor"] != where["processor"]
                or (one_thread and line["threads"] not in ("", "1"))
            ]
    lines += [
        {**where, **{k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}}
        for row in rows
        if row["section"] in measured
    ]
    names = [*where, *dict.fromkeys(key for line in lines for key in line)]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(names)))
        writer.writeheader()
        writer.writerows(lines)


def markdown(rows: Rows) -> str:
    """Return the tables for the README."""
    parts = [f"Measured on: {machine()}. Shares of the speed of reading the same bytes.\n"]
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
