"""Rows that an engine has, as training reads them: streamed into this process, or on a cluster.

An engine in this process streams its batches anew for every pass (``EngineBatches``). On a cluster every pass
is one job over the partitions (``ClusterRows``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from typing import IO, Any, Self

import narwhals as nw
import numpy as np

from .._rows.cells import AnyCut, Coder
from .._rows.labelled import Labelled
from .._summary.source import BatchRows, RowBatch, RowSource
from .._summary.summary import Summary
from .._system.types import Array
from ..settings import AnySettings
from .batches import Reading, batch_rows
from .categories import columns_with_categories
from .cluster.rows import ClusterRows
from .cluster.storage import PackedRows, pack_rows, read_rows, unpack_rows, write_rows
from .columns import Columns, choose_columns, require_numbers
from .error import EngineError, engine_errors
from .frames import engine_of, open_frame
from .streams import frame_batches

# Cells that this process keeps in memory between passes, one byte each; those beyond go to a temporary file.
KEPT_BYTES = 1 << 28


@contextmanager
def rows_of_frame(
    frame: Any,
    label: str | Sequence[str],
    features: Sequence[str] | None,
    weight: str | None,
    settings: AnySettings,
    *,
    numbers: bool = False,
) -> Iterator[RowSource]:
    """Open the rows of a frame where it is, for a training with these settings.

    Parameters
    ----------
    frame, label, features, weight
        As for :meth:`Summary.of_frame`; each pass reads the frame again, so a reader that can be read once
        serves one pass without bins only.
    settings : AnySettings
        What to train with. With bins, a column of text or of categories has a cell per value.
    numbers : bool
        Whether the labels are numbers to be predicted.

    Notes
    -----
    Of the rows, this process holds a few batches of 4 million values (32 MB of float64), or row groups of a
    Parquet file if these are larger, a sample, and with bins 256 MB of cells, one byte per value; further
    cells go to a temporary file (``TMPDIR`` says where). On a cluster the workers hold the rows.
    """
    table = open_frame(frame)
    if not isinstance(table, nw.DataFrame | nw.LazyFrame):
        if table.once and settings.readings > 1:
            raise EngineError(
                f"{table.engine}: a stream can be read once, and every pass reads the rows again, with bins "
                "once more before"
            )
        columns = choose_columns(table.engine, table.schema.names, label, features, weight, numbers=numbers)
        columns = columns_with_categories(columns, table, None, settings.cut)
        rows = batch_rows(len(columns.features))
        with _KeptCells() as kept:
            yield EngineBatches(columns, kept, lambda: table.batches(columns.all, rows))
        return
    engine = engine_of(table)
    with engine_errors(engine, "read the columns of the table"):
        schema = table.collect_schema()
    columns = choose_columns(engine, schema.names(), label, features, weight, numbers=numbers)
    columns = columns_with_categories(columns, table, schema, settings.cut)
    kind = table.implementation
    if kind.is_pyspark() or kind.is_pyspark_connect():
        from .cluster.spark import SparkRows

        with SparkRows(frame, columns) as partitions:
            yield ClusterRows(partitions, columns)
        return
    require_numbers(columns, schema)
    if kind.is_dask():
        from .cluster.dask import DaskRows

        yield ClusterRows(DaskRows(frame, columns), columns)
        return
    rows = batch_rows(len(columns.features))
    with _KeptCells() as kept:
        yield EngineBatches(columns, kept, lambda: frame_batches(table, columns.all, rows, ordered=True))


class EngineBatches(BatchRows):
    """Batches that an engine streams into this process; with bins, their cells are kept between passes."""

    def __init__(self, columns: Columns, kept: _KeptCells, batches: Callable[[], Any]) -> None:
        super().__init__()
        self.columns, self.kept, self.batches = columns, kept, batches
        self.place = columns.place

    def read(self, coder: Coder | None, classes: Array | None = None) -> Iterator[RowBatch]:
        """Yield the batches that the engine streams, or what was kept of them."""
        kept = None if classes is None else self.kept.rows(classes, coder)
        if kept is not None:
            yield from map(RowBatch, kept)
            return
        with engine_errors(self.columns.engine, "read the rows"), closing(self.batches()) as stream:
            yield from Reading(self.columns, coder).rows(stream)

    def learn_coder(self, cut: AnyCut) -> Coder | None:
        """Return where features are cut."""
        named = self.columns.categories
        return cut.learn_from_batches((batch.rows, named) for batch in self.read(None))

    def summary_of(self, batch: RowBatch, settings: AnySettings) -> Summary:
        """Return the Summary of a batch; what is wrong with it names the batch."""
        if settings.cut.readings and settings.passes > 1:
            self.kept.add(batch.rows)
        try:
            summary = super().summary_of(batch, settings)
        except ValueError as error:
            raise EngineError(f"{self.columns.engine}: batch {batch.origin}: {error}") from None
        if self.names is None and batch.names is not None:
            self.names = np.array(batch.names, dtype=object)
        return summary

    def no_rows(self) -> Exception:
        """Return the error for a table without rows."""
        return EngineError(f"{self.columns.engine}: the table has no rows")


class _KeptCells:
    """The cells of all batches, one byte per value: the first in memory, the others in a temporary file.

    If there is no room for the file, nothing is kept, and the engine streams the rows again.
    """

    def __init__(self) -> None:
        self.batches: list[PackedRows] = []
        self.left = KEPT_BYTES
        self.file: IO[bytes] | None = None
        self.given_up = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.batches.clear()
        if self.file is not None:
            with suppress(OSError):  # what could not be written to a full disk
                self.file.close()

    def add(self, rows: Labelled) -> None:
        """Keep the cells of a batch, if those before were kept."""
        if self.given_up:
            return
        if self.left > 0:
            self.batches.append(pack_rows(rows))
            self.left -= len(self.batches[-1].data)
            return
        try:
            self.file = self.file or tempfile.TemporaryFile(prefix="sefr-")  # noqa: SIM115  until __exit__
            write_rows(self.file, rows)
        except OSError:
            self.given_up = True
            self.__exit__()

    def rows(self, classes: Array, coder: Coder | None) -> Iterator[Labelled] | None:
        """Return the rows of all batches; None if they were not kept."""
        if not self.batches:
            return None
        near = (unpack_rows(batch, classes, coder) for batch in self.batches)
        if self.file is None:
            return near
        self.file.flush()
        return chain(near, read_rows(self.file, classes, coder))
