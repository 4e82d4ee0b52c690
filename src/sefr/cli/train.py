"""``sefr train``: a model from files, of classes or of numbers."""

from __future__ import annotations

import shlex
import time
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options

if TYPE_CHECKING:
    from .._system.types import Fields
    from ..classifier import SEFRClassifier
    from ..files import ColumnRecipe, Dataset
    from ..files.learning import FileRows
    from ..regressor import SEFRRegressor
    from .screen import Screen

# The most values that --auto holds in memory: some 45 bytes each while it trains, 3 GB.
MOST_HELD_VALUES = 1 << 26
# What trains instead of --auto if the rows do not fit in memory: nearly as accurate, from files of any size.
INSTEAD = {"bins": 32, "interactions": 100, "passes": 20}
INSTEAD_OF_SPARSE = {"passes": 20}
SIGNAL = "Recordings of a sensor"


def train(
    *,
    data: Annotated[
        list[str] | None, typer.Argument(help=options.FILES, metavar="DATA...", callback=options.existing)
    ] = None,
    choice: options.ColumnOptions,
    output: options.Out = None,
    settings: options.TrainingOptions,
    engine: options.Engine = options.Engines.sefr,
    from_query: Annotated[
        str | None,
        typer.Option(
            help="Instead of DATA: what the query of sefr sql gave, .csv, .tsv or .parquet.", metavar="FILE"
        ),
    ] = None,
    signal: Annotated[
        bool,
        typer.Option(
            "--signal",
            help="DATA are recordings of a sensor: a folder per label, or rows of samples with --label.",
            rich_help_panel=SIGNAL,
        ),
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(help="With --signal: samples per second.", metavar="HERTZ", rich_help_panel=SIGNAL),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            help="With --signal: samples in a window, and from one to the next.",
            metavar="LENGTH:HOP",
            rich_help_panel=SIGNAL,
        ),
    ] = None,
    range: Annotated[
        str | None,
        typer.Option(
            help="With --signal: range of the sensor, e.g. 0:1023. Without it: that of the recordings.",
            metavar="LOW:HIGH",
            rich_help_panel=SIGNAL,
        ),
    ] = None,
    reading: options.ReadingOptions,
    printing: options.PrintingOptions,
) -> None:
    """Train a model that predicts one column of a table from the others.

    Text columns become categories, dates become year, month and weekday, names and row numbers are left out,
    and empty cells count as missing; what was done is printed. With --strict these are errors.

    For example:

      sefr train iris.csv --label species

    The model is written to model.sefr, or where -o says. There is nothing to choose: --auto is the default.
    Such a model cannot learn more rows; for update, merge and forget, train with --exact, or with --paper.
    Any of --passes, --bins, --interactions and --moments replaces --auto. Rows that are too many for memory
    are trained with --bins 32 --interactions 100 --passes 20, which reads the files again for every pass; the
    first line of the output says so. sefr evaluate compares what the choices reach.

    If the label has fractions, or more than 30 different numbers, numbers are predicted.

    More examples:

      sefr train iris.csv --label species --exact

      sefr train 'logs/*.parquet' --label fault --drop id,time -o fault.sefr

      zcat big.csv.gz | sefr train - --label y -o big.sefr

      sefr train 'year/*.parquet' --label y --engine duckdb

      sefr train iris.csv --label species --passes 10

      sefr train --from-query summary.csv -o shop.sefr

      sefr train iris.csv --label species --bins 32 --passes 20

      sefr train iris.csv --label species --bins 32 --moments 2

      sefr train iris.csv --label species --bins 32 --interactions 60 --passes 20

      sefr train goods.csv --label kind --categories colour,shape --bins 32

      sefr train recordings/ --signal --rate 50 --window 64:32
    """
    screen = printing.screen(output)
    asked_of_rows = choice != options.ColumnOptions(choice.label) or engine is not options.Engines.sefr
    sums_only = (settings.passes or 1) == 1 and not settings.auto and not settings.bins
    if settings.task is options.Task.regress and (from_query or signal or engine is not options.Engines.sefr):
        raise typer.BadParameter("--task regress goes without --from-query, --signal and --engine")
    if from_query is not None:
        if data or choice.label or asked_of_rows or not reading.is_plain or not sums_only:
            raise typer.BadParameter("--from-query takes no DATA and no option about rows: it has the sums")
        from .from_query import train_from_query

        train_from_query(screen, from_query, output, settings)
        return
    if not data:
        raise typer.BadParameter("which DATA? (or --from-query FILE)")
    if signal:
        if asked_of_rows:
            raise typer.BadParameter(
                "--signal takes every column as an axis, without options about columns and rows"
            )
        if rate is None or window is None:
            raise typer.BadParameter(
                "--signal needs --rate and --window, for example --rate 50 --window 64:32"
            )
        from . import signal_training

        length, hop = signal_training.window_of(window)
        asked_range = signal_training.range_of(range)
        recorded = signal_training.SignalTraining(
            data, reading, choice.label or None, settings.from_sums(), rate, length, hop, asked_range
        )
        signal_training.carry_out(screen, recorded, options.output_path(output or "model.sefr"))
        return
    if rate is not None or window is not None or range is not None:
        raise typer.BadParameter("--rate, --window and --range go with --signal")
    if not choice.label:
        raise typer.BadParameter(f"which column is the label? (--label){columns_to_choose(data, reading)}")
    if engine is options.Engines.duckdb and not sums_only:
        more = "--passes, --bins, --auto"
        raise typer.BadParameter(f"--engine duckdb adds up one pass: leave out {more} or --engine")
    asked = Training(data, reading, choice, settings)
    _carry_out(screen, asked, options.output_path(output or "model.sefr"), engine)


