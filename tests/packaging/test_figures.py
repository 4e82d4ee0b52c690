"""Figures in the documents are those of the files that the benchmarks wrote."""

import csv
import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]


def test_probabilities_of_rare_classes():
    with (ROOT / "benchmarks/accuracy/imbalanced.csv").open() as file:
        rows = list(csv.DictReader(file))
    text = (ROOT / "docs/guide/passes.md").read_text()
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
