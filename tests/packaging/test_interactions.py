"""The prototype of interactions: its cells are what they are said to be, and see what bins cannot."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from sefr import SEFRClassifier

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from benchmarks.accuracy.interactions import DEPTH, Ferns, Leaves, WithInteractions  # noqa: E402
from benchmarks.accuracy.tables import TableOfRows, folds  # noqa: E402

sys.path.remove(str(ROOT))


def test_the_cell_of_a_fern_is_five_answers_read_as_a_number() -> None:
    cells = np.random.default_rng(0).integers(0, 8, (50, 4), dtype=np.uint8)
    ferns, ordered = Ferns(7), np.array([True, True, False, True])
    ferns.learn(cells, np.zeros(50), ordered)
    expected = np.zeros((50, 7), dtype=np.uint8)
    for row, found in zip(cells, expected, strict=True):
        for fern in range(7):
            for step in range(DEPTH):
                feature, bound = ferns.features[fern, step], ferns.bounds[fern, step]
                yes = row[feature] >= bound if ordered[feature] else row[feature] == bound
                found[fern] = 2 * found[fern] + yes
    assert np.array_equal(ferns.code(cells), expected)
    assert len(np.unique(expected)) > 8


def test_rows_in_the_same_leaf_have_the_same_cell_and_others_another() -> None:
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 32, (400, 3), dtype=np.uint8)
    leaves = Leaves(trees=3, leaves=8)
    leaves.learn(cells, rng.integers(0, 2, 400), np.ones(3, dtype=bool))
    found = leaves.code(cells)
    for tree, column in zip(leaves.forest.estimators_, found.T, strict=True):
        reached = tree.tree_.apply(cells.astype(np.float32))
        pairs = set(zip(reached.tolist(), column.tolist(), strict=True))
        assert len(pairs) == len(set(reached.tolist())) == len(set(column.tolist()))
    assert leaves.sizes() == [8, 8, 8]


def test_interactions_see_what_bins_cannot() -> None:
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.normal(size=1200), "b": rng.normal(size=1200)})
    X["c"] = pd.Categorical(rng.choice(["x", "y"], 1200))
    y = np.where((X["a"] > 0) ^ (X["b"] > 0), "odd", "even")
    train, test = slice(800), slice(800, None)
    bins = SEFRClassifier(bins=32, passes=10).fit(X[train], y[train])
    assert (bins.predict(X[test]) == y[test]).mean() < 0.65
    for chooser in (Ferns(60), Leaves(10, leaves=16)):
        found = WithInteractions(chooser, 10).fit(X[train], y[train])
        assert (found.predict(X[test]) == y[test]).mean() > 0.85
        assert np.allclose(found.predict_proba(X[test]).sum(axis=1), 1)


def test_folds_are_as_documented() -> None:
    for n, count, held_out in ((400, 5, 40), (1000, 5, 200), (3000, 2, 600)):
        cut = folds(np.arange(n) % 2)
        assert [len(test) for _, test in cut] == [held_out] * count


def test_categories_are_a_column_per_value_where_a_method_knows_numbers_only() -> None:
    table = TableOfRows(np.array([[1.5], [2.5], [3.5]]), np.array([[0], [2], [0]]), np.array([0, 1, 0]))
    assert table.columns.tolist() == [[1.5, 1, 0], [2.5, 0, 1], [3.5, 1, 0]]
    assert str(table.frame["c0"].dtype) == "category"
