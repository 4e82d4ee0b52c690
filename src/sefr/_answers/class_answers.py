"""What a classifier answers: labels, scores and probabilities. It learns nothing but how sure it may be."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from .._rows.inputs import complain_of_bad_value, labelled
from .._rows.labels import find_labels
from .._summary.private import refuse_facts_of_rows
from .._system.turns import in_turn
from .._system.types import Array, Floats, Rows
from .._weights.auto import AutoChoice
from .._weights.held_out import HeldOut
from .answers import Answers
from .probabilities import Calibration, fit_scaling


class ClassAnswers(ClassifierMixin, Answers):  # type: ignore[misc]
    """What a classifier answers; see ``SEFRClassifier``."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.scale is None and self.bins is None and not self.auto
        return tags

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        return self._known.summary.classes

    def decision_function(self, X: Rows) -> Floats:
        """Return the scores: (n,) for two classes, above 0 being ``classes_[1]``; else (n, K), highest wins.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        scores = self._scores(X, self.fitted_)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Rows) -> Array:
        """Return the label of every row.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        fitted = self.fitted_
        matrix = self._matrix(X, fitted)
        n_threads = self._threads_for(matrix)
        n_rows, step = matrix.shape[0], matrix.rows_at_once(fitted.summary.n_scores, n_threads)
        if n_rows <= step:
            return fitted.answers(fitted.scores(matrix, self.missing, n_threads))
        labels = np.empty(n_rows, dtype=fitted.summary.classes.dtype)
        for start in range(0, n_rows, step):
            stop = min(n_rows, start + step)
            try:
                part = matrix.part(start, stop)
                fitted.write_labels(fitted.scores(part, self.missing, n_threads), labels[start:stop])
            except ValueError:
                complain_of_bad_value(matrix, fitted.names, missing=self.missing)  # with its row among all
                raise
        return labels

    def predict_proba(self, X: Rows) -> Floats:
        """Return the probability of every class, (n, K), in the order of ``classes_``.

        They are fitted to scores of up to a thousand training rows, corrected as if the model had not seen
        them, so that the mean probability of a class is near its share of the rows. If that is not where
        the paper's threshold lies (rare classes, ``class_weight``), the likeliest class may differ from the
        answer of ``predict``.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        fitted = self.fitted_
        scores = self._scores(X, fitted)
        return fitted.known_probabilities().probabilities(scores)

    def predict_log_proba(self, X: Rows) -> Floats:
        """Return the logarithm of ``predict_proba``.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @in_turn
    def calibrate(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the probabilities to rows that the model has not learned from; its answers stay as they are.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``; the labels must be among ``classes_``. A model of a private Summary is refused:
            what is fitted to exact rows would tell of them.

        Returns
        -------
        self : SEFRClassifier
            The model.
        """
        fitted = self.fitted_
        refuse_facts_of_rows(fitted.summary)
        scores = self._scores(X, fitted)
        rows = labelled(self._matrix(X, fitted), y, sample_weight)
        unknown = find_labels(fitted.summary.classes, rows.classes) < 0
        if unknown.any():
            raise ValueError(f"cannot calibrate with class {rows.classes[unknown][0]!r}: it was not learned")
        _, codes, weights = rows.over(fitted.summary.classes)
        sample = HeldOut(scores, codes, np.ones(len(codes)) if weights is None else weights)
        self._fitted = fitted.with_calibration(Calibration(prior=fit_scaling(sample)))
        return self

    @property
    def feature_scores_(self) -> Floats:
        """The weights of scaled features, in [-1, 1]: the paper's, or refined ones by the largest."""
        fitted = self._known
        fitted.model.planes("feature_scores_")  # or there are no weights
        return fitted.strengths()

    @property
    def auto_(self) -> AutoChoice:
        """What ``auto=True`` chose: the weight of each part, its log loss on held-out rows, and the ferns."""
        auto = self._known.auto
        if auto is None:
            raise AttributeError("this model was made with auto=False: it chose nothing")
        return auto.choice
