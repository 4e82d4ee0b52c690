"""A model as SQL and as an expression of an engine: run there, equal to what the model says here."""

import sqlite3

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sefr import SEFRClassifier, Summary
from sefr.engines.dialects import number, quoted
from sefr.engines.error import EngineError
from sefr.engines.expressions import expression
from sefr.engines.scoring import Scoring
from sefr.engines.scoring_model import ScoringModel

NAMES = ["a", 'half "quoted"', "it's", "d.ot", "flat", "time"]
DIALECTS = ["duckdb", "postgresql", "sqlite"]
CASES = [
    (2, 1, "error"),
    (2, 1, "ignore"),
    (2, 6, "ignore"),
    (4, 1, "ignore"),
    (4, 6, "error"),
    (4, 6, "ignore"),
]


@pytest.fixture(params=CASES, ids=str)
def trained(request, rng):
    """Return a model, and rows to score: with missing values where it takes them."""
    n_classes, passes, missing = request.param
    y = rng.integers(0, n_classes, 300)
    X = rng.normal(size=(300, 6)) + y[:, None] * rng.normal(size=6)
    X[:, 4] = 3.0
    X[:, 5] += 1.7e9
    labels = np.array(["o'ne", "two", "three", "four"])[y]
    rows = pd.DataFrame(X, columns=NAMES)
    clf = SEFRClassifier(passes=passes, missing=missing).fit(rows, labels)
    if missing == "ignore":
        rows.iloc[::7, 2] = np.nan
        rows.iloc[5] = np.nan
    return clf, rows


def in_database(dialect, rows, request):
    """Return a function that runs a query in a database that holds the rows as scored."""
    if dialect == "duckdb":
        connection = duckdb.connect()
        connection.register("scored", rows)
        return lambda query: connection.execute(query).df()
    if dialect == "sqlite":
        connection = sqlite3.connect(":memory:")
        rows.to_sql("scored", connection, index=False)
        return lambda query: pd.read_sql(query, connection)
    connection = request.getfixturevalue("postgres")
    columns = ", ".join('"' + name.replace('"', '""') + '" float8' for name in rows.columns)
    connection.execute("DROP TABLE IF EXISTS scored")
    connection.execute(f"CREATE TABLE scored ({columns})")
    with connection.cursor().copy("COPY scored FROM STDIN") as copy:
        for row in rows.itertuples(index=False):
            copy.write_row([None if np.isnan(v) else v for v in row])

    def run(query):
        cursor = connection.execute(query)
        return pd.DataFrame(cursor.fetchall(), columns=[c.name for c in cursor.description])

    return run


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_select_says_what_the_model_says(dialect, trained, request):
    clf, rows = trained
    run = in_database(dialect, rows, request)
    result = run(Scoring("scored", ScoringModel.of(clf, probabilities=True), explain=3).sql(dialect))
    assert len(result) == len(rows)
    assert list(result.columns[:6]) == NAMES
    scores = clf.decision_function(rows)
    top = scores if scores.ndim == 1 else scores.max(axis=1)
    every = np.isfinite(rows.to_numpy()).any(axis=1)  # the first class answers for a row without any value
    assert (result["prediction"] == clf.predict(rows))[every].all()
    assert (result["prediction"][~every] == clf.classes_[0]).all()
    np.testing.assert_allclose(result["score"], top, rtol=1e-9, atol=1e-9)
    shares = result[[f"probability_{label}" for label in clf.classes_]].to_numpy()
    np.testing.assert_allclose(shares[every], clf.predict_proba(rows)[every], rtol=1e-7, atol=1e-9)
    parts = clf.contributions(rows)
    if parts.ndim == 3:
        parts = parts[np.arange(len(rows)), np.searchsorted(clf.classes_, result["prediction"])]
    order = np.argsort(-np.abs(parts), axis=1, kind="stable")[:, :3]
    for i in range(3):
        expected = np.take_along_axis(parts, order[:, i : i + 1], axis=1)[:, 0]
        np.testing.assert_allclose(result[f"part_{i + 1}"].astype(float), expected, rtol=1e-9, atol=1e-9)
        assert (result[f"reason_{i + 1}"] == np.array(NAMES)[order[:, i]])[every].all()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_missing_value_without_leave_has_no_answer(dialect, rng, request):
    X = rng.normal(size=(60, 6))
    rows = pd.DataFrame(X, columns=NAMES)
    clf = SEFRClassifier().fit(rows, X[:, 0] > 0)
    rows.iloc[3, 1] = np.nan
    result = in_database(dialect, rows, request)(Scoring("scored", ScoringModel.of(clf)).sql(dialect))
    assert result["prediction"].isna().tolist() == [i == 3 for i in range(60)]
    assert (result["prediction"].drop(3).astype(bool) == clf.predict(rows.drop(3))).all()


