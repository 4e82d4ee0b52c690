"""What one pass costs as rows and partitions grow: CPU seconds of 1,000 features, written to slopes.csv.

``python benchmarks/scale/slopes.py``. Rows: files of 1, 2 and 4 times as many rows, so that the cost of a
further row is known beside that of starting. Partitions: a few rows in ever more partitions, whose Summaries
are joined on the cluster.
"""

from __future__ import annotations

import csv
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks.machine import commit, machine
from benchmarks.scale.rates import cpu_seconds
from sefr import Summary

FEATURES = 1000
ROWS = (10_000, 20_000, 40_000)
PARTITIONS = (40, 80, 160)
REPEATS = 2


def write_rows(path: Path, rows: int) -> None:
    """Write rows of one array column as Parquet, in groups of 2,500."""
    rng = np.random.default_rng(1)
    flat = pa.array(rng.random(rows * FEATURES, dtype=np.float32))
    column = pa.FixedSizeListArray.from_arrays(flat, FEATURES).cast(pa.list_(pa.float32()))
    table = pa.table({"x": column, "y": np.arange(rows) % 2})
    pq.write_table(table, path, row_group_size=2500, compression="zstd", use_dictionary=False)


def measured(work) -> float:  # type: ignore[no-untyped-def]
    """Return the CPU seconds of the best of some runs, all processes counted."""
    times = []
    for _ in range(REPEATS):
        before = cpu_seconds()
        work()
        times.append(cpu_seconds() - before)
    return min(times)


def main() -> None:
    """Measure, and write slopes.csv beside this file."""
    import duckdb
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812

    folder = Path(tempfile.mkdtemp(prefix="sefr-slopes-"))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    found = []
    try:
        for rows in ROWS:
            path = folder / f"{rows}.parquet"
            write_rows(path, rows)
        frames = {
            "duckdb": lambda path: duckdb.connect(config={"threads": 1}).read_parquet(path),
            "spark": session.read.parquet,
        }
        for engine, opened in frames.items():
            Summary.of_frame(opened(str(folder / f"{ROWS[0]}.parquet")), "y", ["x"])  # what starts once
            for rows in ROWS:
                frame = opened(str(folder / f"{rows}.parquet"))
                seconds = measured(lambda frame=frame: Summary.of_frame(frame, "y", ["x"]))
                found.append({"engine": engine, "what": "rows", "n": rows, "seconds": f"{seconds:.2f}"})
        values = F.transform(
            F.sequence(F.lit(1), F.lit(FEATURES)), lambda j: (F.col("id") * j).cast("double")
        )
        for partitions in PARTITIONS:
            rows = session.range(0, 4 * partitions, 1, partitions)
            frame = rows.select(values.alias("x"), (F.col("id") % 2).alias("y"))
            seconds = measured(lambda frame=frame: Summary.of_frame(frame, "y", ["x"]))
            found.append(
                {"engine": "spark", "what": "partitions", "n": partitions, "seconds": f"{seconds:.2f}"}
            )
    finally:
        session.stop()
        shutil.rmtree(folder)
    with (Path(__file__).parent / "slopes.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["engine", "what", "n", "seconds", "machine", "commit"])
        writer.writeheader()
        writer.writerows(row | {"machine": machine(), "commit": commit()} for row in found)


if __name__ == "__main__":
    main()
