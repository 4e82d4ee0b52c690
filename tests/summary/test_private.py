"""Private Summaries: the noise is what was promised, and nothing undoes it."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from sefr import SEFRClassifier, SEFRRegressor, Summary, load, save
from sefr._summary.private import (
    CELL_STEPS,
    STEPS,
    PrivateSummary,
    _middle,
    _rounding,
    _sums_of,
    noise_of,
    with_noise,
)
from sefr._summary.private_products import FLOOR, product_integers, product_rounding

dp = pytest.importorskip("opendp.prelude")
DELTA = 1e-6


@pytest.fixture
def rows(rng):
    return rng.uniform(-3, 5, size=(900, 7)), rng.integers(0, 3, size=900)


def test_the_noise_has_the_size_that_the_release_says(rows):
    X, y = rows
    exact = Summary.of(X, y)
    drawn = [exact.private(1.0, DELTA, (-3, 5)) for _ in range(40)]
    spent = drawn[0].releases[0]
    counts = np.array([(one.counts - exact.counts) / spent.count_noise for one in drawn])
    middle = [one.sums - one.counts[:, None] for one in drawn]  # the middle of the range is 1
    sums = np.array(middle) - (exact.sums - exact.counts[:, None])
    for noise in (counts, sums / 8 / spent.sum_noise):
        assert abs(noise.mean()) < 5 / np.sqrt(noise.size)
        assert noise.std() == pytest.approx(1, abs=5 / np.sqrt(2 * noise.size))
    assert len({one.releases[0].id for one in drawn}) == 40


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("per_person", [1, 4])
def test_opendp_confirms_the_promise_for_the_worst_rows(rows, epsilon, per_person):
    """The distance is measured here, from Summaries that differ by one person's most extreme rows."""
    X, y = rows
    person = np.where(np.arange(7) % 2, -3.0, 5.0)
    spent = Summary.of(X, y).private(epsilon, DELTA, (-3, 5), per_person).releases[0]
    with_person = Summary.of(np.vstack([X, [person] * per_person]), [*y, *[2] * per_person])
    without = Summary.of(X, y)
    weight = spent.sum_noise * STEPS / spent.count_noise

    def released(summary):
        steps = np.rint((summary.sums - summary.counts[:, None]) / 8 * STEPS)
        return np.concatenate([summary.counts * weight, steps.ravel()])

    distance = float(np.linalg.norm(released(with_person) - released(without)))
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    mechanism = dp.c.make_fix_delta(
        dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=spent.sum_noise * STEPS)), DELTA
    )
    assert mechanism.check(d_in=distance, d_out=(epsilon, DELTA))
    assert not mechanism.check(d_in=distance * 1.01, d_out=(epsilon, DELTA))  # no more noise than needed


def centres(released, low, high):
    """Return where the sums of a release lie, in ranges from the middle of the known range."""
    middle, width = (Fraction(low) + Fraction(high)) / 2, Fraction(high) - Fraction(low)
    tails = np.zeros_like(released.sums) if released.tails is None else released.tails
    sums = [Fraction(head) + Fraction(tail) for head, tail in zip(released.sums[0], tails[0], strict=True)]
    return np.array([float((total - Fraction(released.counts[0]) * middle) / width) for total in sums])


def expected(summary, low, high):
    """Return where an attacker who knows the rows expects the sums: from releases of nearly no noise."""
    return np.mean([centres(summary.private(100.0, 0.01, (low, high)), low, high) for _ in range(20)], axis=0)


