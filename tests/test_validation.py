"""cross_validate gives scikit-learn's results, from one pass."""

import re
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.naive_bayes import GaussianNB

import sefr.validation
from sefr import SEFRClassifier, Summary, cross_validate
from sefr._rows.labelled import Labelled

TIMES = {"fit_time", "score_time"}
N = 150
GROUPS = np.arange(N) % 7


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(3).permutation(N)
    return X[order], y[order]


def assert_same_results(ours, theirs):
    assert set(ours) == set(theirs)
    for key in set(ours) - TIMES - {"estimator", "indices"}:
        np.testing.assert_array_equal(ours[key], theirs[key], err_msg=key)
    for key in TIMES:
        assert (ours[key] >= 0).all()


@pytest.fixture
def passes(monkeypatch):
    """Count how often the rows are read for training."""
    read = []
    of_folds = Summary.of_folds.__func__

    def counted(cls, *args, **kwargs):
        read.append(1)
        return of_folds(cls, *args, **kwargs)

    monkeypatch.setattr(Summary, "of_folds", classmethod(counted))
    return read


def test_no_row_is_copied_unless_products_are_added_up(iris, monkeypatch):
    taken = []
    take = Labelled.take
    monkeypatch.setattr(Labelled, "take", lambda rows, some: taken.append(1) or take(rows, some))
    cross_validate(SEFRClassifier(), *iris, cv=10)
    assert not taken
    cross_validate(SEFRClassifier(moments=2), *iris, cv=10)
    assert taken


SPLITTERS = {
    "ten": 10,
    "default": None,
    "k-fold": KFold(7),
    "shuffled": StratifiedKFold(10, shuffle=True, random_state=0),
    "groups": GroupKFold(5),
    "group out": LeaveOneGroupOut(),
    "predefined": PredefinedSplit(np.where(np.arange(N) % 5 == 0, -1, np.arange(N) % 3)),
    "one out": LeaveOneOut(),
    "listed": [(np.setdiff1d(np.arange(N), np.arange(i, N, 4)), np.arange(i, N, 4)) for i in range(4)],
}
OTHERS = {
    "shuffle split": ShuffleSplit(5, random_state=0),
    "repeated": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
    "time series": TimeSeriesSplit(4),
    "half overlap": [(np.arange(0, 100), np.arange(100, N)), (np.arange(50, N), np.arange(0, 50))],
}


@pytest.mark.parametrize("cv", SPLITTERS.values(), ids=SPLITTERS)
def test_every_partition_from_one_pass(iris, cv, passes):
    X, y = iris
    groups = GROUPS if isinstance(cv, GroupKFold | LeaveOneGroupOut) else None
    ours = cross_validate(SEFRClassifier(), X, y, cv=cv, groups=groups)
    assert len(passes) == 1
    assert_same_results(ours, sklearn_cross_validate(SEFRClassifier(), X, y, cv=cv, groups=groups))


@pytest.mark.parametrize("cv", OTHERS.values(), ids=OTHERS)
def test_other_splits_the_ordinary_way(iris, cv):
    X, y = iris
    assert_same_results(
        cross_validate(SEFRClassifier(), X, y, cv=cv), sklearn_cross_validate(SEFRClassifier(), X, y, cv=cv)
    )


def test_splits_drawn_from_one_generator_are_the_same(iris):
    X, y = iris
    for make in (
        lambda s: StratifiedKFold(5, shuffle=True, random_state=s),
        lambda s: ShuffleSplit(5, random_state=s),
    ):
        ours = cross_validate(SEFRClassifier(), X, y, cv=make(np.random.RandomState(4)))
        theirs = sklearn_cross_validate(SEFRClassifier(), X, y, cv=make(np.random.RandomState(4)))
        assert_same_results(ours, theirs)


def looks_at_x(estimator, X, y):
    assert X.shape[1] == 4
    return float((estimator.predict(X) == y).mean() + X[0, 0])


def several(estimator, X, y):
    return {"first": X[0, 0], "accuracy": accuracy_score(y, estimator.predict(X))}


