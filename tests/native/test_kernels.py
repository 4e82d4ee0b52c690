"""The kernels against plain numpy, over types, layouts, weights, folds, missing values and threads."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sefr import _native

DTYPES = ["f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]
LAYOUTS = ["C", "F", "strided", "reversed", "padded", "unaligned", "columns"]


def oracle(X, codes, weights, n_classes, n_folds, skip_nan):
    """One row at a time: no blocks, no threads."""
    X = np.asarray(X).astype(float)
    sums, present = np.zeros((2, n_folds * n_classes, X.shape[1]))
    counts = np.zeros(n_folds * n_classes)
    low, high = np.full((n_folds, X.shape[1]), np.inf), np.full((n_folds, X.shape[1]), -np.inf)
    weights = np.ones(len(X)) if weights is None else weights
    for x, g, w in zip(X, codes, weights, strict=True):
        if g < 0 or w == 0:
            continue
        there = ~np.isnan(x)
        counts[g] += w
        present[g] += w * there
        sums[g] += w * (np.where(there, x, 0.0) if skip_nan else x)
        low[g // n_classes] = np.fmin(low[g // n_classes], x)
        high[g // n_classes] = np.fmax(high[g // n_classes], x)
    return sums, counts, low, high, present


def outputs(n_classes, n_folds, m, skip_nan=False):
    """Arrays filled with a value that must not survive."""
    groups = n_classes * n_folds
    shapes = [(groups, m), (groups,), (n_folds, m), (n_folds, m), (groups, m)]
    arrays = [np.full(shape, 123.456) for shape in shapes]
    return arrays if skip_nan else [*arrays[:4], None]


def run(kernel, X, codes, weights, n_classes, n_folds, m, skip_nan=False, n_threads=1):
    out = outputs(n_classes, n_folds, m, skip_nan)
    args = X if isinstance(X, tuple) else (X,)
    finite = kernel(*args, codes, weights, n_classes, *out, n_threads)
    return finite, out


def random_matrix(rng, n, m, dtype, missing=0.0):
    """The whole range of a narrow type; of a wide one, a range in which float64 sums are exact."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        X = (rng.normal(size=(n, m)) * 10.0 + 3.0).astype(dtype)
        X[rng.random((n, m)) < missing] = np.nan
        return X
    if dtype.kind == "b":
        return rng.random((n, m)) < 0.5
    info = np.iinfo(dtype)
    low, high = max(info.min, -(2**40)), min(info.max, 2**40)
    X = rng.integers(low, high, (n, m), dtype=dtype, endpoint=True)
    X[rng.random((n, m)) < 0.6] = high  # extremes, where an accumulator that is too narrow would overflow
    X[rng.random((n, m)) < 0.1] = low
    return X


def laid_out(X, layout):
    """The same values in another place of memory."""
    n, m = X.shape
    if layout == "C":
        return np.ascontiguousarray(X)
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "strided":
        wide = np.zeros((2 * n + 1, 3 * m + 2), X.dtype)[1 : 2 * n + 1 : 2, 2 : 3 * m + 2 : 3]
        wide[:] = X
        return wide
    if layout == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if layout == "padded":
        padded = np.zeros((n, m + 3), X.dtype)[:, 1 : m + 1]
        padded[:] = X
        return padded
    if layout == "unaligned":
        odd = np.ndarray(X.shape, X.dtype, np.zeros(X.nbytes + 16, np.uint8), 1)
        odd[:] = X
        return odd
    types = [X.dtype, np.dtype("f8")] if X.dtype.itemsize < 8 else [X.dtype]
    return [X[:, j].astype(types[j % len(types)]) for j in range(m)]


def assert_same(found, expected, exact):
    for name, a, b in zip(("sums", "counts", "low", "high", "present"), found, expected, strict=True):
        if a is None:
            continue
        if exact or name in ("low", "high"):
            np.testing.assert_array_equal(a, b, name)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-10, err_msg=name)


