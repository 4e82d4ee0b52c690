"""``Cells``: rows seen through a coder, a column of 0 and 1 per cell. The columns are never written out."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from functools import cached_property
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ..._system.types import Floats, Indices
from ..matrix import (
    Columnar,
    Dense,
    Gradient,
    Grouping,
    LinearModel,
    Matrix,
    Raw,
    Stacked,
    Standardisation,
    WeightedRows,
)
from ..matrix.base import Index

if TYPE_CHECKING:
    from .coder import Coder


def cells_of(matrix: Matrix, coder: Coder) -> Cells:
    """Return rows with a cell per column each, those of 0 in sparse rows too; as they are if they are so."""
    return matrix if isinstance(matrix, Cells) else Cells(matrix.uncut, coder)


class CellMatrix(Matrix):
    """Rows seen through a coder; ``matrix`` has their values."""

    whole = True
    exact = True
    coder: Coder

    def __init__(self, matrix: Matrix, coder: Coder) -> None:
        self.matrix = matrix
        self.coder = coder
        self.shape = (matrix.shape[0], coder.n_cells)

    @property
    def n_features(self) -> int:
        return self.matrix.shape[1]

    @property
    def uncut(self) -> Matrix:
        return self.matrix

    def cells_at(self, rows: Index) -> NDArray[np.uint8]:
        return self.coder.code(self.matrix.block(rows))

    def block(self, rows: Index, columns: Index = slice(None)) -> Floats:
        """Return the cells of some rows, written out."""
        cells = self.cells_at(rows)
        out = np.zeros((len(cells), self.shape[1]))
        out[np.arange(len(cells))[:, None], self.coder.offsets[:-1] + cells] = 1
        return out[:, columns]

    def bad_value(
        self, *, skip: NDArray[np.bool_] | None = None, missing: bool = False
    ) -> tuple[int, int, float] | None:
        return self.matrix.bad_value(skip=skip, missing=missing and self.coder.missing)


class Cells(CellMatrix):
    """The cells of the rows of a dense matrix."""

    _shelved: tuple[int, object] | None = None

    @cached_property
    def cells(self) -> NDArray[np.uint8]:
        """The cell of every value and fern within its column (n, columns): coded once, for all passes."""
        cells = np.empty((self.shape[0], self.coder.n_columns), dtype=np.uint8)
        for rows, values in self._operands():
            _native.code_cells(values, *self.coder.operands, cells[rows], 1)
        return cells

    def code_once(self) -> None:
        _ = self.cells

    def _shelf(self, n_scores: int) -> object:
        """Return the cells as passes read them: put in order once, for all of them."""
        if self._shelved is None or self._shelved[0] != n_scores:
            shelf = _native.shelve_cells(self.cells, self.coder.coded_starts, False, n_scores)
            self._shelved = (n_scores, shelf)
        return self._shelved[1]

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_shelved": None}

    def _operands(self, rows: Indices | None = None) -> Iterator[tuple[slice, Any]]:
        """Yield the values as the kernels read them, each part with its place."""
        matrix = self.matrix
        if rows is None and isinstance(matrix, Columnar):
            yield slice(0, matrix.shape[0]), matrix.columns
        elif rows is None and isinstance(matrix, Dense) and matrix.known:
            yield slice(0, matrix.shape[0]), matrix.array
        elif rows is None and isinstance(matrix, Stacked):
            start = 0
            for piece in matrix.pieces:
                yield slice(start, start + piece.shape[0]), piece.columns
                start += piece.shape[0]
        else:
            yield from matrix.blocks(rows=rows)

    def summarise(self, groups: Grouping, *, missing: bool = False, n_threads: int = 1) -> Raw:
        parts = (self._count(values, groups.take(rows), n_threads) for rows, values in self._operands())
        return functools.reduce(add, parts)

    def _count(self, values: Any, groups: Grouping, n_threads: int) -> Raw:
        codes, weights, n_classes, n_folds = groups
        sums, counts = np.empty((n_classes * n_folds, self.shape[1])), np.empty(n_classes * n_folds)
        finite = _native.count_cells(values, *self.coder.operands, codes, weights, sums, counts, n_threads)
        low, high = np.zeros((n_folds, self.shape[1])), np.ones((n_folds, self.shape[1]))
        return Raw(sums, counts, low, high, None, finite)

    def scores(
        self, coef: Floats, intercept: Floats, rows: Indices | None = None, n_threads: int = 1
    ) -> Floats:
        """Return the sums of table entries; NaN for a row with a value that has no cell."""
        out = np.empty((self.shape[0] if rows is None else len(rows), len(coef)))
        if "cells" in self.__dict__:
            cut = (None, self.coder.coded_starts, False, None, None)
            _native.cell_scores(self.cells, *cut, coef, intercept, rows, out, n_threads)
            return out
        direct = isinstance(self.matrix, Columnar) or (isinstance(self.matrix, Dense) and self.matrix.known)
        if direct:
            ((_, values),) = self._operands()
            _native.cell_scores(values, *self.coder.operands, coef, intercept, rows, out, n_threads)
            return out
        for place, values in self._operands(rows):
            _native.cell_scores(values, *self.coder.operands, coef, intercept, None, out[place], n_threads)
        return out

    def gradient(
        self, rows: WeightedRows, standard: Standardisation, model: LinearModel, n_threads: int = 1
    ) -> Gradient:
        """Return the loss of a table and its derivatives; ``standard`` is not used: cells are 0 and 1."""
        coef, intercept = np.empty(model.coef.shape), np.empty(len(model.coef))
        shelf = self._shelf(len(model.coef))
        loss = _native.gradient_cells(shelf, *rows, *model, coef, intercept, n_threads)
        return Gradient(loss, coef, intercept)

    def cells_at(self, rows: Index) -> NDArray[np.uint8]:
        return self.cells[rows] if "cells" in self.__dict__ else super().cells_at(rows)

    def take(self, rows: Indices) -> Cells:
        taken = Cells(self.matrix.take(rows), self.coder)
        if "cells" in self.__dict__:
            taken.__dict__["cells"] = self.cells[rows]
        return taken

    def repeats(self, rows: Indices, columns: Index) -> NDArray[np.bool_]:
        """Compare values; ``columns`` are cells, of whose features the values are compared."""
        if isinstance(columns, slice):
            return self.matrix.repeats(rows, columns)
        features = {j for j in self.coder.column_of[columns].tolist() if j < self.coder.n_features}
        return self.matrix.repeats(
            rows, np.array(sorted(features), dtype=np.int64)
        )  # ferns follow from these
