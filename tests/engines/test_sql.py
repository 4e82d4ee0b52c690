"""The queries of `sefr sql`, run by real databases and read back."""

import csv
import io
import sqlite3
import time

import duckdb
import numpy as np
import pandas as pd
import pytest

from sefr import Summary
from sefr.engines.catalogue import catalogue_of
from sefr.engines.error import EngineError
from sefr.engines.sql import FIELDS, Query

NAMES = ["count", "gaps", "winged", 'half "quoted"', "it's"]
DIALECTS = ["duckdb", "postgresql", "sqlite"]


@pytest.fixture
def table(rng):
    n = 300
    half = rng.integers(-40, 40, n) / 2
    half[::19] = np.nan
    return pd.DataFrame(
        {
            "species": rng.choice(["ant", "bee", "o'wasp"], n),
            "w": rng.integers(0, 4, n),
            "count": rng.integers(0, 2**40, n),
            "gaps": pd.array(
                [None if i % 13 == 0 else int(v) for i, v in enumerate(rng.integers(0, 99, n))], "Int64"
            ),
            "winged": rng.random(n) > 0.3,
            'half "quoted"': half,
            "it's": rng.random(n).astype(np.float32),
        }
    )


@pytest.fixture(params=DIALECTS)
def database(request, table):
    """Return a function that runs a query in a database that holds the table as t."""
    dialect = request.param
    if dialect == "duckdb":
        connection = duckdb.connect()
        connection.register("frame", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")
        run = connection.execute
    elif dialect == "sqlite":
        connection = sqlite3.connect(":memory:")
        table.to_sql("t", connection, index=False)
        run = connection.execute
    else:
        connection = request.getfixturevalue("postgres")
        columns = ", ".join(
            f'"{name.replace(chr(34), chr(34) * 2)}" {kind}'
            for name, kind in zip(
                table.columns,
                ["text", "smallint", "bigint", "integer", "boolean", "float8", "real"],
                strict=True,
            )
        )
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute(f"CREATE TABLE t ({columns})")
        rows = [[None if v is pd.NA else v for v in row] for row in table.itertuples(index=False)]
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for row in rows:
                copy.write_row([v.item() if isinstance(v, np.generic) else v for v in row])
        run = connection.execute
    return dialect, run


@pytest.mark.parametrize("weight", [None, "w"])
def test_the_result_is_the_summary(database, table, weight):
    dialect, run = database
    query = Query("t", "species", NAMES, weight, booleans=["winged"])
    summary = Summary.of_query(run(query.sql(dialect)), missing="ignore")
    weights = None if weight is None else table[weight]
    expected = Summary.of(table[NAMES], table["species"].to_numpy(), weights, missing="ignore")
    exact = [j for j, name in enumerate(NAMES) if name != "it's"]
    assert summary.feature_names == tuple(NAMES)
    for name in ("classes", "counts", "low", "high", "present"):
        np.testing.assert_array_equal(getattr(summary, name), getattr(expected, name))
    np.testing.assert_array_equal(summary.sums[:, exact], expected.sums[:, exact])
    np.testing.assert_allclose(summary.sums, expected.sums, rtol=1e-12)


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_query_that_finds_the_columns_out(database, table, weight):
    dialect, run = database
    query = Query("t", "species", None, weight)
    if dialect == "sqlite":
        with pytest.raises(ValueError, match="cannot list a table's columns"):
            query.sql(dialect)
        return
    summary = Summary.of_query(run(query.sql(dialect)), missing="ignore")
    expected = Summary.of_frame(table, "species", weight=weight, missing="ignore")
    assert summary.feature_names == tuple(c for c in table.columns if c not in {"species", weight})
    np.testing.assert_array_equal(summary.counts, expected.counts)
    np.testing.assert_array_equal(summary.sums[:, :-1], expected.sums[:, :-1])
    # PostgreSQL's JSON has the shortest digits of a float32, which are not those of the float64 that equals
    # it.
    np.testing.assert_allclose(summary.sums, expected.sums, rtol=1e-7 if dialect == "postgresql" else 1e-12)


def test_an_origin_keeps_the_bits_of_a_timestamp(database, table, rng):
    dialect, run = database
    times = 1.7e9 + rng.random(200)
    y = np.arange(200) % 2
    real = {"duckdb": "DOUBLE", "postgresql": "float8", "sqlite": "REAL"}[dialect]
    run("DROP TABLE IF EXISTS clock")
    run(f"CREATE TABLE clock (time {real}, y INTEGER)")
    values = ", ".join(f"({float(t)!r}, {k})" for t, k in zip(times, y, strict=True))
    run(f"INSERT INTO clock VALUES {values}")
    expected = Summary.of_frame(pd.DataFrame({"time": times, "y": y}))
    with pytest.warns(UserWarning, match="'time' lies far from zero") as caught:
        Summary.of_query(run(Query("clock", "y", ["time"]).sql(dialect)))
    origin = float(str(caught[0].message).rsplit("=", 1)[1])
    summary = Summary.of_query(run(Query("clock", "y", ["time"], origins={"time": origin}).sql(dialect)))
    np.testing.assert_allclose(distance(summary), distance(expected), rtol=1e-12)
    other = Summary.of_query(
        run(Query("clock", "y", ["time"], origins={"time": 1700000000.123}).sql(dialect))
    )
    np.testing.assert_allclose(distance(other), distance(expected), rtol=1e-12)


def distance(summary):
    return (
        summary.sums - summary.counts[:, None] * summary.low + (0 if summary.tails is None else summary.tails)
    )


def test_more_features_than_a_result_may_have_columns(database, rng):
    dialect, run = database
    m = 1500
    X, y = rng.integers(0, 9, (20, m)), np.arange(20) % 2
    run("DROP TABLE IF EXISTS wide")
    run(f"CREATE TABLE wide (y INTEGER, {', '.join(f'c{j} INTEGER' for j in range(m))})")
    run(
        f"INSERT INTO wide VALUES {', '.join(str((int(k), *map(int, x))) for k, x in zip(y, X, strict=True))}"
    )
    names = [f"c{j}" for j in range(m)]
    assert Summary.of_query(run(Query("wide", "y", names).sql(dialect))) == Summary.of_frame(
        pd.DataFrame(X, columns=names).assign(y=y)
    )


def test_the_order_of_the_features_is_that_of_the_query_for_every_shape(database, rng):
    dialect, run = database
    for m in (3, 17, 40, 90, 400):
        for n_classes in (2, 5):
            names = [f"c{j}" for j in rng.permutation(m)]
            X, y = rng.integers(0, 9, (30, m)), np.arange(30) % n_classes
            run("DROP TABLE IF EXISTS shape")
            run(f"CREATE TABLE shape (y INTEGER, {', '.join(f'{name} INTEGER' for name in names)})")
            values = ", ".join(str((int(k), *map(int, x))) for k, x in zip(y, X, strict=True))
            run(f"INSERT INTO shape VALUES {values}")
            query = Query("shape", "y", names, booleans=[])
            summary = Summary.of_query(run(query.sql(dialect)))
            assert summary.feature_names == tuple(names)
            assert summary == Summary.of_frame(pd.DataFrame(X, columns=names).assign(y=y))


def test_the_order_of_the_rows_of_a_result_means_nothing(database, table, rng):
    dialect, run = database
    cursor = run(Query("t", "species", NAMES, booleans=["winged"]).sql(dialect))
    result = pd.DataFrame(cursor.fetchall(), columns=[c[0] for c in cursor.description])
    expected = Summary.of_query(result, missing="ignore")
    for _ in range(5):
        shuffled = result.iloc[rng.permutation(len(result))]
        assert Summary.of_query(shuffled, missing="ignore") == expected


@pytest.mark.parametrize("weight", [None, "word"])
def test_columns_named_like_the_query_s_own(database, rng, weight):
    dialect, run = database
    own = [
        "value",
        "feature",
        "place",
        "whole",
        "label",
        "class_rows",
        "f0",
        "total",
        "cell",
        "numbers",
        "class",
    ]
    for label in ["value", "feature", "place", "whole"]:
        names = [name for name in own if name != label]
        X, y, w = rng.integers(0, 9, (40, len(names))), np.arange(40) % 2, rng.integers(0, 3, 40)
        run("DROP TABLE IF EXISTS awkward")
        columns = ", ".join(f'"{name}" INTEGER' for name in [label, "word", *names])
        run(f"CREATE TABLE awkward ({columns})")
        values = ", ".join(str((int(k), int(v), *map(int, x))) for k, v, x in zip(y, w, X, strict=True))
        run(f"INSERT INTO awkward VALUES {values}")
        expected = Summary.of(X, y, None if weight is None else w)
        for features in (names, None):
            if features is None and (dialect == "sqlite" or weight is None):
                continue
            summary = Summary.of_query(run(Query("awkward", label, features, weight).sql(dialect)))
            assert summary.feature_names == tuple(names)
            np.testing.assert_array_equal(summary.sums, expected.sums)
            np.testing.assert_array_equal(summary.counts, expected.counts)


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_model_per_group(database, table, weight):
    from sefr.engines.sql import summaries_of_result

    dialect, run = database
    names = ["count", "gaps"]
    query = Query("t", "species", names, weight, group="winged").sql(dialect)
    found = summaries_of_result(run(query), missing="ignore")
    assert len(found) == 2
    for group, summary in found.items():
        some = table[table["winged"] == bool(group)]
        assert summary == Summary.of_frame(some, "species", names, weight, missing="ignore")
    with pytest.raises(EngineError, match="a Summary per group"):
        Summary.of_query(run(query), missing="ignore")


@pytest.mark.parametrize("features", [1000, 1900])
def test_sqlite_plans_wide_tables_in_a_moment(features):
    connection = sqlite3.connect(":memory:")
    names = [f"c{j}" for j in range(features)]
    connection.execute(f"CREATE TABLE t (y INTEGER, {', '.join(names)})")
    holes = ",".join("?" * (features + 1))
    connection.executemany(f"INSERT INTO t VALUES ({holes})", [[i % 2] + [i] * features for i in range(10)])
    start = time.process_time()
    summary = Summary.of_query(connection.execute(Query("t", "y", names).sql("sqlite")))
    assert time.process_time() - start < 5  # it was 31 s for 1,000 features
    assert summary.sums[:, -1].tolist() == [20, 25]


def test_a_result_that_went_through_a_csv_file(table):
    connection = sqlite3.connect(":memory:")
    table.to_sql("t", connection, index=False)
    cursor = connection.execute(Query("t", "species", ["count", "gaps"]).sql("sqlite"))
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([c[0] for c in cursor.description])
    writer.writerows(cursor)
    file.seek(0)
    summary = Summary.of_query(pd.read_csv(file), missing="ignore")
    assert summary == Summary.of_frame(table, "species", ["count", "gaps"], missing="ignore")


def test_what_is_wrong_with_a_table(database):
    dialect, run = database
    engine = {"postgresql": "psycopg", "sqlite": "sqlite3"}.get(dialect, dialect)
    run("DROP TABLE IF EXISTS bad")
    run("CREATE TABLE bad (y INTEGER, a INTEGER, w INTEGER)")
    query = Query("bad", "y", ["a"]).sql(dialect)
    with pytest.raises(EngineError, match=f"^{engine}: the table has no rows"):
        Summary.of_query(run(query))
    run("INSERT INTO bad VALUES (0, NULL, 1), (0, 3, -1), (1, 4, 1)")
    with pytest.raises(EngineError, match=rf"^{engine}: .*NaN or null: 1 values of column 0 \('a'\)"):
        Summary.of_query(run(query))
    with pytest.raises(
        EngineError, match=f"^{engine}: the weights of class 0 must be finite and not negative"
    ):
        Summary.of_query(run(Query("bad", "y", ["a"], "w").sql(dialect)))
    run("INSERT INTO bad VALUES (NULL, 1, 1)")
    with pytest.raises(EngineError, match=f"^{engine}: .*without a label"):
        Summary.of_query(run(query), missing="ignore")
    with pytest.raises(EngineError, match="has no column 'label'"):
        Summary.of_query(run("SELECT a, y FROM bad"))


def test_sqlite_with_text_among_the_numbers():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (y, a)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(0, 1), (1, "7")])
    with pytest.raises(EngineError, match=r"^sqlite3: column 'a' holds '7', not a number"):
        Summary.of_query(connection.execute(Query("t", "y", ["a"]).sql("sqlite")))


