"""Training from files: learn, look at a sample whether another setting would do better, write, show."""

from __future__ import annotations

import shlex
import time
from contextlib import nullcontext
from dataclasses import dataclass
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
from ..files.learning import learn, learn_edges, refine
from . import options
from .sample import Sampled
from .screen import Screen, bar, grid, seconds, shown
from .stored import whole

if TYPE_CHECKING:
    from .._system.types import Fields, Settings
    from ..comparison import Comparison

POOR = 0.03  # macro F1 that another setting must bring on the sample to be worth a hint
MOST_SAMPLED, SAMPLED_CELLS, FEWEST_SAMPLED = 2_000, 1 << 16, 60
SAMPLE_FOLDS = 3
CHOSEN = ("passes", "class_weight", "bins", "interactions")  # what the comparison tells apart
MOST_CLASSES_SHOWN = 20


@dataclass(frozen=True)
class Training:
    """What ``sefr train`` is asked."""

    data: list[str]
    reading: options.Reading
    choice: options.Choice
    settings: options.Settings
    passes: int
    auto: bool

    def command(self, name: str, **more: str) -> str:
        """Return a command line that reads the same rows in the same way."""
        words = ["sefr", name, *self.data, *self.choice.arguments(), *self.settings.arguments()]
        words += self.reading.arguments()
        for option, value in more.items():
            words += [f"--{option.replace('_', '-')}", value]
        return shlex.join(words)


def carry_out(screen: Screen, training: Training, path: str, engine: options.Engines) -> None:
    """Train, write the model and show what it has learned."""
    params = training.settings.params(passes=training.passes)
    started = time.perf_counter()
    reread = bool(training.choice.categories) or training.passes > 1 or training.auto
    reread |= training.settings.bins is not None
    table = training.reading.open(training.data, reread=reread)
    recipe = training.choice.recipe(table, coded=training.settings.bins is not None)
    sampled = None
    if engine is options.Engines.duckdb:
        summary = _learned_by_duckdb(screen, training, recipe)
        clf = SEFRClassifier.from_summary(summary, **params)
    else:
        sampled = _sampled(screen, training, table, recipe)
        clf, recipe = _learned(screen, training, sampled or table, recipe, params)
        summary = clf.summary_
    with locked(path, lambda: screen.note(f"waiting for another process that changes {path}")):
        model_file.save(model_file.with_columns(clf, recipe.member()), path)
    elapsed = time.perf_counter() - started
    screen.line(
        f"{path}: {summary.n_rows:,.0f} rows, {len(clf.classes_)} classes, {clf.n_features_in_:,} features, "
        f"{seconds(elapsed)} ({summary.n_rows / elapsed:,.0f} rows/s)"
    )
    show_strongest(screen, clf)
    hint = None if sampled is None or training.auto else _hint(screen, training, sampled, path)
    _say_next(screen, training, path)
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
            "hint": hint,
            "strongest": strongest_features(clf, 10),
        }
    )


def _sampled(screen: Screen, training: Training, table: Dataset, recipe: ColumnRecipe) -> Sampled | None:
    """Return the table as one that keeps a sample, where settings will be compared on it."""
    settings = training.settings
    chosen = settings.class_weight.value != "none" or settings.bins is not None
    if not training.auto and (training.passes > 1 or screen.quiet or chosen or "-" in training.data):
        return None
    most = SAMPLED_CELLS // max(1, len(recipe.feature_names))
    return Sampled(table, recipe, min(MOST_SAMPLED, most))


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
    advice = _advice(table, params) if training.auto and isinstance(table, Sampled) else None
    if advice is not None:
        best = advice.recommended
        screen.note(
            f"chosen on a sample of {advice.n_rows:,} rows: {best.name}, macro F1 {best.macro_f1:.3f}"
        )
        params = params | dict(best.params)
        if params.get("bins") is not None:
            recipe = training.choice.recipe(table, coded=True)
            summary, gatherer = _summary(screen, table, recipe, params)
    with screen.progress(table, "refining") as tick:
        return refine(table, recipe, SEFRClassifier(**params), summary, gatherer, tick), recipe


