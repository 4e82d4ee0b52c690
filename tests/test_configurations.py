"""One list of properties, held by every configuration: a new setting or estimator costs one line here.

Values are whole numbers, so that sums are exact in any order; ranges are known or edges shared, so that rows
leave nothing behind but their sums.
"""

import pickle
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from sefr import SEFRClassifier, SEFRRegressor, Summary, load, save

RANGES = (-32.0, 64.0)
SEEDS = range(3)


@cache
def rows_of(seed, numbers):
    """Return rows that features tell alone and together, and their classes or numbers."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-30, 31, size=(240, 4)).astype(float)
    y = X[:, 0] + X[:, 1] ** 2 // 10 + 40 * ((X[:, 2] > 0) == (X[:, 3] > 4)) + rng.integers(-9, 10, len(X))
    if not numbers:
        y = np.digitize(y, np.quantile(y, [0.3, 0.7] if seed % 2 else [0.5]))
    return X, y


@cache
def interactions_of(numbers):
    """Return edges and interactions that models of different rows share."""
    X, y = rows_of(99, numbers)
    make = SEFRRegressor if numbers else SEFRClassifier
    grown = make(bins=8, interactions=6).fit(X, y)
    return {"bins": grown.edges_, "interactions": grown.interactions_}


class Configuration(NamedTuple):
    """An estimator with settings; ``shared``: its edges and interactions come from rows of their own."""

    numbers: bool
    params: dict
    shared: bool = False

    def make(self, **more):
        params = {**self.params, **(interactions_of(self.numbers) if self.shared else {}), **more}
        return (SEFRRegressor if self.numbers else SEFRClassifier)(**params)

    def rows(self, seed):
        return rows_of(seed, self.numbers)


# Learned by sums alone: rows may be added, merged and taken back exactly.
SUMS = {
    "paper": Configuration(False, {"scale": RANGES}),
    "class weights": Configuration(False, {"scale": RANGES, "class_weight": "balanced"}),
    "missing": Configuration(False, {"scale": RANGES, "missing": "ignore"}),
    "bins": Configuration(False, {"scale": RANGES, "bins": 8}),
    "interactions": Configuration(False, {}, shared=True),
    "moments": Configuration(False, {"scale": RANGES, "moments": 2}),
    "moments, bins": Configuration(False, {"scale": RANGES, "moments": 2, "bins": 8}),
    "moments, interactions": Configuration(False, {"moments": 2}, shared=True),
    "numbers": Configuration(True, {"scale": RANGES}),
    "numbers, bins": Configuration(True, {"scale": RANGES, "bins": 8}),
    "numbers, interactions": Configuration(True, {}, shared=True),
}
# Learned from the rows themselves.
ROWS = {
    "passes": Configuration(False, {"passes": 5}),
    "passes, bins": Configuration(False, {"passes": 5, "bins": 8}),
    "passes, interactions": Configuration(False, {"passes": 5, "bins": 8, "interactions": 6}),
    "auto": Configuration(False, {"auto": True}),
    "numbers, auto": Configuration(True, {"auto": True}),
}
ALL = SUMS | ROWS


def over(configurations):
    return pytest.mark.parametrize("made", configurations.values(), ids=configurations.keys())


def answers(model, X):
    return model.predict(X) if isinstance(model, SEFRRegressor) else model.decision_function(X)


def assert_same(a, b, X, exact=False, extremes=True):
    """Assert that two models know the same and answer alike: to the bit, or as far as solving rounds.

    Extremes are those of all rows ever seen, so that those of forgotten rows stay.
    """
    if extremes:
        assert a.summary_ == b.summary_
    else:
        np.testing.assert_array_equal(a.summary_.sums, b.summary_.sums)
        np.testing.assert_array_equal(a.summary_.n_rows, b.summary_.n_rows)
    if exact:
        np.testing.assert_array_equal(answers(a, X), answers(b, X))
    else:
        np.testing.assert_allclose(answers(a, X), answers(b, X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
@over(SUMS)
def test_the_order_of_rows_changes_nothing(made, seed):
    X, y = made.rows(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    assert_same(made.make().fit(X, y), made.make().fit(X[order], y[order]), X)


@pytest.mark.parametrize("seed", SEEDS)
@over(SUMS)
def test_weight_two_is_a_row_twice_and_zero_is_its_absence(made, seed):
    X, y = made.rows(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    weighted = made.make().fit(X, y, sample_weight=weight)
    assert_same(weighted, made.make().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)), X)


@pytest.mark.parametrize("seed", SEEDS)
@over(SUMS)
def test_merge_is_union_and_forget_is_never_seen(made, seed):
    X, y = made.rows(seed)
    mine = np.random.default_rng(seed).random(len(y)) < 0.5
    a, b = made.make().fit(X[mine], y[mine]), made.make().fit(X[~mine], y[~mine])
    merged = clone(a).fit(X[mine], y[mine]).merge(b)
    assert_same(merged, made.make().fit(X, y), X)
    assert_same(merged.forget(X[~mine], y[~mine]), a, X, extremes=False)
    assert_same(merged.partial_fit(X[~mine], y[~mine]).forget(a), b, X, extremes=False)


@pytest.mark.parametrize("step", [11, 239])
@over(SUMS)
def test_batches_equal_one_fit(made, step):
    X, y = made.rows(1)
    first = 40 if made.numbers else 0  # one number alone is no regression
    clf = made.make()
    if first:
        clf.partial_fit(X[:first], y[:first])
    for start in range(first, len(y), step):
        classes = {} if made.numbers else {"classes": np.unique(y)}
        clf.partial_fit(X[start : start + step], y[start : start + step], **classes)
    assert_same(clf, made.make().fit(X, y), X)


@over(SUMS)
def test_a_summary_gives_the_model_again_also_as_bytes(made):
    X, y = made.rows(2)
    model = made.make().fit(X, y)
    again = Summary.from_bytes(model.summary_.to_bytes())
    assert again == model.summary_
    assert_same(type(model).from_summary(again, **model.get_params()), model, X, exact=True)


@over(SUMS)
def test_decay_makes_earlier_rows_count_less(made):
    X, y = made.rows(0)
    old = np.arange(len(y)) < 120
    decayed = made.make().fit(X[old], y[old]).decay(0.5).partial_fit(X[~old], y[~old])
    assert_same(decayed, made.make().fit(X, y, sample_weight=np.where(old, 0.5, 1.0)), X)


@over(ALL)
def test_contributions_add_up(made):
    X, y = made.rows(1)
    model = made.make().fit(X, y)
    base = np.ravel(model.predict(X) - model.contributions(X).sum(axis=1)) if made.numbers else None
    if made.numbers:
        np.testing.assert_allclose(base, base[0], atol=1e-9)
    else:
        np.testing.assert_allclose(model.contributions(X).sum(axis=-1), answers(model, X), atol=1e-9)


@over(ALL)
def test_threads_change_no_bit(made):
    many = 20 if made.params.get("auto") else 300  # more rows than a thread takes at once
    X, y = (np.concatenate([part] * many) for part in made.rows(1))
    one, three = (made.make(n_jobs=jobs).fit(X, y) for jobs in (1, 3))
    assert_same(one, three, X, exact=True)


@over(ALL)
def test_a_file_a_pickle_and_a_copy_hold_the_model(made, tmp_path):
    X, y = made.rows(0)
    model = made.make().fit(X, y)
    save(model, tmp_path / "model.sefr")
    for again in (load(tmp_path / "model.sefr"), pickle.loads(pickle.dumps(model))):  # noqa: S301
        assert_same(again, model, X, exact=True)


KINDS = {
    "float32": lambda X: X.astype(np.float32),
    "int8": lambda X: X.astype(np.int8),
    "uint8": lambda X: X.astype(np.uint8),
    "by columns": np.asfortranarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "pandas": lambda X: pd.DataFrame(X, columns=[*"abcd"]),
    "polars": lambda X: pl.DataFrame(X, schema=[*"abcd"]),
    "arrow": lambda X: pa.table({name: X[:, j] for j, name in enumerate("abcd")}),
}


# auto=True is a sum of the others: two kinds are enough.
OF_KINDS = [
    (name, kind)
    for name in ALL
    for kind in KINDS
    if not ALL[name].params.get("auto") or kind in ("csr", "pandas")
]


@pytest.mark.parametrize(("name", "kind"), OF_KINDS)
def test_every_kind_of_rows_gives_the_same_model(name, kind):
    made = ALL[name]
    X, y = made.rows(2)
    X = X + 30  # bytes have no sign
    model = made.make().fit(KINDS[kind](X), y)
    np.testing.assert_allclose(
        answers(model, KINDS[kind](X)), answers(made.make().fit(X, y), X), rtol=2e-5, atol=2e-5
    )
