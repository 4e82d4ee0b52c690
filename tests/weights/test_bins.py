"""Features cut into bins: against cells written out and the reference, and the properties of a sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from sefr import SEFRClassifier, cross_validate, reference
from sefr._rows.cells.learn import sample_of_values
from sefr._rows.labelled import Labelled
from sefr._rows.matrix import Dense


def written_out(edges, X, *, missing=False):
    """Return a column of 0 and 1 per cell, by counting edges one by one: no code of the package."""
    columns = []
    for j, own in enumerate(edges):
        cell = sum((X[:, j] >= edge).astype(int) for edge in own) if len(own) else np.zeros(len(X), dtype=int)
        gone = np.isnan(X[:, j])
        columns += [(cell == number) & ~gone for number in range(len(own) + 1)]
        if missing:
            columns.append(gone)
    return np.column_stack(columns).astype(float)


def quantiles(values, bins):
    """Return the edges of one feature by their definition."""
    values = np.sort(values)
    distinct = np.unique(values)
    if len(distinct) <= bins:
        return distinct[1:]
    shares = np.array([(values <= v).sum() * bins for v in distinct])
    found = {distinct[np.argmax(shares >= k * len(values))] for k in range(1, bins)}
    return np.array(sorted(found - {distinct[0]}))


whole_numbers = st.integers(-20, 20).map(float)


@st.composite
def problems(draw, elements=whole_numbers):
    n, m = draw(st.integers(4, 60)), draw(st.integers(1, 6))
    k = draw(st.integers(2, min(n, 4)))
    X = draw(hnp.arrays(np.float64, (n, m), elements=elements))
    y = draw(hnp.arrays(np.int64, n, elements=st.integers(0, k - 1)))
    y[:k] = np.arange(k)  # each class occurs
    return X, y


some_bins = st.sampled_from([2, 3, 5, 16, 32, 64, 256])


@given(problems(elements=st.floats(-1e6, 1e6, width=32)), some_bins)
def test_one_pass_is_the_reference_on_cells_written_out(problem, bins):
    X, y = problem
    clf = SEFRClassifier(bins=bins).fit(X, y)
    for j, edges in enumerate(clf.edges_):
        np.testing.assert_array_equal(edges, quantiles(X[:, j], bins))
    cells = written_out(clf.edges_, X)
    np.testing.assert_array_equal(clf.summary_.sums, [cells[y == c].sum(axis=0) for c in clf.classes_])
    oracle = reference.fit(cells, y, scale=None)
    expected = oracle.scores(cells) * (1 if len(clf.classes_) == 2 else -1)
    scores = clf.decision_function(X)
    assert np.abs(scores.reshape(expected.shape) - expected).max() <= 1e-11
    np.testing.assert_allclose(clf.contributions(X).sum(axis=-1), scores, atol=1e-11)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u1", "i2", "i4", "i8", "u8", "?", "f2"])
@pytest.mark.parametrize("form", ["rows", "columns", "steps", "csr", "csc"])
def test_every_type_and_layout_has_the_same_cells(dtype, form, rng):
    X = (rng.normal(size=(333, 11)) * 9).astype(dtype)
    y = rng.integers(0, 3, size=333)
    expected = SEFRClassifier(bins=16).fit(X.astype(float), y)
    forms = {
        "rows": lambda: X,
        "columns": lambda: np.asfortranarray(X),
        "steps": lambda: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
        "csr": lambda: sparse.csr_matrix(X.astype("f8") if dtype == "f2" else X),
        "csc": lambda: sparse.csc_matrix(X.astype("f8") if dtype == "f2" else X),
    }
    found = SEFRClassifier(bins=16).fit(forms[form](), y)
    assert found.summary_ == expected.summary_
    np.testing.assert_allclose(
        found.decision_function(forms[form]()), expected.decision_function(X), atol=1e-12
    )


def test_edges_between_floats_are_met_exactly(rng):
    """A float32 is compared with an edge that lies between two of them, and a float64 with its neighbours."""
    edge = 0.1  # between two float32
    low, high = np.nextafter(np.float32(edge), np.float32(0)), np.float32(edge)
    assert float(low) < edge < float(high)
    clf = SEFRClassifier(bins=[[edge]]).fit(np.array([[low], [high]]), [0, 1])
    assert clf.summary_.sums.tolist() == [[1, 0], [0, 1]]
    near = np.array([[np.nextafter(edge, 0)], [edge], [np.nextafter(edge, 1)]])
    clf = SEFRClassifier(bins=[[edge, np.nextafter(edge, 1)]]).fit(near, [0, 1, 2])
    assert clf.summary_.sums.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


@given(problems(elements=st.floats(-8, 8, width=32)), st.integers(2, 32))
def test_a_monotone_transformation_changes_no_answer(problem, bins):
    X, y = problem
    between = X + np.linspace(-0.3, 0.3, len(X))[:, None]
    plain, arcs = SEFRClassifier(bins=bins).fit(X, y), np.arctan(X) * 5 - X.min()
    if all(len(np.unique(a)) == len(np.unique(b)) for a, b in zip(X.T, arcs.T, strict=True)):
        # else two values have become one by rounding
        bent = SEFRClassifier(bins=bins).fit(arcs, y)
        np.testing.assert_array_equal(plain.decision_function(X), bent.decision_function(arcs))
    shifted = SEFRClassifier(bins=bins).fit(4 * X, y)  # exact in float64: also for values in between
    np.testing.assert_array_equal(plain.decision_function(between), shifted.decision_function(4 * between))


def test_missing_values_have_cells(rng):
    X = rng.normal(size=(400, 5))
    y = rng.integers(0, 3, size=400)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[y == 0, 2] = np.nan  # that it is missing tells the class
    clf = SEFRClassifier(bins=8, missing="ignore").fit(X, y)
    cells = written_out(clf.edges_, X, missing=True)
    oracle = reference.fit(cells, y, scale=None)
    np.testing.assert_allclose(clf.decision_function(X), -oracle.scores(cells), atol=1e-11)
    assert clf.curves_[2].missing_effects[0] > 0.3
    assert clf.curves_[2].missing_rows == np.isnan(X[:, 2]).sum()
    with pytest.raises(ValueError, match="contains NaN: row 0"):
        SEFRClassifier(bins=8).fit(np.where(np.arange(400)[:, None] == 0, np.nan, 1.0) * np.ones((400, 5)), y)
    known = SEFRClassifier(bins=8).fit(np.nan_to_num(X), y)
    with pytest.raises(ValueError, match="contains NaN"):
        known.predict(X)
    X[7, 3] = np.inf
    with pytest.raises(ValueError, match="contains infinity: row 7, column 3"):
        clf.predict(X)
    with pytest.raises(ValueError, match="contains infinity: row 7, column 3"):
        SEFRClassifier(bins=8, missing="ignore").fit(X, y)


def test_known_ranges_give_edges_that_are_the_same_everywhere(rng):
    a, b = (rng.integers(0, 256, size=(50, 3)) for _ in range(2))
    y = rng.integers(0, 2, size=50)
    one, two = (SEFRClassifier(bins=16, scale=(0, 256)).fit(X, y) for X in (a, b))
    assert one.edges_[0].tolist() == list(range(16, 256, 16))
    one.merge(two)
    both = SEFRClassifier(bins=16, scale=(0, 256)).fit(np.vstack([a, b]), np.concatenate([y, y]))
    assert one.summary_ == both.summary_
    outside = one.predict([[-5, 300, 7]])  # the first and the last bin reach beyond the range
    assert outside == one.predict([[0, 255, 7]])


def test_other_edges_are_an_error_that_says_how_to_share_them(rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, size=60)
    a, b = SEFRClassifier(bins=8).fit(X[:30], y[:30]), SEFRClassifier(bins=8).fit(X[30:], y[30:])
    before = a.summary_
    with pytest.raises(ValueError, match=r"column 0 is cut at other edges.*bins=other\.edges_"):
        a.merge(b)
    with pytest.raises(ValueError, match="with bins and one without"):
        a.merge(SEFRClassifier().fit(X, y))
    assert a.summary_ is before
    a.merge(SEFRClassifier(bins=a.edges_).fit(X[30:], y[30:]))
    assert a.summary_.n_rows == 60
    a.partial_fit(X[:5], y[:5])  # the edges stay those of the first rows
    assert a.summary_.n_rows == 65
    with pytest.raises(ValueError, match="only one has bins for missing values"):
        a.merge(SEFRClassifier(bins=a.edges_, missing="ignore").fit(X, y))


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        (1, "from 2 to 256, not 1"),
        (0, "from 2 to 256, not 0"),
        (-4, "from 2 to 256, not -4"),
        (257, "from 2 to 256, not 257"),
        (2.5, "must be None, a whole number or the edges"),
        (True, "must be None, a whole number or the edges"),
        ("many", "must be None, a whole number or the edges"),
        ([[1, 2], [3, 2]], "edges of feature 1 must rise"),
        ([[1, 2], [2, 2]], "edges of feature 1 must rise"),
        ([[1, np.nan], [2]], "edges of feature 0 must be finite"),
        ([[1, np.inf], [2]], "edges of feature 0 must be finite"),
        ([[1]], "edges for 1 features, but X has 2"),
        ([[1], [2], [3]], "edges for 3 features, but X has 2"),
        ([["a"], [2]], "edges of feature 0 are not numbers"),
        ([[[1]], [2]], "edges of feature 0 are not a list"),
        ([range(256), [1]], "feature 0 has 256 edges, more than 255"),
    ],
)
def test_bins_that_have_no_meaning_are_refused(bins, words):
    clf = SEFRClassifier(bins=bins)
    with pytest.raises(ValueError, match=words):
        clf.fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    assert not clf.__sklearn_is_fitted__()


def test_a_model_with_bins_has_curves_and_no_coef(rng):
    X, y = rng.normal(size=(500, 2)), rng.integers(0, 2, size=500)
    y = (np.abs(X[:, 0]) > 0.7).astype(int)  # no linear model knows this
    clf = SEFRClassifier(bins=16).fit(X, y)
    assert clf.score(X, y) > 0.9 > SEFRClassifier().fit(X, y).score(X, y)
    curve, other = clf.curves_
    assert curve.effects.shape == (1, 16)
    assert curve.effects[0, 0] > 0 > curve.effects[0, 8]
    assert curve.importance > 5 * other.importance
    assert curve.rows.sum() == 500
    for name in ("coef_", "intercept_", "feature_scores_"):
        with pytest.raises(AttributeError, match=f"no {name}.*see curves_"):
            getattr(clf, name)
    assert not hasattr(SEFRClassifier().fit(X, y), "curves_")
    assert not hasattr(SEFRClassifier().fit(X, y), "edges_")


def test_decay_and_constant_features_and_few_values(rng):
    X = np.column_stack([np.full(90, 7.0), rng.integers(0, 2, size=90), rng.normal(size=90)])
    y = rng.integers(0, 3, size=90)
    clf = SEFRClassifier(bins=32).fit(X, y)
    assert [len(edges) for edges in clf.edges_] == [0, 1, 31]
    before = clf.decision_function(X)
    clf.decay(0.5)
    np.testing.assert_allclose(clf.decision_function(X), before, atol=1e-12)
    assert clf.summary_.n_rows == 45
    assert (clf.contributions(X)[:, :, 0] == 0).all()


def test_cross_validation_from_one_pass_equals_scikit_learns(rng):
    from sklearn.model_selection import cross_validate as ordinary

    X, y = rng.integers(0, 100, size=(300, 4)).astype(float), rng.integers(0, 3, size=300)
    for clf in (
        SEFRClassifier(bins=8, scale=(0, 100)),
        SEFRClassifier(bins=8),
        SEFRClassifier(bins=[[9], [8, 50], [], [3]]),
    ):
        for scoring in (None, "neg_log_loss"):
            mine = cross_validate(clf, X, y, cv=5, scoring=scoring)["test_score"]
            np.testing.assert_allclose(
                mine, ordinary(clf, X, y, cv=5, scoring=scoring)["test_score"], rtol=1e-9
            )


def test_a_class_that_was_never_seen_is_no_answer(rng):
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, size=40)
    clf = SEFRClassifier(bins=4).partial_fit(X, y, classes=[0, 1, 2])
    assert set(clf.predict(X)) <= {0, 1}
    assert (clf.decision_function(X)[:, 2] == -np.inf).all()
    clf.partial_fit(X[:5], [2] * 5)
    assert np.isfinite(clf.decision_function(X)).all()


def test_the_sample_of_many_rows_is_spread_and_deterministic():
    """Rows that come in a period of 8 are all seen: with an even step some phases would never be."""
    n = 1 << 16
    X = (np.arange(n) % 8).astype(float)[:, None]
    y = np.arange(n) % 2
    clf = SEFRClassifier(bins=16).fit(X, y)
    assert clf.edges_[0].tolist() == list(range(1, 8))


def test_rows_that_do_not_count_leave_the_sample_as_it_is(rng):
    """Where all rows count they are not looked for: the sample is the one that is found among others."""
    n = 20_000
    matrix = Dense(rng.normal(size=(n, 2)))
    codes = rng.integers(0, 2, size=n).astype(np.int32)
    kept = np.sort(rng.permutation(n)[: n - 3000])
    all_count = Labelled(matrix.take(kept), np.arange(2), codes[kept], None)
    codes[np.setdiff1d(np.arange(n), kept)] = -1
    some_count = Labelled(matrix, np.arange(2), codes, None)
    at, weights = sample_of_values(all_count)
    other, _ = sample_of_values(some_count)
    assert weights is None
    assert len(at) == 1 << 13
    np.testing.assert_array_equal(kept[at], other)
