"""``sefr export``: a model for another place to run it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from ..classifier import SEFRClassifier

TARGETS = ("onnx", "c", "arduino", "generated")


def export(
    model: options.OneModel,
    to: Annotated[
        str,
        typer.Option(
            "--to", help=f"What to make: {', '.join(TARGETS)}.", metavar="TARGET", show_default=False
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="The .onnx file, or the folder for code.", show_default=False),
    ] = None,
    weights: options.Weights = options.WeightType.int8,
    input: options.Values = None,
    margin: Annotated[
        int,
        typer.Option(
            help='Boards: "don\'t know" where an answer leads by less (Twin.margin chooses it).', min=0
        ),
    ] = 0,
    learn: Annotated[
        bool, typer.Option("--learn", help="Arduino: a sketch that goes on learning on the board.")
    ] = False,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            help="Arduino: the rows are windows of a signal (sefr.device.windows).",
            metavar="LENGTH:HOP",
            show_default=False,
        ),
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Export a model: as ONNX, as a C header, or as an Arduino sketch.

    For example:

      sefr export iris.sefr --to onnx

      sefr export iris.sefr --to c -o firmware/

      sefr export iris.sefr --to arduino --learn -o sketch/
    """
    from pathlib import Path

    from .outcome import promise
    from .screen import Screen
    from .stored import device_library, read_model

    if to not in TARGETS:
        raise typer.BadParameter(f"--to takes {', '.join(TARGETS)}, not {to!r}")
    screen = Screen(quiet=quiet, as_json=json, output=output)
    clf, _recipe = read_model(model)
    if to == "onnx":
        path = _onnx(clf, output or str(Path(model).with_suffix(".onnx")))
    else:
        device = device_library()
        made = device.names.identifier(Path(model).stem) + ("" if to == "arduino" else ".h")
        promise(os.path.join(output or ".", made))
        path = device.export(
            clf,
            to,
            output or ".",
            name=Path(model).stem,
            weights=weights.value,
            input=None if input is None else input.value,
            learn=learn,
            window=_window(window),
            margin=margin,
        )
    screen.line(f"{path}: {to}")
    screen.json({"model": model, "target": to, "output": str(path)})


def _window(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    length, colon, hop = text.partition(":")
    if not (colon and length.isdecimal() and hop.isdecimal()):
        raise typer.BadParameter(f"--window takes LENGTH:HOP, for example 64:32, not {text!r}")
    return int(length), int(hop)


def _onnx(clf: SEFRClassifier, path: str) -> str:
    from .._system.atomic_file import atomic_file
    from ..onnx_model import to_onnx  # its library is an extra

    path = options.output_path(path)
    content = to_onnx(clf)
    with atomic_file(path) as file:
        file.write(content)
    return path
