"""The model file: exact, whole or refused."""

import hashlib
import json
import os
import pickle
import random
import subprocess
import sys
import time
import zlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_iris

from sefr import SEFRClassifier, Summary, load, model_file, save
from sefr.model_file import CLOSING, DIGITS, ModelFileError, dump, parse


def small_model(**params):
    X = np.array([[1.5, 0.1, -3.0], [2.5, 1 / 3, 4.0], [9.25, 1e300, 1e-300], [0.5, 2.0, 7.0]])
    return SEFRClassifier(**params).fit(X, ["dry", "wet", "wet", "mist"])


def resealed(text):
    """Return changed content with a checksum that fits: what an attacker, not an accident, would write."""
    body = text[: -len(CLOSING) - DIGITS]
    return body + hashlib.sha256(body).hexdigest().encode() + CLOSING


def edited(clf, change):
    """Return the content of a model with its JSON changed and sealed again."""
    content = json.loads(dump(clf))
    change(content)
    rest = {name: value for name, value in content.items() if name not in {"format", "schema", "checksum"}}
    lines = "".join(f"  {json.dumps(name)}: {json.dumps(value)},\n" for name, value in rest.items())
    body = model_file.OPENING + f"{content['schema']},\n{lines}".encode() + model_file.SEAL
    return resealed(body + b"0" * DIGITS + CLOSING)


def assert_same(a, b):
    assert a.summary_ == b.summary_
    assert a.classes_.dtype == b.classes_.dtype
    for name in ("sums", "tails", "low", "high", "counts", "present"):
        mine, theirs = getattr(a.summary_, name), getattr(b.summary_, name)
        assert (mine is None) == (theirs is None), name
        assert mine is None or mine.tobytes() == theirs.tobytes(), name
    assert a.coef_.tobytes() == b.coef_.tobytes()
    assert a.intercept_.tobytes() == b.intercept_.tobytes()
    assert repr(a.get_params()) == repr(b.get_params())


LABELS = {
    "text": np.array(["b", "a", "ä", "b"]),
    "objects": np.array(["b", "a", "long", "b"], dtype=object),
    "bytes": np.array([b"b", b"a\xff", b"c", b"b"]),
    "int64": np.array([2**60 + 1, -5, 7, 7]),
    "uint8": np.array([1, 2, 255, 1], dtype=np.uint8),
    "bool": np.array([True, False, True, False]),
    "float64": np.array([1.0, 2.0, -3.0, 1.0]),
    "float32": np.array([1.0, 2.0, -3.0, 1.0], dtype=np.float32),
    "half a surrogate pair": np.array(["\ud800", "a", "b", "b"]),
    "newline and quote": np.array(['"\n', "a", "b", "b"]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_every_kind_come_back(tmp_path, labels):
    clf = SEFRClassifier().fit(np.array([[1.0, 2], [3, 4], [5, 7], [0, 1]]), labels)
    save(clf, tmp_path / "m.sefr")
    again = load(tmp_path / "m.sefr")
    assert_same(clf, again)
    assert np.array_equal(clf.classes_, again.classes_)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"scale": (-5, 1e301), "epsilon": 0},
        {"scale": ([-4.0, 0, -3], np.array([10.0, 1e300, 7]))},
        {"epsilon": np.float32(1e-3), "n_jobs": np.int64(2)},
    ],
)
def test_settings_come_back(params):
    clf = small_model(**params)
    again = parse(dump(clf))
    assert again.summary_ == clf.summary_
    assert again.coef_.tobytes() == clf.coef_.tobytes()
    assert again.epsilon == clf.epsilon
    assert again.n_jobs == clf.n_jobs


def test_missing_values_feature_names_and_offsets_come_back():
    pressure = 101325 + np.linspace(0, 1 / 3, 30)
    frame = pd.DataFrame({"pressure, Pa": pressure, "größe": [np.nan, 2.0, 3.5] * 10, "never": [np.nan] * 30})
    clf = SEFRClassifier(missing="ignore").fit(frame, [0, 1, 1] * 10)
    assert clf.summary_.tails is not None
    assert clf.summary_.present is not None
    again = parse(dump(clf))
    assert_same(clf, again)
    assert list(again.feature_names_in_) == list(frame.columns)
    assert np.array_equal(again.decision_function(frame), clf.decision_function(frame))


@given(
    arrays(
        np.float64,
        (3, 4),
        elements=st.floats(
            allow_nan=False, allow_infinity=False, width=64, max_value=1e290, min_value=-1e290
        ),
    ),
    st.floats(0, 1, exclude_min=True),
)
def test_every_float_comes_back_to_the_bit(X, factor):
    clf = SEFRClassifier.from_summary(Summary.of(X, [0, 1, 1]) * factor)
    assert_same(clf, parse(dump(clf)))


