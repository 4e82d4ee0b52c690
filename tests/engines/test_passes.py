"""Further passes on every engine: those of one process on the same sample, whatever workers do."""

import os
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from known_rows import KnownRows

from sefr import SEFRClassifier
from sefr._rows.cells import Categories, code_matrix
from sefr._rows.labelled import Labelled
from sefr._rows.matrix import Columnar
from sefr.engines import sources
from sefr.engines.cluster import jobs
from sefr.engines.cluster import rows as cluster_rows
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
        matrix = Columnar([table[name].to_numpy()[start:end] for name in NAMES], end - start)
        some = None if weights is None else weights[start:end]
        batches.append(Labelled(matrix, classes, codes[start:end].astype(np.int32), some))
    return SEFRClassifier(passes=7).fit_from(KnownRows(summary, batches, sample))


@pytest.fixture
def samples(monkeypatch):
    """Return the samples that are drawn in the test."""
    found = []
    fit_from = SEFRClassifier.fit_from

    def watched(self, source):
        fit_from(self, source)
        found.append(source.sample(self.classes_))
        return self

    monkeypatch.setattr(SEFRClassifier, "fit_from", watched)
    return found


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("n", [300, 6000])
def test_passes_are_those_of_one_process(engine, as_frame, samples, n, weight):
    table = rows_of(n)
    frame, clf = as_frame(engine, table), SEFRClassifier(passes=7)
    assert clf.fit_frame(frame, "y", NAMES, weight) is clf
    lengths = None  # of the batches that the rows come in: the kernel's gradient is of float32
    if engine == "dask":
        lengths = [len(part.compute()) for part in frame.to_delayed()]
    elif engine == "pyspark":
        lengths = batch_lengths(frame)
    expected = alone(table, clf.summary_, samples[0], weight, lengths)
    assert clf.n_passes_ == expected.n_passes_ > 2
    atol = 1e-9 * np.abs(expected.coef_).max()
    np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=1e-9, atol=atol)
    np.testing.assert_allclose(clf.loss_curve_, expected.loss_curve_, rtol=1e-9)
    assert clf.feature_names_in_.tolist() == NAMES
    assert clf.predict_proba(table.select(NAMES)).shape == (n, 3)


def batch_lengths(frame):
    """Return how many rows the Arrow batches of a Spark data frame have, partition by partition."""

    def count(batches):
        from pyspark import TaskContext

        for batch in batches:
            row = {"partition": [TaskContext.get().partitionId()], "rows": [batch.num_rows]}
            yield type(batch).from_pydict(row)

    found = frame.mapInArrow(count, "partition long, rows long").collect()
    return [row.rows for row in sorted(found, key=lambda row: row.partition)]


def test_one_pass_is_the_summary_and_has_probabilities(engine, as_frame):
    table = rows_of(2000)
    clf = SEFRClassifier().fit_frame(as_frame(engine, table), "y", NAMES)
    expected = SEFRClassifier().fit(table.select(NAMES), table["y"].to_numpy())
    np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=1e-9)
    assert clf.predict_proba(table.select(NAMES)).shape == (2000, 3)


@pytest.mark.parametrize("weight", [None, "w"])
def test_bins_are_those_of_one_process(engine, as_frame, samples, weight):
    """Edges and cells to the bit, since all rows are among the sample that edges are taken from."""
    table = rows_of(3000)
    weights = None if weight is None else table[weight].to_numpy()
    once = SEFRClassifier(bins=9).fit_frame(as_frame(engine, table), "y", NAMES, weight)
    here = SEFRClassifier(bins=9).fit(table.select(NAMES), table["y"].to_numpy(), weights)
    assert once.summary_ == here.summary_
    np.testing.assert_array_equal(once.fitted_.model.entries, here.fitted_.model.entries)
    assert once.predict_proba(table.select(NAMES)).shape == (3000, 3)
    clf = SEFRClassifier(bins=9, passes=5).fit_frame(as_frame(engine, table), "y", NAMES, weight)
    rows = alone_in_cells(table, here, weights)
    expected = SEFRClassifier(bins=9, passes=5).fit_from(KnownRows(here.summary_, [rows], samples[-1]))
    assert clf.n_passes_ == expected.n_passes_ > 2
    assert clf.summary_ == expected.summary_
    near = 1e-6 * np.abs(expected.fitted_.model.entries).max()  # of float32, and cut elsewhere
    np.testing.assert_allclose(clf.fitted_.model.entries, expected.fitted_.model.entries, rtol=0, atol=near)


