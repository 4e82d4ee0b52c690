"""How often answers that are so sure are right: reliability curves and Brier scores of held-out rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from sefr import SEFRClassifier

from .sets import load

SETS = ("sonar", "waveform_5000", "semeion", "digits")
EDGES = np.linspace(0, 1, 11)
SETTINGS: dict[str, dict[str, Any]] = {
    "the paper": {},
    "passes=10": {"passes": 10},
    "moments=2": {"moments": 2},
    "auto": {"auto": True},
}


def reliability(X: Any, y: Any) -> dict[str, Any]:
    """Return, for each setting, the curve of the answer's probability and the Brier score."""
    found: dict[str, Any] = {}
    for setting, params in SETTINGS.items():
        probability, base = np.empty((len(y), len(np.unique(y)))), np.empty((len(y), len(np.unique(y))))
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            probability[test] = SEFRClassifier(**params).fit(X[train], y[train]).predict_proba(X[test])
            base[test] = np.bincount(y[train]) / len(train)
        truth = np.eye(probability.shape[1])[y]
        sure, right = probability.max(axis=1), probability.argmax(axis=1) == y
        place = np.clip(np.digitize(sure, EDGES) - 1, 0, 9)
        curve = [
            [float(sure[place == k].mean()), float(right[place == k].mean()), int((place == k).sum())]
            for k in range(10)
            if (place == k).sum() >= 10
        ]
        found[setting] = {
            "brier": float(((probability - truth) ** 2).sum(axis=1).mean()),
            "base": float(((base - truth) ** 2).sum(axis=1).mean()),
            "curve": curve,
        }
    return found


def write(folder: Path) -> None:
    """Measure four sets and write reliability.json."""
    curves = {name: reliability(*load(name)) for name in SETS}
    (folder / "reliability.json").write_text(json.dumps(curves, indent=1) + "\n")


if __name__ == "__main__":
    write(Path(__file__).parent)
