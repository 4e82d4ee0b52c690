"""Options that several commands share: each is described once, and those that belong together are one value.

A command has a parameter of such a value, of which :func:`spread` makes the options. Settings of a model are
declared in ``sefr._system.declarations``. This module and those of the commands import nothing heavy at their
top, but in the functions that need it: the shell asks them for completions.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum, StrEnum
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
import typer.core

from .._system import declarations as declared
from .help_drawing import load_help_drawing

if TYPE_CHECKING:
    from .._system.types import Fields
    from .screen import Screen


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the options of the values among its parameters, instead of them.

    An option that the command describes itself is left out of the value.
    """
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    parameters: dict[str, inspect.Parameter] = {}
    values: dict[str, tuple[Any, list[str]]] = {}
    for name, parameter in own.items():
        kind = hints[name]
        if not is_dataclass(kind):
            parameters[name] = parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)
            continue
        types = get_type_hints(kind, include_extras=True)
        options = [f for f in fields(kind) if hasattr(types[f.name], "__metadata__") and f.name not in own]
        values[name] = kind, [f.name for f in options]
        for f in options:
            parameters[f.name] = inspect.Parameter(
                f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=types[f.name]
            )

    @wraps(command)
    def spread_out(**given: Any) -> None:
        built = {name: kind(**{key: given.pop(key) for key in keys}) for name, (kind, keys) in values.items()}
        command(**given, **built)

    spread_out.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    spread_out.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return spread_out


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _setting(own: declared.Declaration, more: str = "", **options: Any) -> Any:
    """Return the option of a setting, as it is declared."""
    return _of_training(
        _option(own.name), help=f"{own.meaning} {more}".strip(), min=own.low, max=own.high, **options
    )


COLUMNS, TRAINING = "Columns and rows", "How to train"
READING, OUTPUT = "How files are read", "What is printed"
# An option of each of these groups.
_of_columns, _of_training, _of_reading, _of_printing = (
    partial(typer.Option, rich_help_panel=panel) for panel in (COLUMNS, TRAINING, READING, OUTPUT)
)

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
TYPE = re.compile(r"<(int|float|str|list)\b[^|]*>")  # as typer shows it, but no words to choose from
NAMES = {"int": "NUMBER", "float": "NUMBER", "str": "TEXT", "list": "TEXT"}
MODEL_OPENING = b'{\n  "format": "sefr model",'  # of sefr.model_file; a test compares


class _PlainHelp:
    """A command whose help names values in plain words: typer would show ``<bool>`` and ``<list[str]>``."""

    def get_params(self, ctx: Any) -> Any:
        """Return the arguments and options, also those that typer adds."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.param_type_name == "argument":
                param.display_type_rich = lambda ctx: None  # its name and its help say enough
            elif param.metavar is None and getattr(param, "is_flag", False):
                param.metavar = FLAG
            elif param.metavar is None and (kind := TYPE.match(_shown_type(param, ctx))):
                param.metavar = NAMES[kind[1]]
        return params

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Draw the help."""
        load_help_drawing()
        super().format_help(ctx, formatter)  # type: ignore[misc]


def _shown_type(param: Any, ctx: Any) -> str:
    """Return the type that typer would show; older versions have their own words."""
    return str(param.display_type_rich(ctx)) if hasattr(param, "display_type_rich") else ""


class Command(_PlainHelp, typer.core.TyperCommand):
    """One command."""


class Group(_PlainHelp, typer.core.TyperGroup):
    """Several commands under one name."""


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

Data = Annotated[list[str], typer.Argument(help=FILES, metavar="DATA...", callback=existing)]
OneModel = Annotated[str, typer.Argument(help="A .sefr file.", metavar="MODEL", callback=existing)]
MaybeLabel = Annotated[
    str | None, typer.Option("--label", "-l", help="The column to predict.", metavar="COLUMN")
]
Once = Annotated[
    str | None,
    typer.Option(
        "--once",
        help="A name for these rows, so that they are learned only once; content: their digest.",
        metavar="ID",
    ),
]
SkipUnlabelled = Annotated[bool, _of_columns("--skip-unlabelled", help="Leave out rows without a label.")]
Weights = Annotated[
    WeightType | None,
    typer.Option(
        "--weights", help="Type of the weights on a board. Without it: int8; of numbers with bins int16."
    ),
]
Values = Annotated[
    ValueType | None,
    typer.Option(
        "--input", help="Type of the values on a board. Without it: the smallest that holds what was learned."
    ),
]
Engine = Annotated[
    Engines,
    _of_reading(
        "--engine", help="What reads the rows. duckdb uses all cores and reads Parquet, CSV and JSON."
    ),
]
Out = Annotated[str | None, typer.Option("--output", "-o", help="The file to write.", metavar="FILE")]
Quiet = Annotated[bool, _of_printing("--quiet", "-q", help="Print errors only.")]
Json = Annotated[bool, _of_printing("--json", help="Print the result as JSON.")]


