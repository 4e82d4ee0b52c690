"""Labels as they come in files, and the classes that they turn out to be.

A format that does not tell "1" from 1 (CSV, ARFF, libsvm) is read as text; only when all labels are known
are those of digits taken as integers. Whole numbers are integers in every format, and stay exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from .._rows.labels import encode
from .._summary.summary import Summary
from .._system.types import Array, Codes
from .reader import Reader, SourceError

CANONICAL = re.compile(r"-?(0|[1-9][0-9]{0,17})")
DIGITS = re.compile(r"[+-]?[0-9]{1,20}")
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
EXACT = 2**53  # float64 holds every whole number up to here
MOST_CLASSES = 10_000
LONGEST_LABEL = 1_000
Where = Callable[[int], str]
Origin = Callable[[int], tuple[Reader, int]]


def integer_of(label: object) -> int | None:
    """Return the whole number that a label is, to the last digit; None if it is none.

    Examples
    --------
    >>> integer_of("9007199254740993"), integer_of("+1"), integer_of("2.0"), integer_of(3.0)
    (9007199254740993, 1, 2, 3)
    >>> integer_of("1.7"), integer_of("1_0"), integer_of("inf"), integer_of("1e300"), integer_of(True)
    (None, None, None, None, None)
    """
    if isinstance(label, str):
        if DIGITS.fullmatch(label):
            return int(label)
        number = float(label) if DECIMAL.fullmatch(label) else np.nan
        return int(number) if abs(number) < EXACT and number.is_integer() else None
    if isinstance(label, float):
        return int(label) if label.is_integer() else None
    return label if isinstance(label, int) and not isinstance(label, bool) else None


def is_label(kind: pa.DataType) -> bool:
    """Say whether a column of an Arrow type is what ``as_label`` returns of it."""
    return bool(pa.types.is_int64(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind))


def as_label(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column of a typed format as int64, booleans or text, exactly.

    One that holds something else, a fraction for instance, becomes float64.
    """
    kind = column.type
    if is_label(kind):
        return column
    if pa.types.is_dictionary(kind):
        return as_label(column.cast(kind.value_type))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string())
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        pass
    try:
        return column.cast(pa.float64(), safe=False)
    except pa.ArrowException:
        raise SourceError(f"values of type {kind} are neither text nor numbers") from None


def coded(column: pa.ChunkedArray, name: str, where: Where, *, typed: bool) -> tuple[Array, Codes]:
    """Return the sorted distinct labels of some rows and each row's position among them.

    ``where`` gives the place of a row. A row without a label and a fraction as a label are errors.
    """
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise SourceError(f"{where(row)}: there is no label in column {name!r}")
    exact = as_label(column)
    if pa.types.is_int64(exact.type):
        distinct, codes = encode(exact.to_numpy())
        if len(distinct) > MOST_CLASSES:
            raise _too_many(len(distinct), name, where(0))
        labels: Array = np.array(distinct.tolist())
        return (labels, codes) if typed else _sorted_as_text(labels, codes)
    encoded = pa.chunked_array([exact.combine_chunks()]).dictionary_encode().chunk(0)
    codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int32)
    values = encoded.dictionary.to_pylist()
    if len(values) > MOST_CLASSES:
        raise _too_many(len(values), name, where(0))
    for code, value in enumerate(values):
        if fault := _fault(value, name):
            raise SourceError(f"{where(int(np.argmax(codes == code)))}: {fault}")
    distinct, places = np.unique(np.array(values), return_inverse=True)
    return distinct, places.astype(np.int32)[codes]