@pytest.mark.parametrize(("low", "high"), [(1e12, 1e12 + 1), (-1e12 - 1, -1e12), (0, 1), (1e16, 1e16 + 2)])
def test_nobody_can_tell_from_a_release_whether_a_row_was_there(rng, low, high):
    """Sums of 1e17 were rounded to 16: one release at epsilon 1 told it nearly always."""
    X = np.clip(low + (high - low) * rng.random((100_000, 64)), low, high)

    def with_and_without_a_row(columns):
        return [Summary.of(rows[:, columns], np.zeros(len(rows))) for rows in (X, X[1:])]

    present, absent = (expected(one, low, high) for one in with_and_without_a_row(slice(None)))
    telling = np.argsort(-np.abs(present - absent))[:8]
    both = with_and_without_a_row(telling)
    right = 0
    for i in range(200):
        found = centres(both[i % 2].private(1.0, DELTA, (low, high)), low, high)
        near_present = np.linalg.norm(found - present[telling]) < np.linalg.norm(found - absent[telling])
        right += near_present == (i % 2 == 0)
    assert right < 140  # 110 are expected at epsilon 1, with a deviation of 7


RANGES = [(0.0, 1.0), (-3.0, 5.0), (100.0, 101.0), (300.0, 301.0), (1e6, 1e6 + 1), (1e12, 1e12 + 1)]
RANGES += [(-1e12 - 1, -1e12), (1e16, 1e16 + 2), (1e200, 1.0001e200), (-1e-200, 3e-200), (0.1, 0.1 + 1e-15)]


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("parts", [1, 7, 500])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_one_person_moves_the_integers_by_no_more_than_the_noise_covers(rng, low, high, parts, dtype):
    """Also by rounding: in every class, however the rows were cut into parts."""
    X = np.clip(low + (high - low) * rng.random((4_000, 2)), low, high)
    X[:10], X[10:20] = low, high
    if dtype != "f8":
        with np.errstate(over="ignore", invalid="ignore"):
            X = X.astype(dtype)
    kept = ((low <= X.astype(float)) & (X.astype(float) <= high)).all(axis=1)
    if kept.sum() < 100:
        pytest.skip(f"{dtype} has no such values")
    X, y = X[kept], rng.integers(0, 3, kept.sum())
    ends = [np.full(2, side) for side in (low, high)]

    def integers(rows):
        cuts = np.array_split(rows, parts)
        total = sum(Summary.of(X[cut], y[cut]).over(np.arange(3)) for cut in cuts if len(cut))
        return _sums_of(total, *ends, 1, len(X)).integers()

    vector, _, distance = integers(np.arange(len(X)))
    for gone in (0, 10, len(X) // 2):
        rest = integers(np.delete(np.arange(len(X)), gone))[0]
        assert np.linalg.norm(vector - rest) <= distance


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("parts", [1, 300])
def test_a_sum_is_off_by_no_more_than_is_covered(rng, low, high, parts):
    """Beside sums in rational numbers, in steps of which a range has 65,536."""
    X = np.clip(low + (high - low) * rng.random((20_000, 1)), low, high)
    X[0], X[1] = low, high
    summary = sum(Summary.of(part, np.zeros(len(part))) for part in np.array_split(X, parts))
    ends = [np.array([side]) for side in (low, high)]
    middle, half = (Fraction(side[0]) for side in _middle(*ends))
    assert half >= max(Fraction(high) - middle, middle - Fraction(low))
    exact = (sum(map(Fraction, X[:, 0])) - 20_000 * middle) / (2 * half) * STEPS
    found = Fraction(_sums_of(summary, *ends, 1, 20_000).integers()[0][1])
    assert abs(found - exact) <= Fraction(_rounding(*ends, 20_000)[0]) * STEPS + Fraction(1, 2)


@pytest.mark.parametrize("dtype", ["i8", "u8", "i4", "f4"])
def test_integers_whose_sums_would_round_are_added_up_with_care(dtype):
    """5,000 of 2**60 are beyond 2**53: they were taken for exact, and differed from what floats gave."""
    low = 2**60 if dtype[1] == "8" else 2**30
    X = (low + np.arange(5_000).reshape(-1, 1) % 2 * 2**10).astype(dtype)
    X = np.tile(X, (2, 1)) if dtype == "i4" else X
    summary = Summary.of(X, np.zeros(len(X)))
    total = Fraction(summary.sums[0, 0])
    total += 0 if summary.tails is None else Fraction(summary.tails[0, 0])
    assert total == sum(Fraction(float(x)) for x in X[:, 0])


def test_sums_far_from_zero_are_released_as_well_as_others(rng):
    X, y = rng.random((4_000, 2)), rng.integers(0, 2, 4_000)
    X[:, 0] = (X[:, 0] + y) / 2
    ends = (1e12, 1e12 + 1)
    noisy = Summary.of(np.clip(X + 1e12, *ends), y).private(1.0, DELTA, ends)
    model = SEFRClassifier.from_summary(noisy, scale=ends)
    exact = SEFRClassifier(scale=(0, 1)).fit(X, y)
    np.testing.assert_allclose(model.feature_scores_, exact.feature_scores_, atol=0.05)
    assert Summary.from_bytes(noisy.to_bytes()) == noisy


def test_more_rows_round_more_and_have_more_noise(rows):
    exact = Summary.of(*rows)
    few, many = (exact.private(1.0, DELTA, (-3, 5), most_rows=most) for most in (1_000, 1 << 30))
    assert many.releases[0].sum_noise > 2 * few.releases[0].sum_noise
    with pytest.raises(
        ValueError, match="a class has more than most_rows=100 rows, for which the noise covers"
    ):
        exact.private(1.0, DELTA, (-3, 5), most_rows=100)
    for most in (0, True, 1.5, 1 << 40):
        with pytest.raises(ValueError, match="most_rows must be a whole number from 1 to"):
            exact.private(1.0, DELTA, (-3, 5), most_rows=most)


def test_a_model_that_may_be_published_stores_nothing_of_exact_rows(rows):
    X, y = rows
    model = SEFRClassifier.from_summary(Summary.of(X, y).private(1.0, DELTA, (-3, 5)))
    before = model.fitted_
    with pytest.raises(ValueError, match="probabilities fitted to exact rows would reveal them"):
        model.calibrate(X, y)
    assert model.fitted_ is before
    model.merge(Summary.of(X, y)).calibrate(X, y)  # mixed: it may not be published
    assert model.predict_proba(X).shape == (900, 3)


def test_answers_follow_from_what_was_released():
    X, y = load_digits(return_X_y=True)
    draws = [Summary.of(X[::2], y[::2]).private(3.0, DELTA, (0, 16)) for _ in range(5)]
    scores = [SEFRClassifier.from_summary(one, scale=(0, 16)).score(X[1::2], y[1::2]) for one in draws]
    assert np.mean(scores) > 0.8  # one draw has 0.84 with a deviation of 0.02; exact rows 0.88
    noisy = draws[0]
    assert (noisy.low == 0).all()
    assert (noisy.high == 16).all()
    assert (noisy.counts >= 1).all()
    assert (noisy.sums >= 0).all()
    assert (noisy.sums <= 16 * noisy.counts[:, None]).all()


def test_the_mark_is_kept_by_bytes_files_copies_and_verbs(rows, tmp_path):
    noisy = Summary.of(*rows).private(1.0, DELTA, (-3, 5))
    model = SEFRClassifier.from_summary(noisy)
    save(model, tmp_path / "m.sefr")
    for same in (
        Summary.from_bytes(noisy.to_bytes()),
        load(tmp_path / "m.sefr").summary_,
        copy.deepcopy(noisy),
    ):
        assert isinstance(same, PrivateSummary)
        assert same == noisy
        assert same.releases == noisy.releases
    for other in (noisy * 0.5, noisy.over(np.arange(5)), model.decay(0.5).summary_, sum([noisy])):
        assert isinstance(other, PrivateSummary)
        assert other.releases == noisy.releases


def test_a_release_is_never_taken_from_its_source(rows):
    exact = Summary.of(*rows)
    noisy = exact.private(1.0, DELTA, (-3, 5))
    with pytest.raises(ValueError, match="cannot take a private Summary away from exact rows"):
        exact - noisy
    with pytest.raises(ValueError, match="only a release that was added to it"):
        noisy - exact
    with pytest.raises(ValueError, match="cannot take a private Summary away from exact rows"):
        SEFRClassifier.from_summary(exact).forget(noisy)
    with pytest.raises(ValueError, match="noisy already"):
        noisy.private(1.0, DELTA, (-3, 5))


def test_a_site_withdraws_what_it_released(rows):
    X, y = rows
    sites = [Summary.of(X[i::3], y[i::3]).private(1.0, DELTA, (-3, 5)) for i in range(3)]
    total = sum(sites[1:], sites[0])
    rest = total - sites[1]
    assert rest.releases == (sites[0] + sites[2]).releases
    np.testing.assert_allclose(rest.sums, (sites[0] + sites[2]).sums, rtol=1e-12)
    with pytest.raises(ValueError, match="only a release that was added to it"):
        rest - sites[1]
    with pytest.raises(ValueError, match="would be added twice"):
        total + sites[1]
    assert total.spent == {
        "epsilon_same_rows": 3.0,
        "delta_same_rows": 3 * DELTA,
        "epsilon_other_people": 1.0,
        "delta_other_people": DELTA,
    }


def test_exact_rows_that_were_added_are_known(rows):
    exact = Summary.of(*rows)
    noisy = exact.private(1.0, DELTA, (-3, 5))
    assert not noisy.mixed
    assert (noisy + exact).mixed
    assert (exact + noisy).mixed
    assert Summary.from_bytes((exact + noisy).to_bytes()).mixed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, DELTA, (-3, 5)), "epsilon must be a number"),
        ((101, DELTA, (-3, 5)), "epsilon must be a number"),
        ((1, 0, (-3, 5)), "delta must be a number"),
        ((1, 0.5, (-3, 5)), "delta must be a number"),
        ((1, DELTA, (5, -3)), "low below high: column 0 has 5 and -3"),
        ((1, DELTA, (-3, np.inf)), "must be finite"),
        ((1, DELTA, 5), r"a pair \(low, high\)"),
        ((1, DELTA, ([0, 0], 5)), r"one value per feature \(7\)"),
        ((1, DELTA, (-2, 5)), "outside the range from -2 to 5: clip the rows"),
        ((1, DELTA, (-3, 1e280)), "column 0 has the range from -3 to 1e.280: rounding is known for ranges"),
        ((1, DELTA, (0, 1e-280)), "column 0 has the range from 0 to 1e-280: rounding is known for ranges"),
        ((1, DELTA, (-3, 5), 0), "rows_per_person must be a whole number from 1 up, not 0"),
    ],
)
def test_what_is_refused(rows, arguments, message):
    with pytest.raises(ValueError, match=message):
        Summary.of(*rows).private(*arguments)


