"""class_weight: a class of weight 2 is the class with every row twice; the Summary itself does not change."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from sefr import SEFRClassifier, load, save


@pytest.fixture
def rows(rng):
    y = np.r_[np.zeros(300, int), np.ones(40, int), np.full(20, 2)]
    return rng.normal(size=(360, 4)) + y[:, None], y


def twice(X, y, label):
    own = y == label
    return np.vstack([X, X[own]]), np.r_[y, y[own]]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_of_weight_two_is_every_row_twice(rows, n_classes):
    X, y = rows[0][rows[1] < n_classes], rows[1][rows[1] < n_classes]
    clf = SEFRClassifier(class_weight={1: 2}).fit(X, y)
    expected = SEFRClassifier().fit(*twice(X, y, 1))
    np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=1e-12)
    np.testing.assert_allclose(clf.intercept_, expected.intercept_, rtol=1e-12)
    assert clf.summary_ == SEFRClassifier().fit(X, y).summary_  # what is remembered does not change


def test_balanced_counts_every_class_the_same(rows):
    X, y = rows
    clf = SEFRClassifier(class_weight="balanced").fit(X, y)
    weights = dict(enumerate(len(y) / (3 * np.bincount(y))))
    np.testing.assert_allclose(clf.coef_, SEFRClassifier(class_weight=weights).fit(X, y).coef_, rtol=1e-12)
    plain = SEFRClassifier().fit(X, y)
    assert balanced_accuracy_score(y, clf.predict(X)) >= balanced_accuracy_score(y, plain.predict(X)) - 0.02
    again = SEFRClassifier.from_summary(plain.summary_, class_weight="balanced")
    assert (again.coef_ == clf.coef_).all()


def test_it_goes_with_every_verb_and_the_file(rows, tmp_path):
    X, y = rows
    names = np.array(["a", "b", "c"])[y]
    clf = SEFRClassifier(class_weight={"c": 3.0}).fit(X[::2], names[::2]).partial_fit(X[1::2], names[1::2])
    clf.merge(X[:9], names[:9]).forget(X[:9], names[:9])
    whole = SEFRClassifier(class_weight={"c": 3.0}).fit(X, names)
    np.testing.assert_allclose(clf.coef_, whole.coef_, rtol=1e-9)
    save(whole, tmp_path / "m.sefr")
    back = load(tmp_path / "m.sefr")
    assert back.class_weight == {"c": 3.0}
    assert (back.coef_ == whole.coef_).all()
    assert (back.predict_proba(X) == whole.predict_proba(X)).all()
    np.testing.assert_allclose(whole.contributions(X).sum(axis=2), whole.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("setting", ["even", 2, {5: 1.0}, {0: 0.0}, {0: -1}, {0: np.inf}, {0: "1"}])
def test_what_has_no_meaning_is_an_error(rows, setting):
    with pytest.raises(ValueError, match="class_weight"):
        SEFRClassifier(class_weight=setting).fit(*rows)
