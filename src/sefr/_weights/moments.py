"""Second moments solved: a linear discriminant for classes, a ridge regression for numbers, from sums alone.

``reference.discriminant`` and ``reference.ridge_regression`` have the equations. The ridge is the one of
``RIDGES`` with the highest restricted likelihood. For that X'X is made tridiagonal once, by Householder's
reflections, which takes less time than eigenvectors: then every ridge costs a few additions per column.

Columns are standardised. Cells are taken step by step, from one bin to the next, as further passes do, with a
line beside the steps of each feature, which needs no further sums: it is a sum of steps. Its penalty is
weaker, since most curves are a line and something else; that of ferns, whose cells the labels have chosen, is
stronger. On the twelve tables of ``benchmarks/accuracy/moments.csv`` each constant here is the best of those
tried, as are restricted likelihood beside generalised cross-validation, and 32 bins beside 16 and 64. For
numbers 64 bins are better still: ``benchmarks/accuracy/moments_numbers.csv``. The twelve fits of 32 bins with
40 ferns stay within a third of the time of LightGBM together.

A class weight multiplies the rows of its class in the priors, and in nothing else: the covariance is taken to
be that of every class, so no class has a greater say in it than its rows have.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack, solve_triangular

from .. import _native
from .._rows.cells import Coder
from .._rows.coding import coding_of
from .._rows.matrix import blas_threads
from .._summary.products import Products, diagonal_places
from .._system.types import Floats
from .hyperplanes import refuse_no_rows
from .refine.thermometer import CellSteps

# The ridges, per row, among which the likeliest is taken: four per decade, as in reference.py.
RIDGES = 10.0 ** (np.arange(29) / 4 - 5)
# Up to this number of products one thread of BLAS is quicker than several, which wait for each other for
# about 10 ms.
FEW_PRODUCTS = 1 << 24
# A prior is the share of the rows to this power, as in further passes.
PRIOR_POWER = 0.5
# Steps are in units of their spread to this power: see refine/thermometer.py.
STEP_POWER = 0.5
# Cells of ferns are in units of this part of those of steps, lines in units of this multiple.
FERN_UNIT, LINE_UNIT = 0.5, 4.0
# Shares of the rows that differ by less are taken to be equal.
EQUAL_SHARES = 1e-9
# A column is constant but for rounding if its squares about its mean are below CONSTANT of those about an
# origin near it, at most 2**8 spreads away; or if its spread is below NARROW of the range that it ever had,
# or of the distance that its origin was moved: double-double has 106 bits, of squares.
CONSTANT, NARROW = 1e-10, 2.0**-49
# The residual variances of the classes are drawn to each other by the degrees of freedom per row to this
# power, see reference.discriminant; of features alone, since with cells it is worse (vowel, segment).
ALIKE_POWER = 2.0
NOT_POSITIVE = "products of columns are not those of any rows: a matrix is not positive"
# A feature is taken to be so many standard deviations wide.
SPREADS = 8.0


class Basis(NamedTuple):
    """What is solved for: combinations of columns, each in a unit of its own, so that one ridge suits all.

    First the steps: sums of columns from each to the end of its run, times ``scale`` (q,), without those of
    scale 0. Where ``begins`` (q,) is 1 a run begins; every column of features is one. Then ``lines`` (L, p),
    combinations of the p steps. Columns are about ``spans`` (q,) wide, cells 1.
    """

    begins: NDArray[np.uint8]
    scale: Floats
    lines: Floats
    spans: Floats

    @property
    def live(self) -> NDArray[np.intp]:
        """The columns whose steps are not left out (p,)."""
        return np.flatnonzero(self.scale)

    def of_rows(self, by_column: Floats) -> Floats:
        """Return sums by column (R, q) as sums by what is solved for (R, p + L)."""
        reached = np.empty(by_column.shape)
        rows = np.ascontiguousarray(by_column)
        _native.step_slopes(self.begins, None, self.scale, rows, None, reached)
        steps = reached[:, self.live]
        return np.hstack([steps, steps @ self.lines.T])

    def table(self, weights: Floats) -> Floats:
        """Return the weights of columns (R, q) from those of what is solved for (R, p + L)."""
        live = self.live
        by_step = np.zeros((len(weights), len(self.scale)))
        by_step[:, live] = weights[:, : len(live)] + weights[:, len(live) :] @ self.lines
        found = np.empty(by_step.shape)
        _native.step_tables(self.begins, None, self.scale, by_step, None, found, np.empty(len(weights)))
        return found

    def alike(self, freedom: float, n: float) -> float:
        """Return how much what is left over of each class is taken to be alike: see ``ALIKE_POWER``."""
        return 0.0

    def variance(self, share: Floats) -> float:
        """Return the variances of steps and lines, together, from the shares of rows in each cell (q,)."""
        live = self.live
        steps = self.of_rows(share[None])[0, : len(live)]
        found = float((self.scale[live] * steps - steps * steps).sum())
        if len(self.lines):
            values = self.table(np.hstack([np.zeros((len(self.lines), len(live))), np.eye(len(self.lines))]))
            found += float((values**2 @ share - (values @ share) ** 2).sum())
        return found


class FeatureBasis(Basis):
    """Features as they come: no two of them follow each other, and there are no lines beside."""

    @classmethod
    def of(cls, scale: Floats) -> FeatureBasis:
        """Return the basis of features in units of their standard deviation: see ``feature_scale``."""
        no_lines = np.empty((0, np.count_nonzero(scale)))
        return cls(np.ones(len(scale), dtype=np.uint8), scale, no_lines, feature_spans(scale))

    def alike(self, freedom: float, n: float) -> float:
        return float(min(freedom / n, 1.0) ** ALIKE_POWER)


def feature_scale(n: float, sums: Floats, squares: Floats, moved: Floats, ranges: Floats | None) -> Floats:
    """Return 1 / standard deviation of features from their sums and sums of squares, 0 for a constant."""
    variance = (squares - sums * sums / n) / n
    varies = (variance > CONSTANT * squares / n) & (variance > (NARROW * moved) ** 2)
    if ranges is not None:
        varies &= (ranges > 0) & (variance > (NARROW * ranges) ** 2)
    scale = np.zeros(len(sums))
    np.divide(1.0, np.sqrt(np.abs(variance)), out=scale, where=varies)
    return scale


def feature_spans(scale: Floats) -> Floats:
    """Return how wide features are taken to be, from 1 / standard deviation; 0 for a constant.

    The range of all rows ever seen may be far wider than that of those that are left.
    """
    return np.divide(SPREADS, scale, out=np.zeros_like(scale), where=scale > 0)


def cell_scale(coder: Coder, steps: CellSteps, mean: Floats) -> tuple[Floats, float]:
    """Return the scale of steps from the share of the rows that has gone each, and a typical unit of them."""
    variance = np.maximum(mean * (1 - mean), 0)
    live = steps.free & (variance > 1e-12)
    live[told_by_bins(coder, mean)] = False
    scale = np.zeros(len(mean))
    scale[live] = variance[live] ** (-STEP_POWER / 2)
    of_ferns = np.arange(len(mean)) >= coder.offsets[coder.n_features]
    units = (scale * np.sqrt(variance))[live & ~of_ferns]
    scale[of_ferns] *= FERN_UNIT
    return scale, float(np.median(units)) if len(units) else 1.0


def told_by_bins(coder: Coder, mean: Floats) -> NDArray[np.intp]:
    """Return the cells of ferns that need no column: of each fern the rarest, and those next to it.

    ``mean`` (C,) is the share of the rows in each cell. A comparison of a fern is a step of a feature, which
    has a column. What d comparisons tell one by one can have any values in a cell and in the d cells that
    differ from it by one comparison; what is left to tell there is 0.
    """
    found = []
    for first, end in pairwise(coder.offsets[coder.n_features :].tolist()):
        own = mean[first:end]
        rarest = int(np.argmax(own <= own.min() + EQUAL_SHARES))  # rounding must not choose among equals
        bits = 1 << np.arange((end - first).bit_length() - 1)
        found.append(first + np.append(rarest, rarest ^ bits))
    return np.concatenate([np.empty(0, dtype=np.intp), *found])


def _lines(coder: Coder) -> Floats:
    """Return the steps (L, C) of a line through each feature with two edges or more."""
    found = []
    for j in np.flatnonzero(~coder.unordered[: coder.n_features]):
        edges = coder.edges[coder.starts[j] : coder.starts[j + 1]]
        if len(edges) < 2:
            continue
        widths = np.diff(edges)
        line = np.zeros(coder.n_cells)
        first = coder.offsets[j] + 1
        # from the middle of one bin to that of the next; those at the ends are as wide as their neighbours
        line[first : first + len(edges)] = (
            np.concatenate([widths[:1], widths]) + np.concatenate([widths, widths[-1:]])
        ) / 2
        found.append(line / line.max())
    return np.array(found).reshape(-1, coder.n_cells)


class Tridiagonal(NamedTuple):
    """A symmetric matrix as Q T Q', T with ``diagonal`` and ``beside``, and Q' times some columns."""

    diagonal: Floats
    beside: Floats
    rotated: Floats
    reflections: Floats
    factors: Floats

    @classmethod
    def of(cls, gram: Floats, cross: Floats) -> Tridiagonal:
        """Reduce a matrix (p, p), of which the lower triangle is read, and rotate columns (p, K)."""
        p = len(gram)
        if p < 2:
            return cls(np.diag(gram), np.empty(0), np.array(cross), np.empty((0, 0)), np.empty(0))
        reduced, diagonal, beside, factors, _ = lapack.dsytrd(gram, lower=1, lwork=64 * p)
        # without its first row, in place: the last one is then no part of a reflection
        reflections = reduced.ravel(order="F")[1 : 1 + p * (p - 1)].reshape((p, p - 1), order="F")
        bare = cls(diagonal, beside, np.empty((p, 0)), reflections, factors)
        return bare._replace(rotated=bare.turn(cross))

    def turn(self, columns: Floats) -> Floats:
        """Return Q' times columns (p, K)."""
        found = np.array(columns, order="F")
        if len(found) > 1:
            found[1:] = _reflect(self.reflections, self.factors, found[1:], "T")
        return found

    def turn_back(self, columns: Floats) -> Floats:
        """Return Q times columns (p, K)."""
        found = np.array(columns, order="F")
        if len(found) > 1:
            found[1:] = _reflect(self.reflections, self.factors, found[1:], "N")
        return found


