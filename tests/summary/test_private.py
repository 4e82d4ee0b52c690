"""Private Summaries: the noise is what was promised, and nothing undoes it."""

import copy

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sefr import SEFRClassifier, Summary, load, save
from sefr._summary.private import STEPS, PrivateSummary, noise_of, with_noise

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


def test_answers_follow_from_what_was_released():
    X, y = load_digits(return_X_y=True)
    noisy = Summary.of(X[::2], y[::2]).private(3.0, DELTA, (0, 16))
    model = SEFRClassifier.from_summary(noisy, scale=(0, 16))
    assert model.score(X[1::2], y[1::2]) > 0.8  # 0.86 measured; exact rows 0.88
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
