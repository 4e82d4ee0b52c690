"""A Dataset: the rows of one or more files as one stream, in batches whose size depends on the width alone.

So the sums are added in the same order whatever the format and however the rows are spread over files.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._rows.cells import Coder, code_matrix
from .._rows.cells.categories import MOST_CATEGORIES, most_frequent
from .._rows.labelled import Labelled
from .._rows.matrix import Columnar, Matrix, Sparse
from .._summary.summary import Summary
from .._system.types import Array, Codes
from .dates import DatedReader
from .label_column import as_label, coded, is_label
from .reader import LABEL, NUMBER, OTHER, TEXT, Reader, SourceError, batch_rows
from .recipe import ColumnRecipe

MOST_TEXT_VALUES = 1_000
MOST_LISTED = 50


class Batch:
    r"""Some rows, one after the other: their columns, and where each came from.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sefr.files import open_dataset
    >>> path = Path(tempfile.mkdtemp()) / "rain.csv"
    >>> _ = path.write_text("humidity,rain\n8,no\n9,yes\n")
    >>> dataset = open_dataset([str(path)])
    >>> [len(batch) for batch in dataset.batches(dataset.columns)]
    [2]
    """

    def __init__(
        self, rows: pa.Table, origins: list[tuple[int, Reader, int]], kept: NDArray[np.intp] | None = None
    ) -> None:
        self.rows = rows
        self._origins = origins  # (first row here, its reader, its record there)
        self._kept = kept  # where each row was before others were left out

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def origin(self, row: int) -> tuple[Reader, int]:
        """Return the reader that a row came from and its number there."""
        row = row if self._kept is None else int(self._kept[row])
        at = bisect_right([origin[0] for origin in self._origins], row) - 1
        start, reader, record = self._origins[at]
        return reader, record + row - start

    def with_label(self, label: str) -> Batch:
        """Return the rows that have a label."""
        column = self.rows.column(label)
        if not column.null_count:
            return self
        kept = np.flatnonzero(column.is_valid().to_numpy())
        return Batch(self.rows.take(kept), self._origins, kept)

    def select(self, names: Sequence[str]) -> pa.Table:
        """Return some columns, also of sparse rows."""
        if set(names) <= set(self.rows.schema.names):
            return self.rows.select(names)
        columns = ColumnRecipe(None, tuple(names)).matrix(self.rows)
        spread = {
            name: np.concatenate([block[:, 0] for _rows, block in columns.blocks(slice(j, j + 1))])
            for j, name in enumerate(names)
        }
        own = {name: self.rows.column(name) for name in names if name in self.rows.schema.names}
        return pa.table(spread | own)

    def place(self, row: int) -> str:
        """Return where a row is: file and line."""
        reader, record = self.origin(row)
        return reader.place(record)


class LabelledBatch(NamedTuple):
    """A batch with its features, the distinct labels, and each row's position among these."""

    batch: Batch
    matrix: Matrix
    classes: Array
    codes: Codes


class NumberedBatch(NamedTuple):
    """A batch with its features and a number per row that is to be predicted."""

    batch: Batch
    matrix: Matrix
    targets: NDArray[np.float64]


