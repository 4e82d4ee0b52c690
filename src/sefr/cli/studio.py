"""``sefr studio``: the page that trains in the browser, with a table in it."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def studio(
    data: Annotated[
        str | None,
        typer.Argument(help="A file with rows, as for train; none: the empty page.", show_default=False),
    ] = None,
    label: options.MaybeLabel = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Write the page here, open nothing.", show_default=False),
    ] = None,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    encoding: options.Encoding = None,
    decimal: options.DecimalPoint = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Open a page that trains, explains, simulates a board and exports, in the browser and offline.

    The data go into a copy of the page on this machine, and from there nowhere.

    For example:

      sefr studio

      sefr studio iris.csv --label species

      sefr studio iris.csv -o iris.html
    """
    from .screen import Screen
    from .studio_page import show

    screen = Screen(quiet=quiet, as_json=json, output=output)
    show(screen, data, options.Reading(format, delimiter, no_header, encoding, decimal), label, output)
