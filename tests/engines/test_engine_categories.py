"""Columns of text and of categories on engines: with bins each value has a cell."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sefr import SEFRClassifier, SEFRRegressor
from sefr.engines.error import EngineError

COLOURS = ("blue", "green", "red")


@pytest.fixture
def table(rng):
    n = 400
    colours = rng.choice(COLOURS, n)
    y = (colours == "red") ^ (rng.random(n) < 0.05)
    return pa.table({"x": rng.integers(0, 9, n).astype(float), "^c.*$": colours, "y": y.astype(int)})


def typed(kind, table, tmp_path):
    """Return the rows in a frame whose type of the column says that it has categories, or text."""
    names = ["blue", "red", "green"]  # in an order of their own
    if kind == "pandas category":
        frame = table.to_pandas()
        frame["^c.*$"] = pd.Categorical(frame["^c.*$"], names)
        return frame
    if kind == "polars enum":
        return pl.from_arrow(table).with_columns(pl.nth(1).cast(pl.Enum(names))).lazy()
    if kind == "polars categorical":
        return pl.from_arrow(table).with_columns(pl.nth(1).cast(pl.Categorical)).lazy()
    if kind == "duckdb enum":
        connection = duckdb.connect()
        connection.register("t", table)
        connection.execute("CREATE TYPE c AS ENUM ('blue', 'red', 'green')")
        return connection.sql('SELECT x, CAST("^c.*$" AS c) AS "^c.*$", y FROM t')
    if kind == "dictionary":
        return table.set_column(1, "^c.*$", table["^c.*$"].dictionary_encode())
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=90)
    return ds.dataset(tmp_path / "t.parquet")


KINDS = ("pandas category", "polars enum", "polars categorical", "duckdb enum", "dictionary", "data set")


@pytest.mark.parametrize("kind", KINDS)
def test_types_that_have_categories(kind, table, tmp_path):
    found = SEFRClassifier(bins=4).fit_frame(typed(kind, table, tmp_path), "y")
    assert set(found.edges_[1]) == set(COLOURS)
    frame = table.select(["x", "^c.*$"]).to_pandas()
    assert found.score(frame, table["y"].to_numpy()) > 0.9
    numbers = SEFRRegressor(bins=4).fit_frame(typed(kind, table, tmp_path), "x", ["^c.*$"])
    assert set(numbers.edges_[0]) == set(COLOURS)
    red, blue = numbers.predict(pd.DataFrame({"^c.*$": ["red", "blue"]}))
    means = table.to_pandas().groupby("^c.*$")["x"].mean()
    assert red == pytest.approx(means["red"], abs=0.5)
    assert blue == pytest.approx(means["blue"], abs=0.5)


@pytest.mark.needs("dask")
def test_categories_of_dask_may_be_numbers(table):
    import dask.dataframe as dd

    frame = table.to_pandas().assign(code=pd.Categorical(np.arange(400) % 3 + 10))
    found = SEFRClassifier(bins=4).fit_frame(dd.from_pandas(frame, npartitions=3), "y", ["x", "code"])
    assert found.edges_[1] == (10, 11, 12)
    assert found.summary_ == SEFRClassifier(bins=found.edges_).fit(frame[["x", "code"]], frame["y"]).summary_


def test_of_too_many_values_the_most_frequent_are_kept(table):
    values = [f"v{i:03}" if i < 300 else "often" for i in range(400)]
    many = table.append_column("id", pa.array(values))
    found = SEFRClassifier(bins=4).fit_frame(duckdb.connect().from_arrow(many), "y", ["x", "id"])
    assert len(found.edges_[1]) == 254
    assert "often" in found.edges_[1]
    assert found.summary_.counts.sum() == 400


def test_what_is_wrong(table):
    gaps = table.append_column("gap", pa.array([None, "a"] * 200))
    with pytest.raises(EngineError, match=r"batch 0: .*NaN.*gap"):
        SEFRClassifier(bins=4).fit_frame(duckdb.connect().from_arrow(gaps), "y", ["x", "gap"])
    model = SEFRClassifier().fit_frame(table, "y", ["x"])
    before = model.fitted_
    with pytest.raises(EngineError, match="not a number"):
        model.fit_frame(table, "y")
    assert model.fitted_ is before
