"""Further passes on every engine: those of one process on the same sample, whatever workers do."""

import os
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

from sefr import SEFRClassifier
from sefr._rows.cells import Categories, code_matrix
from sefr._rows.labelled import Labelled
from sefr._rows.matrix import Columns as ColumnMatrix
from sefr.engines import passes, questions
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
    clf = passes.fit_frame(SEFRClassifier(), as_frame(engine, table), "y", NAMES)
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
    np.testing.assert_array_equal(once.fitted_.table, here.fitted_.table)
    assert once.predict_proba(table.select(NAMES)).shape == (3000, 3)
    clf = SEFRClassifier(bins=9, passes=5).fit_frame(as_frame(engine, table), "y", NAMES, weight)
    rows = alone_in_cells(table, here, weights)
    expected = SEFRClassifier(bins=9, passes=5).fit_from(here.summary_, lambda: [rows], samples[-1])
    assert clf.n_passes_ == expected.n_passes_ > 2
    assert clf.summary_ == expected.summary_
    near = 1e-6 * np.abs(expected.fitted_.table).max()  # of float32, and cut elsewhere
    np.testing.assert_allclose(clf.fitted_.table, expected.fitted_.table, rtol=0, atol=near)


def alone_in_cells(table, clf, weights):
    classes, codes = np.unique(table["y"].to_numpy(), return_inverse=True)
    matrix = ColumnMatrix([table[name].to_numpy() for name in NAMES], table.num_rows)
    cells = code_matrix(matrix, clf.summary_.coder)
    own = None if weights is None else weights.astype(np.float64)
    return Labelled(cells, classes, codes.astype(np.int32), own)


def test_bins_of_many_rows_lists_known_ranges_and_given_edges(tmp_path, monkeypatch):
    """Edges come from a sample; cells that do not fit in memory are made anew for each pass."""
    table = rows_of(30_000)
    pq.write_table(table, tmp_path / "t.parquet")
    frame = duckdb.connect().read_parquet(str(tmp_path / "t.parquet"))
    clf = SEFRClassifier(bins=16, passes=4).fit_frame(frame, "y", NAMES)
    here = SEFRClassifier(bins=16, passes=4).fit(table.select(NAMES), table["y"].to_numpy())
    X, y = table.select(NAMES), table["y"].to_numpy()
    assert abs(clf.score(X, y) - here.score(X, y)) < 0.01
    for mine, theirs in zip(clf.edges_, here.edges_, strict=True):
        assert np.abs(mine - theirs).max() < 0.3
    monkeypatch.setattr(passes, "KEPT_BYTES", 1000)
    again = SEFRClassifier(bins=16, passes=4).fit_frame(frame, "y", NAMES)
    np.testing.assert_array_equal(again.fitted_.table, clf.fitted_.table)
    lists = pa.table({"f": X.to_pandas().to_numpy().tolist(), "y": table["y"]})
    known = SEFRClassifier(bins=8, scale=(-9, 9)).fit_frame(pl.from_arrow(lists).lazy(), "y")
    np.testing.assert_allclose(known.edges_[3], np.linspace(-9, 9, 9)[1:-1])
    given = SEFRClassifier(bins=here.edges_).fit_frame(pl.from_arrow(table).lazy(), "y", NAMES)
    assert given.summary_ == here.summary_
    with pytest.raises(EngineError, match="bins has categories"):
        SEFRClassifier(bins=[Categories(["a"])] * 7).fit_frame(table, "y", NAMES)
    with pytest.raises(EngineError, match="once more before"):
        SEFRClassifier(bins=4).fit_frame(table.to_reader(), "y", NAMES)


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
    sweep = questions.Sweep(*([None] * 4))
    one, two = (np.array([value]).tobytes() for value in (1.0, 2.0))
    replies = [questions.Reply({2: 5}, two), questions.Reply({0: 3}, one), questions.Reply({2: 5}, two)]
    assert questions.once(replies) == [questions.Reply({0: 3}, one), questions.Reply({2: 5}, two)]
    (both,) = questions.once(replies, sweep)
    assert both == questions.Reply({0: 3, 2: 5}, np.array([3.0]).tobytes())
    with pytest.raises(EngineError, match="no such luck"):
        questions.once([*replies, questions.Reply({1: 0}, None, "no such luck")])


