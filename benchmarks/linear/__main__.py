"""``make bench-linear``: how long each linear model takes to the same held-out log loss.

Each method fits with more and more effort (iterations, epochs, a lower tolerance). The loss to be reached is
1.01 of the lowest that any of them has. The least effort with which a method reaches it is then measured
again, all methods in turns: the median of their times is the result. One thread: CPU time; two: time on the
wall. Each shape and number of threads has a process of its own. Written beside this file: ``efforts.csv``
(every fit), ``results.csv`` (time to loss; what was left out, and why) and ``run.json`` (machine, versions).
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
WITHIN = 1.01
# A fit that is expected to take longer than this many seconds is not made: by the share of rows that is
# tried first, then by the last effort.
LONGEST = 10.0
TRIED = 1 / 16
TURNS = 3
LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class Fit(NamedTuple):
    """One fit: its effort, seconds and held-out loss."""

    effort: float
    seconds: float
    loss: float


def main() -> None:
    """Measure every shape with one thread and with two, and write what was found after each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three small tables, two minutes")
    parser.add_argument("--only", type=int, nargs="+", help="which shapes, from 0; others stay as they are")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="how many")
    parser.add_argument("--here", action="store_true", help="measure one shape in this process")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for the results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.here:
        _measure(options)
        return
    from .sets import QUICK, SHAPES

    for threads in options.threads:
        own = {**os.environ, **dict.fromkeys(LIBRARIES, str(threads)), "PYTHONPATH": str(HERE.parents[1])}
        for at in options.only or range(len(QUICK if options.quick else SHAPES)):
            arguments = ["--here", "--threads", str(threads), "--only", str(at), "--out", str(options.out)]
            quick = ["--quick"] if options.quick else []
            python = [sys.executable, "-m", "benchmarks.linear"]
            subprocess.run([*python, *arguments, *quick], env=own, check=True)


def _measure(options: argparse.Namespace) -> None:
    from ..machine import commit, machine
    from .methods import methods, versions
    from .sets import QUICK, SHAPES, table

    warnings.simplefilter("ignore")
    shape, threads = (QUICK if options.quick else SHAPES)[options.only[0]], options.threads[0]
    load = os.getloadavg()[0]
    found, missing = methods()
    ladder = _Ladder(shape, table(shape), threads)
    for method in found:
        ladder.climb(method)
    where = {"shape": shape.name, "threads": str(threads)}
    efforts = [
        {
            **where,
            "method": name,
            "what": ladder.methods[name].what,
            "effort": f"{fit.effort:g}",
            "seconds": f"{fit.seconds:.4g}",
            "log_loss": f"{fit.loss:.5f}",
        }
        for name, fits in ladder.fits.items()
        for fit in fits
    ]
    run = {
        **where,
        "machine": machine(),
        "commit": commit(),
        "python": platform.python_version(),
        "versions": versions(found),
        "not installed": missing,
        "flags": "wheels of PyPI as they are; LIBLINEAR and sefr compiled here with their own flags",
        "clock": "CPU time of the process" if threads == 1 else "time on the wall",
        "load before": round(load, 1),
    }
    _replace(options.out / "efforts.csv", where, efforts)
    _replace(options.out / "results.csv", where, [{**where, **line} for line in ladder.times()])
    path = options.out / "run.json"
    runs = json.loads(path.read_text()) if path.exists() else []
    others = [other for other in runs if (other["shape"], other["threads"]) != (shape.name, str(threads))]
    path.write_text(json.dumps([*others, run], indent=2) + "\n")


def _replace(path: Path, where: dict[str, str], new: list[dict[str, str]]) -> None:
    """Write the lines of one shape and number of threads; those of others stay."""
    from ..tables import write_lines

    old: list[dict[str, str]] = []
    if path.exists():
        with path.open() as file:
            old = [line for line in csv.DictReader(file) if not where.items() <= line.items()]
    write_lines(path, [*old, *new])


