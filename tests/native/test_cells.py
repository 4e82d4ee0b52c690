"""The kernels of cells against plain numpy, over types, layouts, missing values and weights."""

from itertools import pairwise

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
    _native.find_edges(np.sort(X.astype(float).T, axis=1).copy(), most, False, edges, starts)
    return (np.asfortranarray(X) if rng.random() < 0.5 else X), edges[: starts[-1]].copy(), starts


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1", "i4", "i8"])
@pytest.mark.parametrize("missing", [False, True])
def test_coding_counting_and_scoring(dtype, missing, rng):
    for _ in range(8):
        X, edges, starts = problem(rng, dtype, missing=missing)
        n, m = X.shape
        cut, expected = (edges, starts, missing, None, None), code(X, edges, starts, missing)
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


@pytest.mark.parametrize(("n", "m"), [(1, 16), (70, 15), (64, 17), (200, 256), (130, 300)])
def test_cells_are_looked_up_and_one_outside_is_found(n, m, rng):
    n_cells = rng.integers(2, 256, size=m)
    starts = np.concatenate([[0], np.cumsum(n_cells - 1)])
    cut, at = (None, starts, False, None, None), np.concatenate([[0], np.cumsum(n_cells)[:-1]])
    table, bias, rows = rng.normal(size=(1, n_cells.sum())), np.ones(1), rng.integers(0, n, size=100)
    kept = rng.integers(0, n_cells, size=(n, m)).astype(np.uint8)
    for cells in (kept, np.asfortranarray(kept)):
        for listed in (None, rows):
            out = np.empty((n if listed is None else 100, 1))
            _native.cell_scores(cells, *cut, table, bias, listed, out, 1)
            expected = 1 + table[0, at + cells].sum(axis=1)
            np.testing.assert_allclose(out[:, 0], expected if listed is None else expected[rows], atol=1e-11)
        for i, j in ((n - 1, m - 1), (n // 2, m // 2)):
            wrong = cells.copy(order="K")
            wrong[i, j] = n_cells[j]
            with pytest.raises(ValueError, match="a cell is outside"):
                _native.cell_scores(wrong, *cut, table, bias, None, np.empty((n, 1)), 1)


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 8, 9, 20, 26, 32, 33, 50])
def test_the_gradient_is_that_of_columns_written_out(classes, rng):
    for missing in (False, True):
        X, edges, starts = problem(rng, "f8", missing=missing)
        n, m = X.shape
        cells = np.empty((n, m), dtype=np.uint8)
        _native.code_cells(X, edges, starts, missing, None, None, cells, 1)
        offsets = starts + np.arange(m + 1) * (1 + missing)
        columns = np.zeros((n, offsets[-1]))
        columns[np.arange(n)[:, None], offsets[:-1] + cells] = 1
        y, weights = rng.integers(-1, classes, size=n).astype(np.int32), rng.random(n)
        k, own = 1 if classes == 2 else classes, rng.random(classes)
        table, bias = rng.normal(size=(k, offsets[-1])), rng.normal(size=k)
        found, expected = [[np.empty_like(table), np.empty(k)] for _ in range(2)]
        loss = _native.gradient_cells(
            _native.shelve_cells(cells, starts, missing, k), y, weights, own, None, table, bias, *found, 2
        )
        plain = np.zeros(offsets[-1]), np.ones(offsets[-1])
        other = _native.gradient(columns, *plain, y, weights, own, None, table, bias, *expected, 1)
        assert loss == pytest.approx(other, rel=1e-5, abs=1e-5)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)


