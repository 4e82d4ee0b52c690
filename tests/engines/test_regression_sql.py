"""Regression by SQL: coefficients that the database computes, and sums that are solved here, per group."""

import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from sefr import SEFRRegressor, load
from sefr.engines.regression_sql import MOST_FEATURES, RegressionQuery
from sefr.engines.sql import Query, summaries_of_result

NAMES = ["hour", "rain", "far"]
SOLVED = ["duckdb", "sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]


@pytest.fixture
def table(rng):
    """Rows of 40 shops, one of which has no name; a column lies far from zero, some cells are empty."""
    n = 2_000
    X = rng.normal(size=(n, 3)) + np.array([0, 5, 1e9])
    shops = rng.integers(0, 40, n)
    load_ = X @ [3, -2, 0.5] + shops + rng.normal(size=n)
    rows = pd.DataFrame(X, columns=NAMES).assign(shop=shops, load=load_, w=rng.integers(0, 3, n))
    rows["shop"] = [None if shop == 0 else f"s{shop:02}" for shop in shops]
    rows.loc[::31, "rain"] = None
    rows.loc[::47, "load"] = None
    return rows


def on_duckdb(text, table):
    connection = duckdb.connect()
    connection.register("t", table)
    return connection.execute(text).df()


def on_sqlite(text, table):
    connection = sqlite3.connect(":memory:")
    table.to_sql("t", connection, index=False)
    return pd.read_sql(text, connection)


def on_postgresql(text, table, connection):
    kinds = ["text" if kind.kind == "O" else "float8" for kind in table.dtypes]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(table.columns, kinds, strict=True))
    with connection.transaction(force_rollback=True):
        connection.execute(f"CREATE TEMP TABLE t ({columns})")
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for row in table.itertuples(index=False):
                copy.write_row([None if value is None or value != value else value for value in row])
        cursor = connection.execute(text)
        return pd.DataFrame(cursor.fetchall(), columns=[c.name for c in cursor.description])


def executed(dialect, text, table, request):
    if dialect == "postgresql":
        return on_postgresql(text, table, request.getfixturevalue("postgres"))
    return (on_duckdb if dialect == "duckdb" else on_sqlite)(text, table)


def fitted(rows, names, ridge, weight):
    """Return the intercept and coefficients by scikit-learn, of rows about their means: LAPACK needs that."""
    whole = rows.dropna(subset=[*names, "load"])
    weights = None if weight is None else whole[weight].to_numpy()
    means = np.average(whole[names], axis=0, weights=weights)
    model = Ridge(alpha=ridge) if ridge else LinearRegression()
    model.fit(whole[names].to_numpy() - means, whole["load"], weights)
    used = len(whole) if weights is None else int((weights > 0).sum())
    return used, model.intercept_ - model.coef_ @ means, model.coef_


@pytest.mark.parametrize("ridge", [0.0, 2.5])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("dialect", SOLVED)
def test_each_group_has_the_coefficients_of_its_own_fit(table, dialect, weight, ridge, request):
    text = RegressionQuery("t", "load", NAMES, weight, group="shop", ridge=ridge).sql(dialect)
    found = executed(dialect, text, table, request)
    assert list(found.columns) == ["shop", "rows", "intercept", *NAMES]
    assert len(found) == 40
    for row in found.to_dict("records"):
        named = isinstance(row["shop"], str)
        rows = table[table["shop"] == row["shop"]] if named else table[table["shop"].isna()]
        used, intercept, coef = fitted(rows, NAMES, ridge, weight)
        assert row["rows"] == used
        np.testing.assert_allclose([row[name] for name in NAMES], coef, rtol=1e-9, atol=1e-9)
        assert row["intercept"] == pytest.approx(intercept, rel=1e-9)


