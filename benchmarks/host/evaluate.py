"""What ``sefr evaluate`` costs beside ten-fold cross-validation of ``auto=True`` alone; three times at most.

Both are measured side by side, in turns, as CPU time of one thread, from rows in memory; the least of the
turns counts. Writes ``evaluate.json``: python -m benchmarks.host.evaluate
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from benchmarks.machine import commit, machine
from sefr import compare
from sefr.comparison import METHODS, NUMBER_METHODS

TURNS = 3
TABLES = {
    "iris": (load_iris, "classify"),
    "wine": (load_wine, "classify"),
    "breast cancer": (load_breast_cancer, "classify"),
    "digits": (load_digits, "classify"),
    "diabetes": (load_diabetes, "regress"),
}


def main() -> None:
    """Measure every table and write the figures."""
    found = {}
    for name, (load, task) in TABLES.items():
        X, y = load(return_X_y=True)
        methods = METHODS if task == "classify" else NUMBER_METHODS
        alone, both = [], []
        for _ in range(TURNS):
            alone.append(_seconds(X, y, task, {"auto": {"auto": True}}, others=False))
            both.append(_seconds(X, y, task, methods, others=True))
        found[name] = {
            "task": task,
            "rows": len(y),
            "auto_seconds": round(min(alone), 3),
            "evaluate_seconds": round(min(both), 3),
            "times_auto": round(min(both) / min(alone), 2),
        }
        print(name, found[name])
    most = max(one["times_auto"] for one in found.values())
    answer = {
        "machine": machine(),
        "commit": commit(),
        "turns": TURNS,
        "most_times_auto": most,
        "tables": found,
    }
    Path(__file__).with_name("evaluate.json").write_text(json.dumps(answer, indent=2) + "\n")


def _seconds(X: np.ndarray, y: np.ndarray, task: str, settings: dict, *, others: bool) -> float:
    started = time.process_time()
    compare(X, y, cv=10, settings=settings, task=task, others=others)
    return time.process_time() - started


if __name__ == "__main__":
    main()
