"""How far to step, and where to: against scipy and the definition of L-BFGS."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from sefr import _native


def problem(rng, classes, points):
    n, r = 150, 1 if classes == 2 else classes
    scores = rng.normal(size=(points, n, r)) * np.array([1.0, 1e-3, 50.0])[:points, None, None]
    codes = rng.integers(0, classes, size=n).astype(np.int32)
    scores[0] += 0.5 * (codes[:, None] == (1 if r == 1 else np.arange(r)))
    weights = rng.random(n)
    half = rng.normal(size=(points, points))
    return scores, codes, weights / weights.sum(), 1e-3 * half @ half.T


def loss(a, scores, codes, weights, hessian):
    z = np.tensordot(a, scores, 1)
    z = np.column_stack([-z[:, 0] / 2, z[:, 0] / 2]) if z.shape[1] == 1 else z
    return -weights @ log_softmax(z, axis=1)[np.arange(len(codes)), codes] + a @ hessian @ a / 2


@pytest.mark.parametrize("classes", [2, 3, 9])
@pytest.mark.parametrize("points", [1, 2, 3])
def test_the_mixture_is_the_minimum(classes, points, rng):
    for _ in range(5):
        args = problem(rng, classes, points)
        start, found = np.eye(points)[0], np.empty(points)
        _native.minimise_mixture(*args, start, None, found)
        size = np.array([1.0, 1e3, 0.02])[:points]
        best = minimize(lambda b, args=args, size=size: loss(b * size, *args), np.zeros(points), tol=1e-10)
        assert loss(found, *args) <= best.fun * (1 + 1e-3) + 1e-9
        assert loss(found, *args) <= loss(start, *args)


def test_a_slope_replaces_the_derivative_of_the_rows(rng):
    """With the slope that the rows have themselves, nothing changes; with another the minimum moves."""
    scores, codes, weights, hessian = problem(rng, 2, 2)
    start, step = np.array([0.3, 0.0]), np.array([1e-6, 1e-3])
    args = (scores, codes, weights, hessian)
    own = np.array([(loss(start + e, *args) - loss(start - e, *args)) / (2 * e.sum()) for e in np.diag(step)])
    plain, same, moved = np.empty((3, 2))
    _native.minimise_mixture(*args, start, None, plain)
    _native.minimise_mixture(*args, start, own, same)
    np.testing.assert_allclose(same, plain, rtol=1e-3)
    _native.minimise_mixture(*args, start, own + np.array([0.05, 0.0]), moved)
    assert moved[0] < plain[0]


def test_points_without_scores_and_equal_points_do_no_harm(rng):
    scores, codes, weights, _ = problem(rng, 3, 3)
    scores[1], scores[2] = 0.0, scores[0]
    found = np.empty(3)
    _native.minimise_mixture(scores, codes, weights, np.zeros((3, 3)), np.eye(3)[0], None, found)
    assert np.isfinite(found).all()


def two_loops(gradient, pairs):
    """Return the direction as textbooks have it."""
    q, shares = -gradient, []
    for step, change in reversed(pairs):
        shares.append((step @ q) / (step @ change))
        q = q - shares[-1] * change
    if pairs:
        step, change = pairs[-1]
        q = q * (step @ change) / (change @ change)
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        q = q + step * (share - (change @ q) / (step @ change))
    return q


@pytest.mark.parametrize("n", [1, 3, 64, 1001])
def test_the_direction_is_that_of_two_loops(n, rng):
    steps, changes = rng.normal(size=(2, 5, n))
    changes += 3 * steps
    gradient, found = rng.normal(size=n), np.empty(n)
    for order in ([], [2], [3, 4, 0, 1]):
        curved, given = np.zeros(5), np.array(order, dtype=np.int64)
        _native.find_direction(gradient, steps, changes, curved, given, found)
        expected = two_loops(gradient, [(steps[p], changes[p]) for p in order])
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(curved[given], (steps * changes).sum(axis=1)[given], rtol=1e-12)
        assert not np.delete(curved, given).any()
        again = np.empty(n)
        _native.find_direction(gradient, steps, changes, curved, given, again)  # with what it wrote
        np.testing.assert_array_equal(again, found)


def test_what_is_wrong_is_refused(rng):
    scores, codes, weights, hessian = problem(rng, 3, 2)
    out = np.empty(2)

    def mix(scores=scores, codes=codes, hessian=hessian, slope=None, out=out):
        _native.minimise_mixture(scores, codes, weights, hessian, np.zeros(2), slope, out)

    mix()
    wrong = {
        "a code is not below 3": {"codes": codes + np.int32(1)},
        "scores: 2 points, 150 rows, 2 scores": {"scores": np.zeros((2, 150, 2))},
        "scores: 5 points": {"scores": np.zeros((5, 150, 3))},
        "codes has length": {"codes": codes[:-1].copy()},
        "hessian has shape": {"hessian": np.zeros((3, 3))},
        "slope has length": {"slope": np.zeros(3)},
        "shares has length": {"out": np.empty(3)},
    }
    for words, case in wrong.items():
        with pytest.raises(ValueError, match=words):
            mix(**case)
    with pytest.raises(ValueError, match="a code is not below"):
        mix(codes=codes - np.int32(1))
    steps, g, curved = np.zeros((2, 4)), np.zeros(4), np.zeros(2)
    for order in ([2], [-1], [0] * 65):
        with pytest.raises(ValueError, match="order: at most 64"):
            _native.find_direction(g, steps, steps, curved, np.array(order), np.empty(4))
    with pytest.raises(ValueError, match="changes has shape"):
        _native.find_direction(g, steps, steps[:1], curved, np.array([0]), np.empty(4))
    with pytest.raises(ValueError, match="curved has length"):
        _native.find_direction(g, steps, steps, curved[:1], np.array([0]), np.empty(4))
