"""One column of lists as the features, Arrow data that is no frame, wide batches, and awkward names."""

import time

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sefr import SEFRClassifier, SEFRRegressor, Summary
from sefr.engines.batches import rows_of_batch
from sefr.engines.columns import Columns
from sefr.engines.error import EngineError

dd = pytest.importorskip("dask.dataframe")
ibis = pytest.importorskip("ibis")
pytestmark = pytest.mark.needs("dask", "ibis")


@pytest.fixture
def rows(rng):
    X = rng.integers(-40, 40, (200, 5)).astype(np.float64)
    return X, rng.choice(["p", "q", "r"], 200), rng.integers(0, 3, 200)


@pytest.fixture(params=["list", "large_list", "fixed", "float32", "integers"])
def lists(request, rows):
    X, y, w = rows
    flat = pa.array(X.ravel())
    made = pa.FixedSizeListArray.from_arrays(flat, 5)
    kinds = {
        "list": pa.list_(pa.float64()),
        "large_list": pa.large_list(pa.float64()),
        "fixed": made.type,
        "float32": pa.list_(pa.float32()),
        "integers": pa.list_(pa.int16()),
    }
    return pa.table({"f": made.cast(kinds[request.param]), "y": y, "w": w})


def test_one_column_of_lists_is_the_features(engine, as_frame, lists, rows):
    X, y, w = rows
    frame = as_frame(engine, lists)
    assert Summary.of_frame(frame, features=["f"]) == Summary.of(X, y)
    assert Summary.of_frame(frame, weight="w") == Summary.of(X, y, w)


def test_lists_that_are_no_vectors(engine, as_frame):
    cases = [
        ({"f": [[1.0, 2.0], [3.0]], "y": [0, 1]}, "vectors of 2 and, in row 1, of 1"),
        ({"f": [[1.0, 2.0], None], "y": [0, 1]}, "null"),
        ({"f": [[1.0, None], [1.0, 2.0]], "y": [0, 1]}, "NaN"),
        ({"f": [["a"], ["b"]], "y": [0, 1]}, "'f'.*(not numbers|not a number|array<string>)"),
    ]
    for columns, words in cases:
        table = pa.table(columns)
        if engine == "dask":  # one partition, so that lists of different lengths meet
            frame = dd.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=1)
        else:
            frame = as_frame(engine, table)
            frame = frame.coalesce(1) if engine == "pyspark" else frame
        with pytest.raises(EngineError, match=words):
            Summary.of_frame(frame)


