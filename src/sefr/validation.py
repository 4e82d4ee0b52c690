"""Cross-validation from one pass over the data, with scikit-learn's results to the digit.

A Summary per fold is all it takes: the model of a fold comes from the sum of the others'. Scikit-learn still
draws the splits, calls the scorers and writes the results; it is handed row numbers instead of rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.model_selection import check_cv
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.utils import _safe_indexing

from ._rows.inputs import checked_weights, feature_names_of, matrix_of, refuse_one_class
from ._rows.labelled import Labelled
from ._rows.labels import encode
from ._rows.matrix import Matrix, Selected
from ._summary.summary import Summary
from ._system.threads import thread_count
from .classifier import SEFRClassifier

Rows = NDArray[np.int64]

# Sums of all folds that are kept at once; more folds than fit (leave-one-out) take one pass for each such
# batch.
FOLD_BYTES = 64 << 20


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: Mapping[str, Any] | None = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
) -> dict[str, Any]:
    """Evaluate by cross-validation: ``sklearn.model_selection.cross_validate``, from one pass over the data.

    Takes the same arguments and returns the same dictionary. One pass is enough when the estimator is a
    :class:`SEFRClassifier` of ``passes=1`` and the test folds do not overlap while each training fold is all
    the rest (``KFold``, ``StratifiedKFold``, ``GroupKFold``, ``LeaveOneOut``, ``PredefinedSplit`` and the
    like). Otherwise, and for any other estimator, scikit-learn does it the ordinary way.

    Parameters
    ----------
    estimator : estimator
        The model to evaluate; it is not changed.
    X, y, groups, scoring, cv, verbose, params, return_train_score, return_estimator, return_indices,
    error_score
        As in scikit-learn. ``params={"sample_weight": w}`` weights the rows in training.
    n_jobs : int, default=None
        Threads of the pass (or processes, the ordinary way).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sefr import SEFRClassifier, cross_validate
    >>> X, y = load_digits(return_X_y=True)
    >>> cross_validate(SEFRClassifier(), X, y, cv=10)["test_score"].mean().round(3)
    np.float64(0.844)
    """
    common: dict[str, Any] = {
        "groups": groups,
        "verbose": verbose,
        "return_train_score": return_train_score,
        "return_estimator": return_estimator,
        "return_indices": return_indices,
        "error_score": error_score,
    }

    def ordinary(splits: Any) -> dict[str, Any]:
        results = sklearn_cross_validate(
            estimator, X, y, scoring=scoring, cv=splits, n_jobs=n_jobs, params=params, **common
        )
        return dict(results)

    if not _one_pass_can_do(estimator, y, params):
        return ordinary(cv)
    splits = _Splits(check_cv(cv, y, classifier=True), X, y, groups)
    if splits.fold_of is None:
        return ordinary(splits)
    started = time.perf_counter()
    try:
        folds = _Folds(estimator, X, y, params, splits.fold_of, len(splits.tests), n_jobs)
    except (TypeError, ValueError):  # the ordinary way says it fold by fold
        return ordinary(splits)
    spent = time.perf_counter() - started
    fold_model = _FoldModel(**estimator.get_params(deep=False))
    fold_model._folds = folds
    asked = (verbose, return_train_score, return_estimator, return_indices)
    plain = (scoring is None or scoring == "accuracy") and not any(asked)
    results = _accuracies(fold_model, splits.tests, y) if plain else None
    results = results or sklearn_cross_validate(
        fold_model,
        np.arange(folds.matrix.shape[0]),
        y,
        scoring=_on_rows(scoring, X),
        cv=splits,
        **common,
    )
    results["fit_time"] += spent / len(splits.tests)
    if return_estimator:
        results["estimator"] = [model._real() for model in results["estimator"]]
    return dict(results)


def _one_pass_can_do(estimator: Any, y: Any, params: Mapping[str, Any] | None) -> bool:
    return (
        type(estimator) is SEFRClassifier
        and estimator.passes == 1
        and y is not None
        and not get_config()["enable_metadata_routing"]
        and set(params or {}) <= {"sample_weight"}
    )


def _accuracies(model: _FoldModel, tests: list[Rows], y: Any) -> dict[str, Any] | None:
    """Return the results where accuracy alone is asked for: scikit-learn's loop costs more than a fold.

    None where a fold cannot be learned; scikit-learn's loop knows what to say.
    """
    labels = np.asarray(y)
    times, scores = np.empty((2, len(tests))), np.empty(len(tests))
    for fold, test in enumerate(tests):
        begun = time.perf_counter()
        try:
            model.take(fold)
        except ValueError:
            return None
        learned = time.perf_counter()
        scores[fold] = model.score(test, labels[test])
        times[:, fold] = learned - begun, time.perf_counter() - learned
    return {"fit_time": times[0], "score_time": times[1], "test_score": scores}


class _Splits:
    """The splits of a scikit-learn splitter, drawn once; ``fold_of`` is the test fold of each row, or None.

    None stands for splits that one pass cannot serve: test folds that overlap or a training fold that is not
    all the rest. A row in no test fold has fold -1: it is in every training fold.
    """

    def __init__(self, cv: Any, X: Any, y: Any, groups: Any) -> None:
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        self.tests: list[Rows] = []
        self._odd: Iterator[tuple[Rows, Rows]] = iter(())
        self.n_rows = n_rows
        self.n_splits = cv.get_n_splits(X, y, groups)
        fold_of: NDArray[np.int32] | None = np.full(n_rows, -1, dtype=np.int32)
        drawn = iter(cv.split(X, y, groups))
        for train, test in drawn:
            if fold_of is None or (fold_of[test] >= 0).any() or not np.array_equal(train, self._rest(test)):
                self._odd = chain([(train, test)], drawn)
                fold_of = None
                break
            fold_of[test] = len(self.tests)
            self.tests.append(test)
        self.fold_of = fold_of

    def _rest(self, test: Rows) -> Rows:
        rest = np.ones(self.n_rows, dtype=bool)
        rest[test] = False
        return np.flatnonzero(rest)

    def split(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield training and test rows."""
        return chain(((self._rest(test), test) for test in self.tests), self._odd)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return int(self.n_splits)


