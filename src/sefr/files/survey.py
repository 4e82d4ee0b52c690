"""A look at a table before it is learned: which columns are categories, which are of no use, what is empty.

Real tables have names, dates, row numbers and empty cells. What is decided about them is said, and stored
with the model.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .dataset import MOST_TEXT_VALUES, Dataset
from .dates import TIMES, Dates, are_dates, part_names, typed_order
from .reader import NUMBER, OTHER, TEXT, EncodingError

# Values that are looked at; of a larger table the first rows, and then nothing is said of all of them.
SURVEYED_VALUES = 1 << 24
MOST_COLUMNS = 1_000  # of numbers: each costs by itself
FEW_ROWS = 20  # too few to tell a name from a category
NAME_PER_ROW, CONSTANT, EMPTY = "a name per row", "one value only", "empty"
WHICH_DATE = "a date: the day or the month first?"
NOT_ALL_DATES = "dates, and values that are not dates"
TIME = "a time of day"
ROW_NUMBER, NOT_NUMBERS = "a number per row", "neither numbers nor text"
ID_NAME = re.compile(r"(?:^|[\s_.-])(?:id|nr|no|number|nummer|uuid|guid)\.?$|^unnamed: 0$", re.IGNORECASE)
ID_ENDING = re.compile(r"[a-z](?:Id|ID|Nr)$")  # customerId, but not paid
PARTS_SAID, PARTS_AND_HOUR = "year, month and weekday", "year, month, weekday and hour"
SEPARATED = re.compile(r"[+-]?[0-9]{1,3}(?:[.,' ][0-9]{3})+(?:[.,][0-9]+)?")


@dataclass(frozen=True)
class Survey:
    """What a table has, and what is done about it.

    Attributes
    ----------
    categories : columns of text that are learned as categories, and how many values each has.
    left_out : columns that are not learned, and why.
    dates : columns of dates, whose parts are learned instead, and how each is written.
    suspects : columns of numbers that are learned but may be numbers of rows.
    empty : columns with empty cells among those that are learned, and how many.
    unlabelled : rows without a label.
    with_commas : columns whose decimal commas were noticed.
    whole : whether all rows were looked at.
    """

    categories: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    dates: Mapping[str, str] = field(default_factory=dict)
    suspects: tuple[str, ...] = ()
    empty: Mapping[str, int] = field(default_factory=dict)
    unlabelled: int = 0
    with_commas: tuple[str, ...] = ()
    whole: bool = True

    @property
    def may_miss_values(self) -> bool:
        """Whether cells are empty, or may be in rows that were not looked at."""
        return bool(self.empty) or not self.whole

    def empty_cells(self) -> str:
        """Return how many cells are empty, and in which columns."""
        cells = sum(self.empty.values())
        so_far = "" if self.whole else " in the first rows"
        named = _listed(f"{name} ({count:,})" for name, count in self.empty.items())
        return f"{cells:,} empty {'cells' if cells > 1 else 'cell'}{so_far}: {named}"

    def parts_of(self, column: str) -> list[str]:
        """Return the columns that are learned for one: itself, or the parts of dates."""
        return part_names(column, self.dates[column]) if column in self.dates else [column]

    def reasons(self) -> str:
        """Return the columns that are left out, and why each is."""
        return _listed(f"{name} ({why})" for name, why in self.left_out.items())

    def sentences(self) -> list[str]:
        """Return what was decided, a sentence per kind of decision."""
        said = []
        if self.with_commas:
            said.append(f"decimal commas are read in {_listed(self.with_commas)} (--decimal . reads text)")
        if self.categories:
            many = "columns" if len(self.categories) > 1 else "column"
            named = _listed(f"{name} ({count} values)" for name, count in self.categories.items())
            said.append(f"{len(self.categories)} {many} of text learned as categories: {named}")
        if self.dates:
            what = [PARTS_SAID, PARTS_AND_HOUR][any(order.endswith(TIMES) for order in self.dates.values())]
            many = "dates" if len(self.dates) > 1 else "date"
            said.append(f"{len(self.dates)} {many} learned as {what}: {_listed(self.dates)}")
        if self.left_out:
            said.append(f"left out: {self.reasons()}")
        if self.empty:
            cells, _, where = self.empty_cells().partition(": ")
            said.append(f"{cells} treated as missing: {where}")
        if self.unlabelled:
            rows = "rows" if self.unlabelled > 1 else "row"
            said.append(f"{self.unlabelled:,} {rows} without a label left out")
        if self.suspects:
            said.append(
                f"{_listed(self.suspects)}: larger in every row than in the one before. "
                f"If that is a number of the row, leave it out: --drop '{','.join(self.suspects)}'"
            )
        return said

    def to_dict(self) -> dict[str, object]:
        """Return the decisions as JSON."""
        return {
            "categories": list(self.categories),
            "dates": list(self.dates),
            "left_out": dict(self.left_out),
            "empty_cells": dict(self.empty),
            "rows_without_a_label": self.unlabelled,
            "decimal_commas": list(self.with_commas),
        }


def survey(
    table: Dataset,
    label: str,
    chosen: Sequence[str],
    asked: Iterable[str] = (),
    as_categories: Iterable[str] = (),
) -> Survey:
    """Look at the columns ``chosen`` and at the label.

    Columns that were ``asked`` for, or ``as_categories``, are not left out; of these, dates stay text.
    """
    if table.sparse:
        return Survey()
    kinds = {name: _kind(table, name) for name in chosen}
    _refuse_faults(table, [name for name, kind in kinds.items() if kind == OTHER])
    numbers = [name for name, kind in kinds.items() if kind == NUMBER]
    looked = numbers if len(numbers) <= MOST_COLUMNS else []
    texts = {name: _Text() for name, kind in kinds.items() if kind == TEXT}
    if not table.typed:  # dates, which Arrow recognises
        texts |= {name: _Text() for name, kind in kinds.items() if kind == OTHER}
    found = {name: _NumberColumn(name) for name in looked}
    if not texts and any(reader.source.once for reader in table.readers):
        return Survey(whole=False, left_out=_not_numbers(table, kinds))
    for reader in table.readers:
        if reader.source.once:
            reader.source.spool()  # a pipe is read again for learning
    unlabelled, whole = _look(table, label, {**found, **texts})
    whole = whole and looked == numbers
    hot = set(as_categories)
    keep = {*asked, *hot}
    dates = {name: order for name, own in texts.items() if name not in hot and (order := own.dates.order)}
    dates |= (
        _typed_dates(table, [name for name, kind in kinds.items() if kind == OTHER]) if table.typed else {}
    )
    taken = {name: _part_taken(table, name, order) for name, order in dates.items()}
    dates = {name: order for name, order in dates.items() if taken[name] is None}
    left_out = _not_numbers(table, {name: kind for name, kind in kinds.items() if name not in dates})
    left_out |= {name: why for name, why in taken.items() if why is not None and name in left_out}
    columns: dict[str, _Column] = {**found, **texts}
    reasons = {name: taken.get(name) or own.reason(whole) for name, own in columns.items()}
    left_out |= {name: why for name, why in reasons.items() if why is not None and name not in keep}
    left_out = {name: why for name, why in left_out.items() if name not in dates}
    learned = [name for name in chosen if name not in left_out]
    empty = {name: columns[name].empty for name in learned if name in reasons}
    commas = {name for reader in table.readers for name in reader.with_commas}
    return Survey(
        categories={n: len(texts[n].counts) for n in learned if n in texts and n not in dates},
        dates={name: dates[name] for name in learned if name in dates},
        left_out={name: left_out[name] for name in chosen if name in left_out},
        suspects=tuple(n for n in learned if n in found and whole and found[n].is_rising),
        empty={name: count for name, count in empty.items() if count},
        unlabelled=unlabelled,
        with_commas=tuple(name for name in learned if name in commas),
        whole=whole,
    )


class _Column(ABC):
    """What the values of a column are."""

    kind: str

    def __init__(self) -> None:
        self.rows = self.empty = 0

    @abstractmethod
    def add(self, column: pa.ChunkedArray) -> None:
        """Look at some more values."""

    @abstractmethod
    def reason(self, whole: bool) -> str | None:
        """Return why the column is of no use; None if it is of some."""


class _Text(_Column):
    """What the values of a column of text are."""

    kind = TEXT

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.is_full = False  # more values than are counted
        self.dates = Dates()  # of all values

    def add(self, column: pa.ChunkedArray) -> None:
        self.rows += len(column)
        self.empty += column.null_count
        values, counts = column.drop_null().value_counts().flatten()
        self.dates.add(values)
        if self.is_full:
            return
        self.counts.update(dict(zip(values.to_pylist(), counts.to_pylist(), strict=True)))
        self.is_full = len(self.counts) > 2 * MOST_TEXT_VALUES

    def reason(self, whole: bool) -> str | None:
        values, present = len(self.counts), self.rows - self.empty
        if not values:
            return EMPTY if whole else None
        first = [value for value, _count in self.counts.most_common(50)]
        if self.dates.is_ambiguous:
            return WHICH_DATE
        if are_dates(first):
            return NOT_ALL_DATES
        if values > 2 and all(SEPARATED.fullmatch(value.strip()) for value in first):
            return f"numbers with separators, for example {first[0]!r}: write them without"
        if values == 1 and not self.empty and whole:
            return CONSTANT
        if present >= FEW_ROWS and values >= 0.95 * present:
            return NAME_PER_ROW
        if present >= FEW_ROWS and values > present / 2:
            return f"{values:,} values in {present:,} rows"
        if values > MOST_TEXT_VALUES:
            return f"more than {MOST_TEXT_VALUES:,} values"
        return None


class _NumberColumn(_Column):
    """What the values of a column of numbers are.

    One that is the same in every row is kept: it has no weight, and may differ in other files, with whose
    models this one is to be merged.
    """

    kind = NUMBER

    def __init__(self, name: str) -> None:
        super().__init__()
        self.steps: set[float] = set()
        self.last: float | None = None
        self.is_rising = True
        self._seen: list[NDArray[np.float64]] | None = [] if _is_id_name(name) else None

    def add(self, column: pa.ChunkedArray) -> None:
        values = np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy())
        gone = np.isnan(values)
        self.rows += len(values)
        self.empty += int(gone.sum())
        if self.empty:
            self.is_rising, self._seen = False, None
            values = values[~gone]
        if not len(values):
            return
        if self.is_rising:
            before = values if self.last is None else np.concatenate([[self.last], values])
            steps = np.diff(before)
            self.is_rising = bool((steps > 0).all() and (values == np.floor(values)).all())
            self.steps |= set(np.unique(steps[:1000]).tolist()) if len(self.steps) < 2 else set()
            self.last = float(values[-1])
        if self._seen is not None:
            self._seen.append(values)

    def reason(self, whole: bool) -> str | None:
        if not whole or self.rows < 2:
            return None
        if self.empty == self.rows:
            return EMPTY
        if self.rows < FEW_ROWS:
            self.is_rising = False
            return None
        if self.is_rising and len(self.steps) == 1:
            return ROW_NUMBER
        if self._seen is not None:
            values = np.concatenate(self._seen)
            if len(np.unique(values)) == len(values) and (values == np.floor(values)).all():
                return ROW_NUMBER
        return None


def _look(table: Dataset, label: str, columns: Mapping[str, _Column]) -> tuple[int, bool]:
    """Read the rows, as many as are looked at; return those without a label, and whether these are all."""
    wanted = {name: own.kind for name, own in columns.items()}
    wanted |= {label: TEXT} if _kind(table, label) != OTHER else {}
    unlabelled, cells = 0, 0
    for batch in table.batches(wanted):
        if cells >= SURVEYED_VALUES:
            return unlabelled, False
        for name, own in columns.items():
            own.add(batch.rows.column(name))
        if label in wanted:
            unlabelled += batch.rows.column(label).null_count
        cells += len(batch) * len(wanted)
    return unlabelled, True


def _refuse_faults(table: Dataset, names: Sequence[str]) -> None:
    """Raise one error with all that must be put right before the columns can be read."""
    faults = [
        fault
        for reader in table.readers
        for name in names
        if name in reader.columns and (fault := reader.fault_of(name)) is not None
    ]
    if faults:
        raise EncodingError("; ".join(faults[:3]))


def _not_numbers(table: Dataset, kinds: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that hold neither numbers nor text; in a file of text, and no dates, times."""
    why = NOT_NUMBERS if table.typed else TIME
    return {name: why for name, kind in kinds.items() if kind == OTHER}


def _typed_dates(table: Dataset, names: Sequence[str]) -> dict[str, str]:
    """Return the columns whose type is a date or a point in time, in all files."""
    found: dict[str, str] = {}
    for name in names:
        orders = set()
        for reader in table.readers:
            batch = next(iter(reader.batches({name: OTHER})), None)
            orders.add(None if batch is None else typed_order(batch.column(name)))
        order = orders.pop() if len(orders) == 1 else None
        found |= {} if order is None else {name: order}
    return found


def _part_taken(table: Dataset, name: str, order: str) -> str | None:
    """Return why the parts of dates cannot be learned: another column has the name of one; else None."""
    other = next((part for part in part_names(name, order) if part in table.columns), None)
    return None if other is None else f"a date whose parts need the name of the column {other!r}"


def _kind(table: Dataset, name: str) -> str:
    kinds = {reader.columns.get(name, NUMBER) for reader in table.readers}
    return next(kind for kind in (OTHER, TEXT, NUMBER) if kind in kinds)


def _is_id_name(name: str) -> bool:
    return bool(ID_NAME.search(name) or ID_ENDING.search(name))


def _listed(names: Iterable[str], most: int = 6) -> str:
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")
