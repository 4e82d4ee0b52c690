"""auto=True: one additive model that is the weighed sum of a line, of bins and of ferns."""

import hashlib

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss

from sefr import SEFRClassifier, SEFRRegressor, load, save
from sefr._answers import auto as auto_module
from sefr._answers.auto import _AutoTraining, assign_folds
from sefr._rows.cells.learn import _edges, _weighted_edges
from sefr._rows.inputs import read_rows
from sefr._summary.source import MOST_VALUES, EveryRow, MemoryRows
from sefr._weights.auto import HeldOutParts
from sefr.settings import Settings


def table(n=900, n_classes=3, seed=0, missing=False):
    """Rows whose classes a line, a curve and a product of two features tell apart, each in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * [1, 5, 0.2, 1, 1, 30] + [0, 100, 0, 0, 0, -7]
    z = np.column_stack([X[:, 0], np.abs(X[:, 3]) - 1, X[:, 4] * X[:, 0], (X[:, 1] - 100) / 5])[:, :n_classes]
    y = np.argmax(2 * z + rng.gumbel(size=z.shape), axis=1)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.array(["a", "b", "c", "d"])[y]


@pytest.fixture(params=[2, 3], ids=["two classes", "three"])
def rows(request):
    return table(n_classes=request.param)


def fitted_parts(X, y, monkeypatch, **params):
    """Return a model, and the fits of all rows that it is the sum of."""
    found = {}
    whole = _AutoTraining._sum

    def kept(self, fits, choice):
        found.update(fits)
        return whole(self, fits, choice)

    monkeypatch.setattr(_AutoTraining, "_sum", kept)
    return SEFRClassifier(auto=True, **params).fit(X, y), found


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_model_is_the_sum_of_its_parts(n_classes, missing, monkeypatch):
    X, y = table(n_classes=n_classes, missing=missing)
    how = "ignore" if missing else "error"
    clf, parts = fitted_parts(X, y, monkeypatch, missing=how)
    assert clf.auto_.weights["line"] > 0
    matrix = read_rows(X, y)[0].matrix
    counts = np.array([np.sum(y == label) for label in clf.classes_])
    share = counts / counts.sum()
    # log p of a part is its score, less what rows of each class weigh in the loss, log(share**-0.5); what it
    # says beyond the shares is weighed
    z = 0.0
    for name, part in parts.items():
        scores = part.scores(matrix, how)
        scores = np.hstack([np.zeros_like(scores), scores]) if n_classes == 2 else scores
        z = z + clf.auto_.weights[name] * (scores - 0.5 * np.log(share))
    z = z + np.log(share)
    expected = z - 0.5 * np.log(share)
    scores = clf.decision_function(X)
    if n_classes == 2:
        np.testing.assert_allclose(scores, expected[:, 1] - expected[:, 0], atol=1e-10)
    else:
        centred = scores - scores.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(centred, expected - expected.mean(axis=1, keepdims=True), atol=1e-10)
    likely = np.exp(z - z.max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        clf.predict_proba(X), likely / likely.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("missing", [False, True])
def test_contributions_add_up_to_the_scores(rows, missing):
    X, y = rows
    if missing:
        X = X.copy()
        X[::5, 1] = np.nan
    clf = SEFRClassifier(auto=True, missing="ignore" if missing else "error").fit(X, y)
    parts, scores = clf.contributions(X), clf.decision_function(X)
    assert parts.shape[-1] == len(clf.feature_sets_) > X.shape[1]
    np.testing.assert_allclose(parts.sum(axis=-1), scores, rtol=1e-12, atol=1e-12)


def test_the_report_says_what_was_chosen(rows):
    from sefr.report import report

    clf = SEFRClassifier(auto=True).fit(*rows)
    page = report(clf, title="t")
    assert f"<dd>{clf.auto_.weights['line']:.2f} lines, " in page
    assert f"<dt>interactions</dt><dd>{clf.auto_.n_ferns}</dd>" in page


def test_curves_show_lines_by_steps(rows):
    """The effect of a bin is the part of a row whose value is the mean of the bin."""
    X, y = rows
    clf = SEFRClassifier(auto=True).fit(X, y)
    edges = clf.edges_[0]
    within = (X[:, 0] >= edges[4]) & (X[:, 0] < edges[5])
    parts = clf.contributions(X[within])[..., 0].mean(axis=0)
    np.testing.assert_allclose(np.ravel(parts), clf.curves_[0].effects[:, 5], rtol=1e-9)


def test_the_line_of_a_feature_is_seen_between_edges(monkeypatch):
    """Within a bin, where steps and ferns stand still, the score moves as the line says."""
    X, y = table(n_classes=2)
    clf, parts = fitted_parts(X, y, monkeypatch)
    x = X[:1].repeat(2, axis=0)
    edges = clf.edges_[0]
    x[:, 0] = edges[3] + (edges[4] - edges[3]) * np.array([0.1, 0.9])
    moved = np.diff(clf.decision_function(x))[0]
    slope = clf.auto_.weights["line"] * parts["line"].planes.coef[0, 0]
    assert slope != 0
    np.testing.assert_allclose(moved, slope * (x[1, 0] - x[0, 0]), rtol=1e-9)


def test_files_hold_all_of_it(rows, tmp_path):
    X, y = rows
    clf = SEFRClassifier(auto=True).fit(X, y)
    save(clf, tmp_path / "m.sefr")
    other = load(tmp_path / "m.sefr")
    np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
    np.testing.assert_array_equal(other.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(other.contributions(X), clf.contributions(X))
    assert other.auto_ == clf.auto_
    np.testing.assert_array_equal(other.curves_[0].effects, clf.curves_[0].effects)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"n_ferns": ', '"n_ferns": -'),
        ('"weights": {"line": ', '"weights": {"tree": '),
        ('"lines": {', '"lines": {"x": 1,'),
    ],
)
def test_a_forged_choice_is_refused(rows, old, new):
    from sefr.model_file import CLOSING, DIGITS, ModelFileError, dump, parse

    content = dump(SEFRClassifier(auto=True).fit(*rows)).decode()
    assert content.count(old) == 1
    body = content.replace(old, new).encode()[: -len(CLOSING) - DIGITS]
    with pytest.raises(ModelFileError, match="auto"):
        parse(body + hashlib.sha256(body).hexdigest().encode() + CLOSING)


def test_the_same_rows_give_the_same_model_in_any_order_and_with_any_threads(rows):
    X, y = rows
    clf = SEFRClassifier(auto=True).fit(X, y)
    again = SEFRClassifier(auto=True, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
    order = np.random.default_rng(1).permutation(len(y))
    mixed = SEFRClassifier(auto=True).fit(X[order], y[order])
    assert mixed.interactions_ == clf.interactions_
    scores = clf.decision_function(X)
    np.testing.assert_allclose(mixed.decision_function(X), scores, atol=1e-3 * np.abs(scores).max())


def test_a_row_of_weight_two_is_a_row_twice():
    X, y = table(400)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    a = SEFRClassifier(auto=True).fit(X, y, sample_weight=weight)
    b = SEFRClassifier(auto=True).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert a.interactions_ == b.interactions_
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-4)


def test_of_many_rows_a_few_choose_and_all_are_fitted(monkeypatch):
    monkeypatch.setattr(auto_module, "PART_ROWS", 50)
    X, y = table(400)
    a = SEFRClassifier(auto=True).fit(X, y)
    assert 40 <= a.auto_.n_held_out <= 60
    assert a.summary_.counts.sum() == 400
    weight = np.where(np.arange(400) < 100, 2, 1)
    b = SEFRClassifier(auto=True).fit(X, y, sample_weight=weight)
    c = SEFRClassifier(auto=True).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert b.interactions_ == c.interactions_


def test_parts_of_the_rows_are_stratified_and_keep_equal_rows_together():
    X, y = table(1000)
    X, y = np.vstack([X, X[:100]]), np.concatenate([y, y[:100]])
    rows = read_rows(X, y, None, Settings(auto=True).cut)[0]
    found = assign_folds(rows, np.ones(len(y), dtype=bool), 4)
    folds = found.number
    assert not found.shared.any()
    np.testing.assert_array_equal(folds[1000:], folds[:100])
    for label in "abc":
        shares = np.bincount(folds[y == label], minlength=4) / np.sum(y == label)
        np.testing.assert_allclose(shares, 0.25, atol=0.01)


# The weights are held at the last part alone by so much, over the number of rows.
HOLD = 2.0


def test_weights_have_the_least_loss_and_are_not_below_zero():
    """Against scipy's minimiser under the same bounds."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 200).astype(np.int32)
    truth = np.eye(3)[codes]
    noise = rng.normal(size=(2, *truth.shape))
    logits, base = (
        np.array([truth * 2 + noise[0], -truth, truth + 2 * noise[1]]),
        rng.normal(size=truth.shape),
    )
    weights = rng.random(200) + 0.1
    parts = HeldOutParts(logits, base, codes, weights)

    def loss(w):
        z = np.tensordot(w, logits, 1) + base
        likely = np.exp(z - z.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        away = w - [0, 0, 1]
        return log_loss(codes, likely, sample_weight=weights) + HOLD / weights.sum() * away @ away

    found, losses = parts.weighed
    best = minimize(loss, [0.3, 0.3, 0.3], bounds=[(0, None)] * 3, tol=1e-14)
    np.testing.assert_allclose(found, best.x, atol=1e-4)
    assert found[1] == 0
    alone = np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(losses[0], loss(alone) - HOLD / weights.sum() * 2)


def test_many_equal_rows_are_in_every_part():
    """Else what is held out would be what was never seen, and nothing would help with it."""
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]).repeat(50, axis=0)
    y = X[:, 0] == X[:, 1]
    rows = read_rows(X, y, None, Settings(auto=True).cut)[0]
    found = assign_folds(rows, np.ones(len(y), dtype=bool), 4)
    assert found.shared.all()
    np.testing.assert_array_equal(found.held(2), 0.25)
    assert SEFRClassifier(auto=True).fit(X, y).score(X, y) == 1