class Dataset:
    r"""Files read as one. Every file must have the columns that are asked for; their order is free.

    With ``skip_unlabelled``, rows without a label are left out; else they are an error.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sefr.files import open_dataset
    >>> path = Path(tempfile.mkdtemp()) / "rain.csv"
    >>> _ = path.write_text("humidity,pressure,rain\n8,1,no\n9,3,yes\n")
    >>> dataset = open_dataset([str(path)])
    >>> dataset.recipe("rain").columns
    ('humidity', 'pressure')
    """

    def __init__(self, readers: Sequence[Reader]) -> None:
        self.readers = list(readers)
        self.columns = self.readers[0].columns
        self.skip_unlabelled = False
        self.coder: Coder | None = None  # what cuts the features into bins, if they are to be
        self._often: dict[str, Counter[str]] = {}  # the values of columns of categories, as far as known
        if self.sparse:
            self._make_all_sparse()

    def _make_all_sparse(self) -> None:
        other = next((reader for reader in self.readers if not reader.absent_means_zero()), None)
        if other is not None:
            wide = next(reader for reader in self.readers if reader.sparse)
            raise SourceError(
                f"{wide.name} has sparse rows, which cannot be mixed with those of {other.name}"
            )
        for reader in self.readers:
            reader.sparse = True

    def split_dates(self, dates: Mapping[str, str]) -> None:
        """Put the parts of columns of dates beside them, as columns of numbers."""
        if dates:
            self.readers = [DatedReader(reader, dates) for reader in self.readers]
            self.columns = self.readers[0].columns

    @property
    def typed(self) -> bool:
        """Whether labels have a type of their own in every file."""
        return all(reader.typed for reader in self.readers)

    @property
    def sparse(self) -> bool:
        """Whether rows come as lists of entries: libsvm files, of which one is wide."""
        return any(reader.sparse for reader in self.readers)

    @property
    def size(self) -> int | None:
        """Bytes of all files, if known."""
        sizes = [reader.size for reader in self.readers]
        return None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return sum(reader.position for reader in self.readers)

    def digest(self) -> str:
        """Return a name for the content of the files, whatever they are called: "sha256:" and 64 digits."""
        parts = b"".join(reader.source.digest() for reader in self.readers)
        return f"sha256:{hashlib.sha256(parts).hexdigest()}"

    def label_name(self, label: str) -> str:
        """Return the column that a label given by name or, if there are no names, by position means."""
        if label in self.columns:
            return label
        names = list(self.columns)
        by_position = re.fullmatch(r"-?[0-9]+", label) and names[0] == "x0"
        if by_position and -len(names) <= int(label) < len(names):
            return names[int(label)]
        first = self.readers[0]
        if len(names) == 1 and any(char in names[0] for char in ",;\t|"):
            raise SourceError(
                f"{first.name}, line 1: there is no column {label!r}, only one called {names[0]!r}: "
                "is the delimiter another one? (--delimiter)"
            )
        plain = {name.casefold(): name for name in reversed(names)}
        if near := difflib.get_close_matches(label.casefold(), plain, 1, 0.8):
            raise SourceError(f"{first.name}: there is no column {label!r}: did you mean {plain[near[0]]!r}?")
        raise SourceError(f"{first.name}: there is no column {label!r}; its columns are {self.listed()}")

    def listed(self) -> str:
        """Return the names of the columns, the first of many."""
        names = list(self.columns)
        return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")

    def texts(self) -> list[str]:
        """Return the columns of text."""
        return [name for name in self.columns if self._kind(name) == TEXT]

    def recipe(
        self,
        label: str | None,
        features: Sequence[str] = (),
        drop: Sequence[str] = (),
        categories: Sequence[str] = (),
        *,
        coded: bool = False,
    ) -> ColumnRecipe:
        """Return how the columns chosen become features; columns of text must be dropped or categories.

        Categories are one-hot, or ``coded`` for a model with bins: of more values than there can be cells
        the most frequent, as of data frames.
        """
        for name in (*features, *drop, *categories):
            if name not in self.columns and not (name == "all" and name in categories):
                raise SourceError(f"{self.readers[0].name}: there is no column {name!r}")
        chosen = [n for n in (features or self.columns) if n != label and n not in drop]
        if label in features:
            raise SourceError(f"column {label!r} is the label and cannot be a feature")
        if not chosen:
            raise SourceError(f"{self.readers[0].name}: no column is left for the features")
        self._check_present(chosen)
        texts = [name for name in chosen if self._kind(name) == TEXT]
        hot = set(texts) if "all" in categories else set(categories) & set(chosen)
        self._refuse(chosen, hot)
        named = [name for name in chosen if name in hot]
        if named and self.sparse:
            raise SourceError(
                f"{self.readers[0].name}: column {named[0]!r} of sparse rows cannot be categories: leave "
                "--categories out, or write the rows as CSV or Parquet"
            )
        self._count_values(named)
        values = {name: tuple(sorted(self._often[name])) for name in named}
        if coded:
            values = {
                n: tuple(most_frequent(own, self._often[n], MOST_CATEGORIES)) for n, own in values.items()
            }
        return ColumnRecipe(label, tuple(chosen), values, coded)

    def batches(self, wanted: Mapping[str, str]) -> Iterator[Batch]:
        """Yield all rows in batches of one size, the last may be smaller; sparse rows as they are read."""
        if self.sparse:
            yield from self._sparse_batches(wanted)
            return
        size = batch_rows(len(wanted))
        pending: list[pa.RecordBatch] = []
        origins: list[tuple[int, Reader, int]] = []
        held = 0
        for reader in self.readers:
            record = 0
            for piece in reader.batches(_as_reader_has(reader, wanted)):
                piece = _uniform(piece, wanted, reader)
                while held + piece.num_rows >= size:
                    take = size - held
                    yield Batch(_table([*pending, piece.slice(0, take)]), [*origins, (held, reader, record)])
                    piece, record = piece.slice(take), record + take
                    pending, origins, held = [], [], 0
                if piece.num_rows:
                    pending.append(piece)
                    origins.append((held, reader, record))
                    held += piece.num_rows
                    record += piece.num_rows
        if held:
            yield Batch(_table(pending), origins)

    def _sparse_batches(self, wanted: Mapping[str, str]) -> Iterator[Batch]:
        for reader in self.readers:
            record = 0
            for piece in reader.batches(wanted):
                if piece.num_rows:  # else it has comments alone
                    yield Batch(pa.Table.from_batches([piece]), [(0, reader, record)])
                    record += piece.num_rows

    def _with_label(self, recipe: ColumnRecipe, label: str, kind: str) -> Iterator[Batch]:
        """Yield batches with their labels; with ``skip_unlabelled`` of the rows that have one."""
        for batch in self.batches(recipe.wanted() | {label: kind}):
            known = batch.with_label(label) if self.skip_unlabelled else batch
            if len(known):
                yield known

    def labelled(self, recipe: ColumnRecipe, label: str) -> Iterator[LabelledBatch]:
        """Yield batches with their features, the distinct labels and each row's position among these."""
        text = any(not r.typed or r.columns.get(label) == TEXT for r in self.readers)
        for batch in self._with_label(recipe, label, TEXT if text else LABEL):
            column = batch.rows.column(label)
            classes, codes = coded(column, label, batch.place, typed=self.typed)
            yield LabelledBatch(batch, code_matrix(recipe.matrix(batch.rows), self.coder), classes, codes)

    def numbered(self, recipe: ColumnRecipe, label: str) -> Iterator[NumberedBatch]:
        """Yield batches with their features and the numbers that are to be predicted."""
        for batch in self._with_label(recipe, label, NUMBER):
            targets = batch.rows.column(label).to_numpy().astype(np.float64)
            wrong = np.flatnonzero(~np.isfinite(targets))
            if len(wrong):
                place, value = batch.place(int(wrong[0])), targets[wrong[0]]
                what = f"there is no number in column {label!r}"
                raise SourceError(f"{place}: {what if np.isnan(value) else f'column {label!r} is infinite'}")
            yield NumberedBatch(batch, recipe.matrix(batch.rows), targets)

    def _kind(self, name: str) -> str:
        """Return what a column holds in all files together: text if one of them has text."""
        kinds = {reader.columns.get(name, NUMBER) for reader in self.readers}
        return next(kind for kind in (OTHER, TEXT, NUMBER) if kind in kinds)

    def _check_present(self, names: Sequence[str]) -> None:
        for reader in self.readers[1:]:
            absent = [name for name in names if name not in reader.columns]
            if absent and not reader.absent_means_zero():
                raise SourceError(
                    f"{reader.name}: there is no column {absent[0]!r}, but {self.readers[0].name} has it"
                )

    def _refuse(self, chosen: Sequence[str], hot: set[str]) -> None:
        bad = [name for name in chosen if self._kind(name) != NUMBER and name not in hot]
        if not bad:
            return
        reader = next(p for p in self.readers if p.columns.get(bad[0]) in (TEXT, OTHER))
        texts = [name for name in bad if self._kind(name) == TEXT]
        others = [name for name in bad if self._kind(name) == OTHER]
        found = []
        if texts:
            example = reader.describe_text(texts[0])
            found.append(f"text where numbers are needed: {_listed(texts)}{example}")
        if others:
            found.append(f"not numbers: {_listed(others)}")
        dropped = f"--drop {','.join(bad)!r} or " if len(bad) <= MOST_LISTED else ""
        advice = f"leave out with {dropped}--drop-text"
        if texts:
            advice += f", or make categories of text with --categories {','.join(texts[:MOST_LISTED])!r}"
        raise SourceError(f"{reader.name}: {'; '.join(found)}; {advice}")

    def no_rows(self) -> SourceError:
        """Return the error for files without rows."""
        return SourceError(f"{self.readers[0].name}: there are no rows")

    def _count_values(self, names: Sequence[str]) -> None:
        """Read columns of categories for how often each value occurs, unless that was done."""
        if not (new := [name for name in names if name not in self._often]):
            return
        found = {name: Counter[str]() for name in new}
        for batch in self.batches(dict.fromkeys(new, TEXT)):
            for name, often in found.items():
                values, counts = batch.rows.column(name).drop_null().value_counts().flatten()
                often.update(dict(zip(values.to_pylist(), counts.to_pylist(), strict=True)))
                if len(often) > MOST_TEXT_VALUES:
                    raise SourceError(
                        f"{batch.place(0)}: column {name!r} has more than {MOST_TEXT_VALUES} values: "
                        "too many for categories; leave it out with --drop"
                    )
        self._often |= found


