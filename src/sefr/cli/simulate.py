"""``sefr simulate``: a model on a simulated board, with its answers, cycles, flash and RAM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .._system.types import Fields
    from ..classifier import SEFRClassifier
    from ..files import ColumnRecipe
    from .screen import Screen


def simulate(
    *,
    model: options.OneModel,
    data: options.Data,
    board: Annotated[
        str, typer.Option(help="uno, cortex-m0, cortex-m3, cortex-m4 or riscv32.", metavar="BOARD")
    ] = "uno",
    rows: Annotated[int, typer.Option(help="How many rows to answer.", min=1)] = 100,
    weights: options.Weights = None,
    input: options.Values = None,
    unit: Annotated[
        float | None,
        typer.Option(help="Numbers: what an answer of 1 stands for. Without it: a power of ten."),
    ] = None,
    reading: options.ReadingOptions,
    printing: options.PrintingOptions,
) -> None:
    """Run a model on a simulated board and compare its answers with the computer's.

    A board has no missing values, unless the model has bins for them and the values are floats: records with
    an empty cell are left out, and their number is said. Of a model of train --signal, DATA are recordings,
    and a record is a window.

    For example:

      sefr simulate iris.sefr iris.csv --board uno

      sefr simulate gesture.sefr recordings/
    """
    options.refuse_swapped(model, data)
    import numpy as np

    from .._rows.matrix import Dense
    from ..files.learning import without_feature_names
    from .stored import device_library, read_model
    from .task import words_of

    screen = printing.screen()
    clf, stored = read_model(model)
    X = _records(screen, clf, stored, data, reading, rows)
    scorer = without_feature_names(clf)
    device = device_library()
    settings = {
        "weights": None if weights is None else weights.value,
        "input": None if input is None else input.value,
        "unit": unit,
    }
    complete = np.asarray(~np.isnan(X).any(axis=1))
    quantised = device.quantise(scorer, **settings)
    if quantised.takes_missing:
        complete[:] = True
    chosen = np.flatnonzero(complete)[:rows]
    if not len(chosen):
        raise ValueError(f"{data[0]}: every record has a missing value, which a board cannot have")
    passed = int(np.count_nonzero(~complete[: chosen[-1]]))
    X = np.ascontiguousarray(X[chosen])
    try:
        run = device.simulate(scorer, X, board=board, **settings)
    except (device.ToolMissingError, device.BuildError) as error:
        raise ValueError(f"{board}: {error}") from None
    host, board_said = scorer.predict(Dense(X)), np.asarray(run.predictions)
    screen.line(str(run))
    found, said = words_of(clf).agreement(host, board_said, getattr(quantised, "unit", None))
    screen.line(said)
    if passed:
        screen.note(f"{passed} records with missing values were left out: a board has none")
    screen.json({"model": model, "records": len(X), "left_out": passed, **found, **_facts(run)})


def _records(
    screen: Screen,
    clf: SEFRClassifier,
    stored: ColumnRecipe | None,
    data: list[str],
    reading: options.ReadingOptions,
    rows: int,
) -> NDArray[np.float64]:
    """Return the first records of files, or the first windows of recordings that have an answer."""
    import numpy as np

    from ..files.learning import checked_rows
    from .recordings import RecordingReader
    from .stored import fitted_recipe

    reader = RecordingReader.of(clf, data, reading)
    if reader is not None:
        found, count = [], 0
        for windows in reader.windows(data, reading, labelled=False):
            found.append(windows.features[windows.answered])
            count += len(found[-1])
            if count >= rows:
                break
        reader.tell(screen)
        screen.note("features of windows were computed here: the figures are of the answer alone")
        if not count:
            raise ValueError("no window has an answer: too many samples lie at the ends of the range")
        return np.concatenate(found)[:rows].astype(np.float64)
    table = reading.open(data, like=stored)
    recipe = fitted_recipe(table, clf, stored, None, screen)
    batch = next(table.batches(recipe.wanted()), None)
    if batch is None:
        raise ValueError(f"{data[0]}: there are no rows")
    return checked_rows(batch, recipe.matrix(batch.rows), recipe, clf.missing)


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
