"""``Columnar``: one array per column, and ``Stacked``: such columns in pieces."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import add

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ..._system.types import Floats, Indices
from .base import (
    Gradient,
    Grouping,
    Index,
    LinearModel,
    Matrix,
    Numbers,
    Raw,
    Standardisation,
    WeightedRows,
    every_run,
)
from .dense import (
    call_gradient,
    equal_neighbours,
    fits_float32,
    gradient_by_blocks,
    in_float32,
    in_float32_if_it_fits,
    is_exact,
)


class Columnar(Matrix):
    """The columns of a dataframe, each an array of its own number type."""

    def __init__(self, columns: Sequence[Numbers], n_rows: int) -> None:
        self.columns = columns
        self.operands = (columns,)
        self.shape = (n_rows, len(columns))
        self.exact = all(is_exact(column.dtype) for column in columns)

    def scores(
        self, coef: Floats, intercept: Floats, rows: Indices | None = None, n_threads: int = 1
    ) -> Floats:
        out = np.empty((self.shape[0] if rows is None else len(rows), len(coef)))
        _native.scores(self.columns, coef, intercept, rows, out, n_threads)
        return out

    def gradient(
        self, rows: WeightedRows, standard: Standardisation, model: LinearModel, n_threads: int = 1
    ) -> Gradient:
        narrow = self._in_float32()
        if not all(fits_float32(values[narrow]) for values in standard):
            return gradient_by_blocks(self, rows, standard, model, n_threads)
        return call_gradient(self.columns, rows, standard, model, n_threads)

    def as_used(self, standard: Standardisation) -> Standardisation:
        narrow = self._in_float32()
        used = [values.copy() for values in standard]
        for values in used:
            values[narrow] = in_float32_if_it_fits(values[narrow])
        return Standardisation(*used)

    def _in_float32(self) -> NDArray[np.bool_]:
        return np.array([in_float32(column.dtype) for column in self.columns])

    def block(self, rows: Index, columns: Index = slice(None)) -> Floats:
        chosen = self.columns[columns] if isinstance(columns, slice) else [self.columns[j] for j in columns]
        block = np.empty((len(chosen[0][rows]), len(chosen)))
        for j, values in enumerate(chosen):
            block[:, j] = values[rows]
        return block

    def by_feature(self, rows: Index, columns: Index = slice(None)) -> Floats:
        chosen = self.columns[columns] if isinstance(columns, slice) else [self.columns[j] for j in columns]
        return np.array([values[rows] for values in chosen], dtype=np.float64)

    def repeats(self, rows: Indices, columns: Index) -> NDArray[np.bool_]:
        return equal_neighbours(self.block(rows, columns))

    def take(self, rows: Indices) -> Columnar:
        return Columnar([column[rows] for column in self.columns], len(rows))

    def take_runs(self, rows: Indices, step: int) -> Columnar:
        some = every_run(np.arange(self.shape[1]), step)
        return Columnar([self.columns[j][rows] for j in some], len(rows))


class Stacked(Matrix):
    """Columns that come in pieces, such as the row groups of a Parquet file.

    Summed and scored piece by piece; a further pass over them joins them first.
    """

    def __init__(self, pieces: Sequence[Columnar]) -> None:
        self.pieces = pieces
        self.shape = (sum(piece.shape[0] for piece in pieces), pieces[0].shape[1])
        self.exact = all(piece.exact for piece in pieces)

    @cached_property
    def joined(self) -> Columnar:
        """All rows as one piece: a copy, made once."""
        columns = zip(*(piece.columns for piece in self.pieces), strict=True)
        return Columnar([np.concatenate(column) for column in columns], self.shape[0])

    def _places(self) -> Iterator[tuple[Columnar, slice]]:
        start = 0
        for piece in self.pieces:
            yield piece, slice(start, start + piece.shape[0])
            start += piece.shape[0]

    def summarise(self, groups: Grouping, *, missing: bool = False, n_threads: int = 1) -> Raw:
        parts = (
            piece.summarise(groups.take(rows), missing=missing, n_threads=n_threads)
            for piece, rows in self._places()
        )
        return functools.reduce(add, parts)

    def scores(
        self, coef: Floats, intercept: Floats, rows: Indices | None = None, n_threads: int = 1
    ) -> Floats:
        out = np.empty((self.shape[0] if rows is None else len(rows), len(coef)))
        for piece, place in self._places():
            if rows is None:
                out[place] = piece.scores(coef, intercept, None, n_threads)
            else:
                here = np.flatnonzero((rows >= place.start) & (rows < place.stop))
                out[here] = piece.scores(coef, intercept, rows[here] - place.start, n_threads)
        return out

    def gradient(
        self, rows: WeightedRows, standard: Standardisation, model: LinearModel, n_threads: int = 1
    ) -> Gradient:
        return self.joined.gradient(rows, standard, model, n_threads)

    def as_used(self, standard: Standardisation) -> Standardisation:
        return self.joined.as_used(standard)

    def blocks(
        self, columns: Index = slice(None), rows: Indices | None = None
    ) -> Iterator[tuple[slice, Floats]]:
        if rows is not None:
            yield from super().blocks(columns, rows)
            return
        for piece, place in self._places():
            for inside, block in piece.blocks(columns):
                yield slice(place.start + inside.start, place.start + inside.stop), block

    def block(self, rows: Index, columns: Index = slice(None)) -> Floats:
        at = np.arange(*rows.indices(self.shape[0])) if isinstance(rows, slice) else rows
        block = np.empty((len(at), len(np.arange(self.shape[1])[columns])))
        for piece, place in self._places():
            here = np.flatnonzero((at >= place.start) & (at < place.stop))
            block[here] = piece.block(at[here] - place.start, columns)
        return block

    def repeats(self, rows: Indices, columns: Index) -> NDArray[np.bool_]:
        return equal_neighbours(self.block(rows, columns))

    def take(self, rows: Indices) -> Columnar:
        return self.joined.take(rows)

    def take_runs(self, rows: Indices, step: int) -> Columnar:
        return self.joined.take_runs(rows, step)
