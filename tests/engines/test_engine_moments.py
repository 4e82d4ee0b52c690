"""Second moments: the products of features are the same from every engine and from every query."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sefr import SEFRClassifier, SEFRRegressor, Summary, load
from sefr.engines import frames
from sefr.engines.error import EngineError
from sefr.engines.sql import Query, summaries_of_result

SEFR = str(Path(sys.executable).with_name("sefr"))
NAMES = ["count", "gaps", "winged", "halves", "single", "far", "still"]


@pytest.fixture
def rows(mixed):
    """Return a table with missing values, a column far from zero and one that is constant."""
    n = mixed.num_rows
    more = mixed.append_column("far", pa.array(1e9 + np.arange(n) % 50))
    return more.append_column("still", pa.array(np.full(n, 7.25)))


def of_rows(table, names, numbers, weight=None):
    X = pd.DataFrame(numbers(table, names), columns=names)
    weights = None if weight is None else table[weight].to_numpy()
    return Summary.of(X, table["species"].to_pylist(), weights, missing="ignore", moments=2)


def without_gaps(table):
    return [name for name in NAMES if not pd.isna(table[name].to_pandas()).any()]


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("gaps", [True, False])
def test_every_engine_has_the_products_of_one_process_to_the_bit(
    engine, as_frame, rows, numbers, weight, gaps
):
    names = NAMES if gaps else without_gaps(rows)
    found = Summary.of_frame(as_frame(engine, rows), "species", names, weight, missing="ignore", moments=2)
    assert found.moments == 2
    assert found.products.missing is gaps
    assert found == of_rows(rows, names, numbers, weight)


@pytest.mark.parametrize("engine_of_sums", ["polars lazy", "duckdb", "ibis"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_sums_of_products_that_an_engine_adds_up_itself(
    engine_of_sums, as_frame, rows, numbers, weight, monkeypatch
):
    """In several queries, and with the columns of missing values."""
    monkeypatch.setattr(frames, "_streams", lambda *_: False)
    monkeypatch.setattr("sefr.engines.product_sums.SUMS_PER_QUERY", 16)
    for names in (NAMES, without_gaps(rows)):
        frame = as_frame(engine_of_sums, rows)
        found = Summary.of_frame(frame, "species", names, weight, missing="ignore", moments=2)
        assert found == of_rows(rows, names, numbers, weight)


@pytest.mark.needs("ibis")
def test_wide_tables_of_ibis_come_to_the_kernel(as_frame, rows, numbers, monkeypatch):
    monkeypatch.setattr(frames, "WIDE_PRODUCTS", 3)
    asked = []
    monkeypatch.setattr("sefr.engines.aggregates.products_of_lazy", lambda *_: asked.append(1))
    found = Summary.of_frame(as_frame("ibis", rows), "species", NAMES, missing="ignore", moments=2)
    assert found == of_rows(rows, NAMES, numbers)
    assert not asked


@pytest.mark.parametrize("bins", [None, 5])
def test_models_of_second_moments_are_those_of_one_process(engine, as_frame, rows, bins):
    names = without_gaps(rows)
    scale = (0.0, 2e9) if bins else "minmax"  # known ranges have known edges
    model = SEFRClassifier(moments=2, bins=bins, scale=scale)
    found = model.fit_frame(as_frame(engine, rows), "species", names)
    X = rows.select(names).to_pandas().astype(float)
    expected = SEFRClassifier(moments=2, bins=bins, scale=scale).fit(X, rows["species"].to_pylist())
    assert found.summary_ == expected.summary_
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), rtol=1e-9)


def executed(dialect, query, table, request):
    """Return what holds the result of a query over an Arrow table called t."""
    sql = query.sql(dialect)
    if dialect == "duckdb":
        import duckdb

        connection = duckdb.connect()
        connection.register("t", table)
        return connection.execute(sql)
    frame = table.to_pandas()
    if dialect == "sqlite":
        connection = sqlite3.connect(":memory:")
        frame.to_sql("t", connection, index=False)
        return connection.execute(sql)
    connection = request.getfixturevalue("postgres")
    kinds = {"string": "text", "bool": "boolean", "double": "float8", "float": "float4"}
    columns = ", ".join(f'"{f.name}" {kinds.get(str(f.type), "bigint")}' for f in table.schema)
    cursor = connection.cursor()
    cursor.execute(f"DROP TABLE IF EXISTS t; CREATE TABLE t ({columns})")
    with cursor.copy("COPY t FROM STDIN") as copy:
        for row in table.to_pylist():
            copy.write_row(list(row.values()))
    return cursor.execute(sql)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_query_adds_up_products(dialect, weight, rows, numbers, request, monkeypatch):
    from dataclasses import replace

    from sefr.engines import dialects

    few = replace(dialects.DIALECTS[dialect], block=5)  # several blocks
    monkeypatch.setitem(dialects.DIALECTS, dialect, few)
    origins = {"far": 1e9, "still": 7.25}
    for names in (NAMES, without_gaps(rows)):
        query = Query("t", "species", names, weight, ["winged"], origins, moments=2)
        found = Summary.of_query(executed(dialect, query, rows, request), missing="ignore")
        assert found == of_rows(rows, names, numbers, weight)


def test_a_query_with_a_group_has_products_per_model(rows, numbers, request):
    table = rows.append_column("shop", pa.array(np.arange(rows.num_rows) % 3))
    query = Query("t", "species", NAMES, None, ["winged"], {"far": 1e9, "still": 7.25}, "shop", moments=2)
    found = summaries_of_result(executed("duckdb", query, table, request), missing="ignore")
    assert sorted(found) == [0, 1, 2]
    for shop, summary in found.items():
        own = table.take(pa.array(np.flatnonzero(np.arange(rows.num_rows) % 3 == shop)))
        assert summary == of_rows(own, NAMES, numbers)


def test_the_command_writes_the_query_and_trains_from_its_result(tmp_path, rows, numbers):
    import duckdb
    import pyarrow.parquet as pq

    pq.write_table(rows, tmp_path / "rows.parquet")
    names = without_gaps(rows)
    asked = f"--label species --features {','.join(names)} --table rows.parquet --moments 2"
    asked += " --origin far=1e9 --origin still=7.25"
    run = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    written = subprocess.run([SEFR, "sql", *asked.split()], **run).stdout
    result = duckdb.connect().execute(written.replace("'rows.parquet'", f"'{tmp_path}/rows.parquet'"))
    result.df().to_csv(tmp_path / "s.csv", index=False)
    subprocess.run([SEFR, "train", *["--from-query", "s.csv", "--moments", "2", "-o", "m.sefr"]], **run)
    assert load(tmp_path / "m.sefr").summary_ == of_rows(rows, names, numbers)


def test_what_is_wrong():
    with pytest.raises(ValueError, match="products of features need these by name"):
        Query("t", "y", moments=2).sql("duckdb")
    with pytest.raises(ValueError, match="moments must be 1 or 2, not 3"):
        Query("t", "y", ["a"], moments=3).sql("duckdb")
    with pytest.raises(ValueError, match="moments must be 1 or 2"):
        Summary.of_frame(pa.table({"y": [1], "a": [1]}), moments=3)
    table = pa.table({"a": [1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0], "y": [0, 1, 1]})
    import duckdb

    cursor = duckdb.connect().register("t", table).execute(Query("t", "y", ["a", "b"], moments=2).sql())
    less = cursor.df().iloc[:-1]
    with pytest.raises(EngineError, match="5 rows of pairs, not one for each of 2 classes and 3 pairs"):
        Summary.of_query(less)
    huge = pa.table({"a": [1e200, -1e200], "y": [0, 1]})
    with pytest.raises(ValueError, match="larger than float64"):
        Summary.of_query(
            duckdb.connect().register("t", huge).execute(Query("t", "y", ["a"], moments=2).sql())
        )


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
@pytest.mark.parametrize("gaps", [True, False])
def test_a_query_without_a_label_is_regression_in_every_group(dialect, gaps, rows, numbers, request):
    """One query, a model per shop: each equals a fit of the rows of that shop."""
    n, names = rows.num_rows, NAMES if gaps else without_gaps(rows)
    shops = np.arange(n) % 4
    y = (np.arange(n) * 7) % 23
    table = rows.append_column("shop", pa.array(shops)).append_column("y", pa.array(y))
    origins = {"far": 1e9, "still": 7.25}
    query = Query("t", None, [*names, "y"], "weight", ["winged"], origins, "shop", moments=2)
    found = summaries_of_result(executed(dialect, query, table, request), missing="ignore", target="y")
    assert sorted(found) == [0, 1, 2, 3]
    X, weights = pd.DataFrame(numbers(rows, names), columns=names), rows["weight"].to_numpy().astype(float)
    for shop, summary in found.items():
        own = shops == shop
        expected = SEFRRegressor(missing="ignore").fit(X[own], y[own], weights[own])
        assert summary == expected.summary_
        model = SEFRRegressor.from_summary(summary, missing="ignore")
        np.testing.assert_allclose(model.predict(X[own]), expected.predict(X[own]), rtol=1e-9)


@pytest.mark.parametrize("engine_of_sums", ["polars lazy", "duckdb", "ibis"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_sums_of_numbers_to_predict_that_an_engine_adds_up_itself(
    engine_of_sums, as_frame, rows, numbers, weight, monkeypatch
):
    monkeypatch.setattr(frames, "_streams", lambda *_: False)
    frame = as_frame(engine_of_sums, rows)
    found = Summary.of_frame(frame, "bytes", NAMES, weight, missing="ignore", numbers=True)
    X, y = pd.DataFrame(numbers(rows, NAMES), columns=NAMES), rows["bytes"].to_numpy()
    weights = None if weight is None else rows[weight].to_numpy()
    assert found == SEFRRegressor(missing="ignore").fit(X, y, weights).summary_
    with pytest.raises(EngineError, match="rows have no 'gaps', which is to be predicted"):
        Summary.of_frame(frame, "gaps", ["count"], missing="ignore", numbers=True)


def test_targets_are_chosen_among_the_features_of_a_summary(rows, numbers):
    names = without_gaps(rows)
    whole = of_rows(rows, names, numbers)
    X = pd.DataFrame(numbers(rows, names), columns=names)
    found = whole.with_targets(["far", "count"])
    left = [name for name in names if name not in ("far", "count")]
    assert found == SEFRRegressor().fit(X[left], X[["far", "count"]]).summary_
    for wrong, words in [
        (["z"], "no feature 'z' to predict"),
        ([], "at least one feature is predicted"),
        (["far", "far"], "at least one feature is predicted, once"),
        (names, "from at least one other"),
    ]:
        with pytest.raises(ValueError, match=words):
            whole.with_targets(wrong)
    for summary in (whole.first_moments(), found):
        with pytest.raises(ValueError, match="a Summary of moments=2, without bins"):
            summary.with_targets(["far"])
    with pytest.raises(ValueError, match="which needs moments=2"):
        Query("t", None, ["a", "y"]).sql()
