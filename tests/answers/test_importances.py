"""Importances of features, contributions with names, and what notebooks show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.feature_selection import SelectFromModel

from sefr import ContributionsDisplay, CurvesDisplay, SEFRClassifier, compare
from sefr.displays import effects, gathered

SETTINGS = {
    "one pass": {},
    "ten passes": {"passes": 10},
    "bins": {"bins": 16},
    "interactions": {"bins": 16, "interactions": 8, "passes": 3},
}


@pytest.fixture
def noisy(rng):
    """Two features that matter, the second together with the third, and five that do not."""
    X = rng.normal(size=(600, 8))
    return X, np.where(2 * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=600) > 0, "yes", "no")


@pytest.mark.parametrize("params", SETTINGS.values(), ids=SETTINGS)
def test_importances_are_shares_and_find_what_matters(noisy, params):
    X, y = noisy
    found = SEFRClassifier(**params).fit(X, y).feature_importances_
    assert found.shape == (8,)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert set(np.argsort(-found)[:2]) == {0, 1}
    assert found[0] > found[1]


@pytest.mark.parametrize("params", SETTINGS.values(), ids=SETTINGS)
def test_select_from_model_takes_every_model(noisy, params):
    X, y = noisy
    chosen = SelectFromModel(
        SEFRClassifier(**params), importance_getter="feature_importances_", max_features=2, threshold=-np.inf
    )
    assert chosen.fit(X, y).get_support().nonzero()[0].tolist() == [0, 1]
    if "bins" in params:  # those have no coef_, which SelectFromModel would ask for first
        assert SelectFromModel(SEFRClassifier(**params)).fit(X, y).get_support()[0]


def test_importances_are_those_of_the_effects_of_more_classes():
    X, y = load_iris(return_X_y=True)
    clf = SEFRClassifier().fit(X, y)
    mean = np.abs(effects(clf)).mean(axis=0)
    np.testing.assert_allclose(clf.feature_importances_, mean / mean.sum())


def test_contributions_as_a_frame_have_names_and_the_index_of_the_rows():
    cancer = load_breast_cancer(as_frame=True)
    X = cancer.data.set_index(np.arange(1000, 1000 + len(cancer.data)))
    clf = SEFRClassifier(passes=3).fit(X, cancer.target)
    parts = clf.contributions(X[:5], as_frame=True)
    assert parts.columns.tolist() == X.columns.tolist()
    assert parts.index.tolist() == list(range(1000, 1005))
    np.testing.assert_array_equal(parts.to_numpy(), clf.contributions(X[:5]))
    np.testing.assert_allclose(parts.sum(axis=1), clf.decision_function(X[:5]), rtol=1e-9)


def test_contributions_of_more_classes_as_a_frame_are_pairs():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = SEFRClassifier().fit(X, y)
    parts = clf.contributions(X, as_frame=True)
    assert isinstance(parts.columns, pd.MultiIndex)
    assert parts.columns.names == ["class", "feature"]
    np.testing.assert_allclose(parts[2].sum(axis=1), clf.decision_function(X)[:, 2], rtol=1e-9, atol=1e-12)
    assert parts.loc[3, (1, "petal width (cm)")] == clf.contributions(X)[3, 1, 3]


def test_contributions_of_interactions_are_named_after_their_features(noisy):
    X, y = noisy
    clf = SEFRClassifier(bins=8, interactions=4, passes=2).fit(X, y)
    names = clf.contributions(X[:2], as_frame=True).columns
    assert names[:8].tolist() == [f"x{j}" for j in range(8)]
    assert len(names) == len(clf.feature_sets_)
    assert all(" × " in name for name in names[8:])


def test_one_left_over_is_one_other():
    assert gathered(np.array([3.0, 2.0, 1.0]), ["a", "b", "c"], 2)[0] == ["a", "b", "1 other"]
    assert gathered(np.array([3.0, 2.0, 1.0]), ["a", "b", "c"], 1)[0] == ["a", "2 others"]


def test_a_comparison_is_a_table_in_a_notebook_and_gives_its_best_estimator():
    X, y = load_iris(return_X_y=True)
    found = compare(X, y, cv=3, settings={"one <pass>": {}, "ten passes": {"passes": 10}})
    page = found._repr_html_()
    assert page.count("<tr") == 3
    assert "one &lt;pass&gt;" in page
    assert page.count("font-weight: bold") == 1
    assert f"{found.recommended.macro_f1:.4f}" in page
    clf = found.best_estimator()
    assert clf.get_params() == SEFRClassifier(**found.recommended.params).get_params()
    assert clf.fit(X, y).score(X, y) > 0.9


def test_displays_say_how_many_features_and_which_values():
    cancer = load_breast_cancer(as_frame=True)
    clf = SEFRClassifier(bins=8).fit(cancer.data, cancer.target)
    display = CurvesDisplay.from_estimator(clf, count=4)
    assert display.figure_.get_suptitle().startswith("4 of 30 features")
    assert len({axis.get_ylim() for axis in display.axes_}) == 1
    assert display.axes_[0].get_ylabel() == "added to the score"
    bars = ContributionsDisplay.from_estimator(clf, cancer.data, row=3, count=5)
    named = [tick.get_text() for tick in bars.ax_.get_yticklabels()]
    first = named[0].partition(" = ")
    assert float(first[2]) == pytest.approx(cancer.data[first[0]][3], rel=1e-3)


def test_a_missing_value_has_no_contributions_if_it_has_no_score(noisy):
    """Bins that were made without one for missing values stay so, whatever the setting says later."""
    X, y = noisy
    clf = SEFRClassifier(bins=4).fit(X, y).set_params(missing="ignore")
    rows = np.array(X[:3], dtype=float)
    rows[1, 0] = np.nan
    for answer in (clf.predict, clf.contributions):
        with pytest.raises(ValueError, match="contains NaN: row 1"):
            answer(rows)
