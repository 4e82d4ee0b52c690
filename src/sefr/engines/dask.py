"""A Summary from a Dask data frame: our kernel on every partition, and the Summaries brought home.

Dask runs a partition again when a worker dies; its Summary is taken once (``partitions``).
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

from .._summary.summary import Summary
from .columns import Columns, refuse_what_is_no_number
from .error import EngineError, spoken_by
from .partitions import Part, whole


def summary_of_dask(frame: Any, columns: Columns, *, missing: str) -> Summary:
    """Return the Summary of a Dask DataFrame's rows."""
    import dask

    with spoken_by(columns.engine, "plan the partitions"):
        parts = frame[columns.all].to_delayed()
        tasks = [dask.delayed(part_of_partition)(part, i, columns, missing) for i, part in enumerate(parts)]
    with spoken_by(columns.engine, "compute the partitions"):
        results = dask.compute(*tasks)
    return whole(results, columns.engine, len(tasks))


def part_of_partition(partition: Any, number: int, columns: Columns, missing: str) -> Part:
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
