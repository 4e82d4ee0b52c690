"""Intervals of regressors with interactions: as wide as rows held out were far from their predictions."""

import pickle
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from test_regressor import resealed

from sefr import SEFRRegressor, load, save
from sefr._rows.cells import Cells, Cut
from sefr._rows.cells.grow import grow_ferns, held_out_rows
from sefr._rows.inputs import matrix_of, read_rows
from sefr._rows.labels import Target
from sefr.model_file import ModelFileError, dump, parse


def tailed(seed, n=6000):
    """Two features that tell y together, another that tells it alone, and errors of which a few are large."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 4))
    return X, X[:, 3] + 2 * np.sign(X[:, 1] * X[:, 2]) + rng.standard_t(2.2, n) / 3


@pytest.mark.parametrize("params", [{"bins": 16, "interactions": 20}, {"auto": True}], ids=["ferns", "auto"])
def test_intervals_of_interactions_cover_what_they_say_if_errors_are_not_normal(params):
    shares = (0.5, 0.8, 0.9, 0.95)
    inside = []
    for seed in range(6):
        X, y = tailed(seed)
        reg = SEFRRegressor(**params).fit(X[:3000], y[:3000])
        ends = [reg.predict(X[3000:], interval=share)[1:] for share in shares]
        inside.append([np.mean((low <= y[3000:]) & (y[3000:] <= high)) for low, high in ends])
    assert np.abs(np.mean(inside, axis=0) - shares).max() < 0.02
    # without the rows held out, half of the rows would be two thirds
    of_sums = SEFRRegressor.from_summary(reg.summary_, **params)
    mean, low, high = of_sums.predict(X[3000:], interval=0.5)
    assert np.mean((low <= y[3000:]) & (y[3000:] <= high)) > 0.65
    np.testing.assert_array_equal(mean, reg.predict(X[3000:]))


def test_intervals_of_interactions_are_those_of_residuals_left_out():
    """The rows held out, left out of the sums one by one: what growing and solving knew nothing of."""
    X, y = tailed(0, 400)
    params = {"bins": 8, "interactions": 20}
    reg = SEFRRegressor(**params).fit(X, y)
    held = held_out_rows(Cells(matrix_of(X), replace(reg.summary_.coder, ferns=None)).cells, None)
    assert 60 < held.sum() < 140
    sizes = []
    for i in np.flatnonzero(held):
        without = SEFRRegressor(bins=reg.edges_, interactions=reg.interactions_).fit(
            np.delete(X, i, axis=0), np.delete(y, i)
        )
        mean, std = without.predict(X[i : i + 1], return_std=True)
        sizes.append(abs(y[i] - mean[0]) / std[0])
    found = reg.fitted_.residuals.sizes[0]
    assert len(found) == held.sum()
    np.testing.assert_allclose(found, np.sort(sizes), rtol=0.15, atol=0.05)  # leverage is a typical one
    std_of_sums = SEFRRegressor.from_summary(reg.summary_, **params).predict(X, return_std=True)[1]
    ratio = reg.predict(X, return_std=True)[1] / std_of_sums
    np.testing.assert_allclose(ratio, np.sqrt(np.mean(found**2)), rtol=1e-9)
    # the least that more than 0.8 of them, and the new row beside them, lie below; beyond them all, Student's
    mean, _, high = reg.predict(X, interval=0.8)
    np.testing.assert_allclose((high - mean) / std_of_sums, found[int(np.ceil(0.8 * (held.sum() + 1))) - 1])
    mean, _, high = reg.predict(X, interval=0.9999)
    assert ((high - mean) / std_of_sums).min() >= found[-1] - 1e-9


def test_rows_held_out_are_those_that_growing_holds_out():
    """Ferns are the same if they are told which rows: see grow.c."""
    X, y = tailed(1, 1500)
    rows, _ = read_rows(X, y, None, Cut.of(16, "minmax", "error", None, 2), Target.of_numbers)
    held = held_out_rows(rows.matrix.cells, None)
    assert 0.2 < held.mean() < 0.3
    grown = [grow_ferns(rows, rows.matrix.coder, 10, given, moments=2) for given in (None, held, ~held)]
    assert grown[0] == grown[1] != grown[2]
    few = rows.take(np.arange(127))
    assert not held_out_rows(few.matrix.cells, None).any()
    assert held_out_rows(few.matrix.cells, np.full(127, 2.0)).any()


def test_what_rows_held_out_have_told_stays_with_the_model(tmp_path):
    X, y = tailed(2, 1800)
    params = {"bins": 16, "interactions": 10}
    often = 1 + (np.abs(y) < 1) + np.random.default_rng(2).integers(0, 2, len(y))
    reg = SEFRRegressor(**params).fit(np.repeat(X, often, axis=0), np.repeat(y, often))
    known = reg.fitted_.residuals
    weighted = SEFRRegressor(**params).fit(X, y, sample_weight=often)
    np.testing.assert_allclose(weighted.predict(X, interval=0.7), reg.predict(X, interval=0.7), rtol=1e-6)

    save(reg, tmp_path / "m.sefr")
    for again in (load(tmp_path / "m.sefr"), pickle.loads(pickle.dumps(reg)), deepcopy(reg)):  # noqa: S301
        np.testing.assert_array_equal(again.predict(X, interval=0.7), reg.predict(X, interval=0.7))
        np.testing.assert_array_equal(again.predict(X, return_std=True), reg.predict(X, return_std=True))
    same = {"bins": reg.edges_, "interactions": reg.interactions_}
    given = SEFRRegressor(**same).fit(X, y)
    assert given.fitted_.residuals is None
    for learn in (
        lambda: reg.partial_fit(X[:500], y[:500]),
        lambda: reg.forget(X[:500], y[:500]),
        lambda: reg.merge(given),
        lambda: reg.decay(0.5),
    ):
        before = reg.predict(X, interval=0.7)[2] - reg.predict(X)
        learn()
        assert reg.fitted_.residuals is known
        assert (reg.predict(X, interval=0.7)[2] - reg.predict(X) != before).any()
    assert given.merge(reg).fitted_.residuals is known
    first = SEFRRegressor(**params).partial_fit(X, y)
    np.testing.assert_array_equal(
        first.fitted_.residuals.sizes, SEFRRegressor(**params).fit(X, y).fitted_.residuals.sizes
    )
    assert SEFRRegressor(**params).fit(X[:100], y[:100]).fitted_.residuals is None  # all had a say in ferns


def test_every_output_has_its_own_residuals():
    X, y = tailed(3, 3000)
    other = X[:, 0] + np.random.default_rng(3).normal(0, 0.2, len(X))
    reg = SEFRRegressor(bins=16, interactions=10).fit(X[:1500], np.column_stack([y, other])[:1500])
    _, low, high = reg.predict(X[1500:], interval=0.5)
    inside = [np.mean((low[:, k] <= t) & (t <= high[:, k])) for k, t in enumerate((y[1500:], other[1500:]))]
    assert np.abs(np.array(inside) - 0.5).max() < 0.06
    assert reg.fitted_.residuals.quantile(0.5, 1500)[0] < 0.8 * reg.fitted_.residuals.quantile(0.5, 1500)[1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sizes": [[1, 2]]}, "list of 2"),
        ({"sizes": []}, "list of numbers per output"),
        ({"sizes": 3}, "list of numbers per output"),
        ({"sizes": [[2, 1]], "shares": [[0.3, 0.6]]}, "sizes must rise"),
        ({"sizes": [[-1, 1]], "shares": [[0.3, 0.6]]}, "sizes must rise"),
        ({"sizes": [[1, 1]], "shares": [[0.6, 0.6]]}, "shares must rise"),
        ({"sizes": [[1, 1]], "shares": [[0.6, 1]]}, "shares must rise"),
        ({"more": 1}, "does not know"),
    ],
)
def test_residuals_in_a_file_that_do_not_hold_together_are_refused(change, words):
    X, y = tailed(4, 300)
    content = dump(SEFRRegressor(bins=4, interactions=2).fit(X, y))
    with pytest.raises(ModelFileError, match=words):
        parse(resealed(content, lambda members: members["calibration"].update(change)))
