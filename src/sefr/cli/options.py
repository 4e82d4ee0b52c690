"""Options that several commands share: each is described once, and those that belong together are one value.

This module and those of the commands import nothing heavy at their top: the shell asks them for completions.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, replace
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


class Task(StrEnum):
    """What a label is: the name of a class, or a number."""

    classify = "classify"
    regress = "regress"


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


FLAG = ""  # typer would show <bool> in the help of an option without a value
MODEL_OPENING = b'{\n  "format": "sefr model",'  # of sefr.model_file; a test compares


def existing(paths: str | list[str] | None) -> Any:
    """Complain of a file that is not there, before anything heavy is imported."""
    for path in [paths] if isinstance(paths, str) else paths or []:
        special = path == "-" or "://" in path or any(char in path for char in "*?[")
        if not special and not os.path.lexists(path):
            raise FileNotFoundError(2, "no such file or folder", path)
    return paths


def refuse_swapped(model: str, data: list[str]) -> None:
    """Complain if what is given as the model is none, but one of the files is."""
    if _is_model(model):
        return
    found = next((path for path in data if _is_model(path)), None)
    if found is not None:
        raise ValueError(f"{model} is not a model, but {found} is: the model comes first, then the data")


def _is_model(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return os.path.isfile(path) and file.read(len(MODEL_OPENING)) == MODEL_OPENING
    except OSError:
        return False


def program() -> str:
    """Return what to type to call this command again: its name, or its path if the shell does not find it."""
    called = sys.argv[0]
    if os.path.basename(called) != "sefr" or os.path.dirname(called) == "":
        return "sefr"
    found = shutil.which("sefr")
    if found is not None and os.path.realpath(found) == os.path.realpath(called):
        return "sefr"
    beside = os.path.relpath(called)
    return called if beside.startswith("..") else beside


FILES = (
    "Files, folders or patterns: CSV, Parquet, Feather, Arrow, npy, npz, ARFF, libsvm. - is standard input."
)

Data = Annotated[
    list[str], typer.Argument(help=FILES, show_default=False, metavar="DATA...", callback=existing)
]
OneModel = Annotated[
    str, typer.Argument(help="A .sefr file.", show_default=False, metavar="MODEL", callback=existing)
]
Label = Annotated[str, typer.Option("--label", "-l", help="The column to predict.", metavar="COLUMN")]
MaybeLabel = Annotated[
    str | None,
    typer.Option("--label", "-l", help="The column to predict.", metavar="COLUMN", show_default=False),
]
Features = Annotated[
    str,
    typer.Option(
        "--features", help="Columns to learn from: a,b,c. All others are left out.", metavar="COLUMNS"
    ),
]
Drop = Annotated[str, typer.Option("--drop", help="Columns to leave out: a,b,c.", metavar="COLUMNS")]
DropText = Annotated[
    bool, typer.Option("--drop-text", help="Leave out all columns of text or dates.", metavar=FLAG)
]
Once = Annotated[
    str | None,
    typer.Option(
        "--once",
        help="A name for these rows, so that they are learned only once; content: their digest.",
        metavar="ID",
        show_default=False,
    ),
]
SkipUnlabelled = Annotated[
    bool, typer.Option("--skip-unlabelled", help="Leave out rows without a label.", metavar=FLAG)
]
Categories = Annotated[
    str,
    typer.Option(
        "--categories",
        help="Columns to learn as categories: a,b,c or all. Text columns with few values are anyway.",
        metavar="COLUMNS",
    ),
]
FileFormat = Annotated[
    Format | None,
    typer.Option("--format", help="The format, if the file name does not show it.", show_default=False),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", help="What separates the columns of CSV.", metavar="CHAR", show_default=False
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="CSV without column names: they are x0, x1, ...; --label -1 is the last.",
        metavar=FLAG,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", help="Of text, if it is not UTF-8: cp1252, utf-16.", metavar="NAME", show_default=False
    ),
]
DecimalPoint = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        help="Decimal point of CSV. Commas are noticed if columns are not separated by commas.",
        metavar="CHAR",
        show_default=False,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Refuse text, dates and empty cells instead of deciding what to do.", metavar=FLAG
    ),
]
MissingValues = Annotated[
    Missing | None,
    typer.Option(
        "--missing",
        help="An empty cell: an error, or left out of sums and scores (ignore, unless --strict).",
        show_default=False,
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        "--scale",
        help="Range of the features: minmax learns it, LOW:HIGH is known, none takes values as they are.",
        metavar="SCALE",
    ),
]
Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon", help="Keeps the weights of the SEFR paper (equation 5) from dividing by zero.", min=0
    ),
]
Weights = Annotated[WeightType, typer.Option("--weights", help="Type of the weights on a board.")]
Values = Annotated[
    ValueType | None,
    typer.Option(
        "--input",
        help="Type of the values on a board. Without it: the smallest that holds what was learned.",
        show_default=False,
    ),
]
Balance = Annotated[
    ClassWeight,
    typer.Option("--class-weight", help="balanced: rare classes count as much as frequent ones."),
]
Engine = Annotated[
    Engines,
    typer.Option(
        "--engine", help="What reads the rows. duckdb uses all cores and reads Parquet, CSV and JSON."
    ),
]
Auto = Annotated[
    bool,
    typer.Option(
        "--auto",
        help="The default: lines, curves and interactions, weighed on held-out rows; nothing to choose.",
        metavar=FLAG,
    ),
]
Paper = Annotated[
    bool,
    typer.Option(
        "--paper",
        help="One pass, as in the SEFR paper: the fastest and smallest; update, merge, forget are exact.",
        metavar=FLAG,
    ),
]
Exact = Annotated[
    bool,
    typer.Option(
        "--exact",
        help="--moments 2: far more accurate than the paper, and update, merge, forget are exact.",
        metavar=FLAG,
    ),
]
WhichTask = Annotated[
    Task | None,
    typer.Option(
        "--task",
        help="Without it, numbers with fractions or more than 30 different ones are predicted as numbers.",
        show_default=False,
    ),
]
Passes = Annotated[
    int | None,
    typer.Option(
        "--passes",
        help="Passes over the data. 1: the SEFR paper; 10: about as accurate as logistic regression.",
        min=1,
        show_default=False,
    ),
]
Bins = Annotated[
    int | None,
    typer.Option(
        "--bins",
        help="Maximum number of bins per feature, e.g. 32 (allows non-linear effects).",
        min=2,
        max=256,
        show_default=False,
    ),
]
Interactions = Annotated[
    int | None,
    typer.Option(
        "--interactions",
        help="With --bins: maximum number of feature interactions, e.g. 60.",
        min=1,
        max=1000,
        show_default=False,
    ),
]
Moments = Annotated[
    int | None,
    typer.Option(
        "--moments",
        help="1 adds up features, as the SEFR paper does; 2 products of any two as well: see --exact.",
        min=1,
        max=2,
        metavar="NUMBER",
        show_default=False,
    ),
]
Out = Annotated[
    str | None,
    typer.Option("--output", "-o", help="The file to write.", metavar="FILE", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.", metavar=FLAG)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.", metavar=FLAG)]


@dataclass(frozen=True)
class Reading:
    """How files are read."""

    format: Any = None
    delimiter: str | None = None
    no_header: bool = False
    encoding: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        delimiter_of(self.delimiter)  # wrong usage is said before any work is done
        if self.decimal not in (None, ".", ","):
            raise typer.BadParameter(f"--decimal takes . or ,, not {self.decimal!r}")
        if self.encoding is not None:
            _check_encoding(self.encoding)

    @property
    def is_plain(self) -> bool:
        """Whether the files' names tell it all."""
        return self == Reading()

    def open(self, paths: list[str], *, reread: bool = False, like: Any = None) -> Any:
        """Open files as one table; ``reread`` says that they will be read more than once.

        ``like`` is the recipe of a model: text is read as it was for training, unless options say otherwise.
        """
        from ..files import open_dataset

        return open_dataset(
            paths,
            format=None if self.format is None else self.format.value,
            delimiter=delimiter_of(self.delimiter),
            header=not self.no_header,
            reread=reread,
            encoding=self.encoding,
            decimal=self.decimal or (like and like.decimal),
            usual_encoding=like and like.encoding,
        )

    def arguments(self) -> list[str]:
        """Return the options that say the same again."""
        given = [] if self.format is None else ["--format", self.format.value]
        for name in ("delimiter", "encoding", "decimal"):
            given += [f"--{name}", value] if (value := getattr(self, name)) is not None else []
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
    strict: bool = False
    survey: Any = None  # what a look at the table decided, of sefr.files.survey

    def surveyed(self, table: Any) -> Choice:
        """Return the choice with what a look at the table decides; a strict one stays as it is."""
        if self.strict or table.sparse:
            return self
        from ..files.survey import survey

        label, hot = table.label_name(self.label), names(self.categories)
        chosen = self._chosen(table, label)
        if "all" in hot:
            hot = [name for name in chosen if name in table.texts()]
        return replace(self, survey=survey(table, label, chosen, [*names(self.features), *hot]))

    def _chosen(self, table: Any, label: str) -> list[str]:
        """Return the columns that may become features."""
        dropped = {label, *names(self.drop), *(self._texts(table, label) if self.drop_text else ())}
        return [n for n in names(self.features) or table.columns if n not in dropped and n in table.columns]

    def _texts(self, table: Any, label: str) -> list[str]:
        """Return the columns that ``--drop-text`` leaves out."""
        from ..files.reader import NUMBER

        kept = {label, *names(self.categories)}
        return [
            name
            for name in table.columns
            if name not in kept and any(p.columns.get(name, NUMBER) != NUMBER for p in table.readers)
        ]

    def recipe(self, table: Any, *, coded: bool = False) -> Any:
        """Return how the columns of a table become features; categories are ``coded`` for bins."""
        table.skip_unlabelled = self.skip_unlabelled
        label, hot = table.label_name(self.label), names(self.categories)
        dropped = names(self.drop)
        if self.drop_text and "all" not in hot:
            dropped += [name for name in self._texts(table, label) if name not in dropped]
        found = self.survey
        if found is not None:
            dropped += found.left_out
            hot = [name for name in hot if name != "all"]
            hot += [name for name in found.categories if name not in hot]
            table.skip_unlabelled = table.skip_unlabelled or found.unlabelled > 0
        chosen = [n for n in names(self.features) if n not in dropped]
        recipe = table.recipe(label, chosen, dropped, hot, coded=coded)
        if found is None:
            return recipe
        return replace(recipe, left_out=dict(found.left_out), skip_unlabelled=table.skip_unlabelled)

    def arguments(self) -> list[str]:
        """Return the options that say the same again."""
        given = ["--label", self.label]
        for name in ("features", "drop", "categories"):
            given += [f"--{name}", getattr(self, name)] if getattr(self, name) else []
        given += ["--drop-text"] * self.drop_text + ["--skip-unlabelled"] * self.skip_unlabelled
        return given + ["--strict"] * self.strict