def test_a_result_with_a_row_too_many_or_too_few():
    row = dict(zip(FIELDS, [0, "a", 0, 2, 0, 2, 0.0, 5.0, 2.0, 3.0], strict=True))
    other = row | {"label": 1}
    assert Summary.of_query(pd.DataFrame([row, other])).n_rows == 4
    for rows in ([row, row], [row, other, row | {"feature": "b", "place": 1}]):
        with pytest.raises(EngineError, match="not one for each"):
            Summary.of_query(pd.DataFrame(rows))


def test_queries_that_make_no_sense():
    with pytest.raises(ValueError, match="named twice"):
        Query("t", "y", ["y"]).sql()
    with pytest.raises(ValueError, match="dialect must be one of"):
        Query("t", "y", ["a"]).sql("oracle")
    with pytest.raises(ValueError, match="no features"):
        Query("t", "y", []).sql()


def test_the_command_prints_the_query(table, tmp_path, postgres):
    from typer.testing import CliRunner

    from sefr.cli import app

    def command(*words):
        done = CliRunner().invoke(app, ["sql", "--label", "species", *words])
        return done.output if done.exit_code == 0 else done

    expected = Summary.of_frame(table, "species", NAMES[:4], missing="ignore")
    plain = table[["species", *NAMES[:4]]]
    names = ["--database", str(tmp_path / "x.sqlite"), "--table", "t"]
    with sqlite3.connect(tmp_path / "x.sqlite") as lite:
        plain.to_sql("t", lite, index=False)
    assert Summary.of_query(lite.execute(command(*names)), missing="ignore") == expected
    with duckdb.connect(str(tmp_path / "x.duckdb")) as duck:
        duck.register("frame", plain)
        duck.execute("CREATE TABLE t AS SELECT * FROM frame")
    query = command("--database", str(tmp_path / "x.duckdb"), "--table", "t", "--drop", "gaps")
    with duckdb.connect(str(tmp_path / "x.duckdb")) as duck:
        summary = Summary.of_query(duck.execute(query), missing="ignore")
    assert summary.feature_names == ("count", "winged", NAMES[3])
    plain.to_csv(tmp_path / "x.csv", index=False)
    query = command("--table", str(tmp_path / "x.csv"))
    assert Summary.of_query(duckdb.connect().execute(query), missing="ignore") == expected
    address = f"postgresql://sefr@/postgres?host={postgres.info.host}"
    postgres.execute("DROP TABLE IF EXISTS cli; CREATE TABLE cli (species text, flag boolean, n int)")
    assert 'CASE WHEN "flag"' in command("--database", address, "--table", "cli")
    assert catalogue_of(address, "public.cli").booleans == ["flag"]
    assert command("--table", "t", "--drop", "a").exit_code != 0
    assert command("--table", "t", "--database", str(tmp_path / "x.csv")).exit_code != 0
    assert "json_each_text" in command("--table", "t", "--dialect", "postgresql")


@pytest.mark.parametrize("name", ["a#b.sqlite", "a?b.sqlite", "50%25.sqlite", "with space.sqlite"])
def test_a_database_with_an_awkward_name(tmp_path, name):
    with sqlite3.connect(tmp_path / name) as connection:
        connection.execute("CREATE TABLE t (y INTEGER, a INTEGER)")
    assert catalogue_of(str(tmp_path / name), "t").columns == ["y", "a"]


def test_sqlite_sums_that_no_integer_holds():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (y INTEGER, a INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(0, 2**62), (0, 2**62), (0, 2**62), (1, 1)])
    summary = Summary.of_query(connection.execute(Query("t", "y", ["a"]).sql("sqlite")))
    assert summary.sums[0, 0] == 3 * 2.0**62
