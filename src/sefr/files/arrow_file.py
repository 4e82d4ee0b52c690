"""Arrow IPC: files (also called Feather) and streams."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import ipc

from .part import Part, SourceError, as_wanted, batch_rows, checked_names, kind_of


class ArrowPart(Part):
    """An Arrow file or stream. The file is mapped; pages that were read are given back after each slice."""

    def __init__(self, path: str, name: str | None = None) -> None:
        self.path = path
        self.name = name or path
        try:
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._is_file = self._map[:6] == b"ARROW1"
            schema = self._open().schema
        except (pa.ArrowException, OSError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise SourceError(
                f"{self.name}: not an Arrow or Feather file, or a damaged one: {first}"
            ) from None
        checked_names(schema.names, self.name)
        self.columns = {field.name: kind_of(field.type) for field in schema}
        self.size = len(self._map)
        self._read = 0

    @property
    def position(self) -> int:
        return self._read

    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        record = self._read = 0
        try:
            for batch, done in self._slices(batch_rows(len(wanted))):
                yield as_wanted(batch, wanted)
                record += batch.num_rows
                self._read = int(len(self._map) * done)
                self._map.madvise(mmap.MADV_DONTNEED)
        except (pa.ArrowException, OSError) as error:
            first = str(error).splitlines()[0]
            raise SourceError(f"{self.place(record)}: damaged: {first}") from None

    def _open(self) -> Any:
        buffer = pa.BufferReader(pa.py_buffer(self._map))
        return ipc.open_file(buffer) if self._is_file else ipc.open_stream(buffer)

    def _slices(self, step: int) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield ``step`` rows at a time, in two slices where a record batch ends between."""
        reader = self._open()
        whole = reader.num_record_batches if self._is_file else None
        batches = (reader.get_batch(i) for i in range(whole)) if whole is not None else iter(reader)
        room = step
        for number, batch in enumerate(batches):
            batch.validate()
            start = 0
            while start < batch.num_rows:
                piece = batch.slice(start, room)
                start += piece.num_rows
                room = room - piece.num_rows or step
                yield piece, (number + start / batch.num_rows) / whole if whole else 0.0
