"""The rows of a Spark data frame: added up, sampled and swept by our kernels in the executors.

Every question is one ``mapInArrow`` job: each partition comes home as a few bytes under its number, whatever
its rows, and is counted once even if Spark computed it several times. The executors need sefr.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from .._summary.summary import Summary
from .._system.types import Foreign
from .batches import summary_of_batches
from .columns import Columns
from .error import EngineError, spoken_by
from .partitions import whole

if TYPE_CHECKING:
    from .passes import Question, Reply

PART = "partition int, summary binary, fault string"
REPLY = "partition int, rows long, data binary"
BATCH_SETTING = "spark.sql.execution.arrow.maxBytesPerBatch"
BATCH_BYTES = 32 << 20


def summary_of_spark(frame: Foreign, columns: Columns, *, missing: str = "error") -> Summary:
    """Return the Summary of a Spark DataFrame's rows, added up by our kernel in the executors."""
    return SparkRows(frame, columns).summary(missing)


class SparkRows:
    """The rows of a Spark data frame; inside ``with`` Spark keeps them between the passes."""

    def __init__(self, frame: Foreign, columns: Columns) -> None:
        refuse_types(frame, columns)
        self.columns = columns
        self.session = frame.sparkSession
        with spoken_by(columns.engine, "read the columns of the table"):
            # Under plain names: mapInArrow looks columns up by name, and stumbles over dots and backticks.
            named = enumerate(columns.all)
            self.rows = frame.select(*(_shipped(frame, name).alias(f"c{i}") for i, name in named))

    def __enter__(self) -> Self:
        self.rows = self.rows.persist()
        return self

    def __exit__(self, *error: object) -> None:
        self.rows.unpersist()

    def summary(self, missing: str) -> Summary:
        """Return the Summary of all rows."""
        engine = self.columns.engine
        with spoken_by(engine, "add up the rows"), _small_batches(self.session):
            parts = self.rows.mapInArrow(_partition_summary(self.columns, missing), PART).collect()
        return whole(((row.partition, _bytes(row.summary), row.fault) for row in parts), engine)

    def ask(self, question: Question) -> list[Reply]:
        """Return what each partition answers."""
        with _small_batches(self.session):
            parts = self.rows.mapInArrow(_partition_reply(self.columns, question), REPLY).collect()
        return [(row.partition, row.rows, _bytes(row.data)) for row in parts]


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
            if size.before is None or not 0 < int(size.before.rstrip("bB")) <= BATCH_BYTES:
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


def _partition_reply(columns: Columns, question: Question) -> Task:
    def reply(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows, data = question(_named(batches, columns))
        row = [
            pa.array([_partition()], pa.int32()),
            pa.array([rows], pa.int64()),
            pa.array([data], pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(row, names=["partition", "rows", "data"])

    return reply