def _threads_for(products: int) -> AbstractContextManager[None]:
    """Let BLAS use one thread for so many products, if they are few."""
    return blas_threads(1) if products <= FEW_PRODUCTS else nullcontext()


def _reflect(reflections: Floats, factors: Floats, columns: Floats, trans: str) -> Floats:
    work = max(1, 64 * columns.shape[1])
    with _threads_for(len(reflections) * columns.size):
        found, _, _ = lapack.dormqr("L", trans, reflections, factors, np.asfortranarray(columns), work)
    return np.asarray(found)


class Ridges(NamedTuple):
    """Ridge regressions of targets: the ridge of each, per row (K,), and its solution (K, p).

    ``left`` (K,) is what is left over of the squares of the target, the penalty included, and ``freedom``
    (K,) the degrees of freedom.
    """

    chosen: Floats
    solved: Floats
    left: Floats
    freedom: Floats


def likeliest_ridges(
    diagonal: Floats,
    beside: Floats,
    rotated: Floats,
    power: Floats,
    count: float,
    *,
    ridges: Floats = RIDGES,
    together: bool = False,
    others: tuple[float, float] = (0.0, 0.0),
) -> Ridges:
    """Return the regressions of targets with their likeliest ridges: see ``reference.restricted_likelihood``.

    In coordinates in which the products of columns are tridiagonal: ``rotated`` (K, p) are those with the
    targets, and ``power`` (K,) the squares of these about their means. ``together``: one ridge for all.
    ``others``: so many columns have nothing to do with the targets, and each so much in squares.
    """
    k = len(power)
    found = Ridges(np.empty(k), np.empty(rotated.shape), np.empty(k), np.empty(k))
    given = diagonal, beside, np.ascontiguousarray(rotated), power, ridges
    if not _native.likeliest_ridges(*given, count, together, *others, *found):
        raise np.linalg.LinAlgError(NOT_POSITIVE)
    return found


