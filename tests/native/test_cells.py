"""The kernels of cells against plain numpy, over types, layouts, missing values and weights."""

import numpy as np
import pytest

from sefr import _native


def code(X, edges, starts, missing):
    """Return the cells by counting edges."""
    cells = np.empty(X.shape, dtype=int)
    for j in range(X.shape[1]):
        own = edges[starts[j] : starts[j + 1]]
        cells[:, j] = np.searchsorted(own, X[:, j].astype(float), side="right")
        if missing:
            cells[np.isnan(X[:, j].astype(float)), j] = len(own) + 1
    return cells


def problem(rng, dtype, *, missing):
    n, m, most = rng.integers(1, 300), rng.integers(1, 20), int(rng.integers(2, 60))
    X = (rng.normal(size=(n, m)) * rng.choice([1, 10, 100])).astype(dtype)
    if missing and X.dtype.kind == "f":
        X[rng.random(X.shape) < 0.1] = np.nan
    edges, starts = np.empty(m * (most - 1)), np.empty(m + 1, dtype=np.int64)
    _native.find_edges(np.sort(X.astype(float).T, axis=1).copy(), most, edges, starts)
    return (np.asfortranarray(X) if rng.random() < 0.5 else X), edges[: starts[-1]].copy(), starts


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1", "i4", "i8"])
@pytest.mark.parametrize("missing", [False, True])
def test_coding_counting_and_scoring(dtype, missing, rng):
    for _ in range(8):
        X, edges, starts = problem(rng, dtype, missing=missing)
        n, m = X.shape
        cut, expected = (edges, starts, missing), code(X, edges, starts, missing)
        cells = np.empty((n, m), dtype=np.uint8)
        assert _native.code_cells(X, *cut, cells, 1)
        np.testing.assert_array_equal(cells, expected)
        offsets = starts + np.arange(m + 1) * (1 + missing)
        at = offsets[:-1] + expected
        y = rng.integers(-1, 3, size=n).astype(np.int32)
        for weights in (None, rng.integers(0, 4, size=n).astype(float)):
            sums, counts = np.empty((3, offsets[-1])), np.empty(3)
            assert _native.count_cells(X, *cut, y, weights, sums, counts, 2)
            each, live = np.zeros_like(sums), y >= 0
            often = np.ones(n) if weights is None else weights
            np.add.at(each, (np.repeat(y[live], m), at[live].ravel()), np.repeat(often[live], m))
            np.testing.assert_array_equal(sums, each)
        for k in (1, 4):
            table, bias = rng.normal(size=(k, offsets[-1])), rng.normal(size=k)
            out, coded = np.empty((n, k)), np.empty((n, k))
            _native.cell_scores(X, *cut, table, bias, None, out, 1)
            np.testing.assert_allclose(out, bias + table[:, at].sum(axis=2).T, atol=1e-12)
            _native.cell_scores(cells, None, *cut[1:], table, bias, None, coded, 1)
            np.testing.assert_array_equal(coded, out)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_gradient_is_that_of_columns_written_out(classes, rng):
    for missing in (False, True):
        X, edges, starts = problem(rng, "f8", missing=missing)
        n, m = X.shape
        cells = np.empty((n, m), dtype=np.uint8)
        _native.code_cells(X, edges, starts, missing, cells, 1)
        offsets = starts + np.arange(m + 1) * (1 + missing)
        columns = np.zeros((n, offsets[-1]))
        columns[np.arange(n)[:, None], offsets[:-1] + cells] = 1
        y, weights = rng.integers(-1, classes, size=n).astype(np.int32), rng.random(n)
        k, own = 1 if classes == 2 else classes, rng.random(classes)
        table, bias = rng.normal(size=(k, offsets[-1])), rng.normal(size=k)
        found, expected = [[np.empty_like(table), np.empty(k)] for _ in range(2)]
        loss = _native.gradient_cells(cells, starts, missing, y, weights, own, table, bias, *found, 2)
        plain = np.zeros(offsets[-1]), np.ones(offsets[-1])
        other = _native.gradient(columns, *plain, y, weights, own, table, bias, *expected, 1)
        assert loss == pytest.approx(other, rel=1e-5, abs=1e-5)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)


def test_what_is_wrong_is_refused_and_nothing_outside_is_read():
    X, starts = np.zeros((3, 2)), np.array([0, 1, 2], dtype=np.int64)
    out, table, bias = np.empty((3, 1)), np.zeros((1, 4)), np.zeros(1)

    def scores(X=X, edges=(0.5, 0.5), starts=starts, table=table):
        edges = None if edges is None else np.array(edges)
        _native.cell_scores(X, edges, starts, False, table, bias, None, out, 1)

    scores()
    wrong = {
        "starts: not rising": [{"starts": np.array([0, 2, 1])}, {"starts": np.array([1, 1, 2])}],
        "edges: not finite": [{"edges": (0.5, np.nan)}, {"starts": np.array([0, 2, 2]), "edges": (1.0, 1.0)}],
        "table has shape": [{"table": np.zeros((1, 5))}],
        "X has 3 columns": [{"X": np.zeros((3, 3))}],
        "a cell is outside": [{"edges": None, "X": np.full((3, 2), 2, dtype=np.uint8)}],
    }
    for words, cases in wrong.items():
        for case in cases:
            with pytest.raises(ValueError, match=words):
                scores(**case)
    with pytest.raises(TypeError, match="cells in uint8"):
        scores(edges=None)
    huge = np.arange(300.0)
    with pytest.raises(ValueError, match="above 256 cells"):
        scores(edges=huge, starts=np.array([0, 300, 300]))
