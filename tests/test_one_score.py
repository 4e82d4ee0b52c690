"""Every way to say a score says the same one: contributions, files, ONNX, SQL, expressions, the board's twin.

Over drawn models with dead, constant and missing columns, which are where these ways differ.
"""

import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sefr import SEFRClassifier
from sefr.engines.scoring import Scoring
from sefr.engines.scoring_model import ScoringModel
from sefr.model_file import dump, parse

COLUMNS = ["plain", "plain", "constant", "nearly constant", "never there", "seldom there", "symmetric", "far"]


@st.composite
def models(draw):
    """Return a trained model and rows that it may be asked about."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_classes, n = draw(st.integers(2, 4)), draw(st.sampled_from([8, 30, 200]))
    ignore = draw(st.booleans())
    kinds = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4))
    y = np.sort(rng.integers(0, n_classes, n))
    y[:n_classes] = np.arange(n_classes)
    X = np.column_stack([column(kind, y, rng, ignore=ignore) for kind in kinds])
    bins = draw(st.sampled_from([None, None, 3]))
    passes = draw(st.sampled_from([1, 1, 2, 7]))
    clf = SEFRClassifier(
        passes=passes,
        moments=draw(st.sampled_from([1, 2])) if passes == 1 else 1,
        bins=bins,
        interactions=draw(st.sampled_from([None, 2])) if bins else None,
        missing="ignore" if ignore else "error",
        class_weight=draw(st.sampled_from([None, "balanced"])),
    ).fit(X, y)
    if draw(st.booleans()):
        clf.partial_fit(X[-1:], y[-1:])
    asked = np.vstack([X, X[:5] + 1.5, np.zeros((1, X.shape[1]))])
    if ignore:
        asked[rng.random(asked.shape) < 0.2] = np.nan
        asked[-1] = np.nan
    return clf, asked


def column(kind, y, rng, *, ignore):
    noise = rng.normal(size=len(y))
    gone = np.full(len(y), np.nan if ignore else 4.0)
    return {
        "plain": y + noise,
        "constant": np.full(len(y), 4.0),
        "nearly constant": np.where(np.arange(len(y)) == 3, 5.0, 4.0),
        "never there": gone,
        "seldom there": np.where(rng.random(len(y)) < 0.9, gone, y),
        "symmetric": np.where(y < 2, 2.0 * y - 1, 0.0),
        "far": 1e6 + y + noise,
    }[kind]


def scores_of(clf, X):
    return np.asarray(clf.decision_function(X)).reshape(len(X), -1)


def assert_same(found, clf, X):
    scores = scores_of(clf, X)
    size = 1 + np.abs(clf.contributions(X)).sum(axis=-1).reshape(scores.shape)
    assert (np.abs(np.asarray(found, dtype=float).reshape(scores.shape) - scores) <= 1e-9 * size).all()


def assert_answers(labels, clf, X, sure=1e-6):
    """Compare the answers where scores are not so near to each other that rounding may choose."""
    scores = scores_of(clf, X)
    ordered = np.sort(np.column_stack([np.zeros(len(X)), scores]) if scores.shape[1] == 1 else scores, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > sure * (1 + np.abs(scores).max())
    assert (np.asarray(labels)[clear] == clf.predict(X)[clear]).all()


@settings(max_examples=150, deadline=None)
@given(models())
def test_contributions_add_up_to_the_score(drawn):
    clf, X = drawn
    assert_same(clf.contributions(X).sum(axis=-1), clf, X)


@settings(max_examples=60, deadline=None)
@given(models())
def test_a_model_file_has_the_same_score(drawn):
    clf, X = drawn
    loaded = parse(dump(clf))
    np.testing.assert_array_equal(scores_of(loaded, X), scores_of(clf, X))
    assert_same(loaded.contributions(X).sum(axis=-1), clf, X)


@settings(max_examples=80, deadline=None)
@given(models())
def test_onnx_has_the_same_score(drawn):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    from sefr.onnx_model import to_onnx

    clf, X = drawn
    label, scores = onnxruntime.InferenceSession(to_onnx(clf)).run(["label", "scores"], {"X": X})
    assert_same(scores, clf, X)
    assert_answers(label, clf, X)


@settings(max_examples=50, deadline=None)
@given(models())
def test_polars_expressions_have_the_same_score(drawn):
    pl = pytest.importorskip("polars")
    clf, X = drawn
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pl.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    found = frame.select(clf.expression("polars", "scores", features=names).alias("s"))["s"]
    assert_same([list(row.values()) if isinstance(row, dict) else row for row in found.to_list()], clf, X)
    labels = frame.select(clf.expression("polars", features=names).alias("p"))["p"].to_list()
    assert_answers(labels, clf, X)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@settings(max_examples=40, deadline=None)
@given(drawn=models())
def test_sql_has_the_same_answer(dialect, drawn):
    duckdb = pytest.importorskip("duckdb")
    clf, X = drawn
    rows = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    query = Scoring("scored", ScoringModel.of(clf, list(rows.columns))).sql(dialect)
    if dialect == "duckdb":
        with duckdb.connect() as connection:
            connection.register("scored", rows)
            found = connection.execute(query).df()
    else:
        with closing(sqlite3.connect(":memory:")) as connection:
            rows.to_sql("scored", connection, index=False)
            found = pd.read_sql(query, connection)
    assert_answers(found["prediction"], clf, X)


@settings(max_examples=50, deadline=None)
@given(models())
def test_the_twin_of_a_board_answers_alike(drawn):
    from sefr.device import Twin

    clf, X = drawn
    if (
        clf.bins is None
    ):  # what is beyond the learned range is its end to a board, which has no missing values
        with np.errstate(invalid="ignore"):
            there = np.clip(X, clf.summary_.low, clf.summary_.high)
        there = there[np.isfinite(there).all(axis=1)]
    else:  # so far from zero, float32 cannot tell a value from an edge
        there = X[~(np.abs(X) > 1e5).any(axis=1)]
    twin = Twin(clf, weights="int16", input="float")
    if len(there):
        assert_answers(twin.predict(there), clf, there, sure=0.02)


@pytest.mark.parametrize("seed", [1, 14])
def test_a_board_has_the_weights_of_a_model_that_missed_values(seed):
    """A class without any value of a feature has no weight for it, which sums of a board cannot tell."""
    from sefr.device import Twin

    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 60)
    X = np.column_stack(
        [y + rng.normal(size=60), y + rng.normal(size=60), np.where(rng.random(60) < 0.95, np.nan, y)]
    )
    X[rng.random(X.shape) < 0.15] = np.nan
    clf = SEFRClassifier(missing="ignore").fit(X, y)
    there = np.clip(X, clf.summary_.low, clf.summary_.high)
    there = there[np.isfinite(there).all(axis=1)]
    assert len(there) > 1
    assert_answers(Twin(clf, weights="int16", input="float").predict(there), clf, there, sure=1e-3)
