"""Dates as numbers: a column of dates gives its year, month and weekday, and the hour if it has times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .reader import NUMBER, TEXT, Reader

# How a date is written: year, month and day in this order; TYPED is that of a format that has dates itself.
YEAR_FIRST, DAY_FIRST, MONTH_FIRST, TYPED = "ymd", "dmy", "mdy", "typed"
ORDERS = (YEAR_FIRST, DAY_FIRST, MONTH_FIRST, TYPED)
TIMES = "+time"  # after the order: there are hours, too
PARTS = ("year", "month", "weekday")
_TIME = (
    r"(?:,?[ T](?P<H>[0-9]{1,2}):[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?"
    r"(?: ?(?P<p>[APap])[Mm])?(?:Z| ?[+-][0-9:]+)?)?"
)
_FORMS = {
    YEAR_FIRST: rf"(?P<y>[0-9]{{4}})[-/.](?P<m>[0-9]{{1,2}})[-/.](?P<d>[0-9]{{1,2}}){_TIME}",
    DAY_FIRST: rf"(?P<d>[0-9]{{1,2}})[-/.](?P<m>[0-9]{{1,2}})[-/.](?P<y>[0-9]{{4}}|[0-9]{{2}}){_TIME}",
    MONTH_FIRST: rf"(?P<m>[0-9]{{1,2}})[-/.](?P<d>[0-9]{{1,2}})[-/.](?P<y>[0-9]{{4}}|[0-9]{{2}}){_TIME}",
}
_COMPILED = {order: re.compile(form) for order, form in _FORMS.items()}


def are_dates(values: Iterable[str]) -> bool:
    """Say whether texts are dates, in whatever order."""
    return all(
        any(_COMPILED[order].fullmatch(text.strip()) for order in (YEAR_FIRST, DAY_FIRST)) for text in values
    )


class Dates:
    """How texts that come in batches are written if all of them are dates: as studio/src/dates.ts finds out.

    Examples
    --------
    >>> for text in ("2026-11-16", "16.11.2026", "11/16/26 10:30", "1/2/2026", "soon"):
    ...     dates = Dates()
    ...     dates.add(pa.array([text]))
    ...     print(dates.order, dates.is_ambiguous)
    ymd False
    dmy False
    mdy+time False
    None True
    None False
    """

    def __init__(self) -> None:
        self._orders = [YEAR_FIRST, DAY_FIRST, MONTH_FIRST]  # in which all can be read, so far
        self._any = self._times = self._dots = False

    def add(self, values: pa.Array) -> None:
        """Look at some more texts, none of which is missing."""
        if not self._orders or not len(values):
            return
        texts = pc.utf8_trim_whitespace(values)
        for order in list(self._orders):
            found = pc.extract_regex(texts, f"^{_FORMS[order]}$")
            if found.null_count or not _are_sound(found):
                self._orders.remove(order)
                continue
            self._times = self._times or pc.any(pc.not_equal(pc.struct_field(found, "H"), "")).as_py()
        self._any = True
        self._dots = self._dots or pc.any(pc.match_substring_regex(texts, r"^[^ ]*\.")).as_py()

    @property
    def is_ambiguous(self) -> bool:
        """Whether day and month cannot be told apart."""
        # nobody writes the month first with dots
        return self._any and len(self._orders) > 1 and not self._dots

    @property
    def order(self) -> str | None:
        """How the dates are written; None if they are none, or day and month cannot be told apart."""
        if not self._any or not self._orders or self.is_ambiguous:
            return None
        return self._orders[0] + (TIMES if self._times else "")


def _are_sound(found: pa.StructArray) -> bool:
    month, day = (pc.cast(pc.struct_field(found, part), pa.int64()) for part in ("m", "d"))
    sound = pc.and_(
        pc.and_(pc.greater_equal(month, 1), pc.less_equal(month, 12)),
        pc.and_(pc.greater_equal(day, 1), pc.less_equal(day, 31)),
    )
    return bool(pc.all(sound).as_py())


def typed_order(column: pa.Array) -> str | None:
    """Return the order of a column whose type is a date; None if it is something else."""
    if pa.types.is_timestamp(column.type):
        return TYPED + TIMES
    return TYPED if pa.types.is_date(column.type) else None


def part_names(column: str, order: str) -> list[str]:
    """Return the names of the numbers that a column of dates gives.

    Examples
    --------
    >>> part_names("sold", "ymd")
    ['sold year', 'sold month', 'sold weekday']
    """
    return [f"{column} {part}" for part in (*PARTS, *(["hour"] if order.endswith(TIMES) else []))]


def _parts(column: Any, order: str) -> list[pa.Array]:
    """Return the numbers of dates; none if one is missing or cannot be read. Monday is 1."""
    base = order.removesuffix(TIMES)
    when = column if base == TYPED else _read(column, base)
    day = pc.day_of_week(when, count_from_zero=False)
    found = [pc.year(when), pc.month(when), day]
    if order.endswith(TIMES):
        found.append(pc.hour(when))
    return [part.cast(pa.float64()) for part in found]


def _read(column: Any, order: str) -> pa.Array:
    """Return texts as points in time; what is no date is missing."""
    found = pc.extract_regex(pc.utf8_trim_whitespace(column), f"^{_FORMS[order]}$")
    field = {name: pc.struct_field(found, name) for name in ("y", "m", "d", "H", "p")}
    year = pc.if_else(
        pc.equal(pc.utf8_length(field["y"]), 2),
        pc.binary_join_element_wise(_century(field["y"]), field["y"], ""),
        field["y"],
    )
    hour = pc.utf8_lpad(pc.if_else(pc.equal(field["H"], ""), "0", field["H"]), 2, "0")
    text = pc.binary_join_element_wise(
        year, pc.utf8_lpad(field["m"], 2, "0"), pc.utf8_lpad(field["d"], 2, "0"), "-"
    )
    text = pc.binary_join_element_wise(text, hour, " ")
    when = pc.strptime(text, format="%Y-%m-%d %H", unit="s", error_is_null=True)
    is_day = pc.equal(pc.day(when), pc.cast(field["d"], pa.int64()))  # strptime takes 30 February
    when = pc.if_else(is_day, when, pa.scalar(None, when.type))
    noon = pc.equal(pc.utf8_lower(field["p"]), "p")
    twelve = pc.equal(hour, "12")
    late = pc.and_(noon, pc.invert(twelve))
    early = pc.and_(pc.equal(pc.utf8_lower(field["p"]), "a"), twelve)
    shift = pc.subtract(late.cast(pa.int64()), early.cast(pa.int64()))
    return pc.add(when, pc.multiply(shift, 12 * 3600).cast(pa.duration("s")))


def _century(years: Any) -> pa.Array:
    """Return the first two digits of years of two digits: those from 70 up are of the last century."""
    return pc.if_else(pc.greater_equal(years, "70"), "19", "20")


class DatedReader(Reader):
    """A file whose columns of dates have their parts beside them, as columns of numbers.

    Parameters
    ----------
    reader : the file.
    dates : columns of dates, and how each is written.
    """

    def __init__(self, reader: Reader, dates: Mapping[str, str]) -> None:
        self._reader = reader
        self._of = {
            part: (name, at, order)
            for name, order in dates.items()
            if name in reader.columns
            for at, part in enumerate(part_names(name, order))
        }
        self.name, self.source, self.typed, self.size = reader.name, reader.source, reader.typed, reader.size
        self.sparse, self.with_commas = reader.sparse, reader.with_commas
        self.columns = reader.columns | dict.fromkeys(self._of, NUMBER)

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return self._reader.position

    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the columns wanted, the parts of dates among them."""
        needed = {name: kind for name, kind in wanted.items() if name not in self._of}
        dates = {self._of[name][0] for name in wanted if name in self._of}
        for batch in self._reader.batches(needed | dict.fromkeys(sorted(dates), TEXT)):
            made: dict[str, list[pa.Array]] = {}
            columns = []
            for name in wanted:
                if name not in self._of:
                    columns.append(batch.column(name))
                    continue
                source, at, order = self._of[name]
                if source not in made:
                    made[source] = _parts(batch.column(source), order)
                columns.append(made[source][at])
            yield pa.RecordBatch.from_arrays(columns, names=list(wanted))

    def place(self, record: int) -> str:
        """Return where the record is."""
        return self._reader.place(record)

    def absent_means_zero(self) -> bool:
        """Say whether a column that the file does not mention is zero throughout."""
        return self._reader.absent_means_zero()

    def describe_text(self, column: str) -> str:
        """Return an example of the text in a column."""
        return self._reader.describe_text(column)

    def fault_of(self, column: str) -> str | None:
        """Return what must be put right before a column can be read."""
        return self._reader.fault_of(column)
