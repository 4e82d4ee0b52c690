"""Summary.compare: what has drifted is found, and chance is not."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from sefr import SEFRClassifier, Summary
from sefr._summary.drift import DriftWarning, Thresholds


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits, load_iris, load_wine])
def test_random_parts_of_one_table_have_not_drifted(load, rng):
    X, y = load(return_X_y=True)
    for part in (0.5, 0.2, 0.1) * 5:
        order = rng.permutation(len(y))
        cut = int(len(y) * part)
        some, rest = order[:cut], order[cut:]
        found = Summary.of(X[rest], y[rest]).compare(Summary.of(X[some], y[some]))
        assert not found, found.findings
        assert found.findings == ()


def test_every_kind_of_change_is_found_and_no_other(rng):
    X = rng.uniform(size=(4000, 6))
    y = np.array(["a", "b"])[rng.integers(0, 2, size=4000)]
    before = Summary.of(X[:2000], y[:2000], missing="ignore")
    Z, labels = X[2000:].copy(), y[2000:].copy()
    Z[:, 1] = 0.4 + 0.6 * Z[:, 1]  # the mean, 0.2 up
    Z[:, 2] += np.where(labels == "a", 0.1, -0.1)  # the means of the classes, not that of all
    Z[::4, 3] = np.nan
    Z[0, 4] = 30.0
    found = before.compare(Summary.of(Z, labels, missing="ignore"), Thresholds(mean=0.08))
    assert [item.drifted for item in found.features] == [
        *((), ("mean", "class mean"), ("class mean",), ("missing",), ("outside",), ()),
    ]
    moved = found.features[1]
    assert moved.shift == pytest.approx(Z[:, 1].mean() - X[:2000, 1].mean(), abs=2e-3)  # the range is near 1
    assert (moved.mean_before, moved.mean_after) == pytest.approx((X[:2000, 1].mean(), Z[:, 1].mean()))
    assert found.features[3].missing_after == 0.25
    assert found.features[4].above == pytest.approx(29.0, abs=0.1)
    assert not any(each.drifted for each in found.classes)
    assert len(found.findings) == 4
    assert bool(found)


def test_shares_of_classes_new_ones_and_absent_ones():
    X = np.ones((1000, 1))
    before = Summary.of(X, ["a"] * 500 + ["b"] * 500)
    after = Summary.of(X, ["a"] * 900 + ["c"] * 100)
    found = before.compare(after)
    assert [(each.label, each.before, each.after, each.is_new) for each in found.classes] == [
        ("a", 0.5, 0.9, False),
        ("b", 0.5, 0.0, False),
        ("c", 0.0, 0.1, True),
    ]
    assert found.findings == (
        "class a had 50.0% of the rows, now 90.0%",
        "class b had 50.0% of the rows, now 0.0%",
        "class c is new: 10.0% of the rows",
    )


def test_a_change_within_chance_is_none_however_small_the_threshold():
    X = np.array([[0.0], [1.0]] * 50)
    y = ["a", "b"] * 50
    few = Summary.of([[0.0], [1.0], [1.0]], ["a", "b", "b"])
    many = Summary.of(np.array([[0.0], [1.0], [1.0]] * 5000), ["a", "b", "b"] * 5000)
    strict = Thresholds(share=0, mean=0, missing=0)
    assert not Summary.of(X, y).compare(few, strict)
    assert Summary.of(X * 1.0, y).compare(many, Thresholds(share=0, mean=0, chance=3)).findings


def test_a_feature_that_was_constant_or_absent():
    y = ["a", "b"] * 20
    constant = Summary.of(np.full((40, 2), 5.0), y)
    moved = Summary.of(np.column_stack([np.full(40, 5.0), np.full(40, 7.0)]), y)
    same, other = constant.compare(moved).features
    assert (same.shift, same.drifted) == (0.0, ())
    assert (other.shift, other.drifted) == (1.0, ("mean", "class mean"))
    absent = Summary.of(np.full((40, 2), np.nan), y, missing="ignore")
    found = absent.compare(moved)
    assert [item.drifted for item in found.features] == [("missing",), ("missing",)]
    assert found.features[0].mean_before is None
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["drifted"] is True


def test_the_numbers_of_a_wide_change_stay_finite():
    huge = Summary.of([[-1.7e308], [1.7e308]], [0, 1])
    json.dumps(huge.compare(huge).to_dict(), allow_nan=False)


def test_what_cannot_be_compared():
    a = Summary.of([[1.0, 2.0]], ["a"])
    with pytest.raises(ValueError, match="cannot compare Summaries of 2 and 1 features"):
        a.compare(Summary.of([[1.0]], ["a"]))
    with pytest.raises(ValueError, match="the second Summary has no rows"):
        a.compare(a * 0)
    with pytest.raises(ValueError, match="threshold mean must be a number from 0 up, not -1"):
        Thresholds(mean=-1)
    with pytest.raises(ValueError, match="different kinds"):
        a.compare(Summary.of([[1.0, 2.0]], [3]))


def test_a_model_warns_of_rows_that_leave_what_was_learned(rng):
    X, y = load_breast_cancer(return_X_y=True)
    model = SEFRClassifier().fit(X[:300], y[:300])
    late = X[300:]
    assert model.drift(X[:150]).findings == ()
    model.drift(X[:150]).warn()  # silent; a warning is an error in these tests
    kilograms = late.copy()
    kilograms[:, 3] *= 1000
    with pytest.warns(DriftWarning, match="the mean of 'column 3' moved"):
        model.drift(kilograms).warn()
    assert model.drift(kilograms).classes == ()


def test_names_of_others_stay_text():
    import pandas as pd

    frame = pd.DataFrame({"\x1b[31mred": [0.0, 1.0] * 30})
    before = Summary.of(frame, ["a", "b"] * 30)
    found = before.compare(Summary.of(frame + 5, ["a", "b"] * 30))
    assert found.findings
    assert "\x1b" not in "".join(found.findings)


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits, load_wine])
def test_random_parts_of_one_table_have_not_drifted_in_their_bins(load, rng):
    X, y = load(return_X_y=True)
    clf = SEFRClassifier(bins=12).fit(X, y)
    for size in (15, 60, len(y) // 2):
        some = rng.permutation(len(y))[:size]
        part = Summary.of(X[some], y[some], bins=clf.edges_)
        assert clf.summary_.compare(part).findings == ()
        assert clf.drift(X[some]).findings == ()


def test_psi_and_ks_by_hand():
    """Counts 30, 50, 20 and 10, 20, 70 of 100 rows; half a row more per bin keeps the logarithm finite."""
    values = np.array([0.0, 1.0, 2.0])
    before, after = (np.repeat(values, counts)[:, None] for counts in ([30, 50, 20], [10, 20, 70]))
    y = np.arange(100) % 2
    edges = [np.array([0.5, 1.5])]
    found = Summary.of(before, y, bins=edges).compare(Summary.of(after, y, bins=edges)).features[0]
    p, q = (np.array(counts) + 0.5 for counts in ([30, 50, 20], [10, 20, 70]))
    p, q = p / p.sum(), q / q.sum()
    assert found.psi == pytest.approx(float(((q - p) * np.log(q / p)).sum()))
    assert found.ks == pytest.approx(0.5)
    assert found.drifted == ("psi", "ks")
    assert found.mean_before is None


def test_every_kind_of_change_of_bins_is_found_and_no_other(rng):
    n = 2000
    X = rng.normal(size=(n, 4))
    X[rng.random(n) < 0.1, 3] = np.nan
    y = np.arange(n) % 2
    clf = SEFRClassifier(bins=10, missing="ignore").fit(X, y)
    later = rng.normal(size=(n, 4))
    later[:, 0] *= 3  # the mean stays: bins see what means do not
    later[:, 1] += 1
    later[rng.random(n) < 0.5, 3] = np.nan
    drift = clf.drift(later)
    found = {item.feature: item.drifted for item in drift.features}
    assert found == {
        "column 0": ("psi", "ks"),
        "column 1": ("psi", "ks"),
        "column 2": (),
        "column 3": ("missing", "psi"),
    }
    said = " ".join(drift.findings)
    assert "'column 0' is distributed otherwise over its bins: PSI " in said
    assert "'column 3': 9.9% of the values were missing" in said
    json.dumps(drift.to_dict(), allow_nan=False)
    quiet = Thresholds(psi=9, ks=1, missing=1)
    assert not clf.drift(later, quiet)


def test_categories_have_a_psi_and_no_order(rng):
    import pandas as pd

    rows = pd.DataFrame({"colour": pd.Categorical(rng.choice(["red", "green", "blue"], 600))})
    clf = SEFRClassifier(bins=4).fit(rows, np.arange(600) % 2)
    other = pd.DataFrame({"colour": pd.Categorical(rng.choice(["red", "red", "red", "mauve"], 600))})
    (item,) = clf.drift(other).features
    assert item.ks is None
    assert item.drifted == ("psi",)
    assert not clf.drift(rows)


def test_bins_of_other_edges_cannot_be_compared(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    one, two = (SEFRClassifier(bins=bins).fit(X, y).summary_ for bins in (4, 5))
    with pytest.raises(ValueError, match="cannot compare Summaries of other bins"):
        one.compare(two)
    with pytest.raises(ValueError, match="with bins and one without"):
        one.compare(Summary.of(X, y))