def alone_in_cells(table, clf, weights):
    classes, codes = np.unique(table["y"].to_numpy(), return_inverse=True)
    matrix = Columnar([table[name].to_numpy() for name in NAMES], table.num_rows)
    cells = code_matrix(matrix, clf.summary_.coder)
    own = None if weights is None else weights.astype(np.float64)
    return Labelled(cells, classes, codes.astype(np.int32), own)


def test_bins_of_many_rows_lists_known_ranges_and_given_edges(tmp_path, monkeypatch):
    """Edges come from a sample; cells that do not fit in memory are kept on disk."""
    table = rows_of(30_000)
    pq.write_table(table, tmp_path / "t.parquet")
    frame = duckdb.connect().read_parquet(str(tmp_path / "t.parquet"))
    clf = SEFRClassifier(bins=16, passes=4).fit_frame(frame, "y", NAMES)
    here = SEFRClassifier(bins=16, passes=4).fit(table.select(NAMES), table["y"].to_numpy())
    X, y = table.select(NAMES), table["y"].to_numpy()
    assert abs(clf.score(X, y) - here.score(X, y)) < 0.01
    for mine, theirs in zip(clf.edges_, here.edges_, strict=True):
        assert np.abs(mine - theirs).max() < 0.3
    monkeypatch.setattr(sources, "KEPT_BYTES", 1000)
    again = SEFRClassifier(bins=16, passes=4).fit_frame(frame, "y", NAMES)
    np.testing.assert_array_equal(again.fitted_.model.entries, clf.fitted_.model.entries)
    lists = pa.table({"f": X.to_pandas().to_numpy().tolist(), "y": table["y"]})
    known = SEFRClassifier(bins=8, scale=(-9, 9)).fit_frame(pl.from_arrow(lists).lazy(), "y")
    np.testing.assert_allclose(known.edges_[3], np.linspace(-9, 9, 9)[1:-1])
    given = SEFRClassifier(bins=here.edges_).fit_frame(pl.from_arrow(table).lazy(), "y", NAMES)
    assert given.summary_ == here.summary_
    with pytest.raises(EngineError, match=r"column 'f' is .*list.*, which has no categories"):
        SEFRClassifier(bins=[Categories(["a"])] * 7).fit_frame(lists, "y", ["f"])
    with pytest.raises(EngineError, match="once more before"):
        SEFRClassifier(bins=4).fit_frame(table.to_reader(), "y", NAMES)


def test_one_column_of_lists_and_data_sets(tmp_path):
    table = rows_of(3000)
    lists = pa.table({"f": table.select(NAMES).to_pandas().to_numpy().tolist(), "y": table["y"]})
    pq.write_table(lists, tmp_path / "l.parquet", row_group_size=500)
    file = str(tmp_path / "l.parquet")
    expected = SEFRClassifier(passes=5).fit_frame(lists)
    frames = [ds.dataset(file), pl.scan_parquet(file), duckdb.connect().read_parquet(file)]
    for frame in frames:
        found = SEFRClassifier(passes=5).fit_frame(frame)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-4)
    with pytest.raises(EngineError, match="read once"):
        SEFRClassifier(passes=5).fit_frame(lists.to_reader())


def test_a_partition_that_comes_twice_counts_once():
    sweep = jobs.ComputeGradient(None)
    one, two = (np.array([value]).tobytes() for value in (1.0, 2.0))
    replies = [jobs.Reply({2: 5}, two), jobs.Reply({0: 3}, one), jobs.Reply({2: 5}, two)]
    assert jobs.merge_replies(replies, "test") == [jobs.Reply({0: 3}, one), jobs.Reply({2: 5}, two)]
    assert jobs.join_replies(replies, sweep, "test") == jobs.Reply({0: 3, 2: 5}, np.array([3.0]).tobytes())
    with pytest.raises(EngineError, match="no such luck"):
        jobs.merge_replies([*replies, jobs.Reply({1: 0}, None, "no such luck")], "test")


