"""SEFRRegressor: equal to the reference, whatever rows come as and in whatever order verbs learn them."""

import hashlib
import json
import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.base import clone, is_regressor
from sklearn.linear_model import BayesianRidge
from sklearn.metrics import PredictionErrorDisplay, r2_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.multioutput import MultiOutputRegressor

from sefr import SEFRClassifier, SEFRRegressor, Summary, cross_validate, load, save
from sefr.model_file import CLOSING, SEAL, ModelFileError, dump, parse
from sefr.reference import ridge_regression

RANGES = (-50.0, 50.0)


def drawn(seed=0, n=300, m=5, k=1):
    """Rows whose features correlate, of other scales; y is a line and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) @ rng.normal(size=(m, m)) * 2.0 ** rng.integers(-3, 2, m)
    y = X @ rng.normal(size=(m, k)) + rng.normal(size=(n, k)) * rng.uniform(0.5, 2)
    return X, y[:, 0] if k == 1 else y


def assert_alike(a, b, X, rtol=1e-10):
    """Two models, or a model and predictions, say the same within a part of how far predictions spread."""
    mine = a.predict(X)
    theirs = b.predict(X) if hasattr(b, "predict") else b
    np.testing.assert_allclose(mine, np.reshape(theirs, mine.shape), rtol=0, atol=rtol * np.std(theirs))


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_predictions_are_those_of_the_reference(seed, k):
    X, y = drawn(seed, k=k)
    new = drawn(seed + 50, k=k)[0]
    reg, other = SEFRRegressor().fit(X, y), ridge_regression(X, y)
    assert_alike(reg, other, new)
    np.testing.assert_array_equal(np.atleast_1d(reg.ridge_), other.ridge)
    np.testing.assert_allclose(np.atleast_2d(reg.coef_), other.weights, rtol=1e-9)
    np.testing.assert_allclose(X @ reg.coef_.T + reg.intercept_, reg.predict(X), rtol=1e-9, atol=1e-9)
    assert reg.predict(X).shape == y.shape
    assert reg.score(X, y) == pytest.approx(r2_score(y, other.predict(X)))


def test_weights_of_rows_are_those_of_the_reference():
    X, y = drawn(k=2)
    weight = np.random.default_rng(1).gamma(2, size=len(y))
    reg = SEFRRegressor().fit(X, y, sample_weight=weight)
    assert_alike(reg, ridge_regression(X, y, weight), X, rtol=1e-12)


@pytest.mark.parametrize("offset_x", [0.0, 1e9])
@pytest.mark.parametrize("offset_y", [0.0, -1e9])
@pytest.mark.parametrize("way", ["fit", "batches", "forget"])
def test_offsets_lose_no_digits(offset_x, offset_y, way):
    """Against the reference on the same numbers; predictions near 1e9 are rounded to 1.2e-7 themselves."""
    X, y = drawn(3, n=200)
    X[:, 1] += offset_x
    y += offset_y
    if way == "fit":
        reg = SEFRRegressor().fit(X, y)
    elif way == "batches":
        reg = SEFRRegressor().fit_batches([(X[:7], y[:7]), (X[7:120], y[7:120]), (X[120:], y[120:])])
    else:
        more, z = drawn(4, n=100)  # whose offset is another
        reg = SEFRRegressor().fit(more, z).partial_fit(X, y).forget(more, z)
    expected = ridge_regression(X, y).predict(X)[:, 0]
    tolerance = 1e-10 * np.std(expected) + 2 * np.spacing(abs(offset_y))
    np.testing.assert_allclose(reg.predict(X), expected, rtol=0, atol=tolerance)
    parts = reg.contributions(X).sum(axis=1) + reg.base_
    np.testing.assert_allclose(parts, reg.predict(X), rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "made",
    [
        lambda X: np.asfortranarray(X),
        lambda X: X.astype(">f8"),
        lambda X: X.tolist(),
        sparse.csr_matrix,
        sparse.csc_matrix,
        lambda X: pd.DataFrame(X, columns=list("abcde")),
        lambda X: pl.DataFrame(X, schema=list("abcde")),
        lambda X: pl.DataFrame(X, schema=list("abcde")).to_arrow(),
    ],
    ids=["fortran", "swapped", "lists", "csr", "csc", "pandas", "polars", "arrow"],
)
@pytest.mark.parametrize("bins", [None, 8])
def test_rows_of_any_kind(made, bins):
    X, y = drawn()
    X[np.abs(X) < 0.5] = 0  # for what is sparse
    reg = SEFRRegressor(bins=bins).fit(made(X), y)
    expected = SEFRRegressor(bins=bins).fit(X, y)
    np.testing.assert_allclose(reg.predict(made(X)), expected.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bins", [None, 8])
def test_y_of_any_kind(bins):
    X, y = drawn()
    y = np.round(y * 4)
    expected = SEFRRegressor(bins=bins).fit(X, y).predict(X)
    kinds = [y.astype(int), y.astype(np.float32), y.tolist(), pd.Series(y), pl.Series(y), y.astype(object)]
    for given_y in [*kinds, y[:, None], pd.DataFrame({"y": y})]:
        np.testing.assert_array_equal(SEFRRegressor(bins=bins).fit(X, given_y).predict(X), expected)


# Verbs. One ridge of a grid is chosen, so models are alike to rounding unless two of them are as likely.


@given(st.integers(0, 10**6), st.lists(st.sampled_from(["fit", "merge", "forget", "summary"]), max_size=4))
@pytest.mark.parametrize("bins", [None, 6])
def test_any_sequence_of_verbs_equals_a_fit_of_the_rows_that_are_left(bins, seed, verbs):
    X, y = drawn(seed % 50, n=400)
    X = np.clip(X, -49, 49)
    params = {"bins": bins, "scale": RANGES}
    here = np.arange(len(y)) < 150
    reg = SEFRRegressor(**params).fit(X[here], y[here])
    rng = np.random.default_rng(seed)
    for verb in verbs:
        some = np.zeros(len(y), dtype=bool)
        some[rng.choice(np.flatnonzero(here if verb == "forget" else ~here), 30, replace=False)] = True
        if verb == "fit":
            reg.partial_fit(X[some], y[some])
        elif verb == "merge":
            reg.merge(SEFRRegressor(**params).fit(X[some], y[some]))
        elif verb == "summary":
            reg.merge(Summary.from_bytes(SEFRRegressor(**params).fit(X[some], y[some]).summary_.to_bytes()))
        else:
            reg.forget(X[some], y[some])
        here ^= some
    exact = SEFRRegressor(**params).fit(X[here], y[here])
    assert reg.summary_.n_rows == here.sum()
    assert_alike(reg, exact, X)
    np.testing.assert_allclose(reg.predict(X, return_std=True)[1], exact.predict(X, return_std=True)[1])


@pytest.mark.parametrize("bins", [None, 6])
def test_weight_two_is_a_row_twice_and_zero_is_its_absence(bins):
    X, y = drawn(k=2)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    params = {"bins": bins, "scale": RANGES}
    a = SEFRRegressor(**params).fit(X, y, sample_weight=weight)
    b = SEFRRegressor(**params).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    assert_alike(a, b, X)
    np.testing.assert_allclose(a.predict(X, return_std=True)[1], b.predict(X, return_std=True)[1])


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("missing", ["error", "ignore"])
@pytest.mark.parametrize(
    "estimator",
    [
        SEFRRegressor(),
        SEFRRegressor(moments=1),
        SEFRRegressor(bins=8),
        SEFRRegressor(auto=True),
        SEFRClassifier(bins=8, passes=3),
        SEFRClassifier(moments=2, bins=8),
    ],
    ids=repr,
)
def test_a_row_of_weight_0_may_hold_any_value(estimator, missing, layout):
    """NaN times 0 is NaN: found by sequences."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(60, 3)), rng.normal(size=60), np.ones(60)
    y = y if is_regressor(estimator) else (y > 0).astype(int)
    weight[[4, 9]] = 0
    expected = clone(estimator).set_params(missing=missing).fit(layout(X[weight > 0]), y[weight > 0])
    X[4, 1], X[9, 0] = np.nan, np.inf
    found = clone(estimator).set_params(missing=missing).fit(layout(X), y, sample_weight=weight)
    np.testing.assert_allclose(found.predict(X[10:]), expected.predict(X[10:]), rtol=1e-7)


