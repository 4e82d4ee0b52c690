"""Answers: what a trained model says about rows, and why. It learns nothing but how sure it may be."""

from __future__ import annotations

from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._rows.inputs import complain_of_bad_cell, labelled, matrix_of
from .._rows.matrix import Matrix
from .._summary.summary import Summary
from .._system.threads import thread_count
from .._weights.refine.refine import Refined, base_loss
from .._weights.solve import Hyperplanes, weights_and_midpoints
from .probabilities import HeldOut, fit_sharpness, probabilities, unseen_by_sefr

Floats = NDArray[np.float64]


class Answers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What a linear model answers once ``_learned`` has given it hyperplanes; see ``SEFRClassifier``."""

    epsilon: float
    missing: str
    n_jobs: int | None
    classes_: NDArray[Any]
    summary_: Summary
    n_features_in_: int
    _planes: Hyperplanes
    _refined: Refined | None
    _held_out: HeldOut | None
    _calibration: Floats | None

    def decision_function(self, X: Any) -> Floats:
        """Return the scores: (n,) for two classes, above 0 being ``classes_[1]``; else (n, K), highest wins.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        scores = self._scores(X)
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of every row.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        scores = self._scores(X)
        codes = (scores.ravel() > 0).view(np.int8) if len(self.classes_) == 2 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class, (n, K), in the order of ``classes_``.

        They are calibrated on scores of up to a thousand training rows, corrected as if the model had not
        seen them. The most likely class is the one that ``predict`` gives.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        scores = self._scores(X)
        return probabilities(scores, self._sharpness())

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of ``predict_proba``.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        scores = self._scores(X)
        rows = labelled(self._matrix(X), y, sample_weight)
        unknown = [label for label in rows.classes if label not in self.classes_]
        if unknown:
            raise ValueError(f"cannot calibrate with class {unknown[0]!r}: it was not learned")
        _, codes, weights = rows.over(self.classes_)
        held_out = HeldOut(scores, codes, np.ones(len(codes)) if weights is None else weights)
        self._calibration = fit_sharpness(held_out, len(self.classes_))
        return self

    def contributions(self, X: Any) -> Floats:
        """Split every score over the features, exactly: the parts of a row add up to its score.

        A part above 0 speaks for the class (for ``classes_[1]`` with two), below 0 against it; a missing
        value is 0. A feature at its midpoint, where it speaks for neither side, is 0 too.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.

        Returns
        -------
        parts : ndarray of shape (n, m) for two classes, else (n, K, m)
        """
        check_is_fitted(self)
        matrix = self._matrix(X)
        self._refuse_bad_cells(matrix)
        parts = np.empty((matrix.shape[0], len(self.coef_), matrix.shape[1]))
        weights, midpoints = self._weights_and_midpoints()
        for rows, block in matrix.blocks():
            x = self._planes.scaling.apply(block)
            np.multiply(x[:, None, :] - midpoints, weights, out=parts[rows])
        if self.missing == "ignore":
            np.nan_to_num(parts, copy=False, nan=0.0)
        return parts[:, 0, :] if len(self.classes_) == 2 else parts

    @property
    def coef_(self) -> Floats:
        """The weights for the features as they come: (1, m) for two classes, else (K, m)."""
        check_is_fitted(self)
        return self._planes.coef

    @property
    def intercept_(self) -> Floats:
        """What goes with ``coef_``, (1,) or (K,)."""
        check_is_fitted(self)
        return self._planes.intercept

    @property
    def feature_scores_(self) -> Floats:
        """The weights of scaled features, in [-1, 1]: the paper's, or refined ones by the largest."""
        check_is_fitted(self)
        scores = self._planes.feature_scores
        if self._refined is None:
            return scores
        return scores / max(float(np.abs(scores).max()), np.finfo(float).tiny)

    @property
    def n_passes_(self) -> int:
        """How often the rows were read."""
        check_is_fitted(self)
        return 1 if self._refined is None else self._refined.n_passes

    @property
    def loss_curve_(self) -> list[float]:
        """The mean training loss after each pass, the first that of the base rates."""
        check_is_fitted(self)
        if self._refined is not None:
            return list(self._refined.loss_curve)
        return [base_loss(self.summary_.counts)]

    @property
    def _can_be_sure(self) -> bool:
        return self._calibration is not None or (self._held_out is not None and len(self._held_out.codes) > 0)

    def _sharpness(self) -> Floats:
        """Return what turns scores into probabilities; it is fitted when it is first asked for."""
        if self._calibration is not None:
            return self._calibration
        if not self._can_be_sure or self._held_out is None:
            raise ValueError(
                "probabilities need rows to be fitted to, and this model comes from a Summary, which holds "
                "none: call calibrate(X, y) first"
            )
        seen = self._held_out
        if "sharpness" not in seen.fitted:
            unseen = seen if self._refined is not None else unseen_by_sefr(seen, self.summary_, self._planes)
            seen.fitted["sharpness"] = fit_sharpness(unseen, len(self.classes_))
        return seen.fitted["sharpness"]

    def _weights_and_midpoints(self) -> tuple[Floats, Floats]:
        """Return w and t of scaled features: a score is the sum of w (x' - t)."""
        if self._refined is not None:
            return self._planes.feature_scores, self._refined.midpoints
        return weights_and_midpoints(self.summary_, self._planes.scaling, self.epsilon)

    def _matrix(self, X: Any, *, reset: bool = False) -> Matrix:
        """Return X for the kernels; other features than those learned are an error."""
        matrix = matrix_of(X)
        if not reset:
            self._check_features(X, matrix)
        return matrix

    def _check_features(self, X: Any, matrix: Matrix) -> None:
        if type(X) is not np.ndarray or hasattr(self, "feature_names_in_"):
            validate_data(self, X, reset=False, skip_check_array=True)
        if matrix.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {matrix.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        matrix = self._matrix(X)
        scores = self._planes.scores(matrix, n_threads=thread_count(self.n_jobs))
        bias = self._planes.bias
        witness = scores[:, 0 if isfinite(bias[0]) else int(np.argmax(np.isfinite(bias)))]
        if not isfinite(witness.sum()):
            self._refuse_bad_cells(matrix)
            self._leave_out_missing(matrix, scores, np.isnan(witness))
        return scores

    def _refuse_bad_cells(self, matrix: Matrix) -> None:
        complain_of_bad_cell(matrix, getattr(self, "feature_names_in_", None), missing=self.missing)

    def _leave_out_missing(self, matrix: Matrix, scores: Floats, rows: NDArray[np.bool_]) -> None:
        """Score rows with missing values from the features that they have."""
        weights, midpoints = self._weights_and_midpoints()
        constant = np.einsum("ij,ij->i", weights, midpoints) + self._planes.bias  # 0, or -inf if never seen
        for where, block in matrix.blocks():
            some = np.flatnonzero(rows[where])
            if len(some):
                x = self._planes.scaling.apply(block[some])
                here = ~np.isnan(x)
                scores[where.start + some] = (
                    np.where(here, x, 0) @ weights.T - here @ (weights * midpoints).T + constant
                )
