"""``sefr explain``: what a model has learned and why it answers as it does."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def explain(
    model: options.OneModel,
    rows: Annotated[
        list[str] | None,
        typer.Option(
            "--rows", help="A file of rows whose answers to explain.", metavar="FILE", show_default=False
        ),
    ] = None,
    image: Annotated[
        str, typer.Option(help="The features are pixels of an image.", metavar="HEIGHTxWIDTH")
    ] = "",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Write a report (.html) or a picture (.png).",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    count: Annotated[int, typer.Option(help="Features to show per class.", min=1)] = 10,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    encoding: options.Encoding = None,
    decimal: options.DecimalPoint = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Show what a model has learned, and why it gave an answer.

    For example:

      sefr explain iris.sefr

    The effect of a feature is how much it moves the score from the average row of the other classes to the
    average row of this class: + if high values favour the class, - if low values do. The score beside it is
    the weight of the scaled feature, in the SEFR paper from -1 to 1.

    More examples:

      sefr explain iris.sefr --rows new.csv -o report.html

      sefr explain digits.sefr --image 8x8 -o digits.html
    """
    from .explanation import Explanation, carry_out
    from .screen import Screen

    screen = Screen(quiet=quiet, as_json=json, output=output)
    asked = Explanation(model, rows or [], image_size(image), output and options.output_path(output), count)
    carry_out(screen, asked, options.Reading(format, delimiter, no_header, encoding, decimal))


def image_size(text: str) -> tuple[int, int] | None:
    """Return height and width from 16x16; nothing from nothing.

    Examples
    --------
    >>> image_size("8x16")
    (8, 16)
    """
    if not text:
        return None
    height, _, width = text.replace("×", "x").partition("x")
    if not (height.isdecimal() and width.isdecimal()):
        raise typer.BadParameter(f"--image takes HEIGHTxWIDTH, for example 16x16, not {text!r}")
    return int(height), int(width)
