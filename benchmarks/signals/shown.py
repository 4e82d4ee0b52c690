"""The tables of docs/guide/signals.md, from what the benchmarks wrote."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from benchmarks import tables

HERE = Path(__file__).parent
ROCKET, WIDE = "MiniRocket of aeon, 10,000", "SignalFeatures, 5 dilations, 5 thresholds"
COMPARED = {
    ROCKET: "aeon's MiniRocket, 9,996 features",
    "MiniRocket of aeon, 2,100": "aeon's MiniRocket, 2,100",
    "MiniRocket of aeon, 336": "aeon's MiniRocket, 336",
    WIDE: "`SignalFeatures(dilations=5, thresholds=5)`",
    "SignalFeatures": "`SignalFeatures()`",
    "SignalFeatures, 2 dilations": "`SignalFeatures(dilations=2)`",
    "SignalFeatures, no statistics": "`SignalFeatures(statistics=False)`",
    "learned thresholds": "the same as `SignalFeatures()` with thresholds learned from the data",
    "learned thresholds, 5 dilations, 5 thresholds": "learned, 5 dilations, 5 thresholds",
    "raw samples": "raw samples",
    "seven statistics per axis": "`sefr.device.windows`, seven statistics per axis",
}
HEADS = ("ridge", "SEFR, ten passes", "SEFR, one pass")


def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open() as file:
        return list(csv.DictReader(file))


def _accuracy(transform: str, head: str) -> list[float]:
    found = _rows("results.csv")
    return [float(row["accuracy"]) for row in found if (row["transform"], row["head"]) == (transform, head)]


def _features(transform: str) -> str:
    found = sorted({int(row["features"]) for row in _rows("results.csv") if row["transform"] == transform})
    return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"


def signal_accuracy() -> str:
    """Return mean accuracy of every transform and head."""
    rows = [
        [shown, _features(name), *(f"{100 * np.mean(_accuracy(name, head)):.1f}" for head in HEADS)]
        for name, shown in COMPARED.items()
    ]
    return tables.markdown(["features from", "how many", "ridge", "SEFR, ten passes", "SEFR, one pass"], rows)


def signal_sets() -> str:
    """Return the sets, and the accuracy on each with the ridge."""
    rows = []
    for row in _rows("results.csv"):
        if (row["transform"], row["head"]) == (ROCKET, "ridge"):
            cells = [row[key] for key in ("set", "train", "test", "axes", "length", "classes")]
            rows.append(cells)
    for name in (ROCKET, WIDE, "SignalFeatures", "raw samples"):
        for cells, accuracy in zip(rows, _accuracy(name, "ridge"), strict=True):
            cells.append(f"{100 * accuracy:.1f}")
    heads = ["set", "train", "test", "axes", "samples", "classes", "MiniRocket, 9,996"]
    return tables.markdown([*heads, "ours, up to 2,100 counts", "ours, up to 336", "raw samples"], rows)


def signal_unseen() -> str:
    """Return accuracy on the sets that nothing was chosen on, and its mean."""
    columns = (
        (ROCKET, "ridge"),
        (WIDE, "ridge"),
        ("SignalFeatures", "ridge"),
        ("SignalFeatures, no statistics", "ridge"),
        ("SignalFeatures", "SEFR, ten passes"),
        ("SignalFeatures", "SEFR, one pass"),
        ("raw samples", "ridge"),
    )
    found = _rows("unseen.csv")
    known = ("set", "train", "test", "axes", "length", "classes")
    first = [row for row in found if (row["transform"], row["head"]) == columns[0]]
    rows = [[row[key] for key in known] for row in first] + [["mean", *[""] * 5]]
    for transform, head in columns:
        own = [
            float(row["accuracy"]) for row in found if (row["transform"], row["head"]) == (transform, head)
        ]
        for cells, accuracy in zip(rows, [*own, float(np.mean(own))], strict=True):
            cells.append(f"{100 * accuracy:.1f}")
    heads = [
        "set",
        "train",
        "test",
        "axes",
        "samples",
        "classes",
        "MiniRocket, 9,996",
        "ours, up to 2,100 counts",
    ]
    heads += [
        "ours, up to 336",
        "the same, no statistics",
        "ours, ten passes",
        "ours, one pass",
        "raw samples",
    ]
    return tables.markdown(heads, rows)


def signal_learning() -> str:
    """Return what it costs a board to learn with second moments."""
    rows = []
    for row in _rows("learning.csv"):
        what = f"{row['axes']} x {row['length']} samples, {row['features']} counts, {row['classes']} classes"
        per = [f"{int(row[key]):,}" for key in ("learn", "solve", "answer", "sram", "flash")]
        rows.append([row["board"], what, *per])
    heads = ["board", "window", "learn a window", "solve", "answer a window", "RAM", "flash"]
    return tables.markdown(heads, rows)


def signal_speed() -> str:
    """Return how many times as fast the transform is, over the sets."""
    spent: dict[str, list[float]] = {}
    for row in _rows("results.csv"):
        if row["head"] == "ridge":
            per_feature = float(row["transform ms"]) / int(row["features"])
            spent.setdefault(row["transform"], []).append(per_feature)
    rows = []
    for theirs, ours in (("MiniRocket of aeon, 336", "SignalFeatures"), ("MiniRocket of aeon, 2,100", WIDE)):
        ratios = np.array(spent[theirs]) / np.array(spent[ours])
        middle = np.exp(np.log(ratios).mean())
        rows.append(
            [COMPARED[ours], COMPARED[theirs], f"{middle:.1f}", f"{ratios.min():.1f}", f"{ratios.max():.1f}"]
        )
    heads = ["ours", "beside", "times as fast per feature, geometric mean", "lowest", "highest"]
    return tables.markdown(heads, rows)


def signal_boards() -> str:
    """Return what a window costs on boards."""
    rows = []
    for row in _rows("boards.csv"):
        what = f"{row['axes']} x {row['length']} samples, dilations {row['dilations'].replace(' ', ', ')}"
        what += "" if row["segments"] != "0" else ", no statistics"
        per = [f"{int(row[key]):,}" for key in ("features", "per window", "most per sample", "sram", "flash")]
        energy = (
            f"{int(row['microjoules per window']) / 1000:.1f} mJ" if row["microjoules per window"] else ""
        )
        rows.append([row["board"], what, row["counter"], *per, energy])
    heads = ["board", "window", "counted", "bytes", "per window", "most per sample", "RAM", "flash", "energy"]
    return tables.markdown(heads, rows)


def signal_source() -> str:
    """Return where it was measured and with what."""
    run = json.loads((HERE / "run.json").read_text())
    made = ", ".join(f"{name} {run[name]}" for name in ("aeon", "numba", "scikit-learn", "numpy"))
    return f"One thread of {run['machine']}; {made}."


SHOWN = (
    signal_accuracy,
    signal_sets,
    signal_unseen,
    signal_speed,
    signal_boards,
    signal_learning,
    signal_source,
)
