"""The HTML report: one file that explains a model, and answers of it, to a person."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from ._answers.contributions import names_of_sets
from ._answers.curves import Curve
from ._answers.fitted_numbers import FittedNumbers
from ._answers.page import MOST_SHOWN_FEATURES, THEMES, render
from ._system.colours import channels
from ._system.types import Array, Fields, Floats, Rows
from ._weights.auto import IN_WORDS
from .classifier import SEFRClassifier
from .displays import (
    check_image,
    depths,
    effects,
    gathered,
    strongest,
    strongest_features,
    values_in_words,
)
from .regressor import SEFRRegressor

MOST_RECORDS = 200
MOST_CURVES = 240
MOST_AXIS_WORDS = 5
CARD_FEATURES, WIDE_CARD_FEATURES = 8, 16


def report(
    clf: SEFRClassifier | SEFRRegressor,
    *,
    title: str,
    image: tuple[int, int] | None = None,
    records: Sequence[Fields] = (),
    feature_names: Sequence[str] | None = None,
) -> str:
    """Return a self-contained HTML page: what each feature does, and records explained.

    Parameters
    ----------
    clf : SEFRClassifier or SEFRRegressor
        A trained model.
    title : str
        What the page is about.
    image : (height, width), default=None
        Show scores as images of this size.
    records : list of dict
        From :func:`explained`.
    feature_names : list of str, default=None
        Names to show instead of those learned.
    """
    clf = copy(clf)  # as it is now: another thread may go on learning
    if clf.task.predicts_numbers:
        if image is not None:
            raise ValueError("pictures show classes: a model that predicts numbers has none")
        return _report_of_numbers(clf, title, records, names_of_sets(clf.fitted_, feature_names))
    if image is not None:
        check_image(image, len(clf.feature_sets_))
    names = names_of_sets(clf.fitted_, feature_names)
    found, scores = effects(clf), clf.fitted_.strengths()
    shown = strongest(np.abs(found).max(axis=0), MOST_SHOWN_FEATURES)
    widest = np.maximum(np.abs(found).max(axis=1), 1e-300)
    drawn = _drawn_curves(clf, shown)
    features = [
        {
            "name": names[j],
            "cells": [
                {"effect": effect, "score": score, "share": effect / most, "curve": drawn.get((j, r))}
                for r, (effect, score, most) in enumerate(
                    zip(found[:, j].tolist(), scores[:, j].tolist(), widest.tolist(), strict=True)
                )
            ],
        }
        for j in shown
    ]
    return render(
        "report.html.jinja",
        title=title,
        clf=clf,
        settings=clf.fitted_.settings.shown() | _passes_made(clf) | _chosen(clf),
        labels=clf.classes_.tolist(),
        cards=_cards(clf, image, found, names),
        features=features,
        answered=_answered(records),
        n_hidden=len(names) - len(shown),
        records=records,
        **_about(clf, names),
    )


def _about(model: SEFRClassifier | SEFRRegressor, names: list[str]) -> Fields:
    """Return what both pages say of a model."""
    sets = len(names) > model.n_features_in_
    return {
        "summary": model.summary_,
        "subjects": model.fitted_.subjects,
        "label": (model.fitted_.columns or {}).get("label"),
        "sets": sets,
        "nouns": "features and interactions" if sets else "features",
    }


def _report_of_numbers(reg: SEFRRegressor, title: str, records: Sequence[Fields], names: list[str]) -> str:
    """Return the page of a model that predicts numbers."""
    fitted, outputs = reg.fitted_, reg.fitted_.subjects
    spreads = fitted.model.spreads(fitted.summary)
    coef, errors = fitted.model.slopes, None
    if coef is not None and fitted.regression.solution is not None:
        errors = fitted.regression.standard_errors()
    signed = spreads if coef is None else spreads * np.where(coef < 0, -1.0, 1.0)
    widest = np.maximum(spreads.max(axis=1), 1e-300)
    shown = strongest(spreads.max(axis=0), MOST_SHOWN_FEATURES)
    drawn = _drawn_curves(reg, shown)

    def weight(r: int, j: int) -> str | None:
        if coef is None:
            return None
        return f"{coef[r, j]:+.4g}" + ("" if errors is None else f" ± {errors[r, j]:.2g}")

    features = [
        {
            "name": names[j],
            "cells": [
                {
                    "spread": float(spreads[r, j]),
                    "share": float(signed[r, j] / widest[r]),
                    "weight": weight(r, j),
                    "curve": drawn.get((j, r)),
                }
                for r in range(len(outputs))
            ],
        }
        for j in shown
    ]
    many = WIDE_CARD_FEATURES if len(outputs) == 1 else CARD_FEATURES
    cards = [
        {
            "label": output,
            "features": [
                {"name": names[j], "spread": float(own[j]), "share": float(signed[r, j] / widest[r])}
                for j in strongest(own, many)
                if own[j]
            ],
        }
        for r, (output, own) in enumerate(zip(outputs, spreads, strict=True))
    ]
    return render(
        "numbers.html.jinja",
        title=title,
        facts=_facts(reg),
        settings=fitted.settings.shown() | _grown(fitted),
        cards=cards,
        features=features,
        errors=errors is not None,
        tested=_tested(records),
        n_hidden=len(names) - len(shown),
        records=records,
        **_about(reg, names),
    )


def _facts(reg: SEFRRegressor) -> dict[str, str]:
    """Return the mean of y, and how far predictions lie from it, as far as the sums tell."""
    fitted = reg.fitted_
    found = {"mean": ", ".join(f"{mean:.5g}" for mean in fitted.mean)}
    noise = fitted.regression.noise
    if noise is None:
        return found
    k, near = reg.summary_.n_targets, fitted.summary.near_products()
    variance = (near.own_squares[-k:] - near.sums[-k:] ** 2 / near.count) / max(near.count - 1, 1.0)
    found["R² on the rows learned"] = ", ".join(f"{1 - own:.3f}" for own in noise / variance)
    found["scatter about predictions"] = ", ".join(f"{own:.4g}" for own in np.sqrt(noise))
    return found


def _tested(records: Sequence[Fields]) -> Fields | None:
    """Return how far predictions lie from what is true, and two plots; None if no truth is known."""
    known = [record for record in records if record["truth"] is not None]
    if len(known) < 2:
        return None
    answers, truths = (np.array([float(record[key]) for record in known]) for key in ("answer", "truth"))
    left = truths - answers
    places = [record["place"] for record in known]
    low, high = min(answers.min(), truths.min()), max(answers.max(), truths.max())
    most = max(float(np.abs(left).max()), 1e-300)
    power = float(((truths - truths.mean()) ** 2).sum())
    return {
        "count": len(known),
        "r2": 1 - float(left @ left) / power if power else 0.0,
        "mae": float(np.abs(left).mean()),
        "rmse": float(np.sqrt((left @ left) / len(left))),
        "plots": [
            _plot(
                "Predicted (right) and true (up); on the line both are the same",
                answers,
                truths,
                (low, high),
                (low, high),
                places,
                (0, 83, 100, 0),
            ),
            _plot(
                "Predicted (right) and what is left, true less predicted (up)",
                answers,
                left,
                (low, high),
                (-most, most),
                places,
                (0, 41.5, 100, 41.5),
            ),
        ],
    }


def _plot(
    words: str,
    x: Floats,
    y: Floats,
    across: tuple[float, float],
    up: tuple[float, float],
    places: Sequence[str],
    line: tuple[float, float, float, float],
) -> Fields:
    """Return points of a plot 100 wide and 83 high."""

    def share(values: Floats, ends: tuple[float, float]) -> Floats:
        return np.asarray((values - ends[0]) / max(ends[1] - ends[0], 1e-300))

    points = [
        {"x": round(100 * a, 2), "y": round(83 * (1 - b), 2), "words": f"{place}: {own:.5g}, {other:.5g}"}
        for a, b, place, own, other in zip(share(x, across), share(y, up), places, x, y, strict=True)
    ]
    return {"words": words, "points": points, "line": line}


def _answered(records: Sequence[Fields]) -> Fields | None:
    """Return how many of the records whose label is known are answered correctly; None if none is known."""
    known = [record for record in records if record["truth"] is not None]
    if not known:
        return None
    right = sum(record["truth"] == record["answer"] for record in known)
    return {"right": right, "known": len(known), "percent": 100 * right / len(known)}


def _passes_made(clf: SEFRClassifier) -> dict[str, str]:
    return {} if clf.auto else {"passes": f"{clf.n_passes_}"}


def _grown(fitted: FittedNumbers) -> dict[str, str]:
    """Return how many interactions ``auto=True`` found for numbers."""
    if not fitted.settings.auto:
        return {}
    return {"interactions": str(len(fitted.summary.coding.ferns or ()))}


def _chosen(clf: SEFRClassifier) -> dict[str, str]:
    """Return what ``auto=True`` chose, for people to read."""
    auto = clf.fitted_.auto
    if auto is None:
        return {}
    parts = [f"{weight:.2f} {IN_WORDS[part]}" for part, weight in auto.choice.weights.items()]
    return {"weights of parts": ", ".join(parts), "interactions": str(auto.choice.n_ferns)}


def _drawn_curves(clf: SEFRClassifier | SEFRRegressor, shown: Array) -> dict[tuple[int, int], Fields]:
    """Return the curves of a model with bins by feature and score: bars, and the ends of the axis."""
    fitted, drawn = clf.fitted_, {}
    curves, n_scores = fitted.model.curves(fitted.summary), len(fitted.constant)
    for j in shown[shown < len(curves)][: max(1, MOST_CURVES // n_scores)].tolist():
        curve = curves[j]
        highest = max(1e-300, float(np.abs(curve.effects).max()))
        most = max(1.0, float(curve.rows.max()))
        for r, own in enumerate(curve.effects.tolist()):
            bars = [
                {
                    "at": 100 * b / len(own),
                    "width": 100 / len(own),
                    "size": 20 * abs(effect) / highest,
                    "against": effect < 0,
                    "rows": 8 * rows / most,
                    "words": f"{curve.describe_bin(b)}: {effect:+.3f}, {rows:,.0f} rows",
                }
                for b, (effect, rows) in enumerate(zip(own, curve.rows.tolist(), strict=True))
            ]
            drawn[j, r] = {"bars": bars, "axis": _axis_words(curve)}
    return drawn


def _axis_words(curve: Curve) -> list[str]:
    """Return what stands below a curve: every category if these are few, else the first and the last bin."""
    count = len(curve.effects[0])
    if curve.categories is not None and count <= MOST_AXIS_WORDS:
        return [curve.describe_bin(b) for b in range(count)]
    return [curve.describe_bin(0), curve.describe_bin(count - 1)]


def explained(
    clf: SEFRClassifier | SEFRRegressor,
    X: Rows,
    *,
    places: Sequence[str],
    truths: Sequence[object] | None = None,
    feature_names: Sequence[str] | None = None,
    count: int = 12,
) -> list[Fields]:
    """Return what the report says of each record: its label, its score and where that comes from.

    ``places`` says where each record is from; ``truths`` its true label, if known.
    """
    clf = copy(clf)  # as it is now: another thread may go on learning
    names = names_of_sets(clf.fitted_, feature_names)
    parts, answers = clf.contributions(X), clf.predict(X)
    fitted, texts = clf.fitted_, values_in_words(clf, X)
    records = []
    first = answers if answers.ndim == 1 else answers[:, 0]  # of several outputs
    for i, answer in enumerate(first.tolist()):
        at = fitted.score_of_answer(answer)
        own = parts[i] if parts.ndim == 2 else parts[i, at]
        chosen, values = gathered(own, names, count)
        given = dict(zip(names, texts[i], strict=False))  # a set of features has no value
        widest = max(1e-300, float(np.abs(values).max()))
        records.append(
            {
                "place": places[i],
                "answer": answer,
                "truth": None if truths is None else truths[i],
                "speaks_for": fitted.subjects[at],
                "score": float(own.sum()),
                "parts": [
                    {"name": name, "value": given.get(name, ""), "part": part, "share": part / widest}
                    for name, part in zip(chosen, values.tolist(), strict=True)
                ],
            }
        )
    return records


def _cards(
    clf: SEFRClassifier, image: tuple[int, int] | None, found: NDArray[np.float64], names: list[str]
) -> list[Fields]:
    """Return, for each class, its features of the greatest effect, and its picture in both themes."""
    counts = dict(zip(clf.classes_.tolist(), clf.summary_.counts.tolist(), strict=True))
    many = WIDE_CARD_FEATURES if len(found) == 1 else CARD_FEATURES
    cards = []
    for line, own in zip(strongest_features(clf, many, names), found, strict=True):
        pictures = None
        if image is not None:
            deep = depths(own).reshape(image)
            pictures = {theme: _picture(deep, colours) for theme, colours in THEMES.items()}
        cards.append({**line, "rows": counts[line["label"]], "pictures": pictures})
    return cards


def _picture(deep: NDArray[np.float64], colours: tuple[str, str, str]) -> str:
    """Return depths from -1 to 1 as a PNG, one pixel each, for use in a page."""
    from matplotlib.image import imsave

    against, middle, speaks_for = (np.array(channels(colour)) for colour in colours)
    ends = np.where(deep[..., None] >= 0, speaks_for, against)
    pixels = middle + (ends - middle) * np.abs(deep[..., None])
    file = io.BytesIO()
    imsave(file, pixels.round().astype(np.uint8), format="png")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