def columns_to_choose(data: list[str], reading: options.ReadingOptions) -> str:
    """Return which columns there are to choose from; nothing if the data can be read only once."""
    if "-" in data:
        return ""
    table = reading.open(data)
    return f"; {table.readers[0].name} has {table.listed()}"


@dataclass(frozen=True)
class Training:
    """What ``sefr train`` is asked."""

    data: list[str]
    reading: options.ReadingOptions
    choice: options.ColumnOptions
    settings: options.TrainingOptions

    def check(self) -> None:
        """Complain of settings without a meaning before any work is done."""
        if self.settings.task is options.Task.regress:
            self.settings.number_params()
        else:
            self.settings.params()

    def surveyed(self, table: Dataset) -> Training:
        """Return the training with what a look at the table decides."""
        choice = self.choice.surveyed(table)
        return replace(self, choice=choice, settings=self.settings.surveyed(choice.survey))

    def recipe(self, table: Dataset, *, coded: bool) -> ColumnRecipe:
        """Return how the columns become features, here and when other files are read for the model."""
        from ..files import SourceError

        try:
            recipe: ColumnRecipe = self.choice.recipe(table, coded=coded)
        except SourceError as error:
            raise SourceError(f"{error}{self._empty_cells(table)}") from None
        return replace(recipe, encoding=self.reading.encoding, decimal=self.reading.decimal)

    def _empty_cells(self, table: Dataset) -> str:
        """Return what a strict training will complain of next, so that all is said at once."""
        if not self.choice.strict or self.settings.missing is options.Missing.ignore or table.sparse:
            return ""
        if any(reader.source.once for reader in table.readers):
            return ""
        from ..files.reader import NUMBER
        from ..files.survey import survey

        numbers = [name for name, kind in table.columns.items() if kind == NUMBER]
        found = survey(table, table.label_name(self.choice.label), numbers, numbers)
        return f"; {found.empty_cells()}: --missing ignore leaves them out" if found.empty else ""

    @property
    def decisions(self) -> list[str]:
        """What was decided about the columns, in sentences."""
        survey = self.choice.survey
        return [] if survey is None else survey.sentences()

    def why_numbers(self, table: Dataset) -> str | None:
        """Return why the label is a number to predict; None if it names classes."""
        from ..files.numbers import why_a_quantity

        task = self.settings.task
        if task is None:
            why = why_a_quantity(table, table.label_name(self.choice.label))
            return None if why is None else f"{why} (--task classify makes a class of each)"
        return None if task is options.Task.classify else "--task regress"

    def command(self, name: str) -> str:
        """Return a command line that reads the same rows in the same way."""
        words = [options.program(), name, *self.data, *self.choice.arguments(), *self.settings.arguments()]
        return shlex.join([*words, *self.reading.arguments()])


