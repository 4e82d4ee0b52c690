"""``python -m laboratory`` (``make paper``): the paper, run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sefr.cli import run
from sefr.cli.interrupt import part_with, say

if TYPE_CHECKING:
    from rich.console import Console

    from .run import Outcome
    from .settings import Settings

_PARTS = "accuracy,runtime,scalability,weights,bytes,protocol,uno"


app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command("laboratory")
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
    """Re-run the tables and figures of the SEFR paper on the data at hand; ours beside the published numbers.

    Interrupt it at any time: the same command goes on where it ended.

    For example:

      python -m laboratory --quick

      python -m laboratory --tables accuracy --datasets sonar -o sonar-results
    """
    try:
        from .methods import METHODS
        from .settings import Settings, SettingsError
    except ImportError as error:
        say(f"the laboratory needs more packages: pip install -r laboratory/requirements.txt ({error})")
        raise typer.Exit(1) from error

    from sefr.cli.screen import SafeConsole

    console = SafeConsole(stderr=True)
    from .datasets import NAMES

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
        say(str(error))
        raise typer.Exit(2) from error
    _carry_out(settings, fresh, console)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _carry_out(settings: Settings, fresh: bool, console: Console) -> None:
    from sefr.cli.screen import Screen

    from .journal import JournalError
    from .report import write
    from .run import RunError
    from .uno import UnoError

    part_with(f"interrupted; the same command goes on where it ended; so far: {settings.output}")
    try:
        outcome = _measure(settings, fresh, console)
        html, markdown = write(outcome)
    except (RunError, JournalError, UnoError) as error:
        say(str(error))
        raise typer.Exit(1) from error
    for name, reason in outcome.missing.items():
        console.print(f"left out {name}: {reason}")
    screen = Screen()
    screen.line(f"{len(outcome.journal)} rows in {outcome.journal.path}")
    screen.line(f"report: {html} and {markdown}")


def _measure(settings: Settings, fresh: bool, console: Console) -> Outcome:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from .journal import Key
    from .run import measure

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


if __name__ == "__main__":
    run(app)
