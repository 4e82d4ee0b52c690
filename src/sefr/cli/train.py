"""``sefr train``: a model from files, in one pass or a few."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def train(
    data: Annotated[
        list[str] | None, typer.Argument(help=options.FILES, show_default=False, metavar="DATA...")
    ] = None,
    label: options.MaybeLabel = None,
    output: options.Out = None,
    features: options.Features = "",
    drop: options.Drop = "",
    drop_text: options.DropText = False,
    categories: options.Categories = "",
    skip_unlabelled: options.SkipUnlabelled = False,
    missing: options.MissingValues = options.Missing.error,
    scale: options.Scale = "minmax",
    epsilon: options.Epsilon = 1e-7,
    class_weight: options.Balance = options.ClassWeight.none,
    passes: options.Passes = 1,
    bins: options.Bins = None,
    interactions: options.Interactions = None,
    auto: Annotated[
        bool, typer.Option("--auto", help="Take the settings that do best on a sample of the rows.")
    ] = False,
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
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a model from files of any size, in one pass and bounded memory.

    Where another setting would do much better on a sample of the rows, a hint says so; --auto takes it.

    For example:

      sefr train iris.csv --label species

      sefr train iris.csv --label species --auto

      sefr train 'logs/*.parquet' --label fault --drop id,time -o fault.sefr

      zcat big.csv.gz | sefr train - --label y -o big.sefr

      sefr train 'year/*.parquet' --label y --engine duckdb

      sefr train iris.csv --label species --passes 10

      sefr train --from-query summary.csv -o shop.sefr

      sefr train iris.csv --label species --bins 32 --passes 20

      sefr train iris.csv --label species --bins 32 --interactions 60 --passes 20

      sefr train goods.csv --label kind --categories colour,shape --bins 32
    """
    from .screen import Screen
    from .training import Training, carry_out

    screen = Screen(quiet=quiet, as_json=json, output=output)
    settings = options.Settings(missing, scale, epsilon, class_weight, bins, interactions)
    if from_query is not None:
        chosen = options.Choice("", features, drop, categories, drop_text, skip_unlabelled)
        reading = options.Reading(format, delimiter, no_header)
        asked = data or label or chosen != options.Choice("") or not reading.is_plain
        if asked or passes > 1 or auto or bins:
            raise typer.BadParameter("--from-query takes no DATA and no option about rows: it has the sums")
        from .queried import train_from_query

        train_from_query(screen, from_query, output, settings)
        return
    if not data:
        raise typer.BadParameter("which DATA? (or --from-query FILE)")
    if label is None:
        raise typer.BadParameter("which column is the label? (--label)")
    if engine is options.Engines.duckdb and (passes > 1 or auto or bins):
        more = "--passes, --bins, --auto"
        raise typer.BadParameter(f"--engine duckdb adds up one pass: leave out {more} or --engine")
    if auto and bins:
        raise typer.BadParameter("--auto chooses the bins: leave out --bins or --auto")
    if auto and passes > 1:
        raise typer.BadParameter("--auto chooses the passes: leave out --passes or --auto")
    training = Training(
        data,
        options.Reading(format, delimiter, no_header),
        options.Choice(label, features, drop, categories, drop_text, skip_unlabelled),
        settings,
        passes,
        auto,
    )
    carry_out(screen, training, options.output_path(output or "model.sefr"), engine)