def test_rows_that_cannot_be_released(rows):
    X, y = rows
    with pytest.raises(ValueError, match="count once each"):
        (Summary.of(X, y) * 0.3).private(1, DELTA, (-3, 5))
    gaps = np.where(X > 4.9, np.nan, X)
    with pytest.raises(ValueError, match="needs every value"):
        Summary.of(gaps, y, missing="ignore").private(1, DELTA, (-3, 5))


def test_a_damaged_mark_is_refused(rows):
    noisy = Summary.of(*rows).private(1.0, DELTA, (-3, 5))
    good = noise_of(noisy)
    plain = Summary.of(*rows)
    assert noise_of(plain) is None
    one = good["releases"][0]
    for bad in (
        *([], "x", {}, {"mixed": False, "releases": []}, {"mixed": 1, "releases": [one]}),
        *({"mixed": False, "releases": [one, one]}, {"mixed": False, "releases": [{}]}),
        {"mixed": False, "releases": [one | {"epsilon": "1"}]},
        {"mixed": False, "releases": [one | {"more": 1}]},
    ):
        with pytest.raises(ValueError, match="the mark of a noisy Summary"):
            with_noise(plain, bad)


@pytest.fixture
def cells(rng):
    y = rng.integers(0, 2, 3000)
    X = np.clip(rng.normal(size=(3000, 4)) + y[:, None], -4, 4)
    return SEFRClassifier(bins=8, scale=(-4, 4)).fit(X, y), X, y


