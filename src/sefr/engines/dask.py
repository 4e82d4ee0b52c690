"""A Dask data frame: our kernel on every partition, and what it adds up brought home.

Dask runs a partition again when a worker dies; its answer is taken once (``partitions``, ``passes``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil, sqrt
from typing import TYPE_CHECKING, NamedTuple

import narwhals as nw

from .._rows.cells import Coder
from .._summary.summary import Summary
from .._system.types import Array, Foreign
from .columns import Columns, refuse_what_is_no_number
from .error import EngineError, spoken_by
from .packed import Packed, pack, unpack
from .partitions import Part, whole
from .questions import FEW_PARTITIONS, Edges, FirstLook, Question, Reading, Reply, Totals, fewer, once

if TYPE_CHECKING:
    import pyarrow as pa

# Rows for the edges of bins that a partition sends at least.
FEWEST_EDGES = 64


def summary_of_dask(frame: Foreign, columns: Columns, *, missing: str) -> Summary:
    """Return the Summary of a Dask DataFrame's rows."""
    return DaskRows(frame, columns).summary(missing)


class DaskRows:
    """The partitions of a Dask data frame; on a cluster they stay in its memory between the passes."""

    def __init__(self, frame: Foreign, columns: Columns) -> None:
        self.columns = columns
        with spoken_by(columns.engine, "plan the partitions"):
            self.parts = frame[columns.all].to_delayed()
        self.kept: list[Foreign] = []

    def summary(self, missing: str) -> Summary:
        """Return the Summary of all rows."""
        results = self._computed(part_of_partition, self.parts, self.columns, missing)
        return whole(results, self.columns.engine, len(self.parts))

    def edges(self, columns: Columns, most: int) -> list[Reply]:
        """Return rows of every partition, of all about so many."""
        parts = self.parts if most > 1 else self.parts[:1]
        each = most if len(parts) == 1 else max(FEWEST_EDGES, 2 * most // len(parts))
        return self._computed(_drawn, parts, Reading(columns), Edges(each))

    def first(self, reading: Reading, missing: str) -> Reply:
        """Keep the rows, as the kernels read them, and return the Summary of all."""
        import dask

        with spoken_by(self.columns.engine, "plan the partitions"):
            shared = [dask.delayed(setting) for setting in (reading, missing)]
            looks = [dask.delayed(_look)(part, i, *shared) for i, part in enumerate(self.parts)]
            self.kept = _kept_on_cluster(looks)
        return self._joined(_told, Totals(self.columns.engine))

    def samples(self, most: Mapping[int, int]) -> list[Reply]:
        """Return some of the rows of each partition, which the first look has put aside."""
        return self._computed(_trimmed, self.kept, dict(most))

    def ask(self, question: Question, reading: Reading, classes: Array) -> Reply:
        """Return the answer of all partitions, joined where they are if they are many."""
        return self._joined(_answer, question, reading.coder, classes)

    def _joined(self, function: Foreign, question: Question, *settings: Foreign) -> Reply:
        import dask

        with spoken_by(self.columns.engine, "compute the partitions"):
            shared = [dask.delayed(setting) for setting in (question, *settings)]
            tasks = [dask.delayed(function)(part, i, *shared) for i, part in enumerate(self.kept)]
            if len(tasks) > FEW_PARTITIONS:
                width = ceil(sqrt(len(tasks)))
                groups = [tasks[start : start + width] for start in range(0, len(tasks), width)]
                tasks = [dask.delayed(_together)(group, shared[0]) for group in groups]
            found = list(dask.compute(*tasks))
        replies = [reply for each in found for reply in (each if isinstance(each, list) else [each])]
        (reply,) = once(replies, question) or [Reply({}, None)]
        return reply

    def _computed(self, function: Foreign, parts: list[Foreign], *settings: Foreign) -> list[Foreign]:
        import dask

        with spoken_by(self.columns.engine, "compute the partitions"):
            shared = [dask.delayed(setting) for setting in settings]
            tasks = [dask.delayed(function)(part, i, *shared) for i, part in enumerate(parts)]
            return list(dask.compute(*tasks))


def _kept_on_cluster(parts: list[Foreign]) -> list[Foreign]:
    """Return the partitions, held by the workers of a cluster if there is one; this process may be small."""
    import dask

    try:
        from distributed import get_client

        get_client()
    except (ImportError, ValueError):
        return parts
    return list(dask.persist(*parts))


class _Look(NamedTuple):
    """A partition after the first look at it: what it told, and its rows."""

    told: Reply
    sample: bytes | None
    rows: list[Packed]


def _batches(partition: Foreign, number: int, columns: Columns) -> list[pa.RecordBatch]:
    """Return a partition as Arrow batches; other columns than the table's are an error that names it."""
    table = nw.from_native(partition, eager_only=True)
    engine = f"{columns.engine}: partition {number}"
    if absent := [name for name in columns.all if name not in table.columns]:
        raise EngineError(f"{engine}: there is no column {absent[0]!r}; the columns are {table.columns}")
    refuse_what_is_no_number(replace(columns, engine=engine), table.schema)
    return list(table.to_arrow().to_batches())


def _drawn(partition: Foreign, number: int, reading: Reading, question: Question) -> Reply:
    try:
        found = reading.rows(_batches(partition, number, reading.columns), f"partition {number}, ")
        n_rows, data = question(each.rows for each in found)
        return Reply({number: n_rows}, data)
    except EngineError as error:
        return Reply({number: 0}, None, str(error))


def _look(partition: Foreign, number: int, reading: Reading, missing: str) -> _Look:
    look = FirstLook(reading, missing, f"partition {number}, ")
    try:
        rows = [pack(found) for found in look.rows(_batches(partition, number, reading.columns))]
        data = None if look.summary is None else look.summary.to_bytes()
        return _Look(Reply({number: look.n_rows}, data), look.sample(), rows)
    except EngineError as error:  # words for the driver; an exception would be retried, then traced
        return _Look(Reply({number: 0}, None, str(error)), None, [])


def _told(look: _Look, number: int, question: Question) -> Reply:
    return look.told


def _trimmed(look: _Look, number: int, most: dict[int, int]) -> Reply:
    data = look.sample
    return Reply({number: 0}, None if data is None else fewer(data, most.get(number, 0)))


def _answer(look: _Look, number: int, question: Question, coder: Coder | None, classes: Array) -> Reply:
    n_rows, data = question(unpack(rows, classes, coder) for rows in look.rows)
    return Reply({number: n_rows}, data)


def _together(replies: list[Reply], question: Question) -> list[Reply]:
    return once(replies, question)


def part_of_partition(partition: Foreign, number: int, columns: Columns, missing: str) -> Part:
    """Return one partition's Summary; what is wrong comes back as words, not as an exception to retry."""
    from .frames import summary_of_eager

    engine = f"{columns.engine}: partition {number}"
    columns = Columns(engine, columns.label, columns.features, columns.weight)
    try:
        table = nw.from_native(partition, eager_only=True)
        if not table.shape[0]:
            return number, None, None
        if absent := [name for name in columns.all if name not in table.columns]:
            raise EngineError(f"{engine}: there is no column {absent[0]!r}; the columns are {table.columns}")
        refuse_what_is_no_number(columns, table.schema)
        if columns.weight is not None and not table[columns.weight].cast(nw.Float64).to_numpy().any():
            return number, None, None
        return number, summary_of_eager(table, columns, missing=missing).to_bytes(), None
    except ValueError as error:
        return number, None, str(error)
