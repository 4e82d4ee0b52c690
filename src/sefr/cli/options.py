"""Options that several commands share: each is described once, and those that belong together are one value.

This module and those of the commands import nothing heavy at their top: the shell asks them for completions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from .._system.types import Fields


FORMATS = ("csv", "tsv", "parquet", "arrow", "numpy", "arff", "libsvm")  # of sefr.files; a test compares
Format = Enum("Format", {name: name for name in FORMATS}, type=str)  # type: ignore[misc]


class Missing(StrEnum):
    """What an empty cell means."""

    error = "error"
    ignore = "ignore"


class ClassWeight(StrEnum):
    """How much the rows of each class count."""

    none = "none"
    balanced = "balanced"


class WeightType(StrEnum):
    """How a board keeps its weights."""

    int8 = "int8"
    int16 = "int16"


class ValueType(StrEnum):
    """What the values of a record are on a board."""

    uint8 = "uint8"
    int16 = "int16"
    int32 = "int32"
    float = "float"


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
DropText = Annotated[
    bool, typer.Option("--drop-text", help="Leave out every column of text or dates that is no category.")
]
Once = Annotated[
    str | None,
    typer.Option(
        "--once",
        help="Name these rows (content: by their digest), so that they count once and a retry is safe.",
        metavar="ID",
        show_default=False,
    ),
]
SkipUnlabelled = Annotated[
    bool, typer.Option("--skip-unlabelled", help="Leave out rows without a label; else they are an error.")
]
Categories = Annotated[
    str,
    typer.Option(
        "--categories",
        help="Columns of text to learn from, one feature per value, with bins one bin per value; or all.",
        metavar="COLUMNS",
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
    Missing, typer.Option("--missing", help="An empty cell: an error, or left out of sums and scores.")
]
Scale = Annotated[
    str,
    typer.Option(
        "--scale", help="minmax learns each feature's range; LOW:HIGH is a known one; none.", metavar="SCALE"
    ),
]
Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon", help="Keeps the weights of the SEFR paper (its equation 5) from dividing by zero.", min=0
    ),
]
Weights = Annotated[WeightType, typer.Option("--weights", help="How a board keeps its weights.")]
Values = Annotated[
    ValueType | None,
    typer.Option(
        "--input",
        help="Type of the values on a board; the smallest that holds what was learned.",
        show_default=False,
    ),
]
Balance = Annotated[
    ClassWeight,
    typer.Option("--class-weight", help="balanced: every class counts the same, however rare it is."),
]
Engine = Annotated[
    Engines,
    typer.Option("--engine", help="What adds up the rows; duckdb uses all cores: Parquet, CSV and JSON."),
]
Passes = Annotated[
    int,
    typer.Option(
        "--passes", help="Read the data so often: 1 is the SEFR paper, 10 about a linear SVM.", min=1
    ),
]
Bins = Annotated[
    int | None,
    typer.Option(
        "--bins",
        help="Cut each feature into at most so many bins, such as 32: its effect may be any curve.",
        min=2,
        max=256,
        show_default=False,
    ),
]
Interactions = Annotated[
    int | None,
    typer.Option(
        "--interactions",
        help="With --bins: up to so many ferns, such as 60, each of cells that several features choose.",
        min=1,
        max=1000,
        show_default=False,
    ),
]
Out = Annotated[str | None, typer.Option("--output", "-o", help="The file to write.", show_default=False)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Answer as JSON on standard output.")]


@dataclass(frozen=True)
class Reading:
    """How files are read."""

    format: Any = None
    delimiter: str | None = None
    no_header: bool = False

    def __post_init__(self) -> None:
        delimiter_of(self.delimiter)  # wrong usage is said before any work is done

    @property
    def is_plain(self) -> bool:
        """Whether the files' names tell it all."""
        return self == Reading()

    def open(self, paths: list[str], *, reread: bool = False) -> Any:
        """Open files as one table; ``reread`` says that they will be read more than once."""
        from ..files import open_dataset

        return open_dataset(
            paths,
            format=None if self.format is None else self.format.value,
            delimiter=delimiter_of(self.delimiter),
            header=not self.no_header,
            reread=reread,
        )

    def arguments(self) -> list[str]:
        """Return the options that say the same again."""
        given = [] if self.format is None else ["--format", self.format.value]
        given += [] if self.delimiter is None else ["--delimiter", self.delimiter]
        return given + ["--no-header"] * self.no_header


