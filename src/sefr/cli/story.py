"""The story that ``sefr demo`` tells: data, training, accuracy, a picture, a report."""

from __future__ import annotations

import csv
import io
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from .. import model_file
from .._system.atomic_file import atomic_file
from ..classifier import SEFRClassifier
from ..comparison import SETTINGS, compare
from ..displays import effects
from ..files import open_dataset
from ..files.learning import FileRows, without_feature_names
from ..report import explained, report
from . import options
from .explain import save_picture
from .picture import gallery
from .screen import Screen, path_shown, seconds

if TYPE_CHECKING:
    from .._system.types import Array, Fields

IMAGE = (8, 8)
FOLDS = 10  # as ``sefr evaluate`` takes, so that both give the same numbers


def tell(screen: Screen, folder: Path) -> None:
    """Make the files and show each step."""
    folder.mkdir(parents=True, exist_ok=True)
    X, y, names = _digits()
    with atomic_file(folder / "digits.csv") as file:
        file.write(_csv(X, y, names))
    with atomic_file(folder / "iris.csv") as file:
        file.write(_iris())
    with atomic_file(folder / "passengers.csv") as file:
        file.write(_passengers())
    where = path_shown(folder / "digits.csv")
    screen.step(1, Text.assemble("1,797 handwritten digits of 8 x 8 pixels are in ", where, "."))

    fit_seconds = min(_timed(lambda: SEFRClassifier().fit(X, y)) for _ in range(5))
    table = open_dataset([str(folder / "digits.csv")])
    recipe = table.recipe("digit")
    started = time.perf_counter()
    clf = SEFRClassifier().fit_from(FileRows(table, recipe))
    file_seconds = time.perf_counter() - started
    model_file.save(model_file.with_columns(clf, recipe.member()), folder / "digits.sefr")
    screen.step(
        2,
        Text.assemble(
            "Training on all of them takes ",
            (f"{1000 * fit_seconds:.1f} ms", "bold"),
            f" in memory, {seconds(file_seconds)} from the CSV file. The model is ",
            path_shown(folder / "digits.sefr"),
            ".",
        ),
    )
    result = compare(X, y, cv=FOLDS, settings={name: SETTINGS[name] for name in ("one pass", "ten passes")})
    one, ten = result
    screen.step(
        3,
        Text.assemble(
            (f"{100 * one.accuracy:.1f} %", "bold"),
            " are classified correctly (ten-fold cross-validation); guessing would give 10 %. Ten passes "
            "over the data instead of one reach ",
            (f"{100 * ten.accuracy:.1f} %", "bold"),
            f" and take {seconds(ten.fit_seconds)}.",
        ),
    )
    save_picture(clf, str(folder / "digits.png"), image=IMAGE)
    screen.step(
        4, Text("What it has learned: ink on blue favours the digit, ink on orange counts against it.")
    )
    screen.print()
    screen.pixels(gallery(effects(clf), clf.fitted_.subjects, IMAGE, screen.out))
    with atomic_file(folder / "digits.html") as file:
        file.write(report(clf, title="digits", image=IMAGE, records=_records(clf, X, y)).encode())
    picture, page = path_shown(folder / "digits.png"), path_shown(folder / "digits.html")
    screen.step(5, Text.assemble("The picture is ", picture, ", the report ", page, "."))
    screen.print()
    _say_next(screen, folder)
    screen.json(
        {
            "accuracy": one.accuracy,
            "accuracy_of_ten_passes": ten.accuracy,
            "fit_seconds": fit_seconds,
            "files": sorted(str(path) for path in folder.glob("digits.*")),
        }
    )


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _digits() -> tuple[NDArray[np.uint8], Array, list[str]]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X.astype(np.uint8), y, [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]


def _iris() -> bytes:
    """Return the table that the pages of the documentation use."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in iris.feature_names]
    return _csv(iris.data, iris.target_names[iris.target], names, "species")


def _passengers(rows: int = 600) -> bytes:
    """Return a made-up table as people have them: names, text, dates and empty cells."""
    rng = np.random.default_rng(1912)
    woman, cabin = rng.random(rows) < 0.36, rng.choice(3, rows, p=[0.25, 0.2, 0.55])
    age, fare = rng.gamma(6, 5, rows), rng.gamma(2, 4, rows) * np.array([6, 2, 1])[cabin]
    likely = np.where(woman, np.array([0.97, 0.9, 0.45])[cabin], np.array([0.35, 0.1, 0.15])[cabin])
    likely[(age < 16) & (cabin < 2)] = 0.95
    survived, known = rng.random(rows) < likely, rng.random(rows) < 0.8
    day = np.datetime64("2025-03-01") + rng.integers(0, 90, rows)
    table = [
        [
            f"Passenger {i + 1:03d}",
            ("1st", "2nd", "3rd")[cabin[i]],
            "woman" if woman[i] else "man",
            f"{age[i]:.0f}" if known[i] else "",
            f"{fare[i]:.2f}",
            str(day[i]),
        ]
        for i in range(rows)
    ]
    names = ["name", "cabin", "sex", "age", "fare", "boarded"]
    return _csv(np.array(table), np.where(survived, "yes", "no"), names, "survived")


def _csv(X: Array, y: Array, names: list[str], label: str = "digit") -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, label])
    writer.writerows([*row, label] for row, label in zip(X.tolist(), y.tolist(), strict=True))
    return text.getvalue().encode()


def _records(clf: SEFRClassifier, X: NDArray[np.uint8], y: Array) -> list[Fields]:
    """Return the first records of the file explained, right and wrong ones."""
    chosen = np.arange(40)
    places = [f"digits.csv, line {i + 2}" for i in chosen]
    rows, names = X[chosen].astype(float), clf.summary_.feature_names
    truths, model = y[chosen].tolist(), without_feature_names(clf)
    return explained(model, rows, places=places, truths=truths, feature_names=names)


def _say_next(screen: Screen, folder: Path) -> None:
    screen.print(Text("Next", "bold"))  # as they are to be typed here, with the path if that is needed
    data, model = str(folder / "digits.csv"), str(folder / "digits.sefr")
    steps = {
        (
            options.program(),
            "evaluate",
            data,
            "--label",
            "digit",
        ): "how good it is, beside other methods; which digits get confused",
        (options.program(), "explain", model, "--image", "8x8"): "the pictures, and the strongest pixels",
        (options.program(), "predict", model, data, "--probabilities"): "an answer for every row",
        (
            options.program(),
            "export",
            model,
            "--to",
            "arduino",
            "-o",
            str(folder),
        ): "a sketch for an Arduino with 2 KB of RAM",
        (options.program(), "train", "yours.csv", "--label", "COLUMN"): "your own data",
    }
    for words, what in steps.items():
        command = path_shown(shlex.join(words))
        screen.line(Text.assemble("   ", command, "  ", (what, "dim")))
