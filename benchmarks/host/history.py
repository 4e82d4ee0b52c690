"""The main figures of every version that was measured, in ``history.csv``; ``make bench`` appends to it.

``python -m benchmarks.host.history`` appends what ``results.csv`` has. Figures are shares and ratios of times
that were measured in turns, so that those of one machine compare from run to run; by about a tenth.
"""

from __future__ import annotations

import csv
from pathlib import Path

from ..machine import AVX2
from ..tables import Line, write_lines

HERE = Path(__file__).parent
HISTORY = HERE / "history.csv"
# Name of the figure, which lines of results.csv it is of, and its column.
FIGURES = (
    (
        "kernel, 7,000 x 5,000 float32",
        {"section": "shapes", "shape": "7000x5000", "type": "float32"},
        "kernel",
    ),
    ("kernel, 1e6 x 40 float32", {"section": "shapes", "shape": "1000000x40", "type": "float32"}, "kernel"),
    ("kernel, 1e6 x 40 uint8", {"section": "shapes", "shape": "1000000x40", "type": "uint8"}, "kernel"),
    ("fit by columns, float32", {"section": "columns", "type": "float32"}, "fit"),
    ("predict, 1e6 x 40 float32", {"section": "shapes", "shape": "1000000x40", "type": "float32"}, "predict"),
    ("Parquet, of decode speed", {"section": "files", "name": "Parquet, fit"}, "of_decode_speed"),
    ("ten folds, times fit and predict", {"section": "folds", "shape": "200000x40"}, "over_fit_and_predict"),
)


def main_figures(results: list[Line]) -> list[Line]:
    """Return the main figures among results: two classes, one thread, the widest vectors."""
    found = []
    for name, where, column in FIGURES:
        for line in results:
            plain = line.get("classes", "") in ("", "2") and line.get("threads", "") in ("", "1")
            if plain and line["processor"] != AVX2 and where.items() <= line.items() and line.get(column):
                about = {key: line[key] for key in ("machine", "commit")}
                found.append({**about, "figure": name, "value": line[column]})
    return found


def append(results: Path, history: Path = HISTORY) -> None:
    """Add the figures of results; one that is known for this commit and machine is replaced."""
    with results.open() as file:
        new = main_figures(list(csv.DictReader(file)))
    old: list[Line] = []
    if history.exists():
        with history.open() as file:
            old = list(csv.DictReader(file))
    known = {_key(line): line for line in old}
    known.update({_key(line): line for line in new})
    if not known:
        return  # sections without a main figure
    write_lines(history, list(known.values()))


def _key(line: Line) -> tuple[str, str, str]:
    return line["machine"], line["commit"], line["figure"]


if __name__ == "__main__":
    append(HERE / "results.csv")
