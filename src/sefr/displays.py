"""Pictures of what a model has learned, in the manner of scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from ._answers.contributions import names_of_sets
from ._answers.curves import Curve
from ._rows.cells import Categories
from ._rows.inputs import matrix_of
from ._system.colours import AGAINST, FOR, NEUTRAL
from ._system.text import picture_text
from ._system.types import Array, Fields, Floats, Label, Rows
from .base import Learner
from .classifier import SEFRClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAME = 36  # characters of a name beside a bar


def colour_map() -> Any:
    """Return the colours from -1, against, over 0 to 1, for."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("sefr", [AGAINST, NEUTRAL, FOR])


def depths(effects_of_class: Floats) -> Floats:
    """Return how deep each effect is coloured, from -1 to 1: the root of its share of the greatest.

    Without the root, one strong pixel would leave all others white.

    Examples
    --------
    >>> depths(np.array([4.0, -1.0, 0.0]))
    array([ 1. , -0.5,  0. ])
    """
    greatest = max(1e-300, float(np.abs(effects_of_class).max()))
    return np.asarray(signed_root(effects_of_class / greatest), dtype=np.float64)


def signed_root(values: Any) -> Any:
    """Return the square root of the size, with the sign."""
    return np.sign(values) * np.sqrt(np.abs(values))


def signed_square(values: Any) -> Any:
    """Return what ``signed_root`` was taken of."""
    return np.sign(values) * np.square(values)


def effects(clf: SEFRClassifier) -> Floats:
    """Return what each feature does on average, (1, m) for two classes, else (K, m); then what sets do.

    The size is how much the feature moves the score from the mean row of the other classes to the mean row of
    this one: its weight times the distance of the two means. The sign is that of the weight: above 0, high
    values favour the class. A feature that is hardly ever there has a small effect, whatever its score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> clf = SEFRClassifier().fit(*load_iris(return_X_y=True))
    >>> effects(clf).round(2)[0]
    array([-0.16,  0.06, -0.46, -0.49])
    """
    return clf.fitted_.effects()


def strongest_features(
    clf: SEFRClassifier, count: int, feature_names: Sequence[str] | None = None
) -> list[Fields]:
    """Return, per class, its features of the greatest effect: name, effect, score, share of the greatest."""
    clf = copy(clf)  # as it is now: another thread may go on learning
    names, fitted = names_of_sets(clf.fitted_, feature_names), clf.fitted_
    lines = []
    for label, own, scores in zip(fitted.subjects, fitted.effects(), fitted.strengths(), strict=True):
        greatest = max(1e-300, float(np.abs(own).max()))
        features = [
            {
                "feature": names[j],
                "effect": float(own[j]),
                "score": float(scores[j]),
                "share": float(own[j]) / greatest,
            }
            for j in strongest(own, count)
            if own[j]
        ]
        lines.append({"label": label, "features": features})
    return lines