def _summary(
    screen: Screen, table: Dataset | Sampled, recipe: ColumnRecipe, params: Settings
) -> tuple[Summary, Gatherer]:
    """Return the Summary of the rows, cut into bins if that is asked for, and some of the rows."""
    gatherer = Gatherer()
    cut = Cut.of_settings(params)
    if cut is not None:
        with screen.progress(table, "finding bins") as tick:
            learn_edges(table, recipe, cut, tick)
    with screen.progress(table, "learning") as tick:
        return learn(table, recipe, missing=params["missing"], gatherer=gatherer, tick=tick), gatherer


def _advice(sampled: Sampled, params: Settings, *, quick: bool = False) -> Comparison | None:
    """Compare settings on a sample, ``quick`` without interactions; None where it is too small to tell."""
    X, y = sampled.rows()
    if len(y) < FEWEST_SAMPLED:
        return None
    from ..comparison import SETTINGS, compare  # scikit-learn's metrics, only where they are used

    candidates = {
        name: chosen
        for name, chosen in SETTINGS.items()
        if chosen is not None and not (quick and "interactions" in chosen)
    }
    shared = {name: value for name, value in params.items() if name not in CHOSEN}
    try:
        return compare(X, y, cv=SAMPLE_FOLDS, settings=candidates, **shared)
    except ValueError:  # such as one class only in the sample, or a range that does not hold
        return None


def _hint(screen: Screen, training: Training, sampled: Sampled, path: str) -> str | None:
    """Say which settings do much better on the sample; return the command that takes them, if any."""
    advice = _advice(sampled, training.settings.params(), quick=True)
    if advice is None:
        return None
    best, mine = advice.recommended, next(row for row in advice if row.name == "one pass")
    if best.macro_f1 < mine.macro_f1 + POOR:
        return None
    command = training.command("train", **_as_options(best.params), output=path)
    gain = f"macro F1 {best.macro_f1:.3f} instead of {mine.macro_f1:.3f}"
    screen.note(f"hint: {best.name} would reach {gain} on a sample of {advice.n_rows:,} rows: {command}")
    return command


def _as_options(params: Settings) -> dict[str, str]:
    """Return the options of the command that mean a setting of the comparison."""
    said = {}
    if params.get("passes", 1) != 1:
        said["passes"] = str(params["passes"])
    for name in ("class_weight", "bins", "interactions"):
        if params.get(name) is not None:
            said[name] = str(params[name])
    return said


def _chosen_settings(clf: SEFRClassifier) -> Fields:
    known = clf.get_params()
    return {name: known[name] for name in CHOSEN}


def _say_next(screen: Screen, training: Training, path: str) -> None:
    """Say what can be done next, with the options that this training needed."""
    explain = shlex.join(["sefr", "explain", path, "-o", "report.html"])
    if "-" in training.data:
        screen.note(f"next: {explain}")
    else:
        passes = {"passes": str(training.passes)} if training.passes > 1 else {}
        screen.note(f"next: {training.command('evaluate', **passes)}; {explain}")


def _learned_by_duckdb(screen: Screen, training: Training, recipe: ColumnRecipe) -> Summary:
    """Let DuckDB add up the rows: out of memory, on all cores."""
    if recipe.categories or not training.reading.is_plain or training.choice.skip_unlabelled:
        raise typer.BadParameter(
            "--engine duckdb takes no --categories, --format, --delimiter, --no-header or --skip-unlabelled"
        )
    from ..engines.duckdb import summary_of_files

    label = str(recipe.label)
    with nullcontext() if screen.hides_progress else screen.err.status("learning, in DuckDB"):
        return summary_of_files(training.data, label, recipe.columns, missing=training.settings.missing.value)


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
