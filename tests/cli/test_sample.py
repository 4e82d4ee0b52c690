"""The sample that is taken while files are read."""

import numpy as np
import pandas as pd

from sefr.cli.sample import Sampled
from sefr.files import open_dataset


def sample_of(n, most, seed=0):
    frame = pd.DataFrame({"x": np.arange(n), "y": np.arange(n) % 3})
    frame.to_csv("t.csv", index=False)
    table = open_dataset(["t.csv"])
    recipe = table.recipe("y")
    sampled = Sampled(table, recipe, most, seed)
    read = sum(len(batch) for batch, *_rest in sampled.labelled(recipe, "y"))
    assert read == sampled.seen == n
    return sampled, recipe


def test_few_rows_are_all_kept_in_order():
    sampled, _recipe = sample_of(100, 200)
    X, y = sampled.rows()
    np.testing.assert_array_equal(X[:, 0], np.arange(100))
    assert [str(label) for label in y] == [str(i % 3) for i in range(100)]


def test_every_row_is_as_likely_as_any_other_across_batches():
    n, most = 200_000, 2_000  # four batches
    sampled, _recipe = sample_of(n, most)
    X, y = sampled.rows()
    assert len(X) == len(set(X[:, 0])) == most
    assert (X[:, 0] % 3 == y.astype(int)).all()
    counts = np.histogram(X[:, 0], bins=10, range=(0, n))[0]
    assert ((counts - most / 10) ** 2 / (most / 10)).sum() < 30  # chi-squared, 9 degrees of freedom


def test_a_second_reading_changes_nothing():
    sampled, recipe = sample_of(500, 100)
    before = sampled.rows()[0].copy()
    for _batch in sampled.labelled(recipe, "y"):
        pass
    np.testing.assert_array_equal(sampled.rows()[0], before)
