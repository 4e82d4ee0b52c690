"""The same numbers, however they lie in memory and whatever holds them, give the same model."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sefr import SEFRClassifier, Summary, cross_validate
from sefr._rows.inputs import matrix_of
from sefr._rows.matrix import Stacked

TYPES = ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "f2", ">f8", "<f8", ">i4", "g"]


@pytest.fixture
def table(rng):
    """Small whole numbers, many of them 0, that every type holds; labels of three classes."""
    X = rng.integers(0, 4, (60, 7)) * (rng.random((60, 7)) < 0.6)
    return X.astype(np.float64), np.arange(60) % 3


def assert_same(clf, X, expected, as_float):
    assert clf.summary_ == expected.summary_ or (
        clf.summary_.feature_names is not None and (clf.summary_.sums == expected.summary_.sums).all()
    )
    assert (clf.coef_ == expected.coef_).all()
    np.testing.assert_allclose(
        clf.decision_function(X), expected.decision_function(as_float), rtol=1e-13, atol=1e-14
    )
    np.testing.assert_allclose(clf.contributions(X), expected.contributions(as_float), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", "CF")
def test_every_number_type_and_order(table, dtype, order):
    X, y = table
    if dtype == "?":
        X = (X > 0).astype(float)
    given = np.asarray(X.astype(dtype), order=order)
    assert_same(SEFRClassifier().fit(given, y), given, SEFRClassifier().fit(X, y), X)


@pytest.mark.parametrize(
    "view",
    [
        lambda X: X[::2],
        lambda X: X[:, ::3],
        lambda X: X[::-1],
        lambda X: X[:, ::-1],
        lambda X: np.asfortranarray(X)[5:50:3, 1:],
        lambda X: X.T.copy().T,
        lambda X: np.broadcast_to(X[:, :1], (60, 4)),
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i8"])
def test_strided_views(table, view, dtype):
    X, y = table
    given = view(X.astype(dtype))
    y = y[: len(given)]
    assert_same(SEFRClassifier().fit(given, y), given, SEFRClassifier().fit(given.copy(), y), given.copy())


def test_read_only_arrays_and_memory_maps(table, tmp_path):
    X, y = table
    frozen = X.copy()
    frozen.flags.writeable = False
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    expected = SEFRClassifier().fit(X, y)
    for given in (frozen, mapped):
        assert_same(SEFRClassifier().fit(given, y), given, expected, X)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "?"])
def test_sparse_of_every_form(table, form, kind, dtype):
    X, y = table
    if dtype == "?":
        X = (X > 0).astype(float)
    given = getattr(sparse, f"{form}_{kind}")(X.astype(dtype))
    assert_same(SEFRClassifier().fit(given, y), given, SEFRClassifier().fit(X, y), X)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_implicit_zeros_count_for_the_extremes(form):
    X = np.array([[5.0, -3.0, 2.0], [0.0, -1.0, 4.0], [7.0, 0.0, 3.0]])
    summary = Summary.of(sparse.csr_array(X).asformat(form), [0, 1, 1])
    assert summary.low.tolist() == [0, -3, 2]
    assert summary.high.tolist() == [7, 0, 4]


def test_sparse_duplicates_add_up():
    doubled = sparse.csr_array((np.ones(4), np.array([0, 0, 1, 0]), np.array([0, 3, 4])), shape=(2, 2))
    assert doubled.toarray().tolist() == [[2, 1], [1, 0]]
    summary = Summary.of(doubled, [0, 1])
    assert summary.sums.tolist() == [[2, 1], [1, 0]]
    assert summary.high.tolist() == [2, 1]
    assert doubled.nnz == 4  # the caller's matrix is as it was


def test_sparse_is_not_densified(rng):
    X = sparse.random_array((20_000, 20_000), density=1e-4, format="csr", rng=rng)
    y = np.arange(20_000) % 2
    tracemalloc.start()
    SEFRClassifier().fit(X, y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6  # dense it is 3.2 GB


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": lambda columns: pa.table({name: pa.array(values) for name, values in columns.items()}),
    "pyarrow chunked": lambda columns: pa.concat_tables(
        [pa.table(columns).slice(0, 13), pa.table(columns).slice(13)]
    ),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("mixed", [False, True])
def test_dataframes(table, make, mixed):
    X, y = table
    types = ["f4", "f8", "i1", "i8", "u2", "?", "u4"] if mixed else ["f8"] * 7
    X[:, 5] = X[:, 5] > 0
    columns = {f"c{j}": X[:, j].astype(types[j]) for j in range(7)}
    frame = make(columns)
    clf = SEFRClassifier().fit(frame, y)
    assert clf.feature_names_in_.tolist() == list(columns)
    assert clf.summary_.feature_names == tuple(columns)
    assert_same(clf, frame, SEFRClassifier().fit(X, y), X)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("bins", [None, 4])
def test_a_column_may_have_the_name_of_an_attribute(table, mixed, bins):
    X, y = table
    X = X.astype(np.int16) if mixed else X
    names = ["column_names", "columns", "values", "dtype", "shape", "codes", "array"]
    frame = pd.DataFrame({name: X[:, j].astype("i8" if j == 3 else X.dtype) for j, name in enumerate(names)})
    clf = SEFRClassifier(bins=bins).fit(frame, y)
    assert clf.feature_names_in_.tolist() == names
    plain = SEFRClassifier(bins=bins).fit(frame.to_numpy(), y)
    assert np.array_equal(clf.decision_function(frame), plain.decision_function(frame.to_numpy()))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_nulls_in_dataframes_are_missing_values(make):
    frame = make({"a": [1.0, None, 3.0, 4.0], "b": [1, 2, None, 4]})
    with pytest.raises(ValueError, match=r"NaN: row 1, column 0 \('a'\)"):
        SEFRClassifier().fit(frame, [0, 1, 0, 1])
    clf = SEFRClassifier(missing="ignore").fit(frame, [0, 1, 0, 1])
    assert clf.summary_.present.tolist() == [[2, 1], [1, 2]]


def chunked(X, step):
    """An Arrow table of float32 and integers whose columns come in chunks, as from a Parquet file."""
    whole = pa.table({f"c{j}": X[:, j].astype("f4" if j % 2 else "i2") for j in range(X.shape[1])})
    return pa.concat_tables([whole.slice(start, step) for start in range(0, len(X), step)])


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_arrow_chunks_are_one_table(rng, passes, weighted):
    X = rng.integers(0, 100, (36_000, 6)).astype(float)
    y = (X[:, 0] + rng.normal(size=len(X)) > 50).astype(int)
    weights = rng.integers(0, 3, len(X)) if weighted else None
    frame = chunked(X, 10_000)
    assert isinstance(matrix_of(frame), Stacked)
    clf = SEFRClassifier(passes=passes).fit(frame, y, weights)
    one = SEFRClassifier(passes=passes).fit(frame.combine_chunks(), y, weights)
    assert clf.summary_ == one.summary_
    np.testing.assert_allclose(clf.coef_, one.coef_)
    np.testing.assert_allclose(clf.decision_function(frame), clf.decision_function(frame.combine_chunks()))
    folds = [cross_validate(clf, table, y, cv=3)["test_score"] for table in (frame, frame.combine_chunks())]
    np.testing.assert_array_equal(*folds)


def test_arrow_chunks_say_where_a_value_is_missing(rng):
    X = rng.random((30_000, 3))
    frame = chunked(X, 10_000)
    bad = frame["c1"].to_numpy().copy()
    bad[20_007] = np.nan
    frame = frame.set_column(1, "c1", pa.chunked_array([bad[:10_000], bad[10_000:20_000], bad[20_000:]]))
    y = np.arange(30_000) % 2
    with pytest.raises(ValueError, match=r"NaN: row 20007, column 1 \('c1'\)"):
        SEFRClassifier().fit(frame, y)
    assert SEFRClassifier(missing="ignore").fit(frame, y).summary_.present[:, 1].tolist() == [15_000, 14_999]


def test_arrow_chunks_are_not_copied(rng, monkeypatch):
    frame = chunked(rng.random((40_000, 4)), 10_000)
    for number, piece in enumerate(matrix_of(frame).pieces):
        for j, column in enumerate(piece.columns):
            assert column.ctypes.data == frame.column(j).chunk(number).to_numpy().ctypes.data
    monkeypatch.delattr(Stacked, "joined")
    y = np.arange(40_000) % 2
    SEFRClassifier().fit(frame, y).predict(frame)


def test_pandas_of_one_type_is_not_copied(rng):
    frame = pd.DataFrame(rng.random((50_000, 40)))
    y = np.arange(50_000) % 2
    tracemalloc.start()
    SEFRClassifier().fit(frame, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6  # the frame is 16 MB


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "c"], ["a", "b", "c"]),
        (np.array(["b", "a", "c"], dtype=object), ["a", "b", "c"]),
        ([True, False, True], [False, True]),
        ([30, -7, 10**12], [-7, 30, 10**12]),
        (np.array([3, 1, 2], dtype=np.uint8), [1, 2, 3]),
        ([1.0, 0.0, 2.0], [0.0, 1.0, 2.0]),
        (pd.Series(["x", "y", "x"], dtype="category"), ["x", "y"]),
        (pd.Series([5, 6, 5], dtype="Int64"), [5, 6]),
        (pl.Series(["x", "y", "x"]), ["x", "y"]),
        (pa.array(["x", "y", "x"]), ["x", "y"]),
        (np.array([b"q", b"p", b"q"]), [b"p", b"q"]),
        (np.array([2, 1, 2], dtype=">i4"), [1, 2]),
    ],
)
def test_labels_of_any_kind(labels, classes):
    X = np.array([[0.0, 1.0], [2.0, 0.5], [0.5, 3.0]])
    clf = SEFRClassifier().fit(X, labels)
    assert clf.classes_.tolist() == classes
    assert set(clf.predict(X)) <= set(classes)
    expected = SEFRClassifier().fit(X, np.unique(np.asarray(labels), return_inverse=True)[1])
    assert (clf.coef_ == expected.coef_).all()


def test_string_labels_of_many_rows_match_numpy(rng):
    y = np.array([f"label {i}" for i in range(300)])[rng.integers(0, 300, 5000)]
    X = rng.random((5000, 2))
    for given in (y, y.astype(object), y.astype("S")):
        clf = SEFRClassifier().fit(X, given)
        assert (clf.classes_ == np.unique(given)).all()
        assert (clf.summary_.counts == np.unique(given, return_counts=True)[1]).all()


def test_missing_values_vote_for_neither_side(rng):
    X, y = rng.random((200, 6)), np.arange(200) % 3
    gone = rng.random(X.shape) < 0.2
    clf = SEFRClassifier(missing="ignore").fit(np.where(gone, np.nan, X), y)
    for k in range(3):
        rows = y == k
        assert clf.summary_.present[k].tolist() == (~gone[rows]).sum(axis=0).tolist()
        np.testing.assert_allclose(clf.summary_.sums[k], np.where(gone, 0, X)[rows].sum(axis=0), rtol=1e-13)
    some = np.where(gone, np.nan, X)
    parts = clf.contributions(some)
    assert (parts[np.broadcast_to(gone[:, None, :], parts.shape)] == 0).all()
    np.testing.assert_allclose(clf.decision_function(some), parts.sum(axis=-1), rtol=1e-9, atol=1e-12)
    full = clf.contributions(np.where(gone, 0.5, X))
    keep = ~np.broadcast_to(gone[:, None, :], parts.shape)
    np.testing.assert_allclose(parts[keep], full[keep], rtol=1e-12)


def test_missing_values_by_hand():
    # Class 0: feature 0 is 0 and missing; class 1: 1 and 1. Means 0 and 1 of the values there; N = 2 and 2.
    X = [[0.0, 0.0], [np.nan, 1.0], [1.0, 0.0], [1.0, 1.0]]
    clf = SEFRClassifier(missing="ignore", epsilon=0.0).fit(X, [0, 0, 1, 1])
    assert clf.feature_scores_.tolist() == [[1.0, 0.0]]
    assert clf.decision_function([[1.0, 5.0], [np.nan, 5.0], [0.0, np.nan]]).tolist() == [0.5, 0.0, -0.5]


def test_a_feature_missing_throughout_a_class_says_nothing():
    X = [[np.nan, 0.0], [np.nan, 1.0], [1.0, 2.0], [2.0, 3.0]]
    clf = SEFRClassifier(missing="ignore").fit(X, [0, 0, 1, 1])
    assert clf.coef_[0, 0] == 0
    assert clf.predict([[9.0, 0.0], [np.nan, 3.0]]).tolist() == [0, 1]


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_missing_values_in_sparse_matrices(rng, form):
    X, y = rng.integers(0, 3, (40, 5)).astype(float), np.arange(40) % 2
    X[rng.random(X.shape) < 0.2] = np.nan
    dense = SEFRClassifier(missing="ignore").fit(X, y)
    thin = SEFRClassifier(missing="ignore").fit(sparse.csr_array(X).asformat(form), y)
    assert thin.summary_ == dense.summary_
    np.testing.assert_allclose(
        thin.decision_function(sparse.csr_array(X)), dense.decision_function(X), rtol=1e-12, atol=1e-14
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_fit_of_400_megabytes_allocates_next_to_nothing(dtype):
    columns = 400
    rows = 400_000_000 // (columns * np.dtype(dtype).itemsize)
    X = np.zeros((rows, columns), dtype=dtype)
    X[::3] = 1
    y = np.arange(rows) % 2
    tracemalloc.start()
    before = _resident()
    SEFRClassifier().fit(X, y).predict(X[:1000])
    peak = tracemalloc.get_traced_memory()[1]
    after = _peak_resident()
    tracemalloc.stop()
    per_row = 4 * rows + 2 * 8 * min(rows, 1 << 16)  # int32 codes of the labels
    assert peak < per_row + 4e6
    assert after - before < per_row + 16e6


def _status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def _resident():
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")  # start the peak anew
    return _status("VmRSS")


def _peak_resident():
    return _status("VmHWM")


def test_one_row_of_a_frame_gets_the_words_for_a_list_of_values():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 1.0, 0.0]})
    clf = SEFRClassifier().fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        clf.predict(X.iloc[0])
