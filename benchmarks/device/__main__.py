"""Re-run Table 4 (training) and an honest Table 5 (classifying) of the paper on a simulated Uno.

Writes benchmarks/device/results.csv, which `python -m laboratory --device-results` reads, and tables.md.
Cycles are exact (simavr); milliseconds are cycles at 16 MHz; microjoules are milliseconds times the 0.30 W
that the paper gives for the board: arithmetic, not a measurement.
"""

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np

from laboratory.published import tables
from sefr import SEFRClassifier
from sefr.device import BOARDS, library, quantise, simulate

from . import run as machine
from .sets import uno_sample

HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / "tests" / "device" / "cycles.c"
SIZES = (25, 50, 75, 100)
UNO = BOARDS["uno"]
# how: mode of cycles.c, AVR kernels, records one by one or all from flash
WAYS = {
    "portable C, streaming": (0, False),
    "AVR kernels, streaming": (0, True),
    "AVR kernels, zeros skipped": (1, True),
    "AVR kernels, batch": (2, True),
}
# The authors' inference loop, measured in the same simulator: 24,848 cycles for a record of 100 features.
# Their Table 5 times a loop that compares scores computed before.
AUTHORS_CYCLES = 248.48


HEAD = """# The paper's Arduino Uno tables, re-run

ATmega328P at 16 MHz in simavr, avr-gcc -Os, the authors' sample of Gisette in flash. Cycles are exact. uJ is
arithmetic: time x 0.30 W, the paper's figure for the board. Flash and SRAM in bytes; flash without the data.
"""
FOOT = """The paper's Table 5 times a loop that compares scores computed during training; the authors'
inference takes 24,848 cycles for a record of 100 features, and that is what ours is set against.
"""


def braces(values):
    return "{" + ",".join(map(str, values)) + "}"


def write_data(folder, X, y):
    """Write data.h: rows, labels, and the weights that the host computes."""
    q = quantise(SEFRClassifier(scale=(0, 255)).fit(X, y), input="uint8")
    rows = ",\n".join(braces(row) for row in X.tolist())
    (folder / "data.h").write_text(
        f'#include "sefr.h"\n#define ROWS {len(X)}\n#define FEATURES {X.shape[1]}\n'
        f"#define WEIGHTS {braces(q.weights[0].tolist())}\n#define BIAS {q.bias[0]}L\n"
        f"static const uint8_t rows[ROWS][FEATURES] SEFR_FLASH = {{{rows}}};\n"
        f"static const uint8_t labels[ROWS] SEFR_FLASH = {braces(y.tolist())};\n"
    )
    return q


def measure(X, y, mode, kernels):
    """Return cycles of training and classifying, flash without the data, and peak SRAM."""
    with tempfile.TemporaryDirectory(prefix="sefr-bench-") as name:
        folder = Path(name)
        q = write_data(folder, X, y)
        sources = [PROGRAM, library() / "sefr.c", library() / "sefr_avr.S"]
        image = UNO.build(
            sources, folder, defines=[f"MODE={mode}"], includes=[folder, library()], kernels=kernels
        )
        run = UNO.run(image)
    m = X.shape[1]
    if run.output[:m] != q.weights.tobytes():
        raise SystemExit("the board's weights differ from the host's")
    spent = np.diff(run.marks)
    spent = spent - spent[0]
    return int(spent[1:4].sum()), int(spent[6]), image.flash - X.size - len(y), run.sram


def published():
    """Return the paper's milliseconds by table, records and features."""
    return {
        (number, records, features): table["milliseconds"][i][j]
        for number in (4, 5)
        for table in [tables()[f"table{number}"]]
        for i, records in enumerate(table["records"])
        for j, features in enumerate(table["features"])
    }


def training(X, y, paper):
    for records in SIZES:
        for features in SIZES:
            part = X[:records, :features], y[:records]
            for way, (mode, kernels) in WAYS.items():
                cycles, _, flash, sram = measure(*part, mode, kernels)
                milliseconds = cycles / 16e3
                yield {
                    "records": records,
                    "features": features,
                    "how": way,
                    "cycles": cycles,
                    "ms": round(milliseconds, 3),
                    "paper ms": paper[4, records, features],
                    "times quicker": round(paper[4, records, features] / milliseconds, 1),
                    "uJ": round(milliseconds * 300, 1),
                    "flash": flash,
                    "sram": sram,
                }
            print(f"training {records} x {features}", file=sys.stderr)


def classifying(X, y, paper):
    for features in SIZES:
        clf = SEFRClassifier(scale=(0, 255)).fit(X[:100, :features], y[:100])
        _, cycles, _, _ = measure(X[:100, :features], y[:100], 0, kernels=True)
        straight = simulate(clf, X[:64, :features], "uno", target="generated", input="uint8")
        kernel = simulate(clf, X[:64, :features], "uno", target="arduino", input="uint8")
        ways = {
            "AVR kernel, weights in flash": (cycles, kernel.flash, kernel.sram),
            "generated code": (straight.per_record, straight.flash, straight.sram),
        }
        for records in SIZES:
            for way, (each, flash, sram) in ways.items():
                milliseconds = each * records / 16e3
                yield {
                    "records": records,
                    "features": features,
                    "how": way,
                    "cycles per record": round(each),
                    "ms": round(milliseconds, 3),
                    "authors' loop ms": round(AUTHORS_CYCLES * features * records / 16e3, 1),
                    "paper ms (not inference)": paper[5, records, features],
                    "times quicker than the authors' loop": round(AUTHORS_CYCLES * features / each, 1),
                    "uJ": round(milliseconds * 300, 1),
                    "flash": flash,
                    "sram": sram,
                }
        print(f"classifying {features} features", file=sys.stderr)


def write_csv(path, train, test):
    """Write both tables as rows of one kind; cycles are of the whole job."""
    names = ("phase", "how", "records", "features", "cycles", "milliseconds", "microjoules", "flash", "sram")
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for phase, rows in (("train", train), ("test", test)):
            for row in rows:
                cycles = row["cycles"] if phase == "train" else row["cycles per record"] * row["records"]
                same = {name: row[name] for name in ("how", "records", "features", "flash", "sram")}
                writer.writerow(
                    {
                        "phase": phase,
                        "cycles": cycles,
                        "milliseconds": row["ms"],
                        "microjoules": row["uJ"],
                        **same,
                    }
                )


def markdown(title, rows):
    heads = list(rows[0])
    lines = [f"## {title}", "", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(str(row[head]) for head in heads) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def main():
    X, y = uno_sample()
    paper = published()
    train = list(training(X, y, paper))
    test = sorted(classifying(X, y, paper), key=lambda row: (row["records"], row["features"]))
    write_csv(HERE / "results.csv", train, test)
    text = "\n".join(
        [HEAD, markdown("Table 4: training", train), markdown("Table 5: classifying", test), FOOT]
    )
    (HERE / "tables.md").write_text(text)
    machine.note("tables")
    print(text)


if __name__ == "__main__":
    main()
