"""``sefr evaluate``: how good a model is, and which settings suit the data."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def evaluate(
    data: options.Data,
    label: options.MaybeLabel = None,
    folds: Annotated[
        int, typer.Option(help="Number of folds of the cross-validation.", min=2, max=1000)
    ] = 10,
    model: Annotated[
        str | None, typer.Option(help="Test this model on DATA.", metavar="MODEL", show_default=False)
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Train on DATA, test on this file.", metavar="FILE", show_default=False)
    ] = None,
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
    passes: Annotated[
        str,
        typer.Option(
            help="Passes over the data; 1,3,10 compares three. Without it, settings are compared.",
            metavar="NUMBERS",
            show_default=False,
        ),
    ] = "",
    bins: options.Bins = None,
    interactions: options.Interactions = None,
    moments: options.Moments = 1,
    plot: Annotated[
        str | None, typer.Option(help="Draw the comparison as a picture.", metavar="FILE", show_default=False)
    ] = None,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    encoding: options.Encoding = None,
    decimal: options.DecimalPoint = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Estimate how accurate a model will be, and which settings suit the data.

    A model of train --signal is tested on recordings: a folder per label, or rows of samples with --label.

    For example:

      sefr evaluate iris.csv --label species

    Without --passes, --bins, --test or --model, several settings are compared by cross-validation, with
    their time and size, and one is recommended: the base rate, one pass (the SEFR paper), ten passes,
    balanced classes, 32 bins and interactions. The folds are stratified. With --passes 1 files may be
    larger than memory; otherwise a sample of the rows is used if they are too many.

    More examples:

      sefr evaluate iris.csv --label species --passes 10 --folds 5

      sefr evaluate train.csv --label y --test test.csv

      sefr evaluate new.csv --model iris.sefr --json

      sefr evaluate recordings/ --model gesture.sefr

      sefr evaluate iris.csv --label species --passes 1,3,10 --plot passes.png

      sefr evaluate iris.csv --label species --bins 32 --passes 1,10,20

      sefr evaluate iris.csv --label species --bins 32 --interactions 60 --passes 10,20
    """
    from . import evaluation
    from .screen import Screen

    screen = Screen(quiet=quiet, as_json=json)
    if model and test:
        raise typer.BadParameter("--model and --test exclude each other")
    if not model and not label:
        raise typer.BadParameter("--label is needed to train")
    counts = counts_of(passes) or ([1] if bins or moments == 2 else [])
    if moments == 2 and counts != [1]:
        raise typer.BadParameter("--moments 2 is solved from one pass: leave out --passes or --moments")
    if (plot or passes) and (model or test):
        raise typer.BadParameter("--passes and --plot go with folds, not with --model or --test")
    if bins and model:
        raise typer.BadParameter("--bins goes with training, not with --model")
    if plot and len(counts) == 1:
        raise typer.BadParameter("--plot goes with a comparison, not with one number of --passes")
    plot = plot and options.output_path(plot)
    reading = options.Reading(format, delimiter, no_header, encoding, decimal)
    if model:
        evaluation.of_a_model(screen, model, data, reading, label)
        return
    choice = options.Choice(str(label), features, drop, categories, drop_text, skip_unlabelled, strict)
    settings = options.Settings(missing, scale, epsilon, class_weight, bins, interactions, moments)
    asked = evaluation.Asked(data, reading, choice, settings, folds)
    if test:
        evaluation.with_a_test_file(screen, asked, test)
    elif counts == [1] and bins is None:
        evaluation.by_folds(screen, asked)
    else:
        evaluation.by_comparison(screen, asked, counts, plot)


def counts_of(text: str) -> list[int]:
    """Return the numbers of passes in a list such as 1,3,10.

    Examples
    --------
    >>> counts_of("10,1")
    [1, 10]
    """
    if not text:
        return []
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = [0]
    if min(counts) < 1:
        raise typer.BadParameter(f"--passes takes whole numbers from 1 up, for example 1,3,10, not {text!r}")
    return sorted(set(counts))