SHAPES = [(0, 3), (1, 1), (2, 17), (7, 40), (300, 40), (900, 13), (1100, 3), (41, 4500), (600, 1100)]


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i2", "i8"])
@pytest.mark.parametrize(("n_classes", "n_folds"), [(2, 1), (40, 1), (40, 3), (1, 5)])
@pytest.mark.parametrize("skip_nan", [False, True])
def test_columns_of_many_rows_and_groups(rng, dtype, n_classes, n_folds, skip_nan):
    """Several blocks, some with more groups than have copies of their sums; also rows left out."""
    n, m = 5_000, 19
    X = random_matrix(rng, n, m, dtype, missing=0.1 * skip_nan)
    for lowest in (0, -1):
        codes = rng.integers(lowest, n_classes * n_folds, n).astype(np.int32)
        codes[:2500] %= 2  # few groups, then many
        expected = oracle(X, codes, None, n_classes, n_folds, skip_nan)
        outcomes = []
        for threads in (1, 3):
            finite, found = run(
                _native.summarise, laid_out(X, "F"), codes, None, n_classes, n_folds, m, skip_nan, threads
            )
            assert finite
            assert_same(found, expected, exact=np.dtype(dtype).kind != "f")
            outcomes.append([a.tobytes() for a in found if a is not None])
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("skip_nan", [False, True])
def test_summarise_equals_the_oracle(rng, dtype, layout, weighted, skip_nan):
    for n, m in SHAPES:
        n_classes, n_folds = int(rng.integers(1, 5)), int(rng.choice([1, 1, 3]))
        X = random_matrix(rng, n, m, dtype, missing=0.1 if skip_nan else 0.0)
        codes = rng.integers(-1, n_classes * n_folds, n).astype("i4")
        weights = rng.integers(0, 4, n) * 0.25 if weighted else None
        expected = oracle(X, codes, weights, n_classes, n_folds, skip_nan)
        found = run(_native.summarise, laid_out(X, layout), codes, weights, n_classes, n_folds, m, skip_nan)[
            1
        ]
        assert_same(found, expected, exact=np.dtype(dtype).kind != "f")


