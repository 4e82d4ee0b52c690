"""Probabilities: better than the base rates, honest about doubt, their mean near the share of each class."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from sefr import SEFRClassifier, cross_validate
from sefr._answers.probabilities import fit_scaling
from sefr._weights.held_out import HeldOut
from sefr._weights.refine import leave_one_out

LOADERS = [load_digits, load_breast_cancer, load_wine, load_iris]
PAPER = ["sonar", "semeion", "waveform_5000", "cnae_9"]


def brier(probability, y, classes):
    return ((probability - (y[:, None] == classes)) ** 2).sum(axis=1).mean()


def assert_better_than_base_rates(X, y, passes):
    ours, base = [], []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        clf = SEFRClassifier(passes=passes).fit(X[train], y[train])
        probability = clf.predict_proba(X[test])
        np.testing.assert_allclose(probability.sum(axis=1), 1)
        share = np.bincount(np.searchsorted(clf.classes_, y[train])) / len(train)
        assert np.abs(probability.mean(axis=0) - share).max() < 0.06 + 1 / np.sqrt(len(test))
        ours.append(brier(probability, y[test], clf.classes_))
        base.append(brier(np.broadcast_to(share, probability.shape), y[test], clf.classes_))
    assert np.mean(ours) < np.mean(base)


@pytest.mark.parametrize("passes", [1, 3, 10])
@pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: loader.__name__)
def test_scikit_learns_sets(loader, passes):
    assert_better_than_base_rates(*loader(return_X_y=True), passes)


@pytest.mark.parametrize("passes", [1, 3, 10])
@pytest.mark.parametrize("name", PAPER)
def test_the_papers_sets(paper_data, name, passes):
    data = paper_data(name)
    assert_better_than_base_rates(data["X"], data["y"], passes)


@pytest.mark.parametrize("passes", [1, 10])
def test_a_rare_class_is_no_reason_to_be_worse_than_the_base_rates(rng, passes):
    y = (rng.random(4000) < 0.04).astype(int)
    assert_better_than_base_rates(rng.normal(size=(4000, 12)) + 0.9 * y[:, None], y, passes)


@pytest.mark.parametrize("passes", [1, 10])
def test_noise_is_not_taken_for_certainty(rng, passes):
    X, y = rng.normal(size=(200, 400)), rng.integers(0, 2, 200)
    clf = SEFRClassifier(passes=passes).fit(X, y)
    probability = clf.predict_proba(rng.normal(size=(500, 400)))
    assert np.abs(probability - 0.5).mean() < 0.2


@pytest.mark.parametrize("passes", [1, 10])
def test_what_is_said_to_be_70_percent_sure_is_right_in_about_70_percent(rng, passes):
    y = rng.integers(0, 3, 12_000)
    X = rng.normal(size=(12_000, 10)) + rng.normal(size=(3, 10))[y] * 0.6
    clf = SEFRClassifier(passes=passes).fit(X[:6000], y[:6000])
    sure = clf.predict_proba(X[6000:]).max(axis=1)
    right = clf.predict(X[6000:]) == y[6000:]
    for low, high in [(0.4, 0.55), (0.55, 0.7), (0.7, 0.85), (0.85, 1.0)]:
        some = (sure >= low) & (sure < high)
        if some.sum() > 200:
            assert abs(sure[some].mean() - right[some].mean()) < 0.08


def test_a_model_from_a_summary_asks_for_rows_and_takes_them(rng):
    y = rng.integers(0, 2, 800)
    X = rng.normal(size=(800, 5)) + y[:, None]
    clf = SEFRClassifier.from_summary(SEFRClassifier().fit(X[:400], y[:400]).summary_)
    with pytest.raises(ValueError, match="call calibrate"):
        clf.predict_proba(X)
    answers = clf.predict(X)
    assert log_loss(y[400:], clf.calibrate(X[400:], y[400:]).predict_proba(X[400:])) < 0.4
    assert (clf.predict(X) == answers).all()
    with pytest.raises(ValueError, match="it was not learned"):
        clf.calibrate(X, y + 5)


def test_batches_and_merging_keep_probabilities(rng):
    y = rng.integers(0, 3, 900)
    X = rng.normal(size=(900, 6)) + y[:, None]
    parts = SEFRClassifier().partial_fit(X[:450], y[:450]).partial_fit(X[450:], y[450:])
    merged = SEFRClassifier().fit(X[:450], y[:450]).merge(SEFRClassifier().fit(X[450:], y[450:]))
    whole = SEFRClassifier().fit(X, y)
    for clf in (parts, merged):
        assert log_loss(y, clf.predict_proba(X)) == pytest.approx(
            log_loss(y, whole.predict_proba(X)), rel=0.05
        )


def test_cross_validation_scores_probabilities_as_scikit_learn_does(rng):
    from sklearn.model_selection import cross_val_score

    y = rng.integers(0, 3, 600)
    X = rng.normal(size=(600, 6)) + y[:, None]
    expected = cross_val_score(SEFRClassifier(), X, y, cv=4, scoring="neg_log_loss")
    found = cross_validate(SEFRClassifier(), X, y, cv=4, scoring="neg_log_loss")["test_score"]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 10])
def test_wide_rows_are_scored_by_some_features(rng, classes):
    y = rng.integers(0, classes, 240)
    hidden = rng.normal(size=(240, 20)) + rng.normal(size=(classes, 20))[y]
    X = hidden @ rng.normal(size=(20, 6000)) + 3 * rng.normal(size=(240, 6000))
    assert_better_than_base_rates(X, y, 1)
    clf = SEFRClassifier().fit(X[:160], y[:160])
    held_out = clone(clf).fit(X[:160], y[:160]).calibrate(X[160:], y[160:])
    found, best = (brier(c.predict_proba(X[160:]), y[160:], c.classes_) for c in (clf, held_out))
    assert found < best + 0.1


def test_weights_are_those_of_the_settings_that_fit_saw(rng):
    y = rng.integers(0, 10, 90)
    X = rng.random((90, 20_000)) + y[:, None]
    clf, changed = SEFRClassifier().fit(X, y), SEFRClassifier().fit(X, y)
    changed.set_params(epsilon=1.0, scale=(0, 100))
    assert (changed.coef_ == clf.coef_).all()
    assert (changed.decision_function(X) == clf.decision_function(X)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scale", [None, (0, 10), "minmax"])
def test_a_column_without_any_value_tells_nothing(rng, scale, n_classes):
    y = np.arange(60) % n_classes
    X = np.column_stack([rng.random(60) + y, np.full(60, np.nan)])
    X[::7, 0] = np.nan
    clf = SEFRClassifier(scale=scale, missing="ignore").fit(X, y)
    alone = SEFRClassifier(scale=scale, missing="ignore").fit(X[:, :1], y)
    np.testing.assert_allclose(clf.predict_proba(X), alone.predict_proba(X[:, :1]), rtol=1e-12)
    assert np.isfinite(clf.fitted_.probability_scaling.precision).all()


@pytest.mark.parametrize("params", [{"passes": 10}, {"bins": 16, "passes": 10}, {"moments": 2, "bins": 16}])
def test_many_classes_are_as_sure_as_they_are_right(params):
    """26 classes of 40 rows each, well apart: answers that are always right were said to be 0.9 sure."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(26, 12)) * 3
    y = np.tile(np.arange(26), 60)
    X = centres[y] + rng.normal(size=(len(y), 12))
    train = np.arange(len(y)) < 26 * 40
    clf = SEFRClassifier(**params).fit(X[train], y[train])
    likely = clf.predict_proba(X[~train])
    right = (likely.argmax(axis=1) == y[~train]).mean()
    assert abs(likely.max(axis=1).mean() - right) < 0.05
    np.testing.assert_allclose(likely.mean(axis=0), 1 / 26, atol=0.02)


