"""Columns of any name: every verb of every engine takes exactly the column that was named."""

import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sefr import SEFRClassifier, Summary
from sefr.engines.dialects import quoted
from sefr.engines.duckdb import summary_of_files
from sefr.engines.scoring import Scoring
from sefr.engines.scoring_model import ScoringModel
from sefr.engines.sql import Query

# Patterns of Polars, Ibis and DuckDB, parts of structs, quotes of every dialect, words of SQL, names that our
# own queries give, and letters that need care.
NASTY = [
    *("^c1$", "c1", "^.*$", "*", "x.*", "a.b", "a", "b", "`c`", "d.`e", 'f "g"', "it's", "[0]", "(a)"),
    *(" ", " pad ", "-", "1", "?", ":a", "$1", "%s %(a)s", "{y}", "x;--", "/* x", "back\\slash", "tab\there"),
    *("new\nline", "select", "group", "order by", "NULL", "count(*)", "label", "feature", "place", "rows"),
    *("f0", "c0", "n0", "w", "cell", "column1", "sefr_label", "sefr_value", "sefr_row", "sefr_rows"),
    *("sefr_s0", "sefr_s1", "sefr_top", "sefr_scores", "sefr_f0", "été", "名前", "🙂", "i\u0307", "ß"),
]
CASED = ["CASE", "case"]
# Engines whose columns may differ in upper and lower case only.
TELLS_CASE = {"pandas", "polars", "polars lazy", "pyarrow", "dask", "postgresql"}
DIALECTS = ["duckdb", "postgresql", "sqlite"]
# Label and weight: the features are all other names.
ROLES = [("the.`label`", "w.w"), ("*", "^c1$")]


def features_of(engine, label, weight):
    names = NASTY + (CASED if engine in TELLS_CASE else [])
    return [name for name in names if name not in (label, weight)]


def drawn(names, label, weight, n_classes=2):
    """Return whole numbers under some names, with labels and weights; each column has its own values."""
    rng = np.random.default_rng(31)
    y = rng.integers(0, n_classes, 300)
    X = rng.integers(0, 40, (300, len(names))) + y[:, None] * rng.integers(-20, 20, len(names))
    columns = {name: X[:, j].astype(float) for j, name in enumerate(names)}
    return pa.table(columns | {label: y, weight: rng.integers(1, 3, 300)})


def plain(table, names, label, weight):
    """Return the same table under names that no engine takes for anything else."""
    own = {label: "y", weight: "weight"} | {name: f"x{j}" for j, name in enumerate(names)}
    return table.rename_columns([own[name] for name in table.column_names]), list(own.values())[2:]


