"""Ferns beside bins: against cells written out and the reference, and the properties of a sum."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.model_selection import cross_validate as ordinary

from sefr import SEFRClassifier, Summary, cross_validate, reference
from sefr._rows.cells import Categories
from sefr._rows.cells.grow import Growing
from sefr._weights.refine import thermometer


def bins_of(edges, X):
    """Return the bin of every value, by counting edges one by one; a missing value has the one after all."""
    cells = np.zeros(X.shape, dtype=int)
    for j, own in enumerate(edges):
        if isinstance(own, Categories):
            cells[:, j] = [own.index(value) if value in own else len(own) for value in X[:, j]]
            continue
        for edge in own:
            cells[:, j] += X[:, j] >= edge
        cells[np.isnan(X[:, j]), j] = len(own) + 1
    return cells


def written_out(clf, X, *, missing=False):
    """Return a column of 0 and 1 per cell, of features and of ferns: no code of the package."""
    cells, columns = bins_of(clf.edges_, X), []
    for j, own in enumerate(clf.edges_):
        columns += [cells[:, j] == number for number in range(len(own) + 1 + missing)]
    for fern in clf.interactions_:
        place = np.zeros(len(X), dtype=int)
        for feature, number in fern:
            equal = isinstance(clf.edges_[feature], Categories)
            yes = cells[:, feature] == number if equal else cells[:, feature] >= number
            place = 2 * place + yes
        columns += [place == number for number in range(2 ** len(fern))]
    return np.column_stack(columns).astype(float)


@st.composite
def problems(draw):
    n, m = draw(st.integers(6, 50)), draw(st.integers(1, 6))
    k = draw(st.integers(2, 4))
    X = draw(hnp.arrays(np.float64, (n, m), elements=st.integers(-9, 9).map(float)))
    y = draw(hnp.arrays(np.int64, n, elements=st.integers(0, k - 1)))
    y[:k] = np.arange(k)  # each class occurs
    return X, y


@given(problems(), st.sampled_from([2, 5, 32]), st.integers(1, 9))
def test_one_pass_is_the_reference_on_cells_written_out(problem, bins, count):
    X, y = problem
    clf = SEFRClassifier(bins=bins, interactions=count).fit(X, y)
    assert len(clf.interactions_) == (count if any(map(len, clf.edges_)) else 0)
    cells = written_out(clf, X)
    np.testing.assert_array_equal(clf.summary_.sums, [cells[y == c].sum(axis=0) for c in clf.classes_])
    oracle = reference.fit(cells, y, scale=None)
    expected = oracle.scores(cells) * (1 if len(clf.classes_) == 2 else -1)
    scores = clf.decision_function(X)
    assert np.abs(scores.reshape(expected.shape) - expected).max() <= 1e-10
    parts = clf.contributions(X)
    assert parts.shape[-1] == len(clf.feature_sets_)
    np.testing.assert_allclose(parts.sum(axis=-1), scores, atol=1e-10)


def crossed(rng, n=900, k=2):
    """Return rows that no sum over single features tells apart."""
    X = rng.normal(size=(n, 5))
    return X, ((X[:, 0] > 0).astype(int) + (X[:, 3] > 0.2)) % k


def test_they_see_what_bins_cannot(rng):
    X, y = crossed(rng, 1500)
    for passes in (1, 10):
        bins, ferns = (
            SEFRClassifier(bins=16, interactions=count, passes=passes).fit(X[:1000], y[:1000])
            for count in (None, 30)
        )
        assert bins.score(X[1000:], y[1000:]) < 0.65
        assert ferns.score(X[1000:], y[1000:]) > 0.9
        pair = max(
            range(5, len(ferns.feature_sets_)), key=lambda at: abs(ferns.contributions(X)[:, at]).mean()
        )
        assert {0, 3} <= set(ferns.feature_sets_[pair])


def test_there_are_as_many_as_rows_that_were_held_out_agree_to(rng):
    X, y = crossed(rng, 1500)
    noise = rng.integers(0, 2, len(y))
    useful, idle = (SEFRClassifier(bins=16, interactions=60).fit(X, labels) for labels in (y, noise))
    assert len(useful.interactions_) > 10
    assert 1 <= len(idle.interactions_) < 10
    few = SEFRClassifier(bins=16, interactions=60).fit(X[:100], noise[:100])
    assert len(few.interactions_) == 60  # rows are too few to hold some out


def test_many_rows_have_a_say_in_them_and_ferns_take_turns(rng):
    assert [Growing.of(n).subsets for n in (100, 8191, 8192, 12_288, 1e6)] == [1, 1, 2, 3, 4]
    X, y = rng.normal(size=(12_000, 5)), rng.integers(0, 2, 12_000)
    y[(X[:, 0] > 0) ^ (X[:, 1] > 0)] = 0
    one = SEFRClassifier(bins=8, interactions=9).fit(X, y)
    batches = [(X[:7000], y[:7000]), (X[7000:], y[7000:])]
    assert SEFRClassifier(bins=8, interactions=9).fit_batches(batches).interactions_ == one.interactions_
    X, y = X[:4096], y[:4096]
    twice = SEFRClassifier(bins=8, interactions=9).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    heavy = SEFRClassifier(bins=8, interactions=9).fit(X, y, sample_weight=np.full(4096, 2.0))
    assert heavy.interactions_ == twice.interactions_


@pytest.mark.parametrize("k", [2, 3])
def test_further_passes_are_those_over_columns_written_out(k, rng, monkeypatch):
    """Cells of ferns are categories of columns that were coded before."""
    for name in ("FERN_UNIT", "FERN_VARIANCE", "FERN_LENGTH"):
        monkeypatch.setattr(thermometer, name, 1.0)
    X, y = crossed(rng, 600)
    y = (y + (X[:, 1] > 0.5)) % k
    clf = SEFRClassifier(bins=6, interactions=4, passes=6).fit(X, y)
    cells = written_out(clf, X)
    ends = np.cumsum(
        [len(edges) + 1 for edges in clf.edges_] + [2 ** len(fern) for fern in clf.interactions_]
    )
    coded = np.column_stack([own.argmax(axis=1) for own in np.split(cells, ends[:-1], axis=1)])
    parts = [np.arange(1, len(edges) + 1) - 0.5 for edges in clf.edges_]
    parts += [Categories(range(2 ** len(fern) - 1)) for fern in clf.interactions_]  # the last: any other
    plain = {j: coded[:, j].astype(float) for j in range(len(clf.edges_))}
    values = {
        j: pd.Categorical(coded[:, j], categories=range(2 ** len(clf.interactions_[0])))
        for j in range(5, coded.shape[1])
    }
    expected = SEFRClassifier(bins=parts, passes=6).fit(pd.DataFrame(plain | values), y)
    assert clf.loss_curve_ == pytest.approx(expected.loss_curve_, rel=1e-6)
    np.testing.assert_allclose(
        clf.decision_function(X), expected.decision_function(pd.DataFrame(plain | values)), atol=1e-4
    )


@pytest.mark.parametrize("passes", [1, 4])
def test_every_layout_and_batches_give_the_same(passes, rng):
    X, y = crossed(rng)
    X = np.round(X, 1).astype("f4")
    X[rng.random(X.shape) < 0.3] = 0
    one = SEFRClassifier(bins=16, interactions=7, passes=passes).fit(X, y)
    again = {
        "columns": lambda clf: clf.fit(np.asfortranarray(X), y),
        "float64": lambda clf: clf.fit(X.astype(float), y),
        "csr": lambda clf: clf.fit(sparse.csr_matrix(X), y),
        "frame": lambda clf: clf.fit(pd.DataFrame(X), y),
        "batches": lambda clf: clf.fit_batches([(X[:400], y[:400]), (X[400:], y[400:])]),
    }
    for name, learn in again.items():
        other = learn(SEFRClassifier(bins=16, interactions=7, passes=passes))
        assert other.interactions_ == one.interactions_, name
        assert other.summary_.sums.tolist() == one.summary_.sums.tolist(), name
        np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(
        one.decision_function(sparse.csr_matrix(X)), one.decision_function(X), atol=1e-12
    )


def test_categories_and_missing_values_choose_cells_too(rng):
    """A comparison of categories asks for one of them, and missing values are above all others."""
    n = 800
    colour = rng.choice(["red", "green", "blue"], n)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "colour": pd.Categorical(colour)})
    X.loc[rng.random(n) < 0.3, "a"] = np.nan
    y = ((colour == "green") ^ X["a"].isna()).to_numpy().astype(int)
    clf = SEFRClassifier(bins=8, missing="ignore", interactions=20, passes=5).fit(X, y)
    assert clf.score(X, y) > 0.97
    values = np.column_stack([X["a"], X["b"], np.array([["blue", "green", "red"].index(c) for c in colour])])
    known = Categories([0.0, 1.0, 2.0])
    cells = written_out(_Known([*clf.edges_[:2], known], clf.interactions_), values, missing=True)
    np.testing.assert_array_equal(clf.summary_.sums, [cells[y == c].sum(axis=0) for c in (0, 1)])
    unknown = X.head(5).assign(colour=pd.Categorical(["pink"] * 5), a=np.nan)
    np.testing.assert_allclose(
        clf.contributions(unknown).sum(axis=1), clf.decision_function(unknown), atol=1e-9
    )
    with pytest.raises(ValueError, match="contains infinity: row 0"):
        clf.predict(X.assign(b=np.inf))


class _Known:
    def __init__(self, edges, interactions):
        self.edges_, self.interactions_ = edges, interactions


def test_cross_validation_equals_scikit_learns(rng):
    X, y = crossed(rng, 300)
    known = SEFRClassifier(bins=8, interactions=5).fit(X, y)
    for clf in (
        SEFRClassifier(bins=8, interactions=5),  # grown anew on each training fold
        SEFRClassifier(bins=known.edges_, interactions=5),
        SEFRClassifier(bins=known.edges_, interactions=known.interactions_),
    ):
        mine = cross_validate(clf, X, y, cv=4)["test_score"]
        np.testing.assert_allclose(mine, ordinary(clf, X, y, cv=4)["test_score"], rtol=1e-12)


def test_other_interactions_are_an_error_that_says_how_to_share_them(rng):
    X, y = crossed(rng, 200)
    a = SEFRClassifier(bins=8, interactions=3).fit(X, y)
    before = a.summary_
    with pytest.raises(ValueError, match=r"column 0 is cut at other.*interactions=other\.interactions_"):
        a.merge(SEFRClassifier(bins=8, interactions=3).fit(X[:100], y[:100]))
    for other in (2, None, [[(0, 1)]]):
        with pytest.raises(ValueError, match=r"other interactions.*interactions=other\.interactions_"):
            a.merge(SEFRClassifier(bins=a.edges_, interactions=other).fit(X, y))
    assert a.summary_ is before
    cut = {"bins": [[0.5], [0.5]], "interactions": [[(0, 1), (1, 1)]]}
    two = Summary.of([[0, 0], [1, 1]], [7, 7], **cut)
    with pytest.raises(ValueError, match="more rows of class 7 in a bin of column 0 and column 1 than"):
        two - Summary.of([[0, 1]], [7], **cut)


@pytest.mark.parametrize(
    ("interactions", "words"),
    [
        (0, "from 1 to 1000, not 0"),
        (-3, "from 1 to 1000, not -3"),
        (1001, "from 1 to 1000, not 1001"),
        (2.5, "must be None, a whole number or lists"),
        (True, "must be None, a whole number or lists"),
        ("many", "must be None, a whole number or lists"),
        ([[]], "list 0 must have 1 to 8"),
        ([[(0, 1)] * 9], "list 0 must have 1 to 8"),
        ([[(0, 1)], 3], "list 1 must have 1 to 8"),
        ([[(0, 1, 2)]], r"list 0 has \(0, 1, 2\), which is no"),
        ([[(0, 1.0)]], r"list 0 has \(0, 1.0\), which is no"),
        ([[(0, 1)], [(2, 0)]], "list 1 has feature 2 of 2"),
        ([[(-1, 1)]], "list 0 has feature -1 of 2"),
        ([[(1, 2)]], "list 0 has bin 2 of feature 1, which has 2"),
        ([[(0, 1)]] * 1001, "1001 lists, more than 1000"),
    ],
)
def test_interactions_that_have_no_meaning_are_refused(interactions, words):
    clf = SEFRClassifier(bins=4, interactions=interactions)
    with pytest.raises(ValueError, match=words):
        clf.fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    assert not clf.__sklearn_is_fitted__()
    with pytest.raises(ValueError, match="interactions need bins"):
        SEFRClassifier(interactions=interactions).fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])


def test_features_that_never_vary_have_no_interactions():
    clf = SEFRClassifier(bins=4, interactions=5).fit([[7.0, 1.0]] * 4, [0, 1, 0, 1])
    assert clf.interactions_ == []
    assert clf.feature_sets_ == [(0,), (1,)]
    assert SEFRClassifier(bins=clf.edges_, interactions=clf.interactions_).fit([[7.0, 1.0]] * 4, [0, 1, 0, 1])


def test_what_is_not_there_says_so(rng):
    X, y = crossed(rng, 100)
    plain = SEFRClassifier().fit(X, y)
    assert not hasattr(plain, "interactions_")
    assert plain.feature_sets_ == [(j,) for j in range(5)]
    assert SEFRClassifier(bins=4).fit(X, y).interactions_ == []
    clf = SEFRClassifier(bins=4, interactions=3).fit(X, y)
    assert len(clf.curves_) == 5
    with pytest.raises(AttributeError, match="see curves_"):
        _ = clf.coef_
