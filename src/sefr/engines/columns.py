"""Which columns of a table are label, weight and features, and whether they can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from .._rows.cells import Categories
from .._rows.labels import ONE_CLASS, encode
from .._rows.numbers import read_numbers
from .._system.types import Array, Codes, Floats, Params
from .error import EngineError, counted


class Summing(NamedTuple):
    """What of the rows is added up: see ``Summary.of``."""

    missing: str = "error"
    moments: int = 1


@dataclass(frozen=True)
class Columns:
    """The columns to learn from, of a table that an engine holds.

    ``targets`` are the columns of numbers to be predicted, the label and any others; without them the label
    says the class of each row. ``categories`` are those of features that have some, by their places.
    """

    engine: str
    label: str
    features: tuple[str, ...]
    weight: str | None
    elements: tuple[str, ...] | None = (
        None  # the names of the elements of the one column of vectors, if known
    )
    targets: tuple[str, ...] = ()
    categories: Mapping[int, Categories] = field(default_factory=dict)

    @property
    def numbers(self) -> bool:
        """Whether numbers are to be predicted."""
        return bool(self.targets)

    @property
    def all(self) -> list[str]:
        """Label or targets, weight if there is one, features."""
        return [*(self.targets or [self.label]), *([self.weight] if self.weight else []), *self.features]

    @property
    def place(self) -> str:
        """What errors about labels or targets call their column, or columns."""
        names = ", ".join(map(repr, self.targets or [self.label]))
        return f"columns {names}" if len(self.targets) > 1 else f"column {names}"

    @property
    def of_numbers(self) -> list[str]:
        """Columns that must be numbers: targets, weight, features without categories."""
        plain = [name for j, name in enumerate(self.features) if j not in self.categories]
        return [*self.targets, *([self.weight] if self.weight else []), *plain]


def choose_columns(
    engine: str,
    names: Sequence[str],
    label: str | Sequence[str],
    features: Sequence[str] | None,
    weight: str | None,
    *,
    numbers: bool = False,
) -> Columns:
    """Return the columns; None for features is all but label and weight. One that is absent is an error."""
    if isinstance(features, str):
        features = [features]
    labels = [label] if isinstance(label, str) else list(label)
    if not labels or (len(labels) > 1 and not numbers):
        raise EngineError(f"{engine}: one column has the labels, not {len(labels)}: {counted(labels, 20)}")
    special = labels if weight is None else [*labels, weight]
    wanted = [*special, *(features or [])]
    if absent := [name for name in wanted if name not in set(names)]:
        what = (
            "label column"
            if absent[0] in labels
            else "weight column"
            if absent[0] == weight
            else "feature column"
        )
        raise EngineError(
            f"{engine}: there is no {what} {absent[0]!r}; the columns are {counted_names(names)}"
        )
    if features is None:
        features = [name for name in names if name not in special]
    if not features:
        raise EngineError(f"{engine}: there is no feature column beside {counted(special)}")
    if len(set(wanted)) < len(wanted) or len(special) > len(set(special)):
        twice = next(name for name in wanted if wanted.count(name) > 1)
        raise EngineError(f"{engine}: column {twice!r} is named twice among label, weight and features")
    targets = tuple(labels) if numbers else ()
    return Columns(engine, labels[0], tuple(features), weight, targets=targets)


def counted_names(names: Sequence[object]) -> str:
    """Return the names of columns, the first 20 of them."""
    return counted([str(name) for name in names], 20)


def coded_labels(values: Callable[[str], Any], columns: Columns) -> tuple[Array, Codes, Floats | None]:
    """Return classes, the code of each row, and targets (n, k) if numbers are to be predicted.

    ``values`` gives the values of a column by its name; what is wrong with them names it.
    """
    found = []
    for name in columns.targets or [columns.label]:
        try:
            if not columns.numbers:
                return *encode(values(name)), None
            found.append(read_numbers(values(name)))
        except ValueError as error:
            raise ValueError(f"label column {name!r}: {error}") from None
    targets = np.hstack(found)
    return ONE_CLASS, np.zeros(len(targets), dtype=np.int32), targets


def is_number(dtype: Any) -> bool:
    """Say whether a narwhals dtype can be a feature; Python objects are looked at one by one later."""
    return bool(dtype.is_numeric() or dtype == nw.Boolean or dtype == nw.Object)


def is_vector(columns: Columns, schema: Params) -> bool:
    """Say whether the features are the elements of one column of lists or of arrays of one length."""
    return len(columns.features) == 1 and isinstance(schema[columns.features[0]], nw.List | nw.Array)


def require_numbers(columns: Columns, schema: Params) -> None:
    """Raise an error that names the first column that is not one of numbers and must be."""
    for name in columns.of_numbers:
        dtype = schema[name]
        if name not in (*columns.targets, columns.weight) and is_vector(columns, schema):
            if is_number(dtype.inner):
                continue
            raise EngineError(f"{columns.engine}: column {name!r} is {dtype}: its elements are not numbers")
        if not is_number(dtype):
            raise EngineError(
                f"{columns.engine}: column {name!r} is {dtype}, not a number; drop or encode it first"
            )
