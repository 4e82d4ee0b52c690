"""The references of second moments: exact rationals, scikit-learn, and what must not change them."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge

from sefr import reference

ROWS = [[1, 8, 3], [3, 6, 0], [2, 7, 1], [4, 7, 5], [9, 1, 2], [5, 5, 4], [7, 2, 2], [0, 3, 6]]
LABELS = [0, 0, 1, 1, 2, 2, 2, 0]
NUMBERS = [3, 1, 4, 1, 5, 9, 2, 6]
RIDGE = Fraction(1, 8)


def rational_solve(A, b):
    """Gauss elimination in fractions."""
    rows = [[*map(Fraction, own), Fraction(right)] for own, right in zip(A, b, strict=True)]
    for i in range(len(rows)):
        at = next(k for k in range(i, len(rows)) if rows[k][i])
        rows[i], rows[at] = rows[at], rows[i]
        for k in range(len(rows)):
            if k != i:
                part = rows[k][i] / rows[i][i]
                rows[k] = [a - part * c for a, c in zip(rows[k], rows[i], strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def rational_moments(labels):
    """Means, class means and variances of ROWS, and the pooled covariance, in fractions.

    A ridge on standardised features is a ridge times the variance on the features as they are.
    """
    n, m = len(ROWS), len(ROWS[0])
    mean = [Fraction(sum(row[j] for row in ROWS), n) for j in range(m)]
    variance = [sum((row[j] - mean[j]) ** 2 for row in ROWS) / n for j in range(m)]
    own = {}
    for k in sorted(set(labels)):
        rows = [row for row, label in zip(ROWS, labels, strict=True) if label == k]
        own[k] = [Fraction(sum(row[j] for row in rows), len(rows)) for j in range(m)]
    moved = [[row[j] - own[k][j] for j in range(m)] for row, k in zip(ROWS, labels, strict=True)]
    within = [[sum(row[i] * row[j] for row in moved) / n for j in range(m)] for i in range(m)]
    return mean, own, variance, within


def test_a_discriminant_equals_exact_rationals():
    mean, own, variance, within = rational_moments(LABELS)
    model = reference.discriminant(ROWS, LABELS, ridge=float(RIDGE), power=0.0, alike=0.0)
    A = [[within[i][j] + (RIDGE * variance[i] if i == j else 0) for j in range(3)] for i in range(3)]
    for k, centre in own.items():
        mu = [c - a for c, a in zip(centre, mean, strict=True)]
        w = rational_solve(A, mu)
        assert model.weights[k] == pytest.approx([float(v) for v in w], rel=1e-12)
        bias = -sum(v * c for v, c in zip(w, mu, strict=True)) / 2
        assert model.bias[k] == pytest.approx(float(bias), rel=1e-12)
    assert model.centre == pytest.approx([float(v) for v in mean], rel=1e-15)


def test_a_prior_is_the_share_to_its_power():
    without, half = (reference.discriminant(ROWS, LABELS, ridge=1.0, power=p) for p in (0.0, 0.5))
    assert half.bias - without.bias == pytest.approx(np.log(np.sqrt([3 / 8, 2 / 8, 3 / 8])), rel=1e-12)


def test_a_ridge_regression_equals_exact_rationals():
    mean, _, variance, _ = rational_moments(LABELS)
    level = Fraction(sum(NUMBERS), len(NUMBERS))
    moved = [[row[j] - mean[j] for j in range(3)] for row in ROWS]
    A = [[sum(row[i] * row[j] for row in moved) for j in range(3)] for i in range(3)]
    for i in range(3):
        A[i][i] += len(ROWS) * RIDGE * variance[i]
    right = [sum(row[j] * (y - level) for row, y in zip(moved, NUMBERS, strict=True)) for j in range(3)]
    model = reference.ridge_regression(ROWS, NUMBERS, ridge=float(RIDGE))
    assert model.weights[0] == pytest.approx([float(v) for v in rational_solve(A, right)], rel=1e-12)
    assert model.bias[0] == float(level)


@pytest.fixture
def drawn():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4)) * [1, 2, 0.1, 5] + [0, 1, 2, 30]
    y = rng.integers(0, 3, 200)
    X[:, 0] += y
    return X, y, X @ [1.0, -1.0, 3.0, 0.0] + rng.normal(size=200)


def test_scikit_learn_has_the_same_ridge_regression(drawn):
    X, _, numbers = drawn
    model = reference.ridge_regression(X, numbers)
    sd = X.std(axis=0)
    theirs = Ridge(alpha=200 * model.ridge[0]).fit(X / sd, numbers)
    assert model.predict(X)[:, 0] == pytest.approx(theirs.predict(X / sd), rel=1e-10)


def test_scikit_learn_has_the_same_discriminant(drawn):
    # Its shrinkage s is towards the mean variance v, which is that of 1 where the within-class covariance has
    # it: (1 - s) W + s v I = (1 - s) (W + ridge I), with ridge = s v / (1 - s). Its weights are then 1 / (1 -
    # s) larger.
    X, y, _ = drawn
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    shrinkage = 0.3
    within = sum(np.cov(Z[y == k].T, bias=True) * (y == k).mean() for k in range(3))
    ridge = shrinkage * np.trace(within) / 4 / (1 - shrinkage)
    model = reference.discriminant(X, y, ridge=ridge, power=0.0, alike=0.0)
    theirs = LinearDiscriminantAnalysis(
        solver="lsqr", covariance_estimator=Shrunk(within, shrinkage), priors=[1 / 3] * 3
    )
    theirs.fit(Z, y)
    # lsqr takes class means about 0, ours about the mean of all rows: equal, since Z has mean 0
    assert model.scores(X) * 1 == pytest.approx(
        (theirs.decision_function(Z) - np.log(1 / 3)) * (1 - shrinkage), rel=1e-8
    )


def test_with_as_many_degrees_of_freedom_as_rows_the_scores_are_those_of_the_regression():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(30, 100)), np.arange(30) % 3
    Y = (y[:, None] == np.arange(3)).astype(float)
    model = reference.discriminant(X, y, ridge=1e-4, power=0.0, alike=1.0)
    regression = reference.ridge_regression(X, Y, ridge=1e-4)
    ratio = model.weights / regression.weights
    assert ratio == pytest.approx(np.full(ratio.shape, ratio[0, 0]), rel=1e-6)
    # 29 of 30: what is left over is nearly all shared, and with few features nearly nothing is
    own = reference.discriminant(X, y, ridge=1e-4, power=0.0)
    share = (29 / 30) ** 2
    assert own.weights == pytest.approx(
        reference.discriminant(X, y, ridge=1e-4, power=0.0, alike=share).weights, rel=1e-3
    )
    few = [reference.discriminant(X[:, :1], y, ridge=1.0, alike=alike).weights for alike in (None, 0.0)]
    assert few[0] == pytest.approx(few[1], rel=0.01)


class Shrunk:
    """The pooled covariance as an estimator: the same for every class that is asked for."""

    def __init__(self, within, shrinkage):
        self.covariance_ = (1 - shrinkage) * within + shrinkage * np.trace(within) / len(within) * np.eye(
            len(within)
        )

    def fit(self, X):
        """Say what was said."""
        return self


@pytest.mark.parametrize("train", [reference.discriminant, reference.ridge_regression])
def test_weight_2_is_the_row_twice_and_weight_0_none(drawn, train):
    X, y, _ = drawn
    weights = np.arange(200) % 3
    weighted, repeated = train(X, y, weights), train(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.ridge.tolist() == repeated.ridge.tolist()
    assert weighted.scores(X) == pytest.approx(repeated.scores(X), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("train", [reference.discriminant, reference.ridge_regression])
def test_offset_and_unit_of_a_feature_do_not_matter(drawn, train):
    X, y, _ = drawn
    X = X.round(3)
    near, far = train(X, y), train(X * 8 + 2**30, y)
    assert far.scores(X * 8 + 2**30) == pytest.approx(near.scores(X), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("train", [reference.discriminant, reference.ridge_regression])
def test_constant_features_do_not_matter(drawn, train):
    X, y, _ = drawn
    weights = np.random.default_rng(5).random(200)  # the means of constants are then rounded
    constants = np.tile([0.1, 1 / 3, 1e9 + 0.1], (200, 1))
    plain, constant = train(X, y, weights), train(np.hstack([X, constants]), y, weights)
    assert constant.ridge.tolist() == plain.ridge.tolist()
    assert constant.scores(np.hstack([X, 0 * constants])) == pytest.approx(plain.scores(X), rel=1e-9)


def test_the_ridge_is_the_likeliest_of_all(drawn):
    # By the likelihood itself, of a Gaussian vector with covariance V + s^2 / (N ridge) Z Z', less its mean:
    # by the contrasts of an orthogonal basis without the constant.
    X, _, numbers = drawn
    X, numbers = X[:40], numbers[:40] + 3 * np.random.default_rng(0).normal(size=40)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    basis = np.linalg.svd(np.ones((1, 40)))[2][1:]
    values = []
    for ridge in reference.RIDGES:
        covariance = basis @ (np.eye(40) + Z @ Z.T / (40 * ridge)) @ basis.T
        contrast = basis @ numbers
        noise = contrast @ np.linalg.solve(covariance, contrast) / 39
        values.append(39 * np.log(noise) + np.linalg.slogdet(covariance)[1])
    ours = [
        reference.restricted_likelihood(Z, (numbers - numbers.mean())[:, None], np.ones(40), ridge)[0]
        for ridge in reference.RIDGES
    ]
    assert ours == pytest.approx(values, rel=1e-10)
    assert reference.ridge_regression(X, numbers).ridge[0] == reference.RIDGES[np.argmin(values)]
