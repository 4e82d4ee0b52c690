"""One pass over vectors on Spark beside reading them, and beside Spark's own Summarizer, which is not used.

    python benchmarks/scale/one_pass.py FOLDER

Writes ``one_pass.csv`` beside this file. Times are CPU seconds of all processes below this one, the best of
six runs that take turns. Errors are those of the sums of each class where the features are far from zero, per
row, as a part of the range of the features.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from cells import FEATURES, ROWS, frame_of_vectors, in_turns, session

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks.machine import commit, machine

RESULTS = Path(__file__).with_name("one_pass.csv")
FIELDS = ("rows", "features", "what", "seconds", "error", "machine", "commit")
FAR, FAR_ROWS = 1e9, 200_000


def dropped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take all batches, and give nothing back."""
    for _ in batches:
        pass
    yield from ()


def summarizer(frame: Any) -> Any:
    """Return the sums of every class by Spark's Summarizer, which is asked for all that a Summary has."""
    from pyspark.ml.stat import Summarizer

    asked = Summarizer.metrics("count", "sum", "min", "max").summary(frame["features"])
    found = frame.groupBy("label").agg(asked.alias("s")).orderBy("label").collect()
    return np.array([row.s["sum"].toArray() for row in found])


def seconds(frame: Any) -> dict[str, float]:
    """Return the CPU seconds of a pass over the vectors, by name."""
    from pyspark.ml.functions import vector_to_array

    from sefr.engines.spark import SEFR

    arrays = frame.select(vector_to_array("features").alias("features"), "label")
    work = {
        "dropped by Spark": lambda: arrays.write.format("noop").mode("overwrite").save(),
        "dropped by Python": lambda: arrays.mapInArrow(dropped, "nothing int").collect(),
        "Summarizer": lambda: summarizer(frame),
        "SEFR": lambda: SEFR().fit(frame),
    }
    rounds = [in_turns(work) for _ in range(3)]
    return {name: min(found[name][0] for found in rounds) for name in work}


def errors(frame: Any) -> dict[str, float]:
    """Return the largest error of a class's mean, as a part of the range, of features far from zero."""
    from pyspark.ml.functions import array_to_vector, vector_to_array
    from pyspark.sql import functions as F  # noqa: N812

    from sefr.engines.spark import SEFR

    arrays = frame.limit(FAR_ROWS).select(vector_to_array("features").alias("features"), "label")
    table = arrays.withColumn("features", F.transform("features", lambda x: x + FAR)).toArrow()
    X = table["features"].combine_chunks().flatten().to_numpy().reshape(len(table), FEATURES)
    y = table["label"].to_numpy()
    # The distance of a value from FAR is a float64 to the bit; long doubles hold the sum of these.
    near = np.array([(X[y == k] - FAR).sum(axis=0, dtype=np.longdouble) for k in (0, 1)])
    counts = np.array([(y == k).sum() for k in (0, 1)])[:, None]
    same = session().createDataFrame(table).withColumn("features", array_to_vector("features"))
    summary, theirs = SEFR().fit(same).summary, summarizer(same)
    tails = 0 if summary.tails is None else summary.tails
    found = {
        "SEFR": (summary.sums - counts * np.longdouble(FAR)) + tails,
        "Summarizer": theirs - counts * np.longdouble(FAR),
    }
    wide = X.max() - X.min()
    return {name: float((np.abs(sums - near) / counts).max() / wide) for name, sums in found.items()}


def main() -> None:
    """Measure all, and write it."""
    frame = frame_of_vectors(Path(sys.argv[1]))
    times, lost = seconds(frame), errors(frame)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for name, time in times.items():
            row = {"rows": 2 * ROWS, "features": FEATURES, "what": name, "seconds": f"{time:.2f}"}
            error = f"{lost[name]:.1e}" if name in lost else ""
            writer.writerow(row | {"error": error, "machine": machine(), "commit": commit()})
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