def test_rows_of_weight_0_cost_a_sparse_column_far_from_zero_no_digits():
    rng = np.random.default_rng(0)
    X, weight = 1e9 + rng.normal(size=(50, 2)), np.repeat([1.0, 0.0], 25)
    y = X[:, 0] - 1e9
    expected = SEFRRegressor(missing="ignore").fit(X[:25], y[:25]).predict(X[:25])
    X[25:, 1] = np.nan
    found = SEFRRegressor(missing="ignore").fit(sparse.csr_matrix(X), y, sample_weight=weight)
    np.testing.assert_allclose(found.predict(X[:25]), expected, rtol=0, atol=1e-7)


def test_decay_makes_earlier_rows_count_less():
    X, y = drawn()
    reg = SEFRRegressor().fit(X[:200], y[:200]).decay(0.25).partial_fit(X[200:], y[200:])
    weight = np.where(np.arange(len(y)) < 200, 0.25, 1.0)
    assert_alike(reg, SEFRRegressor().fit(X, y, sample_weight=weight), X)
    for factor in (0, 1.5, "half", np.nan):
        with pytest.raises(ValueError, match="factor"):
            reg.decay(factor)


@pytest.mark.parametrize("bins", [None, 6])
def test_batches_equal_a_fit(bins):
    X, y = drawn(n=500)
    parts = [(X[:10], y[:10]), (X[10:400], y[10:400]), (X[400:], y[400:], np.ones(100))]
    reg = SEFRRegressor(bins=bins, scale=RANGES).fit_batches(parts)
    assert_alike(reg, SEFRRegressor(bins=bins, scale=RANGES).fit(X, y), X)