@pytest.mark.slow
def test_ten_thousand_groups_equal_ten_thousand_fits(rng):
    """Both ways: what the database solves, and what is solved here from the sums of one query."""
    n_groups, per = 10_000, 9
    X = rng.integers(-50, 50, (n_groups * per, 3)).astype(float)
    groups = np.repeat(np.arange(n_groups), per)
    y = X[:, 0] * (1 + groups % 7) - X[:, 1] + rng.integers(-30, 30, len(X))
    table = pd.DataFrame(X, columns=NAMES).assign(shop=groups, load=y)
    found = on_duckdb(RegressionQuery("t", "load", NAMES, group="shop").sql(), table)
    assert found["shop"].tolist() == list(range(n_groups))
    blocks, numbers = X.reshape(n_groups, per, 3), y.reshape(n_groups, per)
    centred = blocks - blocks.mean(axis=1, keepdims=True)
    right = [np.linalg.lstsq(a, b, rcond=None)[0] for a, b in zip(centred, numbers, strict=True)]
    np.testing.assert_allclose(found[NAMES].to_numpy(), right, rtol=1e-7, atol=1e-9)
    connection = duckdb.connect()
    connection.register("t", table)
    query = Query("t", None, [*NAMES, "load"], group="shop", moments=2, target="load")
    sums = summaries_of_result(connection.execute(query.sql()))
    assert len(sums) == n_groups
    for group in range(n_groups):
        at = slice(group * per, (group + 1) * per)
        fit = SEFRRegressor().fit(table.iloc[at][NAMES], y[at])
        assert sums[group] == fit.summary_
        if group % 100 == 0:
            again = SEFRRegressor.from_summary(sums[group])
            np.testing.assert_allclose(again.coef_, fit.coef_, rtol=1e-9)


def test_a_feature_that_others_determine_has_no_coefficient(table):
    rows = table.assign(again=table["hour"] * 2 + table["rain"], same=7.0)
    names = ["hour", "same", "rain", "again"]
    for found in (
        on_duckdb(RegressionQuery("t", "load", names).sql(), rows),
        on_sqlite(RegressionQuery("t", "load", names).sql("sqlite"), rows),
    ):
        _, intercept, coef = fitted(rows, ["hour", "rain"], 0.0, None)
        (row,) = found.to_dict("records")
        np.testing.assert_allclose([row["hour"], row["rain"]], coef, rtol=1e-9)
        assert row["intercept"] == pytest.approx(intercept)
        assert all(row[name] is None or np.isnan(row[name]) for name in ("same", "again"))
    shrunk = on_duckdb(RegressionQuery("t", "load", names, ridge=1.0).sql(), rows)
    np.testing.assert_allclose(shrunk[names].to_numpy()[0], fitted(rows, names, 1.0, None)[2], atol=1e-9)


def test_names_of_the_users_are_not_taken_for_the_querys(table):
    """Nor does a boolean column, quotes in a name, or a column called as one of the result."""
    rows = table.dropna().assign(wet=lambda each: each["rain"] > 5)
    awkward = {"hour": "sefr_a0_0", "rain": 'o"rain', "far": "means"}
    renamed = rows.rename(columns=awkward)
    text = RegressionQuery("t", "load", [*awkward.values(), "wet"], booleans=["wet"]).sql()
    found = on_duckdb(text, renamed).iloc[0]
    right = fitted(rows.assign(wet=rows["wet"].astype(float)), [*awkward, "wet"], 0.0, None)[2]
    np.testing.assert_allclose([found[name] for name in (*awkward.values(), "wet")], right, rtol=1e-8)
    with pytest.raises(ValueError, match='a column is called "rows" itself'):
        RegressionQuery("t", "load", ["rows"]).sql()
    clash = on_duckdb(
        RegressionQuery("t", "load", ["rows"], prefix="n_").sql(), rows.rename(columns={"hour": "rows"})
    )
    assert list(clash.columns) == ["n_rows", "n_intercept", "rows"]


def test_what_is_wrong():
    for query, words in [
        (RegressionQuery("t", "y", []), "a query solves 1 to"),
        (RegressionQuery("t", "y", [f"x{j}" for j in range(MOST_FEATURES + 1)]), "--task regress prints"),
        (RegressionQuery("t", "y", ["y"]), "named twice"),
        (RegressionQuery("t", "y", ["x"], ridge=-1.0), "penalty must be a number from 0 up"),
        (RegressionQuery("t", "y", ["x"], ridge=float("nan")), "penalty must be a number from 0 up"),
        (Query("t", None, ["x"], moments=2, target="y"), "a target is one of the features"),
        (Query("t", "y", ["x"], moments=2, target="x"), "a target is one of the features"),
    ]:
        with pytest.raises(ValueError, match=words):
            query.sql()
    with pytest.raises(ValueError, match="not in trino"):
        RegressionQuery("t", "y", ["x"]).sql("trino")


def sefr(*arguments, **options):
    program = [sys.executable, "-m", "sefr.cli", *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, **options)


