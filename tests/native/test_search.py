"""The search between passes, against the same in numpy and against general optimisers."""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from native.paths import ROOT
from native.search_reference import Problem, Search, best_mixture
from scipy.optimize import minimize
from scipy.special import log_softmax

from sefr import _native


def problem(rng, classes, *, n=240, m=6, sampled=None, prior=False, ridge=1e-3):
    n_scores = 1 if classes == 2 else classes
    rows = rng.normal(size=(n, m)) * np.geomspace(1, 8, m)
    codes = rng.integers(0, classes, size=n).astype(np.int32)
    rows[:, 0] += codes
    weights = rng.random(n) + 0.1
    size = n_scores * (m + 1)
    known = (rng.normal(size=size), 0.1 * rng.random(size)) if prior else None
    return Problem(rows, codes, weights / weights.sum(), n_scores, ridge, sampled, 0.7, known)


def begun(p, start, *, mixes=False, memory=None):
    """Return a search in C."""
    some = p.weights[p.some] / p.weights[p.some].sum()
    point, loss, gradient = start
    mean, precision = (None, None) if p.prior is None else p.prior
    model, codes = (None, None, None, p.unit), p.codes[p.some].copy()
    known = (point, loss, gradient, memory)
    return _native.begin_search(p.n_scores, *model, p.ridge, mean, precision, codes, some, mixes, *known)


def best(search, size):
    point, gradient = np.empty((2, size))
    return _native.search_best(search, point, gradient), point, gradient


def zero(p):
    point = np.zeros(p.n_weights + p.n_scores)
    return (point, *p.at(point))


def next_model(search, p):
    """Answer for scores until a pass is asked for; return its model as a point, None at the end."""
    coef = np.empty((3 * p.n_scores, p.rows.shape[1]))
    intercept = np.empty(len(coef))
    while asked := _native.search_ask(search, coef, intercept):
        q = asked * p.n_scores
        _native.search_tell_scores(search, p.rows[p.some] @ coef[:q].T + intercept[:q])
    if asked is None:
        return None
    return np.concatenate([coef[: p.n_scores].ravel() / p.unit, intercept[: p.n_scores]])


def compare(p, search, reference, passes):
    """Make passes with both; each is made where the reference makes it."""
    for _ in range(passes):
        found = next_model(search, p)
        assert (found is None) == (reference.tried is None)
        if found is None:
            return
        np.testing.assert_allclose(found, reference.tried, rtol=1e-6, atol=1e-8)
        reference.tried = found
        loss, coef, intercept = p.of_rows(found)
        lowest = _native.search_tell_pass(search, coef, intercept, loss)
        assert lowest == pytest.approx(reference.make_pass(), rel=1e-12)
        reference.choose()


@pytest.mark.parametrize("mixes", [False, True])
@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_search_is_that_of_the_reference(classes, prior, mixes, rng):
    """Beyond ten passes, so that the first steps are forgotten."""
    p = problem(rng, classes, prior=prior)
    start = zero(p)
    search, reference = begun(p, start, mixes=mixes), Search(p, *start)
    points = rng.normal(size=(3, len(start[0])))
    shares = np.array([0.0, 1.0, 0.0])
    _native.search_try(search, points, shares)
    reference.try_points(points, shares)
    compare(p, search, reference, 16)
    loss, point, gradient = best(search, len(start[0]))
    assert loss == pytest.approx(reference.best[0], rel=1e-12)
    np.testing.assert_allclose(gradient, p.at(point)[1], atol=1e-10)


