"""``sefr export``: a model for another place to run it."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from ..classifier import SEFRClassifier

TARGETS = ("onnx", "c", "arduino", "generated", "micropython")


def export(
    *,
    model: options.OneModel,
    to: Annotated[str, typer.Option(help=f"What to make: {', '.join(TARGETS)}.", metavar="TARGET")],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="The .onnx file, or the folder for code.", metavar="PATH"),
    ] = None,
    weights: options.Weights = None,
    input: options.Values = None,
    unit: Annotated[
        float | None,
        typer.Option(help="Boards, numbers: what an answer of 1 stands for. Without it: a power of ten."),
    ] = None,
    margin: Annotated[
        int,
        typer.Option(
            help='Boards: "don\'t know" if an answer leads by less (Twin.margin chooses it).', min=0
        ),
    ] = 0,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help='Boards: "don\'t know" also for NaN and values far outside the range learned.'
        ),
    ] = False,
    fold: Annotated[
        bool,
        typer.Option(
            "--fold",
            help="C and Arduino, values of 16 bits: scaling within int16 weights, no bytes in between.",
        ),
    ] = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="Arduino: a sketch that goes on learning on the board.")
    ] = False,
    window: Annotated[
        str | None,
        typer.Option(
            help="Arduino: the rows are windows of a signal, RATE (100) samples per second.",
            metavar="LENGTH:HOP[:RATE]",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Boards: the name of the header or sketch and of its functions.", metavar="NAME"),
    ] = None,
    sum_bits: Annotated[
        int | None,
        typer.Option(help="With --learn: 16, or 32 for more than 256 records of a class."),
    ] = None,
    eeprom: Annotated[
        int | None,
        typer.Option(help="With --learn: bytes of the board's EEPROM (1024, an Uno's)."),
    ] = None,
    printing: options.PrintingOptions,
) -> None:
    """Export a model: as ONNX, as a C header, as an Arduino sketch, or as a module for MicroPython.

    For example:

      sefr export iris.sefr --to arduino

    Nothing is needed beside what is written: a header is complete, and a sketch brings its library. A board
    that goes on learning (--learn) needs a model of sefr train --paper.

    More examples:

      sefr export iris.sefr --to onnx

      sefr export iris.sefr --to c -o firmware/

      sefr export iris.sefr --to arduino --learn -o sketch/
    """
    from pathlib import Path

    from .outcome import promise
    from .recordings import sampling_of
    from .stored import device_library, read_model, train_command

    if to not in TARGETS:
        raise typer.BadParameter(f"--to takes {', '.join(TARGETS)}, not {to!r}")
    learning = {"sum_bits": sum_bits, "eeprom": eeprom}
    for key, value in learning.items():
        if value is not None and not learn:
            raise typer.BadParameter(f"--{key.replace('_', '-')} goes with --learn")
    screen = printing.screen(output)
    clf, recipe = read_model(model)
    if learn and not clf.predicts_numbers and (clf.auto or clf.passes > 1 or clf.moments == 2):
        command = train_command(recipe, "--paper")
        raise ValueError(f"{model}: a board learns on from a model of one pass: train it with {command}")
    if to == "onnx":
        path = _onnx(clf, output or str(Path(model).with_suffix(".onnx")))
    else:
        device = device_library()
        called = Path(model).stem if name is None else name
        promise(os.path.join(output or ".", device.names.file_name(called, to)))
        path = device.export(
            clf,
            to,
            output or ".",
            name=called,
            weights=None if weights is None else weights.value,
            input=None if input is None else input.value,
            unit=unit,
            learn=learn,
            window=_window(window),
            signal=sampling_of(clf) if to == "arduino" else None,
            margin=margin,
            check=check,
            folded=fold,
            **{key: value for key, value in learning.items() if value is not None},
        )
    screen.line(f"{path}: {to}")
    screen.note(f"next: {_next(to, str(path), model)}")
    screen.json({"model": model, "target": to, "output": str(path)})


def _next(to: str, path: str, model: str) -> str:
    """Return what to do with what was exported."""
    from pathlib import Path

    simulate = shlex.join([options.program(), "simulate", model, "DATA"])
    if to == "onnx":
        return f"onnxruntime.InferenceSession({path!r}) runs it"
    if to == "micropython":
        return f"copy it to the board, for example with: mpremote cp {shlex.quote(path)} :"
    if to == "arduino":
        sketch = Path(path) / f"{Path(path).name}.ino"
        return f"open {sketch} in the Arduino IDE and upload it; {simulate} runs it without a board"
    return f'#include "{Path(path).name}" in a C program; {simulate} runs it without a board'


def _window(text: str | None) -> tuple[int, int] | tuple[int, int, int] | None:
    if text is None:
        return None
    words = text.split(":")
    if len(words) not in (2, 3) or not all(word.isdecimal() and word.isascii() for word in words):
        raise typer.BadParameter(
            f"--window takes LENGTH:HOP or LENGTH:HOP:RATE, as in 64:32:50, not {text!r}"
        )
    length, hop, *rate = map(int, words)
    return (length, hop, rate[0]) if rate else (length, hop)


def _onnx(clf: SEFRClassifier, path: str) -> str:
    from .._system.atomic_file import atomic_file
    from ..onnx_model import to_onnx  # its library is an extra

    path = options.output_path(path)
    content = to_onnx(clf)
    with atomic_file(path) as file:
        file.write(content)
    return path
