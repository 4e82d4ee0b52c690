"""Interactions on boards ask for numbers of cells, the twin asks for raw values: the same scores."""

import numpy as np
import pandas as pd
import pytest
from test_thresholds import run_scores

from sefr import SEFRClassifier
from sefr.device import quantise
from sefr.device.fern_code import MOST, CellNumbers
from sefr.device.ferns import RangeQuestion


def every_question(clf, rng, longest):
    """Each bin of each feature once, in ferns of ``longest`` questions down to one."""
    coder = clf.summary_.coder
    bins = np.diff(coder.offsets[: coder.n_features + 1])
    pairs = [(j, int(b)) for j, own in enumerate(bins) for b in range(own)]
    pairs = [pairs[i] for i in rng.permutation(len(pairs))]
    ferns = []
    while pairs:
        size = longest - len(ferns) % longest
        ferns.append(pairs[:size])
        pairs = pairs[size:]
    return ferns


def check(clf, values, kind, place, folder, weights="int8"):
    """``place`` is a board and a target."""
    q = quantise(clf, weights, kind)
    code = {"float": "<f4", "int16": "<i2", "uint8": "u1", "int32": "<i4"}[kind]
    records = values.astype(code)
    found = run_scores(clf, records, *place, folder, weights, kind=kind)
    assert found.tolist() == q.scores(records).tolist()
    return q