class _Folds:
    """The Summary of every training fold, from one pass over the rows for each batch of folds."""

    def __init__(
        self,
        estimator: SEFRClassifier,
        X: Any,
        y: Any,
        params: Mapping[str, Any] | None,
        fold_of: NDArray[np.int32],
        n_folds: int,
        n_jobs: int | None,
    ) -> None:
        estimator._check_params()
        self.fold_of = fold_of
        self.n_folds = n_folds
        self.matrix: Matrix = matrix_of(X)
        self.names = feature_names_of(X)
        self.classes, self.codes = encode(y)
        self.weights = checked_weights((params or {}).get("sample_weight"), len(self.codes))
        self.missing = estimator.missing
        self.n_threads = thread_count(n_jobs if n_jobs is not None else estimator.n_jobs)
        cells = 8 * len(self.classes) * self.matrix.shape[1]
        self.batch = int(max(1, min(n_folds, FOLD_BYTES // cells)))
        self.first = -1
        self.rests: list[Summary] = []
        self._read(0)

    def rest_of(self, fold: int) -> Summary:
        """Return the Summary of all rows outside a fold."""
        if not self.first <= fold < self.first + len(self.rests):
            self._read(fold)
        return self.rests[fold - self.first]

    def _read(self, first: int) -> None:
        """Read the rows once for the batch of folds from ``first`` on; all others are lumped together."""
        n_folds = min(self.batch, self.n_folds - first)
        fold = self.fold_of - np.int32(first)
        fold[(fold < 0) | (fold >= n_folds) | (self.fold_of < 0)] = n_folds
        codes = fold * np.int32(len(self.classes)) + self.codes
        *folds, others = Summary.of_folds(
            self.matrix,
            self.classes,
            codes,
            self.weights,
            n_folds + 1,
            self.names,
            missing=self.missing,
            n_threads=self.n_threads,
        )
        before = list(accumulate(folds[:-1], initial=others))
        after = list(accumulate(folds[:0:-1]))[::-1]
        self.rests = [a + b for a, b in zip(before, [*after, 0], strict=True)]
        self.first = first


class _FoldModel(SEFRClassifier):
    """A classifier whose X are row numbers; it fits by looking its training fold up."""

    _folds: _Folds

    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Take the Summary of the rows listed, which are all but one fold."""
        gap = np.flatnonzero(np.arange(len(X)) != X)
        outside = int(gap[0]) if len(gap) else len(X)
        self._rows = X
        return self.take(int(self._folds.fold_of[outside]))

    def take(self, fold: int) -> Self:
        """Learn from all rows outside a fold."""
        summary = self._folds.rest_of(fold).without_empty_classes()
        refuse_one_class(summary.classes, "y")
        return self._learned(summary)

    def _sharpness(self) -> NDArray[np.float64]:
        """Look at some rows of the training fold, as fit does, once a scorer asks for probabilities."""
        if self._held_out is None:
            folds, rows = self._folds, np.ascontiguousarray(self._rows, dtype=np.int64)
            weights = None if folds.weights is None else folds.weights[rows]
            self._remember_scores(Labelled(self._matrix(rows), folds.classes, folds.codes[rows], weights))
        return super()._sharpness()

    def score(self, X: Rows, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: accuracy_score without its checks, which cost more than a fold does."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def _matrix(self, X: Any, *, reset: bool = False) -> Matrix:
        return Selected(self._folds.matrix, np.ascontiguousarray(X, dtype=np.int64))

    def _real(self) -> SEFRClassifier:
        if not hasattr(self, "summary_"):  # scikit-learn noted that it could not be fitted
            return SEFRClassifier(**self.get_params(deep=False))
        real = SEFRClassifier.from_summary(self.summary_, **self.get_params(deep=False))
        real._calibration = self._sharpness()
        return real

    def __sklearn_clone__(self) -> _FoldModel:
        twin = _FoldModel(**self.get_params(deep=False))
        twin._folds = self._folds
        return twin


def _on_rows(scoring: Any, X: Any) -> Any:
    """Return scorers that take row numbers: those that look at X themselves are given the rows."""
    if isinstance(scoring, Mapping):
        return {name: _on_rows(scorer, X) for name, scorer in scoring.items()}
    if scoring == "accuracy":
        return None  # the model's own score
    if callable(scoring) and not hasattr(scoring, "_score_func"):
        return _with_rows(scoring, X)
    return scoring


def _with_rows(scorer: Callable[..., Any], X: Any) -> Callable[..., Any]:
    def scored(model: _FoldModel, rows: Rows, y: Any) -> Any:
        return scorer(model._real(), _safe_indexing(X, rows), y)

    return scored
