"""The ridge penalty of further passes: weaker where passes are left over and leave-one-out says so."""

import numpy as np
import pytest

from sefr import SEFRClassifier
from sefr._weights.refine import relax


def correlated(rng, n=3000):
    """Rows whose classes differ along a direction in which the features hardly vary."""
    common = rng.normal(size=(n, 1))
    X = common + 0.05 * rng.normal(size=(n, 4))
    score = X @ np.array([30.0, -30.0, 20.0, -20.0])
    return X, (score + 0.3 * rng.logistic(size=n) > 0).astype(int)


def fitted(X, y, passes, *, relaxed=True, **settings):
    with pytest.MonkeyPatch.context() as patch:
        if not relaxed:
            patch.setattr(relax, "FEWEST_LEFT", 10**9)
        return SEFRClassifier(passes=passes, **settings).fit(X, y)


def held_out_loss(clf, X, y):
    return -np.log(np.clip(clf.predict_proba(X)[np.arange(len(y)), y], 1e-12, 1)).mean()


@pytest.mark.parametrize(
    ("multiclass", "seed"), [(False, 1), (False, 5), *((True, seed) for seed in range(6))]
)
def test_passes_that_are_left_weaken_the_penalty_where_features_correlate(multiclass, seed):
    """With several classes, of which some lie far apart, probabilities were not sure of the near ones."""
    X, y = correlated(np.random.default_rng(seed))
    if multiclass:
        y = y + 2 * (X[:, 0] > 0.5)
    some, others = slice(0, 1500), slice(1500, None)
    fixed, free = (fitted(X[some], y[some], 200, relaxed=on) for on in (False, True))
    assert free.n_passes_ > fixed.n_passes_
    assert np.abs(free.coef_).max() > 1.5 * np.abs(fixed.coef_).max()
    assert held_out_loss(free, X[others], y[others]) < held_out_loss(fixed, X[others], y[others])
    assert (np.diff(free.loss_curve_) <= 0).all()
    assert len(free.loss_curve_) == free.n_passes_ <= 200


def test_a_weaker_penalty_that_does_not_help_is_not_kept(rng):
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] + 3 * rng.normal(size=400) > 0).astype(int)
    fixed, free = (fitted(X, y, 100, relaxed=on) for on in (False, True))
    assert free.n_passes_ > fixed.n_passes_  # it was tried
    assert np.array_equal(free.coef_, fixed.coef_)
    assert np.array_equal(free.predict_proba(X), fixed.predict_proba(X))
    assert set(free.loss_curve_[fixed.n_passes_ :]) == {fixed.loss_curve_[-1]}


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        ({"passes": 20}, 3000),  # too few passes are left
        ({"passes": 200}, 127),  # too few rows
        ({"passes": 200, "bins": 8}, 3000),
    ],
)
def test_the_penalty_stays_as_it_is_where_little_speaks_for_another(rng, settings, rows):
    X, y = correlated(rng, rows)
    fixed, free = (fitted(X, y, **settings, relaxed=on) for on in (False, True))
    assert free.n_passes_ == fixed.n_passes_
    assert np.array_equal(free.decision_function(X), fixed.decision_function(X))


def test_batches_weaken_the_penalty_too(rng):
    X, y = correlated(rng)
    whole = fitted(X, y, 200)
    parts = SEFRClassifier(passes=200).fit_batches([(X[:1000], y[:1000]), (X[1000:], y[1000:])])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=0.05)