@pytest.mark.parametrize(("n", "m"), [(70_000, 5), (40_000, 40), (3000, 1500), (20, 40_000)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_thread_count_changes_no_bit(rng, n, m, dtype, order):
    X = np.asarray(random_matrix(rng, n, m, dtype), order=order)
    X[rng.random(X.shape) < 0.2] = 0
    if X.dtype.kind == "f":
        X[rng.random(X.shape) < 0.1] = -0.0
    codes = rng.integers(-1, 6, n).astype("i4")
    one = run(_native.summarise, X, codes, None, 2, 3, m)[1]
    coef, intercept = rng.normal(size=(3, m)), rng.normal(size=3)
    scores = [np.empty((n, 3)) for _ in range(2)]
    _native.scores(X, coef, intercept, None, scores[0], 1)
    for n_threads in (2, 3, 16):
        other = run(_native.summarise, X, codes, None, 2, 3, m, n_threads=n_threads)[1]
        for a, b in zip(one, other, strict=True):
            assert a is None or a.tobytes() == b.tobytes()
        _native.scores(X, coef, intercept, None, scores[1], n_threads)
        assert scores[0].tobytes() == scores[1].tobytes()


def test_sums_stay_near_rounding_with_a_large_offset(rng):
    X = (rng.normal(size=(200_000, 3)) + 1e9).astype("f8")
    codes = np.zeros(len(X), "i4")
    for order in "CF":
        sums = run(_native.summarise, np.asarray(X, order=order), codes, None, 1, 1, 3)[1][0]
        exact = [float(sum(int(v * 2**22) for v in X[:, j]) / 2**22) for j in range(3)]
        np.testing.assert_allclose(sums[0], exact, rtol=5e-16)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", ["i4", "i8"])
@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("skip_nan", [False, True])
def test_sparse_equals_dense(rng, dtype, index, kind, skip_nan):
    kernel = _native.summarise_csr if kind == "csr" else _native.summarise_csc
    for n, m in [(1, 1), (7, 40), (300, 20), (0, 3)]:
        X = random_matrix(rng, n, m, dtype, missing=0.1 if skip_nan else 0.0)
        X[rng.random(X.shape) < 0.6] = 0
        codes = rng.integers(-1, 6, n).astype("i4")
        weights = rng.integers(0, 4, n) * 0.25 if rng.random() < 0.5 else None
        S = sp.csr_array(X) if kind == "csr" else sp.csc_array(X)
        parts = (S.data, S.indices.astype(index), S.indptr.astype(index))
        expected = oracle(X, codes, weights, 3, 2, skip_nan)
        found = run(kernel, parts, codes, weights, 3, 2, m, skip_nan, n_threads=2)[1]
        assert_same(found, expected, exact=np.dtype(dtype).kind != "f")


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_sparse_thread_count_changes_no_bit(rng, kind):
    X = sp.random_array((20_000, 50), density=0.5, rng=np.random.default_rng(1), format=kind)
    codes = rng.integers(0, 2, 20_000).astype("i4")
    kernel = _native.summarise_csr if kind == "csr" else _native.summarise_csc
    one, two = (
        run(kernel, (X.data, X.indices, X.indptr), codes, None, 2, 1, 50, n_threads=t)[1] for t in (1, 3)
    )
    assert all(a is None or a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True))


@st.composite
def mixed_columns(draw):
    """Columns of several types, weights for some hyperplanes, and maybe a list of rows."""
    n, m, k = draw(st.integers(1, 140)), draw(st.integers(1, 30)), draw(st.integers(1, 6))
    columns = []
    for _ in range(m):
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        finite = {"allow_nan": False, "allow_infinity": False} if dtype.kind == "f" else {}
        values = draw(hnp.arrays(dtype, draw(st.integers(1, 3)), elements=hnp.from_dtype(dtype, **finite)))
        step = draw(st.sampled_from([1, 2, -1]))
        columns.append(np.resize(values, 2 * n)[::step][:n])
    numbers = st.floats(-1e3, 1e3)
    coef, intercept = (
        draw(hnp.arrays(float, (k, m), elements=numbers)),
        draw(hnp.arrays(float, k, elements=numbers)),
    )
    rows = draw(st.none() | hnp.arrays(np.int64, st.integers(0, 80), elements=st.integers(0, n - 1)))
    return columns, coef, intercept, rows


@given(mixed_columns(), st.integers(1, 3))
def test_scores_of_columns_are_those_of_rows_to_the_bit(problem, n_threads):
    columns, coef, intercept, rows = problem
    shape = (len(columns[0]) if rows is None else len(rows), len(coef))
    found, expected = np.full(shape, 7.7), np.full(shape, 8.8)
    _native.scores(columns, coef, intercept, rows, found, n_threads)
    _native.scores(np.column_stack([c.astype(float) for c in columns]), coef, intercept, rows, expected, 1)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("n", "m", "k"), [(20_000, 13, 1), (9000, 700, 1), (9000, 700, 3), (200, 1500, 10)])
def test_scores_of_many_columns_are_those_of_rows_to_the_bit(rng, n, m, k):
    """More than one tile and task."""
    X, coef, intercept = rng.normal(size=(n, m)), rng.normal(size=(k, m)), rng.normal(size=k)
    expected, found = np.empty((n, k)), np.empty((n, k))
    _native.scores(X, coef, intercept, None, expected, 1)
    for columns in ([X[:, j].copy() for j in range(m)], [X[:, j] for j in range(m)]):
        _native.scores(columns, coef, intercept, None, found, 2)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS[:-1])
