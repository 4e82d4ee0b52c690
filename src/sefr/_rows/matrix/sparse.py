"""``Sparse``: a CSR or CSC matrix."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import _native
from ..._system.types import Floats, Indices
from .base import (
    Gradient,
    Index,
    LinearModel,
    Matrix,
    Standardisation,
    WeightedRows,
)
from .dense import is_exact

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# A centre of more than this many spreads takes more than 8 of the 53 bits of what is left without it.
FAR = 2.0**8


class Sparse(Matrix):
    """A CSR or CSC matrix without duplicates; what is not stored is zero."""

    sparse = True
    whole = True

    def __init__(self, matrix: csr_matrix) -> None:
        self.matrix = matrix
        self.operands = (matrix.data, matrix.indices, matrix.indptr)
        self.summarise_kernel = _native.summarise_csr if matrix.format == "csr" else _native.summarise_csc
        self.shape = matrix.shape
        self.exact = is_exact(matrix.dtype)
        self._centred: tuple[Standardisation, csr_matrix] | None = None

    def without_faults_of(self, rows: NDArray[np.bool_]) -> Sparse:
        """Return the same where some rows (n,) have another value of the column for what is not finite."""
        matrix = self.matrix
        if not rows.any() or not (faulty := ~np.isfinite(matrix.data)).any():
            return self
        along = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
        row_of, column_of = (matrix.indices, along) if matrix.format == "csc" else (along, matrix.indices)
        others, found = np.zeros(self.shape[1], dtype=matrix.dtype), matrix.data.copy()
        others[column_of[~faulty]] = found[~faulty]
        faulty &= rows[row_of]
        found[faulty] = others[column_of[faulty]]
        return Sparse(type(matrix)((found, matrix.indices, matrix.indptr), shape=matrix.shape))

    @cached_property
    def by_rows(self) -> csr_matrix:
        """The matrix as CSR: converted once, where it is CSC, for all passes."""
        return self.matrix.tocsr()

    def scores(
        self, coef: Floats, intercept: Floats, rows: Indices | None = None, n_threads: int = 1
    ) -> Floats:
        x = self.matrix if rows is None else self.matrix[rows]
        scores = np.asarray(x @ coef.T)
        scores += intercept
        return scores

    def gradient(
        self, rows: WeightedRows, standard: Standardisation, model: LinearModel, n_threads: int = 1
    ) -> Gradient:
        """Fold centring and scaling into the model, so that zeros stay unread."""
        x, centre = self.without_far_columns(standard)
        folded = model.coef * standard.scale
        coef, intercept = np.empty(model.coef.shape), np.empty(len(model.coef))
        loss = _native.gradient_csr(
            x.data,
            x.indices,
            x.indptr,
            centre,
            *rows,
            folded,
            model.intercept - folded @ centre,
            coef,
            intercept,
            n_threads,
        )
        coef -= intercept[:, None] * centre
        coef *= standard.scale
        return Gradient(loss, coef, intercept)

    def without_far_columns(self, standard: Standardisation) -> tuple[csr_matrix, Floats]:
        """Return the matrix as CSR, its far columns centred, and the centres that are left to subtract.

        x * scale - centre * scale loses all that distinguishes the values of a column whose centre is far
        beyond its spread. Such a column has next to no zeros, so it costs little to store them.
        """
        far = np.flatnonzero(np.abs(standard.centre) * standard.scale > FAR)
        if not len(far):
            return self.by_rows, standard.centre
        if self._centred is None or self._centred[0] is not standard:
            self._centred = (standard, self._centre(far, standard.centre[far]))
        left = standard.centre.copy()
        left[far] = 0
        return self._centred[1], left

    def _centre(self, far: NDArray[np.intp], centre: Floats) -> csr_matrix:
        """Return the matrix as CSR in which some columns are moved and stored without a gap."""
        x = self.by_rows
        near = ~np.isin(x.indices, far)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(x.indptr))[near]
        moved = np.asarray(x[:, far].toarray(), dtype=np.float64) - centre
        return sparse.csr_matrix(
            (
                np.concatenate([x.data[near].astype(np.float64), moved.ravel()]),
                (
                    np.concatenate([rows, np.repeat(np.arange(self.shape[0]), len(far))]),
                    np.concatenate([x.indices[near], np.tile(far, self.shape[0])]),
                ),
            ),
            shape=self.shape,
        )

    def block(self, rows: Index, columns: Index = slice(None)) -> Floats:
        return np.asarray(self.matrix[rows][:, columns].toarray(), dtype=np.float64)

    def take(self, rows: Indices) -> Sparse:
        return Sparse(self.by_rows[rows])

    def repeats(self, rows: Indices, columns: Index) -> NDArray[np.bool_]:
        """Compare what is stored in all columns, whatever ``columns`` says."""
        x = self.by_rows[rows]
        lengths = np.diff(x.indptr)
        length = np.repeat(lengths, lengths)  # of the row of each entry
        # where the row before is as long, its entry at the same place lies one length back
        back = np.maximum(np.arange(len(length)) - length, 0)
        differs = (x.indices != x.indices[back]) | (x.data != x.data[back])
        if x.dtype.kind == "f":
            differs &= ~(np.isnan(x.data) & np.isnan(x.data[back]) & (x.indices == x.indices[back]))
        different = np.bincount(np.repeat(np.arange(len(rows)), lengths)[differs], minlength=len(rows)) > 0
        return np.asarray((lengths[1:] == lengths[:-1]) & ~different[1:])