def test_the_same_bits_for_any_number_of_threads():
    X, y = drawn(n=5000)
    one, three = (SEFRRegressor(n_jobs=jobs, bins=8).fit(X, y) for jobs in (1, 3))
    np.testing.assert_array_equal(one.predict(X), three.predict(X))
    assert one.summary_ == three.summary_


def test_other_features_outputs_and_tasks_do_not_merge():
    X, y = drawn()
    reg = SEFRRegressor().fit(X, y)
    before = reg.fitted_
    others = [
        (SEFRRegressor().fit(X[:, :3], y), ValueError, "features"),
        (SEFRRegressor().fit(X, np.column_stack([y, y])), ValueError, "targets"),
        (SEFRClassifier().fit(X, y > 0), TypeError, "another SEFRRegressor"),
        (SEFRClassifier(moments=2).fit(X, y > 0).summary_, ValueError, "targets"),
        (SEFRRegressor(bins=4).fit(X, y), ValueError, "bins"),
        (3, TypeError, "their numbers"),
    ]
    for other, error, words in others:
        for verb in (reg.merge, reg.forget):
            with pytest.raises(error, match=words):
                verb(other)
    with pytest.raises(ValueError, match="away"):
        reg.forget(X[:5] + 1000, y[:5])
    with pytest.raises(ValueError, match="of classes"):
        SEFRRegressor.from_summary(SEFRClassifier().fit(X, y > 0).summary_)
    assert reg.fitted_ is before


def test_a_summary_gives_the_model_again():
    X, y = drawn(k=2)
    frame = pd.DataFrame(X, columns=list("abcde"))
    for params in ({}, {"bins": 5}):
        reg = SEFRRegressor(**params).fit(frame, y)
        again = SEFRRegressor.from_summary(Summary.from_bytes(reg.summary_.to_bytes()), **params)
        np.testing.assert_array_equal(again.predict(frame), reg.predict(frame))
        assert list(again.feature_names_in_) == list("abcde")
        assert repr(reg.summary_) == "<Summary: 300 rows, 5 features, 2 targets>"
    with pytest.raises(TypeError, match="takes a Summary"):
        SEFRRegressor.from_summary(X)


# Curves, categories, missing values.


