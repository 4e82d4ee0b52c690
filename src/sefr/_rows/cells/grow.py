"""Ferns grown on rows: each tells what those before it left to tell, as long as rows held out agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ..._system.types import Floats
from ..labelled import Labelled
from .coder import Coder
from .ferns import Ferns
from .matrix import cells_of

# Comparisons of a fern: it has 2**DEPTH cells. The time to solve second moments grows with the third power of
# all cells together, so that more ferns of fewer cells are better there, most of all for numbers.
DEPTH, MOMENTS_DEPTH, NUMBER_DEPTH = 6, 5, 4
# Features that are drawn for a comparison, and bins of each; the best is kept. More would make ferns alike.
TRIED = 4
BOUNDS = 8
SEED = 0
# Rows that ferns are grown on, at most. Ferns take turns with parts of them, at most so many, and at least so
# many rows each: a fern costs what its part costs. On the twelve tables of benchmarks/accuracy, parts of a
# quarter as many rows lower macro F1 by 0.2 points, and all rows for each fern are no better.
FERN_ROWS, MOST_SUBSETS, SUBSET_ROWS = 1 << 14, 4, 1 << 12
# With second moments more rows are no better: macro F1 stays within 0.1 points, and R2 within 0.002.
MOMENTS_ROWS = 1 << 12
# How much of what a fern tells about a row is taken off what is left to tell.
STEP = 0.3
# How often the effects of all features are found beside those of the others, and rows that a cell is taken to
# have beside its own, about which it tells nothing.
SWEEPS, SHY = 4, 4.0
# One row in HELD_PART, by its cells, is held out if all together weigh so much: as in grow.c.
HELD_PART, FEWEST_ROWS = 4, 128
# The steps of all ferns for numbers together, and the least and most of one.
NUMBER_STEPS, LEAST_STEP, MOST_STEP = 6.0, 0.1, 0.3


class Growing(NamedTuple):
    """How ferns are grown: each on one of so many parts of the rows, in turn, and by how large a step.

    What a fern tells about a row is taken off what is left to tell, but only this part of it.
    """

    subsets: int = 1
    step: float = STEP

    @classmethod
    def of(cls, weight: float, subset_rows: int = SUBSET_ROWS, step: float = STEP) -> Growing:
        """Return how ferns are grown on rows of a weight, of which ``FERN_ROWS`` are looked at."""
        return cls(int(np.clip(min(weight, FERN_ROWS) // subset_rows, 1, MOST_SUBSETS)), step)


USUAL = Growing()


def grow_ferns(
    rows: Labelled,
    coder: Coder,
    count: int,
    held: NDArray[np.bool_] | None = None,
    how: Growing = USUAL,
    *,
    moments: int | None = 1,
) -> Ferns | None:
    """Return up to so many ferns for rows that are few enough to be looked at often.

    ``moments`` are those added up. ``held`` (n,) says which rows are held out; None: one in four, by its
    cells, if rows are not few.

    There are fewer if further ones would tell nothing about rows that they were not grown on, and at least
    one; None if nothing varies.
    """
    cells = cells_of(rows.matrix, coder).cells
    targets, depth = None, MOMENTS_DEPTH if moments == 2 else DEPTH
    if rows.targets.shape[1]:
        targets, depth = left_over(cells, coder, rows.targets, rows.weights), NUMBER_DEPTH
        how = how._replace(step=number_step(count))
    comparisons = np.empty((count, depth, 2), dtype=np.int32)
    grown = _native.grow_ferns(
        cells,
        coder.coded_starts,
        coder.unordered.astype(np.uint8),
        None if held is None else held.astype(np.uint8),
        rows.codes,
        rows.weights,
        targets,
        len(rows.classes),
        TRIED,
        BOUNDS,
        how.subsets,
        how.step,
        SEED,
        comparisons,
    )
    if not grown:
        return None
    features, bounds = (comparisons[:grown, :, part].ravel() for part in (0, 1))
    return Ferns(features, bounds, np.arange(grown + 1, dtype=np.int64) * depth)


def held_out_rows(cells: NDArray[np.uint8], weights: Floats | None) -> NDArray[np.bool_]:
    """Say which rows (n,) growing holds out, from the cells of their features (n, m): as grow.c does.

    It depends on the cells of a row alone, so that no row like one held out has a say in ferns.
    """
    total = len(cells) if weights is None else float(weights.sum())
    if total < FEWEST_ROWS:
        return np.zeros(len(cells), dtype=bool)
    hashed = np.zeros(len(cells), dtype=np.uint64)
    for own in cells.T:
        hashed = mixed(hashed + own + np.uint64(1))
    return np.asarray(hashed % np.uint64(HELD_PART) == 0)


def mixed(found: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers whose bits all depend on all bits of the given ones (splitmix64)."""
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


def number_step(count: int) -> float:
    """Return the step of each of so many ferns that tell numbers."""
    return float(np.clip(NUMBER_STEPS / count, LEAST_STEP, MOST_STEP))


def left_over(cells: NDArray[np.uint8], coder: Coder, targets: Floats, weights: Floats | None) -> Floats:
    """Return what the cells of features, each by itself, leave of targets (n, k), in units of their spread.

    An effect per cell is found feature by feature, each for what the others leave over (backfitting).
    """
    weights = np.ones(len(targets)) if weights is None else weights
    left = np.array((targets - np.average(targets, axis=0, weights=weights)).T)
    sizes = np.diff(coder.offsets[: coder.n_features + 1]).tolist()
    columns = [np.ascontiguousarray(cells[:, j], dtype=np.intp) for j in range(coder.n_features)]
    rows = [np.bincount(own, weights, size) + SHY for own, size in zip(columns, sizes, strict=True)]
    effects = [np.zeros((len(left), size)) for size in sizes]
    for _ in range(SWEEPS):
        for own, size, count, effect in zip(columns, sizes, rows, effects, strict=True):
            for t, part in enumerate(left):
                part += effect[t].take(own)
                effect[t] = np.bincount(own, weights * part, size) / count
                part -= effect[t].take(own)
    left = left.T
    spread = np.sqrt(np.average(left**2, axis=0, weights=weights))
    return np.ascontiguousarray(left / np.where(spread > 0, spread, 1.0))
