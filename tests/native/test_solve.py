"""Equations 3 to 9 in C: against the paper, against themselves from means, and where they decline."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sefr import Summary, _native
from sefr._summary import accumulate
from sefr._weights import hyperplanes, solve


@pytest.mark.parametrize("epsilon", [0.0, 1e-7, 0.5])
@pytest.mark.parametrize(("k", "m"), [(2, 1), (2, 700), (3, 511), (3, 512), (10, 1300)])
def test_solve_equals_the_equations(rng, k, m, epsilon):
    counts = rng.integers(1, 50, k).astype(float)
    low, span = rng.normal(size=m), rng.choice([0.0, 0.5, 3.0], m)
    means = rng.random((k, m)) * (span > 0)
    sums = counts[:, None] * (low + span * means)
    weights, bias = np.full((1 if k == 2 else k, m), 9.0), np.full(1 if k == 2 else k, 9.0)
    assert _native.solve(sums, counts, low, span, epsilon, weights, bias, None)
    rest = (counts @ means - counts[:, None] * means) / (counts.sum() - counts)[:, None]
    own, other, n = (means[1:], means[:1], counts[1:]) if k == 2 else (means, rest, counts)
    divisor = own + other + epsilon
    expected = np.divide(own - other, divisor, out=np.zeros_like(divisor), where=divisor != 0)
    np.testing.assert_allclose(weights, expected, atol=1e-11)
    n_other = counts.sum() - n
    tau, tau_other = (expected * own).sum(axis=1), (expected * other).sum(axis=1)
    np.testing.assert_allclose(bias, -(tau * n_other + tau_other * n) / counts.sum(), atol=1e-10)


def test_constants_are_those_of_python():
    names = ("FAR", "NARROW", "WIDE")
    assert [getattr(_native, name) for name in names] == [getattr(hyperplanes, name) for name in names]
    assert _native.DELICATE == accumulate.DELICATE


@st.composite
def summaries(draw):
    n, m, k = draw(st.integers(6, 30)), draw(st.integers(1, 9)), draw(st.integers(2, 5))
    X = draw(hnp.arrays(float, (n, m), elements=st.integers(-20, 20)))
    y = draw(hnp.arrays(np.int64, n, elements=st.integers(0, k - 1)))
    y[:k] = np.arange(k)
    return Summary.of(X, y)


@given(summaries(), st.sampled_from([0.0, 1e-7, 0.5]))
def test_solve_from_sums_is_solve_from_means(summary, epsilon):
    scaling = solve.scaling_of(summary, "minmax")
    shape = summary.n_scores, summary.n_features
    weights, bias, midpoints = np.empty(shape), np.empty(shape[0]), np.empty(shape)
    arguments = summary.sums, summary.counts, scaling.low, scaling.span, epsilon
    assume(_native.solve(*arguments, weights, bias, midpoints))
    means = solve.means(summary, scaling)
    rest = means[:1] if len(means) == 2 else solve.means(summary, scaling, rest=True)
    expected, bias_expected, middle = np.empty(shape), np.empty(shape[0]), np.empty(shape)
    _native.solve_means(means, summary.counts, rest, epsilon, expected, bias_expected, middle)
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(midpoints, middle, rtol=0, atol=1e-11)
    np.testing.assert_allclose(bias, bias_expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(bias, -(weights * midpoints).sum(axis=1), rtol=0, atol=1e-10)


def test_solve_from_means_leaves_out_what_one_side_does_not_know():
    means = np.array([[0.5, np.nan, 0.25], [0.25, 0.5, np.nan]])
    weights, bias, midpoints = np.empty((1, 3)), np.empty(1), np.empty((1, 3))
    _native.solve_means(means, np.array([3.0, 1.0]), means[:1], 0.0, weights, bias, midpoints)
    np.testing.assert_array_equal(weights, [[-1 / 3, 0, 0]])
    np.testing.assert_array_equal(midpoints, [[0.25 * 3 / 4 + 0.5 / 4, 0, 0]])
    np.testing.assert_allclose(bias, 0.3125 / 3)


@pytest.mark.parametrize(
    ("low", "span", "counts"),
    [
        (0, np.inf, [1, 1]),
        (0, np.nan, [1, 1]),
        (0, -1, [1, 1]),
        (0, 1, [0, 2]),
        (-1e9, 1, [1, 1]),
        (0, 1e-300, [1, 1]),
    ],
)
def test_solve_declines_what_needs_care(low, span, counts):
    m = 600
    lows, spans, counts = np.zeros(m), np.ones(m), np.array(counts, dtype=float)
    lows[555], spans[555] = low, span
    sums = counts[:, None] * (lows + np.array([[0.3], [0.6]]) * np.nan_to_num(spans, posinf=1e300))
    assert not _native.solve(sums, counts, lows, spans, 1e-7, np.empty((1, m)), np.empty(1), None)
    with pytest.raises(ValueError, match="span"):
        _native.solve(sums, counts, lows, spans[1:], 1e-7, np.empty((1, m)), np.empty(1), None)


def test_a_feature_far_from_zero_is_delicate():
    counts, low = np.array([2.0, 2.0]), np.zeros(600)
    sums = np.ones((2, 600))
    assert not _native.is_delicate(sums, counts, low)
    low[599], sums[:, 599] = 1000.0, 2001.0
    assert _native.is_delicate(sums, counts, low)
