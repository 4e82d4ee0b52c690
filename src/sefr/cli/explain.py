"""``sefr explain``: what a model has learned and why it answers as it does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from .._answers.report import MOST_RECORDS, explained, report
from .._system.atomic_file import atomic_file
from ..classifier import SEFRClassifier
from ..displays import check_image, names_of, subjects
from ..files import ColumnRecipe, open_dataset
from ..files.label_column import coded, like_the_model
from ..files.learning import checked_rows, without_feature_names
from ..files.reader import TEXT
from . import options
from .picture import gallery
from .screen import Screen, bar, grid
from .stored import fitted_recipe, read_model
from .train import strongest


def explain(
    model: options.OneModel,
    rows: Annotated[
        list[str] | None,
        typer.Option("--rows", help="Records whose answers to explain.", show_default=False),
    ] = None,
    image: Annotated[
        str, typer.Option(help="Features are pixels of an image, HEIGHTxWIDTH.", metavar="16x16")
    ] = "",
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write a report: .html, or .png.", show_default=False)
    ] = None,
    count: Annotated[int, typer.Option(help="Features to show for each class.", min=1)] = 10,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Show the feature scores of a model, and where the score of a record comes from.

    For example:

      sefr explain iris.sefr

      sefr explain iris.sefr --rows new.csv -o report.html

      sefr explain digits.sefr --image 8x8 -o digits.html
    """
    screen = Screen(quiet=quiet, as_json=json)
    clf, recipe = read_model(model)
    size = image_size(image, clf.n_features_in_)
    if output:
        options.check_writable(output)
    records: list[dict[str, Any]] = []
    for path in rows or []:
        reading = options.reading(format, delimiter, no_header)
        records += _explained(screen, clf, recipe, path, reading, MOST_RECORDS - len(records))
    if output:
        _write(output, clf, title=Path(model).stem, image=size, records=records, count=count)
        screen.note(f"{output}: written")
    else:
        _show(screen, clf, size, records, count)
    screen.json({"model": model, "strongest": strongest(clf, count), "records": records, "report": output})


def image_size(text: str, n_features: int) -> tuple[int, int] | None:
    """Return height and width from 16x16; nothing from nothing."""
    if not text:
        return None
    found = re.fullmatch(r"(\d+)[x×](\d+)", text)
    if not found:
        raise typer.BadParameter(f"--image takes HEIGHTxWIDTH, such as 16x16, not {text!r}")
    size = int(found[1]), int(found[2])
    check_image(size, n_features)
    return size


def _explained(
    screen: Screen,
    clf: SEFRClassifier,
    stored: ColumnRecipe | None,
    path: str,
    reading: dict[str, Any],
    most: int,
) -> list[dict[str, Any]]:
    """Return the first records of a file, explained; with the true label where the file has it."""
    table = open_dataset([path], **reading)
    recipe = fitted_recipe(table, clf, stored, None, screen)
    label = recipe.label if recipe.label in table.columns else None
    wanted = recipe.wanted() | ({label: TEXT if not table.typed else table.columns[label]} if label else {})
    batch = next(table.batches(wanted), None)
    if batch is None or most <= 0:
        return []
    chosen = batch.rows.slice(0, most)
    if chosen.num_rows < len(batch):
        screen.note(f"{path}: the first {chosen.num_rows} records are explained")
    X = checked_rows(batch, recipe.matrix(chosen), recipe, clf.missing)
    truths = None
    if label:
        classes, codes = coded(chosen.column(label), label, batch.place, typed=table.typed)
        truths = like_the_model(classes, clf.classes_, label, typed=table.typed)[codes].tolist()
    places = [f"{table.readers[0].name}, row {i + 1}" for i in range(len(X))]
    return explained(without_feature_names(clf), X, places=places, truths=truths, feature_names=names_of(clf))


def _write(output: str, clf: SEFRClassifier, *, title: str, image: Any, records: Any, count: int) -> None:
    if output.lower().endswith(".png"):
        save_picture(clf, output, image=image, count=count)
        return
    if not output.lower().endswith((".html", ".htm")):
        raise ValueError(f"{output}: a report is written as .html or .png")
    page = report(clf, title=title, image=image, records=records)
    with atomic_file(output) as file:
        file.write(page.encode())


def save_picture(clf: SEFRClassifier, output: str, *, image: tuple[int, int] | None, count: int = 10) -> None:
    """Write the feature scores as a PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from ..displays import ScoresDisplay

    display = ScoresDisplay.from_estimator(clf, image=image, count=count)
    with atomic_file(output) as file:
        display.figure_.savefig(file, format="png", dpi=160)


def _show(screen: Screen, clf: SEFRClassifier, image: Any, records: list[dict[str, Any]], count: int) -> None:
    if image:
        for pixels in gallery(clf.feature_scores_, subjects(clf), image, screen.out):
            screen.out.print(pixels, no_wrap=True, crop=False)
    if not records:
        for line in strongest(clf, count):
            table = grid("feature", "score", "against │ for", title=f"{line['label']}", right=["score"])
            for item in line["features"]:
                table.add_row(Text(item["feature"]), f"{item['score']:+.3f}", bar(item["score"]))
            screen.print(table)
            screen.print()
    for record in records:
        truth = "" if record["truth"] in (None, record["answer"]) else f" but truly {record['truth']}"
        score = f"score for {record['speaks_for']} {record['score']:+.3f}"
        title = f"{record['place']}: {record['answer']}{truth}, {score}"
        table = grid("feature", "value", "part", "against │ for", title=title, right=["value", "part"])
        for part in record["parts"]:
            table.add_row(Text(part["name"]), part["value"], f"{part['part']:+.3f}", bar(part["share"]))
        screen.print(table)
        screen.print()
