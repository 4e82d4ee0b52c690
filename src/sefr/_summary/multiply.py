"""Products of the columns of a matrix, whatever it comes as, in one pass over its rows.

Up to 1,000 columns the kernel is quicker than BLAS on blocks of float64. Above, BLAS is about as quick, and
needs no copy of the result per thread: see ``benchmarks/host/products.csv``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import add
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from .. import _native
from .._rows.cells import Cells, SparseCells
from .._rows.matrix import Columnar, Dense, Matrix, Sparse, Stacked, Standardisation, blas_threads
from .._system.types import Floats
from .double_double import DoubleDouble
from .products import Products, check_columns, diagonal_places, pack, packed_size, unpack

# How values are cut into cells: see ``Coder.operands``.
Operands: TypeAlias = tuple[Any, Any, bool, Any, Any]
# Beyond WIDE columns, BLAS multiplies blocks of WIDE_ROWS rows, WIDE_COLUMNS columns at a time.
WIDE, WIDE_ROWS, WIDE_COLUMNS = 1000, 512, 512
# The origin is near the means of the first rows, so many.
FIRST_ROWS = 256


def products(
    matrix: Matrix,
    weights: Floats | None = None,
    targets: Floats | None = None,
    *,
    missing: bool = False,
    n_threads: int = 1,
) -> Products | None:
    """Return the products of all rows about an origin near them; None if a value is not finite.

    ``weights`` (n,) are 1 for None; a row of weight 0 is not looked at. ``targets`` (n, k) are numbers that
    are multiplied too. With ``missing``, NaN is a value that is missing; cells have a cell for it, and need
    no word. The same bits for any number of threads. More columns than memory is for are refused before any
    is taken.
    """
    coding = matrix.coding
    check_columns(coding.product_columns(missing=missing), coding.remedy)
    weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    targets = np.empty((matrix.shape[0], 0)) if targets is None else np.ascontiguousarray(targets, np.float64)
    multiply = _OF_KINDS.get(type(matrix), _of_dense)
    return multiply(matrix, weights, targets, missing, n_threads)


def _of_dense(
    matrix: Matrix, weights: Floats | None, targets: Floats, missing: bool, n_threads: int
) -> Products | None:
    origin = rounded_origin(matrix, weights, targets)
    found = _empty(origin, missing, targets.shape[1])
    n = matrix.shape[0]
    if found.n_columns > WIDE:
        return _by_blas(matrix, weights, targets, found, n_threads)
    values: Iterator[tuple[slice, Any]]
    if isinstance(matrix, Columnar):
        values = iter([(slice(0, n), matrix.columns)])
    elif isinstance(matrix, Dense) and matrix.known:
        values = iter([(slice(0, n), matrix.array)])
    else:
        values = matrix.blocks()
    packed = DoubleDouble(np.zeros_like(found.packed.head))
    for rows, part in values:
        out = np.empty_like(packed.head)
        own = None if weights is None else weights[rows]
        out[0] = rows.stop - rows.start if own is None else own.sum()
        sums, squares = out[1 : found.n_columns + 1], out[found.n_columns + 1 :]
        if not _native.products(part, targets[rows], own, origin, missing, sums, squares, n_threads):
            return None
        packed = packed + DoubleDouble(out)
    return replace(found, packed=packed)


def _empty(origin: Floats, missing: bool, n_targets: int) -> Products:
    columns = (len(origin) - n_targets) * (2 if missing else 1) + n_targets
    return Products(origin, DoubleDouble(np.zeros(packed_size(columns + 1))), missing, n_targets)


def rounded_origin(matrix: Matrix, weights: Floats | None, targets: Floats) -> Floats:
    """Return about where the first rows lie."""
    n, m = matrix.shape
    live = np.arange(min(n, FIRST_ROWS)) if weights is None else np.flatnonzero(weights)[:FIRST_ROWS]
    values = matrix.block(live) if m else np.empty((len(live), 0))
    values = np.hstack([values, targets[live]])
    here = np.isfinite(values)
    count = np.maximum(here.sum(axis=0), 1)
    mean = np.where(here, values, 0.0).sum(axis=0) / count
    with np.errstate(over="ignore", invalid="ignore"):  # no origin, and no products that are finite
        squares = np.where(here, values - mean, 0.0) ** 2
        origin = round_origin(mean, np.sqrt(squares.sum(axis=0) / count))
    first = values[np.argmax(here, axis=0), np.arange(values.shape[1])] if len(values) else mean
    same = (np.where(here, values, first) == first).all(axis=0)  # a constant is 0 about itself, exactly
    return np.where(same, np.nan_to_num(first), origin)


def round_origin(mean: Floats, spread: Floats) -> Floats:
    """Return numbers of few digits near means, and 0 if that is near: values less these are no longer."""
    # a power of two below the spread
    unit = np.exp2(np.floor(np.log2(np.maximum(spread, np.abs(mean) * 2.0**-50 + 1e-300))))
    return np.asarray(np.where(np.abs(mean) > spread, np.rint(mean / unit) * unit, 0.0))


def _by_blas(
    matrix: Matrix, weights: Floats | None, targets: Floats, found: Products, n_threads: int
) -> Products | None:
    """Multiply blocks of rows by some of their columns: in the same order for any number of threads."""
    q, m, k = found.n_columns, found.n_features, found.n_targets
    ends = [*range(WIDE_COLUMNS, q, WIDE_COLUMNS), q]
    parts = [np.zeros((end, end - start)) for start, end in zip([0, *ends], ends, strict=False)]
    out = np.zeros_like(found.packed.head)

    def multiply(part: int) -> None:
        end, width = parts[part].shape
        parts[part] += weighted[:, :end].T @ block[:, end - width : end]

    with blas_threads(1), ThreadPoolExecutor(n_threads) as pool:
        for start in range(0, matrix.shape[0], WIDE_ROWS):
            rows = slice(start, min(start + WIDE_ROWS, matrix.shape[0]))
            own = np.ones(rows.stop - rows.start) if weights is None else weights[rows]
            block = np.zeros((len(own), q))
            block[:, :m] = matrix.block(rows) - found.origin[:m]
            if found.missing:
                block[:, m : 2 * m] = np.isnan(block[:, :m])
                block[:, :m][block[:, m : 2 * m] > 0] = 0
            block[:, q - k :] = targets[rows] - found.origin[m:]
            block[own == 0] = 0
            weighted = block if weights is None else block * own[:, None]
            out[0] += own.sum()
            out[1 : q + 1] += weighted.sum(axis=0)
            list(pool.map(multiply, range(len(parts))))
    squares = np.zeros((q, q))
    for part in parts:
        end, width = part.shape
        squares[:end, end - width : end] = part
    out[q + 1 :] = pack(squares)
    return replace(found, packed=DoubleDouble(out)) if np.isfinite(out).all() else None


def _of_stacked(
    matrix: Stacked, weights: Floats | None, targets: Floats, missing: bool, n_threads: int
) -> Products | None:
    parts, start = [], 0
    for piece in matrix.pieces:
        rows = slice(start, start + piece.shape[0])
        start = rows.stop
        if not piece.shape[0]:
            continue
        own = None if weights is None else weights[rows]
        part = _of_dense(piece, own, targets[rows], missing, n_threads)
        if part is None:
            return None
        parts.append(part)
    return functools.reduce(add, parts)


def _of_sparse(
    matrix: Sparse, weights: Floats | None, targets: Floats, missing: bool, n_threads: int
) -> Products | None:
    """Multiply what is stored; columns that lie far from 0 have hardly any zeros, and are moved first."""
    x, origin = sparse_origin(matrix)
    if missing:
        x = with_absence(x)
    return _multiply_stored(x, weights, targets, _empty(origin, missing, 0), n_threads)


def sparse_origin(matrix: Sparse) -> tuple[sparse.csr_matrix, Floats]:
    """Return a matrix whose columns that lie far from 0 are moved, and the origin: 0 but for these."""
    x, (n, m) = matrix.by_rows, matrix.shape
    here = np.isfinite(x.data)
    data = np.where(here, x.data, 0.0)
    # zeros count, what is missing does not
    count = np.maximum(n - np.bincount(x.indices[~here], minlength=m), 1)
    mean = np.bincount(x.indices, data, m) / count
    n_zeros = count - np.bincount(x.indices[here], minlength=m)
    with np.errstate(over="ignore", invalid="ignore"):  # no origin, and no products that are finite
        deviations = np.where(here, x.data - mean[x.indices], 0.0)
        squares = np.bincount(x.indices, deviations**2, m) + n_zeros * mean**2
        spread = np.sqrt(np.maximum(squares / count, 1e-300))
        centre = round_origin(mean, spread)
    x, left = matrix.without_far_columns(Standardisation(centre, 1 / spread))
    return x, np.where(left == centre, 0.0, centre)


def with_absence(x: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return the same with 1 for NaN, as many columns further."""
    gone = np.isnan(x.data)
    data, indices = np.where(gone, 1.0, x.data), np.where(gone, x.indices + x.shape[1], x.indices)
    return sparse.csr_matrix((data, indices, x.indptr), shape=(x.shape[0], 2 * x.shape[1]))


