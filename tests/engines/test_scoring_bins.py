"""Models with bins as SQL and as expressions of engines: run there, to the bit the sums of their entries."""

import sqlite3
from functools import reduce
from operator import add

import duckdb
import numpy as np
import pandas as pd
import pytest
from engines.test_scoring import DIALECTS, in_database, scored

from sefr import SEFRClassifier, save
from sefr._answers.contributions import names_of_sets
from sefr.engines.expressions import expression
from sefr.engines.scoring import Scoring
from sefr.engines.scoring_model import ScoringModel, balanced, searched

NAMES = ["a", 'half "quoted"', "it's", "d.ot", "flat", "time"]
CASES = [(2, 1, "ignore", 5), (2, 5, "error", 32), (4, 4, "ignore", 6)]


@pytest.fixture(params=CASES, ids=str)
def trained(request, rng):
    """Return a model with bins, and rows to score: beyond its edges, on them, and missing where it may be."""
    n_classes, passes, missing, bins = request.param
    y = rng.integers(0, n_classes, 400)
    X = rng.normal(size=(400, 6)) + y[:, None] * rng.normal(size=6)
    X[:, 4] = 3.0
    X[:, 5] += 1.7e9
    rows = pd.DataFrame(X, columns=NAMES)
    if missing == "ignore":
        rows.iloc[::9, 2] = np.nan
    labels = np.array(["o'ne", "two", "three", "four"])[y]
    clf = SEFRClassifier(passes=passes, missing=missing, bins=bins).fit(rows, labels)
    asked = rows.iloc[:60].copy()
    asked.iloc[0] = 1e12
    asked.iloc[1] = -1e12
    for j, edges in enumerate(clf.edges_):
        asked.iloc[2 : 2 + min(len(edges), 8), j] = edges[:8]
    if missing == "ignore":
        asked.iloc[20] = np.nan
    return clf, asked


def to_the_bit(clf, rows):
    """Return the scores (n, R) as sums of the table's entries in the order that the query adds them up in."""
    parts = clf.contributions(rows)
    parts = parts[:, None, :] if parts.ndim == 2 else parts
    columns = [parts[:, :, j] for j in range(parts.shape[2])]
    return balanced([*columns, np.zeros(parts.shape[:2])], add)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_select_says_what_the_model_says(dialect, trained, request):
    clf, rows = trained
    run = in_database(dialect, rows, request)
    result = run(Scoring("scored", ScoringModel.of(clf, probabilities=True), explain=2).sql(dialect))
    scores = to_the_bit(clf, rows)
    np.testing.assert_array_equal(result["score"], scores.max(axis=1))
    np.testing.assert_allclose(scores.squeeze(), clf.decision_function(rows), rtol=1e-12, atol=1e-12)
    assert (result["prediction"] == clf.predict(rows)).all()
    shares = result[[f"probability_{label}" for label in clf.classes_]].to_numpy()
    np.testing.assert_allclose(shares, clf.predict_proba(rows), rtol=1e-9, atol=1e-12)
    parts = clf.contributions(rows)
    if parts.ndim == 3:
        parts = parts[np.arange(len(rows)), np.searchsorted(clf.classes_, result["prediction"])]
    order = np.argsort(-np.abs(parts), axis=1, kind="stable")
    for i in range(2):
        expected = np.take_along_axis(parts, order[:, i : i + 1], axis=1)[:, 0]
        np.testing.assert_array_equal(result[f"part_{i + 1}"].astype(float), expected)
        assert (result[f"reason_{i + 1}"] == np.array(NAMES)[order[:, i]]).all()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_missing_value_without_a_bin_has_no_answer(dialect, rng, request):
    rows = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    clf = SEFRClassifier(bins=6).fit(rows, rows["a"] > 0)
    rows.iloc[3, 1] = np.nan
    result = in_database(dialect, rows, request)(Scoring("scored", ScoringModel.of(clf)).sql(dialect))
    assert result["prediction"].isna().tolist() == [i == 3 for i in range(60)]
    assert (result["prediction"].drop(3).astype(bool) == clf.predict(rows.drop(3))).all()


def test_expressions_say_what_the_model_says(where, trained, request):
    clf, rows = trained
    assert scored(where, rows, expression(clf, where), request) == clf.predict(rows).tolist()
    scores = np.array(
        [np.atleast_1d(r) for r in scored(where, rows, expression(clf, where, "scores"), request)]
    )
    few_bits = 1e-14 if where == "ibis" else 0  # it adds in an order of its own
    np.testing.assert_allclose(scores, to_the_bit(clf, rows), rtol=few_bits, atol=few_bits)
    found = scored(where, rows, expression(clf, where, "probabilities"), request)
    np.testing.assert_allclose(np.stack(found), clf.predict_proba(rows), rtol=1e-9, atol=1e-12)


