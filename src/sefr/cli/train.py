"""``sefr train``: a model from files, in one pass or a few."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def train(
    data: Annotated[
        list[str] | None,
        typer.Argument(help=options.FILES, show_default=False, metavar="DATA...", callback=options.existing),
    ] = None,
    label: options.MaybeLabel = None,
    output: options.Out = None,
    features: options.Features = "",
    drop: options.Drop = "",
    drop_text: options.DropText = False,
    categories: options.Categories = "",
    skip_unlabelled: options.SkipUnlabelled = False,
    missing: options.MissingValues = None,
    strict: options.Strict = False,
    scale: options.Scale = "minmax",
    epsilon: options.Epsilon = 1e-7,
    class_weight: options.Balance = options.ClassWeight.none,
    task: options.WhichTask = None,
    auto: options.Auto = False,
    paper: options.Paper = False,
    exact: options.Exact = False,
    passes: options.Passes = None,
    bins: options.Bins = None,
    interactions: options.Interactions = None,
    moments: options.Moments = None,
    engine: options.Engine = options.Engines.sefr,
    from_query: Annotated[
        str | None,
        typer.Option(
            "--from-query",
            help="Instead of DATA: what the query of sefr sql gave, .csv, .tsv or .parquet.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    signal: Annotated[
        bool,
        typer.Option(
            "--signal",
            help="DATA are recordings of a sensor: a folder per label, or rows of samples with --label.",
            metavar=options.FLAG,
        ),
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate", help="With --signal: samples per second.", metavar="HERTZ", show_default=False
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            help="With --signal: samples in a window, and from one to the next.",
            metavar="LENGTH:HOP",
            show_default=False,
        ),
    ] = None,
    range: Annotated[
        str | None,
        typer.Option(
            "--range",
            help="With --signal: range of the sensor, e.g. 0:1023. Without it: that of the recordings.",
            metavar="LOW:HIGH",
            show_default=False,
        ),
    ] = None,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    encoding: options.Encoding = None,
    decimal: options.DecimalPoint = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a model that predicts one column of a table from the others.

    Text columns become categories, names, dates and row numbers are left out, and empty cells count as
    missing; what was done is printed. With --strict these are errors.

    For example:

      sefr train iris.csv --label species

    The model is written to model.sefr, or where -o says. There is nothing to choose: --auto is the default.
    Such a model cannot learn further rows; for update, merge and forget train with --exact, or with --paper.
    Any of --passes, --bins, --interactions and --moments replaces --auto. Rows that are too many for memory
    are trained with --bins 32 --interactions 100 --passes 20, which reads the files again for every pass; the
    first line of the output says so. sefr evaluate compares what the choices reach.

    If the label has fractions, or more than 30 different numbers, numbers are predicted.

    More examples:

      sefr train iris.csv --label species --exact

      sefr train 'logs/*.parquet' --label fault --drop id,time -o fault.sefr

      zcat big.csv.gz | sefr train - --label y -o big.sefr

      sefr train 'year/*.parquet' --label y --engine duckdb

      sefr train iris.csv --label species --passes 10

      sefr train --from-query summary.csv -o shop.sefr

      sefr train iris.csv --label species --bins 32 --passes 20

      sefr train iris.csv --label species --bins 32 --moments 2

      sefr train iris.csv --label species --bins 32 --interactions 60 --passes 20

      sefr train goods.csv --label kind --categories colour,shape --bins 32

      sefr train recordings/ --signal --rate 50 --window 64:32
    """
    from .screen import Screen
    from .training import Training, carry_out

    screen = Screen(quiet=quiet, as_json=json, output=output)
    settings = options.Settings(
        missing, scale, epsilon, class_weight, passes, bins, interactions, moments, auto, paper, exact
    )
    if task is options.Task.regress and (from_query or signal or engine is not options.Engines.sefr):
        raise typer.BadParameter("--task regress goes without --from-query, --signal and --engine")
    if from_query is not None:
        chosen = options.Choice("", features, drop, categories, drop_text, skip_unlabelled, strict)
        reading = options.Reading(format, delimiter, no_header, encoding, decimal)
        asked = data or label or chosen != options.Choice("") or not reading.is_plain
        if asked or (passes or 1) > 1 or auto or bins:
            raise typer.BadParameter("--from-query takes no DATA and no option about rows: it has the sums")
        from .queried import train_from_query

        train_from_query(screen, from_query, output, settings.from_sums())
        return
    if not data:
        raise typer.BadParameter("which DATA? (or --from-query FILE)")
    if signal:
        chosen = options.Choice(label or "", features, drop, categories, drop_text, skip_unlabelled, strict)
        if chosen != options.Choice(label or "") or engine is not options.Engines.sefr:
            raise typer.BadParameter(
                "--signal takes every column as an axis, without options about columns and rows"
            )
        if rate is None or window is None:
            raise typer.BadParameter(
                "--signal needs --rate and --window, for example --rate 50 --window 64:32"
            )
        from . import signal_training

        length, hop = signal_training.window_of(window)
        reading = options.Reading(format, delimiter, no_header, encoding, decimal)
        asked_range = signal_training.range_of(range)
        recorded = signal_training.SignalTraining(
            data, reading, label, settings.from_sums(), rate, length, hop, asked_range
        )
        signal_training.carry_out(screen, recorded, options.output_path(output or "model.sefr"))
        return
    if rate is not None or window is not None or range is not None:
        raise typer.BadParameter("--rate, --window and --range go with --signal")
    if label is None:
        raise typer.BadParameter("which column is the label? (--label)")
    if engine is options.Engines.duckdb and ((passes or 1) > 1 or auto or bins):
        more = "--passes, --bins, --auto"
        raise typer.BadParameter(f"--engine duckdb adds up one pass: leave out {more} or --engine")
    training = Training(
        data,
        options.Reading(format, delimiter, no_header, encoding, decimal),
        options.Choice(label, features, drop, categories, drop_text, skip_unlabelled, strict),
        settings,
        task,
    )
    carry_out(screen, training, options.output_path(output or "model.sefr"), engine)
