"""Further passes over cells: against thermometer columns written out and a general optimiser."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

from sefr import SEFRClassifier, _native
from sefr._rows.batches import Gatherer
from sefr._rows.cells import code_matrix
from sefr._rows.inputs import matrix_of, read_rows
from sefr._weights.refine import refine, thermometer


def rows(rng, n=400, m=5, k=3, missing=0.0):
    X = rng.normal(size=(n, m))
    bent = np.stack([np.sin(2 * X[:, 0]) + X[:, 1], np.abs(X[:, 2]) - X[:, 3], X[:, 1] ** 2], axis=1)[:, :k]
    y = (bent + 0.5 * rng.normal(size=bent.shape)).argmax(axis=1) if k > 1 else (bent[:, 0] > 0).astype(int)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def columns_written_out(edges, X, *, missing):
    """Return a column per edge, 1 at or above it, and one per feature for what is missing."""
    columns = []
    for j, own in enumerate(edges):
        columns += [X[:, j] >= edge for edge in own]
        if missing:
            columns.append(np.isnan(X[:, j]))
    return np.column_stack(columns).astype(float)


def best_loss(Z, y, weights, prior_variance):
    """Return the least penalised loss of softmax regression on columns scaled as the passes do."""
    n, k = len(y), y.max() + 1
    share = weights / weights.sum()
    mean = share @ Z
    variance = mean * (1 - mean)
    scale = np.where(variance > 1e-12, np.maximum(variance, 1e-12) ** (-thermometer.STEP_POWER / 2), 0.0)
    phi = (Z - mean) * scale / np.sqrt(scale**2 @ variance)
    ridge = 1 / (prior_variance * n)

    def loss(point):
        v, b = point[:-k].reshape(k, -1), point[-k:]
        scores = phi @ v.T + b
        value = share @ (logsumexp(scores, axis=1) - scores[np.arange(n), y]) + ridge / 2 * (v**2).sum()
        pull = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
        pull[np.arange(n), y] -= 1
        pull *= share[:, None]
        return value, np.concatenate([(pull.T @ phi + ridge * v).ravel(), pull.sum(axis=0)])

    start = np.zeros(k * (phi.shape[1] + 1))
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 3000, "ftol": 1e-12}).fun


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_many_passes_reach_the_minimum_of_columns_written_out(missing, rng):
    X, y = rows(rng, missing=missing)
    clf = SEFRClassifier(bins=8, passes=300, missing="ignore" if missing else "error").fit(X, y)
    share = np.bincount(y) / len(y)
    Z = columns_written_out(clf.edges_, X, missing=bool(missing))
    least = best_loss(Z, y, (share**-refine.RARITY)[y], refine.PRIOR_VARIANCE)
    assert least * (1 - 1e-6) <= clf.loss_curve_[-1] <= least * 1.01
    assert len(clf.loss_curve_) == clf.n_passes_


@pytest.mark.parametrize("k", [2, 3])
def test_the_gradient_by_steps_is_that_of_differences(k, rng):
    from sefr._rows.cells import Categories, Coder, code_matrix
    from sefr._rows.matrix import Dense, Gradient, WeightedRows

    coder = Coder.of(
        [np.array([-1.0, 0.0, 1.0]), Categories("abc"), np.array([]), np.array([0.5])], missing=True
    )
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 4, size=200), rng.normal(size=(200, 2))])
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, k, size=200).astype(np.int32)
    cells = code_matrix(Dense(X), coder)
    steps, n_scores = thermometer.CellSteps.of(coder), 1 if k == 2 else k
    mean, scale = rng.random(coder.n_cells), rng.random(coder.n_cells) * steps.free
    space = thermometer.StepSpace(coder, steps, mean, mean, scale, 1.0, mean[None])
    weights, bias = rng.normal(size=(n_scores, coder.n_cells)), rng.normal(size=n_scores)
    group = WeightedRows(y, np.ones(len(y)), np.ones(k))

    def loss(weights):
        return cells.gradient(group, space.standard, space.model(weights, bias))

    found: Gradient = loss(weights)
    point, small = np.concatenate([weights.ravel(), bias]), 1e-3
    model, none = space.point_model, np.zeros(weights.size + len(bias))
    search = _native.begin_search(
        n_scores, *model, 0.0, None, None, y, group.weights, True, none, np.inf, none, None
    )
    _native.search_try(search, point[None], None)
    _native.search_tell_pass(search, found.coef, found.intercept, found.loss)
    pulled = np.empty(len(point))
    _native.search_best(search, np.empty(len(point)), pulled)
    for at in range(0, weights.size, 3):
        moved = [weights.copy(), weights.copy()]
        for side, sign in zip(moved, (1, -1), strict=True):
            side.ravel()[at] += sign * small
        slope = (loss(moved[0]).loss - loss(moved[1]).loss) / (2 * small)
        assert pulled.ravel()[at] == pytest.approx(slope, rel=1e-3, abs=5e-2 if k > 2 else 1e-5)


def test_a_point_of_a_table_scores_like_the_table(rng):
    X, y = rows(rng, missing=0.1)
    clf = SEFRClassifier(bins=6, missing="ignore").fit(X, y)
    coder, planes = clf.summary_.coder, clf.fitted_.planes
    steps = thermometer.CellSteps.of(coder)
    shares = clf.summary_.sums.sum(axis=0) / clf.summary_.n_rows
    mean = steps.reached(shares[None])[0]
    space = thermometer.StepSpace(coder, steps, shares, mean, 0.7 * steps.free, 0.7, mean[None])
    point = space.point(planes)
    weights, bias = point[:-3].reshape(3, -1), point[-3:]
    model = space.model(weights, bias)
    cells = np.array(
        [coder.offsets[:-1] + row for row in coder.code(X)]
    )  # scores by the table, and by the point that stands for it
    by_table = planes.weights[:, cells].sum(axis=2).T + planes.bias
    np.testing.assert_allclose(model.coef[:, cells].sum(axis=2).T + model.intercept, by_table, atol=1e-10)
    centred, zero, _ = space.hyperplanes(weights, bias)
    np.testing.assert_allclose(centred[:, cells].sum(axis=2).T, by_table, atol=1e-10)
    assert not zero.any()


def test_passes_find_what_one_pass_cannot_and_explain_it(rng):
    X, y = rows(rng, n=3000)
    one, many = (SEFRClassifier(bins=32, passes=p).fit(X[:2000], y[:2000]) for p in (1, 15))
    assert many.score(X[2000:], y[2000:]) > one.score(X[2000:], y[2000:]) + 0.03
    assert many.n_passes_ <= 15
    np.testing.assert_allclose(many.contributions(X).sum(axis=-1), many.decision_function(X), atol=1e-10)
    assert many.predict_proba(X[2000:]).mean(axis=0) == pytest.approx(np.bincount(y[2000:]) / 1000, abs=0.05)
    for verb in ("merge", "forget"):
        with pytest.raises(ValueError, match=f"cannot {verb}"):
            getattr(many, verb)(one)


def test_rows_columns_sparse_and_batches_learn_alike(rng):
    X, y = rows(rng, n=1500, k=1)
    X[np.abs(X) < 0.8] = 0
    expected = SEFRClassifier(bins=16, passes=8).fit(X, y).decision_function(X)
    forms = {"columns": np.asfortranarray(X), "csr": sparse.csr_matrix(X), "csc": sparse.csc_matrix(X)}
    for form in forms.values():
        scores = SEFRClassifier(bins=16, passes=8).fit(form, y).decision_function(form)
        np.testing.assert_allclose(scores, expected, atol=1e-6 * np.abs(expected).max())
    batches = [(X[i : i + 400], y[i : i + 400]) for i in range(0, 1500, 400)]
    one = SEFRClassifier(bins=16).fit_batches(batches)
    assert one.summary_ == SEFRClassifier(bins=16).fit(X, y).summary_
    some = SEFRClassifier(bins=16, passes=8).fit_batches(batches)
    assert (some.predict(X) == (expected > 0)).mean() > 0.97


def test_batches_may_bring_categories_one_by_one(rng):
    import pandas as pd

    def batch(*colours):
        return pd.DataFrame({"c": pd.Categorical(colours)}), np.arange(len(colours)) % 2

    clf = SEFRClassifier(bins=4).fit_batches([batch("red", "green"), batch("blue", "red", "red")])
    assert clf.edges_[0] == ("blue", "green", "red")
    assert clf.curves_[0].rows.tolist() == [1, 1, 3, 0]


def test_known_ranges_need_no_reading_for_the_edges(rng):
    X, y = rng.integers(0, 100, size=(200, 3)), rng.integers(0, 2, size=200)
    readings = []

    def batches():
        readings.append(1)
        yield X[:100], y[:100]
        yield X[100:], y[100:]

    SEFRClassifier(bins=8, scale=(0, 100)).fit_batches(batches)
    assert len(readings) == 2  # the first looks at one batch
    clf = SEFRClassifier(bins=8).fit_batches(batches)
    assert len(readings) == 4
    assert clf.summary_ == SEFRClassifier(bins=8).fit(X, y).summary_


def test_partial_fit_goes_on_from_the_table(rng):
    X, y = rows(rng, n=2000)
    clf = SEFRClassifier(bins=16, passes=10).fit(X[:1000], y[:1000])
    edges = clf.edges_
    clf.partial_fit(X[1000:], y[1000:])
    assert all(np.array_equal(a, b) for a, b in zip(edges, clf.edges_, strict=True))
    assert clf.summary_.n_rows == 2000
    whole = SEFRClassifier(bins=edges, passes=10).fit(X, y)
    assert (clf.predict(X) == whole.predict(X)).mean() > 0.9


def test_threads_change_no_bit_of_the_passes(rng):
    X, y = rows(rng, n=60_000, m=9)
    one, two = (SEFRClassifier(bins=16, passes=4, n_jobs=n).fit(X, y) for n in (1, 3))
    np.testing.assert_array_equal(one.decision_function(X[:500]), two.decision_function(X[:500]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_the_sample_of_batches_is_in_cells(rng, form):
    """It was written out as columns once, and the search over steps was one over columns: 6 points lost."""
    X, y = rows(rng, n=300, k=1)
    coder = SEFRClassifier(bins=8).fit(X, y).summary_.coder
    gatherer = Gatherer()
    for part in (slice(0, 100), slice(100, 300)):
        gatherer.add(read_rows(form(X[part]), y[part], None, coder)[0])
    sample = gatherer.sample(np.unique(y))
    assert sample.matrix.coder == coder
    expected = read_rows(form(X), y, None, coder)[0].matrix
    np.testing.assert_array_equal(
        np.vstack([block for _, block in sample.matrix.blocks()]),
        np.vstack([block for _, block in expected.blocks()]),
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("ferns", [None, 5])
def test_products_of_rows_are_those_of_their_steps_written_out(missing, ferns, rng):
    n = 150
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    X["d"] = pd.Categorical(rng.choice(list("xyz"), size=n))
    if missing:
        X = X.mask(rng.random(X.shape) < 0.2)
    settings = {"bins": 6, "interactions": ferns, "missing": "ignore" if missing else "error"}
    clf = SEFRClassifier(**settings).fit(X, rng.integers(0, 2, size=n))
    coder = clf.summary_.coder
    cells = code_matrix(matrix_of(X, coder.categories), coder)
    steps, mean = thermometer.CellSteps.of(coder), rng.random(coder.n_cells)
    mean, scale = mean * steps.free, rng.random(coder.n_cells) * steps.free
    space = thermometer.StepSpace(coder, steps, mean, mean, scale, 1.0, mean[None])
    sample = thermometer.CellSample(cells, space, np.zeros(n, dtype=np.int32), np.ones(n))
    vectors = (steps.reached(cells.block(slice(None))) - mean) * scale
    some = np.arange(0, n, 3)
    np.testing.assert_allclose(sample.products(some), (vectors @ vectors.T)[np.ix_(some, some)], atol=1e-12)
    np.testing.assert_allclose(sample.squared_lengths, (vectors**2).sum(axis=1), atol=1e-12)
