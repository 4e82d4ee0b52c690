"""A billion cells from Parquet, and the engines beside their own work: what docs/guide/scale.md has of both.

    python benchmarks/scale/cells.py FOLDER [--only duckdb,polars,spark,vectors,wide,moments,scoring,kept]

Writes ``cells.csv`` beside this file, a step as soon as it is measured; one that is not asked for keeps what
it was. The rows are 20 million of 50 float32 features in 20 files (4 GB, made in FOLDER once). Times are CPU
seconds of all processes below this one, the better of two runs that take turns; ratios are of one step.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rates import cpu_seconds

from sefr import Summary

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks.machine import commit, machine

FILES, ROWS, FEATURES, SOME = 20, 1_000_000, 50, 20
SCORED = 500_000
RESULTS = Path(__file__).with_name("cells.csv")
FIELDS = ("step", "rows", "features", "what", "seconds", "accuracy", "jobs", "machine", "commit")


def made(folder: Path, count: int = FILES) -> list[str]:
    """Write the files that are not there yet; return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = np.random.default_rng(0).normal(size=FEATURES).astype(np.float32)
    for number in range(count):
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
    return [str(folder / f"rows-{number:02}.parquet") for number in range(count)]


class Figure(NamedTuple):
    """What was measured: rows, features, by whom, CPU seconds; accuracy and jobs of Spark if it has any."""

    rows: int
    features: int
    what: str
    seconds: float
    accuracy: float | None = None
    jobs: int | None = None


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a piece of work, and its result."""
    started = cpu_seconds()
    found = work()
    return cpu_seconds() - started, found


def in_turns(work: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, Any]]:
    """Return the less of two times of each piece of work, and its result; they take turns."""
    found: dict[str, tuple[float, Any]] = {}
    for _ in range(2):
        for name, each in work.items():
            again = timed(each)
            found[name] = min(found.get(name, again), again, key=lambda pair: pair[0])
    return found


def _figures(narrow: dict[str, Callable[[], Any]], whole: Callable[[], Summary]) -> list[Figure]:
    found = [Figure(FILES * ROWS, SOME, name, time) for name, (time, _) in in_turns(narrow).items()]
    (time, summary) = in_turns({"of_frame": whole})["of_frame"]
    assert summary.n_rows == FILES * ROWS  # noqa: S101
    return [*found, Figure(FILES * ROWS, FEATURES, "of_frame", time)]


def duckdb(folder: Path) -> list[Figure]:
    """Measure DuckDB: of_frame of 20 columns beside plain aggregates, and of all cells."""
    import duckdb as engine

    relation = engine.connect().read_parquet(made(folder))
    names = [f"c{j}" for j in range(SOME)]
    terms = ", ".join(f"count({c}), sum(CAST({c} AS DOUBLE)), min({c}), max({c})" for c in names)
    query = f"SELECT y, count(*), {terms} FROM t GROUP BY y"  # noqa: S608
    narrow = {
        "plain aggregates": lambda: relation.query("t", query).fetchall(),
        "of_frame": lambda: Summary.of_frame(relation, "y", names),
    }
    return _figures(narrow, lambda: Summary.of_frame(relation, "y"))


def polars(folder: Path) -> list[Figure]:
    """Measure Polars in the same way."""
    import polars as pl

    names = [f"c{j}" for j in range(SOME)]
    terms = []
    for name in names:
        column = pl.col(name).cast(pl.Float64)
        kinds = (column.count(), column.sum(), column.min(), column.max())
        terms += [kind.alias(f"{name}_{i}") for i, kind in enumerate(kinds)]
    frame = pl.scan_parquet(made(folder))
    narrow = {
        "plain aggregates": lambda: frame.group_by("y").agg(pl.len(), *terms).collect(engine="streaming"),
        "of_frame": lambda: Summary.of_frame(frame, "y", names),
    }
    return _figures(narrow, lambda: Summary.of_frame(frame, "y"))


def session() -> Any:
    """Return a Spark session of two cores."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.ui.showConsoleProgress", "false")
    made_session = builder.getOrCreate()
    made_session.sparkContext.setLogLevel("OFF")
    return made_session


def spark(folder: Path) -> list[Figure]:
    """Measure Spark: of_frame of all cells, by its own aggregates."""
    frame = session().read.parquet(*made(folder))
    time, summary = timed(lambda: Summary.of_frame(frame, "y"))
    assert summary.n_rows == FILES * ROWS  # noqa: S101
    return [Figure(FILES * ROWS, FEATURES, "of_frame", time)]


