"""The kernels of cells where there are many rows: batches of one class, and columns two by two.

Row counts lie around the sizes of tiles, batches and blocks; the reference is plain numpy.
"""

import numpy as np
import pytest

from sefr import _native

TYPES = ["f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


def cut(rng, sizes, *, missing):
    """Return rising edges for columns of so many cells, one of them of missing values, and their starts."""
    lengths = np.asarray(sizes) - 1 - missing
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    edges = [np.sort(rng.choice(np.arange(-120, 250), size=length, replace=False)) for length in lengths]
    return np.concatenate([*edges, []]).astype(float), starts


def values(rng, n, edges, starts, dtype):
    """Return rows of edges, of numbers beside them and of numbers far away, as many columns as there are."""
    X = np.empty((n, len(starts) - 1))
    for j in range(X.shape[1]):
        own = np.concatenate([edges[starts[j] : starts[j + 1]], [-1e6, 0.0, 1e6]])
        X[:, j] = rng.choice(own, size=n) + rng.choice([0.0, 0.0, 1.0, -1e-3], size=n)
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    return (X if info is None else np.clip(X, info.min, info.max)).astype(dtype)


def code(X, edges, starts, missing):
    cells = np.empty(X.shape, dtype=int)
    for j in range(X.shape[1]):
        own, x = edges[starts[j] : starts[j + 1]], X[:, j].astype(float)
        cells[:, j] = np.where(np.isnan(x), len(own) + missing, np.searchsorted(own, x, side="right"))
    return cells


def layouts(X):
    """Return the same rows as they may lie in memory."""
    wide = np.zeros((2 * len(X), 2 * X.shape[1] + 1), dtype=X.dtype)
    wide[::2, 1::2] = X
    apart = np.zeros((len(X), X.shape[1] + 3), dtype=X.dtype)
    apart[:, 2:-1] = X
    return {
        "rows": X,
        "columns": np.asfortranarray(X),
        "every second": wide[::2, 1::2],
        "backwards": X[::-1].copy()[::-1],
        "rows apart": apart[:, 2:-1],
        "own buffers": [np.ascontiguousarray(x) for x in X.T],
    }


def check_counts(X, y, classes, cells, operands):
    edges, starts, missing = operands
    offsets = starts + np.arange(len(starts)) * (1 + missing)
    live, m = y >= 0, cells.shape[1]
    expected = np.zeros((classes, offsets[-1]))
    np.add.at(expected, (np.repeat(y[live], m), (offsets[:-1] + cells[live]).ravel()), 1)
    for name, own in layouts(X).items():
        for threads in (1, 3):
            sums, counts = np.full(expected.shape, np.nan), np.full(classes, np.nan)
            cut = (edges, starts, bool(missing), None, None)
            assert _native.count_cells(own, *cut, y, None, sums, counts, threads)
            np.testing.assert_array_equal(sums, expected, err_msg=name)
            np.testing.assert_array_equal(counts, np.bincount(y[live], minlength=classes))


@pytest.mark.parametrize("n_cells", [2, 3, 8, 31, 32, 33, 64, 65, 256])
@pytest.mark.parametrize("classes", [2, 5])
def test_batches_count_what_rows_one_by_one_do(n_cells, classes, rng):
    for n in (classes * 512 + np.array([0, 1, 700])).tolist():
        m, missing = int(rng.integers(1, 20)), int(n_cells > 2 and rng.random() < 0.5)
        sizes = np.append(n_cells, rng.integers(1 + missing, n_cells + 1, size=m - 1))
        edges, starts = cut(rng, sizes, missing=missing)
        X = values(rng, n, edges, starts, "f4")
        if missing:
            X[rng.random(X.shape) < 0.1] = np.nan
        y = rng.permutation(np.arange(n) % classes).astype(np.int32)
        y[rng.random(n) < 0.02 * (n > classes * 600)] = -1
        check_counts(X, y, classes, code(X, edges, starts, missing), (edges, starts, missing))


@pytest.mark.parametrize("dtype", TYPES)
def test_batches_of_every_type(dtype, rng):
    for missing in (0, 1):
        sizes = rng.integers(2 + missing, 34, size=17)
        edges, starts = cut(rng, sizes, missing=missing)
        X = values(rng, 1300, edges, starts, dtype)
        if missing and X.dtype.kind == "f":
            X[rng.random(X.shape) < 0.1] = np.nan
        y = (np.arange(1300) % 5 > 1).astype(np.int32)  # 520 rows and 780
        check_counts(X, y, 2, code(X, edges, starts, missing), (edges, starts, missing))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_one_value_without_a_cell_is_found_wherever_it_lies(dtype, rng):
    edges, starts = cut(rng, [32] * 9, missing=0)
    X, y = values(rng, 1500, edges, starts, dtype), (np.arange(1500) % 2).astype(np.int32)
    sums, counts = np.empty((2, 9 * 32)), np.empty(2)
    for value in (np.nan, np.inf, -np.inf):
        for i, j in zip([0, 1, 63, 700, 1023, 1024, 1499], [0, 7, 8, 3, 1, 8, 5], strict=True):
            own, codes, skipped = X.copy(), y.copy(), y.copy()
            own[i, j] = value
            skipped[i] = -1  # a row that does not count may hold anything
            for rows in (own, np.asfortranarray(own)):
                operands = (rows, edges, starts, False, None, None)
                assert not _native.count_cells(*operands, codes, None, sums, counts, 1)
                assert _native.count_cells(*operands, skipped, None, sums, counts, 1)


def test_a_class_that_does_not_exist_is_refused_among_many_rows(rng):
    edges, starts = cut(rng, [8] * 3, missing=0)
    X, y = values(rng, 2000, edges, starts, "f4"), np.zeros(2000, dtype=np.int32)
    y[1700] = 2
    with pytest.raises(ValueError, match="a code is not below 2"):
        _native.count_cells(X, edges, starts, False, None, None, y, None, np.empty((2, 24)), np.empty(2), 1)


def logistic(cells, offsets, y, weights, table, bias):
    """Return the loss and its derivatives, residuals rounded to float32 as the kernel rounds them."""
    live = (y >= 0) & (weights != 0)
    score = bias + table[0, offsets[:-1] + cells].sum(axis=1)
    loss = np.logaddexp(0, score) - np.where(y == 1, score, 0)
    residual = np.where(live, weights, 0) * (1 / (1 + np.exp(-score)) - (y == 1))
    rounded = residual.astype(np.float32).astype(float)
    gradient = np.zeros(table.shape[1])
    np.add.at(gradient, (offsets[:-1] + cells).ravel(), np.repeat(rounded, cells.shape[1]))
    return (np.where(live, weights, 0) * loss).sum(), gradient, residual.sum()


@pytest.mark.parametrize("n_cells", [2, 3, 8, 31, 32, 33, 45, 127, 128, 256])
def test_columns_two_by_two_have_the_gradient_of_each(n_cells, rng):
    for n, m in [(1, 1), (15, 3), (17, 16), (1023, 2), (2048, 40), (4111, 7), (9000, 33), (2049, 1)]:
        sizes = rng.integers(1, n_cells + 1, size=m)
        sizes[rng.random(m) < 0.7] = n_cells
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        starts = offsets - np.arange(m + 1)
        cells = rng.integers(0, sizes, size=(n, m)).astype(np.uint8)
        y = rng.integers(-(n % 3), 2, size=n).clip(-1).astype(np.int32)
        own, weights = rng.random(2), rng.integers(0, 3, size=n) * rng.random(n)
        table, bias = rng.normal(size=(1, offsets[-1])) / m**0.5, rng.normal(size=1)
        for given in (None, weights):
            each = (np.ones(n) if given is None else given) * own[np.maximum(y, 0)]
            loss, gradient, sum_ = logistic(cells, offsets, y, each, table, bias)
            found = []
            for threads in (1, 3):
                out = np.full(table.shape, np.nan), np.full(1, np.nan)
                mine = _native.gradient_cells(
                    _native.shelve_cells(cells, starts, False, 1),
                    y,
                    given,
                    own,
                    None,
                    table,
                    bias,
                    *out,
                    threads,
                )
                found.append((mine, *out))
            assert found[0][0] == pytest.approx(loss, rel=1e-12, abs=1e-12)
            np.testing.assert_allclose(found[0][1][0], gradient, rtol=1e-9, atol=1e-7)
            np.testing.assert_allclose(found[0][2], sum_, rtol=1e-9, atol=1e-9)
            for one, other in zip(*found, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("classes", [2, 6])
def test_rows_of_several_chunks_and_blocks(classes, rng):
    n, m, k = 70_001, 16, 1 if classes == 2 else classes
    cells, starts = rng.integers(0, 8, size=(n, m)).astype(np.uint8), np.arange(m + 1) * 7
    y, own = rng.integers(-1, classes, size=n).astype(np.int32), rng.random(classes)
    table, bias = rng.normal(size=(k, 8 * m)) / 4, rng.normal(size=k)
    at, live = np.arange(m) * 8 + cells, y >= 0
    score = bias + table[:, at].sum(axis=2).T
    score = np.column_stack([np.zeros(n), score]) if k == 1 else score
    likely = np.exp(score - score.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    weight = np.where(live, own[y], 0)
    loss = -(weight * np.log(likely[np.arange(n), y])).sum()
    residual = weight[:, None] * (likely - (np.arange(classes) == y[:, None]))
    residual = residual[:, 1:] if k == 1 else residual
    expected = np.array([np.bincount(at.ravel(), np.repeat(one, m), minlength=8 * m) for one in residual.T])
    out = np.empty(table.shape), np.empty(k)
    shelf = _native.shelve_cells(cells, starts, False, k)
    assert _native.gradient_cells(shelf, y, None, own, None, table, bias, *out, 2) == pytest.approx(
        loss, rel=1e-6
    )
    np.testing.assert_allclose(out[0], expected, rtol=1e-4, atol=0.01)
    np.testing.assert_allclose(out[1], residual.sum(axis=0), rtol=1e-4, atol=0.01)


def test_a_cell_outside_its_column_is_refused_wherever_it_lies(rng):
    sizes = np.array([5, 30, 7, 32, 2, 3] * 3)
    starts = np.concatenate([[0], np.cumsum(sizes)]) - np.arange(19)
    cells = rng.integers(0, sizes, size=(600, 18)).astype(np.uint8)
    _native.shelve_cells(cells, starts, False, 1)
    for i, j in [(0, 0), (15, 17), (16, 15), (255, 3), (256, 16), (511, 2), (599, 17)]:
        own = cells.copy()
        own[i, j] = sizes[j]
        for n_scores in (1, 3):
            with pytest.raises(ValueError, match="a cell is outside its feature"):
                _native.shelve_cells(own, starts, False, n_scores)


def test_a_shelf_is_what_was_put_there(rng):
    cells = rng.integers(0, 4, size=(300, 20)).astype(np.uint8)
    starts, y = np.arange(21) * 3, rng.integers(0, 2, size=300).astype(np.int32)
    shelf, table = _native.shelve_cells(cells, starts, False, 1), rng.normal(size=(1, 80))
    found = []
    for _ in range(2):
        out = np.empty((1, 80)), np.empty(1)
        found.append(
            (_native.gradient_cells(shelf, y, None, np.ones(2), None, table, np.zeros(1), *out, 1), *out)
        )
        cells[:] = 0  # the caller's memory
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    own = rng.normal(size=(3, 80)), np.zeros(3), np.empty((3, 80)), np.empty(3)
    with pytest.raises(ValueError, match="shelf is for 1 scores, not 3"):
        _native.gradient_cells(shelf, y, None, np.ones(3), None, *own, 1)
    with pytest.raises(ValueError, match="PyCapsule"):
        _native.gradient_cells(cells, y, None, np.ones(2), None, table, np.zeros(1), *out, 1)
