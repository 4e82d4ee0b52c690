"""The rows of a Spark data frame: added up, sampled and swept by our kernels in the executors.

Everything is a ``mapInArrow`` job: each partition replies with a few bytes under its number, whatever its
rows, and is counted once even if Spark computed it several times. Replies that are many or large are joined
on the cluster before they come to the driver. The executors need sefr.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import ceil
from threading import Lock
from typing import Any, Self
from uuid import uuid4
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from ..._rows.cells import Coder
from ..._summary.summary import Summary
from ..._system.types import Array
from ..batches import Reading
from ..columns import Columns, Summing
from ..error import EngineError, engine_errors
from ..selection import spark_column
from .jobs import (
    AddSummaries,
    DrawRows,
    FirstPass,
    Job,
    Joining,
    Reply,
    group_width,
    join_replies,
    run_on_batches,
    summary_of_reply,
    thin_sample,
)
from .storage import RowFiles

REPLY = "partition int, rows string, data binary, fault string"
ABSENT = -1  # rows of a partition that are not where they are asked for
BATCH_SETTING = "spark.sql.execution.arrow.maxBytesPerBatch"
BATCH_BYTES = 4 << 20


def summary_of_spark(frame: Any, columns: Columns, summing: Summing) -> Summary:
    """Return the Summary of a Spark DataFrame's rows, added up by our kernel in the executors."""
    return SparkRows(frame, columns).summary(summing)


class SparkRows:
    """The rows of a Spark data frame; inside ``with`` the executors keep them between the passes."""

    def __init__(self, frame: Any, columns: Columns) -> None:
        refuse_types(frame, columns)
        self.columns = columns
        self.session = frame.sparkSession
        self.files = RowFiles(uuid4().hex)
        self.told: Any = None  # the replies of the first pass, which Spark keeps where the rows are
        self.reading = Reading(columns)
        self.n_partitions = 0  # not known yet
        with engine_errors(columns.engine, "read the columns of the table"):
            # Under plain names: mapInArrow looks columns up by name, and stumbles over dots and backticks.
            named = enumerate(columns.all)
            self.rows = frame.select(*(_shipped(frame, name).alias(f"c{i}") for i, name in named))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.told is not None:
            with suppress(Exception):  # what is left Spark removes when it ends
                self.told.mapInArrow(_clear(self.files), REPLY).collect()
            self.told.unpersist()

    def summary(self, summing: Summing) -> Summary:
        """Return the Summary of all rows."""
        return summary_of_reply(self.add_up(self.reading, summing), self.columns.engine)

    def add_up(self, reading: Reading, summing: Summing) -> Reply:
        """Return the Summary of all rows; none is kept."""
        told = self.rows.mapInArrow(_summarise(reading, summing), REPLY).persist()
        try:
            with engine_errors(self.columns.engine, "add up the rows"), _small_batches(self.session):
                return self._added(told)
        finally:
            told.unpersist()

    def draw(self, columns: Columns, most: int) -> list[Reply]:
        """Return about so many rows of all, drawn by Spark."""
        rows = self.rows
        if most > 1:
            share = 1.25 * most / max(1, rows.count())
            rows = rows.sample(share, seed=1) if share < 1 else rows
        else:
            rows = rows.limit(1)
        with _small_batches(self.session):
            found = rows.mapInArrow(_run_on_table(Reading(columns), DrawRows(most)), REPLY).collect()
        return [_reply(row) for row in found]

    def first_pass(self, reading: Reading, summing: Summing) -> Reply:
        """Keep the rows, packed, and return the Summary of all: one job, which reads the table once.

        Spark keeps the reply of each partition. So a later job runs where the rows are, and Spark makes them
        anew, from the table, if that executor was lost.
        """
        self.reading = reading
        self.told = self.rows.mapInArrow(_first_pass(reading, summing, self.files), REPLY).persist()
        with engine_errors(self.columns.engine, "add up the rows"), _small_batches(self.session):
            return self._added(self.told)

    def _added(self, told: Any) -> Reply:
        """Return the sum of the Summaries that partitions reply; ``told`` is kept, and its size looked at."""
        engine = self.columns.engine
        size = told.agg(F.count("*").alias("n"), F.sum(F.length("data")).alias("bytes")).first()
        self.n_partitions = int(size.n)
        adding = AddSummaries(engine)
        joined = self._joined(told, adding, int(size.bytes or 0))
        return join_replies(map(_reply, joined.collect()), adding, engine)

    def samples(self, most: Mapping[int, int]) -> list[Reply]:
        """Return some of the rows of each partition, which the first pass has drawn."""
        with _small_batches(self.session):
            told = self._kept().mapInArrow(_sample(self.files, dict(most)), REPLY).collect()
            found = [_reply(row) for row in told]
            absent = _absent(found)
            if absent:
                wanted = DrawRows(max(most[number] for number in absent))
                found = [reply for reply in found if not _absent([reply])]
                found += self._anew(absent, _run_on_table(self.reading, wanted))
        return found

    def run(self, job: Job, reading: Reading, classes: Array) -> Reply:
        """Return the reply of all partitions, joined where they are if they are many."""
        engine = self.columns.engine
        with _small_batches(self.session):
            replies = self._kept().mapInArrow(_run_on_files(job, self.files, reading.coder, classes), REPLY)
            joined = self._joined(replies, job, self.n_partitions * job.n_bytes)
            found = [_reply(row) for row in joined.collect()]
            absent = _absent(found)
            if absent:
                found = [_without(reply, absent) for reply in found]
                found += self._anew(absent, _run_on_table(reading, job))
        return join_replies((reply for reply in found if reply.rows), job, engine)

    def _kept(self) -> Any:
        """Return the numbers of the partitions; where there is one executor, in one task per core.

        Several executors keep the rows they have read, and Spark sends a task to where its partition is.
        """
        numbers = self.told.select("partition")
        with suppress(Exception):  # Spark Connect does not tell
            context = self.session.sparkContext
            if context.master.split("[")[0] == "local" and context.defaultParallelism < self.n_partitions:
                return numbers.coalesce(context.defaultParallelism)
        return numbers

    def _anew(self, absent: list[int], task: BatchFunction) -> list[Reply]:
        """Return the replies of partitions from the table: their task ran where nobody has read them."""
        some = self.rows.where(F.spark_partition_id().isin(absent))
        replies = map(_reply, some.mapInArrow(task, REPLY).collect())
        return [reply for reply in replies if min(reply.rows) in set(absent)]

    def _joined(self, replies: Any, joining: Joining, n_bytes: int) -> Any:
        """Join the replies of neighbouring partitions on the cluster, until they are few or small."""
        n, span = self.n_partitions, 1  # how many replies there are, of how many partitions each
        while (width := group_width(n, n_bytes)) > 1:
            n_bytes, n, span = n_bytes // width, ceil(n / width), span * width
            near = replies.repartition(n, F.expr(f"partition div {span}"))
            replies = near.mapInArrow(_join(joining, span, self.columns.engine), REPLY)
        return replies


