"""The stream: river's own checks, the oracle, forgetting, drift, features that come and go, memory."""

import math
import pickle
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sefr import SEFRClassifier, Summary, reference

river = pytest.importorskip("river")

from river import checks, drift, evaluate, metrics  # noqa: E402
from river.datasets import synth  # noqa: E402

from sefr.engines import running_summary  # noqa: E402
from sefr.engines.river import SEFRStream  # noqa: E402

MODELS = {
    "plain": SEFRStream(),
    "half-life": SEFRStream(half_life=50),
    "drift": SEFRStream(drift_detector=drift.ADWIN()),
    "correct": SEFRStream(correct=True),
    "correct, drift": SEFRStream(correct=True, drift_detector=drift.ADWIN(), on_drift="decay"),
}
CHECKS = [
    (name, i, check) for name, model in MODELS.items() for i, check in enumerate(checks.yield_checks(model))
]


@pytest.mark.parametrize(
    ("model", "check"), [(n, c) for n, _, c in CHECKS], ids=[f"{n}-{i}-{c.__name__}" for n, i, c in CHECKS]
)
def test_rivers_own_checks(model, check):
    assert not MODELS[model]._unit_test_skips()
    check(MODELS[model].clone())


def rows_of(X, names=None):
    names = names or [f"x{j}" for j in range(X.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()]


@pytest.fixture(params=[2, 4])
def stream(request, rng):
    X = rng.normal(size=(300, 5)) + np.array([0, 5, -3, 1e6, 1.7e9])
    return X, rng.integers(0, request.param, 300)


@pytest.mark.parametrize("narrow", [0, 10**9], ids=["arrays", "plain Python"])
def test_after_any_row_it_is_the_paper(stream, narrow, monkeypatch):
    monkeypatch.setattr(running_summary, "NARROW", narrow)
    X, y = stream
    model = SEFRStream()
    for i, (x, label) in enumerate(zip(rows_of(X), y.tolist(), strict=True)):
        model.learn_one(x, label)
        if i in (30, 100, 299):
            oracle = reference.fit(X[: i + 1], y[: i + 1])
            scores = np.array([model._sums.scores(row) for row in rows_of(X)])
            paper = oracle.scores(X)
            paper = np.concatenate([-paper, paper], axis=1) if len(oracle.classes) == 2 else -paper
            np.testing.assert_allclose(scores, paper, atol=1e-9)
            assert [model.predict_one(row) for row in rows_of(X)] == oracle.predict(X).tolist()
    assert model.summary().feature_names == ("x0", "x1", "x2", "x3", "x4")


def test_whole_numbers_give_the_same_summary_to_the_bit(rng):
    X, y = rng.integers(-999, 999, (500, 3)), rng.choice(["a", "b", "c"], 500)
    frame = pd.DataFrame(X, columns=list("pqr"))
    one, many = SEFRStream(), SEFRStream()
    for x, label in zip(rows_of(X, list("pqr")), y.tolist(), strict=True):
        one.learn_one(x, label)
    for start in range(0, 500, 77):
        many.learn_many(frame[start : start + 77], pd.Series(y[start : start + 77]))
    assert one.summary() == many.summary() == Summary.of(frame, y)


def test_summaries_are_given_and_taken(rng):
    X, y = rng.integers(0, 99, (90, 3)), np.arange(90) % 3
    frame = pd.DataFrame(X, columns=list("pqr"))
    model = SEFRStream()
    for x, label in zip(rows_of(X[:40], list("pqr")), y[:40].tolist(), strict=True):
        model.learn_one(x, label)
    model.learn_summary(Summary.of(frame[40:], y[40:]))
    assert model.summary() == Summary.of(frame, y)
    clf = SEFRClassifier.from_summary(model.summary())
    assert model.predict_many(frame).tolist() == clf.predict(frame).tolist()
    assert model.summary(["r", "p"]).sums.tolist() == Summary.of(frame[["r", "p"]], y).sums.tolist()
    fresh = SEFRStream()
    with pytest.raises(ValueError, match="nothing was learned"):
        fresh.summary()
    fresh.learn_summary(Summary.of(X, y))
    assert fresh.predict_one({0: 5, 1: 5, 2: 5}) in {0, 1, 2}


def test_features_that_come_and_go_are_missing_values(rng):
    X, y = rng.integers(0, 50, (200, 4)).astype(float), np.arange(200) % 3
    X[:80, 0] = np.nan
    X[120:, 3] = np.nan
    X[rng.random((200, 4)) < 0.2] = np.nan
    names = list("pqrs")
    rows = [{k: v for k, v in row.items() if not math.isnan(v)} for row in rows_of(X, names)]
    model = SEFRStream()
    for row, label in zip(rows, y.tolist(), strict=True):
        model.learn_one(row, label)
    expected = Summary.of(pd.DataFrame(X, columns=names), y, missing="ignore")
    assert model.summary(names) == expected
    clf = SEFRClassifier.from_summary(expected, missing="ignore")
    scores = [model._sums.scores(row) for row in rows]
    np.testing.assert_allclose(scores, clf.decision_function(pd.DataFrame(X, columns=names)), atol=1e-12)
    assert model.predict_one({"never": 1.0}) == 0
    explicit = SEFRStream()
    for row, label in zip(rows_of(X, names), y.tolist(), strict=True):
        explicit.learn_one({k: None if v != v and k == "p" else v for k, v in row.items()}, label)
    assert explicit.summary(names) == expected


@pytest.mark.parametrize("rows", [100, 20_000])
def test_a_half_life_is_a_weight(rng, rows):
    """20,000 rows are 200 half-lives: weights are brought back to 1 several times on the way."""
    X, y = rng.integers(0, 9, (rows, 2)), np.arange(rows) % 2
    model = SEFRStream(half_life=100)
    for x, label in zip(rows_of(X), y.tolist(), strict=True):
        model.learn_one(x, label)
    weights = 0.5 ** (np.arange(rows, 0, -1) / 100)
    expected = Summary.of(X, y, weights)
    np.testing.assert_allclose(model.summary().sums, expected.sums, rtol=1e-11)
    np.testing.assert_allclose(model.summary().counts, expected.counts, rtol=1e-11)
    batches = SEFRStream(half_life=100)
    for start in range(0, rows, 37):
        piece = pd.DataFrame(X[start : start + 37], columns=["x0", "x1"])
        batches.learn_many(piece, pd.Series(y[start : start + 37]))
    np.testing.assert_allclose(batches.summary().sums, expected.sums, rtol=1e-10)


def test_what_has_faded_is_dropped():
    model = SEFRStream(half_life=2)
    model.learn_one({"old": 1.0, "kept": 1.0}, "gone")
    for i in range(400):
        model.learn_one({"kept": float(i % 3), f"new{i}": 1.0}, (i % 2 and "a") or "b")
    assert set(model.predict_proba_one({"kept": 1.0})) == {"a", "b"}
    assert "old" not in model._sums.features
    assert len(model._sums.features) < 240


def test_drift_is_found_and_answered():
    """Two SEA concepts whose labels are each other's opposite, 3,000 rows each."""

    def rows():
        for i, (x, y) in enumerate(synth.SEA(variant=0, seed=7).take(6000)):
            yield x, y if i < 3000 else not y

    def accuracy(model):
        metric = metrics.Accuracy()
        evaluate.progressive_val_score(rows(), model, metric)
        return metric.get()

    stays = accuracy(SEFRStream())
    reset, decay = (
        SEFRStream(drift_detector=drift.ADWIN()),
        SEFRStream(drift_detector=drift.ADWIN(), on_drift="decay"),
    )
    assert accuracy(reset) > stays + 0.25
    assert accuracy(decay) > stays + 0.2
    assert reset.n_drifts >= 1
    assert decay.n_drifts >= 1


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows():
    """The state is as large after 32,000 rows as after 2,000; benchmarks/streams runs 10 million."""
    model = SEFRStream(half_life=500, drift_detector=drift.ADWIN())
    x = {f"x{j}": float(j) for j in range(5)}

    def learn(rows):
        for i in range(rows):
            for j in range(5):
                x[f"x{j}"] = float((i * 7919 + j) % 101)
            model.learn_one(x, i % 3)

    learn(2000)
    before = len(pickle.dumps(model._sums))
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    learn(30_000)
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert grown < 20_000  # ADWIN's own buckets grow as the logarithm of its window
    assert abs(len(pickle.dumps(model._sums)) - before) < 2000


def test_a_row_that_cannot_be_learned_changes_nothing(rng):
    model = SEFRStream()
    for i, x in enumerate(rows_of(rng.normal(size=(10, 3)))):
        model.learn_one(x, i % 2)
    before = pickle.dumps(model)
    wrong = [
        ({"x0": 1.0, "x1": "red"}, 1, "river: feature 'x1' is 'red', not a number"),
        ({"x0": 1.0, "new": math.inf}, 1, "river: feature 'new' is infinite"),
        ({"x0": 1.0}, None, "no label"),
        ({"x0": 1.0}, math.nan, "no label"),
        ({"x0": 1.0}, "b", "cannot be ordered"),
    ]
    for x, y, words in wrong:
        with pytest.raises(ValueError, match=words):
            model.learn_one(x, y)
        assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="weight of a row"):
        model.learn_one({"x0": 1.0}, 1, w=-1)
    with pytest.raises(ValueError, match="outside scale=0 to 10"):
        SEFRStream(scale=(0, 10)).learn_one({"x0": 11}, 1)
    with pytest.raises(ValueError, match="outside scale=0 to inf"):
        SEFRStream(scale=None).learn_one({"x0": -1}, 1)


