"""What a model has learned, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..classifier import SEFRClassifier
from ..displays import strongest_features
from ..regressor import SEFRRegressor
from .screen import Screen, bar, grid, shown

if TYPE_CHECKING:
    from .._system.types import Fields

MOST_CLASSES_SHOWN = 20


def show_strongest(screen: Screen, clf: SEFRClassifier, count: int = 5) -> None:
    """Show the strongest features: a bar each for two classes, a line per class for more."""
    if len(clf.classes_) == 2:
        against, for_ = clf.classes_.tolist()
        sides = f"{shown(against, 20)} │ {shown(for_, 20)}"
        table = grid("feature", "effect", "score", sides, right=["effect", "score"])
        for item in strongest_features(clf, count)[0]["features"]:
            table.add_row(
                shown(item["feature"]), f"{item['effect']:+.3f}", f"{item['score']:+.3f}", bar(item["share"])
            )
    else:
        table = grid("class", "rows", "strongest features (+ for, - against)", right=["rows"])
        counts = clf.summary_.counts
        for line, rows in list(zip(strongest_features(clf, 4), counts, strict=True))[:MOST_CLASSES_SHOWN]:
            best = "  ".join(
                f"{shown(item['feature'], 30)} {item['effect']:+.2f}" for item in line["features"]
            )
            table.add_row(shown(line["label"], 30), f"{rows:,.0f}", shown(best, 300))
        if len(clf.classes_) > MOST_CLASSES_SHOWN:
            table.add_row(f"and {len(clf.classes_) - MOST_CLASSES_SHOWN} more; --json has all")
    screen.print(table)


def importances(reg: SEFRRegressor) -> list[Fields]:
    """Return the share of each feature in moving predictions, the greatest first; of a line with weights."""
    names = reg.summary_.feature_names or [f"x{j}" for j in range(reg.n_features_in_)]
    shares = reg.feature_importances_
    # a model with bins has no weights; first moments and passes do not know their errors
    learned = {"weight": "coef_", "standard_error": "coef_std_"}
    weights = {name: getattr(reg, learned[name]) for name in learned if hasattr(reg, learned[name])}
    found: list[Fields] = []
    for j in np.argsort(-shares, kind="stable"):
        one: Fields = {"feature": str(names[j]), "share": float(shares[j])}
        found.append(one | {name: float(values[j]) for name, values in weights.items()})
    return found


def told_of_numbers(reg: SEFRRegressor) -> Fields:
    """Return what moves predictions, for JSON."""
    noise = float(reg.noise_) if hasattr(reg, "noise_") else None
    return {"mean": float(reg.base_), "noise": noise, "importances": importances(reg)}


def show_importances(screen: Screen, reg: SEFRRegressor, count: int = 5) -> None:
    """Show how much of what moves predictions is of each feature; of a line with its weights."""
    found = importances(reg)
    line = [name.replace("_", " ") for name in found[0] if name not in ("feature", "share")]
    table = grid("feature", "share", *line, right=["share", *line])
    for one in found[:count]:
        numbers = [f"{one['share']:.1%}"] + [f"{one[name.replace(' ', '_')]:+.4g}" for name in line]
        table.add_row(shown(one["feature"]), *numbers)
    if len(found) > count:
        table.add_row(f"and {len(found) - count} more; --json has all")
    screen.print(table)
