"""``sefr train``: a model from files, in one pass or a few."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from .. import model_file
from .._rows.batches import Gatherer
from .._summary.summary import Summary
from ..classifier import SEFRClassifier
from ..files import open_table
from ..files.learning import learn, refine
from ..files.recipe import Recipe
from . import options
from .screen import Screen, bar, grid, seconds


def train(
    data: options.Data,
    label: options.Label,
    output: options.Out = None,
    features: options.Features = "",
    drop: options.Drop = "",
    categories: options.Categories = "",
    missing: options.MissingValues = options.Missing.error,
    scale: options.Scale = "minmax",
    epsilon: options.Epsilon = 1e-7,
    passes: options.Passes = 1,
    engine: options.Engine = options.Engines.sefr,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a model from files of any size, in one pass and bounded memory.

    For example:

      sefr train iris.csv --label species

      sefr train 'logs/*.parquet' --label fault --drop id,time -o fault.sefr

      zcat big.csv.gz | sefr train - --label y -o big.sefr

      sefr train 'year/*.parquet' --label y --engine duckdb

      sefr train iris.csv --label species --passes 10
    """
    screen = Screen(quiet=quiet, as_json=json)
    path = output or "model.sefr"
    options.check_writable(path)
    settings = {
        "missing": missing.value,
        "scale": options.scale_of(scale),
        "epsilon": epsilon,
        "passes": passes,
    }
    SEFRClassifier(**settings).check_params()
    started = time.perf_counter()
    table = open_table(
        data, again=bool(categories) or passes > 1, **options.reading(format, delimiter, no_header)
    )
    recipe = table.recipe(
        table.label_name(label), options.names(features), options.names(drop), options.names(categories)
    )
    gatherer = None
    if engine is options.Engines.duckdb:
        if passes > 1:
            raise typer.BadParameter("--engine duckdb adds up one pass: leave out --passes or --engine")
        summary = _learned_by_duckdb(screen, data, recipe, missing.value, format or delimiter or no_header)
    else:
        gatherer = Gatherer()
        with screen.progress(table, "learning") as tick:
            summary = learn(table, recipe, missing=missing.value, gatherer=gatherer, tick=tick)
    clf = SEFRClassifier.from_summary(summary, **(settings | {"passes": 1}))
    if gatherer is not None:
        with screen.progress(table, "refining") as tick:
            clf = refine(table, recipe, SEFRClassifier(**settings), summary, gatherer, tick)
    model_file.save(model_file.with_columns(clf, recipe.member()), path)
    elapsed = time.perf_counter() - started
    screen.line(
        f"{path}: {summary.n_rows:,.0f} rows, {len(clf.classes_)} classes, {clf.n_features_in_:,} features, "
        f"{seconds(elapsed)} ({summary.n_rows / elapsed:,.0f} rows/s)"
    )
    show_strongest(screen, clf)
    screen.note(f"next: sefr evaluate {data[0]} --label {label}; sefr explain {path} -o report.html")
    screen.json(
        {
            "model": str(Path(path)),
            "rows": summary.n_rows,
            "features": clf.n_features_in_,
            "classes": [
                {"label": c, "rows": n}
                for c, n in zip(clf.classes_.tolist(), summary.counts.tolist(), strict=True)
            ],
            "seconds": elapsed,
            "passes": clf.n_passes_,
            "strongest": strongest(clf, 10),
        }
    )


def _learned_by_duckdb(
    screen: Screen, data: list[str], recipe: Recipe, missing: str, reading: Any
) -> Summary:
    """Let DuckDB add up the rows: out of memory, on all cores."""
    if recipe.categories or reading or recipe.label is None:
        raise typer.BadParameter(
            "--engine duckdb takes no --categories, --format, --delimiter or --no-header"
        )
    from ..engines.duckdb import summary_of_files

    hidden = screen.quiet or screen.as_json or not screen.err.is_terminal
    with nullcontext() if hidden else screen.err.status("learning, in DuckDB"):
        return summary_of_files(data, recipe.label, recipe.columns, missing=missing)


def strongest(clf: SEFRClassifier, count: int) -> list[dict[str, Any]]:
    """Return, for each class, its features of the highest score, for or against."""
    names = feature_names(clf)
    labels = clf.classes_.tolist()
    lines = []
    for label, scores in zip(labels[1:] if len(labels) == 2 else labels, clf.feature_scores_, strict=True):
        order = (-abs(scores)).argsort(kind="stable")[:count]
        top = [{"feature": names[j], "score": float(scores[j])} for j in order if scores[j]]
        lines.append({"label": label, "features": top})
    return lines


def feature_names(clf: SEFRClassifier) -> list[str]:
    """Return the names of a model's features, made up where it has none."""
    return list(clf.summary_.feature_names or (f"x{j}" for j in range(clf.n_features_in_)))


def show_strongest(screen: Screen, clf: SEFRClassifier, count: int = 5) -> None:
    """Show the strongest features: a bar each for two classes, a line a class for more."""
    if len(clf.classes_) == 2:
        against, for_ = clf.classes_.tolist()
        table = grid("feature", "score", f"{against} │ {for_}", right=["score"])
        for item in strongest(clf, count)[0]["features"]:
            table.add_row(Text(item["feature"]), f"{item['score']:+.3f}", bar(item["score"]))
    else:
        table = grid("class", "rows", "strongest features (+ for, - against)", right=["rows"])
        counts = clf.summary_.counts
        for line, rows in list(zip(strongest(clf, 4), counts, strict=True))[:20]:
            shown = "  ".join(f"{item['feature']} {item['score']:+.2f}" for item in line["features"])
            table.add_row(Text(str(line["label"])), f"{rows:,.0f}", Text(shown))
    screen.print(table)
