"""The rows of a Spark data frame: added up, sampled and swept by our kernels in the executors.

Every question is one ``mapInArrow`` job: each partition comes home as a few bytes under its number, whatever
its rows, and is counted once even if Spark computed it several times. The executors need sefr.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import ceil, sqrt
from threading import Lock
from typing import Any, Self
from uuid import uuid4
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from .._rows.cells import Coder
from .._summary.summary import Summary
from .._system.types import Array, Foreign
from .batches import summary_of_batches
from .columns import Columns
from .error import EngineError, spoken_by
from .partitions import whole
from .questions import FEW_PARTITIONS, Edges, FirstLook, Question, Reading, Reply, Totals, fewer, once
from .shelf import Shelf

PART = "partition int, summary binary, fault string"
REPLY = "partition int, rows string, data binary, fault string"
ABSENT = -1  # rows of a partition that are not where they are asked for
BATCH_SETTING = "spark.sql.execution.arrow.maxBytesPerBatch"
BATCH_BYTES = 4 << 20


def summary_of_spark(frame: Foreign, columns: Columns, *, missing: str = "error") -> Summary:
    """Return the Summary of a Spark DataFrame's rows, added up by our kernel in the executors."""
    return SparkRows(frame, columns).summary(missing)


class SparkRows:
    """The rows of a Spark data frame; inside ``with`` the executors keep them between the passes."""

    def __init__(self, frame: Foreign, columns: Columns) -> None:
        refuse_types(frame, columns)
        self.columns = columns
        self.session = frame.sparkSession
        self.shelf = Shelf(uuid4().hex)
        self.told: Foreign = None
        self.reading = Reading(columns)
        self.n_partitions = 0  # not known yet
        with spoken_by(columns.engine, "read the columns of the table"):
            # Under plain names: mapInArrow looks columns up by name, and stumbles over dots and backticks.
            named = enumerate(columns.all)
            self.rows = frame.select(*(_shipped(frame, name).alias(f"c{i}") for i, name in named))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.told is not None:
            with suppress(Exception):  # what is left Spark removes when it ends
                self.told.mapInArrow(_clearing(self.shelf), REPLY).collect()
            self.told.unpersist()

    def summary(self, missing: str) -> Summary:
        """Return the Summary of all rows."""
        engine = self.columns.engine
        with spoken_by(engine, "add up the rows"), _small_batches(self.session):
            parts = self.rows.mapInArrow(_partition_summary(self.columns, missing), PART).collect()
        return whole(((row.partition, _bytes(row.summary), row.fault) for row in parts), engine)

    def edges(self, columns: Columns, most: int) -> list[Reply]:
        """Return about so many rows of all, drawn by Spark."""
        rows = self.rows
        if most > 1:
            share = 1.25 * most / max(1, rows.count())
            rows = rows.sample(share, seed=1) if share < 1 else rows
        else:
            rows = rows.limit(1)
        with _small_batches(self.session):
            found = rows.mapInArrow(_drawing(Reading(columns), Edges(most)), REPLY).collect()
        return [_reply(row) for row in found]

    def first(self, reading: Reading, missing: str) -> Reply:
        """Keep the rows, packed, and return the Summary of all: one job, which reads the table once.

        Spark keeps what each partition told. So a later job runs where the rows are, and Spark makes them
        anew, from the table, if that executor was lost.
        """
        engine = self.columns.engine
        self.reading = reading
        self.told = self.rows.mapInArrow(_packing(reading, missing, self.shelf), REPLY).persist()
        with spoken_by(engine, "add up the rows"), _small_batches(self.session):
            told = self.told.collect()
        self.n_partitions = len(told)
        (reply,) = once(map(_reply, told), Totals(engine)) or [Reply({}, None)]
        return reply

    def samples(self, most: Mapping[int, int]) -> list[Reply]:
        """Return some of the rows of each partition, which the first look has put aside."""
        with _small_batches(self.session):
            told = self._kept().mapInArrow(_trimming(self.shelf, dict(most)), REPLY).collect()
            found = [_reply(row) for row in told]
            absent = _absent(found)
            if absent:
                wanted = Edges(max(most[number] for number in absent))
                found = [reply for reply in found if not _absent([reply])]
                found += self._anew(absent, _drawing(self.reading, wanted))
        return found

    def ask(self, question: Question, reading: Reading, classes: Array) -> Reply:
        """Return the answer of all partitions, joined where they are if they are many."""
        with _small_batches(self.session):
            answers = self._kept().mapInArrow(_answering(question, self.shelf, reading.coder, classes), REPLY)
            found = [_reply(row) for row in self._joined(answers, question).collect()]
            absent = _absent(found)
            if absent:
                found = [_without(reply, absent) for reply in found]
                found += self._anew(absent, _drawing(reading, question))
        (reply,) = once((reply for reply in found if reply.rows), question) or [Reply({}, None)]
        return reply

    def _kept(self) -> Foreign:
        """Return the numbers of the partitions; where there is one executor, in one task per core.

        Several executors keep the rows they have read, and Spark sends a task to where its partition is.
        """
        numbers = self.told.select("partition")
        with suppress(Exception):  # Spark Connect does not tell
            context = self.session.sparkContext
            if context.master.split("[")[0] == "local" and context.defaultParallelism < self.n_partitions:
                return numbers.coalesce(context.defaultParallelism)
        return numbers

    def _anew(self, absent: list[int], draw: Task) -> list[Reply]:
        """Return the answers of partitions from the table: their task ran where nobody has read them."""
        some = self.rows.where(F.spark_partition_id().isin(absent))
        replies = map(_reply, some.mapInArrow(draw, REPLY).collect())
        return [reply for reply in replies if min(reply.rows) in set(absent)]

    def _joined(self, answers: Foreign, question: Question) -> Foreign:
        """Return the answers of many partitions joined with those of their neighbours."""
        if self.n_partitions <= FEW_PARTITIONS:
            return answers
        width = ceil(sqrt(self.n_partitions))
        near = answers.repartition(ceil(self.n_partitions / width), F.expr(f"partition div {width}"))
        return near.mapInArrow(_joining(question, width), REPLY)


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
def _small_batches(session: Foreign) -> Iterator[None]:
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


