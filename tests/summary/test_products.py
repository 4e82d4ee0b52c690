"""Products of columns summed over rows: exact for whole numbers, whatever X comes as; added as rows are."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from sefr._rows.cells import Categories, Cells, Coder, SparseCells
from sefr._rows.cells.ferns import Ferns
from sefr._rows.matrix import Columnar, Dense, Sparse, Stacked
from sefr._summary import multiply as module
from sefr._summary import products as limits
from sefr._summary.multiply import products
from sefr._summary.products import check_columns, pack, unpack

TYPES = ["f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


def whole_rows(n, m, seed=0, low=0, high=100):
    return np.random.default_rng(seed).integers(low, high, (n, m))


def expected(X, weights=None, missing=False, origin=0.0):
    """Return [1, x, absent]' V [1, x, absent] in float64: of whole numbers, exactly."""
    X = np.asarray(X, dtype=np.float64) - origin
    parts = [np.ones((len(X), 1)), np.where(np.isnan(X), 0, X)]
    columns = np.hstack([*parts, np.isnan(X)] if missing else parts)
    weights = np.ones(len(X)) if weights is None else weights
    return (columns * np.asarray(weights)[:, None]).T @ columns


def whole(found, origin=None):
    """Return all products about 0, head and tail together."""
    moved = found.about(np.zeros_like(found.origin) if origin is None else origin)
    total = unpack(moved.packed.head).astype(np.longdouble)
    return total if moved.packed.tail is None else total + unpack(moved.packed.tail)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (65, 7), (500, 24), (700, 41), (100, 130)])
def test_whole_numbers_are_exact_whatever_their_type_and_order(dtype, shape):
    X = whole_rows(*shape).astype(dtype)
    wide = np.zeros((shape[0], 2 * shape[1] + 1), dtype=dtype)
    wide[:, 1::2] = X
    for array in (X, np.asfortranarray(X), wide[:, 1::2], X[::-1]):
        assert np.array_equal(whole(products(Dense(array))), expected(X))
    columns = Columnar([X[:, j].astype(TYPES[j % len(TYPES)]) for j in range(shape[1])], shape[0])
    assert np.array_equal(whole(products(columns)), expected(X))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_threads_and_pieces_change_no_bit(n_threads):
    X = np.random.default_rng(1).normal(size=(20_000, 9))
    weights = np.random.default_rng(2).random(20_000)
    one = products(Dense(X), weights)
    many = products(Dense(X), weights, n_threads=n_threads)
    assert one.packed.head.tobytes() == many.packed.head.tobytes()
    whole_numbers = whole_rows(9_000, 5)
    cut = [Columnar(list(part.T), len(part)) for part in np.split(whole_numbers, [1000, 1000, 4321])]
    assert np.array_equal(whole(products(Stacked(cut), n_threads=n_threads)), expected(whole_numbers))


def test_a_type_that_no_kernel_knows_is_read_in_blocks():
    X = whole_rows(300, 6)
    assert np.array_equal(whole(products(Dense(X.astype("f2")))), expected(X))
    assert np.array_equal(whole(products(Dense(X.astype(">f8")))), expected(X))


@pytest.mark.parametrize("kind", ["dense", "sparse", "cells", "wide"])
def test_weight_3_is_the_row_thrice_and_weight_0_is_not_looked_at(kind, monkeypatch):
    X = whole_rows(400, 5).astype("f8")
    weights = (np.arange(400) % 4).astype(np.float64)
    repeated = np.repeat(X, np.arange(400) % 4, axis=0)
    X[weights == 0] = np.nan
    if kind == "wide":
        monkeypatch.setattr(module, "WIDE", 1)
    coder = Coder.of([np.arange(10.0, 100, 10)] * 5, missing=False)
    make = {
        "dense": Dense,
        "wide": Dense,
        "sparse": lambda x: Sparse(sparse.csr_matrix(x)),
        "cells": lambda x: Cells(Dense(x), coder),
    }[kind]
    assert np.array_equal(whole(products(make(X), weights)), whole(products(make(repeated))))


def test_values_far_from_zero_lose_no_digits():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4000, (3000, 4)) / 8.0  # three bits after the point: exact in rationals, and at 1e9
    far = X + 2.0**30
    found = products(Dense(far))
    at = [Fraction(2) ** 30 + 250] * 4
    rows = [[Fraction(v) - o for v, o in zip(row, at, strict=True)] for row in far.tolist()]
    own = whole(found, np.array([float(o) for o in at]))
    for i in range(4):
        for j in range(4):
            exact = sum(row[i] * row[j] for row in rows)
            assert abs(float(own[1 + i, 1 + j]) - float(exact)) <= 1e-13 * abs(
                float(sum(r[i] ** 2 for r in rows))
            )
    # and through an origin far away, there and back, with other rows added and taken away
    other = products(Dense(rng.normal(size=(500, 4)) * 1e3))
    back = ((found.about(np.zeros(4)) + other) - other).about(found.origin)
    assert unpack(back.packed.head) == pytest.approx(unpack(found.packed.head), rel=1e-12, abs=1e-3)