@dataclass
class ScoresDisplay:
    """What each feature does in a model, one panel per class: bars, or an image if features are pixels.

    By default the effects are shown: how much a feature moves the score on average. ``kind="scores"`` shows
    the weights of the scaled features instead, which in the paper tell how clear a feature is, not how often
    it matters. Build it with :meth:`from_estimator`.

    Parameters
    ----------
    scores : ndarray of shape (R, m)
        What is shown.
    labels : list
        The label that each row of ``scores`` favours.
    feature_names : list of str
        One name per feature.

    Attributes
    ----------
    figure_, axes_ : matplotlib Figure and array of Axes
        What was drawn last.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sefr import SEFRClassifier, ScoresDisplay
    >>> clf = SEFRClassifier().fit(*load_digits(return_X_y=True))
    >>> ScoresDisplay.from_estimator(clf, image=(8, 8)).axes_.shape
    (10,)
    """

    scores: Floats
    labels: Sequence[object]
    feature_names: Sequence[str]
    figure_: Any = field(default=None, repr=False)
    axes_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: SEFRClassifier,
        *,
        kind: str = "effects",
        feature_names: Sequence[str] | None = None,
        count: int = 10,
        image: tuple[int, int] | None = None,
        axes: Any = None,
    ) -> Self:
        """Draw a trained model.

        Parameters
        ----------
        estimator : SEFRClassifier
            A trained model.
        kind : {"effects", "scores"}, default="effects"
            What each feature does on average, or its weight, ``feature_scores_``.
        feature_names : list of str, default=None
            Names to show instead of those learned.
        count : int, default=10
            How many bars per class, the strongest first.
        image : (height, width), default=None
            Draw each class as an image of this size.
        axes : array of Axes, default=None
            Where to draw, one Axes per class; a new figure if None.
        """
        check_is_fitted(estimator)
        estimator = copy(estimator)  # as it is now: another thread may go on learning
        if kind not in ("effects", "scores"):
            raise ValueError(f"kind must be 'effects' or 'scores', not {kind!r}")
        fitted = estimator.fitted_
        shown = fitted.effects() if kind == "effects" else fitted.strengths()
        display = cls(shown, fitted.subjects, names_of_sets(estimator.fitted_, feature_names))
        return display.plot(count=count, image=image, axes=axes)

    def plot(self, *, count: int = 10, image: tuple[int, int] | None = None, axes: Any = None) -> Self:
        """Draw; see :meth:`from_estimator`."""
        if image is not None:
            check_image(image, self.scores.shape[1])
        shown = min(count, self.scores.shape[1])
        size = (1.7, 1.7) if image else (4.2, 0.9 + 0.26 * shown)
        self.figure_, self.axes_ = _axes(axes, len(self.labels), size)
        for axis, label, scores in zip(self.axes_, self.labels, self.scores, strict=True):
            widest = float(np.abs(scores).max()) or 1.0
            if image is not None:
                axis.imshow(
                    scores.reshape(image), cmap=colour_map(), norm=_norm(widest), interpolation="nearest"
                )
                axis.set_xticks([])
                axis.set_yticks([])
            else:
                order = strongest(scores, shown)
                draw_bars(axis, [self.feature_names[j] for j in order], scores[order])
                axis.set_xlim(-1.05 * widest, 1.05 * widest)
            axis.set_title(picture_text(label), fontsize=10)
        if image is not None and axes is None:
            self._add_key()
        return self

    def _add_key(self) -> None:
        """Say what the colours mean, once for all panels."""
        for axis in self.axes_:
            axis.spines[:].set_color("0.75")
        from matplotlib.cm import ScalarMappable

        shown = ScalarMappable(_norm(1.0), colour_map())  # each panel in shares of its own greatest
        key = self.figure_.colorbar(
            shown, ax=list(self.axes_), shrink=0.7, aspect=18, pad=0.02, ticks=[-1, 0, 1]
        )
        key.ax.set_yticklabels(["against", "0", "for"], fontsize=8)
        key.outline.set_visible(False)


