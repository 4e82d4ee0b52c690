"""partial_fit with further passes: few or one-sided rows add to what is known, and erase nothing."""

import copy

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from sefr import SEFRClassifier, load, save

KINDS = {"linear": {}, "bins": {"bins": 16}, "interactions": {"bins": 16, "interactions": 20}}
SETS = {"two classes": load_breast_cancer, "ten classes": load_digits}


@pytest.fixture(scope="module", params=SETS.values(), ids=SETS)
def split(request):
    return train_test_split(*request.param(return_X_y=True), random_state=0)


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def fitted(request, split):
    X, _, y, _ = split
    return SEFRClassifier(passes=10, **request.param).fit(X, y)


BATCHES = {
    "one row": lambda X, y: (X[:1], y[:1]),
    "another row": lambda X, y: (X[1:2], y[1:2]),
    "a row twice": lambda X, y: (X[[0, 0]], y[[0, 0]]),
    "one class": lambda X, y: (X[y == 1], y[y == 1]),
    "constant columns": lambda X, y: (np.where(np.arange(X.shape[1]) % 2, X, X[0])[:20], y[:20]),
    "all columns constant": lambda X, y: (np.repeat(X[:1], 9, axis=0), np.repeat(y[:1], 9)),
}


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_a_batch_that_tells_little_changes_little(split, fitted, batch):
    _, X, _, y = split
    before = fitted.score(X, y)
    after = copy.deepcopy(fitted).partial_fit(*batch(X, y))
    assert after.score(X, y) >= before - 0.02
    assert np.abs(after.decision_function(X)).mean() > 0.8 * np.abs(fitted.decision_function(X)).mean()


def test_rows_one_by_one_keep_what_a_fit_has_learned(split, fitted):
    _, X, _, y = split
    clf = copy.deepcopy(fitted)
    for i in range(30):
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
    assert clf.score(X[30:], y[30:]) >= fitted.score(X[30:], y[30:]) - 0.02


def test_one_row_after_loading_is_one_row(split, fitted, tmp_path):
    _, X, _, y = split
    save(fitted, tmp_path / "m.sefr")
    loaded = load(tmp_path / "m.sefr").partial_fit(X[:1], y[:1])
    own = copy.deepcopy(fitted).partial_fit(X[:1], y[:1])
    np.testing.assert_array_equal(loaded.decision_function(X), own.decision_function(X))


@pytest.mark.parametrize("params", KINDS.values(), ids=KINDS)
def test_classes_that_come_one_after_the_other_are_all_known(split, params):
    X, X_test, y, y_test = split
    labels = np.unique(y)
    clf = SEFRClassifier(passes=10, **params)
    for label in labels:
        clf.partial_fit(X[y == label], y[y == label], classes=labels)
    assert clf.score(X_test, y_test) > (0.9 if len(labels) == 2 else 0.6)


@pytest.mark.parametrize("params", KINDS.values(), ids=KINDS)
def test_rows_of_one_class_do_not_erase_a_model_of_one_pass(split, params):
    X, X_test, y, y_test = split
    clf = SEFRClassifier(**params).fit(X, y)
    before = clf.score(X_test, y_test)
    clf.set_params(passes=10).partial_fit(X[y == 0][:50], y[y == 0][:50])
    assert clf.score(X_test, y_test) >= before - 0.03


def test_rows_that_are_nothing_beside_the_earlier_ones_are_learned(split):
    X, X_test, y, y_test = split
    clf = SEFRClassifier(passes=4).fit(X, y)
    before = clf.score(X_test, y_test)
    clf = SEFRClassifier(passes=4).fit(X, y, sample_weight=np.full(len(y), 1e10))
    clf.partial_fit(X[:3], y[:3], sample_weight=np.full(3, 1e-8))
    assert clf.score(X_test, y_test) >= before - 0.02
