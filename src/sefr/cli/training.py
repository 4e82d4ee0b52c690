"""Training from files: learn, write the model, show what it has learned and what was decided."""

from __future__ import annotations

import shlex
import time
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from .. import model_file
from .._rows.batches import Gatherer
from .._summary.source import EveryRow, TooManyValuesError
from .._summary.summary import Summary
from .._system.lock import locked
from ..classifier import SEFRClassifier
from ..displays import strongest_features
from ..files import ColumnRecipe, Dataset, SourceError
from ..files.formats import JSON
from ..files.learning import learn, learn_edges, refine
from ..settings import Settings
from . import options, regression
from .screen import Screen, bar, grid, seconds, shown
from .stored import whole

if TYPE_CHECKING:
    from .._system.types import Fields

SHOWN_SETTINGS = ("auto", "passes", "class_weight", "bins", "interactions", "moments")
MOST_CLASSES_SHOWN = 20
# More different numbers than these, of so few rows each, are rather a quantity than classes.
MOST_WHOLE_LABELS, FEW_PER_LABEL = 20, 20
# Values of rows that --auto may hold: some 45 bytes each while it trains, 3 GB.
MOST_VALUES = 1 << 26
# What trains instead of --auto if the rows do not fit in memory: nearly as accurate, from files of any size.
INSTEAD = {"bins": 32, "interactions": 100, "passes": 20}
INSTEAD_OF_SPARSE = {"passes": 20}


@dataclass(frozen=True)
class Training:
    """What ``sefr train`` is asked."""

    data: list[str]
    reading: options.Reading
    choice: options.Choice
    settings: options.Settings
    task: options.Task | None = None

    def surveyed(self, table: Dataset) -> Training:
        """Return the training with what a look at the table decides."""
        choice = self.choice.surveyed(table)
        return replace(self, choice=choice, settings=self.settings.surveyed(choice.survey))

    def recipe(self, table: Dataset, *, coded: bool) -> ColumnRecipe:
        """Return how the columns become features, here and when other files are read for the model."""
        recipe: ColumnRecipe = self.choice.recipe(table, coded=coded)
        return replace(recipe, encoding=self.reading.encoding, decimal=self.reading.decimal)

    def command(self, name: str) -> str:
        """Return a command line that reads the same rows in the same way."""
        words = [options.program(), name, *self.data, *self.choice.arguments(), *self.settings.arguments()]
        words += self.reading.arguments() + ([] if self.task is None else ["--task", self.task.value])
        return shlex.join(words)


def carry_out(screen: Screen, training: Training, path: str, engine: options.Engines) -> None:
    """Train, write the model and show what it has learned."""
    if training.task is options.Task.regress:
        training.settings.number_params()  # wrong ones are said before any work is done
    else:
        training.settings.params()
    started = time.perf_counter()
    asked = training
    if engine is options.Engines.duckdb:
        training = replace(asked, settings=asked.settings.from_sums())
        summary, recipe = _learned_by_duckdb(screen, training)
        clf = SEFRClassifier.from_summary(summary, **training.settings.params())
    else:
        table, training = opened(asked)
        if (why := regression.reason(asked.task, table, asked.choice.label)) is not None:
            regression.train(screen, training, table, path, why)
            return
        clf, recipe = learned(screen, training, table)
        summary = clf.summary_
    with locked(path, lambda: screen.note(f"waiting for another process that changes {path}")):
        model_file.save(model_file.with_columns(clf, recipe.member()), path)
    elapsed = time.perf_counter() - started
    if asked.settings.is_default:
        if engine is options.Engines.duckdb:
            screen.note("--paper: DuckDB adds up one pass, and has no --auto; --exact is more accurate")
        elif clf.auto:
            screen.note(
                "--auto: lines, curves and interactions, weighed on held-out rows. For update, merge and "
                "forget train with --exact"
            )
    for said in _decisions(training, clf, recipe):
        screen.note(said)
    screen.line(
        f"{path}: {summary.n_rows:,.0f} rows, {len(clf.classes_)} classes, {clf.n_features_in_:,} features, "
        f"{seconds(elapsed)} ({summary.n_rows / elapsed:,.0f} rows/s)"
    )
    if clf.auto:
        screen.line(_chosen(clf))
    show_strongest(screen, clf)
    _say_next(screen, asked, path)
    screen.json(
        {
            "model": path,
            "rows": whole(summary.n_rows),
            "features": clf.n_features_in_,
            "classes": [
                {"label": c, "rows": whole(n)}
                for c, n in zip(clf.classes_.tolist(), summary.counts.tolist(), strict=True)
            ],
            "seconds": elapsed,
            "passes": clf.n_passes_,
            "settings": _shown_settings(clf),
            "auto": _choice(clf),
            "decided": {} if training.choice.survey is None else training.choice.survey.to_dict(),
            "strongest": strongest_features(clf, 10),
        }
    )