@pytest.mark.needs("ibis")
@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_categories_have_a_part_each_and_one_for_any_other(missing, rng, request):
    n = 200
    colour = rng.choice(["re'd", "green", "blue"], n)
    size = rng.normal(size=n) + (colour == "blue")
    rows = pd.DataFrame({"size": size, "colour": pd.Categorical(colour)})
    if missing == "ignore":
        rows.loc[::7, "colour"] = None
    clf = SEFRClassifier(bins=4, missing=missing).fit(rows, np.where(colour == "green", "p", "q"))
    asked = pd.DataFrame({"size": [0.0, 1.0, -1.0], "colour": ["re'd", "mauve", "blue"]})
    if missing == "ignore":
        asked = pd.concat([asked, pd.DataFrame({"size": [np.nan], "colour": [None]})], ignore_index=True)
    known = asked.assign(colour=pd.Categorical(asked["colour"]))
    expected = clf.decision_function(known)
    connection = duckdb.connect()
    connection.register("scored", asked)
    result = connection.execute(Scoring("scored", ScoringModel.of(clf)).sql()).df()
    np.testing.assert_allclose(result["score"], expected, rtol=1e-12)
    for where in ("polars", "ibis"):
        made = scored(where, asked, expression(clf, where, "scores"), request)
        np.testing.assert_allclose(np.array(made).ravel(), expected, rtol=1e-12)