def test_cells_are_released_with_the_noise_that_is_said(cells):
    clf, X, y = cells
    released = clf.summary_.private(2.0, 1e-6, (-4, 4))
    (spent,) = released.releases
    differences = [clf.summary_.private(2.0, 1e-6, (-4, 4)).counts - clf.summary_.counts for _ in range(40)]
    assert 0.6 < np.std(differences) / spent.count_noise < 1.5
    assert released.coder == clf.summary_.coder
    totals = np.add.reduceat(released.sums, released.coder.offsets[:-1], axis=1)
    np.testing.assert_allclose(totals, np.broadcast_to(released.counts[:, None], totals.shape), rtol=1e-9)
    assert (released.sums >= 0).all()
    again = Summary.from_bytes(released.to_bytes())
    assert again == released
    private = SEFRClassifier.from_summary(released, bins=8, scale=(-4, 4))
    assert private.score(X, y) > clf.score(X, y) - 0.02
    with pytest.raises(ValueError, match="private Summary away from exact rows"):
        _ = clf.summary_ - released


@pytest.mark.parametrize("per_person", [1, 3])
def test_opendp_confirms_the_promise_for_cells(cells, per_person):
    """The worst rows of one person: all of one class, in the same cells."""
    clf, X, y = cells
    summary = clf.summary_
    (spent,) = summary.private(1.0, 1e-6, (-4, 4), per_person).releases
    less = Summary.of(X[per_person:], np.r_[y[per_person:]], bins=clf.edges_)
    same = Summary.of(np.tile(X[:1], (per_person, 1)), y[:1].repeat(per_person), bins=clf.edges_)
    moved = (less + same).over(summary.classes)
    weight = spent.sum_noise / spent.count_noise
    distance = np.sqrt(
        ((moved.counts - less.counts) ** 2).sum() * weight**2 + ((moved.sums - less.sums) ** 2).sum()
    )
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    noise = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=spent.sum_noise))
    assert dp.c.make_fix_delta(noise, 1e-6).check(d_in=float(distance), d_out=(1.0, 1e-6))
    assert not dp.c.make_fix_delta(noise, 1e-6).check(d_in=float(distance) * 1.05, d_out=(1.0, 1e-6))


