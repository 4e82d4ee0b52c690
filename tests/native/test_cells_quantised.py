"""Cells found by 16 bits of values, where those bits do not tell: at edges, beside them, and far from all.

Edges lie far enough from each other for the quick way; the reference is ``numpy.searchsorted``.
"""

import numpy as np
import pytest

from sefr import _native

N = 64 * 12


def cells_of(X, edges, *, missing=False):
    starts = (np.arange(X.shape[1] + 1) * len(edges)).astype(np.int64)
    cells = np.empty(X.shape, dtype=np.uint8)
    found = _native.code_cells(X, np.tile(edges, X.shape[1]), starts, missing, None, None, cells, 1)
    return found, cells


def edges_of(rng, n, dtype):
    """Return n edges between -1 and 1, no two close, some of them numbers that float32 does not hold."""
    edges = np.linspace(-1, 1, n) + rng.uniform(-0.3, 0.3, size=n) / n
    return edges.astype(dtype).astype(float) if rng.random() < 0.5 else edges


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_edges", [8, 9, 15, 16, 20, 30, 31])
def test_values_at_edges_and_beside_them(n_edges, dtype, rng):
    for size in (1e-30, 1e-3, 1.0, 3e4, 1e30):
        edges = edges_of(rng, n_edges, dtype) * size
        near = edges.astype(dtype)
        steps = [
            near,
            np.nextafter(near, near.dtype.type(-np.inf)),
            np.nextafter(near, near.dtype.type(np.inf)),
        ]
        # one 38,000th of the way between the outer edges is what 16 bits tell apart
        steps += [near + size * step for step in (1e-5, -1e-5, 3e-5, -3e-5, 1e-4, -1e-4)]
        X = rng.normal(size=(N, 9)) * size
        for share in (0.0, 0.005, 0.5):  # few are looked at one by one, many are searched for at once
            own = np.where(rng.random(X.shape) < share, rng.choice(np.concatenate(steps), size=X.shape), X)
            own = own.astype(dtype)
            found, cells = cells_of(own, edges)
            assert found
            np.testing.assert_array_equal(cells, np.searchsorted(edges, own.astype(float), side="right"))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_edges", [8, 20, 31])
def test_values_far_from_all_edges(n_edges, dtype, rng):
    edges = edges_of(rng, n_edges, dtype)
    largest = np.finfo(dtype).max
    for far in (1.2, 1.3, 2.2, 2.25, 2.28, 2.3, 2.35, 2.6, 5.0, 1e4, 1e6, 1e12, largest):
        for sign in (1, -1):
            X = rng.uniform(-1, 1, size=(N, 9)).astype(dtype)
            X[rng.random(X.shape) < 0.01] = sign * far
            found, cells = cells_of(X, edges)
            assert found
            np.testing.assert_array_equal(cells, np.searchsorted(edges, X.astype(float), side="right"))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_has_no_number(dtype, rng):
    edges = edges_of(rng, 31, dtype)
    X = rng.uniform(-1, 1, size=(N, 9)).astype(dtype)
    for value in (np.nan, np.inf, -np.inf):
        own = X.copy()
        own[rng.integers(N), rng.integers(9)] = value
        assert not cells_of(own, edges)[0]
    own = np.where(rng.random(X.shape) < 0.01, np.nan, X).astype(dtype)
    found, cells = cells_of(own, edges, missing=True)
    assert found
    expected = np.where(
        np.isnan(own), len(edges) + 1, np.searchsorted(edges, own.astype(float), side="right")
    )
    np.testing.assert_array_equal(cells, expected)


@pytest.mark.parametrize("offset", [0.0, 2000.0, 1e6, 1e9, -1e12])
def test_edges_far_from_zero(offset, rng):
    """Where float32 is too coarse for the edges, float64 decides."""
    edges = edges_of(rng, 31, "f8") + offset
    X = rng.normal(size=(N, 9)) + offset
    found, cells = cells_of(X, edges)
    assert found
    np.testing.assert_array_equal(cells, np.searchsorted(edges, X, side="right"))


def test_edges_that_crowd(rng):
    edges = np.exp(np.linspace(-12, 3, 31))
    X = np.exp(rng.normal(size=(N, 9)) * 4)
    for own in (X, X.astype("f4")):
        found, cells = cells_of(own, edges)
        assert found
        np.testing.assert_array_equal(cells, np.searchsorted(edges, own.astype(float), side="right"))
