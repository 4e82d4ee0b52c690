"""CSV and TSV, decoded by Arrow in blocks; what Arrow refuses is looked for again, to say the line."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from typing import Any, NoReturn

import pyarrow as pa
from pyarrow import csv as arrow_csv

from .arrow_input import in_memory, whole_rows
from .reader import TEXT, EncodingError, Reader, SourceError, check_width, checked_names, first_line, kind_of
from .source import LONGEST_LINE, NulByteError, Source, Stream, lines_of

HEAD = 1 << 19
LONGEST_FIELD = 1 << 22  # characters, for Python's csv module, which takes 4 bytes for each
# A block takes several times its size while it is decoded.
BLOCK = 1 << 18
# Each column of each block costs by itself, so that a block of wide rows has this many of them.
WIDE_BLOCK_ROWS = 64
WIDE_BLOCK = 1 << 26
# Arrow takes 9 KB and 80 us for each column whose type it is to find, most of it for the words that mean
# missing, true and false. More columns than these are asked for in parts, first whether all are numbers.
FEW_COLUMNS, PARTS = 1 << 9, 8
# It keeps 6.6 KB for each column that it reads, so that these take 0.9 GB.
MOST_TEXT_COLUMNS = 1 << 17
DELIMITERS = ",;\t|"
MISSING = frozenset([*arrow_csv.ConvertOptions().null_values, "?"])
NUMBER_TEXT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
COMMA_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:,[0-9]*)?|,[0-9]+)(?:[eE][+-]?[0-9]+)?")
COMMA_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")
MOST_NOTICED = 2_000  # lines that are looked at for decimal commas
NOT_UTF8 = "the text is not UTF-8"
WORDS_FOR_NUMBERS = frozenset(["inf", "infinity", "nan"])


class CsvReader(Reader):
    """A CSV file. Numbers are read as float64; ``columns`` is told by the first 512 KB.

    ``decimal`` is the decimal point; without it, commas are noticed if a column has no other numbers and no
    other column has points. ``with_commas`` are the columns that are numbers for that reason.
    """

    typed = False

    def __init__(
        self,
        source: Source,
        *,
        delimiter: str | None = None,
        header: bool = True,
        decimal: str | None = None,
    ) -> None:
        head = self._begin(source)
        self._decimal = decimal or "."
        self.delimiter = delimiter or self._sniffed(head)
        self._names, self._data_offset = self._header(head, header=header)
        data = head[self._data_offset :]
        self._row_bytes = _row_bytes(data)
        self._kinds = self._inferred(data, whole=len(head) < HEAD)
        self.with_commas = self._noticed_commas(data) if decimal is None else []
        if self.with_commas:
            self._decimal, before = ",", self._kinds
            self._kinds = self._inferred(data, whole=len(head) < HEAD)
            if any(
                pa.types.is_string(self._kinds[name]) > pa.types.is_string(before[name]) for name in before
            ):
                self.with_commas, self._decimal, self._kinds = [], ".", before  # other numbers have points
        self.columns = {name: kind_of(kind) for name, kind in self._kinds.items()}

    def _begin(self, source: Source) -> bytes:
        """Set what every text format has; return the beginning of the file."""
        self.source = source
        self.name = source.name
        self.delimiter = ","
        self._decimal = "."
        self._read = 0
        self._stream: Stream | None = None
        head = self._head()
        self.size = source.size
        return head

    @property
    def position(self) -> int:
        return self._read if self._stream is None else self._stream.position

    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        types = {name: self._type(name, kind) for name, kind in wanted.items()}
        rows = 0
        stream = self._stream = self._opened()
        try:
            for batch in self._decoded(stream, types):
                yield batch
                rows += batch.num_rows
            if stream.quotes % 2:
                self._refuse_open_quote()
        except pa.ArrowInvalid as error:
            self._complain(error, rows, types)
        except NulByteError as error:
            self._complain_of_nul(error)
        finally:
            self._read = stream.position
            self._stream = None

    def place(self, record: int) -> str:
        line = self._line_of(record)
        return f"{self.name}, row {record + 1}" if line is None else f"{self.name}, line {line}"

    def describe_text(self, column: str) -> str:
        if self.source.once:
            return ""
        at = self._names.index(column)
        for record, (line, row) in enumerate(self._records()):
            if record >= 100_000:
                break
            if at < len(row) and row[at].strip() not in MISSING and not self._is_number(row[at]):
                return f" ({_short(row[at])} in line {line})"
        return ""

    def fault_of(self, column: str) -> str | None:
        if not pa.types.is_binary(self._kinds[column]):
            return None
        at = self._names.index(column)
        for line, row in self._records():
            if at < len(row) and (fault := _fault(row[at], pa.string(), self._decimal)):
                return f"{self.name}, line {line}: column {column!r}: {fault}"
        return f"{self.name}: column {column!r}: {NOT_UTF8}"

    def _noticed_commas(self, data: bytes) -> list[str]:
        """Return the columns of text that are numbers if a comma is their decimal point."""
        texts = [j for j, name in enumerate(self._names) if pa.types.is_string(self._kinds[name])]
        if not texts:
            return []
        values: dict[int, list[str]] = {j: [] for j in texts}
        lines = data.decode(errors="replace").splitlines()[:MOST_NOTICED]
        try:
            for row in csv.reader(lines, delimiter=self.delimiter):
                for j in texts:
                    if j < len(row) and row[j].strip() not in MISSING:
                        values[j].append(row[j].strip())
        except csv.Error:
            return []
        return [self._names[j] for j, own in values.items() if _has_decimal_commas(own)]

    def _is_number(self, text: str) -> bool:
        """Say whether Arrow reads a text as a number here."""
        return is_number(text, self._decimal)

    def _opened(self) -> Stream:
        """Return the stream at the first row."""
        stream = self.source.open()
        stream.text = True
        stream.head(self._data_offset)
        stream.skip(self._data_offset)
        return stream

    def _head(self) -> bytes:
        """Return the beginning, long enough for the names and some rows."""
        length = HEAD
        while True:
            head = self.source.peek(length)
            lines = max(head.count(b"\n"), head.count(b"\r"))
            if len(head) < length or lines >= (8 if length < LONGEST_LINE // 8 else 2):
                break
            if length >= LONGEST_LINE:
                raise SourceError(f"{self.name}, line {lines + 1}: no line ends in {length >> 20} MB")
            length *= 4
        if not head.strip():
            raise SourceError(f"{self.name}: the file is empty")
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise EncodingError(f"{self.name}, line 1: the text is UTF-16; save it as UTF-8", "utf-16")
        if b"\0" in head:
            line = head[: head.index(b"\0")].count(b"\n") + 1
            raise SourceError(f"{self.name}, line {line}: there is a NUL byte: this is not a text file")
        return head

    def _sniffed(self, head: bytes) -> str:
        """Return the delimiter that the first line has most of, outside quotes; else a comma."""
        first = head.removeprefix(b"\xef\xbb\xbf").lstrip().splitlines()[0].decode(errors="replace")
        counts = Counter(char for char in re.sub(r'"[^"]*"', "", first) if char in DELIMITERS)
        return max(DELIMITERS, key=lambda char: (counts[char], -DELIMITERS.index(char)))

    def _header(self, head: bytes, *, header: bool) -> tuple[list[str], int]:
        """Return the names and where the rows begin."""
        start = 3 if head.startswith(b"\xef\xbb\xbf") else 0
        lines = _Lines(head[start:])
        first = next(iter(head[start:].splitlines()), b"")
        if (found := first.count(self.delimiter.encode())) > 8 * MOST_TEXT_COLUMNS:  # some may be in quotes
            check_text_width(found + 1, f"{self.name}, line 1")
        csv.field_size_limit(LONGEST_FIELD)
        reader = csv.reader(lines, delimiter=self.delimiter)
        try:
            for row in reader:
                if row:
                    break
                start += lines.taken
                lines.taken = 0
            else:
                raise SourceError(f"{self.name}: the file is empty")
        except csv.Error as error:
            raise SourceError(f"{self.name}, line {reader.line_num}: not CSV: {error}") from None
        where = f"{self.name}, line {reader.line_num}"
        check_text_width(len(row), where)
        if not header:
            return [f"x{j}" for j in range(len(row))], start
        try:
            names = [name.encode("latin-1").decode().strip() for name in row]
        except UnicodeDecodeError as error:
            raise EncodingError(
                f"{where}: the text is not UTF-8 (byte 0x{error.object[error.start]:02x})"
            ) from None
        return checked_names(names, where), start + lines.taken

    def _inferred(self, data: bytes, *, whole: bool) -> dict[str, pa.DataType]:
        if not data.strip():
            raise SourceError(f"{self.name}: there are column names but no rows")
        block = len(data) + 1 if whole else len(data) * 3 // 4
        step = max(FEW_COLUMNS, -(-len(self._names) // PARTS))
        kinds: dict[str, pa.DataType] = {}
        for first in range(0, len(self._names), step):
            kinds |= self._kinds_of(data, self._names[first : first + step], block)
        return kinds

    def _kinds_of(self, data: bytes, names: list[str], block: int) -> dict[str, pa.DataType]:
        if len(self._names) > FEW_COLUMNS:
            numbers = dict.fromkeys(names, pa.float64())
            with suppress(pa.ArrowInvalid):
                arrow_csv.open_csv(in_memory(data), **self._options(numbers, names, block))
                return numbers
        try:
            reader = arrow_csv.open_csv(in_memory(data), **self._options({}, names, block))
        except pa.ArrowInvalid as error:
            self._complain(error, 0, {})
        return {field.name: field.type for field in reader.schema}

    def _type(self, name: str, kind: str) -> pa.DataType:
        if kind == TEXT:
            return pa.string()
        return pa.bool_() if pa.types.is_boolean(self._kinds[name]) else pa.float64()

    def _decoded(self, stream: io.RawIOBase, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        wide = min(WIDE_BLOCK, WIDE_BLOCK_ROWS * self._row_bytes)
        block = max(BLOCK, wide, 128 * len(self._names))
        names = list(types) or self._names[:1]
        with closing(stream):
            for data in whole_rows(stream, block, self.delimiter):
                # not a reader: its threads may keep one while the next is made, each with what columns take
                table = arrow_csv.read_csv(in_memory(data), **self._options(types, names, len(data) + 1))
                yield from table.to_batches()

    def _options(self, types: Mapping[str, pa.DataType], names: list[str], block: int) -> dict[str, Any]:
        convert = arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=names,
            null_values=MISSING,
            strings_can_be_null=True,
            decimal_point=self._decimal,
        )
        if types and not any(map(pa.types.is_boolean, types.values())):
            convert.true_values = convert.false_values = []
        return {
            "read_options": arrow_csv.ReadOptions(
                column_names=self._names, block_size=block, use_threads=False
            ),
            "parse_options": arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            "convert_options": convert,
        }

    def _complain(self, error: pa.ArrowInvalid, good_rows: int, types: Mapping[str, pa.DataType]) -> NoReturn:
        """Raise the words for what Arrow did not like, with the line.

        The text of Arrow's error is shown, never read: it may change with its next version. So the file is
        read again for its first fault. A pipe cannot be, and there the text of Arrow must do.
        """
        if not self.source.once:
            self._find_fault(good_rows, types)
        raise SourceError(f"{self.name}, after row {good_rows}: {first_line(error)}") from None

    def _find_fault(self, good_rows: int, types: Mapping[str, pa.DataType]) -> None:
        places = [(self._names.index(name), name, kind) for name, kind in types.items()]
        line = 0
        try:
            for number, (line, row) in enumerate(self._records()):
                if number < good_rows:
                    continue
                self._check_row_width(row, line)
                for at, name, kind in places:
                    if fault := _fault(row[at], kind, self._decimal):
                        kind_of_error = EncodingError if fault == NOT_UTF8 else SourceError
                        raise kind_of_error(f"{self.name}, line {line}: column {name!r}: {fault}")
        except csv.Error:
            raise SourceError(
                f"{self.name}, after line {line}: a line is too long: is a quote not closed?"
            ) from None

    def _check_row_width(self, row: list[str], line: int) -> None:
        found, expected = len(row), len(self._names)
        if found != expected:
            cut = "" if found > expected else " (a line that is cut, or a quote that is not closed?)"
            raise SourceError(f"{self.name}, line {line}: expected {expected} columns, found {found}{cut}")

    def _complain_of_nul(self, error: NulByteError) -> NoReturn:
        if self.source.once:
            raise error
        line = 1
        with self.source.open() as stream:
            while data := stream.read(HEAD):
                before, nul, _after = data.partition(b"\0")
                line += before.count(b"\n")
                if nul:
                    break
        raise SourceError(f"{self.name}, line {line}: there is a NUL byte: this is not a text file") from None

    def _refuse_open_quote(self) -> None:
        """Complain if the last value is a quoted one without an end; a lone quote inside a value is none."""
        if self.source.once:
            raise SourceError(f"{self.name}: an odd number of quotes: one is not closed")
        line = 0
        try:
            for line, _row in self._records(strict=True):  # noqa: B007
                pass
        except csv.Error:
            raise SourceError(f"{self.name}, after line {line}: a quote is not closed") from None

    def _line_of(self, record: int) -> int | None:
        if self.source.once:
            return None
        try:
            for number, (line, _row) in enumerate(self._records()):
                if number == record:
                    return line
        except (csv.Error, SourceError):
            return None
        return None

    def _records(self, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Yield the records after the names and the line where each begins."""
        with self.source.open() as stream:
            first = stream.head(self._data_offset).count(b"\n") + 1
            stream.skip(self._data_offset)
            csv.field_size_limit(LONGEST_FIELD)
            lines = (line for some in lines_of(stream) for whole in some for line in whole.splitlines(True))
            text = (line.decode(errors="surrogateescape") for line in lines)
            reader = csv.reader(text, delimiter=self.delimiter, strict=strict)
            line = first
            for row in reader:
                if row:
                    yield line, row
                line = first + reader.line_num


