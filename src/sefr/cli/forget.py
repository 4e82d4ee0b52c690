"""``sefr forget``: a model takes rows back."""

from __future__ import annotations

from . import options


def forget(
    model: options.OneModel,
    data: options.Data,
    label: options.MaybeLabel = None,
    output: options.Out = None,
    skip_unlabelled: options.SkipUnlabelled = False,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Take rows back: the model is then the same as if it had never seen them.

    The lowest and highest value of each feature stay those of all rows ever seen; with a known range
    (train --scale LOW:HIGH) forgetting is complete.

    For example:

      sefr forget iris.sefr withdrawn.csv
    """
    from .changes import Change, carry_out
    from .screen import Screen

    screen = Screen(quiet=quiet, as_json=json, output=output)
    reading = options.Reading(format, delimiter, no_header)
    carry_out(screen, Change(model, data, label, output, skip_unlabelled), reading, verb="forgot")
