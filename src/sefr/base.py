"""What both estimators do alike when they learn: labels and numbers differ in how y is read and solved."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ._answers.agreement import refuse_other_settings
from ._answers.answers import Answers
from ._answers.fitted import Fitted
from ._answers.task import Task
from ._rows.arrow import arrow_table
from ._rows.batches import restartable
from ._rows.cells import NO_CUT, Cutter
from ._summary.source import GivenBatches, MemoryRows, RowSource
from ._summary.summary import Summary
from ._system.turns import in_turn
from ._system.types import Array, Rows, Weights
from .settings import AnySettings


class Learner(Answers):
    """The verbs that replace what a model knows, ``_fitted``, as a whole."""

    task: ClassVar[Task]
    instead: ClassVar[str]  # what can merge and forget, for users whose model made further passes
    passes: int
    partial_fit: Any  # a method of both, but with different parameters

    @abstractmethod
    def _learned(self, source: RowSource, settings: AnySettings) -> Fitted:
        """Return what rows teach."""

    @abstractmethod
    def _merged(self, fitted: Fitted, summary: Summary, other: Fitted | None) -> Fitted:
        """Return what this model and a Summary know together; ``other`` is the model it is of, if any."""

    @abstractmethod
    def _without(self, fitted: Fitted, summary: Summary) -> Fitted:
        """Return what this model knows without the rows of a Summary."""

    def _refuse_without_rows(self, verb: str) -> None:
        """Raise an error for a model that is more than its Summary."""
        if self.fitted_.refined is not None or self.passes > 1:
            raise ValueError(
                f"a model of passes={self.passes} cannot {verb}: its weights were found on rows that are no "
                f"longer available. Fit again, or use {self.instead}"
            )

    @property
    def predicts_numbers(self) -> bool:
        """Whether answers are numbers, not labels."""
        return self.task.predicts_numbers

    def settings(self) -> AnySettings:
        """Return the parameters as one value; the first one that has no meaning is an error."""
        return self.task.settings.of(self)

    @classmethod
    def solved(
        cls,
        summary: Summary,
        settings: AnySettings,
        before: Fitted | None = None,
        names: Array | None = None,
    ) -> Fitted:
        """Return what follows from a Summary under some settings; ``before`` is what the model knew.

        A Summary that a model cannot be made of is an error.
        """
        place = "this Summary" if before is None else "what would be left"
        return cls.task.fitted.solve(summary, settings, names, before, place)

    @in_turn
    def fit(self, X: Rows, y: ArrayLike, sample_weight: Weights = None) -> Self:
        """Learn from rows; what was learned before is forgotten.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows, read in place: floats, integers or booleans in any order of memory, CSR or CSC.
        y : array of shape (n,); of a regressor also (n, K)
            Of a classifier, one label per row: strings, integers, booleans, categories. Of a regressor, the
            numbers of each row, at least two of them different; (n, 1) is taken as (n,).
        sample_weight : array of shape (n,), default=None
            How often each row counts.

        Returns
        -------
        self : estimator
            The trained model.
        """
        settings = self.settings()
        self._fitted = self._learned(self._rows(X, y, sample_weight, settings.cut), settings)
        return self

    @in_turn
    def fit_batches(self, batches: Any) -> Self:
        """Learn from rows that do not fit in memory; what was learned before is forgotten.

        Parameters
        ----------
        batches : callable or collection
            Yields ``(X, y)`` or ``(X, y, sample_weight)``. It is started anew for every pass, with ``bins``
            once more before, and must bring the same rows in the same order: a function that opens a file.

        Returns
        -------
        self : estimator
            The trained model. After one pass it equals ``fit`` on all rows; after more it differs by the
            sample of rows that chooses the steps.
        """
        return self.fit_from(GivenBatches(restartable(batches), self.task.read))

    @in_turn
    def fit_frame(
        self,
        frame: Any,
        label: str | Sequence[str] = "y",
        features: Sequence[str] | None = None,
        weight: str | None = None,
    ) -> Self:
        """Learn from a data frame where it is, eager or lazy; what was learned before is forgotten.

        Parameters
        ----------
        frame : data frame
            Any frame narwhals knows: pandas, Polars, pyarrow, DuckDB, Ibis, Dask, PySpark.
        label, features, weight
            Names of columns, as for :meth:`Summary.of_frame`; a regressor takes a list of labels, and
            predicts each. With bins, a feature that is text has
            categories: those that occur, at most 254 of them.

        Returns
        -------
        self : estimator
            The trained model, unchanged if an error was raised.
        """
        from .engines.sources import rows_of_frame

        numbers = self.task.predicts_numbers
        with rows_of_frame(frame, label, features, weight, self.settings(), numbers=numbers) as source:
            return self.fit_from(source)

    @in_turn
    def fit_from(self, source: RowSource) -> Self:
        """Learn from rows wherever they are; what was learned before is forgotten.

        Parameters
        ----------
        source : RowSource
            Rows of a file, of an engine, of a cluster.
        """
        self._fitted = self._learned(source, self.settings())
        return self

    @in_turn
    def merge(self, other: Any, y: ArrayLike | None = None, sample_weight: Weights = None) -> Self:
        """Add what another model or Summary has learned, or rows: equal to having fitted the rows of both.

        Not after further passes (``passes > 1``): these need rows, which are no longer available.

        Parameters
        ----------
        other : estimator, Summary, or array of shape (n, m)
            Of the same features. Two classifiers may know different classes; two regressors have the same
            outputs.
        y, sample_weight
            As for ``fit``, if ``other`` are rows.

        Returns
        -------
        self : estimator
            The model, unchanged if an error was raised.
        """
        if y is not None:
            check_is_fitted(self)
            self._refuse_without_rows("merge")
            self.partial_fit(other, y, sample_weight=sample_weight)
        else:
            self._fitted = self._merged(*self._both("merge", other))
        return self

    @in_turn
    def forget(self, other: Any, y: ArrayLike | None = None, sample_weight: Weights = None) -> Self:
        """Take rows back, or all rows of another model or Summary: equal to never having seen them.

        With ``scale="minmax"`` the lowest and highest values stay those of all rows ever seen. Not after
        further passes (``passes > 1``): refined weights would still know the rows.

        Parameters
        ----------
        other : array of shape (n, m), estimator or Summary
            Rows that were learned before, or what has learned them.
        y, sample_weight
            As for ``fit``, if ``other`` are rows.

        Returns
        -------
        self : estimator
            The model, unchanged if an error was raised.
        """
        fitted, summary, _ = self._both("forget", other, y, sample_weight)
        self._fitted = self._without(fitted, summary)
        return self

    def _decayed(self, factor: float) -> Fitted:
        """Return what follows if all rows learned so far count ``factor`` times."""
        fitted = self.fitted_
        if not isinstance(factor, Real) or not 0 < factor <= 1:
            raise ValueError(f"decay takes a factor above 0 and up to 1, not {factor!r}")
        return type(fitted).solve(fitted.summary * float(factor), fitted.settings, before=fitted)

    @classmethod
    def from_summary(cls, summary: Summary, **params: Any) -> Self:
        """Build a trained model from a Summary, wherever it was added up.

        Parameters
        ----------
        summary : Summary
            Of at least two classes; for a regressor, of numbers.
        **params
            As for the constructor.
        """
        if not isinstance(summary, Summary):
            raise TypeError(f"from_summary takes a Summary, not {type(summary).__name__}")
        self = cls(**params)
        settings = self.settings()
        cls.task.fitted.check(summary, "this Summary")
        settings.refuse_sums()
        refuse_other_settings(summary, settings)
        names = summary.feature_names
        names_in = None if names is None else np.array(names, dtype=object)
        self._fitted = cls.solved(summary, settings, names=names_in)
        return self

    @classmethod
    def from_fitted(cls, fitted: Fitted) -> Self:
        """Build a trained model from all that another one knows, its settings included.

        Parameters
        ----------
        fitted : Fitted
            The ``fitted_`` of a model.
        """
        self = cls(**fitted.settings.params())
        self._fitted = fitted
        return self

    def with_fitted(self, fitted: Fitted) -> Self:
        """Return a model with the parameters of this one that knows something else."""
        other = type(self)(**self.get_params(deep=False))
        other._fitted = fitted
        return other

    def check_params(self) -> None:
        """Raise an error that names the first setting that has no meaning."""
        self.settings()

    def _rows(
        self,
        X: Rows,
        y: ArrayLike,
        sample_weight: Weights,
        cut: Cutter,
        before: Fitted | None = None,
    ) -> MemoryRows:
        """Return rows in memory; of the features, and cut, as what was learned ``before``."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = X if type(X) is np.ndarray else arrow_table(X)
        if before is None:
            return MemoryRows.read(X, y, sample_weight, cut, self.task.read)
        rows = MemoryRows.read(X, y, sample_weight, before.summary.coder or NO_CUT, self.task.read)
        self._check_features(X, rows.rows.matrix, before)
        return rows

    def _both(
        self, verb: str, other: Any, y: ArrayLike | None = None, sample_weight: Weights = None
    ) -> tuple[Fitted, Summary, Fitted | None]:
        """Return what this model knows, the Summary of what is given, and what this knows if a model."""
        fitted = self.fitted_
        self._refuse_without_rows(verb)
        if isinstance(other, Learner) and other.task is self.task:
            other = copy(other)  # as it is now: another thread may go on learning
            other._refuse_without_rows(f"be {'forgotten' if verb == 'forget' else 'merged'}")
            return fitted, other.fitted_.summary, other.fitted_
        if isinstance(other, Summary):
            return fitted, other, None
        if y is None:
            kind, own = type(other).__name__, type(self).__name__
            raise TypeError(
                f"{verb} takes another {own}, a Summary, or rows with their {self.task.nouns}, not {kind}"
            )
        settings = self.settings()
        return fitted, self._rows(other, y, sample_weight, settings.cut, fitted).summarise(settings), None
