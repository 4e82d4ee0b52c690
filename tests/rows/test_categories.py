"""Categories of data frames: a bin for each, one for all others, one for none."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sefr import SEFRClassifier, Summary
from sefr._rows.cells import Categories
from sefr._rows.cells.categories import categories_of
from sefr._rows.inputs import matrix_of
from sefr.model_file import dump, parse

COLOURS = ["red", "green", "blue"]


def rows(n=120):
    rng = np.random.default_rng(3)
    colour = rng.choice(COLOURS, size=n)
    size = rng.normal(size=n)
    y = np.where(colour == "green", 1, np.where(size > 0.5, 1, 0))
    return colour, size, y


FRAMES = {
    "pandas": lambda colour, size: pd.DataFrame({"colour": pd.Categorical(colour), "size": size}),
    "numbers for names": lambda colour, size: pd.DataFrame({0: pd.Categorical(colour), 1: size}),
    "polars": lambda colour, size: pl.DataFrame(
        {"colour": pl.Series(list(colour), dtype=pl.Categorical), "size": size}
    ),
    "polars enum": lambda colour, size: pl.DataFrame(
        {"colour": pl.Series(list(colour), dtype=pl.Enum(sorted(COLOURS))), "size": size}
    ),
    "arrow": lambda colour, size: pa.table(
        {"colour": pa.array(list(colour)).dictionary_encode(), "size": size}
    ),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("passes", [1, 5])
def test_a_category_has_a_bin_of_its_own(frame, passes):
    colour, size, y = rows()
    X = frame(colour, size)
    clf = SEFRClassifier(bins=8, passes=passes).fit(X, y)
    assert clf.edges_[0] == ("blue", "green", "red")
    assert clf.score(X, y) > 0.9
    curve = clf.curves_[0]
    assert curve.categories == ("blue", "green", "red")
    assert curve.rows[:3].tolist() == [(colour == value).sum() for value in ("blue", "green", "red")]
    assert curve.effects[0, 1] > max(curve.effects[0, 0], curve.effects[0, 2])


@pytest.mark.parametrize("passes", [1, 5])
def test_an_unknown_value_has_a_bin_of_its_own_and_votes_for_no_class(passes):
    colour, size, y = rows()
    clf = SEFRClassifier(bins=8, passes=passes).fit(FRAMES["pandas"](colour, size), y)
    other = FRAMES["pandas"](np.full(4, "violet"), size[:4])
    parts = clf.contributions(other)
    assert len(set(parts[:, 0].tolist())) == 1
    known = clf.curves_[0].effects[0]
    assert parts[0, 0] == known[3]
    assert known[:3].min() < known[3] < known[:3].max()
    again = SEFRClassifier(bins=clf.edges_).fit(other, [0, 1, 0, 1])  # counted where it belongs
    assert clf.summary_.coder == again.summary_.coder
    assert again.curves_[0].rows.tolist() == [0, 0, 0, 4]


def test_a_missing_category_has_a_bin_or_is_an_error():
    colour, size, y = rows()
    X = FRAMES["pandas"](colour, size)
    X.loc[5, "colour"] = None
    with pytest.raises(ValueError, match=r"contains NaN: row 5, column 0 \('colour'\)"):
        SEFRClassifier(bins=8).fit(X, y)
    clf = SEFRClassifier(bins=8, missing="ignore").fit(X, y)
    assert clf.curves_[0].missing_rows == 1


@pytest.mark.parametrize("dtype", ["object", "string", "string[pyarrow]", "category"])
def test_every_missing_value_of_pandas_is_missing(dtype):
    X = pd.DataFrame({"c": pd.Categorical(["a", "b", "c"] * 20), "x": np.linspace(0, 1, 60)})
    clf = SEFRClassifier(bins=8, missing="ignore").fit(X, [0, 1, 0] * 20)
    rows = [
        pd.DataFrame({"c": pd.Series(["a", gone, "z"], dtype=dtype), "x": [0.1, 0.2, 0.3]})
        for gone in (None, np.nan, pd.NA, pd.NaT)
    ]
    expected = clf.decision_function(rows[0])
    assert len(set(expected)) == 3
    for frame in rows[1:]:
        np.testing.assert_array_equal(clf.decision_function(frame), expected)


def test_what_is_not_a_category_is_an_error_that_says_so():
    colour, size, y = rows()
    text = pd.DataFrame({"colour": colour, "size": size})
    with pytest.raises(ValueError, match=r"'colour' .*bins"):
        SEFRClassifier().fit(text, y)
    assert SEFRClassifier(bins=8).fit(text, y).edges_[0] == tuple(sorted(set(colour)))
    with pytest.raises(ValueError, match="not numbers"):
        SEFRClassifier().fit(FRAMES["pandas"](colour, size), y)
    clf = SEFRClassifier(bins=8).fit(FRAMES["pandas"](colour, size), y)
    with pytest.raises(ValueError, match="column 0 of X has categories: pass a data frame"):
        clf.predict(np.zeros((3, 2)))
    assert (clf.predict(text) == clf.predict(FRAMES["pandas"](colour, size))).all()  # by value


def test_more_categories_than_bytes_keep_the_frequent_ones():
    names = np.array([f"c{i:03}" for i in range(300)])
    rng = np.random.default_rng(0)
    values = np.concatenate([names, np.repeat(names[100:], 3)])
    X = pd.DataFrame({"c": pd.Categorical(rng.permutation(values))})
    y = (X["c"].astype(str) > "c200").astype(int).to_numpy()
    clf = SEFRClassifier(bins=8).fit(X, y)
    assert len(clf.edges_[0]) == 254
    assert set(names[100:]) <= set(clf.edges_[0])
    assert clf.curves_[0].rows[-1] == 46  # what was seen once, and has no bin


def test_dictionaries_of_arrow_may_differ_from_chunk_to_chunk(rng):
    parts = [[None, "red", "blue", "red"], ["violet", "blue", None], ["green"] * 3]
    last = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), pa.array(["red", None, "never"]))
    chunks = [pa.array(part).dictionary_encode() for part in parts]
    column = pa.chunked_array([*chunks, last.cast(chunks[0].type)])
    X = pa.table({"colour": column, "size": rng.random(12)})
    assert categories_of(X) == {0: ("blue", "green", "red", "violet")}
    assert categories_of(X, most=2) == {0: ("green", "red")}
    codes, gone = matrix_of(X, categories_of(X)).block(slice(None))[:, 0], np.nan
    np.testing.assert_array_equal(codes, [gone, 2, 0, 2, 3, 0, gone, 1, 1, 1, gone, 2])
    others = matrix_of(X, {0: Categories(["red"])}).block(slice(None))[1:4, 0]
    np.testing.assert_array_equal(others, [0, 1, 0])


def test_the_numbers_of_categories_are_read_in_place():
    colour, size, _ = rows()
    X = FRAMES["pandas"](colour, size)
    matrix = matrix_of(X, categories_of(X))
    assert np.shares_memory(matrix.columns[0], X["colour"].array.codes)
    assert np.shares_memory(matrix.columns[1], X["size"].array)


@pytest.mark.parametrize("passes", [1, 5])
def test_categories_in_another_order_are_the_same(passes):
    colour, size, y = rows()
    X = FRAMES["pandas"](colour, size)
    clf = SEFRClassifier(bins=8, passes=passes).fit(X, y)
    turned = X.assign(colour=X["colour"].cat.set_categories(["violet", "red", "green", "blue"]))
    assert np.array_equal(clf.decision_function(turned), clf.decision_function(X))
    text = X.assign(colour=X["colour"].astype(object))
    assert np.array_equal(clf.decision_function(text), clf.decision_function(X))


def test_a_pandas_without_its_iterator_of_arrays_is_read_column_by_column(monkeypatch):
    colour, size, y = rows()
    X = FRAMES["pandas"](colour, size)
    X.loc[7, "colour"] = None
    clf = SEFRClassifier(bins=8, missing="ignore").fit(X, y)
    monkeypatch.delattr(pd.DataFrame, "_iter_column_arrays")
    again = SEFRClassifier(bins=8, missing="ignore").fit(X, y)
    assert again.summary_ == clf.summary_
    assert np.array_equal(again.decision_function(X), clf.decision_function(X))


KINDS = {
    "a number and text": [1, "x"],
    "a number and its digits": [1, "1"],
    "a zero at the end": ["a\0", "a"],
    "bytes with a zero at the end": [b"a\0", b"a"],
    "numbers of two types": [1, 2.5],
    "a truth value and text": [True, "True"],
    "infinities": [np.inf, -np.inf, "inf"],
    "infinity alone": [np.inf, 1.0],
    "a whole number beyond 64 bits": [2**70, 1],
    "whole numbers that no type of numpy holds together": [2**63, -1],
    "half a surrogate pair": ["\ud800", "x"],
    "numbers": [3, 1],
    "text": ["ä", "b"],
}


@pytest.mark.parametrize("values", KINDS.values(), ids=KINDS)
def test_categories_come_back_as_they_are_from_bytes_and_files(values):
    codes = np.arange(60) % len(values)
    X = pd.DataFrame({"c": pd.Categorical.from_codes(codes, categories=pd.Index(values, dtype=object))})
    clf = SEFRClassifier(bins=4).fit(X, codes % 2)
    again = [Summary.from_bytes(clf.summary_.to_bytes())]
    if type(values[0]) is bytes:
        with pytest.raises(TypeError, match="a category of type bytes cannot be saved"):
            dump(clf)
    else:
        again.append(parse(dump(clf)).summary_)
    for same in again:
        assert [(type(v), v) for v in same.coder.categories[0]] == [(type(v), v) for v in values]
        assert same == clf.summary_
        scores = SEFRClassifier.from_summary(same).decision_function(X)
        assert scores.tobytes() == clf.decision_function(X).tobytes()


def test_categories_that_have_no_place_in_bytes():
    X = pd.DataFrame({"c": pd.Categorical([pd.Timestamp(0), pd.Timestamp(1)] * 20)})
    summary = SEFRClassifier(bins=4).fit(X, [0, 1] * 20).summary_
    with pytest.raises(ValueError, match="categories of text and numbers: a category of type Timestamp"):
        summary.to_bytes()