def _multiply_stored(
    x: sparse.csr_matrix, weights: Floats | None, targets: Floats, found: Products, n_threads: int
) -> Products | None:
    """Return the products of what is stored, and those with targets, whose origin is about their mean."""
    x = x if x.has_sorted_indices else x.sorted_indices()
    q = x.shape[1]
    sums, squares = np.empty(q), np.empty(packed_size(q))
    out = (np.zeros(q), sums, squares, n_threads)
    if not _native.products_csr(x.data, x.indices, x.indptr, weights, *out):
        return None
    count = float(x.shape[0]) if weights is None else float(weights.sum())
    found = replace(found, packed=DoubleDouble(np.concatenate([[count], sums, squares])))
    live = slice(None) if weights is None or weights.all() else np.flatnonzero(weights)
    return _beside_targets(found, targets, weights, lambda t: np.asarray(x[live].T @ t[live]))


def _beside_targets(
    found: Products,
    targets: Floats,
    weights: Floats | None,
    times: Callable[[Floats], Floats],
) -> Products:
    """Return products with those of targets; ``times`` multiplies the columns of X by numbers and adds up."""
    if not targets.shape[1]:
        return found
    none = Dense(np.empty((len(targets), 0)))
    origin = rounded_origin(none, weights, targets)
    moved = targets - origin
    weighted = moved if weights is None else np.where(weights[:, None] == 0, 0.0, moved * weights[:, None])
    beside = np.vstack([weighted.sum(axis=0), times(weighted)])
    rows, k = beside.shape
    # every row of the triangle becomes longer by k
    packed, old = np.empty(packed_size(rows + k)), found.packed.head
    first = 0
    for i, own in enumerate(beside):
        packed[first : first + rows - i] = old[first - i * k : first - i * k + rows - i]
        first += rows - i + k
        packed[first - k : first] = own
    packed[first:] = pack(weighted.T @ moved)
    return replace(
        found, origin=np.concatenate([found.origin, origin]), packed=DoubleDouble(packed), n_targets=k
    )


