"""Which shape favours a class, and where in the window: a picture over the signal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._system.text import picture_text
from .._system.types import Array, Floats
from ..classifier import SEFRClassifier
from ..displays import colour_map, draw_contributions, explained, gathered, score_title
from .convolution import each_convolution
from .features import SignalFeatures
from .kernels import WHOLE
from .plan import SignalPlan

BYTE = 255


@dataclass
class SignalDisplay:
    """A window and, sample by sample, what favours a class and what counts against it.

    A count adds its weight wherever its shape occurs, and what its absence is worth everywhere; the
    statistics of a part add to its samples. So the evidence of all samples adds up to the score.

    Build it with :meth:`from_estimator`.

    Parameters
    ----------
    values : ndarray of shape (axes, length)
        The window.
    evidence : ndarray of shape (axes, length)
        What each sample adds to the score.
    contributions : ndarray of shape (m,)
        What each feature adds to it.
    score : float
        Their sum.
    label : object
        The label that evidence above 0 favours.
    axis_names, feature_names : sequence of str
        Names.

    Attributes
    ----------
    figure_, axes_ : matplotlib Figure and Axes
        What was drawn last: the axes of the signal, then the bars.

    Examples
    --------
    >>> import numpy as np
    >>> from sefr import SEFRClassifier
    >>> from sefr.signals import SignalDisplay, SignalFeatures
    >>> time = np.arange(64)
    >>> X = [np.rint(400 * np.sin(time * speed)) for speed in (0.2, 0.25, 1.1, 1.2)]
    >>> features = SignalFeatures(length=64, range=(-512, 511)).fit()
    >>> clf = SEFRClassifier().fit(features.transform(X), ["slow", "slow", "fast", "fast"])
    >>> display = SignalDisplay.from_estimator(features, clf, X, row=2)
    >>> bool(abs(display.evidence.sum() - display.score) < 1e-9)
    True
    """

    values: Floats
    evidence: Floats
    contributions: Floats
    score: float
    label: object
    axis_names: Sequence[str]
    feature_names: Sequence[str]
    figure_: Any = field(default=None, repr=False)
    axes_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(
        cls,
        features: SignalFeatures,
        clf: SEFRClassifier,
        X: ArrayLike,
        *,
        row: int = 0,
        label: object = None,
        count: int = 8,
    ) -> Self:
        """Draw what favours a class in one window.

        Parameters
        ----------
        features : SignalFeatures
            Fitted.
        clf : SEFRClassifier
            Trained on the features, without bins.
        X : array of shape (n, length) or (n, axes, length)
            Windows.
        row : int, default=0
            Which of them.
        label : object, default=None
            For or against which class; the predicted one if None. With two classes always the second.
        count : int, default=8
            Shapes and statistics that are shown as bars.
        """
        check_is_fitted(features, "plan_")
        check_is_fitted(clf)
        clf = copy(clf)  # as it is now: another thread may go on learning
        clf.summary_.coding.refuse_cells(
            "evidence per sample needs a model without bins: its features have no one weight"
        )
        window = np.asarray(X, float)[[row]]
        samples = features.samples(window)
        record = features.plan_.features_of(samples)
        at, subject, parts = explained(clf, record, label)
        evidence = _evidence(features.plan_, samples, record[0], parts, np.atleast_2d(clf.coef_)[at])
        display = cls(
            window.reshape(samples.shape[1:]),
            evidence,
            parts,
            float(parts.sum()),
            subject,
            features.plan_.axis_names,
            features.plan_.names(),
        )
        return display.plot(count=count)

    def plot(self, *, count: int = 8) -> Self:
        """Draw; see :meth:`from_estimator`."""
        import matplotlib.pyplot as plt

        panels = len(self.values)
        kinds, summed = _by_kind(self.feature_names, self.contributions)
        names, parts = gathered(summed, kinds, count)
        heights = [*[1.4] * panels, 0.5 + 0.26 * len(names)]
        self.figure_, axes = plt.subplots(
            panels + 1, 1, figsize=(7.5, 0.8 + sum(heights)), height_ratios=heights, layout="constrained"
        )
        self.axes_ = axes
        widest = float(np.abs(self.evidence).max()) or 1.0
        for axis, name, values, evidence in zip(
            axes, self.axis_names, self.values, self.evidence, strict=False
        ):
            _draw_axis(axis, picture_text(name), values, evidence, widest)
        axes[0].set_title(score_title(self.label, self.score), fontsize=10)
        axes[panels - 1].set_xlabel("sample", fontsize=8)
        draw_contributions(axes[-1], names, parts)
        return self


def _draw_axis(axis: Any, name: str, values: Floats, evidence: Floats, widest: float) -> None:
    """Draw a signal on a background that is blue where it favours the class, orange where it does not."""
    low, high = float(values.min()), float(values.max())
    margin = 0.08 * (high - low) or 1.0
    place = (-0.5, len(values) - 0.5, low - margin, high + margin)
    axis.imshow(
        evidence[None], aspect="auto", cmap=colour_map(), vmin=-widest, vmax=widest, extent=place, alpha=0.85
    )
    axis.plot(values, color="black", linewidth=1.2)
    axis.set_ylabel(name, fontsize=9)
    axis.tick_params(labelsize=7)


def _by_kind(names: Sequence[str], parts: Floats) -> tuple[list[str], Floats]:
    """Return the sums over features of one shape and width, or one statistic of all parts of a window."""
    kinds = [re.sub(r"(, high at .*)|( of part .*)$", "", name) for name in names]
    distinct = list(dict.fromkeys(kinds))
    places = {kind: i for i, kind in enumerate(distinct)}
    summed = np.zeros(len(distinct))
    np.add.at(summed, [places[kind] for kind in kinds], parts)
    return distinct, summed


def _evidence(plan: SignalPlan, samples: Array, record: Array, parts: Floats, weights: Floats) -> Floats:
    """Return what each sample (axes, length) adds to the score; it sums to the parts of the features."""
    n = plan.length
    result = np.zeros((plan.axes, n))
    at = 0
    for (axis, _, _), (convolved, spread) in zip(
        plan.convolutions, each_convolution(plan, samples), strict=True
    ):
        for level in plan.levels[at : at + plan.thresholds].tolist():
            found = (convolved[0] > (level * int(spread[0]) >> 3)) * (weights[at] * BYTE / n)
            result[axis] += found + (parts[at] - found.sum()) / n
            at += 1
    for axis in range(plan.axes if plan.segments else 0):
        result[axis] += parts[at : at + len(WHOLE)].sum() / n
        at += len(WHOLE)
        for k in range(plan.segments):
            start, end = k * n // plan.segments, (k + 1) * n // plan.segments
            result[axis, start:end] += parts[at : at + 3].sum() / (end - start)
            at += 3
    return result
