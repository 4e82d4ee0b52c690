"""The ways to evaluate: of a model, with a test file, by folds in one pass, by a comparison of settings."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.table import Table as Grid
from rich.text import Text

from .._rows.cells import Cut
from .._system.atomic_file import atomic_file
from .._system.colours import AGAINST_TERMINAL, FOR_TERMINAL
from ..classifier import SEFRClassifier
from ..comparison import SETTINGS, Comparison, Row, compare
from ..files import ColumnRecipe, Dataset, SourceError
from ..files.label_column import final_labels
from ..files.learning import (
    Confusion,
    evaluate_folds,
    evaluate_model,
    learn,
    learn_edges,
    learn_folds,
    without_feature_names,
)
from . import options
from .recordings import RecordingReader
from .sample import Sampled
from .screen import Screen, bar, grid, seconds, shown
from .stored import fitted_recipe, read_model

if TYPE_CHECKING:
    from .._system.types import Fields, Params

MOST_SHOWN = 20
MOST_CELLS = 1 << 24  # values of a comparison that are held in memory: 128 MB
MOST_ROWS = 100_000
CHOSEN = ("passes", "class_weight", "bins", "interactions")  # settings that the comparison tells apart


class Opened(NamedTuple):
    """Rows, how their columns become features, the parameters of the classifier, and what was decided."""

    table: Dataset
    recipe: ColumnRecipe
    params: Fields
    said: list[str]


@dataclass(frozen=True)
class Asked:
    """What ``sefr evaluate`` is asked, where it trains."""

    data: list[str]
    reading: options.Reading
    choice: options.Choice
    settings: options.Settings
    folds: int

    def open(self, *, coded: bool = False) -> Opened:
        """Return the rows and what was decided about their columns."""
        self.settings.params()  # wrong ones are said before any work is done
        table = self.reading.open(self.data, reread=True)
        choice = self.choice.surveyed(table)
        params = self.settings.surveyed(choice.survey).params()
        said = [] if choice.survey is None else choice.survey.sentences()
        return Opened(table, choice.recipe(table, coded=coded), params, said)


def of_a_model(
    screen: Screen, model: str, data: list[str], reading: options.Reading, label: str | None
) -> None:
    """Test a model as it stands."""
    started = time.perf_counter()
    clf, stored = read_model(model)
    how = f"{model} on {', '.join(data)}"
    reader = RecordingReader.of(clf, data, reading)
    if reader is not None:
        confusion = _of_recordings(screen, clf, reader, data, reading, label)
        _say(screen, confusion, how, started, of="windows")
        return
    table = reading.open(data, reread=True, like=stored)
    table.skip_unlabelled = stored is not None and stored.skip_unlabelled
    recipe = fitted_recipe(table, clf, stored, label, screen)
    with screen.progress(table, "testing") as tick:
        confusion = evaluate_model(table, recipe, clf, tick=tick)
    _say(screen, confusion, how, started)


def _of_recordings(
    screen: Screen,
    clf: SEFRClassifier,
    reader: RecordingReader,
    data: list[str],
    reading: options.Reading,
    label: str | None,
) -> Confusion:
    """Compare answers about windows with the labels of their recordings; without an answer, none counts."""
    confusion, scorer = Confusion(), without_feature_names(clf)
    known = set(clf.classes_.tolist())
    for windows in reader.windows(data, reading, label, labelled=True):
        name, truth = windows.recording.name, windows.recording.label
        if truth not in known:
            raise SourceError(f"{name}: the model does not know the label {truth!r}")
        X = windows.features[windows.answered]
        if len(X):
            confusion.add(np.repeat(str(truth), len(X)), scorer.predict(X))
    reader.tell(screen)
    if not confusion.labels:
        raise SourceError("no window has an answer: too many samples lie at the ends of the range")
    return confusion


def with_a_test_file(screen: Screen, asked: Asked, test: str) -> None:
    """Train on some files and test on another."""
    started = time.perf_counter()
    table, recipe, params, said = asked.open(coded=asked.settings.bins is not None)
    cut = Cut.of_settings(params)
    with screen.progress(table, "learning") as tick:
        learn_edges(table, recipe, cut, tick)
        summary = learn(table, recipe, missing=params["missing"], moments=params["moments"], tick=tick)
    clf = SEFRClassifier.from_summary(summary, **params)
    other = asked.reading.open([test], like=recipe)
    other.skip_unlabelled = table.skip_unlabelled
    fitted_recipe(other, clf, recipe, recipe.label, screen)
    with screen.progress(other, "testing") as tick:
        confusion = evaluate_model(other, recipe, clf, tick=tick)
    _say(screen, confusion, f"trained on {', '.join(asked.data)}, tested on {test}", started, said)


def by_folds(screen: Screen, asked: Asked) -> None:
    """Cross-validate one pass, in bounded memory: one pass learns all folds, a second tests them."""
    started = time.perf_counter()
    table, recipe, params, said = asked.open()
    with screen.progress(table, "learning") as tick:
        folds = learn_folds(
            table,
            recipe,
            asked.folds,
            missing=params["missing"],
            moments=params["moments"],
            tick=tick,
        )
    models = []
    for k in range(asked.folds):
        others = [fold for j, fold in enumerate(folds) if j != k]
        rest = sum(others[1:], others[0]).without_empty_classes()
        models.append(SEFRClassifier.from_summary(rest, **params))
    with screen.progress(table, "testing") as tick:
        confusion = evaluate_folds(table, recipe, models, tick=tick)
    _say(screen, confusion, f"{asked.folds} folds of {', '.join(asked.data)}", started, said)


def by_comparison(screen: Screen, asked: Asked, counts: list[int], plot: str | None) -> None:
    """Cross-validate several settings, or one of several passes, in memory and on the same folds."""
    started = time.perf_counter()
    table, recipe, params, said = asked.open()
    sampled = _sample(screen, params, table, recipe)
    X, y = sampled.rows()
    if not len(y):
        raise SourceError(f"{table.readers[0].name}: there are no rows")
    labels = y if table.typed else _final(y)
    by_passes = {f"{n} passes" if n > 1 else "one pass": {"passes": n} for n in counts}
    chosen: Mapping[str, Params | None] = by_passes or SETTINGS
    try:
        result = compare(X, labels, cv=asked.folds, settings=chosen, **params)
    except ValueError as error:
        raise SourceError(f"{table.readers[0].name}: {error}") from None
    confusion = Confusion()
    confusion.add(labels, result.recommended.predictions)
    elapsed = time.perf_counter() - started
    how = f"{asked.folds} folds of {', '.join(asked.data)}"
    if sampled.seen > len(y):
        how += f", on a sample of {len(y):,} of {sampled.seen:,} rows"
    for decided in said:
        screen.note(decided)
    if len(result) > 1:
        _show_comparison(screen, result)
    _show(screen, confusion, f"{how}, {seconds(elapsed)}", result.recommended)
    if plot:
        _draw(result, plot)
        screen.note(f"{plot}: macro F1 against the time to train")
    command = _training_command(asked, result.recommended)
    if "-" not in asked.data:
        screen.note(f"next: {command}")
    told = {
        "settings": [_as_json(row) for row in result],
        "recommended": result.recommended.name,
        "recommendation": result.recommendation,
        "command": command,
        "rows_in_file": sampled.seen,
    }
    screen.json(confusion.report() | told | {"seconds": elapsed, "method": how})


def _sample(screen: Screen, params: Params, table: Dataset, recipe: ColumnRecipe) -> Sampled:
    """Return the rows of a table in memory, or a sample where they are too many."""
    most = max(1_000, min(MOST_ROWS, MOST_CELLS // max(1, len(recipe.feature_names))))
    sampled = Sampled(table, recipe, most)
    with screen.progress(table, "reading") as tick:
        learn(sampled, recipe, missing=params["missing"], tick=tick)  # complains of what cannot be learned
    return sampled


def _training_command(asked: Asked, row: Row) -> str:
    """Return the command that trains with the settings of a row."""
    words = [options.program(), "train", *asked.data, *asked.choice.arguments(), *asked.reading.arguments()]
    known = asked.settings.arguments()
    words += known
    for name in CHOSEN:
        option, value = f"--{name.replace('_', '-')}", row.params.get(name)
        if value not in (None, 1) and option not in known:
            words += [option, str(value)]
    return shlex.join(words)


def _final(labels: Any) -> Any:
    """Return labels that a format gives as text as what they are."""
    distinct, codes = np.unique(labels, return_inverse=True)
    values = final_labels(distinct.tolist())
    return labels if values is None else np.array(values)[codes]


def _as_json(row: Row) -> Fields:
    return {
        "name": row.name,
        "params": {name: value for name, value in row.params.items() if name in CHOSEN},
        "macro_f1": row.macro_f1,
        "accuracy": row.accuracy,
        "log_loss": row.log_loss,
        "fit_seconds": row.fit_seconds,
        "model_bytes": row.model_bytes,
    }


def _show_comparison(screen: Screen, result: Comparison) -> None:
    """Show a line per setting, and the recommendation."""
    right = ["macro F1", "accuracy", "log loss", "to train", "model"]
    table = grid("setting", *right, "macro F1", right=right)
    table.columns[0].no_wrap = True
    table.columns[-1].header = Text("0 to 1", "dim")
    table.columns[-1].justify = "left"
    for row in result:
        style = "bold" if row is result.recommended else ""
        table.add_row(
            shown(row.name, style=style),
            Text(f"{row.macro_f1:.4f}", style),
            f"{row.accuracy:.4f}",
            "" if row.log_loss is None else f"{row.log_loss:.4f}",
            seconds(row.fit_seconds) if row.fit_seconds >= 0.0095 else f"{1000 * row.fit_seconds:.1f} ms",
            f"{row.model_bytes:,} B" if row.model_bytes else "",
            _plain_bar(row.macro_f1),
        )
    screen.print(table)
    screen.print()
    screen.line(result.recommendation)
    screen.print()


def _plain_bar(value: float) -> Text:
    """Return a value from 0 to 1 as a bar."""
    return Text(bar(value, 8).plain.split("│")[1], FOR_TERMINAL)


def _draw(result: Comparison, path: str) -> None:
    """Draw a comparison to a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    result.plot(figure.subplots())
    kind = path.rsplit(".", 1)[-1].lower()
    with atomic_file(path) as file:
        figure.savefig(file, format=kind if kind in ("png", "svg", "pdf") else "png", dpi=160)