def test_what_is_wrong_is_refused_and_nothing_outside_is_read():
    X, starts = np.zeros((3, 2)), np.array([0, 1, 2], dtype=np.int64)
    out, table, bias = np.empty((3, 1)), np.zeros((1, 4)), np.zeros(1)

    def scores(X=X, edges=(0.5, 0.5), starts=starts, table=table, ferns=None, comparisons=None):
        edges = None if edges is None else np.array(edges)
        ferns = None if ferns is None else np.array(ferns)
        comparisons = None if comparisons is None else np.array(comparisons, dtype=np.int32)
        _native.cell_scores(X, edges, starts, False, ferns, comparisons, table, bias, None, out, 1)

    scores()
    wrong = {
        "starts: not rising": [{"starts": np.array([0, 2, 1])}, {"starts": np.array([1, 1, 2])}],
        "edges: not finite": [{"edges": (0.5, np.nan)}, {"starts": np.array([0, 2, 2]), "edges": (1.0, 1.0)}],
        "table has shape": [{"table": np.zeros((1, 5))}],
        "X has 3 columns": [{"X": np.zeros((3, 3))}],
        "a cell is outside": [{"edges": None, "X": np.full((3, 2), 2, dtype=np.uint8)}],
        "ferns: 1 to 8": [
            {"ferns": [0, 0], "comparisons": np.empty((0, 3))},
            {"ferns": [0, 9], "comparisons": [(0, 1, 0)] * 9},
            {"ferns": [1, 2], "comparisons": [(0, 1, 0)] * 2},
            {"ferns": [0, 1], "comparisons": [(0, 1, 0)] * 2},
            {"ferns": [0, 2], "comparisons": [(0, 1, 0)]},
            {"ferns": [0, 1], "comparisons": [(2, 1, 0)]},
            {"ferns": [0, 1], "comparisons": [(-1, 1, 0)]},
            {"ferns": [0, 1], "comparisons": [(0, 2, 0)]},
            {"ferns": [0, 1], "comparisons": [(0, -1, 0)]},
        ],
        "comparisons must be": [
            {"ferns": [0, 1]},
            {"ferns": [0, 1], "comparisons": [(0, 1)]},
        ],
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


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_ferns_are_counted_and_looked_up_beside_features(dtype, rng):
    for missing in (False, True):
        X, edges, starts = problem(rng, dtype, missing=missing)
        (n, m), n_cells = X.shape, np.diff(starts) + 1 + missing
        lengths = rng.integers(1, 9, size=5)
        ferns = np.concatenate([[0], np.cumsum(lengths)])
        features = rng.integers(0, m, size=ferns[-1])
        asked = np.column_stack([features, rng.integers(0, n_cells[features]), rng.random(ferns[-1]) < 0.3])
        expected = code(X, edges, starts, missing)
        for begin, end in pairwise(ferns):
            place = np.zeros(n, dtype=int)
            for feature, bound, equal in asked[begin:end]:
                own = expected[:, feature]
                place = 2 * place + (own == bound if equal else own >= bound)
            expected = np.column_stack([expected, place])
        cells = np.empty((n, m + 5), dtype=np.uint8)
        cut = (edges, starts, missing, ferns, asked.astype(np.int32))
        assert _native.code_cells(X, *cut, cells, 2)
        np.testing.assert_array_equal(cells, expected)
        offsets = np.concatenate([[0], np.cumsum([*n_cells, *(1 << lengths)])])
        y = rng.integers(0, 3, size=n).astype(np.int32)
        sums, counts = np.empty((3, offsets[-1])), np.empty(3)
        assert _native.count_cells(X, *cut, y, None, sums, counts, 2)
        each = np.zeros_like(sums)
        np.add.at(each, (np.repeat(y, m + 5), (offsets[:-1] + cells).ravel()), 1)
        np.testing.assert_array_equal(sums, each)
        table, out = rng.normal(size=(2, offsets[-1])), np.empty((n, 2))
        _native.cell_scores(X, *cut, table, np.zeros(2), None, out, 1)
        np.testing.assert_allclose(out, table[:, offsets[:-1] + cells].sum(axis=2).T, atol=1e-12)


def told(left, place, answers):
    """Return by how much answers lower the loss, beside the cells of a fern so far."""
    worth = 0.0
    for group in np.unique(2 * place + answers):
        sums = left[2 * place + answers == group].sum(axis=0)
        worth += (sums[:-1] ** 2).sum() / (sums[-1] + 1)
    return worth


def left_to_tell(scores, y, weights):
    """Return the gradient of the loss of every row, and its curvature, which is at least how wrong it is."""
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    wrong = 1 - chances[np.arange(len(y)), y]
    curvature = np.maximum((chances * (1 - chances)).sum(axis=1), wrong)
    gradient = np.eye(scores.shape[1])[y] - chances
    if scores.shape[1] == 2:
        gradient = gradient[:, 1:]
    return weights[:, None] * np.column_stack([gradient, curvature])


@pytest.mark.parametrize("k", [2, 3])
def test_a_fern_that_looks_at_everything_takes_the_best_comparison(k, rng):
    """Each tells most of what the ferns before left to tell: boosting, written out."""
    n, m, n_ferns = 60, 3, 4
    cells = rng.integers(0, [2, 5, 7], size=(n, m)).astype(np.uint8)
    cells[:3] = [1, 4, 6]
    y, weights = rng.integers(0, k, size=n).astype(np.int32), rng.integers(1, 3, size=n).astype(float)
    equal = np.array([0, 1, 0], dtype=np.uint8)
    found = np.empty((n_ferns, 4, 2), dtype=np.int32)
    how = (k, m, 256, 1, 0.3, 0)
    used = _native.grow_ferns(cells, np.array([0, 1, 5, 11]), equal, None, y, weights, None, *how, found)
    assert used == n_ferns
    scores = np.tile(np.log(np.bincount(y, weights) + 0.5), (n, 1))
    possible = [
        cells[:, j] == bound if equal[j] else cells[:, j] >= bound
        for j, size in enumerate([2, 5, 7])
        for bound in range(1 - equal[j], size)
    ]
    for fern in found:
        left, place = left_to_tell(scores, y, weights), np.zeros(n, dtype=int)
        for feature, bound in fern:
            own = cells[:, feature]
            answers = own == bound if equal[feature] else own >= bound
            best = max(told(left, place, other) for other in possible)
            assert told(left, place, answers) == pytest.approx(best, rel=1e-4)
            place = 2 * place + answers
        for group in np.unique(place):
            sums = left[place == group].sum(axis=0)
            step = 0.3 * sums[:-1] / (sums[-1] / k + 1)
            scores[place == group, -len(step) :] += step


def test_ferns_for_numbers_take_the_comparison_that_lowers_the_squared_error_most(rng):
    n, m, n_ferns = 60, 3, 4
    cells = rng.integers(0, [2, 5, 7], size=(n, m)).astype(np.uint8)
    cells[:3] = [1, 4, 6]
    targets, weights = rng.normal(size=(n, 2)), rng.integers(1, 3, size=n).astype(float)
    equal, codes = np.array([0, 1, 0], dtype=np.uint8), np.zeros(n, dtype=np.int32)
    found = np.empty((n_ferns, 4, 2), dtype=np.int32)
    starts = np.array([0, 1, 5, 11])
    how = (1, m, 256, 1, 0.1, 0)
    used = _native.grow_ferns(cells, starts, equal, None, codes, weights, targets, *how, found)
    assert used == n_ferns
    scores = np.zeros((n, 2))
    possible = [
        cells[:, j] == bound if equal[j] else cells[:, j] >= bound
        for j, size in enumerate([2, 5, 7])
        for bound in range(1 - equal[j], size)
    ]
    for fern in found:
        left, place = np.column_stack([targets - scores, np.ones(n)]) * weights[:, None], np.zeros(n, int)
        for feature, bound in fern:
            own = cells[:, feature]
            answers = own == bound if equal[feature] else own >= bound
            best = max(told(left, place, other) for other in possible)
            assert told(left, place, answers) == pytest.approx(best, rel=1e-4)
            place = 2 * place + answers
        for group in np.unique(place):
            sums = left[place == group].sum(axis=0)
            scores[place == group] += 0.1 * sums[:-1] / (sums[-1] + 1)


def test_growing_refuses_what_is_wrong():
    cells, starts = np.zeros((3, 2), dtype=np.uint8), np.array([0, 1, 2])
    equal, y, out = (
        np.zeros(2, dtype=np.uint8),
        np.zeros(3, dtype=np.int32),
        np.empty((2, 3, 2), dtype=np.int32),
    )

    def grow(cells=cells, starts=starts, equal=equal, y=y, out=out, targets=None):
        return _native.grow_ferns(cells, starts, equal, None, y, None, targets, 2, 2, 4, 1, 0.3, 0, out)

    assert grow() == 2
    assert not grow(starts=np.array([0, 0, 0]))
    wrong = {
        "a code is not below 2": {"y": y + 2},
        "a cell is outside": {"cells": cells + 2},
        "1 to 8 pairs": {"out": np.empty((2, 9, 2), dtype=np.int32)},
        "starts has length": {"starts": starts[:-1]},
        "equal has length": {"equal": equal[:1]},
        "codes has length": {"y": y[:2]},
        "targets has": {"targets": np.zeros((2, 1))},
        "targets must have a column": {"targets": np.zeros((3, 0))},
    }
    for words, case in wrong.items():
        with pytest.raises(ValueError, match=words):
            grow(**{name: np.ascontiguousarray(value).astype(value.dtype) for name, value in case.items()})


def grown(cells, y, held=None, subsets=1, step=0.3, count=12):
    """Return ferns grown on cells below 4, and how many are of use."""
    m = cells.shape[1]
    found = np.zeros((count, 3, 2), dtype=np.int32)
    starts, equal = np.arange(m + 1) * 3, np.zeros(m, dtype=np.uint8)
    used = _native.grow_ferns(cells, starts, equal, held, y, None, None, 3, 2, 4, subsets, step, 0, found)
    return found, used


@pytest.fixture
def crossed(rng):
    cells = rng.integers(0, 4, (600, 5)).astype(np.uint8)
    y = ((cells[:, 0] > 1) ^ (cells[:, 1] > 1)).astype(np.int32) + (cells[:, 2] > 2)
    return cells, y.astype(np.int32)


def test_rows_that_are_held_out_choose_no_comparison(crossed, rng):
    cells, y = crossed
    held = (rng.random(600) < 0.25).astype(np.uint8)
    found, used = grown(cells, y, held)
    mixed = y.copy()
    mixed[held == 1] = rng.permutation(mixed[held == 1])
    other, fewer = grown(cells, mixed, held)
    np.testing.assert_array_equal(other[:fewer], found[:fewer])
    assert fewer < used  # they only say when it is enough
    nobody, all_used = grown(cells, y, np.zeros(600, dtype=np.uint8))
    assert all_used == 12
    assert (nobody != found).any()


def test_each_fern_is_grown_on_one_subset_whatever_the_order_of_the_rows(crossed, rng):
    cells, y = crossed
    found, used = grown(cells, y, subsets=3)
    assert (found[: min(used, 3)] != grown(cells, y)[0][: min(used, 3)]).any()
    order = rng.permutation(600)
    other, same = grown(cells[order], y[order], subsets=3)
    assert same == used
    np.testing.assert_array_equal(other[:used], found[:used])


def test_a_wrong_number_of_subsets_or_held_rows_is_refused(crossed):
    cells, y = crossed
    for subsets in (0, 65):
        with pytest.raises(ValueError, match="subsets"):
            grown(cells, y, subsets=subsets)
    with pytest.raises(TypeError, match="real number"):
        grown(cells, y, step="much")
    with pytest.raises(ValueError, match="held"):
        grown(cells, y, np.zeros(599, dtype=np.uint8))