def test_edges_that_tell_of_the_rows_are_not_released(cells):
    clf, X, y = cells
    learned = SEFRClassifier(bins=8).fit(X, y).summary_
    with pytest.raises(ValueError, match="column 0 is cut at edges that do not follow from its range"):
        learned.private(1.0, 1e-6, (-4, 4))
    with pytest.raises(ValueError, match="do not follow from its range from -5 to 4"):
        clf.summary_.private(1.0, 1e-6, (-5, 4))
    import pandas as pd

    rows = pd.DataFrame({"c": pd.Categorical(["a", "b"] * 30)})
    with pytest.raises(ValueError, match="column 0 has categories"):
        SEFRClassifier(bins=4).fit(rows, [0, 0, 1] * 20).summary_.private(1.0, 1e-6, (0, 1))


MOMENTS = {"moments": 2}


def worst_distance(summary, more, ranges, per_person):
    """Return how far a person's rows move the integers, and how far the noise is for, products included."""
    low, high = (np.full(summary.n_features, float(side)) for side in ranges)
    both = []
    for one in (summary, summary + more):
        released = _sums_of(one, low, high, per_person, 1 << 20)
        first, _, distance = released.integers()
        extra, finer = released.products(one.products), released.finer
        both.append(
            (np.concatenate([first * finer, extra.vector]), np.hypot(distance * finer, extra.distance))
        )
    return float(np.linalg.norm(both[1][0] - both[0][0])), both[0][1]