class _Ladder:
    """What each method reached on one table."""

    def __init__(self, shape: Any, table: Any, threads: int) -> None:
        self.shape, self.table, self.threads = shape, table, threads
        self.clock: Callable[[], float] = time.process_time if threads == 1 else time.perf_counter
        self.fits: dict[str, list[Fit]] = {}
        self.methods: dict[str, Any] = {}
        self.left_out: dict[str, str] = {}

    def climb(self, method: Any) -> None:
        """Fit with more and more effort, as long as that lowers the loss and is affordable."""
        from .methods import Task

        shape, rows = self.shape, self.table
        if shape.values > method.most or (method.dense_only and shape.stored != shape.features):
            self.left_out[method.name] = method.why
            return
        n = int(shape.rows * TRIED)
        few = Task(rows._replace(X=rows.X[:n], y=rows.y[:n]), shape._replace(rows=n), self.threads)
        made = method.prepare(few)
        method.fit(made, method.efforts[0])
        seconds = self._fit(method, made, method.efforts[0]).seconds
        if seconds / TRIED > LONGEST:
            self.left_out[method.name] = f"one fit would take about {seconds / TRIED:.0f} s"
            return
        self.methods[method.name] = method
        made = method.prepare(Task(rows, shape, self.threads))
        fits: list[Fit] = []
        for effort in method.efforts:
            fits.append(self._fit(method, made, effort))
            grown = fits[-1].seconds / fits[-2].seconds if len(fits) > 1 else 2.0
            if fits[-1].seconds * max(grown, 1.0) > LONGEST:
                break
            if len(fits) > 3 and fits[-1].loss > 0.9999 * min(fit.loss for fit in fits[:-2]):
                break  # two efforts brought nothing
        self.fits[method.name] = fits
        print(self.shape.name, self.threads, method.name, *(f"{f.seconds:.3g}:{f.loss:.4f}" for f in fits))
        sys.stdout.flush()
        del made
        gc.collect()

    def _fit(self, method: Any, made: Any, effort: float) -> Fit:
        import numpy as np

        start = self.clock()
        model = method.fit(made, effort)
        seconds = self.clock() - start
        chance = np.clip(np.asarray(method.chance(model, self.table), dtype=np.float64), 1e-12, 1 - 1e-12)
        own = np.where(self.table.y_new == 1, chance, 1 - chance)
        return Fit(effort, seconds, float(-np.log(own).mean()))

    def times(self) -> Iterator[dict[str, str]]:
        """Yield the time to loss of each method, measured in turns; none for one that did not reach it."""
        from ..host.clock import interleaved, typical
        from .methods import Task

        best = min(fit.loss for fits in self.fits.values() for fit in fits)
        reached = {
            name: least
            for name, fits in self.fits.items()
            if (least := next((fit for fit in fits if fit.loss <= WITHIN * best), None)) is not None
        }
        task = Task(self.table, self.shape, self.threads)
        fast = {name: fit for name, fit in reached.items() if fit.seconds < LONGEST / TURNS}
        made = {name: self.methods[name].prepare(task) for name in fast}
        functions = {
            name: partial(self.methods[name].fit, made[name], fit.effort) for name, fit in fast.items()
        }
        times = interleaved(functions, TURNS, seconds=20.0, clock=self.clock) if functions else {}
        for name, fits in self.fits.items():
            least = reached.get(name)
            seconds = (
                "" if least is None else f"{typical(times, name) if name in times else least.seconds:.4g}"
            )
            yield {
                "method": name,
                "seconds": seconds,
                "effort": "" if least is None else f"{least.effort:g}",
                "what": self.methods[name].what,
                "lowest_loss": f"{min(fit.loss for fit in fits):.5f}",
                "loss_to_reach": f"{WITHIN * best:.5f}",
            }
        for name, why in self.left_out.items():
            yield {
                "method": name,
                "seconds": "",
                "effort": "",
                "what": why,
                "lowest_loss": "",
                "loss_to_reach": f"{WITHIN * best:.5f}",
            }


if __name__ == "__main__":
    main()