@pytest.mark.parametrize("group", [None, "shop"])
def test_the_command_prints_both_queries_and_trains_from_the_sums(table, tmp_path, group):
    rows = table.dropna().assign(far=table["hour"] - 2 * table["rain"] ** 2, load=table["load"] - 5e8)
    rows.to_parquet(tmp_path / "t.parquet", index=False)
    file = str(tmp_path / "t.parquet")
    asked = ["sql", "--table", file, "--label", "load", "--task", "regress"]
    asked += ["--drop", "w" if group else "w,shop"]
    asked += ["--group-by", group] if group else []
    solved = sefr(*asked, "--coefficients", "--ridge", "1.5")
    assert solved.returncode == 0, solved.stderr
    by_query = duckdb.connect().execute(solved.stdout).df()
    first = rows if group is None else rows[rows["shop"] == by_query["shop"][0]]
    _, intercept, coef = fitted(first, NAMES, 1.5, None)
    np.testing.assert_allclose(by_query[NAMES].to_numpy()[0], coef, rtol=1e-9)
    assert by_query["intercept"][0] == pytest.approx(intercept)
    printed = sefr(*asked)
    assert printed.returncode == 0, printed.stderr
    duckdb.connect().execute(printed.stdout).df().to_csv(tmp_path / "sums.csv", index=False)
    output = tmp_path / ("m-{}.sefr" if group else "m.sefr")
    done = sefr("train", "--from-query", tmp_path / "sums.csv", "-o", output)
    assert done.returncode == 0, done.stderr
    model = load(tmp_path / ("m-" + first["shop"].iloc[0] + ".sefr" if group else "m.sefr"))
    fit = SEFRRegressor().fit(first[NAMES], first["load"])
    np.testing.assert_allclose(model.predict(first[NAMES]), fit.predict(first[NAMES]), rtol=1e-8)


def test_settings_of_numbers_reach_the_model_of_a_query(table, tmp_path):
    rows = table.dropna()
    query = Query("t", None, [*NAMES, "load"], moments=2, target="load")
    on_duckdb(query.sql(), rows).to_csv(tmp_path / "sums.csv", index=False)
    start = ["train", "--from-query", tmp_path / "sums.csv", "-o", tmp_path / "m.sefr"]
    done = sefr(*start, "--moments", "1")
    assert done.returncode == 0, done.stderr
    fit = SEFRRegressor(moments=1).fit(rows[NAMES], rows["load"])
    found = load(tmp_path / "m.sefr")
    assert found.moments == 1
    np.testing.assert_allclose(found.predict(rows[NAMES]), fit.predict(rows[NAMES]), rtol=1e-8)
    done = sefr(*start, "--class-weight", "balanced")
    assert done.returncode == 2
    assert "--class-weight goes with classes, not with numbers" in " ".join(done.stderr.split())


def test_the_command_says_which_options_do_not_go_together():
    start = ["sql", "--table", "t", "--label", "y", "--features", "x"]
    for more, words in [
        (["--coefficients"], "goes with --task regress"),
        (["--task", "regress", "--ridge", "1"], "--ridge goes with --coefficients"),
        (["--task", "regress", "--maintain", "--dialect", "postgresql"], "--maintain keeps sums of classes"),
        (["--task", "regress", "--coefficients", "--dialect", "mysql"], "not in mysql"),
    ]:
        done = sefr(*start, *more)
        assert done.returncode == 2
        assert words in " ".join(done.stderr.replace("│", " ").split())
    done = sefr("sql", "--table", "t", "--label", "y", "--task", "regress")
    assert "needs --features" in done.stderr


@pytest.mark.parametrize("dialect", SOLVED)
@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9])
def test_groups_of_few_rows_far_from_zero_are_solved_as_their_rows_are(rng, dialect, offset, request):
    """Each group has fewer rows than features, so that any digit lost in a product changes the answers."""
    X = rng.normal(size=(24, 7)).round(3)
    X[:, :3] += offset
    X[:, 3] = 2.5
    names, shops = [f"f{j}" for j in range(7)], np.repeat(["a", "b", "c", None], 6)
    X[shops == "b", 0] -= offset  # a group by itself is near zero
    load = X[:, 1] * 2 + X[:, 4]
    rows = pd.DataFrame(dict(zip(names, X.T, strict=True)) | {"shop": shops, "load": load})
    query = Query("t", None, [*names, "load"], group="shop", moments=2, target="load").sql(dialect)
    found = summaries_of_result(executed(dialect, query, rows, request))
    assert len(found) == 4
    for shop, summary in found.items():
        own = rows[rows["shop"] == shop] if isinstance(shop, str) else rows[rows["shop"].isna()]
        assert len(own) == 6
        expected = SEFRRegressor().fit(own[names], own["load"])
        answers = SEFRRegressor.from_summary(summary).predict(own[names])
        np.testing.assert_allclose(answers, expected.predict(own[names]), rtol=1e-12, atol=1e-8)
