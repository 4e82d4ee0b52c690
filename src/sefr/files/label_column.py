"""Labels as they come in files, and the classes that they turn out to be.

A format that does not tell "1" from 1 (CSV, ARFF) is read as text; only when all labels are known are those
of digits taken as integers. Whole numbers are integers in every format.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._rows.labels import Codes, encode
from .._summary.summary import Summary
from .part import Part, SourceError

INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
MOST_CLASSES = 10_000
Where = Callable[[int], str]
Origin = Callable[[int], tuple[Part, int]]


def coded(column: pa.ChunkedArray, name: str, where: Where, *, typed: bool) -> tuple[NDArray[Any], Codes]:
    """Return the sorted distinct labels of some rows and each row's position among them.

    ``where`` gives the place of a row. A row without a label and a fraction as a label are errors.
    """
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise SourceError(f"{where(row)}: there is no label in column {name!r}")
    if typed and pa.types.is_integer(column.type):
        distinct, codes = encode(column.to_numpy())
        if len(distinct) > MOST_CLASSES:
            raise _too_many(len(distinct), name, where(0))
        return np.array(distinct.tolist()), codes
    encoded = pa.chunked_array([column.combine_chunks()]).dictionary_encode().chunk(0)
    codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int32)
    values = encoded.dictionary.to_pylist()
    if len(values) > MOST_CLASSES:
        raise _too_many(len(values), name, where(0))
    if typed or pa.types.is_floating(column.type):
        for code, value in enumerate(values):
            if isinstance(value, float):
                if not value.is_integer():
                    row = int(np.argmax(codes == code))
                    raise SourceError(f"{where(row)}: {_continuous(name, value)}")
                values[code] = int(value)
        if not typed:
            values = [str(value) for value in values]
    distinct, places = np.unique(np.array(values), return_inverse=True)
    return distinct, places.astype(np.int32)[codes]


class Roll:
    """The labels seen so far and where each was seen first."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.first: dict[Any, tuple[Part, int]] = {}

    def add(self, classes: NDArray[Any], codes: Codes, origin: Origin, n_features: int) -> None:
        """Note the labels of some rows; too many different ones to be classes are an error."""
        most = min(MOST_CLASSES, max(100, (1 << 22) // max(1, n_features)))
        for code, label in enumerate(classes.tolist()):
            if label not in self.first:
                self.first[label] = origin(int(np.argmax(codes == code)))
                if len(self.first) > most:
                    raise _too_many(len(self.first), self.name, self.place(label))

    def place(self, label: Any) -> str:
        """Return where a label was seen first."""
        part, record = self.first[label]
        return part.place(record)

    def settled(self, summary: Summary, *, typed: bool) -> NDArray[Any]:
        """Return the labels of a Summary as what they turned out to be, in the same order."""
        labels = summary.classes.tolist()
        if len(labels) == 1:
            part = self.first[labels[0]][0]
            raise SourceError(
                f"{part.name}: column {self.name!r} is {labels[0]!r} in every row: two classes are needed"
            )
        values = None if typed else settled(labels)
        if values is None and not typed:
            fraction = next(label for label in labels if not float(label).is_integer())
            raise SourceError(f"{self.place(fraction)}: {_continuous(self.name, fraction)}")
        if len(labels) > 20 and len(labels) > summary.n_rows / 2:
            raise _too_many(len(labels), self.name, self.place(labels[0]), int(summary.n_rows))
        return summary.classes if typed else np.array(values)


def settled(labels: list[str]) -> list[Any] | None:
    """Return labels read as text as what they are: integers, booleans, text; None if they are fractions."""
    if all(INTEGER.fullmatch(label) for label in labels):
        return [int(label) for label in labels]
    lowered = [label.lower() for label in labels]
    if set(lowered) == {"true", "false"} and len(labels) == 2:
        return [label == "true" for label in lowered]
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        return labels
    if not all(number.is_integer() for number in numbers):
        return None
    exact = len(set(numbers)) == len(labels) and max(map(abs, numbers)) < 2**53
    return [int(number) for number in numbers] if exact else labels


def like_the_model(classes: NDArray[Any], known: NDArray[Any], name: str, *, typed: bool) -> NDArray[Any]:
    """Return labels of a file as labels of the kind that a model has; in the same order."""
    kind = known.dtype.kind
    labels = classes.tolist()
    if kind in "iuf" and not (typed and isinstance(labels[0], str)):
        try:
            numbers = (
                [float(label) for label in labels] if kind == "f" else [int(float(label)) for label in labels]
            )
            return np.array(numbers, dtype=known.dtype)
        except ValueError:
            pass
    elif kind == "b" and (values := _booleans(labels)) is not None:
        return np.array(values)
    elif kind in "UO":
        return (
            np.array([str(label) for label in labels]) if not typed or isinstance(labels[0], str) else classes
        )
    raise SourceError(f"column {name!r} has the label {labels[0]!r}, but the model's are like {known[0]!r}")


def relabelled(summary: Summary, classes: NDArray[Any]) -> Summary:
    """Return a Summary with other labels, in their own order."""
    order = np.argsort(classes, kind="stable")
    return Summary.from_parts(
        classes=classes[order],
        counts=summary.counts[order],
        sums=summary.sums[order],
        low=summary.low,
        high=summary.high,
        tails=None if summary.tails is None else summary.tails[order],
        present=None if summary.present is None else summary.present[order],
        feature_names=summary.feature_names,
    )


def _booleans(labels: list[Any]) -> list[bool] | None:
    texts = [str(label).lower() for label in labels]
    return [text == "true" for text in texts] if set(texts) <= {"true", "false"} else None


def _continuous(name: str, value: object) -> str:
    return (
        f"column {name!r} has {value}, a fraction: a label names a class, and SEFR does not predict amounts"
    )


def _too_many(count: int, name: str, place: str, rows: int | None = None) -> SourceError:
    among = f" in {rows} rows" if rows else ""
    return SourceError(
        f"{place}: column {name!r} has {count} different labels{among}: is it a class, or a number or a name?"
    )
