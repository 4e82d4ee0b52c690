"""``Matrix``: what every shape of X can do, and the values that the kernels take and return."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ..._system.types import Array, Codes, Floats, Indices
from ..coding import Coding, coding_of

Numbers = Array

if TYPE_CHECKING:
    from ..cells.coder import Coder

Index = Numbers | slice

KERNEL_TYPES = frozenset(
    np.dtype(t) for t in ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
)
# Blocks are read and worked on in several steps: this much stays in a cache between them.
BLOCK_BYTES = 1 << 19
MOST_SCORES = 1 << 24  # 128 MB: labels of more are found in parts
# Where some columns stand for all, they come in runs: these are as quick to read as whole rows.
RUN = 64


class Grouping(NamedTuple):
    """Which class of which fold each row belongs to, and its weight: see ``sefr._native.summarise``."""

    codes: Codes
    weights: Floats | None
    n_classes: int
    n_folds: int = 1

    def take(self, rows: slice) -> Grouping:
        """Return the grouping of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Grouping(self.codes[rows], weights, self.n_classes, self.n_folds)


class Raw(NamedTuple):
    """What one kernel pass adds up: see ``sefr._native.summarise``."""

    sums: Floats
    counts: Floats
    low: Floats
    high: Floats
    present: Floats | None
    finite: bool

    def __add__(self, other: Raw) -> Raw:  # type: ignore[override]
        """Return what both add up to."""
        both = self.present is not None and other.present is not None
        return Raw(
            self.sums + other.sums,
            self.counts + other.counts,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.present + other.present if both else None,  # type: ignore[operator]
            self.finite and other.finite,
        )


class WeightedRows(NamedTuple):
    """The class of each row, its weight, and the weight of each class: see ``sefr._native.gradient``.

    Rows of numbers are of one class, and have ``targets`` (n, R).
    """

    codes: Codes
    weights: Floats | None
    class_weights: Floats
    targets: Floats | None = None

    def take(self, rows: slice) -> WeightedRows:
        """Return the same for some rows."""
        weights, targets = (None if part is None else part[rows] for part in (self.weights, self.targets))
        return WeightedRows(self.codes[rows], weights, self.class_weights, targets)


class Standardisation(NamedTuple):
    """x' = (x - centre) * scale, and x' = 0 where that is not finite."""

    centre: Floats
    scale: Floats


class LinearModel(NamedTuple):
    """Weights (R, m) and intercepts (R,) of standardised features."""

    coef: Floats
    intercept: Floats


class Gradient(NamedTuple):
    """The loss of some rows and its derivatives by the weights (R, m) and intercepts (R,) of a model."""

    loss: float
    coef: Floats
    intercept: Floats

    def __add__(self, other: Gradient) -> Gradient:  # type: ignore[override]
        """Return loss and derivatives of the rows of both."""
        return Gradient(self.loss + other.loss, self.coef + other.coef, self.intercept + other.intercept)