def summarise(
    rows: LabelledBatch, recipe: ColumnRecipe, missing: str, n_folds: int = 1, moments: int = 1
) -> list[Summary]:
    """Summarise a batch, each fold by itself; a value that cannot be used is an error."""
    batch, matrix, classes, codes = rows
    names = recipe.feature_names
    labelled = Labelled(matrix, classes, codes, None)
    try:
        if n_folds == 1:
            return [Summary.of_rows(labelled, names, missing=missing, moments=moments)]
        return Summary.of_folds(labelled, n_folds, names, missing=missing, moments=moments)
    except ValueError as error:
        refuse_bad_value(batch, matrix, recipe, missing, hint=" (--missing ignore leaves it out)")
        raise SourceError(f"{batch.place(0)}: {error}") from None


def refuse_bad_value(
    batch: Batch, matrix: Matrix, recipe: ColumnRecipe, missing: str, hint: str = ""
) -> None:
    """Raise an error for the first value that a model cannot use, with its place."""
    found = _bad_value(matrix, missing=missing == "ignore")
    if found is not None:
        row, column, value = found
        what = f"is missing{hint}" if np.isnan(value) else "is infinite"
        raise SourceError(f"{batch.place(row)}: the value of column {recipe.feature_names[column]!r} {what}")


def _bad_value(matrix: Matrix, *, missing: bool) -> tuple[int, int, float] | None:
    """Return row, column and value of the first NaN or infinity, without spreading out the rows."""
    matrix = matrix.uncut
    if isinstance(matrix, Sparse):
        rows = matrix.by_rows
        at = np.flatnonzero(np.isinf(rows.data) if missing else ~np.isfinite(rows.data))
        if not len(at):
            return None
        row = int(np.searchsorted(rows.indptr, at[0], side="right")) - 1
        return row, int(rows.indices[at[0]]), float(rows.data[at[0]])
    if isinstance(matrix, Columnar):
        with np.errstate(over="ignore", invalid="ignore"):
            sums = [float(column.sum()) for column in matrix.columns if column.dtype.kind == "f"]
        if np.isfinite(sums).all():
            return None
    return matrix.bad_value(missing=missing)


