"""The HTML report: one file that explains a model, and answers of it, to a person."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from importlib import resources
from typing import Any

import jinja2
import numpy as np
from numpy.typing import NDArray

from ..classifier import SEFRClassifier
from ..displays import COLOURS, check_image, gathered, names_of, strongest, subjects

MOST_FEATURES = 2_000
MOST_RECORDS = 200


def report(
    clf: SEFRClassifier,
    *,
    title: str,
    image: tuple[int, int] | None = None,
    records: Sequence[Any] = (),
    feature_names: Sequence[str] | None = None,
) -> str:
    """Return a self-contained HTML page: the feature scores of every class, and records explained.

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
    if image is not None:
        check_image(image, clf.n_features_in_)
    names = names_of(clf, feature_names)
    scores = clf.feature_scores_
    shown = strongest(np.abs(scores).max(axis=0), MOST_FEATURES)
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["signed"] = lambda value: f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")
    return environment.get_template("report.html.jinja").render(
        title=title,
        clf=clf,
        summary=clf.summary_,
        labels=clf.classes_.tolist(),
        cards=_cards(clf, names, image),
        subjects=subjects(clf),
        features=[{"name": names[j], "scores": scores[:, j].tolist()} for j in shown],
        n_hidden=len(names) - len(shown),
        records=records,
        script=_template("report.js"),
        style=_template("report.css"),
    )


def explained(
    clf: SEFRClassifier,
    X: NDArray[Any],
    *,
    places: Sequence[str],
    truths: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    count: int = 12,
) -> list[dict[str, Any]]:
    """Return what the report says of each record: its label, its score and where that comes from.

    ``places`` says where each record is from; ``truths`` its true label, if known.
    """
    names = names_of(clf, feature_names)
    parts, answers = clf.contributions(X), clf.predict(X)
    labels = subjects(clf)
    records = []
    for i, answer in enumerate(answers.tolist()):
        at = 0 if len(labels) == 1 else labels.index(answer)
        own = parts[i] if parts.ndim == 2 else parts[i, at]
        chosen, values = gathered(own, names, count)
        given = dict(zip(names, X[i].tolist(), strict=True))
        widest = max(1e-300, float(np.abs(values).max()))
        records.append(
            {
                "place": places[i],
                "answer": answer,
                "truth": None if truths is None else truths[i],
                "speaks_for": labels[at],
                "score": float(own.sum()),
                "parts": [
                    {"name": name, "value": _plain(given.get(name)), "part": part, "share": part / widest}
                    for name, part in zip(chosen, values.tolist(), strict=True)
                ],
            }
        )
    return records


def _plain(value: float | None) -> str:
    return "" if value is None else "missing" if np.isnan(value) else f"{value:g}"


def _cards(clf: SEFRClassifier, names: list[str], image: tuple[int, int] | None) -> list[dict[str, Any]]:
    """Return, for each class, its strongest features for and against, and its picture."""
    counts = dict(zip(clf.classes_.tolist(), clf.summary_.counts.tolist(), strict=True))
    cards = []
    for label, scores in zip(subjects(clf), clf.feature_scores_, strict=True):
        order = _for_and_against(scores, 4)
        cards.append(
            {
                "label": label,
                "rows": counts[label],
                "top": [{"name": names[j], "score": float(scores[j])} for j in order],
                "picture": None if image is None else _picture(scores.reshape(image)),
            }
        )
    return cards


def _for_and_against(scores: NDArray[Any], count: int) -> list[int]:
    """Return the features that speak most for a class, then those that speak most against it."""
    order = np.argsort(-scores, kind="stable")
    speak_for = [int(j) for j in order[:count] if scores[j] > 0]
    against = [int(j) for j in order[::-1][:count] if scores[j] < 0]
    return speak_for + against[::-1]


def _picture(scores: NDArray[Any]) -> str:
    """Return scores as a PNG, a pixel each, for use in a page."""
    from matplotlib import colormaps
    from matplotlib.image import imsave

    file = io.BytesIO()
    imsave(file, colormaps[COLOURS]((np.clip(scores, -1, 1) + 1) / 2), format="png")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def _template(name: str) -> str:
    return (resources.files("sefr._answers") / "templates" / name).read_text(encoding="utf-8")
