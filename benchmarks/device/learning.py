"""Learning on a board, measured: sefr beside other methods on three data sets and four simulated boards.

Every method sees the same bytes. Those that learn do so on the board, from rows in its flash; emlearn and
micromlgen train on a computer, and the code they write classifies on the board. Writes
benchmarks/device/learning.csv; names of sets or of methods measure those anew and keep the others. draw.py
makes the picture, documents.py the tables of the documents.
"""

import csv
import dataclasses
import functools
import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np

from sefr import SEFRClassifier
from sefr.device import BOARDS, BuildError, Twin, library

from . import run as machine
from .methods import BOARDS as BENCHED
from .methods import METHODS
from .sets import SETS

HERE = Path(__file__).parent
LEARNERS = HERE / "learners"
NAMES = ("set", "board", "method", "learns", "accuracy", "learn", "classify", "flash", "sram", "note")
RESERVE = 16  # bytes of SRAM that nothing touched; with fewer the stack may have met the data


def data_header(split):
    """Return data.h: what a learner reads."""
    rows = ",\n".join("{" + ",".join(map(str, row)) + "}" for row in split.X.tolist())
    labels = ",".join(map(str, split.y.tolist()))
    return (
        f"#define ROWS {len(split.X)}\n#define FEATURES {split.X.shape[1]}\n"
        f"#define CLASSES {split.y.max() + 1}\n"
        f"static const uint8_t rows[ROWS][FEATURES] FLASH __attribute__((unused)) = {{{rows}}};\n"
        f"static const uint8_t labels[ROWS] FLASH __attribute__((unused)) = {{{labels}}};\n"
    )


def emlearn_headers():
    """Return the folder of emlearn's C headers, without importing it."""
    spec = importlib.util.find_spec("emlearn")
    if spec is None or spec.origin is None:
        raise SystemExit("the benchmark needs emlearn and micromlgen: pip install emlearn micromlgen")
    return Path(spec.origin).parent


def build(board, method, split, folder):
    """Build the program of a method; return it, its layout, and what a computer fitted for it."""
    (folder / "data.h").write_text(data_header(split))
    fitted, files = method.writes(split.X, split.y) if method.writes else (None, {})
    for name, text in files.items():
        (folder / name).write_text(text)
    layouts, sources = ["SEFR_MODEL"], [LEARNERS / method.program]
    if method.program == "sefr.c":
        layouts.append("SEFR_LEAN_MODEL")
    if method.program in ("sefr.c", "correct.c", "moments.c"):
        sources += [library() / "sefr.c", *([library() / "sefr_avr.S"] if board.name == "uno" else [])]
    if method.program == "moments.c":
        sources.append(library() / "sefr_moments.c")
    if method.writes:  # code of others keeps its warnings to itself
        board = dataclasses.replace(board, language=("-w", "-fno-exceptions"))
    for layout in layouts:  # the layout with stored weights where it fits
        try:
            defines = [*method.defines, f"SEFR_LAYOUT={layout}"]
            includes = [folder, LEARNERS, library(), *([emlearn_headers()] if method.writes else [])]
            return board.build(sources, folder, defines=defines, includes=includes), layout, fitted
        except BuildError:
            if layout == layouts[-1]:
                raise
    raise AssertionError("unreachable")


@functools.cache
def empty_flash(board, features):
    """Return the flash of a program that learns nothing: start-up, and reading of records."""
    rows = np.zeros((2, features), np.uint8)
    split = dataclasses.make_dataclass("Split", ["X", "y"])(rows, np.array([0, 1]))
    (method,) = [dataclasses.replace(METHODS["sefr"], program="none.c")]
    with tempfile.TemporaryDirectory(prefix="sefr-bench-") as folder:
        return build(BOARDS[board], method, split, Path(folder))[0].flash


def measure(board, method, split):
    """Return the answers, what training and classifying took, flash and SRAM, and a note."""
    with tempfile.TemporaryDirectory(prefix="sefr-bench-") as folder:
        image, layout, fitted = build(board, method, split, Path(folder))
        data = len(split.X_test).to_bytes(2, "little") + split.X_test.tobytes()
        run = board.run(image, data)
    flash = image.flash - empty_flash(board.name, split.X.shape[1])
    if method.learns:
        flash -= split.X.size + len(split.y)
    if image.flash > board.flash or run.sram > board.ram - RESERVE:
        raise BuildError("the program does not fit the board")
    spent = np.diff(run.marks)
    spent = spent - spent[0]
    answers = np.frombuffer(run.output, np.uint8)
    note = "weights computed at each answer" if layout == "SEFR_LEAN_MODEL" else ""
    if fitted is not None and np.mean(fitted.predict(split.X_test) == answers) < 0.5:
        note = "the code answers another class than the model"
    return answers, spent[1] if method.learns else None, spent[3::2].mean(), flash, run.sram, note


def check_twin(split, answers):
    """Stop where the board does not answer as the host says it will."""
    clf = SEFRClassifier(scale=(0, 255)).fit(split.X, split.y)
    if (Twin(clf, input="uint8").predict(split.X_test) != answers).any():
        raise SystemExit("the board's answers differ from those of its twin")


def row_of(set_name, board, name):
    """Measure one method on one data set and board; "does not fit" is a result."""
    method, found, right = METHODS[name], [], 0
    row = {"set": set_name, "board": board, "method": name, "learns": int(method.learns)}
    splits = list(SETS[set_name]())
    for split in splits:
        try:
            answers, *figures = measure(BOARDS[board], method, split)
        except BuildError as error:
            if not any(
                words in str(error) for words in ("does not fit", "does_not_fit", "do not fit", "region")
            ):
                raise
            return row | {"note": "does not fit"}
        if name == "sefr":
            check_twin(split, answers)
        right += int((answers == split.y_test).sum())
        found.append(figures)
    learn, classify, flash, sram, note = zip(*found, strict=True)
    return row | {
        "accuracy": round(right / sum(len(split.y_test) for split in splits), 4),
        "learn": round(float(np.mean(learn))) if method.learns else "",
        "classify": round(float(np.mean(classify))),
        "flash": max(flash),
        "sram": max(sram),
        "note": note[0],
    }


def kept(sets, methods):
    """Return the rows of learning.csv that are not of these sets and methods."""
    path = HERE / "learning.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        found = list(csv.DictReader(file))
    return [row for row in found if row["set"] not in sets or row["method"] not in methods]


def main():
    sets = [name for name in sys.argv[1:] if name in SETS] or list(SETS)
    methods = [name for name in sys.argv[1:] if name in METHODS] or list(METHODS)
    if unknown := set(sys.argv[1:]) - set(SETS) - set(METHODS):
        raise SystemExit(f"neither a set nor a method: {', '.join(sorted(unknown))}")
    rows = kept(sets, methods)
    for set_name in sets:
        for name in methods:
            for board in BENCHED:
                rows.append(row_of(set_name, board, name))
                print(*rows[-1].values(), file=sys.stderr)
    rows.sort(key=lambda row: (list(SETS).index(row["set"]), list(METHODS).index(row["method"])))
    with (HERE / "learning.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, NAMES)
        writer.writeheader()
        writer.writerows(rows)
    machine.note("learning")


if __name__ == "__main__":
    main()