def frame_of_vectors(folder: Path) -> Any:
    """Return 2 million rows of 50 features as vectors from Parquet, which are written once."""
    from pyspark.ml.feature import VectorAssembler

    names = [f"c{j}" for j in range(FEATURES)]
    path = str(folder / "vectors")
    if not Path(path).exists():
        files = session().read.parquet(*made(folder, 2))  # the session first: the assembler lives in it
        rows = VectorAssembler(inputCols=names, outputCol="features").transform(files)
        rows.selectExpr("features", "CAST(y AS DOUBLE) AS label").write.parquet(path)
    return session().read.parquet(path)


def vectors(folder: Path) -> list[Figure]:
    """Measure 2 million rows of 50 features as vectors on Spark, beside two of its own classifiers."""
    from pyspark.ml.classification import LogisticRegression, NaiveBayes

    from sefr.engines.spark import SEFR

    frame = frame_of_vectors(folder)
    shape = (2 * ROWS, FEATURES)
    one = {"NaiveBayes": NaiveBayes(), "SEFR": SEFR()}
    ten = {
        "LogisticRegression(maxIter=10)": LogisticRegression(maxIter=10),
        "SEFR(passes=10)": SEFR(passes=10),
    }
    bins = {"SEFR(passes=10, bins=32)": SEFR(passes=10, bins=32)}
    return [figure for each in (one, ten, bins) for figure in _beside(frame, shape, each)]


def wide(folder: Path) -> list[Figure]:
    """Measure 20,000 rows of 5,000 features, ten passes beside LogisticRegression with ten iterations."""
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.functions import array_to_vector

    from sefr.engines.spark import SEFR

    path = folder / "wide.parquet"
    if not path.exists():
        rng = np.random.default_rng(5)
        X = rng.random((20_000, 5_000), dtype=np.float32)
        y = ((X[:, :200] - 0.5).sum(axis=1) + rng.normal(size=20_000) * 2 > 0).astype(float)
        column = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 5_000).cast(pa.list_(pa.float32()))
        pq.write_table(pa.table({"a": column, "label": y}), path, row_group_size=2_500, compression="none")
    rows = session().read.parquet(str(path))
    vectors_path = str(folder / "wide-vectors")
    if not Path(vectors_path).exists():
        rows.select(array_to_vector("a").alias("features"), "label").write.parquet(vectors_path)
    frame = session().read.parquet(vectors_path)
    ten = {
        "LogisticRegression(maxIter=10)": LogisticRegression(maxIter=10),
        "SEFR(passes=10)": SEFR(passes=10),
    }
    return _beside(frame, (20_000, 5_000), ten)


