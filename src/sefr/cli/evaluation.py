"""The ways to evaluate: of a model, with a test file, by folds in one pass, by a comparison of settings."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.table import Table as Grid
from rich.text import Text

from .._system.atomic_file import atomic_file
from .._system.colours import AGAINST_TERMINAL, FOR_TERMINAL
from ..classifier import SEFRClassifier
from ..comparison import MARGIN, METHODS, Comparison, Row, compare
from ..files import ColumnRecipe, Dataset, SourceError
from ..files.label_column import final_labels
from ..files.learning import (
    Confusion,
    evaluate_folds,
    evaluate_model,
    learn,
    learn_folds,
    without_feature_names,
)
from . import options, regression
from .recordings import RecordingReader
from .sample import Sampled, most_compared
from .screen import Screen, bar, grid, seconds, shown
from .stored import fitted_recipe, read_model
from .training import Training, learned

if TYPE_CHECKING:
    from .._system.types import Array, Fields, Params, Rows

MOST_SHOWN = 20
CHOSEN = ("auto", "passes", "bins", "interactions", "moments")  # settings that a comparison tells apart


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
    table: Dataset
    task: options.Task | None = None

    def open(self) -> Opened:
        """Return the rows and what was decided about their columns."""
        choice = self.choice.surveyed(self.table)
        params = self.settings.surveyed(choice.survey).params()
        said = [] if choice.survey is None else choice.survey.sentences()
        return Opened(self.table, choice.recipe(self.table), params, said)


def of_a_model(
    screen: Screen, model: str, data: list[str], reading: options.Reading, label: str | None
) -> None:
    """Test a model as it stands."""
    started = time.perf_counter()
    clf, stored = read_model(model, numbers=True)
    how = f"{model} on {', '.join(data)}"
    reader = RecordingReader.of(clf, data, reading)
    if reader is not None:
        confusion = _of_recordings(screen, clf, reader, data, reading, label)
        _say(screen, confusion, how, started, of="windows")
        return
    table = reading.open(data, reread=True, like=stored)
    table.skip_unlabelled = stored is not None and stored.skip_unlabelled
    recipe = fitted_recipe(table, clf, stored, label, screen)
    if clf.predicts_numbers:
        regression.test_model(screen, clf, recipe, table, how, started)
        return
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
    """Train on some files, as ``sefr train`` does, and test on another."""
    started = time.perf_counter()
    table = asked.table
    training = Training(asked.data, asked.reading, asked.choice, asked.settings).surveyed(table)
    clf, recipe = learned(screen, training, table)
    said = [] if training.choice.survey is None else training.choice.survey.sentences()
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


def by_methods(screen: Screen, asked: Asked, plot: str | None) -> None:
    """Cross-validate what ``sefr train`` has words for, beside other methods; the report is of --auto."""
    read = _read_rows(screen, asked)
    result = _compared(screen, read, asked, METHODS, others=True)
    auto = next(row for row in result if row.name == "auto")
    _tell(screen, asked, read, result, auto, _advice(result, auto), plot)


def by_comparison(screen: Screen, asked: Asked, counts: list[int], plot: str | None) -> None:
    """Cross-validate one setting, or one of several passes, in memory and on the same folds."""
    read = _read_rows(screen, asked)
    settings: Mapping[str, Params] = {_name(n): {"passes": n} for n in counts} or {_words(asked): {}}
    result = _compared(screen, read, asked, settings)
    _tell(screen, asked, read, result, result.recommended, result.recommendation, plot)


def _name(passes: int) -> str:
    return f"{passes} passes" if passes > 1 else "one pass"


def _words(asked: Asked) -> str:
    """Return the name of the one setting that was asked for."""
    settings = asked.settings
    if settings.auto:
        return "auto"
    named = {"bins": settings.bins, "interactions": settings.interactions}
    words = [f"{value} {name}" for name, value in named.items() if value is not None]
    return ", ".join([*words, *(["exact"] if settings.order == 2 else [])])


class Read(NamedTuple):
    """Rows in memory, with what is needed to speak of them."""

    rows: Rows
    labels: Array
    file: str
    seen: int  # rows in the file
    params: Fields
    said: list[str]
    started: float


def _read_rows(screen: Screen, asked: Asked) -> Read:
    """Read all rows, or a sample where they are too many."""
    started = time.perf_counter()
    table, recipe, params, said = asked.open()
    sampled = _sample(screen, params, table, recipe)
    X, y = sampled.rows()
    if not len(y):
        raise SourceError(f"{table.readers[0].name}: there are no rows")
    labels = y if table.typed else _final(y)
    return Read(X, labels, table.readers[0].name, sampled.seen, params, said, started)


def _compared(
    screen: Screen,
    read: Read,
    asked: Asked,
    settings: Mapping[str, Params | None],
    *,
    others: bool = False,
) -> Comparison:
    """Compare settings on the rows; what is common to all of them was asked for."""
    shared = {name: value for name, value in read.params.items() if not settings_say(name, settings)}
    steps = asked.folds * (len(settings) + 2 * others)
    try:
        with screen.steps(steps) as tick:
            return compare(
                read.rows,
                read.labels,
                cv=asked.folds,
                settings=settings,
                others=others,
                tick=tick,
                **shared,
            )
    except ValueError as error:
        raise SourceError(f"{read.file}: {error}") from None


def _tell(
    screen: Screen,
    asked: Asked,
    read: Read,
    result: Comparison,
    chosen: Row,
    advice: str,
    plot: str | None,
) -> None:
    """Show a comparison, and the classes and the confusion matrix of one of its rows."""
    confusion = Confusion()
    confusion.add(read.labels, chosen.predictions)
    elapsed = time.perf_counter() - read.started
    how = f"{asked.folds} folds of {', '.join(asked.data)}"
    if read.seen > len(read.labels):
        how += f", on a sample of {len(read.labels):,} of {read.seen:,} rows"
    for decided in read.said:
        screen.note(decided)
    if len(result) > 1:
        _show_comparison(screen, result, chosen, advice)
    _show(screen, confusion, f"{how}, {seconds(elapsed)}", chosen)
    if plot:
        _draw(result, plot)
        screen.note(f"{plot}: macro F1 against the time to train")
    command = _training_command(asked, chosen)
    if "-" not in asked.data:
        screen.note(f"next: {command}")
    told = {
        "settings": [_as_json(row) for row in result],
        "recommended": chosen.name,
        "recommendation": advice,
        "command": command,
        "rows_in_file": read.seen,
    }
    screen.json(confusion.report() | told | {"seconds": elapsed, "method": how})


def _advice(result: Comparison, auto: Row) -> str:
    """Say what --auto, which ``sefr train`` takes, reaches, and what would do as well."""
    rows = {row.name: row for row in result}
    if rows["base rate"].macro_f1 >= auto.macro_f1 - MARGIN:
        return (
            "Nothing does better than always answering the most frequent class: "
            "these features do not separate the classes."
        )
    said = f"sefr train takes auto: macro F1 {auto.macro_f1:.3f}."
    for name in ("exact", "paper"):
        if name in rows and rows[name].macro_f1 >= auto.macro_f1 - MARGIN:
            return f"{said} --{name} reaches {rows[name].macro_f1:.3f}, and can learn further rows."
    return said


def settings_say(name: str, settings: Mapping[str, Params | None]) -> bool:
    """Return whether some of the settings have a value for a parameter of their own."""
    return any(name in (chosen or {}) for chosen in settings.values())


def _sample(screen: Screen, params: Params, table: Dataset, recipe: ColumnRecipe) -> Sampled:
    """Return the rows of a table in memory, or a sample where they are too many."""
    sampled = Sampled(table, recipe, most_compared(recipe))
    with screen.progress(table, "reading") as tick:
        learn(sampled, recipe, missing=params["missing"], tick=tick)  # complains of what cannot be learned
    return sampled


def _training_command(asked: Asked, row: Row) -> str:
    """Return the command that trains with the settings of a row."""
    words = [options.program(), "train", *asked.data, *asked.choice.arguments(), *asked.reading.arguments()]
    settings = asked.settings
    if settings.passes is not None:  # one of several that were compared
        settings = replace(settings, passes=row.params["passes"])
    task = [] if asked.task is None else ["--task", asked.task.value]
    return shlex.join([*words, *settings.arguments(), *task])


def _final(labels: Any) -> Any:
    """Return labels that a format gives as text as what they are."""
    distinct, codes = np.unique(labels, return_inverse=True)
    values = final_labels(distinct.tolist())
    return labels if values is None else np.array(values)[codes]


def _as_json(row: Row) -> Fields:
    return {
        "name": row.name,
        "params": {
            name: value
            for name, value in row.params.items()
            if name == "passes" or (name in CHOSEN and value not in (None, False, 1))
        },
        "macro_f1": row.macro_f1,
        "accuracy": row.accuracy,
        "log_loss": row.log_loss,
        "fit_seconds": row.fit_seconds,
        "model_bytes": row.model_bytes,
        "folds": row.n_folds,
    }


def _show_comparison(screen: Screen, result: Comparison, chosen: Row, advice: str) -> None:
    """Show a line per setting, and what follows."""
    right = ["macro F1", "accuracy", "log loss", "to train", "model"]
    table = grid("setting", *right, "macro F1", right=right)
    table.columns[0].no_wrap = True
    table.columns[-1].header = Text("0 to 1", "dim")
    table.columns[-1].justify = "left"
    for row in result:
        style = "bold" if row is chosen else ""
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
    for row in result:
        if row.n_folds < result.n_folds:
            screen.note(f"{row.name}: {row.n_folds} of {result.n_folds} folds, for the time it takes")
    screen.print()
    screen.line(advice)
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
