"""Options that several commands share: each is described once."""

from __future__ import annotations

from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..files import FORMATS

Format = Enum("Format", {name: name for name in FORMATS}, type=str)  # type: ignore[misc]


class Missing(StrEnum):
    """What an empty cell means."""

    error = "error"
    ignore = "ignore"


class WeightType(StrEnum):
    """How a board keeps its weights."""

    int8 = "int8"
    int16 = "int16"


class Engines(StrEnum):
    """What reads the files."""

    sefr = "sefr"
    duckdb = "duckdb"


FILES = "Files, folders, globs, - for standard input: CSV, Parquet, Feather, Arrow, npy, npz, ARFF, libsvm."

Data = Annotated[list[str], typer.Argument(help=FILES, show_default=False, metavar="DATA...")]
OneModel = Annotated[str, typer.Argument(help="A .sefr file.", show_default=False, metavar="MODEL")]
Label = Annotated[str, typer.Option("--label", "-l", help="The column of labels.", metavar="COLUMN")]
MaybeLabel = Annotated[
    str | None,
    typer.Option("--label", "-l", help="The column of labels.", metavar="COLUMN", show_default=False),
]
Features = Annotated[
    str,
    typer.Option(
        "--features", help="Columns to learn from, a,b,c; all others are left out.", metavar="COLUMNS"
    ),
]
Drop = Annotated[str, typer.Option("--drop", help="Columns to leave out, a,b,c.", metavar="COLUMNS")]
Categories = Annotated[
    str,
    typer.Option(
        "--categories", help="Columns of text to learn from, one feature a value; or all.", metavar="COLUMNS"
    ),
]
FileFormat = Annotated[
    Format | None,
    typer.Option("--format", help="The format, where the file's name does not tell.", show_default=False),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="Between the columns of CSV.", metavar="CHAR", show_default=False),
]
NoHeader = Annotated[
    bool,
    typer.Option("--no-header", help="CSV without names: columns are x0, x1, ...; --label -1 is the last."),
]
MissingValues = Annotated[
    Missing, typer.Option("--missing", help="An empty cell: an error, or a value that votes for no class.")
]
Scale = Annotated[
    str,
    typer.Option(
        "--scale", help="minmax learns each feature's range; LOW:HIGH is a known one; none.", metavar="SCALE"
    ),
]
Epsilon = Annotated[float, typer.Option("--epsilon", help="Keeps equation 5 from dividing by zero.", min=0)]
Weights = Annotated[WeightType, typer.Option("--weights", help="How a board keeps its weights.")]
Engine = Annotated[
    Engines,
    typer.Option("--engine", help="What adds up the rows; duckdb uses all cores: Parquet, CSV and JSON."),
]
Passes = Annotated[
    int, typer.Option("--passes", help="Read the data so often: 1 is SEFR, 10 about a linear SVM.", min=1)
]
Out = Annotated[str | None, typer.Option("--output", "-o", help="The file to write.", show_default=False)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Answer as JSON on standard output.")]


def names(text: str) -> list[str]:
    """Return the columns in a list such as a,b,c.

    Examples
    --------
    >>> names("age, weight")
    ['age', 'weight']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def scale_of(text: str) -> Any:
    """Return what ``--scale`` means to the classifier."""
    if text in ("minmax", "none"):
        return None if text == "none" else text
    try:
        low, high = (float(side) for side in text.split(":"))
    except ValueError:
        raise typer.BadParameter(f"--scale takes minmax, none or LOW:HIGH, not {text!r}") from None
    return low, high


def delimiter_of(text: str | None) -> str | None:
    """Return the delimiter, with the words that shells make hard to type."""
    if text is None:
        return None
    char = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}.get(text, text)
    if len(char) != 1 or not char.isascii():
        raise typer.BadParameter(f"--delimiter takes one character, or tab, not {text!r}")
    return char


def reading(format: Any, delimiter: str | None, no_header: bool) -> dict[str, Any]:
    """Return the options of ``open_dataset``."""
    return {
        "format": None if format is None else format.value,
        "delimiter": delimiter_of(delimiter),
        "header": not no_header,
    }


def check_writable(path: str) -> None:
    """Complain of a folder that does not exist before any work is done."""
    parent = Path(path).resolve().parent
    if not parent.is_dir():
        raise FileNotFoundError(2, "there is no such folder to write to", str(parent))
