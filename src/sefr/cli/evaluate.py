"""``sefr evaluate``: how good a model is, beside other methods."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from . import options
from .train import Training, columns_to_choose, learned

if TYPE_CHECKING:
    from rich.table import Table as Grid
    from rich.text import Text

    from .._system.types import Array, Fields, Params, Rows
    from ..classifier import SEFRClassifier
    from ..comparison import AnyRow, Comparison, Errors
    from ..files import Dataset
    from ..files.learning import Confusion
    from .recordings import RecordingReader
    from .screen import Screen

MOST_SHOWN = 20
COMPARED = ("auto", "passes", "bins", "interactions", "moments")  # settings that a comparison tells apart


def evaluate(
    *,
    data: options.Data,
    choice: options.ColumnOptions,
    folds: Annotated[
        int, typer.Option(help="Number of folds of the cross-validation.", min=2, max=1000)
    ] = 10,
    model: Annotated[str | None, typer.Option(help="Test this model on DATA.", metavar="MODEL")] = None,
    test: Annotated[
        str | None, typer.Option(help="Train on DATA, test on this file.", metavar="FILE")
    ] = None,
    plot: Annotated[
        str | None, typer.Option(help="Draw the comparison as a picture.", metavar="FILE")
    ] = None,
    passes: Annotated[
        str,
        typer.Option(
            help="Passes over the data; 1,3,10 compares three.",
            metavar="NUMBERS",
            rich_help_panel=options.TRAINING,
        ),
    ] = "",
    settings: options.TrainingOptions,
    reading: options.ReadingOptions,
    printing: options.PrintingOptions,
) -> None:
    """Estimate how accurate a model will be, beside other methods.

    A model of train --signal is tested on recordings: a folder per label, or rows of samples with --label.

    For example:

      sefr evaluate iris.csv --label species

    What sefr train can do is cross-validated, with its time and size: --paper, --exact and --auto, which it
    takes by itself; beside them the base rate, logistic regression and, if it is installed, LightGBM. The
    folds are stratified. With one of these words, or with --passes, --bins or --moments, that setting alone
    is measured. With --paper and --exact files may be larger than memory; otherwise a sample of the rows is
    used if they are too many. Numbers are predicted if the label is a quantity: R2, MAE and RMSE.

    More examples:

      sefr evaluate iris.csv --label species --exact --folds 5

      sefr evaluate train.csv --label y --test test.csv

      sefr evaluate new.csv --model iris.sefr --json

      sefr evaluate recordings/ --model gesture.sefr

      sefr evaluate iris.csv --label species --passes 1,3,10 --plot passes.png

      sefr evaluate iris.csv --label species --bins 32 --passes 1,10,20

      sefr evaluate iris.csv --label species --bins 32 --interactions 60 --passes 10,20
    """
    screen = printing.screen()
    if model and test:
        raise typer.BadParameter("--model and --test exclude each other")
    if not model and not choice.label:
        raise typer.BadParameter(f"which column is the label? (--label){columns_to_choose(data, reading)}")
    counts = counts_of(passes)
    settings = replace(settings, passes=counts[-1] if counts else None)
    if (plot or len(counts) > 1) and (model or test):
        raise typer.BadParameter("--plot and several --passes go with folds, not with --model or --test")
    if model and not settings.is_default:
        raise typer.BadParameter("how to train goes with training, not with --model: leave out one of them")
    if plot and not settings.is_default and len(counts) < 2:
        raise typer.BadParameter("--plot goes with a comparison, not with one setting")
    plot = plot and options.output_path(plot)
    if model:
        _of_a_model(screen, model, data, reading, choice.label or None)
        return
    asked = Training(data, reading, choice, settings)
    asked.check()
    table = reading.open(data, reread=True)
    training = asked.surveyed(table)
    why = training.why_numbers(table)
    if why is not None and (plot or len(counts) > 1):
        raise typer.BadParameter("--plot and several --passes go with classes, not with numbers")
    evaluation = Evaluation(asked, training, table, folds, why)
    if test:
        _with_a_test_file(screen, evaluation, test)
    elif why is None and settings.is_one_pass:
        _by_folds(screen, evaluation)
    else:
        _by_comparison(screen, evaluation, counts, plot)


def counts_of(text: str) -> list[int]:
    """Return the numbers of passes in a list such as 1,3,10.

    Examples
    --------
    >>> counts_of("10,1")
    [1, 10]
    """
    if not text:
        return []
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = [0]
    if min(counts) < 1:
        raise typer.BadParameter(f"--passes takes whole numbers from 1 up, for example 1,3,10, not {text!r}")
    return sorted(set(counts))


@dataclass(frozen=True)
class Evaluation:
    """What ``sefr evaluate`` is asked, if it trains, and what a look at the table decided."""

    asked: Training
    training: Training
    table: Dataset
    folds: int
    why_numbers: str | None  # why the label is a number to predict; None if it names classes

    @property
    def of_numbers(self) -> bool:
        """Whether numbers are predicted."""
        return self.why_numbers is not None

    @property
    def task(self) -> str:
        """What ``compare`` calls it."""
        return "regress" if self.of_numbers else "classify"

    @property
    def decisions(self) -> list[str]:
        """What was decided, in sentences."""
        return [f"regression: {self.why_numbers}"] * self.of_numbers + self.training.decisions

    def params(self) -> Fields:
        """Return the parameters of the estimator."""
        settings = self.training.settings
        return settings.number_params() if self.of_numbers else settings.params()


def _of_a_model(
    screen: Screen, model: str, data: list[str], reading: options.ReadingOptions, label: str | None
) -> None:
    """Test a model as it stands."""
    from .recordings import RecordingReader
    from .stored import read_model

    started = time.perf_counter()
    clf, recipe = read_model(model)
    how = f"{model} on {', '.join(data)}"
    reader = RecordingReader.of(clf, data, reading)
    if reader is not None:
        confusion = _of_recordings(screen, clf, reader, data, reading, label)
        _say(screen, confusion, how, started, of="windows")
        return
    table = reading.open(data, reread=True, like=recipe)
    table.skip_unlabelled = recipe is not None and recipe.skip_unlabelled
    _say(screen, _tested(screen, clf, recipe, table, label), how, started)


def _tested(screen: Screen, model: Any, recipe: Any, table: Dataset, label: str | None) -> Confusion | Errors:
    """Compare a model's answers with the labels, or the numbers, of a table."""
    from .stored import fitted_recipe
    from .task import words_of

    recipe = fitted_recipe(table, model, recipe, label, screen)
    with screen.progress(table, "testing") as tick:
        found: Confusion | Errors = words_of(model).test(table, recipe, tick)
    return found