def _listed(names: Sequence[str]) -> str:
    """Return the names of columns, as many as a reader can take in."""
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    columns = "columns" if len(names) > 1 else "column"
    return f"{columns} {', '.join(map(repr, names[:MOST_LISTED]))}{more}"


def _as_reader_has(reader: Reader, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the columns wanted that the file has; it may leave out those that are zero throughout."""
    absent = [name for name in wanted if name not in reader.columns]
    if absent and not reader.absent_means_zero():
        raise SourceError(f"{reader.name}: there is no column {absent[0]!r}")
    return {name: kind for name, kind in wanted.items() if name in reader.columns}


def _uniform(piece: pa.RecordBatch, wanted: Mapping[str, str], reader: Reader) -> pa.RecordBatch:
    """Return a piece with every column wanted, of a type that all files can share."""
    special = {name: kind for name, kind in wanted.items() if kind in (TEXT, LABEL)}
    if piece.schema.names == list(wanted) and all(
        is_label(found) if kind == LABEL else pa.types.is_string(found)
        for name, kind in special.items()
        for found in [piece.schema.field(name).type]
    ):
        return piece
    arrays = []
    for name, kind in wanted.items():
        if name not in reader.columns:
            arrays.append(pa.array(np.zeros(piece.num_rows)))
            continue
        column = piece.column(name)
        if kind == LABEL:
            try:
                column = as_label(column)
            except SourceError as error:
                raise SourceError(f"{reader.name}: column {name!r}: {error}") from None
        elif kind == TEXT and not pa.types.is_string(column.type):
            column = _as_text(column)
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, names=list(wanted))


def _as_text(column: pa.Array) -> pa.Array:
    """Return numbers as text, whole ones without a decimal point."""
    exact = as_label(column)
    if not pa.types.is_floating(exact.type):
        return exact.cast(pa.string())
    whole = [v if v is None or not v.is_integer() else int(v) for v in exact.to_pylist()]
    return pa.array([None if v is None else str(v) for v in whole], type=pa.string())


def _table(pieces: list[pa.RecordBatch]) -> pa.Table:
    """Return pieces as one table; if their types differ (files of different formats), as float64."""
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
        number = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
        return number.cast(pa.float64(), safe=False)

    return pa.RecordBatch.from_arrays([wide(column) for column in piece.columns], names=piece.schema.names)
