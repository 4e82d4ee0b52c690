"""All processors beside one, on the wall: on small data they cost nothing, on large data they should pay.

Both take turns; the least time of each counts. It says something only on a machine that is at rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from sefr import SEFRClassifier

from .clock import interleaved, least, least_ratio
from .peers import rows_of

SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {},
    "second moments": {"moments": 2},
    "ten passes": {"passes": 10},
    "32 bins": {"bins": 32},
}
# A call that is shorter is repeated within its turn.
LEAST = 0.002
TURNS = 40


def _cases() -> Iterator[tuple[str, Any, Any]]:
    for name, load in (("iris", load_iris), ("breast cancer", load_breast_cancer), ("digits", load_digits)):
        yield name, *load(return_X_y=True)
    for n, m in ((20_000, 20), (200_000, 40), (1_000_000, 40)):
        X, y = rows_of(n, m)
        yield f"{n:,} x {m}", X, y


def measure() -> Iterator[dict[str, Any]]:
    """Yield how many times faster all processors are than one, by data, setting and verb."""
    for case, X, y in _cases():
        for name, setting in SETTINGS.items():
            one, all_ = (SEFRClassifier(**setting, n_jobs=jobs).fit(X, y) for jobs in (1, -1))
            for verb in ("fit", "predict"):
                given = (X, y) if verb == "fit" else (X,)
                work = {
                    key: partial(getattr(model, verb), *given) for key, model in (("one", one), ("all", all_))
                }
                times = interleaved(work, TURNS, seconds=4.0, least=LEAST)
                yield {
                    "section": "threads",
                    "case": case,
                    "name": f"{name}, {verb}",
                    "threads": os.cpu_count(),
                    "one_over_all": least_ratio(times, "one", "all"),
                    "us": least(times, "all") * 1e6,
                }
