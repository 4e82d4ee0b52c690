"""``Dense``: a numpy array, and ``Selected``: some rows of a matrix, in place."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import add

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from ... import _native
from ..._system.types import Floats, Indices
from .base import (
    KERNEL_TYPES,
    RUN,
    Gradient,
    Grouping,
    Index,
    LinearModel,
    Matrix,
    Numbers,
    Raw,
    Standardisation,
    WeightedRows,
)

# With more hyperplanes than this, BLAS on blocks of rows is faster than the kernel.
MANY = 16
# At most this many scores wait in the cache for their labels, in memory that is used again.
FEW_SCORES = 1 << 17
# Such a block stays in the cache between its conversion and its product.
PRODUCT_BYTES = 4 << 20


class Dense(Matrix):
    """A numpy array of any strides and number type."""

    def __init__(self, array: Numbers) -> None:
        self.array = array
        self.operands = (array,)
        self.shape = array.shape
        self.known = array.dtype in KERNEL_TYPES
        self.exact = is_exact(array.dtype)

    def summarise_blocks(self, groups: Grouping, *, missing: bool, n_threads: int) -> Raw:
        parts = (
            Dense(block).summarise(groups.take(rows), missing=missing, n_threads=n_threads)
            for rows, block in self.blocks()
        )
        return functools.reduce(add, parts)

    def scores(
        self, coef: Floats, intercept: Floats, rows: Indices | None = None, n_threads: int = 1
    ) -> Floats:
        out = np.empty((self.shape[0] if rows is None else len(rows), len(coef)))
        if not self.known:
            for place, block in self.blocks(rows=rows):
                _native.scores(block, coef, intercept, None, out[place], n_threads)
        elif len(coef) <= MANY:
            _native.scores(self.array, coef, intercept, rows, out, n_threads)
        else:
            self._multiply(coef, rows, out, n_threads)
            out += intercept
        return out

    def _multiply(self, coef: Floats, rows: Indices | None, out: Floats, n_threads: int) -> None:
        step = max(64, PRODUCT_BYTES // (8 * self.shape[1]))
        with blas_threads(n_threads):
            for start in range(0, len(out), step):
                place = slice(start, start + step)
                x = np.asarray(self.array[place if rows is None else rows[place]], dtype=np.float64)
                np.matmul(x, coef.T, out=out[place])

    def gradient(
        self, rows: WeightedRows, standard: Standardisation, model: LinearModel, n_threads: int = 1
    ) -> Gradient:
        dtype = self.array.dtype
        if not self.known or (in_float32(dtype) and not all(map(fits_float32, standard))):
            return gradient_by_blocks(self, rows, standard, model, n_threads)
        return call_gradient(self.array, rows, standard, model, n_threads)

    def as_used(self, standard: Standardisation) -> Standardisation:
        if not in_float32(self.array.dtype):
            return standard
        return Standardisation(*(in_float32_if_it_fits(values) for values in standard))

    def block(self, rows: Index, columns: Index = slice(None)) -> Floats:
        if isinstance(rows, slice) or isinstance(columns, slice):
            return np.asarray(self.array[rows][:, columns], dtype=np.float64)
        return np.asarray(self.array[np.ix_(rows, columns)], dtype=np.float64)

    def take(self, rows: Indices) -> Dense:
        return Dense(self.array[rows])

    def part(self, start: int, stop: int) -> Dense:
        return Dense(self.array[start:stop])

    def rows_at_once(self, n_scores: int, n_threads: int) -> int:
        if n_threads > 1 or n_scores > MANY:  # threads are started, and BLAS is called, once
            return super().rows_at_once(n_scores, n_threads)
        return FEW_SCORES // n_scores

    def take_runs(self, rows: Indices, step: int) -> Dense:
        runs = self.array[:, : self.shape[1] // RUN * RUN].reshape(self.shape[0], -1, RUN)
        return Dense(runs[rows, step // 2 :: step].reshape(len(rows), -1))

    def repeats(self, rows: Indices, columns: Index) -> NDArray[np.bool_]:
        return equal_neighbours(self.array[rows][:, columns])


class Selected(Matrix):
    """Some rows of another matrix, in place."""

    def __init__(self, matrix: Matrix, rows: Indices) -> None:
        self.matrix = matrix
        self.rows = rows
        self.shape = (len(rows), matrix.shape[1])
        self.exact = matrix.exact
        self.sparse = matrix.sparse
        self.whole = matrix.whole
        self.coder = matrix.coder

    def scores(
        self, coef: Floats, intercept: Floats, rows: Indices | None = None, n_threads: int = 1
    ) -> Floats:
        return self.matrix.scores(coef, intercept, self.rows if rows is None else self.rows[rows], n_threads)

    def block(self, rows: Index, columns: Index = slice(None)) -> Floats:
        return self.matrix.block(self.rows[rows], columns)

    def take(self, rows: Indices) -> Matrix:
        return self.matrix.take(self.rows[rows])


def equal_neighbours(rows: Numbers) -> NDArray[np.bool_]:
    """Say for each row but the first whether it equals the one before; NaN equals NaN."""
    now, before = rows[1:], rows[:-1]
    alike = now == before
    if rows.dtype.kind == "f":
        alike |= np.isnan(now) & np.isnan(before)
    return np.asarray(alike.all(axis=1))


def is_exact(dtype: np.dtype[np.generic]) -> bool:
    """Say whether sums of such values do not round: see ``Matrix.exact``."""
    return dtype.kind in "iub" or dtype.itemsize <= 4


def in_float32(dtype: np.dtype[np.generic]) -> bool:
    """Say whether the gradient kernel moves and scales values of this type in float32."""
    return dtype == np.float32 or (dtype in KERNEL_TYPES and dtype.itemsize < 4)


def in_float32_if_it_fits(values: Floats) -> Floats:
    """Return the values rounded to float32, or as they are where that is too near its limits."""
    rounded = values.astype(np.float32).astype(np.float64)
    return rounded if fits_float32(rounded) else values


def fits_float32(values: Floats) -> bool:
    """Say whether float32 holds the values exactly, and far enough from its limits to calculate with."""
    size = np.abs(values)
    fits = (size == 0) | ((size > 1e-30) & (size < 1e30))
    return bool(fits.all() and (values == values.astype(np.float32)).all())


def call_gradient(
    x: Numbers | Sequence[Numbers],
    rows: WeightedRows,
    standard: Standardisation,
    model: LinearModel,
    n_threads: int,
) -> Gradient:
    """Call the kernel for an array or for columns."""
    coef, intercept = np.empty(model.coef.shape), np.empty(len(model.coef))
    loss = _native.gradient(x, *standard, *rows, *model, coef, intercept, n_threads)
    return Gradient(loss, coef, intercept)


def gradient_by_blocks(
    matrix: Matrix, rows: WeightedRows, standard: Standardisation, model: LinearModel, n_threads: int
) -> Gradient:
    """Return what ``matrix.gradient`` does where no kernel reads the matrix: by blocks of its rows."""
    parts = (
        call_gradient(block, rows.take(place), standard, model, n_threads) for place, block in matrix.blocks()
    )
    return functools.reduce(add, parts)


@contextmanager
def blas_threads(n_threads: int) -> Iterator[None]:
    """Let BLAS work in ``n_threads``: left alone, it starts one per core."""
    # not by limit() of threadpoolctl, which takes 60 us
    changed = [(each, n) for each in _blas().lib_controllers if (n := each.num_threads) != n_threads]
    try:
        for library, _ in changed:
            library.set_num_threads(n_threads)
        yield
    finally:
        for library, before in changed:
            library.set_num_threads(before)


@functools.cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
