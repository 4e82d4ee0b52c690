"""Further passes on every engine: those of one process on the same sample, whatever workers do."""

import os
import signal
import threading
import time

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sefr import SEFRClassifier
from sefr._rows.labelled import Labelled
from sefr._rows.matrix import Columns as ColumnMatrix
from sefr.engines import passes
from sefr.engines.error import EngineError

NAMES = [f"c{j}" for j in range(7)]


def rows_of(n, n_classes=3, seed=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, 7)) + y[:, None] * rng.normal(size=7) * 0.4
    return pa.table({name: X[:, j] for j, name in enumerate(NAMES)} | {"y": y, "w": rng.integers(0, 3, n)})


def alone(table, summary, sample, weight=None, lengths=None):
    """Return what one process makes of the same rows and the same sample, the rows in batches of lengths."""
    classes, codes = np.unique(table["y"].to_numpy(), return_inverse=True)
    weights = None if weight is None else table[weight].to_numpy().astype(np.float64)
    ends = np.cumsum(lengths or [table.num_rows])
    batches = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        matrix = ColumnMatrix([table[name].to_numpy()[start:end] for name in NAMES], end - start)
        some = None if weights is None else weights[start:end]
        batches.append(Labelled(matrix, classes, codes[start:end].astype(np.int32), some))
    names = np.array(NAMES, dtype=object)
    return SEFRClassifier(passes=7).fit_from(summary, lambda: batches, sample, names)


@pytest.fixture
def samples(monkeypatch):
    """Return the samples that are drawn in the test."""
    found = []
    fit_from = SEFRClassifier.fit_from

    def watched(self, summary, batches, sample, names=None):
        found.append(sample)
        return fit_from(self, summary, batches, sample, names)

    monkeypatch.setattr(SEFRClassifier, "fit_from", watched)
    return found


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("n", [300, 6000])
def test_passes_are_those_of_one_process(engine, as_frame, samples, n, weight):
    table = rows_of(n)
    frame, clf = as_frame(engine, table), SEFRClassifier(passes=7)
    assert passes.fit_frame(clf, frame, "y", NAMES, weight) is clf
    lengths = [len(part.compute()) for part in frame.to_delayed()] if engine == "dask" else None
    expected = alone(table, clf.summary_, samples[0], weight, lengths)
    assert clf.n_passes_ == expected.n_passes_ > 2
    # The kernel's gradient is of float32: rows cut in other places, as Spark does, move its last bits.
    near = 1e-6 if engine == "pyspark" else 1e-9
    atol = near * np.abs(expected.coef_).max()
    np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=near, atol=atol)
    close = 1e-8 if engine == "pyspark" else 1e-9
    np.testing.assert_allclose(clf.loss_curve_, expected.loss_curve_, rtol=close)
    assert clf.feature_names_in_.tolist() == NAMES
    assert clf.predict_proba(table.select(NAMES)).shape == (n, 3)


def test_one_pass_is_the_summary_and_has_probabilities(engine, as_frame):
    table = rows_of(2000)
    clf = passes.fit_frame(SEFRClassifier(), as_frame(engine, table), "y", NAMES)
    expected = SEFRClassifier().fit(table.select(NAMES), table["y"].to_numpy())
    np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=1e-9)
    assert clf.predict_proba(table.select(NAMES)).shape == (2000, 3)


def test_one_column_of_lists_and_data_sets(tmp_path):
    table = rows_of(3000)
    lists = pa.table({"f": table.select(NAMES).to_pandas().to_numpy().tolist(), "y": table["y"]})
    pq.write_table(lists, tmp_path / "l.parquet", row_group_size=500)
    file = str(tmp_path / "l.parquet")
    expected = passes.fit_frame(SEFRClassifier(passes=5), lists)
    frames = [ds.dataset(file), pl.scan_parquet(file), duckdb.connect().read_parquet(file)]
    for frame in frames:
        found = passes.fit_frame(SEFRClassifier(passes=5), frame)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-4)
    with pytest.raises(EngineError, match="read once"):
        passes.fit_frame(SEFRClassifier(passes=5), lists.to_reader())


def test_a_partition_that_comes_twice_counts_once():
    assert passes._once([(2, 5, b"b"), (0, 3, b"a"), (2, 5, b"b")]) == {0: (3, b"a"), 2: (5, b"b")}


def test_rows_that_change_between_passes_are_noticed():
    import dask.dataframe as dd

    from sefr.engines.columns import Columns
    from sefr.engines.dask import DaskRows

    table = rows_of(6000)
    columns = Columns("dask", "y", tuple(NAMES), None)
    frames = [dd.from_pandas(rows.to_pandas(), npartitions=2) for rows in (table, table.slice(0, 5000))]

    class Changing(DaskRows):
        asked = 0

        def ask(self, question):
            self.asked += 1
            other = DaskRows(frames[1], columns) if self.asked > 2 else super()
            return other.ask(question)

    with pytest.raises(EngineError, match="dask: the rows changed between two passes"):
        passes.fit_partitions(SEFRClassifier(passes=5), Changing(frames[0], columns), columns)


def test_a_dask_worker_that_is_killed_in_mid_pass_changes_nothing():
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    table = rows_of(8000)
    frame = dd.from_pandas(table.to_pandas(), npartitions=6)
    expected = passes.fit_frame(SEFRClassifier(passes=6), frame, "y", NAMES)
    killed = []
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        workers = {name: worker.pid for name, worker in cluster.workers.items()}
        answered = passes._once

        def killer(replies):
            if not killed:
                killed.append(next(iter(workers.values())))
                threading.Timer(0.05, os.kill, (killed[0], signal.SIGKILL)).start()
                time.sleep(0.1)
            return answered(replies)

        passes._once = killer
        try:
            found = passes.fit_frame(SEFRClassifier(passes=6), frame, "y", NAMES)
        finally:
            passes._once = answered
    assert killed
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_what_is_wrong(engine, as_frame):
    table = rows_of(400)
    broken = table.set_column(2, "c2", pa.array([None if i == 300 else 1.0 for i in range(400)]))
    with pytest.raises(EngineError, match="NaN"):
        passes.fit_frame(SEFRClassifier(passes=3), as_frame(engine, broken), "y", NAMES)
    with pytest.raises(EngineError, match="no label column 'z'"):
        passes.fit_frame(SEFRClassifier(passes=3), as_frame(engine, table), "z", NAMES)
    one = table.set_column(7, "y", pa.array([1] * 400))
    with pytest.raises(ValueError, match="at least two classes"):
        passes.fit_frame(SEFRClassifier(passes=3), as_frame(engine, one), "y", NAMES)