def test_bins_find_curves_and_their_effects_add_up():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (4000, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + rng.normal(0, 0.1, len(X))
    reg = SEFRRegressor(bins=32).fit(X, y)
    assert SEFRRegressor().fit(X, y).score(X, y) < 0.1
    assert reg.score(X, y) > 0.98
    first, second = reg.curves_
    middle = (first.ends()[1:] + first.ends()[:-1]) / 2
    expected = np.sin(2 * middle) - np.mean(np.sin(2 * X[:, 0]))
    np.testing.assert_allclose(first.effects[0][1:-1], expected[1:-1], atol=0.1)
    for curve in (first, second):  # a curve is 0 in the mean of the rows
        assert abs(curve.effects[0] @ curve.rows) < 1e-9 * len(X)
    assert not hasattr(reg, "coef_")
    with pytest.raises(AttributeError, match="curves_"):
        _ = reg.coef_


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("bins", [None, 6])
def test_contributions_add_up_to_the_prediction_less_the_base(bins, k):
    X, y = drawn(k=k)
    X[::7, 2] = np.nan
    reg = SEFRRegressor(bins=bins, missing="ignore").fit(X, y)
    parts = reg.contributions(X)
    assert parts.shape == ((len(X), 5) if k == 1 else (len(X), 2, 5))
    np.testing.assert_allclose(parts.sum(axis=-1) + reg.base_, reg.predict(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(reg.base_, y.mean(axis=0), rtol=1e-12)
    if bins is None:
        assert (parts[::7, ..., 2] == 0).all()


def test_a_missing_value_counts_as_the_mean_of_its_feature():
    X, y = drawn(n=500)
    gone = np.random.default_rng(0).random(X.shape) < [0.3, 0.1, 0, 0, 0]
    mean = np.array([X[~gone[:, j], j].mean() for j in range(5)])
    holes, filled = np.where(gone, np.nan, X), np.where(gone, mean, X)
    reg = SEFRRegressor(missing="ignore").fit(holes, y)
    assert_alike(reg, ridge_regression(filled, y).predict(filled), holes)
    merged = SEFRRegressor(missing="ignore").fit(holes[:250], y[:250]).partial_fit(holes[250:], y[250:])
    assert_alike(merged, reg, holes)
    np.testing.assert_allclose(
        reg.predict(holes, return_std=True)[1], reg.predict(filled, return_std=True)[1], rtol=1e-9
    )
    with pytest.raises(ValueError, match="row 0, column 0"):
        SEFRRegressor().fit(np.where(np.arange(500)[:, None] == 0, np.nan, X), y)


def test_categories_and_missing_values_have_bins():
    rng = np.random.default_rng(0)
    colour = pd.Categorical(rng.choice(["red", "green", "blue"], 600))
    size = np.where(rng.random(600) < 0.2, np.nan, rng.random(600))
    y = 3.0 * (colour == "red") - 2.0 * np.isnan(size) + rng.normal(0, 0.1, 600)
    frame = pd.DataFrame({"colour": colour, "size": size})
    reg = SEFRRegressor(bins=8, missing="ignore").fit(frame, y)
    assert reg.score(frame, y) > 0.98
    new = pd.DataFrame({"colour": pd.Categorical(["red", "green", "pink"]), "size": [np.nan, 0.5, 0.5]})
    np.testing.assert_allclose(reg.predict(new)[:2], [1, 0], atol=0.1)


def test_constant_features_and_more_features_than_rows():
    X, y = drawn(n=40)
    wide = np.hstack([X, np.full((40, 1), 7.0), np.random.default_rng(0).normal(size=(40, 60))])
    reg = SEFRRegressor().fit(wide, y)
    assert reg.coef_[5] == 0
    assert_alike(reg, ridge_regression(wide, y), wide, rtol=1e-9)
    assert SEFRRegressor(bins=4).fit(wide, y).score(wide, y) > 0.5


# How sure.


def test_deviations_are_those_of_bayesian_regression():
    """The same prior and noise in scikit-learn: variance of the mean and of the noise; ours has 1/n more."""
    X, y = drawn(2, n=400)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    reg = SEFRRegressor().fit(Z, y)
    noise = reg.noise_**2
    other = BayesianRidge(
        max_iter=1,
        alpha_init=1 / noise,
        lambda_init=reg.ridge_ * len(y) / noise,
        alpha_1=1e12,
        alpha_2=1e12 * noise,
        lambda_1=1e12,
        lambda_2=1e12 * noise / (reg.ridge_ * len(y)),
    ).fit(Z, y)
    std = reg.predict(Z, return_std=True)[1]
    np.testing.assert_allclose(std**2, other.predict(Z, return_std=True)[1] ** 2 + noise / len(y), rtol=1e-6)
    np.testing.assert_allclose(reg.coef_std_, np.sqrt(np.diag(other.sigma_)), rtol=1e-6)


@pytest.mark.parametrize("bins", [None, 8])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_intervals_cover_the_share_of_new_rows_that_they_say(share, bins):
    inside = []
    for seed in range(20):
        X, y = drawn(seed, n=1060)
        reg = SEFRRegressor(bins=bins).fit(X[:60], y[:60])  # few: leverage and Student's t matter
        mean, low, high = reg.predict(X[60:], interval=share)
        np.testing.assert_array_equal(mean, reg.predict(X[60:]))
        inside.append(np.mean((low <= y[60:]) & (y[60:] <= high)))
    if bins is None:
        assert abs(np.mean(inside) - share) < 0.02
    else:  # a line cut into bins leaves more than noise, which is wider where rows are few
        assert share - 0.02 < np.mean(inside) < share + 0.06


@pytest.mark.parametrize(
    "params", [{"bins": 32}, {"bins": 16, "interactions": 20}, {"auto": True}], ids=["bins", "ferns", "auto"]
)
def test_intervals_of_curves_and_interactions_cover_new_rows(params):
    inside = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, (3000, 4))
        y = X[:, 3] + np.sin(3 * X[:, 0]) + rng.normal(0, 0.5, len(X))
        if len(params) > 1 or "auto" in params:
            y += np.sign(X[:, 1] * X[:, 2])
        reg = SEFRRegressor(**params).fit(X[:1000], y[:1000])
        _, low, high = reg.predict(X[1000:], interval=0.9)
        inside.append(np.mean((low <= y[1000:]) & (y[1000:] <= high)))
    assert abs(np.mean(inside) - 0.9) < 0.02


def test_intervals_are_students_and_of_every_output():
    X, y = drawn(k=3, n=30)
    reg = SEFRRegressor().fit(X, y)
    mean, std = reg.predict(X, return_std=True)
    _, low, high = reg.predict(X, interval=0.8)
    assert mean.shape == std.shape == low.shape == (30, 3)
    np.testing.assert_allclose(high - mean, stats.t.ppf(0.9, 29) * std, rtol=1e-9)
    np.testing.assert_allclose(mean - low, high - mean, rtol=1e-9)
    alone = MultiOutputRegressor(SEFRRegressor()).fit(X, y)
    np.testing.assert_allclose(alone.predict(X), mean, rtol=1e-9, atol=1e-9)
    for wrong in (0, 1, -0.5, 90, "0.9", np.nan):
        with pytest.raises(ValueError, match="interval must be a share"):
            reg.predict(X, interval=wrong)
    with pytest.raises(ValueError, match="not both"):
        reg.predict(X, interval=0.9, return_std=True)


# Bad input: one clear error, nothing changed.


def with_value(y, row, value):
    y = y.astype(object)
    y[row] = value
    return y


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda X, y: (X, with_value(y, 7, np.nan)), ValueError, "y contains NaN: row 7"),
        (lambda X, y: (X, with_value(y, 7, None)), ValueError, "y contains NaN: row 7"),
        (lambda X, y: (X, with_value(y, 7, pd.NA)), ValueError, "y contains NaN: row 7"),
        (lambda X, y: (X, with_value(y, 7, -np.inf)), ValueError, "y contains infinity.*row 7"),
        (lambda X, y: (X, with_value(y, 7, "high")), ValueError, "must be numbers, but row 7 has 'high'"),
        (lambda X, y: (X, y.astype(str)), ValueError, "must be numbers, but row 0"),
        (lambda X, y: (X, y * 1j), ValueError, "[Cc]omplex"),
        (lambda X, y: (X, np.column_stack([y, np.where(y > 0, y, np.nan)])), ValueError, "output 1"),
        (lambda X, y: (X, np.full(len(y), 0.1)), ValueError, "two different values of y.*is 0.1"),
        (lambda X, y: (X, np.full(len(y), 1e9 + 0.1)), ValueError, "two different values of y"),
        (lambda X, y: (X, np.column_stack([y, y * 0])), ValueError, "output 1"),
        (lambda X, y: (X[:1], y[:1]), ValueError, "at least two rows.*n_samples=1"),
        (lambda X, y: (X[:0], y[:0]), ValueError, "0 sample"),
        (lambda X, y: (X, y[:-1]), ValueError, "inconsistent numbers of samples"),
        (lambda X, y: (X, y.reshape(-1, 2, 5)), ValueError, "shape"),
        (lambda X, y: (X, None), ValueError, "requires y"),
        (lambda X, y: (X, sparse.csr_matrix(y)), TypeError, "Sparse data was passed for y"),
        (lambda X, y: (X * 1e200, y), ValueError, "larger than float64"),
    ],
)
@pytest.mark.parametrize("bins", [None, 4])
def test_bad_rows_are_one_clear_error_and_change_nothing(change, error, words, bins):
    X, y = drawn()
    if bins and "float64" in words:
        pytest.skip("the products of cells are counts")
    bad = change(X, y)
    with pytest.raises(error, match=words):
        SEFRRegressor(bins=bins).fit(*bad)
    if len(bad[0]) < 2 or "two different" in words or bad[1] is None or "output" in words:
        return  # further rows may be one, and have one y
    reg = SEFRRegressor(bins=bins).fit(X, y)
    before = reg.fitted_
    with pytest.raises(error, match=words):
        reg.partial_fit(*bad)
    assert reg.fitted_ is before


