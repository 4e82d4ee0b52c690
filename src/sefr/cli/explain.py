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
    from ..regressor import SEFRRegressor
    from .screen import Screen


def explain(
    *,
    model: options.OneModel,
    rows: Annotated[
        list[str] | None,
        typer.Option(
            "--rows", help="A file of rows whose answers to explain.", metavar="FILE", show_default=False
        ),
    ] = None,
    image: Annotated[
        str, typer.Option(help="The features are pixels of an image.", metavar="HEIGHTxWIDTH")
    ] = "",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Write a report (.html) or a picture (.png).",
            metavar="FILE",
            show_default=False,
        ),
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
    from ..displays import check_image, strongest_features
    from ..report import MOST_RECORDS
    from .stored import read_model
    from .strongest import told_of_numbers

    clf, recipe = read_model(asked.model, numbers=True)
    if clf.predicts_numbers and (asked.image or (asked.output or "").lower().endswith(".png")):
        raise ValueError(
            f"{asked.model}: a model that predicts numbers has no picture; -o takes an .html file"
        )
    if asked.image:
        check_image(asked.image, len(clf.feature_sets_))
    records: list[Fields] = []
    for path in asked.rows:
        records += _records(screen, (clf, recipe), path, reading, MOST_RECORDS - len(records))
    if clf.predicts_numbers:
        told = told_of_numbers(clf)
    else:
        told = {"strongest": strongest_features(clf, asked.count)}
    if asked.output:
        _write(asked.output, clf, asked, records)
        screen.note(f"{asked.output}: written")
    elif clf.predicts_numbers:
        _show_numbers(screen, clf, asked, records)
    else:
        _show(screen, clf, asked, records)
    screen.json({"model": asked.model, **told, "records": records, "report": asked.output})


def _show_numbers(screen: Screen, reg: SEFRRegressor, asked: Explanation, records: list[Fields]) -> None:
    """Show what moves predictions, or where those of records come from."""
    from .strongest import show_importances

    for record in records:
        truth = "" if record["truth"] is None else f", truly {record['truth']:.5g}"
        title = f"{record['place']}: {record['answer']:.5g}{truth}, from a mean of {reg.base_:.5g}"
        _show_parts(screen, record, title, "less │ more", ".4g")
    if not records:
        scatter = f", scatter about predictions {reg.noise_:.4g}" if hasattr(reg, "noise_") else ""
        screen.line(f"mean {reg.base_:.5g}{scatter}")
        show_importances(screen, reg, asked.count)


def _show_parts(screen: Screen, record: Fields, title: str, sides: str, digits: str) -> None:
    """Show the parts of one answer: a feature, its value, and what it adds."""
    from .screen import MOST_PATH, bar, grid, shown

    table = grid("feature", "value", "part", sides, title=shown(title, MOST_PATH), right=["value", "part"])
    for part in record["parts"]:
        table.add_row(shown(part["name"]), part["value"], f"{part['part']:+{digits}}", bar(part["share"]))
    screen.print(table)
    screen.print()


def _records(
    screen: Screen,
    model: tuple[Any, ColumnRecipe | None],
    path: str,
    reading: options.ReadingOptions,
    most: int,
) -> list[Fields]:
    """Return the first records of a file, explained; with the true label if the file has it."""
    from .._rows.matrix import Dense
    from ..displays import names_of
    from ..files.label_column import coded, like_the_model
    from ..files.learning import checked_rows, without_feature_names
    from ..files.reader import NUMBER, TEXT
    from ..report import explained
    from .stored import fitted_recipe

    clf, stored = model
    table = reading.open([path], like=stored)
    recipe = fitted_recipe(table, clf, stored, None, screen)
    label = recipe.label if recipe.label in table.columns else None
    kind = TEXT if not table.typed and not clf.predicts_numbers else table.columns.get(label or "", TEXT)
    wanted = recipe.wanted() | ({label: kind} if label else {})
    batch = next(table.batches(wanted), None)
    if batch is None or most <= 0:
        return []
    chosen = batch.rows.slice(0, most)
    if chosen.num_rows < len(batch):
        screen.note(f"{path}: the first {chosen.num_rows} records are explained")
    X = Dense(checked_rows(batch, recipe.matrix(chosen), recipe, clf.missing))
    truths = None
    if label and clf.predicts_numbers:
        truths = chosen.column(label).to_pylist() if kind == NUMBER else None
    elif label and not chosen.column(label).null_count:
        classes, codes = coded(chosen.column(label), label, batch.place, typed=table.typed)
        truths = like_the_model(classes, clf.classes_, label, typed=table.typed)[codes].tolist()
    places = [f"{table.readers[0].name}, row {i + 1}" for i in range(chosen.num_rows)]
    return explained(without_feature_names(clf), X, places=places, truths=truths, feature_names=names_of(clf))


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


def _show(screen: Screen, clf: SEFRClassifier, asked: Explanation, records: list[Fields]) -> None:
    from ..displays import effects, strongest_features
    from .picture import gallery
    from .screen import bar, grid, shown

    if asked.image:
        screen.pixels(gallery(effects(clf), clf.fitted_.subjects, asked.image, screen.out))
    for line in [] if records else strongest_features(clf, asked.count):
        title = shown(line["label"])
        table = grid("feature", "effect", "score", "against │ for", title=title, right=["effect", "score"])
        for item in line["features"]:
            numbers = f"{item['effect']:+.3f}", f"{item['score']:+.3f}"
            table.add_row(shown(item["feature"]), *numbers, bar(item["share"]))
        screen.print(table)
        screen.print()
    for record in records:
        truth = "" if record["truth"] in (None, record["answer"]) else f" but truly {shown(record['truth'])}"
        score = f"score for {shown(record['speaks_for'])} {record['score']:+.3f}"
        heading = f"{record['place']}: {shown(record['answer'])}{truth}, {score}"
        _show_parts(screen, record, heading, "against │ for", ".3f")
