"""SQL for more databases: sqlglot's dialects, triggers, macros, and models from a result."""

import csv
import json
import subprocess
import sys
from importlib import resources
from pathlib import Path

import duckdb
import jinja2
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from sefr import SEFRClassifier, Summary, load
from sefr.engines.dialects import CARRIED
from sefr.engines.maintained import maintenance_sql
from sefr.engines.sql import Query, summaries_of_result

sqlglot = pytest.importorskip("sqlglot")


@pytest.fixture
def table(rng):
    n = 400
    half = rng.integers(-40, 40, n) / 2
    half[::19] = np.nan
    return pd.DataFrame(
        {
            "species": rng.choice(["ant", "bee", "o'wasp"], n),
            "group": rng.choice(["north", "south"], n),
            "w": rng.integers(0, 4, n),
            "count": rng.integers(0, 2**30, n),
            "winged": rng.random(n) > 0.3,
            "half way": half,
        }
    )


NAMES = ["count", "winged", "half way"]


def query(weight=None, group=None):
    return Query("t", "species", NAMES, weight, booleans=["winged"], group=group)


def expected(table, weight=None):
    return Summary.of_frame(table, "species", NAMES, weight, missing="ignore")


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("dialect", CARRIED)
def test_what_sqlglot_writes_means_the_same(dialect, table, weight):
    """The dialect's own text, read back by sqlglot, is run: what got lost on the way would be missing."""
    text = query(weight).sql(dialect)
    connection = duckdb.connect()
    connection.register("t", table)
    back = sqlglot.transpile(text.strip().rstrip(";"), read=dialect, write="duckdb")[0]
    assert Summary.of_query(connection.execute(back), missing="ignore") == expected(table, weight)


@pytest.mark.parametrize("weight", [None, "w"])
def test_clickhouse_runs_it(table, weight, tmp_path):
    session = pytest.importorskip("chdb.session")
    table.to_parquet(tmp_path / "t.parquet")
    with session.Session(str(tmp_path / "store")) as clickhouse:
        clickhouse.query("CREATE DATABASE shop ENGINE = Atomic")
        clickhouse.query("USE shop")
        rows = f"SELECT * FROM file('{tmp_path}/t.parquet')"
        clickhouse.query(f"CREATE TABLE t ENGINE = MergeTree ORDER BY tuple() AS {rows}")
        answer = clickhouse.query(query(weight).sql("clickhouse").rstrip().rstrip(";"), "ArrowTable")
        assert Summary.of_query(answer, missing="ignore") == expected(table, weight)
        grouped = query(weight, "group").sql("clickhouse").rstrip().rstrip(";")
        found = summaries_of_result(clickhouse.query(grouped, "ArrowTable"), missing="ignore")
    assert set(found) == {"north", "south"}
    for name, summary in found.items():
        assert summary == expected(table[table["group"] == name], weight)


@pytest.mark.slow
def test_spark_runs_it(table, spark):
    whole = table.drop(columns="half way")  # NaN must be NULL there
    spark.createDataFrame(whole).createOrReplaceTempView("t")
    asked = Query("t", "species", ["count", "winged"], "w", booleans=["winged"])
    answer = spark.sql(asked.sql("spark").rstrip().rstrip(";")).toPandas()
    assert Summary.of_query(answer) == Summary.of_frame(whole, "species", ["count", "winged"], "w")