def drawn_model(rng):
    """Return a model of settings, weights and verbs by chance, and rows."""
    n, m, n_classes = int(rng.integers(8, 300)), int(rng.integers(1, 6)), int(rng.integers(2, 5))
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    X = rng.normal(size=(n, m)) * 10.0 ** rng.integers(-3, 4) + rng.choice([0, 5, 1e6])
    X[:, 0] += y * rng.choice([0, 0.1, 1])
    params = {
        "passes": int(rng.choice([1, 1, 3, 10])),
        "bins": rng.choice([None, None, 8]),
        "class_weight": rng.choice(np.array([None, "balanced", {0: 3.0}], dtype=object)),
        "missing": str(rng.choice(["error", "ignore"])),
    }
    if params["bins"] and rng.random() < 0.3:
        params["interactions"] = 5
    if params["missing"] == "ignore":
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    weights = [None, np.full(n, 0.1), rng.random(n) + 1e-3, np.full(n, 1e14)][rng.integers(4)]
    part = slice(0, max(2, n // 3))
    clf = SEFRClassifier(**params).fit(X, y, weights)
    verbs = {
        "partial_fit": lambda: clf.partial_fit(
            X[part], y[part], sample_weight=None if weights is None else weights[part]
        ),
        "decay": lambda: clf.decay(0.3),
        "calibrate": lambda: clf.calibrate(X, y, weights),
    }
    if params["passes"] == 1:
        verbs["merge"] = lambda: clf.merge(parse(dump(clf)))
        verbs["merge a Summary"] = lambda: clf.merge(clf.summary_ * 0.3)
        verbs["forget"] = lambda: clf.forget(clf.summary_ * 0.5)
    for verb in rng.choice(list(verbs), rng.integers(0, 4)):
        verbs[verb]()
        if rng.random() < 0.3:
            clf.__dict__.update(parse(dump(clf)).__dict__)
    return clf, X


@pytest.mark.parametrize("seed", range(80))
def test_probabilities_of_drawn_models_come_back_to_the_bit(seed):
    """They were up to 0.1 off where the base rates stood, as they do where weights are small."""
    clf, X = drawn_model(np.random.default_rng(seed))
    again = parse(dump(clf))
    assert again.decision_function(X).tobytes() == clf.decision_function(X).tobytes()
    assert again.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()


def test_base_rates_of_a_loaded_model_follow_what_it_learns(rng):
    X, y = rng.normal(size=(200, 2)), np.repeat([0, 1], 100)  # which the features do not tell
    clf = parse(dump(SEFRClassifier().fit(X, y)))
    assert clf.fitted_.probability_scaling.inverse == 0
    np.testing.assert_allclose(clf.predict_proba(X[:1]), 0.5, atol=0.01)
    clf.merge(Summary.of(X[:150], np.zeros(150, dtype=int)))
    np.testing.assert_allclose(clf.predict_proba(X[:1])[0, 0], 250 / 350, atol=0.01)


def test_a_loaded_model_learns_on(tmp_path, rng):
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 3, 60)
    save(SEFRClassifier().partial_fit(X[:30], y[:30], classes=[0, 1, 2]), tmp_path / "m.sefr")
    clf = load(tmp_path / "m.sefr").partial_fit(X[30:], y[30:])
    assert clf.summary_ == SEFRClassifier().partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:]).summary_
    with pytest.raises(ValueError, match="unknown class"):
        clf.partial_fit(X[:1], [9])


def test_the_file_is_json_that_people_can_read(tmp_path):
    save(small_model(), tmp_path / "m.sefr")
    content = json.loads((tmp_path / "m.sefr").read_text(), parse_constant=lambda text: pytest.fail(text))
    assert content["format"] == "sefr model"
    assert content["schema"] == 5
    assert content["classes"]["labels"] == ["dry", "mist", "wet"]
    assert content["summary"]["counts"] == [1, 1, 2]
    assert content["summary"]["sums"][0] == [1.5, 0.1, -3]


def test_every_flipped_byte_is_refused():
    content = dump(small_model())
    for position in range(len(content)):
        for bits in (0x01, 0x20, 0x80, 0xFF):
            changed = bytearray(content)
            changed[position] ^= bits
            with pytest.raises(ModelFileError):
                parse(bytes(changed))


