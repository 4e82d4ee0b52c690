"""``sefr drift``: what has changed from the rows of one model to those of another."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options

DRIFTED = 3  # the exit code; 1 and 2 are failures


def drift(
    before: Annotated[
        str, typer.Argument(help="The earlier model, a .sefr file.", metavar="BEFORE", show_default=False)
    ],
    after: Annotated[str, typer.Argument(help="The later one.", metavar="AFTER", show_default=False)],
    share: Annotated[
        float, typer.Option(help="A class's share of the rows may change so much.", min=0)
    ] = 0.1,
    mean: Annotated[
        float, typer.Option(help="A feature's mean may move by so much of its range.", min=0)
    ] = 0.1,
    missing: Annotated[
        float, typer.Option(help="A feature's share of missing values may change so much.", min=0)
    ] = 0.1,
    outside: Annotated[
        float, typer.Option(help="How far values may leave the range, in multiples of its width.", min=0)
    ] = 10.0,
    chance: Annotated[
        float, typer.Option(help="Standard errors that shares and means must exceed as well.", min=0)
    ] = 4.0,
    psi: Annotated[
        float, typer.Option(help="With bins: the population stability index of a feature.", min=0)
    ] = 0.25,
    ks: Annotated[
        float, typer.Option(help="With bins: the Kolmogorov-Smirnov distance of a feature.", min=0)
    ] = 0.1,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write a page, .html.", show_default=False)
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
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
    from .comparing import Comparing, carry_out
    from .screen import Screen

    if output is not None and not output.lower().endswith((".html", ".htm")) and output != "-":
        raise typer.BadParameter("--output writes a page: name it .html")
    screen = Screen(quiet=quiet, as_json=json, output=output)
    thresholds = {"share": share, "mean": mean, "missing": missing, "outside": outside, "chance": chance}
    thresholds |= {"psi": psi, "ks": ks}
    asked = Comparing(before, after, thresholds, output and options.output_path(output))
    if carry_out(screen, asked):
        raise typer.Exit(DRIFTED)