class _Lines:
    """Lines of text for csv.reader, counting the bytes they take."""

    def __init__(self, data: bytes) -> None:
        self._lines = iter(data.splitlines(keepends=True))
        self.taken = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.taken += len(line)
        return line.decode("latin-1")


def check_text_width(n_columns: int, where: str) -> None:
    """Refuse more columns than are read from text."""
    check_width(n_columns, where, MOST_TEXT_COLUMNS, "CSV and ARFF")


def is_number(text: str, decimal: str = ".") -> bool:
    """Say whether Arrow reads a text as a number: without underscores, which Python's ``float`` allows."""
    text = text.strip()
    if decimal != ".":
        text = text.replace(".", "_").replace(decimal, ".")
    return bool(NUMBER_TEXT.fullmatch(text)) or text.lower().lstrip("+-") in WORDS_FOR_NUMBERS


def _has_decimal_commas(values: list[str]) -> bool:
    """Say whether values are numbers with decimal commas, and not with commas between thousands."""
    if not values or not all(COMMA_NUMBER.fullmatch(value) for value in values):
        return False
    return any("," in value and not COMMA_THOUSANDS.fullmatch(value) for value in values)


def _fault(text: str, kind: pa.DataType, decimal: str = ".") -> str | None:
    """Return what is wrong with a value, None if nothing is."""
    if text in MISSING:
        return None
    if pa.types.is_string(kind):
        try:
            text.encode()
        except UnicodeEncodeError:
            return NOT_UTF8
        return None
    if pa.types.is_boolean(kind):
        return None if text.lower() in ("true", "false", "0", "1") else f"{_short(text)} is not true or false"
    return None if is_number(text, decimal) else f"{_short(text)} is not a number"


def _row_bytes(data: bytes) -> int:
    """Return the length of the longest of the first rows."""
    return max((len(line) for line in data.splitlines()), default=0)


def _short(text: str) -> str:
    text = text.encode(errors="surrogateescape").decode(errors="replace")
    return repr(text if len(text) <= 40 else text[:39] + "…")
