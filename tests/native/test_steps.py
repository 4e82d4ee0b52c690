"""Steps between neighbouring cells: tables of effects, and derivatives by the steps."""

import numpy as np
import pytest

from sefr import _native


def written_out(begins):
    """The matrix (c, c) that makes effects of steps: 1 from a step to the end of its run."""
    run = np.cumsum(begins != 0)
    return np.triu(run[:, None] == run).astype(float)


@pytest.fixture
def cells(rng):
    begins = (rng.random(40) < 0.2).astype(np.uint8) * 3
    return begins, rng.random(40), rng.normal(size=40)


@pytest.mark.parametrize("with_mean", [False, True])
@pytest.mark.parametrize("with_scale", [False, True])
@pytest.mark.parametrize("k", [1, 4])
def test_tables_and_slopes_match_the_matrix_written_out(rng, cells, with_mean, with_scale, k):
    begins, mean, scale = cells
    weights, before = rng.normal(size=(k, 40)), rng.normal(size=k)
    how = (begins, mean if with_mean else None, scale if with_scale else None)
    mean, scale = mean * with_mean, scale if with_scale else np.ones(40)
    tables, intercepts = np.full((k, 40), np.nan), np.full(k, np.nan)
    _native.step_tables(*how, weights, before, tables, intercepts)
    np.testing.assert_allclose(tables, (weights * scale) @ written_out(begins), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(intercepts, before - (weights * scale) @ mean, rtol=1e-12, atol=1e-13)
    _native.step_tables(*how, weights, None, tables, intercepts)
    np.testing.assert_allclose(intercepts, -(weights * scale) @ mean, rtol=1e-12, atol=1e-13)
    by_table, by_intercept, found = rng.normal(size=(k, 40)), rng.normal(size=k), np.full((k, 40), np.nan)
    _native.step_slopes(*how, by_table, by_intercept, found)
    expected = (by_table @ written_out(begins).T - by_intercept[:, None] * mean) * scale
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    _native.step_slopes(*how, by_table, None, found)
    np.testing.assert_allclose(found, by_table @ written_out(begins).T * scale, rtol=1e-12, atol=1e-13)


def test_what_does_not_fit_is_an_error(cells):
    begins, mean, scale = cells
    weights, found = np.zeros((2, 40)), np.zeros(2)
    with pytest.raises(ValueError, match="mean has length 39, not 40"):
        _native.step_tables(begins, mean[1:].copy(), scale, weights, found, weights.copy(), found.copy())
    with pytest.raises(ValueError, match=r"tables has shape \(1, 40\)"):
        _native.step_tables(begins, mean, scale, weights, found, weights[:1].copy(), found.copy())
    with pytest.raises(ValueError, match="by_intercept has length 3, not 2"):
        _native.step_slopes(begins, mean, scale, weights, np.zeros(3), weights.copy())
    with pytest.raises(TypeError):
        _native.step_slopes(begins.astype(np.int64), mean, scale, weights, found, weights.copy())


@pytest.mark.parametrize(("m", "k"), [(3, 0), (0, 2), (5, 4), (0, 0)])
@pytest.mark.parametrize("n", [1, 2, 37])
def test_shared_steps_match_pairs_written_out(rng, m, k, n):
    gone, places, worth = rng.random((m, n)), rng.integers(0, 4, size=(k, n)).astype(float), rng.random(4)
    found = np.full((n, n), np.nan)
    _native.shared_steps(gone, places, worth[places.astype(int)], found)
    lower = np.minimum(gone[:, :, None], gone[:, None]).sum(axis=0)
    equal = (places[:, :, None] == places[:, None]) * worth[places.astype(int)][:, None]
    np.testing.assert_allclose(found, lower + equal.sum(axis=0), rtol=1e-12)


def test_shared_steps_of_other_shapes_are_an_error():
    gone, places = np.zeros((3, 5)), np.zeros((2, 5))
    with pytest.raises(ValueError, match=r"worth has shape \(1, 5\)"):
        _native.shared_steps(gone, places, places[:1].copy(), np.empty((5, 5)))
    with pytest.raises(ValueError, match=r"gone has shape \(3, 5\)"):
        _native.shared_steps(gone, places, places, np.empty((4, 4)))
    with pytest.raises(ValueError, match=r"shared has shape \(5, 4\)"):
        _native.shared_steps(gone, places, places, np.empty((5, 4)))
