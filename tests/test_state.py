"""One state: every verb makes the next one as a whole or raises and changes nothing."""

import json
import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from sefr import SEFRClassifier, Summary, load, save

BEFORE = Path(__file__).parent / "before"
PARAMS = {
    "scale",
    "epsilon",
    "missing",
    "bins",
    "interactions",
    "class_weight",
    "n_jobs",
    "passes",
    "verbose",
    "moments",
    "auto",
}


@pytest.fixture
def rows(rng):
    y = rng.integers(0, 3, 600)
    return rng.normal(size=(600, 5)) + y[:, None], y


def saved(clf, tmp_path):
    save(clf, tmp_path / "model.sefr")
    return load(tmp_path / "model.sefr")


def test_the_estimator_holds_its_settings_and_one_value(rows, tmp_path):
    X, y = rows
    for clf in (
        SEFRClassifier().fit(X, y),
        SEFRClassifier(passes=3).fit(X, y).partial_fit(X, y),
        SEFRClassifier().fit(X, y).merge(X, y).forget(X[:9], y[:9]).decay(0.5).calibrate(X, y),
        saved(SEFRClassifier().fit(pd.DataFrame(X, columns=list("abcde")), y), tmp_path),
    ):
        assert set(vars(clf)) == PARAMS | {"_fitted"}
        with pytest.raises(FrozenInstanceError):
            clf.fitted_.summary = None


def test_decay_changes_no_probability(rows):
    X, y = rows
    for clf in (SEFRClassifier().fit(X, y), SEFRClassifier().fit(X, y).calibrate(X[:300], y[:300])):
        before = clf.predict_proba(X)
        np.testing.assert_allclose(clf.decay(0.5).predict_proba(X), before, rtol=1e-12)
        np.testing.assert_allclose(clf.decay(0.3).predict_proba(X), before, rtol=1e-9)


VERBS = {
    "nothing": lambda clf, X, y: clf,
    "decay": lambda clf, X, y: clf.decay(0.5),
    "merge a Summary": lambda clf, X, y: clf.merge(Summary.of(X, y)),
    "merge a model": lambda clf, X, y: clf.merge(SEFRClassifier().fit(X, y)),
    "merge rows": lambda clf, X, y: clf.merge(X, y),
    "forget rows": lambda clf, X, y: clf.forget(X[:20], y[:20]),
    "forget a Summary": lambda clf, X, y: clf.forget(Summary.of(X[:20], y[:20])),
    "forget a model": lambda clf, X, y: clf.forget(SEFRClassifier().fit(X[:20], y[:20])),
    "one more row": lambda clf, X, y: clf.partial_fit(X[:1], y[:1]),
    "calibrate": lambda clf, X, y: clf.calibrate(X, y),
}


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_no_verb_loses_the_probabilities(rows, tmp_path, verb, loaded):
    X, y = rows
    clf = SEFRClassifier().fit(X, y)
    expected = clf.predict_proba(X)
    clf = saved(clf, tmp_path) if loaded else clf
    found = verb(clf, X, y).predict_proba(X)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    places = np.searchsorted(clf.classes_, [0, 1, 2])
    assert np.abs(found[:, places] - expected).mean() < 0.06
    assert log_loss(y, found[:, places] / found[:, places].sum(axis=1, keepdims=True)) < 0.75


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_new_class_gets_its_share_of_the_probability(rows, tmp_path, n_classes, loaded):
    X, y = rows[0], np.minimum(rows[1], n_classes - 1)
    clf = SEFRClassifier(scale=(-30, 30)).fit(X, y)
    clf = saved(clf, tmp_path) if loaded else clf
    found = clf.partial_fit(X[:100] - 9, np.full(100, 7)).predict_proba(np.vstack([X, X[:100] - 9]))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert found[600:, -1].mean() > found[:600, -1].mean() + 0.1


