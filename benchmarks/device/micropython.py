"""Times of micropython/sefr.py in MicroPython's build for WebAssembly: its interpreter, on this computer.

Writes benchmarks/device/micropython.csv: the best of many measurements of at least 40 ms, since the clock has
milliseconds. A board has another processor, and one that makes machine code uses it for the loops of learning
and classifying, which WebAssembly does not.
"""

import csv
import json
import sys
import tempfile
from pathlib import Path

from . import run as machine

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / "device")]
SHAPES = ((32, 2), (64, 10))
SCRIPT = """
import json
import time
import sefr
for features, classes in {shapes}:
    model = sefr.Model(features, classes)
    rows = [bytes((7 * i + 13 * j * (i % classes + 1)) % 256 for j in range(features)) for i in range(100)]

    def learn():
        for i, row in enumerate(rows):
            model.learn(row, i % classes)

    def classify():
        for row in rows:
            model.classify(row)

    for what, run, times in (("learn", learn, 100), ("solve", model.solve, 1), ("classify", classify, 100)):
        best = []
        while len(best) < 40:
            begin, turns, spent = time.ticks_ms(), 0, 0
            while spent < 40:
                run()
                turns += 1
                spent = time.ticks_diff(time.ticks_ms(), begin)
            best.append(1000 * spent / turns / times)
        print(json.dumps([features, classes, what, min(best)]))
"""


def main():
    from test_micropython import micropython

    with tempfile.TemporaryDirectory(prefix="sefr-bench-") as folder:
        rows = micropython(SCRIPT.format(shapes=json.dumps(SHAPES)), Path(folder))
    with (HERE / "micropython.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("features", "classes", "what", "microseconds"))
        writer.writerows([features, classes, what, round(time, 1)] for features, classes, what, time in rows)
    machine.note("micropython")


if __name__ == "__main__":
    main()