def _of_cells(
    matrix: Cells, weights: Floats | None, targets: Floats, missing: bool, n_threads: int
) -> Products | None:
    q = matrix.coder.n_cells
    packed = np.zeros(1 + q + packed_size(q))
    for rows, values, cut in _cell_values(matrix):
        # of most matrices there is one part
        pairs = packed[q + 1 :] if rows.start == 0 else np.empty(packed_size(q))
        part = None if weights is None else weights[rows]
        if not _native.count_pairs(values, *cut, part, pairs, n_threads):
            return None
        if rows.start:
            packed[q + 1 :] += pairs
    packed[0] = matrix.shape[0] if weights is None else weights.sum()
    packed[1 : q + 1] = packed[q + 1 :][diagonal_places(q)]  # cells are 0 and 1: their own squares
    found = Products(np.zeros(q), DoubleDouble(packed))
    return _beside_targets(found, targets, weights, lambda t: by_cell(matrix, t, n_threads))


def _cell_values(matrix: Cells) -> Iterator[tuple[slice, Any, Operands]]:
    """Yield values as the kernels read them, with their rows and how they are cut: cells, if coded."""
    if "cells" in matrix.__dict__:
        yield slice(0, matrix.shape[0]), matrix.cells, (None, matrix.coder.coded_starts, False, None, None)
        return
    for rows, values in matrix._operands():
        yield rows, values, matrix.coder.operands


def by_cell(matrix: Cells, numbers: Floats, n_threads: int) -> Floats:
    """Return numbers (n, k) added up per cell (cells, k)."""
    out = np.zeros((matrix.shape[1], numbers.shape[1]))
    for rows, values, cut in _cell_values(matrix):
        codes = np.zeros(rows.stop - rows.start, dtype=np.int32)
        for t, own in enumerate(numbers[rows].T):
            sums, counts = np.empty((1, matrix.shape[1])), np.empty(1)
            _native.count_cells(values, *cut, codes, np.ascontiguousarray(own), sums, counts, n_threads)
            out[:, t] += sums[0]
    return out


def _of_sparse_cells(
    matrix: SparseCells, weights: Floats | None, targets: Floats, missing: bool, n_threads: int
) -> Products | None:
    """Multiply the cells of what is stored; a feature that is not stored in a row lies in the cell of 0.

    So the column of that cell is 1 less those of all cells of the feature that are stored, and its own again.
    """
    q, coder = matrix.shape[1], matrix.coder
    stored = _multiply_stored(matrix.stored, weights, targets, _empty(np.zeros(q), False, 0), n_threads)
    if stored is None:
        return None
    whole = unpack(stored.packed.head)
    for _ in range(2):
        by_feature = np.add.reduceat(whole[1 : q + 1], coder.offsets[:-1], axis=0)
        whole[1 + matrix.zero_cells] += whole[0] - by_feature
        whole = np.ascontiguousarray(whole.T)
    return replace(stored, packed=DoubleDouble(pack(whole)))


# How each kind of matrix is multiplied; all others by blocks of rows.
_OF_KINDS: Mapping[type[Matrix], Callable[..., Products | None]] = {
    Cells: _of_cells,
    SparseCells: _of_sparse_cells,
    Sparse: _of_sparse,
    Stacked: _of_stacked,
}
