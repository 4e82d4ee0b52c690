"""Sparse rows in further passes: what chooses the steps, and how large weights of rare features may be."""

import numpy as np
import pytest
from scipy import sparse

from sefr import SEFRClassifier
from sefr._rows import labelled
from sefr._rows.batches import Gatherer
from sefr._rows.labelled import CodedRows, Labelled, sample_of
from sefr._rows.matrix import Dense, Sparse
from sefr._weights.hyperplanes import Scaling
from sefr._weights.refine import standardise
from sefr._weights.refine.standardise import ClassMeans


def words(rng, n, m, stored=30):
    """Rows like texts: few features are frequent, most are rare, and all may speak for a class."""
    ranks = (10 * ((m + 10) / 10) ** rng.random(n * stored) - 10).astype(int)
    X = sparse.csr_matrix((np.ones(n * stored), ranks, np.arange(0, n * stored + 1, stored)), shape=(n, m))
    X.sum_duplicates()
    score = X @ rng.laplace(size=m)
    y = rng.random(n) < 1 / (1 + np.exp(-2 * (score - score.mean()) / score.std()))
    return X, y.astype(int)


def held_out_loss(X, y, passes):
    n = len(y) // 2
    clf = SEFRClassifier(passes=passes).fit(X[:n], y[:n])
    return -np.log(clf.predict_proba(X[n:])[np.arange(n), y[n:]]).mean()


def coded(matrix):
    return CodedRows(matrix, np.arange(matrix.shape[0], dtype=np.int32) % 2, None)


def test_a_sample_of_sparse_rows_is_as_wide_as_what_they_store(rng):
    X, _ = words(rng, 20_000, 100_000)
    assert sample_of(coded(Sparse(X)), 2).matrix.shape[0] == 8192
    assert sample_of(coded(Sparse(X.tocsc())), 9).matrix.shape[0] == 8192 // 9


def test_how_many_rows_are_sampled_does_not_depend_on_their_form(rng):
    X, _ = words(rng, 10_000, 200, stored=5)
    forms = [Sparse(X), Dense(X.toarray()), Dense(np.asfortranarray(X.toarray()))]
    assert [sample_of(coded(form), 2).matrix.shape[0] for form in forms] == [8192] * 3
    full = rng.normal(size=(10_000, 200))
    forms = [Sparse(sparse.csr_matrix(full)), Dense(full)]
    assert [sample_of(coded(form), 2).matrix.shape[0] for form in forms] == [1024] * 2


def test_a_sample_of_batches_has_as_many_sparse_rows(rng):
    X, y = words(rng, 40_000, 500)
    gatherer, classes = Gatherer(), np.array([0, 1])
    for part in np.array_split(np.arange(len(y)), 5):
        gatherer.add(Labelled(Sparse(X[part]), classes, y[part].astype(np.int32), None))
    assert 8192 <= len(gatherer.sample(classes).codes) <= 2 * 8192


@pytest.mark.parametrize("seed", range(3))
def test_more_rows_of_a_sparse_table_choose_better_steps(monkeypatch, seed):
    X, y = words(np.random.default_rng(seed), 40_000, 5_000)
    more = held_out_loss(X, y, 7)
    monkeypatch.setattr(labelled, "SPARSE", 0.0)
    assert more < held_out_loss(X, y, 7)


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_rare_features_are_expected_to_be_smaller(monkeypatch, seed):
    X, y = words(np.random.default_rng(seed), 20_000, 3_000)
    smaller = held_out_loss(X, y, 10)
    monkeypatch.setattr(standardise, "RARE", 1e-12)
    assert smaller < 0.995 * held_out_loss(X, y, 10)


@pytest.mark.parametrize("form", [lambda X: Dense(X), lambda X: Sparse(sparse.csr_matrix(X))])
def test_only_rare_features_have_less_variance(form):
    """Of 0 and 1 the rarer one counts; what lies between the ends of its range is not rare."""
    n = 800
    X = np.zeros((n, 4))
    X[:2, 0] = 1  # one row in 400
    X[2:, 1] = 1
    X[::4, 2] = 1
    X[:, 3] = np.random.default_rng(0).normal(size=n)
    codes = np.arange(n, dtype=np.int32) % 2
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    by_class = np.array([((X[codes == k] - low) / span).mean(axis=0) for k in (0, 1)])
    classes = ClassMeans(by_class, np.array([n / 2, n / 2]), np.full(2, 1 / n))
    rows = CodedRows(form(X), codes, np.ones(n))
    space, sample = standardise.standardise(classes, Scaling(low, span), rows, n, further=False)
    np.testing.assert_allclose(space.variance, [np.sqrt(0.1), np.sqrt(0.1), 1, 1], rtol=1e-6)
    vectors = sample.vectors(np.arange(n))
    np.testing.assert_allclose(vectors.var(axis=0), space.variance * space.unit**2, rtol=1e-6)
    assert (vectors**2).sum(axis=1).mean() == pytest.approx(1)
    assert sample.products(np.arange(n)) == pytest.approx(vectors @ vectors.T, abs=1e-9)


def test_products_of_sparse_rows_are_those_of_their_vectors(rng):
    X, y = words(rng, 3_000, 400)
    low, span = np.zeros(400), np.maximum(X.max(axis=0).toarray().ravel(), 1.0)
    by_class = np.array([X[y == k].mean(axis=0).A1 / span for k in (0, 1)])
    classes = ClassMeans(by_class, np.bincount(y).astype(float), np.full(2, 1 / len(y)))
    rows = CodedRows(Sparse(X), y.astype(np.int32), None)
    _, sample = standardise.standardise(classes, Scaling(low, span), rows, len(y), further=False)
    some = np.arange(0, 3_000, 30)
    vectors = sample.vectors(some)
    np.testing.assert_allclose(sample.products(some), vectors @ vectors.T, atol=1e-12)
