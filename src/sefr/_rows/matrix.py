"""What the user passes as X, as one of three shapes that the kernels read in place.

``Dense`` is an array of any strides, ``Columns`` a dataframe's columns, ``Sparse`` CSR or CSC. None of them
copies X; a type that the kernels do not know (float16, another byte order) is converted block by block.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from .. import _native

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Rows = NDArray[np.int64]
Index = NDArray[Any] | slice

KERNEL_TYPES = frozenset(
    np.dtype(t) for t in ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
)
# Blocks are read and worked on in several steps: this much stays in a cache between them.
BLOCK_BYTES = 1 << 19
# With more hyperplanes than this, BLAS on blocks of rows is faster than the kernel.
MANY = 16
# Where some columns stand for all, they come in runs: these are as quick to read as whole rows.
RUN = 64
# Such a block stays in the cache between its conversion and its product.
PRODUCT_BYTES = 4 << 20


class Raw(NamedTuple):
    """What one kernel pass adds up: see ``sefr._native.summarise``."""

    sums: Floats
    counts: Floats
    low: Floats
    high: Floats
    present: Floats | None
    finite: bool


class Swept(NamedTuple):
    """What one further pass adds up: see ``sefr._native.sweep``."""

    loss: float
    slope: Floats
    intercept_slope: Floats


def _joined(parts: list[Raw]) -> Raw:
    """Add up the parts of one matrix, block by block."""
    first, *rest = parts
    sums, counts, low, high, present, finite = first
    for part in rest:
        sums = sums + part.sums
        counts = counts + part.counts
        low, high = np.minimum(low, part.low), np.maximum(high, part.high)
        present = None if present is None or part.present is None else present + part.present
        finite = finite and part.finite
    return Raw(sums, counts, low, high, present, finite)


def every_run(array: NDArray[Any], step: int) -> NDArray[Any]:
    """Return the columns of every ``step``-th run of ``RUN``, along the last axis."""
    *rows, n_columns = array.shape
    runs = array[..., : n_columns // RUN * RUN].reshape(*rows, -1, RUN)
    return runs[..., step // 2 :: step, :].reshape(*rows, -1)


class Matrix:
    """Rows and columns of numbers; the base of the three shapes."""

    shape: tuple[int, int]
    sparse = False
    exact: bool  # no value needs more than float32's 24 bits or is an integer: sums do not round

    def summarise(
        self,
        codes: Codes,
        weights: Floats | None,
        n_classes: int,
        n_folds: int = 1,
        *,
        missing: bool = False,
        n_threads: int = 1,
    ) -> Raw:
        """Add up the rows in one pass."""
        n_groups, n_features = n_classes * n_folds, self.shape[1]
        sums, counts = np.empty((n_groups, n_features)), np.empty(n_groups)
        low, high = np.empty((n_folds, n_features)), np.empty((n_folds, n_features))
        present = np.empty((n_groups, n_features)) if missing else None
        finite = self._add_up(codes, weights, n_classes, sums, counts, low, high, present, n_threads)
        return Raw(sums, counts, low, high, present, finite)

    def _add_up(self, *arguments: Any) -> bool:
        """Call the kernel, which takes the matrix and these arguments."""
        raise NotImplementedError

    def scores(self, coef: Floats, intercept: Floats, rows: Rows | None = None, n_threads: int = 1) -> Floats:
        """Return X @ coef.T + intercept in float64, for all rows or those listed."""
        raise NotImplementedError

    def blocks(
        self, columns: Index = slice(None), rows: Rows | None = None
    ) -> Iterator[tuple[slice, Floats]]:
        """Yield all rows, or those listed, as float64 blocks of ``BLOCK_BYTES``, each with its place."""
        n_rows = self.shape[0] if rows is None else len(rows)
        width = self.shape[1] if isinstance(columns, slice) else len(columns)
        step = max(1, BLOCK_BYTES // (8 * max(1, width)))
        for start in range(0, n_rows, step):
            place = slice(start, min(start + step, n_rows))
            yield place, self._block(place if rows is None else rows[place], columns)

    def _block(self, rows: Index, columns: Index) -> Floats:
        raise NotImplementedError

    def sweep(
        self,
        codes: Codes,
        weights: Floats | None,
        class_weights: Floats,
        centre: Floats,
        scale: Floats,
        coef: Floats,
        intercept: Floats,
        n_threads: int = 1,
    ) -> Swept:
        """Score x' = (x - centre) * scale and add the rows up again, weighted by how wrong the scores are."""
        slope, intercept_slope = np.empty(coef.shape), np.empty(len(coef))
        out = (codes, weights, class_weights, coef, intercept, slope, intercept_slope, n_threads)
        return Swept(self._sweep(centre, scale, *out), slope, intercept_slope)

    def _sweep(self, centre: Floats, scale: Floats, *arguments: Any) -> float:
        """Call the kernel; here for matrices that no kernel reads, a block of rows at a time."""
        codes, weights, class_weights, coef, intercept, slope, intercept_slope, n_threads = arguments
        loss = 0.0
        slope[:], intercept_slope[:] = 0, 0
        for rows, block in self.blocks():
            part = Dense(block).sweep(
                codes[rows],
                None if weights is None else weights[rows],
                class_weights,
                centre,
                scale,
                coef,
                intercept,
                n_threads,
            )
            loss += part.loss
            slope += part.slope
            intercept_slope += part.intercept_slope
        return loss

    def as_used(self, values: Floats) -> Floats:
        """Return centres or scales as ``sweep`` will use them: in float32 where it calculates in that."""
        return values

    def take(self, rows: Rows) -> Matrix:
        """Return a copy of some rows."""
        return Dense(self._block(rows, slice(None)))

    def repeats(self, rows: Rows, columns: Index) -> NDArray[np.bool_]:
        """Say for each of the rows but the first whether some columns are as in the one before."""
        return _like_the_one_before(self._block(rows, columns))

    def take_runs(self, rows: Rows, step: int) -> Matrix:
        """Return a copy of some rows, of every ``step``-th run of columns."""
        return Dense(self._block(rows, every_run(np.arange(self.shape[1]), step)))

    def variances(self, weights: Floats, near: Floats, span: Floats) -> Floats:
        """Return the variance of every feature in units of its span, by weight, over what is not missing.

        ``near`` (m,) is about the mean.
        """
        total = np.zeros((3, self.shape[1]))
        unit = np.where(span > 0, span, 1.0)
        for rows, block in self.blocks():
            x = block - near
            x /= unit
            share = weights[rows]
            if isfinite(x.sum()):
                total[0] += share.sum()
            else:
                here = np.isfinite(x)
                x[~here] = 0
                total[0] += share @ here
            total[1] += share @ x
            x *= x
            total[2] += share @ x
        count = np.maximum(total[0], 1e-300)
        return np.asarray(np.maximum(total[2] / count - (total[1] / count) ** 2, 0))

    def standardised(self, centre: Floats, scale: Floats, dtype: Any) -> tuple[Any, Floats | None]:
        """Return (x - centre) * scale, missing values as 0: rows, and what their products are moved by."""
        out = np.empty(self.shape, dtype=dtype)
        for rows, block in self.blocks():
            x = block - centre
            x *= scale
            out[rows] = x if isfinite(x.sum()) else np.nan_to_num(x, nan=0.0)
        return out, None

    def bad_cell(
        self, *, skip: NDArray[np.bool_] | None = None, missing: bool = False
    ) -> tuple[int, int, float] | None:
        """Return row, column and value of the first NaN or infinity (infinity alone with ``missing``)."""
        for rows, block in self.blocks():
            bad = np.isinf(block) if missing else ~np.isfinite(block)
            if skip is not None:
                bad &= ~skip[rows, None]
            if bad.any():
                i, j = divmod(int(np.argmax(bad)), block.shape[1])
                return rows.start + i, j, float(block[i, j])
        return None

    def _blockwise_scores(self, coef: Floats, intercept: Floats, rows: Rows | None, n_threads: int) -> Floats:
        out = np.empty((self.shape[0] if rows is None else len(rows), len(coef)))
        for place, block in self.blocks(rows=rows):
            _native.scores(block, coef, intercept, None, out[place], n_threads)
        return out


