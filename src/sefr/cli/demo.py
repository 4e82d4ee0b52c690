"""``sefr demo``: the five-minute story on real data, end to end."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def demo(
    *,
    folder: Annotated[
        str, typer.Option("--output", "-o", help="The folder to leave the files in.", metavar="FOLDER")
    ] = "demo",
    printing: options.PrintingOptions,
) -> None:
    """Run every step on scikit-learn's handwritten digits.

    Leaves digits.csv, digits.sefr, digits.png and digits.html in a folder, and iris.csv, the table that the
    documentation uses.

    For example:

      sefr demo
    """
    from pathlib import Path

    from .story import tell

    tell(printing.screen(), Path(folder))
