"""The tables of the documents, made from what the benchmark wrote; a test compares them.

``python -m benchmarks.device.documents`` writes them between the marks ``<!-- figures: NAME -->`` and
``<!-- end of figures -->`` of docs/guide/device.md and device/README.md.
"""

import csv
import json
import re
from pathlib import Path

from sefr.device import BOARDS

from ..tables import markdown

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DOCUMENTS = ("docs/guide/device.md", "device/README.md")
BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
UNO = BOARDS["uno"]
PRODUCTS = ("c", "arduino")
AUTHORS = 3_120_277  # cycles of the authors' sketch in the same simulator


def rows_of(name):
    with (HERE / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def figures():
    """Return figures.csv as numbers by name."""
    return {row["what"]: int(row["figure"]) for row in rows_of("figures")}


def number(value):
    return f"{int(value):,}" if value not in ("", None) else ""


def milliseconds(cycles):
    ms = cycles / 16e3
    return f"{ms:.1f}" if ms >= 1 else f"{ms:.2f}"


def millijoules(cycles):
    """Energy by arithmetic: time at 16 MHz x the 0.30 W that the paper gives for the board."""
    return int(cycles) / 16e6 * 0.30 * 1e3


def uno():
    """Return the table of device/README.md."""
    f = figures()
    names = (
        ("train, portable C", "train 100 records x 100 features, portable C, one by one"),
        ("train, one by one", "AVR kernels, one by one"),
        ("train, zeros skipped", "AVR kernels, one by one, zeros skipped (`SEFR_SPARSE`)"),
        ("train, batch from flash", "AVR kernels, batch from flash (`sefr_learn_batch_P`)"),
        ("train dense, batch from flash", "the same on dense data (no zeros)"),
        (AUTHORS, "the authors' sketch"),
        ("classify, portable C", "classify one record, portable C"),
        ("classify, weights in RAM", "AVR kernel, weights in RAM"),
        ("classify, weights in RAM, margin", "the same with a margin"),
        ("classify, weights in RAM, no unknown", "the same under `SEFR_NO_UNKNOWN`"),
        ("classify, weights in flash", "AVR kernel, weights in flash (`sefr_classify_fixed`)"),
        ("classify, weights in flash, margin", "the same with a margin"),
        ("classify, weights in flash, no unknown", "the same under `SEFR_NO_UNKNOWN`"),
        ("classify, generated code", "generated code, 77 of 100 weights are not 0"),
        ("classify dense, generated code", "the same, nearly all weights are not 0"),
        ("bins learn", "`SEFR_BINS` 16, 32 features: learn one record"),
        ("bins classify", "classify one record, weights in RAM"),
        ("bins solve", "solve"),
        ("normal check", "`sefr_normal`, 32 features: check one record"),
    )
    cycles = [(text, f[key] if isinstance(key, str) else key) for key, text in names]
    return markdown(
        ["", "cycles", "ms"], [[text, number(value), milliseconds(value)] for text, value in cycles]
    )


def cortex():
    """Return the table of instructions on Cortex-M."""
    f = figures()
    rows = []
    for board in ("m0", "m3", "m4"):
        learn, classify = (
            f"{number(f[f'{board} {what}'])} ({number(f[f'{board} {what}, plain C'])})"
            for what in ("learn", "classify")
        )
        rows.append([board.upper(), learn, classify])
    return markdown(["", "learn 100 x 100", "classify one record"], rows)


def values():
    """Return the cycles for raw values, by target."""
    f = figures()
    names = {
        "int16 to 4096": "int16, ranges up to 4,096 (10- and 12-bit converters)",
        "int16 wide": "int16, wider ranges",
        "floats": "floats",
        "int32": "int32, ranges of 65,536 and more (by division)",
    }
    targets = ("arduino", "generated", "c")
    rows = [[text, *(number(f[f"{key}, {target}"]) for target in targets)] for key, text in names.items()]
    folded = [number(f[f"int16 folded, {target}"]) for target in ("arduino", "c")]
    rows.insert(0, ["int16, folded (`--fold`)", folded[0], "", folded[1]])
    return markdown(["values", *(f"`{target}`" for target in targets)], rows)


def bins():
    """Return what a table of 32 features x 16 bins takes on an Uno, by type of value and target."""
    f = figures()
    rows = []
    kinds = {
        "uint8": "uint8",
        "int16": "int16",
        "float": "float",
        "float near 1000": "float, all from 1,000 to 1,003.9",
    }
    for kind, text in kinds.items():
        for target in ("arduino", "c", "generated"):
            name = f"table {kind}, {target}"
            cells = (number(f[name]), number(f[f"{name}, flash"]), number(f[f"{name}, sram"]))
            rows.append([text, f"`{target}`", *cells])
    heads = ["values", "target", "cycles to classify", "flash of the program", "SRAM"]
    return markdown(heads, rows)


def products():
    """Return what an answer takes with many classes and with wider weights."""
    rows = []
    for weights in ("int8", "int16"):
        for classes in (2, 10):
            cells = [number(figures()[f"products {weights}, {classes}, {target}"]) for target in PRODUCTS]
            rows.append([weights, str(classes), *cells])
    return markdown(["weights", "classes", *(f"`{target}`" for target in PRODUCTS)], rows)


def interactions():
    """Return what 50 interactions take beside 32 features x 16 bins, by board and type of value."""
    f = figures()
    boards = {
        "uno": "Uno, cycles",
        "cortex-m0": "Cortex-M0, instructions",
        "cortex-m4": "Cortex-M4, instructions",
    }
    rows = []
    for kind in ("int16", "float"):
        for board, text in boards.items():
            name = f"interactions {kind}, {board}"
            rows.append([kind, text, number(f[name]), number(f[f"{name}, flash"])])
    return markdown(["values, 50 interactions", "board", "to classify", "flash of the program"], rows)


def motions():
    """Return what windows reach on a real signal."""
    rows = rows_of("motions")
    lengths = ", ".join(row["length"] for row in rows[:-1]) + f" and {rows[-1]['length']}"
    shown = ", ".join(f"{float(row['accuracy board']):.3f}" for row in rows[:-1])
    same = (
        "on the board as on the host"
        if all(r["accuracy board"] == r["accuracy host"] for r in rows)
        else "on the board"
    )
    last = f"{float(rows[-1]['accuracy board']):.3f}"
    return f"Windows of {lengths} samples are classified with an accuracy of {shown} and {last}, {same}."


def regression():
    """Return what learning numbers takes of an Uno."""
    rows = []
    for row in rows_of("regression"):
        if row["kernels"] == "1":
            plain = next(
                r for r in rows_of("regression") if r["inputs"] == row["inputs"] and r["kernels"] == "0"
            )
            both = [f"{number(row[key])} ({number(plain[key])})" for key in ("learn", "answer")]
            solve = milliseconds(int(row["solve"]))
            rows.append(
                [
                    row["inputs"],
                    both[0],
                    solve,
                    both[1],
                    number(row["model bytes"]),
                    number(row["state bytes"]),
                ]
            )
    heads = [
        "inputs",
        "cycles to learn",
        "ms to solve, at most",
        "cycles to answer",
        "bytes of RAM",
        "bytes of a state",
    ]
    return markdown(heads, rows)


def air_quality():
    """Return how well a gas sensor stays calibrated."""
    rows = []
    for row in rows_of("air_quality"):
        weekdays = f"{float(row['mean of seven weekdays']):.3f} ({float(row['worst of seven weekdays']):.3f})"
        r2 = [f"{float(row[key]):.3f}" for key in ("static", "recalibrated")]
        rows.append([row["pollutant"], number(row["hours"]), *r2, weekdays, row["state bytes"]])
    heads = [
        "pollutant",
        "hours answered",
        "R2, static",
        "R2, recalibrated",
        "mean (worst) of seven weekdays",
    ]
    return markdown([*heads, "bytes of a state"], rows)


def micropython():
    """Return the times of micropython/sefr.py in MicroPython's own interpreter."""
    rows = rows_of("micropython")
    names = {"learn": "learn a record", "solve": "solve", "classify": "classify a record"}
    shapes = list(dict.fromkeys((row["features"], row["classes"]) for row in rows))
    times = {(row["features"], row["classes"], row["what"]): float(row["microseconds"]) for row in rows}
    cells = [[text, *(f"{times[*shape, what]:,.0f}" for shape in shapes)] for what, text in names.items()]
    heads = [f"{features} features, {classes} classes" for features, classes in shapes]
    return markdown(["microseconds", *heads], cells)


def learning():
    """Return the benchmark of learning on an Uno, a table per data set."""
    parts = []
    for name in dict.fromkeys(row["set"] for row in rows_of("learning")):
        rows = []
        for row in rows_of("learning"):
            if row["set"] != name or row["board"] != "uno":
                continue
            if row["note"] == "does not fit":
                rows.append([row["method"], "does not fit", *[""] * 7])
                continue
            on_board = row["learns"] == "1"
            learn = number(row["learn"]) if on_board else "on a computer"
            taught = f"{millijoules(row['learn']):.2f}" if on_board else ""
            answered = f"{1000 * millijoules(row['classify']):.1f}"
            chip = f"{1e6 * UNO.cycle_joules * float(row['classify']):.1f}"
            cells = [
                f"{100 * float(row['accuracy']):.1f}",
                learn,
                taught,
                number(row["classify"]),
                answered,
                chip,
            ]
            method = row["method"] + (f" ({row['note']})" if row["note"] else "")
            rows.append([method, *cells, number(row["flash"]), number(row["sram"])])
        heads = [name, "right, %", "cycles to learn", "mJ to learn", "cycles per answer", "uJ per answer"]
        parts.append(markdown([*heads, "of the chip alone", "flash", "SRAM"], rows))
    return "\n\n".join(parts)


def boards():
    """Return what sefr takes and reaches on the other boards."""
    rows = []
    for row in rows_of("learning"):
        if not row["method"].startswith("sefr") or row["board"] == "uno" or row["note"] == "does not fit":
            continue
        cells = [number(row[key]) for key in ("learn", "classify", "flash", "sram")]
        rows.append([row["set"], row["method"], row["board"], f"{100 * float(row['accuracy']):.1f}", *cells])
    heads = ["set", "method", "board", "right, %", "instructions to learn", "per answer", "flash", "SRAM"]
    return markdown(heads, rows)


def tools():
    """Return with what the figures were measured."""
    run = json.loads((HERE / "run.json").read_text())["figures"]
    shown = ", ".join(f"{name} {version}" for name, version in run["tools"].items())
    return f"Measured {run['date']}: {shown}."


TABLES = {
    f.__name__: f
    for f in (
        uno,
        cortex,
        values,
        bins,
        products,
        interactions,
        motions,
        regression,
        air_quality,
        micropython,
        learning,
        boards,
        tools,
    )
}


def filled(text):
    """Return a document with its tables as they should be."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


def main():
    for name in DOCUMENTS:
        path = ROOT / name
        path.write_text(filled(path.read_text()))


if __name__ == "__main__":
    main()