def _say(
    screen: Screen,
    confusion: Confusion,
    how: str,
    started: float,
    decided: Sequence[str] = (),
    of: str = "rows",
) -> None:
    elapsed = time.perf_counter() - started
    for said in decided:
        screen.note(said)
    _show(screen, confusion, f"{how}, {seconds(elapsed)}", of=of)
    screen.json(confusion.report() | {"seconds": elapsed, "method": how})


def _show(
    screen: Screen, confusion: Confusion, how: str, row: Row | None = None, *, of: str = "rows"
) -> None:
    """Show accuracy, a line per class, and the confusion matrix."""
    report = confusion.report()
    which = "" if row is None else f"{row.name}: "
    reached = f"accuracy {report['accuracy']:.4f}   macro F1 {report['macro_f1']:.4f}"
    screen.line(f"{which}{reached}   {report['rows']:,} {of}")
    screen.note(how)
    table = grid("class", of, "precision", "recall", "F1", right=[of, "precision", "recall", "F1"])
    for line in report["classes"][:MOST_SHOWN]:
        numbers = [f"{line['rows']:,}", *(f"{line[name]:.3f}" for name in ("precision", "recall", "f1"))]
        table.add_row(shown(line["label"]), *numbers)
    if len(report["classes"]) > MOST_SHOWN:
        table.add_row(f"and {len(report['classes']) - MOST_SHOWN} more; --json has all")
    screen.print()
    screen.print(table)
    if len(report["classes"]) <= MOST_SHOWN:
        screen.print()
        screen.print(_confusion(report))


def _confusion(report: Fields) -> Grid:
    labels = [str(line["label"]) for line in report["classes"]]
    table = grid("true \\ given", title="confusion")
    for label in labels:
        table.add_column(shown(label, 16, "dim"), justify="right", no_wrap=True)
    for i, row in enumerate(report["confusion"]):
        total = max(1, sum(row))
        cells = [
            Text(
                f"{n:,}" if n else "·",
                style=f"bold {FOR_TERMINAL}" if i == j else "dim" if n < 0.02 * total else AGAINST_TERMINAL,
            )
            for j, n in enumerate(row)
        ]
        table.add_row(shown(labels[i]), *cells)
    return table