@pytest.mark.parametrize("mixes", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_so_it_is_where_the_sample_is_wrong(classes, mixes, rng):
    """A few rows choose steps that all rows find too long: the next point lies between."""
    failures = 0
    for _ in range(8):
        p = problem(rng, classes, n=400, m=12, sampled=slice(0, 14), ridge=1e-4)
        start = zero(p)
        search, reference = begun(p, start, mixes=mixes), Search(p, *start)
        _native.search_try(search, start[0][None] + 0.1, None)
        reference.try_points(start[0][None] + 0.1)
        compare(p, search, reference, 12)
        failures += reference.failures
    assert failures > 8


def test_a_search_goes_on_with_what_another_remembers(rng):
    p = problem(rng, 3)
    start = zero(p)
    first, reference = begun(p, start), Search(p, *start)
    compare(p, first, reference_chosen(reference), 14)
    before = best(first, len(start[0]))
    point = before[1] + 0.05
    again = begun(p, (point, np.inf, before[2]), memory=first)
    other = Search(p, point, np.inf, before[2], pairs=list(reference.pairs))
    _native.search_try(again, point[None], None)
    other.try_points(point[None])
    compare(p, again, other, 12)
    for now, then in zip(best(first, len(start[0])), before, strict=True):
        np.testing.assert_array_equal(now, then)


def reference_chosen(reference):
    reference.choose()
    return reference


@pytest.mark.parametrize("classes", [2, 4])
def test_under_another_ridge_the_search_goes_on_as_if_it_had_always_been_there(classes, rng):
    p = problem(rng, classes)
    start = zero(p)
    search, reference = begun(p, start), Search(p, *start)
    compare(p, search, reference_chosen(reference), 5)
    weaker = replace(p, ridge=p.ridge / 7)
    moved = _native.search_under(search, weaker.ridge)
    _, point, _ = reference.best
    loss, gradient = weaker.at(point)
    found = best(moved, len(point))
    assert found[0] == pytest.approx(loss, rel=1e-13)
    np.testing.assert_allclose(found[2], gradient, atol=1e-14)
    more = np.where(np.arange(len(point)) < p.n_weights, weaker.ridge - p.ridge, 0.0)
    pairs = [(step, change + more * step) for step, change in reference.pairs]
    other = reference_chosen(Search(weaker, point, loss, gradient, pairs=pairs))
    other.best = (loss, point, gradient)
    compare(weaker, moved, other, 8)


@pytest.mark.parametrize(
    ("classes", "n", "m"), [(2, 9, 1), (2, 150, 13), (3, 64, 4), (6, 131, 17), (10, 300, 8)]
)
def test_passes_over_rows_at_hand_are_those_of_the_reference(classes, n, m, rng):
    p = problem(rng, classes, n=n, m=m)
    start = zero(p)
    search, reference, curve = begun(p, start), reference_chosen(Search(p, *start)), np.full(12, np.nan)
    expected = []
    while reference.tried is not None and len(expected) < len(curve):
        expected.append(reference.make_pass())
        reference.choose()
    made = _native.search_rows(search, p.rows, curve[:3])
    if made == 3:  # in two parts: it goes on where it was
        made += _native.search_rows(search, p.rows, curve[3:])
    assert made == len(expected)
    np.testing.assert_allclose(curve[:made], expected, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(best(search, len(start[0]))[1], reference.best[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_many_passes_end_at_the_minimum(classes, rng):
    p = problem(rng, classes)
    start = zero(p)
    search, curve = begun(p, start), np.empty(200)
    made = _native.search_rows(search, p.rows, curve)
    assert made < 200  # it stops by itself
    assert (np.diff(curve[:made]) <= 0).all()
    assert curve[made - 1] <= 1.001 * minimize(p.at, start[0], jac=True, tol=1e-10).fun


def of_mixture(rng, classes, points):
    n, r = 150, 1 if classes == 2 else classes
    scores = rng.normal(size=(points, n, r)) * np.array([1.0, 1e-3, 50.0])[:points, None, None]
    codes = rng.integers(0, classes, size=n).astype(np.int32)
    scores[0] += 0.5 * (codes[:, None] == (1 if r == 1 else np.arange(r)))
    weights = rng.random(n)
    return scores, codes, weights / weights.sum()


def loss(a, scores, codes, weights, ridge):
    z = np.tensordot(a, scores, 1)
    z = np.column_stack([-z[:, 0] / 2, z[:, 0] / 2]) if z.shape[1] == 1 else z
    return -weights @ log_softmax(z, axis=1)[np.arange(len(codes)), codes] + ridge * (a @ a) / 2


def mix(scores, codes, weights, ridge, start):
    """Return the shares of points that are 1 in a weight of their own: a caller gives them any scores."""
    q, _, r = scores.shape
    width = -(-q // r)
    points = np.eye(q, r * width + r)
    none = np.zeros(points.shape[1])
    rows = (codes, weights, False)
    search = _native.begin_search(r, None, None, None, 1.0, ridge, None, None, *rows, none, 1.0, none, None)
    _native.search_try(search, points, start)
    coef, intercept = np.empty((3 * r, width)), np.empty(3 * r)
    assert _native.search_ask(search, coef, intercept) == q
    np.testing.assert_array_equal(coef[: q * r].reshape(q, -1), points[:, :-r])
    _native.search_tell_scores(search, np.concatenate(list(scores), axis=1))
    assert _native.search_ask(search, coef, intercept) == 0
    return coef[:r].ravel()[:q]


@pytest.mark.parametrize("classes", [2, 3, 9])
@pytest.mark.parametrize("points", [1, 2, 3])
def test_the_mixture_is_the_minimum(classes, points, rng):
    for _ in range(5):
        args, ridge = of_mixture(rng, classes, points), 1e-3
        start = np.eye(points)[0]
        found = mix(*args, ridge, start)
        size = np.array([1.0, 1e3, 0.02])[:points]
        least = minimize(
            lambda b, args=(*args, ridge), size=size: loss(b * size, *args), np.zeros(points), tol=1e-10
        )
        assert loss(found, *args, ridge) <= least.fun * (1 + 1e-3) + 1e-9
        assert loss(found, *args, ridge) <= loss(start, *args, ridge)
        expected = best_mixture(*args, ridge * np.eye(points), start)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_points_without_scores_and_equal_points_do_no_harm(rng):
    scores, codes, weights = of_mixture(rng, 3, 3)
    scores[1], scores[2] = 0.0, scores[0]
    assert np.isfinite(mix(scores, codes, weights, 0.0, np.eye(3)[0])).all()


def test_what_is_wrong_is_refused(rng):
    p = problem(rng, 3, n=20, m=2)
    start = zero(p)
    point, none = start[0], np.empty(0)
    coef, intercept, curve = np.empty((9, 2)), np.empty(9), np.empty(4)

    def begin(
        scores=3, prior=None, codes=p.codes, weights=p.weights, point=point, gradient=start[2], memory=None
    ):
        model = (None, None, None, 1.0)
        rows = (codes, weights, False)
        return _native.begin_search(scores, *model, 1.0, prior, None, *rows, point, 1.0, gradient, memory)

    search = begin()
    wrong = {
        "a code is not below 3": {"codes": p.codes + np.int32(1)},
        "a code is not below": {"codes": p.codes - np.int32(1)},
        "a point of 9 values for 2 scores": {"scores": 2},
        "a point of 9 values for 4 scores": {"scores": 4},
        "9 values for 3 scores, 0 rows": {"codes": np.empty(0, dtype=np.int32), "weights": none},
        "9 values for 3 scores, 20 rows": {"prior": point},
        "weights has length": {"weights": p.weights[:-1].copy()},
        "gradient has length": {"gradient": point[:-1].copy()},
        "memory: of points of another length": {
            "memory": begin(1, point=point[:3], gradient=point[:3], codes=0 * p.codes)
        },
    }
    for words, case in wrong.items():
        with pytest.raises(ValueError, match=words):
            begin(**case)
    with pytest.raises(ValueError, match="Capsule"):
        begin(memory=3)
    calls = {
        "0 points, not 1 to 3": (_native.search_try, np.empty((0, 9)), None),
        "4 points, not 1 to 3": (_native.search_try, np.zeros((4, 9)), None),
        "points has shape": (_native.search_try, np.zeros((1, 8)), None),
        "start has length": (_native.search_try, np.zeros((2, 9)), np.zeros(1)),
        "coef has shape": (_native.search_ask, coef[:3], intercept),
        "intercept has length": (_native.search_ask, coef, intercept[:3]),
        "no scores were asked for": (_native.search_tell_scores, np.zeros((20, 3))),
        "no pass was asked for": (_native.search_tell_pass, coef[:3], intercept[:3], 1.0),
        "rows has shape": (_native.search_rows, np.zeros((19, 2)), curve),
        "point has length": (_native.search_best, point[:-1].copy(), None),
    }
    for words, (call, *args) in calls.items():
        with pytest.raises(ValueError, match=words):
            call(search, *args)
        with pytest.raises(ValueError, match="Capsule"):
            call(None, *args)
    with pytest.raises(ValueError, match="Capsule"):
        _native.search_under(None, 1.0)
    asked = _native.search_ask(search, coef, intercept)
    assert asked == 2
    for scores in (np.zeros((20, 3)), np.zeros((19, 6))):
        with pytest.raises(ValueError, match="scores has shape"):
            _native.search_tell_scores(search, scores)
    with pytest.raises(ValueError, match="for a search that begins"):
        _native.search_try(search, np.zeros((1, 9)), None)
    _native.search_tell_scores(search, np.zeros((20, 6)))
    with pytest.raises(ValueError, match="coef has shape"):
        _native.search_tell_pass(search, coef[:2], intercept[:3], 1.0)


SOURCES = [
    "tests/native/exercise_search.c",
    *(f"native/refine/{name}.c" for name in ("search", "sample", "mixture", "steps")),
]
WAYS = {
    "sanitizers": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "one target": ["-O2", "-DSEFR_ONE_TARGET"],
    "as in the package": ["-O3", "-fno-math-errno"],
}


@pytest.mark.slow
def test_every_build_steps_alike_to_the_bit_and_stays_in_its_buffers(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    said = set()
    for way, flags in WAYS.items():
        program = str(tmp_path / way.replace(" ", "_"))
        sources = [str(ROOT / name) for name in SOURCES]
        command = ["gcc", "-std=gnu11", "-ffp-contract=off", *flags, f"-I{ROOT / 'native'}", *sources]
        subprocess.run([*command, "-o", program, "-lm"], check=True)
        done = subprocess.run([program, "7", "300"], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-3000:]
        said.add(done.stdout)
    assert len(said) == 1
    assert len(set(said.pop().splitlines())) > 290
