"""Cells that several features choose: other forms of interactions, measured on the twelve tables.

    python -m benchmarks.accuracy.interactions [--only METHOD ...]

``SEFRClassifier(interactions=)``, which grows its ferns on rows, is among the methods of ``tables.csv``. Here
are two other ways. A random fern: five comparisons, drawn from a seed, give one of 32 cells. Leaves: trees
are grown once, on a sample of 2,000 rows by scikit-learn, and each leaf is a cell. Either way the number of a
cell is a byte that is coded once, beside those of the bins, and the library's own kernels count and make the
passes: a fern or a tree is a feature whose cells are categories. Writes ``interactions.csv`` beside this
file, with the columns of ``tables.csv``; the times include the coding.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

from sefr import SEFRClassifier
from sefr._rows.cells import Categories, Cells, Coder
from sefr._rows.inputs import matrix_of
from sefr._rows.matrix import Dense

from .table_methods import BINS, Method
from .tables import run

HERE = Path(__file__).parent
DEPTH = 5
SAMPLE = 2000
Bytes = NDArray[np.uint8]


class Chooser(Protocol):
    """What chooses cells by several features: learned once, before the pass."""

    def learn(self, cells: Bytes, labels: NDArray[Any], ordered: NDArray[np.bool_]) -> None:
        """Look at some rows in bins; ``ordered`` says which features have an order."""

    def code(self, cells: Bytes) -> Bytes:
        """Return the chosen cells of rows in bins, a column per fern or tree."""

    def sizes(self) -> list[int]:
        """Return how many cells each has."""


@dataclass
class Ferns:
    """Random ferns: the comparisons come from a seed, and from nothing else but the numbers of bins."""

    count: int = 200
    seed: int = 0
    features: NDArray[np.intp] = field(init=False)
    bounds: Bytes = field(init=False)
    ordered: NDArray[np.bool_] = field(init=False)

    def learn(self, cells: Bytes, labels: NDArray[Any], ordered: NDArray[np.bool_]) -> None:
        """Draw a feature with two bins or more for each comparison, and one of its bins."""
        rng = np.random.default_rng(self.seed)
        highest = cells.max(axis=0)
        useful = np.flatnonzero(highest > 0)
        self.features = rng.choice(useful, (self.count, DEPTH))
        self.bounds = (1 + rng.random((self.count, DEPTH)) * highest[self.features]).astype(np.uint8)
        self.ordered = ordered

    def code(self, cells: Bytes) -> Bytes:
        """Compare, and take the answers for the digits of a number."""
        columns = np.ascontiguousarray(cells.T)
        out = np.zeros((self.count, len(cells)), dtype=np.uint8)
        for fern, features, bounds in zip(out, self.features, self.bounds, strict=True):
            for feature, bound in zip(features, bounds, strict=True):
                column = columns[feature]
                answers = column >= bound if self.ordered[feature] else column == bound
                fern += fern  # a digit to the left
                fern |= answers.view(np.uint8)
        return np.ascontiguousarray(out.T)

    def sizes(self) -> list[int]:
        """Return 32 for each."""
        return [1 << DEPTH] * self.count


@dataclass
class Leaves:
    """Leaves of trees that scikit-learn grew on a sample of the rows, in bins."""

    trees: int = 100
    leaves: int = 64
    seed: int = 0
    forest: Any = field(init=False)
    places: list[Bytes] = field(init=False)

    def learn(self, cells: Bytes, labels: NDArray[Any], ordered: NDArray[np.bool_]) -> None:
        """Grow the trees, and number the leaves of each."""
        rows = np.random.default_rng(self.seed).permutation(len(cells))[:SAMPLE]
        self.forest = RandomForestClassifier(
            self.trees, max_leaf_nodes=self.leaves, random_state=self.seed, n_jobs=1
        )
        self.forest.fit(cells[rows].astype(np.float32), labels[rows])
        self.places = []
        for tree in self.forest.estimators_:
            is_leaf = tree.tree_.children_left < 0
            self.places.append(np.where(is_leaf, np.cumsum(is_leaf) - 1, 0).astype(np.uint8))

    def code(self, cells: Bytes) -> Bytes:
        """Return the number of the leaf of each row, a column per tree."""
        rows = cells.astype(np.float32)
        out = np.empty((len(cells), self.trees), dtype=np.uint8)
        for j, (tree, place) in enumerate(zip(self.forest.estimators_, self.places, strict=True)):
            out[:, j] = place[tree.tree_.apply(rows)]
        return out

    def sizes(self) -> list[int]:
        """Return how many leaves each tree has."""
        return [int(place.max()) + 1 for place in self.places]


class WithInteractions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """``SEFRClassifier(bins=32)`` with the cells of a chooser beside those of the bins."""

    def __init__(self, chooser: Chooser, passes: int = 20) -> None:
        self.chooser = chooser
        self.passes = passes

    def fit(self, X: Any, y: NDArray[Any]) -> WithInteractions:
        """Cut, choose, count, pass."""
        first = SEFRClassifier(bins=BINS, n_jobs=1).fit(X, y)
        self.coder_ = Coder.of(first.edges_, missing=False)
        ordered = np.array([not isinstance(part, Categories) for part in first.edges_])
        cells = self._bins(X)
        self.chooser.learn(cells, y, ordered)
        parts: list[Any] = [
            part if isinstance(part, Categories) else np.arange(1, len(part) + 1) - 0.5
            for part in first.edges_
        ]
        parts += [Categories(range(size)) for size in self.chooser.sizes()]
        self.model_ = SEFRClassifier(bins=parts, passes=self.passes, n_jobs=1)
        self.model_.fit(self._cells(cells), y)
        self.classes_ = self.model_.classes_
        return self

    def _bins(self, X: Any) -> Bytes:
        return Cells(matrix_of(X, self.coder_.categories), self.coder_).cells

    def _cells(self, cells: Bytes) -> Dense:
        return Dense(np.hstack([cells, self.chooser.code(cells)]))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        return np.asarray(self.model_.predict(self._cells(self._bins(X))))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class."""
        return np.asarray(self.model_.predict_proba(self._cells(self._bins(X))))


def prototypes() -> list[Method]:
    """Return what is measured."""
    return [
        _method("200 ferns drawn blindly, 20 passes", Ferns(200), 20),
        _method("leaves of 100 trees, 20 passes", Leaves(100), 20),
        _method("leaves of 30 trees, 20 passes", Leaves(30), 20),
        _method("leaves of 30 larger trees, 20 passes", Leaves(30, leaves=200), 20),
    ]


def _method(name: str, chooser: Chooser, passes: int) -> Method:
    return Method(name, lambda: WithInteractions(copy.deepcopy(chooser), passes), categories=True)


if __name__ == "__main__":
    run(prototypes(), HERE / "interactions.csv", __doc__ or "")
