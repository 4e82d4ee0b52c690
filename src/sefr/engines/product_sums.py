"""Products of features (second moments) from sums that a lazy engine or a database computes.

An engine adds up, for every two features, the products of their values over the rows that have both. If
values are missing, it also adds up each of the two over the rows that lack the other, and counts the rows
that lack both: all that ``Products`` with ``missing`` holds. An origin near the values of a feature that lies
far from zero is subtracted first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from .._summary.double_double import DoubleDouble
from .._summary.multiply import round_origin
from .._summary.products import Products, check_columns, pack
from .._system.types import Floats
from .error import EngineError

if TYPE_CHECKING:
    from .aggregates import AggregateQuery, Aggregates

# Sums per query: databases plan them one by one, and PostgreSQL takes at most 1,664.
SUMS_PER_QUERY = 400


@dataclass
class PairSums:
    """Sums over pairs of features i <= j, of values less their origins: upper triangles (m, m).

    ``both``: products, over rows that have both. ``first``: values of i over rows that lack j alone;
    ``second``: values of j over rows that lack i alone. ``neither``: the weight of rows that lack both.
    """

    m: int
    both: Floats = field(init=False)
    first: Floats = field(init=False)
    second: Floats = field(init=False)
    neither: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.both, self.first, self.second, self.neither = np.zeros((4, self.m, self.m))

    def products(self, table: Aggregates, sums: DoubleDouble, origin: Floats) -> Products:
        """Return the products; ``sums`` (K, m) are those of a Summary."""
        m, missing = self.m, bool(table.gaps.any())
        q = 1 + m * (2 if missing else 1)
        check_columns(q - 1, "use moments=1")
        values, gone = slice(1, m + 1), slice(m + 1, None)
        head = np.zeros((q, q))
        tail = np.zeros((q, q))
        head[0, 0] = table.counts.sum()
        moved = sums - DoubleDouble(np.ascontiguousarray(table.present)) * origin
        total = DoubleDouble(np.zeros((1, m))) + moved.added()
        head[0, values] = total.head[0]
        tail[0, values] = 0.0 if total.tail is None else total.tail[0]
        head[values, values] = np.triu(self.both)
        if missing:
            head[0, gone] = (table.counts[:, None] - table.present).sum(axis=0)
            head[values, gone] = np.triu(self.first, 1) + np.triu(self.second, 1).T
            head[gone, gone] = np.triu(self.neither)
        packed = DoubleDouble(_packed_upper(head), _packed_upper(tail) if tail.any() else None)
        if not np.isfinite(packed.head).all():
            raise EngineError(
                f"{table.columns.engine}: the products of two features would be larger than float64 can "
                "hold: use moments=1"
            )
        return Products(np.array(origin, dtype=np.float64), packed, missing)


def _packed_upper(matrix: Floats) -> Floats:
    upper = np.triu(matrix)
    return pack(upper + np.triu(upper, 1).T)


def origin_near(table: Aggregates) -> Floats:
    """Return 0 for features near zero, else a number of few digits within their range (m,)."""
    low, high = table.low.min(axis=0), table.high.max(axis=0)
    total = table.present.sum(axis=0)
    mean = np.divide(table.sums.sum(axis=0), total, out=np.zeros(len(low)), where=total > 0)
    span = np.where(total > 0, high - low, 0.0)
    # a constant is 0 about itself, exactly
    return np.where((total > 0) & (span == 0), low, round_origin(mean, span))


def products_of_lazy(query: AggregateQuery, table: Aggregates, sums: DoubleDouble, n_rows: float) -> Products:
    """Return the products of a lazy frame's features, in queries of ``SUMS_PER_QUERY`` sums each."""
    m, missing = len(table.columns.features), bool(table.gaps.any())
    origin = origin_near(table)
    found = PairSums(m)
    kinds = ("both", "first", "second", "neither") if missing else ("both",)
    pairs = list(combinations_with_replacement(range(m), 2))
    at_once = SUMS_PER_QUERY // len(kinds)
    for start in range(0, len(pairs), at_once):
        some = pairs[start : start + at_once]
        needed = sorted({j for pair in some for j in pair})
        row = query.add_up(needed, origin, partial(_sums, some, kinds), without_nan=missing)
        if row["rows"] != n_rows:
            raise EngineError(f"{table.columns.engine}: the rows changed between two passes over the table")
        for i, j in some:
            for kind in kinds:
                value = row[f"{kind}_{i}_{j}"]
                getattr(found, kind)[i, j] = 0.0 if value is None else float(value)
    return found.products(table, sums, origin)


def _sums(
    pairs: Sequence[tuple[int, int]], kinds: Sequence[str], values: dict[int, Any], weight: Any
) -> Iterator[Any]:
    """Yield the aggregates of pairs of features, under their names."""

    def total(value: Any, kind: str) -> Any:
        return (value if weight is None else value * weight).sum().alias(f"{kind}_{i}_{j}")

    for i, j in pairs:
        x, y = values[i], values[j]
        yield total(x * y, "both")
        if len(kinds) > 1:
            yield total(nw.when(y.is_null()).then(x), "first")
            yield total(nw.when(x.is_null()).then(y), "second")
            one = nw.lit(1).cast(nw.Float64)
            yield total(nw.when(x.is_null() & y.is_null()).then(one), "neither")
