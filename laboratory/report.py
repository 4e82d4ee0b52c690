"""The report: one self-contained HTML file and the same as Markdown."""

from __future__ import annotations

import csv
import io
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laboratory import datasets as datasets
from laboratory import figures, gisette_shape, protocol_study, published, uno
from laboratory.datasets.catalogue import entry
from laboratory.findings import findings
from laboratory.methods import METHODS
from laboratory.omissions import omissions
from laboratory.protocol import prepare
from laboratory.run import Outcome, write_text
from laboratory.tables import CLOSE, busy, byte_cells, fold_cells, protocol_spreads, signed
from sefr._system.types import Fields

# How the paper's figures 1 and 2 and ours are called in the Markdown's folder.
_FIGURES = "figures"


def write(outcome: Outcome) -> tuple[Path, Path]:
    """Write report.html, report.md and the figures; returns the two reports' paths."""
    context = _context(outcome)
    output = outcome.settings.output
    for name, svg in context["figures"].items():
        if svg and not name.endswith("_narrow"):
            standalone = svg.replace("<svg ", '<svg color="#444" font-family="sans-serif" ', 1)
            write_text(output / _FIGURES / f"{name}.svg", standalone)
    if context["weights"] is not None:
        write_text(output / "semeion_weights.csv", _weights_csv(context["weights"]))
    html, markdown = output / "report.html", output / "report.md"
    environment = _environment()
    write_text(html, environment.get_template("report.html.jinja").render(context))
    write_text(markdown, environment.get_template("report.md.jinja").render(context))
    return html, markdown


def _context(outcome: Outcome) -> Fields:
    settings, rows = outcome.settings, list(outcome.journal)
    folds = settings.folds
    cells = fold_cells(rows, folds, settings.watts)
    spreads = protocol_spreads(rows, folds)
    byte_rows = byte_cells(rows, folds)
    scores = _semeion_weights() if "weights" in settings.parts else None
    titles = {name: entry(name).title for name in datasets.NAMES}
    shapes = published.tables()["table1"]
    return {
        "settings": settings,
        "circumstances": outcome.circumstances,
        "missing": outcome.missing,
        "omissions": omissions(outcome),
        "rows": len(rows),
        "busy": busy(rows),
        "close": CLOSE,
        "titles": titles,
        "shapes": shapes,
        "entries": {name: entry(name) for name in datasets.NAMES},
        "methods": METHODS,
        "groups": [
            (suffix, [name for name in names if any(dataset == name for dataset, _ in cells)])
            for suffix, names in (("", published.BINARY), ("m", published.MULTICLASS))
        ],
        "cells": cells,
        "spreads": spreads,
        "published_accuracy": lambda name: published.number("accuracy", name, "sefr"),
        "variants": protocol_study.VARIANTS,
        "bytes": {entry(name).title: found for name, found in byte_rows.items()},
        "findings": findings(cells, spreads, byte_rows),
        "uno": uno.tables(settings.device_results) if "uno" in settings.parts else [],
        "weights": scores,
        "made_up": any(row.dataset == gisette_shape.NAME for row in rows),
        "figures": {
            name + ("_narrow" if narrow else ""): svg
            for narrow in (False, True)
            for name, svg in (
                ("overview", figures.overview(cells, titles, narrow)),
                ("scalability", figures.scalability(rows, narrow)),
                ("weights", figures.weights(scores, narrow) if scores is not None else ""),
            )
        },
    }


def _semeion_weights() -> NDArray[np.float64] | None:
    """Train on all of Semeion and return its feature scores, 10 x 256; None where it is not at hand."""
    from sefr import SEFRClassifier

    if not datasets.at_hand("semeion"):
        return None
    loaded = datasets.load("semeion", download=False)
    data = prepare(loaded.X, loaded.y)
    return np.asarray(SEFRClassifier().fit(data.X, data.y).feature_scores_)


def _weights_csv(scores: NDArray[np.float64]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["digit", *(f"row{j // 16}_column{j % 16}" for j in range(scores.shape[1]))])
    for digit, weights in enumerate(scores):
        writer.writerow([digit, *map(repr, weights.tolist())])
    return buffer.getvalue()


def _environment() -> Any:
    from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape

    templates = files("laboratory") / "templates"
    environment = Environment(
        # Not PackageLoader: it does not find the templates of an editable installation.
        loader=FunctionLoader(lambda name: templates.joinpath(name).read_text(encoding="utf-8")),
        autoescape=select_autoescape(["html.jinja"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"figure": significant, "printed": printed, "signed": signed, "ratio": ratio}
    return environment


def significant(value: float | None) -> str:
    """Return a number with three significant digits, without an exponent: 0.00294, 12.4, 1,520."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    digits = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{digits}f}"


def printed(value: float | int | None) -> str:
    """Return a published number as the paper prints it: whole, or with two decimals."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def ratio(value: float | None) -> str:
    """Return a ratio to SEFR."""
    return "–" if value is None else f"×{significant(value)}"
