"""Summaries of the parts of a table, each counted once, whatever a cluster did to compute them.

A worker that dies, a task that is tried again, a partition that is delivered twice: each part has a number,
and its Summary, as bytes, is taken once.
"""

from __future__ import annotations

from collections.abc import Iterable

from .._summary.summary import Summary
from .error import EngineError

# Number of the part, bytes of its Summary (None if it has no rows), what was wrong with it (None if nothing).
Part = tuple[int, bytes | None, str | None]


def whole(parts: Iterable[Part], engine: str, n_parts: int | None = None) -> Summary:
    """Return the Summary of all parts, added in the order of their numbers, so timing changes nothing."""
    taken: dict[int, bytes | None] = {}
    for number, data, fault in parts:
        if fault is not None:
            raise EngineError(fault)
        if taken.setdefault(number, data) != data:
            raise EngineError(f"{engine}: partition {number} came twice, with different rows")
    if n_parts is not None and len(taken) != n_parts:
        raise EngineError(f"{engine}: {n_parts - len(taken)} of {n_parts} partitions did not answer")
    total: Summary | None = None
    for number in sorted(taken):
        data = taken[number]
        if data is None:
            continue
        part = Summary.from_bytes(data)
        try:
            total = part if total is None else total + part
        except ValueError as error:
            raise EngineError(f"{engine}: partition {number}: {error}") from None
    if total is None:
        raise EngineError(f"{engine}: the table has no rows")
    return total