@dataclass
class CurvesDisplay:
    """The effect of each feature over its range, if a model has bins: one panel per feature.

    A line per class (one for two classes), or per output, is what a value adds to the score; grey bars are
    how many training rows support each bin. Build it with :meth:`from_estimator`.

    Parameters
    ----------
    curves : list of Curve
        What is shown.
    labels : list
        The label that each line stands for.
    n_features : int, default=None
        How many features the model has; if more than are shown, the figure says so.
    added_to : str, default="score"
        What the effects are added to.

    Attributes
    ----------
    figure_, axes_ : matplotlib Figure and array of Axes
        What was drawn last.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sefr import CurvesDisplay, SEFRClassifier
    >>> clf = SEFRClassifier(bins=8).fit(*load_iris(return_X_y=True))
    >>> CurvesDisplay.from_estimator(clf).axes_.shape
    (4,)
    """

    curves: Sequence[Curve]
    labels: Sequence[object]
    n_features: int | None = None
    added_to: str = "score"
    figure_: Any = field(default=None, repr=False)
    axes_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Learner,
        *,
        feature_names: Sequence[str] | None = None,
        count: int = 9,
        axes: Any = None,
    ) -> Self:
        """Draw a trained model with bins.

        Parameters
        ----------
        estimator : SEFRClassifier or SEFRRegressor
            A trained model.
        feature_names : list of str, default=None
            Names to show instead of those learned.
        count : int, default=9
            How many features, those that move the scores most first.
        axes : array of Axes, default=None
            Where to draw, one Axes per feature; a new figure if None.
        """
        check_is_fitted(estimator)
        estimator = copy(estimator)  # as it is now: another thread may go on learning
        curves = estimator.curves_
        names = names_of_sets(estimator.fitted_, feature_names)[
            : len(curves)
        ]  # sets of features come after them
        named = [replace(curve, name=name) for curve, name in zip(curves, names, strict=True)]
        order = np.argsort([-curve.importance for curve in named], kind="stable")[:count]
        fitted, shown = estimator.fitted_, [named[j] for j in order]
        return cls(shown, fitted.subjects, len(named), fitted.score_name).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw; see :meth:`from_estimator`."""
        self.figure_, self.axes_ = _axes(axes, len(self.curves), (3.2, 2.4))
        for axis, curve in zip(self.axes_, self.curves, strict=True):
            _draw_curve(axis, curve, [picture_text(label) for label in self.labels])
        ends = [axis.get_ylim() for axis in self.axes_]
        for axis in self.axes_:  # one scale, so that the panels can be compared
            axis.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
        self.axes_[0].set_ylabel(f"added to the {self.added_to}", fontsize=8)
        if len(self.labels) > 1:
            self.axes_[0].legend(frameon=False, fontsize=7)
        if axes is None and self.n_features is not None and len(self.curves) < self.n_features:
            shown = f"{len(self.curves)} of {self.n_features} features, those of the greatest effect first"
            self.figure_.suptitle(shown, fontsize=9, color="0.4")
        return self


def _draw_curve(axis: Any, curve: Curve, labels: Sequence[str]) -> None:
    """Draw the effect of a feature over its bins, and how many rows support each."""
    ends = curve.ends()
    rows = axis.twinx()
    rows.bar(ends[:-1], curve.rows, np.diff(ends), align="edge", color="0.9", zorder=0)
    rows.set(yticks=[], ylim=(0, 4 * max(1.0, float(curve.rows.max()))))
    axis.set_zorder(rows.get_zorder() + 1)
    axis.patch.set_visible(False)
    colours = [FOR] if len(labels) == 1 else [f"C{i}" for i in range(len(labels))]
    for own, label, colour in zip(curve.effects, labels, colours, strict=True):
        axis.stairs(own, ends, color=colour, baseline=None, label=label, linewidth=1.4)
    axis.axhline(0, color="0.6", linewidth=0.8)
    if curve.categories is not None:
        axis.set_xticks(np.arange(len(curve.categories) + 1) + 0.5)
        known = [picture_text(value, 12) for value in curve.categories]
        axis.set_xticklabels([*known, "other"], rotation=45, ha="right", fontsize=7)
    axis.tick_params(labelsize=7)
    axis.set_title(picture_text(curve.name, MOST_NAME), fontsize=10)


@dataclass
class ContributionsDisplay:
    """What each feature of one record adds to its score: the bars add up to it exactly.

    Build it with :meth:`from_estimator`.

    Parameters
    ----------
    contributions : ndarray of shape (m,)
        The part of each feature.
    score : float
        Their sum.
    label : object
        The label that a positive part favours.
    feature_names : list of str
        One name per feature.

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure and Axes
        What was drawn last.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sefr import ContributionsDisplay, SEFRClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = ContributionsDisplay.from_estimator(SEFRClassifier().fit(X, y), X[:1])
    >>> bool(abs(display.contributions.sum() - display.score) < 1e-12)
    True
    """

    contributions: Floats
    score: float
    label: object
    feature_names: Sequence[str]
    figure_: Any = field(default=None, repr=False)
    ax_: Axes | None = field(default=None, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Learner,
        X: Rows,
        *,
        row: int = 0,
        label: object = None,
        feature_names: Sequence[str] | None = None,
        count: int = 10,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the contributions of one record.

        Parameters
        ----------
        estimator : SEFRClassifier or SEFRRegressor
            A trained model.
        X : array or dataframe of shape (n, m)
            Records.
        row : int, default=0
            Which of them.
        label : object, default=None
            For or against which class; the predicted one if None. With two classes always the second. Of a
            regressor the number of an output, 0 if None.
        feature_names, count
            As for :class:`ScoresDisplay`.
        ax : Axes, default=None
            Where to draw; a new figure if None.
        """
        check_is_fitted(estimator)
        estimator = copy(estimator)  # as it is now: another thread may go on learning
        one = _safe_indexing(X, [row])
        at, subject, parts = explained(estimator, one, label)
        constant = float(estimator.fitted_.constant[at])
        score = float(parts.sum()) if isfinite(constant) else constant  # of a class that was never seen
        names, values = names_of_sets(estimator.fitted_, feature_names), values_in_words(estimator, one)[0]
        named = [f"{name} = {value}" for name, value in zip(names, values, strict=False)]
        display = cls(parts, score, subject, [*named, *names[len(named) :]])
        return display.plot(count=count, ax=ax)

    def plot(self, *, count: int = 10, ax: Axes | None = None) -> Self:
        """Draw; see :meth:`from_estimator`."""
        names, values = gathered(self.contributions, self.feature_names, count)
        self.figure_, (self.ax_,) = _axes(None if ax is None else [ax], 1, (5.5, 1.2 + 0.26 * len(names)))
        draw_contributions(self.ax_, names, values)
        self.ax_.set_title(score_title(self.label, self.score), fontsize=10)
        return self


