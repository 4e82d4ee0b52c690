"""Dask: partitions on workers, one of which dies."""

import os
import sys
import time

import numpy as np
import pandas as pd
import pytest

from sefr import Summary
from sefr.engines.error import EngineError

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