def mechanism(scale):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    noise = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale))
    return dp.c.make_fix_delta(noise, DELTA)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("per_person", [1, 4])
def test_opendp_confirms_the_promise_for_the_worst_rows_and_their_products(rows, epsilon, per_person):
    """Corners of the ranges move every sum and every product as far as a row can."""
    X, y = rows
    summary = Summary.of(X, y, **MOMENTS)
    (spent,) = summary.private(epsilon, DELTA, (-3, 5), per_person).releases
    person = np.where(np.arange(7) % 2, -3.0, 5.0)
    more = Summary.of([person] * per_person, [2] * per_person, **MOMENTS)
    moved, covered = worst_distance(summary, more, (-3, 5), per_person)
    assert moved <= covered
    assert moved > 0.97 * covered  # the rest is for rounding
    promise = mechanism(spent.sum_noise * STEPS)
    assert promise.check(d_in=covered, d_out=(epsilon, DELTA))
    assert not promise.check(d_in=covered * 1.01, d_out=(epsilon, DELTA))


@pytest.mark.parametrize("per_person", [1, 3])
def test_opendp_confirms_the_promise_for_pairs_of_cells(cells, per_person):
    clf, X, y = cells
    edges = clf.edges_
    summary = Summary.of(X, y, bins=edges, **MOMENTS)
    (spent,) = summary.private(1.0, DELTA, (-4, 4), per_person).releases
    more = Summary.of([X[0]] * per_person, [0] * per_person, bins=edges, **MOMENTS)
    moved, covered = worst_distance(summary, more, (-4, 4), per_person)
    assert moved == pytest.approx(covered)  # counts do not round
    promise = mechanism(spent.sum_noise * CELL_STEPS)
    assert promise.check(d_in=covered, d_out=(1.0, DELTA))
    assert not promise.check(d_in=covered * 1.01, d_out=(1.0, DELTA))


NEAR = [(0.0, 1.0), (-3.0, 5.0), (16.0, 17.0), (-17.0, -16.0), (-1e-99, 3e-99), (5e99, 1e100)]


@pytest.mark.parametrize(("low", "high"), NEAR)
@pytest.mark.parametrize("parts", [1, 7, 300])
@pytest.mark.parametrize("kind", ["f8", "f4", "sparse"])
def test_a_product_is_off_by_no_more_than_is_covered(rng, low, high, parts, kind):
    """Beside products in rational numbers, however the rows came and were cut into parts."""
    X = np.clip(low + (high - low) * rng.random((2_000, 2)), low, high)
    X[0], X[1] = low, high
    if kind == "f4":
        with np.errstate(over="ignore", under="ignore"):
            X = X.astype("f4")
        kept = ((low <= X.astype(float)) & (X.astype(float) <= high)).all(axis=1)
        if kept.sum() < 1_000:
            pytest.skip("float32 has no such values")
        X = X[kept]
    n = len(X)
    cuts = [sparse.csr_matrix(part) if kind == "sparse" else part for part in np.array_split(X, parts)]
    total = sum(Summary.of(cut, np.zeros(cut.shape[0]), **MOMENTS) for cut in cuts)
    ends = [np.full(2, side) for side in (low, high)]
    middle, half = (Fraction(side[0]) for side in _middle(*ends))
    rounding = product_rounding(*ends, n)
    fine = STEPS << 26  # so that what whole numbers round is less than what sums do
    found = product_integers(total.products, *_middle(*ends), rounding, fine, 1)
    values = [[(Fraction(float(x)) - middle) / (2 * half) for x in row] for row in X]
    for at, (i, j) in enumerate([(0, 0), (0, 1), (1, 1)]):
        exact = sum(row[i] * row[j] for row in values) * found.unit
        off = abs(Fraction(found.vector[at]) - exact)
        assert off <= Fraction(rounding[i, j]) * found.unit + Fraction(1, 2)


