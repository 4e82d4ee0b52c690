"""How the time of a fit grows with rows, features and classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sefr import SEFRClassifier

from .clock import interleaved
from .shapes import table

SWEEPS = {
    "rows": [(n, 50, 2) for n in (4000, 16_000, 64_000, 256_000, 1_024_000)],
    "features": [(4000, m, 2) for m in (32, 128, 512, 2048, 8192)],
    "classes": [(40_000, 200, k) for k in (2, 8, 32, 128, 512)],
}


def measure() -> Iterator[dict[str, Any]]:
    """Yield the fastest of several fits for each point of a sweep."""
    for name, points in SWEEPS.items():
        for n, m, k in points:
            X = table(n, m, "float32")
            y = np.arange(n) % k
            model = SEFRClassifier()
            times = interleaved({"fit": lambda X=X, y=y, model=model: model.fit(X, y)}, 15, seconds=2.0)
            at = {"rows": n, "features": m, "classes": k}[name]
            yield {
                "section": "growth",
                "sweep": name,
                "at": at,
                "shape": f"{n}x{m}",
                "classes": k,
                "fit_ms": min(times["fit"]) * 1e3,
            }


def slopes(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the log-log slope of each sweep: 1 is linear."""
    found = {}
    for name in SWEEPS:
        points = [(r["at"], r["fit_ms"]) for r in rows if r.get("sweep") == name]
        if len(points) > 2:
            x, t = np.log(np.array(points, dtype=float)).T
            found[name] = float(np.polyfit(x, t, 1)[0])
    return found
