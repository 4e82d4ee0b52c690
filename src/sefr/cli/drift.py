"""``sefr drift``: what has changed from the rows of one model to those of another."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from .._summary.drift import DriftReport
    from .._summary.summary import Summary
    from .screen import Screen

DRIFTED = 3  # the exit code; 1 and 2 are failures
MOST_SHOWN = 10
# Each training finds its own edges; what --exact and --paper add up has none.
ADVICE = "; train both with --exact, or see how other rows differ with sefr predict MODEL DATA --check"


def _from_0(text: str) -> Any:
    return typer.Option(help=text, min=0, rich_help_panel="Thresholds")


@dataclass(frozen=True)
class DriftLimits:
    """Changes beyond these are drift: see ``sefr.Thresholds``."""

    share: Annotated[float, _from_0("How much a class's share of the rows may change.")] = 0.1
    mean: Annotated[float, _from_0("How far a feature's mean may move, as a share of its range.")] = 0.1
    missing: Annotated[float, _from_0("How much a feature's share of missing values may change.")] = 0.1
    outside: Annotated[float, _from_0("How far values may leave the range, in multiples of its width.")] = (
        10.0
    )
    chance: Annotated[float, _from_0("Standard errors that shares and means must exceed as well.")] = 4.0
    psi: Annotated[float, _from_0("With bins: the population stability index of a feature.")] = 0.25
    ks: Annotated[float, _from_0("With bins: the Kolmogorov-Smirnov distance of a feature.")] = 0.1


def drift(
    *,
    before: Annotated[
        str,
        typer.Argument(help="The earlier model, a .sefr file.", metavar="BEFORE", callback=options.existing),
    ],
    after: Annotated[str, typer.Argument(help="The later one.", metavar="AFTER", callback=options.existing)],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write a page, .html.", metavar="FILE")
    ] = None,
    limits: DriftLimits,
    printing: options.PrintingOptions,
) -> None:
    """Compare what two models were trained on: shares of the classes, means, missing values, ranges.

    Train both with --exact or --paper. Models with bins, as of --auto, are compared by how the rows lie in
    them if they have the same edges; else sefr predict MODEL DATA --check says how rows differ from those
    that a model has learned.

    Exit code 0: no change exceeds its threshold. 3: some do.

    For example:

      sefr drift last.sefr this.sefr

      sefr drift last.sefr this.sefr --mean 0.05 -o drift.html

      sefr drift last.sefr this.sefr --quiet || alarm
    """
    if output is not None and not output.lower().endswith((".html", ".htm")) and output != "-":
        raise typer.BadParameter("--output writes a page: name it .html")
    screen = printing.screen(output)
    from .._summary.drift import Thresholds

    output = output and options.output_path(output)
    thresholds = Thresholds(**asdict(limits))
    first, second = (_summary_of(path) for path in (before, after))
    try:
        found = first.compare(second, thresholds)
    except ValueError as error:
        advice = ADVICE if first.coder != second.coder else ""
        raise ValueError(f"{before} and {after}: {error}{advice}") from None
    if output:
        from .._answers.drift_page import drift_page
        from .._system.atomic_file import atomic_file

        with atomic_file(output) as file:
            file.write(drift_page(found, before=before, after=after).encode())
    _show(screen, found, before, after, output)
    screen.json({"before": before, "after": after, **found.to_dict(), "page": output})
    if found:
        raise typer.Exit(DRIFTED)


def _summary_of(path: str) -> Summary:
    from ..model_file import ModelFileError
    from .stored import read_model

    summary: Summary = read_model(path)[0].summary_
    if summary.n_targets:
        raise ModelFileError(
            f"{path}: a model that predicts numbers, which this command does not take; sefr predict, "
            "explain, evaluate, update, merge, forget, sql --predict, export and simulate do, and "
            "SEFRRegressor in Python"
        )
    return summary


def _means(found: DriftReport) -> Grid:
    from .screen import bar, grid, shown

    table = grid("feature", "mean moved", "before", "after", "", right=["mean moved", "before", "after"])
    for item in sorted(found.features, key=lambda item: -abs(item.shift))[:MOST_SHOWN]:
        means = ["none" if mean is None else f"{mean:.5g}" for mean in (item.mean_before, item.mean_after)]
        table.add_row(shown(item.feature), f"{item.shift:+.3f}", *means, bar(item.shift))
    return table


def _bins(found: DriftReport) -> Grid:
    from .screen import grid, shown

    columns = ["PSI", "KS", "missing before", "after"]
    table = grid("feature", *columns, right=columns)
    for item in sorted(found.features, key=lambda item: -(item.psi or 0.0))[:MOST_SHOWN]:
        ks = "none" if item.ks is None else f"{item.ks:.3f}"
        missing = [f"{share:.1%}" for share in (item.missing_before, item.missing_after)]
        table.add_row(shown(item.feature), f"{item.psi:.3f}", ks, *missing)
    return table


def _show(screen: Screen, found: DriftReport, before: str, after: str, output: str | None) -> None:
    for said in found.findings[:MOST_SHOWN]:
        screen.line(said)
    if len(found.findings) > MOST_SHOWN:
        screen.line(f"and {len(found.findings) - MOST_SHOWN} more; --json or -o drift.html has all")
    if not found:
        rows = f"{found.rows_before:,.0f} to {found.rows_after:,.0f} rows"
        screen.line(f"no drift from {before} to {after} ({rows})")
    screen.print(_bins(found) if any(item.psi is not None for item in found.features) else _means(found))
    if output:
        screen.note(f"{output}: written")
