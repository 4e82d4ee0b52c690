"""SEFRClassifier: the door for users of scikit-learn. It checks and delegates; it does no arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import update_wrapper
from types import MethodType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ._answers.auto import learn_auto
from ._answers.class_answers import ClassAnswers
from ._answers.fitted import Fitted
from ._answers.learn import learn, with_rows
from ._answers.task import CLASSIFY
from ._rows.labels import encode, find_labels
from ._summary.source import RowSource
from ._summary.summary import Summary
from ._system.turns import in_turn
from ._system.types import Bins, ClassWeight, Interactions, Rows, Scale, Weights
from .base import Learner
from .settings import AnySettings


def _is_auto(clf: SEFRClassifier) -> bool:
    return bool(clf.auto) or ("_fitted" in clf.__dict__ and clf._fitted.auto is not None)


def _cannot(verb: str) -> str:
    return (
        f"a model of auto=True cannot {verb}: its parts were weighted on rows that are no longer available. "
        "Fit again with all rows, or use SEFRClassifier.from_summary(summary_), which can"
    )


class _Unless:
    """``partial_fit``, not there with auto=True: as scikit-learn's ``available_if``, but it says why."""

    def __init__(self, verb: Callable[..., Any]) -> None:
        self.verb = verb
        update_wrapper(self, verb)  # type: ignore[arg-type]

    def __get__(self, clf: SEFRClassifier | None, owner: type) -> Any:
        if clf is None:
            return self.verb
        if _is_auto(clf):
            raise AttributeError(_cannot("learn more rows"))
        return MethodType(self.verb, clf)


