"""ARFF: its header tells the columns, its rows are CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from .csv_file import HEAD, LONGEST_FIELD, CsvReader, check_text_width, is_number
from .reader import NUMBER, OTHER, TEXT, SourceError, checked_names
from .source import LONGEST_LINE, Source, lines_of

# Possessive repetitions (*+) never go back, so that a match takes time in proportion to the line.
QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
ATTRIBUTE = re.compile(rf"@attribute\s++({QUOTED}|[^\s{{'\"][^\s{{]*+)\s*+(.+)$", re.IGNORECASE)
# What a row of plain CSV has not.
UNCLEAN = re.compile(rb"[%'\\\t]|, | ,")
# A value up to its comma: quoted, or up to the comma itself.
VALUE = re.compile(rf"\s*+(?:({QUOTED})\s*+|([^,'\"][^,]*+)?)(?:,|$)".encode())
NUMBER_TYPES = ("numeric", "real", "integer")


class ArffReader(CsvReader):
    """An ARFF file with dense rows. A nominal attribute is text, unless all its values are numbers."""

    def __init__(self, source: Source) -> None:
        head = self._begin(source)
        while b"@data" not in head.lower() and len(head) < LONGEST_LINE:
            longer = source.peek(len(head) + HEAD * 8)
            if len(longer) == len(head):
                break
            head = longer
        self._kinds, self._data_offset = self._attributes(head)
        self._names = list(self._kinds)
        check_text_width(len(self._names), self.name)
        rows = head[self._data_offset :]
        self._row_bytes = max((len(line) for line in rows.splitlines()), default=0)
        self._refuse_sparse(rows)
        self.columns = {name: _kind(kind) for name, kind in self._kinds.items()}

    def _decoded(self, stream: io.RawIOBase, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        return super()._decoded(_Cleaned(self._cleaned(stream), stream), types)

    def _cleaned(self, stream: Any) -> Iterator[bytes]:
        """Yield the rows as CSV, some at a time."""
        line = 0
        for lines in lines_of(stream):
            text = b"".join(lines)
            yield text if not UNCLEAN.search(text) else b"".join(self._clean_lines(lines, line))
            line += len(lines)

    def _clean_lines(self, lines: list[bytes], first: int) -> Iterator[bytes]:
        for number, line in enumerate(lines, start=first):
            try:
                yield clean(line)
            except ValueError as error:
                where = f"row {number + 1}" if self.source.once else f"line {number + self._first_line()}"
                raise SourceError(f"{self.name}, {where}: {error}") from None

    def _first_line(self) -> int:
        with self.source.open() as stream:
            return stream.head(self._data_offset).count(b"\n") + 1

    def _records(self, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        with self.source.open() as stream:
            number = stream.head(self._data_offset).count(b"\n") + 1
            stream.skip(self._data_offset)
            for lines in lines_of(stream):
                for line, raw in enumerate(lines, start=number):
                    if cleaned := _clean_or_raw(raw).strip():
                        text = cleaned.decode(errors="surrogateescape")
                        csv.field_size_limit(LONGEST_FIELD)
                        yield line, next(csv.reader([text], strict=strict))
                number += len(lines)

    def _attributes(self, head: bytes) -> tuple[dict[str, pa.DataType], int]:
        """Return the columns and where the rows begin."""
        names: list[str] = []
        kinds: list[pa.DataType] = []
        offset = 0
        for number, raw in enumerate(io.BytesIO(head), start=1):
            offset += len(raw)
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError:
                raise SourceError(f"{self.name}, line {number}: the text is not UTF-8") from None
            if line.lower().startswith("@data"):
                checked_names(names, f"{self.name}, line {number}")
                return dict(zip(names, kinds, strict=True)), offset
            if line.lower().startswith("@attribute"):
                found = ATTRIBUTE.match(line)
                if not found:
                    raise SourceError(f"{self.name}, line {number}: not an attribute: {line[:60]!r}")
                names.append(_unquoted(found[1]))
                kinds.append(self._attribute_type(found[2].strip(), number))
            elif line and not line.startswith(("%", "@")):
                raise SourceError(f"{self.name}, line {number}: neither @attribute nor @data: {line[:60]!r}")
        raise SourceError(f"{self.name}: there is no @data line")

    def _attribute_type(self, text: str, line: int) -> pa.DataType:
        if text.startswith("{"):
            values = [_unquoted(value.strip()) for value in text.strip("{} ").split(",")]
            return pa.float64() if all(is_number(value) for value in values) else pa.string()
        kind = text.split()[0].lower()
        if kind in NUMBER_TYPES:
            return pa.float64()
        if kind == "string":
            return pa.string()
        if kind == "date":
            return pa.timestamp("s")
        raise SourceError(f"{self.name}, line {line}: unknown type {text[:40]!r}")

    def _refuse_sparse(self, rows: bytes) -> None:
        if not rows.strip():
            raise SourceError(f"{self.name}: there are attributes but no rows")
        if rows.lstrip().startswith(b"{"):
            line = self._line_of(0) or 1
            raise SourceError(
                f"{self.name}, line {line}: sparse ARFF is not read; save it as libsvm or dense ARFF"
            )


class _Cleaned(io.RawIOBase):
    """Pieces of text as a file."""

    def __init__(self, pieces: Iterator[bytes], stream: io.RawIOBase) -> None:
        self._pieces = pieces
        self._stream = stream
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        taken = self._left[: len(buffer)]
        self._left = self._left[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        self._stream.close()
        super().close()


def clean(line: bytes) -> bytes:
    r"""Return a row of ARFF as a line of CSV, a comment as nothing; a quote without end is an error.

    Examples
    --------
    >>> clean(b" 1 , 'it is', ? % no comment here")
    b'1,"it is",? % no comment here\n'
    """
    line = line.strip()
    if line.startswith(b"%") or not line:
        return b""
    values, at, more = [], 0, True
    while more:
        found = VALUE.match(line, at)
        if found is None:
            raise ValueError("a quote that is not closed, or text beside it")
        quoted, plain = found.groups()
        values.append(_csv_value(quoted) if quoted else (plain or b"").rstrip())
        at, more = found.end(), found[0].endswith(b",")
    return b",".join(values) + b"\n"


def _clean_or_raw(line: bytes) -> bytes:
    try:
        return clean(line)
    except ValueError:
        return line


def _csv_value(quoted: bytes) -> bytes:
    value = re.sub(rb"\\(.)", rb"\1", quoted[1:-1])
    return b'"' + value.replace(b'"', b'""') + b'"'


def _kind(kind: pa.DataType) -> str:
    return TEXT if pa.types.is_string(kind) else OTHER if pa.types.is_timestamp(kind) else NUMBER


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