def test_a_summary_of_values_has_nothing_that_auto_could_choose():
    X, y = drawn(n=40)
    lines, curves = (SEFRRegressor(bins=bins).fit(X, y).summary_ for bins in (None, 4))
    with pytest.raises(ValueError, match="auto=True: this Summary has sums of values, not of bins"):
        SEFRRegressor.from_summary(lines, auto=True)
    assert set(SEFRRegressor.from_summary(curves, auto=True).auto_.r2) == {"lines", "curves", "sum"}


def test_what_is_left_must_have_two_different_numbers():
    X, y = drawn(n=12)
    reg = SEFRRegressor().fit(X, y)
    before = reg.fitted_
    with pytest.raises(ValueError, match="two rows, but one would be left"):
        reg.forget(X[1:], y[1:])
    with pytest.raises(ValueError, match="no rows"):
        reg.forget(X, y)
    assert reg.fitted_ is before


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"moments": 3}, "moments"),
        ({"moments": True}, "moments"),
        ({"bins": 1}, "bins"),
        ({"scale": None}, "scale"),
        ({"scale": "standard"}, "scale"),
        ({"missing": "drop"}, "missing"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"scale": (0, 1)}, "scale"),
    ],
)
def test_bad_settings_are_one_clear_error(params, words):
    X, y = drawn()
    with pytest.raises(ValueError, match=words):
        SEFRRegressor(**params).fit(X, y)


