"""Some columns of a table as Arrow batches, in this process: the rows that our kernels read.

The table is a frame of an engine in this process (DuckDB, Polars, pandas, pyarrow), an Ibis table, or Arrow
data that is no frame: a RecordBatch, a RecordBatchReader (ADBC and Flight give these), a Dataset, a Scanner,
anything with ``__arrow_c_stream__``.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from .._system.types import Label
from .columns import counted_names
from .error import EngineError, engine_errors
from .selection import select_columns

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Generator["pa.RecordBatch"]

# Batches, and files, that Arrow reads before they are asked for. Its own 16 and 4 took 4.4 GB for 800,000
# rows of 300 features in row groups of 240 MB; these, with files read piece by piece, 1.0 GB, and less time.
READAHEAD = 1


class ArrowStream:
    """Arrow data that is no frame: its columns, and their batches."""

    engine = "pyarrow"

    def __init__(self, source: Any) -> None:
        self.source = source
        self.schema: pa.Schema = getattr(source, "schema", None) or source.dataset_schema
        self.once = not hasattr(source, "to_batches")

    def batches(self, names: Sequence[str], rows: int) -> Batches:
        """Yield the batches of some columns; a reader has them once."""
        if hasattr(self.source, "to_batches"):
            yield from self._of_dataset(names, rows)
            return
        if self.source is None:
            raise EngineError(
                f"{self.engine}: a RecordBatchReader can be read once; pass a table or a dataset"
            )
        source, self.source = self.source, None
        with source:
            for batch in source:
                yield batch.select(list(names))

    def _of_dataset(self, names: Sequence[str], rows: int) -> Batches:
        import pyarrow.dataset as ds

        if isinstance(self.source, ds.Scanner):
            for batch in self.source.to_batches():
                yield batch.select(list(names))
            return
        yield from self.source.to_batches(
            columns=list(names),
            batch_size=rows,
            batch_readahead=READAHEAD,
            fragment_readahead=READAHEAD,
            fragment_scan_options=_parquet_options(self.source),
        )


def _parquet_options(dataset: Any) -> Any:
    """Return how files of Parquet on a disk are read: piece by piece, not a row group as a whole.

    None for other files, for addresses, where every read costs a round trip, and for encrypted files.
    """
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    kind, place = getattr(dataset, "format", None), getattr(dataset, "filesystem", None)
    if not isinstance(kind, ds.ParquetFileFormat) or not isinstance(place, LocalFileSystem):
        return None
    given = kind.default_fragment_scan_options
    if getattr(given, "parquet_decryption_config", None) or getattr(given, "decryption_properties", None):
        return None
    return ds.ParquetFragmentScanOptions(
        use_buffered_stream=True,
        buffer_size=1 << 20,
        pre_buffer=False,
        thrift_string_size_limit=given.thrift_string_size_limit,
        thrift_container_size_limit=given.thrift_container_size_limit,
    )


def arrow_stream(source: Any) -> ArrowStream | None:
    """Return Arrow data that is no frame as a stream; None for anything else."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(source, arrow.RecordBatchReader):
        return ArrowStream(source)
    datasets = sys.modules.get("pyarrow.dataset")
    if datasets is not None and isinstance(source, datasets.Dataset | datasets.Scanner):
        return ArrowStream(source)
    return None


def foreign_stream(source: Any) -> ArrowStream | None:
    """Return what is no frame but has Arrow's C stream interface; None for anything else."""
    if not hasattr(source, "__arrow_c_stream__"):
        return None
    import pyarrow as pa

    with engine_errors(ArrowStream.engine, "read the stream"):
        return ArrowStream(pa.RecordBatchReader.from_stream(source))


def frame_batches(table: Any, names: Sequence[str], rows: int, *, ordered: bool = False) -> Batches | None:
    """Return the batches of some columns of a narwhals frame; None for a frame on a cluster.

    ``ordered`` keeps the rows in the order that the engine has them in, for passes that must see the same.
    """
    kind = table.implementation
    if kind.is_duckdb():
        return _duckdb_batches(select_columns(table, names).to_native(), rows)
    if kind.is_polars():
        return _polars_batches(select_columns(table, names).to_native().lazy(), rows, ordered)
    if kind.is_ibis():
        return _ibis_batches(select_columns(table, names).to_native(), rows)
    if kind.is_dask() or kind.is_pyspark() or kind.is_pyspark_connect():
        return None
    return _eager_batches(table, names, rows)


def _duckdb_batches(relation: Any, rows: int) -> Batches:
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # DuckDB before 1.4
    with read(rows) as reader:  # closed also after an error: its connection can do nothing else until then
        yield from reader


def _polars_batches(frame: Any, rows: int, ordered: bool) -> Batches:
    for piece in frame.collect_batches(chunk_size=rows, maintain_order=ordered, engine="streaming"):
        yield from piece.to_arrow().to_batches()


def _ibis_batches(table: Any, rows: int) -> Batches:
    connection = getattr(table.get_backend(), "con", None)
    if "duckdb" in type(connection).__module__ and not hasattr(connection, "fetch_record_batch"):
        # Ibis 12 calls a function that DuckDB 2 has no longer: the columns come all at once.
        yield from table.to_pyarrow().to_batches(max_chunksize=rows)
        return
    with table.to_pyarrow_batches(chunk_size=rows) as reader:
        yield from reader


def _eager_batches(table: Any, names: Sequence[str], rows: int) -> Batches:
    chosen = select_columns(table, names)
    for start in range(0, chosen.shape[0], rows):  # not all at once, which would be a copy of the frame
        yield from chosen[start : start + rows].to_arrow().to_batches()


def refuse_duplicates(engine: str, names: Sequence[Label]) -> None:
    """Raise an error where two columns of a table have the same name: which one is meant, nobody can say."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise EngineError(
            f"{engine}: two columns are named {twice!r}; the columns are {counted_names(names)}"
        )