@pytest.mark.parametrize(("low", "high"), NEAR)
@pytest.mark.parametrize("parts", [1, 40])
def test_one_person_moves_the_products_by_no_more_than_the_noise_covers(rng, low, high, parts):
    """Also by rounding, about other origins, however the rows were cut into parts."""
    X = np.clip(low + (high - low) * rng.random((2_000, 3)), low, high)
    X[:10], X[10:20] = low, high
    y, ends = rng.integers(0, 3, len(X)), [np.full(3, side) for side in (low, high)]

    def integers(rows):
        cuts = np.array_split(rows, parts)
        total = sum(Summary.of(X[cut], y[cut], **MOMENTS).over(np.arange(3)) for cut in cuts)
        return _sums_of(total, *ends, 1, len(X)).products(total.products)

    whole = integers(np.arange(len(X)))
    moved = [
        np.linalg.norm(whole.vector - integers(np.delete(np.arange(2_000), i)).vector) for i in (0, 10, 999)
    ]
    assert max(moved) <= whole.distance
    assert max(moved) > 0.99 * (whole.distance - 10)  # a corner moves them as far; 10 steps are for rounding


def test_products_have_the_noise_that_is_said(rows):
    X, y = rows
    exact = Summary.of(X, y, **MOMENTS)
    drawn = [exact.private(100.0, 0.01, (-3, 5)) for _ in range(60)]
    spent = drawn[0].releases[0]
    about = exact.products.about(np.ones(7)).matrix()
    noise = np.array([one.products.matrix() - about for one in drawn]) / 64 / spent.product_noise
    noise = noise[:, *np.triu_indices(7)]
    # eigenvalues lie above the floor at this epsilon; what is left beside the noise is that of sums
    assert noise.std() == pytest.approx(1, abs=0.12)


def test_released_products_are_those_that_rows_could_have(rows):
    """However large the noise: no negative variance, all classes and within them, and the sums fit."""
    X, y = rows
    for epsilon in (0.01, 1.0, 100.0):
        noisy = Summary.of(X, y, **MOMENTS).private(epsilon, DELTA, (-3, 5))
        counts, products = noisy.counts, noisy.products
        sums = noisy.sums - counts[:, None]  # the middle is 1
        assert products.count == counts.sum()
        np.testing.assert_allclose(products.sums, sums.sum(axis=0), rtol=1e-9, atol=1e-6)
        within = products.matrix() - (sums / counts[:, None]).T @ sums
        least = FLOOR * np.sqrt(7) * noisy.releases[0].product_noise * 64  # a range is 8 wide
        assert np.linalg.eigvalsh(within).min() > 0.99 * least
        model = SEFRClassifier.from_summary(noisy, moments=2, scale=(-3, 5))
        assert np.isfinite(model.coef_).all()


def test_released_pairs_of_cells_add_up_to_their_cells(cells):
    clf, X, y = cells
    summary = Summary.of(X, y, bins=clf.edges_, **MOMENTS)
    for epsilon in (0.1, 100.0):
        noisy = summary.private(epsilon, DELTA, (-4, 4))
        products, cell_rows = noisy.products.matrix(), noisy.sums.sum(axis=0)
        by_feature = np.add.reduceat(products, noisy.coder.offsets[:-1], axis=0)
        np.testing.assert_allclose(by_feature, np.tile(cell_rows, (4, 1)), rtol=1e-6, atol=1e-5)
        assert np.linalg.eigvalsh(products).min() > -1e-6 * products.max()
    model = SEFRClassifier.from_summary(noisy, moments=2, bins=8, scale=(-4, 4))
    assert model.score(X, y) > clf.score(X, y) - 0.02


