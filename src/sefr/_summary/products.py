"""Products: X'X and what goes with it, summed over rows about an origin; they add, subtract and decay.

About an origin near the rows, products of values at 1e9 lose no digits. Products that are moved to another
origin, or added to others, are kept in double-double, so that what was added can be taken back. Those of
whole numbers are exact below 2**53; those of cells are counts of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from .._system.memory import free_memory
from .._system.types import Floats
from .double_double import DoubleDouble, two_sum

# An origin further from the mean than this many spreads takes more than 8 of the 53 bits of what is left.
FAR = 2.0**8
# The memory of X'X, and of the matrices that it is moved and solved in: so many of its size.
MOST_BYTES, COPIES = 1 << 33, 4
# Columns that are mirrored at a time: they stay in a cache.
MIRRORED = 64


@dataclass(frozen=True, eq=False)
class Products:
    """The sums over rows of all products of two columns, each less its origin: a symmetric matrix, packed.

    The first column is 1, so that the first row has the weight of all rows and the sums of the columns. Then
    come m features; with ``missing``, m columns that are 1 where a feature is missing, whose value counts as
    0 there; and ``n_targets`` targets. ``origin`` is that of features and targets. ``packed`` is the upper
    triangle, row after row.
    """

    origin: Floats
    packed: DoubleDouble
    missing: bool = False
    n_targets: int = 0

    moments = 2  # of ``Marginals`` 1

    @staticmethod
    def size(n_features: int, n_targets: int, *, missing: bool) -> int:
        """Return how many numbers ``packed`` has."""
        return packed_size(1 + n_features * (2 if missing else 1) + n_targets)

    @property
    def own_squares(self) -> Floats:
        """The sums of squares of every column about the origin (columns,)."""
        return np.asarray(self.packed.head[diagonal_places(self.n_columns + 1)][1:])

    def towards_targets(self) -> Floats:
        """Return the sums of products of features and targets (m, targets) about the origin."""
        return self.block(slice(0, self.n_features), slice(self.n_columns - self.n_targets, self.n_columns))

    @property
    def n_features(self) -> int:
        """Number of features: columns of X, cells where these are cells."""
        return len(self.origin) - self.n_targets

    @property
    def n_columns(self) -> int:
        """Number of columns, without the first, which is 1."""
        return self.n_features * (2 if self.missing else 1) + self.n_targets

    @property
    def count(self) -> float:
        """The weight of all rows."""
        return float(self.packed.head[0])

    @property
    def sums(self) -> Floats:
        """The sums of all columns about the origin (columns,)."""
        return self.packed.head[1 : self.n_columns + 1]

    def block(self, rows: slice, columns: slice) -> Floats:
        """Return products of some columns, in float64, with others that come after them."""
        q = self.n_columns + 1
        i, j = (np.arange(q)[1:][part] for part in (rows, columns))
        return np.asarray(self.packed.head[row_places(q)[i][:, None] + j])

    def matrix(self) -> Floats:
        """Return the sums of products of two columns (columns, columns) about the origin, in float64."""
        return unpack(self.packed.head[self.n_columns + 1 :])

    def __add__(self, other: Products) -> Products:
        mine, theirs = self._alike(other)
        return replace(mine, packed=mine.packed + theirs.packed)

    def __sub__(self, other: Products) -> Products:
        mine, theirs = self._alike(other)
        return replace(mine, packed=mine.packed - theirs.packed)

    def __mul__(self, factor: float) -> Products:
        return replace(self, packed=self.packed * factor)

    def __eq__(self, other: object) -> bool:
        """Say whether both are of the same sums, about whatever origin."""
        if not isinstance(other, Products):
            return NotImplemented
        if self.moments != other.moments or (self.n_features, self.n_targets) != (
            other.n_features,
            other.n_targets,
        ):
            return False
        mine, theirs = self._alike(other)
        pairs = zip(mine.packed, theirs.packed, strict=True)
        return all(np.array_equal(0.0 if a is None else a, 0.0 if b is None else b) for a, b in pairs)

    def _alike(self, other: Products) -> tuple[Products, Products]:
        """Return both with the same columns, about the origin of the first."""
        mine, theirs = ((own.n_features, own.n_targets) for own in (self, other))
        if mine != theirs:
            raise ValueError(f"products of other columns do not add: {mine} and {theirs}")
        missing = self.missing or other.missing
        self, other = (own if own.missing or not missing else own.with_missing() for own in (self, other))
        return self, other.about(self.origin)

    def with_missing(self) -> Products:
        """Return the same with columns of what is missing: nothing."""
        m, q = self.n_features, self.n_columns + 1
        at = np.r_[0 : m + 1, 2 * m + 1 : q + m]

        def widen(packed: Floats) -> Floats:
            wide = np.zeros((q + m, q + m))
            wide[np.ix_(at, at)] = unpack(packed)
            return pack(wide)

        return replace(self, packed=self.packed.each(widen), missing=True)

    def with_targets(self, places: Sequence[int]) -> Products:
        """Return the same with some features, of which no value is missing, as targets, in this order."""
        m, own = self.n_features, [j for j in range(self.n_features) if j not in places]
        missing = self.missing and bool(self.sums[m : 2 * m].any())
        gone = [m + j for j in own] if missing else []
        at = np.array([-1, *own, *gone, *places], dtype=np.intp) + 1

        def chosen(packed: Floats) -> Floats:
            return pack(np.ascontiguousarray(unpack(packed)[np.ix_(at, at)]))

        origin = self.origin[[*own, *places]]
        return Products(origin, self.packed.each(chosen), missing, len(places))

    def left(self, *, gone: bool) -> Products:
        """Return what is left after others were taken away: nothing, if all rows are ``gone``.

        A sum of squares below 0, but for rounding, is an error: other rows were learned.
        """
        if gone:
            return replace(self, packed=DoubleDouble(np.zeros_like(self.packed.head)))
        squares = self.own_squares
        largest = np.abs(self.packed.head).max()
        if (squares < -1e-9 * largest).any():
            raise ValueError(
                "cannot take away rows that were not learned: a sum of squares would be negative"
            )
        return self

    def to_plain(self) -> dict[str, Any]:
        """Return the parts as arrays and numbers, for pickle and for files."""
        return {
            "origin": self.origin,
            "packed": self.packed.head,
            "tails": self.packed.tail,
            "missing": self.missing,
            "n_targets": self.n_targets,
            "moments": self.moments,
        }

    @classmethod
    def from_plain(cls, parts: dict[str, Any]) -> Products:
        """Return the products of such parts; parts that do not go together are a ValueError."""
        missing, n_targets = parts["missing"], parts["n_targets"]
        origin = np.asarray(parts["origin"], dtype=np.float64)
        if type(missing) is not bool or type(n_targets) is not int or not 0 <= n_targets <= len(origin):
            raise ValueError("products must say how many targets they have, and whether values are missing")
        head, tail = (
            None if part is None else np.asarray(part, dtype=np.float64)
            for part in (parts["packed"], parts["tails"])
        )
        size = cls.size(len(origin) - n_targets, n_targets, missing=missing)
        for part in (origin, head, tail):
            if part is not None and not np.isfinite(part).all():
                raise ValueError("products must be finite")
        if head is None or head.shape != (size,) or (tail is not None and tail.shape != head.shape):
            raise ValueError(f"the products of {len(origin)} columns must be {size} numbers")
        return cls(origin, DoubleDouble(head, tail), missing, n_targets)

    def about(self, origin: Floats) -> Products:
        """Return the same about another origin, in double-double."""
        if np.array_equal(origin, self.origin):
            return self
        shift = DoubleDouble(*two_sum(self.origin, -np.asarray(origin, dtype=np.float64)))
        moving, m = np.flatnonzero(shift.head), self.n_features
        by, targets = shift.each(lambda part: part[moving]), moving >= m
        at = 1 + moving + np.where(targets & self.missing, m, 0)
        gone = np.where(targets, 0, m + at)

        def added(rows: Callable[[NDArray[np.intp]], DoubleDouble]) -> DoubleDouble:
            """Return the shift times the first row, less the row of what is missing."""
            here = rows(np.zeros(1, dtype=np.intp))
            if self.missing:
                here = here - rows(gone).zero_where(targets[:, None])
            return scaled_rows(here, by)

        # rows move first, then columns; of other rows the columns follow, since the matrix is symmetric
        moved = self._rows(at) + added(self._rows)
        corner = moved.each(lambda part: part[:, at].T) + added(
            lambda places: moved.each(lambda part: part[:, places].T)
        )
        return replace(
            self,
            origin=np.array(origin, dtype=np.float64),
            packed=self._with_rows(at, _put(moved, at, corner)),
        )

    def _rows(self, at: NDArray[np.intp]) -> DoubleDouble:
        """Return some rows of the matrix whose first column is 1 (rows, 1 + columns)."""
        size = self.n_columns + 1
        begins = row_places(size)

        def chosen(packed: Floats) -> Floats:
            found = np.empty((len(at), size))
            for row, i in zip(found, at.tolist(), strict=True):
                row[:i] = packed[begins[:i] + i]
                row[i:] = packed[begins[i] + i : begins[i] + size]
            return found

        return self.packed.each(chosen)

    def _with_rows(self, at: NDArray[np.intp], rows: DoubleDouble) -> DoubleDouble:
        """Return ``packed`` with other rows, and with their columns the same."""
        size = self.n_columns + 1
        begins = row_places(size)

        def changed(packed: Floats | None, own: Floats | None) -> Floats:
            found = np.zeros_like(self.packed.head) if packed is None else packed.copy()
            for k, i in enumerate(at.tolist()):
                found[begins[:i] + i] = 0.0 if own is None else own[k, :i]
                found[begins[i] + i : begins[i] + size] = 0.0 if own is None else own[k, i:]
            return found

        tail = None
        if self.packed.tail is not None or rows.tail is not None:
            tail = changed(self.packed.tail, rows.tail)
        return DoubleDouble(changed(self.packed.head, rows.head), tail)

    def near(self, *, movable: bool = True) -> Products:
        """Return the same about an origin near the means, where that keeps digits: see ``FAR``.

        With ``missing``, about the means of the values that there are; so are fewer rows than columns, of
        which many penalties are as likely: equal sums are to give equal answers, about whatever origin they
        were added up. Features that are not ``movable`` stay: see ``Coding``.
        """
        m, k = self.n_features, self.n_targets
        own = np.r_[0:m, self.n_columns - k : self.n_columns]
        diagonal = self.own_squares
        count = np.full(m + k, self.count)
        if self.missing:
            count[:m] -= self.sums[m : 2 * m]
        distance = np.divide(self.sums[own], count, out=np.zeros(m + k), where=count > 0)
        spread = np.sqrt(np.maximum(diagonal[own] / np.maximum(count, 1e-300) - distance**2, 0.0))
        always = self.missing or self.count <= self.n_features + 1
        far = (np.abs(distance) > FAR * spread) | (always & (distance != 0))
        far[:m] &= movable
        return self.about(np.where(far, self.origin + distance, self.origin))


def _put(rows: DoubleDouble, at: NDArray[np.intp], columns: DoubleDouble) -> DoubleDouble:
    """Return rows with other columns at some places."""

    def changed(part: Floats, own: Floats | None) -> Floats:
        found = part.copy()
        found[:, at] = 0.0 if own is None else own
        return found

    if rows.tail is None and columns.tail is None:
        return DoubleDouble(changed(rows.head, columns.head))
    head, tail = rows.both
    return DoubleDouble(changed(head, columns.head), changed(tail, columns.tail))


def scaled_rows(rows: DoubleDouble, by: DoubleDouble) -> DoubleDouble:
    """Return rows, or one row for all, times a number each, all in double-double."""
    n = len(by.head)
    rows = rows.each(lambda part: np.broadcast_to(part, (n, part.shape[1])))
    found = rows * by.head[:, None]
    if by.tail is not None:
        found = found + DoubleDouble(rows.head * by.tail[:, None])
    return found


def row_places(q: int) -> NDArray[np.intp]:
    """Return, for a symmetric matrix (q, q), packed, where column 0 of each row would lie."""
    at = np.arange(q)
    return np.asarray(at * q - at * (at + 1) // 2)


def diagonal_places(q: int) -> NDArray[np.intp]:
    """Return where the diagonal of a symmetric matrix (q, q) lies, packed."""
    at = np.arange(q)
    return np.asarray(at * q - at * (at - 1) // 2)


def packed_size(q: int) -> int:
    """Return how many numbers the upper triangle of a matrix (q, q) has."""
    return q * (q + 1) // 2


def unpack(packed: Floats) -> Floats:
    """Return the symmetric matrix of an upper triangle that is packed row after row."""
    q = int((2 * len(packed) + 0.25) ** 0.5)
    # column after column, as LAPACK reads it, it is the lower triangle
    lower, _ = lapack.dtpttr(q, packed, uplo="L")
    upper = lower.T
    for start in range(0, q, MIRRORED):
        end = min(start + MIRRORED, q)
        corner = upper[start:end, start:end]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
        upper[end:, start:end] = upper[start:end, end:].T
    return np.asarray(upper)


def pack(matrix: Floats) -> Floats:
    """Return the upper triangle of a symmetric matrix, row after row."""
    packed, _ = lapack.dtrttp(matrix.T, uplo="L")
    return np.asarray(packed)


def check_products(products: Products, counts: Floats, n_columns: int) -> None:
    """Raise an error for products that are not of so many columns, or not of rows that count so much."""
    if products.n_features != n_columns:
        raise ValueError(f"the products are of {products.n_features} columns, the sums of {n_columns}")
    if abs(products.count - counts.sum()) > 1e-6 * counts.sum():
        raise ValueError(f"the products are of {products.count:g} rows, the sums of {counts.sum():g}")
    if (products.own_squares < -1e-9 * np.abs(products.packed.head).max()).any():
        raise ValueError("a sum of squares must not be negative")


def check_columns(n_columns: int, remedy: str) -> None:
    """Raise an error where X'X of so many columns would need too much memory; ``remedy`` says what to do."""
    need = COPIES * 8 * n_columns**2
    if need < MOST_BYTES / 64:  # a hundred MB: not worth asking
        return
    free = free_memory()
    most = int((min(MOST_BYTES, free) / (8 * COPIES)) ** 0.5)
    if n_columns > most:
        why = "" if free > MOST_BYTES else f", of which {free / 1e9:.1f} GB are free"
        raise ValueError(
            f"second moments of {n_columns} columns need {need / 1e9:.1f} GB of memory{why}, and at most "
            f"{most} columns are taken: {remedy}"
        )
