"""Figures in the documents are those of the files that the benchmarks wrote."""

import csv
import json
import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]


def test_probabilities_of_rare_classes():
    with (ROOT / "benchmarks/accuracy/imbalanced.csv").open() as file:
        rows = list(csv.DictReader(file))
    text = (ROOT / "docs/passes.md").read_text()
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        column = {name: np.array([float(row[name]) for row in own]) for name in ("brier", "log_loss")}
        error = np.mean([float(row["calibration_error"]) for row in own])
        line = re.search(rf"^\| {method} \| (.*) \|$", text, re.MULTILINE)
        assert line is not None, method
        expected = [(column["brier"] > 1).sum(), (column["log_loss"] > 1).sum()]
        found = line[1].split(" | ")
        assert [int(cell) for cell in found[:2]] == expected
        assert found[2:] == [f"{column['brier'].mean():.3f}", f"{error:.3f}"]
    assert f"the {len(own)} imbalanced sets" in text


def test_accuracy_against_epsilon():
    with (ROOT / "benchmarks/accuracy/private.csv").open() as file:
        rows = list(csv.DictReader(file))
    text = (ROOT / "docs/federated.md").read_text()
    for name in dict.fromkeys(row["set"] for row in rows):
        for method in dict.fromkeys(row["method"] for row in rows):
            own = [row["accuracy"] for row in rows if row["set"] == name and row["method"] == method]
            shape = next(row for row in rows if row["set"] == name)
            first = f"{name}, {int(shape['rows']):,} × {shape['features']}, {shape['classes']} classes"
            line = f"| {first} | {method} | {' | '.join(own)} |"
            assert len(own) == 5
            assert line in text, line


def test_streams():
    found = json.loads((ROOT / "benchmarks/streams/results.json").read_text())
    text = (ROOT / "docs/engines.md").read_text()
    streams = found["streams"].values()
    for model in ("SEFR", "SEFR, half-life 1,000", "SEFR, ADWIN", "SEFR, correct", "LogisticRegression"):
        cells = []
        for stream in streams:
            own = stream.get(model) or stream[f"{model}, one against the rest"]
            cells += [f"{own['accuracy']:.3f}", f"{round(own['rows_per_cpu_second'], -2):,}"]
        assert f"| {model} | {' | '.join(cells)} |" in text
    peers = [s.get("LogisticRegression") or s["LogisticRegression, one against the rest"] for s in streams]
    ours = [stream["SEFR, correct"] for stream in streams]
    pairs = list(zip(ours, peers, strict=True))
    gains = [100 * (a["accuracy"] - b["accuracy"]) for a, b in pairs]
    ratios = [a["rows_per_cpu_second"] / b["rows_per_cpu_second"] for a, b in pairs]
    plain = " ".join(text.split())
    assert f"differs by {min(gains):+.1f} to {max(gains):+.1f} points" in plain
    assert f"its speed is {min(ratios):.1f} to {max(ratios):.1f} times as high" in plain
    assert f"takes {found['small_batches']['learn_many_over_learn_one']:.2f} of the CPU time" in plain
