"""``sefr simulate``: a model on a simulated board, with its answers, cycles, flash and RAM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options

if TYPE_CHECKING:
    from .._system.types import Fields


def simulate(
    model: options.OneModel,
    data: options.Data,
    board: Annotated[
        str, typer.Option(help="uno, cortex-m0, cortex-m3, cortex-m4 or riscv32.", metavar="BOARD")
    ] = "uno",
    rows: Annotated[int, typer.Option(help="How many rows to classify.", min=1)] = 100,
    weights: options.Weights = options.WeightType.int8,
    input: options.Values = None,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Run a model on a simulated board and compare its answers with the computer's.

    A board has no missing values, unless the model has bins for them and the values are floats: records with
    an empty cell are left out, and their number is said.

    For example:

      sefr simulate iris.sefr iris.csv --board uno
    """
    import numpy as np

    from .._rows.matrix import Dense
    from ..files.learning import checked_rows, without_feature_names
    from .screen import Screen
    from .stored import device_library, fitted_recipe, read_model

    screen = Screen(quiet=quiet, as_json=json)
    clf, stored = read_model(model)
    table = options.Reading(format, delimiter, no_header).open(data)
    recipe = fitted_recipe(table, clf, stored, None, screen)
    batch = next(table.batches(recipe.wanted()), None)
    if batch is None:
        raise ValueError(f"{data[0]}: there are no rows")
    X = checked_rows(batch, recipe.matrix(batch.rows), recipe, clf.missing)
    scorer = without_feature_names(clf)
    device = device_library()
    kind = None if input is None else input.value
    complete = np.asarray(~np.isnan(X).any(axis=1))
    if device.quantise(scorer, weights.value, kind).takes_missing:
        complete[:] = True
    chosen = np.flatnonzero(complete)[:rows]
    if not len(chosen):
        raise ValueError(f"{data[0]}: every record has a missing value, which a board cannot have")
    passed = int(np.count_nonzero(~complete[: chosen[-1]]))
    X = np.ascontiguousarray(X[chosen])
    try:
        run = device.simulate(scorer, X, board=board, weights=weights.value, input=kind)
    except (device.ToolMissingError, device.BuildError) as error:
        raise ValueError(f"{board}: {error}") from None
    agree = float(np.mean(np.asarray(run.predictions) == scorer.predict(Dense(X))))
    screen.line(str(run))
    screen.line(f"{agree:.1%} of {len(X)} records get the same label as on this computer")
    if passed:
        screen.note(f"{passed} records with missing values were left out: a board has none")
    screen.json({"model": model, "records": len(X), "left_out": passed, "agreement": agree, **_facts(run)})


def _facts(run: Any) -> Fields:
    """Return the figures that a run reports."""
    import dataclasses

    import numpy as np

    if dataclasses.is_dataclass(run):
        fields = {field.name: getattr(run, field.name) for field in dataclasses.fields(run)}
    else:
        fields = dict(vars(run))
    plain = (int, float, str, np.integer, np.floating)
    found = {name: value for name, value in fields.items() if isinstance(value, plain)}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in found.items()}