def ridge_regressions(
    tridiagonal: Tridiagonal, power: Floats, count: float, ridge: float | None, *, together: bool
) -> Ridges:
    """Return the same of products that were made tridiagonal, or with the ridge given."""
    ridges = RIDGES if ridge is None else np.array([ridge])
    diagonal, beside, rotated = tridiagonal.diagonal, tridiagonal.beside, tridiagonal.rotated.T
    found = likeliest_ridges(diagonal, beside, rotated, power, count, ridges=ridges, together=together)
    return found._replace(solved=tridiagonal.turn_back(found.solved.T).T)


@dataclass(frozen=True)
class Solution:
    """A linear model of columns: scores or numbers are weights·(x - centre) + level.

    ``weights`` (K, q), ``centre`` (q,), ``level`` (K,); ``ridge`` (K,) per row. A class that was never seen
    has level -inf. ``noise`` (K,) is the variance of a target about its prediction. ``distance`` (q,) is that
    of the means from the centre, which has fewer digits than they have, so that x - centre loses none.
    """

    weights: Floats
    centre: Floats
    distance: Floats
    level: Floats
    ridge: Floats
    noise: Floats
    count: float
    basis: Basis
    gram: Floats  # products of what is solved for about their means, of which the lower triangle counts
    # of classes that have rows: their ridge regression (p, K), and what turns its predictions into scores
    regression: Floats | None = None
    to_scores: Floats | None = None
    # of numbers: the degrees of freedom that each ridge leaves (K,)
    freedom: Floats | None = None

    @cached_property
    def _factors(self) -> dict[float, Floats]:
        """The lower triangular factor of the products and each ridge."""
        unit = self.count * np.eye(len(self.gram))
        with _threads_for(len(self.gram) ** 3):
            return {
                float(ridge): np.linalg.cholesky(self.gram + ridge * unit) for ridge in np.unique(self.ridge)
            }

    def _divided(self, ridge: float, columns: Floats) -> Floats:
        """Return columns (p, n) divided by the factor: their squares add up to leverages."""
        factor = self._factors[ridge]
        if not len(factor):
            return columns
        with _threads_for(len(factor) * columns.size):
            return np.asarray(solve_triangular(factor, columns, lower=True, check_finite=False))

    def standard_errors(self) -> Floats:
        """Return the standard errors of the weights (K, q)."""
        each = (self.basis.table(self._divided(float(r), np.eye(len(self.gram)))) for r in self.ridge)
        return np.sqrt([(half * half).sum(axis=0) for half in each] * self.noise[:, None])

    def in_basis(self, rows: Floats) -> Floats:
        """Return rows (n, q) about the means, as what is solved for (n, p); what is missing is the mean."""
        moved = rows - self.centre - self.distance
        return self.basis.of_rows(moved if isfinite(moved.sum()) else np.nan_to_num(moved))

    def leverage(self, rows: Floats, target: int = 0) -> Floats:
        """Return how much rows (n, p) in the basis would move their own predictions of a target (n,)."""
        half = self._divided(float(self.ridge[target]), rows.T)
        return np.asarray((half * half).sum(axis=0) + 1 / self.count)

    def variances(self, rows: Floats) -> Floats:
        """Return the variance of a new target about its prediction (n, K), for rows (n, q)."""
        columns = self.in_basis(rows)
        leverage = {ridge: self.leverage(columns, at) for at, ridge in enumerate(self.ridge.tolist())}
        return np.stack([1 + leverage[ridge] for ridge in self.ridge.tolist()], axis=1) * self.noise


