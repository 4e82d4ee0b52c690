"""Build a model for a board, run it on the simulated one, and say what it answered and what it cost."""

from __future__ import annotations

import json
import os
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from .._system.types import Array
from ..classifier import SEFRClassifier
from ..regressor import SEFRRegressor
from .board import BOARDS, HERE, Board
from .export import export
from .folding import fold
from .numbers import QuantisedNumbers
from .quantise import quantise
from .raw_values import INPUTS


@dataclass(frozen=True)
class Simulation:
    """What a board answered and what it took.

    Attributes
    ----------
    predictions : labels, one per row; of a regressor, numbers: what the board answered times its unit.
    counter : "cycles" (exact, AVR) or "instructions" (QEMU).
    per_record : the mean count for classifying one record, reading it not included.
    seconds : that time, from the clock of the board; None where only instructions are known.
    joules : seconds times the power of the board. Arithmetic, not a measurement; None where no power is
    published.
    chip_joules : cycles times the energy of the chip alone by its data sheet; arithmetic too, or None.
    flash, sram : bytes of the whole program, and the most SRAM ever in use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sefr import SEFRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> from sefr.device import simulate
    >>> answer = simulate(SEFRClassifier().fit(X, y), X[:3])  # doctest: +SKIP
    >>> answer.predictions.tolist(), answer.counter  # doctest: +SKIP
    ([0, 0, 0], 'cycles')
    """

    board: str
    predictions: Array
    counter: str
    per_record: float
    seconds: float | None
    joules: float | None
    chip_joules: float | None
    flash: int
    sram: int

    def __str__(self) -> str:
        text = f"{self.board}: {self.per_record:.0f} {self.counter} per record"
        if self.seconds is not None:
            text += f", {self.seconds * 1e6:.0f} us"
        if self.joules is not None:
            text += f", {self.joules * 1e6:.0f} uJ (arithmetic: time x power of the board"
            text += f"; {self.chip_joules * 1e6:.0f} of the chip alone)" if self.chip_joules else ")"
        return f"{text}; {self.flash} bytes of flash, {self.sram} of SRAM"


def simulate(
    clf_or_sketch: SEFRClassifier | SEFRRegressor | str | os.PathLike[str],
    X: ArrayLike,
    board: str = "uno",
    *,
    weights: str | None = None,
    input: str | None = None,
    unit: float | None = None,
    target: str = "arduino",
    folded: bool = False,
) -> Simulation:
    """Answer rows on a simulated board.

    Parameters
    ----------
    clf_or_sketch : SEFRClassifier, SEFRRegressor or path
        A trained model, or the folder of a sketch that ``export`` wrote.
    X : array of shape (n, m)
        Raw values, as the model was trained on.
    board : {"uno", "cortex-m0", "cortex-m3", "cortex-m4", "riscv32"}
        Which board.
    weights, input, unit, target, folded
        As for ``export``; not used for a sketch.

    Raises
    ------
    ToolMissingError
        If the compiler or the simulator is not installed; it names the Debian packages.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sefr import SEFRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> from sefr.device import simulate
    >>> answer = simulate(SEFRClassifier().fit(X, y), X[::100], board="uno")  # doctest: +SKIP
    >>> answer.predictions.tolist()  # doctest: +SKIP
    [0, 2]
    """
    if board not in BOARDS:
        raise ValueError(f"board must be one of {list(BOARDS)}, not {board!r}")
    chosen = BOARDS[board]
    if not isinstance(clf_or_sketch, SEFRClassifier | SEFRRegressor):
        sketch = Path(clf_or_sketch)
        if not (sketch / "model.json").exists():
            raise FileNotFoundError(
                f"{sketch} is not the folder of an exported sketch: model.json is missing"
            )
        about = json.loads((sketch / "model.json").read_text())
        records = _records(X, about["input"], about["features"])
        said = about.get("unit", np.array(about["classes"]))
        return _run(chosen, sketch, about["name"], records, said, about["learn"])
    q = fold(clf_or_sketch) if folded else quantise(clf_or_sketch, weights, input, unit)
    records = q.raw_of(X)  # says which value does not fit
    said = q.unit if isinstance(q, QuantisedNumbers) else q.classes
    with tempfile.TemporaryDirectory(prefix="sefr-simulate-") as name:
        path = export(
            clf_or_sketch,
            target,
            name,
            name="model",
            weights=weights,
            input=input,
            unit=unit,
            folded=folded,
        )
        folder = path if target == "arduino" else path.parent
        return _run(chosen, folder, "model", records, said, learn=False)


def _records(X: ArrayLike, kind: str, features: int) -> Array:
    values = np.asarray(X)
    if kind not in INPUTS or values.ndim != 2 or values.shape[1] != features:
        raise ValueError(f"X has shape {values.shape}, expected (n, {features}) of {kind}")
    result = np.ascontiguousarray(values, np.dtype(np.float32 if kind == "float" else kind).newbyteorder("<"))
    if kind != "float" and (result != values).any():
        raise ValueError(f"X has values that are not of the sketch's input type {kind}")
    return result


def _run(
    board: Board, folder: Path, name: str, records: Array, said: Array | float, learn: bool
) -> Simulation:
    """Build and run; ``said`` is the unit of the answers, or the classes that they are numbers of."""
    numbers = isinstance(said, float)
    sources = [HERE / "classify.c", *sorted(folder.glob("src/sefr/*.c"))]
    if board.has_assembly:
        sources += sorted(folder.glob("src/sefr/*.S"))
    defines = [f'BOARD_HEADER="{name}.h"', f"BOARD_MODEL={name}", f"BOARD_FEATURES={name.upper()}_FEATURES"]
    defines += ["BOARD_LEARN"] * learn + ["BOARD_NUMBERS"] * numbers
    with tempfile.TemporaryDirectory(prefix="sefr-build-") as build:
        image = board.build(sources, Path(build), defines=defines, includes=[folder])
        run = board.run(image, struct.pack("<I", len(records)) + records.tobytes())
    answers = np.frombuffer(run.output, "<i2" if numbers else np.uint8)
    if learn:
        if answers[0]:
            raise RuntimeError(f"the sketch could not take its own state: status {answers[0]}")
        answers = answers[1:]
    if len(answers) != len(records):
        raise RuntimeError(f"the board answered {len(answers)} of {len(records)} records")
    spent = np.diff(run.marks)
    mean = float(np.mean(spent[2::2]) - spent[0]) if len(spent) > 2 else float("nan")
    seconds = mean / board.hertz if board.hertz else None
    joules = seconds * board.watts if seconds is not None and board.watts else None
    chip = mean * board.cycle_joules if board.cycle_joules else None
    predictions = answers * said if isinstance(said, float) else said[answers]
    return Simulation(
        board.name, predictions, board.counter, mean, seconds, joules, chip, image.flash, run.sram
    )