def _carry_out(screen: Screen, asked: Training, path: str, engine: options.Engines) -> None:
    """Train, write the model and show what it has learned."""
    from .. import model_file
    from .._system.lock import locked
    from .screen import seconds
    from .task import whole, words_of

    asked.check()
    started = time.perf_counter()
    why = None
    if engine is options.Engines.duckdb:
        training = replace(asked, settings=asked.settings.from_sums())
        model, recipe = _learned_by_duckdb(screen, training)
    else:
        table, training = opened(asked)
        why = training.why_numbers(table)
        model, recipe = learned(screen, training, table, numbers=why is not None)
    with locked(path, lambda: screen.note(f"waiting for another process that changes {path}")):
        model_file.save(model_file.with_columns(model, recipe.member()), path)
    elapsed, rows = time.perf_counter() - started, model.summary_.n_rows
    if why is not None:
        screen.note(f"regression: {why}")
    elif asked.settings.is_default:
        if engine is options.Engines.duckdb:
            screen.note("--paper: DuckDB adds up one pass, and has no --auto; --exact is more accurate")
        elif model.auto:
            screen.note(
                "--auto: lines, curves and interactions, weighted on held-out rows. For update, merge and "
                "forget, train with --exact"
            )
    for said in training.decisions:
        screen.note(said)
    words = words_of(model)
    features = "feature" if model.n_features_in_ == 1 else "features"
    screen.line(
        f"{path}: {rows:,.0f} rows, {words.counted}, {model.n_features_in_:,} {features}, "
        f"{seconds(elapsed)} ({rows / elapsed:,.0f} rows/s)"
    )
    told = words.show_training(screen, str(recipe.label))
    _say_next(screen, asked, path)
    survey = training.choice.survey
    screen.json(
        {
            "model": path,
            "rows": whole(rows),
            "features": model.n_features_in_,
            "seconds": elapsed,
            "decided": {} if survey is None else survey.to_dict(),
            "settings": _shown_settings(model),
            **told,
        }
    )


def opened(training: Training) -> tuple[Dataset, Training]:
    """Return the rows, and the training with what a look at them decides."""
    settings = training.settings
    reread = bool(training.choice.categories) or (settings.passes or 1) > 1 or settings.cuts
    reread |= settings.task is options.Task.regress
    table = training.reading.open(training.data, reread=reread)
    return table, training.surveyed(table)


def learned(
    screen: Screen, training: Training, table: Dataset, *, numbers: bool = False
) -> tuple[Any, ColumnRecipe]:
    """Learn the rows of files: a classifier, or a regressor for numbers."""
    recipe = training.recipe(table, coded=training.settings.cuts)
    learn = _learned_numbers if numbers else _learned_classes
    return learn(screen, training.settings, table, recipe), recipe


def _learned_numbers(
    screen: Screen, settings: options.TrainingOptions, table: Dataset, recipe: ColumnRecipe
) -> SEFRRegressor:
    """Learn numbers, each reading of which is one pass."""
    from ..files.numbers import NumberRows
    from ..regressor import SEFRRegressor

    params = settings.number_params()
    with screen.progress(table, "learning") as tick:
        return SEFRRegressor(**params).fit_from(NumberRows(table, recipe, params["missing"], tick))


def _learned_classes(
    screen: Screen, settings: options.TrainingOptions, table: Dataset, recipe: ColumnRecipe
) -> SEFRClassifier:
    """Learn classes; if --auto was not asked for and the rows do not fit in memory, as ``INSTEAD`` says."""
    from .._summary.source import TooManyValuesError
    from ..classifier import SEFRClassifier
    from ..files.learning import FileRows

    rows, params = FileRows(table, recipe), settings.params()
    try:
        _read(screen, rows, params)
    except TooManyValuesError:
        rows, params = FileRows(table, recipe), _without_auto(screen, settings, sparse=table.sparse).params()
        _read(screen, rows, params)
    working = screen.working("fitting") if params["auto"] else screen.progress(table, "refining")
    with working as rows.tick, warnings.catch_warnings():
        # the command says it in its own words
        warnings.filterwarnings("ignore", "y has .* different numbers")
        return SEFRClassifier(**params).fit_from(rows)


