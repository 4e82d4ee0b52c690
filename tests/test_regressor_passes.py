"""SEFRRegressor(passes=...): conjugate gradients come to what the products of features give."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sefr import SEFRRegressor, load, save
from sefr._rows.labels import ONE_CLASS, Target
from sefr._rows.matrix import LinearModel, Standardisation
from sefr._summary.source import MemoryRows, SquaredSweep

from .test_regressor import drawn


def test_a_pass_of_the_squared_loss_is_the_product_with_all_rows():
    """The second task goes through the same passes as classes do: here by three rows."""
    X = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]])
    rows = MemoryRows.read(X, [1.0, 2.0, 4.0], np.array([1.0, 2.0, 0.5]), read=Target.of_numbers)
    v = np.array([[0.5, -1.0], [2.0, 1.0]])
    standard = Standardisation(np.zeros(2), np.ones(2))
    found = rows.gradient(SquaredSweep(ONE_CLASS, np.ones(1), standard, LinearModel(v, np.zeros(2))), 1)
    weighted = np.array([1.0, 2.0, 0.5])[:, None] * (X @ v.T)
    np.testing.assert_allclose(found.coef, weighted.T @ X)
    np.testing.assert_allclose(found.intercept, weighted.sum(axis=0))
    assert found.loss == pytest.approx((weighted * (X @ v.T)).sum() / 2)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_enough_passes_give_what_products_of_features_give(seed, k):
    X, y = drawn(seed, k=k)
    exact = SEFRRegressor().fit(X, y)
    reg = SEFRRegressor(moments=1, passes=30).fit(X, y)
    assert reg.n_passes_ <= 8  # five features
    np.testing.assert_array_equal(reg.ridge_, exact.ridge_)
    np.testing.assert_allclose(reg.noise_, exact.noise_, rtol=1e-5)
    np.testing.assert_allclose(reg.predict(X), exact.predict(X), atol=1e-4 * y.std())
    curve = reg.loss_curve_
    assert curve[0] == 1
    assert (np.diff(curve) <= 1e-6).all()
    assert len(curve) == reg.n_passes_


def test_bins_come_near_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + rng.normal(size=3000) / 4
    exact = SEFRRegressor(bins=16).fit(X, y)
    reg = SEFRRegressor(moments=1, bins=16, passes=40).fit(X, y)
    assert reg.score(X, y) == pytest.approx(exact.score(X, y), abs=0.005)
    part, whole = (SEFRRegressor(moments=1, bins=16, passes=p).fit(X, y).score(X, y) for p in (3, 12))
    assert part < whole


@pytest.mark.parametrize("bins", [None, 8])
@pytest.mark.parametrize("made", [sparse.csr_matrix, np.asfortranarray, pd.DataFrame, np.float32])
def test_rows_of_any_kind_weights_and_batches(made, bins):
    X, y = drawn(2)
    X[np.abs(X) < 0.5] = 0
    X = X.astype(np.float32).astype(float)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    params = {"moments": 1, "passes": 6, "bins": bins}
    expected = SEFRRegressor(**params).fit(X, y, weight)
    found = [
        SEFRRegressor(**params).fit(made(X), y, weight),
        SEFRRegressor(**params).fit(
            np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int))
        ),
    ]
    if bins is None:  # edges are of a sample of the batches
        found.append(
            SEFRRegressor(**params).fit_batches(
                [(X[:90], y[:90], weight[:90]), (X[90:], y[90:], weight[90:])]
            )
        )
    for reg in found:
        np.testing.assert_allclose(reg.predict(X), expected.predict(X), atol=1e-3 * y.std())


def test_a_missing_value_counts_as_the_mean_and_threads_change_no_bit():
    X, y = drawn(4, n=3000)
    X[::5, 2] = np.nan
    exact = SEFRRegressor(missing="ignore").fit(X, y)
    reg = SEFRRegressor(moments=1, passes=20, missing="ignore").fit(X, y)
    np.testing.assert_allclose(reg.predict(X), exact.predict(X), atol=1e-4 * y.std())
    other = SEFRRegressor(moments=1, passes=20, missing="ignore", n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(other.predict(X), reg.predict(X))


def test_more_columns_than_products_can_hold():
    rng = np.random.default_rng(0)
    behind = rng.normal(size=(400, 8))
    X = (behind @ rng.normal(size=(8, 17_000)) + rng.normal(size=(400, 17_000))).astype(np.float32)
    y = behind @ rng.normal(size=8) + rng.normal(size=400) / 4
    one, further = (
        SEFRRegressor(moments=1, passes=p).fit(X[:300], y[:300]).score(X[300:], y[300:]) for p in (1, 10)
    )
    assert further > max(one, 0.9)
    with pytest.raises(ValueError, match="use moments=1"):
        SEFRRegressor().fit(X, y)


def test_intervals_cover_the_share_of_new_rows_that_they_say():
    X, y = drawn(7, n=4000)
    reg = SEFRRegressor(moments=1, passes=12).fit(X[:2000], y[:2000])
    _, low, high = reg.predict(X[2000:], interval=0.9)
    assert np.mean((low <= y[2000:]) & (y[2000:] <= high)) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("bins", [None, 6])
def test_a_model_file_gives_the_model_again(bins, tmp_path):
    X, y = drawn(k=2)
    reg = SEFRRegressor(moments=1, passes=5, bins=bins).fit(X, y)
    save(reg, tmp_path / "m.sefr")
    again = load(tmp_path / "m.sefr")
    assert again.loss_curve_ == reg.loss_curve_
    np.testing.assert_array_equal(again.ridge_, reg.ridge_)
    np.testing.assert_array_equal(again.contributions(X), reg.contributions(X))
    for mine, theirs in zip(again.predict(X, interval=0.9), reg.predict(X, interval=0.9), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_what_needs_the_rows_is_refused_and_changes_nothing():
    X, y = drawn()
    reg = SEFRRegressor(moments=1, passes=4).fit(X, y)
    before = reg.fitted_
    for verb in (
        lambda: reg.merge(reg),
        lambda: reg.merge(X, y),
        lambda: reg.forget(X[:5], y[:5]),
        lambda: reg.decay(0.5),
        lambda: SEFRRegressor(moments=1).fit(X, y).merge(reg),
    ):
        with pytest.raises(ValueError, match="no longer available"):
            verb()
    assert not hasattr(reg, "partial_fit")
    with pytest.raises(ValueError, match="a Summary has no rows"):
        SEFRRegressor.from_summary(reg.summary_, moments=1, passes=4)
    with pytest.raises(ValueError, match="set one of them to 1"):
        SEFRRegressor(passes=4).fit(X, y)
    with pytest.raises(ValueError, match="passes must be"):
        SEFRRegressor(moments=1, passes=0).fit(X, y)
    assert reg.fitted_ is before
    assert SEFRRegressor.from_summary(reg.summary_, moments=1).n_passes_ == 1


def test_verbose_shows_the_passes(capsys):
    X, y = drawn()
    SEFRRegressor(moments=1, passes=3, verbose=1).fit(X, y)
    assert capsys.readouterr().err.count("pass ") == 2
    SEFRRegressor(moments=1, passes=3).fit(X, y)
    assert not capsys.readouterr().err