PLACES = [(board, target) for board in ("uno", "cortex-m0", "host") for target in ("c", "generated")]


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES, ids="-".join)
@pytest.mark.parametrize(
    ("kind", "classes", "missing", "longest"),
    [("uint8", 2, False, 3), ("int16", 3, False, 8), ("float", 2, True, 8), ("float", 3, True, 1)],
)
def test_every_bin_may_be_asked_for(kind, classes, missing, longest, place, tmp_path, rng):
    """Also bins that no value of the type reaches, that of missing values, and ones that say the same."""
    X = rng.integers(-40, 400, (400, 3)).astype(float)
    X[:, 1] = rng.integers(0, 4, 400)
    X[:, 2] = 7
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    settings = {"bins": 12, "missing": "ignore" if missing else "error"}
    y = (np.nan_to_num(X[:, 0]) // 60 + np.nan_to_num(X[:, 1])) % classes
    plain = SEFRClassifier(**settings).fit(X, y)
    ferns = every_question(plain, rng, longest)
    clf = SEFRClassifier(**settings, interactions=ferns).fit(X, y)
    edges = np.unique(np.concatenate([plain.summary_.coder.edges, [-40, 0, 255, 400]]))
    values = rng.choice(np.concatenate([edges - 1, edges, edges + 1]), (300, 3))
    values = values.clip(0, 255) if kind == "uint8" else values
    if missing:
        values[rng.random(values.shape) < 0.2] = np.nan
    q = check(clf, values, kind, place, tmp_path)
    asked = [question for fern in q.ferns for question in fern.questions]
    if kind == "uint8":
        assert any(own.high is not None and own.low > own.high for own in asked), "one is never true"


@pytest.mark.parametrize("place", [("uno", "c"), ("uno", "generated"), ("host", "c")], ids="-".join)
@pytest.mark.parametrize("count", [20, 240])
@pytest.mark.parametrize("missing", [True, False])
def test_categories_and_missing_values(place, count, missing, tmp_path, rng):
    """With 240 categories the numbers of cells take all eight bits."""
    own = [f"c{number:03d}" for number in range(count)]
    codes = rng.integers(0, count, 3000)
    size = rng.integers(-500, 500, 3000).astype(float)
    frame = pd.DataFrame({"a": pd.Categorical.from_codes(codes, own), "b": size})
    if missing:
        frame.loc[rng.random(3000) < 0.1, "a"] = None
        frame.loc[rng.random(3000) < 0.1, "b"] = np.nan
    y = (codes % 3 == 1) ^ (frame["b"].to_numpy() > 0)
    last = count + missing  # all other categories have a bin before that of missing values
    ferns = [[(0, b)] for b in (0, 1, count // 2, count - 1, count, last)]
    ferns += [[(0, last), (1, 3)], [(1, 7 + missing), (0, 2)]]
    clf = SEFRClassifier(bins=8, missing="ignore" if missing else "error", interactions=ferns).fit(frame, y)
    numbers = np.column_stack([rng.integers(0, count + 1, 400), rng.integers(-600, 600, 400)]).astype(float)
    numbers[:6, 0] = [0, 1, count // 2, count - 1, count, 0]
    if missing:
        numbers[rng.random(numbers.shape) < 0.2] = np.nan
    check(clf, numbers, "float" if missing else "int16", place, tmp_path)


@pytest.mark.parametrize(
    ("kind", "classes", "missing", "ferns"),
    [("int16", 2, False, 30), ("float", 2, True, 30), ("float", 3, True, 260)],
)
@pytest.mark.needs("avr")
def test_more_features_than_a_byte_counts(kind, classes, missing, ferns, tmp_path, rng):
    """The search needs most registers then, and the sums are of 32 bits."""
    X = rng.integers(0, 30, (300, 270)).astype(float)
    X[:, 0] = 7
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    settings = {"bins": 3, "missing": "ignore" if missing else "error"}
    y = np.arange(300) % classes
    drawn = rng.integers(1, 270, (ferns, 3)).tolist()
    interactions = [[(feature, 1) for feature in own] for own in drawn]
    clf = SEFRClassifier(**settings, interactions=interactions).fit(X, y)
    q = check(clf, X[:20], kind, ("uno", "c"), tmp_path)
    assert max(question.feature for fern in q.ferns for question in fern.questions) > 255


@pytest.mark.parametrize("target", ["c", "generated"])
@pytest.mark.needs("avr")
def test_a_question_that_no_byte_answers_with_yes(target, tmp_path, rng):
    """Eight steps of search use up the numbers but for those that no cell has."""
    edges = [*range(1, 202), 300]
    X = rng.integers(0, 400, (3000, 1))
    interactions = [[(0, len(edges))], [(0, 3), (0, len(edges)), (0, 200)]]
    clf = SEFRClassifier(bins=[edges], interactions=interactions).fit(X, rng.integers(0, 2, 3000))
    q = check(clf, np.arange(256)[:, None], "uint8", ("uno", target), tmp_path)
    assert len(q.thresholds[0]) > 127


@pytest.mark.needs("avr")
def test_entries_of_16_bits(tmp_path, rng):
    X = rng.integers(0, 300, (300, 4)).astype(float)
    clf = SEFRClassifier(bins=9, interactions=20).fit(X, (X[:, 0] > X[:, 1]) + (X[:, 2] > 200))
    check(clf, X, "int16", ("uno", "c"), tmp_path, "int16")


def test_numbers_of_cells():
    """Three cells in a search of depth 2: the last has number 3, and 2 is that of none."""
    numbers = CellNumbers(np.array([10, 20]), 3, None)
    assert [numbers.of(value) for value in (-5, 9, 10, 19, 20, 99)] == [0, 0, 1, 1, 3, 3]
    assert numbers.yes(RangeQuestion(0, 10, None, missing=False)) == (1, MOST)
    assert numbers.yes(RangeQuestion(0, 10, 19, missing=False)) == (1, 1)
    full = CellNumbers(np.arange(1, 255), 255, None)  # 255 cells in a search of depth 8
    assert full.yes(RangeQuestion(0, 9, 3, missing=False)) == (254, 254)
    gaps = CellNumbers(np.array([1.0]), 1, MOST)
    assert gaps.yes(RangeQuestion(0, 9, 3, missing=True)) == (MOST, MOST)
    assert gaps.yes(RangeQuestion(0, 1, None, missing=True)) == (1, MOST)
    assert gaps.yes(RangeQuestion(0, 1, None, missing=False)) == (1, 1)