def test_bins_of_few_rows_are_not_too_sure():
    """Noise beside one feature that tells a little: answers were said to be 0.6 sure, and 0.35 were right."""
    sure, right = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2400, 10))
        y = np.searchsorted(np.linspace(-1, 1, 4), X[:, 0] + 1.5 * rng.normal(size=len(X)))
        likely = SEFRClassifier(bins=32, passes=20).fit(X[:400], y[:400]).predict_proba(X[400:])
        sure.append(likely.max(axis=1).mean())
        right.append((likely.argmax(axis=1) == y[400:]).mean())
    assert np.mean(sure) - np.mean(right) < 0.12, (np.mean(sure), np.mean(right))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_in_bins_is_scored_as_if_the_model_were_learned_without_it(rng, n_classes):
    y = rng.integers(0, n_classes, 90)
    X = rng.normal(size=(90, 6)) + 0.5 * y[:, None]
    edges = SEFRClassifier(bins=8).fit(X, y).edges_  # about eleven rows per bin
    clf = SEFRClassifier(bins=edges).fit(X, y)
    others = [np.arange(90) != i for i in range(90)]
    again = [SEFRClassifier(bins=edges).fit(X[some], y[some]).decision_function(X[~some]) for some in others]
    does = clf.decision_function(X).reshape(90, -1) - np.array(again).reshape(90, -1)
    sample = clf.fitted_.calibration.sample
    for label in range(n_classes):
        found = (sample.scores - sample.unseen.scores)[y == label]
        np.testing.assert_allclose(found.mean(axis=0), does[y == label].mean(axis=0), rtol=0.1)


