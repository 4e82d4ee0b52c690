"""A part of a table that is listed and then is gone: one sentence, and no model of the parts left."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest

from sefr import SEFRClassifier, Summary
from sefr.engines.duckdb import summary_of_files
from sefr.engines.error import EngineError

PARTS = 4


@pytest.fixture
def parts(rng, tmp_path):
    """Return the parts of a table, as files and with a column more as folders named key=value."""
    table = pd.DataFrame({"a": rng.integers(0, 99, 400), "b": rng.random(400), "y": np.arange(400) % 2})
    for number in range(PARTS):
        rows = table.iloc[number::PARTS]
        (tmp_path / "hive" / f"year={2020 + number}").mkdir(parents=True)
        (tmp_path / "plain").mkdir(exist_ok=True)
        rows.to_parquet(tmp_path / "plain" / f"part-{number}.parquet", index=False)
        rows.to_parquet(tmp_path / "hive" / f"year={2020 + number}" / "part.parquet", index=False)
    return tmp_path


def opened(engine, folder, request):
    """Return a frame of all files of a folder, listed once: DuckDB would look up a pattern anew."""
    files = sorted(map(str, folder.glob("**/*.parquet")))
    if engine == "polars lazy":
        import polars as pl

        return pl.scan_parquet(files, hive_partitioning=True)
    if engine == "duckdb":
        import duckdb

        return duckdb.connect().read_parquet(files, hive_partitioning=True)
    if engine == "ibis":
        import ibis

        return ibis.duckdb.connect().read_parquet(files, hive_partitioning=True)
    if engine == "dask":
        import dask.dataframe as dd

        return dd.read_parquet(folder)
    if engine == "pyspark":
        return request.getfixturevalue("spark").read.parquet(str(folder))
    import pyarrow.dataset as ds

    return ds.dataset(folder, partitioning="hive")


SPARK = pytest.param("pyspark", marks=pytest.mark.slow)


@pytest.mark.parametrize("reader", ["polars lazy", "duckdb", "ibis", "dask", "arrow", SPARK])
@pytest.mark.parametrize("kind", ["plain", "hive"])
def test_a_part_that_is_gone_is_an_error_in_every_engine(reader, kind, parts, request):
    frame = opened(reader, parts / kind, request)
    assert Summary.of_frame(frame, "y", ["a", "b"]).n_rows == 400
    gone = parts / "plain" / "part-2.parquet" if kind == "plain" else parts / "hive" / "year=2022"
    gone.unlink() if kind == "plain" else shutil.rmtree(gone)
    clf = SEFRClassifier(passes=3).fit([[0, 0], [1, 1]], [0, 1])
    before = clf.coef_.copy()
    for work in (
        lambda: Summary.of_frame(frame, "y", ["a", "b"]),
        lambda: clf.fit_frame(frame, "y", ["a", "b"]),
    ):
        with pytest.raises(EngineError) as caught:
            work()
        said = str(caught.value)
        assert ("part-2.parquet" if kind == "plain" else "year=2022") in said
        assert re.search("o such file|o files found|does not exist|there is no file", said)
        assert "\n" not in said
        assert " at org." not in said
    np.testing.assert_array_equal(clf.coef_, before)


def test_a_part_that_a_lake_lists_and_that_is_gone(parts):
    deltalake = pytest.importorskip("deltalake")
    import pyarrow.parquet as pq

    folder = parts / "delta"
    for number in range(PARTS):
        rows = pq.read_table(parts / "plain" / f"part-{number}.parquet")
        deltalake.write_deltalake(str(folder), rows, mode="append")
    assert summary_of_files(folder, "y").n_rows == 400
    next(folder.glob("*.parquet")).unlink()
    with pytest.raises(EngineError) as caught:
        summary_of_files(folder, "y")
    said = str(caught.value)
    assert said.isprintable()
    assert re.search(r"part-\w+-.*parquet not found", said)