@dataclass(frozen=True)
class Choice:
    """Which columns and rows are learned."""

    label: str
    features: str = ""
    drop: str = ""
    categories: str = ""
    drop_text: bool = False
    skip_unlabelled: bool = False

    def recipe(self, table: Any, *, coded: bool = False) -> Any:
        """Return how the columns of a table become features; categories are ``coded`` for bins."""
        from ..files.reader import NUMBER

        table.skip_unlabelled = self.skip_unlabelled
        label, hot = table.label_name(self.label), names(self.categories)
        dropped = names(self.drop)
        if self.drop_text and "all" not in hot:
            kept = {label, *hot, *dropped}
            dropped += [
                name
                for name in table.columns
                if name not in kept and any(p.columns.get(name, NUMBER) != NUMBER for p in table.readers)
            ]
        chosen = [n for n in names(self.features) if n not in dropped]
        return table.recipe(label, chosen, dropped, hot, coded=coded)

    def arguments(self) -> list[str]:
        """Return the options that say the same again."""
        given = ["--label", self.label]
        for name in ("features", "drop", "categories"):
            given += [f"--{name}", getattr(self, name)] if getattr(self, name) else []
        return given + ["--drop-text"] * self.drop_text + ["--skip-unlabelled"] * self.skip_unlabelled


@dataclass(frozen=True)
class Settings:
    """What the classifier is told."""

    missing: Missing = Missing.error
    scale: str = "minmax"
    epsilon: float = 1e-7
    class_weight: ClassWeight = ClassWeight.none
    bins: int | None = None
    interactions: int | None = None

    def __post_init__(self) -> None:
        if self.interactions is not None and self.bins is None:
            raise typer.BadParameter("--interactions goes with --bins, such as --bins 32")

    def params(self, **more: Any) -> Fields:
        """Return the parameters of the classifier; a wrong one is an error."""
        from ..classifier import SEFRClassifier

        params = {
            "missing": self.missing.value,
            "scale": scale_of(self.scale),
            "epsilon": self.epsilon,
            **more,
        }
        if self.bins is not None:
            params["bins"] = self.bins
        if self.interactions is not None:
            params["interactions"] = self.interactions
        if self.class_weight is not ClassWeight.none:
            params["class_weight"] = self.class_weight.value
        if unknown := set(params) - set(SEFRClassifier().get_params()):
            raise typer.BadParameter(f"this version has no setting {min(unknown)}")
        SEFRClassifier(**params).check_params()
        return params

    def arguments(self) -> list[str]:
        """Return the options that say the same again."""
        given = [] if self.missing is Missing.error else ["--missing", self.missing.value]
        given += [] if self.scale == "minmax" else ["--scale", self.scale]
        given += [] if self.epsilon == 1e-7 else ["--epsilon", repr(self.epsilon)]
        given += [] if self.bins is None else ["--bins", str(self.bins)]
        given += [] if self.interactions is None else ["--interactions", str(self.interactions)]
        weighted = self.class_weight is not ClassWeight.none
        return given + (["--class-weight", self.class_weight.value] if weighted else [])


def names(text: str) -> list[str]:
    """Return the columns in a list such as a,b,c.

    Examples
    --------
    >>> names("age, weight")
    ['age', 'weight']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def scale_of(text: str) -> str | tuple[float, float] | None:
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


def output_path(path: str) -> str:
    """Return the file to write; complain of a folder that does not exist before any work is done."""
    from .outcome import promise

    if path == "-":
        path = "/dev/stdout"
    try:
        os.stat(path)
    except FileNotFoundError:
        parent = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(parent):
            raise FileNotFoundError(2, "there is no such folder to write to", parent) from None
    promise(path)
    return path
