"""The dial: further passes buy accuracy, are safe, and leave a linear model behind."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from sefr import SEFRClassifier, cross_validate, load, save
from sefr._rows import labelled

LOADERS = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
PAPER = ["sonar", "semeion", "waveform_5000", "cnae_9", "basehock"]
FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)


def macro_f1(X, y, passes):
    folds = [
        f1_score(
            y[test], SEFRClassifier(passes=passes).fit(X[train], y[train]).predict(X[test]), average="macro"
        )
        for train, test in FOLDS.split(X, y)
    ]
    return 100 * np.mean(folds)


@pytest.fixture
def problem(rng):
    y = rng.integers(0, 4, 3000)
    X = rng.normal(size=(3000, 60)) + rng.normal(size=(4, 60))[y] * 0.4
    return X, y


@pytest.mark.slow
def test_scikit_learns_sets_reach_their_mark():
    ten = {name: macro_f1(*loader(return_X_y=True), 10) for name, loader in LOADERS.items()}
    one = {name: macro_f1(*loader(return_X_y=True), 1) for name, loader in LOADERS.items()}
    assert np.mean(list(ten.values())) >= 96.8
    assert all(ten[name] >= one[name] - 1 for name in LOADERS)


@pytest.mark.slow
def test_the_papers_sets_reach_their_mark(paper_data):
    scores = []
    for name in PAPER:
        data = paper_data(name)
        if name == "basehock":
            parts = (data["data"], data["indices"].astype("int32"), data["indptr"])
            X = sparse.csr_matrix(parts, shape=tuple(data["shape"]))
        else:
            X = data["X"]
        scores.append([macro_f1(X, data["y"], passes) for passes in (1, 10)])
    one, ten = np.array(scores).T
    assert ten.mean() >= 89.8
    assert (ten >= one - 1).all()


@pytest.mark.parametrize("passes", [0, -1, 2.5, True, "10", None])
def test_passes_must_be_a_whole_number_from_1_up(passes):
    with pytest.raises(ValueError, match="passes must be a whole number from 1 up"):
        SEFRClassifier(passes=passes).fit([[0.0], [1.0]], [0, 1])


def test_the_loss_never_rises_and_the_passes_are_counted(problem):
    clf = SEFRClassifier(passes=8).fit(*problem)
    assert clf.n_passes_ == len(clf.loss_curve_) <= 8
    assert (np.diff(clf.loss_curve_) <= 0).all()
    one = SEFRClassifier().fit(*problem)
    assert (one.n_passes_, len(one.loss_curve_)) == (1, 1)


def test_training_stops_when_a_pass_no_longer_helps():
    X, y = load_wine(return_X_y=True)
    clf = SEFRClassifier(passes=500).fit(X, y)
    assert clf.n_passes_ < 60
    longer = SEFRClassifier(passes=clf.n_passes_ - 1).fit(X, y)
    assert clf.loss_curve_[-1] >= longer.loss_curve_[-1] * (1 - 3e-4)


def test_the_result_is_deterministic_and_the_same_for_any_number_of_threads(problem):
    X, y = problem
    first, again, four = (SEFRClassifier(passes=6, n_jobs=jobs).fit(X, y) for jobs in (1, 1, 4))
    assert (first.coef_ == again.coef_).all()
    assert (first.coef_ == four.coef_).all()


def test_the_loss_is_that_of_the_weights(problem):
    X, y = problem
    clf = SEFRClassifier(passes=5).fit(X, y)
    share = np.bincount(y) / len(y)
    weight = share[y] ** -0.5
    scores = clf.decision_function(X)
    losses = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]
    standardised = clf.coef_ * X.std(axis=0)
    penalty = (standardised**2).sum() * X.shape[1] / (2 * 10 * len(y))
    assert clf.loss_curve_[-1] == pytest.approx(losses @ weight / weight.sum() + penalty, rel=2e-3)


def test_weight_2_is_the_row_twice(rng):
    X, y = rng.normal(size=(120, 6)), np.arange(120) % 3
    X += y[:, None]
    weight = rng.integers(0, 4, 120)
    a = SEFRClassifier(passes=6).fit(X, y, sample_weight=weight)
    b = SEFRClassifier(passes=6).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("passes", [1, 4])
@pytest.mark.parametrize("n_rows", [300, 800, 6000])
@pytest.mark.parametrize("kind", ["f4", "f8", "csr", "missing"])
def test_weight_2_is_the_row_twice_for_any_number_of_rows(rng, kind, n_rows, passes):
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, 8)) + 0.5 * y[:, None]
    if kind == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    X = sparse.csr_matrix(X * (X > 1)) if kind == "csr" else X.astype("f4" if kind == "f4" else "f8")
    weight = rng.integers(0, 4, n_rows)
    twice = np.repeat(np.arange(n_rows), weight)
    clf = SEFRClassifier(passes=passes, missing="ignore" if kind == "missing" else "error")
    a = clone(clf).fit(X, y, sample_weight=weight)
    b = clone(clf).fit(X[twice], y[twice])
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6 * np.abs(a.coef_).max())
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("n_rows", [700, 2500, 6000])
def test_weight_2_is_the_row_twice_in_batches(rng, n_rows):
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, 8)) + 0.5 * y[:, None]
    weight = rng.integers(0, 4, n_rows)
    parts = np.array_split(np.arange(n_rows), 7)
    a = SEFRClassifier(passes=4).fit_batches([(X[p], y[p], weight[p]) for p in parts])
    twice = [np.repeat(p, weight[p]) for p in parts]
    b = SEFRClassifier(passes=4).fit_batches([(X[p], y[p]) for p in twice])
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6 * np.abs(a.coef_).max())


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i2", "i4", "u8"])
def test_every_layout_and_type_gives_the_same_weights(rng, dtype, classes):
    import pandas as pd

    y = rng.integers(0, classes, 2500)
    X = np.where(rng.random((2500, 70)) < 0.4, rng.integers(1, 60, (2500, 70)) + 9 * y[:, None], 0).astype(
        dtype
    )
    expected = SEFRClassifier(passes=5).fit(X.astype(float), y)
    frame = pd.DataFrame({f"x{j}": X[:, j] for j in range(70)})
    frame["x0"] = frame["x0"].astype("f8")
    others = [X, np.asfortranarray(X), X[::-1][::-1], sparse.csr_matrix(X), sparse.csc_matrix(X), frame]
    for other in others:
        found = SEFRClassifier(passes=5).fit(other, y)
        unit = np.abs(expected.coef_).max()
        np.testing.assert_allclose(
            found.coef_ / unit, expected.coef_ / unit, atol=2e-3, err_msg=type(other).__name__
        )


def test_a_large_offset_changes_next_to_nothing(problem):
    X, y = problem
    near, far = SEFRClassifier(passes=5).fit(X, y), SEFRClassifier(passes=5).fit(X + 1e8, y)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-3 * np.abs(near.coef_).max())
    assert (far.predict(X + 1e8) == near.predict(X)).mean() > 0.998


@pytest.mark.parametrize("extreme", [1e-38, 1e37])
def test_float32_near_its_limits(rng, extreme):
    y = rng.integers(0, 2, 3000)
    X = ((rng.random((3000, 50)) + 0.3 * y[:, None]) * extreme).astype(np.float32)
    clf = SEFRClassifier(passes=4).fit(X, y)
    ordinary = SEFRClassifier(passes=4).fit(X.astype(float) / extreme, y)
    assert (clf.predict(X) == ordinary.predict(X.astype(float) / extreme)).mean() > 0.99


@pytest.mark.parametrize("classes", [2, 3])
def test_contributions_add_up_and_scores_are_readable(rng, classes):
    y = rng.integers(0, classes, 300)
    X = rng.normal(size=(300, 5)) + y[:, None] * [1.0, -1.0, 0.5, 0.0, 0.0]
    clf = SEFRClassifier(passes=6, missing="ignore").fit(X, y)
    np.testing.assert_allclose(clf.contributions(X).sum(axis=-1), clf.decision_function(X), atol=1e-9)
    assert np.abs(clf.feature_scores_).max() == 1
    X[::2, 1] = np.nan
    np.testing.assert_allclose(clf.contributions(X).sum(axis=-1), clf.decision_function(X), atol=1e-9)


def test_missing_values_take_part_as_the_mean(rng):
    y = rng.integers(0, 2, 2000)
    X = rng.normal(size=(2000, 80)) + 0.3 * y[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    clf = SEFRClassifier(passes=5, missing="ignore").fit(X, y)
    assert clf.score(X, y) > 0.85


def test_partial_fit_starts_from_the_refined_weights(problem):
    X, y = problem
    whole = SEFRClassifier(passes=10).fit(X, y)
    parts = SEFRClassifier(passes=10).partial_fit(X[:2000], y[:2000]).partial_fit(X[2000:], y[2000:])
    alone = SEFRClassifier(passes=10).fit(X[2000:], y[2000:])
    size = np.abs(whole.coef_).max()
    assert np.abs(parts.coef_ - whole.coef_).max() < 0.6 * np.abs(alone.coef_ - whole.coef_).max()
    assert np.abs(parts.coef_ - whole.coef_).max() < 0.5 * size
    assert parts.summary_.n_rows == 3000


def test_partial_fit_takes_new_classes_and_classes_to_come(problem):
    X, y = problem
    clf = SEFRClassifier(passes=4).partial_fit(X[y < 2], y[y < 2]).partial_fit(X[y >= 2], y[y >= 2])
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    assert clf.score(X, y) > 0.4
    early = SEFRClassifier(passes=4).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2, 3])
    assert set(early.predict(X)) == {0, 1}
    assert (early.predict_proba(X)[:, 2:] == 0).all()


def test_a_class_that_was_named_and_comes_later_is_learned(problem):
    X, y = problem
    early, late = y < 2, np.arange(len(y)) >= 1000
    clf = SEFRClassifier(passes=6).partial_fit(X[early], y[early], classes=[0, 1, 2, 3])
    clf.partial_fit(X[late], y[late])
    assert clf.score(X, y) > SEFRClassifier(passes=6).fit(X, y).score(X, y) - 0.05


@pytest.mark.parametrize("verb", ["merge", "forget"])
def test_what_needs_the_rows_is_refused_with_the_reason(problem, verb):
    X, y = problem
    clf = SEFRClassifier(passes=3).fit(X, y)
    before = clf.coef_.copy()
    arguments = (SEFRClassifier().fit(X, y),) if verb == "merge" else (X[:5], y[:5])
    with pytest.raises(ValueError, match=f"passes=3 cannot {verb}"):
        getattr(clf, verb)(*arguments)
    assert (clf.coef_ == before).all()
    with pytest.raises(ValueError, match="no rows for further passes"):
        SEFRClassifier.from_summary(clf.summary_, passes=3)
    assert (clf.decay(0.5).coef_ == before).all()


def test_batches_are_read_once_a_pass_and_equal_one_fit(problem):
    X, y = problem
    reads = []

    def batches():
        reads.append(0)
        for start in range(0, 3000, 700):
            yield X[start : start + 700], y[start : start + 700]

    for passes in (1, 6):
        reads.clear()
        clf = SEFRClassifier(passes=passes).fit_batches(batches)
        assert len(reads) == clf.n_passes_ == passes
        whole = SEFRClassifier(passes=passes).fit(X, y)
        np.testing.assert_allclose(
            clf.coef_, whole.coef_, atol=(1e-12, 0.1)[passes > 1] * np.abs(whole.coef_).max()
        )
    with pytest.raises(TypeError, match="read once only"):
        SEFRClassifier(passes=2).fit_batches(batches())


def test_cross_validation_of_more_passes_is_scikit_learns(problem):
    X, y = problem
    scores = cross_validate(SEFRClassifier(passes=3), X, y, cv=3)["test_score"]
    answers = cross_val_predict(SEFRClassifier(passes=3), X, y, cv=3)
    assert scores.mean() == pytest.approx((answers == y).mean())


def test_the_model_file_keeps_refined_weights_to_the_bit(problem, tmp_path):
    X, y = problem
    clf = SEFRClassifier(passes=5).fit(X, y)
    save(clf, tmp_path / "model.sefr")
    back = load(tmp_path / "model.sefr")
    assert (back.decision_function(X) == clf.decision_function(X)).all()
    assert (back.predict_proba(X) == clf.predict_proba(X)).all()
    assert back.loss_curve_ == clf.loss_curve_
    assert back.get_params() == clf.get_params()


def test_verbose_shows_the_passes(problem, capsys):
    SEFRClassifier(passes=3, verbose=1).fit(*problem)
    shown = capsys.readouterr().err
    assert "pass 3/3" in shown
    assert "loss" in shown


def test_a_step_that_all_rows_reject_is_shortened(monkeypatch):
    """Most features are rare: a thousand rows do not show how long a step may be."""
    monkeypatch.setattr(labelled, "SAMPLE_SCORES", 1024)
    rng = np.random.default_rng(0)
    n, m, stored = 10_000, 3_000, 30
    ranks = (10 * ((m + 10) / 10) ** rng.random(n * stored) - 10).astype(int)
    X = sparse.csr_matrix((np.ones(n * stored), ranks, np.arange(0, n * stored + 1, stored)), shape=(n, m))
    score = X @ rng.laplace(size=m)
    y = rng.random(n) < 1 / (1 + np.exp(-2 * (score - score.mean()) / score.std()))
    curve = SEFRClassifier(passes=12).fit(X, y).loss_curve_
    assert curve[-1] < 0.95 * curve[1]
    rejected = [at for at in range(2, len(curve)) if curve[at] == curve[at - 1]]
    assert rejected, "no step was rejected: these rows test nothing"
