"""Rows added up in one pass, in double-double where plain sums would lose what distinguishes the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._rows.inputs import complain_of_sums
from .._rows.labelled import Labelled
from .._rows.matrix import Dense, Grouping, Matrix, Raw
from .._system.types import Floats
from .double_double import DoubleDouble
from .marginals import marginals
from .multiply import products
from .parts import check_limits
from .products import Products

# A feature is summed anew, measured from its lowest value, where that value exceeds the mean distance from
# it by this factor: the plain sum then keeps fewer than 44 of 53 bits of what the weights are made from.
DELICATE = 2.0**8
# So many float32 have an exact sum if none is twice as large as another: they are multiples of 2**-25 of it.
MOST_FLOATS = 1 << 28


def accumulate(
    rows: Labelled, n_folds: int, feature_names: Sequence[str] | None, *, missing: str, n_threads: int
) -> tuple[Raw, DoubleDouble]:
    """Return what the kernel adds up, and its sums with care; what cannot be added up is an error."""
    matrix, groups = rows.matrix, Grouping(rows.codes, rows.weights, len(rows.classes), n_folds)
    raw = matrix.summarise(groups, n_threads=n_threads)
    if not raw.finite and missing == "ignore":
        raw = matrix.summarise(groups, missing=True, n_threads=n_threads)
    if not raw.finite:
        complain_of_sums(rows, raw, feature_names, missing)
    if rows.weights is not None:
        check_limits(raw.counts, raw.sums)
    low = raw.low[0] if n_folds == 1 else raw.low.min(axis=0)
    if raw.present is None and not _native.is_delicate(raw.sums, raw.counts, low):
        return raw, DoubleDouble(raw.sums)
    if rows.weights is None and matrix.exact and _stays_exact(matrix, raw):
        return raw, DoubleDouble(raw.sums)
    return raw, _with_care(matrix, groups, raw, n_threads)


def multiply(
    rows: Labelled, among: range | None = None, *, missing: str, moments: int, n_threads: int
) -> Products | None:
    """Return the products of rows whose sums are known to be finite; codes below 0 leave rows out.

    With ``among``, of the rows whose codes are in it. ``moments=1`` leaves out products of two features;
    without targets none are left, and no row is looked at.
    """
    if moments == 1 and not rows.targets.shape[1]:
        return None
    if among is not None:
        rows = rows.take(np.flatnonzero((rows.codes >= among.start) & (rows.codes < among.stop)))
    matrix, weights = rows.matrix, rows.weights
    if (rows.codes < 0).any():
        weights = np.where(rows.codes < 0, 0.0, 1.0 if weights is None else weights)

    def add_up(*, missing: bool) -> Products | None:
        if moments == 1:
            return marginals(matrix, weights, rows.targets, missing=missing, n_threads=n_threads)
        return products(matrix, weights, rows.targets, missing=missing, n_threads=n_threads)

    found = add_up(missing=False)
    if found is None and missing == "ignore":
        found = add_up(missing=True)
    if found is None or not np.isfinite(found.packed.head).all():
        way_out = "use moments=1" if moments == 2 else "divide them by a number"
        raise ValueError(f"the products of two features would be larger than float64 can hold: {way_out}")
    return found


def _stays_exact(matrix: Matrix, raw: Raw) -> bool:
    """Say whether so many integers, or float32 that lie far from zero, have sums that float64 holds."""
    largest = max(-float(raw.low.min()), float(raw.high.max()))
    return matrix.shape[0] <= MOST_FLOATS and matrix.shape[0] * largest <= 2.0**53


def delicate(low: Floats, sums: Floats, cells: Floats) -> NDArray[np.bool_]:
    """Say which features lie so far from zero that plain sums lose what distinguishes their values."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return (np.abs(low) > DELICATE * (sums / cells - low)) & (cells > 0)


def _with_care(matrix: Matrix, groups: Grouping, raw: Raw, n_threads: int) -> DoubleDouble:
    """Return the sums, those of delicate features summed again as distances from the lowest value."""
    low, high = raw.low.min(axis=0), raw.high.max(axis=0)
    cells = raw.counts[:, None] if raw.present is None else raw.present
    some = np.flatnonzero(delicate(low, raw.sums.sum(axis=0), cells.sum(axis=0)))
    if not len(some):
        return DoubleDouble(raw.sums)
    low = low[some]
    cells = np.broadcast_to(cells, raw.sums.shape)[:, some]
    moved = np.zeros((len(raw.sums), len(some)))
    if (low < high[some]).any():
        for at, block in matrix.blocks(some):
            distances = Dense(block - low).summarise(
                groups.take(at), missing=raw.present is not None, n_threads=n_threads
            )
            moved += distances.sums
    careful = DoubleDouble(np.ascontiguousarray(cells)) * low + DoubleDouble(moved)
    head, tail = raw.sums.copy(), np.zeros_like(raw.sums)
    head[:, some] = careful.head
    if careful.tail is not None:
        tail[:, some] = careful.tail
    return DoubleDouble(head, tail if tail.any() else None)
