"""ARFF: its header tells the columns, its rows are CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from .csv_file import HEAD, CsvPart
from .part import SourceError, checked_names
from .stream import Stream, name_of

ATTRIBUTE = re.compile(
    r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s{]+)\s*(.+)$", re.IGNORECASE
)
# What a row of plain CSV has not; and a quoted value, or a comma with the spaces around it.
UNCLEAN = re.compile(rb"[%'\\\t]|, | ,")
TOKEN = re.compile(rb"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\s*,\s*""")
CHUNK = 1 << 18
NUMBERS = ("numeric", "real", "integer")


class ArffPart(CsvPart):
    """An ARFF file with dense rows. A nominal attribute is text, unless all its values are numbers."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = name_of(path)
        self.delimiter = ","
        self._stream = Stream(path)
        self.size = self._stream.size
        self._read = 0
        head = self._head(self._stream)
        while (
            "@data" not in head.decode("latin-1").lower() and len(head) < 64 * HEAD and len(head) % HEAD == 0
        ):
            head = self._stream.head(len(head) * 4)
        self._kinds, self._data_offset = self._attributes(head)
        self._names = list(self._kinds)
        self._n_names = len(self._names)
        self._quote = '"'
        self._refuse_sparse(head[self._data_offset :])
        self.columns = {
            name: "text" if pa.types.is_string(kind) else "number" for name, kind in self._kinds.items()
        }
        self.columns |= {name: "other" for name, kind in self._kinds.items() if pa.types.is_timestamp(kind)}

    def _decoded(self, stream: io.RawIOBase, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        return super()._decoded(_Cleaned(stream), types)

    def _records(self, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        with Stream(self.path) as stream:
            first = stream.head(self._data_offset).count(b"\n") + 1
            stream.skip(self._data_offset)
            for line, raw in enumerate(io.BufferedReader(stream), start=first):
                if cleaned := _clean(raw).strip():
                    yield line, next(csv.reader([cleaned.decode(errors="replace")], strict=strict))

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
            return pa.float64() if all(_numeric(value) for value in values) else pa.string()
        kind = text.split()[0].lower()
        if kind in NUMBERS:
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
    """The rows of ARFF as CSV: no comments, no spaces around commas, double quotes only."""

    def __init__(self, stream: io.RawIOBase) -> None:
        self._lines = io.BufferedReader(stream, CHUNK)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            lines = self._lines.readlines(CHUNK)
            if not lines:
                return 0
            text = b"".join(lines)
            self._left = text if not UNCLEAN.search(text) else b"".join(map(_clean, lines))
        taken = self._left[: len(buffer)]
        self._left = self._left[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)


def _clean(line: bytes) -> bytes:
    if line.lstrip().startswith(b"%"):
        return b""
    return TOKEN.sub(_csv_token, line.strip()) + b"\n"


def _csv_token(found: re.Match[bytes]) -> bytes:
    if not found[1]:
        return b","
    value = re.sub(rb"\\(.)", rb"\1", found[1][1:-1])
    return b'"' + value.replace(b'"', b'""') + b'"'


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
