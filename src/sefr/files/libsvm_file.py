"""libsvm (svmlight) text: ``label index:value index:value ...``; what is not there is zero."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from .part import NUMBER, Part, SourceError
from .stream import Stream, name_of

CHUNK = 1 << 20
LABEL = "label"


class LibsvmPart(Part):
    """A libsvm file, read twice, first for the highest index: 7 is column ``x7``, the label ``label``."""

    typed = False

    def __init__(self, path: str, name: str | None = None) -> None:
        self.path = path
        self.name = name or name_of(path)
        self._stream: Stream | None = None
        with Stream(path) as stream:
            self.size = stream.size
        self._read = 0
        first, last = self._extent()
        self._first = first
        self.columns = {LABEL: NUMBER} | {f"x{j}": NUMBER for j in range(first, last + 1)}

    @property
    def position(self) -> int:
        return self._read

    def absent_means_zero(self) -> bool:
        return True

    def place(self, record: int) -> str:
        """Return the line; lines without a row (empty, or a comment) are counted too."""
        with Stream(self.path) as stream:
            for number, line in enumerate(io.BufferedReader(stream), start=1):
                if line.split(b"#")[0].strip():
                    if not record:
                        return f"{self.name}, line {number}"
                    record -= 1
        return super().place(record)

    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        at = {name: int(name[1:]) for name in wanted if name != LABEL}
        for X, y in self._chunks():
            # Zero-based: index 7 is column 7, so that a name alone says where a value is.
            rows = max(1, (1 << 20) // max(1, len(wanted)))
            for start in range(0, len(y), rows):
                table = X[start : start + rows].tocsc()
                n = table.shape[0]
                arrays = [
                    pa.array(y[start : start + rows])
                    if name == LABEL
                    else pa.array(_dense(table, at[name], n))
                    for name in wanted
                ]
                if wanted:
                    yield pa.RecordBatch.from_arrays(arrays, names=list(wanted))
                else:
                    yield pa.RecordBatch.from_struct_array(pa.array([{}] * n, type=pa.struct([])))

    def _extent(self) -> tuple[int, int]:
        first, last, rows = 1, 0, 0
        for X, _y in self._chunks():
            rows += X.shape[0]
            if X.nnz:
                first = min(first, int(X.indices.min()))
                last = max(last, int(X.indices.max()))
        if not rows:
            raise SourceError(f"{self.name}: the file is empty")
        if last < first:
            raise SourceError(f"{self.name}: no row has a value: is this libsvm text?")
        return first, last

    def _chunks(self) -> Iterator[tuple[Any, Any]]:
        """Yield a CSR matrix and labels for every megabyte of whole lines."""
        line = 1
        with Stream(self.path) as stream:
            reader = io.BufferedReader(stream, CHUNK)
            while lines := reader.readlines(CHUNK):
                yield self._parsed(lines, line)
                line += len(lines)
                self._read = stream.position

    def _parsed(self, lines: list[bytes], first: int) -> tuple[Any, Any]:
        from sklearn.datasets import load_svmlight_file  # here, because no other format needs it

        try:
            return load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True)  # type: ignore[no-any-return]
        except (ValueError, OverflowError) as error:
            if len(lines) > 1:
                half = len(lines) // 2
                self._parsed(lines[:half], first)
                self._parsed(lines[half:], first + half)
            raise SourceError(f"{self.name}, line {first}: not libsvm text: {error}") from None


def _dense(table: Any, column: int, n_rows: int) -> Any:
    values = np.zeros(n_rows)
    if column < table.shape[1]:
        begin, end = table.indptr[column], table.indptr[column + 1]
        values[table.indices[begin:end]] = table.data[begin:end]
    return values