def test_one_more_row_after_loading_is_one_more_row(rows, tmp_path):
    X, y = rows
    sure = SEFRClassifier().fit(X * 10, y)
    row = X[y == 2][:1] * 10
    before = sure.predict_proba(row)
    after = saved(sure, tmp_path).partial_fit(row, [2]).predict_proba(row)
    assert abs(before - after).max() < 0.02


def test_a_model_that_comes_from_a_summary_says_so_after_every_verb(rows, tmp_path):
    X, y = rows
    for verb in ("nothing", "decay", "merge a Summary", "forget a Summary"):
        clf = VERBS[verb](SEFRClassifier.from_summary(Summary.of(X, y)), X, y)
        for model in (clf, saved(clf, tmp_path)):
            with pytest.raises(ValueError, match="comes from a Summary"):
                model.predict_proba(X)


def test_probabilities_without_a_complete_row(rng):
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 4)) + 2 * y[:, None]
    X[np.arange(400), np.arange(400) % 4] = np.nan
    clf = SEFRClassifier(missing="ignore").fit(X, y)
    assert log_loss(y, clf.predict_proba(X)) < 0.4


ERRORS = {
    "partial_fit of another class": lambda clf, X, y: clf.partial_fit(X, y + 9),
    "partial_fit of other classes": lambda clf, X, y: clf.partial_fit(X, y, classes=[0, 1]),
    "partial_fit out of range": lambda clf, X, y: clf.partial_fit(X * 1e9, y),
    "partial_fit of NaN": lambda clf, X, y: clf.partial_fit(np.full_like(X, np.nan), y),
    "merge of other features": lambda clf, X, y: clf.merge(Summary.of(X[:, :2], y)),
    "merge of other labels": lambda clf, X, y: clf.merge(Summary.of(X, y.astype(str))),
    "forget what was not learned": lambda clf, X, y: clf.forget(np.vstack([X, X]), np.r_[y, y]),
    "decay by nothing": lambda clf, X, y: clf.decay(0),
    "calibrate with another class": lambda clf, X, y: clf.calibrate(X, y + 1),
    "calibrate with no rows": lambda clf, X, y: clf.calibrate(X[:0], y[:0]),
}


@pytest.mark.parametrize("verb", ERRORS.values(), ids=ERRORS)
def test_an_error_changes_nothing(rows, verb):
    X, y = rows
    clf = SEFRClassifier(scale=(-20, 20)).partial_fit(X, y, classes=[0, 1, 2])
    state, before = clf.fitted_, pickle.dumps(clf)
    with pytest.raises((ValueError, TypeError)):
        verb(clf, X, y)
    assert clf.fitted_ is state
    assert pickle.dumps(clf) == before


def test_a_first_call_that_raises_late_leaves_no_trace(rows):
    X, y = rows
    clf = SEFRClassifier(scale=(0, 1))
    with pytest.raises(ValueError, match="takes values from 0 to 1"):
        clf.partial_fit(X, y, classes=[0, 1, 2])
    assert set(vars(clf)) == PARAMS
    clf.set_params(scale="minmax").partial_fit(X, y).partial_fit(X, y + 5)  # no class was closed
    assert len(clf.classes_) == 6


@pytest.mark.parametrize("name", ["one_pass", "ten_passes", "missing", "offset"])
def test_files_of_the_version_before_load(name):
    expected = json.loads((BEFORE / "expected.json").read_text())[name]
    clf = load(BEFORE / f"{name}.sefr")
    np.testing.assert_allclose(clf.coef_, expected["coef"], rtol=1e-13)
    np.testing.assert_allclose(clf.intercept_, expected["intercept"], rtol=1e-13)
    assert clf.summary_.counts.tolist() == expected["counts"]
    from sklearn.datasets import load_iris

    X = load_iris().data + (1e9 if name == "offset" else 0)
    assert clf.predict(X).tolist() == expected["predict"]
    assert clf.predict_proba(X).max(axis=1).mean() > 0.5


def test_bytes_of_the_version_before_load():
    data = (BEFORE / "offset.summary").read_bytes()
    summary = Summary.from_bytes(data)
    assert summary.tails is not None
    assert summary.to_bytes() == data
