"""The HTML page of a comparison: what has changed between two Summaries, the greatest first."""

from __future__ import annotations

from .._summary.drift import DriftReport
from .page import MOST_SHOWN_FEATURES, render


def drift_page(found: DriftReport, *, before: str, after: str) -> str:
    """Return a self-contained HTML page; ``before`` and ``after`` say what was compared."""
    features = sorted(found.features, key=lambda item: (not item.drifted, -item.size))
    return render(
        "drift.html.jinja",
        drift=found,
        before=before,
        after=after,
        features=features[:MOST_SHOWN_FEATURES],
        n_hidden=max(0, len(features) - MOST_SHOWN_FEATURES),
        widest=max([item.psi or abs(item.shift) for item in features], default=0.0) or 1.0,
        bins=any(item.psi is not None for item in features),
        limits=found.thresholds,
    )
