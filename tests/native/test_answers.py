"""Probabilities, the weights of parts and rows that are left out, against the same in numpy."""

import shutil
import subprocess

import numpy as np
import pytest
from native.paths import ROOT
from native.test_search import WAYS

from native import answers_reference as reference
from sefr import _native


def rows_of(rng, classes, n, clarity=1.0):
    """Scores of rows, their codes, weights and evidence."""
    codes = rng.integers(0, classes, size=n).astype(np.int32)
    scores = rng.normal(size=(n, 1 if classes == 2 else classes))
    truth = 2 * codes[:, None] - 1 if classes == 2 else np.eye(classes)[codes]
    return scores + clarity * truth, codes, rng.random(n) + 0.1, rng.random(n) + 0.5


def fitted(rows, counts=None, prior=None):
    k = max(2, rows[0].shape[1])
    offsets, precision = np.full(k, np.nan), np.full(k + 1, np.nan)
    known = (0.0, None, None) if prior is None else prior
    return _native.fit_scaling(*rows, counts, *known, offsets, precision), offsets, precision


def compare(found, expected):
    """What is added to all offsets changes nothing, and heavy rows hardly tell it from 0."""
    for name, own, other in zip(("inverse", "offsets", "precision"), found, expected, strict=True):
        less = (own.mean(), other.mean()) if name == "offsets" else (0.0, 0.0)
        np.testing.assert_allclose(own - less[0], other - less[1], rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("clarity", [0.0, 0.2, 3.0])
@pytest.mark.parametrize(("classes", "n"), [(2, 7), (2, 64), (2, 500), (3, 200), (9, 400)])
def test_probabilities_are_those_of_the_reference(rng, classes, n, clarity, counted, prior):
    rows = rows_of(rng, classes, n, clarity)
    counts = 1000 * rng.random(classes) if counted else None
    known = (0.7, rng.normal(size=classes), 50 * rng.random(classes + 1)) if prior else None
    compare(fitted(rows, counts, known), reference.fit_scaling(*rows, counts, known))


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_and_offsets_are_given_up_where_the_reference_gives_them_up(rng, classes):
    """Scores that say a little, and classes that they favour a little: near both criteria."""
    given_up = []
    for _ in range(150):
        scores, *rest = rows_of(rng, classes, 80, rng.uniform(0.2, 1.0))
        rows = (scores + 0.6 * rng.normal(size=scores.shape[1]), *rest)
        found = fitted(rows)
        compare(found, reference.fit_scaling(*rows))
        given_up.append((found[0] == 0, not found[1].any()))
    assert set(given_up) == {(True, False), (False, True), (False, False)}


def test_scores_that_say_the_opposite_are_not_believed(rng):
    scores, *rest = rows_of(rng, 3, 300, 2.0)
    found = fitted((-scores, *rest), None, (1.0, np.ones(3), np.full(4, 1e-3)))
    compare(found, reference.fit_scaling(-scores, *rest, None, (1.0, np.ones(3), np.full(4, 1e-3))))
    assert found[0] == 0


def test_rows_without_number_heavy_ones_and_none_at_all(rng):
    scores, codes, weights, evidence = rows_of(rng, 3, 50)
    far = scores.copy()
    far[:, 2] = -np.inf
    compare(fitted((far, codes, weights, evidence)), reference.fit_scaling(far, codes, weights, evidence))
    heavy = (scores, codes, 1e12 * weights, 1e12 * weights)
    compare(fitted(heavy), reference.fit_scaling(*heavy))
    assert fitted((np.full((4, 1), np.inf), codes[:4] // 2, weights[:4], evidence[:4]))[0] == 1
    inverse, offsets, _ = fitted((scores[:0], codes[:0], weights[:0], evidence[:0]))
    assert np.isfinite(inverse)
    assert np.isfinite(offsets).all()


def parts_of(rng, p, classes, n):
    logits = 2 * rng.normal(size=(p, n, classes))
    base, codes = rng.normal(size=(n, classes)), rng.integers(0, classes, size=n).astype(np.int32)
    logits[:, np.arange(n), codes] += 2 * rng.random((p, 1))
    return logits, base, codes, rng.random(n) + 0.1


def weighed(logits, *rest):
    shares, losses = np.full(len(logits), np.nan), np.full(len(logits) + 1, np.nan)
    _native.weigh_parts(logits.reshape(-1, logits.shape[2]), *rest, shares, losses)
    return shares, losses


@pytest.mark.parametrize(("classes", "n"), [(2, 5), (2, 700), (3, 129), (11, 300)])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_parts_are_weighed_as_by_the_reference(rng, p, classes, n):
    zeros = 0
    for turn in range(8):
        parts = parts_of(rng, p, classes, n)
        parts[0][0] *= -1.0 if turn % 2 else 0.1
        if p > 1:
            parts[0][-1] += parts[0][0]  # they say much the same
        (shares, losses), best = weighed(*parts), reference.weigh_parts(*parts)
        np.testing.assert_array_equal(shares[best == 0], 0)
        np.testing.assert_allclose(shares, best, atol=2e-3)
        # it ends where a step gains less than that
        assert reference.held_loss(shares, *parts) <= reference.held_loss(best, *parts) * (1 + 1e-7)
        zeros += np.count_nonzero(shares == 0)
        alone = [reference.log_loss_of(each, *parts) for each in np.eye(p)]
        np.testing.assert_allclose(losses, [*alone, reference.log_loss_of(shares, *parts)], rtol=1e-12)
    assert zeros > 0


def test_without_rows_the_last_part_speaks():
    shares, _ = weighed(np.zeros((3, 0, 4)), np.zeros((0, 4)), np.zeros(0, dtype=np.int32), np.zeros(0))
    np.testing.assert_array_equal(shares, [0, 0, 1])


def sample_of(rng, r, by, n=300, width=6, weighed=True):
    """What ``leave_one_out`` takes: rows of a few directions, of which some are known by their products."""
    vectors = rng.normal(size=(n, width)) * np.geomspace(1, 0.05, width)
    codes = rng.integers(0, max(2, r), n).astype(np.int32)
    scores = np.ascontiguousarray(3 * vectors[:, :1] + rng.normal(size=(n, r)))
    weights = rng.choice([0.5, 1.0, 1.0, 3.0], n) if weighed else np.ones(n)
    class_weights = rng.random(max(2, r)) + 0.5
    shares = weights * class_weights[codes]
    class_weights, shares = class_weights / shares.sum(), shares / shares.sum()
    lengths, rows = (vectors * vectors).sum(axis=1), np.linspace(0, n - 1, min(n, 60)).astype(int)
    if by == 0:
        rows, known = np.arange(n), vectors
    else:
        known = vectors[rows] @ vectors[rows].T
    own = (weights[rows], shares[rows], 1.3)
    return (scores, codes, weights, shares, class_weights, lengths, 1e-3, by, width, known, *own)


def left_out(sample):
    found = np.full(sample[0].shape, np.nan)
    _native.leave_one_out(*sample, found)
    return found


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize(("r", "by"), [(1, 0), (1, 1), (4, 1), (1, 2), (2, 2), (5, 2)])
def test_rows_are_left_out_as_by_the_reference(rng, r, by, weighed):
    for n, width in ((300, 6), (40, 30), (2, 3), (1, 1)):
        for strength in (1e-3, 0.1):
            sample = list(sample_of(rng, r, by, n, width, weighed))
            sample[6] *= strength
            np.testing.assert_allclose(
                left_out(sample), reference.leave_one_out(*sample), rtol=1e-9, atol=1e-9
            )


@pytest.mark.parametrize(("r", "by"), [(1, 0), (3, 1), (1, 2)])
def test_rows_are_left_out_whatever_their_weights_and_scores(rng, r, by):
    plain = sample_of(rng, r, by)
    heavy, sure, alike = list(plain), list(plain), list(plain)
    heavy[2], heavy[10] = plain[2] * 1e200, plain[10] * 1e200
    sure[0] = plain[0] * 1e3
    alike[5], alike[9] = np.ones(300), np.ones_like(plain[9])
    alike[6] = 1e-250 if by == 0 else alike[6]  # the ridge is lost: curvature is 0 along most directions
    for sample in (heavy, sure, alike):
        np.testing.assert_allclose(left_out(sample), reference.leave_one_out(*sample), rtol=1e-6, atol=1e-6)


def test_what_is_wrong_is_refused(rng):
    scores, codes, weights, evidence = rows_of(rng, 3, 20)
    for bad in (codes + np.int32(1), codes - np.int32(3)):
        with pytest.raises(ValueError, match="a code is not below 3"):
            fitted((scores, bad, weights, evidence))
        with pytest.raises(ValueError, match="a code is not below 3"):
            weighed(np.zeros((1, 20, 3)), scores, bad, weights)
    with pytest.raises(ValueError, match="evidence has length 19, not 20"):
        fitted((scores, codes, weights, evidence[1:].copy()))
    with pytest.raises(ValueError, match="prior_precision has length 3, not 4"):
        fitted((scores, codes, weights, evidence), None, (1.0, np.zeros(3), np.zeros(3)))
    with pytest.raises(TypeError):
        fitted((scores, codes, weights, evidence), None, ("1", None, None))
    sample = sample_of(rng, 3, 1)
    for at, bad, message in (
        (1, sample[1] - np.int32(3), "a code is not below 3"),
        (1, sample[1] + np.int32(1), "a code is not below 3"),
        (5, sample[5][1:].copy(), "squared_lengths has length 299, not 300"),
        (7, 3, "by"),
        (9, sample[9][1:].copy(), "known has shape"),
        (11, sample[11][1:].copy(), "known_shares has length 59, not 60"),
    ):
        with pytest.raises(ValueError, match=message):
            left_out((*sample[:at], bad, *sample[at + 1 :]))
    with pytest.raises(ValueError, match="scores has shape"):
        left_out((*sample[:7], 0, *sample[8:]))  # all directions are those of two classes
    for p in (0, 4):
        with pytest.raises(ValueError, match=f"{p} parts, not 1 to 3"):
            weighed(np.zeros((p, 20, 3)), scores, codes, weights)
    with pytest.raises(ValueError, match="logits has shape"):
        weighed(np.zeros((2, 19, 3)), scores, codes, weights)


SOURCES = [
    "tests/native/exercise_answers.c",
    *(f"native/answers/{name}.c" for name in ("likelihood", "parts", "probabilities")),
    "native/moments/ridge.c",
    "native/refine/leave_one_out.c",
]


@pytest.mark.slow
def test_every_build_fits_alike_to_the_bit_and_stays_in_its_buffers(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    said = set()
    for way, flags in WAYS.items():
        program = str(tmp_path / way.replace(" ", "_"))
        sources = [str(ROOT / name) for name in SOURCES]
        command = ["gcc", "-std=gnu11", "-ffp-contract=off", "-Wall", "-Werror", *flags]
        subprocess.run([*command, f"-I{ROOT / 'native'}", *sources, "-o", program, "-lm"], check=True)
        done = subprocess.run([program, "7", "500"], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-3000:]
        said.add(done.stdout)
    assert len(said) == 1
    assert len(set(said.pop().splitlines())) > 900
