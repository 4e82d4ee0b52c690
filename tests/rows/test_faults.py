"""Inputs that were once answered wrongly, or with a crash: each has a right answer or one clear error."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sefr import SEFRClassifier, Summary
from sefr.model_file import dump, parse


@pytest.fixture
def rows(rng):
    y = rng.integers(0, 2, 60)
    return rng.normal(size=(60, 3)) + y[:, None], y


def test_columns_named_by_numbers_and_of_mixed_types(rows):
    X, y = rows
    frame = pd.DataFrame({0: X[:, 0], 1: X[:, 1] > 0, 7: X[:, 2].astype("f4")})
    array = np.column_stack([X[:, 0], X[:, 1] > 0, X[:, 2].astype("f4")])
    clf = SEFRClassifier().fit(frame, y)
    np.testing.assert_allclose(clf.coef_, SEFRClassifier().fit(array, y).coef_, rtol=1e-12)
    assert (clf.predict(frame) == clf.predict(frame)).all()


@pytest.mark.parametrize("fill", [0.0, 1.0])
def test_sparse_columns_of_pandas(rows, fill):
    X, y = rows
    X = np.where(X > 0.5, X, fill)
    hollow = pd.DataFrame(
        {name: pd.arrays.SparseArray(X[:, j], fill_value=fill) for j, name in enumerate("abc")}
    )
    mixed = hollow.assign(b=X[:, 1])
    expected = SEFRClassifier().fit(pd.DataFrame(X, columns=list("abc")), y)
    for frame in (hollow, mixed):
        clf = SEFRClassifier().fit(frame, y)
        assert clf.summary_.feature_names == ("a", "b", "c")
        np.testing.assert_allclose(clf.summary_.sums, expected.summary_.sums, rtol=1e-13)
        assert clf.feature_names_in_.tolist() == list("abc")
        np.testing.assert_allclose(
            clf.decision_function(frame), expected.decision_function(frame), rtol=1e-12
        )


DAMAGE = {
    "an index too high": lambda X: X.indices.__setitem__(3, 1 << 20),
    "an index below 0": lambda X: X.indices.__setitem__(3, -5),
    "indptr that falls": lambda X: X.indptr.__setitem__(2, 10_000),
    "indptr beyond the values": lambda X: X.indptr.__setitem__(slice(1, None), 10_000),
}
SPARSE = """
import sys
import numpy as np
from scipy import sparse
sys.path.insert(0, {folder!r})
from test_faults import DAMAGE
from sefr import SEFRClassifier
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 60)
for damage in DAMAGE:
    X = sparse.{format}_array(rng.random((60, 3)) + y[:, None])
    clf = SEFRClassifier().fit(X, y)
    DAMAGE[damage](X)
    for verb in (clf.predict, clf.predict_proba, clf.contributions, lambda X: clf.fit(X, y)):
        print(damage, flush=True)  # the last is what the process ended of
        try:
            verb(X)
        except ValueError as error:
            assert "damaged" in str(error), error
        else:
            raise SystemExit("taken")
