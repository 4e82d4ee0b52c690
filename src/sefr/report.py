"""The HTML report: one file that explains a model, and answers of it, to a person."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from ._answers.curves import Curve
from ._answers.page import environment, template
from ._system.colours import AGAINST, AGAINST_DARK, FOR, FOR_DARK, NEUTRAL, NEUTRAL_DARK, channels
from ._system.types import Array, Fields, Rows
from .classifier import SEFRClassifier
from .displays import (
    check_image,
    depths,
    effects,
    gathered,
    names_of,
    strengths,
    strongest,
    strongest_features,
    subjects,
    values_in_words,
)

MOST_FEATURES = 2_000
MOST_RECORDS = 200
MOST_CURVES = 240
MOST_AXIS_WORDS = 5
CARD_FEATURES, WIDE_CARD_FEATURES = 8, 16
THEMES = {"light": (AGAINST, NEUTRAL, FOR), "dark": (AGAINST_DARK, NEUTRAL_DARK, FOR_DARK)}


def report(
    clf: SEFRClassifier,
    *,
    title: str,
    image: tuple[int, int] | None = None,
    records: Sequence[Fields] = (),
    feature_names: Sequence[str] | None = None,
) -> str:
    """Return a self-contained HTML page: what each feature does for every class, and records explained.

    Parameters
    ----------
    clf : SEFRClassifier
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
    if image is not None:
        check_image(image, len(clf.feature_sets_))
    names = names_of(clf, feature_names)
    found, scores = effects(clf), strengths(clf)
    shown = strongest(np.abs(found).max(axis=0), MOST_FEATURES)
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
    sets = len(names) > clf.n_features_in_
    return (
        environment()
        .get_template("report.html.jinja")
        .render(
            title=title,
            clf=clf,
            summary=clf.summary_,
            settings=clf.fitted_.settings.shown() | {"passes": f"{clf.n_passes_}"} | _chosen(clf),
            labels=clf.classes_.tolist(),
            cards=_cards(clf, image, found, names),
            subjects=subjects(clf),
            features=features,
            label=(clf.fitted_.columns or {}).get("label"),
            answered=_answered(records),
            sets=sets,
            nouns="features and interactions" if sets else "features",
            n_hidden=len(names) - len(shown),
            records=records,
            themes=THEMES,
            script=template("report.js"),
            style=template("report.css"),
        )
    )


def _answered(records: Sequence[Fields]) -> Fields | None:
    """Return how many of the records whose label is known are answered correctly; None if none is known."""
    known = [record for record in records if record["truth"] is not None]
    if not known:
        return None
    right = sum(record["truth"] == record["answer"] for record in known)
    return {"right": right, "known": len(known), "percent": 100 * right / len(known)}


def _chosen(clf: SEFRClassifier) -> dict[str, str]:
    """Return what ``auto=True`` chose, for people to read."""
    auto = clf.fitted_.auto
    if auto is None:
        return {}
    parts = [f"{weight:.2f} {part}" for part, weight in auto.choice.weights.items()]
    return {"weights of parts": ", ".join(parts), "ferns": str(auto.choice.n_ferns)}


def _drawn_curves(clf: SEFRClassifier, shown: Array) -> dict[tuple[int, int], Fields]:
    """Return the curves of a model with bins by feature and score: bars, and the ends of the axis."""
    if clf.summary_.coder is None:
        return {}
    curves = clf.curves_
    n_scores = len(curves[0].effects)
    drawn = {}
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
    clf: SEFRClassifier,
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
    names = names_of(clf, feature_names)
    parts, answers = clf.contributions(X), clf.predict(X)
    labels, texts = subjects(clf), values_in_words(clf, X)
    records = []
    for i, answer in enumerate(answers.tolist()):
        at = 0 if len(labels) == 1 else labels.index(answer)
        own = parts[i] if parts.ndim == 2 else parts[i, at]
        chosen, values = gathered(own, names, count)
        given = dict(zip(names, texts[i], strict=False))  # a set of features has no value
        widest = max(1e-300, float(np.abs(values).max()))
        records.append(
            {
                "place": places[i],
                "answer": answer,
                "truth": None if truths is None else truths[i],
                "speaks_for": labels[at],
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
