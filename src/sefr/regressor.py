"""SEFRRegressor: numbers learned from sums. It checks and delegates; it does no arithmetic."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._answers.agreement import refuse_other_settings
from ._answers.fitted import Fitted
from ._answers.fitted_numbers import FittedNumbers
from ._answers.number_answers import NumberAnswers
from ._summary.source import RowSource
from ._summary.summary import Summary
from ._system.turns import in_turn
from ._system.types import Bins, Interactions, Rows, Scale, Weights
from .base import Learner
from .settings import AnySettings, NumberSettings


def _makes_one_pass(model: Any) -> bool:
    if model.passes != 1:
        raise AttributeError(
            f"a model of passes={model.passes} cannot partial_fit: its weights come from all rows. Use "
            "fit_batches, which reads them again for every pass, or moments=2"
        )
    return True


class SEFRRegressor(NumberAnswers, Learner):
    """Numbers predicted from sums: ridge regression, or a curve per feature, trained in one pass.

    Training adds up the products of any two columns (a :class:`Summary`) and solves them, so its cost is that
    of reading the data once. The penalty is found from the sums too, by restricted maximum likelihood. What
    was learned can be added to, merged and taken back, exactly.

    Parameters
    ----------
    moments : {2, 1}, default=2
        What the one pass adds up. 2: the products of any two features, whose memory grows with the square of
        the number of features, or of cells with ``bins``. 1: each feature by itself, for very wide rows; the
        weights are those of single features, and one scale for all of them. It is less accurate and has no
        intervals.
    bins : None, int or list, default=None
        Maximum number of bins per feature, 2 to 256, for example 32. The effect of a feature may then be any
        curve. Bins have equal widths if ``scale`` gives known ranges, so that any two models can be added;
        otherwise their edges are quantiles of the rows learned first. A list has the edges of every feature:
        ``edges_`` of another model. Each category has a bin, and so have missing values with
        ``missing="ignore"``.
    interactions : None, int or list, default=None
        With ``bins``: maximum number of feature interactions, for example 30. They are chosen from the rows
        learned first, for what bins do not explain, as long as they improve predictions of held-out rows. A
        list is ``interactions_`` of another model, to be used with its edges.
    scale : "minmax" or (low, high), default="minmax"
        The ranges of features. A pair gives known ones (a sensor's 0..1023), numbers or one value per
        feature, which bins are parts of; training values outside are an error. Predictions of a line do not
        depend on it.
    missing : {"error", "ignore"}, default="error"
        What NaN in X means: an error, or a value that counts as the mean of its feature, with ``bins`` as one
        of its own.
    n_jobs : int, default=None
        Number of threads. None means 1, -1 means all cores. Results are the same to the bit.
    passes : int, default=1
        With ``moments=1``: how often training may read the rows. Conjugate gradients come near to the ridge
        regression of ``moments=2``, without the products of features; 20 passes are usually enough. The
        model is then more than its Summary: it cannot be merged, nor rows taken back.
    verbose : int, default=0
        1 shows the passes as they are made.
    auto : bool, default=False
        Nothing to choose: a sum of lines, curves and interactions of the features, whose text is taken as
        categories. It is solved from one pass, and merges and forgets as exactly as any other.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (m,) and float, or (K, m) and (K,) for K outputs
        Weights of the raw features. Not with ``bins``.
    coef_std_ : ndarray
        The standard errors of ``coef_``. Of ``moments=2``.
    base_ : float, or ndarray of shape (K,)
        The mean of y, which ``contributions`` are added to.
    noise_, ridge_ : float, or ndarray of shape (K,)
        The standard deviation of y about its predictions, and the penalty that was found, per row. Of
        ``moments=2`` and of ``passes > 1``.
    n_passes_ : int
        Passes that were made over the rows, the first included.
    loss_curve_ : list of float
        With ``passes > 1``: after each pass, the part of the variance of y that is left over, with the
        penalty.
    edges_, curves_, interactions_, feature_sets_ : list
        With ``bins``: where each feature is cut, its effect over its bins, the comparisons of interactions,
        and what predictions are sums over.
    summary_ : Summary
        All that was learned; the weights follow from it.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (m,)
        Names of the features, if the rows had any.
    fitted_ : FittedNumbers
        All of the above as one value that never changes: what a verb replaces as a whole.

    Notes
    -----
    Threads may share a model: an answer is that of one moment, before or after what another thread learns,
    and verbs that learn take turns, so that none is lost.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sefr import SEFRRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = SEFRRegressor().fit(X[::2], y[::2])
    >>> round(reg.score(X[1::2], y[1::2]), 2)
    0.42
    >>> mean, low, high = reg.predict(X[1::2], interval=0.9)
    >>> reg.partial_fit(X[1::2], y[1::2]).summary_.n_rows
    442.0
    """

    _settings = NumberSettings
    predicts_numbers = True

    def __init__(
        self,
        *,
        moments: int = 2,
        bins: Bins = None,
        interactions: Interactions = None,
        scale: Scale = "minmax",
        missing: str = "error",
        n_jobs: int | None = None,
        passes: int = 1,
        verbose: int = 0,
        auto: bool = False,
    ) -> None:
        self.moments = moments
        self.bins = bins
        self.interactions = interactions
        self.scale = scale
        self.missing = missing
        self.n_jobs = n_jobs
        self.passes = passes
        self.verbose = verbose
        self.auto = auto

    @in_turn
    def fit(self, X: Rows, y: ArrayLike, sample_weight: Weights = None) -> Self:
        """Learn from rows; what was learned before is forgotten.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows, read in place: floats, integers or booleans in any order of memory, CSR or CSC.
        y : array of shape (n,) or (n, K)
            The numbers of each row, at least two of them different. (n, 1) is taken as (n,).
        sample_weight : array of shape (n,), default=None
            How often each row counts.

        Returns
        -------
        self : SEFRRegressor
            The trained model.
        """
        return super().fit(X, y, sample_weight)

    @available_if(_makes_one_pass)  # type: ignore[untyped-decorator]
    @in_turn
    def partial_fit(self, X: Rows, y: ArrayLike, sample_weight: Weights = None) -> Self:
        """Learn from further rows: equal to having fitted all rows at once.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``. The rows of the first call must have two different y.

        Returns
        -------
        self : SEFRRegressor
            The model, unchanged if an error was raised.
        """
        before = self._fitted if self.__sklearn_is_fitted__() else None
        settings = NumberSettings.of(self)
        rows = self._rows(X, y, sample_weight, settings.cut, before)
        summary = rows.summarise(settings)
        total = summary if before is None else before.summary + summary
        solved = FittedNumbers.solve(total, settings, rows.names, before, place=rows.place)
        self._fitted = solved.with_residuals(rows) if before is None else solved
        return self

    @in_turn
    def merge(self, other: Any, y: ArrayLike | None = None, sample_weight: Weights = None) -> Self:
        """Add what another model or Summary has learned, or rows: equal to having fitted the rows of both.

        Parameters
        ----------
        other : SEFRRegressor, Summary, or array of shape (n, m)
            Of the same features and outputs.
        y, sample_weight
            As for ``fit``, where ``other`` are rows.

        Returns
        -------
        self : SEFRRegressor
            The model, unchanged if an error was raised.
        """
        if y is not None:
            check_is_fitted(self)
            self._refuse_without_rows("merge")
            self.partial_fit(other, y, sample_weight=sample_weight)
            return self
        other = copy(other) if isinstance(other, SEFRRegressor) else other  # as it is now
        fitted, summary = self._both("merge", other)
        joined = self.solved(fitted.summary + summary, self.settings(), fitted)
        if joined.residuals is None and isinstance(other, SEFRRegressor):
            joined = replace(joined, residuals=other.fitted_.residuals)
        self._fitted = joined
        return self

    @in_turn
    def forget(self, other: Any, y: ArrayLike | None = None, sample_weight: Weights = None) -> Self:
        """Take rows back, or all rows of another model or Summary: equal to never having seen them.

        Parameters
        ----------
        other : array of shape (n, m), SEFRRegressor or Summary
            Rows that were learned before, or what has learned them.
        y, sample_weight
            As for ``fit``, where ``other`` are rows.

        Returns
        -------
        self : SEFRRegressor
            The model, unchanged if an error was raised.
        """
        other = copy(other) if isinstance(other, SEFRRegressor) else other
        fitted, summary = self._both("forget", other, y, sample_weight)
        left = fitted.summary - summary
        if left.n_rows == 1 and fitted.summary.n_rows.is_integer():  # which rounding may hide from y
            raise ValueError("SEFRRegressor needs at least two rows, but one would be left")
        self._fitted = self.solved(left, self.settings(), fitted)
        return self

    @in_turn
    def decay(self, factor: float) -> Self:
        """Make all rows learned so far count ``factor`` times, 0 < factor <= 1, beside those to come.

        Intervals become wider, as from fewer rows, and the penalty may change with them.
        """
        self._refuse_without_rows("decay")
        self._fitted = cast(FittedNumbers, self._decayed(factor))
        return self

    @classmethod
    def from_summary(cls, summary: Summary, **params: Any) -> Self:
        """Build a trained model from a Summary of numbers, wherever it was added up.

        Parameters
        ----------
        summary : Summary
            Of numbers: ``summary_`` of another regressor, or its bytes.
        **params
            As for the constructor.
        """
        if not isinstance(summary, Summary):
            raise TypeError(f"from_summary takes a Summary, not {type(summary).__name__}")
        self = cls(**params)
        names = summary.feature_names
        names_in = None if names is None else np.array(names, dtype=object)
        settings = NumberSettings.of(self)
        if self.passes > 1:
            raise ValueError(
                f"passes={self.passes}: a Summary has no rows for further passes; use passes=1, or fit"
            )
        refuse_other_settings(summary, settings)
        self._fitted = FittedNumbers.solve(summary, settings, names_in)
        return self

    def _refuse_without_rows(self, verb: str) -> None:
        if self.fitted_.refined is not None or self.passes > 1:
            raise ValueError(
                f"a model of passes={self.passes} cannot {verb}: its weights were found on rows that are no "
                "longer available. Fit again, or use moments=2, or moments=1 with passes=1"
            )

    def _learned(self, source: RowSource, settings: AnySettings) -> Fitted:
        summary = source.summarise(settings)
        solved = FittedNumbers.solve(summary, settings, source.names, place=source.place)
        return solved.with_passes(source).with_residuals(source)

    @classmethod
    def solved(cls, summary: Summary, settings: AnySettings, before: Fitted | None = None) -> FittedNumbers:
        """Return what follows from a Summary under some settings; ``before`` is what the model knew."""
        place = "this Summary" if before is None else "what would be left"
        return FittedNumbers.solve(summary, settings, before=before, place=place)