def test_triggers_keep_the_summary_of_the_table(postgres, table, rng):
    postgres.execute("DROP TABLE IF EXISTS visits, visits_sefr_changes CASCADE")
    for verb in ("learn", "forget", "clear", "fold"):
        postgres.execute(f"DROP FUNCTION IF EXISTS visits_sefr_{verb} CASCADE")
    postgres.execute(
        'CREATE TABLE visits (id serial, species text, "count" bigint, winged boolean, "half way" float8)'
    )

    def insert(rows):
        with postgres.cursor() as cursor:
            cursor.executemany(
                'INSERT INTO visits (species, "count", winged, "half way") VALUES (%s, %s, %s, %s)',
                [
                    (r.species, int(r.count_), bool(r.winged), None if pd.isna(r.half) else float(r.half))
                    for r in rows.rename(columns={"count": "count_", "half way": "half"}).itertuples()
                ],
            )

    def check(ranges=True):
        if rng.random() < 0.5:
            postgres.execute("SELECT visits_sefr_fold()")
        kept = Summary.of_query(postgres.execute("SELECT * FROM visits_sefr"), missing="ignore")
        again = Query("visits", "species", NAMES, booleans=["winged"])
        labelled = again.sql("postgresql").replace(
            'FROM "visits"', 'FROM (SELECT * FROM visits WHERE species IS NOT NULL) AS "visits"'
        )
        fresh = Summary.of_query(postgres.execute(labelled), missing="ignore")
        assert kept.classes.tolist() == fresh.classes.tolist()
        for part in ("counts", "sums", "present"):
            np.testing.assert_array_equal(getattr(kept, part), getattr(fresh, part))
        if ranges:
            np.testing.assert_array_equal(kept.low, fresh.low)
            np.testing.assert_array_equal(kept.high, fresh.high)
        return fresh

    insert(table[:100])
    postgres.execute(maintenance_sql(Query("visits", "species", NAMES, booleans=["winged"])))
    check()
    insert(table[100:])
    assert check() == expected(table)
    postgres.execute('INSERT INTO visits (species, "count", winged) VALUES (NULL, 7, true)')
    check()
    postgres.execute("UPDATE visits SET species = 'cicada' WHERE species IS NULL")
    assert check().classes.tolist() == ["ant", "bee", "cicada", "o'wasp"]
    postgres.execute('UPDATE visits SET "half way" = "half way" + 1, species = \'bee\' WHERE id % 5 = 0')
    check(ranges=False)
    postgres.execute("DELETE FROM visits WHERE id % 3 = 0")
    check(ranges=False)
    postgres.execute("DELETE FROM visits WHERE species = 'cicada'")
    assert check(ranges=False).classes.tolist() == ["ant", "bee", "o'wasp"]
    postgres.execute("TRUNCATE visits")
    assert postgres.execute("SELECT count(*) FROM visits_sefr").fetchone() == (0,)
    insert(table[:50])
    check()


def test_triggers_of_what_has_no_name_or_is_weighted():
    with pytest.raises(ValueError, match="needs its features by name"):
        maintenance_sql(Query("t", "y"))
    with pytest.raises(ValueError, match="no weight and no group"):
        maintenance_sql(Query("t", "y", ["a"], "w"))
    with pytest.raises(ValueError, match="triggers belong to a table"):
        maintenance_sql(Query("(SELECT 1) AS t", "y", ["a"]))


def macros(which):
    return (resources.files("sefr.engines") / f"{which}.sql").read_text()


@pytest.mark.parametrize("load_set", [load_iris, load_breast_cancer])
def test_duckdb_macros_train_and_answer_as_the_classifier_does(load_set):
    frame = load_set(as_frame=True).frame
    frame["target"] = frame["target"].astype(str)
    frame.iloc[::7, 2] = np.nan
    frame["constant"] = 5.0
    X = frame.drop(columns="target")
    model = SEFRClassifier(missing="ignore").fit(X, frame["target"])
    connection = duckdb.connect()
    connection.execute(macros("duckdb"))
    connection.register("frame", frame.assign(note="text"))
    connection.execute("CREATE TABLE t AS FROM frame")
    names = ", ".join("'" + name + "'" for name in X.columns)
    connection.execute(f"CREATE TABLE m AS FROM sefr_train('t', 'target', features := [{names}])")
    found = connection.execute("FROM sefr_predict('m', 't')").df()
    assert found["prediction"].tolist() == model.predict(X).tolist()
    scores = model.decision_function(X)
    best = np.abs(scores) if scores.ndim == 1 else scores.max(axis=1)
    np.testing.assert_allclose(found["score"], best, rtol=0, atol=1e-12)
    assert found["note"].tolist() == ["text"] * len(frame)
    summary = Summary.of_query(
        connection.execute(f"FROM sefr_summary('t', 'target', features := [{names}])"), missing="ignore"
    )
    assert summary.feature_names == tuple(sorted(X.columns))
    np.testing.assert_array_equal(summary.counts, model.summary_.counts)


