"""libsvm (svmlight) text: ``label index:value index:value ...``; what is not there is zero."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from .._system.types import Array
from .label_column import integer_of
from .reader import ENTRIES, NUMBER, TEXT, Reader, SourceError, batch_rows, check_width, first_line
from .source import Source, lines_of

if TYPE_CHECKING:
    from scipy.sparse import csc_array

CHUNK = 1 << 20
WIDE_CHUNK = 1 << 23
LABEL_NAME = "label"
# Above so many columns rows stay sparse: spread out, a short file could take hours.
DENSE_COLUMNS = 2048


class LibsvmReader(Reader):
    """A libsvm file, read twice, first for the highest index: 7 is column ``x7``, the label ``label``."""

    typed = False

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._read = 0
        first, last = self._extent()
        check_width(last - first + 2, self.name)
        self.sparse = last - first >= DENSE_COLUMNS
        self.columns = {LABEL_NAME: NUMBER} | {f"x{j}": NUMBER for j in range(first, last + 1)}

    @property
    def position(self) -> int:
        return self._read

    def absent_means_zero(self) -> bool:
        return True

    def place(self, record: int) -> str:
        """Return the line; lines without a row (empty, or a comment) are counted too."""
        number, left = 0, record
        with self.source.open() as stream:
            for lines in lines_of(stream):
                for number, line in enumerate(lines, start=number + 1):  # noqa: B020
                    if _has_row(line):
                        if not left:
                            return f"{self.name}, line {number}"
                        left -= 1
        return super().place(record)

    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """Yield rows; those of a sparse file as one column of entries, see ``ENTRIES``."""
        as_text = wanted.get(LABEL_NAME) == TEXT
        for X, labels in self._chunks(WIDE_CHUNK if self.sparse else CHUNK):
            label = pa.array(labels, type=pa.string())
            if not as_text:
                label = label.cast(pa.float64())
            if self.sparse:
                columns = ({LABEL_NAME: label} if LABEL_NAME in wanted else {}) | {ENTRIES: _entries(X)}
                yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
            else:
                yield from self._dense(X, label, list(wanted))

    def _dense(self, X: csr_array, label: pa.Array, names: list[str]) -> Iterator[pa.RecordBatch]:
        step = batch_rows(len(names))
        for start in range(0, len(label), step):
            part = X[start : start + step].tocsc()
            n = part.shape[0]
            if not names:
                yield pa.RecordBatch.from_struct_array(pa.array([{}] * n, type=pa.struct([])))
                continue
            arrays = [
                label.slice(start, n) if name == LABEL_NAME else pa.array(_column(part, int(name[1:])))
                for name in names
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=names)

    def _extent(self) -> tuple[int, int]:
        first, last, rows = 1, 0, 0
        for X, _labels in self._chunks(CHUNK):
            rows += X.shape[0]
            if X.nnz:
                first = min(first, int(X.indices.min()))
                last = max(last, int(X.indices.max()))
        if not rows:
            raise SourceError(f"{self.name}: the file is empty")
        if last < first:
            raise SourceError(f"{self.name}: no row has a value: is this libsvm text?")
        return first, last

    def _chunks(self, size: int) -> Iterator[tuple[csr_array, list[str]]]:
        """Yield a CSR matrix and labels for about ``size`` bytes of whole lines."""
        line = 1
        with self.source.open() as stream:
            stream.text = True
            for lines in lines_of(stream, size):
                yield self._parsed(lines, line)
                line += len(lines)
                self._read = stream.position

    def _parsed(self, lines: list[bytes], first: int) -> tuple[csr_array, list[str]]:
        from sklearn.datasets import load_svmlight_file  # here, because no other format needs it

        try:
            # Zero-based: index 7 is column 7, so that a name alone says where a value is.
            X, y = load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True)
            labels = [_label(line) for line in lines if _has_row(line)]
            if len(labels) != len(y):
                raise ValueError("a line without a label")
            return X, labels
        except (ValueError, OverflowError, MemoryError) as error:
            if len(lines) > 1:
                half = len(lines) // 2
                self._parsed(lines[:half], first)
                self._parsed(lines[half:], first + half)
            raise SourceError(f"{self.name}, line {first}: not libsvm text: {first_line(error)}") from None


def _has_row(line: bytes) -> bool:
    return bool(line.partition(b"#")[0].strip())


def _label(line: bytes) -> str:
    """Return the label of a line: a whole number as such, exactly; else its text."""
    text = line.split(None, 1)[0].partition(b"#")[0].decode()
    number = integer_of(text)
    return text if number is None else str(number)


def _column(part: csc_array, column: int) -> Array:
    values = np.zeros(part.shape[0])
    if column < part.shape[1]:
        begin, end = part.indptr[column], part.indptr[column + 1]
        values[part.indices[begin:end]] = part.data[begin:end]
    return values


def _entries(X: csr_array) -> pa.Array:
    """Return the rows of a CSR matrix as lists of entries."""
    entries = pa.StructArray.from_arrays(
        [pa.array(X.indices.astype(np.int32)), pa.array(X.data)], names=["index", "value"]
    )
    return pa.ListArray.from_arrays(pa.array(X.indptr.astype(np.int32)), entries)