def test_few_rows_are_each_held_out_once(monkeypatch):
    X, y = load_iris(return_X_y=True)
    clf = SEFRClassifier(auto=True).fit(X, y)
    assert clf.auto_.n_held_out == 150
    assert SEFRClassifier(auto=True).fit(*load_breast_cancer(return_X_y=True)).auto_.n_held_out < 200
    tiny = SEFRClassifier(auto=True).fit([[0.0, 1], [1.0, 1]], ["a", "b"])
    assert tiny.auto_.n_held_out == 0
    assert tiny.auto_.log_loss == {}
    assert list(tiny.predict([[0.0, 1], [1.0, 1]])) == ["a", "b"]


def test_features_that_never_vary_are_answered_with_the_frequent_class():
    clf = SEFRClassifier(auto=True).fit(np.ones((5, 2)), ["a", "b", "b", "b", "b"])
    assert list(clf.predict(np.ones((2, 2)))) == ["b", "b"]
    assert "ferns" not in clf.auto_.weights


def test_probabilities_are_honest_with_rare_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=6000) > 4.2).astype(int)
    train, test = slice(0, 3000), slice(3000, 6000)
    assert 0.01 < y.mean() < 0.07
    clf = SEFRClassifier(auto=True).fit(X[train], y[train])
    likely = clf.predict_proba(X[test])[:, 1]
    assert abs(likely.mean() - y[test].mean()) < 0.01
    base = np.full(3000, y[train].mean())
    assert log_loss(y[test], likely) < 0.75 * log_loss(y[test], base)
    # answers lie between every row and every class counting the same: more often than likely
    assert clf.predict(X[test]).mean() / (likely > 0.5).mean() > 1.0


