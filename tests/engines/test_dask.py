"""Dask: partitions on workers, one of which dies."""

import os
import sys
import time

import numpy as np
import pandas as pd
import pytest

from sefr import SEFRClassifier, SEFRRegressor, Summary
from sefr.engines.error import EngineError

pytestmark = pytest.mark.needs("dask")

cloudpickle = pytest.importorskip("cloudpickle")
dd = pytest.importorskip("dask.dataframe")
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file


def rows(number):
    i = np.arange(number * 500, (number + 1) * 500)
    return pd.DataFrame({"a": i * 7919 % 1009, "b": -i % 77, "y": i % 3})


def lingering(number, note):
    """Return rows; the first attempt at partition 3 says which worker it runs in, and waits to die."""
    if number == 3 and not os.path.exists(note):
        with open(note + ".new", "w") as file:
            file.write(str(os.getpid()))
        os.rename(note + ".new", note)
        time.sleep(300)
        raise RuntimeError("nobody killed this worker")
    return rows(number)


@pytest.mark.slow
def test_a_worker_that_is_killed_in_mid_job_changes_nothing(tmp_path, one_killed):
    from dask.distributed import Client, LocalCluster

    note = str(tmp_path / "worker")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster),
    ):
        frame = dd.from_map(lingering, range(8), note=note, meta=rows(0).iloc[:0])
        with one_killed(note):
            summary = Summary.of_frame(frame)
    assert summary == Summary.of_frame(pd.concat([rows(i) for i in range(8)]))


@pytest.mark.parametrize("n", [1, 2, 5, 13])
def test_partitions_of_any_number_and_empty_ones(n):
    table = rows(0)
    frame = dd.from_pandas(table, npartitions=n, sort=False)
    assert Summary.of_frame(frame) == Summary.of_frame(table)
    some = frame[frame["a"] > 900]
    assert Summary.of_frame(some) == Summary.of_frame(table[table["a"] > 900])


def test_a_partition_with_other_columns_is_named():
    def odd(number):
        return rows(number).rename(columns={"b": "c"}) if number == 1 else rows(number)

    frame = dd.from_map(odd, range(3), meta=rows(0).iloc[:0], enforce_metadata=False)
    with pytest.raises(EngineError, match=r"^dask: .*'b'") as caught:
        Summary.of_frame(frame)
    assert "\n" not in str(caught.value)


def test_a_partition_of_text_is_named():
    def odd(number):
        return rows(number).astype({"b": str}) if number == 2 else rows(number)

    frame = dd.from_map(odd, range(3), meta=rows(0).iloc[:0], enforce_metadata=False)
    with pytest.raises(EngineError, match=r"^dask: partition 2: column 'b' is String, not a number"):
        Summary.of_frame(frame)


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of two processes: what they are sent goes over a wire."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as workers,
        Client(workers) as client,
    ):
        yield client


@pytest.mark.parametrize("missing", ["error", "ignore"])
@pytest.mark.parametrize("bins", [5, 16, 64])
@pytest.mark.parametrize("n_features", [1, 8, 17, 40])
def test_bins_and_passes_on_a_cluster(cluster, n_features, bins, missing, rng):
    """Arrays that came over the wire may lie anywhere: edges, weights, the model of a pass."""
    y = rng.integers(0, 3, 1200)
    X = rng.normal(size=(1200, n_features)) + 0.5 * y[:, None]
    names = [f"a{j}" for j in range(n_features)]
    table = pd.DataFrame(X, columns=names).assign(y=y, w=rng.random(1200) + 0.5)
    settings = {"bins": bins, "passes": 3, "missing": missing}
    found = SEFRClassifier(**settings).fit_frame(dd.from_pandas(table, npartitions=5), "y", names, "w")
    near = SEFRClassifier(**settings).fit_frame(table, "y", names, "w")
    assert found.summary_.n_rows == pytest.approx(near.summary_.n_rows, rel=1e-12)
    # their edges come from other samples of the rows
    assert abs(found.score(table[names], y) - near.score(table[names], y)) < 0.04


def test_rows_and_weights_that_lie_anywhere_in_memory(rng):
    """So arrays come out of messages; the kernels themselves read values of rows wherever they are."""

    def moved(array):
        found = np.ndarray(array.shape, array.dtype, np.zeros(array.nbytes + 1, np.uint8).data, 1)
        found[...] = array
        assert not found.flags.aligned
        return found

    X, y, w = rng.normal(size=(200, 3)), rng.integers(0, 2, 200), rng.random(200) + 0.1
    assert Summary.of(moved(X), moved(y), moved(w)) == Summary.of(X, y, w)


def test_numbers_and_categories_on_a_cluster(cluster, rng):
    """The regressor keeps no row there; values of text are counted by the cluster."""
    n = 1200
    table = pd.DataFrame({"x": rng.integers(0, 50, n).astype(float), "c": rng.choice(["r", "g", "b"], n)})
    table["y"] = table["x"] + 20.0 * (table["c"] == "r") + rng.integers(0, 4, n)
    frame = dd.from_pandas(table, npartitions=40)  # more than come to the driver one by one
    found = SEFRRegressor(bins=8).fit_frame(frame, "y", ["x", "c"])
    again = SEFRRegressor(bins=found.edges_).fit(table[["x", "c"]], table["y"])
    assert found.edges_[1] == ("b", "g", "r")
    assert found.summary_ == again.summary_
    line = SEFRRegressor().fit_frame(frame, "y", ["x"])
    assert line.summary_ == SEFRRegressor().fit(table[["x"]], table["y"]).summary_
    ferns = SEFRRegressor(auto=True).fit_frame(frame, "y", ["x", "c"])
    assert ferns.score(table[["x", "c"]], table["y"]) > 0.9