def _of_recordings(
    screen: Screen,
    clf: SEFRClassifier,
    reader: RecordingReader,
    data: list[str],
    reading: options.ReadingOptions,
    label: str | None,
) -> Confusion:
    """Compare answers about windows with the labels of their recordings; without an answer, none counts."""
    import numpy as np

    from ..files import SourceError
    from ..files.learning import Confusion, without_feature_names

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


def _with_a_test_file(screen: Screen, asked: Evaluation, test: str) -> None:
    """Train on some files, as ``sefr train`` does, and test on another."""
    started = time.perf_counter()
    training = asked.training
    model, recipe = learned(screen, training, asked.table, numbers=asked.of_numbers)
    other = training.reading.open([test], like=recipe)
    other.skip_unlabelled = asked.table.skip_unlabelled
    found = _tested(screen, model, recipe, other, recipe.label)
    how = f"trained on {', '.join(training.data)}, tested on {test}"
    _say(screen, found, how, started, asked.decisions)


def _by_folds(screen: Screen, asked: Evaluation) -> None:
    """Cross-validate one pass, in bounded memory: one pass learns all folds, a second tests them."""
    from ..classifier import SEFRClassifier
    from ..files.learning import evaluate_folds, learn_folds

    started = time.perf_counter()
    table, params = asked.table, asked.params()
    recipe = asked.training.recipe(table, coded=False)
    with screen.progress(table, "learning") as tick:
        folds = learn_folds(
            table, recipe, asked.folds, missing=params["missing"], moments=params["moments"], tick=tick
        )
    models = []
    for k in range(asked.folds):
        others = [fold for j, fold in enumerate(folds) if j != k]
        rest = sum(others[1:], others[0]).without_empty_classes()
        models.append(SEFRClassifier.from_summary(rest, **params))
    with screen.progress(table, "testing") as tick:
        confusion = evaluate_folds(table, recipe, models, tick=tick)
    how = f"{asked.folds} folds of {', '.join(asked.training.data)}"
    _say(screen, confusion, how, started, asked.decisions)


