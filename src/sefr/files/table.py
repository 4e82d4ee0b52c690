"""A Table: the rows of one or more files as one stream, in batches whose size depends on the width alone.

So the sums are added in the same order whatever the format and however the rows are spread over files.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._rows.labelled import Labelled
from .._rows.labels import Codes
from .._rows.matrix import Columns
from .._summary.summary import Summary
from . import label_column
from .part import NUMBER, OTHER, TEXT, Part, SourceError, batch_rows
from .recipe import Recipe

MOST_CATEGORIES = 1_000


class Batch:
    """Some rows, one after the other: their columns, and where each came from."""

    def __init__(self, rows: pa.Table, origins: list[tuple[int, Part, int]]) -> None:
        self.rows = rows
        self._origins = origins  # (first row here, its part, its record there)

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def origin(self, row: int) -> tuple[Part, int]:
        """Return the part that a row came from and its number there."""
        at = bisect_right([origin[0] for origin in self._origins], row) - 1
        start, part, record = self._origins[at]
        return part, record + row - start

    def place(self, row: int) -> str:
        """Return where a row is: file and line."""
        part, record = self.origin(row)
        return part.place(record)


class Table:
    """Files read as one. Every file must have the columns that are asked for; their order is free."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = list(parts)
        self.columns = self.parts[0].columns

    @property
    def typed(self) -> bool:
        """Whether labels have a type of their own in every file."""
        return all(part.typed for part in self.parts)

    @property
    def size(self) -> int | None:
        """Bytes of all files, if known."""
        sizes = [part.size for part in self.parts]
        return None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return sum(part.position for part in self.parts)

    def label_name(self, label: str) -> str:
        """Return the column that a label given by name or, where there are no names, by position means."""
        if label in self.columns:
            return label
        names = list(self.columns)
        by_position = re.fullmatch(r"-?[0-9]+", label) and names[0] == "x0"
        if by_position and -len(names) <= int(label) < len(names):
            return names[int(label)]
        shown = ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        first = self.parts[0]
        if len(names) == 1 and any(char in names[0] for char in ",;\t|"):
            raise SourceError(
                f"{first.name}, line 1: there is no column {label!r}, only one called {names[0]!r}: "
                "is the delimiter another one? (--delimiter)"
            )
        raise SourceError(f"{first.name}: there is no column {label!r}; its columns are {shown}")

    def recipe(
        self,
        label: str | None,
        features: Sequence[str] = (),
        drop: Sequence[str] = (),
        categories: Sequence[str] = (),
    ) -> Recipe:
        """Return how the columns chosen become features; columns of text must be dropped or categories."""
        for name in (*features, *drop, *categories):
            if name not in self.columns and not (name == "all" and name in categories):
                raise SourceError(f"{self.parts[0].name}: there is no column {name!r}")
        chosen = [n for n in (features or self.columns) if n != label and n not in drop]
        if label in features:
            raise SourceError(f"column {label!r} is the label and cannot be a feature")
        if not chosen:
            raise SourceError(f"{self.parts[0].name}: no column is left for the features")
        self._check_present(chosen)
        texts = [name for name in chosen if self._kind(name) == TEXT]
        hot = set(texts) if "all" in categories else set(categories) & set(chosen)
        self._refuse(chosen, hot)
        return Recipe(label, tuple(chosen), self._categories([n for n in chosen if n in hot]))

    def batches(self, wanted: Mapping[str, str]) -> Iterator[Batch]:
        """Yield all rows in batches of one size; the last may be smaller."""
        size = batch_rows(len(wanted))
        pending: list[pa.RecordBatch] = []
        origins: list[tuple[int, Part, int]] = []
        held = 0
        for part in self.parts:
            record = 0
            for piece in part.batches(_as_part_has(part, wanted)):
                piece = _uniform(piece, wanted, part)
                while held + piece.num_rows >= size:
                    take = size - held
                    yield Batch(_table([*pending, piece.slice(0, take)]), [*origins, (held, part, record)])
                    piece, record = piece.slice(take), record + take
                    pending, origins, held = [], [], 0
                if piece.num_rows:
                    pending.append(piece)
                    origins.append((held, part, record))
                    held += piece.num_rows
                    record += piece.num_rows
        if held:
            yield Batch(_table(pending), origins)

    def labelled(self, recipe: Recipe, label: str) -> Iterator[tuple[Batch, Columns, NDArray[Any], Codes]]:
        """Yield batches with their features, the distinct labels and each row's position among these."""
        kind = TEXT if any(self._has(part, label, TEXT) or not part.typed for part in self.parts) else NUMBER
        for batch in self.batches(recipe.wanted() | {label: kind}):
            column = batch.rows.column(label)
            classes, codes = label_column.coded(column, label, batch.place, typed=self.typed)
            yield batch, recipe.matrix(batch.rows), classes, codes

    def _has(self, part: Part, name: str, kind: str) -> bool:
        return part.columns.get(name) == kind

    def _kind(self, name: str) -> str:
        """Return what a column holds in all files together: text if one of them has text."""
        kinds = {part.columns.get(name, NUMBER) for part in self.parts}
        return next(kind for kind in (OTHER, TEXT, NUMBER) if kind in kinds)

    def _check_present(self, names: Sequence[str]) -> None:
        for part in self.parts[1:]:
            absent = [name for name in names if name not in part.columns]
            if absent and not part.absent_means_zero():
                raise SourceError(
                    f"{part.name}: there is no column {absent[0]!r}, but {self.parts[0].name} has it"
                )

    def _refuse(self, chosen: Sequence[str], hot: set[str]) -> None:
        bad = [name for name in chosen if self._kind(name) != NUMBER and name not in hot]
        if not bad:
            return
        part = next(p for p in self.parts if p.columns.get(bad[0]) in (TEXT, OTHER))
        named = ", ".join(repr(name) for name in bad[:8]) + (
            f" and {len(bad) - 8} more" if len(bad) > 8 else ""
        )
        if any(self._kind(name) == OTHER for name in bad):
            raise SourceError(f"{part.name}: not numbers: column {named}; leave out with --drop")
        options = ",".join(bad[:8])
        raise SourceError(
            f"{part.name}: text where numbers are needed: column {named}{part.describe_text(bad[0])}; "
            f"leave out with --drop {options!r} or make categories with --categories {options!r}"
        )

    def _categories(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Read the columns of categories once for their values."""
        if not names:
            return {}
        found: dict[str, set[str]] = {name: set() for name in names}
        for batch in self.batches(dict.fromkeys(names, TEXT)):
            for name in names:
                found[name].update(v for v in batch.rows.column(name).unique().to_pylist() if v is not None)
                if len(found[name]) > MOST_CATEGORIES:
                    raise SourceError(
                        f"{batch.place(0)}: column {name!r} has more than {MOST_CATEGORIES} values: "
                        "too many for categories; leave it out with --drop"
                    )
        return {name: tuple(sorted(values)) for name, values in found.items()}


def summarise(
    batch: Batch,
    matrix: Columns,
    classes: NDArray[Any],
    codes: Codes,
    recipe: Recipe,
    missing: str,
    n_folds: int = 1,
) -> list[Summary]:
    """Summarise a batch, each fold by itself; a value that cannot be used is an error."""
    names = recipe.feature_names
    try:
        return Summary.of_folds(Labelled(matrix, classes, codes, None), n_folds, names, missing=missing)
    except ValueError as error:
        found = matrix.bad_cell(missing=missing == "ignore")
        if found is None:
            raise SourceError(f"{batch.place(0)}: {error}") from None
        row, column, value = found
        what = "is missing (--missing ignore leaves it out)" if np.isnan(value) else "is infinite"
        raise SourceError(f"{batch.place(row)}: the value of column {names[column]!r} {what}") from None


def _as_part_has(part: Part, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the columns wanted that the part has; it may leave out those that are zero throughout."""
    absent = [name for name in wanted if name not in part.columns]
    if absent and not part.absent_means_zero():
        raise SourceError(f"{part.name}: there is no column {absent[0]!r}")
    return {name: kind for name, kind in wanted.items() if name in part.columns}


def _uniform(piece: pa.RecordBatch, wanted: Mapping[str, str], part: Part) -> pa.RecordBatch:
    """Return a piece with every column wanted, of a type that all parts can share."""
    texts = [name for name, kind in wanted.items() if kind == TEXT]
    if piece.schema.names == list(wanted) and all(
        pa.types.is_string(piece.schema.field(name).type) for name in texts
    ):
        return piece
    arrays = []
    for name, kind in wanted.items():
        if name not in part.columns:
            arrays.append(pa.array(np.zeros(piece.num_rows)))
            continue
        column = piece.column(name)
        if kind == TEXT and not pa.types.is_string(column.type):
            column = _as_text(column)
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, names=list(wanted))


def _as_text(column: pa.Array) -> pa.Array:
    """Return numbers as text, whole ones without a decimal point."""
    if pa.types.is_floating(column.type):
        values = column.to_pylist()
        return pa.array(
            [None if v is None else str(int(v)) if v.is_integer() else repr(v) for v in values],
            type=pa.string(),
        )
    return column.cast(pa.string())


def _table(pieces: list[pa.RecordBatch]) -> pa.Table:
    """Return pieces as one table; where their types differ (files of different formats), as float64."""
    if len(pieces) == 1:
        return pa.Table.from_batches(pieces)
    schema = pieces[0].schema
    if any(piece.schema != schema for piece in pieces[1:]):
        pieces = [_widened(piece) for piece in pieces]
    return pa.Table.from_batches(pieces).combine_chunks()


def _widened(piece: pa.RecordBatch) -> pa.RecordBatch:
    def wide(column: pa.Array) -> pa.Array:
        if pa.types.is_string(column.type):
            return column
        return (column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column).cast(pa.float64())

    return pa.RecordBatch.from_arrays([wide(column) for column in piece.columns], names=piece.schema.names)
