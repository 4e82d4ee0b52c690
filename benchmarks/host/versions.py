"""``python -m benchmarks.host.versions BEFORE AFTER``: two installed versions, side by side in one run.

BEFORE and AFTER are Python interpreters, each with its own sefr. Both stay alive and take turns on the same
rows, so that a noisy machine disturbs both alike; the rows are laid out anew several times, as where they
lie in memory moves a time by some per cent. Written to versions.csv: the time of BEFORE divided by that of
AFTER, best of all turns and median of the ratios; below 0.97 AFTER is slower.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
import time
from pathlib import Path
from typing import TextIO, cast

from ..machine import commit, machine

CASES = [
    *[
        (shape, dtype, classes, verb)
        for shape in ("7000x5000", "200000x200", "1000000x40", "85x22283", "1000x10")
        for dtype in ("float32", "float64", "uint8")
        for classes in (2, 10)
        for verb in ("fit", "predict")
    ],
    *[("20000x54", dtype, 2, "passes") for dtype in ("float32", "float64")],
    *[("200000x40", "float32", classes, "folds") for classes in (2, 10)],
    *[("7000x5000", "float32", 2, verb) for verb in ("fit by columns", "fit sparse", "partial_fit")],
]

LAYOUTS = 4

# One program for both: only names that both versions have.
WORKER = """
import sys, time
import numpy as np
from sefr import SEFRClassifier
import sefr

def table(n, m, dtype):
    block = np.random.default_rng(0).integers(0, 250, min(n * m, 1 << 20), dtype=np.uint8)
    return np.resize(block, (n, m)).astype(dtype)

last = None
for line in sys.stdin:
    *case, calls = line.rstrip("\\n").split("\\t")
    if last != case:
        shape, dtype, classes, verb, _ = case
        last = None
        X = y = model = work = None
        n, m = map(int, shape.split("x"))
        X, k = table(n, m, dtype), int(classes)
        y = np.random.default_rng(k).permutation(np.arange(n) % k)
        if verb == "passes":  # labels that follow from the rows, so that the passes have something to find
            scores = X.astype(float) @ np.random.default_rng(1).normal(size=m)
            y = (scores > np.median(scores)).astype(int)
        if verb == "fit by columns":
            X = np.asfortranarray(X)
        if verb == "fit sparse":
            from scipy import sparse
            X = sparse.random(n, m, 0.02, "csr", np.float32, np.random.default_rng(0))
        model = SEFRClassifier(passes=10) if verb == "passes" else SEFRClassifier()
        model.fit(X, y)
        work = {
            "predict": lambda: model.predict(X),
            "folds": lambda: sefr.cross_validate(model, X, y, cv=10),
            "partial_fit": lambda: model.partial_fit(X, y),
        }.get(verb, lambda: model.fit(X, y))
        work()
        last = case
    start = time.perf_counter()
    for _ in range(int(calls)):
        work()
    print((time.perf_counter() - start) / int(calls), flush=True)
"""


class Version:
    """One version in a process of its own that waits for work."""

    def __init__(self, python: str) -> None:
        child = subprocess.Popen(
            [python, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._work, self._answers = cast(TextIO, child.stdin), cast(TextIO, child.stdout)

    def seconds(self, case: tuple[str, str, int, str], layout: int, calls: int) -> float:
        """Return the time of one call, the mean of ``calls``; rows lie elsewhere for another layout."""
        self._work.write("\t".join(map(str, (*case, layout, calls))) + "\n")
        answer = self._answers.readline()
        if not answer:
            raise SystemExit(f"a version failed on {case}: see above")
        return float(answer)


def main() -> None:
    """Measure every case, show progress, write versions.csv."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.host.versions", description=__doc__)
    parser.add_argument("before", help="the interpreter that has the version before")
    parser.add_argument("after", help="the interpreter that has the version after")
    parser.add_argument("--seconds", type=float, default=4.0, help="time for each case")
    parser.add_argument("--only", default="", help="cases whose words contain this")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("versions.csv"))
    options = parser.parse_args()
    before, after = Version(options.before), Version(options.after)
    with options.out.open("w", newline="") as file:
        writer = csv.writer(file)
        names = ["shape", "type", "classes", "what", "before_ms", "after_ms", "best", "median"]
        writer.writerow(["machine", "commit", *names])
        for case in [case for case in CASES if options.only in " ".join(map(str, case))]:
            old: list[float] = []
            new: list[float] = []
            for layout in range(LAYOUTS):
                first = before.seconds(case, layout, 1), after.seconds(case, layout, 1)
                calls, done = max(1, int(0.02 / max(first))), len(old)
                end = time.perf_counter() + options.seconds / LAYOUTS
                while len(old) < done + 3 or time.perf_counter() < end:
                    old.append(before.seconds(case, layout, calls))
                    new.append(after.seconds(case, layout, calls))
            best = min(old) / min(new)
            median = statistics.median(a / b for a, b in zip(old, new, strict=True))
            figures = [f"{min(old) * 1e3:.4g}", f"{min(new) * 1e3:.4g}", f"{best:.3f}", f"{median:.3f}"]
            writer.writerow([machine(), commit(), *case, *figures])
            print(*case, *figures, flush=True)


if __name__ == "__main__":
    main()