def test_a_class_of_one_row_is_no_error():
    X, y = table(500)
    y = y.astype(object)
    y[7] = "rare"
    clf = SEFRClassifier(auto=True).fit(X, y)
    assert "rare" in clf.classes_
    assert np.isfinite(clf.predict_proba(X)).all()


def test_class_weight_moves_the_answers_and_not_the_probabilities():
    X, y = table(2000, 2)
    plain = SEFRClassifier(auto=True).fit(X, y)
    heavy = SEFRClassifier(auto=True, class_weight={"b": 20.0}).fit(X, y)
    assert (heavy.predict(X) == "b").mean() > (plain.predict(X) == "b").mean() + 0.1
    assert abs(heavy.predict_proba(X)[:, 1].mean() - (y == "b").mean()) < 0.03


@pytest.mark.parametrize("kind", ["pandas", "polars", "pandas object"])
def test_columns_of_text_are_categories(kind):
    X, y = table(600)
    colour = np.where(y == "a", "red", np.where(np.arange(600) % 3 == 0, "green", "blue")).astype(object)
    colour[5] = None
    data = {"x": X[:, 0], "colour": colour.tolist()}
    frame = pl.DataFrame(data) if kind == "polars" else pd.DataFrame(data)
    if kind == "pandas object":
        frame["colour"] = frame["colour"].astype(object)
    clf = SEFRClassifier(auto=True, missing="ignore").fit(frame, y)
    assert list(clf.edges_[1]) == ["blue", "green", "red"]
    assert clf.score(frame, y) > 0.7
    assert clf.auto_.weights["line"] >= 0
    bins = SEFRClassifier(bins=32, missing="ignore").fit(frame, y)
    assert list(bins.edges_[1]) == ["blue", "green", "red"]
    assert bins.score(frame, y) > 0.7
    with pytest.raises(ValueError, match="not numbers"):
        SEFRClassifier(missing="ignore").fit(frame, y)
    numbers = SEFRRegressor(auto=True, missing="ignore").fit(frame, y == "a")
    assert list(numbers.edges_[1]) == ["blue", "green", "red"]


