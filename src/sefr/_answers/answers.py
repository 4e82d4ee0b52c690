"""Answers: what a trained model says about rows, and why; the same for labels and for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from .._rows.arrow import arrow_table
from .._rows.cells import Categories
from .._rows.cells.coder import copies_of_parts
from .._rows.inputs import complain_of_bad_value, matrix_of
from .._rows.matrix import Matrix
from .._summary.drift import USUAL, DriftReport, Thresholds, drift
from .._summary.summary import Summary
from .._system.threads import thread_count
from .._system.types import Array, Bins, Floats, Rows, Scale
from .contributions import contributions_frame
from .curves import Curve
from .effects import importances_of
from .fitted import Fitted


class Answers(BaseEstimator):  # type: ignore[misc]
    """What a model answers from what it knows, ``_fitted``; see ``SEFRClassifier`` and ``SEFRRegressor``.

    An answer reads ``_fitted`` once: another thread may put the next one in its place at any time.
    """

    scale: Scale
    missing: str
    bins: Bins
    auto: bool
    n_jobs: int | None
    _fitted: Fitted

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags

    @property
    def fitted_(self) -> Fitted:
        """All that the model knows, as one value that never changes."""
        if "_fitted" not in self.__dict__:
            check_is_fitted(self)
        return self._fitted

    @property
    def summary_(self) -> Summary:
        """All that was learned; the weights follow from it."""
        return self._known.summary

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._known.summary.n_features

    @property
    def feature_names_in_(self) -> Array:
        """Names of the features, if the rows had any."""
        names = self._known.names
        if names is None:
            raise AttributeError(f"{type(self).__name__} has no attribute 'feature_names_in_'")
        return names

    @property
    def n_passes_(self) -> int:
        """Passes that were made over the rows, the first included."""
        refined = self._known.refined
        return 1 if refined is None else refined.n_passes

    @property
    def loss_curve_(self) -> list[float]:
        """The training loss after each pass.

        Of labels, its mean over the rows, entry 0 that of the base rates. Of numbers, the part of the
        variance of y that is left over, with the penalty; after one pass it is not there.
        """
        fitted = self._known
        if fitted.refined is None:
            return [fitted.loss_of_one_pass]
        return list(fitted.refined.loss_curve)

    @property
    def _known(self) -> Fitted:
        """What the model knows; as with any attribute that fit makes, AttributeError before."""
        if "_fitted" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self._fitted

    def drift(self, X: Rows, thresholds: Thresholds = USUAL) -> DriftReport:
        """Compare rows without labels with those that were learned; ``drift(X).warn()`` warns of a change.

        The features alone are compared: means, missing values and ranges, or with bins how the rows lie in
        them. A change tells that the rows are others, not that the answers are wrong; ``Summary.compare``
        compares rows with labels.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            A batch of rows.
        thresholds : Thresholds
            From :mod:`sefr._summary.drift`: how much may change.

        Returns
        -------
        drift : DriftReport
            True in an ``if`` when a change exceeds its threshold; ``findings`` are sentences.
        """
        fitted = self.fitted_
        found = fitted.summarise(self._matrix(X, fitted), self.missing)
        return drift(fitted.summary, found, thresholds, labelled=False)

    def expression(
        self, engine: str, kind: str = "prediction", *, features: Sequence[str] | None = None
    ) -> Any:
        """Return what this model says of a row, as an expression of an engine: scoring without Python.

        Parameters
        ----------
        engine : {"polars", "ibis", "pyspark"}
            Whose expression.
        kind : {"prediction", "scores", "probabilities"}
            As for :func:`sefr.engines.expressions.expression`, which makes it.
        features : list of str, default=None
            The columns, if the features have no names or other ones.

        Returns
        -------
        expression
            Over the columns of the features.
        """
        from ..engines.expressions import expression

        return expression(self, engine, kind, features=features)

    def contributions(self, X: Rows, *, as_frame: bool = False) -> Any:
        """Split every score over the features, exactly: the parts of a row add up to its score.

        A part above 0 favours the class (``classes_[1]`` with two), a part below 0 counts against it; a
        missing value is 0, and so is a feature at its midpoint, which favours neither side. With
        ``interactions`` there is a part per set of features, ``feature_sets_``: the features one by one, then
        those that interact.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        as_frame : bool, default=False
            Return a pandas frame whose columns are named after the features. With more than two classes the
            columns are pairs of class and feature.

        Returns
        -------
        parts : ndarray of shape (n, m) for two classes, else (n, K, m); m sets with ``interactions``
        """
        fitted = self.fitted_
        matrix = self._matrix(X, fitted)
        complain_of_bad_value(matrix, fitted.names, missing=fitted.model.missing(self.missing))
        parts = fitted.model.contributions(matrix)
        if as_frame:
            return contributions_frame(fitted, parts, getattr(X, "index", None))
        return parts[:, 0, :] if parts.shape[1] == 1 else parts

    @property
    def edges_(self) -> list[Floats | Categories]:
        """Where each feature is cut: its edges, or its categories; ``bins=`` takes it."""
        return copies_of_parts(self._known.summary.coding.known_coder("edges").parts)

    @property
    def interactions_(self) -> list[list[tuple[int, int]]]:
        """The comparisons of each fern, (feature, bin); ``interactions=`` takes it, with ``bins=edges_``."""
        ferns = self._known.summary.coding.known_coder("interactions").ferns
        return [] if ferns is None else [list(part) for part in ferns.parts]

    @property
    def feature_sets_(self) -> list[tuple[int, ...]]:
        """What scores are sums over: each feature, and each set of features that ferns look at together."""
        return list(self._known.model.feature_sets)

    @property
    def curves_(self) -> list[Curve]:
        """The effect of each feature over its bins, and how many rows support each."""
        fitted = self._known
        curves = fitted.model.curves(fitted.summary)
        if not curves:
            raise AttributeError("this model has no curves: it was made with bins=None; see coef_")
        return curves

    @property
    def coef_(self) -> Floats:
        """The weights for the features as they come: (1, m) for two classes, else (K, m)."""
        return self._known.model.planes("coef_").coef

    @property
    def feature_importances_(self) -> Floats:
        """The share of each feature in moving the scores, (m,): at least 0, together 1; see ``curves_``."""
        fitted = self._known
        return importances_of(fitted, fitted.effect_sizes())

    @property
    def intercept_(self) -> Floats:
        """What goes with ``coef_``, (1,) or (K,)."""
        return self._known.model.planes("intercept_").intercept

    def _matrix(self, X: Rows, fitted: Fitted) -> Matrix:
        """Return X for the kernels; other features than those learned are an error."""
        X = arrow_table(X)
        matrix = matrix_of(X, fitted.summary.categories)
        self._check_features(X, matrix, fitted)
        return matrix

    def _check_features(self, X: Rows, matrix: Matrix, fitted: Fitted) -> None:
        if type(X) is not np.ndarray or fitted.names is not None:
            same = copy(self)  # scikit-learn asks it for more than one attribute
            same._fitted = fitted
            validate_data(same, X, reset=False, skip_check_array=True)
        if matrix.n_features != fitted.summary.n_features:
            raise ValueError(
                f"X has {matrix.n_features} features, but {type(self).__name__} is expecting "
                f"{fitted.summary.n_features} features as input."
            )

    def _scores(self, X: Rows, fitted: Fitted) -> Floats:
        matrix = self._matrix(X, fitted)
        return fitted.scores(matrix, self.missing, self._threads_for(matrix))

    def _threads_for(self, matrix: Matrix) -> int:
        """Return the number of threads that score rows."""
        return 1 if self.n_jobs is None else thread_count(self.n_jobs, matrix.shape[0] * matrix.shape[1])