# Manners.


def test_clone_copy_and_pickle_keep_everything():
    X, y = drawn()
    reg = SEFRRegressor(bins=8, scale=RANGES).fit(X, y)
    for other in (pickle.loads(pickle.dumps(reg)), deepcopy(reg), SEFRRegressor.from_fitted(reg.fitted_)):  # noqa: S301
        np.testing.assert_array_equal(other.predict(X), reg.predict(X))
        assert other.summary_ == reg.summary_
        assert other.get_params() == reg.get_params()
    assert not hasattr(clone(reg), "summary_")
    assert repr(SEFRRegressor(bins=8)) == "SEFRRegressor(bins=8)"


def test_a_search_over_bins():
    X, y = drawn()
    search = GridSearchCV(SEFRRegressor(), {"bins": [None, 8]}, cv=3).fit(X, y)
    assert search.best_params_ == {"bins": None}  # y is a line


def test_drift_looks_at_features():
    X, y = drawn()
    for bins in (None, 8):
        reg = SEFRRegressor(bins=bins).fit(X, y)
        assert not reg.drift(X)
        assert reg.drift(X + 5 * X.std(axis=0))


@pytest.mark.parametrize("params", [{}, {"bins": 6}, {"missing": "ignore"}, {"scale": RANGES}], ids=str)
@pytest.mark.parametrize("k", [1, 2])
def test_a_model_file_gives_the_model_again(params, k, tmp_path):
    X, y = drawn(k=k)
    X[::9, 1] = np.nan if "missing" in params else X[::9, 1]
    frame = pd.DataFrame(X, columns=list("abcde"))
    reg = SEFRRegressor(**params).fit(frame, y)
    save(reg, tmp_path / "m.sefr")
    again = load(tmp_path / "m.sefr")
    assert type(again) is SEFRRegressor
    assert again.get_params() == reg.get_params()
    assert again.summary_ == reg.summary_
    for answer in ("predict", "contributions"):
        np.testing.assert_array_equal(getattr(again, answer)(frame), getattr(reg, answer)(frame))
    np.testing.assert_array_equal(again.predict(frame, interval=0.9), reg.predict(frame, interval=0.9))
    assert_alike(again.partial_fit(frame, y), reg.partial_fit(frame, y), frame)


