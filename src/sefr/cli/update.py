"""``sefr update``: a model learns more rows."""

from __future__ import annotations

from . import options


def update(
    *,
    model: options.OneModel,
    data: options.Data,
    label: options.MaybeLabel = None,
    output: options.Out = None,
    once: options.Once = None,
    skip_unlabelled: options.SkipUnlabelled = False,
    reading: options.ReadingOptions,
    printing: options.PrintingOptions,
) -> None:
    """Learn more rows: the model is then the same as if it had been trained on all of them.

    It is for models of sefr train --exact or --paper.

    Several processes may change one model at the same time; none loses rows. With --once ID the model
    remembers the name of the rows and does not count them twice; with --once content the name is the digest
    of the files' content. sefr forget --once takes rows and name back.

    For example:

      sefr update iris.sefr today.csv

      sefr update iris.sefr today.csv -o tomorrow.sefr

      sefr update iris.sefr today.csv --once 2026-11-16

      sefr update iris.sefr today.csv --once content
    """
    options.refuse_swapped(model, data)
    from .changes import Change, carry_out

    screen = printing.screen(output)
    carry_out(screen, Change(model, data, label, output, skip_unlabelled, once), reading, verb="learned")
