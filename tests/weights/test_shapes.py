"""The same rows as array, CSR, CSC and frame give the same model, whatever the size of the values."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from sefr import SEFRClassifier
from sefr._rows.matrix import Columnar, Dense, LinearModel, Sparse, Standardisation, WeightedRows

pytestmark = pytest.mark.slow

PASSES = [1, 2, 10]


@st.composite
def tables(draw):
    """Draw columns of very different size, some far from zero and some mostly zero, and labels."""
    n, m, k = draw(st.integers(6, 40)), draw(st.integers(1, 6)), draw(st.integers(2, 4))
    y = draw(hnp.arrays(np.int64, n, elements=st.integers(0, k - 1)))
    y[:k] = np.arange(k)
    X = np.empty((n, m))
    for j in range(m):
        values = draw(hnp.arrays(np.float64, n, elements=st.integers(-8, 8)))
        size = 10.0 ** draw(st.sampled_from([-300, -100, -9, 0, 9, 18]))
        offset = draw(st.sampled_from([0.0, 0.0, 30.0, 1e5, 1e8]))
        zeros = draw(hnp.arrays(np.bool_, n)) if draw(st.booleans()) else np.zeros(n, dtype=bool)
        X[:, j] = np.where(zeros, 0.0, (values + draw(st.integers(0, 4)) * y + offset) * size)
    return X, y


def shapes_of(X):
    return {
        "csr": sparse.csr_matrix(X),
        "csc": sparse.csc_matrix(X),
        "frame": pd.DataFrame({f"x{j}": X[:, j].copy() for j in range(X.shape[1])}).astype({"x0": object}),
    }


def mixed_sizes(n_rows, far):
    """Return rows whose smallest feature alone tells the classes apart, beside one of size 1e18."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, 3)) * [1e18, 1.0, 1e-300]
    X[:, 0] = 1e18 + 1e9 * rng.normal(size=n_rows) if far else X[:, 0]
    X[:, 2] += 2e-300 * y
    return X, y


@pytest.mark.parametrize("passes", PASSES)
@given(tables())
@example(mixed_sizes(40, far=True))
def test_every_shape_gives_the_same_scores(passes, table):
    X, y = table
    dense = SEFRClassifier(passes=passes).fit(X, y)
    expected = dense.decision_function(X)
    for name, Z in shapes_of(X).items():
        found = SEFRClassifier(passes=passes).fit(Z, y).decision_function(Z)
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=1e-6 * (1 + np.abs(expected).max()), err_msg=name
        )


def learned_in_parts(verb, passes, Z, y):
    """Return a model that was given the first half of the rows and then the others."""
    half, classes = len(y) // 2, np.unique(y)
    rows = Z.iloc if isinstance(Z, pd.DataFrame) else Z
    parts = [(rows[:half], y[:half]), (rows[half:], y[half:])]
    if verb == "fit_batches":
        return SEFRClassifier(passes=passes).fit_batches(parts)
    clf = SEFRClassifier(passes=passes)
    for part in parts:
        clf.partial_fit(*part, classes=classes)
    return clf


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("verb", ["partial_fit", "fit_batches"])
@given(tables())
@example(mixed_sizes(40, far=True))
def test_every_shape_in_parts_gives_the_same_scores(passes, verb, table):
    X, y = table
    expected = learned_in_parts(verb, passes, X, y).decision_function(X)
    limit = 1e-6 * (1 + np.abs(expected[np.isfinite(expected)]).max())
    for name, Z in shapes_of(X).items():
        found = learned_in_parts(verb, passes, Z, y).decision_function(Z)
        np.testing.assert_allclose(found, expected, rtol=0, atol=limit, err_msg=name)


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("n_rows", [200, 3000, 30_000])
def test_a_column_of_1e18_hides_no_other(n_rows, far, passes):
    X, y = mixed_sizes(n_rows, far)
    for name, Z in {"dense": X, **shapes_of(X)}.items():
        assert SEFRClassifier(passes=passes).fit(Z, y).score(Z, y) > (0.75 if passes == 1 else 0.8), name


@given(tables(), st.integers(1, 3))
def test_the_gradient_is_that_of_dense_rows(table, n_threads):
    X, y = table
    k, m = int(y.max()) + 1, X.shape[1]
    spread = X.std(axis=0)
    scale = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1), 0)
    standard = Standardisation(X.mean(axis=0), scale)
    n_scores = 1 if k == 2 else k
    model = LinearModel(np.linspace(-1, 1, n_scores * m).reshape(n_scores, m), np.linspace(0, 0.5, n_scores))
    rows = WeightedRows(y.astype(np.int32), None, np.linspace(1, 2, k))
    expected = Dense(X).gradient(rows, standard, model)
    for matrix in (
        Sparse(sparse.csr_matrix(X)),
        Sparse(sparse.csc_matrix(X)),
        Columnar([X[:, j].copy() for j in range(m)], len(X)),
    ):
        found = matrix.gradient(rows, standard, model, n_threads)
        size = len(X) * (1 + np.abs((X - standard.centre) * scale).max())
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=2e-6 * size)


@given(tables())
def test_equal_neighbours_are_found_in_every_shape(table):
    X, _ = table
    X = np.repeat(X, 1 + np.arange(len(X)) % 2, axis=0)
    rows = np.arange(len(X))
    expected = (X[1:] == X[:-1]).all(axis=1)
    for matrix in (Dense(X), Columnar(list(X.T), len(X)), Sparse(sparse.csr_matrix(X))):
        assert (matrix.repeats(rows, slice(None)) == expected).all()
