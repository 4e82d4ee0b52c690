"""Parquet, decoded page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from .ahead import ahead
from .part import Part, SourceError, as_wanted, batch_rows, checked_names, is_plain, kind_of


class ParquetPart(Part):
    """A Parquet file."""

    def __init__(self, path: str, name: str | None = None) -> None:
        from pyarrow import parquet  # here, because it takes 8 MB that no other format needs

        self.path = path
        self.name = name or path
        try:
            # A buffered stream reads pages as they are needed, not whole row groups.
            self._file = parquet.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise SourceError(
                f"{self.name}: not a Parquet file, or a damaged one: {_first_line(error)}"
            ) from None
        schema = self._file.schema_arrow
        checked_names(schema.names, self.name)
        self.columns = {field.name: kind_of(field.type) for field in schema}
        self.size = sum(
            self._file.metadata.row_group(i).total_byte_size for i in range(self._file.num_row_groups)
        )
        self._rows = max(1, self._file.metadata.num_rows)
        self._seen = 0

    @property
    def position(self) -> int:
        return int((self.size or 0) * self._seen / self._rows)

    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        self._seen = 0
        names = list(wanted) or list(self.columns)[:1]
        try:
            plain = bool(wanted) and is_plain(self._file.schema_arrow, names)
            # as many rows as a batch of the table has, so that it need not be put together from pieces
            decoded = self._file.iter_batches(batch_rows(len(names)), columns=names, use_threads=False)
            for batch in ahead(decoded):
                self._seen += batch.num_rows
                yield batch if plain and batch.schema.names == names else as_wanted(batch, wanted)
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"{self.place(self._seen)}: damaged: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
