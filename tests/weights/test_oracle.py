"""The one-pass classifier against the two-pass reference, on random and on hard data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sefr import SEFRClassifier, reference


def assert_equals_reference(X, y, tolerance=1e-12, **params):
    clf = SEFRClassifier(**params).fit(X, y)
    oracle = reference.fit(X, y, **params)
    sign = 1 if len(oracle.classes) == 2 else -1
    expected = sign * oracle.scores(X)
    scores = clf.decision_function(X).reshape(expected.shape)
    assert clf.classes_.tolist() == oracle.classes.tolist()
    # The unit of the comparison: the score of a record at the far end of every feature, at least of one.
    unit = max(1.0, np.abs(oracle.weights).sum(axis=1).max() + np.abs(oracle.bias).max())
    assert np.abs(scores - expected).max() <= tolerance * unit
    np.testing.assert_allclose(clf.feature_scores_, sign * oracle.weights, rtol=0, atol=tolerance)
    clear = (
        np.abs(expected).min(axis=1)
        if sign == 1
        else np.diff(np.sort(expected, axis=1)[:, -2:], axis=1)[:, 0]
    )
    sure = clear > tolerance * unit
    assert (clf.predict(X)[sure] == oracle.predict(X)[sure]).all()
    return clf


@st.composite
def problems(draw, elements):
    n = draw(st.integers(4, 40))
    m = draw(st.integers(1, 8))
    k = draw(st.integers(2, min(n, 5)))
    X = draw(hnp.arrays(np.float64, (n, m), elements=elements))
    y = draw(hnp.arrays(np.int64, n, elements=st.integers(0, k - 1)))
    y[:k] = np.arange(k)  # each class occurs
    return X, y


ordinary = st.floats(-1e6, 1e6, allow_subnormal=False, width=32)


@given(problems(ordinary))
def test_any_floats(problem):
    assert_equals_reference(*problem)


@given(problems(st.integers(-1000, 1000).map(float)))
def test_many_equal_values(problem):
    assert_equals_reference(*problem)


@given(problems(st.floats(0, 1)), st.sampled_from([1e3, 1e6, 1e9, -1e9, 1e12]))
def test_huge_offsets(problem, offset):
    X, y = problem
    assert_equals_reference(X + offset, y)


@given(problems(st.floats(0, 1e-310)))
def test_denormals(problem):
    assert_equals_reference(*problem)


@given(problems(st.floats(0, 1)))
def test_no_scaling(problem):
    assert_equals_reference(*problem, scale=None)


@given(problems(st.floats(0, 1023)))
def test_known_ranges(problem):
    assert_equals_reference(*problem, scale=(0, 1023))


@given(problems(st.integers(0, 3).map(float)), st.sampled_from([0.0, 1e-12, 1e-3, 1.0]))
def test_any_epsilon(problem, epsilon):
    assert_equals_reference(*problem, epsilon=epsilon)


def test_offset_of_1e9_with_noise_on_many_rows(rng):
    y = rng.integers(0, 3, 20_000)
    X = 1e9 + rng.normal(size=(20_000, 6)) + y[:, None]
    assert_equals_reference(X, y)


def test_one_outlier_among_values_far_from_zero(rng):
    X = 1e5 + rng.random((4000, 3)) * 1e-3
    X[7] = 1e9
    assert_equals_reference(X, rng.permutation(np.arange(4000) % 2))


@pytest.mark.parametrize("k", [2, 3])
def test_float32_near_its_maximum(rng, k):
    big = np.finfo(np.float32).max
    X = (rng.random((60, 4)) * 2 - 1).astype(np.float32) * big
    assert_equals_reference(X, rng.permutation(np.arange(60) % k))


def test_constant_and_all_zero_features(rng):
    X = rng.random((30, 5))
    X[:, 1] = 0
    X[:, 3] = 4.25
    clf = assert_equals_reference(X, rng.permutation(np.arange(30) % 3))
    assert not clf.coef_[:, [1, 3]].any()


@pytest.mark.parametrize("k", [2, 7])
def test_one_row_per_class(rng, k):
    assert_equals_reference(rng.random((k, 4)), np.arange(k))


@pytest.mark.filterwarnings("ignore:y has 1000 different numbers")
def test_a_thousand_classes(rng):
    assert_equals_reference(rng.random((3000, 20)), rng.permutation(np.arange(3000) % 1000))


@pytest.mark.parametrize("k", [2, 4])
def test_a_hundred_thousand_features(rng, k):
    assert_equals_reference(rng.random((12, 100_000)), rng.permutation(np.arange(12) % k))


@pytest.mark.parametrize("name", ["sonar", "semeion", "waveform_5000", "cnae_9", "gisette_uno_120x119"])
def test_the_papers_data(paper_data, name):
    data = paper_data(name)
    assert_equals_reference(data["X"], data["y"])
