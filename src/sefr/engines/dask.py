"""A Dask data frame: our kernel on every partition, and what it adds up brought home.

Dask runs a partition again when a worker dies; its answer is taken once (``partitions``, ``passes``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw

from .._summary.summary import Summary
from .._system.types import Foreign
from .columns import Columns, refuse_what_is_no_number
from .error import EngineError, spoken_by
from .partitions import Part, whole

if TYPE_CHECKING:
    from .passes import Question, Reply


def summary_of_dask(frame: Foreign, columns: Columns, *, missing: str) -> Summary:
    """Return the Summary of a Dask DataFrame's rows."""
    return DaskRows(frame, columns).summary(missing)


class DaskRows:
    """The partitions of a Dask data frame; on a cluster they stay in its memory between the passes."""

    def __init__(self, frame: Foreign, columns: Columns) -> None:
        self.columns = columns
        with spoken_by(columns.engine, "plan the partitions"):
            self.parts = frame[columns.all].to_delayed()
        self.kept = False

    def summary(self, missing: str) -> Summary:
        """Return the Summary of all rows."""
        results = self._computed(part_of_partition, self.columns, missing)
        return whole(results, self.columns.engine, len(self.parts))

    def ask(self, question: Question) -> list[Reply]:
        """Return what each partition answers."""
        if not self.kept:
            self.kept, self.parts = True, _kept_on_cluster(self.parts)
        return [(number, *answer) for number, answer in self._computed(_answer, question)]

    def _computed(self, function: Foreign, *settings: Foreign) -> list[Foreign]:
        import dask

        with spoken_by(self.columns.engine, "compute the partitions"):
            shared = [dask.delayed(setting) for setting in settings]
            tasks = [dask.delayed(function)(part, i, *shared) for i, part in enumerate(self.parts)]
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


def _answer(partition: Foreign, number: int, question: Question) -> tuple[int, tuple[int, bytes | None]]:
    batches = nw.from_native(partition, eager_only=True).to_arrow().to_batches()
    return number, question(batches)


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