def _bytes(data: Foreign) -> bytes | None:
    return None if data is None else bytes(data)


def column_of(frame: Foreign, name: str) -> Foreign:
    """Return a column whose name may have dots and backticks."""
    return frame["`" + name.replace("`", "``") + "`"]


def refuse_types(frame: Foreign, columns: Columns) -> None:
    """Raise an error that names the first feature or weight that is neither a number nor a vector."""
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    plain = len(columns.features) > 1
    for name in columns.all[1:]:
        kind = kinds[name]
        vector = isinstance(kind, VectorUDT) or (
            isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.NumericType | T.BooleanType)
        )
        number = isinstance(kind, T.NumericType | T.BooleanType)
        if not number and (plain or name == columns.weight or not vector):
            wanted = (
                "a number" if plain or name == columns.weight else "a number, a vector or an array of numbers"
            )
            raise EngineError(f"{columns.engine}: column {name!r} is {kind.simpleString()}, not {wanted}")


def _shipped(frame: Foreign, name: str) -> Foreign:
    """Return a column as Arrow carries it: a vector as a struct without null lists.

    Spark takes four times as long to write a null list of indices as to write an empty one.
    """
    column = column_of(frame, name)
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


Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _partition_summary(columns: Columns, missing: str) -> Task:
    def summarise(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = _partition()
        data = fault = None
        try:
            named = _named(batches, columns)
            summary = summary_of_batches(named, columns, missing=missing, where=f"partition {number}, ")
            data = None if summary is None else summary.to_bytes()
        except EngineError as error:  # words for the driver; an exception would be retried, then traced
            fault = str(error)
        row = [pa.array([number], pa.int32()), pa.array([data], pa.binary()), pa.array([fault], pa.string())]
        yield pa.RecordBatch.from_arrays(row, names=["partition", "summary", "fault"])

    return summarise


def _named(batches: Iterator[pa.RecordBatch], columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield the batches under the names that the columns have in the table."""
    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.columns, names=columns.all)


def _reply(row: Foreign) -> Reply:
    """Return a row of ``REPLY``, here or in an executor."""
    rows = {int(number): count for number, count in json.loads(row.rows).items()}
    return Reply(rows, _bytes(row.data), row.fault)


def _replies(replies: Iterable[Reply]) -> Iterator[pa.RecordBatch]:
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
        for row in batch.to_pylist():
            rows = {int(number): count for number, count in json.loads(row["rows"]).items()}
            yield Reply(rows, row["data"], row["fault"])


def _drawing(reading: Reading, question: Question) -> Task:
    def draw(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = _partition()
        try:
            found = reading.rows(_named(batches, reading.columns), f"partition {number}, ")
            n_rows, data = question(each.rows for each in found)
            reply = Reply({number: n_rows}, data)
        except EngineError as error:
            reply = Reply({number: 0}, None, str(error))
        yield from _replies([reply])

    return draw


def _packing(reading: Reading, missing: str, shelf: Shelf) -> Task:
    """Return what puts the rows of a partition on the shelf, and tells of the first look at them."""

    def pack_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = _partition()
        look = FirstLook(reading, missing, f"partition {number}, ")
        try:
            shelf.put(number, look.rows(_named(batches, reading.columns)))
            if (sample := look.sample()) is not None:
                shelf.put_aside(number, sample)
            data = None if look.summary is None else look.summary.to_bytes()
            reply = Reply({number: look.n_rows}, data)
        except EngineError as error:  # words for the driver; an exception would be retried, then traced
            reply = Reply({number: 0}, None, str(error))
        yield from _replies([reply])

    return pack_all


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _trimming(shelf: Shelf, most: dict[int, int]) -> Task:
    def trim(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            if number in most:  # others have no rows
                data = shelf.aside(number)
                few = None if data is None else fewer(data, most[number])
                yield from _replies([Reply({number: ABSENT if few is None else 0}, few)])

    return trim


def _answering(question: Question, shelf: Shelf, coder: Coder | None, classes: Array) -> Task:
    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            rows = shelf.rows(number, classes, coder)
            n_rows, data = (ABSENT, None) if rows is None else question(rows)
            yield from _replies([Reply({number: n_rows}, data)])

    return answer


def _clearing(shelf: Shelf) -> Task:
    def clear(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            shelf.clear()
            yield from _replies([Reply({number: 0}, None)])

    return clear


def _joining(question: Question, width: int) -> Task:
    """Return what joins the answers of neighbouring partitions, each once and in their order."""

    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        groups: dict[int, list[Reply]] = {}
        for reply in _read(batches):
            groups.setdefault(min(reply.rows) // width, []).append(reply)
        for group in sorted(groups):
            yield from _replies(once(groups[group], question))

    return join