def test_scores_equal_a_product(rng, dtype, layout):
    for n, m in SHAPES:
        X = random_matrix(rng, n, m, dtype)
        for k in (1, 2, 5, 17):
            coef, intercept = rng.normal(size=(k, m)), rng.normal(size=k)
            expected = X.astype(float) @ coef.T + intercept
            bound = 1e-13 * (np.abs(X.astype(float)) @ np.abs(coef.T) + 1)
            out = np.full((n, k), 7.7)
            _native.scores(laid_out(X, layout), coef, intercept, None, out, 2)
            assert (np.abs(out - expected) <= bound).all()
            rows = rng.integers(0, n, n // 2) if n else np.empty(0, "i8")
            out = np.full((len(rows), k), 7.7)
            _native.scores(laid_out(X, layout), coef, intercept, rows, out, 1)
            assert (np.abs(out - expected[rows]) <= bound[rows]).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(500, 30), (50, 2000)])
def test_non_finite_values_reach_the_sums(rng, dtype, order, value, shape):
    codes = rng.integers(0, 2, shape[0]).astype("i4")
    for _ in range(20):
        X = np.asarray(rng.normal(size=shape).astype(dtype), order=order)
        i, j = rng.integers(shape[0]), rng.integers(shape[1])
        assert run(_native.summarise, X, codes, None, 2, 1, shape[1])[0] is True
        X[i, j] = value
        finite, out = run(_native.summarise, X, codes, None, 2, 1, shape[1])
        assert finite is False
        assert np.argwhere(~np.isfinite(out[0])).tolist() == [[codes[i], j]]
        left_out = np.where(np.arange(shape[0]) == i, -1, codes).astype("i4")
        assert run(_native.summarise, X, left_out, None, 2, 1, shape[1])[0] is True


@pytest.mark.parametrize("dtype", DTYPES[2:])
def test_integers_are_ranked(rng, dtype):
    for n in (0, 1, 5, 1000):
        y = random_matrix(rng, n, 1, dtype)[:, 0]
        y = (y % 7).astype(dtype)[::-1] if np.dtype(dtype).itemsize > 2 else y[::-1]
        codes = np.full(n, -5, "i4")
        values, expected = np.unique(y, return_inverse=True)
        assert _native.encode_integers(y, codes) == values.tolist()
        assert codes.tolist() == expected.tolist()


@pytest.mark.parametrize("n", [300, 4095, 4096, 9000])  # windows of 128 and of 4096 labels
@pytest.mark.parametrize(
    "ends", [(0, 127), (0, 128), (-64, 63), (-65, 63), (-64, 64), (0, 4095), (-2048, 2048)]
)
def test_integers_at_the_ends_of_a_window_are_ranked(rng, n, ends):
    y, codes = rng.choice([*ends, 0, 1], size=n), np.full(n, -5, "i4")
    values, expected = np.unique(y, return_inverse=True)
    assert _native.encode_integers(y, codes) == values.tolist()
    assert codes.tolist() == expected.tolist()


def test_spread_integers_are_declined():
    codes = np.zeros(2, "i4")
    assert _native.encode_integers(np.array([0, 65536 + 8]), codes) == [0, 65536 + 8]
    assert _native.encode_integers(np.array([0, 65536 + 9]), codes) is None
    assert _native.encode_integers(np.array([0, 2**64 - 1], "u8"), codes) is None
    assert _native.encode_integers(np.array([2**64 - 2, 2**64 - 1], "u8"), codes) == [2**64 - 2, 2**64 - 1]
    assert _native.encode_integers(np.array([-(2**63), 1 - 2**63]), codes) == [-(2**63), 1 - 2**63]


@pytest.mark.parametrize("width", [1, 2, 3, 13])
def test_strings_are_coded_in_order_of_appearance(rng, width):
    y = rng.integers(0, 5000, 20_000).astype(f"U{width}")
    first = np.sort(np.unique(y, return_index=True)[1])
    codes = np.zeros(len(y), "i4")
    assert _native.encode_bytes(y.view("u1").reshape(len(y), -1), codes) == first.tolist()
    assert (y[first][codes] == y).all()
    objects = y.astype(object)
    assert _native.encode_objects(objects, codes) == y[first].tolist()
    assert (y[first][codes] == y).all()


