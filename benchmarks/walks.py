"""``python -m benchmarks.walks``: how many calls and files of the package a user's call goes through.

Files are the distinct ones that are entered, borders the changes of file in the sequence of calls, re-entries
the borders into a file that was entered before. Each way is walked twice and the second walk counts, so that
nothing is imported in it. Breast cancer, 569 rows of 30 features; the cluster is Spark on this machine, of
which the driver counts. ``--spark`` walks those ways too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

import sefr
from sefr import SEFRClassifier, SEFRRegressor

PACKAGE = str(Path(sefr.__file__).parent)
WAYS = {
    "fit": {},
    "fit, passes=10": {"passes": 10},
    "fit, bins=32": {"bins": 32},
    "fit, bins=32, passes=20": {"bins": 32, "passes": 20},
    "fit, bins=32, interactions=60": {"bins": 32, "interactions": 60},
    "all three": {"bins": 32, "interactions": 60, "passes": 20},
    "fit, moments=2": {"moments": 2},
    "fit, auto=True": {"auto": True},
}


def walked(way: Callable[[], object]) -> tuple[int, int, int, int]:
    """Return the calls, borders, files and re-entries of a call."""
    way()
    files: list[str] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            files.append(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        way()
    finally:
        sys.setprofile(None)
    entered = [file for before, file in zip([None, *files], files, strict=False) if file != before]
    return len(files), len(entered) - 1, len(set(files)), len(entered) - len(set(files))


def ways(folder: Path) -> dict[str, Callable[[], object]]:
    """Return what is walked, by name."""
    X, y = load_breast_cancer(return_X_y=True)
    clf, half = SEFRClassifier().fit(X, y), SEFRClassifier().fit(X[:300], y[:300])
    table = np.column_stack([X, y])
    header = ",".join([*(f"x{j}" for j in range(X.shape[1])), "l"])
    np.savetxt(folder / "x.csv", table, delimiter=",", header=header, comments="")

    def train() -> object:
        from typer.testing import CliRunner

        from sefr.cli import app

        asked = [str(folder / "x.csv"), "--label", "l", "--output", str(folder / "x.sefr")]
        done = CliRunner().invoke(app, ["train", *asked])
        assert done.exit_code == 0, done.output  # noqa: S101
        return done

    found: dict[str, Callable[[], object]] = {
        name: lambda params=params: SEFRClassifier(**params).fit(X, y) for name, params in WAYS.items()
    }
    return found | {
        "fit, of a regressor": lambda: SEFRRegressor().fit(X, X[:, 0]),
        "predict": lambda: clf.predict(X),
        "predict_proba, with the fit": lambda: SEFRClassifier().fit(X, y).predict_proba(X),
        "merge": lambda: SEFRClassifier().fit(X[300:], y[300:]).merge(half),
        "sefr train": train,
    }


def spark_ways() -> dict[str, Callable[[], object]]:
    """Return those on a cluster."""
    from pyspark.sql import SparkSession

    X, y = load_breast_cancer(return_X_y=True)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = spark.createDataFrame(np.column_stack([X, y]).tolist(), [*names, "y"])

    def fit(passes: int) -> Any:
        return SEFRClassifier(passes=passes).fit_frame(frame, "y")

    return {f"fit_frame on Spark, passes={passes}": lambda passes=passes: fit(passes) for passes in (1, 4)}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spark", action="store_true")
    asked = parser.parse_args()
    print("| way | calls | borders | files | re-entries |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, way in (ways(Path(folder)) | (spark_ways() if asked.spark else {})).items():
            print(f"| {name} | {' | '.join(f'{number:,}' for number in walked(way))} |", flush=True)


if __name__ == "__main__":
    main()
