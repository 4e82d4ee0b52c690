"""Second moments of a private Summary: the sums of products as integers, and what is made of the noisy ones.

Values. With z a value measured from the middle of its range, in ranges, a row adds z_i z_j to the product of
features i <= j: at most 1/4 to each of m (m + 1) / 2, so at most sqrt(m (m + 1) / 2) / 4 to all of them by
the Euclidean norm. It adds nothing else: the first row of ``Products``, its counts and sums, follows from
what is released of the classes.

Rounding, for at most n rows of all classes together, with u = 2**-53, w the width of a range and M its
largest value:

- Products are added up about an origin o near the rows, or about 0 if that is near or the rows are sparse:
  values less o are at most A = M + 2 w. (o is at most w / 2 from a mean, which rounding moves by less than
  n u M; n is at most 2**36.)
- A value less o, the product of two and the sum of n of these are rounded in float64, in any order: off by
  less than u n (n + 4) A_i A_j (Higham, *Accuracy and Stability of Numerical Algorithms*, section 4.2).
- Parts are joined and moved to the middle in double-double; that adds the sums about o, off by less than
  u n (n + 1) A, times the distance of o from the middle, at most A: twice, for i and for j.

Together less than 3 u n (n + 4) A_i A_j; 2 % are for terms of u squared, of double-double (2**-100) and for
the rounding of these lines. What is left is rounded to whole steps, as sums are. A range far from zero would
make that much larger than what a row adds: it is refused, and costs its owner one subtraction.

Cells. A row lies in one cell of every feature, so it adds 1 to one pair of cells of every two features: at
most sqrt(m (m - 1) / 2) to all of them. Counts do not round. Two cells of one feature have no row together,
and a cell with itself has the rows of the cell: neither needs to be released.

Noise makes a matrix that no rows have, with negative variances. What is known of X'X is put right, as
arithmetic on what was released: X'X is the scatter of the classes' means, which follows from their sums, and
that of the rows within their class, whose eigenvalues are raised to ``FLOOR`` sqrt(q) deviations of the noise
if they are lower. (The eigenvalues of q x q such numbers reach 2 sqrt(q) deviations.) So directions that
noise decides speak for no class; with ever more noise the discriminant becomes that of the nearest class
mean.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from .._rows.cells import Coder
from .._system.types import Floats, Indices
from .double_double import DoubleDouble
from .products import Products, pack
from .summary import Summary

# SHARE: the norm of all products of a row beside that of its sums. FLOOR: the lowest eigenvalue that is kept,
# in deviations of the noise times sqrt(q). Of 0.25 to 2 each, these did best over all sets and epsilons of
# benchmarks/accuracy/private.py.
SHARE = 0.5
FLOOR = 0.7
# A range further from zero than so many widths is refused: for 1,048,576 rows rounding would then need more
# noise than a row.
NEAR_RANGES = 16.0
# Beyond these, products of two values are not exact in double-double.
SMALLEST_RANGE, LARGEST_VALUE = 1e-100, 1e100


class ProductIntegers(NamedTuple):
    """Products as integers, how many of them make 1, and how far one person moves them."""

    vector: Floats
    unit: int
    distance: float


def product_integers(
    products: Products, middle: Floats, half: Floats, rounding: Floats, step: float, rows_per_person: int
) -> ProductIntegers:
    """Return the products of values: z_i z_j, i <= j.

    ``middle`` and ``half`` (m,) are those of the ranges, ``step`` how many integers of a sum make a range,
    ``rounding`` (m, m) what ``product_rounding`` returned.
    """
    m = products.n_features
    upper = np.triu_indices(m)
    unit = max(1, round(SHARE * step * 2 * sqrt(2 / (m + 1))))
    width = 2 * half
    about = products.about(np.array(middle))
    whole = about.matrix()[:m, :m] / width / width[:, None]
    vector = np.rint(whole[upper] * unit)
    rounded = 2 * rounding[upper] * unit + 1
    own = unit * sqrt(m * (m + 1) / 2) / 4
    return ProductIntegers(vector, unit, rows_per_person * own + sqrt(float(rounded @ rounded)))


def product_rounding(low: Floats, high: Floats, most_rows: int) -> Floats:
    """Return what a product of so many rows may be off by, in ranges (m, m): see above."""
    largest = np.maximum(np.abs(low), np.abs(high)) / (high - low) + 2
    parts = 3 * most_rows * (most_rows + 4.0) * 2.0**-53
    # the last of it is for the division by the width, and the sum of head and tail
    return np.asarray(1.02 * parts * np.outer(largest, largest) + most_rows * 2.0**-50)


def cell_integers(products: Products, coder: Coder, step: float, rows_per_person: int) -> ProductIntegers:
    """Return how many rows lie in each pair of cells of two features."""
    m = coder.n_columns
    unit = max(1, round(SHARE * step * sqrt(2 / max(m - 1, 1))))
    counts = np.rint(products.matrix()[_pairs_of_cells(coder)])
    return ProductIntegers(counts * unit, unit, rows_per_person * unit * sqrt(m * (m - 1) / 2))


def _pairs_of_cells(coder: Coder) -> tuple[Indices, Indices]:
    """Return the pairs of cells of two features, each once."""
    upper = np.triu_indices(coder.n_cells, 1)
    other = coder.column_of[upper[0]] != coder.column_of[upper[1]]
    return upper[0][other], upper[1][other]


def released_products(
    noisy: Floats, noise: float, counts: Floats, sums: Floats, middle: Floats, width: Floats
) -> Products:
    """Return the products of values that go with counts (K,) and sums (K, m) about the middle.

    ``noisy`` are those of z, with noise of deviation ``noise``; ``width`` (m,) is that of the ranges.
    """
    m = len(middle)
    matrix = np.zeros((m, m))
    matrix[np.triu_indices(m)] = noisy
    matrix += np.triu(matrix, 1).T
    between = _between(counts, sums / width)
    within = raised(matrix - between, FLOOR * noise * sqrt(m))
    return _with_sums(middle, counts, sums, (within + between) * width * width[:, None])


def released_cells(noisy: Floats, noise: float, counts: Floats, sums: Floats, coder: Coder) -> Products:
    """Return the products of cells that go with counts (K,) and rows per cell (K, cells)."""
    q = coder.n_cells
    matrix = np.zeros((q, q))
    matrix[_pairs_of_cells(coder)] = noisy
    matrix += matrix.T
    np.fill_diagonal(matrix, sums.sum(axis=0))
    between = _between(counts, sums)
    # within their class, too, the rows of all cells of a feature are all rows: deviations add up to 0
    within = _without_means(raised(_without_means(matrix - between, coder), FLOOR * noise * sqrt(q)), coder)
    return _with_sums(np.zeros(q), counts, sums, within + between)


def _between(counts: Floats, sums: Floats) -> Floats:
    """Return the products of the class means, each as often as the class has rows."""
    return np.asarray((sums / counts[:, None]).T @ sums)


def _without_means(matrix: Floats, coder: Coder) -> Floats:
    """Return the nearest matrix whose rows and columns add up to 0 over the cells of each feature."""
    for _ in range(2):
        totals = np.add.reduceat(matrix, coder.offsets[:-1], axis=0) / np.diff(coder.offsets)[:, None]
        matrix = (matrix - totals[coder.column_of]).T
    return matrix


def raised(matrix: Floats, least: float) -> Floats:
    """Return the nearest symmetric matrix that has no eigenvalue below ``least``."""
    values, vectors = eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def _with_sums(origin: Floats, counts: Floats, sums: Floats, squares: Floats) -> Products:
    """Return products about an origin, with what goes before them: the weight of all rows, and their sums."""
    whole = np.empty((len(origin) + 1, len(origin) + 1))
    whole[0, 0], whole[0, 1:], whole[1:, 1:] = counts.sum(), sums.sum(axis=0), (squares + squares.T) / 2
    whole[1:, 0] = whole[0, 1:]
    return Products(np.array(origin), DoubleDouble(pack(whole)))


def refuse_products(summary: Summary, low: Floats, high: Floats, most_rows: int) -> None:
    """Raise an error for products whose release could promise nothing."""
    if summary.n_rows > most_rows:
        raise ValueError(
            f"all classes together have more than most_rows={most_rows:,} rows, for which the noise covers "
            "the rounding of products: pass a larger bound that is known without looking at the rows"
        )
    extreme = (high - low < SMALLEST_RANGE) | (np.maximum(np.abs(low), np.abs(high)) > LARGEST_VALUE)
    if extreme.any():
        j = int(np.argmax(extreme))
        raise ValueError(
            f"column {j} has the range from {low[j]:g} to {high[j]:g}: rounding of products is known for "
            f"ranges wider than {SMALLEST_RANGE:g} of values up to {LARGEST_VALUE:g}"
        )
    nearest = np.where((low > 0) | (high < 0), np.minimum(np.abs(low), np.abs(high)), 0.0)
    far = nearest > NEAR_RANGES * (high - low)
    if far.any():
        j = int(np.argmax(far))
        raise ValueError(
            f"column {j} has the range from {low[j]:g} to {high[j]:g}, and products of values so far from "
            "zero round too much: subtract a known number, for example the lowest, from its values and range"
        )