@pytest.mark.needs("dask")
def test_rows_that_change_between_passes_are_noticed():
    import dask.dataframe as dd

    from sefr.engines.cluster.dask import DaskRows
    from sefr.engines.cluster.jobs import Summing
    from sefr.engines.columns import Columns

    table = rows_of(6000)
    columns = Columns("dask", "y", tuple(NAMES), None)
    frames = [dd.from_pandas(rows.to_pandas(), npartitions=2) for rows in (table, table.slice(0, 5000))]

    class Changing(DaskRows):
        passes = 0

        def run(self, job, reading, classes):
            self.passes += 1
            if self.passes == 2:
                self.parts = DaskRows(frames[1], columns).parts
                self.first_pass(reading, Summing("error", 1))
            return super().run(job, reading, classes)

    with pytest.raises(EngineError, match="dask: the rows changed between two passes"):
        SEFRClassifier(passes=5).fit_from(sources.ClusterRows(Changing(frames[0], columns), columns))


@pytest.mark.parametrize("bins", [None, 6])
@pytest.mark.parametrize("cluster", ["dask", pytest.param("pyspark", marks=pytest.mark.slow)])
def test_answers_of_many_partitions_are_joined_where_they_are(cluster, bins, as_frame, monkeypatch):
    """In groups, each partition once and in the order of their numbers: the same but for rounding."""
    import sefr.engines.cluster.dask as dask_rows

    frame = as_frame(cluster, rows_of(1500))
    if cluster == "pyspark":
        frame = frame.repartition(7).cache()  # else each pass would shuffle anew
    monkeypatch.setattr(jobs, "FEW_BYTES", 0)
    found = []
    for few in (100, 2):
        for module in (jobs, dask_rows):
            monkeypatch.setattr(module, "FEW_PARTITIONS", few)
        found.append(SEFRClassifier(passes=4, bins=bins).fit_frame(frame, "y", NAMES))
    assert found[0].summary_ == found[1].summary_
    weights = [clf.fitted_.planes.weights for clf in found]
    np.testing.assert_allclose(*weights, rtol=1e-9, atol=1e-9 * np.abs(weights[0]).max())


@pytest.mark.needs("spark")
def test_rows_that_are_not_where_they_are_asked_for_are_read_again(as_frame, monkeypatch):
    """Every task of a later job runs in one executor, which has read but a part of the rows."""
    from sefr.engines.cluster import spark as spark_rows

    rows = rows_of(1500)
    frame = as_frame("pyspark", rows).repartition(7).cache()
    model = SEFRClassifier(passes=4)
    near = model.fit_frame(frame, "y", NAMES)
    drawn = []
    anew = spark_rows.SparkRows._anew

    def counted(self, absent, draw):
        drawn.append(absent)
        return anew(self, absent, draw)

    monkeypatch.setattr(spark_rows.SparkRows, "_anew", counted)
    monkeypatch.setattr(spark_rows.SparkRows, "_kept", lambda self: self.told.select("partition").coalesce(1))
    far = model.fit_frame(frame, "y", NAMES)
    assert len(drawn) > 1, "both the sample and a pass had to be read again"
    assert far.summary_ == near.summary_
    assert np.mean(far.predict(rows.select(NAMES)) == near.predict(rows.select(NAMES))) > 0.99


