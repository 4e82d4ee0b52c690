"""Cross-validation from one pass over the data, with scikit-learn's results to the digit.

A Summary per fold is all it takes: the model of a fold comes from the sum of the others'. Scikit-learn still
draws the splits and makes the scorers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, r2_score
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ._rows.inputs import read_rows, refuse_lazy
from ._rows.labelled import Labelled
from ._rows.labels import encode
from ._rows.matrix import Selected
from ._summary.folds import summaries_of_rests
from ._summary.products import packed_size
from ._summary.source import MemoryRows
from ._summary.summary import Summary
from ._system.threads import thread_count
from ._system.types import Array, Fields, Indices, Params, Rows
from .base import Learner
from .classifier import SEFRClassifier
from .regressor import SEFRRegressor

# Bytes of the sums of all folds that are kept at once; more folds (leave-one-out) take a pass per such batch.
FOLD_BYTES = 64 << 20
# What is scored without scikit-learn's scorers, which look at every label once more.
METRICS: Mapping[str, Callable[[Array, Array], Any]] = {
    "accuracy": lambda truth, answers: np.mean(answers == truth),
    "r2": r2_score,
}


def cross_validate(
    estimator: Any,
    X: Rows,
    y: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: Params | None = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
) -> Fields:
    """Evaluate by cross-validation: ``sklearn.model_selection.cross_validate``, from one pass over the data.

    Takes the same arguments and returns the same dictionary. One pass is enough when the estimator is a
    :class:`SEFRClassifier` of ``passes=1`` or a :class:`SEFRRegressor`, and the test folds do not overlap
    while each training fold is all the rest (``KFold``, ``StratifiedKFold``, ``GroupKFold``, ``LeaveOneOut``,
    ``PredefinedSplit`` and the like). Otherwise, and for any other estimator, scikit-learn does it the
    ordinary way.

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
    if isinstance(estimator, SEFRClassifier | SEFRRegressor):
        refuse_lazy(X)
    asked: Fields = {
        "groups": groups,
        "scoring": scoring,
        "n_jobs": n_jobs,
        "verbose": verbose,
        "params": params,
        "return_train_score": return_train_score,
        "return_estimator": return_estimator,
        "return_indices": return_indices,
        "error_score": error_score,
    }
    if verbose or not _one_pass_can_do(estimator, y, params):
        return dict(sklearn_cross_validate(estimator, X, y, cv=cv, **asked))
    splits = _stratified(estimator, cv, X, y)
    if splits is None:
        splits = _Splits.drawn(check_cv(cv, y, classifier=is_classifier(estimator)), X, y, groups)
    if y is None or splits.fold_of is None:
        return dict(sklearn_cross_validate(estimator, X, y, cv=splits, **asked))
    try:
        return _results(_FoldSummaries(estimator, X, y, params, splits, n_jobs), asked)
    except Exception:  # of rows, settings or a scorer: scikit-learn says fold by fold what is wrong
        found = dict(sklearn_cross_validate(estimator, X, y, cv=splits, **asked))
        if not _has_failed(found, error_score):
            raise  # nothing is wrong with them: the one pass is at fault
        return found


def _has_failed(found: Fields, error_score: Any) -> bool:
    """Say whether scikit-learn could not train or score the model of a fold."""
    scores = [values for name, values in found.items() if name.startswith(("test_", "train_"))]
    return any(np.isnan(values).any() or np.any(values == error_score) for values in scores)


def _one_pass_can_do(estimator: Any, y: ArrayLike | None, params: Params | None) -> bool:
    if type(estimator) not in (SEFRClassifier, SEFRRegressor):
        return False
    # not checked here: scikit-learn says fold by fold what is wrong
    settings = estimator.task.settings(**estimator.get_params(deep=False))
    return (
        settings.passes == 1
        and not settings.auto
        and settings.cut.fixed
        and y is not None
        and not get_config()["enable_metadata_routing"]
        and set(params or {}) <= {"sample_weight"}
    )


