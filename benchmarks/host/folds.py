"""Ten folds from one pass, in CPU time: against one fit plus one predict, and against scikit-learn's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from sklearn.model_selection import cross_val_score

from sefr import SEFRClassifier, cross_validate

from .clock import interleaved, least, least_ratio
from .peers import rows_of


def measure() -> Iterator[dict[str, Any]]:
    """Yield the cost of ten folds at two shapes."""
    for n, m in ((7000, 5000), (200_000, 40)):
        X, y = rows_of(n, m)
        model = SEFRClassifier().fit(X, y)

        def once(model: Any = model, X: Any = X, y: Any = y) -> None:
            model.fit(X, y)
            model.predict(X)

        times = interleaved(
            {
                "once": once,
                "folds": lambda X=X, y=y: cross_validate(SEFRClassifier(), X, y, cv=10),
                "sklearn": lambda X=X, y=y: cross_val_score(SEFRClassifier(), X, y, cv=10),
            },
            5,
            seconds=12.0,
            clock=time.process_time,
        )
        yield {
            "section": "folds",
            "shape": f"{n}x{m}",
            "over_fit_and_predict": least_ratio(times, "folds", "once"),
            "times_faster_than_sklearn": least_ratio(times, "sklearn", "folds"),
            "ms": least(times, "folds") * 1e3,
        }
