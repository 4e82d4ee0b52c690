"""The short form of the harness, from one seed, so that it repeats; `make torture` draws its seeds."""

import os
import random
import shutil
from fractions import Fraction

import numpy as np
import pytest
from files import mutator
from torture import crowd, faults, fuzzer
from torture.oracle import Oracle
from torture.sequences import check
from torture.targets import TARGETS, c_tokens, seeds

from sefr import SEFRClassifier

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("SEFR_TORTURE_SEED", "20200604"))
NAMED = ("model file", "Summary bytes", "board state", "SQL identifiers", "exporter names", "screen text")


@pytest.mark.slow
def test_any_sequence_of_verbs_equals_the_oracle():
    print(f"seed {SEED}")
    assert check(SEED, 15)["compared"] > 100


def test_one_class_of_nearly_all_rows_costs_no_digits():
    """The others are the total minus it, which plain float64 spoils: found by the sequences."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    weights = np.where(y == 1, 1e9, 0.1)
    exact = Oracle(3, "minmax", Fraction(1e-7))
    exact.learn(
        (tuple(map(Fraction, row)), k, Fraction(w)) for row, k, w in zip(X, y.tolist(), weights, strict=True)
    )
    clf = SEFRClassifier().fit(X, y, sample_weight=weights)
    expected = np.array([[float(w) for w in plane[0]] for plane in exact.planes()])
    np.testing.assert_allclose(clf.feature_scores_, expected, rtol=0, atol=1e-12)


def test_probabilities_of_a_class_that_was_taken_back():
    """Scores that tell nothing times minus infinity: found by the sequences."""
    X, y = np.zeros((9, 2)), np.arange(9) % 3
    clf = SEFRClassifier().fit(X, y).forget(X[::3], y[::3])
    found = clf.predict_proba(X)
    np.testing.assert_allclose(found, [[0, 0.5, 0.5]] * 9, atol=1e-12)


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("params", [{}, {"bins": 2}], ids=["linear", "bins"])
def test_probabilities_of_the_only_class_that_is_left(params, left):
    """Scores that tell nothing, times infinity: found by the sequences."""
    X, y = np.zeros((8, 2)), np.arange(8) % 2
    clf = SEFRClassifier(scale=(-1, 1), **params).fit(X, y).forget(X[y != left], y[y != left])
    np.testing.assert_array_equal(clf.predict_proba(X), np.eye(2)[[left] * 8])
    assert (clf.predict(X) == left).all()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="the shim is compiled with gcc")
def test_a_fault_at_a_system_call_leaves_the_old_file_or_the_new_one(tmp_path):
    print(f"seed {SEED}")
    found = faults.run(tmp_path, 15, SEED)
    assert not found["failures"], found["failures"]
    assert found["tried"] > 10
    assert all(calls > 10 for calls in found["calls"].values())


@pytest.mark.slow
def test_a_crowd_loses_no_row(tmp_path):
    print(f"seed {SEED}")
    found = crowd.run(tmp_path, 1, SEED, rounds=3)
    assert not found["failures"], found["failures"]
    assert found["rows_lost"] == 0
    assert found["rows"] > 0


@pytest.mark.slow
def test_every_door_for_foreign_bytes_and_names(tmp_path):
    """Mutations without the guide; mutated files of every format are in test_damaged.py."""
    print(f"seed {SEED}")
    for name, contents in seeds(tmp_path).items():
        for i in range(40 if name in NAMED else 0):
            data = mutator.mutated(contents[i % len(contents)], random.Random(SEED + i))
            try:
                TARGETS[name](data)
            except Exception as error:
                pytest.fail(f"{fuzzer.keep(name, data)}: {error!r}")


@pytest.mark.slow
def test_the_fuzzer_is_guided_and_keeps_what_fails(tmp_path):
    pytest.importorskip("atheris", reason="atheris is for Linux on x86-64, up to Python 3.13")
    corpora = fuzzer.write_corpus(tmp_path)
    found = fuzzer.fuzz("Summary bytes", corpora["Summary bytes"], 2, SEED)
    assert found.failure is None, found.said
    assert found.inputs > 100
    assert found.covered > 50
    assert fuzzer.fails("no such target", b"")
    assert not fuzzer.fails("screen text", b"harmless")
    kept = fuzzer.keep("screen text", b"x", tmp_path / "found")
    assert kept.read_bytes() == b"x"


def test_the_tokens_of_c_are_those_that_a_compiler_reads():
    plain = c_tokens('/* a */ int N_x = 1; const char *s = "one";', "N")
    assert plain == c_tokens('/* b "x */ int N_x = 1; const char *s = "/* two";', "N")
    assert plain != c_tokens('/* b */ int y; /* */ int N_x = 1; const char *s = "one";', "N")


@pytest.mark.parametrize("path", sorted(fuzzer.FOUND.glob("*-*")) or [None], ids=lambda p: p and p.name)
def test_what_the_fuzzer_found_stays_mended(path):
    if path is None:
        pytest.skip("the fuzzer has found nothing so far")
    name = next(name for name in TARGETS if path.name.startswith(name.replace(" ", "-") + "-"))
    assert not fuzzer.fails(name, path.read_bytes())


def test_several_classes_far_from_zero_that_are_not_scaled_cost_no_digits():
    """The others are the total minus a class, of values near 1e9 that differ little: found by sequences."""
    rng = np.random.default_rng(5)
    X, y = 1e9 + rng.integers(-200, 200, (60, 3)), np.arange(60) % 4
    weights = np.where(y == 1, 200 / 3, 1 / 3)  # not so many that the class dominates by itself
    exact = Oracle(3, None, Fraction(1e-7))
    exact.learn(
        (tuple(map(Fraction, row)), k, Fraction(w)) for row, k, w in zip(X, y.tolist(), weights, strict=True)
    )
    clf = SEFRClassifier(scale=None).fit(X, y, sample_weight=weights)
    found = clf.decision_function(X[:10])
    for row, scores in zip(X[:10], found, strict=True):
        expected = [float(score) for score in exact.scores(tuple(map(Fraction, row)))]
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-13)