@pytest.mark.parametrize("wide", [0, 30])
@pytest.mark.parametrize(("label", "weight"), ROLES)
def test_they_are_added_up(engine, as_frame, label, weight, wide):
    """A wide table goes through Arrow, a narrow one through the aggregates of the engine."""
    names = features_of(engine, label, weight) + [f"more {j}" for j in range(wide)]
    rows = drawn(names, label, weight)
    X = np.stack([rows[name].to_numpy() for name in names], axis=1)
    y, w = rows[label].to_numpy(), rows[weight].to_numpy()
    frame = as_frame(engine, rows)
    for column, weights in ((weight, w), (None, None)):
        found = Summary.of_frame(frame, label, names, column)
        expected = Summary.of(X, y, weights)
        assert found.feature_names == tuple(names)
        for name in ("sums", "counts", "low", "high"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("settings", [{"passes": 2}, {"passes": 2, "bins": 4}], ids=str)
@pytest.mark.parametrize(("label", "weight"), ROLES)
def test_they_are_learned_from_in_passes(engine, as_frame, label, weight, settings):
    names = features_of(engine, label, weight)
    rows = drawn(names, label, weight)
    renamed, own = plain(rows, names, label, weight)
    clf = SEFRClassifier(**settings).fit_frame(as_frame(engine, rows), label, names, weight)
    twin = SEFRClassifier(**settings).fit_frame(as_frame(engine, renamed), "y", own, "weight")
    X = np.stack([rows[name].to_numpy() for name in names], axis=1)
    np.testing.assert_allclose(
        clf.decision_function(rows.select(names)), twin.decision_function(renamed.select(own)), rtol=1e-12
    )
    if "bins" not in settings:
        expected = Summary.of(X, rows[label].to_numpy(), rows[weight].to_numpy())
        np.testing.assert_array_equal(clf.summary_.sums, expected.sums)


@pytest.mark.parametrize("settings", [{}, {"bins": 4, "interactions": 3}], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_they_are_scored_by_expressions(where, as_frame, settings, n_classes):
    names = features_of(where, "y", "weight")
    rows = drawn(names, "y", "weight", n_classes)
    X = rows.select(names)
    clf = SEFRClassifier(**settings).fit(X, rows["y"].to_numpy())
    for engine in ["polars", "polars lazy"] if where == "polars" else [where]:
        frame, made = as_frame(engine, rows), clf.expression(where)
        if where == "pyspark":
            found = [row.p for row in frame.select(made.alias("p")).collect()]
        elif where == "ibis":
            found = frame.mutate(p=made).execute()["p"].tolist()
        else:
            found = frame.lazy().select(made.alias("p")).collect()["p"].to_list()
        assert found == clf.predict(X).tolist()


def in_database(dialect, rows, request):
    """Return a function that runs a query in a database that has the rows as the table t."""
    if dialect == "duckdb":
        connection = duckdb.connect()
        run = connection.execute
    elif dialect == "sqlite":
        run = sqlite3.connect(":memory:").execute
    else:
        run = request.getfixturevalue("postgres").execute
    run("DROP TABLE IF EXISTS t")
    run(f"CREATE TABLE t ({', '.join(f'{quoted(name)} double precision' for name in rows.column_names)})")
    values = [f"({', '.join(map(str, row))})" for row in zip(*rows.to_pydict().values(), strict=True)]
    run(f"INSERT INTO t VALUES {', '.join(values)}")
    return run


@pytest.mark.parametrize("group", [None, "sefr_group"])
@pytest.mark.parametrize(("label", "weight"), ROLES)
@pytest.mark.parametrize("dialect", [*DIALECTS, "ansi"])
def test_a_query_adds_them_up(dialect, label, weight, group, request):
    names = features_of(dialect, label, weight)
    rows = drawn(names, label, weight)
    if group is not None:
        rows = rows.append_column(group, pa.array(np.full(300, 7)))
    run = in_database("duckdb" if dialect == "ansi" else dialect, rows, request)
    expected = Summary.of(
        np.stack([rows[name].to_numpy() for name in names], axis=1),
        rows[label].to_numpy(),
        rows[weight].to_numpy(),
    )
    asked = [names] if dialect in ("sqlite", "ansi") else [names, None]
    for features in asked:
        result = run(Query("t", label, features, weight, group=group).sql(dialect))
        if group is None:
            found = Summary.of_query(result)
        else:
            from sefr.engines.sql import summaries_of_result

            (found,) = summaries_of_result(result).values()
        assert found.feature_names == tuple(names)
        np.testing.assert_array_equal(found.sums, expected.sums)
        np.testing.assert_array_equal(found.counts, expected.counts)


@pytest.mark.parametrize("settings", [{}, {"bins": 4}], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_query_scores_them(dialect, n_classes, settings, request):
    """The table's own columns, called as those that the query makes, come back as they are."""
    names = features_of(dialect, "y", "weight")
    rows = drawn(names, "y", "weight", n_classes)
    X = rows.select(names)
    clf = SEFRClassifier(**settings).fit(X, rows["y"].to_numpy())
    run = in_database(dialect, rows, request)
    cursor = run(Scoring("t", ScoringModel.of(clf, probabilities=True), explain=2).sql(dialect))
    result = pd.DataFrame(cursor.fetchall(), columns=[column[0] for column in cursor.description])
    assert list(result.columns[: len(names)]) == names
    np.testing.assert_array_equal(result[names].to_numpy(), X.to_pandas().to_numpy())
    assert result["prediction"].tolist() == clf.predict(X).tolist()
    shares = result[[f"probability_{label}" for label in clf.classes_]].to_numpy()
    np.testing.assert_allclose(shares, clf.predict_proba(X), rtol=1e-7, atol=1e-9)
    assert set(result["reason_1"]) <= set(names)
    scores = run(f"SELECT {', '.join(Scoring('t', ScoringModel.of(clf)).columns(dialect))} FROM t").fetchall()
    expected = clf.decision_function(X).reshape(len(scores), -1)
    np.testing.assert_allclose(np.array(scores, dtype=float), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("label", "weight"), ROLES)
def test_files_have_them(label, weight, tmp_path):
    names = features_of("duckdb", label, weight)
    rows = drawn(names, label, weight)
    pq.write_table(rows, tmp_path / "rows.parquet")
    found = summary_of_files(tmp_path / "rows.parquet", label, names, weight)
    assert found == Summary.of_frame(rows, label, names, weight)


def test_the_macros_of_duckdb_take_them():
    from sefr.cli.sql import macros_of

    names = features_of("duckdb", "y", "y")
    rows = drawn(names, "y", "weight")
    connection = duckdb.connect()
    connection.execute(macros_of("duckdb"))
    connection.register("given", rows.drop_columns("weight"))
    connection.execute("CREATE TABLE t AS FROM given")
    clf = SEFRClassifier(missing="ignore").fit(rows.select(names), rows["y"].to_numpy().astype(str))
    found = Summary.of_query(connection.execute("FROM sefr_summary('t', 'y')"))
    assert sorted(found.feature_names) == sorted(names)
    at = [found.feature_names.index(name) for name in names]
    np.testing.assert_array_equal(found.sums[:, at], clf.summary_.sums)
    connection.execute("CREATE TABLE model AS FROM sefr_train('t', 'y')")
    result = connection.execute("FROM sefr_predict('model', 't')").df()
    assert list(result.columns[: len(names)]) == names
    assert result["prediction"].tolist() == clf.predict(rows.select(names)).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("width", [4, 700])
def test_sparks_estimator_and_model_take_them(spark, width, rng):
    """A narrow model is scored by expressions, a wide one by our kernel."""
    from sefr.engines.spark import SEFR

    y = rng.integers(0, 2, 80)
    X = rng.normal(size=(80, width)) + y[:, None]
    roles = {"label": "the.`label`", "weight": "*", "features": "f.`f"}
    table = pa.table(
        {roles["features"]: X.tolist(), roles["label"]: y.astype(float), "*": rng.integers(1, 3, 80)}
    )
    names = {f"{role}Col": name for role, name in roles.items()} | {"predictionCol": "p.`q`"}
    names |= {"probabilityCol": "s.`", "rawPredictionCol": "^.*$"}
    model = SEFR(passes=2, **names).fit(spark.createDataFrame(table))
    answers = model.transform(spark.createDataFrame(table)).toPandas()
    assert set(answers.columns) == {*roles.values(), "p.`q`", "s.`", "^.*$"}
    expected = model.classifier()
    assert (answers["p.`q`"] == expected.predict(X)).all()
    np.testing.assert_allclose(np.stack(answers["s.`"]), expected.predict_proba(X), rtol=1e-7, atol=1e-9)