def _by_comparison(screen: Screen, asked: Evaluation, counts: list[int], plot: str | None) -> None:
    """Cross-validate on the same folds, in memory: what was asked for, or what ``sefr train`` has words for.

    The report is of what ``sefr train`` makes of the same options.
    """
    from ..comparison import TASKS

    read = _read_rows(screen, asked)
    settings: Mapping[str, Params | None] = {_name(n): {"passes": n} for n in counts}
    if asked.asked.settings.is_default:
        result = _compared(screen, read, asked, TASKS[asked.task].methods, others=True)
        chosen = next(row for row in result if row.name == "auto")
        advice = _advice(result, chosen)
    elif asked.of_numbers:
        name = _words(asked.asked.settings)
        result = _compared(screen, read, asked, {"mean": None, name: {}}, others=True)
        chosen = next(row for row in result if row.name == name)
        advice = ""
    else:
        result = _compared(screen, read, asked, settings or {_words(asked.asked.settings): {}})
        chosen, advice = result.recommended, result.recommendation
    _tell(screen, asked, read, result, chosen, advice, plot)


def _name(passes: int) -> str:
    return f"{passes} passes" if passes > 1 else "one pass"


def _words(settings: options.TrainingOptions) -> str:
    """Return the name of the one setting that was asked for."""
    if settings.auto:
        return "auto"
    named = {"bins": settings.bins, "interactions": settings.interactions}
    words = [f"{value} {name}" for name, value in named.items() if value is not None]
    if (settings.passes or 1) > 1:
        words.append(_name(settings.passes or 1))
    elif settings.moments == 1:
        words.append("first moments")
    elif settings.order == 2 or not words:
        words.append("exact")
    return ", ".join(words)


class Read(NamedTuple):
    """Rows in memory, with what is needed to speak of them."""

    rows: Rows
    labels: Array
    file: str
    seen: int  # rows in the file
    params: Fields
    started: float


def _read_rows(screen: Screen, asked: Evaluation) -> Read:
    """Read all rows, or a sample if they are too many; what cannot be learned is an error."""
    import numpy as np

    from ..files import SourceError
    from ..files.learning import learn
    from ..files.numbers import NumberRows
    from .sample import Sampled, most_compared

    started = time.perf_counter()
    table, params = asked.table, asked.params()
    recipe = asked.training.recipe(table, coded=False)
    sampled = Sampled(table, recipe, most_compared(recipe))
    with screen.progress(table, "reading") as tick:
        if asked.of_numbers:
            for _ in NumberRows(sampled, recipe, params["missing"], tick).read(None):
                pass
        else:
            learn(sampled, recipe, missing=params["missing"], tick=tick)
    X, y = sampled.rows()
    name = table.readers[0].name
    if not len(y):
        raise SourceError(f"{name}: there are no rows")
    if asked.of_numbers:
        y = np.asarray(y, dtype=np.float64)
    elif not table.typed:
        y = _final(y)
    return Read(X, y, name, sampled.seen, params, started)


def _compared(
    screen: Screen,
    read: Read,
    asked: Evaluation,
    settings: Mapping[str, Params | None],
    *,
    others: bool = False,
) -> Comparison:
    """Compare settings on the rows; what is common to all of them was asked for."""
    from ..comparison import compare
    from ..files import SourceError

    own = {name for chosen in settings.values() for name in chosen or {}}
    steps = asked.folds * (len(settings) + 2 * others)
    try:
        with screen.steps(steps) as tick:
            return compare(
                read.rows,
                read.labels,
                cv=asked.folds,
                settings=settings,
                others=others,
                task=asked.task,
                tick=tick,
                **{name: value for name, value in read.params.items() if name not in own},
            )
    except ValueError as error:
        raise SourceError(f"{read.file}: {error}") from None


def _tell(
    screen: Screen,
    asked: Evaluation,
    read: Read,
    result: Comparison,
    chosen: AnyRow,
    advice: str,
    plot: str | None,
) -> None:
    """Show a comparison, and the classes and the confusion matrix of one of its rows."""
    from .screen import seconds

    found = _found(read.labels, chosen)
    elapsed = time.perf_counter() - read.started
    how = f"{asked.folds} folds of {', '.join(asked.training.data)}"
    if read.seen > len(read.labels):
        how += f", on a sample of {len(read.labels):,} of {read.seen:,} rows"
    for decided in asked.decisions:
        screen.note(decided)
    if len(result) > 1:
        _show_comparison(screen, result, chosen, advice)
    _show(screen, found, f"{how}, {seconds(elapsed)}", chosen)
    if plot:
        _draw(result, plot)
        screen.note(f"{plot}: {chosen.measures[0]} against the time to train")
    again = asked.asked
    if again.settings.passes is not None:  # one of several that were compared
        again = replace(again, settings=replace(again.settings, passes=chosen.params["passes"]))
    command = again.command("train")
    if "-" not in again.data:
        screen.note(f"next: {command}")
    told: Fields = {
        "settings": [_as_json(row) for row in result],
        "recommended": chosen.name,
        "recommendation": advice,
        "command": command,
        "rows_in_file": read.seen,
    }
    task = {"task": "regress"} if asked.of_numbers else {}
    screen.json(found.report() | task | told | {"seconds": elapsed, "method": how})