def _read(screen: Screen, rows: FileRows, params: Fields) -> None:
    """Read files for their Summary, before for bins if need be; with auto, all rows are kept."""
    from .._summary.source import EveryRow
    from ..settings import Settings

    settings = Settings(**params)
    if settings.cut.readings:
        with screen.progress(rows.dataset, "finding bins") as rows.tick:
            rows.learn_edges(settings)
    if settings.auto:
        rows.gatherer = EveryRow(MOST_HELD_VALUES)
    with screen.progress(rows.dataset, "learning") as rows.tick:
        rows.summarise(settings)


def _without_auto(
    screen: Screen, settings: options.TrainingOptions, *, sparse: bool
) -> options.TrainingOptions:
    """Return what trains rows that do not fit in memory; an error if ``--auto`` was asked for by name."""
    instead = INSTEAD_OF_SPARSE if sparse else INSTEAD
    given = " ".join(f"--{name} {value}" for name, value in instead.items())
    many = f"more than {MOST_HELD_VALUES:,} values are too many to hold in memory"
    if settings.auto:
        from ..files import SourceError

        raise SourceError(f"{many}, as --auto does: leave it out, for {given}")
    screen.note(f"{given}: {many}, as --auto does; the files are read again for every pass")
    return replace(
        settings,
        passes=instead["passes"],
        bins=instead.get("bins"),
        interactions=instead.get("interactions"),
    )


def _shown_settings(model: Any) -> Fields:
    """Return the settings that say how a model was trained, but not how rows were read."""
    named = ("auto", "passes", "class_weight", "bins", "interactions", "moments")
    return {name: value for name, value in model.get_params().items() if name in named}


def _say_next(screen: Screen, training: Training, path: str) -> None:
    """Say what can be done next, with the options that this training needed."""
    explain = shlex.join([options.program(), "explain", path, "-o", "report.html"])
    if "-" in training.data or _are_json(training.data):  # which sefr evaluate does not read
        screen.note(f"next: {explain}")
    else:
        screen.note(f"next: {training.command('evaluate')}; {explain}")


def _learned_by_duckdb(screen: Screen, training: Training) -> tuple[SEFRClassifier, ColumnRecipe]:
    """Let DuckDB add up the rows, out of memory and on all cores; nothing is decided about the columns."""
    choice = training.choice
    if choice.categories or not training.reading.is_plain or choice.skip_unlabelled:
        raise typer.BadParameter("--engine duckdb takes no --categories, --skip-unlabelled or option of CSV")
    from ..classifier import SEFRClassifier
    from ..engines.duckdb import summary_of_files
    from ..files import ColumnRecipe

    label, features = choice.label, options.names(choice.features) or None
    if not _are_json(training.data):
        recipe = choice.recipe(training.reading.open(training.data))
        label, features = str(recipe.label), recipe.columns
    elif choice.drop or choice.drop_text:
        raise typer.BadParameter("--drop and --drop-text are not for JSON: name the --features")
    missing = (training.settings.missing or options.Missing.error).value
    with nullcontext() if screen.hides_progress else screen.err.status("learning, in DuckDB"):
        moments = training.settings.order
        summary = summary_of_files(training.data, label, features, missing=missing, moments=moments)
    clf = SEFRClassifier.from_summary(summary, **training.settings.params())
    return clf, ColumnRecipe(label, tuple(summary.feature_names or ()))


def _are_json(paths: list[str]) -> bool:
    """Say whether files are JSON, which only DuckDB reads."""
    from ..files.formats import JSON

    plain = [path.lower().removesuffix(".gz").removesuffix(".zst") for path in paths]
    return all(path.endswith(JSON) for path in plain)
