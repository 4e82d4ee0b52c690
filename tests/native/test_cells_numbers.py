"""Cells found by numbers of 16 bits, row by row, over shapes, strides and what numbers leave open.

The reference is ``numpy.searchsorted``, column by column.
"""

import numpy as np
import pytest

from sefr import _native


def edges_of(rng, m, *, crowded=()):
    """Return edges of m features, 8 to 31 of each in units of its own; those of some crowd at one end."""
    edges = []
    for j in range(m):
        n = int(rng.integers(8, 32))
        own = np.linspace(-1, 1, n) + rng.uniform(-0.3, 0.3, size=n) / n
        if j in crowded:
            own = np.exp(np.linspace(-12, 3, 31))
        own = own * 10.0 ** rng.integers(-3, 4) + rng.normal()
        edges.append(np.unique(own.astype("f4")).astype(float) if rng.random() < 0.5 else own)
    return edges


def values_of(rng, n, edges, dtype, *, at_edges=0.002, missing=()):
    X = np.empty((n, len(edges)), dtype=dtype)
    for j, own in enumerate(edges):
        reach = own[-1] - own[0]
        column = rng.uniform(own[0] - 0.2 * reach, own[-1] + 0.2 * reach, size=n)
        there = rng.random(n) < at_edges
        beside = reach * rng.choice([0, 0, 1e-5, -1e-5], size=n)
        column[there] = (rng.choice(own, size=n) + beside)[there]
        X[:, j] = column
    for j in missing:
        X[rng.random(n) < 0.1, j] = np.nan
    return X


def check(X, edges, *, missing=False):
    starts = np.concatenate([[0], np.cumsum([len(own) for own in edges])]).astype(np.int64)
    cut = (np.concatenate(edges), starts, missing, None, None)
    n, m = X.shape
    expected = np.empty((n, m), dtype=int)
    for j, own in enumerate(edges):
        column = X[:, j].astype(float)
        expected[:, j] = np.where(np.isnan(column), len(own) + 1, np.searchsorted(own, column, side="right"))
    cells = np.empty((n, m), dtype=np.uint8)
    assert _native.code_cells(X, *cut, cells, 1)
    np.testing.assert_array_equal(cells, expected)
    offsets = starts + np.arange(m + 1) * (1 + missing)
    y = (np.arange(n) * 7 % 5 // 2).astype(np.int32)
    sums, counts = np.empty((3, offsets[-1])), np.empty(3)
    assert _native.count_cells(X, *cut, y, None, sums, counts, 1)
    for k in range(3):
        whole = np.bincount((offsets[:-1] + expected[y == k]).ravel(), minlength=offsets[-1])
        np.testing.assert_array_equal(sums[k], whole)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("m", [8, 13, 40, 64, 72, 150])
def test_every_column_has_edges_of_its_own(m, dtype, rng):
    for n in (1, 15, 63, 64, 65, 200, 4000):
        edges = edges_of(rng, m)
        check(values_of(rng, n, edges, dtype), edges)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows_that_lie_apart(dtype, rng):
    edges = edges_of(rng, 24)
    X = values_of(rng, 1500, [*edges, *edges], dtype)
    for own in (X[:, :24], X[:, 24:], X[::2, :24], X[::-1, 24:], X[:, 23::-1]):
        check(own, edges if own.strides[1] > 0 else edges[::-1])
    check(np.lib.stride_tricks.as_strided(X[:1], (700, 24), (0, X.itemsize)), edges)  # one row, 700 times


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("crowded", [[0], [3, 12], range(8), range(8, 16), [15, 39]])
def test_columns_that_have_no_numbers_beside_columns_that_have(crowded, dtype, rng):
    """What one column leaves open must not disturb another that waits."""
    edges = edges_of(rng, 40, crowded=crowded)
    for missing in ([], [9], [1, 17, 39], range(40)):
        X = values_of(rng, 1000, edges, dtype, missing=missing)
        check(X, edges, missing=bool(missing))
    for _ in range(8):
        edges = edges_of(rng, 40, crowded=crowded)
        X = values_of(rng, 1000, edges, dtype)
        for j in (10, 18, 30):  # far below all edges
            X[rng.random(1000) < 0.05, j] = edges[j][0] - 5 * (edges[j][-1] - edges[j][0])
        check(X, edges)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_columns_that_fail_for_a_while(dtype, rng):
    """Values at edges, far away and missing, for some tiles, and then none."""
    edges = edges_of(rng, 24)
    X = values_of(rng, 6000, edges, dtype)
    largest = np.finfo(dtype).max
    X[:640, 2] = rng.choice(edges[2], size=640)
    X[640:1280, 11] = np.nan
    X[rng.random(6000) < 0.005, 5] = -largest
    X[rng.random(6000) < 0.005, 6] = largest
    X[::64, 20] = -1e6
    check(X, edges, missing=True)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_one_value_without_a_cell_is_found(value, dtype, rng):
    edges = edges_of(rng, 16)
    X = values_of(rng, 700, edges, dtype)
    starts = np.concatenate([[0], np.cumsum([len(own) for own in edges])]).astype(np.int64)
    cut, cells = (np.concatenate(edges), starts, False, None, None), np.empty(X.shape, dtype=np.uint8)
    assert _native.code_cells(X, *cut, cells, 1)
    for _ in range(40):
        own = X.copy()
        own[rng.integers(700), rng.integers(16)] = value
        assert not _native.code_cells(own, *cut, cells, 1)


@pytest.mark.parametrize("n_cells", [2, 7, 8, 9, 16, 17, 24, 31, 32, 33, 40, 56, 57, 63, 64])
def test_tallies_of_every_width(n_cells, rng):
    """Cells that are coded already, for every number of cells and of rows."""
    starts = (np.arange(10) * (n_cells - 1)).astype(np.int64)
    for n in (64 * 7 * 3, 64 * 7 * 3 + 64, 5000):
        cells = rng.integers(0, n_cells, size=(n, 9)).astype(np.uint8)
        y = rng.integers(-1, 2, size=n).astype(np.int32)
        for layout in (cells, np.asfortranarray(cells)):
            sums, counts = np.empty((2, 9 * n_cells)), np.empty(2)
            assert _native.count_cells(layout, None, starts, False, None, None, y, None, sums, counts, 1)
            for k in range(2):
                own = (np.arange(9) * n_cells + cells[y == k]).ravel()
                np.testing.assert_array_equal(sums[k], np.bincount(own, minlength=9 * n_cells))
