"""ARFF: its header tells the columns, its rows are CSV."""

from __future__ import annotations

import io
import re

import pyarrow as pa

from .csv_file import HEAD, CsvPart
from .part import SourceError, checked_names
from .stream import Stream, name_of

ATTRIBUTE = re.compile(
    r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s{]+)\s*(.+)$", re.IGNORECASE
)
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
        rows = head[self._data_offset :]
        self._quote = "'" if b"'" in rows or b'"' not in rows else '"'
        self._refuse_sparse(rows)
        self.columns = {
            name: "text" if pa.types.is_string(kind) else "number" for name, kind in self._kinds.items()
        }
        self.columns |= {name: "other" for name, kind in self._kinds.items() if pa.types.is_timestamp(kind)}

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