class SEFRClassifier(ClassAnswers, Learner):
    """The SEFR classifier: linear, explainable, trained in one pass.

    Training adds up the features of each class (a :class:`Summary`) and derives the weights from the sums, so
    its cost is that of reading the data once. What was learned can be added to, merged and taken back.

    Parameters
    ----------
    scale : "minmax", (low, high) or None, default="minmax"
        How features are brought to [0, 1]. "minmax" learns the lowest and highest value of each. A pair gives
        known ranges (a sensor's 0..1023), numbers or one value per feature; training values outside are an
        error. None takes values as they are; a negative one is an error.
    epsilon : float, default=1e-7
        Keeps eq. 5 of the paper from dividing by zero.
    missing : {"error", "ignore"}, default="error"
        What NaN means: an error, or a value that is left out of sums and scores.
    class_weight : None, "balanced" or dict, default=None
        How much the rows of each class count: None as they are (the paper), "balanced" as if all classes
        had the same number of rows, or ``{label: weight}``, 1 for a label that is not named. It is applied
        when the weights are computed from the Summary, so it costs nothing and ``from_summary`` can change
        it. With one pass it can only move the threshold between the two class means (eq. 9).
    bins : None, int or list, default=None
        Maximum number of bins per feature, 2 to 256, for example 32. The effect of a feature may then be any
        curve. Bins have equal widths if ``scale`` gives known ranges, so that any two models can be added;
        otherwise their edges are quantiles of the rows learned first. A list has the edges of every feature:
        ``edges_`` of another model. Each category has a bin, and so have missing values with
        ``missing="ignore"``.
    interactions : None, int or list, default=None
        With ``bins``: maximum number of feature interactions, for example 60. They are chosen from the rows
        learned first, as long as they improve predictions of held-out rows. A list is ``interactions_`` of
        another model, to be used with its edges.
    n_jobs : int, default=None
        Number of threads. None means 1, -1 means all cores. Results are the same to the bit.
    passes : int, default=1
        How often training may read the rows: more passes give more accuracy and take more time. 1 is the
        paper. Each further pass weights the rows by how wrong the model still is about them. About 10 reach
        the accuracy of a linear SVM; use about 100 if features are correlated. Training stops when a pass no
        longer helps.
    verbose : int, default=0
        1 shows the passes as they are made.
    moments : {1, 2}, default=1
        What the one pass adds up. 1, the paper: the sums of the features in each class. 2: also the products
        of any two features (with ``bins``, of any two cells), from which a linear discriminant with a ridge
        penalty is solved. That is about as accurate as ten passes, with bins and interactions far more so,
        and ``merge``, ``forget``, ``decay`` and ``cross_validate`` stay exact, since sums add. Memory and
        time grow with the square of the number of features or cells.
    auto : bool, default=False
        Nothing else to choose: a sum of lines, curves and interactions, weighted by how well each does on
        held-out rows and then fitted to all rows. ``auto_`` says what was chosen. All rows are held in
        memory, text columns are categories, and the model cannot learn more rows, merge or forget.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted. With two, a positive score is ``classes_[1]``, and exactly 0 is ``classes_[0]``.
    edges_, curves_, interactions_, feature_sets_ : list
        With ``bins``: where each feature is cut, its effect over its bins, the comparisons of interactions,
        and what scores are sums over. ``coef_``, ``intercept_`` and ``feature_scores_`` are then not there.
    coef_, intercept_ : ndarray of shape (1, m) and (1,), or (K, m) and (K,) for more than two classes
        Weights of the raw features, scaling included. With more than two classes the highest score wins.
    feature_scores_ : ndarray of shape (1, m) or (K, m)
        The paper's weights, in [-1, 1], for scaled features: +1 favours the class, -1 counts against it.
        After further passes, the weights of scaled features in units of the largest.
    feature_importances_ : ndarray of shape (m,)
        The share of each feature in moving the scores: at least 0, together 1. For every model.
    auto_ : AutoChoice
        With ``auto=True``: ``weights`` of the parts, ``log_loss`` of each on held-out rows, ``n_ferns``.
    n_passes_ : int
        How often the rows were read; with ``auto=True``, by the last fit of its last part.
    loss_curve_ : list of float
        The mean training loss after each pass; entry 0 is the loss of predicting the base rates. From the
        second on it never rises.
    summary_ : Summary
        All that was learned; the weights follow from it.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (m,)
        Names of the features, if the rows had any.
    fitted_ : Fitted
        All of the above as one value that never changes: what a verb replaces as a whole.

    Notes
    -----
    For more than two classes the paper makes class k the negative side of classifier k and answers with the
    lowest score; signs are turned here so that the highest wins, as everywhere in scikit-learn. A class
    named in ``classes`` that was not seen yet scores -inf.

    Threads may share a model: an answer is that of one moment, before or after what another thread learns,
    and verbs that learn take turns, so that none is lost.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sefr import SEFRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SEFRClassifier().fit(X[::2], y[::2])
    >>> round(clf.score(X[1::2], y[1::2]), 2)
    0.92
    >>> clf.partial_fit(X[1::2], y[1::2]).summary_
    <Summary: 150 rows, 4 features, 3 classes>
    """

    task = CLASSIFY
    instead = "SEFRClassifier.from_summary(summary_) with passes=1"

    def __init__(
        self,
        *,
        scale: Scale = "minmax",
        epsilon: float = 1e-7,
        missing: str = "error",
        class_weight: ClassWeight = None,
        bins: Bins = None,
        interactions: Interactions = None,
        n_jobs: int | None = None,
        passes: int = 1,
        verbose: int = 0,
        moments: int = 1,
        auto: bool = False,
    ) -> None:
        self.scale = scale
        self.epsilon = epsilon
        self.missing = missing
        self.class_weight = class_weight
        self.bins = bins
        self.interactions = interactions
        self.n_jobs = n_jobs
        self.passes = passes
        self.verbose = verbose
        self.moments = moments
        self.auto = auto

    @_Unless
    @in_turn
    def partial_fit(self, X: Rows, y: ArrayLike, classes: Any = None, sample_weight: Weights = None) -> Self:
        """Learn from further rows: equal to having fitted all rows at once.

        With ``passes > 1`` the further passes read only the new rows; the earlier weights act as a Gaussian
        prior as strong as the rows behind them. That is near a fit of all rows, not equal to it.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.
        classes : array of shape (K,), default=None
            All labels that will ever come; another one is then an error. Without it, classes are added as
            they come, and the first call must bring two.

        Returns
        -------
        self : SEFRClassifier
            The model, unchanged if an error was raised.
        """
        before = self._fitted if self.__sklearn_is_fitted__() else None
        settings = self.settings()
        rows = self._rows(X, y, sample_weight, settings.cut, before)
        summary = rows.summarise(settings)
        closed = before is not None and before.closed
        if classes is not None:
            known = encode(classes)[0]
            if before is not None and closed and not np.array_equal(known, before.summary.classes):
                earlier = list(before.summary.classes)
                raise ValueError(f"classes={list(known)} differ from those of an earlier call: {earlier}")
            summary = summary.within(known)
        elif before is not None and closed:
            summary = summary.within(before.summary.classes)
        total = summary if before is None else before.summary + summary
        if classes is not None:
            total = total.within(known)
        if len(total.classes) < 2:
            only = f"the first rows have one class only, {total.classes[0]!r}"
            raise ValueError(f"{only}; name all labels with classes=[...]")
        solved = Fitted.solve(total, settings, rows.names, before)
        fitted = with_rows(solved, rows, before, rows.n_rows)
        self._fitted = replace(fitted, closed=closed or classes is not None)
        return self

    def _merged(self, fitted: Fitted, summary: Summary, other: Fitted | None) -> Fitted:
        if fitted.closed:
            summary = summary.within(fitted.summary.classes)
        total = fitted.summary + summary
        calibration = fitted.calibration_over(total.classes)
        if other is not None:
            calibration = calibration.joined(other.calibration_over(total.classes))
        return self.solved(total, self.settings(), fitted).with_calibration(calibration)

    def _without(self, fitted: Fitted, summary: Summary) -> Fitted:
        unknown = find_labels(fitted.summary.classes, summary.classes) < 0
        if unknown.any():
            raise ValueError(f"cannot forget rows of class {summary.classes[unknown][0]}: none was learned")
        left = self.solved(fitted.summary - summary, self.settings(), fitted)
        return left.with_calibration(fitted.calibration)

    @in_turn
    def decay(self, factor: float) -> Self:
        """Make all rows learned so far count ``factor`` times, 0 < factor <= 1, beside those to come.

        Answers and probabilities do not change until the model learns more.
        """
        self._refuse_auto("decay")
        less = self._decayed(factor)
        self._fitted = replace(less, refined=self._fitted.refined, calibration=self._fitted.calibration)
        return self

    def _learned(self, source: RowSource, settings: AnySettings) -> Fitted:
        return learn_auto(source, settings) if settings.auto else learn(source, settings)

    def _refuse_auto(self, verb: str) -> None:
        if _is_auto(self):
            raise ValueError(_cannot(verb))

    def _refuse_without_rows(self, verb: str) -> None:
        self._refuse_auto(verb)
        super()._refuse_without_rows(verb)