def _absent(replies: Iterable[Reply]) -> list[int]:
    """Return the partitions whose rows are not where they were asked for."""
    return sorted(n for reply in replies for n, count in reply.rows.items() if count == ABSENT)


def _without(reply: Reply, absent: list[int]) -> Reply:
    """Return a reply without the partitions whose rows were not found, which have added nothing to it."""
    return reply._replace(rows={n: count for n, count in reply.rows.items() if n not in set(absent)})


class _BatchSize:
    """Who needs small batches in a session, and what its setting was before the first of them."""

    def __init__(self) -> None:
        self.users = 0
        self.before: str | None = None


_LOCK = Lock()
_SIZES: WeakKeyDictionary[Any, _BatchSize] = WeakKeyDictionary()


@contextmanager
def _small_batches(session: Any) -> Iterator[None]:
    """Let Spark cut batches by size too: 10,000 rows of 5,000 features would be 400 MB in every executor.

    The setting belongs to the session: the first of several threads changes it, the last one restores it.
    """
    with _LOCK:
        size = _SIZES.setdefault(session, _BatchSize())
        if size.users == 0:
            size.before = session.conf.get(BATCH_SETTING, None)
            if not _is_small(size.before):
                session.conf.set(BATCH_SETTING, str(BATCH_BYTES))
        size.users += 1
    try:
        yield
    finally:
        with _LOCK:
            size.users -= 1
            if size.users == 0:
                if size.before is None:
                    session.conf.unset(BATCH_SETTING)
                else:
                    session.conf.set(BATCH_SETTING, size.before)


def _is_small(setting: str | None) -> bool:
    """Return whether a size as Spark writes it, such as 16m or 1000, is one for small batches."""
    found = re.fullmatch(r"(\d+)([kmgtp]?)b?", (setting or "").strip().lower())
    return found is not None and 0 < int(found[1]) << 10 * " kmgtp".index(found[2] or " ") <= BATCH_BYTES


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)