def test_every_cut_and_every_addition_is_refused():
    content = dump(small_model())
    for end in range(len(content)):
        with pytest.raises(ModelFileError):
            parse(content[:end])
    for more in (b" ", b"\n", b"\0", content):
        with pytest.raises(ModelFileError):
            parse(content + more)


def mutated(content, rng):
    """Return content with one to three random accidents: flips, cuts, doubled, moved and foreign parts."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        a, b = sorted(rng.randrange(len(changed) + 1) for _ in range(2))
        kind = rng.randrange(5)
        if kind == 0 and a < len(changed):
            changed[a] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del changed[a : min(b, a + 40)]
        elif kind == 2:
            changed[a:a] = changed[a : min(b, a + 40)]
        elif kind == 3:
            changed[a:a] = rng.choice(
                [b"null", b"1e999", b"[[[[", b"{}", b'"', b"-", b"NaN", b",", b"9" * 5000, b"\xff"]
            )
        else:
            changed[a:b] = changed[a:b][::-1]
    return bytes(changed)


def test_ten_thousand_accidents_are_all_refused():
    content, rng = dump(small_model()), random.Random(1)
    for _ in range(10_000):
        changed = mutated(content, rng)
        if changed != content:
            with pytest.raises(ModelFileError):
                parse(changed)


def test_ten_thousand_forgeries_are_refused_or_mean_what_they_say():
    """With a checksum that fits the forged content: what is loaded is what is written, or an error."""
    content, rng = dump(small_model()), random.Random(2)
    loaded = 0
    for _ in range(10_000):
        changed = resealed(mutated(content[: -len(CLOSING) - DIGITS], rng) + b"0" * DIGITS + CLOSING)
        try:
            clf = parse(changed)
        except ModelFileError:
            continue
        loaded += 1
        said = json.loads(changed)
        assert clf.summary_.sums.tolist() == said["summary"]["sums"]
        assert clf.summary_.counts.tolist() == said["summary"]["counts"]
        assert clf.classes_.tolist() == said["classes"]["labels"]
    assert 0 < loaded < 5_000


FORGERIES = {
    "member unknown": lambda c: c.update(refined=[1]),
    "member absent": lambda c: c.pop("columns"),
    "summary not an object": lambda c: c.update(summary=[]),
    "text for a number": lambda c: c["summary"]["counts"].__setitem__(0, "1"),
    "true for a number": lambda c: c["summary"]["counts"].__setitem__(0, True),
    "null for a sum": lambda c: c["summary"]["sums"][0].__setitem__(0, None),
    "null for low only": lambda c: c["summary"]["low"].__setitem__(0, None),
    "low above high": lambda c: c["summary"]["low"].__setitem__(0, 1e9),
    "negative count": lambda c: c["summary"]["counts"].__setitem__(0, -1),
    "short sums": lambda c: c["summary"]["sums"].pop(),
    "ragged sums": lambda c: c["summary"]["sums"][1].pop(),
    "nested sums": lambda c: c["summary"]["sums"][1].__setitem__(0, [1]),
    "other number of features": lambda c: c.update(features=4),
    "huge number of features": lambda c: c.update(features=10**18),
    "names not text": lambda c: c.update(features=[1, 2, 3]),
    "labels unsorted": lambda c: c["classes"]["labels"].reverse(),
    "labels of two kinds": lambda c: c["classes"]["labels"].__setitem__(0, 1),
    "kind unknown": lambda c: c["classes"].update(kind="datetime64"),
    "kind not text": lambda c: c["classes"].update(kind=[]),
    "one class": lambda c: c["classes"].update(labels=["a"]),
    "setting unknown": lambda c: c["settings"].update(depth=2),
    "scale of text": lambda c: c["settings"].update(scale=["0", "1"]),
    "scale wrong": lambda c: c["settings"].update(scale="standard"),
    "n_jobs of 0": lambda c: c["settings"].update(n_jobs=0),
    "n_jobs true": lambda c: c["settings"].update(n_jobs=True),
    "n_jobs beyond an int": lambda c: c["settings"].update(n_jobs=10**30),
    "epsilon true": lambda c: c["settings"].update(epsilon=True),
    "epsilon huge": lambda c: c["settings"].update(epsilon=10**400),
    "closed not bool": lambda c: c["classes"].update(closed=1),
    "a negative temperature": lambda c: c["calibration"].update(inverse_temperature=-1.0),
    "verbose is a list": lambda c: c["settings"].update(verbose=[1]),
    "a sum out of reach": lambda c: c["summary"]["sums"][0].__setitem__(0, 1e6),
    "batches not text": lambda c: c.update(batches=[1]),
    "columns not an object": lambda c: c.update(columns=3),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_member_is_refused(change):
    with pytest.raises(ModelFileError):
        parse(edited(small_model(), change))


def test_midpoints_that_do_not_go_with_the_bias_are_refused():
    X, y = load_iris(return_X_y=True)
    clf = SEFRClassifier(passes=3).fit(X, y)
    assert_same(parse(dump(clf)), clf)
    with pytest.raises(ModelFileError, match="midpoints"):
        parse(edited(clf, lambda c: c["refined"]["midpoints"][0].__setitem__(0, 7.0)))


def test_few_bytes_do_not_ask_for_gigabytes():
    labels = sorted([*(f"{i:05}" for i in range(20_000)), "z" * 1_000_000])
    sums = [[0.0]] * len(labels)
    parts = {"counts": [1.0] * len(labels), "sums": sums, "low": [0.0], "high": [1.0]}
    clf = SEFRClassifier.from_summary(Summary.from_parts(classes=np.array(labels, dtype=object), **parts))
    forged = edited(clf, lambda c: c["classes"].update(kind="text"))
    with pytest.raises(ModelFileError, match="too long for labels"):
        parse(forged)
    body = clf.summary_.to_bytes()[:-4]
    at = body.index(b"\x0c", 10)
    body = body[:at] + b"\x0b" + body[at + 1 :]  # the kind: text instead of text objects
    with pytest.raises(ValueError, match="too long for labels"):
        Summary.from_bytes(body + zlib.crc32(body).to_bytes(4, "little"))


@pytest.mark.parametrize(
    "text",
    [
        b'"columns": ' + b"[" * 100_000 + b"]" * 100_000,
        b'"columns": {"a": 1, "a": 2}',
        b'"columns": {"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_hostile_json_is_refused(text):
    content = dump(small_model()).replace(b'"columns": null', text)
    with pytest.raises(ModelFileError):
        parse(resealed(content))


def test_a_newer_schema_says_so():
    with pytest.raises(ModelFileError, match="newer version: schema 6"):
        parse(edited(small_model(), lambda c: c.update(schema=6)))
    parse(edited(small_model(), lambda c: None))


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04pickle", pickle.dumps(1), b"{}", b"\0" * 100])
def test_what_is_no_model_is_refused_with_its_name(tmp_path, content):
    path = tmp_path / "x.sefr"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"x\.sefr.*not a model"):
        load(path)


def test_an_endless_file_is_refused_at_once():
    with pytest.raises(ModelFileError):
        load("/dev/zero")


def test_only_a_trained_sefr_classifier_is_saved(tmp_path):
    with pytest.raises(ValueError, match="call fit first"):
        save(SEFRClassifier(), tmp_path / "m.sefr")
    with pytest.raises(TypeError, match="only a SEFRClassifier"):
        save(object(), tmp_path / "m.sefr")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_hundred_thousand_features_load_within_a_second(tmp_path, rng):
    X = rng.normal(size=(6, 100_000)) + 1000
    clf = SEFRClassifier().fit(
        pd.DataFrame(X, columns=[f"gene {j}" for j in range(100_000)]), [0, 1, 2, 0, 1, 2]
    )
    save(clf, tmp_path / "m.sefr")
    times = []
    for _ in range(3):
        started = time.process_time()
        again = load(tmp_path / "m.sefr")
        times.append(time.process_time() - started)
    assert min(times) < 1
    assert_same(clf, again)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.sefr"
    save(small_model(), path)
    before = path.read_bytes()

    def no_space(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        save(small_model(epsilon=1), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.sefr"]


def test_the_mode_of_the_file_is_kept_and_links_are_followed(tmp_path):
    real, link = tmp_path / "real.sefr", tmp_path / "link.sefr"
    save(small_model(), real)
    os.chmod(real, 0o640)
    link.symlink_to(real)
    save(small_model(epsilon=1), link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert load(real).epsilon == 1


KILLER = """
import os, random, signal, sys, time
import numpy as np
from sefr import SEFRClassifier, load, save

X = np.arange(8000.0).reshape(4, -1)
models = [SEFRClassifier(epsilon=e).fit(X, [0, 1, 0, 1]) for e in (1, 2)]
save(models[0], sys.argv[1])
for _ in range(60):
    child = os.fork()
    while not child:
        for clf in models:
            save(clf, sys.argv[1])
    time.sleep(0.005 + 0.02 * random.random())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert load(sys.argv[1]).epsilon in (1, 2)
"""


@pytest.mark.slow
def test_killed_at_any_moment_the_file_is_whole(tmp_path):
    subprocess.run([sys.executable, "-c", KILLER, str(tmp_path / "m.sefr")], check=True)
