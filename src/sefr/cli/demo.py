"""``sefr demo``: the five-minute story on real data, end to end."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .. import model_file
from .._answers.report import explained, report
from .._system.atomic_file import atomic_file
from ..classifier import SEFRClassifier
from ..displays import subjects
from ..files import open_table
from ..files.learning import learn, nameless
from ..validation import cross_validate
from . import options
from .explain import save_picture
from .picture import gallery
from .screen import Screen, seconds

IMAGE = (8, 8)


def demo(
    folder: Annotated[str, typer.Option("--output", "-o", help="The folder to leave the files in.")] = "demo",
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train on scikit-learn's handwritten digits and show what comes of it.

    Leaves digits.csv, digits.sefr, digits.png and digits.html in a folder.

    For example:

      sefr demo
    """
    screen = Screen(quiet=quiet, as_json=json)
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    X, y, names = _digits()
    with atomic_file(home / "digits.csv") as file:
        file.write(_csv(X, y, names))
    screen.step(1, f"1,797 handwritten digits of 8 x 8 pixels are in [cyan]{home / 'digits.csv'}[/].")

    fit_seconds = min(_timed(lambda: SEFRClassifier().fit(X, y)) for _ in range(5))
    table = open_table([str(home / "digits.csv")])
    recipe = table.recipe("digit")
    started = time.perf_counter()
    clf = SEFRClassifier.from_summary(learn(table, recipe))
    file_seconds = time.perf_counter() - started
    model_file.save(model_file.with_columns(clf, recipe.member()), home / "digits.sefr")
    screen.step(
        2,
        f"Training on all of them takes [bold]{1000 * fit_seconds:.1f} ms[/] in memory, "
        f"{seconds(file_seconds)} from the CSV file. The model is [cyan]{home / 'digits.sefr'}[/].",
    )

    started = time.perf_counter()
    accuracy = cross_validate(SEFRClassifier(), X, y, cv=10)["test_score"].mean()
    cv_seconds = time.perf_counter() - started
    screen.step(
        3,
        f"[bold]{100 * accuracy:.1f} %[/] are told right, by ten-fold cross-validation, which takes "
        f"{seconds(cv_seconds)} since one pass over the data is enough. Guessing would give 10 %.",
    )

    save_picture(clf, str(home / "digits.png"), image=IMAGE)
    screen.step(4, "What it has learned: where ink speaks for a digit, and where against it.")
    screen.print()
    for line in gallery(clf.feature_scores_, subjects(clf), IMAGE, screen.out):
        screen.out.print(line, no_wrap=True, crop=False)
    records = _records(clf, X, y)
    with atomic_file(home / "digits.html") as file:
        file.write(report(clf, title="digits", image=IMAGE, records=records).encode())
    screen.step(
        5, f"The picture is [cyan]{home / 'digits.png'}[/], the report [cyan]{home / 'digits.html'}[/]."
    )
    screen.print()
    _next(screen, home)
    screen.json(
        {
            "accuracy": float(accuracy),
            "fit_seconds": fit_seconds,
            "cross_validation_seconds": cv_seconds,
            "files": sorted(str(path) for path in home.glob("digits.*")),
        }
    )


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _digits() -> tuple[Any, Any, list[str]]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X.astype(np.uint8), y, [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]


def _csv(X: Any, y: Any, names: list[str]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, "digit"])
    writer.writerows([*row, label] for row, label in zip(X.tolist(), y.tolist(), strict=True))
    return text.getvalue().encode()


def _records(clf: SEFRClassifier, X: Any, y: Any) -> list[dict[str, Any]]:
    """Return the first records of the file explained, right and wrong ones."""
    chosen = np.arange(40)
    places = [f"digits.csv, line {i + 2}" for i in chosen]
    rows, names = X[chosen].astype(float), clf.summary_.feature_names
    return explained(nameless(clf), rows, places=places, truths=y[chosen].tolist(), feature_names=names)


def _next(screen: Screen, home: Path) -> None:
    screen.print("[bold]Next[/]")
    steps = {
        f"sefr evaluate {home}/digits.csv --label digit": "which digits are mistaken for which",
        f"sefr explain {home}/digits.sefr --image 8x8": "the same pictures and the strongest pixels",
        f"sefr predict {home}/digits.sefr {home}/digits.csv --scores": "an answer for every row",
        f"sefr export {home}/digits.sefr --to arduino": "a sketch for a board with 2 KB of RAM",
        "sefr train yours.csv --label COLUMN": "your own data",
    }
    for command, what in steps.items():
        screen.out.print(f"   [cyan]{command}[/]  [dim]{what}[/]", soft_wrap=True)
