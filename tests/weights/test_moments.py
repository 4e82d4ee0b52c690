"""Second moments solved from sums: equal to the two-pass references, and to themselves however rows come."""

import numpy as np
import pytest

from sefr import SEFRRegressor, Summary, reference
from sefr._rows.cells import Categories, Cells, Coder
from sefr._rows.cells.ferns import Ferns
from sefr._rows.matrix import Dense, Grouping
from sefr._summary.multiply import products
from sefr._weights import moments
from sefr._weights.moments import Tridiagonal, ridge_regressions, solve_classes, solve_numbers


def drawn(n=400, m=5, classes=3, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.normal(size=(n, m)) @ rng.normal(size=(m, m)) + rng.normal(size=(classes, m))[y]
    X = np.round(X * 64) / 64 + offset  # at 1e9 these are as exact as at 0
    return X, y, X @ rng.normal(size=(m, 2)) - offset * 1.0 + rng.normal(size=(n, 2))


def class_sums(X, y, origin, weights=None, classes=None):
    weights = np.ones(len(X)) if weights is None else weights
    own = (np.asarray(y)[:, None] == np.arange(classes or y.max() + 1)) * weights[:, None]
    moved = np.where(np.isnan(X), 0, X - origin)
    return own.sum(axis=0), own.T @ moved


def classified(X, y, weights=None, classes=None, **settings):
    found = products(Dense(X), weights)
    return solve_classes(found, *class_sums(X, y, found.origin, weights, classes), **settings)


def scores(solution, X):
    return (X - solution.centre) @ solution.weights.T + solution.level


@pytest.mark.parametrize("classes", [2, 3, 11])
@pytest.mark.parametrize("m", [1, 2, 5, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_discriminant_equals_the_reference(classes, m, weighted):
    X, y, _ = drawn(300, m, classes)
    weights = np.random.default_rng(1).integers(0, 3, 300).astype(float) if weighted else None
    found, theirs = classified(X, y, weights), reference.discriminant(X, y, weights)
    assert found.ridge.tolist() == theirs.ridge.tolist()
    np.testing.assert_allclose(scores(found, X), theirs.scores(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("m", [39, 60, 200])
def test_a_discriminant_of_few_rows_equals_the_reference(m):
    X, y, _ = drawn(40, m, 4)
    found, theirs = classified(X, y), reference.discriminant(X, y)
    assert found.ridge.tolist() == theirs.ridge.tolist()
    largest = np.abs(theirs.scores(X)).max()
    np.testing.assert_allclose(scores(found, X), theirs.scores(X), rtol=1e-6, atol=1e-6 * largest)


def test_the_degrees_of_freedom_are_those_of_the_eigenvalues():
    X = np.random.default_rng(2).normal(size=(50, 30)) * np.logspace(-3, 3, 30)
    for m in (0, 1, 2, 30):
        gram = X[:, :m].T @ X[:, :m]
        values = np.linalg.eigvalsh(gram)
        own = Tridiagonal.of(gram, np.ones((m, 1)))
        for ridge in (1e-6, 1.0, 1e6):
            found = ridge_regressions(own, np.array([1e9]), 1.0, ridge, together=True)
            assert found.freedom[0] == pytest.approx((values / (values + ridge)).sum(), abs=1e-9)


@pytest.mark.parametrize("m", [1, 2, 5, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_ridge_regression_equals_the_reference(m, weighted):
    X, _, numbers = drawn(200, m)
    weights = np.random.default_rng(1).random(200) if weighted else None
    found = solve_numbers(products(Dense(X), weights, targets=numbers))
    theirs = reference.ridge_regression(X, numbers, weights)
    assert found.ridge.tolist() == theirs.ridge.tolist()
    np.testing.assert_allclose(scores(found, X), theirs.scores(X), rtol=1e-10, atol=1e-10)


def test_offsets_of_a_billion_lose_no_digits():
    X, y, numbers = drawn(3000, 4)
    far = X + 1e9
    near, found = classified(X, y), classified(far, y)
    assert np.abs(scores(found, far) - scores(near, X)).max() <= 1e-12 * np.abs(scores(near, X)).max()
    assert np.abs(scores(found, far) - reference.discriminant(far, y).scores(far)).max() <= 1e-11
    near = scores(solve_numbers(products(Dense(X), targets=numbers)), X)
    for shift in (0.0, 2.0**30):
        found = solve_numbers(products(Dense(far), targets=numbers + shift))
        moved = (far - found.centre) @ found.weights.T + (found.level - shift)
        assert np.abs(moved - near).max() <= (1e-12 if shift == 0 else 1e-7) * np.abs(near).max()


def test_two_parts_of_the_rows_are_solved_as_all_rows_are():
    X, y, _ = drawn(600)
    whole = classified(X, y)
    a, b = products(Dense(X[:250])), products(Dense(X[250:] + 0.0))
    both = a + b
    found = solve_classes(both, *class_sums(X, y, both.origin))
    np.testing.assert_allclose(scores(found, X), scores(whole, X), rtol=1e-11, atol=1e-11)
    left = both - b
    found = solve_classes(left, *class_sums(X[:250], y[:250], left.origin))
    np.testing.assert_allclose(
        scores(found, X), scores(classified(X[:250], y[:250]), X), rtol=1e-11, atol=1e-11
    )


def test_constant_columns_and_classes_without_rows():
    X, y, _ = drawn()
    padded = np.column_stack([X, np.full(len(X), 0.1), np.zeros(len(X)), np.full(len(X), 1e9)])
    found, plain = classified(padded, y, classes=5), classified(X, y)
    assert found.weights[:, 5:].tolist() == np.zeros((5, 3)).tolist()
    np.testing.assert_allclose(scores(found, padded)[:, :3], scores(plain, X), rtol=1e-9, atol=1e-12)
    assert found.level[3:].tolist() == [-np.inf, -np.inf]
    nothing = classified(np.ones((9, 2)), np.arange(9) % 3)
    assert nothing.weights.tolist() == np.zeros((3, 2)).tolist()
    empty = products(Dense(X)) * 0.0
    with pytest.raises(ValueError, match="no rows"):
        solve_classes(empty, np.zeros(3), np.zeros((3, 5)))


@pytest.mark.parametrize("seed", range(6))
def test_constant_columns_with_weights_and_after_others_were_taken_away(seed):
    X, _, numbers = drawn(200, 3, seed=seed)
    rng = np.random.default_rng(seed)
    weights = rng.random(200)
    constants = np.tile([0.1, 1 / 3, 1e9 + 0.1], (200, 1))
    padded, varied = np.hstack([X, constants]), np.hstack([X, constants + rng.normal(size=(200, 3))])
    plain = solve_numbers(products(Dense(X), weights, targets=numbers))
    far = varied + 1e3 * rng.normal(size=varied.shape)
    own, other, third = (products(Dense(x), weights, targets=numbers) for x in (padded, varied, far))
    for found in (own, (own + other) - other, (other + own) - other, own + third + other - third - other):
        solved = solve_numbers(found, ranges=np.ptp(np.vstack([padded, varied, far]), axis=0))
        assert solved.weights[:, 3:].tolist() == np.zeros((2, 3)).tolist()
        np.testing.assert_allclose(scores(solved, padded), scores(plain, X), rtol=1e-9, atol=1e-9)


def test_a_constant_column_is_told_about_any_origin():
    X, _, numbers = drawn(200, 2)
    padded = np.hstack([X, np.tile([0.1, 1e9 + 0.1], (200, 1))])
    found = products(Dense(padded), np.random.default_rng(5).random(200), targets=numbers)
    for shift in (0.3, 1 / 7, 1e4, 1e-3, 3e-4, 7e-5, 1e-5):
        solved = solve_numbers(found.about(found.origin + shift))
        assert solved.weights[:, 2:].tolist() == np.zeros((2, 2)).tolist()


def test_a_constant_beside_its_origin_is_told_from_rounding():
    n, off = 98.7, 2.0**-23 / 3
    sums, squares = np.array([n * off]), np.array([n * off * off * (1 + 1e-15)])
    assert moments.feature_scale(n, sums, squares, np.zeros(1), None).tolist() == [0.0]


def test_a_class_weight_multiplies_the_prior_and_leaves_the_covariance():
    X, y, _ = drawn()
    plain, weighted = classified(X, y), classified(X, y, class_weights=np.array([1.0, 4.0, 1.0]))
    assert weighted.weights.tolist() == plain.weights.tolist()
    counts = np.bincount(y)
    before, after = counts / counts.sum(), counts * [1, 4, 1] / (counts * [1, 4, 1]).sum()
    assert weighted.level - plain.level == pytest.approx(np.log(np.sqrt(after / before)), rel=1e-12)


def test_missing_values_count_as_the_mean():
    X, y, numbers = drawn()
    X[np.random.default_rng(2).random(X.shape) < 0.15] = np.nan
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    found = products(Dense(X), missing=True)
    counts, sums = class_sums(X, y, found.origin)
    present = np.array([(~np.isnan(X[y == k])).sum(axis=0) for k in range(3)])
    solved = solve_classes(found, counts, sums, present=present.astype(float))
    expected = reference.discriminant(filled, y)
    assert solved.ridge.tolist() == expected.ridge.tolist()
    np.testing.assert_allclose(scores(solved, filled), expected.scores(filled), rtol=1e-9, atol=1e-9)
    solved = solve_numbers(products(Dense(X), missing=True, targets=numbers))
    expected = reference.ridge_regression(filled, numbers)
    np.testing.assert_allclose(scores(solved, filled), expected.scores(filled), rtol=1e-9, atol=1e-9)


def coded(n=1500, ferns=True):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.random(n) * 8, np.zeros(n)])
    X[rng.random(n) < 0.1, 2] = np.nan
    grown = Ferns.of([[(0, 2), (2, 3)], [(1, 1), (0, 5), (2, 2)]]) if ferns else None
    edges = [
        np.quantile(X[:, 0], np.arange(1, 8) / 8),
        Categories(range(3)),
        np.arange(1.0, 8),
        np.array([5.0]),
    ]
    y = ((X[:, 0] ** 2 + (X[:, 1] == 2) + rng.normal(size=n)) > 1).astype(int)
    return Cells(Dense(X), Coder.of(edges, missing=True, ferns=grown)), y


def steps_written_out(matrix, whole_ferns=False):
    """Return the basis column by column: thermometer, cells without order, lines; each in its unit."""
    coder = matrix.coder
    cells = matrix.block(slice(0, matrix.shape[0]))
    columns, needless = [], []
    for column in range(coder.n_columns):
        first, last = coder.offsets[column], coder.offsets[column + 1]
        own = cells[:, first:last]
        if column >= coder.n_features and not whole_ferns:  # but for the rarest cell and its neighbours
            counts = own.sum(axis=0).tolist()
            rarest = counts.index(min(counts))
            needless += [len(columns) + i for i in range(len(counts)) if (i ^ rarest).bit_count() <= 1]
        if coder.unordered[column]:
            columns += list(own.T)
        else:
            ordered = own[:, :-1]  # the last is for missing values
            columns += [ordered[:, b:].sum(axis=1) for b in range(1, ordered.shape[1])] + [own[:, -1]]
    plain = np.array(columns).T
    variance = plain.var(axis=0)
    live = variance > 1e-12
    live[needless] = False
    n_ferns = 0 if coder.ferns is None else int(coder.ferns.sizes.sum())
    of_fern = np.arange(plain.shape[1]) >= plain.shape[1] - n_ferns
    scale = np.zeros(plain.shape[1])
    scale[live] = variance[live] ** -0.25
    unit = np.median((scale * np.sqrt(variance))[live & ~of_fern])
    scale[of_fern] *= moments.FERN_UNIT
    lines = []
    for column in range(coder.n_features):
        edges = coder.edges[coder.starts[column] : coder.starts[column + 1]]
        if coder.unordered[column] or len(edges) < 2:
            continue
        width = np.diff(edges)
        middles = np.concatenate(
            [[edges[0] - width[0] / 2], (edges[1:] + edges[:-1]) / 2, [edges[-1] + width[-1] / 2]]
        )
        first = coder.offsets[column]
        line = cells[:, first : first + len(middles)] @ (middles - middles[0])
        if line.std() > 0:
            lines.append(line / line.std() * unit * moments.LINE_UNIT)
    return np.column_stack([(plain * scale)[:, live], *lines])


@pytest.mark.parametrize("ferns", [False, True])
def test_cells_are_solved_as_steps_lines_and_ferns_written_out_are(ferns):
    matrix, y = coded(ferns=ferns)
    raw = matrix.summarise(Grouping(y.astype(np.int32), None, 2))
    found = solve_classes(products(matrix), raw.counts, raw.sums, coder=matrix.coder)
    Z = steps_written_out(matrix)
    Z = Z - Z.mean(axis=0)
    ones = np.ones(len(Z))
    T = (y[:, None] == [0, 1]) - np.array([(y == k).mean() for k in range(2)])
    losses = [reference.restricted_likelihood(Z, T, ones, each).sum() for each in reference.RIDGES]
    ridge = reference.RIDGES[np.argmin(losses)]
    assert found.ridge[0] == ridge
    mu = np.array([Z[y == k].mean(axis=0) for k in range(2)])
    moved = Z - mu[y]
    w = np.linalg.solve(moved.T @ moved / len(Z) + ridge * np.eye(Z.shape[1]), mu.T)
    expected = Z @ w - (w.T * mu).sum(axis=1) / 2 + np.log(np.bincount(y) / len(y)) / 2
    own = scores(found, matrix.block(slice(0, len(y))))
    np.testing.assert_allclose(own, expected, rtol=1e-8, atol=1e-8)


def test_cells_of_ferns_that_bins_tell_are_left_out_and_nothing_is_lost():
    matrix, _ = coded(4000)
    fewer, whole = (steps_written_out(matrix, whole_ferns=each) for each in (False, True))
    assert whole.shape[1] - fewer.shape[1] == 3 + 4  # of two and of three comparisons
    ranks = [np.linalg.matrix_rank(Z - Z.mean(axis=0)) for Z in (fewer, whole)]
    assert ranks[0] == ranks[1]
    basis = moments.basis_of_cells(matrix.coder, matrix.block(slice(0, 4000)).sum(axis=0), 4000.0)
    assert len(basis.live) + len(basis.lines) == fewer.shape[1]


def test_cells_without_rows_and_coders_without_steps():
    coder = Coder.of([np.array([1.0, 2, 50, 60]), np.empty(0)], missing=False)
    X = np.column_stack([np.arange(60) % 3, np.ones(60)]).astype(float)
    y = (np.arange(60) % 3 == 1).astype(int)
    matrix = Cells(Dense(X), coder)
    raw = matrix.summarise(Grouping(y.astype(np.int32), None, 2))
    found = solve_classes(products(matrix), raw.counts, raw.sums, coder=coder)
    assert np.isfinite(found.weights).all()
    assert (scores(found, matrix.block(slice(0, 60))).argmax(axis=1) == y).all()
    constant = Cells(Dense(np.ones((8, 2))), Coder.of([np.empty(0)] * 2, missing=False))
    raw = constant.summarise(Grouping((np.arange(8) % 2).astype(np.int32), None, 2))
    found = solve_classes(products(constant), raw.counts, raw.sums, coder=constant.coder)
    assert found.weights.tolist() == np.zeros((2, 2)).tolist()


def test_a_tridiagonal_matrix_has_the_same_solutions():
    rng = np.random.default_rng(0)
    for p in (1, 2, 3, 30):
        A = rng.normal(size=(p + 2, p))
        gram, right = A.T @ A, rng.normal(size=(p, 2))
        kept = right.copy(order="F")
        reduced = moments.Tridiagonal.of(gram, kept)
        assert kept.tolist() == right.tolist()
        found = ridge_regressions(reduced, (right**2).sum(axis=0) + 1e3, 1.0, 0.5, together=True)
        moved = gram + 0.5 * np.eye(p)
        np.testing.assert_allclose(found.solved.T, np.linalg.solve(moved, right), rtol=1e-9)
        np.testing.assert_allclose(reduced.turn_back(reduced.rotated), right, rtol=1e-9)


def test_standard_errors_and_variances_are_those_of_the_posterior():
    X, _, numbers = drawn(120, 4)
    found = solve_numbers(products(Dense(X), targets=numbers))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for t in range(2):
        inverse = np.linalg.inv(Z.T @ Z + 120 * found.ridge[t] * np.eye(4))
        moved = numbers[:, t] - numbers[:, t].mean()
        noise = (moved @ moved - moved @ Z @ inverse @ Z.T @ moved) / 119
        assert found.noise[t] == pytest.approx(noise, rel=1e-9)
        errors = np.sqrt(noise * np.diag(inverse)) / X.std(axis=0)
        assert found.standard_errors()[t] == pytest.approx(errors, rel=1e-9)
        leverage = ((Z @ inverse) * Z).sum(axis=1) + 1 / 120
        assert found.leverage(found.in_basis(X), t) == pytest.approx(leverage, rel=1e-9)
        assert found.variances(X)[:, t] == pytest.approx(noise * (1 + leverage), rel=1e-9)


def test_intervals_of_drawn_rows_hold_nine_in_ten():
    X, _, numbers = drawn(4000, 6, seed=8)
    found = solve_numbers(products(Dense(X[:1000]), targets=numbers[:1000]))
    off = np.abs(numbers[1000:] - scores(found, X[1000:])) / np.sqrt(found.variances(X[1000:]))
    assert (off < 1.6449).mean(axis=0) == pytest.approx([0.9, 0.9], abs=0.02)


def test_targets_that_do_not_vary_and_products_without_targets():
    X, _, _ = drawn(50, 3)
    found = solve_numbers(products(Dense(X), targets=np.full((50, 1), 7.0)))
    assert scores(found, X) == pytest.approx(np.full((50, 1), 7.0), rel=1e-12)
    with pytest.raises(ValueError, match="no targets"):
        solve_numbers(products(Dense(X)))


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("seed", range(12))
def test_equal_sums_of_few_rows_give_equal_answers(n, seed):
    """Of two rows every penalty is as likely as another: rounding, as of another origin, must not choose."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(n, n + 6))
    X = rng.normal(size=(n, m)) * 10 + rng.choice([0.0, 100.0, 1000.0])
    y = X[:, 0] + 5 * rng.normal(size=n)
    found = SEFRRegressor().fit(X, y)
    own = found.summary_
    moved = own.products.about(np.zeros(m + 1))
    same = Summary.from_doubles(own.classes, own.totals, own.ends, None, own.coding, moved)
    assert same == own
    other = SEFRRegressor.from_summary(same)
    assert other.ridge_ == found.ridge_
    new = rng.normal(size=(20, m)) * 10 + X.mean()
    np.testing.assert_allclose(other.predict(new), found.predict(new), rtol=0, atol=1e-7)
    np.testing.assert_allclose(
        found.predict(new), reference.ridge_regression(X, y).predict(new)[:, 0], atol=1e-5
    )
    if n == 2:
        assert found.ridge_ == reference.RIDGES[-1]