def test_objects_of_every_hashable_kind_are_coded():
    nan = float("nan")
    y = np.array(["a", 1, None, "a", True, (1, 2), nan, nan, 1.0], object)
    codes = np.zeros(len(y), "i4")
    assert len(_native.encode_objects(y, codes)) == 5
    assert codes.tolist() == [0, 1, 2, 0, 1, 3, 4, 4, 1]
    with pytest.raises(TypeError, match="unhashable"):
        _native.encode_objects(np.array([[], {}], object), codes[:2])


def valid_call(rng):
    X = rng.normal(size=(50, 4))
    codes = rng.integers(0, 2, 50).astype("i4")
    return [X, codes, None, 2, *outputs(2, 1, 4)[:4], None, 1]


@pytest.mark.parametrize(
    ("position", "value", "error", "text"),
    [
        (0, np.zeros((50, 4), ">f8"), TypeError, "X has type"),
        (0, np.zeros((50, 4), "f2"), TypeError, "X has type"),
        (0, np.zeros((50, 4), "c16"), TypeError, "X has type"),
        (0, np.zeros((50, 4, 1)), ValueError, "3 dimensions"),
        (0, np.zeros((49, 4)), ValueError, "codes has length 50, not 49"),
        (0, np.zeros((50, 5)), ValueError, r"sums has shape \(2, 4\), not \(2, 5\)"),
        (0, [np.zeros(50)] * 3 + [np.zeros(49)], ValueError, "column 3 of X has length 49"),
        (0, [np.zeros(50)] * 3 + [np.zeros(50, "f2")], TypeError, "column 3 of X has type"),
        (1, np.zeros(50, "i8"), TypeError, "codes has type"),
        (1, np.zeros(100, "i4")[::2], ValueError, "codes is not contiguous"),
        (1, np.full(50, 2, "i4"), ValueError, "not below 2"),
        (2, np.zeros(49), ValueError, "weights has length 49"),
        (3, 0, ValueError, "n_classes"),
        (3, 3, ValueError, "multiple of n_classes"),
        (4, np.zeros((2, 4), "f4"), TypeError, "sums has type"),
        (4, np.zeros((2, 8))[:, ::2], ValueError, "sums is not contiguous"),
        (5, np.zeros(3), ValueError, "counts has length 3"),
        (6, np.zeros((2, 4)), ValueError, "low has shape"),
        (8, np.zeros((1, 4)), ValueError, "present has shape"),
        (9, 0, ValueError, "n_threads"),
    ],
)
def test_bad_arguments_are_named_and_nothing_is_written(rng, position, value, error, text):
    args = valid_call(rng)
    assert _native.summarise(*args) is True
    for array in args[4:8]:
        array[:] = 55.0
    args[position] = value
    with pytest.raises(error, match=text):
        _native.summarise(*args)
    assert all((array == 55.0).all() for k, array in enumerate(args[4:8], 4) if k != position)


@pytest.mark.parametrize("shape", [(3000, 40), (300, 2000), (3000, 5)])
def test_a_bad_code_anywhere_is_found_and_nothing_is_written(rng, shape):
    X = rng.normal(size=shape)
    for layout in (X, np.asfortranarray(X), [X[:, j] for j in range(5)]):
        m = 5 if isinstance(layout, list) else shape[1]
        for _ in range(10):
            codes = rng.integers(0, 2, shape[0]).astype("i4")
            codes[rng.integers(shape[0])] = rng.choice([2, 2**31 - 1])
            out = outputs(2, 1, m)
            with pytest.raises(ValueError, match="codes"):
                _native.summarise(layout, codes, None, 2, *out, 2)
            assert all((a == 123.456).all() for a in out[:4])