def resealed(content, change):
    """Return a model file whose members were changed, with a checksum that is right."""
    members = json.loads(content)
    change(members)
    del members["checksum"]
    lines = "".join(f'  "{name}": {json.dumps(value)},\n' for name, value in members.items())
    body = b"{\n" + lines.encode() + SEAL
    return body + hashlib.sha256(body).hexdigest().encode() + CLOSING


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m["summary"].update(products=3), "must be text"),
        (lambda m: m["summary"].update(products=m["summary"]["products"][4:]), "hold together"),
        (lambda m: m["summary"].update(products=m["summary"]["products"][:-4]), "end too early"),
        (lambda m: m["summary"]["counts"].__setitem__(0, 299), "rows"),
        (lambda m: m["summary"].pop("products"), "settings"),
        (lambda m: m["settings"].update(moments=3), "moments"),
        (lambda m: m["settings"].update(moments=1, passes=2), "further passes"),
        (lambda m: m["settings"].update(epsilon=1), "does not know"),
        (lambda m: m["classes"].update(closed=True), "no classes"),
        (lambda m: m["classes"].update(labels=[3]), "no classes"),
        (lambda m: m.update(calibration={}), "no calibration"),
    ],
)
def test_a_file_that_does_not_hold_together_is_refused(change, words):
    X, y = drawn()
    content = dump(SEFRRegressor().fit(X, y))
    assert parse(resealed(content, lambda members: None)).summary_.n_rows == 300
    with pytest.raises(ModelFileError, match=words):
        parse(resealed(content, change))


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("params", [{}, {"bins": 6, "scale": RANGES}, {"missing": "ignore"}], ids=str)
def test_cross_validation_from_one_pass_is_that_of_scikit_learn(params, k, monkeypatch):
    X, y = drawn(k=k)
    X[::9, 1] = np.nan if "missing" in params else X[::9, 1]
    reg, folds = SEFRRegressor(**params), KFold(4, shuffle=True, random_state=0)
    weight = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    for scoring in (None, "neg_mean_absolute_error"):
        asked = {"cv": folds, "scoring": scoring, "params": {"sample_weight": weight}}
        theirs = sklearn_cross_validate(reg, X, y, **asked, return_train_score=True)
        with monkeypatch.context() as patch:
            patch.setattr("sefr.validation.sklearn_cross_validate", None)  # it is not asked
            ours = cross_validate(reg, X, y, **asked)
            train = cross_validate(reg, X, y, **asked, return_train_score=True)
        np.testing.assert_allclose(ours["test_score"], theirs["test_score"], rtol=1e-9)
        np.testing.assert_allclose(train["train_score"], theirs["train_score"], rtol=1e-9)


# Pictures, and a hint for those who meant a regressor.


def test_pictures_of_a_regressor():
    pytest.importorskip("matplotlib").use("Agg")
    from sefr import ContributionsDisplay, CurvesDisplay, ScoresDisplay

    X, y = drawn(k=2)
    reg = SEFRRegressor(bins=8).fit(X, y)
    drawn_curves = CurvesDisplay.from_estimator(reg)
    assert drawn_curves.axes_.shape == (5,)
    assert drawn_curves.labels == ["output 0", "output 1"]
    display = ContributionsDisplay.from_estimator(reg, X, row=3, label=1)
    assert display.score == pytest.approx(reg.predict(X)[3, 1] - reg.base_[1])
    np.testing.assert_allclose(display.contributions, reg.contributions(X)[3, 1])
    PredictionErrorDisplay.from_estimator(SEFRRegressor().fit(X, y[:, 0]), X, y[:, 0])
    with pytest.raises(TypeError, match="coef_ or curves_"):
        ScoresDisplay.from_estimator(reg)


def test_a_classifier_warns_of_hundreds_of_numbers():
    X, y = drawn()
    numbers = np.round(100 * y).astype(int)
    with pytest.warns(UserWarning, match="different numbers.*SEFRRegressor predicts numbers"):
        SEFRClassifier().fit(X, numbers)
    SEFRClassifier().fit(X, numbers % 90)  # warnings are errors here
    SEFRClassifier().fit(X, numbers.astype(str))
    many = np.repeat(np.arange(100), 10)
    SEFRClassifier().fit(np.random.default_rng(0).normal(size=(1000, 2)), many)
    with pytest.raises(ValueError, match="SEFRRegressor predicts numbers"):
        SEFRClassifier().fit(X, y)


# Interactions.