def refuse_types(frame: Any, columns: Columns) -> None:
    """Raise an error that names the first feature or weight that is neither a number nor a vector."""
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    plain = len(columns.features) > 1
    for name in columns.of_numbers:
        kind = kinds[name]
        vector = isinstance(kind, VectorUDT) or (
            isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.NumericType | T.BooleanType)
        )
        number = isinstance(kind, T.NumericType | T.BooleanType)
        single = plain or name in (*columns.targets, columns.weight)
        if not number and (single or not vector):
            wanted = "a number" if single else "a number, a vector or an array of numbers"
            raise EngineError(f"{columns.engine}: column {name!r} is {kind.simpleString()}, not {wanted}")


def _shipped(frame: Any, name: str) -> Any:
    """Return a column as Arrow carries it: a vector as a struct without null lists.

    Spark takes four times as long to write a null list of indices as to write an empty one.
    """
    column = spark_column(frame, name)
    if not isinstance(frame.schema[name].dataType, VectorUDT):
        return column
    vector = F.unwrap_udt(column)
    parts = F.struct(
        vector["type"].alias("type"),
        F.coalesce(vector["size"], F.lit(0)).alias("size"),
        F.coalesce(vector["indices"], F.array().cast("array<int>")).alias("indices"),
        vector["values"].alias("values"),
    )
    return F.when(column.isNotNull(), parts)


BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _summarise(reading: Reading, summing: Summing) -> BatchFunction:
    def summarise(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = _partition()
        first = FirstPass(reading, summing, f"partition {number}, ")
        yield from _batch_of([first.summarise(_named(batches, reading.columns), number)])

    return summarise


def _named(batches: Iterator[pa.RecordBatch], columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield the batches under the names that the columns have in the table."""
    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.columns, names=columns.all)


def _reply(row: Any) -> Reply:
    """Return a row of ``REPLY``, here or in an executor."""
    rows = {int(number): count for number, count in json.loads(row["rows"]).items()}
    return Reply(rows, _bytes(row["data"]), row["fault"])


def _batch_of(replies: Iterable[Reply]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of ``REPLY``."""
    for reply in replies:
        row = {
            "partition": pa.array([min(reply.rows)], pa.int32()),
            "rows": pa.array([json.dumps(dict(reply.rows))], pa.string()),
            "data": pa.array([reply.data], pa.binary()),
            "fault": pa.array([reply.fault], pa.string()),
        }
        yield pa.RecordBatch.from_pydict(row)


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[Reply]:
    """Yield the replies of rows of ``REPLY``."""
    for batch in batches:
        yield from map(_reply, batch.to_pylist())


def _run_on_table(reading: Reading, job: Job) -> BatchFunction:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _batch_of([run_on_batches(job, reading, _named(batches, reading.columns), _partition())])

    return run


def _first_pass(reading: Reading, summing: Summing, files: RowFiles) -> BatchFunction:
    """Return what writes the rows of a partition to its file, and replies with their Summary."""

    def first_pass(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = _partition()
        first = FirstPass(reading, summing, f"partition {number}, ")
        try:
            files.write(number, first.rows(_named(batches, reading.columns)))
            if (sample := first.sample()) is not None:
                files.write_sample(number, sample)
            reply = first.reply(number)
        except EngineError as error:
            reply = Reply.of_fault(number, error)
        yield from _batch_of([reply])

    return first_pass


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _sample(files: RowFiles, most: dict[int, int]) -> BatchFunction:
    def sample(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            if number in most:  # others have no rows
                data = files.sample(number)
                few = None if data is None else thin_sample(data, most[number])
                yield from _batch_of([Reply({number: ABSENT if few is None else 0}, few)])

    return sample


def _run_on_files(job: Job, files: RowFiles, coder: Coder | None, classes: Array) -> BatchFunction:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            rows = files.rows(number, classes, coder)
            n_rows, data = (ABSENT, None) if rows is None else job(rows)
            yield from _batch_of([Reply({number: n_rows}, data)])

    return run


def _clear(files: RowFiles) -> BatchFunction:
    def clear(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            files.clear()
            yield from _batch_of([Reply({number: 0}, None)])

    return clear


def _join(joining: Joining, span: int, engine: str) -> BatchFunction:
    """Return what joins the replies of ``span`` neighbouring partitions, each once and in their order."""

    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        groups: dict[int, list[Reply]] = {}
        for reply in _read(batches):
            groups.setdefault(min(reply.rows) // span, []).append(reply)
        for group in sorted(groups):
            try:
                reply = join_replies(groups[group], joining, engine)
            except EngineError as error:
                reply = Reply.of_fault(span * group, error)
            yield from _batch_of([reply])

    return join