def opened(training: Training) -> tuple[Dataset, Training]:
    """Return the rows, and the training with what a look at them decides."""
    settings = training.settings
    reread = bool(training.choice.categories) or (settings.passes or 1) > 1 or settings.cuts
    reread |= training.task is options.Task.regress
    table = training.reading.open(training.data, reread=reread)
    return table, training.surveyed(table)


def _decisions(training: Training, clf: SEFRClassifier, recipe: ColumnRecipe) -> list[str]:
    """Return what was decided about the columns, and whether the label looks like a quantity."""
    survey = training.choice.survey
    said: list[str] = [] if survey is None else survey.sentences()
    classes, rows = len(clf.classes_), clf.summary_.n_rows
    if clf.classes_.dtype.kind in "iuf" and classes > MOST_WHOLE_LABELS and rows / classes < FEW_PER_LABEL:
        said.append(
            f"warning: {recipe.label!r} has {classes:,} different numbers in {rows:,.0f} rows. If it is a "
            "quantity, a class for each of them predicts it badly: --task regress predicts numbers"
        )
    return said


def learned(screen: Screen, training: Training, table: Dataset) -> tuple[SEFRClassifier, ColumnRecipe]:
    """Learn the rows; if --auto was not asked for and they do not fit in memory, as ``INSTEAD`` says."""
    settings = training.settings
    recipe = training.recipe(table, coded=settings.cuts)
    params = settings.params()
    try:
        summary, gatherer = _summary(screen, table, recipe, params)
    except TooManyValuesError:
        params = _without_auto(screen, settings, sparse=table.sparse).params()
        summary, gatherer = _summary(screen, table, recipe, params)
    working = screen.working("fitting") if params["auto"] else screen.progress(table, "refining")
    with working as tick, warnings.catch_warnings():
        # the command says it in its own words
        warnings.filterwarnings("ignore", "y has .* different numbers")
        return refine(table, recipe, SEFRClassifier(**params), summary, gatherer, tick), recipe


def _summary(
    screen: Screen, table: Dataset, recipe: ColumnRecipe, params: Fields
) -> tuple[Summary, Gatherer]:
    """Return the Summary of the rows, cut into bins if need be, and some of the rows, with auto all."""
    cut = Settings(**params).cut
    table.coder = None
    if cut is not None:
        with screen.progress(table, "finding bins") as tick:
            learn_edges(table, recipe, cut, tick)
    gatherer = EveryRow(MOST_VALUES) if params["auto"] else Gatherer()
    with screen.progress(table, "learning") as tick:
        found = learn(
            table,
            recipe,
            missing=params["missing"],
            moments=params["moments"],
            gatherer=gatherer,
            tick=tick,
        )
    return found, gatherer


def _without_auto(screen: Screen, settings: options.Settings, *, sparse: bool) -> options.Settings:
    """Return what trains rows that do not fit in memory; an error if ``--auto`` was asked for by name."""
    instead = INSTEAD_OF_SPARSE if sparse else INSTEAD
    given = " ".join(f"--{name} {value}" for name, value in instead.items())
    many = f"more than {MOST_VALUES:,} values are too many to hold in memory"
    if settings.auto:
        raise SourceError(f"{many}, as --auto does: leave it out, for {given}")
    screen.note(f"{given}: {many}, as --auto does; the files are read again for every pass")
    return replace(
        settings,
        passes=instead["passes"],
        bins=instead.get("bins"),
        interactions=instead.get("interactions"),
    )