def test_a_row_is_scored_as_if_passes_had_been_made_without_it(rng, monkeypatch):
    common = rng.normal(size=(90, 1))
    X = common + rng.normal(size=(90, 20)) * np.geomspace(
        0.1, 1, 20
    )  # hardly any variance in some directions
    y = (X[:, -1] + rng.normal(size=90) > 0).astype(int)
    others = [np.arange(90) != i for i in range(90)]
    again = [SEFRClassifier(passes=40).fit(X[some], y[some]).decision_function(X[~some]) for some in others]

    def away():
        found = SEFRClassifier(passes=40).fit(X, y).fitted_.calibration.sample.scores
        return np.abs(found - again).mean()

    exact = away()
    monkeypatch.setattr(leave_one_out, "LEVERAGE_PRODUCTS", 0)
    assert exact < 0.5 * away()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_in_bins_is_scored_as_if_passes_had_been_made_without_it(n_classes):
    """The score of a row's own class falls by as much, on average, as when a model is trained without it."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % n_classes
    X = rng.normal(size=(90, 6)) + (y[:, None] == np.arange(6) % n_classes)
    params = {"bins": SEFRClassifier(bins=8).fit(X, y).edges_, "passes": 60}
    clf = SEFRClassifier(**params).fit(X, y)
    again = [
        SEFRClassifier(**params).fit(np.delete(X, i, 0), np.delete(y, i)).decision_function(X[[i]])
        for i in range(90)
    ]

    def own(scores):
        scores = scores.reshape(90, -1)
        return np.where(y == 1, scores[:, 0], -scores[:, 0]) if n_classes == 2 else scores[np.arange(90), y]

    learned = own(clf.decision_function(X))
    found = learned - own(clf.fitted_.calibration.sample.unseen.scores)
    falls = learned - own(np.array(again))
    assert 0.6 < found.mean() / falls.mean() < 1.1
    assert np.corrcoef(found, falls)[0, 1] > 0.9


def test_a_copy_of_a_model_holds_scores_and_not_what_passes_know_of_rows(rng):
    y = rng.integers(0, 3, 600)
    X = rng.normal(size=(600, 6)) + y[:, None]
    clf = SEFRClassifier(bins=16, passes=5).fit(X, y)
    stored = pickle.dumps(clf)
    assert len(stored) < 100_000
    np.testing.assert_array_equal(copy.deepcopy(clf).predict_proba(X), clf.predict_proba(X))


def test_what_weighted_rows_determine_is_what_their_copies_do(rng):
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 5)) + 0.5 * y[:, None]
    often = rng.integers(1, 3, 120)
    edges = SEFRClassifier(bins=8).fit(X, y).edges_
    weighted = SEFRClassifier(bins=edges, passes=10).fit(X, y, sample_weight=often)
    copies = rng.permutation(np.repeat(np.arange(120), often))
    copied = SEFRClassifier(bins=edges, passes=10).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-6)


def test_all_classes_tell_the_temperature():
    """A hundred classes of three rows each are as many rows as two classes of 150."""
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(300, 100)) + 9 * np.tile(np.eye(100), (3, 1))
        likely = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        y = (likely.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1).astype(np.int32)
        found.append(fit_scaling(HeldOut(scores, y, np.ones(300))).inverse)
    assert np.mean(found) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("n_classes", [2, 6])
def test_passes_over_batches_of_bins_are_as_sure_as_they_may_be(rng, n_classes):
    """Earlier rows hold on to the weights: neither too sure of the rows of a batch, nor too modest."""
    y = np.arange(2400) % n_classes
    X = rng.normal(size=(2400, 8)) + 1.2 * rng.normal(size=(n_classes, 8))[y]
    params = {"bins": SEFRClassifier(bins=16).fit(X, y).edges_, "passes": 20}
    clf = SEFRClassifier(**params)
    for first in range(0, 800, 200):
        clf.partial_fit(X[first : first + 200], y[first : first + 200])
    whole = SEFRClassifier(**params).fit(X[:800], y[:800])
    left = slice(800, None)
    found, best = (log_loss(y[left], model.predict_proba(X[left])) for model in (clf, whole))
    assert found < 1.1 * best
