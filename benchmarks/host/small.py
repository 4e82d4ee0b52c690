"""Small things beside scikit-learn's: a small fit, one answer, ten passes on small sets, and starting up.

CPU times of one thread, the least of several turns: these calls are so short that the other work of a machine
would be most of what a clock shows.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from sefr import SEFRClassifier

from .clock import interleaved, least
from .peers import rows_of

SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
# Seconds of one turn: many calls, as one is shorter than the clock's ticks.
LEAST = 0.002
TURNS = 40


def measure() -> Iterator[dict[str, Any]]:
    """Yield the time of each method on each case, all methods of a case in turns."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):  # threads of BLAS that wait for work would be counted, too
        yield from _calls()
    yield from _starts()


def _calls() -> Iterator[dict[str, Any]]:
    X, y = rows_of(1000, 10)
    models: dict[str, Any] = {
        "sefr": SEFRClassifier(),
        "GaussianNB": GaussianNB(),
        "LogisticRegression": LogisticRegression(),
    }
    yield from _compared("fit, 1,000 x 10", {name: partial(m.fit, X, y) for name, m in models.items()})
    yield from _compared(
        "predict of one row", {name: partial(m.predict, X[:1]) for name, m in models.items()}
    )
    for case, load in SETS.items():
        X, y = load(return_X_y=True)
        models = {
            "sefr, ten passes": SEFRClassifier(passes=10),
            "SVC, linear": make_pipeline(MinMaxScaler(), SVC(kernel="linear")),
            "LogisticRegression": make_pipeline(MinMaxScaler(), LogisticRegression()),
        }
        yield from _compared(f"fit, {case}", {name: partial(m.fit, X, y) for name, m in models.items()})


def _compared(case: str, functions: dict[str, Callable[[], object]]) -> Iterator[dict[str, Any]]:
    times = interleaved(functions, TURNS, clock=time.process_time, least=LEAST)
    for name in functions:
        yield {"section": "small", "name": name, "case": case, "us": least(times, name) * 1e6}


def _starts() -> Iterator[dict[str, Any]]:
    """Yield the CPU time of processes that do next to nothing."""
    sefr = str(Path(sys.executable).with_name("sefr"))
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            "python, nothing": [sys.executable, "-c", "pass"],
            "import sefr": [sys.executable, "-c", "import sefr"],
            "sefr --help": [sefr, "--help"],
            "sefr train of a file that is not there": [sefr, "train", str(Path(folder) / "none.csv")],
        }
        run = partial(subprocess.run, capture_output=True, check=False)
        functions: dict[str, Callable[[], object]] = {
            name: partial(run, command) for name, command in commands.items()
        }
        times = interleaved(functions, 5, clock=_spent_by_children)
    for name in commands:
        yield {"section": "small", "name": name, "case": "start", "us": least(times, name) * 1e6}


def _spent_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