def test_rows_that_change_between_passes_are_noticed():
    import dask.dataframe as dd

    from sefr.engines.columns import Columns
    from sefr.engines.dask import DaskRows

    table = rows_of(6000)
    columns = Columns("dask", "y", tuple(NAMES), None)
    frames = [dd.from_pandas(rows.to_pandas(), npartitions=2) for rows in (table, table.slice(0, 5000))]

    class Changing(DaskRows):
        asked = 0

        def ask(self, question, reading, classes):
            self.asked += 1
            if self.asked == 2:
                self.parts = DaskRows(frames[1], columns).parts
                self.first(reading, "error")
            return super().ask(question, reading, classes)

    with pytest.raises(EngineError, match="dask: the rows changed between two passes"):
        passes.fit_partitions(SEFRClassifier(passes=5), Changing(frames[0], columns), columns)


@pytest.mark.parametrize("bins", [None, 6])
@pytest.mark.parametrize("cluster", ["dask", pytest.param("pyspark", marks=pytest.mark.slow)])
def test_answers_of_many_partitions_are_joined_where_they_are(cluster, bins, as_frame, monkeypatch):
    """In groups, each partition once and in the order of their numbers: the same but for rounding."""
    import sefr.engines.dask as dask_rows

    modules = [dask_rows]
    frame = as_frame(cluster, rows_of(1500))
    if cluster == "pyspark":
        from sefr.engines import spark_rows

        modules, frame = [spark_rows], frame.repartition(7)
        frame = frame.cache()  # else each pass would shuffle anew
    found = []
    for few in (100, 2):
        for module in modules:
            monkeypatch.setattr(module, "FEW_PARTITIONS", few)
        found.append(passes.fit_frame(SEFRClassifier(passes=4, bins=bins), frame, "y", NAMES))
    assert found[0].summary_ == found[1].summary_
    weights = [clf.fitted_.planes.weights for clf in found]
    np.testing.assert_allclose(*weights, rtol=1e-9, atol=1e-9 * np.abs(weights[0]).max())


def test_rows_that_are_not_where_they_are_asked_for_are_read_again(as_frame, monkeypatch):
    """Every task of a later job runs in one executor, which has read but a part of the rows."""
    from sefr.engines import spark_rows

    rows = rows_of(1500)
    frame = as_frame("pyspark", rows).repartition(7).cache()
    model = SEFRClassifier(passes=4)
    near = passes.fit_frame(model, frame, "y", NAMES)
    drawn = []
    anew = spark_rows.SparkRows._anew

    def counted(self, absent, draw):
        drawn.append(absent)
        return anew(self, absent, draw)

    monkeypatch.setattr(spark_rows.SparkRows, "_anew", counted)
    monkeypatch.setattr(spark_rows.SparkRows, "_kept", lambda self: self.told.select("partition").coalesce(1))
    far = passes.fit_frame(model, frame, "y", NAMES)
    assert len(drawn) > 1, "both the sample and a pass had to be read again"
    assert far.summary_ == near.summary_
    assert np.mean(far.predict(rows.select(NAMES)) == near.predict(rows.select(NAMES))) > 0.99


class Lingering(questions.Sweep):
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
    monkeypatch.setattr(passes, "Sweep", type("Lingering", (Lingering,), {"note": note, "victim": victim}))
    return fit()


def test_a_dask_worker_that_is_killed_in_mid_pass_changes_nothing(tmp_path, monkeypatch, one_killed):
    import cloudpickle
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    frame = dd.from_pandas(rows_of(4000).to_pandas(), npartitions=6)

    def fit():
        return passes.fit_frame(SEFRClassifier(passes=4), frame, "y", NAMES)

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
        return passes.fit_frame(SEFRClassifier(passes=4, bins=bins), frame, "y", NAMES)

    expected = fit()
    with one_killed(note := str(tmp_path / "note")):
        found = lingering_fit(fit, monkeypatch, note, "java")
    np.testing.assert_array_equal(found.fitted_.planes.weights, expected.fitted_.planes.weights)


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