@dataclass
class AutoDisplay:
    """What ``auto=True`` chose: how much each part counts, and how well each does beside their sum.

    The first panel has the weights of lines, curves and interactions, the second their log loss, and that of
    their sum, on rows that they were not fitted to. Of a model of numbers, nothing is weighted: one panel has
    R2 of lines, of curves and of all together. Build it with :meth:`from_estimator`.

    Parameters
    ----------
    panels : list of (title, values)
        What is shown: a value per part.

    Attributes
    ----------
    figure_, axes_ : matplotlib Figure and array of Axes
        What was drawn last.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sefr import AutoDisplay, SEFRClassifier
    >>> clf = SEFRClassifier(auto=True).fit(*load_iris(return_X_y=True))
    >>> AutoDisplay.from_estimator(clf).axes_.shape
    (2,)
    """

    panels: Sequence[tuple[str, Mapping[str, float]]]
    figure_: Any = field(default=None, repr=False)
    axes_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Learner, *, axes: Any = None) -> Self:
        """Draw what a trained model of ``auto=True`` chose.

        Parameters
        ----------
        estimator : SEFRClassifier or SEFRRegressor
            A trained model.
        axes : array of Axes, default=None
            Where to draw, one Axes per panel; a new figure if None.
        """
        check_is_fitted(estimator)
        if not estimator.fitted_.settings.auto:
            raise ValueError("AutoDisplay draws what auto=True chose, but this model was trained without it")
        return cls([panel for panel in estimator.auto_.panels if panel[1]]).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw; see :meth:`from_estimator`."""
        self.figure_, self.axes_ = _axes(axes, len(self.panels), (3.6, 1.9))
        for axis, (title, values) in zip(self.axes_, self.panels, strict=True):
            draw_bars(axis, list(values), np.array(list(values.values())))
            for bar, value in zip(axis.patches, values.values(), strict=True):
                axis.annotate(f" {value:.3g}", (max(value, 0), bar.get_y() + 0.36), va="center", fontsize=8)
            axis.margins(x=0.15)
            axis.set_title(title, fontsize=10)
        return self


def values_in_words(clf: SEFRClassifier, X: Rows) -> list[list[str]]:
    """Return the value of every feature in words, row by row."""
    categories = clf.summary_.categories
    rows = [row for _place, block in matrix_of(X, categories).blocks() for row in block.tolist()]
    return [[_in_words(value, categories.get(j)) for j, value in enumerate(row)] for row in rows]


def _in_words(value: float, categories: Categories | None) -> str:
    if np.isnan(value):
        return "missing"
    return f"{value:g}" if categories is None else categories.describe(int(value))


def explained(estimator: Learner, one: Rows, label: Label = None) -> tuple[int, Label, Floats]:
    """Return number, subject and parts of the score of one record: of a label, or of its answer."""
    fitted = estimator.fitted_
    at = fitted.score_of_answer(estimator.predict(one)[0]) if label is None else fitted.score_of(label)
    return at, fitted.sum_of_parts(at), np.atleast_2d(estimator.contributions(one)[0])[at]


def score_title(label: object, score: float) -> str:
    """Return what a picture of contributions says above them."""
    return f"score for {picture_text(label)}: {score:+.3f}"


def strongest(values: Floats, count: int) -> NDArray[np.intp]:
    """Return the positions of the values furthest from zero, the first first."""
    return np.argsort(-np.abs(values), kind="stable")[:count]


def gathered(parts: Floats, names: Sequence[str], count: int) -> tuple[list[str], Floats]:
    """Return the strongest parts and their names, all others together in one last part."""
    order = strongest(parts, count)
    chosen = [names[j] for j in order]
    rest = len(parts) - len(order)
    if not rest:
        return chosen, parts[order]
    others = np.delete(parts, order).sum()
    return [*chosen, f"{rest} others" if rest > 1 else "1 other"], np.append(parts[order], others)


def check_image(image: tuple[int, int], n_features: int) -> None:
    """Complain of an image that has not as many pixels as there are features."""
    if image[0] * image[1] != n_features:
        raise ValueError(f"an image of {image[0]}x{image[1]} pixels does not fit {n_features} features")


def draw_bars(axis: Axes, names: Sequence[str], values: Floats) -> None:
    """Draw horizontal bars to both sides of zero, the first on top."""
    places = np.arange(len(names))
    axis.barh(places, values, height=0.72, color=[FOR if value >= 0 else AGAINST for value in values])
    axis.set_yticks(places, [picture_text(name, MOST_NAME) for name in names], fontsize=8)
    axis.invert_yaxis()
    axis.axvline(0, color="0.6", linewidth=0.8)
    axis.tick_params(axis="x", labelsize=8)
    axis.tick_params(axis="y", length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)


def draw_contributions(axis: Axes, names: Sequence[str], values: Floats) -> None:
    """Draw what features add to a score."""
    draw_bars(axis, names, values)
    axis.set_xlabel("contribution", fontsize=8)


def _norm(widest: float) -> Any:
    """Return how values become colours; see :func:`depths`."""
    from matplotlib.colors import FuncNorm

    return FuncNorm((signed_root, signed_square), -widest, widest)


def _axes(axes: Any, panels: int, size: tuple[float, float]) -> tuple[Any, Array]:
    """Return a figure and one Axes per panel."""
    if axes is not None:
        found = np.ravel(np.asarray(axes, dtype=object))
        if len(found) != panels:
            raise ValueError(f"{len(found)} axes for {panels} panels")
        return found[0].figure, found
    import matplotlib.pyplot as plt  # an extra: only who draws needs it

    columns = min(panels, 5)
    rows = -(-panels // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(size[0] * columns, size[1] * rows), squeeze=False, layout="constrained"
    )
    for axis in grid.ravel()[panels:]:
        axis.remove()
    return figure, grid.ravel()[:panels]
