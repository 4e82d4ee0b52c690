"""What must hold whatever the data: order, weights, batches, merging, forgetting, scaling, explaining."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sefr import SEFRClassifier, Summary

RANGES = (-10.0, 10.0)


def values(whole):
    """Numbers of one range whose differences float64 holds well."""
    return (
        st.integers(-9, 9) if whole else st.integers(-9 * 2**10, 9 * 2**10).map(lambda value: value / 2**10)
    )


@st.composite
def problems(draw, whole=False):
    n = draw(st.integers(6, 60))
    k = draw(st.integers(2, 4))
    X = draw(
        hnp.arrays(np.int64 if whole else np.float64, (n, draw(st.integers(1, 7))), elements=values(whole))
    )
    y = np.array(draw(st.permutations(np.arange(n) % k)))
    return X, y


def orders(draw_from):
    """An order of the rows of a problem."""
    return st.permutations(range(len(draw_from)))


def assert_same_model(a, b, rtol=1e-12):
    assert a.classes_.tolist() == b.classes_.tolist()
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=rtol, atol=rtol * 10)


@given(problems(), st.data())
def test_row_order_changes_nothing_beyond_rounding(problem, data):
    X, y = problem
    order = np.array(data.draw(orders(y)))
    assert_same_model(SEFRClassifier().fit(X, y), SEFRClassifier().fit(X[order], y[order]))


@given(problems(whole=True), st.data())
def test_row_order_changes_nothing_at_all_for_integers(problem, data):
    X, y = problem
    order = np.array(data.draw(orders(y)))
    a, b = SEFRClassifier().fit(X, y), SEFRClassifier().fit(X[order], y[order])
    assert a.summary_ == b.summary_
    assert (a.coef_ == b.coef_).all()
    assert (a.intercept_ == b.intercept_).all()


@given(problems(), st.sampled_from([None, "minmax", RANGES]), st.data())
def test_weight_is_repetition_and_zero_is_absence(problem, scale, data):
    X, y = problem
    X = np.abs(X) if scale is None else X
    weight = data.draw(hnp.arrays(np.int64, len(y), elements=st.integers(0, 3)))
    assume(len(np.unique(y[weight > 0])) > 1)
    a = SEFRClassifier(scale=scale).fit(X, y, sample_weight=weight)
    b = SEFRClassifier(scale=scale).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_model(a, b)
    np.testing.assert_array_equal(a.summary_.low, b.summary_.low)
    np.testing.assert_array_equal(a.summary_.counts, b.summary_.counts)


def test_a_class_of_weight_zero_is_absent(rng):
    X, y = rng.random((9, 2)), np.arange(9) % 3
    clf = SEFRClassifier().fit(X, y, sample_weight=(y != 1).astype(float))
    assert clf.classes_.tolist() == [0, 2]


@given(problems(whole=True), st.integers(1, 9))
def test_batches_equal_one_fit(problem, step):
    X, y = problem
    clf = SEFRClassifier()
    for start in range(0, len(y), step):
        clf.partial_fit(X[start : start + step], y[start : start + step], classes=np.unique(y))
    whole = SEFRClassifier().fit(X, y)
    assert clf.summary_ == whole.summary_
    assert (clf.coef_ == whole.coef_).all()


@given(problems(whole=True), st.data())
def test_merge_is_union(problem, data):
    X, y = problem
    mine = data.draw(hnp.arrays(bool, len(y)))
    assume(len(np.unique(y[mine])) > 1 and len(np.unique(y[~mine])) > 1)
    a, b = SEFRClassifier().fit(X[mine], y[mine]), SEFRClassifier().fit(X[~mine], y[~mine])
    assert a.merge(b).summary_ == SEFRClassifier().fit(X, y).summary_


@given(problems(), st.integers(1, 20))
def test_forget_equals_never_seen_with_known_ranges(problem, some):
    X, y = problem
    kept = np.arange(len(y)) >= some
    assume(len(np.unique(y[kept])) == len(np.unique(y)))
    clf = SEFRClassifier(scale=RANGES).fit(X, y).forget(X[~kept], y[~kept])
    assert_same_model(clf, SEFRClassifier(scale=RANGES).fit(X[kept], y[kept]))


@given(problems(whole=True), st.integers(1, 20))
def test_forget_equals_never_seen_but_for_the_extremes(problem, some):
    X, y = problem
    kept = np.arange(len(y)) >= some
    assume(len(np.unique(y[kept])) == len(np.unique(y)))
    clf = SEFRClassifier().fit(X, y).forget(X[~kept], y[~kept])
    never = Summary.of(X[kept], y[kept])
    assert (clf.summary_.sums == never.sums).all()
    assert (clf.summary_.counts == never.counts).all()
    assert (clf.summary_.low == X.min(axis=0)).all()


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_forgetting_nearly_all_rows_leaves_the_rest_exact(rng, offset):
    X, y = rng.random((5000, 3)) + offset, rng.integers(0, 2, 5000)
    X[-10:], y[-10:] = X[:10] + 0.25, np.arange(10) % 2
    scale = (offset - 1, offset + 2)
    clf = SEFRClassifier(scale=scale).fit(X, y).forget(X[:-10], y[:-10])
    assert_same_model(clf, SEFRClassifier(scale=scale).fit(X[-10:], y[-10:]), rtol=1e-9 if offset else 1e-11)


@given(problems(), st.floats(0.01, 100), st.floats(-50, 50))
def test_scaling_or_shifting_a_feature_changes_no_prediction(problem, factor, shift):
    X, y = problem
    clf = SEFRClassifier().fit(X, y)
    other = SEFRClassifier().fit(X * factor + shift, y)
    np.testing.assert_allclose(
        clf.decision_function(X), other.decision_function(X * factor + shift), rtol=1e-8, atol=1e-8
    )


NAMES = ["ash", "beech", "cedar", "elm"]


@given(problems(), st.permutations(NAMES))
def test_class_renaming_permutes_the_scores(problem, names):
    X, y = problem
    names = np.array(names[: y.max() + 1])
    numbered, named = SEFRClassifier().fit(X, y), SEFRClassifier().fit(X, names[y])
    scores, renamed = numbered.decision_function(X), named.decision_function(X)
    if len(names) == 2:  # the second class in order is the positive one
        renamed = renamed if names[0] < names[1] else -renamed
    else:
        renamed = renamed[:, np.searchsorted(named.classes_, names)]
    np.testing.assert_allclose(renamed, scores, atol=1e-12)


@given(problems())
def test_decay_changes_no_answer_until_more_is_learned(problem):
    X, y = problem
    clf = SEFRClassifier().fit(X, y)
    before = clf.coef_.copy()
    assert clf.decay(0.5).summary_.n_rows == len(y) / 2
    np.testing.assert_allclose(clf.coef_, before, rtol=1e-12, atol=1e-14)
