"""Arrow IPC: files (also called Feather) and streams."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import ipc

from .arrow_messages import messages
from .reader import (
    DAMAGE,
    Reader,
    SourceError,
    as_wanted,
    batch_rows,
    checked_names,
    first_line,
    is_plain,
    kind_of,
)
from .source import Source

MOST_CLAIMED, MOST_RATIO = 1 << 28, 200  # bytes of a batch after decompression; the second per byte before
# Pages are given back when so many bytes may be mapped; so many are, beside those that are read, per column.
MOST_MAPPED, MAPPED_AROUND = 1 << 25, 1 << 16


class ArrowReader(Reader):
    """An Arrow file or stream. The file is mapped; pages that were read are given back after some slices.

    Arrow trusts offsets and dictionary codes as they lie in the file, and reads wherever they point. So every
    slice of the columns wanted is validated in full before a byte of it is used.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._read = 0
        try:
            content = self._mapped()
            self._refuse_bombs(content)
            schema = self._schema = self._open(content).schema
            names = list(schema.names)
        except SourceError:
            raise
        except DAMAGE as error:
            raise SourceError(
                f"{self.name}: not an Arrow or Feather file, or a damaged one: {first_line(error)}"
            ) from None
        checked_names(names, self.name)
        self.columns = {field.name: kind_of(field.type) for field in schema}

    @property
    def position(self) -> int:
        return self._read

    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        record = self._read = 0
        try:
            content = self._mapped()
            names, step = list(wanted), batch_rows(len(wanted))
            plain = bool(wanted) and is_plain(self._schema, names)
            mapped, slices = len(names) * (8 * step + MAPPED_AROUND), 0
            for piece, done in self._slices(content, names, step):
                yield piece if plain and piece.schema.names == names else as_wanted(piece, wanted)
                record += piece.num_rows
                self._read = int(len(content) * done)
                slices += 1
                if slices * mapped >= MOST_MAPPED and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
                    content.madvise(mmap.MADV_DONTNEED)
                    slices = 0
        except DAMAGE as error:
            raise SourceError(f"{self.place(record)}: damaged: {first_line(error)}") from None

    def _refuse_bombs(self, content: Any) -> None:
        """Refuse a batch that would take far more memory than the file: Arrow decompresses it whole."""
        for message in messages(content):
            if message.claimed > max(MOST_CLAIMED, MOST_RATIO * message.body):
                raise SourceError(
                    f"{self.name}: a batch of {message.body:,} bytes claims {message.claimed:,} when it is "
                    "decompressed; write it in batches of fewer rows"
                )

    def _mapped(self) -> mmap.mmap:
        with open(self.source.path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    @staticmethod
    def _open(content: mmap.mmap, fields: list[int] | None = None) -> Any:
        buffer = pa.BufferReader(pa.py_buffer(content))
        options = ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        if content[:6] == b"ARROW1":
            return ipc.open_file(buffer, options=options)
        return ipc.open_stream(buffer, options=options)

    def _slices(
        self, content: mmap.mmap, names: list[str], step: int
    ) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield ``step`` rows at a time, in two slices if a record batch ends between."""
        at = {name: number for number, name in enumerate(self.columns)}
        some = sorted(at[name] for name in names or list(at)[:1])
        # of some columns Arrow makes a copy; all of them stay where they are mapped
        reader = self._open(content, some if len(some) < len(at) else None)
        whole = getattr(reader, "num_record_batches", None)
        batches = (reader.get_batch(i) for i in range(whole)) if whole is not None else iter(reader)
        room = step
        for number, batch in enumerate(batches):
            batch.validate()
            start = 0
            while start < batch.num_rows:
                piece = batch.slice(start, room)
                piece.validate(full=True)
                start += piece.num_rows
                room = room - piece.num_rows or step
                yield piece, (number + start / batch.num_rows) / whole if whole else 0.0
