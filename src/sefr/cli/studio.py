"""``sefr studio``: the page that trains in the browser, with a table in it."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def studio(
    *,
    data: Annotated[
        str | None, typer.Argument(help="A file with rows, as for train; none: the empty page.")
    ] = None,
    label: options.MaybeLabel = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the page here, open nothing.", metavar="FILE")
    ] = None,
    reading: options.ReadingOptions,
    printing: options.PrintingOptions,
) -> None:
    """Open a page that trains, explains, simulates a board and exports, in the browser and offline.

    The data go into a copy of the page on this machine, and from there nowhere.

    For example:

      sefr studio

      sefr studio iris.csv --label species

      sefr studio iris.csv -o iris.html
    """
    from .studio_page import show

    screen = printing.screen(output)
    show(screen, data, reading, label, output)