@pytest.mark.parametrize("settings", [{}, {"bins": 5}], ids=str)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_it_can_be_a_view_and_its_scores_generated_columns(dialect, settings, rng, request):
    """Rows that come later are in the view, and have their scores, without a further query."""
    rows = pd.DataFrame(rng.normal(size=(60, 6)), columns=NAMES)
    clf = SEFRClassifier(**settings).fit(rows, np.arange(60) % 3)
    made = Scoring("kept", ScoringModel.of(clf))
    kind = "VIRTUAL" if dialect == "duckdb" else "STORED"
    scores = made.columns(dialect)
    columns = [f"{quoted(name)} DOUBLE PRECISION" for name in NAMES]
    columns += [
        f"score_{k} DOUBLE PRECISION GENERATED ALWAYS AS ({score}) {kind}" for k, score in enumerate(scores)
    ]
    own = {"duckdb": duckdb.connect, "sqlite": lambda: sqlite3.connect(":memory:")}
    run = own[dialect]() if dialect in own else request.getfixturevalue("postgres")
    if dialect == "postgresql":
        run.execute("DROP TABLE IF EXISTS kept CASCADE")
    run.execute(f"CREATE TABLE kept ({', '.join(columns)})")
    run.execute(f"CREATE VIEW answers AS {made.sql(dialect)}")
    names = ", ".join(map(quoted, NAMES))
    for row in rows.itertuples(index=False):
        run.execute(f"INSERT INTO kept ({names}) VALUES ({', '.join(map(repr, row))})")
    found = run.execute("SELECT prediction, score_0, score_1, score_2 FROM answers").fetchall()
    assert [row[0] for row in found] == clf.predict(rows).tolist()
    kept = np.array([row[1:] for row in found])
    np.testing.assert_allclose(kept, clf.decision_function(rows), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_wide_model_is_one_select_too(dialect, rng, request):
    names = [f"c{j}" for j in range(900)]
    rows = pd.DataFrame(rng.normal(size=(20, 900)), columns=names)
    clf = SEFRClassifier().fit(rows, np.arange(20) % 3)
    result = in_database(dialect, rows, request)(Scoring("scored", ScoringModel.of(clf)).sql(dialect))
    assert (result["prediction"] == clf.predict(rows)).all()


def test_categories_of_a_column_of_text():
    rows = pd.DataFrame({"size": [1.0, 2, 8, 9], "colour": ["red", "red", "blue", None]})
    hot = pd.DataFrame(
        {
            "size": rows["size"],
            "colour=blue": [0.0, 0, 1, np.nan],
            "colour=red": [1.0, 1, 0, np.nan],
        }
    )
    clf = SEFRClassifier(missing="ignore").fit(hot, ["p", "p", "q", "q"])
    categories = {"colour=blue": ("colour", "blue"), "colour=red": ("colour", "red")}
    connection = duckdb.connect()
    connection.register("scored", rows)
    result = connection.execute(Scoring("scored", ScoringModel.of(clf), categories=categories).sql()).df()
    np.testing.assert_allclose(result["score"], clf.decision_function(hot), rtol=1e-12)


def test_the_command_prints_the_select(tmp_path):
    from typer.testing import CliRunner

    from sefr import load
    from sefr.cli import app

    rows = pd.DataFrame(
        {
            "size": [1.0, 2, 8, 9] * 5,
            "colour": ["red", "green", "blue", "red"] * 5,
            "y": ["p", "p", "q", "q"] * 5,
        }
    )
    rows.to_csv(tmp_path / "rows.csv", index=False)
    model = str(tmp_path / "m.sefr")
    words = [
        "train",
        str(tmp_path / "rows.csv"),
        "--label",
        "y",
        "--categories",
        "colour",
        "--paper",
        "-o",
        model,
    ]
    assert CliRunner().invoke(app, words).exit_code == 0
    command = [
        "sql",
        "--predict",
        model,
        "--table",
        str(tmp_path / "rows.csv"),
        "--probabilities",
        "--explain",
        "2",
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    result = duckdb.connect().execute(done.output).df()
    clf = load(model)
    hot = rows[["size"]].assign(
        **{f"colour={c}": (rows["colour"] == c) * 1.0 for c in ["blue", "green", "red"]}
    )
    np.testing.assert_allclose(result["score"], clf.decision_function(hot), rtol=1e-12)
    np.testing.assert_allclose(result["probability_q"], clf.predict_proba(hot)[:, 1], rtol=1e-9)
    assert (result["prediction"] == clf.predict(hot)).all()
    assert set(result["reason_1"]) <= set(hot.columns)
    for extra in (["--label", "y"], ["--dialect", "sqlite"], ["--dialect", "ansi"]):
        assert CliRunner().invoke(app, [*command, *extra]).exit_code != 0
    plain = ["sql", "--table", "t", "--features", "a"]
    assert CliRunner().invoke(app, plain).exit_code != 0
    assert CliRunner().invoke(app, [*plain, "--label", "y", "--explain", "1"]).exit_code != 0
    assert CliRunner().invoke(app, [*plain, "--label", "y", "--group-by", "g"]).output.count("model") > 1


def test_what_cannot_be_scored(rng):
    X = rng.normal(size=(20, 2))
    clf = SEFRClassifier().fit(X, np.arange(20) % 2)
    with pytest.raises(ValueError, match="have no names"):
        ScoringModel.of(clf)
    with pytest.raises(ValueError, match="1 columns were named, but the model has 2"):
        ScoringModel.of(clf, ["a"])
    with pytest.raises(ValueError, match="dialect must be one of"):
        Scoring("t", ScoringModel.of(clf, ["a", "b"])).sql("oracle")
    with pytest.raises(ValueError, match="engine must be one of"):
        expression(clf, "excel")
    with pytest.raises(ValueError, match="kind must be one of"):
        expression(clf, "polars", "mood")
    unseen = SEFRClassifier().partial_fit(X, np.arange(20) % 2, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="never seen"):
        ScoringModel.of(unseen, ["a", "b"])


def scored(engine, rows, made, request):
    if engine == "polars":
        return pl.from_pandas(rows).lazy().select(made.alias("out")).collect()["out"].to_list()
    if engine == "ibis":
        import ibis

        return ibis.memtable(rows).mutate(out=made).execute()["out"].tolist()
    frame = request.getfixturevalue("spark").createDataFrame(pa.Table.from_pandas(rows, preserve_index=False))
    return [row.out for row in frame.select(made.alias("out")).collect()]


def test_expressions_say_what_the_model_says(where, trained, request):
    clf, rows = trained
    every = np.isfinite(rows.to_numpy()).any(axis=1)
    answers = scored(where, rows, expression(clf, where), request)
    assert (np.array(answers) == clf.predict(rows))[every].all()
    scores = np.array(
        [np.atleast_1d(row) for row in scored(where, rows, expression(clf, where, "scores"), request)]
    )
    expected = clf.decision_function(rows).reshape(len(rows), -1)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    shares = np.array(
        [np.asarray(row) for row in scored(where, rows, expression(clf, where, "probabilities"), request)]
    )
    np.testing.assert_allclose(shares[every], clf.predict_proba(rows)[every], rtol=1e-7, atol=1e-9)


def test_expressions_of_a_missing_value_without_leave_are_null(where, rng, request):
    rows = pd.DataFrame(rng.normal(size=(9, 2)), columns=["a", "b"])
    clf = SEFRClassifier().fit(rows, ["p", "q", "r"] * 3)
    rows.iloc[4, 1] = np.nan
    answers = scored(where, rows, expression(clf, where), request)
    assert pd.isna(answers[4])
    assert answers[:4] + answers[5:] == clf.predict(rows.drop(4)).tolist()


@pytest.mark.needs("ibis")
def test_ibis_on_postgresql_with_booleans(postgres, rng):
    import ibis

    """Added up, trained in further passes and scored there: PostgreSQL makes no number of a boolean."""
    rows = pd.DataFrame({"a": rng.normal(size=80), "flag": rng.random(80) > 0.5})
    rows["y"], rows["w"] = np.where(rows["a"] + rows["flag"] > 0.5, "p", "q"), rng.integers(1, 4, 80)
    postgres.execute("DROP TABLE IF EXISTS flags; CREATE TABLE flags (a float8, flag boolean, y text, w int)")
    with postgres.cursor().copy("COPY flags FROM STDIN") as copy:
        for row in rows.itertuples(index=False):
            copy.write_row(row)
    info = postgres.info
    there = ibis.postgres.connect(host=info.host, user=info.user, database=info.dbname).table("flags")
    for weight in (None, "w"):
        summary = Summary.of_frame(there, "y", ["a", "flag"], weight)
        expected = Summary.of(rows[["a", "flag"]], rows["y"], rows["w"] if weight else None)
        np.testing.assert_allclose(summary.sums, expected.sums, rtol=1e-12)
        np.testing.assert_array_equal(summary.counts, expected.counts)
    for settings in ({}, {"passes": 4}, {"bins": 4}):
        clf = SEFRClassifier(**settings).fit_frame(there, "y", ["a", "flag"])
        answers = there.mutate(out=expression(clf, "ibis")).execute()
        assert (answers["out"] == clf.predict(answers[["a", "flag"]])).all()


@pytest.mark.needs("spark")
def test_an_expression_of_spark_without_a_session_is_our_sentence(monkeypatch, rng):
    from pyspark import SparkContext

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    clf = SEFRClassifier().fit(pd.DataFrame(rng.normal(size=(9, 2)), columns=["a", "b"]), ["p", "q", "r"] * 3)
    with pytest.raises(EngineError, match="there is no Spark session"):
        expression(clf, "pyspark")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_number_is_read_to_the_bit(dialect, rng, request):
    """SQLite's own reader is not exact near the smallest numbers."""
    values = np.ldexp(rng.uniform(1, 2, 4000) * rng.choice([-1, 1], 4000), rng.integers(-1074, 1023, 4000))
    near = np.ldexp(rng.uniform(1, 2, 4000), rng.integers(-1074, -950, 4000))
    ends = [5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e-300, 0.0, -0.0]
    values = np.concatenate([values, near, ends])
    run = in_database(dialect, pd.DataFrame({"x": [0.0]}), request)
    cast = "CAST({} AS float8)" if dialect == "postgresql" else "{}"
    for start in range(0, len(values), 500):
        some = values[start : start + 500]
        made = [f"{cast.format(number(float(v), dialect))} AS c{i}" for i, v in enumerate(some)]
        assert run(f"SELECT {', '.join(made)}").iloc[0].tolist() == some.tolist()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_new_columns_beside_ones_of_the_same_name(dialect, rng, request):
    rows = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "prediction", "Score"])
    clf = SEFRClassifier().fit(rows, np.arange(40) % 2)
    plan = ScoringModel.of(clf, probabilities=True)
    taken = ["prediction"] if dialect == "postgresql" else ["prediction", "score"]
    assert Scoring("scored", plan).taken(list(rows.columns), dialect) == taken
    made = Scoring("scored", plan, prefix="new_")
    assert made.taken(list(rows.columns), dialect) == []
    result = in_database(dialect, rows, request)(made.sql(dialect))
    np.testing.assert_array_equal(result[list(rows.columns)], rows)
    assert result["new_prediction"].tolist() == clf.predict(rows).tolist()
