"""CSV and TSV, decoded by Arrow in blocks; what Arrow refuses is found again to say the line."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import pyarrow as pa
from pyarrow import csv as arrow_csv

from .part import NUMBER, TEXT, Part, SourceError, checked_names, kind_of
from .stream import Stream, name_of

HEAD = 1 << 19
LONGEST_LINE = 1 << 26
# Arrow reads some blocks ahead, and each takes several times its size.
BLOCK = 1 << 18
DELIMITERS = ",;\t|"
MISSING = [*arrow_csv.ConvertOptions().null_values, "?"]


class CsvPart(Part):
    """A CSV file. Numbers are read as float64; ``columns`` is told by the first 512 KB."""

    typed = False

    def __init__(self, path: str, *, delimiter: str | None = None, header: bool = True) -> None:
        self.path = path
        self.name = name_of(path)
        self._quote = '"'
        self._stream: Stream | None = Stream(path)
        self.size = self._stream.size
        self._read = 0
        head = self._head(self._stream)
        self.delimiter = delimiter or self._sniffed(head)
        self._names, self._data_offset = self._header(head, header=header)
        self._n_names = len(self._names)
        self._kinds = self._inferred(head[self._data_offset :], whole=len(head) < HEAD)
        self.columns = {name: kind_of(kind) for name, kind in self._kinds.items()}

    @property
    def position(self) -> int:
        return self._read if self._stream is None else self._stream.position

    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        stream = self._fresh()
        stream.quotes = 0
        try:
            yield from self._decoded(stream, {name: self._type(name, kind) for name, kind in wanted.items()})
            if stream.quotes % 2:
                self._refuse_open_quote()
        except pa.ArrowInvalid as error:
            self._complain(error)
        finally:
            self._read = stream.position
            stream.close()
            self._stream = None

    def place(self, record: int) -> str:
        line = self._line_of(record)
        return f"{self.name}, row {record + 1}" if line is None else f"{self.name}, line {line}"

    def describe_text(self, column: str) -> str:
        if self.path == "-":
            return ""
        at = self._names.index(column)
        for record, (line, row) in enumerate(self._records()):
            if record >= 100_000:
                break
            if at < len(row) and row[at].strip() not in MISSING and not _is_number(row[at]):
                return f" ({_short(row[at])} in line {line})"
        return ""

    def _fresh(self) -> Stream:
        """Return the stream at the first row; a file can be read again, standard input cannot."""
        if self._stream is None:
            if self.path == "-":
                raise SourceError("standard input can be read only once here")
            self._stream = Stream(self.path)
            self._head(self._stream)
        self._stream.skip(self._data_offset)
        return self._stream

    def _head(self, stream: Stream) -> bytes:
        """Return the beginning, long enough for the names and some rows."""
        length = HEAD
        while True:
            head = stream.head(length)
            if len(head) < length or head.count(b"\n") >= 8 or head.count(b"\r") >= 8:
                break
            if length >= LONGEST_LINE:
                raise SourceError(f"{self.name}, line 1: no line ends in {length >> 20} MB")
            length *= 4
        if not head.strip():
            raise SourceError(f"{self.name}: the file is empty")
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise SourceError(f"{self.name}, line 1: the text is UTF-16; save it as UTF-8")
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
        reader = csv.reader(lines, delimiter=self.delimiter, quotechar=self._quote)
        for row in reader:
            if row:
                break
            start += lines.taken
            lines.taken = 0
        else:
            raise SourceError(f"{self.name}: the file is empty")
        where = f"{self.name}, line {reader.line_num}"
        if not header:
            return [f"x{j}" for j in range(len(row))], start
        try:
            names = [name.encode("latin-1").decode().strip() for name in row]
        except UnicodeDecodeError as error:
            raise SourceError(
                f"{where}: the text is not UTF-8 (byte 0x{error.object[error.start]:02x})"
            ) from None
        return checked_names(names, where), start + lines.taken

    def _inferred(self, data: bytes, *, whole: bool) -> dict[str, pa.DataType]:
        if not data.strip():
            raise SourceError(f"{self.name}: there are column names but no rows")
        block = len(data) + 1 if whole else len(data) * 3 // 4
        try:
            reader = self._reader(pa.BufferReader(data), {}, self._names, block)
        except pa.ArrowInvalid as error:
            self._complain(error)
        return {field.name: field.type for field in reader.schema}

    def _type(self, name: str, kind: str) -> pa.DataType:
        if kind == TEXT:
            return pa.string()
        return pa.bool_() if pa.types.is_boolean(self._kinds[name]) else pa.float64()

    def _decoded(self, stream: io.RawIOBase, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        longest = max(BLOCK, 4 * self._row_bytes)
        yield from self._reader(pa.PythonFile(stream, "r"), types, list(types) or self._names[:1], longest)

    @property
    def _row_bytes(self) -> int:
        return 32 * self._n_names

    def _reader(self, source: Any, types: Mapping[str, pa.DataType], names: list[str], block: int) -> Any:
        return arrow_csv.open_csv(
            source,
            read_options=arrow_csv.ReadOptions(column_names=self._names, block_size=block, use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter, quote_char=self._quote, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types, include_columns=names, null_values=MISSING, strings_can_be_null=True
            ),
        )

    def _complain(self, error: pa.ArrowInvalid) -> NoReturn:
        """Raise the words for what Arrow did not like, with the line."""
        message = str(error)
        row = re.search(r"Row #(\d+): ", message)
        where = self.place(int(row[1]) - 1) if row else self.name
        if ragged := re.search(r"Expected (\d+) columns, got (\d+)", message):
            cut = (
                ""
                if int(ragged[2]) > int(ragged[1])
                else " (a line that is cut, or a quote that is not closed?)"
            )
            raise SourceError(f"{where}: expected {ragged[1]} columns, found {ragged[2]}{cut}") from None
        column = re.search(r"In CSV column #(\d+): ", message)
        name = f"column {self._names[int(column[1])]!r}: " if column else ""
        if "invalid UTF8" in message:
            raise SourceError(f"{where}: {name}the text is not UTF-8") from None
        if value := re.search(r"conversion error to \w+: invalid value '(.*)'", message, re.DOTALL):
            raise SourceError(f"{where}: {name}{_short(value[1])} is not a number") from None
        if "straddling" in message:
            raise SourceError(f"{where}: a line is too long: is a quote not closed?") from None
        raise SourceError(f"{where}: {message}") from None

    def _refuse_open_quote(self) -> None:
        """Complain if the last value is a quoted one without an end; a lone quote inside a value is none."""
        if self.path == "-":
            raise SourceError(f"{self.name}: an odd number of quotes: one is not closed")
        line = 0
        try:
            for line, _row in self._records(strict=True):  # noqa: B007
                pass
        except csv.Error:
            raise SourceError(f"{self.name}, after line {line}: a quote is not closed") from None

    def _line_of(self, record: int) -> int | None:
        if self.path == "-":
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
        with Stream(self.path) as stream:
            first = stream.head(self._data_offset).count(b"\n") + 1
            stream.skip(self._data_offset)
            csv.field_size_limit(LONGEST_LINE)
            text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8", errors="replace", newline="")
            reader = csv.reader(text, delimiter=self.delimiter, quotechar=self._quote, strict=strict)
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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.strip().lower() in {"true", "false"}
    return "_" not in text


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


__all__ = ["MISSING", "NUMBER", "CsvPart"]