@pytest.mark.parametrize(
    "scoring",
    [
        None,
        "accuracy",
        "f1_macro",
        "balanced_accuracy",
        "roc_auc_ovr",
        make_scorer(f1_score, average="macro"),
        ["accuracy", "f1_macro"],
        {"a": "accuracy", "mine": looks_at_x},
        looks_at_x,
        several,
    ],
    ids=lambda scoring: re.sub(r" at 0x\w+", "", str(scoring)),
)
def test_any_scorer(iris, scoring):
    X, y = iris
    if scoring == "roc_auc_ovr":  # needs probabilities for three classes, scores for two
        y, scoring = (y == 1).astype(int), "roc_auc"
    kwargs = {"cv": 5, "scoring": scoring, "return_train_score": True}
    assert_same_results(
        cross_validate(SEFRClassifier(), X, y, **kwargs),
        sklearn_cross_validate(SEFRClassifier(), X, y, **kwargs),
    )


@pytest.mark.parametrize("params", [{"scale": (0, 10)}, {"epsilon": 0.1}, {"scale": None}, {"n_jobs": 2}])
def test_settings_are_those_of_the_estimator(iris, params):
    X, y = iris
    clf = SEFRClassifier(**params)
    assert_same_results(cross_validate(clf, X, y, cv=5), sklearn_cross_validate(clf, X, y, cv=5))
    assert not hasattr(clf, "coef_")


def test_sample_weight(iris, passes):
    X, y = iris
    weight = np.random.default_rng(1).integers(0, 3, N).astype(float)
    ours = cross_validate(SEFRClassifier(), X, y, cv=5, params={"sample_weight": weight})
    assert len(passes) == 1
    theirs = sklearn_cross_validate(SEFRClassifier(), X, y, cv=5, params={"sample_weight": weight})
    assert_same_results(ours, theirs)


@pytest.mark.parametrize(
    "dress", [sparse.csr_array, sparse.csc_matrix, pd.DataFrame, np.asfortranarray, np.float32]
)
def test_any_table(iris, dress):
    X, y = iris
    given, names = dress(np.round(X * 10)), np.array(["x", "y", "z"])[y]
    ours = cross_validate(SEFRClassifier(), given, names, cv=5)
    assert_same_results(ours, sklearn_cross_validate(SEFRClassifier(), given, names, cv=5))


def test_missing_values(iris):
    X, y = iris
    X = X.copy()
    X[::7, 1] = np.nan
    clf = SEFRClassifier(missing="ignore")
    assert_same_results(cross_validate(clf, X, y, cv=5), sklearn_cross_validate(clf, X, y, cv=5))


def test_estimators_and_indices_come_back(iris):
    X, y = iris
    kwargs = {"cv": 4, "return_estimator": True, "return_indices": True}
    ours = cross_validate(SEFRClassifier(), X, y, **kwargs)
    theirs = sklearn_cross_validate(SEFRClassifier(), X, y, **kwargs)
    for mine, other in zip(ours["estimator"], theirs["estimator"], strict=True):
        assert type(mine) is SEFRClassifier
        np.testing.assert_allclose(mine.coef_, other.coef_, rtol=1e-12)
    for part in ("train", "test"):
        for mine, other in zip(ours["indices"][part], theirs["indices"][part], strict=True):
            assert (mine == other).all()


def test_a_fold_that_holds_a_whole_class(iris):
    X, y = iris
    order = np.argsort(y, kind="stable")
    kwargs = {"cv": KFold(3), "return_estimator": True}
    ours = cross_validate(SEFRClassifier(), X[order], y[order], **kwargs)
    theirs = sklearn_cross_validate(SEFRClassifier(), X[order], y[order], **kwargs)
    assert_same_results(ours, theirs)
    for mine, other in zip(ours["estimator"], theirs["estimator"], strict=True):
        assert mine.classes_.tolist() == other.classes_.tolist()
        assert len(mine.classes_) == 2


@pytest.mark.filterwarnings(
    "ignore:Scoring failed:UserWarning", "ignore::sklearn.exceptions.FitFailedWarning"
)
def test_errors_are_scikit_learns(iris):
    X, y = iris
    bad = X.copy()
    bad[3, 1] = np.nan
    assert_same_results(
        cross_validate(SEFRClassifier(), bad, y, cv=3), sklearn_cross_validate(SEFRClassifier(), bad, y, cv=3)
    )
    with pytest.raises(ValueError, match="column 1"):
        cross_validate(SEFRClassifier(), bad, y, cv=3, error_score="raise")
    with pytest.raises(ValueError, match="epsilon"):
        cross_validate(SEFRClassifier(epsilon=-1), X, y, cv=3, error_score="raise")
    with pytest.raises(TypeError, match="unexpected keyword"):
        cross_validate(SEFRClassifier(), X, y, cv=3, error_score="raise", params={"wieght": y})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_fold_that_cannot_be_learned_is_scikit_learns_nan():
    X, y = np.arange(30.0).reshape(15, 2), np.repeat([0, 1], [10, 5])
    for kwargs in ({}, {"return_estimator": True}):
        ours = cross_validate(SEFRClassifier(), X, y, cv=KFold(3), **kwargs)
        assert np.isnan(ours["test_score"]).tolist() == [False, False, True]
        assert_same_results(ours, sklearn_cross_validate(SEFRClassifier(), X, y, cv=KFold(3), **kwargs))


