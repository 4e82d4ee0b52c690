"""Peers on the same rows: how many times longer they take to fit.

PyPI's ``sefr`` shares our import name, so it is installed in a folder of its own and read from there.
"""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sefr import SEFRClassifier

from .clock import interleaved, ratio, typical

SHAPES = ((7000, 5000), (200_000, 40))
# A peer whose fit would take longer than this many seconds is measured on fewer rows, against ours on all of
# them: it is at least that much slower. A fit longer than LONG is measured once.
LONGEST = 9.0
LONG = 1.0
FEWEST_ROWS = 100
BOOSTS = 50  # iterations of the boosting methods, as in the paper


def two_pass(X: Any, y: Any) -> tuple[Any, float]:
    """Do what the paper says in numpy: scale, then means, weights and intercept, then the scores' means."""
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = (X - low) / np.where(high > low, high - low, 1)
    positive, negative = scaled[y == 1], scaled[y == 0]
    a, b = positive.mean(axis=0), negative.mean(axis=0)
    w = (a - b) / (a + b + 1e-7)
    over, under = (positive @ w).mean(), (negative @ w).mean()
    return w, -(over * len(negative) + under * len(positive)) / len(y)


def _peers() -> dict[str, Callable[[Any, Any], object]]:
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier
    from linearboost import LinearBoostClassifier
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import NearestCentroid
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier
    from xgboost import XGBClassifier

    published = _published()
    return {
        "two passes in numpy": two_pass,
        **({} if published is None else {"sefr on PyPI": lambda X, y: published().fit(X, y)}),
        "GaussianNB": lambda X, y: GaussianNB().fit(X, y),
        "NearestCentroid": lambda X, y: NearestCentroid().fit(X, y),
        "SGDClassifier": lambda X, y: SGDClassifier(max_iter=20).fit(X, y),
        "LogisticRegression": lambda X, y: LogisticRegression(max_iter=100).fit(X, y),
        "LinearSVC": lambda X, y: LinearSVC().fit(X, y),
        "DecisionTree": lambda X, y: DecisionTreeClassifier().fit(X, y),
        "LightGBM": lambda X, y: LGBMClassifier(n_estimators=BOOSTS, n_jobs=1, verbose=-1).fit(X, y),
        "XGBoost": lambda X, y: XGBClassifier(n_estimators=BOOSTS, n_jobs=1).fit(X, y),
        "CatBoost": lambda X, y: CatBoostClassifier(
            BOOSTS, verbose=0, thread_count=1, allow_writing_files=False
        ).fit(X, y),
        "linearboost": lambda X, y: LinearBoostClassifier(n_estimators=BOOSTS).fit(X, y),
    }


def rows_of(n: int, m: int) -> tuple[Any, Any]:
    """Return float32 rows of two classes that overlap."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, m)).astype(np.float32)
    X[:, : m // 10] += 0.3 * y[:, None].astype(np.float32)
    return X, y


def measure() -> Iterator[dict[str, Any]]:
    """Yield how many times longer than ours each peer's fit takes, one thread each."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    for n, m in SHAPES:
        X, y = rows_of(n, m)
        ours = SEFRClassifier()
        ours.fit(X, y)
        for name, fit in _peers().items():
            part, seconds = _affordable(fit, X, y)
            peers = {} if seconds > LONG else {"peer": partial(fit, X[:part], y[:part])}
            times = interleaved({"ours": partial(ours.fit, X, y), **peers}, 5, seconds=2.0)
            times.setdefault("peer", [seconds] * len(times["ours"]))
            yield {
                "section": "peers",
                "shape": f"{n}x{m}",
                "name": name,
                "times_ours": ratio(times, "peer", "ours"),
                "fit_ms": typical(times, "peer") * 1e3,
                "rows_measured": part,
                "rows": n,
            }


def _affordable(fit: Callable[[Any, Any], object], X: Any, y: Any) -> tuple[int, float]:
    """Return how many rows the peer fits within ``LONGEST`` seconds, going up by fours, and its time."""
    part = min(len(X), FEWEST_ROWS)
    while True:
        start = time.perf_counter()
        fit(X[:part], y[:part])
        took = time.perf_counter() - start
        more = min(len(X), part * 4)
        if part == len(X) or took * more / part > LONGEST:
            return part, took
        part = more


@functools.cache
def _published() -> Any:
    """Return the class of PyPI's sefr, read by its path, or None where it cannot be had."""
    folder = Path(tempfile.mkdtemp(prefix="sefr-bench-"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), "sefr"]
    if subprocess.run(pip, capture_output=True).returncode:
        print("PyPI's sefr cannot be had here: left out")
        return None
    spec = importlib.util.spec_from_file_location("published_sefr", folder / "sefr" / "sefr.py")
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SEFR