def moments(folder: Path) -> list[Figure]:
    """Measure second moments of 2 million rows of 50 features that vary together, beside LogisticRegression.

    Features are mixtures of 50 independent ones, and the label is a line of them with noise: one pass of the
    paper looks at each feature by itself.
    """
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.functions import array_to_vector

    from sefr.engines.spark import SEFR

    path = folder / "mixed-vectors"
    if not path.exists():
        rng = np.random.default_rng(11)
        mixture, weights = rng.normal(size=(FEATURES, FEATURES)), rng.normal(size=FEATURES)
        lists = folder / "mixed.parquet"
        with pq.ParquetWriter(
            lists, pa.schema([("a", pa.list_(pa.float64())), ("label", pa.float64())])
        ) as out:
            for _ in range(20):
                Z = rng.normal(size=(ROWS // 10, FEATURES))
                y = (Z @ weights + rng.normal(size=len(Z)) * 4 > 0).astype(float)
                column = pa.FixedSizeListArray.from_arrays(pa.array((Z @ mixture).ravel()), FEATURES)
                out.write_table(pa.table({"a": column.cast(pa.list_(pa.float64())), "label": y}))
        rows = session().read.parquet(str(lists))
        rows.select(array_to_vector("a").alias("features"), "label").write.parquet(str(path))
        lists.unlink()
    frame = session().read.parquet(str(path))
    beside = {
        "LogisticRegression()": LogisticRegression(),
        "SEFR()": SEFR(),
        "SEFR(passes=10)": SEFR(passes=10),
        "SEFR(moments=2)": SEFR(moments=2),
    }
    return _beside(frame, (2 * ROWS, FEATURES), beside)


def _beside(frame: Any, shape: tuple[int, int], estimators: dict[str, Any]) -> list[Figure]:
    tracker = session().sparkContext.statusTracker()

    def fitted(estimator: Any) -> tuple[Any, int]:
        before = set(tracker.getJobIdsForGroup())
        model = estimator.fit(frame)
        return model, len(set(tracker.getJobIdsForGroup()) - before)

    work = {name: (lambda estimator=estimator: fitted(estimator)) for name, estimator in estimators.items()}
    found = []
    for name, (seconds, (model, jobs)) in in_turns(work).items():
        answers = model.transform(frame.limit(100_000)).selectExpr("avg(CAST(prediction = label AS DOUBLE))")
        found.append(Figure(*shape, name, seconds, float(answers.first()[0]), jobs))
    return found


def scoring(folder: Path) -> list[Figure]:
    """Measure how Spark scores: its own expressions beside our kernel, of lines and of bins.

    What ``transform`` chooses is the one that is called so; the other is made to happen.
    """
    from sefr import SEFRClassifier
    from sefr.engines import spark_ml as room
    from sefr.engines.spark import SEFRModel

    rng = np.random.default_rng(7)
    found = []
    for n_features, bins in ((8, None), (24, None), (40, None), (11, 4), (11, 32)):
        X = rng.random((SCORED, n_features))
        y = (X.sum(axis=1) + rng.normal(size=SCORED) > n_features / 2).astype(float)
        clf = SEFRClassifier(bins=bins).fit(X[:20_000], y[:20_000])
        path = folder / f"scored-{n_features}.parquet"
        if not path.exists():
            column = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), n_features)
            part = path.with_suffix(".part")
            pq.write_table(pa.table({"features": column.cast(pa.list_(pa.float64()))}), part)
            part.replace(path)
        frame = session().read.parquet(str(path))
        model, chosen = SEFRModel(clf), room.NARROW

        def scored(narrow: int, frame: Any = frame, model: Any = model) -> Any:
            room.NARROW = narrow
            return model.transform(frame).selectExpr("sum(prediction)").first()[0]

        work = {"expressions": lambda: scored(1 << 30), "kernel": lambda: scored(0)}
        try:
            times = in_turns(work)
        finally:
            room.NARROW = chosen
        assert times["expressions"][1] == times["kernel"][1]  # noqa: S101
        size = room.ScoringModel.of(clf, [str(j) for j in range(n_features)]).size
        taken = "expressions" if size <= chosen else "kernel"
        for name, (seconds, _) in times.items():
            how = "a line" if bins is None else f"bins={bins}"
            mark = ", chosen" if name == taken else ""
            found.append(Figure(SCORED, n_features, f"{how}: {name}{mark}", seconds))
    return found


def kept(folder: Path) -> list[Figure]:
    """Measure ten passes over bins of DuckDB's rows: their cells fit in memory, nearly fit, and do not."""
    import duckdb as engine

    from sefr import SEFRClassifier

    names, files = [f"c{j}" for j in range(SOME)], made(folder, 16)
    found = []
    for millions in (10, 12.5, 15):
        relation = engine.connect().read_parquet(files).limit(int(millions * ROWS))
        model = SEFRClassifier(bins=32, passes=10)
        seconds, clf = timed(lambda relation=relation, model=model: model.fit_frame(relation, "y", names))
        found.append(Figure(int(clf.summary_.n_rows), SOME, f"{clf.n_passes_} passes, bins=32", seconds))
    return found


STEPS = {"duckdb": duckdb, "polars": polars, "spark": spark, "vectors": vectors, "wide": wide}
STEPS |= {"moments": moments, "scoring": scoring, "kept": kept}


def write(step: str, figures: list[Figure]) -> None:
    """Put the figures of a step in the place of its earlier ones."""
    kept = []
    if RESULTS.exists():
        with RESULTS.open() as file:
            kept = [row for row in csv.DictReader(file) if row["step"] != step]
    for figure in figures:
        own = {name: value for name, value in figure._asdict().items() if value is not None}
        own |= {"step": step, "seconds": f"{figure.seconds:.2f}", "machine": machine(), "commit": commit()}
        if figure.accuracy is not None:
            own["accuracy"] = f"{figure.accuracy:.4f}"
        kept.append(own)
    order = list(STEPS)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(kept, key=lambda row: order.index(row["step"])))


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(STEPS))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for step in options.only.split(","):
        write(step, STEPS[step](options.folder))
        print(RESULTS.read_text(), flush=True)


if __name__ == "__main__":
    main()
