"""Training from files: learn, with --auto the settings that do best on a sample, write, show."""

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
from .._rows.cells import Cut
from .._summary.summary import Summary
from .._system.lock import locked
from ..classifier import SEFRClassifier
from ..displays import strongest_features
from ..files import ColumnRecipe, Dataset
from ..files.formats import JSON
from ..files.learning import learn, learn_edges, refine
from . import options
from .sample import Sampled
from .screen import Screen, bar, grid, seconds, shown
from .stored import whole

if TYPE_CHECKING:
    from .._system.types import Fields, Params
    from ..comparison import Comparison

MOST_SAMPLED, SAMPLED_CELLS, FEWEST_SAMPLED = 2_000, 1 << 16, 60
SAMPLE_FOLDS = 3
CHOSEN = ("passes", "class_weight", "bins", "interactions")  # what the comparison tells apart
MOST_CLASSES_SHOWN = 20
# More different numbers than these, of so few rows each, are rather a quantity than classes.
MOST_WHOLE_LABELS, FEW_PER_LABEL = 20, 20


@dataclass(frozen=True)
class Training:
    """What ``sefr train`` is asked."""

    data: list[str]
    reading: options.Reading
    choice: options.Choice
    settings: options.Settings
    passes: int
    auto: bool

    def surveyed(self, table: Dataset) -> Training:
        """Return the training with what a look at the table decides."""
        choice = self.choice.surveyed(table)
        return replace(self, choice=choice, settings=self.settings.surveyed(choice.survey))

    def recipe(self, table: Dataset, *, coded: bool) -> ColumnRecipe:
        """Return how the columns become features, here and when other files are read for the model."""
        recipe: ColumnRecipe = self.choice.recipe(table, coded=coded)
        return replace(recipe, encoding=self.reading.encoding, decimal=self.reading.decimal)

    def command(self, name: str, **more: str) -> str:
        """Return a command line that reads the same rows in the same way."""
        words = [options.program(), name, *self.data, *self.choice.arguments(), *self.settings.arguments()]
        words += self.reading.arguments()
        for option, value in more.items():
            words += [f"--{option.replace('_', '-')}", value]
        return shlex.join(words)


def carry_out(screen: Screen, training: Training, path: str, engine: options.Engines) -> None:
    """Train, write the model and show what it has learned."""
    training.settings.params(passes=training.passes)  # wrong ones are said before any work is done
    started = time.perf_counter()
    asked = training
    if engine is options.Engines.duckdb:
        summary, recipe = _learned_by_duckdb(screen, training)
        clf = SEFRClassifier.from_summary(summary, **training.settings.params(passes=training.passes))
    else:
        table, training = _opened(asked)
        params = training.settings.params(passes=training.passes)
        recipe = training.recipe(table, coded=training.settings.bins is not None)
        if training.auto:
            most = SAMPLED_CELLS // max(1, len(recipe.feature_names))
            table = Sampled(table, recipe, min(MOST_SAMPLED, most))
        clf, recipe = _learned(screen, training, table, recipe, params)
        summary = clf.summary_
    with locked(path, lambda: screen.note(f"waiting for another process that changes {path}")):
        model_file.save(model_file.with_columns(clf, recipe.member()), path)
    elapsed = time.perf_counter() - started
    for said in _decisions(training, clf, recipe):
        screen.note(said)
    screen.line(
        f"{path}: {summary.n_rows:,.0f} rows, {len(clf.classes_)} classes, {clf.n_features_in_:,} features, "
        f"{seconds(elapsed)} ({summary.n_rows / elapsed:,.0f} rows/s)"
    )
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
            "settings": _chosen_settings(clf),
            "decided": {} if training.choice.survey is None else training.choice.survey.to_dict(),
            "strongest": strongest_features(clf, 10),
        }
    )


def _opened(training: Training) -> tuple[Dataset, Training]:
    """Return the rows, and the training with what a look at them decides."""
    reread = bool(training.choice.categories) or training.passes > 1 or training.auto
    reread |= training.settings.bins is not None
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
            "quantity, a class for each of them predicts it badly: make ranges of it first"
        )
    return said


def _learned(
    screen: Screen,
    training: Training,
    table: Dataset | Sampled,
    recipe: ColumnRecipe,
    params: Fields,
) -> tuple[SEFRClassifier, ColumnRecipe]:
    """Learn the rows, with the settings that were asked for or that do best on the sample.

    These may have bins, for which categories are coded: the recipe that the model goes with comes second.
    """
    summary, gatherer = _summary(screen, table, recipe, params)
    advice = _advice(table, params) if isinstance(table, Sampled) else None
    if advice is not None:
        best = advice.recommended
        screen.note(
            f"chosen on a sample of {advice.n_rows:,} rows: {best.name}, macro F1 {best.macro_f1:.3f}"
        )
        params = params | dict(best.params)
        if params.get("bins") is not None:
            recipe = training.recipe(table, coded=True)
            summary, gatherer = _summary(screen, table, recipe, params)
    with screen.progress(table, "refining") as tick, warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "y has .* different numbers"
        )  # the command says it in its own words
        return refine(table, recipe, SEFRClassifier(**params), summary, gatherer, tick), recipe


def _summary(
    screen: Screen, table: Dataset | Sampled, recipe: ColumnRecipe, params: Params
) -> tuple[Summary, Gatherer]:
    """Return the Summary of the rows, cut into bins if that is asked for, and some of the rows."""
    gatherer = Gatherer()
    cut = Cut.of_settings(params)
    if cut is not None:
        with screen.progress(table, "finding bins") as tick:
            learn_edges(table, recipe, cut, tick)
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


def _advice(sampled: Sampled, params: Params) -> Comparison | None:
    """Compare settings on a sample; None where it is too small to tell."""
    X, y = sampled.rows()
    if len(y) < FEWEST_SAMPLED:
        return None
    from ..comparison import SETTINGS, compare  # scikit-learn's metrics, only where they are used

    candidates = {name: chosen for name, chosen in SETTINGS.items() if chosen is not None}
    shared = {name: value for name, value in params.items() if name not in CHOSEN}
    try:
        return compare(X, y, cv=SAMPLE_FOLDS, settings=candidates, **shared)
    except ValueError:  # such as one class only in the sample, or a range that does not hold
        return None


def _chosen_settings(clf: SEFRClassifier) -> Fields:
    known = clf.get_params()
    return {name: known[name] for name in CHOSEN}


def _say_next(screen: Screen, training: Training, path: str) -> None:
    """Say what can be done next, with the options that this training needed."""
    explain = shlex.join([options.program(), "explain", path, "-o", "report.html"])
    if "-" in training.data:
        screen.note(f"next: {explain}")
    else:
        passes = {"passes": str(training.passes)} if training.passes > 1 else {}
        screen.note(f"next: {training.command('evaluate', **passes)}; {explain}")


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
        summary = summary_of_files(training.data, label, features, missing=missing)
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