"""


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_a_broken_sparse_matrix_is_refused_before_it_is_read(format):
    from pathlib import Path

    code = SPARSE.format(folder=str(Path(__file__).parent), format=format)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout[-100:], done.stderr[-2000:])
    assert done.stdout.count("\n") == 4 * len(DAMAGE)


@pytest.mark.parametrize("weight", [1e-280, 1e-160, 1e160, 1e280])
def test_weights_of_any_size_are_weights(rows, weight):
    X, y = rows
    clf = SEFRClassifier().fit(X, y, sample_weight=np.full(60, weight))
    np.testing.assert_allclose(clf.coef_, SEFRClassifier().fit(X, y).coef_, rtol=1e-12)
    assert (clf.predict(X) == SEFRClassifier().fit(X, y).predict(X)).all()


def test_weights_that_float64_cannot_count_with(rows):
    X, y = rows
    with pytest.raises(ValueError, match="row 4 is 1e-300"):
        SEFRClassifier().fit(X, y, sample_weight=np.r_[np.ones(4), 1e-300, np.ones(55)])


@pytest.mark.parametrize("params", [{}, {"passes": 5}, {"bins": 8}, {"bins": 8, "passes": 5}])
@pytest.mark.parametrize("weight", [1e-200, 1e14, 1e17, 1e31, 1e280])
@pytest.mark.filterwarnings("error")
def test_weights_of_any_size_can_be_saved_loaded_and_calibrated(rows, params, weight):
    """Many were a LinAlgError (1e14), more than 2**100 could not be loaded, nor could 1e-200 with passes."""
    X, y = rows
    clf = SEFRClassifier(**params).fit(X, y, sample_weight=np.full(60, weight))
    again = parse(dump(clf))
    assert again.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()
    np.testing.assert_allclose(clf.contributions(X).sum(axis=-1), clf.decision_function(X), atol=1e-9)
    clf.calibrate(X, y, np.full(60, weight))
    assert np.isfinite(clf.predict_proba(X)).all()


def test_more_weight_than_a_summary_holds_is_refused(rows):
    X, y = rows
    many = Summary.of(X, y, np.full(60, 1e280))
    for attempt in (
        lambda: SEFRClassifier().fit(X, y, sample_weight=np.full(60, 1e300)),
        lambda: many * 1e20,
        lambda: sum([many * 3e8] * 2),
    ):
        with pytest.raises(ValueError, match=r"more than 1e\+290: divide all weights"):
            attempt()
    large = Summary.of(np.full((2, 1), 1e308), [0, 1])
    with pytest.raises(ValueError, match="the sums of column 0 would be larger than float64 can hold"):
        large + large


@pytest.mark.parametrize("params", [{}, {"bins": 8}])
@pytest.mark.parametrize("weight", [1e14, 1e17, 1e280])
def test_new_rows_that_are_nothing_beside_the_old_ones(rows, params, weight):
    """Beside 1e17 they were a ZeroDivisionError."""
    X, y = rows
    for passes in (1, 5):
        clf = SEFRClassifier(passes=passes, **params).fit(X, y, sample_weight=np.full(60, weight))
        before = clf.decision_function(X)
        clf.partial_fit(X[:1], y[:1])
        np.testing.assert_allclose(
            clf.decision_function(X), before, rtol=1e-2, atol=1e-2 * np.abs(before).max()
        )


@pytest.mark.parametrize("params", [{}, {"passes": 5}, {"bins": 8}])
def test_class_weights_that_float64_cannot_hold(rows, params):
    X, y = rows
    one, other = np.unique(y).tolist()[:2]
    with pytest.raises(ValueError, match=f"class_weight: class {other} has 1e.308: float64 cannot hold"):
        SEFRClassifier(class_weight={other: 1e308}, **params).fit(X, y)
    with pytest.raises(ValueError, match=f"class_weight: class {one} has 1e-300: below 1e-290"):
        SEFRClassifier(class_weight={one: 1e-300}, **params).fit(X, y)


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_class_weights_of_any_size_are_weights(rows, weight):
    """They move the threshold to the mean of the class that weighs less, and leave the weights alone."""
    X, y = rows
    some = y < 2
    clf = SEFRClassifier(class_weight={1: weight}).fit(X[some], y[some])
    np.testing.assert_allclose(clf.coef_, SEFRClassifier().fit(X[some], y[some]).coef_, rtol=1e-12)
    mean = X[some & (y == (0 if weight > 1 else 1))].mean(axis=0)
    np.testing.assert_allclose(clf.decision_function([mean]), 0, atol=1e-12)


@pytest.mark.parametrize("value", [1.7e308, -1e160, 1e80])
@pytest.mark.parametrize(("n", "place"), [(100, 7), (3000, 7), (3000, 8), (3000, 9), (3000, 10)])
@pytest.mark.filterwarnings("error")
def test_one_huge_value_does_not_end_auto(value, n, place):
    """Whether it is held out or not: the square of what a line says of it is no float64."""
    X = np.random.default_rng(1).normal(size=(n, 3))
    y = X[:, 0] + X[:, 2] > 0
    X[place, 1] = value
    clf = SEFRClassifier(auto=True).fit(X, y)
    assert clf.score(X, y) > 0.98
    np.testing.assert_allclose(clf.contributions(X).sum(axis=1), clf.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("params", [{}, {"passes": 5}, {"class_weight": "balanced"}])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("value", [1.7e308, -1.7e308, 1e300, 1e289])
@pytest.mark.filterwarnings("error")
def test_one_enormous_value_is_a_value(rng, params, n_classes, value):
    """Its feature had a weight of 0: rows times range left float64."""
    X, y = np.abs(rng.normal(size=(100, 3))) * np.sign(value), rng.integers(0, n_classes, 100)
    X[5, 1] = value
    smaller = X * [1, 2.0**-100, 1]
    found, expected = (SEFRClassifier(**params).fit(rows, y) for rows in (X, smaller))
    np.testing.assert_allclose(found.feature_scores_, expected.feature_scores_, rtol=1e-9)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(smaller), atol=1e-9)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(smaller), atol=1e-9)
    assert parse(dump(found)).decision_function(X).tobytes() == found.decision_function(X).tobytes()


@pytest.mark.parametrize("kind", [list, lambda labels: np.array(labels, dtype=object)])
def test_whole_numbers_beside_a_float_are_not_rounded(kind):
    clf = SEFRClassifier().fit([[1.0], [2.0], [3.0]], kind([2**53, 2**53 + 1, 1.0]))
    assert clf.classes_.tolist() == [1, 2**53, 2**53 + 1]
    again = parse(dump(clf))
    assert again.predict([[1.0], [2.0], [3.0]]).tolist() == clf.predict([[1.0], [2.0], [3.0]]).tolist()
    assert Summary.from_bytes(clf.summary_.to_bytes()) == clf.summary_


def test_numbers_that_no_type_holds_are_no_labels():
    with pytest.raises(ValueError, match="no number type in common"):
        SEFRClassifier().fit([[1.0], [2.0], [3.0]], [2**53 + 1, 2**63 + 1, -1.0])


def exact_scores(X, y, weights):
    """Return eq. 5 in rational numbers."""
    scores = []
    for column in X.T:
        low, span = (
            Fraction(float(column.min())),
            Fraction(float(column.max())) - Fraction(float(column.min())),
        )
        means = []
        for label in (0, 1):
            own = [
                (Fraction(float(w)), Fraction(float(x)))
                for w, x, k in zip(weights, column, y, strict=True)
                if k == label
            ]
            means.append(sum(w * (x - low) for w, x in own) / sum(w for w, _ in own) / span)
        scores.append(float((means[1] - means[0]) / (means[1] + means[0] + Fraction(1e-7))))
    return np.array(scores)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_fractional_weights_at_an_offset(rows, rng, offset):
    X, y = rows[0] + offset, rows[1]
    weights = rng.random(60)
    expected = exact_scores(X, y, weights)
    parts = [Summary.of(X[i : i + 7], y[i : i + 7], weights[i : i + 7]) for i in range(0, 60, 7)]
    merged = sum(parts[1:], parts[0])
    for summary in (Summary.of(X, y, weights), merged, (merged + parts[0]) - parts[0]):
        found = SEFRClassifier.from_summary(summary).feature_scores_[0]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_decay_at_an_offset(rows):
    X, y = rows[0] + 1e9, rows[1]
    decayed = Summary.of(X[:30], y[:30]) * 0.3 + Summary.of(X[30:], y[30:])
    expected = exact_scores(X, y, np.r_[np.full(30, 0.3), np.ones(30)])
    np.testing.assert_allclose(SEFRClassifier.from_summary(decayed).feature_scores_[0], expected, atol=1e-12)


@pytest.mark.parametrize("passes", [1, 5])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_without_any_value_follows_the_tie_rule(rng, passes, n_classes):
    y = rng.integers(0, n_classes, 90)
    X = rng.normal(size=(90, 4)) + y[:, None]
    clf = SEFRClassifier(missing="ignore", passes=passes).fit(X, y)
    nothing = np.full((2, 4), np.nan)
    assert (clf.decision_function(nothing) == 0).all()
    assert (clf.predict(nothing) == 0).all()


def test_labels_are_compared_as_the_numbers_they_are():
    big = 2**60
    a = Summary.of([[1.0], [2.0]], np.array([big, big + 1], dtype=np.int64))
    b = Summary.of([[3.0], [4.0]], np.array([big + 1, 2**63 + 1], dtype=np.uint64))
    both = a + b
    assert both.classes.tolist() == [big, big + 1, 2**63 + 1]
    assert both.counts.tolist() == [1, 2, 1]
    assert (both - b).counts.tolist() == [1, 1, 0]
    with pytest.raises(ValueError, match="no number type"):
        b + Summary.of([[1.0], [2.0]], np.array([-1, 5]))
    floats = Summary.of([[1.0], [2.0]], np.array([1.0, 2.0]))
    assert (floats + Summary.of([[5.0]], np.array([2], dtype=np.uint8))).counts.tolist() == [1, 2]


HOSTILE = {
    "low must not be above high": {"low": [5.0], "high": [1.0]},
    "present must not be above counts": {"present": [[9.0], [1.0]]},
    r"sums must lie within count \* \[low, high\]": {"sums": [[-1e6], [1.0]]},
    "counts must not be above": {"counts": [1e300, 1.0]},
    "no lowest and highest": {"low": [np.inf], "high": [-np.inf]},
    "tails must be small": {"tails": [[1.0], [0.0]]},
}


@pytest.mark.parametrize("message", HOSTILE)
def test_a_summary_that_no_rows_could_give_is_refused(message):
    good = {"classes": [0, 1], "counts": [2.0, 1.0], "sums": [[3.0], [2.0]], "low": [0.0], "high": [4.0]}
    Summary.from_parts(**good)
    with pytest.raises(ValueError, match=message):
        Summary.from_parts(**(good | HOSTILE[message]))


def test_parts_are_copied():
    classes, counts = np.array([0, 1]), np.array([1.0, 1.0])
    Summary.from_parts(classes=classes, counts=counts, sums=[[0.0], [1.0]], low=[0.0], high=[1.0])
    classes[0], counts[0] = -1, 5.0  # still the caller's


def test_sparse_matrix_of_another_format(rows):
    X, y = sparse.coo_array(np.abs(rows[0])), rows[1]
    X.coords[0][3] = 999
    with pytest.raises(ValueError, match="damaged COO"):
        SEFRClassifier().fit(X, y)