@pytest.mark.parametrize(
    ("what", "position", "value", "text"),
    [
        ("indices", 0, 4, "indices"),
        ("indices", 3, -1, "indices"),
        ("indptr", 0, -1, "indptr"),
        ("indptr", 2, 10**6, "indptr"),
        ("indptr", 2, 0, "indptr"),
    ],
)
def test_a_bad_sparse_matrix_is_refused(what, position, value, text):
    S = sp.csr_array(np.arange(1.0, 21.0).reshape(5, 4))
    parts = {"data": S.data, "indices": S.indices.copy(), "indptr": S.indptr.copy()}
    parts[what][position] = value
    for kernel, n in ((_native.summarise_csr, 5), (_native.summarise_csc, 4)):
        out = outputs(2, 1, 9 - n)
        with pytest.raises(ValueError, match=text):
            kernel(*parts.values(), np.zeros(n, "i4"), None, 2, *out, 1)
        assert all((a == 123.456).all() for a in out[:4])


def test_rows_outside_the_matrix_are_refused():
    X, coef, intercept, out = np.ones((5, 3)), np.ones((1, 3)), np.zeros(1), np.zeros((2, 1))
    for rows in ([0, 5], [-1, 0]):
        with pytest.raises(ValueError, match="rows"):
            _native.scores(X, coef, intercept, np.array(rows), out, 1)
        with pytest.raises(ValueError, match="rows"):
            _native.scores(list(X.T), coef, intercept, np.array(rows), out, 1)
    assert (out == 0).all()
    with pytest.raises(ValueError, match="column 2 of X has length 4, not 5"):
        _native.scores([X[:, 0], X[:, 1], X[1:, 2]], coef, intercept, None, np.zeros((5, 1)), 1)


def test_arrays_changed_by_another_thread_are_survived(rng):
    """Codes and indices jump between good and wild values meanwhile: an error or an answer, never a crash."""
    n, m = 4000, 40
    X = rng.normal(size=(n, m))
    S = sp.csr_array(X)
    indices, codes = S.indices.copy(), rng.integers(0, 2, n).astype("i4")
    good_indices, good_codes = indices.copy(), codes.copy()
    done = threading.Event()

    def disturb():
        noise = np.random.default_rng(1)
        while not done.is_set():
            codes[noise.integers(n)] = noise.choice([0, 1, -1, 2**31 - 1, -(2**31)])
            indices[noise.integers(len(indices))] = noise.choice([0, m - 1, m, 2**31 - 1, -1])
            if noise.random() < 0.05:
                codes[:], indices[:] = good_codes, good_indices

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(150):
            for kernel, data in (
                (_native.summarise, X),
                (_native.summarise, np.asfortranarray(X[:, :3])),
                (_native.summarise_csr, (S.data, indices, S.indptr)),
            ):
                width = 3 if data is not X and not isinstance(data, tuple) else m
                try:
                    run(kernel, data, codes, None, 2, 1, width, n_threads=2)
                except ValueError as error:
                    assert "codes" in str(error) or "indices" in str(error)  # noqa: PT017
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("k", [1, 2, 3, 10, 17])
def test_labels_are_those_of_the_highest_score(rng, k):
    scores = rng.integers(-2, 3, (1_000, k)).astype(np.float64)  # ties, zeros, and classes without rows
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    values = rng.integers(0, 2**64, max(k, 2), dtype=np.uint64)
    found = np.empty(len(scores), dtype=np.uint64)
    _native.choose(scores, values, found)
    codes = (scores[:, 0] > 0).astype(int) if k == 1 else scores.argmax(axis=1)
    assert (found == values[codes]).all()


@pytest.mark.parametrize(
    ("shape", "n_values", "n_found"), [((5, 1), 1, 5), ((5, 3), 2, 5), ((5, 3), 3, 4), ((5, 0), 0, 5)]
)
def test_labels_of_other_shapes_are_refused(shape, n_values, n_found):
    values, found = np.zeros(n_values, dtype=np.uint64), np.zeros(n_found, dtype=np.uint64)
    with pytest.raises(ValueError, match=r"has length|no score"):
        _native.choose(np.zeros(shape), values, found)