class _Splits:
    """The splits of a scikit-learn splitter, drawn once; ``fold_of`` is the test fold of each row, or None.

    None stands for splits that one pass cannot serve: test folds that overlap or a training fold that is not
    all the rest. A row in no test fold has fold -1: it is in every training fold.
    """

    def __init__(
        self,
        n_rows: int,
        tests: list[Indices],
        fold_of: NDArray[np.int32] | None,
        n_splits: int,
        odd: Iterator[tuple[Indices, Indices]] | None = None,
    ) -> None:
        self.n_rows, self.tests, self.fold_of, self.n_splits = n_rows, tests, fold_of, n_splits
        self._odd = iter(()) if odd is None else odd

    @classmethod
    def drawn(cls, cv: Any, X: Rows, y: ArrayLike | None, groups: ArrayLike | None) -> _Splits:
        """Return what a splitter draws."""
        n_rows, n_splits = _num_samples(X), int(cv.get_n_splits(X, y, groups))
        tests: list[Indices] = []
        fold_of = np.full(n_rows, -1, dtype=np.int32)
        drawn = iter(cv.split(X, y, groups))
        for train, test in drawn:
            if (fold_of[test] >= 0).any() or not np.array_equal(train, _rest(n_rows, test)):
                return cls(n_rows, tests, None, n_splits, chain([(train, test)], drawn))
            fold_of[test] = len(tests)
            tests.append(test)
        return cls(n_rows, tests, fold_of, n_splits)

    def rest(self, test: Indices) -> Indices:
        """Return all rows but these."""
        return _rest(self.n_rows, test)

    def split(
        self, X: Rows | None = None, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield training and test rows."""
        return chain(((self.rest(test), test) for test in self.tests), self._odd)

    def get_n_splits(
        self, X: Rows | None = None, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> int:
        """Return the number of splits."""
        return self.n_splits


def _rest(n_rows: int, test: Indices) -> Indices:
    rest = np.ones(n_rows, dtype=bool)
    rest[test] = False
    return np.flatnonzero(rest)


def _stratified(estimator: Any, cv: Any, X: Rows, y: ArrayLike | None) -> _Splits | None:
    """Return the splits that ``StratifiedKFold`` draws without shuffling, but without its sorting of labels.

    Of short rows, scikit-learn takes longer for that than all models take. None if it would draw others, warn
    or raise: it is asked then.
    """
    if cv is None or isinstance(cv, Integral):
        n_splits = 5 if cv is None else int(cv)
    elif type(cv) is StratifiedKFold and not cv.shuffle:
        n_splits = cv.n_splits
    else:
        return None
    if (
        estimator.task.predicts_numbers
        or type(y) is not np.ndarray
        or y.ndim != 1
        or y.dtype.kind not in "iubUS"
    ):
        return None
    classes, codes = encode(y)
    counts = np.bincount(codes)
    if len(y) != _num_samples(X) or len(y) == 0 or not 2 <= n_splits <= counts.min():
        return None
    strata = [np.flatnonzero(codes == k) for k in range(len(classes))]
    fold_of, folds = np.empty(len(y), dtype=np.int32), np.arange(n_splits, dtype=np.int32)
    taken = n_splits - 1 - folds  # folds take turns over the classes, one after the other as they appear
    for rows in sorted(strata, key=lambda rows: int(rows[0])):
        before, taken = taken, taken + len(rows)
        fold_of[rows] = np.repeat(folds, taken // n_splits - before // n_splits)
    tests = [np.flatnonzero(fold_of == fold) for fold in folds]
    return _Splits(len(y), tests, fold_of, n_splits)


class _FoldSummaries:
    """The Summary of every training fold, from one pass over the rows for each batch of folds."""

    def __init__(
        self,
        estimator: Learner,
        X: Rows,
        y: ArrayLike,
        params: Params | None,
        splits: _Splits,
        n_jobs: int | None,
    ) -> None:
        self.settings = estimator.settings()
        started = time.perf_counter()
        self.estimator = estimator
        self.X, self.y = X, np.asarray(y)
        self.splits = splits
        weights = (params or {}).get("sample_weight")
        self.rows, self.names = read_rows(X, y, weights, self.settings.cut, estimator.task.read)
        self.n_threads = thread_count(n_jobs if n_jobs is not None else estimator.n_jobs)
        n_columns = self.rows.matrix.shape[1]
        size = len(self.rows.classes) * n_columns
        size += packed_size(n_columns + 1) if self.settings.moments == 2 else 0
        self.batch = int(max(1, min(len(splits.tests), FOLD_BYTES // (8 * size))))
        self.first = -1
        self.rests: list[Summary] = []
        self._read(0)
        self.seconds_per_fold = (time.perf_counter() - started) / len(splits.tests)

    def rest_of(self, fold: int) -> Summary:
        """Return the Summary of all rows outside a fold."""
        if not self.first <= fold < self.first + len(self.rests):
            self._read(fold)
        rest = self.rests[fold - self.first]
        return rest if rest.counts.all() else rest.without_empty_classes()

    def _read(self, first: int) -> None:
        """Read the rows once for the batch of folds from ``first`` on; all others are lumped together."""
        n_folds = min(self.batch, len(self.splits.tests) - first)
        fold_of = self.splits.fold_of
        assert fold_of is not None  # noqa: S101  only such splits come here
        fold = fold_of - np.int32(first)
        fold[(fold < 0) | (fold >= n_folds) | (fold_of < 0)] = n_folds
        codes = fold * np.int32(len(self.rows.classes)) + self.rows.codes
        *folds, others = Summary.of_folds(
            self.rows._replace(codes=codes),
            n_folds + 1,
            self.names,
            missing=self.estimator.missing,
            moments=self.settings.moments,
            n_threads=self.n_threads,
        )
        self.rests = summaries_of_rests(folds, others)
        self.first = first

    def model(self, fold: int) -> Learner:
        """Return the model of all rows outside a fold."""
        model = type(self.estimator).from_summary(self.rest_of(fold), **self.estimator.get_params(deep=False))
        train = self.splits.rest(self.splits.tests[fold])
        matrix, classes, codes, weights, _targets = self.rows
        rows = Labelled(
            Selected(matrix, train), classes, codes[train], None if weights is None else weights[train]
        )
        known = model.fitted_
        return model.with_fitted(known.calibrated_with(MemoryRows(rows), known.calibration))

    def score(self, fold: int) -> float:
        """Return the accuracy, or R2, on a fold of the model of the others."""
        summary, test = self.rest_of(fold), self.splits.tests[fold]
        known = self.estimator.solved(summary, self.settings)
        scores = known.scores(Selected(self.rows.matrix, test), self.estimator.missing, self.n_threads)
        answers, truth = known.answers(scores), self.y[test]
        return float(METRICS[self.estimator.task.metric](truth, answers))


def _results(folds: _FoldSummaries, asked: Params) -> Fields:
    """Return what scikit-learn's ``cross_validate`` returns."""
    tests = folds.splits.tests
    scoring, returns = asked["scoring"], [name for name in asked if name.startswith("return_")]
    plain = scoring in (None, folds.estimator.task.metric) and not any(asked[name] for name in returns)
    results: dict[str, list[object]] = {"fit_time": [], "score_time": []}
    for fold, test in enumerate(tests):
        begun = time.perf_counter()
        if plain:
            scores, learned = {"test_score": folds.score(fold)}, begun
        else:
            clf = folds.model(fold)
            learned = time.perf_counter()
            scorer = check_scoring(clf, scoring=scoring)
            scores = _scored(scorer, clf, folds, test, "test")
        results["score_time"].append(time.perf_counter() - learned)
        results["fit_time"].append(learned - begun + folds.seconds_per_fold)
        if asked["return_train_score"]:
            scores |= _scored(scorer, clf, folds, folds.splits.rest(test), "train")
        if asked["return_estimator"]:
            scores["estimator"] = clf
        for name, value in scores.items():
            results.setdefault(name, []).append(value)
    found: Fields = {
        name: values if name == "estimator" else np.array(values) for name, values in results.items()
    }
    if asked["return_indices"]:
        found["indices"] = {"train": [folds.splits.rest(test) for test in tests], "test": tests}
    return found


def _scored(scorer: Any, clf: Learner, folds: _FoldSummaries, rows: Indices, name: str) -> dict[str, float]:
    value = scorer(clf, _safe_indexing(folds.X, rows), _safe_indexing(folds.y, rows))
    values = value if isinstance(value, dict) else {"score": value}
    return {f"{name}_{key}": number for key, number in values.items()}