@pytest.mark.filterwarnings("ignore:Scoring failed:UserWarning")
def test_a_scorer_that_fails_is_scikit_learns_nan(iris):
    def scorer(clf, X, y):
        raise KeyError("not there")

    for way in (cross_validate, sklearn_cross_validate):
        assert np.isnan(way(SEFRClassifier(), *iris, scoring=scorer)["test_score"]).all()


@pytest.mark.parametrize("error_score", [np.nan, 0.0, "raise"])
@pytest.mark.parametrize("kind", [ValueError, TypeError, IndexError])
def test_a_fault_of_the_one_pass_is_not_hidden(iris, monkeypatch, kind, error_score):
    """Scikit-learn's way would give an answer, and nobody would know that ours does not."""

    def faulty(folds, fold):
        raise kind("a fault")

    monkeypatch.setattr("sefr.validation._FoldSummaries.score", faulty)
    with pytest.raises(kind, match="a fault"):
        cross_validate(SEFRClassifier(), *iris, error_score=error_score)


def test_any_other_estimator(iris):
    X, y = iris
    clf = GaussianNB()
    assert_same_results(cross_validate(clf, X, y, cv=3), sklearn_cross_validate(clf, X, y, cv=3))


@pytest.mark.slow
def test_folds_beyond_the_memory_limit_take_a_pass_a_batch(iris, passes, monkeypatch):
    X, y = iris
    monkeypatch.setattr(sefr.validation, "FOLD_BYTES", 8 * 3 * 4 * 40)
    ours = cross_validate(SEFRClassifier(), X, y, cv=LeaveOneOut(), return_estimator=True)
    assert len(passes) == 4  # 150 folds, 40 at a time
    theirs = sklearn_cross_validate(SEFRClassifier(), X, y, cv=LeaveOneOut(), return_estimator=True)
    assert_same_results(ours, theirs)
    for mine, other in zip(ours["estimator"], theirs["estimator"], strict=True):
        assert (mine.summary_.counts == other.summary_.counts).all()
        np.testing.assert_allclose(mine.summary_.sums, other.summary_.sums, rtol=1e-13)


@pytest.mark.slow
def test_digits_and_leave_one_out_of_ten_thousand_rows():
    X, y = load_digits(return_X_y=True)
    ours = cross_validate(SEFRClassifier(), X, y, cv=10)
    assert_same_results(ours, sklearn_cross_validate(SEFRClassifier(), X, y, cv=10))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 10_000)
    X = rng.normal(size=(10_000, 100)) + 0.2 * y[:, None]
    started = time.process_time()
    scores = cross_validate(SEFRClassifier(), X, y, cv=LeaveOneOut())["test_score"]
    assert time.process_time() - started < 60  # 4 s here
    assert 0.7 < scores.mean() < 1


@pytest.mark.parametrize("labels", ["numbers", "text", "booleans"])
def test_folds_are_those_that_scikit_learn_draws(labels):
    rng = np.random.default_rng(0)
    for _ in range(40):
        n, k, n_splits = int(rng.integers(30, 300)), int(rng.integers(2, 6)), int(rng.integers(2, 9))
        y = rng.integers(0, k, n) * 3 - 4
        y = {"numbers": y, "text": y.astype(str), "booleans": y > 0}[labels]
        found = sefr.validation._stratified(SEFRClassifier(), n_splits, y[:, None], y)
        if np.unique(y, return_counts=True)[1].min() < n_splits:  # scikit-learn warns, or raises
            assert found is None
            continue
        expected = StratifiedKFold(n_splits).split(y, y)
        for (train, test), (own_train, own_test) in zip(expected, found.split(), strict=True):
            np.testing.assert_array_equal(own_train, train)
            np.testing.assert_array_equal(own_test, test)
