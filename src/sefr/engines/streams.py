"""Some columns of a table as Arrow batches, in this process: the rows that our kernels read.

The table is a frame of an engine in this process (DuckDB, Polars, pandas, pyarrow), an Ibis table, or Arrow
data that is no frame: a RecordBatch, a RecordBatchReader (ADBC and Flight give these), a Dataset, a Scanner,
anything with ``__arrow_c_stream__``.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from .._system.types import Foreign, Label
from .columns import counted_names
from .dialects import quoted
from .error import EngineError, spoken_by

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Generator["pa.RecordBatch"]


class ArrowStream:
    """Arrow data that is no frame: its columns, and their batches."""

    engine = "pyarrow"

    def __init__(self, source: Foreign) -> None:
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
        yield from self.source.to_batches(columns=list(names), batch_size=rows)


def arrow_stream(source: Foreign) -> ArrowStream | None:
    """Return Arrow data that is no frame as a stream; None for anything else."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(source, arrow.RecordBatchReader):
        return ArrowStream(source)
    datasets = sys.modules.get("pyarrow.dataset")
    if datasets is not None and isinstance(source, datasets.Dataset | datasets.Scanner):
        return ArrowStream(source)
    return None


def foreign_stream(source: Foreign) -> ArrowStream | None:
    """Return what is no frame but has Arrow's C stream interface; None for anything else."""
    if not hasattr(source, "__arrow_c_stream__"):
        return None
    import pyarrow as pa

    with spoken_by(ArrowStream.engine, "read the stream"):
        return ArrowStream(pa.RecordBatchReader.from_stream(source))


def frame_batches(
    table: Foreign, names: Sequence[str], rows: int, *, ordered: bool = False
) -> Batches | None:
    """Return the batches of some columns of a narwhals frame; None for a frame on a cluster.

    ``ordered`` keeps the rows in the order that the engine has them in, for passes that must see the same.
    """
    frame = table.to_native()
    kind = table.implementation
    if kind.is_duckdb():
        return _duckdb_batches(frame, names, rows)
    if kind.is_polars():
        return _polars_batches(frame.lazy().select(names), rows, ordered)
    if kind.is_ibis():
        return _ibis_batches(frame, names, rows)
    if kind.is_dask() or kind.is_pyspark() or kind.is_pyspark_connect():
        return None
    return _eager_batches(table, names, rows)


def _duckdb_batches(relation: Foreign, names: Sequence[str], rows: int) -> Batches:
    # Quoted names: narwhals makes an expression per column, which takes 9 times as long for 2,000 of them.
    chosen = relation.project(", ".join(map(quoted, names)))
    read = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader  # DuckDB before 1.4
    with read(rows) as reader:  # closed also after an error: its connection can do nothing else until then
        yield from reader


def _polars_batches(frame: Foreign, rows: int, ordered: bool) -> Batches:
    for piece in frame.collect_batches(chunk_size=rows, maintain_order=ordered, engine="streaming"):
        yield from piece.to_arrow().to_batches()


def _ibis_batches(table: Foreign, names: Sequence[str], rows: int) -> Batches:
    # Not to_pyarrow_batches, which Ibis 12 has not for DuckDB 2.
    yield from table.select(*names).to_pyarrow().to_batches(max_chunksize=rows)


def _eager_batches(table: Foreign, names: Sequence[str], rows: int) -> Batches:
    yield from table.select(names).to_arrow().to_batches(max_chunksize=rows)


def refuse_duplicates(engine: str, names: Sequence[Label]) -> None:
    """Raise an error where two columns of a table have the same name: which one is meant, nobody can say."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise EngineError(
            f"{engine}: two columns are named {twice!r}; the columns are {counted_names(names)}"
        )
