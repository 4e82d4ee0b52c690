"""A random sample of labelled rows, taken while a table is read for something else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..files import ColumnRecipe, Dataset
from ..files.dataset import Batch, LabelledBatch, NumberedBatch

if TYPE_CHECKING:
    from .._rows.cells import Categories
    from .._system.types import Array, Rows


# Values of a comparison that are held in memory (128 MB), and rows.
MOST_COMPARED_VALUES, MOST_COMPARED_ROWS = 1 << 24, 100_000


def most_compared(recipe: ColumnRecipe) -> int:
    """Return how many rows a comparison of methods takes at most."""
    return max(1_000, min(MOST_COMPARED_ROWS, MOST_COMPARED_VALUES // max(1, len(recipe.feature_names))))


class Sampled(Dataset):
    """A table that keeps some of the rows that are read from it, each as likely as any other.

    Every row draws a random number; the rows of the lowest ones stay. The seed is fixed: the same files give
    the same sample. Categories are kept as their numbers in a recipe that has them all, one-hot or not.
    """

    def __init__(self, table: Dataset, recipe: ColumnRecipe, most: int, seed: int = 0) -> None:
        super().__init__(table.readers)
        self.skip_unlabelled = table.skip_unlabelled
        self.coder = table.coder
        self._recipe = replace(recipe, coded=True)
        self._most = max(1, most)
        self._random = np.random.default_rng(seed)
        self._draws = np.empty(0)
        self._rows: NDArray[np.float64] = np.empty((0, len(recipe.columns)))
        self._labels: list[object] = []
        self._is_complete = False
        self.seen = 0

    def labelled(self, recipe: ColumnRecipe, label: str) -> Iterator[LabelledBatch]:
        """Yield the batches of the table; the first time all are read, keep some rows of each."""
        for rows in super().labelled(recipe, label):
            if not self._is_complete:
                self._keep(rows.batch, rows.classes[rows.codes])
            yield rows
        self._is_complete = True

    def numbered(self, recipe: ColumnRecipe, label: str) -> Iterator[NumberedBatch]:
        """Yield the batches of a table whose label is a number; the first time, keep some rows of each."""
        for rows in super().numbered(recipe, label):
            if not self._is_complete:
                self._keep(rows.batch, rows.targets)
            yield rows
        self._is_complete = True

    def rows(self) -> tuple[Rows, Array]:
        """Return the rows and their labels, in the order of the table; with categories as an Arrow table."""
        labels, categories = np.array(self._labels), self._recipe.coded_features
        if not categories:
            return self._rows, labels
        columns = [
            _dictionary(own, categories[j]) if j in categories else pa.array(own)
            for j, own in enumerate(self._rows.T)
        ]
        return pa.table(columns, names=list(self._recipe.columns)), labels

    def _keep(self, batch: Batch, labels: Array) -> None:
        self.seen += len(batch)
        draws = self._random.random(len(batch))
        full = len(self._draws) >= self._most
        chosen = np.flatnonzero(draws < self._draws.max()) if full else np.arange(len(batch))
        if len(chosen) > self._most:
            chosen = np.sort(chosen[np.argsort(draws[chosen], kind="stable")[: self._most]])
        if not len(chosen):
            return
        blocks = [block for _rows, block in self._recipe.matrix(batch.rows.take(chosen)).blocks()]
        self._draws = np.concatenate([self._draws, draws[chosen]])
        self._rows = np.concatenate([self._rows, *blocks])
        self._labels += labels[chosen].tolist()
        if len(self._draws) > self._most:
            stay = np.sort(np.argsort(self._draws, kind="stable")[: self._most])
            self._draws, self._rows = self._draws[stay], self._rows[stay]
            self._labels = [self._labels[i] for i in stay]


def _dictionary(numbers: NDArray[np.float64], categories: Categories) -> pa.DictionaryArray:
    gone = np.isnan(numbers)
    places = pa.array(np.where(gone, 0, numbers).astype(np.int32), mask=gone)
    return pa.DictionaryArray.from_arrays(places, pa.array(categories, type=pa.string()))