class _Centred(NamedTuple):
    """Sums about the means: what both tasks are solved from."""

    n: float  # the weight of all rows
    centre: Floats
    distance: Floats  # of the means from the centre
    gram: Floats
    basis: Basis


def _centred(products: Products, coder: Coder | None, ranges: Floats | None) -> tuple[_Centred, Products]:
    """Return the products of features about their means, in the basis that they are solved in."""
    near = products.near(movable=coding_of(coder, products.n_features).movable)
    m, n, q = near.n_features, near.count, near.n_columns
    refuse_no_rows(n)
    sums, squares = near.sums[:m], near.packed.head[q + 1 :]
    basis: Basis
    if coder is None:
        moved = (near.origin - products.origin)[:m]
        basis = FeatureBasis.of(feature_scale(n, sums, squares[diagonal_places(q)][:m], moved, ranges))
        unit = 1.0
    else:
        basis, unit = _bare_basis(coder, sums, n)
    size = len(basis.live) + len(basis.lines)
    upper = np.zeros((size, size))
    _native.step_products(basis.begins, basis.scale, squares, q, upper)
    if len(basis.lines):
        basis = _with_lines(basis, upper, n, sums, LINE_UNIT * unit)
    total = basis.of_rows(sums[None])[0]
    gram = blas.dsyr(-1 / n, total, lower=1, a=upper.T, overwrite_a=1) if size else upper
    return _Centred(n, near.origin[:m], sums / n, gram, basis), near