def test_known_ranges_and_weights_are_the_classifiers(rng):
    X, y, w = rng.integers(0, 9, (60, 2)), np.arange(60) % 3, rng.integers(0, 3, 60)
    model = SEFRStream(scale=(0, 10))
    for x, label, weight in zip(rows_of(X), y.tolist(), w.tolist(), strict=True):
        model.learn_one(x, label, w=weight)
    clf = SEFRClassifier(scale=(0, 10)).fit(X, y, w)
    np.testing.assert_allclose(
        [model._sums.scores(x) for x in rows_of(X)], clf.decision_function(X), atol=1e-12
    )


@pytest.mark.parametrize(
    "how", [{"half_life": 0}, {"on_drift": "panic"}, {"drift_factor": 0}, {"scale": (3, 1)}]
)
def test_parameters_that_make_no_sense(how):
    with pytest.raises(ValueError, match="must be"):
        SEFRStream(**how)


def test_numbers_of_numpy_are_numbers():
    model = SEFRStream()
    model.learn_one({"a": np.float32(1.5), "b": np.int64(2), "c": np.bool_(True)}, 0)
    model.learn_one({"a": np.float32(2.5), "b": np.int64(1), "c": np.bool_(False)}, 1)
    assert model.predict_one({"a": 2.4, "b": 1, "c": False}) == 1


