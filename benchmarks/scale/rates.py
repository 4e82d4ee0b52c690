"""The rates that docs/guide/scale.md is worked out from: cells a CPU second, bytes, Summaries a CPU second.

    python benchmarks/scale/rates.py [--rows 40000] [--features 1000]

Times are CPU seconds of this process and all below it (Spark's JVM and Python workers too), so that what
else the machine does hardly enters; each figure is the best of several runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sefr import SEFRClassifier, Summary
from sefr.engines.cluster.jobs import AddSummaries, Reply, join_replies, summary_of_reply
from sefr.engines.duckdb import summary_of_files

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks.machine import commit, machine


def cpu_seconds() -> float:
    """Return the CPU time of this process and its descendants so far."""
    parents, ticks = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it ended meanwhile
            continue
        pid = int(entry.parent.name)
        parents[pid] = int(fields[1])
        ticks[pid] = sum(map(int, fields[11:15]))  # its own and its ended children's, user and system
    total = 0
    for pid in parents:
        above = pid
        while above not in (0, os.getpid()):
            above = parents.get(above, 0)
        total += ticks[pid] if above else 0
    return total / os.sysconf("SC_CLK_TCK")


def best(work: Callable[[], Any], rounds: int = 5) -> float:
    """Return the least CPU time of several runs, in seconds, each repeated until it can be measured."""
    times = []
    for _ in range(rounds):
        end, repeats = time.perf_counter() + 0.5, 0
        started = cpu_seconds()  # takes milliseconds itself: not asked in the loop
        while repeats == 0 or time.perf_counter() < end:
            work()
            repeats += 1
        times.append((cpu_seconds() - started) / repeats)
    return min(times)


def host(rows: int, features: int, folder: Path) -> dict[str, float]:
    """Measure one machine: the kernel in memory, and what reads Parquet."""
    rng = np.random.default_rng(1)
    X, y = rng.random((rows, features), dtype=np.float32), rng.integers(0, 2, rows)
    cells = rows * features
    found = {}
    for kind in (np.float32, np.float64):
        data = X.astype(kind)
        found[f"kernel, {np.dtype(kind)}, cells/s"] = cells / best(lambda data=data: Summary.of(data, y))
    table = pa.table({f"c{j}": X[:, j] for j in range(features)} | {"y": y})
    path = folder / "rows.parquet"
    pq.write_table(table, path, row_group_size=max(1, rows // 8), compression="zstd", use_dictionary=False)
    found["parquet bytes/cell"] = path.stat().st_size / cells
    narrow = folder / "narrow.parquet"
    long = pa.table({f"c{j}": X.ravel()[j * rows * 20 : (j + 1) * rows * 20] for j in range(features // 20)})
    long = long.append_column("y", pa.array(np.tile(y, 20)))
    pq.write_table(long, narrow, compression="zstd", use_dictionary=False)
    found[f"duckdb, parquet of {features} columns, cells/s"] = cells / best(
        lambda: summary_of_files(path, "y"), 3
    )
    found[f"duckdb, parquet of {features // 20} columns, cells/s"] = cells / best(
        lambda: summary_of_files(narrow, "y"), 3
    )
    return found


def summaries(features: int) -> dict[str, float]:
    """Measure what a driver does: Summaries as bytes, added up and solved."""
    rng = np.random.default_rng(1)
    X, y = rng.random((100, features)), np.arange(100) % 2
    data = Summary.of(X, y).to_bytes()
    replies = [Reply({i: 1}, data) for i in range(200)]

    def added() -> Summary:
        return summary_of_reply(join_replies(replies, AddSummaries("rates"), "rates"), "rates")

    total = added()
    return {
        "bytes of a Summary": len(data),
        "Summaries read and added/s": 200 / best(added),
        "seconds to solve": best(lambda: SEFRClassifier.from_summary(total)),
    }


def spark(rows: int, features: int, folder: Path) -> dict[str, float]:
    """Measure one executor core of Spark: an array column from Parquet through mapInArrow."""
    if shutil.which("java") is None:
        print("no Java: Spark is not measured")
        return {}
    from pyspark.sql import SparkSession

    from sefr.engines.spark import SEFR

    rng = np.random.default_rng(1)
    flat = pa.array(rng.random(rows * features, dtype=np.float32))
    column = pa.FixedSizeListArray.from_arrays(flat, features).cast(pa.list_(pa.float32()))
    path = folder / "vectors.parquet"
    table = pa.table({"features": column, "label": pa.array(np.arange(rows) % 2)})
    pq.write_table(table, path, row_group_size=max(1, rows // 8), compression="zstd", use_dictionary=False)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "3g").config("spark.ui.showConsoleProgress", "false")
    started = cpu_seconds()
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    start = cpu_seconds() - started
    frame = session.read.parquet(str(path))
    seconds = best(lambda: SEFR().fit(frame), 4)
    only_read = best(lambda: frame.selectExpr("sum(features[0])").collect(), 3)
    session.stop()
    return {
        "spark, session start, CPU s": start,
        "spark, array column, cells/s": rows * features / seconds,
        "spark, reading one value a row, cells/s": rows * features / only_read,
    }


def main() -> None:
    """Measure and write rates.json beside this file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--features", type=int, default=1000)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sefr-rates-"))
    try:
        found = host(options.rows, options.features, folder)
        found |= summaries(options.features)
        found |= spark(options.rows, options.features, folder)
    finally:
        shutil.rmtree(folder)
    for name, value in found.items():
        print(f"{name:50} {value:,.4g}")
    told = {"machine": machine(), "commit": commit()} | found
    Path(__file__).with_name("rates.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