class SeenLabels:
    """The labels seen so far and where each was seen first."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.first: dict[Any, tuple[Reader, int]] = {}

    def add(self, classes: Array, codes: Codes, origin: Origin, n_features: int) -> None:
        """Note the labels of some rows; too many different ones to be classes are an error."""
        # One sum per class and feature: 128 MB at most, 32 MB if there are more than 100 classes.
        few, many = (1 << 24) // max(1, n_features), (1 << 22) // max(1, n_features)
        most = min(MOST_CLASSES, max(2, min(100, few), many))
        for code, label in enumerate(classes.tolist()):
            if label not in self.first:
                self.first[label] = origin(int(np.argmax(codes == code)))
                if len(self.first) > most:
                    raise _too_many(len(self.first), self.name, self.place(label))

    def place(self, label: object) -> str:
        """Return where a label was seen first."""
        reader, record = self.first[label]
        return reader.place(record)

    def final(self, summary: Summary, *, typed: bool) -> Array:
        """Return the labels of a Summary as what they turned out to be, in the same order."""
        labels = summary.classes.tolist()
        if len(labels) == 1:
            reader = self.first[labels[0]][0]
            raise SourceError(
                f"{reader.name}: column {self.name!r} is {labels[0]!r} in every row: two classes are needed"
            )
        values = None if typed else final_labels(labels)
        if values is None and not typed:
            fraction = next(label for label in labels if not float(label).is_integer())
            raise SourceError(f"{self.place(fraction)}: {_fraction(self.name, fraction)}")
        if len(labels) > 20 and len(labels) > summary.n_rows / 2:
            raise _too_many(len(labels), self.name, self.place(labels[0]), int(summary.n_rows))
        return summary.classes if typed else np.array(values)


def final_labels(labels: list[str]) -> list[str] | list[int] | list[bool] | None:
    """Return labels read as text as what they are: integers, booleans, text; None if they are fractions."""
    if all(CANONICAL.fullmatch(label) for label in labels):
        return [int(label) for label in labels]
    lowered = [label.lower() for label in labels]
    if set(lowered) == {"true", "false"} and len(labels) == 2:
        return [label == "true" for label in lowered]
    if not all(DECIMAL.fullmatch(label) for label in labels):
        return labels
    if any(not float(label).is_integer() for label in labels):
        return None
    numbers = [integer_of(label) for label in labels]
    whole = [number for number in numbers if number is not None and -(2**63) <= number < 2**63]
    return whole if len(set(whole)) == len(labels) else labels


class UnlikeLabelError(SourceError):
    """A label of another kind than a model's; ``code`` is its position among the labels given."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def like_the_model(classes: Array, known: Array, name: str, *, typed: bool) -> Array:
    """Return labels of a file as labels of the kind that a model has, exactly; in the same order."""
    values: list[object] = []
    for code, label in enumerate(classes.tolist()):
        value = _like(label, known.dtype, typed=typed)
        if value is None:
            like = known.tolist()[0]
            raise UnlikeLabelError(
                f"column {name!r} has the label {label!r}, but the model's are like {like!r}", code
            )
        values.append(value)
    return np.array(values, dtype=None if known.dtype.kind in "UO" else known.dtype)


def _like(label: object, dtype: np.dtype[Any], *, typed: bool) -> Any:
    """Return a label as a value of another type; None if it is none of that type."""
    is_text = isinstance(label, str)
    if dtype.kind in "iuf":
        number = None if is_text and typed else integer_of(label)
        if number is None or dtype.kind == "f":
            return None if number is None or int(dtype.type(number)) != number else number
        bounds = np.iinfo(dtype)
        return number if bounds.min <= number <= bounds.max else None
    if dtype.kind == "b":
        text = str(label).lower()
        return text == "true" if text in ("true", "false") else None
    return label if is_text and dtype.kind in "UO" else None


def _sorted_as_text(labels: Array, codes: Codes) -> tuple[Array, Codes]:
    distinct, places = np.unique(labels.astype(str), return_inverse=True)
    return distinct, places.astype(np.int32)[codes]


def _fault(value: object, name: str) -> str | None:
    """Return what makes a value no label; None if nothing does."""
    if isinstance(value, float):
        if np.isfinite(value) and not value.is_integer():
            return _fraction(name, value)
        if -(2.0**63) <= value < 2.0**63:
            return None  # another value of the column is at fault
        return f"column {name!r} has {value}: a label is text or a whole number from -2^63 to 2^63 - 1"
    if isinstance(value, str):
        if "\0" in value:
            return f"column {name!r} has a label with a NUL character"
        if len(value) > LONGEST_LABEL:
            return f"column {name!r} has a label of {len(value):,} characters: is it a class?"
    return None


def _fraction(name: str, value: object) -> str:
    return (
        f"column {name!r} has {value}, a fraction, and a label names a class: --task regress predicts numbers"
    )


def _too_many(count: int, name: str, place: str, rows: int | None = None) -> SourceError:
    among = f" in {rows} rows" if rows else ""
    return SourceError(
        f"{place}: column {name!r} has {count} different labels{among}: is it a class, or a number or a name?"
    )