@dataclass(frozen=True)
class ReadingOptions:
    """How files are read."""

    format: Annotated[Format | None, _of_reading(help="The format, if the file name does not show it.")] = (
        None
    )
    delimiter: Annotated[
        str | None, _of_reading(help="What separates the columns of CSV.", metavar="CHAR")
    ] = None
    no_header: Annotated[
        bool,
        _of_reading(
            "--no-header", help="CSV without column names: they are x0, x1, ...; --label -1 is the last."
        ),
    ] = False
    encoding: Annotated[
        str | None,
        _of_reading(help="Of text, if it is not UTF-8: cp1252, utf-16.", metavar="NAME"),
    ] = None
    decimal: Annotated[
        str | None,
        _of_reading(
            help="Decimal point of CSV. Commas are noticed if columns are not separated by commas.",
            metavar="CHAR",
        ),
    ] = None

    def __post_init__(self) -> None:
        delimiter_of(self.delimiter)  # wrong usage is said before any work is done
        if self.decimal not in (None, ".", ","):
            raise typer.BadParameter(f"--decimal takes . or ,, not {self.decimal!r}")
        if self.encoding is not None:
            _check_encoding(self.encoding)

    @property
    def is_plain(self) -> bool:
        """Whether the files' names tell it all."""
        return self == ReadingOptions()

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
            dates=like and like.dates,
        )

    def arguments(self) -> list[str]:
        """Return the options that say the same again."""
        given = [] if self.format is None else ["--format", self.format.value]
        for name in ("delimiter", "encoding", "decimal"):
            given += [f"--{name}", value] if (value := getattr(self, name)) is not None else []
        return given + ["--no-header"] * self.no_header


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns and rows are learned."""

    label: Annotated[str, typer.Option("--label", "-l", help="The column to predict.", metavar="COLUMN")] = ""
    features: Annotated[
        str,
        _of_columns(help="Columns to learn from: a,b,c. All others are left out.", metavar="COLUMNS"),
    ] = ""
    drop: Annotated[str, _of_columns(help="Columns to leave out: a,b,c.", metavar="COLUMNS")] = ""
    categories: Annotated[
        str,
        _of_columns(
            help="Columns to learn as categories: a,b,c or all. Text columns with few values are anyway.",
            metavar="COLUMNS",
        ),
    ] = ""
    drop_text: Annotated[bool, _of_columns("--drop-text", help="Leave out all columns of text or dates.")] = (
        False
    )
    skip_unlabelled: SkipUnlabelled = False
    strict: Annotated[
        bool,
        _of_columns("--strict", help="Refuse text, dates and empty cells instead of deciding what to do."),
    ] = False
    survey: Any = None  # what a look at the table decided, of sefr.files.survey

    def surveyed(self, table: Any) -> ColumnOptions:
        """Return the choice with what a look at the table decides; a strict one stays as it is."""
        if self.strict or table.sparse:
            return self
        from ..files.survey import survey

        label, hot = table.label_name(self.label), names(self.categories)
        chosen = self._chosen(table, label)
        if "all" in hot:
            hot = [name for name in chosen if name in table.texts()]
        found = survey(table, label, chosen, names(self.features), hot)
        table.split_dates(found.dates)
        return replace(self, survey=found)

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
            dropped += [*found.left_out, *found.dates]
            hot = [name for name in hot if name != "all"]
            hot += [name for name in found.categories if name not in hot]
            table.skip_unlabelled = table.skip_unlabelled or found.unlabelled > 0
        chosen = [
            part
            for name in names(self.features)
            for part in (found.parts_of(name) if found is not None else [name])
            if part not in dropped
        ]
        if found is not None and found.left_out and not chosen and {label, *dropped} >= set(table.columns):
            from ..files.reader import SourceError

            raise SourceError(
                f"{table.readers[0].name}: no column is left for the features; left out: {found.reasons()}. "
                "--features learns the columns it names"
            )
        recipe = table.recipe(label, chosen, dropped, hot, coded=coded)
        if found is None:
            return recipe
        return replace(
            recipe,
            left_out=dict(found.left_out),
            dates=dict(found.dates),
            skip_unlabelled=table.skip_unlabelled,
        )

    def arguments(self) -> list[str]:
        """Return the options that say the same again."""
        given = ["--label", self.label]
        for name in ("features", "drop", "categories"):
            given += [f"--{name}", getattr(self, name)] if getattr(self, name) else []
        given += ["--drop-text"] * self.drop_text + ["--skip-unlabelled"] * self.skip_unlabelled
        return given + ["--strict"] * self.strict


@dataclass(frozen=True)
class TrainingOptions:
    """What the model is told. Without a choice of how to train it is ``--auto``."""

    task: Annotated[
        Task | None,
        _of_training(
            help="Without it, numbers with fractions or more than 30 different ones are predicted as numbers."
        ),
    ] = None
    auto: Annotated[bool, _setting(declared.AUTO, "The default.")] = False
    paper: Annotated[
        bool,
        _of_training(
            "--paper",
            help="One pass, as in the SEFR paper: the fastest and smallest; update, merge, forget are exact.",
        ),
    ] = False
    exact: Annotated[
        bool,
        _of_training(
            "--exact",
            help="--moments 2: far more accurate than the paper, and update, merge, forget are exact.",
        ),
    ] = False
    passes: Annotated[int | None, _setting(declared.PASSES)] = None
    bins: Annotated[int | None, _setting(declared.BINS)] = None
    interactions: Annotated[int | None, _setting(declared.INTERACTIONS)] = None
    moments: Annotated[int | None, _setting(declared.MOMENTS, "See --exact.", metavar="NUMBER")] = None
    missing: Annotated[
        Missing | None, _setting(declared.MISSING, "Without it, left out, unless --strict.")
    ] = None
    class_weight: Annotated[ClassWeight, _setting(declared.CLASS_WEIGHT)] = ClassWeight.none
    scale: Annotated[str, _setting(declared.SCALE, metavar="SCALE")] = declared.SCALE.default
    epsilon: Annotated[float, _setting(declared.EPSILON)] = declared.EPSILON.default

    def __post_init__(self) -> None:
        """Complain of options that exclude each other, before any work is done."""
        if self.interactions is not None and not self.cuts:
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
    def is_one_pass(self) -> bool:
        """Whether classes are learned from the sums of features as they are."""
        return not self.cuts and bool(self.paper or self.exact or self.moments or self.passes == 1)

    @property
    def cuts(self) -> bool:
        """Whether features are cut into bins, in which categories are coded instead of one-hot."""
        return self.is_auto or self.bins is not None

    def from_sums(self) -> TrainingOptions:
        """Return the settings if there are only the sums of rows, and ``--auto`` is not possible."""
        return replace(self, paper=True) if self.is_default else self

    def surveyed(self, survey: Any) -> TrainingOptions:
        """Return the settings for a table that was looked at: empty cells are missing values."""
        if self.missing is not None or survey is None or not survey.may_miss_values:
            return self
        return replace(self, missing=Missing.ignore)

    def _params(self, of: Any) -> Fields:
        """Return those of the parameters that an estimator has, of what it says are its settings."""
        from ..settings import kinds

        usual = {name: default for name, default, kind in kinds(of) if kind.trained}
        given = vars(self) | {
            "missing": (self.missing or Missing.error).value,
            "scale": scale_of(self.scale),
            "class_weight": None if self.class_weight is ClassWeight.none else self.class_weight.value,
            "moments": 2 if self.exact else self.moments or (1 if (self.passes or 1) > 1 else None),
            "auto": self.is_auto,
        }
        return {name: usual[name] if (value := given[name]) is None else value for name in usual}

    def params(self) -> Fields:
        """Return the parameters of the classifier; a wrong one is an error."""
        from ..classifier import SEFRClassifier
        from ..settings import Settings

        params = self._params(Settings)
        SEFRClassifier(**params).check_params()
        return params

    def number_params(self) -> Fields:
        """Return the parameters of the regressor; an option that only classes have is an error."""
        from ..regressor import SEFRRegressor
        from ..settings import NumberSettings

        params = self._params(NumberSettings)
        given = {**self._given(), **({"paper": True} if self.paper else {})}
        wrong = [_option(name) for name in given if name not in params]
        if wrong:
            raise typer.BadParameter(f"{wrong[0]} goes with classes, not with numbers: leave it out")
        try:
            SEFRRegressor(**params).check_params()
        except ValueError as error:
            raise typer.BadParameter(f"of numbers, {error}") from None
        return params

    def _given(self) -> Fields:
        """Return the settings that differ from what is usual."""
        chosen = ("task", "auto", "paper", "exact")
        return {
            f.name: value
            for f in fields(self)
            if f.name not in chosen and (value := getattr(self, f.name)) != f.default
        }

    def arguments(self) -> list[str]:
        """Return the options that say the same again."""
        given = []
        for name, value in self._given().items():
            given += [_option(name), value.value if isinstance(value, Enum) else str(value)]
        given += [f"--{name}" for name in ("auto", "paper", "exact") if getattr(self, name)]
        return given + ([] if self.task is None else ["--task", self.task.value])


@dataclass(frozen=True)
class PrintingOptions:
    """What is printed, for whom."""

    quiet: Quiet = False
    json: Json = False

    def screen(self, output: str | None = None) -> Screen:
        """Return the screen; ``output`` is the file that is written, which may be standard output."""
        from .screen import Screen

        return Screen(quiet=self.quiet, as_json=self.json, output=output)


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
