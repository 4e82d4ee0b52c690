"""The memory of a stream of 10 million rows: the process and the model's state, every million rows.

python benchmarks/streams/memory.py [--rows 10000000]
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import time
from pathlib import Path

from river import drift

from sefr.engines.river import SEFRStream


def resident() -> int:
    """Return the memory of this process in kB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise OSError("no VmRSS in /proc/self/status")


def main() -> None:
    """Learn a stream of 10 features and 3 classes, with forgetting and ADWIN, and say what it takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    model = SEFRStream(half_life=10_000, drift_detector=drift.ADWIN())
    number = random.Random(1).random  # noqa: S311
    names = [f"x{j}" for j in range(10)]
    points = []
    started = time.perf_counter()
    for i in range(1, rows + 1):
        y = i % 3
        model.learn_one({name: number() + y * 0.1 for name in names}, y)
        if i % (rows // 10) == 0:
            seconds = time.perf_counter() - started
            point = {
                "rows": i,
                "rss_kb": resident(),
                "state_bytes": len(pickle.dumps(model._sums)),
                "seconds": round(seconds, 1),
            }
            points.append(point)
            print(point, flush=True)
    (Path(__file__).parent / "memory.json").write_text(json.dumps(points, indent=1) + "\n")


if __name__ == "__main__":
    main()