def test_a_frame_of_categories_alone_has_no_line():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, (400, 2))
    frame = pd.DataFrame(np.array(["p", "q", "r"])[values], columns=["a", "b"])
    clf = SEFRClassifier(auto=True).fit(frame, values[:, 0] == values[:, 1])
    assert set(clf.auto_.weights) == {"bins", "ferns"}
    assert clf.score(frame, values[:, 0] == values[:, 1]) > 0.95


def test_sparse_rows_are_those_of_a_dense_matrix(monkeypatch):
    X, y = table(500)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.5, X, 0)
    dense = SEFRClassifier(auto=True).fit(X, y)
    hollow = SEFRClassifier(auto=True).fit(sparse.csr_matrix(X), y)
    assert hollow.score(sparse.csr_matrix(X), y) > dense.score(X, y) - 0.05
    np.testing.assert_allclose(
        hollow.decision_function(X), hollow.decision_function(sparse.csr_matrix(X)), rtol=1e-9, atol=1e-9
    )
    monkeypatch.setattr(auto_module, "MOST_SPREAD", 100)
    assert "ferns" not in SEFRClassifier(auto=True).fit(sparse.csr_matrix(X), y).auto_.weights


def test_frequent_values_have_a_bin_of_their_own():
    rng = np.random.default_rng(0)
    values = np.where(rng.random(5000) < 0.95, 0.0, rng.normal(size=5000))
    usual, _ = _edges(np.array([values]), 32)
    alone, _ = _edges(np.array([values]), 32, alone=True)
    assert len(usual) <= 3
    assert 25 <= len(alone) <= 31
    assert 0.0 in alone
    for most in (2, 3, 32, 200):
        for own in (values, np.round(values, 1), np.arange(5000.0), rng.integers(0, 40, 5000) * 1.0):
            (expected,) = _weighted_edges(own[None].copy(), np.ones(5000), most, alone=True)
            found, _ = _edges(own[None].copy(), most, alone=True)
            np.testing.assert_array_equal(found, expected)
            assert len(found) < most


def test_what_goes_without_auto():
    X, y = table(100)
    for params in ({"bins": 8}, {"passes": 3}, {"bins": 8, "interactions": 4}):
        with pytest.raises(ValueError, match="auto=True chooses bins, interactions, passes and"):
            SEFRClassifier(auto=True, **params).fit(X, y)
    with pytest.raises(ValueError, match="auto must be True or False, not 'yes'"):
        SEFRClassifier(auto="yes").fit(X, y)
    with pytest.raises(ValueError, match="auto=True: a Summary has no rows"):
        SEFRClassifier.from_summary(SEFRClassifier().fit(X, y).summary_, auto=True)
    with pytest.raises(AttributeError, match="auto=False"):
        _ = SEFRClassifier().fit(X, y).auto_
    with pytest.raises(ValueError, match="one class only"):
        SEFRClassifier(auto=True).fit(X, ["a"] * 100)
    with pytest.raises(ValueError, match=r"one class only: .*'a'"):
        SEFRClassifier(auto=True).fit(X, y, sample_weight=y == "a")


def test_a_class_without_weight_is_not_there():
    X, y = table(600)
    clf = SEFRClassifier(auto=True).fit(X, y, sample_weight=y != "b")
    assert list(clf.classes_) == ["a", "c"]
    other = SEFRClassifier(auto=True).fit(X[y != "b"], y[y != "b"])
    np.testing.assert_allclose(clf.decision_function(X), other.decision_function(X), atol=1e-4)


def test_what_a_model_cannot_do_names_the_way_out():
    X, y = table(400)
    clf = SEFRClassifier(auto=True).fit(X, y)
    before = clf.decision_function(X)
    for verb in (clf.merge, clf.forget):
        with pytest.raises(ValueError, match=r"cannot (merge|forget): .*from_summary\(summary_\), which can"):
            verb(X, y)
    with pytest.raises(ValueError, match="cannot be merged"):
        SEFRClassifier().fit(X, y).merge(clf)
    with pytest.raises(AttributeError, match=r"cannot learn more rows: .*Fit again with all rows"):
        clf.partial_fit(X, y)
    assert not hasattr(clf, "partial_fit")
    np.testing.assert_array_equal(clf.decision_function(X), before)
    way_out = SEFRClassifier.from_summary(clf.summary_)
    assert way_out.forget(X[:50], y[:50]).summary_.n_rows == 350


