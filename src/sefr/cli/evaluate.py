"""``sefr evaluate``: how good a model is, beside other methods."""

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
            help="Passes over the data; 1,3,10 compares three.",
            metavar="NUMBERS",
            show_default=False,
        ),
    ] = "",
    bins: options.Bins = None,
    interactions: options.Interactions = None,
    moments: options.Moments = None,
    task: options.WhichTask = None,
    auto: options.Auto = False,
    paper: options.Paper = False,
    exact: options.Exact = False,
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
    """Estimate how accurate a model will be, beside other methods.

    A model of train --signal is tested on recordings: a folder per label, or rows of samples with --label.

    For example:

      sefr evaluate iris.csv --label species

    What sefr train can do is cross-validated, with its time and size: --paper, --exact and --auto, which it
    takes by itself; beside them the base rate, logistic regression and, if it is installed, LightGBM. The
    folds are stratified. With one of these words, or with --passes, --bins or --moments, that setting alone
    is measured. With --paper and --exact files may be larger than memory; otherwise a sample of the rows is
    used if they are too many. Numbers are predicted if the label is a quantity: R2, MAE and RMSE.

    More examples:

      sefr evaluate iris.csv --label species --exact --folds 5

      sefr evaluate train.csv --label y --test test.csv

      sefr evaluate new.csv --model iris.sefr --json

      sefr evaluate recordings/ --model gesture.sefr

      sefr evaluate iris.csv --label species --passes 1,3,10 --plot passes.png

      sefr evaluate iris.csv --label species --bins 32 --passes 1,10,20

      sefr evaluate iris.csv --label species --bins 32 --interactions 60 --passes 10,20
    """
    from . import evaluation, regression
    from .screen import Screen
    from .training import Training

    screen = Screen(quiet=quiet, as_json=json)
    if model and test:
        raise typer.BadParameter("--model and --test exclude each other")
    if not model and not label:
        raise typer.BadParameter("--label is needed to train")
    counts = counts_of(passes)
    most = counts[-1] if counts else None
    settings = options.Settings(
        missing, scale, epsilon, class_weight, most, bins, interactions, moments, auto, paper, exact
    )
    if (plot or len(counts) > 1) and (model or test):
        raise typer.BadParameter("--plot and several --passes go with folds, not with --model or --test")
    if model and not settings.is_default:
        raise typer.BadParameter("how to train goes with training, not with --model: leave out one of them")
    if plot and not settings.is_default and len(counts) < 2:
        raise typer.BadParameter("--plot goes with a comparison, not with one setting")
    plot = plot and options.output_path(plot)
    reading = options.Reading(format, delimiter, no_header, encoding, decimal)
    if model:
        evaluation.of_a_model(screen, model, data, reading, label)
        return
    choice = options.Choice(str(label), features, drop, categories, drop_text, skip_unlabelled, strict)
    settings.params()  # wrong ones are said before any work is done
    table = reading.open(data, reread=True)
    if (why := regression.reason(task, table, choice.label)) is not None:
        if plot or len(counts) > 1:
            raise typer.BadParameter("--plot and several --passes go with classes, not with numbers")
        training = Training(data, reading, choice, settings, task).surveyed(table)
        if test:
            regression.with_a_test_file(screen, training, table, why, test)
        else:
            regression.by_folds(screen, training, table, why, folds)
        return
    asked = evaluation.Asked(data, reading, choice, settings, folds, table, task)
    if test:
        evaluation.with_a_test_file(screen, asked, test)
    elif (paper or exact or counts == [1] or moments) and bins is None:
        evaluation.by_folds(screen, asked)
    elif settings.is_default:
        evaluation.by_methods(screen, asked, plot)
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
