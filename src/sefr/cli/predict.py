"""``sefr predict``: labels for the rows of files, streaming in and out."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def predict(
    model: options.OneModel,
    data: options.Data,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="A .csv, .tsv or .parquet file; without it, CSV to standard output."
        ),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add the score, or one for each class.")] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add the probability of each class.")
    ] = False,
    keep: Annotated[
        str, typer.Option(help="Columns to copy from DATA, a,b,c or all.", metavar="COLUMNS")
    ] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Warn where the rows differ from those learned: see sefr drift.")
    ] = False,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Write the predicted label of every row.

    Columns are matched by name, in any order. Output columns are those kept, then prediction, then the
    scores: score for two classes (above 0 is the second), else score_LABEL for each (the highest wins),
    then probability_LABEL for each class.

    For example:

      sefr predict iris.sefr new.csv

      sefr predict iris.sefr new.csv --probabilities

      sefr predict iris.sefr new.parquet -o out.parquet --scores --keep id

      sefr predict iris.sefr new.csv --check -o out.csv
    """
    from .predictions import Wanted, write_predictions
    from .screen import Screen

    screen = Screen(quiet=quiet, as_json=json, output=output or "-")
    if output == "-":
        output = None
    if output is None and json:
        raise typer.BadParameter("--json needs --output: standard output is for one of the two")
    if output is not None:
        output = options.output_path(output)
    reading = options.Reading(format, delimiter, no_header)
    wanted = Wanted(scores, probabilities, keep, check)
    rows = write_predictions(screen, model, reading.open(data), output, wanted)
    if output:
        screen.note(f"{output}: {rows:,} rows")
    screen.json({"output": output, "rows": rows})