def test_bad_values_are_named():
    X, y = table(400)
    clf = SEFRClassifier(auto=True).fit(X, y)
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = X.copy()
        bad[3, 2] = value
        with pytest.raises(ValueError, match=f"Input X contains {name}: row 3, column 2"):
            clf.predict(bad)
        with pytest.raises(ValueError, match=f"Input X contains {name}: row 3, column 2"):
            SEFRClassifier(auto=True).fit(bad, y)


def test_rows_that_stay_elsewhere_are_refused():
    from sefr._summary.source import RowSource

    class Elsewhere(RowSource):
        summarise = sample = gradient = None

    with pytest.raises(ValueError, match=r"auto=True looks at all rows at once.*bins=32, interactions=100"):
        SEFRClassifier(auto=True).fit_from(Elsewhere())


def test_too_many_rows_of_batches_are_refused(monkeypatch):
    rows = read_rows(*table(100))[0]
    gatherer = EveryRow()
    gatherer.values = MOST_VALUES - 700
    gatherer.add(rows)
    with pytest.raises(ValueError, match="auto=True holds all rows in memory"):
        gatherer.add(rows)
    assert isinstance(MemoryRows(rows).in_memory(Settings()), MemoryRows)


@pytest.mark.parametrize("row", [0, 7, 100, 350])
@pytest.mark.parametrize("value", [1e20, 1e200, -1e300])
def test_a_value_far_beyond_all_others_spoils_nothing(value, row):
    X, y = table(400)
    X[row, 2] = value
    clf = SEFRClassifier(auto=True).fit(X, y)
    assert np.isfinite(clf.decision_function(X)).all()
    assert np.isfinite(list(clf.auto_.log_loss.values())).all()
    assert clf.score(X, y) > 0.75


def test_fits_that_choose_read_no_row_that_is_held_out(monkeypatch):
    X, y = table(900)
    read = []
    fit = auto_module.refine

    def counted(summary, sefr, rows, limits, earlier=None, start=None):
        read.append(rows.source.rows.matrix.shape[0])
        return fit(summary, sefr, rows, limits, earlier, start)

    monkeypatch.setattr(auto_module, "refine", counted)
    clf = SEFRClassifier(auto=True).fit(X, y)
    assert read[:3] == [900 - clf.auto_.n_held_out] * 3
    assert set(read[3:]) <= {900, read[0]}
    assert read[-1] == 900


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_rows_have_more_passes_after_a_fit_of_a_few(monkeypatch, n_classes):
    monkeypatch.setattr(auto_module, "PART_ROWS", 150)
    passes, fit = [], auto_module.refine

    def counted(summary, sefr, rows, limits, earlier=None, start=None):
        passes.append(limits.passes)
        return fit(summary, sefr, rows, limits, earlier, start)

    monkeypatch.setattr(auto_module, "refine", counted)
    SEFRClassifier(auto=True).fit(*table(1200, n_classes))
    assert passes[-1] == {2: 16, 3: 24}[n_classes]


def test_no_more_rows_are_said_to_be_held_out_than_there_are(rng):
    """A row that is there many times is in every part."""
    X = np.repeat(rng.normal(size=(4, 2)), [14, 12, 3, 3], axis=0)
    clf = SEFRClassifier(auto=True).fit(X, np.repeat([0, 1, 0, 1], [14, 12, 3, 3]))
    assert clf.auto_.n_held_out <= len(X)


def test_weights_of_a_class_that_some_parts_lack_are_taken():
    """Class 1 is not among the rows that some parts are fitted to: found by sequences."""
    X, y = np.zeros((7, 1)), np.array([0, 1, 0, 0, 0, 0, 2])
    X[5] = 1
    weights = [1.0, 0.25, 0.0, 0.0, 1.0, 2.0, 0.1]
    clf = SEFRClassifier(auto=True, class_weight={0: 3.0, 1: 0.5}).fit(X, y, sample_weight=weights)
    assert clf.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="class_weight names the class 7"):
        SEFRClassifier(auto=True, class_weight={0: 3.0, 7: 0.5}).fit(X, y)
