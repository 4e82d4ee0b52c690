"""Rows that come in batches, again for every pass: what training keeps of them between passes is a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .matrix import Dense, Matrix, Sparse
from .rows import Labelled, Table, sample_size

Floats = NDArray[np.float64]


def again(batches: Any) -> Callable[[], Iterator[Any]]:
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


def three(batch: Any, number: int) -> tuple[Any, Any, Any]:
    """Return X, y and weights of a batch."""
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
        raise TypeError(f"batch {number} is not (X, y) or (X, y, sample_weight)")
    return batch[0], batch[1], batch[2] if len(batch) == 3 else None


class Gathered(Dense):
    """Rows of several batches, in float64, that are to be treated like those of the first."""

    def __init__(self, array: NDArray[Any], like: Matrix) -> None:
        super().__init__(array)
        self.like = like

    def as_used(self, values: Floats) -> Floats:
        """Return centres or scales as the batches will use them."""
        return self.like.as_used(values)


class Gatherer:
    """Keeps every row, then every second, every fourth and so on: a sample of bounded size."""

    def __init__(self) -> None:
        self.step = 1
        self.n_rows = 0
        self.weighted = False
        self.like: Matrix | None = None
        self._kept: list[tuple[NDArray[np.int64], Labelled]] = []

    def add(self, rows: Labelled) -> None:
        """Look at the next batch."""
        self.like = self.like or rows.matrix
        place = np.arange(self.n_rows, self.n_rows + len(rows.codes))
        self.n_rows += len(rows.codes)
        self.weighted |= rows.weights is not None
        self._kept.append(_some(place, rows, place % self.step == 0))
        most = 2 * sample_size(len(rows.classes), rows.matrix.shape[1])
        while sum(len(place) for place, _ in self._kept) > most:
            self.step *= 2
            self._kept = [_some(place, rows, place % self.step == 0) for place, rows in self._kept]

    def sample(
        self, classes: NDArray[Any], renamed: Callable[[Labelled], Labelled] = lambda rows: rows
    ) -> Table:
        """Return what was kept, coded by ``classes``; weights only if it is all rows or rows have some."""
        tables = [renamed(rows).over(classes) for _, rows in self._kept if len(rows.codes)]
        codes = np.concatenate([table.codes for table in tables])
        weights = None
        if self.weighted or self.step == 1:
            weights = np.concatenate(
                [np.ones(len(t.codes)) if t.weights is None else t.weights for t in tables]
            )
        live = (codes >= 0) if weights is None else (codes >= 0) & (weights > 0)
        if isinstance(tables[0].matrix, Sparse):
            rows = sparse.vstack([table.matrix.by_rows for table in tables], format="csr")[live]  # type: ignore[attr-defined]
            return Table(Sparse(rows), codes[live], None if weights is None else weights[live])
        dense = np.concatenate([block for table in tables for _, block in table.matrix.blocks()])[live]
        like = self.like or tables[0].matrix
        return Table(Gathered(dense, like), codes[live], None if weights is None else weights[live])


def _some(
    place: NDArray[np.int64], rows: Labelled, keep: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Labelled]:
    at = np.flatnonzero(keep)
    weights = None if rows.weights is None else rows.weights[at]
    return place[at], Labelled(rows.matrix.take(at), rows.classes, rows.codes[at], weights)