class Foreign:
    """Something that has Arrow's C stream interface and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_arrow_data_of_every_kind(mixed, numbers, tmp_path):
    names = ["count", "gaps", "winged", "halves", "bytes"]
    expected = Summary.of_frame(mixed, "species", names, "weight", missing="ignore")
    pq.write_table(mixed, tmp_path / "m.parquet", row_group_size=50)
    dataset = ds.dataset(tmp_path / "m.parquet")
    kinds = [
        mixed,
        mixed.combine_chunks().to_batches()[0],
        mixed.to_reader(max_chunksize=64),
        dataset,
        dataset.scanner(),
        Foreign(mixed),
    ]
    for kind in kinds:
        summary = Summary.of_frame(kind, "species", names, "weight", missing="ignore")
        assert summary == expected
        assert summary.feature_names == tuple(names)


def test_a_reader_is_read_once(mixed):
    reader = mixed.to_reader()
    Summary.of_frame(reader, "species", ["count"])
    with pytest.raises(EngineError, match=r"^pyarrow: "):
        Summary.of_frame(reader, "species", ["count"])


def test_readers_of_adbc(mixed, tmp_path):
    driver = pytest.importorskip("adbc_driver_sqlite.dbapi")
    rows = mixed.select(["species", "count", "halves"])
    with driver.connect(str(tmp_path / "t.db")) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("rows", rows, mode="create")
        connection.commit()
        expected = Summary.of_frame(rows, "species", missing="ignore")
        cursor.execute("SELECT * FROM rows")
        found = Summary.of_frame(cursor.fetch_record_batch(), "species", missing="ignore")
        np.testing.assert_array_equal(found.sums, expected.sums)
        cursor.execute("SELECT count, halves FROM rows")
        X, y = cursor.fetch_record_batch(), rows["species"].to_numpy()
        clf = SEFRClassifier(missing="ignore").fit(X, y)
        np.testing.assert_array_equal(clf.summary_.sums, expected.sums)
        cursor.execute("SELECT count, halves FROM rows")
        answers = clf.predict(cursor.fetch_record_batch())
    assert (answers == clf.predict(rows.select(["count", "halves"]))).all()


def test_flight_streams(mixed):
    flight = pytest.importorskip("pyarrow.flight")
    rows = mixed.select(["species", "count", "halves"])

    class Server(flight.FlightServerBase):
        def do_get(self, context, ticket):
            names = ticket.ticket.decode().split(",")
            return flight.RecordBatchStream(rows.select(names).to_reader(max_chunksize=50))

    with Server("grpc://127.0.0.1:0") as server, flight.connect(f"grpc://127.0.0.1:{server.port}") as client:

        def reader(names):
            return client.do_get(flight.Ticket(names.encode())).to_reader()

        expected = Summary.of_frame(rows, "species", missing="ignore")
        assert Summary.of_frame(reader("species,count,halves"), "species", missing="ignore") == expected
        y = rows["species"].to_numpy()
        clf = SEFRClassifier(missing="ignore").fit(reader("count,halves"), y)
        assert clf.summary_ == expected
        assert (clf.predict(reader("count,halves")) == clf.predict(rows.select(["count", "halves"]))).all()
        batches = ((batch, y[i * 50 : i * 50 + 50]) for i, batch in enumerate(reader("count,halves")))
        assert Summary.of_batches(batches, missing="ignore") == expected


def test_two_columns_of_one_name():
    table = pa.table([pa.array([1, 2]), pa.array([3, 4]), pa.array([0, 1])], names=["a", "a", "y"])
    pandas = pd.DataFrame([[1, 3, 0], [2, 4, 1]], columns=["a", "a", "y"])
    for frame in (table, table.to_reader(), pandas, dd.from_pandas(pandas, npartitions=1)):
        with pytest.raises(EngineError, match="two columns are named 'a'"):
            Summary.of_frame(frame)


def test_labels_with_nul_are_labels(engine, as_frame):
    table = pa.table({"a": [1, 2, 3], "y": ["p", "p\0", "q"]})
    summary = Summary.of_frame(as_frame(engine, table))
    assert summary.classes.tolist() == ["p", "p\0", "q"]
    assert summary.sums.tolist() == [[1], [2], [3]]


def test_a_lazy_frame_passed_to_predict(rows):
    X, y, _ = rows
    clf = SEFRClassifier().fit(X, y)
    columns = {f"c{j}": X[:, j] for j in range(5)}
    lazy = [
        pl.LazyFrame(columns),
        duckdb.connect().from_arrow(pa.table(columns)),
        ibis.memtable(columns),
    ]
    for frame in lazy:
        with pytest.raises(TypeError, match=r"X is a lazy frame .* collect it first"):
            clf.predict(frame)
        with pytest.raises(TypeError, match="X is a lazy frame"):
            SEFRClassifier().fit(frame, y)


def test_the_time_of_a_batch_grows_with_its_columns_not_with_their_square():
    def seconds(m):
        names = tuple(f"c{j}" for j in range(m))
        batch = pa.RecordBatch.from_arrays(
            [pa.array([0, 1]), *([pa.array([1.0, 2.0])] * m)], names=["y", *names]
        )
        columns = Columns("test", "y", names, None)
        best = np.inf
        for _ in range(5):
            start = time.process_time()
            rows_of_batch(batch, columns)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(8000) < 24 * seconds(1000)  # 8 times the columns; their square would be 64


@pytest.mark.parametrize("moments", [1, 2])
def test_a_sparse_vector_of_weight_0_may_hold_any_value(rng, moments):
    """As Spark's batches have them."""
    X, y, w = rng.integers(-40, 40, (60, 3)).astype(float), rng.integers(0, 9, 60), np.ones(60)
    w[[4, 9]] = 0
    expected = SEFRRegressor(moments=moments).fit(X[w > 0], y[w > 0]).summary_
    X[4, 1], X[9, 0] = np.nan, np.inf
    vectors = [{"type": 0, "size": 3, "indices": [0, 1, 2], "values": row.tolist()} for row in X]
    kind = pa.struct(
        [
            ("type", pa.int8()),
            ("size", pa.int32()),
            ("indices", pa.list_(pa.int32())),
            ("values", pa.list_(pa.float64())),
        ]
    )
    batch = pa.record_batch({"f": pa.array(vectors, kind), "y": y, "w": w})
    rows = rows_of_batch(batch, Columns("spark", "y", ("f",), "w", targets=("y",)))
    assert Summary.of_rows(rows, moments=moments) == expected
