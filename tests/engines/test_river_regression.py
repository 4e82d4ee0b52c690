"""The stream of numbers: river's own checks, the fit of all rows, forgetting, features that come and go."""

import functools

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("river")

from river import checks, evaluate, metrics

from sefr import SEFRRegressor
from sefr.engines.river import SEFRStreamRegressor

MODELS = {"plain": SEFRStreamRegressor(), "fading": SEFRStreamRegressor(half_life=100)}
CHECKS = [
    (name, i, check) for name, model in MODELS.items() for i, check in enumerate(checks.yield_checks(model))
]


def words(check):
    while isinstance(check, functools.partial):
        check = check.func
    return getattr(check, "__name__", "check")


@pytest.mark.parametrize(
    ("model", "check"), [pytest.param(n, c, id=f"{n}-{i}-{words(c)}") for n, i, c in CHECKS]
)
def test_rivers_own_checks(model, check):
    check(MODELS[model].clone())


def drawn(n=300, m=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * 5 + 100
    y = X @ rng.normal(size=m) + rng.normal(size=n) + 1e6
    return X, y, [dict(zip("abcd", row, strict=True)) for row in X.tolist()]


def test_after_any_row_it_is_a_fit_of_all_of_them():
    X, y, rows = drawn()
    stream = SEFRStreamRegressor()
    assert stream.predict_one(rows[0]) == 0
    for i, (x, own) in enumerate(zip(rows, y.tolist(), strict=True)):
        stream.learn_one(x, own)
        if i in (0, 5, 50, 299):
            expected = (
                y[0]
                if i == 0
                else SEFRRegressor(missing="ignore").fit(X[: i + 1], y[: i + 1]).predict(X[:1])[0]
            )
            assert stream.predict_one(rows[0]) == pytest.approx(expected, rel=1e-10)
    many = SEFRStreamRegressor()
    frame = pd.DataFrame(X, columns=list("abcd"))
    many.learn_many(frame, pd.Series(y))
    np.testing.assert_allclose(many.predict_many(frame), [stream.predict_one(x) for x in rows], rtol=1e-10)
    again = SEFRRegressor.from_summary(stream.summary(), missing="ignore")
    np.testing.assert_allclose(again.predict(frame), many.predict_many(frame), rtol=1e-10)


def test_a_half_life_is_a_weight_and_decay_too():
    X, y, rows = drawn()
    stream = SEFRStreamRegressor(half_life=20)
    for x, own in zip(rows, y.tolist(), strict=True):
        stream.learn_one(x, own)
    weight = 0.5 ** ((len(y) - 1 - np.arange(len(y))) / 20)
    expected = SEFRRegressor().fit(X, y, weight)
    assert stream.summary().n_rows == pytest.approx(weight.sum())
    assert stream.predict_one(rows[7]) == pytest.approx(expected.predict(X[7:8])[0], rel=1e-9)
    stream.decay(0.5)
    assert stream.summary().n_rows == pytest.approx(weight.sum() / 2)
    forever = SEFRStreamRegressor(half_life=0.5)  # weights pass 1e100 twice
    for x, own in zip(rows, y.tolist(), strict=True):
        forever.learn_one(x, own)
    assert forever.summary().n_rows == pytest.approx(4 / 3)


def test_features_that_come_and_go_are_missing_values():
    X, y, rows = drawn()
    X[:100, 3] = np.nan
    X[::5, 1] = np.nan
    stream = SEFRStreamRegressor()
    for x, values, own in zip(rows, X.tolist(), y.tolist(), strict=True):
        stream.learn_one({name: v for name, v in zip(x, values, strict=True) if v == v}, own)
    expected = SEFRRegressor(missing="ignore").fit(X, y)
    found = [stream.predict_one({**x, "b": None, "unknown": 3}) for x in rows]
    X[:, 1] = np.nan
    X[:, 3] = [x["d"] for x in rows]
    np.testing.assert_allclose(found, expected.predict(X), rtol=1e-9)


def test_half_lives_follow_a_drift():
    rng = np.random.default_rng(0)
    rows = [
        ({"x": value}, (2 if i < 500 else -2) * value + 0.1 * rng.normal())
        for i, value in enumerate(rng.normal(size=1000))
    ]
    plain, fading = (
        evaluate.progressive_val_score(rows, SEFRStreamRegressor(half_life=h), metrics.MAE()).get()
        for h in (None, 30)
    )
    assert fading < plain / 2


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ({"a": "text"}, 1.0, "must be a number"),
        ({"a": np.inf}, 1.0, "must be finite"),
        ({"a": 1.0}, np.nan, "y must be a finite number"),
    ],
)
def test_a_row_that_cannot_be_learned_changes_nothing(x, y, words):
    _, numbers, rows = drawn(20)
    stream = SEFRStreamRegressor()
    for row, own in zip(rows, numbers.tolist(), strict=True):
        stream.learn_one(row, own)
    before = stream.summary()
    with pytest.raises(ValueError, match=words):
        stream.learn_one(x, y)
    assert stream.summary() == before
    with pytest.raises(ValueError, match="half_life"):
        SEFRStreamRegressor(half_life=0)
    with pytest.raises(ValueError, match="nothing was learned"):
        SEFRStreamRegressor().summary()
