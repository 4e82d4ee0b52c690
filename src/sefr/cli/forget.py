"""``sefr forget``: a model takes rows back."""

from __future__ import annotations

from . import options
from .screen import Screen
from .update import change, read_rows


def forget(
    model: options.OneModel,
    data: options.Data,
    label: options.MaybeLabel = None,
    output: options.Out = None,
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
    screen = Screen(quiet=quiet, as_json=json)
    reading = options.reading(format, delimiter, no_header)
    summary = read_rows(screen, model, data, label, reading)
    change(screen, model, output, summary, verb="forgot")