@pytest.mark.parametrize("interactions", [None, 20])
def test_the_command_prints_the_select(tmp_path, rng, interactions):
    from typer.testing import CliRunner

    from sefr.cli import app

    rows = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    y = np.abs(rows["a"]) > 0.7 if interactions is None else rows["a"] * rows["b"] > 0
    clf = SEFRClassifier(bins=16, interactions=interactions, passes=4).fit(rows, y)
    save(clf, tmp_path / "m.sefr")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    words = [
        "sql",
        "--predict",
        str(tmp_path / "m.sefr"),
        "--table",
        str(tmp_path / "rows.csv"),
        "--explain",
        "1",
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    result = duckdb.connect().execute(done.output).df()
    assert (result["prediction"] == clf.predict(rows)).all()
    told = result["reason_1"].mode()[0]
    assert told == "a" if interactions is None else {"a", "b"} <= set(told.split(" × "))


@pytest.fixture(params=[(2, 5, "error"), (3, 1, "ignore"), (2, 4, "ignore")], ids=str)
def crossed(request, rng):
    """Return a model with interactions, and rows to score: on edges, beyond them, and missing."""
    n_classes, passes, missing = request.param
    X = rng.normal(size=(500, 6))
    X[:, 4] = 3.0
    y = ((X[:, 0] > 0).astype(int) + (X[:, 3] > 0.2)) % n_classes
    rows = pd.DataFrame(X, columns=NAMES)
    if missing == "ignore":
        rows = rows.mask(rng.random(rows.shape) < 0.1)
    grown = SEFRClassifier(bins=7, missing=missing, interactions=3).fit(rows, y)
    n_bins = np.diff(grown.summary_.coder.starts) + (2 if missing == "ignore" else 1)
    drawn = [rng.integers(0, 6, size=length) for length in (1, 2, 4)]
    # also of a bin that every row reaches, of what is missing, and of one feature alone
    ferns = [[(int(j), int(rng.integers(0, n_bins[j]))) for j in own] for own in drawn]
    ferns += [[(0, 0), (1, 2)], [(0, int(n_bins[0]) - 1), (2, int(n_bins[2]) - 1)], [(3, 1), (3, 4)]]
    settings = {"missing": missing, "passes": passes, "interactions": [*grown.interactions_, *ferns]}
    clf = SEFRClassifier(bins=grown.edges_, **settings).fit(rows, np.array(["o'ne", "two", "three"])[y])
    asked = rows.iloc[:60].copy()
    asked.iloc[0], asked.iloc[1] = 1e12, -1e12
    for j, edges in enumerate(clf.edges_):
        asked.iloc[2 : 2 + min(len(edges), 8), j] = edges[:8]
    return clf, asked


@pytest.mark.parametrize("dialect", DIALECTS)
def test_interactions_are_part_of_the_select(dialect, crossed, request):
    clf, rows = crossed
    run = in_database(dialect, rows, request)
    result = run(Scoring("scored", ScoringModel.of(clf, probabilities=True), explain=2).sql(dialect))
    scores = clf.decision_function(rows).reshape(len(rows), -1)
    np.testing.assert_allclose(result["score"].astype(float), scores.max(axis=1), rtol=1e-12, atol=1e-12)
    assert (result["prediction"] == clf.predict(rows)).all()
    shares = result[[f"probability_{label}" for label in clf.classes_]].to_numpy(dtype=float)
    np.testing.assert_allclose(shares, clf.predict_proba(rows), rtol=1e-9, atol=1e-12)
    parts = clf.contributions(rows)
    if parts.ndim == 3:
        parts = parts[np.arange(len(rows)), np.searchsorted(clf.classes_, result["prediction"])]
    order = np.argsort(-np.abs(parts), axis=1, kind="stable")
    names = names_of_sets(clf.fitted_)
    for i in range(2):
        expected = np.take_along_axis(parts, order[:, i : i + 1], axis=1)[:, 0]
        np.testing.assert_allclose(result[f"part_{i + 1}"].astype(float), expected, rtol=1e-12, atol=1e-12)
        behind = np.take_along_axis(parts, order[:, i + 1 : i + 2], axis=1)[:, 0]
        apart = np.abs(expected) > np.abs(behind) + 1e-9
        assert i or (result["reason_1"][apart] == np.array(names)[order[apart, 0]]).all()
    assert any(" × " in reason for reason in result["reason_1"])
    columns = run(
        "SELECT " + ", ".join(Scoring("scored", ScoringModel.of(clf)).columns(dialect)) + " FROM scored"
    )
    np.testing.assert_allclose(columns.to_numpy(dtype=float), scores, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_interactions_are_part_of_expressions(where, crossed, request):
    clf, rows = crossed
    assert scored(where, rows, expression(clf, where), request) == clf.predict(rows).tolist()
    found = [np.atleast_1d(r) for r in scored(where, rows, expression(clf, where, "scores"), request)]
    scores = clf.decision_function(rows).reshape(len(rows), -1)
    np.testing.assert_allclose(np.array(found), scores, rtol=1e-12, atol=1e-12)


@pytest.mark.needs("ibis", "spark")
@pytest.mark.slow
@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_interactions_of_categories_ask_by_name(missing, rng, request):
    n = 400
    colour, size = rng.choice(["re'd", "green", "blue"], n), rng.normal(size=n)
    rows = pd.DataFrame({"size": size, "colour": pd.Categorical(colour)})
    if missing == "ignore":
        rows.loc[::7, "colour"] = None
        rows.loc[::11, "size"] = np.nan
    y = (colour == "green") == (size > 0)
    grown = SEFRClassifier(bins=4, missing=missing, interactions=6).fit(rows, y)
    last = 4 if missing == "ignore" else 3  # any other value, and where it may be what is missing
    ferns = [[(1, number), (0, 2)] for number in range(last + 1)]
    clf = SEFRClassifier(bins=grown.edges_, missing=missing, interactions=[*grown.interactions_, *ferns])
    clf.fit(rows, y)
    asked = pd.DataFrame({"size": [0.5, 1.0, -1.0, 0.2], "colour": ["re'd", "mauve", "blue", "green"]})
    if missing == "ignore":
        gone = pd.DataFrame({"size": [np.nan, 1.0], "colour": ["blue", None]})
        asked = pd.concat([asked, gone], ignore_index=True)
    expected = clf.decision_function(asked.assign(colour=pd.Categorical(asked["colour"])))
    connection = duckdb.connect()
    connection.register("scored", asked)
    result = connection.execute(Scoring("scored", ScoringModel.of(clf)).sql()).df()
    np.testing.assert_allclose(result["score"], expected, rtol=1e-12, atol=1e-12)
    made = sqlite3.connect(":memory:")
    asked.to_sql("scored", made, index=False)
    result = pd.read_sql(Scoring("scored", ScoringModel.of(clf)).sql("sqlite"), made)
    np.testing.assert_allclose(result["score"], expected, rtol=1e-12, atol=1e-12)
    for where in ("polars", "ibis", "pyspark"):
        if where == "pyspark":
            request.getfixturevalue("spark")
        found = scored(where, asked, expression(clf, where, "scores"), request)
        np.testing.assert_allclose(np.array(found, dtype=float).ravel(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", range(9))
def test_bisection_finds_the_bin_of_every_value(n):
    edges = np.arange(n) * 1.5
    for x in [-1.0, *edges, *(edges + 0.1)]:
        found = searched(edges.tolist(), list(range(n + 1)), lambda edge, a, b, x=x: a if x < edge else b)
        assert found == np.searchsorted(edges, x, side="right")


def test_balanced_is_the_sum():
    assert balanced([1, 2, 4, 8, 16], add) == reduce(add, [1, 2, 4, 8, 16])