def test_small_batches_are_learned_whole_or_not_at_all(rng):
    rows = pd.DataFrame(rng.integers(0, 9, (12, 3)), columns=["a", "b", "c"])
    labels = pd.Series(rng.choice(["p", "q"], 12))
    one, many = SEFRStream(), SEFRStream()
    for x, label in zip(rows.to_dict("records"), labels, strict=True):
        one.learn_one(x, label)
    many.learn_many(rows, labels)
    assert many.summary() == one.summary()
    bad = rows.astype(float)
    bad.iloc[7, 1] = np.inf
    with pytest.raises(ValueError, match="'b' is infinite"):
        many.learn_many(bad, labels)
    assert many.summary() == one.summary()


def test_a_small_batch_costs_no_more_than_its_rows(rng):
    rows = pd.DataFrame(rng.random((8, 5)), columns=list("abcde"))
    labels = pd.Series(rng.integers(0, 2, 8))
    one, many = SEFRStream(), SEFRStream()

    def each():
        for x, label in zip(rows.to_dict("records"), labels.tolist(), strict=True):
            one.learn_one(x, label)

    def seconds(learn):
        best = np.inf
        for _ in range(200):
            start = time.process_time()
            learn()
            best = min(best, time.process_time() - start)
        return best

    assert seconds(lambda: many.learn_many(rows, labels)) < 1.5 * seconds(each)  # it was 3 times


