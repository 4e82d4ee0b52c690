"""``sefr forget``: a model takes rows back."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def forget(
    *,
    model: options.OneModel,
    data: options.Data,
    label: options.MaybeLabel = None,
    output: options.Out = None,
    once: options.Once = None,
    certificate: Annotated[
        str | None,
        typer.Option(help="Write what was taken away to this file, for sefr verify.", metavar="FILE"),
    ] = None,
    skip_unlabelled: options.SkipUnlabelled = False,
    reading: options.ReadingOptions,
    printing: options.PrintingOptions,
) -> None:
    """Forget rows: the model is then the same as if it had never seen them.

    It is for models of sefr train --exact or --paper.

    The range of each feature stays that of all rows ever seen; with a known range (train --scale LOW:HIGH)
    forgetting is complete.

    With --once ID (or content) only rows that sefr update --once learned under that name are taken back, and
    the name with them: a second time nothing changes, so a retry is safe.

    For example:

      sefr forget iris.sefr withdrawn.csv

      sefr forget iris.sefr today.csv --once 2026-11-16

      sefr forget iris.sefr withdrawn.csv --certificate withdrawn.json
    """
    options.refuse_swapped(model, data)
    from .changes import Change, carry_out

    screen = printing.screen(output)
    change = Change(model, data, label, output, skip_unlabelled, once, certificate)
    carry_out(screen, change, reading, verb="forgot")
