"""``sefr explain``: what a model has learned and why it answers as it does."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options

if TYPE_CHECKING:
    from .._system.types import Fields
    from ..classifier import SEFRClassifier
    from ..files import ColumnRecipe
    from .screen import Screen


def explain(
    *,
    model: options.OneModel,
    rows: Annotated[
        list[str] | None,
        typer.Option(help="A file of rows whose answers to explain.", metavar="FILE"),
    ] = None,
    image: Annotated[
        str, typer.Option(help="The features are pixels of an image.", metavar="HEIGHTxWIDTH")
    ] = "",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Write a report (.html) or a picture (.png).", metavar="FILE"),
    ] = None,
    count: Annotated[int, typer.Option(help="Features to show per class.", min=1)] = 10,
    reading: options.ReadingOptions,
    printing: options.PrintingOptions,
) -> None:
    """Show what a model has learned, and why it gave an answer.

    For example:

      sefr explain iris.sefr

    The effect of a feature is how much it moves the score from the average row of the other classes to the
    average row of this class: + if high values favour the class, - if low values do. The score beside it is
    the weight of the scaled feature, in the SEFR paper from -1 to 1.

    More examples:

      sefr explain iris.sefr --rows new.csv -o report.html

      sefr explain digits.sefr --image 8x8 -o digits.html
    """
    screen = printing.screen(output)
    asked = Explanation(model, rows or [], image_size(image), output and options.output_path(output), count)
    _carry_out(screen, asked, reading)


def image_size(text: str) -> tuple[int, int] | None:
    """Return height and width from 16x16; nothing from nothing.

    Examples
    --------
    >>> image_size("8x16")
    (8, 16)
    """
    if not text:
        return None
    height, _, width = text.replace("×", "x").partition("x")
    if not (height.isdecimal() and width.isdecimal()):
        raise typer.BadParameter(f"--image takes HEIGHTxWIDTH, for example 16x16, not {text!r}")
    return int(height), int(width)


@dataclass(frozen=True)
class Explanation:
    """What ``sefr explain`` is asked."""

    model: str
    rows: list[str]
    image: tuple[int, int] | None
    output: str | None
    count: int


def _carry_out(screen: Screen, asked: Explanation, reading: options.ReadingOptions) -> None:
    """Explain a model and records."""
    from ..displays import check_image
    from ..report import MOST_RECORDS
    from .stored import read_model
    from .task import show_parts, words_of

    clf, recipe = read_model(asked.model)
    words = words_of(clf)
    if not words.has_pictures and (asked.image or (asked.output or "").lower().endswith(".png")):
        raise ValueError(
            f"{asked.model}: a model that predicts numbers has no picture; -o takes an .html file"
        )
    if asked.image:
        check_image(asked.image, len(clf.feature_sets_))
    records: list[Fields] = []
    for path in asked.rows:
        records += _records(screen, (clf, recipe), path, reading, MOST_RECORDS - len(records))
    told = words.told(asked.count)
    if asked.output:
        _write(asked.output, clf, asked, records)
        screen.note(f"{asked.output}: written")
    else:
        if asked.image:
            words.show_picture(screen, asked.image)
        if not records:
            words.explain(screen, asked.count)
        for record in records:
            show_parts(screen, words, record)
    screen.json({"model": asked.model, **told, "records": records, "report": asked.output})


def _records(
    screen: Screen,
    model: tuple[Any, ColumnRecipe | None],
    path: str,
    reading: options.ReadingOptions,
    most: int,
) -> list[Fields]:
    """Return the first records of a file, explained; with the true label if the file has it."""
    from .._rows.matrix import Dense
    from ..files.learning import checked_rows, without_feature_names
    from ..report import explained
    from .stored import fitted_recipe
    from .task import words_of

    clf, stored = model
    words = words_of(clf)
    table = reading.open([path], like=stored)
    recipe = fitted_recipe(table, clf, stored, None, screen)
    label = recipe.label if recipe.label in table.columns else None
    wanted = recipe.wanted() | ({label: words.label_type(table, label)} if label else {})
    batch = next(table.batches(wanted), None)
    if batch is None or most <= 0:
        return []
    chosen = batch.rows.slice(0, most)
    if chosen.num_rows < len(batch):
        screen.note(f"{path}: the first {chosen.num_rows} records are explained")
    X = Dense(checked_rows(batch, recipe.matrix(chosen), recipe, clf.missing))
    truths = words.truths(batch, chosen.column(label), table, label) if label else None
    places = [f"{table.readers[0].name}, row {i + 1}" for i in range(chosen.num_rows)]
    return explained(without_feature_names(clf), X, places=places, truths=truths)


def _write(output: str, clf: Any, asked: Explanation, records: list[Fields]) -> None:
    if output.lower().endswith(".png"):
        save_picture(clf, output, image=asked.image, count=asked.count)
        return
    if not output.lower().endswith((".html", ".htm")) and output != "/dev/stdout":
        raise ValueError(f"{output}: a report is written as .html or .png")
    from .._system.atomic_file import atomic_file
    from ..report import report

    page = report(clf, title=Path(asked.model).stem, image=asked.image, records=records)
    with atomic_file(output) as file:
        file.write(page.encode(errors="backslashreplace"))


def save_picture(clf: SEFRClassifier, output: str, *, image: tuple[int, int] | None, count: int = 10) -> None:
    """Write the effects of the features as a PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from .._system.atomic_file import atomic_file
    from ..displays import ScoresDisplay

    with warnings.catch_warnings(), atomic_file(output) as file:
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a name in letters the font lacks
        display = ScoresDisplay.from_estimator(clf, image=image, count=count)
        display.figure_.savefig(file, format="png", dpi=160)
