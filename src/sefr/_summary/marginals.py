"""Marginals: numbers to predict and each feature by itself, without the products of two features.

They take the place of ``Products`` in a Summary of numbers with ``moments=1``, and add, subtract and decay
alike: their size grows with the number of features, not with its square.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from .._rows.cells import Cells, SparseCells
from .._rows.matrix import Matrix, Sparse
from .._system.types import Floats
from .double_double import DoubleDouble, two_sum
from .multiply import by_cell, rounded_origin, sparse_origin, with_absence
from .products import Products, diagonal_places, scaled_rows


class Marginals(Products):
    """[1, Y]'[1, X, what is missing, Y], each less its origin, row after row, and then the squares of X.

    The first row is that of ``Products``. Fields as there.
    """

    moments = 1

    @staticmethod
    def size(n_features: int, n_targets: int, *, missing: bool) -> int:
        """Return how many numbers ``packed`` has."""
        columns = 1 + n_features * (2 if missing else 1) + n_targets
        return (1 + n_targets) * columns + n_features

    @property
    def rows(self) -> DoubleDouble:
        """The products of 1 and each target with every column (1 + targets, 1 + columns)."""
        return self.packed.each(lambda part: part[: -self.n_features or None].reshape(1 + self.n_targets, -1))

    @property
    def squares(self) -> DoubleDouble:
        """The sums of squares of features (m,)."""
        return self.packed.each(lambda part: part[len(part) - self.n_features :])

    @property
    def own_squares(self) -> Floats:
        """The sums of squares of every column about the origin (columns,)."""
        rows, m, k = self.rows.head, self.n_features, self.n_targets
        of_targets = np.array([rows[1 + t, rows.shape[1] - k + t] for t in range(k)])
        return np.concatenate([self.squares.head, rows[0, 1 + m : rows.shape[1] - k], of_targets])

    def towards_targets(self) -> Floats:
        """Return the sums of products of features and targets (m, targets) about the origin."""
        return np.asarray(self.rows.head[1:, 1 : 1 + self.n_features].T)

    def with_missing(self) -> Marginals:
        """Return the same with columns of what is missing: nothing."""
        m = self.n_features

        def widen(part: Floats) -> Floats:
            rows = part[: len(part) - m].reshape(1 + self.n_targets, -1)
            wide = np.hstack([rows[:, : 1 + m], np.zeros((len(rows), m)), rows[:, 1 + m :]])
            return np.concatenate([wide.ravel(), part[len(part) - m :]])

        return replace(self, packed=self.packed.each(widen), missing=True)

    def about(self, origin: Floats) -> Marginals:
        """Return the same about another origin, in double-double."""
        if np.array_equal(origin, self.origin):
            return self
        shift = DoubleDouble(*two_sum(self.origin, -np.asarray(origin, dtype=np.float64)))
        m = self.n_features
        of_features, of_targets = shift.each(lambda part: part[:m]), shift.each(lambda part: part[m:])
        # of the values that there are: how many, and their sums
        first = self.rows.each(lambda part: part[:1])
        here = first.each(lambda part: np.broadcast_to(part[:, 0], (m,)))
        if self.missing:
            here = here - first.each(lambda part: part[0, 1 + m : 1 + 2 * m])
        sums = first.each(lambda part: part[0, 1 : 1 + m])
        squares = self.squares + _times(sums * 2.0 + _times(here, of_features), of_features)
        # columns move by what the rows have of 1, rows by what the columns have of it
        moved = self._columns_moved(self.rows, of_features, of_targets)
        added = scaled_rows(moved.each(lambda part: part[:1]), of_targets)
        none = np.zeros((1, added.head.shape[1]))
        moved = moved + DoubleDouble(*(np.vstack([none, part]) for part in added.both))
        joined = [np.concatenate([a.ravel(), b]) for a, b in zip(moved.both, squares.both, strict=True)]
        packed = DoubleDouble(joined[0], joined[1] if joined[1].any() else None)
        return replace(self, origin=np.array(origin, dtype=np.float64), packed=packed)

    def _columns_moved(
        self, rows: DoubleDouble, of_features: DoubleDouble, of_targets: DoubleDouble
    ) -> DoubleDouble:
        m = self.n_features
        columns = rows.each(np.transpose)
        one = columns.each(lambda part: part[:1])
        by_feature = one
        if self.missing:
            by_feature = one - columns.each(lambda part: part[1 + m : 1 + 2 * m])
        parts = [scaled_rows(by_feature, of_features)]
        if self.missing:
            parts.append(DoubleDouble(np.zeros((m, len(rows.head)))))
        parts.append(scaled_rows(one, of_targets))
        heads, tails = zip(*(part.both for part in parts), strict=True)
        none = np.zeros((1, len(rows.head)))
        moved = columns + DoubleDouble(np.vstack([none, *heads]), np.vstack([none, *tails]))
        return moved.each(np.transpose)


def _times(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """Return products, number by number, in double-double."""
    found = a * b.head
    return found if b.tail is None else found + DoubleDouble(a.head * b.tail)


def marginals_of(products: Products) -> Marginals:
    """Return what products of features are without those of two different ones."""
    if isinstance(products, Marginals):
        return products
    q, k, m = products.n_columns + 1, products.n_targets, products.n_features
    rows = np.r_[0:1, q - k : q][:, None]
    columns = np.arange(q)
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    at = np.concatenate([(low * q - low * (low + 1) // 2 + high).ravel(), diagonal_places(q)[1 : 1 + m]])
    return Marginals(products.origin, products.packed.each(lambda part: part[at]), products.missing, k)


def marginals(
    matrix: Matrix, weights: Floats | None, targets: Floats, *, missing: bool, n_threads: int = 1
) -> Marginals | None:
    """Return the marginals of all rows about an origin near them; None if a value is not finite.

    As ``multiply.products``: a row of weight 0 is not looked at; with ``missing``, NaN is a missing value.
    """
    weight = np.ones(len(targets)) if weights is None else weights
    origin = rounded_origin(matrix, weights, targets)
    m, k = matrix.shape[1], targets.shape[1]
    moved = np.where(weight[:, None] == 0, 0.0, targets - origin[m:])
    beside = np.column_stack([weight, moved * weight[:, None]])
    multiply = _OF_KINDS.get(type(matrix), _of_blocks)
    x, gone, squares = multiply(matrix, origin[:m], beside, missing, n_threads)
    of_targets = beside.T @ np.column_stack([np.ones(len(targets)), moved])
    of_targets[0, 0] = weight.sum()
    parts = [of_targets[:, :1], x, *([] if gone is None else [gone]), of_targets[:, 1:]]
    packed = np.concatenate([np.hstack(parts).ravel(), squares])
    if not np.isfinite(packed).all():
        return None
    return Marginals(origin, DoubleDouble(packed), missing, k)


# The products of 1 and targets with features, and with what is missing, and the squares of features.
_Columns: TypeAlias = tuple[Floats, Floats | None, Floats]


def _of_cells(matrix: Cells, origin: Floats, beside: Floats, missing: bool, n_threads: int) -> _Columns:
    """Multiply cells, which are their own squares and lie about 0."""
    origin[:] = 0.0
    found = by_cell(matrix, beside, n_threads)
    return found.T, None, found[:, 0]


def _of_sparse_cells(
    matrix: SparseCells, origin: Floats, beside: Floats, missing: bool, n_threads: int
) -> _Columns:
    origin[:] = 0.0
    found = np.asarray(matrix.stored.T @ beside)
    # a feature that is not stored in a row lies in the cell of 0
    found[matrix.zero_cells] += beside.sum(axis=0) - np.add.reduceat(found, matrix.coder.offsets[:-1])
    return found.T, None, found[:, 0]


def _of_sparse(matrix: Sparse, origin: Floats, beside: Floats, missing: bool, n_threads: int) -> _Columns:
    columns, origin[:] = sparse_origin(matrix)
    products = np.asarray((with_absence(columns) if missing else columns).T @ beside)
    m = len(origin)
    squared = columns.copy()
    squared.data = np.where(np.isnan(columns.data), 0.0, columns.data) ** 2
    return products[:m].T, products[m:].T if missing else None, np.asarray(squared.T @ beside[:, 0])


def _of_blocks(matrix: Matrix, origin: Floats, beside: Floats, missing: bool, n_threads: int) -> _Columns:
    shape = (beside.shape[1], matrix.shape[1])
    x, gone, squares = np.zeros(shape), np.zeros(shape) if missing else None, np.zeros(shape[1])
    weight = np.ascontiguousarray(beside[:, 0])
    for rows, block in matrix.blocks():
        values, own = block - origin, weight[rows]
        if (own == 0).any():
            values[own == 0] = 0.0
        if gone is not None:
            absent = np.isnan(values)
            gone += beside[rows].T @ absent
            values[absent] = 0.0
        x += beside[rows].T @ values
        values *= values
        squares += own @ values
    return x, gone, squares


# How each kind of matrix is multiplied, about an origin that it may set; all others by blocks of rows.
_OF_KINDS: Mapping[type[Matrix], Callable[..., _Columns]] = {
    Cells: _of_cells,
    SparseCells: _of_sparse_cells,
    Sparse: _of_sparse,
}
