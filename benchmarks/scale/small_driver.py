"""Many wide partitions and a small driver: 600 of 1,000 features on Spark, written to small_driver.json.

``python benchmarks/scale/small_driver.py``. The Summaries of all partitions are larger than what Spark lets
the driver take (``spark.driver.maxResultSize``): refused one by one, taken if they are joined on the cluster.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks.machine import commit, machine
from benchmarks.scale.rates import cpu_seconds
from sefr import Summary
from sefr.engines.cluster import jobs
from sefr.engines.error import EngineError

PARTITIONS, FEATURES, ROWS_EACH = 600, 1000, 4
LIMIT = "2m"


def scattered(i, j):  # type: ignore[no-untyped-def]
    """Return a whole number that hardly repeats: Spark compresses what a driver collects."""
    return (i * j * j * 7919 + i * i * 104729 + j * 7) % 1000003


def main() -> None:
    """Add the partitions up in both ways, compare with this process, and write small_driver.json."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.maxResultSize", LIMIT)
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    n = PARTITIONS * ROWS_EACH
    place = F.sequence(F.lit(1), F.lit(FEATURES))
    values = F.transform(place, lambda j: scattered(F.col("id"), j).cast("double"))
    rows = session.range(0, n, 1, PARTITIONS)
    frame = rows.select(values.alias("x"), (F.col("id") % 2).alias("y"))
    X = scattered(np.arange(n)[:, None], np.arange(1, FEATURES + 1)).astype(float)
    expected = Summary.of(X, np.arange(n) % 2)
    part = len(Summary.of(X[:ROWS_EACH], np.arange(ROWS_EACH) % 2).to_bytes())
    before = cpu_seconds()
    added = Summary.of_frame(frame, "y", ["x"]) == expected
    seconds = cpu_seconds() - before
    jobs.FEW_BYTES = 1 << 60  # as if nothing were joined
    try:
        Summary.of_frame(frame, "y", ["x"])
        refused = False
    except EngineError as error:
        refused = "maxResultSize" in str(error)
    session.stop()
    found = {
        "partitions": PARTITIONS,
        "features": FEATURES,
        "max_result_size": LIMIT,
        "bytes_of_all_summaries": PARTITIONS * part,
        "equal_when_joined": bool(added),
        "cpu_seconds_when_joined": round(seconds, 1),
        "refused_one_by_one": refused,
        "machine": machine(),
        "commit": commit(),
    }
    (Path(__file__).parent / "small_driver.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
