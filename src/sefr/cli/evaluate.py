"""``sefr evaluate``: how good a model is, by folds, on a test file, or as it stands."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.text import Text

from ..classifier import SEFRClassifier
from ..files import open_table
from ..files.learning import Confusion, judge, judge_folds, learn, learn_folds
from . import options
from .dial import compare, counts_of
from .screen import Screen, grid, seconds
from .stored import fitted_recipe, read_model

MOST_SHOWN = 20


def evaluate(
    data: options.Data,
    label: options.MaybeLabel = None,
    folds: Annotated[int, typer.Option(help="Cross-validate with so many folds.", min=2, max=1000)] = 10,
    model: Annotated[str | None, typer.Option(help="Test this model on DATA.", show_default=False)] = None,
    test: Annotated[
        str | None, typer.Option(help="Train on DATA, test on this file.", show_default=False)
    ] = None,
    features: options.Features = "",
    drop: options.Drop = "",
    categories: options.Categories = "",
    missing: options.MissingValues = options.Missing.error,
    scale: options.Scale = "minmax",
    epsilon: options.Epsilon = 1e-7,
    passes: Annotated[
        str, typer.Option(help="Read the training data so often; 1,3,10 compares, by folds and in memory.")
    ] = "1",
    plot: Annotated[
        str | None,
        typer.Option(help="With several --passes: draw accuracy against time.", show_default=False),
    ] = None,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Measure accuracy: by cross-validation, with a test file, or of a model.

    The folds are stratified: the rows of each class are dealt out to them one after the other. One pass
    learns all folds, a second tests them.

    For example:

      sefr evaluate iris.csv --label species --folds 10

      sefr evaluate train.csv --label y --test test.csv

      sefr evaluate new.csv --model iris.sefr --json

      sefr evaluate iris.csv --label species --passes 1,3,10 --plot dial.png
    """
    screen = Screen(quiet=quiet, as_json=json)
    if model and test:
        raise typer.BadParameter("--model and --test exclude each other")
    if not model and not label:
        raise typer.BadParameter("--label is needed to train")
    settings: dict[str, Any] = {
        "missing": missing.value,
        "scale": options.scale_of(scale),
        "epsilon": epsilon,
    }
    counts = counts_of(passes)
    if (plot or counts != [1]) and (model or test):
        raise typer.BadParameter("--passes and --plot go with folds, not with --model or --test")
    SEFRClassifier(**settings).check_params()
    reading = options.reading(format, delimiter, no_header)
    started = time.perf_counter()
    table = open_table(data, again=True, **reading)
    if model:
        clf, stored = read_model(model)
        recipe = fitted_recipe(table, clf, stored, label, screen)
        with screen.progress(table, "testing") as tick:
            confusion = judge(table, recipe, clf, tick=tick)
        how = f"{model} on {', '.join(data)}"
    else:
        chosen = [options.names(text) for text in (features, drop, categories)]
        recipe = table.recipe(table.label_name(str(label)), *chosen)
        if test:
            with screen.progress(table, "learning") as tick:
                summary = learn(table, recipe, missing=missing.value, tick=tick)
            clf = SEFRClassifier.from_summary(summary, **settings)
            other = open_table([test], **reading)
            fitted_recipe(other, clf, recipe, recipe.label, screen)
            with screen.progress(other, "testing") as tick:
                confusion = judge(other, recipe, clf, tick=tick)
            how = f"trained on {', '.join(data)}, tested on {test}"
        else:
            if counts != [1]:
                compare(screen, table, recipe, folds, settings, counts, plot)
                return
            confusion = _by_folds(screen, table, recipe, folds, settings)
            how = f"{folds} folds of {', '.join(data)}"
    elapsed = time.perf_counter() - started
    report = confusion.report()
    show(screen, confusion, f"{how}, {seconds(elapsed)}")
    screen.json(report | {"seconds": elapsed, "method": how})


def _by_folds(screen: Screen, table: Any, recipe: Any, n_folds: int, settings: dict[str, Any]) -> Confusion:
    with screen.progress(table, "learning") as tick:
        folds = learn_folds(table, recipe, n_folds, missing=settings["missing"], tick=tick)
    models = []
    for k in range(n_folds):
        others = [fold for j, fold in enumerate(folds) if j != k]
        rest = sum(others[1:], others[0]).without_empty_classes()
        models.append(SEFRClassifier.from_summary(rest, **settings))
    with screen.progress(table, "testing") as tick:
        return judge_folds(table, recipe, models, tick=tick)


def show(screen: Screen, confusion: Confusion, how: str) -> None:
    """Show accuracy, a line a class, and the confusion matrix."""
    report = confusion.report()
    screen.line(
        f"accuracy {report['accuracy']:.4f}   macro F1 {report['macro_f1']:.4f}   {report['rows']:,} rows"
    )
    screen.note(how)
    table = grid("class", "rows", "precision", "recall", "F1", right=["rows", "precision", "recall", "F1"])
    for line in report["classes"][:MOST_SHOWN]:
        numbers = [f"{line['rows']:,}", *(f"{line[name]:.3f}" for name in ("precision", "recall", "f1"))]
        table.add_row(Text(str(line["label"])), *numbers)
    if len(report["classes"]) > MOST_SHOWN:
        table.add_row(f"and {len(report['classes']) - MOST_SHOWN} more; --json has all")
    screen.print()
    screen.print(table)
    if len(report["classes"]) <= MOST_SHOWN:
        screen.print()
        screen.print(_confusion(report))


def _confusion(report: dict[str, Any]) -> Any:
    labels = [str(line["label"]) for line in report["classes"]]
    table = grid("true \\ given", *labels, right=labels, title="confusion")
    for i, row in enumerate(report["confusion"]):
        total = max(1, sum(row))
        cells = [
            Text(
                f"{n:,}" if n else "·",
                style="bold cyan" if i == j else "dim" if n < 0.02 * total else "yellow",
            )
            for j, n in enumerate(row)
        ]
        table.add_row(Text(labels[i]), *cells)
    return table
