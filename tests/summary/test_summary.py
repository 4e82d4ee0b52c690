"""The algebra of Summaries."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sefr import SEFRClassifier, Summary


def random_summary(rng, n=20, m=3, labels=("a", "b", "c")):
    return Summary.of(rng.integers(-50, 50, (n, m)), rng.choice(labels, n))


def test_by_hand():
    s = Summary.of([[1, 8], [3, 6], [5, 7]], ["dry", "wet", "wet"], sample_weight=[2, 1, 0.5])
    assert s.classes.tolist() == ["dry", "wet"]
    assert s.counts.tolist() == [2, 1.5]
    assert s.sums.tolist() == [[2, 16], [5.5, 9.5]]
    assert s.low.tolist() == [1, 6]
    assert s.high.tolist() == [5, 8]
    assert (s.n_features, s.n_rows, s.feature_names, s.present, s.tails) == (2, 3.5, None, None, None)
    assert repr(s) == "<Summary: 3.5 rows, 2 features, 2 classes>"


@given(st.integers(0, 2**32 - 1))
def test_it_is_a_commutative_monoid(seed):
    rng = np.random.default_rng(seed)
    a, b, c = (random_summary(rng) for _ in range(3))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert sum([a, b, c]) == a + b + c
    assert 2 * a == a + a
    assert (a + b) * 0.5 == a * 0.5 + b * 0.5


@given(st.integers(0, 2**32 - 1))
def test_addition_is_the_summary_of_all_rows(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-(2**40), 2**40, (30, 4)), rng.choice(["a", "b", "c"], 30)
    cut = rng.integers(1, 29)
    assert Summary.of(X[:cut], y[:cut]) + Summary.of(X[cut:], y[cut:]) == Summary.of(X, y)


@given(st.integers(0, 2**32 - 1))
def test_subtraction_undoes_addition_but_for_the_extremes(seed):
    rng = np.random.default_rng(seed)
    a, b = random_summary(rng), random_summary(rng)
    back = (a + b) - b
    assert (back.sums == a.over(back.classes).sums).all()
    assert (back.counts == a.over(back.classes).counts).all()
    assert (back.low == np.minimum(a.low, b.low)).all()


def test_classes_may_differ(rng):
    board = Summary.of([[1, 2], [3, 4]], ["idle", "walk"])
    other = Summary.of([[5, 6]], ["run"])
    both = board + other
    assert both.classes.tolist() == ["idle", "run", "walk"]
    assert both.sums.tolist() == [[1, 2], [5, 6], [3, 4]]
    assert (both - other).counts.tolist() == [1, 0, 1]


def test_float_sums_survive_a_long_history_of_adding_and_taking_away(rng):
    kept = Summary.of(rng.random((50, 3)) + 1e9, rng.integers(0, 2, 50))
    total = kept
    passing = [
        Summary.of(rng.random((50, 3)) * 10.0 ** rng.integers(-6, 12), rng.integers(0, 2, 50))
        for _ in range(200)
    ]
    for s in passing:
        total = total + s
    for s in passing:
        total = total - s
    np.testing.assert_allclose(total.sums - kept.sums, 0, atol=1e-15 * 50e9)
    tail = (total.tails if total.tails is not None else 0) - (kept.tails if kept.tails is not None else 0)
    np.testing.assert_allclose(total.sums - kept.sums + tail, 0, atol=1e-9)


@pytest.mark.parametrize("bins", [None, [[0.5, 1.5]]])
def test_whole_counts_are_never_taken_for_rounding(bins):
    """3 of 6e9 rows were less than 1e-9 of them, and vanished with them."""
    many = Summary.of([[0.0], [1.0], [2.0], [1.0], [1.0], [1.0]], [0, 0, 0, 1, 1, 1], bins=bins) * 1e9
    few = Summary.of([[0.0], [1.0], [2.0]], [0, 0, 1], bins=bins)
    assert ((many + few) - many).counts.tolist() == [2, 1]
    assert (many + few) - many == few
    gaps = Summary.of([[np.nan, 1.0], [1.0, 1.0]], [0, 1], missing="ignore")
    of_gaps = gaps * 3e9
    assert ((of_gaps + gaps) - of_gaps).present.tolist() == [[0, 1], [1, 1]]


def test_what_rounding_leaves_of_weights_is_nothing(rng):
    X, y, weights = rng.normal(size=(40, 2)), np.repeat([0, 1], 20), np.full(40, 0.1)
    left = Summary.of(X, y, weights)
    for i in range(40):
        left = left - Summary.of(X[i : i + 1], y[i : i + 1], weights[i : i + 1])
    assert left.counts.tolist() == [0, 0]
    assert not left.sums.any()


def test_rows_that_were_never_learned_are_not_taken_away():
    """What was left could be saved and not be loaded: a sum that no values in the range have."""
    learned = Summary.of([[1.0], [3.0], [5.0]], ["a", "a", "a"])
    with pytest.raises(
        ValueError, match="not learned: of class a, column 0, 1 values from 1 to 5 would have"
    ):
        learned - Summary.of([[5.0], [5.0]], ["a", "a"])


def test_what_is_left_of_many_rounded_rows_can_be_read_back():
    parts = {"classes": ["a"], "low": [0.0], "high": [1.0]}
    many = Summary.from_parts(**parts, counts=[1e12 + 1], sums=[[5e11 * (1 + 1e-8)]])
    left = many - Summary.from_parts(**parts, counts=[1e12], sums=[[5e11]])
    assert left.counts.tolist() == left.sums[0].tolist() == [1]  # 5,000 by rounding alone
    assert Summary.from_bytes(left.to_bytes()) == left


def test_integers_are_exact_to_2_to_the_53(rng):
    X = rng.integers(2**51, 2**52, (2, 3))
    s = Summary.of(X, [0, 0]) + Summary.of([[1, 1, 1]], [1])
    assert [int(v) for v in s.sums[0]] == [int(v) for v in X.astype(object).sum(axis=0)]


def test_it_cannot_be_changed_from_outside(rng):
    X = rng.random((6, 2))
    s = Summary.of(X, [0, 1] * 3)
    for part in (s.classes, s.counts, s.sums, s.low, s.high):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 0
    with pytest.raises(AttributeError):
        s.counts = np.zeros(2)
    before = s.sums.copy()
    X[:] = 0
    assert (s.sums == before).all()
    counts = np.array([1.0, 2.0])
    made = Summary.from_parts(classes=[0, 1], counts=counts, sums=[[1], [2]], low=[0], high=[2])
    counts[0] = 99
    assert made.counts.tolist() == [1, 2]


def test_equality_and_pickle(rng):
    a = random_summary(rng)
    assert pickle.loads(pickle.dumps(a)) == a  # noqa: S301
    assert a != a * 2
    assert a != random_summary(rng)
    assert a != "a"
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_from_parts_round_trip(rng):
    a = Summary.of(rng.random((9, 2)) + 1e12, np.arange(9) % 3)
    assert a.tails is not None
    parts = {
        "classes": a.classes,
        "counts": a.counts,
        "sums": a.sums,
        "low": a.low,
        "high": a.high,
        "tails": a.tails,
    }
    assert Summary.from_parts(**parts) == a
    assert Summary.from_parts(**{**parts, "tails": None}) != a


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": [1, 0]}, "sorted and distinct"),
        ({"classes": [0, 0]}, "sorted and distinct"),
        ({"counts": [1, -1]}, "counts must not be negative"),
        ({"counts": [1, 2, 3]}, r"counts has shape \(3,\), expected \(2,\)"),
        ({"sums": [[1, 2]]}, r"sums has shape"),
        ({"sums": [[1, 2], [np.nan, 1]]}, "sums must be finite"),
        ({"low": [0, np.nan]}, "must not be NaN"),
        ({"present": [[1, 1]]}, "present has shape"),
        ({"feature_names": ["a"]}, "1 feature_names for 2 features"),
    ],
)
def test_from_parts_refuses_nonsense(change, message):
    good = {"classes": [0, 1], "counts": [1, 2], "sums": [[1, 2], [3, 4]], "low": [0, 0], "high": [3, 4]}
    Summary.from_parts(**good)
    with pytest.raises(ValueError, match=message):
        Summary.from_parts(**{**good, **change})


def test_operands_that_do_not_fit(rng):
    a = random_summary(rng)
    with pytest.raises(ValueError, match="cannot add Summaries of 3 and 4 features"):
        a + random_summary(rng, m=4)
    with pytest.raises(ValueError, match="labels of different kinds"):
        a + Summary.of([[1, 2, 3]], [0])
    with pytest.raises(ValueError, match="from 0 up"):
        a * -1
    for wrong in (lambda: a + 1, lambda: a * "2", lambda: a - 3, lambda: a * True):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError, match=r"Summary\.of"):
        Summary()


def test_numbers_and_wider_numbers_meet():
    a = Summary.of([[1.0]], np.array([1], dtype=np.int8)) + Summary.of(
        [[2.0]], np.array([300], dtype=np.int64)
    )
    assert a.classes.tolist() == [1, 300]


def test_classes_not_seen_yet_score_minus_infinity(rng):
    X = rng.random((20, 3))
    clf = SEFRClassifier().partial_fit(X, np.arange(20) % 2, classes=[0, 1, 2])
    scores = clf.decision_function(X)
    assert (scores[:, 2] == -np.inf).all()
    two = SEFRClassifier().fit(X, np.arange(20) % 2)
    np.testing.assert_allclose(scores[:, 1], two.decision_function(X), rtol=1e-12)
    assert (clf.predict(X) == two.predict(X)).all()


@pytest.mark.parametrize("only", [0, 1])
def test_a_first_batch_of_one_class_answers_with_it(rng, only):
    X = rng.random((5, 3))
    clf = SEFRClassifier().partial_fit(X, [only] * 5, classes=[0, 1])
    assert clf.predict(X).tolist() == [only] * 5
    clf.partial_fit(X + 1, [1 - only] * 5)
    assert set(clf.predict(np.vstack([X, X + 1]))) == {0, 1}


def test_forgetting_a_whole_class(rng):
    X, y = rng.random((30, 3)), np.arange(30) % 3
    clf = SEFRClassifier(scale=(0, 1)).fit(X, y).forget(X[y == 1], y[y == 1])
    assert clf.classes_.tolist() == [0, 1, 2]
    assert 1 not in clf.predict(X)
    without = SEFRClassifier(scale=(0, 1)).fit(X[y != 1], y[y != 1])
    assert (clf.predict(X) == without.predict(X)).all()
    with pytest.raises(ValueError, match="no rows to learn from"):
        clf.forget(X[y != 1], y[y != 1])


def test_from_summary_equals_fit(rng):
    X, y = rng.random((30, 3)), np.arange(30) % 3
    clf = SEFRClassifier.from_summary(Summary.of(X, y), epsilon=0.1)
    fitted = SEFRClassifier(epsilon=0.1).fit(X, y)
    assert (clf.coef_ == fitted.coef_).all()
    assert clf.n_features_in_ == 3
    assert (clf.predict(X) == fitted.predict(X)).all()


def test_batches_add_up_to_all_rows_read_once(rng):
    pa = pytest.importorskip("pyarrow")

    X, y = rng.integers(0, 9, (100, 3)), np.arange(100) % 2
    w = rng.integers(1, 4, 100)
    table = pa.table({name: X[:, j] for j, name in enumerate("abc")})
    parts = [slice(start, start + 30) for start in range(0, 100, 30)]
    kinds = (
        table.to_batches(max_chunksize=30),
        [table[part] for part in parts],
        [table[part].to_reader() for part in parts],
    )
    for batches in kinds:
        read_once = ((X, y[part], w[part]) for X, part in zip(batches, parts, strict=True))
        assert Summary.of_batches(read_once) == Summary.of(table, y, w)
    with pytest.raises(ValueError, match="there are no batches"):
        Summary.of_batches([])
    with pytest.raises(TypeError, match="batch 1 is not"):
        Summary.of_batches([(X, y), X])
