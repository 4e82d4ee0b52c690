"""Five tables of two classes that overlap: three dense, two sparse; rows of the same draw are held out.

Features have mean 0 and variance 1 (dense) or lie in [0, 1] (sparse), so that no method needs to scale them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

HELD_OUT = 20_000


class Shape(NamedTuple):
    """How many rows to train on, features, and stored values per row; ``cost`` is the C of the ridge penalty.

    The C is the one of 0.0003, 0.001, 0.003, ... 30 at which scikit-learn's logistic regression has the
    lowest loss on the rows held out: every method but sefr is told it, sefr is not.
    """

    rows: int
    features: int
    stored: int
    cost: float

    @property
    def name(self) -> str:
        """The words of the tables."""
        kind = "dense" if self.stored == self.features else f"sparse, {self.stored} per row"
        return f"{self.rows:,} x {self.features:,} {kind}"

    @property
    def values(self) -> int:
        """How many values are stored."""
        return self.rows * self.stored


SHAPES = (
    Shape(20_000, 1_000, 1_000, 0.003),
    Shape(400_000, 40, 40, 1.0),
    Shape(1_000_000, 100, 100, 1.0),
    Shape(100_000, 10_000, 100, 3.0),
    Shape(1_000_000, 100_000, 30, 3.0),
)
QUICK = (Shape(5_000, 200, 200, 0.01), Shape(40_000, 40, 40, 1.0), Shape(20_000, 5_000, 30, 3.0))


class Table(NamedTuple):
    """Rows to learn from, their labels, 0 and 1, and those held out; floats of 32 bits."""

    X: Any
    y: Any
    X_new: Any
    y_new: Any


def table(shape: Shape) -> Table:
    """Return the rows of a shape, always the same ones."""
    rng = np.random.default_rng(shape.features)
    n = shape.rows + HELD_OUT
    made: Callable[..., Any] = _dense if shape.stored == shape.features else _sparse
    X, scores = made(rng, n, shape)
    # A third of the rows are positive; about a fifth lies on the wrong side of the best line.
    chance = 1 / (1 + np.exp(-(2 * (scores - scores.mean()) / scores.std() - 1)))
    y = (rng.random(n) < chance).astype(np.int64)
    return Table(X[: shape.rows], y[: shape.rows], X[shape.rows :], y[shape.rows :])


def _dense(rng: np.random.Generator, n: int, shape: Shape) -> tuple[Any, Any]:
    """Return normal features that five hidden ones correlate, and what decides the label."""
    loadings = rng.normal(size=(5, shape.features)).astype(np.float32)
    X = rng.standard_normal((n, shape.features), dtype=np.float32)
    X += rng.standard_normal((n, 5), dtype=np.float32) @ loadings
    X /= np.sqrt(1 + (loadings**2).sum(axis=0))
    return X, X @ rng.laplace(size=shape.features).astype(np.float32)


def _sparse(rng: np.random.Generator, n: int, shape: Shape) -> tuple[Any, Any]:
    """Return rows like tf-idf of texts, of length 1: few features are frequent, most are rare (Zipf)."""
    m = shape.features
    # By the inverse of the distribution function of 1 / (rank + 10); repeated features of a row are added.
    ranks = (10 * ((m + 10) / 10) ** rng.random(n * shape.stored) - 10).astype(np.int32)
    columns = rng.permutation(m).astype(np.int32)[np.minimum(ranks, m - 1)]
    starts = np.arange(0, n * shape.stored + 1, shape.stored, dtype=np.int32)
    values = np.ones(n * shape.stored, dtype=np.float32)
    X = sparse.csr_matrix((values, columns, starts), shape=(n, m))
    X.sum_duplicates()
    rarity = 1 + np.log((1 + n) / (1 + np.bincount(X.indices, minlength=m)))
    X.data *= rarity[X.indices].astype(np.float32)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(lengths, np.diff(X.indptr)).astype(np.float32)
    return X, X @ rng.laplace(size=m).astype(np.float32)