@pytest.mark.parametrize("half_life", [None, 200.0])
def test_corrected_steps_follow_the_gradient_of_the_log_loss(rng, half_life):
    """The oracle is AdaGrad written with arrays: for two classes, and for three of softmax."""
    for n_classes in (2, 3):
        X, y = rng.normal(size=(300, 3)) * [1, 50, 0.01] + [0, 7, 1], rng.integers(0, n_classes, 300)
        y[:n_classes] = np.arange(n_classes)
        model = SEFRStream(correct=True, half_life=half_life)
        keep = 1.0 if half_life is None else 0.5 ** (1 / half_life)
        weights, squares = np.zeros((n_classes, 4)), np.zeros((n_classes, 4))
        for i, x in enumerate(rows_of(X)):
            model.learn_one(x, int(y[i]))
        # Learned from the row that brings the last class on; means of what came before start there, too.
        first = n_classes - 1 if n_classes == 2 else 1
        seen, mean, variance = 0.0, X[first].copy(), np.zeros(3)
        for i in range(first, 300):
            seen = seen * keep + 1
            away = X[i] - mean
            if i > first:
                mean += away / seen
                variance += (away * (X[i] - mean) - variance) / seen
            present = 2 if n_classes == 3 and i == 1 else n_classes
            z = np.append(
                np.where(variance > 0, (X[i] - mean) / np.sqrt(np.maximum(variance, 1e-300)), 0), 1.0
            )
            scores = (weights @ z)[:present]
            error = np.exp(scores - scores.max())
            error /= error.sum()
            error[y[i]] -= 1
            gradient = error[:, None] * z
            squares *= keep
            squares[:present] += gradient**2
            weights[:present] -= 0.3 * gradient / np.sqrt(squares[:present] + 1e-300)
        z = np.append((X[0] - mean) / np.sqrt(variance), 1.0)
        expected = weights @ z
        found = model._scores(rows_of(X[:1])[0])
        if n_classes == 2:
            assert found[1] == pytest.approx(expected[1] - expected[0], rel=1e-9)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_corrected_answers_of_one_row_and_of_many_agree(rng, n_classes):
    X, y = rng.normal(size=(200, 4)), rng.integers(0, n_classes, 200)
    labels = np.array(["d", "c", "b", "a"])[y]
    model = SEFRStream(correct=True)
    frame = pd.DataFrame(X, columns=list("pqrs"))
    frame.iloc[::9, 2] = np.nan
    model.learn_many(frame, pd.Series(labels))
    rows = frame.to_dict("records")
    assert [model.predict_one(x) for x in rows] == model.predict_many(frame).tolist()
    one = pd.DataFrame([model.predict_proba_one(x) for x in rows])
    np.testing.assert_allclose(one, model.predict_proba_many(frame)[one.columns], rtol=1e-9)
    assert model.summary() == stream_of(frame, labels).summary()


def stream_of(frame, labels):
    model = SEFRStream()
    for x, label in zip(frame.to_dict("records"), labels, strict=True):
        model.learn_one(x, label)
    return model


def test_corrected_steps_learn_what_sums_cannot(rng):
    """Two features that tell only together: their difference."""
    shared = rng.normal(size=4000) * 3
    gap = rng.normal(size=4000)
    rows = [({"a": s + g, "b": s}, bool(g > 0)) for s, g in zip(shared.tolist(), gap.tolist(), strict=True)]
    plain, corrected = (
        evaluate.progressive_val_score(iter(rows), model, metrics.Accuracy()).get()
        for model in (SEFRStream(), SEFRStream(correct=True))
    )
    assert plain < 0.7
    assert corrected > 0.85


def test_a_corrected_row_that_cannot_be_learned_changes_nothing():
    model = SEFRStream(correct=True)
    for x, y in (({"a": 1.0}, "u"), ({"a": 2.0}, "v"), ({"a": 3.0}, "u")):
        model.learn_one(x, y)
    before = model._scores({"a": 5.0})
    for x, y in (({"a": "text"}, "u"), ({"a": math.inf}, "u"), ({"a": 1.0}, None)):
        with pytest.raises(ValueError, match="river"):
            model.learn_one(x, y)
    assert model._scores({"a": 5.0}) == before


@pytest.mark.slow
def test_the_consumer_of_a_log_learns_each_row_once_however_often_it_is_killed():
    example = Path(__file__).parents[2] / "examples" / "streams" / "consumer.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("killed at offset") == 3
    assert done.stdout.endswith("one pass without accident: the same\n")