def _like_the_one_before(block: NDArray[Any]) -> NDArray[np.bool_]:
    now, before = block[1:], block[:-1]
    alike = now == before
    if block.dtype.kind == "f":
        alike |= np.isnan(now) & np.isnan(before)
    return np.asarray(alike.all(axis=1))


def _narrow(dtype: np.dtype[Any]) -> bool:
    """Say whether the kernels calculate in float32 with values of this type."""
    return dtype == np.float32 or (dtype in KERNEL_TYPES and dtype.itemsize < 4)


def _is_narrow(values: Floats) -> bool:
    """Say whether float32 holds the values exactly, and far enough from its limits to calculate with."""
    size = np.abs(values)
    fits = (size == 0) | ((size > 1e-30) & (size < 1e30))
    return bool(fits.all() and (values == values.astype(np.float32)).all())


class Dense(Matrix):
    """A numpy array of any strides and number type."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.shape = array.shape
        self.known = array.dtype in KERNEL_TYPES
        self.exact = array.dtype.kind in "iub" or array.dtype.itemsize <= 4

    def summarise(self, codes: Codes, weights: Floats | None, *groups: int, **options: Any) -> Raw:
        if self.known:
            return super().summarise(codes, weights, *groups, **options)
        parts = [
            Dense(block).summarise(codes[at], None if weights is None else weights[at], *groups, **options)
            for at, block in self.blocks()
        ]
        return _joined(parts)

    def _add_up(self, *arguments: Any) -> bool:
        return _native.summarise(self.array, *arguments)

    def scores(self, coef: Floats, intercept: Floats, rows: Rows | None = None, n_threads: int = 1) -> Floats:
        if not self.known:
            return self._blockwise_scores(coef, intercept, rows, n_threads)
        out = np.empty((self.shape[0] if rows is None else len(rows), len(coef)))
        if len(coef) <= MANY:
            _native.scores(self.array, coef, intercept, rows, out, n_threads)
            return out
        step = max(64, PRODUCT_BYTES // (8 * self.shape[1]))
        with _threads().limit(limits=n_threads, user_api="blas"):
            for start in range(0, len(out), step):
                place = slice(start, start + step)
                x = np.asarray(self.array[place if rows is None else rows[place]], dtype=np.float64)
                np.matmul(x, coef.T, out=out[place])
                out[place] += intercept
        return out

    def _sweep(self, centre: Floats, scale: Floats, *arguments: Any) -> float:
        if not self.known or (_narrow(self.array.dtype) and not (_is_narrow(centre) and _is_narrow(scale))):
            return super()._sweep(centre, scale, *arguments)
        return _native.sweep(self.array, centre, scale, *arguments)

    def as_used(self, values: Floats) -> Floats:
        narrow = (
            np.asarray(values, dtype=np.float32).astype(np.float64) if _narrow(self.array.dtype) else values
        )
        return narrow if _is_narrow(narrow) else values

    def take(self, rows: Rows) -> Matrix:
        return Dense(self.array[rows])

    def repeats(self, rows: Rows, columns: Index) -> NDArray[np.bool_]:
        return _like_the_one_before(self.array[rows][:, columns])

    def take_runs(self, rows: Rows, step: int) -> Matrix:
        runs = self.array[:, : self.shape[1] // RUN * RUN].reshape(self.shape[0], -1, RUN)
        return Dense(runs[rows, step // 2 :: step].reshape(len(rows), -1))

    def _block(self, rows: Index, columns: Index) -> Floats:
        if isinstance(rows, slice) or isinstance(columns, slice):
            return np.asarray(self.array[rows][:, columns], dtype=np.float64)
        return np.asarray(self.array[np.ix_(rows, columns)], dtype=np.float64)


class Columns(Matrix):
    """The columns of a dataframe, each an array of its own number type."""

    def __init__(self, columns: Sequence[NDArray[Any]], n_rows: int) -> None:
        self.columns = columns
        self.shape = (n_rows, len(columns))
        self.exact = all(c.dtype.kind in "iub" or c.dtype.itemsize <= 4 for c in columns)

    def _add_up(self, *arguments: Any) -> bool:
        return _native.summarise(self.columns, *arguments)

    def scores(self, coef: Floats, intercept: Floats, rows: Rows | None = None, n_threads: int = 1) -> Floats:
        return self._blockwise_scores(coef, intercept, rows, n_threads)

    def _sweep(self, centre: Floats, scale: Floats, *arguments: Any) -> float:
        narrow = self._narrow_columns()
        if not (_is_narrow(centre[narrow]) and _is_narrow(scale[narrow])):
            return super()._sweep(centre, scale, *arguments)
        return _native.sweep(self.columns, centre, scale, *arguments)

    def as_used(self, values: Floats) -> Floats:
        rounded, narrow = values.copy(), self._narrow_columns()
        rounded[narrow] = rounded[narrow].astype(np.float32)
        return rounded if _is_narrow(rounded[narrow]) else values

    def _narrow_columns(self) -> NDArray[np.bool_]:
        return np.array([_narrow(column.dtype) for column in self.columns])

    def take(self, rows: Rows) -> Matrix:
        return Columns([column[rows] for column in self.columns], len(rows))

    def _block(self, rows: Index, columns: Index) -> Floats:
        chosen = self.columns[columns] if isinstance(columns, slice) else [self.columns[j] for j in columns]
        block = np.empty((len(chosen[0][rows]), len(chosen)))
        for j, values in enumerate(chosen):
            block[:, j] = values[rows]
        return block


class Stacked(Matrix):
    """Columns that come in pieces, such as the row groups of a Parquet file.

    Summed and scored piece by piece; a further pass over them joins them first.
    """

    def __init__(self, pieces: Sequence[Columns]) -> None:
        self.pieces = pieces
        self.shape = (sum(piece.shape[0] for piece in pieces), pieces[0].shape[1])
        self.exact = all(piece.exact for piece in pieces)

    @cached_property
    def joined(self) -> Columns:
        """All rows as one piece: a copy, made once."""
        columns = zip(*(piece.columns for piece in self.pieces), strict=True)
        return Columns([np.concatenate(column) for column in columns], self.shape[0])

    def _places(self) -> Iterator[tuple[Columns, slice]]:
        start = 0
        for piece in self.pieces:
            yield piece, slice(start, start + piece.shape[0])
            start += piece.shape[0]

    def summarise(self, codes: Codes, weights: Floats | None, *arguments: Any, **options: Any) -> Raw:
        return _joined(
            [
                piece.summarise(
                    codes[rows], None if weights is None else weights[rows], *arguments, **options
                )
                for piece, rows in self._places()
            ]
        )

    def scores(self, coef: Floats, intercept: Floats, rows: Rows | None = None, n_threads: int = 1) -> Floats:
        return self._blockwise_scores(coef, intercept, rows, n_threads)

    def blocks(
        self, columns: Index = slice(None), rows: Rows | None = None
    ) -> Iterator[tuple[slice, Floats]]:
        if rows is not None:
            yield from super().blocks(columns, rows)
            return
        for piece, place in self._places():
            for inside, block in piece.blocks(columns):
                yield slice(place.start + inside.start, place.start + inside.stop), block

    def _sweep(self, centre: Floats, scale: Floats, *arguments: Any) -> float:
        return self.joined._sweep(centre, scale, *arguments)

    def as_used(self, values: Floats) -> Floats:
        return self.joined.as_used(values)

    def take(self, rows: Rows) -> Matrix:
        return self.joined.take(rows)

    def _block(self, rows: Index, columns: Index) -> Floats:
        at = np.arange(*rows.indices(self.shape[0])) if isinstance(rows, slice) else rows
        block = np.empty(
            (len(at), len(range(self.shape[1])[columns] if isinstance(columns, slice) else columns))
        )
        for piece, place in self._places():
            here = np.flatnonzero((at >= place.start) & (at < place.stop))
            block[here] = piece._block(at[here] - place.start, columns)
        return block


class Sparse(Matrix):
    """A CSR or CSC matrix without duplicates; what is not stored is zero."""

    sparse = True

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.shape = matrix.shape
        self.exact = matrix.dtype.kind in "iub" or matrix.dtype.itemsize <= 4

    def _add_up(self, *arguments: Any) -> bool:
        kernel = _native.summarise_csr if self.matrix.format == "csr" else _native.summarise_csc
        return kernel(self.matrix.data, self.matrix.indices, self.matrix.indptr, *arguments)

    def scores(self, coef: Floats, intercept: Floats, rows: Rows | None = None, n_threads: int = 1) -> Floats:
        x = self.matrix if rows is None else self.matrix[rows]
        return np.asarray(x @ coef.T) + intercept

    def _sweep(self, centre: Floats, scale: Floats, *arguments: Any) -> float:
        """Fold centring and scaling into the model, so that zeros stay unread."""
        codes, weights, class_weights, coef, intercept, slope, intercept_slope, n_threads = arguments
        x = self.by_rows
        folded = coef * scale
        loss = _native.sweep_csr(
            x.data,
            x.indices,
            x.indptr,
            centre,
            codes,
            weights,
            class_weights,
            folded,
            intercept - folded @ centre,
            slope,
            intercept_slope,
            n_threads,
        )
        slope -= intercept_slope[:, None] * centre
        slope *= scale
        return loss

    @cached_property
    def by_rows(self) -> Any:
        """The matrix as CSR: converted once, where it is CSC, for all passes."""
        return self.matrix.tocsr()

    def take(self, rows: Rows) -> Matrix:
        return Sparse(self.by_rows[rows])

    def repeats(self, rows: Rows, columns: Index) -> NDArray[np.bool_]:
        """Compare all columns, by a sum that rows which differ do not share but by a miracle."""
        x = self.by_rows[rows].astype(np.float64)
        x.data[np.isnan(x.data)] = np.pi
        sums = x @ np.random.default_rng(0).uniform(1, 2, self.shape[1])
        return np.asarray(sums[1:] == sums[:-1])

    def variances(self, weights: Floats, near: Floats, span: Floats) -> Floats:
        x = self.by_rows.astype(np.float64)
        here = np.isfinite(x.data)
        counts = np.full(self.shape[1], weights.sum())
        if not here.all():
            missing = x.copy()
            missing.data = (~here).astype(np.float64)
            counts -= weights @ missing
            x.data[~here] = 0
        counts = np.maximum(counts, 1e-300)
        mean = weights @ x / counts
        x.data **= 2
        variance = np.maximum(weights @ x / counts - mean**2, 0)
        return np.asarray(np.divide(variance, span**2, out=np.zeros_like(variance), where=span > 0))

    def standardised(self, centre: Floats, scale: Floats, dtype: Any) -> tuple[Any, Floats | None]:
        rows = self.by_rows.astype(np.float64)
        missing = np.isnan(rows.data)
        rows.data[missing] = centre[rows.indices[missing]]
        rows.data *= scale[rows.indices]
        return rows, centre * scale

    def _block(self, rows: Index, columns: Index) -> Floats:
        return np.asarray(self.matrix[rows][:, columns].toarray(), dtype=np.float64)


class Selected(Matrix):
    """Some rows of another matrix, in place."""

    def __init__(self, matrix: Matrix, rows: Rows) -> None:
        self.matrix = matrix
        self.rows = rows
        self.shape = (len(rows), matrix.shape[1])
        self.exact = matrix.exact
        self.sparse = matrix.sparse

    def scores(self, coef: Floats, intercept: Floats, rows: Rows | None = None, n_threads: int = 1) -> Floats:
        return self.matrix.scores(coef, intercept, self.rows if rows is None else self.rows[rows], n_threads)

    def _block(self, rows: Index, columns: Index) -> Floats:
        return self.matrix._block(self.rows[rows], columns)


@functools.cache
def _threads() -> Any:
    """Return what sets the number of BLAS threads: left alone, they are as many as the cores."""
    return ThreadpoolController()
