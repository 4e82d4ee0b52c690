"""SEFRRegressor(moments=1): each feature by itself, equal to the reference, and exact in every verb."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.model_selection import cross_validate as sklearn_cross_validate

from sefr import SEFRRegressor, Summary, cross_validate, load, save
from sefr._summary.marginals import Marginals, marginals_of
from sefr.reference import marginal_regression

from .test_regressor import RANGES, assert_alike, drawn


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_predictions_are_those_of_the_reference(seed, k):
    X, y = drawn(seed, k=k)
    weight = np.random.default_rng(seed).gamma(2, size=len(X))
    new = drawn(seed + 50, k=k)[0]
    assert_alike(SEFRRegressor(moments=1).fit(X, y), marginal_regression(X, y), new)
    assert_alike(SEFRRegressor(moments=1).fit(X, y, weight), marginal_regression(X, y, weight), new)


def test_one_feature_gives_the_line_and_copies_of_it_too():
    X, y = drawn(1, n=2000)
    line = np.polyfit(X[:, 0], y, 1)
    for copies in (1, 2, 5):
        reg = SEFRRegressor(moments=1).fit(np.repeat(X[:, :1], copies, axis=1), y)
        slope = reg.coef_.sum()
        # copies are taken to be halfway between the same and independent of each other
        assert 1 - 0.01 <= slope / line[0] <= (1.01 if copies == 1 else 1.5)


@pytest.mark.parametrize("offset_x", [0.0, 1e9])
@pytest.mark.parametrize("offset_y", [0.0, -1e9])
@pytest.mark.parametrize("way", ["fit", "batches", "forget", "csr"])
def test_offsets_lose_no_digits(offset_x, offset_y, way):
    X, y = drawn(3, n=200)
    X[:, 1] += offset_x
    y += offset_y
    reg = SEFRRegressor(moments=1)
    if way == "fit":
        reg.fit(X, y)
    elif way == "csr":
        reg.fit(sparse.csr_matrix(X), y)
    elif way == "batches":
        reg.fit_batches([(X[:7], y[:7]), (X[7:120], y[7:120]), (X[120:], y[120:])])
    else:
        more, z = drawn(4, n=100)
        reg.fit(more, z).partial_fit(X, y).forget(more, z)
    expected = marginal_regression(X, y).predict(X)[:, 0]
    tolerance = 1e-10 * np.std(expected) + 2 * np.spacing(abs(offset_y))
    np.testing.assert_allclose(reg.predict(X), expected, rtol=0, atol=tolerance)
    parts = reg.contributions(X).sum(axis=1) + reg.base_
    np.testing.assert_allclose(parts, reg.predict(X), rtol=0, atol=tolerance)


@given(st.integers(0, 10**6), st.lists(st.sampled_from(["fit", "merge", "forget", "summary"]), max_size=4))
@pytest.mark.parametrize("params", [{}, {"bins": 6}, {"missing": "ignore"}], ids=str)
def test_any_sequence_of_verbs_equals_a_fit_of_the_rows_that_are_left(params, seed, verbs):
    X, y = drawn(seed % 50, n=400, k=2)
    X = np.clip(X, -49, 49)
    if "missing" in params:
        X[::11, 2] = np.nan
    params = {"moments": 1, "scale": RANGES, **params}
    here = np.arange(len(y)) < 150
    reg = SEFRRegressor(**params).fit(X[here], y[here])
    rng = np.random.default_rng(seed)
    for verb in verbs:
        some = np.zeros(len(y), dtype=bool)
        some[rng.choice(np.flatnonzero(here if verb == "forget" else ~here), 30, replace=False)] = True
        other = SEFRRegressor(**params).fit(X[some], y[some])
        if verb == "fit":
            reg.partial_fit(X[some], y[some])
        elif verb == "merge":
            reg.merge(other)
        elif verb == "summary":
            reg.merge(Summary.from_bytes(other.summary_.to_bytes()))
        else:
            reg.forget(other)
        here ^= some
    exact = SEFRRegressor(**params).fit(X[here], y[here])
    assert reg.summary_.n_rows == here.sum()
    assert_alike(reg, exact, X, rtol=1e-9)


def test_decay_is_a_weight():
    X, y = drawn()
    reg = SEFRRegressor(moments=1).fit(X[:200], y[:200]).decay(0.25).partial_fit(X[200:], y[200:])
    weight = np.where(np.arange(len(y)) < 200, 0.25, 1.0)
    assert_alike(reg, SEFRRegressor(moments=1).fit(X, y, weight), X)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("bins", [None, 8])
def test_a_summary_of_second_moments_gives_first_ones(bins, missing):
    X, y = drawn(2, k=2)
    if missing:
        X[::7, 1] = np.nan
    params = {"bins": bins, "missing": "ignore" if missing else "error"}
    whole = SEFRRegressor(**params).fit(X, y)
    own = SEFRRegressor(moments=1, **params).fit(X, y)
    assert (whole.summary_.moments, own.summary_.moments) == (2, 1)
    first = whole.summary_.first_moments()
    assert isinstance(first.products, Marginals)
    np.testing.assert_allclose(
        first.products.packed.head, own.summary_.products.packed.head, rtol=1e-9, atol=1e-7
    )
    for summary in (whole.summary_, first):
        other = SEFRRegressor.from_summary(summary, moments=1, missing=params["missing"])
        assert_alike(other, own, X)
    with pytest.raises(ValueError, match="needs the products of features"):
        SEFRRegressor.from_summary(own.summary_)
    with pytest.raises(ValueError, match="moments=1 and moments=2"):
        own.summary_ + whole.summary_
    assert marginals_of(first.products) is first.products


@pytest.mark.parametrize("made", [sparse.csr_matrix, sparse.csc_matrix, np.asfortranarray, pd.DataFrame])
@pytest.mark.parametrize("bins", [None, 8])
def test_rows_of_any_kind(made, bins):
    X, y = drawn()
    X[np.abs(X) < 0.5] = 0
    X = np.asarray(X)
    expected = SEFRRegressor(moments=1, bins=bins).fit(X, y).predict(X)
    reg = SEFRRegressor(moments=1, bins=bins).fit(made(X), y)
    np.testing.assert_allclose(reg.predict(made(X)), expected, rtol=1e-9, atol=1e-9)


def test_a_missing_value_counts_as_the_mean_of_its_feature():
    X, y = drawn(5)
    X[::3, 1] = np.nan
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    reg = SEFRRegressor(moments=1, missing="ignore").fit(X, y)
    assert_alike(reg, marginal_regression(filled, y).predict(filled), X)


def test_bins_find_what_lines_do_not():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(4000, 3))
    y = X[:, 0] ** 2 + np.sin(3 * X[:, 1]) + 0.1 * rng.normal(size=4000)
    line, curves = (SEFRRegressor(moments=1, bins=bins).fit(X[:2000], y[:2000]) for bins in (None, 16))
    assert line.score(X[2000:], y[2000:]) < 0.2
    assert curves.score(X[2000:], y[2000:]) > 0.8
    assert_alike(curves, pickle.loads(pickle.dumps(curves)), X)  # noqa: S301


def test_very_wide_rows_have_no_products_of_features():
    """100,000 features: products of any two would take 40 GB."""
    rng = np.random.default_rng(1)
    told = rng.normal(size=300)
    X = sparse.hstack([told[:, None], sparse.random(300, 99_999, 0.01, random_state=0)], format="csr")
    y = told * 3 + rng.normal(size=300) * 0.1
    reg = SEFRRegressor(moments=1).fit(X, y)
    assert np.argmax(np.abs(reg.coef_) * [np.std(told), *np.full(99_999, 0.1)]) == 0
    assert reg.score(X, y) > 0.5
    with pytest.raises(ValueError, match="use moments=1"):
        SEFRRegressor().fit(X, y)


def test_what_is_not_known_is_said():
    X, y = drawn()
    reg = SEFRRegressor(moments=1).fit(X, y)
    for ask in (lambda: reg.predict(X, interval=0.9), lambda: reg.predict(X, return_std=True)):
        with pytest.raises(ValueError, match="need moments=2"):
            ask()
    for name in ("coef_std_", "noise_", "ridge_", "loss_curve_"):
        assert not hasattr(reg, name)
    assert reg.n_passes_ == 1


@pytest.mark.parametrize("params", [{}, {"bins": 6, "scale": RANGES}, {"missing": "ignore"}], ids=str)
def test_files_and_cross_validation(params, tmp_path, monkeypatch):
    X, y = drawn(k=2)
    X[::9, 1] = np.nan if "missing" in params else X[::9, 1]
    reg = SEFRRegressor(moments=1, **params).fit(X, y)
    save(reg, tmp_path / "m.sefr")
    again = load(tmp_path / "m.sefr")
    assert again.summary_ == reg.summary_
    np.testing.assert_array_equal(again.predict(X), reg.predict(X))
    folds = KFold(4, shuffle=True, random_state=0)
    theirs = sklearn_cross_validate(reg, X, y, cv=folds)["test_score"]
    monkeypatch.setattr("sefr.validation.sklearn_cross_validate", None)  # it is not asked
    np.testing.assert_allclose(cross_validate(reg, X, y, cv=folds)["test_score"], theirs, rtol=1e-9)