def test_the_dbt_macro_rendered_and_run(table):
    """Rendered by Jinja2 itself: dbt adds the adapter's quotes and its name of a float."""
    module = jinja2.Environment(autoescape=False).from_string(macros("dbt")).module  # noqa: S701
    connection = duckdb.connect()
    connection.register("t", table.assign(winged=table["winged"].astype(int)))
    text = module.sefr_summary("t", "species", NAMES)
    assert Summary.of_query(connection.execute(text), missing="ignore") == expected(table)


@pytest.mark.parametrize("kind", ["duckdb", "postgres", "bigquery", "spark", "clickhouse", "sqlserver"])
def test_the_dbt_macro_adds_up_doubles(kind, table):
    """Where dbt defines its own names; its float has 32 bits in DuckDB, which knows all the names but one."""
    environment = jinja2.Environment(autoescape=False)  # noqa: S701
    environment.globals |= {"target": {"type": kind}, "type_float": lambda: "float"}
    text = environment.from_string(macros("dbt")).module.sefr_summary("t", "species", ["count"])
    names = {"bigquery": "FLOAT64", "clickhouse": "Float64", "spark": "DOUBLE", "sqlserver": "FLOAT"}
    assert f"AS {names.get(kind, 'DOUBLE PRECISION')})" in text
    if kind in ("duckdb", "postgres", "spark"):
        connection = duckdb.connect()
        large = table[["species", "count"]].assign(count=table["count"] + 2**24 + 1)
        connection.register("t", large)
        assert Summary.of_query(connection.execute(text)) == Summary.of_frame(large, "species", ["count"])


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "sefr.cli", *map(str, arguments)], cwd=folder, capture_output=True, text=True
    )


@pytest.mark.slow
def test_a_model_from_the_result_of_a_query(table, tmp_path):
    connection = duckdb.connect(str(tmp_path / "shop.duckdb"))
    connection.register("frame", table)
    connection.execute("CREATE TABLE t AS FROM frame")

    def write(name, text):
        answer = connection.execute(text)
        with (tmp_path / name).open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow([column[0] for column in answer.description])
            out.writerows(answer.fetchall())

    write("s.csv", query().sql("duckdb"))
    done = run(tmp_path, "train", "--from-query", "s.csv", "--missing", "ignore", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 400
    assert load(tmp_path / "model.sefr").summary_ == expected(table)
    write("g.csv", query(group="group").sql("duckdb"))
    done = run(tmp_path, "train", "--from-query", "g.csv", "--missing", "ignore", "-o", "of-{}.sefr", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for name in ("north", "south"):
        some = expected(table[table["group"] == name])
        assert load(tmp_path / f"of-{name}.sefr").summary_ == some
    for arguments, code, said in (
        (["g.csv", "-o", "one.sefr"], 2, "needs {}"),
        (["s.csv"], 1, "Input X contains NaN or null"),
        (["nothing.csv"], 1, "nothing.csv: No such file"),
        (["s.csv", "--label", "y"], 2, "takes no DATA"),
    ):
        done = run(tmp_path, "train", "--from-query", *arguments)
        assert done.returncode == code, done.stderr
        assert said in done.stderr.replace("\n", " ").replace("│", "").replace("  ", " ")
    assert not (tmp_path / "one.sefr").exists()


def test_files_of_macros_are_printed_by_the_command(tmp_path):
    for which in ("duckdb", "dbt"):
        done = run(tmp_path, "sql", "--macros", which)
        assert (done.returncode, done.stdout) == (0, macros(which)), done.stderr
    assert Path(str(resources.files("sefr.engines") / "duckdb.sql")).is_file()
