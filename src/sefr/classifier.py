"""SEFRClassifier: the door for users of scikit-learn. It checks and delegates; it does no arithmetic."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .intake import checked_weights, complain_of_bad_cell, feature_names_of
from .labels import encode
from .matrix import Matrix, matrix_of
from .solve import Hyperplanes, solve, weights_and_midpoints
from .summary import Summary
from .threads import thread_count

Floats = NDArray[np.float64]


class SEFRClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The SEFR classifier: linear, explainable, trained in one pass.

    Training adds up the features of each class (a :class:`Summary`) and derives the weights from the sums, so
    its cost is that of reading the data once. What was learned can be added to, merged and taken back.

    Parameters
    ----------
    scale : "minmax", (low, high) or None, default="minmax"
        How features are brought to [0, 1]. "minmax" learns the lowest and highest value of each. A pair gives
        known ranges (a sensor's 0..1023), numbers or one value a feature; training values outside are an
        error. None takes values as they are; a negative one is an error.
    epsilon : float, default=1e-7
        Keeps eq. 5 of the paper from dividing by zero.
    missing : {"error", "ignore"}, default="error"
        What NaN means: an error, or a value that votes for no class.
    n_jobs : int, default=None
        Threads for training and prediction; None is one, -1 all. Results are the same to the bit.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted. With two, a positive score is ``classes_[1]``, and exactly 0 is ``classes_[0]``.
    coef_, intercept_ : ndarray of shape (1, m) and (1,), or (K, m) and (K,) for more than two classes
        Weights for the features as they come, scaling folded in. The higher score is the class.
    feature_scores_ : ndarray of shape (1, m) or (K, m)
        The paper's weights, in [-1, 1], for scaled features: +1 speaks for the class, -1 against it.
    summary_ : Summary
        All that was learned; the weights follow from it.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (m,)
        Names of the features, where the rows had any.

    Notes
    -----
    For more than two classes the paper makes class k the negative side of classifier k and answers with the
    lowest score; signs are turned here so that the highest wins, as everywhere in scikit-learn. A class
    named in ``classes`` that was not seen yet scores -inf.

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

    def __init__(
        self,
        *,
        scale: Any = "minmax",
        epsilon: float = 1e-7,
        missing: str = "error",
        n_jobs: int | None = None,
    ) -> None:
        self.scale = scale
        self.epsilon = epsilon
        self.missing = missing
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows; what was learned before is forgotten.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows, read in place: floats, integers or booleans in any order of memory, CSR or CSC.
        y : array of shape (n,)
            A label a row: strings, integers, booleans, categories.
        sample_weight : array of shape (n,), default=None
            How often each row counts.

        Returns
        -------
        self : SEFRClassifier
            The trained model.
        """
        summary = self._summarise(X, y, sample_weight, reset=True)
        if len(summary.classes) < 2:
            raise ValueError(
                f"SEFR needs at least two classes, but y has one class only: {summary.classes[0]!r}. "
                "partial_fit with classes=[...] can start from one."
            )
        self._closed = False
        return self._learned(summary, X)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further rows: equal to having fitted all rows at once.

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
        first = not hasattr(self, "summary_")
        summary = self._summarise(X, y, sample_weight, reset=first)
        closed = getattr(self, "_closed", False) and not first
        if classes is not None:
            known = encode(classes)[0]
            if closed and not np.array_equal(known, self.classes_):
                raise ValueError(
                    f"classes={list(known)} differ from those of an earlier call: {list(self.classes_)}"
                )
            closed = True
        elif closed:
            known = self.classes_
        if closed:
            summary = self._within(summary, known)
        total = summary if first else self.summary_ + summary
        if classes is not None:
            total = self._within(total, known)
        if len(total.classes) < 2:
            raise ValueError(
                f"the first rows have one class only, {total.classes[0]!r}; "
                "name all labels with classes=[...]"
            )
        self._closed = closed
        return self._learned(total, X if first else None)

    def merge(self, other: SEFRClassifier | Summary) -> Self:
        """Add what another model or Summary has learned: equal to having fitted the rows of both.

        Parameters
        ----------
        other : SEFRClassifier or Summary
            Of the same features. Its classes may differ.

        Returns
        -------
        self : SEFRClassifier
            The model, unchanged if an error was raised.
        """
        check_is_fitted(self)
        if isinstance(other, SEFRClassifier):
            check_is_fitted(other)
            other = other.summary_
        if not isinstance(other, Summary):
            raise TypeError(
                f"a SEFRClassifier merges with another or with a Summary, not with {type(other).__name__}"
            )
        if getattr(self, "_closed", False):
            other = self._within(other, self.classes_)
        return self._learned(self.summary_ + other)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows back: equal to never having seen them.

        With ``scale="minmax"`` the lowest and highest values stay those of all rows ever seen.

        Parameters
        ----------
        X, y, sample_weight
            Rows that were learned before, as for ``fit``.

        Returns
        -------
        self : SEFRClassifier
            The model, unchanged if an error was raised.
        """
        check_is_fitted(self)
        summary = self._summarise(X, y, sample_weight, reset=False)
        unknown = [label for label in summary.classes if label not in self.classes_]
        if unknown:
            raise ValueError(f"cannot forget rows of class {unknown[0]!r}: none was learned")
        return self._learned(self.summary_ - summary)

    def decay(self, factor: float) -> Self:
        """Make all rows learned so far count ``factor`` times, 0 < factor <= 1, beside those to come.

        Returns
        -------
        self : SEFRClassifier
            The model; its answers do not change until it learns more.
        """
        check_is_fitted(self)
        if not isinstance(factor, Real) or not 0 < factor <= 1:
            raise ValueError(f"decay takes a factor above 0 and up to 1, not {factor!r}")
        return self._learned(self.summary_ * float(factor))

    @classmethod
    def from_summary(cls, summary: Summary, **params: Any) -> Self:
        """Build a trained model from a Summary, wherever it was added up.

        Parameters
        ----------
        summary : Summary
            Of at least two classes.
        **params
            As for the constructor.
        """
        if not isinstance(summary, Summary):
            raise TypeError(f"from_summary takes a Summary, not {type(summary).__name__}")
        if len(summary.classes) < 2:
            raise ValueError("SEFR needs at least two classes; this Summary has one class only")
        self = cls(**params)
        self._check_params()
        self._closed = False
        return self._learned(summary)

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
        weights, midpoints = weights_and_midpoints(self.summary_, self._planes.scaling, self.epsilon)
        for rows, block in matrix.blocks():
            x = self._planes.scaling.apply(block)
            np.multiply(x[:, None, :] - midpoints, weights, out=parts[rows])
        if self.missing == "ignore":
            np.nan_to_num(parts, copy=False, nan=0.0)
        return parts[:, 0, :] if len(self.classes_) == 2 else parts

    @property
    def feature_scores_(self) -> Floats:
        """The paper's weights of scaled features, in [-1, 1]."""
        check_is_fitted(self)
        return self._planes.feature_scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "ignore"
        tags.input_tags.positive_only = self.scale is None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "summary_")

    def _check_params(self) -> None:
        if isinstance(self.scale, str) and self.scale != "minmax":
            raise ValueError(f"scale must be 'minmax', None or a pair (low, high), not {self.scale!r}")
        if not isinstance(self.epsilon, Real) or not 0 <= self.epsilon < np.inf:
            raise ValueError(f"epsilon must be a number from 0 up, not {self.epsilon!r}")
        if self.missing not in ("error", "ignore"):
            raise ValueError(f"missing must be 'error' or 'ignore', not {self.missing!r}")
        if self.n_jobs is not None and not isinstance(self.n_jobs, Integral):
            raise ValueError(f"n_jobs must be None or an integer, not {self.n_jobs!r}")

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Summary:
        self._check_params()
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        matrix = self._matrix(X, reset=reset)
        classes, codes = encode(y)
        if len(codes) != matrix.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {[matrix.shape[0], len(codes)]}"
            )
        weights = checked_weights(sample_weight, len(codes))
        return Summary.of_matrix(
            matrix,
            classes,
            codes,
            weights,
            feature_names_of(X),
            missing=self.missing,
            n_threads=thread_count(self.n_jobs),
        )

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

    def _within(self, summary: Summary, classes: NDArray[Any]) -> Summary:
        """Return the Summary over exactly ``classes``."""
        unknown = [label for label in summary.classes if label not in classes]
        if unknown:
            raise ValueError(f"unknown class {unknown[0]!r}: classes was given as {list(classes)}")
        return summary.over(classes)

    def _learned(self, summary: Summary, X: Any = None) -> Self:
        """Take a Summary and what follows from it, all or nothing."""
        planes = solve(summary, self.scale, self.epsilon)
        if type(X) is np.ndarray:  # what validate_data would do, without asking 30 us long what X might be
            self.__dict__.pop("feature_names_in_", None)
        elif X is not None:
            validate_data(self, X, reset=True, skip_check_array=True)
        elif not hasattr(self, "n_features_in_") and summary.feature_names is not None:
            self.feature_names_in_ = np.array(summary.feature_names, dtype=object)
        self.n_features_in_ = summary.n_features
        self.summary_ = summary
        self.classes_ = summary.classes
        self._planes: Hyperplanes = planes
        self.coef_ = planes.coef
        self.intercept_ = planes.intercept
        return self

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        matrix = self._matrix(X)
        scores = self._planes.scores(matrix, n_threads=thread_count(self.n_jobs))
        witness = scores[:, int(np.argmax(np.isfinite(self._planes.bias)))]
        if not np.isfinite(witness.sum()):
            self._refuse_bad_cells(matrix)
            self._leave_out_missing(matrix, scores, np.isnan(witness))
        return scores

    def _refuse_bad_cells(self, matrix: Matrix) -> None:
        complain_of_bad_cell(matrix, getattr(self, "feature_names_in_", None), missing=self.missing)

    def _leave_out_missing(self, matrix: Matrix, scores: Floats, rows: NDArray[np.bool_]) -> None:
        """Score rows with missing values from the features that they have."""
        weights, midpoints = weights_and_midpoints(self.summary_, self._planes.scaling, self.epsilon)
        constant = np.einsum("ij,ij->i", weights, midpoints) + self._planes.bias  # 0, or -inf if never seen
        for where, block in matrix.blocks():
            some = np.flatnonzero(rows[where])
            if len(some):
                x = self._planes.scaling.apply(block[some])
                here = ~np.isnan(x)
                scores[where.start + some] = (
                    np.where(here, x, 0) @ weights.T - here @ (weights * midpoints).T + constant
                )