@dataclass(frozen=True)
class Settings:
    """What the model is told. Without a choice of how to train it is ``--auto``."""

    missing: Missing | None = None
    scale: str = "minmax"
    epsilon: float = 1e-7
    class_weight: ClassWeight = ClassWeight.none
    passes: int | None = None
    bins: int | None = None
    interactions: int | None = None
    moments: int | None = None
    auto: bool = False
    paper: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        """Complain of options that exclude each other, before any work is done."""
        if self.interactions is not None and self.bins is None:
            raise typer.BadParameter("--interactions needs --bins, for example --bins 32")
        asked = [f"--{name}" for name in ("auto", "paper", "exact") if getattr(self, name)]
        if len(asked) > 1:
            raise typer.BadParameter(f"{' and '.join(asked)} exclude each other")
        if self.dials and (self.auto or self.paper):
            what = "chooses settings itself" if self.auto else "is one pass without other settings"
            raise typer.BadParameter(
                f"{asked[0]} {what}: leave out {' and '.join(self.dials)}, or {asked[0]}"
            )
        if self.exact and self.moments == 1:
            raise typer.BadParameter("--exact is --moments 2: leave out --moments")
        if self.order == 2 and (self.passes or 1) > 1:
            name = "--exact" if self.exact else "--moments"
            raise typer.BadParameter(f"--moments 2 is solved from one pass: leave out --passes or {name}")

    @property
    def dials(self) -> list[str]:
        """The options that were given and choose how accurate a model is, and what it costs."""
        named = ("passes", "bins", "interactions", "moments")
        return [f"--{name}" for name in named if getattr(self, name) is not None]

    @property
    def is_default(self) -> bool:
        """Whether nothing was said about how to train."""
        return not (self.dials or self.auto or self.paper or self.exact)

    @property
    def is_auto(self) -> bool:
        """Whether ``auto=True`` is what trains."""
        return self.auto or self.is_default

    @property
    def order(self) -> int:
        """What is added up: features, or products of any two as well."""
        return 2 if self.exact else self.moments or 1

    @property
    def cuts(self) -> bool:
        """Whether features are cut into bins, in which categories are coded instead of one-hot."""
        return self.is_auto or self.bins is not None

    def from_sums(self) -> Settings:
        """Return the settings where there are only the sums of rows, and ``--auto`` is not possible."""
        return replace(self, paper=True) if self.is_default else self

    def surveyed(self, survey: Any) -> Settings:
        """Return the settings for a table that was looked at: empty cells are missing values."""
        if self.missing is not None or survey is None or not survey.may_miss_values:
            return self
        return replace(self, missing=Missing.ignore)

    def params(self, **more: Any) -> Fields:
        """Return the parameters of the classifier; a wrong one is an error."""
        from ..classifier import SEFRClassifier

        params = {
            "missing": (self.missing or Missing.error).value,
            "scale": scale_of(self.scale),
            "epsilon": self.epsilon,
            "class_weight": None if self.class_weight is ClassWeight.none else self.class_weight.value,
            "passes": self.passes or 1,
            "bins": self.bins,
            "interactions": self.interactions,
            "moments": self.order,
            "auto": self.is_auto,
            **more,
        }
        SEFRClassifier(**params).check_params()
        return params

    def number_params(self) -> Fields:
        """Return the parameters of the regressor; an option that only classes have is an error."""
        from ..regressor import SEFRRegressor

        of_classes = {
            "--paper": self.paper,
            "--moments 1": self.moments == 1,
            "--passes": (self.passes or 1) > 1,
            "--class-weight": self.class_weight is not ClassWeight.none,
            "--epsilon": self.epsilon != 1e-7,
        }
        if wrong := [option for option, given in of_classes.items() if given]:
            raise typer.BadParameter(f"{wrong[0]} goes with classes, not with numbers: leave it out")
        params: Fields = {
            "missing": (self.missing or Missing.error).value,
            "scale": scale_of(self.scale),
            "bins": self.bins,
            "interactions": self.interactions,
            "moments": 2,
            "auto": self.is_auto,
        }
        SEFRRegressor(**params).check_params()
        return params

    def arguments(self) -> list[str]:
        """Return the options that say the same again."""
        given = [] if self.missing is None else ["--missing", self.missing.value]
        given += [] if self.scale == "minmax" else ["--scale", self.scale]
        given += [] if self.epsilon == 1e-7 else ["--epsilon", repr(self.epsilon)]
        for name in ("passes", "bins", "interactions", "moments"):
            value = getattr(self, name)
            given += [] if value is None else [f"--{name}", str(value)]
        given += [f"--{name}" for name in ("auto", "paper", "exact") if getattr(self, name)]
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


def _check_encoding(name: str) -> None:
    """Complain of an encoding that Python does not have, or that is none of text."""
    import codecs

    try:
        is_text = codecs.lookup(name)._is_text_encoding
    except (LookupError, ValueError):
        is_text = False
    if not is_text:
        raise typer.BadParameter(f"--encoding takes cp1252, utf-16 or the like, not {name!r}")


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