def _found(labels: Array, row: Any) -> Confusion | Errors:
    """Return how the answers of a row compare with the truth."""
    from ..comparison import NumberRow
    from ..files.learning import Confusion

    if isinstance(row, NumberRow):
        return row.errors
    confusion = Confusion()
    confusion.add(labels, row.predictions)
    return confusion


def _advice(result: Comparison, auto: Any) -> str:
    """Say what --auto, which ``sefr train`` takes, reaches, and what would do as well."""
    from ..comparison import BASE_RATES, MARGIN

    rows = {row.name: row for row in result}
    base = next(row for row in result if row.name in BASE_RATES)
    if base.best_by >= auto.best_by - MARGIN:
        return str(auto.nothing_helps).replace("No setting", "Nothing")
    said = f"sefr train takes auto: {auto.measures[0]} {auto.best_by:.3f}."
    for name in ("exact", "paper"):
        if name in rows and rows[name].best_by >= auto.best_by - MARGIN:
            return f"{said} --{name} reaches {rows[name].best_by:.3f}, and can learn more rows."
    return said


def _final(labels: Any) -> Any:
    """Return labels that a format gives as text as what they are."""
    import numpy as np

    from ..files.label_column import final_labels

    distinct, codes = np.unique(labels, return_inverse=True)
    values = final_labels(distinct.tolist())
    return labels if values is None else np.array(values)[codes]


def _as_json(row: AnyRow) -> Fields:
    named = (measure.lower().replace(" ", "_") for measure in row.measures)
    return {
        "name": row.name,
        "params": {
            name: value
            for name, value in row.params.items()
            if name == "passes" or (name in COMPARED and value not in (None, False, 1))
        },
        **dict(zip(named, row.reached, strict=True)),
        "fit_seconds": row.fit_seconds,
        "model_bytes": row.model_bytes,
        "folds": row.n_folds,
    }


def _show_comparison(screen: Screen, result: Comparison, chosen: AnyRow, advice: str) -> None:
    """Show a line per setting, and what follows."""
    from rich.text import Text

    from .screen import grid, shown

    first, *right = result.titles
    table = grid(first, *right, "bars", right=right)
    table.columns[0].no_wrap = True
    table.columns[-1].header = Text(f"{right[0]}, 0 to 1", "dim")
    table.columns[-1].justify = "left"
    for row in result:
        style = "bold" if row is chosen else ""
        reached, *cells = row.cells()
        table.add_row(shown(row.name, style=style), Text(reached, style), *cells, _plain_bar(row.best_by))
    screen.print(table)
    for row in result:
        if row.n_folds < result.n_folds:
            screen.note(f"{row.name}: {row.n_folds} of {result.n_folds} folds, for the time it takes")
    screen.print()
    if advice:
        screen.line(advice)
        screen.print()


def _plain_bar(value: float) -> Text:
    """Return a value from 0 to 1 as a bar; less is none."""
    from rich.text import Text

    from .._system.colours import FOR_TERMINAL
    from .screen import bar

    return Text(bar(max(0.0, value), 8).plain.split("│")[1], FOR_TERMINAL)


def _draw(result: Comparison, path: str) -> None:
    """Draw a comparison to a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from .._system.atomic_file import atomic_file

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    result.plot(figure.subplots())
    kind = path.rsplit(".", 1)[-1].lower()
    with atomic_file(path) as file:
        figure.savefig(file, format=kind if kind in ("png", "svg", "pdf") else "png", dpi=160)


def _say(
    screen: Screen,
    found: Confusion | Errors,
    how: str,
    started: float,
    decided: Sequence[str] = (),
    of: str = "rows",
) -> None:
    from .screen import seconds

    elapsed = time.perf_counter() - started
    for said in decided:
        screen.note(said)
    _show(screen, found, f"{how}, {seconds(elapsed)}", of=of)
    screen.json(found.report() | {"seconds": elapsed, "method": how})


def _show(
    screen: Screen, found: Confusion | Errors, how: str, row: AnyRow | None = None, *, of: str = "rows"
) -> None:
    """Show how far off numbers are; or accuracy, a line per class, and the confusion matrix."""
    from ..files.learning import Confusion
    from .screen import grid, shown

    which = "" if row is None else f"{row.name}: "
    if not isinstance(found, Confusion):
        screen.line(f"{which}{found}")
        screen.note(how)
        return
    report = found.report()
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
    from rich.text import Text

    from .._system.colours import AGAINST_TERMINAL, FOR_TERMINAL
    from .screen import grid, shown

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
