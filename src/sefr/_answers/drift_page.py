"""The HTML page of a comparison: what has changed between two Summaries, the greatest first."""

from __future__ import annotations

from .._summary.drift import Drift
from .._system.colours import AGAINST, AGAINST_DARK, FOR, FOR_DARK, NEUTRAL, NEUTRAL_DARK
from .page import environment, template

MOST_FEATURES = 2_000
THEMES = {"light": (AGAINST, NEUTRAL, FOR), "dark": (AGAINST_DARK, NEUTRAL_DARK, FOR_DARK)}


def drift_page(found: Drift, *, before: str, after: str) -> str:
    """Return a self-contained HTML page; ``before`` and ``after`` say what was compared."""
    features = sorted(found.features, key=lambda item: (not item.drifted, -item.size))
    return (
        environment()
        .get_template("drift.html.jinja")
        .render(
            drift=found,
            before=before,
            after=after,
            features=features[:MOST_FEATURES],
            n_hidden=max(0, len(features) - MOST_FEATURES),
            widest=max([item.psi or abs(item.shift) for item in features], default=0.0) or 1.0,
            bins=any(item.psi is not None for item in features),
            limits=found.thresholds,
            themes=THEMES,
            style=template("report.css"),
            script=template("report.js"),
        )
    )
