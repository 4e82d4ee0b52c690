"""Measure macro F1 (10-fold, stratified, shuffled, seed 0) and fit time, into results.json.

    python -m benchmarks.accuracy [--only METHOD ...] [--out FOLDER] [--budget SECONDS]

A slow method stops after the first fold that passes its budget for a set; its row says how many folds it had.
``--only`` measures some methods and keeps the others' results that are there. ``make pictures`` draws them.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from ..machine import commit, machine
from .methods import methods
from .reliability import write as write_reliability
from .sets import PAPER, SCIKIT_LEARN, load


def measure(make: Any, X: Any, y: Any, budget: float) -> dict[str, float]:
    """Return macro F1 and the time of one fit, the median over folds: CPU time, BLAS in one thread."""
    scores, times = [], []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
        model = make()
        with threadpool_limits(1, user_api="blas"):  # threads that wait for work would count, too
            started = time.process_time()
            model.fit(X[train], y[train])
            times.append(time.process_time() - started)
        scores.append(f1_score(y[test], model.predict(X[test]), average="macro"))
        if sum(times) > budget:
            break
    return {"f1": 100 * float(np.mean(scores)), "seconds": float(np.median(times)), "folds": len(scores)}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=list(methods()), help="which methods to measure")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds a method may spend on a set")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    path = options.out / "results.json"
    found = json.loads(path.read_text())["methods"] if path.exists() else {}
    for method in options.only:
        found[method] = {"commit": commit(), "sets": dict(_measured(method, options.budget))}
        order = [name for name in methods() if name in found]
        results = {"machine": machine(), "methods": {name: found[name] for name in order}}
        path.write_text(json.dumps(results, indent=1) + "\n")  # now: the next method may take an hour
    write_reliability(options.out)
    print(table(found))


def _measured(method: str, budget: float) -> Iterator[tuple[str, dict[str, float]]]:
    make = methods()[method]
    for name in (*PAPER, *SCIKIT_LEARN):
        X, y = load(name)
        if method == "linearboost" and len(np.unique(y)) > 2:  # it knows two classes only
            continue
        line = measure(make, X, y, budget)
        print(f"{name:14} {method:20} {line['f1']:6.2f} {1e3 * line['seconds']:10.1f} ms", flush=True)
        yield name, line


def table(results: dict[str, Any]) -> str:
    """Return the means by group as Markdown."""
    lines = ["| method | paper's five | scikit-learn's four | median fit |", "|---|---|---|---|"]
    for method, entry in results.items():
        by_set = entry["sets"]
        cells = []
        for group in (PAPER, SCIKIT_LEARN):
            have = [by_set[name]["f1"] for name in group if name in by_set]
            cells.append(
                f"{np.mean(have):.2f}" if len(have) == len(group) else f"{len(have)} of {len(group)} sets"
            )
        seconds = float(np.median([line["seconds"] for line in by_set.values()]))
        lines.append(f"| {method} | {cells[0]} | {cells[1]} | {1e3 * seconds:.1f} ms |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
