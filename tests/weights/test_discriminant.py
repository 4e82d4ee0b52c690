"""moments=2 as users meet it: exact verbs, every kind of rows, probabilities; equal to the reference."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.model_selection import cross_validate as sklearn_cross_validate

from sefr import SEFRClassifier, Summary, cross_validate, reference
from sefr.model_file import dump, parse


def whole_numbers(n=120, m=4, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return rng.integers(-50, 50, (n, m)) + 20 * y[:, None], y


def assert_products(summary, X, weights=None):
    """Compare the products of a Summary with exact ones about the same origin."""
    own, m = summary.products, np.shape(X)[1]
    moved = [
        [Fraction(value) - Fraction(origin) for value, origin in zip(row, own.origin.tolist(), strict=True)]
        for row in np.asarray(X, dtype=float).tolist()
    ]
    weights = [1] * len(X) if weights is None else weights
    rows = [[Fraction(1), *row] for row in moved]
    expected = [
        sum((Fraction(w) * row[i] * row[j] for row, w in zip(rows, weights, strict=True)), Fraction(0))
        for i in range(m + 1)
        for j in range(i, m + 1)
    ]
    tails = np.zeros_like(own.packed.head) if own.packed.tail is None else own.packed.tail
    found = [Fraction(a) + Fraction(b) for a, b in zip(own.packed.head.tolist(), tails.tolist(), strict=True)]
    assert found == expected


def scores_of(clf, X):
    scores = np.asarray(clf.decision_function(X))
    return np.column_stack([-scores, scores]) / 2 if scores.ndim == 1 else scores


def centred(scores):
    return scores - scores.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_scores_are_those_of_the_reference_but_for_what_classes_have_in_common(classes):
    X, y = whole_numbers(400, 5, classes)
    clf = SEFRClassifier(moments=2).fit(X, y)
    theirs = reference.discriminant(X.astype(float), y).scores(X.astype(float))
    found = scores_of(clf, X)
    np.testing.assert_allclose(centred(found), centred(theirs), rtol=1e-9, atol=1e-9)
    assert (clf.predict(X) == clf.classes_[theirs.argmax(axis=1)]).all()


@pytest.mark.parametrize("bins", [None, 5])
def test_verbs_are_exact_in_any_sequence(bins):
    """Merge, forget, partial_fit and decay give the sums of the rows that are left, to the last bit."""
    X, y = whole_numbers(300)
    scale = (-60, 120)
    parts = [slice(0, 100), slice(100, 180), slice(180, 300)]

    def fitted(rows):
        return SEFRClassifier(moments=2, scale=scale, bins=bins).fit(X[rows], y[rows])

    clf = fitted(parts[0]).merge(fitted(parts[1])).partial_fit(X[parts[2]], y[parts[2]])
    clf.forget(fitted(parts[1])).merge(X[parts[1]], y[parts[1]]).forget(X[parts[0]], y[parts[0]])
    left = np.r_[100:300]
    expected = fitted(left)
    assert clf.summary_.products == expected.summary_.products
    np.testing.assert_allclose(scores_of(clf, X), scores_of(expected, X), rtol=1e-9, atol=1e-9)
    if bins is None:
        assert_products(clf.summary_, X[left])
        clf.decay(0.25)
        assert_products(clf.summary_, X[left], [Fraction(1, 4)] * len(left))
        assert_products(clf.summary_ + clf.summary_, X[left], [Fraction(1, 2)] * len(left))
        assert_products(clf.summary_ * 4 - expected.summary_ * 0.5, X[left], [Fraction(1, 2)] * len(left))


def test_what_was_never_learned_cannot_be_taken_away():
    """Sums and counts of what would be left are possible; only sums of squares say that it was not there."""
    X = np.array([[-10.0], [10], *[[0]] * 8, [1], [2]])
    y = np.array([0] * 10 + [1] * 2)
    clf = SEFRClassifier(moments=2).fit(X, y)
    before = clf.fitted_
    with pytest.raises(ValueError, match="a sum of squares would be negative"):
        clf.forget([[9.0], [-9.0], [9.0], [-9.0]], [0] * 4)
    assert clf.fitted_ is before
    SEFRClassifier().fit(X, y).forget([[9.0], [-9.0], [9.0], [-9.0]], [0] * 4)  # first moments cannot tell


def test_offsets_of_a_billion_lose_no_digits():
    X, y = whole_numbers(500)
    near, far = X / 64, X / 64 + 2.0**30
    found = scores_of(SEFRClassifier(moments=2).fit(far, y), far)
    expected = scores_of(SEFRClassifier(moments=2).fit(near, y), near)
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


def test_a_missing_value_counts_as_the_mean_and_is_a_term_left_out():
    X, y = whole_numbers(400)
    X = X.astype(float)
    gone = np.random.default_rng(3).random(X.shape) < 0.15
    X[gone] = np.nan
    clf = SEFRClassifier(moments=2, missing="ignore").fit(X, y)
    filled = np.where(gone, np.nanmean(X, axis=0), X)
    expected = SEFRClassifier(moments=2).fit(filled, y)
    np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=0.05, atol=0.01)
    parts = clf.contributions(X)
    np.testing.assert_allclose(parts.sum(axis=-1), scores_of(clf, X), atol=1e-9)
    assert (parts[np.broadcast_to(gone[:, None, :], parts.shape)] == 0).all()
    merged = SEFRClassifier(moments=2, missing="ignore").fit(X[:50], y[:50])
    merged.merge(SEFRClassifier(moments=2).fit(filled[50:90], y[50:90])).merge(X[90:], y[90:])
    assert merged.summary_.products.missing


def test_categories_have_a_bin_each():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 300)
    colour = np.where(rng.random(300) < 0.8, np.where(y == 1, "red", "blue"), "green")
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "size": rng.normal(size=300)})
    clf = SEFRClassifier(moments=2, bins=8).fit(frame, y)
    assert clf.score(frame, y) > 0.85
    one, other = (
        SEFRClassifier(moments=2, bins=clf.edges_).fit(frame[s], y[s])
        for s in (slice(0, 150), slice(150, 300))
    )
    np.testing.assert_allclose(scores_of(one.merge(other), frame), scores_of(clf, frame), atol=1e-9)


def test_first_moments_of_a_second_order_summary_are_the_paper():
    X, y = load_iris(return_X_y=True)
    both = Summary.of(X, y, moments=2)
    paper = SEFRClassifier.from_summary(both, moments=1)
    np.testing.assert_array_equal(paper.coef_, SEFRClassifier().fit(X, y).coef_)
    assert both.first_moments() == Summary.of(X, y)
    with pytest.raises(ValueError, match="first moments only"):
        SEFRClassifier.from_summary(both.first_moments(), moments=2)
    with pytest.raises(ValueError, match="moments=2 and moments=1"):
        both + both.first_moments()


def test_settings_that_do_not_go_together_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="moments=2 is solved from the sums of one pass"):
        SEFRClassifier(moments=2, passes=3).fit(X, y)
    for moments in (0, 3, True, "2", 1.5):
        with pytest.raises(ValueError, match="moments must be 1 or 2"):
            SEFRClassifier(moments=moments).fit(X, y)


@pytest.mark.parametrize("settings", [{}, {"bins": 6}, {"missing": "ignore"}, {"bins": 6, "interactions": 3}])
def test_bytes_and_files_hold_everything(settings):
    X, y = whole_numbers(150)
    X = X.astype(float)
    if settings.get("missing"):
        X[::9, 1] = np.nan
    clf = SEFRClassifier(moments=2, **settings).fit(X, y)
    clf.partial_fit(X[:7] + 0.1, y[:7])  # with tails
    data = clf.summary_.to_bytes()
    again = Summary.from_bytes(data)
    assert again == clf.summary_
    assert again.to_bytes() == data
    loaded = parse(dump(clf))
    np.testing.assert_array_equal(scores_of(loaded, X), scores_of(clf, X))
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    for cut in range(0, len(data) - 1, max(1, len(data) // 40)):
        with pytest.raises(ValueError, match="Summary"):
            Summary.from_bytes(data[:cut])


def test_forged_products_are_refused():
    X, y = whole_numbers()
    summary = Summary.of(X, y, moments=2)
    parts = {name: getattr(summary, name) for name in ("classes", "counts", "sums", "low", "high")}
    own = summary.products
    wrong = [own * 2, Summary.of(X[:, :3], y, moments=2).products]
    negative = type(own)(own.origin, own.packed._replace(head=-own.packed.head))
    for products in (*wrong, negative):
        with pytest.raises(ValueError, match=r"products|squares"):
            Summary.from_parts(**parts, products=products)


def test_cross_validation_from_one_pass_is_that_of_separate_fits():
    X, y = load_breast_cancer(return_X_y=True)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    for scoring in ("accuracy", "neg_log_loss"):
        clf = SEFRClassifier(moments=2)
        found = cross_validate(clf, X, y, cv=cv, scoring=scoring)["test_score"]
        expected = sklearn_cross_validate(clf, X, y, cv=cv, scoring=scoring)["test_score"]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_probabilities_are_honest(load):
    """Of rows that were not learned: better than the base rates by far, and near the share of each class."""
    X, y = load(return_X_y=True)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    found = cross_val_predict(SEFRClassifier(moments=2), X, y, cv=cv, method="predict_proba")
    assert log_loss(y, found) < 0.2
    np.testing.assert_allclose(found.mean(axis=0), np.bincount(y) / len(y), atol=0.01)


def test_a_row_that_was_learned_is_scored_as_if_it_were_not():
    """The leave-one-out scores are near those of models that were trained without the row."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200], y[:200]
    clf = SEFRClassifier(moments=2).fit(X, y)
    rows = np.arange(0, 200, 12)
    seen = clf.decision_function(X[rows])
    weights, codes = np.ones(len(rows)), y[rows].astype(np.int32)
    found = clf.fitted_.discriminant.unseen(seen[:, None], X[rows], codes, weights)[:, 0]
    without = []
    for row in rows:
        rest = np.arange(200) != row
        without.append(SEFRClassifier(moments=2).fit(X[rest], y[rest]).decision_function(X[row : row + 1])[0])
    assert np.abs(found - without).mean() < 0.2 * np.abs(seen - without).mean()


def test_class_weights_move_the_priors():
    X, y = load_breast_cancer(return_X_y=True)
    plain = SEFRClassifier(moments=2).fit(X, y)
    heavy = SEFRClassifier(moments=2, class_weight={0: 10.0}).fit(X, y)
    np.testing.assert_allclose(heavy.coef_, plain.coef_, rtol=1e-12)
    assert (heavy.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()


def test_more_columns_than_memory_are_refused_before_any_is_taken():
    X = sparse.csr_array((1, 1 << 20))
    with pytest.raises(
        ValueError, match=r"second moments of 1048576 columns need .* GB of memory.*moments=1"
    ):
        SEFRClassifier(moments=2).fit(sparse.vstack([X, X], format="csr"), [0, 1])


def test_a_board_does_not_go_on_learning_what_it_cannot_solve(tmp_path):
    from sefr.device import export

    X, y = whole_numbers()
    clf = SEFRClassifier(moments=2, scale=(-60, 120)).fit(X, y)
    with pytest.raises(ValueError, match="a board that goes on learning"):
        export(clf, "arduino", tmp_path, learn=True)