def test_products_add_subtract_and_decay_as_rows_do():
    X, Y = whole_rows(300, 6), whole_rows(200, 6, seed=1, low=10**6, high=10**6 + 50)
    a, b = products(Dense(X)), products(Dense(Y))
    assert np.array_equal(whole(a + b), expected(np.vstack([X, Y])))
    assert np.array_equal(whole((a + b) - b), expected(X))
    assert np.array_equal(whole((a + b) - a), expected(Y))
    assert np.array_equal(whole(a * 0.5), expected(X) / 2)
    with pytest.raises(ValueError, match="other columns"):
        a + products(Dense(X[:, :3]))


def test_missing_values_count_as_the_origin_and_are_counted():
    X = whole_rows(500, 4).astype("f8")
    X[np.random.default_rng(3).random(X.shape) < 0.2] = np.nan
    for matrix in (Dense(X), Columnar(list(X.T.copy()), 500), Sparse(sparse.csr_matrix(X))):
        found = products(matrix, missing=True)
        for origin in (np.zeros(4), np.array([3.0, 50, -7, 1000])):
            assert np.array_equal(whole(found, origin), expected(X, missing=True, origin=origin))
        assert products(matrix) is None
    near = found.near()
    assert near.sums[:4] == pytest.approx(np.zeros(4), abs=1e-9)  # about the means of what is there
    assert near.origin == pytest.approx(np.nanmean(X, axis=0))


def test_infinity_is_refused():
    X = np.ones((5, 2))
    X[3, 1] = np.inf
    for missing in (False, True):
        assert products(Dense(X), missing=missing) is None
        assert products(Sparse(sparse.csr_matrix(X)), missing=missing) is None


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_sparse_products_equal_dense_ones(index, n_threads):
    X = whole_rows(800, 30) * (np.random.default_rng(1).random((800, 30)) < 0.1)
    X[:, 3] = 0
    weights = np.random.default_rng(0).integers(0, 3, 800).astype(float)
    csr = sparse.csr_matrix(X.astype("f4"))
    csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
    found = products(Sparse(csr), weights, n_threads=n_threads)
    assert np.array_equal(whole(found), expected(X, weights))
    assert np.array_equal(whole(products(Sparse(csr.tocsc()), weights)), expected(X, weights))


def test_a_sparse_column_far_from_zero_loses_no_digits():
    X = np.zeros((1000, 3))
    X[::7, 0] = 1
    X[:, 1] = 2.0**30 + np.arange(1000) % 5
    found = products(Sparse(sparse.csr_matrix(X)))
    for origin in (np.array([0, 2.0**30, 0]), np.array([1, 2.0**30 + 2, 5])):
        assert np.array_equal(whole(found, origin), expected(X, origin=origin))


def test_a_sparse_column_far_from_zero_with_missing_values_loses_no_digits():
    rng = np.random.default_rng(7)
    X = 1e9 + rng.integers(-100, 100, (60, 4)) / 1024
    X[rng.random(X.shape) < 0.4] = np.nan
    found = products(Sparse(sparse.csr_matrix(X)), missing=True).near()
    expected = products(Dense(X), missing=True).about(found.origin)
    np.testing.assert_allclose(found.matrix(), expected.matrix(), rtol=1e-9, atol=1e-9)


def test_many_sparse_rows_are_shared_out_among_threads_without_a_change():
    X = sparse.random(2000, 300, 0.2, format="csr", random_state=0)
    one, many = (products(Sparse(X), n_threads=n) for n in (1, 4))
    assert one.packed.head.tobytes() == many.packed.head.tobytes()
    np.testing.assert_allclose(one.matrix(), (X.T @ X).toarray(), rtol=1e-12)


def coder_with_everything():
    edges = [np.array([1.0, 2, 3]), Categories(range(3)), np.arange(40.0), np.empty(0)]
    ferns = Ferns.of([[(0, 2), (2, 7)], [(1, 1), (2, 30), (0, 1)]])
    return Coder.of(edges, missing=True, ferns=ferns)