def product(n=3000, seed=0):
    """Two features that tell y together and nothing alone, one that tells it alone, and one that does not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, 3 * np.sign(X[:, 0] * X[:, 1]) + X[:, 2] + rng.normal(0, 0.5, n)


def test_ferns_tell_what_features_tell_together(tmp_path):
    X, y = product()
    new, truth = product(seed=1)
    params = {"bins": 16, "interactions": 10}
    reg = SEFRRegressor(**params).fit(X, y)
    assert SEFRRegressor(bins=16).fit(X, y).score(new, truth) < 0.2
    assert reg.score(new, truth) > 0.9
    assert {0, 1} <= {feature for fern in reg.interactions_ for feature, _ in fern}
    parts = reg.contributions(new)
    assert parts.shape == (3000, len(reg.feature_sets_))
    np.testing.assert_allclose(parts.sum(axis=1) + reg.base_, reg.predict(new), atol=1e-9)
    _, low, high = reg.predict(new, interval=0.9)
    assert 0.88 < np.mean((low <= truth) & (truth <= high)) < 0.96  # a few errors are large: beside a bound
    save(reg, tmp_path / "m.sefr")
    np.testing.assert_array_equal(load(tmp_path / "m.sefr").predict(new), reg.predict(new))
    # rows first learned in batches grow ferns too, and models of the same ferns add
    batches = SEFRRegressor(**params).fit_batches([(X[:1000], y[:1000]), (X[1000:], y[1000:])])
    assert batches.score(new, truth) > 0.9
    same = {"bins": reg.edges_, "interactions": reg.interactions_}
    halves = [SEFRRegressor(**same).fit(X[part], y[part]) for part in (slice(0, 1500), slice(1500, None))]
    assert_alike(halves[0].merge(halves[1]), reg, new, rtol=1e-8)
    assert_alike(
        halves[0].forget(X[:700], y[:700]), SEFRRegressor(**same).fit(X[700:], y[700:]), new, rtol=1e-8
    )


def test_ferns_are_not_grown_where_there_is_nothing_to_tell():
    X, y = drawn(n=1000)
    assert len(SEFRRegressor(bins=16, interactions=40).fit(X, y).interactions_) < 20  # y is a line
    with pytest.raises(ValueError, match="bins"):
        SEFRRegressor(interactions=5).fit(X, y)


def test_what_is_for_classifiers_refuses_a_regressor_in_one_sentence():
    rng = np.random.default_rng(0)
    reg = SEFRRegressor().fit(rng.normal(size=(30, 2)), rng.normal(size=30))
    with pytest.raises(ValueError, match="this Summary is of numbers: SEFRRegressor"):
        SEFRClassifier.from_summary(reg.summary_)


def test_importances_say_how_far_the_part_of_each_feature_spreads():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(500, 4)) * [1, 10, 0.1, 1] + 1e6
    y = X @ [3.0, 0.1, 5.0, 0.0] + rng.normal(0, 0.1, 500)
    reg = SEFRRegressor().fit(X, y)
    spread = np.abs(reg.coef_) * X.std(axis=0)
    np.testing.assert_allclose(reg.feature_importances_, spread / spread.sum(), rtol=1e-6)
    binned = SEFRRegressor(bins=16).fit(X, np.square(X[:, 1] - 1e6) + y)
    assert binned.feature_importances_.argmax() == 1
    assert binned.feature_importances_.sum() == pytest.approx(1)
    parts = binned.contributions(X).std(axis=0)
    np.testing.assert_allclose(binned.feature_importances_, parts / parts.sum(), rtol=1e-6)


def curved(n=1500, m=6, seed=0):
    """Rows whose y is a line, a curve and a product of two features, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, m))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + np.sign(X[:, 2] * X[:, 3]) + rng.normal(size=n) / 4


def test_auto_finds_lines_curves_and_interactions():
    (X, y), (new, right) = curved(), curved(seed=1)
    reg = SEFRRegressor(auto=True).fit(X, y)
    scores = [SEFRRegressor(**params).fit(X, y).score(new, right) for params in ({}, {"bins": 32})]
    assert reg.score(new, right) > max(scores) + 0.1
    choice = reg.auto_
    assert choice.n_ferns == len(reg.interactions_) > 10
    assert choice.r2["lines"] == pytest.approx(scores[0], abs=0.08)
    assert choice.r2["curves"] == pytest.approx(scores[1], abs=0.08)
    assert choice.r2["sum"] == pytest.approx(reg.score(new, right), abs=0.08)
    np.testing.assert_allclose(reg.contributions(new).sum(axis=1) + reg.base_, reg.predict(new), rtol=1e-9)
    with pytest.raises(AttributeError, match="auto=False"):
        _ = SEFRRegressor().fit(X, y).auto_


def test_auto_merges_and_forgets_exactly():
    X, y = curved()
    whole = SEFRRegressor(auto=True).fit(X, y)
    part = SEFRRegressor(auto=True).fit(X, y).forget(X[1000:], y[1000:])
    assert part.summary_.n_rows == 1000
    assert_alike(part.merge(X[1000:], y[1000:]), whole, X, rtol=1e-8)


def test_auto_cuts_many_features_into_fewer_bins():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 300))
    reg = SEFRRegressor(auto=True).fit(X, X[:, 0] + rng.normal(size=400) / 9)
    assert max(len(edges) for edges in reg.edges_) <= 6
    with pytest.raises(ValueError, match="auto=True chooses bins, interactions, passes and moments itself"):
        SEFRRegressor(auto=True, bins=8).fit(X, X[:, 0])
