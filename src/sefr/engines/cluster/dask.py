"""A Dask data frame: our kernel on every partition, and what it adds up, joined there, sent to the driver.

Dask runs a partition again when a worker dies; its reply is taken once (``jobs``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw

from ..._rows.cells import Coder
from ..._summary.summary import Summary
from ..._system.types import Array
from ..batches import Reading
from ..columns import Columns, Summing, require_numbers
from ..error import EngineError, engine_errors
from .jobs import (
    FEW_PARTITIONS,
    AddSummaries,
    DrawRows,
    FirstPass,
    Job,
    Joining,
    Reply,
    join_replies,
    run_on_batches,
    summary_of_reply,
    thin_sample,
)
from .storage import PackedRows, deserialise, pack_rows, serialise, unpack_rows

if TYPE_CHECKING:
    import pyarrow as pa

# The fewest rows that a partition sends for the edges of bins.
FEWEST_DRAWN = 64


def summary_of_dask(frame: Any, columns: Columns, summing: Summing) -> Summary:
    """Return the Summary of a Dask DataFrame's rows."""
    return DaskRows(frame, columns).summary(summing)


class DaskRows:
    """The partitions of a Dask data frame; on a cluster they stay in its memory between the passes."""

    def __init__(self, frame: Any, columns: Columns) -> None:
        self.columns = columns
        with engine_errors(columns.engine, "plan the partitions"):
            self.parts = frame[columns.all].to_delayed()
        self.kept: list[Any] = []

    def summary(self, summing: Summing) -> Summary:
        """Return the Summary of all rows."""
        return summary_of_reply(self.add_up(Reading(self.columns), summing), self.columns.engine)

    def add_up(self, reading: Reading, summing: Summing) -> Reply:
        """Return the Summary of all rows; none is kept."""
        return self._joined(_summary, self.parts, AddSummaries(self.columns.engine), reading, summing)

    def draw(self, columns: Columns, most: int) -> list[Reply]:
        """Return rows of every partition, of all about so many."""
        parts = self.parts if most > 1 else self.parts[:1]
        each = most if len(parts) == 1 else max(FEWEST_DRAWN, 2 * most // len(parts))
        return self._computed(_draw, parts, Reading(columns), DrawRows(each))

    def first_pass(self, reading: Reading, summing: Summing) -> Reply:
        """Keep the rows, as the kernels read them, and return the Summary of all."""
        with engine_errors(self.columns.engine, "plan the partitions"):
            self.kept = _kept_on_cluster(_tasks(_first_pass, self.parts, reading, summing))
        return self._joined(_reply, self.kept, AddSummaries(self.columns.engine))

    def samples(self, most: Mapping[int, int]) -> list[Reply]:
        """Return some of the rows of each partition, which the first pass has drawn."""
        return self._computed(_sample, self.kept, dict(most))

    def run(self, job: Job, reading: Reading, classes: Array) -> Reply:
        """Return the reply of all partitions, joined where they are if they are many."""
        return self._joined(_run, self.kept, job, reading.coder, classes)

    def _joined(self, function: Any, parts: Sequence[Any], joining: Joining, *settings: Any) -> Reply:
        """Return the replies of a function of the partitions, the job and settings, as one."""
        import dask

        engine = self.columns.engine
        with engine_errors(engine, "compute the partitions"):
            tasks = _tasks(function, parts, joining, *settings)
            if len(tasks) > FEW_PARTITIONS:
                width = ceil(sqrt(len(tasks)))
                groups = [tasks[start : start + width] for start in range(0, len(tasks), width)]
                tasks = _tasks(_join, groups, joining, engine)
            replies = list(dask.compute(*tasks))
        reply = join_replies(replies, joining, engine)
        if len(reply.rows) != len(parts):
            absent = len(parts) - len(reply.rows)
            raise EngineError(f"{engine}: {absent} of {len(parts)} partitions did not answer")
        return reply

    def _computed(self, function: Any, parts: list[Any], *settings: Any) -> list[Any]:
        import dask

        with engine_errors(self.columns.engine, "compute the partitions"):
            return list(dask.compute(*_tasks(function, parts, *settings)))


def _tasks(function: Any, parts: Sequence[Any], *settings: Any) -> list[Any]:
    """Return a task per partition: the function of it, its number and the settings, which are sent once."""
    import dask

    shared = dask.delayed(serialise(settings))
    task = dask.delayed(partial(_with_settings, function))
    return [task(part, i, shared) for i, part in enumerate(parts)]


def _with_settings(function: Any, part: Any, number: int, settings: bytes) -> Any:
    return function(part, number, *deserialise(settings))


def _kept_on_cluster(parts: list[Any]) -> list[Any]:
    """Return the partitions, held by the workers of a cluster if there is one; this process may be small."""
    import dask

    try:
        from distributed import get_client

        get_client()
    except (ImportError, ValueError):
        return parts
    return list(dask.persist(*parts))


class _Kept(NamedTuple):
    """A partition after the first pass over it: its reply, and its rows."""

    reply: Reply
    sample: bytes | None
    rows: list[PackedRows]


def _batches(partition: Any, number: int, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield a partition as Arrow batches; other columns than the table's are an error that names it."""
    table = nw.from_native(partition, eager_only=True)
    _require_columns(table, replace(columns, engine=f"{columns.engine}: partition {number}"))
    yield from table.to_arrow().to_batches()


def _require_columns(table: Any, columns: Columns) -> None:
    if absent := [name for name in columns.all if name not in table.columns]:
        raise EngineError(
            f"{columns.engine}: there is no column {absent[0]!r}; the columns are {table.columns}"
        )
    require_numbers(columns, table.schema)


def _draw(partition: Any, number: int, reading: Reading, job: Job) -> Reply:
    return run_on_batches(job, reading, _batches(partition, number, reading.columns), number)


def _first_pass(partition: Any, number: int, reading: Reading, summing: Summing) -> _Kept:
    first = FirstPass(reading, summing, f"partition {number}, ")
    try:
        rows = [pack_rows(found) for found in first.rows(_batches(partition, number, reading.columns))]
        return _Kept(first.reply(number), first.sample(), rows)
    except EngineError as error:
        return _Kept(Reply.of_fault(number, error), None, [])


def _reply(kept: _Kept, number: int, joining: Joining) -> Reply:
    return kept.reply


def _sample(kept: _Kept, number: int, most: dict[int, int]) -> Reply:
    data = kept.sample
    return Reply({number: 0}, None if data is None else thin_sample(data, most.get(number, 0)))


def _run(kept: _Kept, number: int, job: Job, coder: Coder | None, classes: Array) -> Reply:
    n_rows, data = job(unpack_rows(rows, classes, coder) for rows in kept.rows)
    return Reply({number: n_rows}, data)


def _join(replies: list[Reply], number: int, joining: Joining, engine: str) -> Reply:
    try:
        return join_replies(replies, joining, engine)
    except EngineError as error:
        return Reply.of_fault(min(replies[0].rows), error)


def _summary(partition: Any, number: int, joining: Joining, reading: Reading, summing: Summing) -> Reply:
    """Return one partition's Summary, of the frame as it is; what is wrong comes back as words."""
    from ..frames import summary_of_eager

    columns = reading.columns
    if reading.coder is not None:
        first = FirstPass(reading, summing, f"partition {number}, ")
        return first.summarise(_batches(partition, number, columns), number)
    columns = replace(columns, engine=f"{columns.engine}: partition {number}")
    try:
        table = nw.from_native(partition, eager_only=True)
        n_rows = table.shape[0]
        if not n_rows:
            return Reply({number: 0}, None)
        _require_columns(table, columns)
        if columns.weight is not None and not table[columns.weight].cast(nw.Float64).to_numpy().any():
            return Reply({number: n_rows}, None)
        return Reply({number: n_rows}, summary_of_eager(table, columns, **summing._asdict()).to_bytes())
    except ValueError as error:
        return Reply.of_fault(number, error)