def _bare_basis(coder: Coder, sums: Floats, n: float) -> tuple[Basis, float]:
    """Return the steps of cells and lines of any spread, and a typical unit of steps."""
    steps = CellSteps.of(coder)
    scale, unit = cell_scale(coder, steps, steps.reached(sums[None] / n)[0])
    live = np.flatnonzero(scale)
    lines = _lines(coder)[:, live] / scale[live]
    return Basis(steps.begins, scale, lines[lines.any(axis=1)], np.ones(len(scale))), unit


def basis_of_cells(coder: Coder, sums: Floats, n: float) -> Basis:
    """Return what is solved for, from the rows in each cell (q,) alone: as ``_centred`` finds it."""
    bare, unit = _bare_basis(coder, sums, n)
    if not len(bare.lines):
        return bare
    n_lines, share = len(bare.lines), sums / n
    values = bare.table(np.hstack([np.zeros((n_lines, len(bare.live))), np.eye(n_lines)]))
    spread = np.sqrt(np.maximum(values**2 @ share - (values @ share) ** 2, 1e-300))
    return bare._replace(lines=bare.lines * (LINE_UNIT * unit / spread)[:, None])


def _with_lines(basis: Basis, upper: Floats, n: float, sums: Floats, unit: float) -> Basis:
    """Return the basis with lines of standard deviation ``unit``; their products go into ``upper``."""
    p, lines = len(basis.live), basis.lines
    steps = upper[:p, :p]
    beside = steps @ lines.T + (lines @ steps).T - np.diag(steps)[:, None] * lines.T
    total = basis.of_rows(sums[None])[0, p:]
    spread = np.sqrt(np.maximum((lines.T * beside).sum(axis=0) / n - (total / n) ** 2, 1e-300))
    upper[:p, p:] = beside * (unit / spread)
    scaled = lines * (unit / spread)[:, None]
    upper[p:, p:] = scaled @ upper[:p, p:]
    return basis._replace(lines=scaled)


def solve_classes(
    products: Products,
    counts: Floats,
    class_sums: Floats,
    *,
    present: Floats | None = None,
    coder: Coder | None = None,
    ranges: Floats | None = None,
    class_weights: Floats | None = None,
    power: float = PRIOR_POWER,
    ridge: float | None = None,
) -> Solution:
    """Return the linear discriminant of rows: a score per class, of which the highest wins.

    ``counts`` (K,) is the weight of the rows of each class, ``class_sums`` (K, m) the sums of their features
    about the origin of ``products``. Where values are missing, ``present`` (K, m) is the weight of those that
    there are; a missing value counts as the mean of its feature. ``coder`` says what the cells are, where
    columns are cells. ``ranges`` (m,), the highest less the lowest value that a feature ever had, tell a
    constant where rows were taken away. ``ridge``, per row, is the likeliest for None.
    """
    own, _ = _centred(products, coder, ranges)
    n, basis = own.n, own.basis
    seen = counts > 0
    rows = counts[seen]
    here = np.broadcast_to(rows[:, None], class_sums[seen].shape) if present is None else present[seen]
    shift = products.origin[: len(own.centre)] - own.centre - own.distance
    cross = basis.of_rows(_about_mean(shift, here, class_sums[seen])).T
    tridiagonal = Tridiagonal.of(own.gram, cross)
    power_of = np.maximum(rows - rows * rows / n, 0.0)
    found = ridge_regressions(tridiagonal, power_of, n, ridge, together=True)
    solved = found.solved.T
    # W + ridge I = (X'X + n ridge I - sum_k s_k s_k' / n_k) / n, with class sums s_k: by Woodbury's identity,
    # its inverse times the class means s_k / n_k is n A (diag(n_k) - S)^-1, with A = (X'X + n ridge I)^-1 s,
    # S = s'A.
    inner = np.diag(rows) - cross.T @ solved
    alike = basis.alike(float(found.freedom[0]), n)
    inner = (1 - alike) * inner + alike * np.trace(inner) / len(inner) * np.eye(len(inner))
    to_scores = np.asarray(n * np.linalg.inv(inner.T), dtype=np.float64)
    weights = np.asarray(to_scores @ solved.T, dtype=np.float64)
    means = cross.T / rows[:, None]
    prior = rows if class_weights is None else rows * class_weights[seen]
    level = np.full(len(counts), -np.inf)
    level[seen] = -(weights * means).sum(axis=1) / 2 + power * np.log(prior / prior.sum())
    table = np.zeros((len(counts), len(basis.scale)))
    table[seen] = basis.table(weights)
    level -= table @ own.distance
    left = np.maximum(power_of - (solved * cross).sum(axis=0), 0.0)
    noise = np.zeros(len(counts))
    noise[seen] = left / max(n - 1, 1.0)
    return Solution(
        table,
        own.centre,
        own.distance,
        level,
        np.full(len(counts), found.chosen[0]),
        noise,
        n,
        basis,
        own.gram,
        solved,
        to_scores,
    )