def _shown_settings(clf: SEFRClassifier) -> Fields:
    known = clf.get_params()
    return {name: known[name] for name in SHOWN_SETTINGS}


def _chosen(clf: SEFRClassifier) -> str:
    """Say what ``--auto`` chose: how much each part counts, and how well their sum does."""
    found = clf.auto_
    words = {"line": "lines", "bins": "curves", "ferns": f"interactions ({found.n_ferns})"}
    parts = " + ".join(
        f"{weight:.2f} x {words[name]}" for name, weight in found.weights.items() if weight > 0
    )
    loss = found.log_loss.get("sum")
    held = "" if loss is None else f"; log loss {loss:.3f} of {found.n_held_out:,} rows that were held out"
    return f"auto: {parts or 'the base rate'}{held}"


def _choice(clf: SEFRClassifier) -> Fields | None:
    """Return what ``--auto`` chose; None for other models."""
    if not clf.auto:
        return None
    found = clf.auto_
    return {
        "weights": dict(found.weights),
        "log_loss": dict(found.log_loss),
        "interactions": found.n_ferns,
        "held_out_rows": found.n_held_out,
    }


def _say_next(screen: Screen, training: Training, path: str) -> None:
    """Say what can be done next, with the options that this training needed."""
    explain = shlex.join([options.program(), "explain", path, "-o", "report.html"])
    if "-" in training.data:
        screen.note(f"next: {explain}")
    else:
        screen.note(f"next: {training.command('evaluate')}; {explain}")


def _learned_by_duckdb(screen: Screen, training: Training) -> tuple[Summary, ColumnRecipe]:
    """Let DuckDB add up the rows, out of memory and on all cores; nothing is decided about the columns."""
    choice = training.choice
    if choice.categories or not training.reading.is_plain or choice.skip_unlabelled:
        raise typer.BadParameter("--engine duckdb takes no --categories, --skip-unlabelled or option of CSV")
    from ..engines.duckdb import summary_of_files

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
    return summary, ColumnRecipe(label, tuple(summary.feature_names or ()))


def _are_json(paths: list[str]) -> bool:
    """Say whether files are JSON, which only DuckDB reads."""
    plain = [path.lower().removesuffix(".gz").removesuffix(".zst") for path in paths]
    return all(path.endswith(JSON) for path in plain)


def show_strongest(screen: Screen, clf: SEFRClassifier, count: int = 5) -> None:
    """Show the strongest features: a bar each for two classes, a line per class for more."""
    if len(clf.classes_) == 2:
        against, for_ = clf.classes_.tolist()
        sides = f"{shown(against, 20)} │ {shown(for_, 20)}"
        table = grid("feature", "effect", "score", sides, right=["effect", "score"])
        for item in strongest_features(clf, count)[0]["features"]:
            table.add_row(
                shown(item["feature"]), f"{item['effect']:+.3f}", f"{item['score']:+.3f}", bar(item["share"])
            )
    else:
        table = grid("class", "rows", "strongest features (+ for, - against)", right=["rows"])
        counts = clf.summary_.counts
        for line, rows in list(zip(strongest_features(clf, 4), counts, strict=True))[:MOST_CLASSES_SHOWN]:
            best = "  ".join(
                f"{shown(item['feature'], 30)} {item['effect']:+.2f}" for item in line["features"]
            )
            table.add_row(shown(line["label"], 30), f"{rows:,.0f}", shown(best, 300))
        if len(clf.classes_) > MOST_CLASSES_SHOWN:
            table.add_row(f"and {len(clf.classes_) - MOST_CLASSES_SHOWN} more; --json has all")
    screen.print(table)