class Matrix:
    """Rows and columns of numbers; the base of the three shapes."""

    shape: tuple[int, int]
    sparse = False
    whole = False  # rows are scored by all their columns or not at all
    coder: Coder | None = None  # where the columns are cells: what cut the features into them
    exact: bool  # no value needs more than float32's 24 bits or is an integer: sums do not round
    operands: tuple[Any, ...]  # how the kernels take the matrix
    known = True  # the kernels know the type of its values

    @property
    def n_features(self) -> int:
        """Number of features: of columns, unless these are cells."""
        return self.shape[1]

    @property
    def coding(self) -> Coding:
        """What the columns are: features, or the cells of the coder."""
        return coding_of(self.coder, self.shape[1])

    @property
    def uncut(self) -> Matrix:
        """The values of the features, whether they are cut into cells or not."""
        return self

    def code_once(self) -> None:
        """Find the cells of all values now, for every later look at them; features as they come have none."""

    def cells_at(self, rows: Index) -> NDArray[np.uint8]:
        """Return the cells of some rows, by column (n, columns); features as they come have none."""
        raise TypeError("features as they come have no cells")

    summarise_kernel: Callable[..., bool] = staticmethod(_native.summarise)

    def summarise(self, groups: Grouping, *, missing: bool = False, n_threads: int = 1) -> Raw:
        """Add up the rows in one pass."""
        if not self.known:
            return self.summarise_blocks(groups, missing=missing, n_threads=n_threads)
        codes, weights, n_classes, n_folds = groups
        n_features = self.shape[1]
        sums, counts = np.empty((n_classes * n_folds, n_features)), np.empty(n_classes * n_folds)
        low, high = np.empty((n_folds, n_features)), np.empty((n_folds, n_features))
        present = np.empty(sums.shape) if missing else None
        out = (sums, counts, low, high, present)
        finite = self.summarise_kernel(*self.operands, codes, weights, n_classes, *out, n_threads)
        return Raw(sums, counts, low, high, present, finite)

    def summarise_blocks(self, groups: Grouping, *, missing: bool, n_threads: int) -> Raw:
        """Add up the rows in blocks of a type that the kernels know."""
        raise NotImplementedError

    def scores(
        self, coef: Floats, intercept: Floats, rows: Indices | None = None, n_threads: int = 1
    ) -> Floats:
        """Return X @ coef.T + intercept in float64, for all rows or those listed."""
        raise NotImplementedError

    def gradient(
        self, rows: WeightedRows, standard: Standardisation, model: LinearModel, n_threads: int = 1
    ) -> Gradient:
        """Return the loss of a model of standardised features and its derivatives, in one pass."""
        raise NotImplementedError

    def as_used(self, standard: Standardisation) -> Standardisation:
        """Return centres and scales as ``gradient`` uses them: in float32 where it calculates in that."""
        return standard

    def blocks(
        self, columns: Index = slice(None), rows: Indices | None = None
    ) -> Iterator[tuple[slice, Floats]]:
        """Yield all rows, or those listed, as float64 blocks of ``BLOCK_BYTES``, each with its place."""
        n_rows = self.shape[0] if rows is None else len(rows)
        width = self.shape[1] if isinstance(columns, slice) else len(columns)
        step = max(1, BLOCK_BYTES // (8 * max(1, width)))
        for start in range(0, n_rows, step):
            place = slice(start, min(start + step, n_rows))
            yield place, self.block(place if rows is None else rows[place], columns)

    def block(self, rows: Index, columns: Index = slice(None)) -> Floats:
        """Return some rows and columns as float64."""
        raise NotImplementedError

    def by_feature(self, rows: Index, columns: Index = slice(None)) -> Floats:
        """Return a copy of some rows and columns as float64, the values of a column side by side."""
        return np.array(self.block(rows, columns).T, order="C")

    def take(self, rows: Indices) -> Matrix:
        """Return a copy of some rows, of the same number types."""
        raise NotImplementedError

    def part(self, start: int, stop: int) -> Matrix:
        """Return the rows from ``start`` to ``stop``."""
        return self.take(np.arange(start, stop))

    def rows_at_once(self, n_scores: int, n_threads: int) -> int:
        """Return how many rows are scored before their labels are found."""
        return max(1, MOST_SCORES // n_scores)

    def take_runs(self, rows: Indices, step: int) -> Matrix:
        """Return a copy of some rows, of every ``step``-th run of columns."""
        raise NotImplementedError

    def repeats(self, rows: Indices, columns: Index) -> NDArray[np.bool_]:
        """Say for each of the rows but the first whether some columns are as in the one before."""
        raise NotImplementedError

    def bad_value(
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


def every_run(array: Numbers, step: int) -> Numbers:
    """Return the columns of every ``step``-th run of ``RUN``, along the last axis."""
    *rows, n_columns = array.shape
    runs = array[..., : n_columns // RUN * RUN].reshape(*rows, -1, RUN)
    return runs[..., step // 2 :: step, :].reshape(*rows, -1)
