"""Loss and gradient in C against plain numpy: every type, layout and shape."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from sefr import _native

DTYPES = ["f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]


def layouts(X):
    """Yield the same values in other places of memory."""
    n, m = X.shape
    yield "C", X
    yield "F", np.asfortranarray(X)
    yield "reversed", np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    wide = np.zeros((2 * n + 1, 3 * m + 2), X.dtype)
    wide[1 : 2 * n + 1 : 2, 2 : 3 * m + 2 : 3] = X
    yield "strided", wide[1 : 2 * n + 1 : 2, 2 : 3 * m + 2 : 3]
    odd = np.ndarray((n, m), X.dtype, np.zeros(X.nbytes + 16, np.uint8), 1)
    odd[:] = X
    yield "unaligned", odd


def oracle(x, codes, weights, class_weights, coef, intercept):
    """Return the loss and its derivatives in float64, all rows at once."""
    weight = (np.ones(len(x)) if weights is None else weights) * np.where(codes < 0, 0, class_weights[codes])
    kept = weight > 0
    x, codes, weight = x[kept], codes[kept], weight[kept]
    z = x @ coef.T + intercept
    z = np.hstack([np.zeros_like(z), z]) if z.shape[1] == 1 else z
    log_total = logsumexp(z, axis=1)
    residual = np.exp(z - log_total[:, None])
    residual[np.arange(len(codes)), codes] -= 1
    residual = residual[:, -len(coef) :] * weight[:, None]
    loss = weight @ (log_total - z[np.arange(len(codes)), codes])
    return loss, residual.T @ x, residual.sum(axis=0)


def problem(rng, n, m, n_classes, dtype):
    n_scores = 1 if n_classes == 2 else n_classes
    X = (rng.normal(size=(n, m)) * 20 + 50).clip(0, 120).astype(dtype)
    codes = rng.integers(-1, n_classes, n).astype(np.int32)
    weights = rng.integers(0, 3, n).astype(float)
    model = (
        rng.random(n_classes) + 0.5,
        rng.normal(size=(n_scores, m)) / np.sqrt(m),
        rng.normal(size=n_scores),
    )
    return X, codes, weights, model


def run(kernel, first, codes, weights, model, m, n_threads=1, targets=None):
    class_weights, *model = model
    gradient, sums = np.full(model[0].shape, 9.0), np.full(len(model[0]), 9.0)
    loss = kernel(*first, codes, weights, class_weights, targets, *model, gradient, sums, n_threads)
    return loss, gradient, sums


def assert_close(found, expected, size, label):
    assert found[0] == pytest.approx(expected[0], rel=1e-5, abs=1e-5), label
    np.testing.assert_allclose(found[1], expected[1], atol=4e-6 * size, err_msg=label)
    np.testing.assert_allclose(found[2], expected[2], atol=4e-6 * size, err_msg=label)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7, 11])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_layouts(rng, dtype, n_classes):
    for n, m in [(1, 1), (5, 3), (37, 17), (300, 70), (2100, 33), (20, 1500)]:
        X, codes, weights, model = problem(rng, n, m, n_classes, dtype)
        centre = X.astype(float).mean(axis=0).astype(np.float32).astype(float)
        scale = np.full(m, np.float32(0.05)).astype(float)
        expected = oracle((X.astype(float) - centre) * scale, codes, weights, *model)
        unweighted = oracle((X.astype(float) - centre) * scale, codes, None, *model)
        named = [*layouts(X), ("columns", [np.ascontiguousarray(X[:, j]) for j in range(m)])]
        for name, array in named:
            found = run(_native.gradient, (array, centre, scale), codes, weights, model, m)
            assert_close(found, expected, n + 1, f"{name} {n}x{m}")
            threads = run(_native.gradient, (array, centre, scale), codes, weights, model, m, 3)
            assert all(np.array_equal(a, b) for a, b in zip(found, threads, strict=True)), name
        assert_close(
            run(_native.gradient, (X, centre, scale), codes, None, model, m), unweighted, n + 1, "unweighted"
        )


@pytest.mark.parametrize("n_classes", [2, 3, 11])
@pytest.mark.parametrize("dtype", DTYPES[:-1])
@pytest.mark.parametrize("index", ["i4", "i8"])
def test_csr(rng, dtype, n_classes, index):
    for n, m in [(1, 1), (37, 17), (3000, 40)]:
        X, codes, weights, (class_weights, coef, intercept) = problem(rng, n, m, n_classes, dtype)
        matrix = sparse.csr_matrix(np.where(rng.random((n, m)) < 0.3, X, 0).astype(dtype))
        model = (class_weights, coef * 0.02, intercept)
        first = (matrix.data, matrix.indices.astype(index), matrix.indptr.astype(index), np.zeros(m))
        expected = oracle(matrix.toarray().astype(float), codes, weights, *model)
        found = run(_native.gradient_csr, first, codes, weights, model, m, 2)
        assert_close(found, expected, 120 * (n + 1), f"{n}x{m}")


def squared(x, codes, weights, targets, coef, intercept):
    """Return the squared loss and its derivatives in float64."""
    weight = np.where(codes < 0, 0, weights)
    left = x @ coef.T + intercept - targets
    residual = left * weight[:, None]
    return (residual * left).sum() / 2, residual.T @ x, residual.sum(axis=0)


@pytest.mark.parametrize("n_scores", [1, 2, 3, 7])
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i8"])
def test_the_squared_loss_of_rows_with_targets(rng, dtype, n_scores):
    """A second task by the same passes: rows, columns, CSR and cells."""
    for n, m in [(1, 1), (37, 17), (300, 70), (2100, 33), (20, 1500)]:
        X, _, weights, _ = problem(rng, n, m, 2, dtype)
        codes = rng.integers(-1, 1, n).astype(np.int32)
        targets = rng.normal(size=(n, n_scores)) * 10
        model = np.ones(1), rng.normal(size=(n_scores, m)) / np.sqrt(m), rng.normal(size=n_scores)
        centre = X.astype(float).mean(axis=0).astype(np.float32).astype(float)
        scale = np.full(m, np.float32(0.05)).astype(float)
        expected = squared((X.astype(float) - centre) * scale, codes, weights, targets, *model[1:])
        for label, array in layouts(X):
            first = (array, centre, scale)
            found = run(_native.gradient, first, codes, weights, model, m, 1, targets)
            assert_close(found, expected, 30 * (n + 1), f"{n}x{m} {label}")
            threads = run(_native.gradient, first, codes, weights, model, m, 3, targets)
            for one, other in zip(found, threads, strict=True):
                np.testing.assert_array_equal(one, other)
        matrix = sparse.csr_matrix(X)
        first = (matrix.data, matrix.indices, matrix.indptr, np.zeros(m))
        expected = squared(X.astype(float), codes, weights, targets, *model[1:])
        found = run(_native.gradient_csr, first, codes, weights, model, m, 2, targets)
        assert_close(found, expected, 4000 * (n + 1), f"{n}x{m} CSR")
        sizes = rng.integers(2, 9, m)
        cells = rng.integers(0, sizes, size=(n, m)).astype(np.uint8)
        starts = np.concatenate([[0], np.cumsum(sizes - 1)])
        columns = np.zeros((n, sizes.sum()))
        columns[np.arange(n)[:, None], np.concatenate([[0], np.cumsum(sizes)[:-1]]) + cells] = 1
        table = np.ones(1), rng.normal(size=(n_scores, sizes.sum())), rng.normal(size=n_scores)
        expected = squared(columns, codes, weights, targets, *table[1:])
        shelf = _native.shelve_cells(cells, starts, False, n_scores)
        found = run(_native.gradient_cells, (shelf,), codes, weights, table, m, 2, targets)
        assert_close(found, expected, 100 * (n + 1), f"{n}x{m} cells")


@pytest.mark.parametrize(("m", "n_classes", "dtype"), [(9, 3, "f8"), (1500, 2, "f4"), (1500, 2, "f8")])
def test_what_is_not_finite_counts_as_the_centre_and_rows_left_out_are_not_read(rng, m, n_classes, dtype):
    X, codes, weights, model = problem(rng, 50, m, n_classes, dtype)
    codes[:] = np.abs(codes)
    weights[3] = 2
    X[3, 4], X[7, 0] = np.nan, np.inf
    codes[7] = -1
    filled = X.copy()
    filled[3, 4], filled[7, 0] = 40.0, 0.0
    centre, scale = np.full(m, 40.0), np.full(m, 0.1)
    expected = oracle((filled - centre) * scale, codes, weights, *model)
    for array in (X, np.asfortranarray(X)):
        assert_close(
            run(_native.gradient, (array, centre, scale), codes, weights, model, m), expected, 51, "nan"
        )


@pytest.mark.parametrize(
    ("dtype", "unit"),
    [("u1", 1), ("i4", 1), *((kind, unit) for kind in ("f4", "f8") for unit in (1, 1e-30, 1e30))],
)
def test_long_rows_of_any_size_of_values(rng, dtype, unit):
    X = (rng.integers(0, 100, (23, 1700)) * unit).astype(dtype)
    codes, weights = rng.integers(-1, 2, 23).astype(np.int32), rng.integers(0, 3, 23).astype(float)
    centre = (np.full(1700, 50.0) * unit).astype(np.float32).astype(float)
    scale = (np.full(1700, 0.04) / unit).astype(np.float32).astype(float)
    model = (np.array([0.7, 1.3]), rng.normal(size=(1, 1700)) / 40, np.array([0.3]))
    expected = oracle((X.astype(float) - centre) * scale, codes, weights, *model)
    assert_close(run(_native.gradient, (X, centre, scale), codes, weights, model, 1700), expected, 24, "long")


def test_scores_far_from_zero_neither_overflow_nor_vanish():
    X = np.array([[1000.0], [-1000.0], [1000.0], [-1000.0]])
    codes = np.array([1, 1, 0, 0], dtype=np.int32)
    zero, one = np.zeros(1), np.ones(1)
    model = (np.ones(2), np.ones((1, 1)), zero)
    loss, gradient, sums = run(_native.gradient, (X, zero, one), codes, None, model, 1)
    assert loss == pytest.approx(2000)
    assert gradient[0, 0] == pytest.approx(2000)
    assert sums[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": np.array([0, 2, 1], dtype=np.int32)}, "a code is not below 2"),
        ({"codes": np.array([0, 1], dtype=np.int32)}, "codes has length 2, not 3"),
        ({"coef": np.zeros((2, 2))}, "2 scores for 2 classes"),
        ({"coef": np.zeros((1, 3))}, "coef has shape"),
        ({"centre": np.zeros(3)}, "centre has length 3, not 2"),
        ({"weights": np.zeros(2)}, "weights has length 2, not 3"),
        ({"targets": np.zeros((3, 1))}, "rows with targets are of one class, not of 2"),
        ({"class_weights": np.ones(1)}, "1 scores for 1 classes"),
        ({"class_weights": np.ones(1), "targets": np.zeros((3, 2))}, "targets has shape"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    arguments = {
        "X": np.zeros((3, 2)),
        "centre": np.zeros(2),
        "scale": np.ones(2),
        "codes": np.array([0, 1, 1], dtype=np.int32),
        "weights": None,
        "class_weights": np.ones(2),
        "targets": None,
        "coef": np.zeros((1, 2)),
        "intercept": np.zeros(1),
        "coef_gradient": np.zeros((1, 2)),
        "intercept_gradient": np.zeros(1),
        "n_threads": 1,
    }
    with pytest.raises(ValueError, match=message):
        _native.gradient(**(arguments | change))


def test_bad_indices_are_refused():
    codes, two = np.array([0, 1], dtype=np.int32), np.ones(2)
    rest = (
        np.zeros(2),
        codes,
        None,
        two,
        None,
        np.zeros((1, 2)),
        np.zeros(1),
        np.zeros((1, 2)),
        np.zeros(1),
        1,
    )
    with pytest.raises(ValueError, match="outside the matrix"):
        _native.gradient_csr(
            two, np.array([0, 2], dtype=np.int32), np.array([0, 1, 2], dtype=np.int32), *rest
        )
    with pytest.raises(ValueError, match="not ascending"):
        _native.gradient_csr(
            two, np.array([0, 1], dtype=np.int32), np.array([0, 5, 2], dtype=np.int32), *rest
        )
