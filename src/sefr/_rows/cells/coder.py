"""Coder: where each feature is cut into cells. It belongs to a Summary, and only equal coders add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._system.types import Floats, Rows
from ..._system.value import ArrayValue
from ..coding import BINS_AND_NONE, Coding, coding_of, describe_feature
from ..labelled import Labelled
from ..matrix import Matrix, Sparse
from .categories import MOST_CATEGORIES, Categories
from .ferns import Ferns
from .matrix import Cells
from .sparse import SparseCells

Places = NDArray[np.int64]

# Numbers of cells are bytes.
MOST_CELLS = 256
# The edges between numbers of categories.
BETWEEN = np.arange(MOST_CELLS) + 0.5


@dataclass(frozen=True, eq=False)
class Coder(ArrayValue):
    """The edges of every feature, one after the other: those of feature j from ``starts[j]`` on.

    A value lies in the cell whose number is the count of edges at or below it. A feature with categories has
    them in ``categories``; its values are numbers of categories and its edges lie between these. With
    ``missing``, the last cell of a feature is for values that are missing. Cells come in columns: those of a
    feature each, then those of the ``ferns``.
    """

    edges: Floats
    starts: Places
    missing: bool
    categories: Mapping[int, Categories]
    ferns: Ferns | None = None

    # see ``Coding``
    movable: ClassVar[bool] = False
    remedy: ClassVar[str] = "use fewer bins or interactions, or moments=1"

    @classmethod
    def of(cls, parts: Sequence[Floats | Categories], *, missing: bool, ferns: Ferns | None = None) -> Coder:
        """Make a coder of the edges, or of the categories, of each feature."""
        named = {j: part for j, part in enumerate(parts) if isinstance(part, Categories)}
        edges = [
            BETWEEN[: len(part)] if j in named else np.asarray(part, dtype=np.float64)
            for j, part in enumerate(parts)
        ]
        starts = np.array([0, *accumulate(map(len, edges))], dtype=np.int64)
        return cls(np.concatenate([*edges, np.empty(0)]), starts, missing, named, ferns)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.starts) - 1

    @cached_property
    def offsets(self) -> Places:
        """The first cell of each column, and the number of cells (columns + 1,)."""
        own = self.starts + np.arange(len(self.starts)) * (2 if self.missing else 1)
        if self.ferns is None:
            return own
        return np.concatenate([own, own[-1] + np.cumsum(self.ferns.sizes)])

    @property
    def n_columns(self) -> int:
        """Number of columns of cells: of features and of ferns."""
        return len(self.offsets) - 1

    @property
    def n_cells(self) -> int:
        """Number of cells of all columns."""
        of_ferns = 0 if self.ferns is None else int(self.ferns.sizes.sum())
        return len(self.edges) + self.n_features * (2 if self.missing else 1) + of_ferns

    @property
    def coder(self) -> Coder:
        """The coder itself: see ``Coding``."""
        return self

    def known_coder(self, what: str) -> Coder:
        """Return the coder itself: see ``Coding``."""
        return self

    def refuse_cells(self, fault: str) -> None:
        """Raise an error: see ``Coding``."""
        raise ValueError(fault)

    def coded(self, matrix: Matrix) -> Matrix:
        """Return rows seen through the coder; as they are if they are so already."""
        if matrix.coder is not None:
            return matrix
        if isinstance(matrix, Sparse) and self.ferns is None:  # ferns ask for the cells of 0 too
            return SparseCells(matrix, self)
        return Cells(matrix, self)

    def categories_in(self, X: Rows, stored: list[Any] | None = None) -> Mapping[int, Categories]:
        """Return the categories that the coder has: see ``AnyCut``."""
        return self.categories

    def applied(self, rows: Labelled, categories: Mapping[int, Categories]) -> Labelled:
        """Return rows with their matrix coded."""
        return rows._replace(matrix=self.coded(rows.matrix))

    @property
    def width(self) -> int:
        """Number of columns that are added up: one per cell."""
        return self.n_cells

    def known_ends(self) -> dict[str, Floats]:
        """Return ``low`` and ``high`` of the cells: 0 and 1."""
        return {"low": np.zeros(self.n_cells), "high": np.ones(self.n_cells)}

    def check_counts(self, counts: Floats, sums: Floats, present: Floats | None, rounding: float) -> None:
        """Refuse counts of cells that no rows give: each row lies in one cell of every column."""
        if present is not None:
            raise ValueError("a Summary of cells has no values that are not present")
        rows = np.add.reduceat(sums, self.offsets[:-1], axis=1)
        wrong = np.abs(rows - counts[:, None]) > rounding * counts[:, None]
        if wrong.any():
            k, j = np.argwhere(wrong)[0]
            raise ValueError(
                f"class {k} has {counts[k]:g} rows, but the cells of column {j} have {rows[k, j]:g}"
            )

    def product_columns(self, *, missing: bool) -> int:
        """Return the number of cells: a missing value has one."""
        return self.n_cells

    @cached_property
    def column_of(self) -> Places:
        """The column that each cell belongs to (cells,)."""
        return np.repeat(np.arange(self.n_columns), np.diff(self.offsets))

    def shares(self, rows: Floats) -> Floats:
        """Return the part of the rows of its column that lies in each cell, from those in each (cells,)."""
        by_column = np.add.reduceat(rows, self.offsets[:-1])
        return np.asarray(rows / np.maximum(by_column, 1e-300)[self.column_of])

    def means_and_variances(self, table: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """Return means and variances over the rows (R, columns) of a table (R, cells); see ``shares``."""
        begins = self.offsets[:-1]
        mean = np.add.reduceat(table * shares, begins, axis=1)
        return mean, np.add.reduceat((table - mean[:, self.column_of]) ** 2 * shares, begins, axis=1)

    @cached_property
    def unordered(self) -> NDArray[np.bool_]:
        """Whether the cells of a column have no order (columns,): those of categories and of ferns."""
        found = np.ones(self.n_columns, dtype=bool)
        found[: self.n_features] = False
        found[list(self.categories)] = True
        return found

    @cached_property
    def operands(self) -> tuple[Floats, Places, bool, Places | None, NDArray[np.int32] | None]:
        """Edges, starts, missing, ferns and comparisons as the kernels take them."""
        own = (self.edges, self.starts, self.missing)
        if self.ferns is None:
            return (*own, None, None)
        equal = self.unordered[self.ferns.features]
        return (*own, self.ferns.starts, np.column_stack([self.ferns.features, self.ferns.bounds, equal]))

    @cached_property
    def coded_starts(self) -> Places:
        """What stands for ``starts`` if all columns, ferns too, are cells already; none is for missing."""
        return self.offsets - np.arange(len(self.offsets))

    @cached_property
    def feature_sets(self) -> list[tuple[int, ...]]:
        """The sets of features that scores are sums over: each feature, then what ferns look at together."""
        single = [(j,) for j in range(self.n_features)]
        return list(dict.fromkeys([*single, *(self.ferns.feature_sets if self.ferns else ())]))

    @cached_property
    def set_of(self) -> Places:
        """The set of features that each column belongs to, by its number (columns,)."""
        number = {own: at for at, own in enumerate(self.feature_sets)}
        ferns = [number[own] for own in self.ferns.feature_sets] if self.ferns else []
        return np.array([*range(self.n_features), *ferns], dtype=np.int64)

    @cached_property
    def parts(self) -> list[Floats | Categories]:
        """The edges, or the categories, of each feature: what ``of`` takes."""
        return [
            self.categories[j] if j in self.categories else self.edges[start:end]
            for j, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True))
        ]

    def difference(self, other: Coder) -> int | None:
        """Return the first feature that the other cuts elsewhere; None if there is none."""
        for j, (mine, theirs) in enumerate(zip(self.parts, other.parts, strict=False)):
            if isinstance(mine, Categories) or isinstance(theirs, Categories):
                if not (isinstance(mine, Categories) and isinstance(theirs, Categories) and mine == theirs):
                    return j
            elif not np.array_equal(mine, theirs):
                return j
        return None

    def difference_in_words(self, other: Coding, names: Sequence[str] | None) -> str:
        """Return how other columns differ from these cells."""
        theirs = other.coder
        if theirs is None:
            return BINS_AND_NONE
        j = self.difference(theirs)
        if j is None and self.ferns != theirs.ferns:
            return (
                "Summaries of other interactions: learn both with the same ones: bins=other.edges_, "
                "interactions=other.interactions_"
            )
        if j is None:
            return (
                "Summaries of which only one has bins for missing values: learn both with the same setting "
                "of missing"
            )
        both = ", interactions=other.interactions_" if self.ferns or theirs.ferns else ""
        return (
            f"Summaries of other bins: {describe_feature(j, names)} is cut at other edges; learn both with "
            f"the same ones: bins=other.edges_{both}"
        )

    def code(self, values: Floats) -> NDArray[np.uint8]:
        """Return the cells of values (n, m) in float64, by column; NaN has 0 without a cell for it."""
        cells = np.empty(values.shape, dtype=np.uint8)
        for j, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            cells[:, j] = np.searchsorted(self.edges[start:end], values[:, j], side="right")
            gone = np.isnan(values[:, j])
            cells[gone, j] = end - start + 1 if self.missing else 0
        if self.ferns is None:
            return cells
        return np.hstack([cells, self.ferns.code(cells, equal=self.unordered[: self.n_features])])

    def by_set(self, by_column: Floats) -> Floats:
        """Return parts (..., columns) added up over each set of features (..., sets)."""
        if self.ferns is None:
            return by_column
        out = np.zeros((*by_column.shape[:-1], len(self.feature_sets)))
        for column, number in enumerate(self.set_of):
            out[..., number] += by_column[..., column]
        return out

    def refuse_ferns(self, what: str) -> None:
        """Raise an error if the coder has ferns, which ``what`` does not know."""
        if self.ferns is not None:
            raise ValueError(f"{what} does not know interactions yet: train with interactions=None")


def code_matrix(matrix: Matrix, coder: Coder | None) -> Matrix:
    """Return rows seen through a coder, if there is one."""
    return coding_of(coder, matrix.shape[1]).coded(matrix)


def check_bins(bins: Any) -> None:
    """Raise an error for a setting of bins that has no meaning."""
    if bins is None:
        return
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        if not 2 <= bins <= MOST_CELLS:
            raise ValueError(f"bins must be from 2 to {MOST_CELLS}, not {bins!r}")
        return
    if isinstance(bins, str | bytes | bool | float) or not isinstance(bins, Sequence | np.ndarray):
        raise ValueError(f"bins must be None, a whole number or the edges of every feature, not {bins!r}")
    for j, part in enumerate(bins):
        _check_part(part, j)


def _check_part(part: Any, feature: int) -> None:
    if isinstance(part, Categories):
        if len(part) > MOST_CATEGORIES or len(set(part)) < len(part):
            raise ValueError(
                f"bins: feature {feature} must have at most {MOST_CATEGORIES} different categories"
            )
        return
    try:
        edges = np.asarray(part, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"bins: the edges of feature {feature} are not numbers") from None
    if edges.ndim != 1:
        raise ValueError(f"bins: the edges of feature {feature} are not a list of numbers")
    if not np.isfinite(edges).all():
        raise ValueError(f"bins: the edges of feature {feature} must be finite numbers")
    if not (edges[1:] > edges[:-1]).all():
        raise ValueError(f"bins: the edges of feature {feature} must rise")
    if len(edges) >= MOST_CELLS:
        raise ValueError(f"bins: feature {feature} has {len(edges)} edges, more than {MOST_CELLS - 1}")


def given_coder(bins: Sequence[Any], n_features: int, *, missing: bool) -> Coder:
    """Return the coder of edges that were given for every feature, without ferns."""
    check_bins(bins)
    if len(bins) != n_features:
        raise ValueError(f"bins has edges for {len(bins)} features, but X has {n_features}")
    parts = [part if isinstance(part, Categories) else np.array(part, dtype=np.float64) for part in bins]
    for j, part in enumerate(parts):
        if missing and len(part) + 2 > MOST_CELLS:
            raise ValueError(
                f"bins: feature {j} has {len(part)} edges; with missing='ignore' at most {MOST_CELLS - 2}"
            )
    return Coder.of(parts, missing=missing)


def copies_of_parts(parts: Sequence[Floats | Categories]) -> list[Floats | Categories]:
    """Return edges and categories that their receiver may change."""
    return [part if isinstance(part, Categories) else part.copy() for part in parts]
