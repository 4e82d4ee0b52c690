"""A billion cells from Parquet, and the engines beside their own work: what docs/scale.md has of both.

    python benchmarks/scale/cells.py FOLDER [--only duckdb,polars,spark,vectors,wide]

Writes ``cells.json`` beside this file, a figure as soon as it is measured; one that is not asked for keeps
what it was. The rows are 20 million of 50 float32 features in 20 files (4 GB, made in FOLDER once). Times are
CPU seconds of all processes below this one, one run each: ratios are of runs that follow each other.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rates import cpu_seconds

from sefr import Summary

FILES, ROWS, FEATURES, SOME = 20, 1_000_000, 50, 20
RESULTS = Path(__file__).with_name("cells.json")


def made(folder: Path) -> str:
    """Write the files that are not there yet; return the glob of all."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = np.random.default_rng(0).normal(size=FEATURES).astype(np.float32)
    for number in range(FILES):
        path = folder / f"rows-{number:02}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(number + 1)
        X = rng.random((ROWS, FEATURES), dtype=np.float32)
        noise = rng.normal(size=ROWS).astype(np.float32) * 2
        y = ((X - 0.5) @ weights + noise > 0).astype(np.int8)
        table = pa.table({f"c{j}": X[:, j] for j in range(FEATURES)} | {"y": y})
        part = path.with_suffix(".part")
        pq.write_table(table, part, compression="none", use_dictionary=False)
        part.replace(path)
    return str(folder / "rows-*.parquet")


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a piece of work, and its result."""
    started = cpu_seconds()
    found = work()
    return cpu_seconds() - started, found


def duckdb(files: str) -> dict[str, float]:
    """Measure DuckDB: of_frame of 20 columns beside plain aggregates, and of all cells."""
    import duckdb as engine

    connection = engine.connect()
    relation = connection.read_parquet(files)
    names = [f"c{j}" for j in range(SOME)]
    terms = ", ".join(f"count({c}), sum(CAST({c} AS DOUBLE)), min({c}), max({c})" for c in names)
    query = f"SELECT y, count(*), {terms} FROM t GROUP BY y"  # noqa: S608
    plain, _ = timed(lambda: relation.query("t", query).fetchall())
    ours, _ = timed(lambda: Summary.of_frame(relation, "y", names))
    whole, summary = timed(lambda: Summary.of_frame(relation, "y"))
    assert summary.n_rows == FILES * ROWS  # noqa: S101
    return {
        "duckdb, plain, 20 columns": plain,
        "duckdb, of_frame, 20 columns": ours,
        "duckdb, 1e9 cells": whole,
    }


def polars(files: str) -> dict[str, float]:
    """Measure Polars in the same way."""
    import polars as pl

    names = [f"c{j}" for j in range(SOME)]
    terms = []
    for name in names:
        column = pl.col(name).cast(pl.Float64)
        kinds = (column.count(), column.sum(), column.min(), column.max())
        terms += [kind.alias(f"{name}_{i}") for i, kind in enumerate(kinds)]
    plain, _ = timed(
        lambda: pl.scan_parquet(files).group_by("y").agg(pl.len(), *terms).collect(engine="streaming")
    )
    ours, _ = timed(lambda: Summary.of_frame(pl.scan_parquet(files), "y", names))
    whole, summary = timed(lambda: Summary.of_frame(pl.scan_parquet(files), "y"))
    assert summary.n_rows == FILES * ROWS  # noqa: S101
    return {
        "polars, plain, 20 columns": plain,
        "polars, of_frame, 20 columns": ours,
        "polars, 1e9 cells": whole,
    }


def session() -> Any:
    """Return a Spark session of two cores."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.ui.showConsoleProgress", "false")
    made_session = builder.getOrCreate()
    made_session.sparkContext.setLogLevel("OFF")
    return made_session


def spark(files: str) -> dict[str, float]:
    """Measure Spark: of_frame of all cells."""
    frame = session().read.parquet(files)
    whole, summary = timed(lambda: Summary.of_frame(frame, "y"))
    assert summary.n_rows == FILES * ROWS  # noqa: S101
    return {"spark, 1e9 cells": whole}


def vectors(files: str) -> dict[str, float]:
    """Measure 2 million rows of 50 features as vectors on Spark, beside two of its own classifiers."""
    from pyspark.ml.classification import LogisticRegression, NaiveBayes
    from pyspark.ml.feature import VectorAssembler

    from sefr.engines.spark import SEFR

    names = [f"c{j}" for j in range(FEATURES)]
    two = [files.replace("*", f"{number:02}") for number in range(2)]
    path = str(Path(files).parent / "vectors")
    if not Path(path).exists():
        rows = VectorAssembler(inputCols=names, outputCol="features").transform(session().read.parquet(*two))
        rows.selectExpr("features", "CAST(y AS DOUBLE) AS label").write.parquet(path)
    frame = session().read.parquet(path)
    return _beside(frame, "2e6 x 50", {"NaiveBayes": NaiveBayes(), "SEFR": SEFR()}) | _beside(
        frame,
        "2e6 x 50",
        {"LogisticRegression, 10": LogisticRegression(maxIter=10), "SEFR, 10": SEFR(passes=10)},
    )


def wide(files: str) -> dict[str, float]:
    """Measure 20,000 rows of 5,000 features, ten passes beside LogisticRegression with ten iterations."""
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.functions import array_to_vector

    from sefr.engines.spark import SEFR

    path = Path(files).parent / "wide.parquet"
    if not path.exists():
        rng = np.random.default_rng(5)
        X = rng.random((20_000, 5_000), dtype=np.float32)
        y = ((X[:, :200] - 0.5).sum(axis=1) + rng.normal(size=20_000) * 2 > 0).astype(float)
        column = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 5_000).cast(pa.list_(pa.float32()))
        pq.write_table(pa.table({"a": column, "label": y}), path, row_group_size=2_500, compression="none")
    rows = session().read.parquet(str(path))
    frame = rows.select(array_to_vector("a").alias("features"), "label")
    return _beside(
        frame,
        "2e4 x 5e3",
        {"LogisticRegression, 10": LogisticRegression(maxIter=10), "SEFR, 10": SEFR(passes=10)},
    )


def _beside(frame: Any, what: str, estimators: dict[str, Any]) -> dict[str, float]:
    found = {}
    for name, estimator in estimators.items():
        seconds, model = timed(lambda estimator=estimator: estimator.fit(frame))
        answers = model.transform(frame.limit(100_000)).selectExpr("avg(CAST(prediction = label AS DOUBLE))")
        found |= {f"{what}, {name}": seconds, f"{what}, {name}, accuracy": float(answers.first()[0])}
    return found


STEPS = {"duckdb": duckdb, "polars": polars, "spark": spark, "vectors": vectors, "wide": wide}


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(STEPS))
    options = parser.parse_args()
    files = made(options.folder)
    for step in options.only.split(","):
        found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        found |= {name: round(value, 3) for name, value in STEPS[step](files).items()}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        print(step, json.dumps(found, indent=1), flush=True)


if __name__ == "__main__":
    main()