@pytest.mark.parametrize("n", [1, 63, 64, 1000, 33_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_of_cells_are_counted(n, weighted):
    coder = coder_with_everything()
    rng = np.random.default_rng(n)
    X = np.column_stack([rng.random(n) * 5, rng.integers(0, 3, n), rng.random(n) * 50, rng.random(n)])
    X[rng.random(X.shape) < 0.05] = np.nan
    weights = rng.integers(0, 4, n).astype(float) if weighted else None
    plain, coded = Cells(Dense(X), coder), Cells(Dense(X), coder)
    written_out = plain.block(slice(0, n))
    _ = coded.cells
    for matrix in (plain, coded, Cells(Columnar(list(X.T.copy()), n), coder)):
        for n_threads in (1, 3):
            found = products(matrix, weights, n_threads=n_threads)
            assert found.packed.tail is None
            assert np.array_equal(whole(found), expected(written_out, weights))


def test_pairs_with_256_cells_and_fractional_weights():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (5000, 3)).astype("f8")
    coder, weights = Coder.of([np.arange(255) + 0.5] * 3, missing=False), rng.random(5000)
    matrix = Cells(Dense(X), coder)
    found = products(matrix, weights)
    written_out = matrix.block(slice(0, 5000))
    np.testing.assert_allclose(whole(found), expected(written_out, weights), rtol=1e-12)


def test_a_value_without_a_cell_is_refused_unless_its_row_weighs_nothing():
    X = np.ones((100, 2))
    X[50, 1] = np.nan
    coder = Coder.of([np.array([0.5])] * 2, missing=False)
    weights = np.ones(100)
    assert products(Cells(Dense(X), coder)) is None
    assert products(Cells(Dense(X), coder), weights) is None
    weights[50] = 0
    assert products(Cells(Dense(X), coder), weights).count == 99


def test_sparse_cells_equal_dense_cells():
    X = whole_rows(600, 5) * (np.random.default_rng(1).random((600, 5)) < 0.2) - 0.0
    coder = Coder.of([np.arange(-5.0, 100, 10)] * 5, missing=False)
    weights = np.random.default_rng(0).integers(0, 3, 600).astype(float)
    dense = products(Cells(Dense(X.astype(float)), coder), weights)
    found = products(SparseCells(Sparse(sparse.csr_matrix(X)), coder), weights)
    assert np.array_equal(whole(found), whole(dense))


@pytest.mark.parametrize("kind", ["dense", "wide", "sparse", "cells", "sparse cells"])
@pytest.mark.parametrize("weighted", [False, True])
def test_targets_are_multiplied_too(kind, weighted, monkeypatch):
    X, T = whole_rows(300, 4), whole_rows(300, 2, seed=9, low=-500, high=10_000)
    weights = np.random.default_rng(0).integers(0, 3, 300).astype(float) if weighted else None
    coder = Coder.of([np.arange(-5.0, 100, 10)] * 4, missing=False)
    if kind == "wide":
        monkeypatch.setattr(module, "WIDE", 1)
    matrix = {
        "dense": Dense(X),
        "wide": Dense(X),
        "sparse": Sparse(sparse.csr_matrix(X)),
        "cells": Cells(Dense(X), coder),
        "sparse cells": SparseCells(Sparse(sparse.csr_matrix(X)), coder),
    }[kind]
    found = products(matrix, weights, targets=T)
    both = np.hstack([matrix.block(slice(0, 300)), T])
    assert whole(found).astype(float) == pytest.approx(expected(both, weights).astype(float), rel=1e-12)
    assert found.n_targets == 2


def test_blas_gives_the_same_where_columns_are_many(monkeypatch):
    X = whole_rows(1500, 40).astype("f4")
    X[7, 3] = np.nan
    monkeypatch.setattr(module, "WIDE", 10)
    monkeypatch.setattr(module, "WIDE_COLUMNS", 7)
    for n_threads in (1, 3):
        assert np.array_equal(
            whole(products(Dense(X), missing=True, n_threads=n_threads)), expected(X, missing=True)
        )
    assert products(Dense(X)) is None


def test_a_packed_matrix_is_its_upper_triangle_row_after_row():
    A = np.array([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]])
    assert pack(A).tolist() == [1, 2, 3, 4, 5, 6]
    assert unpack(pack(A)).tolist() == A.tolist()
    assert unpack(np.array([7.0])).tolist() == [[7.0]]


def test_too_many_columns_are_refused_with_a_number_and_a_way_out(monkeypatch):
    monkeypatch.setattr(limits, "free_memory", lambda: np.inf)
    check_columns(16_384, "")
    with pytest.raises(ValueError, match=r"second moments of 100000 columns need 320.0 GB .* use moments=1"):
        check_columns(100_000, "use moments=1")
    wide = sparse.csr_matrix((np.ones(1), ([0], [5])), shape=(3, 10**6))
    with pytest.raises(ValueError, match=r"second moments of 1000000 columns .* use moments=1"):
        products(Sparse(wide))
    many = Coder.of([np.arange(255.0)] * 100, missing=False)
    with pytest.raises(ValueError, match=r"second moments of 25600 columns .* use fewer bins"):
        products(Cells(Dense(np.zeros((2, 100))), many))


def test_columns_are_refused_before_memory_runs_out(monkeypatch):
    monkeypatch.setattr(limits, "free_memory", lambda: 2e9)
    check_columns(7_905, "")
    words = (
        r"7906 columns need 2.0 GB of memory, of which 2.0 GB are free, and at most 7905 .*: use moments=1"
    )
    with pytest.raises(ValueError, match=words):
        check_columns(7_906, "use moments=1")
    wide = Dense(np.zeros((2, 9_000), dtype="f4"))
    with pytest.raises(ValueError, match=r"9000 columns need 2.6 GB of memory"):
        products(wide)
    monkeypatch.setattr(limits, "free_memory", lambda: 0.0)
    check_columns(1_500, "")  # so few are not worth asking