def _about_mean(shift: Floats, here: Floats, class_sums: Floats) -> Floats:
    """Return the sums of classes (K, m), of so many values each, moved to the means of all rows."""
    moved = class_sums + here * shift
    total = here.sum(axis=0)
    # what all classes have together is 0: what rounding left of it is shared out
    return np.asarray(
        moved - np.divide(here, total, out=np.zeros_like(moved), where=total > 0) * moved.sum(axis=0)
    )


def solve_numbers(
    products: Products,
    *,
    coder: Coder | None = None,
    ranges: Floats | None = None,
    ridge: float | None = None,
) -> Solution:
    """Return the ridge regression of the targets that the products are of, each with its own ridge.

    ``coder``, ``ranges`` and ``ridge`` as in ``solve_classes``.
    """
    own, near = _centred(products, coder, ranges)
    n, m = own.n, near.n_features
    right, power = _towards_targets(own, near)
    solved, ridges, noise, freedom = _regression(own.gram, right, power, n, ridge)
    weights = own.basis.table(solved.T)
    level = near.origin[m:] + (near.sums[-near.n_targets :] / n - weights @ own.distance)
    return Solution(
        weights, own.centre, own.distance, level, ridges, noise, n, own.basis, own.gram, freedom=freedom
    )


def explained_by_parts(products: Products, coder: Coder, noise: Floats) -> dict[str, Floats]:
    """Return the part of the variance of each target (K,) that lines explain by themselves, and curves.

    And their "sum" with ferns, which leaves ``noise`` (K,).
    """
    own, near = _centred(products, coder, None)
    right, power = _towards_targets(own, near)
    n_steps, place = len(own.basis.live), np.arange(len(own.gram))
    of_features = own.basis.live < coder.offsets[coder.n_features]
    lines = place[n_steps:]
    left = {}
    for name, at in (("lines", lines), ("curves", np.concatenate([place[:n_steps][of_features], lines]))):
        _, _, left[name], _ = _regression(own.gram[np.ix_(at, at)], right[at], power, own.n, None)
    variance = power / max(own.n - 1, 1.0)
    return {name: 1 - part / variance for name, part in (left | {"sum": noise}).items()}


def _towards_targets(own: _Centred, near: Products) -> tuple[Floats, Floats]:
    """Return the products of what is solved for with the targets (p, K), and the targets' own (K,)."""
    n, m, k = own.n, near.n_features, near.n_targets
    if not k:
        raise ValueError("the products have no targets")
    at = slice(near.n_columns - k, near.n_columns)
    sums = near.sums
    cross = near.block(slice(0, m), at) - np.outer(sums[:m], sums[at]) / n
    squares = near.packed.head[diagonal_places(near.n_columns + 1)][1:][at]
    return own.basis.of_rows(cross.T).T, np.maximum(squares - sums[at] ** 2 / n, 0.0)


def _regression(
    gram: Floats, right: Floats, power: Floats, n: float, ridge: float | None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return weights (p, K), and of each target (K,) its ridge, what is left of its variance, and freedom."""
    found = ridge_regressions(Tridiagonal.of(gram, right), power, n, ridge, together=False)
    solved = found.solved.T
    noise = np.maximum(power - (solved * right).sum(axis=0), 0.0) / max(n - 1, 1.0)
    return solved, found.chosen, noise, found.freedom
