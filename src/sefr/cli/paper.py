"""``sefr paper``: the paper, run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .interrupt import part_with

if TYPE_CHECKING:
    from rich.console import Console

    from sefr.paper.run import Outcome
    from sefr.paper.settings import Settings

_PARTS = "accuracy,runtime,scalability,weights,bytes,protocol,uno"


def paper(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results.csv, report.html and report.md.")
    ] = Path("paper-results"),
    tables: Annotated[
        str,
        typer.Option(
            help="Comma-separated: accuracy (Tables 2, 2m), runtime (3, 3m), scalability (Figure 1), "
            "weights (Figure 2), bytes, protocol, uno (4, 5)."
        ),
    ] = _PARTS,
    datasets: Annotated[str, typer.Option(help="Comma-separated names; all at hand by default.")] = "",
    methods: Annotated[str, typer.Option(help="Comma-separated names; all installed by default.")] = "",
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 10,
    seeds: Annotated[int, typer.Option(help="How many shuffles to average over: seeds 0, 1, ...")] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="One fold for slow methods, a small Figure 1: two minutes.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Throw away earlier results instead of going on from them.")
    ] = False,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch the datasets that are missing.")
    ] = False,
    watts: Annotated[
        float | None,
        typer.Option(help="Without an energy counter, estimate joules as CPU seconds x this, marked so."),
    ] = None,
    device_results: Annotated[
        Path | None, typer.Option(help="CSV of the device benchmark, for Tables 4 and 5.")
    ] = None,
) -> None:
    """Re-run the paper's tables and figures on the data at hand; report ours beside the published numbers.

    Interrupt it at any time: the same command goes on where it ended.
    """
    try:
        from rich.console import Console

        from sefr.paper.methods import METHODS
        from sefr.paper.settings import Settings, SettingsError
    except ImportError as error:
        typer.echo(f"sefr paper needs more packages: pip install 'sefr-learn[paper]' ({error})", err=True)
        raise typer.Exit(1) from error

    console = Console(stderr=True)
    from sefr.paper.datasets import NAMES

    try:
        settings = Settings(
            output=output,
            parts=_names(tables),
            datasets=_names(datasets) or NAMES,
            methods=_names(methods) or tuple(METHODS),
            folds=folds,
            seeds=seeds,
            quick=quick,
            watts=watts,
            download=download,
            device_results=device_results,
        )
    except SettingsError as error:
        console.print(f"sefr paper: {error}", style="red", highlight=False)
        raise typer.Exit(2) from error
    _carry_out(settings, fresh, console)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _carry_out(settings: Settings, fresh: bool, console: Console) -> None:
    from sefr.paper.journal import JournalError
    from sefr.paper.omissions import omissions
    from sefr.paper.report import write
    from sefr.paper.run import RunError
    from sefr.paper.uno import UnoError

    part_with(f"interrupted; the same command goes on where it ended; so far: {settings.output}")
    try:
        outcome = _measure(settings, fresh, console)
        html, markdown = write(outcome)
    except (RunError, JournalError, UnoError) as error:
        console.print(f"sefr paper: {error}", style="red", highlight=False)
        raise typer.Exit(1) from error
    for sentence in omissions(outcome):
        console.print(f"left out: {sentence}", highlight=False, markup=False, soft_wrap=True)
    typer.echo(f"{len(outcome.journal)} rows in {outcome.journal.path}")
    typer.echo(f"report: {html} and {markdown}")


def _measure(settings: Settings, fresh: bool, console: Console) -> Outcome:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from sefr.paper.journal import Key
    from sefr.paper.run import measure

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("looking for data", total=None)

        def show(done: int, total: int, key: Key) -> None:
            fold = f" fold {key.fold + 1}" if key.fold >= 0 else ""
            what = f"{key.experiment} {key.dataset} {key.method} {key.variant}{fold}"
            progress.update(bar, completed=done, total=total, description=what)

        outcome = measure(settings, show, fresh=fresh)
        progress.update(bar, completed=1, total=1, description="measured; writing the report")
        return outcome
