"""Rows that come in batches, again for every pass: what training keeps of them between passes is a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._system.types import Array, Floats
from .arrow import arrow_table
from .labelled import CodedRows, Labelled, run_starts, sample_size, width_if_sparse
from .matrix import Dense, Matrix, Sparse, Standardisation


def restartable(batches: Any) -> Callable[[], Iterator[Any]]:
    """Return a callable that starts the batches anew; an iterator, which can be read once, is an error."""
    if callable(batches):
        return lambda: iter(batches())
    if not isinstance(batches, Iterable):
        raise TypeError(f"batches must be a callable or a collection, not {type(batches).__name__}")
    if iter(batches) is batches:
        raise TypeError(
            "batches is an iterator, which can be read once only; pass a function that returns a new one, "
            "since every pass reads the batches again"
        )
    return lambda: iter(batches)


def unpack_batch(batch: Any, number: int) -> tuple[Any, Any, Any]:
    """Return X, y and weights of a batch."""
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
        raise TypeError(f"batch {number} is not (X, y) or (X, y, sample_weight)")
    return arrow_table(batch[0]), batch[1], batch[2] if len(batch) == 3 else None


class Gathered(Dense):
    """Rows of several batches, in float64, that are to be treated like those of the first."""

    def __init__(self, array: Array, like: Matrix) -> None:
        super().__init__(array)
        self.like = like

    def as_used(self, standard: Standardisation) -> Standardisation:
        """Return centres and scales as the batches will use them."""
        return self.like.as_used(standard)


class Gatherer:
    """Keeps every row, then those at every second, fourth, ... unit of weight: a sample of bounded size.

    A row of weight 2 is kept like a row that comes twice in a row.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most  # rows; None: twice those that choose the steps
        self.step = 0.0  # 0 as long as every row is kept
        self.weight = 0.0
        self.like: Matrix | None = None
        self.width: int | None = None  # of a row in the sample, if most values are 0
        self._kept: list[_KeptRows] = []

    def add(self, rows: Labelled) -> None:
        """Look at the next batch."""
        self.like = self.like or rows.matrix
        weights = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
        live = np.flatnonzero(weights)
        if not (self.most or self.weight):
            self.width = width_if_sparse(rows.matrix, live)
        most = self.most or 2 * sample_size(len(rows.classes), rows.matrix.shape[1], self.width)
        starts = None
        if not self.step:
            left = most - sum(len(kept.weights) for kept in self._kept)
            starts = run_starts(rows.matrix, rows.kinds, live, max(0, left))
        weights = weights[live]
        if starts is not None:
            weights, live = np.add.reduceat(weights, starts), live[starts]
        ends = self.weight + np.cumsum(weights)
        self.weight = float(ends[-1]) if len(ends) else self.weight
        if starts is None:
            self._lengthen(2.0 ** np.ceil(np.log2(self.weight / most)))
            some = np.flatnonzero(_ticks(ends, weights, self.step))
            live, ends, weights = live[some], ends[some], weights[some]
        self._kept.append(_KeptRows(ends, weights, _some(rows, live)))

    def _lengthen(self, step: float) -> None:
        """Keep what a longer step reaches: a multiple of it lies within the row's weight."""
        if step > self.step:
            self.step = step
            self._kept = [kept.reached(step) for kept in self._kept]

    def sample(
        self, classes: Array, renamed: Callable[[Labelled], Labelled] = lambda rows: rows
    ) -> CodedRows:
        """Return what was kept, coded by ``classes``; weights only if it is all rows."""
        return self.rows(classes, renamed).over(classes)

    def rows(self, classes: Array, renamed: Callable[[Labelled], Labelled] = lambda rows: rows) -> Labelled:
        """Return the same with targets."""
        kept = [k for k in self._kept if len(k.weights)]
        tables = [renamed(k.batch).over(classes) for k in kept]
        codes = np.concatenate([table.codes for table in tables])
        ends, weights = (np.concatenate(parts) for parts in zip(*(k[:2] for k in kept), strict=True))
        often = _ticks(ends, weights, self.step) if self.step else np.ones(len(codes), dtype=np.int64)
        places = np.repeat(np.arange(len(codes)), np.where(codes >= 0, often, 0))
        weight = None if self.step else weights[places]
        targets = np.concatenate([k.batch.targets for k in kept])[places]
        matrix = self._gathered([table.matrix for table in tables], places)
        return Labelled(matrix, classes, codes[places], weight, targets)

    def _gathered(self, parts: list[Matrix], places: NDArray[np.int64]) -> Matrix:
        """Return rows of several matrices, one below the other; in cells if they are."""
        coding, values = parts[0].coding, [part.uncut for part in parts]
        first = values[0]
        if isinstance(first, Sparse):
            rows = [part.by_rows for part in values if isinstance(part, Sparse)]
            return coding.coded(Sparse(sparse.vstack(rows, format="csr")[places]))
        taken = _taken([block for part in values for _, block in part.blocks()], places)
        return coding.coded(Gathered(taken, self.like or first))


def _taken(blocks: list[Floats], places: NDArray[np.int64]) -> Floats:
    """Return rows of several blocks, one below the other, by their rising places."""
    out = np.empty((len(places), blocks[0].shape[1]))
    start = first = 0
    for block in blocks:
        end = int(np.searchsorted(places, first + len(block)))
        np.take(block, places[start:end] - first, axis=0, out=out[start:end])
        start, first = end, first + len(block)
    return out


class _KeptRows(NamedTuple):
    """Rows of a batch, without their weights, and where the weight of all rows stands after each of them."""

    ends: Floats
    weights: Floats
    batch: Labelled

    def reached(self, step: float) -> _KeptRows:
        """Return the rows that a step reaches."""
        some = np.flatnonzero(_ticks(self.ends, self.weights, step))
        return _KeptRows(self.ends[some], self.weights[some], _some(self.batch, some))


def _ticks(ends: Floats, weights: Floats, step: float) -> NDArray[np.int64]:
    """Return how many multiples of ``step`` lie within the weight of each row."""
    return np.asarray(np.ceil(ends / step) - np.ceil((ends - weights) / step), dtype=np.int64)


def _some(rows: Labelled, at: NDArray[np.intp]) -> Labelled:
    return rows.take(at)._replace(weights=None)
