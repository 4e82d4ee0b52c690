"""SEFRRegressor: numbers learned from sums. It checks and delegates; it does no arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self, cast

from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from ._answers.fitted import Fitted
from ._answers.fitted_numbers import FittedNumbers
from ._answers.number_answers import NumberAnswers
from ._answers.task import REGRESS
from ._summary.source import RowSource
from ._summary.summary import Summary
from ._system.turns import in_turn
from ._system.types import Bins, Interactions, Rows, Scale, Weights
from .base import Learner
from .settings import AnySettings


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

    task = REGRESS
    instead = "moments=2, or moments=1 with passes=1"

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
        settings = self.settings()
        rows = self._rows(X, y, sample_weight, settings.cut, before)
        summary = rows.summarise(settings)
        total = summary if before is None else before.summary + summary
        solved = self._solve(total, settings, rows, before)
        self._fitted = solved.with_residuals(rows) if before is None else solved
        return self

    def _solve(
        self, summary: Summary, settings: AnySettings, source: RowSource, before: Fitted | None = None
    ) -> FittedNumbers:
        solved = self.task.fitted.solve(summary, settings, source.names, before, source.place)
        return cast(FittedNumbers, solved)

    def _merged(self, fitted: Fitted, summary: Summary, other: Fitted | None) -> FittedNumbers:
        joined = cast(FittedNumbers, self.solved(fitted.summary + summary, self.settings(), fitted))
        if joined.residuals is None and isinstance(other, FittedNumbers):
            return replace(joined, residuals=other.residuals)
        return joined

    def _without(self, fitted: Fitted, summary: Summary) -> FittedNumbers:
        left = fitted.summary - summary
        # One row has no spread of y, though rounding may leave some.
        if left.n_rows == 1 and fitted.summary.n_rows.is_integer():
            raise ValueError("SEFRRegressor needs at least two rows, but one would be left")
        return cast(FittedNumbers, self.solved(left, self.settings(), fitted))

    @in_turn
    def decay(self, factor: float) -> Self:
        """Make all rows learned so far count ``factor`` times, 0 < factor <= 1, beside those to come.

        Intervals become wider, as from fewer rows, and the penalty may change with them.
        """
        self._refuse_without_rows("decay")
        self._fitted = cast(FittedNumbers, self._decayed(factor))
        return self

    def _learned(self, source: RowSource, settings: AnySettings) -> Fitted:
        summary = source.summarise(settings)
        solved = self._solve(summary, settings, source)
        return solved.with_passes(source).with_residuals(source)