class Lingering(jobs.ComputeGradient):
    """A sweep of which one partition, once, says which process it runs in, and waits to be killed with it."""

    note = ""
    victim = "python"

    def __call__(self, rows):
        rows = list(rows)
        try:
            os.close(os.open(self.note + ".taken", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return super().__call__(rows)
        pid = os.getpid()
        while self.victim not in Path(f"/proc/{pid}/comm").read_text():
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        Path(self.note + ".new").write_text(str(pid))
        os.rename(self.note + ".new", self.note)
        time.sleep(300)
        raise RuntimeError("nobody killed this process")


def lingering_fit(fit, monkeypatch, note, victim):
    """Return what a fit gives whose second pass waits in one process until that is killed."""
    waiting = type("Lingering", (Lingering,), {"note": note, "victim": victim})
    monkeypatch.setattr(cluster_rows, "ComputeGradient", waiting)
    return fit()


@pytest.mark.needs("dask")
def test_a_dask_worker_that_is_killed_in_mid_pass_changes_nothing(tmp_path, monkeypatch, one_killed):
    import cloudpickle
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    frame = dd.from_pandas(rows_of(4000).to_pandas(), npartitions=6)

    def fit():
        return SEFRClassifier(passes=4).fit_frame(frame, "y", NAMES)

    expected = fit()
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with cluster, Client(cluster), one_killed(note := str(tmp_path / "note")):
        found = lingering_fit(fit, monkeypatch, note, "python")
    np.testing.assert_array_equal(found.coef_, expected.coef_)


@pytest.mark.slow
@pytest.mark.parametrize("bins", [None, 5])
def test_an_executor_that_is_killed_in_mid_pass_changes_nothing(
    as_frame, tmp_path, monkeypatch, bins, one_killed
):
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors cannot import this file
    frame = as_frame("pyspark", rows_of(4000))

    def fit():
        return SEFRClassifier(passes=4, bins=bins).fit_frame(frame, "y", NAMES)

    expected = fit()
    with one_killed(note := str(tmp_path / "note")):
        found = lingering_fit(fit, monkeypatch, note, "java")
    np.testing.assert_array_equal(found.fitted_.planes.weights, expected.fitted_.planes.weights)


def test_what_is_wrong(engine, as_frame):
    table = rows_of(400)
    broken = table.set_column(2, "c2", pa.array([None if i == 300 else 1.0 for i in range(400)]))
    with pytest.raises(EngineError, match="NaN"):
        SEFRClassifier(passes=3).fit_frame(as_frame(engine, broken), "y", NAMES)
    with pytest.raises(EngineError, match="no label column 'z'"):
        SEFRClassifier(passes=3).fit_frame(as_frame(engine, table), "z", NAMES)
    one = table.set_column(7, "y", pa.array([1] * 400))
    with pytest.raises(ValueError, match="at least two classes"):
        SEFRClassifier(passes=3).fit_frame(as_frame(engine, one), "y", NAMES)


class _NoRoom:
    """A file on a disk that is full from the first write on."""

    def __init__(self, prefix):
        self.closed = 0

    def writelines(self, parts):
        raise OSError(28, "No space left on device")

    def close(self):
        self.closed += 1
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("room", [True, False])
def test_cells_beyond_memory_are_kept_on_disk(room, monkeypatch):
    """So the table is read twice, for the edges and for the cells, unless the disk is full."""
    table = rows_of(30_000)
    read = []
    batches = sources.frame_batches

    def counted(*args, **kwargs):
        read.append(args)
        return batches(*args, **kwargs)

    monkeypatch.setattr(sources, "batch_rows", lambda n_features: 5000)
    monkeypatch.setattr(sources, "frame_batches", counted)
    expected = SEFRClassifier(bins=16, passes=6).fit_frame(table, "y", NAMES)
    assert len(read) == 2
    monkeypatch.setattr(sources, "KEPT_BYTES", 50_000)
    if not room:
        monkeypatch.setattr(sources.tempfile, "TemporaryFile", _NoRoom)
    again = SEFRClassifier(bins=16, passes=6).fit_frame(table, "y", NAMES)
    np.testing.assert_array_equal(again.fitted_.model.entries, expected.fitted_.model.entries)
    assert (len(read) == 4) == room


PEAK = """
import resource, sys
import pyarrow.dataset as ds
from sefr import SEFRClassifier, Summary
from sefr.engines import sources

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

few = ds.dataset(sys.argv[1] + "/few.parquet")
many = ds.dataset(sys.argv[1] + "/many")
SEFRClassifier(passes=2).fit_frame(few, "y")
before = peak()
settings = {"passes": 2} if sys.argv[2] == "plain" else {"passes": 3, "bins": 16}
SEFRClassifier(**settings).fit_frame(many, "y")
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "bins"])
def test_memory_is_bounded(tmp_path, kind):
    """500 MB of Parquet in row groups of 16 MB: a few row groups and batches are in memory at once."""
    rng = np.random.default_rng(3)
    (tmp_path / "many").mkdir()
    names = [f"x{j}" for j in range(40)]
    for number in range(8):
        table = pa.table({name: rng.normal(size=200_000) for name in names} | {"y": np.arange(200_000) % 2})
        pq.write_table(
            table,
            tmp_path / f"many/{number}.parquet",
            row_group_size=50_000,
            compression="none",
            use_dictionary=False,
        )
    pq.write_table(table.slice(0, 2000), tmp_path / "few.parquet")
    found = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path), kind], capture_output=True, text=True, check=True
    )
    assert int(found.stdout) < 600  # MB; with all that Arrow reads ahead by itself it was above 1,000
