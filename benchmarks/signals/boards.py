"""What signals cost on boards: cycles or instructions, RAM, flash.

Features go into boards.csv, learning with second moments into learning.csv. simavr counts cycles; QEMU counts
instructions. Energy is arithmetic, not a measurement: time times the power of the board, 0.30 W for an Uno,
and cycles times what the data sheet says of the chip alone.
"""

import csv
import struct
import tempfile
from pathlib import Path

import numpy as np

from sefr.device import BOARDS, library
from sefr.signals import SignalFeatures, cut

HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / "tests" / "device" / "signal.c"
LEARNING = PROGRAM.with_name("signal_moments.c")
ASK, BEGIN = 255, 254  # see there
UNO = {"axes": 1, "length": 64, "hop": 32, "dilations": (1, 7), "kernels": 84, "thresholds": 1, "segments": 8}
THREE = {
    "axes": 3,
    "length": 128,
    "hop": 64,
    "dilations": (1,),
    "kernels": 84,
    "thresholds": 1,
    "segments": 8,
}
RUNS = [
    ("uno", UNO),
    ("uno", UNO | {"segments": 0}),
    ("cortex-m0", UNO),
    ("cortex-m0", THREE),
    ("cortex-m3", THREE),
    ("cortex-m4", THREE),
    ("riscv32", THREE),
]


def measured(name, plan):
    """Return a row, after checking that the board computed the bytes of the host."""
    board = BOARDS[name]
    low, high = -1000, 1000
    features = SignalFeatures(
        plan["length"],
        plan["axes"],
        dilations=plan["dilations"],
        kernels=plan["kernels"],
        statistics=plan["segments"] > 0,
        range=(low, high),
    ).fit()
    defines = [f"{key.upper()}={plan[key]}" for key in plan if key != "dilations"]
    defines += [f"DILATIONS={','.join(map(str, plan['dilations']))}"]
    defines += [f"RANGES={','.join([f'{{{low},{high}}}'] * plan['axes'])}"]
    signal = np.random.default_rng(0).integers(low, high, (plan["length"] + plan["hop"] - 1, plan["axes"]))
    with tempfile.TemporaryDirectory() as folder:
        sources = [PROGRAM, library() / "sefr_signal.c"]
        image = board.build(sources, Path(folder), includes=[library()], defines=defines)
        run = board.run(image, struct.pack("<I", len(signal)) + signal.astype("<i2").tobytes())
    expected = features.transform(cut(signal, plan["length"], plan["hop"]))[0]
    if list(run.output[1 : 1 + len(expected)]) != expected.tolist():
        raise SystemExit(f"{name} computed other bytes than the host")
    spent = np.diff(run.marks)[::2][: plan["hop"]]
    joules = spent.sum() / board.hertz * board.watts if board.hertz and board.watts else None
    chip = spent.sum() * board.cycle_joules if board.cycle_joules else None
    return {
        "board": name,
        "counter": board.counter,
        **{key: plan[key] for key in ("axes", "length", "hop", "kernels", "segments")},
        "dilations": " ".join(map(str, plan["dilations"])),
        "features": len(expected),
        "per window": int(spent.sum()),
        "most per sample": int(spent.max()),
        "microjoules per window": "" if joules is None else round(1e6 * joules),
        "microjoules of the chip": "" if chip is None else round(1e6 * chip),
        "sram": run.sram,
        "flash": image.flash,
    }


def learned(name, records=50):
    """Return what it costs a board to learn with second moments: 84 counts of 3 axes, 2 classes."""
    board = BOARDS[name]
    plan = {"axes": 3, "length": 32, "hop": 16, "kernels": 28, "segments": 0, "features": 84, "classes": 2}
    defines = [f"{key.upper()}={value}" for key, value in plan.items()]
    defines += ["DILATIONS=1", "RANGES=" + ",".join(["{0,1023}"] * 3)]
    rng = np.random.default_rng(0)
    steps = []
    for label in (*[0, 1] * (records // 2), *[ASK] * 5):
        steps.append(struct.pack("<B", BEGIN))
        steps += [struct.pack("<B3h", label, *sample) for sample in rng.integers(0, 1024, (32, 3)).tolist()]
    sources = [LEARNING, library() / "sefr_signal.c", library() / "sefr.c"]
    with tempfile.TemporaryDirectory() as folder:
        image = board.build(sources, Path(folder), includes=[library()], defines=defines)
        run = board.run(image, struct.pack("<I", len(steps)) + b"".join(steps))
    spent = np.diff(run.marks)[::2]
    return {
        "board": name,
        "counter": board.counter,
        **{key: plan[key] for key in ("axes", "length", "features", "classes")},
        "learn": int(spent[:records].max()),
        "solve": int(spent[records]),
        "answer": int(spent[records + 1 :].max()),
        "sram": run.sram,
        "flash": image.flash,
    }


def write(name, rows):
    """Write rows as CSV, and show them."""
    with (HERE / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(row)


def main():
    """Measure all and write."""
    write("learning.csv", [learned(name) for name in ("cortex-m4", "riscv32")])
    write("boards.csv", [measured(*one) for one in RUNS])


if __name__ == "__main__":
    main()