def test_second_moments_of_little_noise_are_more_accurate(rng):
    """A feature that helps only beside another: 20,000 rows at epsilon 3."""
    y = rng.integers(0, 2, 20_000)
    shared = rng.normal(size=20_000)
    X = np.column_stack([shared + 0.3 * y, shared, rng.normal(size=20_000)]) + 0.1 * rng.normal(
        size=(20_000, 3)
    )
    X = np.clip(X, -5, 5)
    noisy = Summary.of(X, y, **MOMENTS).private(3.0, DELTA, (-5, 5))
    second = SEFRClassifier.from_summary(noisy, moments=2, scale=(-5, 5))
    first = SEFRClassifier.from_summary(noisy, scale=(-5, 5))  # the paper, from the same release
    exact = SEFRClassifier(moments=2, scale=(-5, 5)).fit(X, y)
    assert second.score(X, y) > exact.score(X, y) - 0.02
    assert second.score(X, y) > first.score(X, y) + 0.1


def test_the_mark_and_the_products_are_kept_by_every_verb(rows, tmp_path):
    noisy = Summary.of(*rows, **MOMENTS).private(1.0, DELTA, (-3, 5))
    assert noisy.moments == 2
    model = SEFRClassifier.from_summary(noisy, moments=2, scale=(-3, 5))
    save(model, tmp_path / "m.sefr")
    for same in (
        Summary.from_bytes(noisy.to_bytes()),
        load(tmp_path / "m.sefr").summary_,
        copy.deepcopy(noisy),
        pickle.loads(pickle.dumps(noisy)),  # noqa: S301
    ):
        assert isinstance(same, PrivateSummary)
        assert same == noisy
        assert same.releases == noisy.releases
        assert same.releases[0].product_noise > 0
    half = noisy * 0.5
    for other in (half, 0.5 * noisy, noisy.over(np.arange(5)), noisy.first_moments()):
        assert isinstance(other, PrivateSummary)
        assert other.releases == noisy.releases
    assert half.products == noisy.products * 0.5
    assert noisy.first_moments().moments == 1
    total = noisy + (other := Summary.of(*rows, **MOMENTS).private(1.0, DELTA, (-3, 5)))
    assert total.moments == 2
    np.testing.assert_allclose((total - other).products.matrix(), noisy.products.matrix(), rtol=1e-9)


def test_an_older_mark_without_noise_of_products_is_read(rows):
    noisy = Summary.of(*rows).private(1.0, DELTA, (-3, 5))
    mark = noise_of(noisy)
    del mark["releases"][0]["product_noise"]
    assert with_noise(Summary.of(*rows), mark).releases == noisy.releases
    mark["releases"][0]["product_noise"] = -1.0
    with pytest.raises(ValueError, match="the mark of a noisy Summary"):
        with_noise(Summary.of(*rows), mark)


def test_products_that_cannot_be_released(rows, rng):
    X, y = rows
    far = Summary.of(X + 1000, y, **MOMENTS)
    with pytest.raises(
        ValueError, match="column 0 has the range from 997 to 1005, and products of values so far"
    ):
        far.private(1.0, DELTA, (997, 1005))
    for factor in (1e-103, 1e103):
        with pytest.raises(ValueError, match="rounding of products is known for ranges wider than 1e-100"):
            Summary.of(X * factor, y, **MOMENTS).private(1.0, DELTA, (-3 * factor, 5 * factor))
    assert far.first_moments().private(1.0, DELTA, (997, 1005)).moments == 1
    with pytest.raises(ValueError, match="all classes together have more than most_rows=500 rows"):
        Summary.of(X, y, **MOMENTS).private(1.0, DELTA, (-3, 5), most_rows=500)
    with pytest.raises(ValueError, match="a private Summary is of classes: numbers to predict have no range"):
        SEFRRegressor().fit(X, rng.normal(size=900)).summary_.private(1.0, DELTA, (-3, 5))
    grown = SEFRClassifier(bins=8, interactions=3, moments=2, scale=(-3, 5)).fit(X, y).summary_
    with pytest.raises(ValueError, match="does not know interactions yet"):
        grown.private(1.0, DELTA, (-3, 5))
