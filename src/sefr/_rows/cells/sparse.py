"""``SparseCells``: the cells of a sparse matrix. What is not stored is 0, and lies in the cell of 0."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import _native
from ..._system.types import Floats, Indices
from ..matrix import (
    Gradient,
    Grouping,
    LinearModel,
    Raw,
    Sparse,
    Standardisation,
    WeightedRows,
)
from ..matrix.base import Index
from .matrix import CellMatrix


class SparseCells(CellMatrix):
    """The cells of the rows of a CSR or CSC matrix: of what is stored as CSR, the rest by counting.

    A feature that is not stored in a row adds its entry of the cell of 0. So a table is taken for the entries
    less that one, and the intercept has the sum of those.
    """

    sparse = True
    matrix: Sparse

    @cached_property
    def zero_cells(self) -> NDArray[np.int64]:
        """The cell of 0 of each feature (m,)."""
        coder = self.coder
        rising = np.concatenate([[0], np.cumsum(coder.edges <= 0)])
        below = rising[coder.starts[1:]] - rising[coder.starts[:-1]]
        return np.asarray(coder.offsets[:-1] + below)

    @cached_property
    def stored(self) -> Any:
        """The cells of what is stored: a CSR matrix of 1 (n, cells). A value without a cell is NaN."""
        x, coder = self.matrix.by_rows, self.coder
        values, features = np.asarray(x.data, dtype=np.float64), x.indices
        cells = np.empty(len(values), dtype=np.int64)
        order = np.argsort(features, kind="stable")
        ends = np.searchsorted(features[order], np.arange(coder.n_features + 1))
        for j in np.flatnonzero(np.diff(ends)):
            own = order[ends[j] : ends[j + 1]]
            edges = coder.edges[coder.starts[j] : coder.starts[j + 1]]
            cells[own] = coder.offsets[j] + np.searchsorted(edges, values[own], side="right")
        gone = np.isnan(values)
        ones = np.ones(len(values), dtype=np.float32)
        if coder.missing:
            cells[gone] = coder.offsets[features[gone] + 1] - 1
            gone[:] = False
        ones[gone | np.isinf(values)] = np.nan
        cells = cells.astype(np.int32 if coder.n_cells < 2**31 else np.int64)
        return sparse.csr_matrix((ones, cells, x.indptr), shape=self.shape)

    def summarise(self, groups: Grouping, *, missing: bool = False, n_threads: int = 1) -> Raw:
        codes, weights, n_classes, n_folds = groups
        n_groups, n_cells = n_classes * n_folds, self.shape[1]
        weights = np.ones(len(codes)) if weights is None else weights
        live = codes >= 0
        counts = np.bincount(codes[live], weights[live], minlength=n_groups).astype(np.float64)
        x, coder = self.stored, self.coder
        own = np.where(live, weights, 0.0)
        by_group = sparse.csr_matrix(
            (own, (np.where(live, codes, 0), np.arange(len(codes)))), shape=(n_groups, len(codes))
        )
        sums = np.asarray((by_group @ x).toarray(), dtype=np.float64)
        finite = bool(np.isfinite(sums).all())
        present = np.add.reduceat(sums, coder.offsets[:-1], axis=1)
        sums[:, self.zero_cells] += counts[:, None] - present
        low, high = np.zeros((n_folds, n_cells)), np.ones((n_folds, n_cells))
        return Raw(sums, counts, low, high, None, finite)

    def _relative(self, model: LinearModel) -> LinearModel:
        """Return a table of what cells add beside the cell of 0 of their feature."""
        zero = model.coef[:, self.zero_cells]
        return LinearModel(model.coef - zero[:, self.coder.column_of], model.intercept + zero.sum(axis=1))

    def scores(
        self, coef: Floats, intercept: Floats, rows: Indices | None = None, n_threads: int = 1
    ) -> Floats:
        """Return the sums of table entries; NaN for a row with a value that has no cell."""
        table, base = self._relative(LinearModel(coef, intercept))
        x = self.stored if rows is None else self.stored[rows]
        return np.asarray(x @ table.T) + base

    def gradient(
        self, rows: WeightedRows, standard: Standardisation, model: LinearModel, n_threads: int = 1
    ) -> Gradient:
        x, (table, base) = self.stored, self._relative(model)
        coef, intercept = np.empty(table.shape), np.empty(len(table))
        loss = _native.gradient_csr(
            x.data,
            x.indices,
            x.indptr,
            np.zeros(self.shape[1]),
            *rows,
            table,
            base,
            coef,
            intercept,
            n_threads,
        )
        present = np.add.reduceat(coef, self.coder.offsets[:-1], axis=1)
        coef[:, self.zero_cells] += intercept[:, None] - present
        return Gradient(loss, coef, intercept)

    def take(self, rows: Indices) -> SparseCells:
        return SparseCells(self.matrix.take(rows), self.coder)

    def repeats(self, rows: Indices, columns: Index) -> NDArray[np.bool_]:
        return self.matrix.repeats(rows, columns)
