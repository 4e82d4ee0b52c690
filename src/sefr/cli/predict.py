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
            "--output",
            "-o",
            help="A .csv, .tsv or .parquet file. Without it: CSV to standard output.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Add the score, or one per class.", metavar=options.FLAG)
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option("--probabilities", help="Add the probability of each class.", metavar=options.FLAG),
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            "--interval",
            help="Of numbers: add low and high, between which this share of true ones is expected.",
            min=0.01,
            max=0.999,
            metavar="SHARE",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        str, typer.Option(help="Columns to copy from DATA: a,b,c or all.", metavar="COLUMNS")
    ] = "",
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Warn if the rows differ from those learned: see sefr drift.",
            metavar=options.FLAG,
        ),
    ] = False,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    encoding: options.Encoding = None,
    decimal: options.DecimalPoint = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Predict the label, or the number, of every row of a table.

    A model of train --signal answers about recordings: files, or a folder of them. There is a row per
    window, with recording and sample, the first of the window from 1; the prediction is empty where too many
    samples lie at the ends of the sensor's range.

    For example:

      sefr predict iris.sefr new.csv

    Columns are matched by name, in any order. The output has the columns that were kept, the prediction, and
    then the scores: score for two classes (above 0 is the second), else score_LABEL per class (the highest
    wins), and probability_LABEL per class.

    More examples:

      sefr predict iris.sefr new.csv --probabilities

      sefr predict iris.sefr new.parquet -o out.parquet --scores --keep id

      sefr predict iris.sefr new.csv --check -o out.csv

      sefr predict gesture.sefr recordings/ --probabilities

      sefr predict price.sefr new.csv --interval 0.9
    """
    options.refuse_swapped(model, data)
    from . import predictions
    from .screen import Screen

    screen = Screen(quiet=quiet, as_json=json, output=output or "-")
    if output == "-":
        output = None
    if output is None and json:
        raise typer.BadParameter("--json needs --output: standard output is for one of the two")
    if output is not None:
        output = options.output_path(output)
    reading = options.Reading(format, delimiter, no_header, encoding, decimal)
    wanted = predictions.Wanted(scores, probabilities, keep, check, interval)
    rows = predictions.predict(screen, model, data, reading, output, wanted)
    if output:
        screen.note(f"{output}: {rows:,} rows")
    screen.json({"output": output, "rows": rows})
