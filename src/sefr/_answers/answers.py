"""Answers: what a trained model says about rows, and why. It learns nothing but how sure it may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._rows.arrow import arrow_table
from .._rows.cells import Categories, code_matrix
from .._rows.cells.coder import copies_of_parts
from .._rows.inputs import complain_of_bad_cell, labelled, matrix_of
from .._rows.labels import find_labels
from .._rows.matrix import Matrix
from .._summary.drift import USUAL, Drift, Thresholds, drift
from .._summary.readers import READERS
from .._summary.summary import Summary
from .._system.threads import thread_count
from .._system.types import Array, Bins, Floats, Foreign, Rows, Scale
from .._weights.held_out import HeldOut
from .._weights.refine.refine import base_loss
from .curves import Curve, curves_of
from .fitted import Fitted
from .probabilities import Calibration, fit_scaling


class Answers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What a model answers from what it knows, ``_fitted``; see ``SEFRClassifier``."""

    scale: Scale
    missing: str
    bins: Bins
    n_jobs: int | None
    _fitted: Fitted

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def __sklearn_tags__(self) -> Foreign:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "ignore"
        tags.input_tags.positive_only = self.scale is None and self.bins is None
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
    def classes_(self) -> Array:
        """The labels, sorted."""
        return self._known.summary.classes

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._known.summary.n_features

    @property
    def feature_names_in_(self) -> Array:
        """Names of the features, where the rows had any."""
        if self._known.names is None:
            raise AttributeError(f"{type(self).__name__} has no attribute 'feature_names_in_'")
        return self._known.names

    @property
    def _known(self) -> Fitted:
        """What the model knows; as with any attribute that fit makes, AttributeError before."""
        if "_fitted" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self._fitted

    def decision_function(self, X: Rows) -> Floats:
        """Return the scores: (n,) for two classes, above 0 being ``classes_[1]``; else (n, K), highest wins.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Rows) -> Array:
        """Return the label of every row.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        scores = self._scores(X)
        return self._fitted.answers(scores)

    def predict_proba(self, X: Rows) -> Floats:
        """Return the probability of every class, (n, K), in the order of ``classes_``.

        They are fitted to scores of up to a thousand training rows, corrected as if the model had not seen
        them, so that the mean probability of a class is near its share of the rows. Where that is not where
        the paper's threshold lies (rare classes, ``class_weight``), the likeliest class may differ from the
        answer of ``predict``.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        scores = self._scores(X)
        scaling = self._fitted.probability_scaling
        if scaling is None:
            raise ValueError(
                "probabilities need rows to be fitted to, and this model comes from a Summary, which holds "
                "none: call calibrate(X, y) first"
            )
        return scaling.probabilities(scores)

    def predict_log_proba(self, X: Rows) -> Floats:
        """Return the logarithm of ``predict_proba``.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def calibrate(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the probabilities to rows that the model has not learned from; its answers stay as they are.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``; the labels must be among ``classes_``.

        Returns
        -------
        self : SEFRClassifier
            The model.
        """
        scores, fitted = self._scores(X), self._fitted
        rows = labelled(self._matrix(X), y, sample_weight)
        unknown = find_labels(fitted.summary.classes, rows.classes) < 0
        if unknown.any():
            raise ValueError(f"cannot calibrate with class {rows.classes[unknown][0]!r}: it was not learned")
        _, codes, weights = rows.over(fitted.summary.classes)
        sample = HeldOut(scores, codes, np.ones(len(codes)) if weights is None else weights)
        self._fitted = fitted.with_calibration(Calibration(prior=fit_scaling(sample)))
        return self

    def drift(self, X: Rows, thresholds: Thresholds = USUAL) -> Drift:
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
        drift : Drift
            True in an ``if`` where a change exceeds its threshold; ``findings`` are sentences.
        """
        fitted, matrix = self.fitted_, self._matrix(X)
        coder = fitted.summary.coder
        matrix = matrix if coder is None else code_matrix(matrix, coder)
        rows = labelled(matrix, np.zeros(matrix.shape[0], dtype=np.int8))
        found = Summary.of_rows(rows, fitted.summary.feature_names, missing=self.missing)
        return drift(fitted.summary, found, thresholds, labelled=False)

    def expression(
        self, engine: str, kind: str = "prediction", *, features: Sequence[str] | None = None
    ) -> Foreign:
        """Return what this model says of a row, as an expression of an engine: scoring without Python.

        Parameters
        ----------
        engine : {"polars", "ibis", "pyspark"}
            Whose expression.
        kind : {"prediction", "scores", "probabilities"}
            As for :func:`sefr.engines.expressions.expression`, which makes it.
        features : list of str, default=None
            The columns, where the features have no names or other ones.

        Returns
        -------
        expression
            Over the columns of the features.
        """
        return READERS["expression"](self, engine, kind, features=features)

    def contributions(self, X: Rows) -> Floats:
        """Split every score over the features, exactly: the parts of a row add up to its score.

        A part above 0 speaks for the class (for ``classes_[1]`` with two), below 0 against it; a missing
        value is 0. A feature at its midpoint, where it speaks for neither side, is 0 too. With
        ``interactions`` there is a part per set of features, ``feature_sets_``: the features one by one, then
        the sets that ferns look at.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.

        Returns
        -------
        parts : ndarray of shape (n, m) for two classes, else (n, K, m); m sets with ``interactions``
        """
        fitted = self.fitted_
        matrix = self._matrix(X)
        complain_of_bad_cell(matrix, fitted.names, missing=self.missing)
        if fitted.table is not None:
            return self._parts_of_cells(matrix, fitted)
        weights, midpoints = fitted.planes.weights, fitted.midpoints
        parts = np.empty((matrix.shape[0], *weights.shape))
        for rows, block in matrix.blocks():
            x = fitted.planes.scaling.apply(block)
            np.multiply(x[:, None, :] - midpoints, weights, out=parts[rows])
        if self.missing == "ignore":
            np.nan_to_num(parts, copy=False, nan=0.0)
        return parts[:, 0, :] if len(weights) == 1 else parts

    def _parts_of_cells(self, matrix: Matrix, fitted: Fitted) -> Floats:
        coder, table = fitted.summary.coder, fitted.table
        assert coder is not None  # noqa: S101  the caller has looked
        assert table is not None  # noqa: S101
        parts = np.empty((matrix.shape[0], len(table), len(coder.feature_sets)))
        for rows, block in matrix.blocks():
            by_column = table[:, coder.offsets[:-1] + coder.code(block)].transpose(1, 0, 2)
            parts[rows] = coder.by_set(by_column)
        return parts[:, 0, :] if len(table) == 1 else parts

    @property
    def edges_(self) -> list[Floats | Categories]:
        """Where each feature is cut: its edges, or its categories; ``bins=`` takes it."""
        coder = self._known.summary.coder
        if coder is None:
            raise AttributeError("this model has no edges: it was made with bins=None")
        return copies_of_parts(coder.parts)

    @property
    def interactions_(self) -> list[list[tuple[int, int]]]:
        """The comparisons of each fern, (feature, bin); ``interactions=`` takes it, with ``bins=edges_``."""
        coder = self._known.summary.coder
        if coder is None:
            raise AttributeError("this model has no interactions: it was made with bins=None")
        return [] if coder.ferns is None else [list(part) for part in coder.ferns.parts]

    @property
    def feature_sets_(self) -> list[tuple[int, ...]]:
        """What scores are sums over: each feature, and each set of features that ferns look at together."""
        summary = self._known.summary
        if summary.coder is None:
            return [(j,) for j in range(summary.n_features)]
        return list(summary.coder.feature_sets)

    @property
    def curves_(self) -> list[Curve]:
        """The effect of each feature over its bins, and how many rows support each."""
        fitted = self._known
        if fitted.table is None:
            raise AttributeError("this model has no curves: it was made with bins=None; see coef_")
        return curves_of(fitted)

    @property
    def coef_(self) -> Floats:
        """The weights for the features as they come: (1, m) for two classes, else (K, m)."""
        self._refuse_bins("coef_")
        return self._known.planes.coef

    def _refuse_bins(self, name: str) -> None:
        if self._known.table is not None:
            raise AttributeError(
                f"a model with bins has no {name}: its features have curves, not one weight each; see curves_"
            )

    @property
    def intercept_(self) -> Floats:
        """What goes with ``coef_``, (1,) or (K,)."""
        self._refuse_bins("intercept_")
        return self._known.planes.intercept

    @property
    def feature_scores_(self) -> Floats:
        """The weights of scaled features, in [-1, 1]: the paper's, or refined ones by the largest."""
        fitted = self._known
        self._refuse_bins("feature_scores_")
        weights = fitted.planes.weights
        if fitted.refined is None:
            return weights
        return weights / max(float(np.abs(weights).max()), np.finfo(float).tiny)

    @property
    def n_passes_(self) -> int:
        """How often the rows were read."""
        refined = self._known.refined
        return 1 if refined is None else refined.n_passes

    @property
    def loss_curve_(self) -> list[float]:
        """The mean training loss after each pass, the first that of the base rates."""
        refined = self._known.refined
        if refined is not None:
            return list(refined.loss_curve)
        return [base_loss(self._fitted.summary.counts, self._fitted.class_weight)]

    def _matrix(self, X: Rows) -> Matrix:
        """Return X for the kernels; other features than those learned are an error."""
        X, coder = arrow_table(X), self._fitted.summary.coder
        matrix = matrix_of(X) if coder is None else matrix_of(X, coder.categories)
        self._check_features(X, matrix)
        return matrix

    def _check_features(self, X: Rows, matrix: Matrix) -> None:
        fitted = self._fitted
        if type(X) is not np.ndarray or fitted.names is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
        if matrix.n_features != fitted.summary.n_features:
            raise ValueError(
                f"X has {matrix.n_features} features, but {type(self).__name__} is expecting "
                f"{fitted.summary.n_features} features as input."
            )

    def _scores(self, X: Rows) -> Floats:
        fitted = self.fitted_
        n_threads = 1 if self.n_jobs is None else thread_count(self.n_jobs)
        return fitted.scores(self._matrix(X), self.missing, n_threads)
