"""Parquet, decoded page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from .prefetch import prefetch
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


class ParquetReader(Reader):
    """A Parquet file. It is open only while it is read, so that thousands of files can be one dataset."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._seen = 0
        try:
            with self._open() as file:
                self._schema = file.schema_arrow
                self._rows = max(1, file.metadata.num_rows)
                names = list(self._schema.names)
        except DAMAGE as error:
            raise SourceError(
                f"{self.name}: not a Parquet file, or a damaged one: {first_line(error)}"
            ) from None
        checked_names(names, self.name)
        self.columns = {field.name: kind_of(field.type) for field in self._schema}

    @property
    def position(self) -> int:
        return int((self.size or 0) * min(1.0, self._seen / self._rows))

    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        self._seen = 0
        names = list(wanted) or list(self.columns)[:1]
        try:
            plain = bool(wanted) and is_plain(self._schema, names)
            with self._open() as file:
                # as many rows as a batch of the dataset has, so that it need not be put together from pieces
                decoded = file.iter_batches(batch_rows(len(names)), columns=names, use_threads=False)
                for batch in prefetch(decoded):
                    batch.validate(full=True)  # the text of a damaged file may not be UTF-8
                    self._seen += batch.num_rows
                    yield batch if plain and batch.schema.names == names else as_wanted(batch, wanted)
        except DAMAGE as error:
            raise SourceError(f"{self.place(self._seen)}: damaged: {first_line(error)}") from None

    def _open(self) -> Any:
        from pyarrow import parquet  # here, because it takes 8 MB that no other format needs

        # A buffered stream reads pages as they are needed, not whole row groups.
        return parquet.ParquetFile(
            self.source.path, buffer_size=1 << 16, pre_buffer=False, page_checksum_verification=True
        )
