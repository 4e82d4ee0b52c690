"""A model explained: on the screen, as an HTML report, or as a picture."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._rows.matrix import Dense
from .._system.atomic_file import atomic_file
from ..classifier import SEFRClassifier
from ..displays import check_image, effects, names_of, strongest_features, subjects
from ..files import ColumnRecipe
from ..files.label_column import coded, like_the_model
from ..files.learning import checked_rows, without_feature_names
from ..files.reader import NUMBER, TEXT
from ..regressor import SEFRRegressor
from ..report import MOST_RECORDS, explained, report
from . import options
from .picture import gallery
from .regression import importances, show_importances
from .screen import MOST_PATH, Screen, bar, grid, shown
from .stored import fitted_recipe, read_model

if TYPE_CHECKING:
    from .._system.types import Fields


@dataclass(frozen=True)
class Explanation:
    """What ``sefr explain`` is asked."""

    model: str
    rows: list[str]
    image: tuple[int, int] | None
    output: str | None
    count: int


def carry_out(screen: Screen, asked: Explanation, reading: options.Reading) -> None:
    """Explain a model and records."""
    clf, recipe = read_model(asked.model, numbers=True)
    if clf.predicts_numbers:
        _of_numbers(screen, clf, recipe, asked, reading)
        return
    if asked.image:
        check_image(asked.image, len(clf.feature_sets_))
    records: list[Fields] = []
    for path in asked.rows:
        records += _records(screen, (clf, recipe), path, reading, MOST_RECORDS - len(records))
    if asked.output:
        _write(asked.output, clf, asked, records)
        screen.note(f"{asked.output}: written")
    else:
        _show(screen, clf, asked, records)
    screen.json(
        {
            "model": asked.model,
            "strongest": strongest_features(clf, asked.count),
            "records": records,
            "report": asked.output,
        }
    )


def _of_numbers(
    screen: Screen,
    reg: SEFRRegressor,
    recipe: ColumnRecipe | None,
    asked: Explanation,
    reading: options.Reading,
) -> None:
    """Explain a model that predicts numbers: what moves predictions, and where those of records come from."""
    if asked.output or asked.image:
        raise ValueError(
            f"{asked.model}: a model that predicts numbers is explained on the screen and with --json, not "
            "with -o or --image"
        )
    records: list[Fields] = []
    for path in asked.rows:
        records += _records(screen, (reg, recipe), path, reading, MOST_RECORDS - len(records))
    if records:
        for record in records:
            _show_number(screen, record, float(reg.base_))
    else:
        screen.line(f"mean {reg.base_:.5g}, scatter about predictions {reg.noise_:.4g}")
        show_importances(screen, reg, asked.count)
    screen.json(
        {
            "model": asked.model,
            "mean": float(reg.base_),
            "noise": float(reg.noise_),
            "importances": importances(reg),
            "records": records,
        }
    )


def _show_number(screen: Screen, record: Fields, base: float) -> None:
    """Show what is added to the mean for one record."""
    truth = "" if record["truth"] is None else f", truly {record['truth']:.5g}"
    title = shown(f"{record['place']}: {record['answer']:.5g}{truth}, from a mean of {base:.5g}", MOST_PATH)
    table = grid("feature", "value", "part", "less │ more", title=title, right=["value", "part"])
    for part in record["parts"]:
        table.add_row(shown(part["name"]), part["value"], f"{part['part']:+.4g}", bar(part["share"]))
    screen.print(table)
    screen.print()


def _records(
    screen: Screen,
    model: tuple[Any, ColumnRecipe | None],
    path: str,
    reading: options.Reading,
    most: int,
) -> list[Fields]:
    """Return the first records of a file, explained; with the true label where the file has it."""
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


def _write(output: str, clf: SEFRClassifier, asked: Explanation, records: list[Fields]) -> None:
    if output.lower().endswith(".png"):
        save_picture(clf, output, image=asked.image, count=asked.count)
        return
    if not output.lower().endswith((".html", ".htm")) and output != "/dev/stdout":
        raise ValueError(f"{output}: a report is written as .html or .png")
    page = report(clf, title=Path(asked.model).stem, image=asked.image, records=records)
    with atomic_file(output) as file:
        file.write(page.encode(errors="backslashreplace"))


def save_picture(clf: SEFRClassifier, output: str, *, image: tuple[int, int] | None, count: int = 10) -> None:
    """Write the effects of the features as a PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from ..displays import ScoresDisplay

    with warnings.catch_warnings(), atomic_file(output) as file:
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a name in letters the font lacks
        display = ScoresDisplay.from_estimator(clf, image=image, count=count)
        display.figure_.savefig(file, format="png", dpi=160)


def _show(screen: Screen, clf: SEFRClassifier, asked: Explanation, records: list[Fields]) -> None:
    if asked.image:
        screen.pixels(gallery(effects(clf), subjects(clf), asked.image, screen.out))
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
        title = shown(f"{record['place']}: {shown(record['answer'])}{truth}, {score}", MOST_PATH)
        table = grid("feature", "value", "part", "against │ for", title=title, right=["value", "part"])
        for part in record["parts"]:
            table.add_row(shown(part["name"]), part["value"], f"{part['part']:+.3f}", bar(part["share"]))
        screen.print(table)
        screen.print()
