"""ONNX and skops: another runtime gives the same labels and scores."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from sefr import SEFRClassifier, save
from sefr.onnx_model import to_onnx

onnxruntime = pytest.importorskip("onnxruntime")


def run(clf, X):
    session = onnxruntime.InferenceSession(to_onnx(clf), providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], {"X": np.asarray(X, dtype=np.float64)})


def probabilities(clf, X):
    session = onnxruntime.InferenceSession(to_onnx(clf), providers=["CPUExecutionProvider"])
    if "probabilities" not in [output.name for output in session.get_outputs()]:
        return None
    return session.run(["probabilities"], {"X": np.asarray(X, dtype=np.float64)})[0]


def assert_same(clf, X):
    labels, scores = run(clf, X)
    mine = clf.decision_function(X)
    assert scores.dtype == np.float64
    assert scores.shape == mine.shape
    finite = np.isfinite(mine)
    assert (finite == np.isfinite(scores)).all()
    np.testing.assert_allclose(scores[finite], mine[finite], rtol=1e-12, atol=1e-12)
    assert labels.tolist() == clf.predict(X).tolist()
    if finite.all():
        np.testing.assert_allclose(probabilities(clf, X), clf.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_probabilities_are_left_out_if_there_are_none(rng):
    y = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 3)) + y[:, None]
    assert probabilities(SEFRClassifier.from_summary(SEFRClassifier().fit(X, y).summary_), X) is None
    assert probabilities(SEFRClassifier().partial_fit(X, y, classes=[0, 1, 2, 3]), X) is None


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_digits])
def test_real_data(load):
    X, y = load(return_X_y=True)
    assert_same(SEFRClassifier().fit(X[::2], y[::2]), X)


LABELS = {
    "text": np.array(["small", "größer"]),
    "objects": np.array(["small", "big"], dtype=object),
    "bool": np.array([False, True]),
    "uint8": np.array([3, 250], dtype=np.uint8),
    "float": np.array([-1.0, 1.0]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_every_kind(rng, labels):
    y = rng.integers(0, 2, 80)
    X = rng.normal(size=(80, 3)) + y[:, None]
    clf = SEFRClassifier().fit(X, labels[y])
    got, _scores = run(clf, X)
    assert got.tolist() == clf.predict(X).tolist()


def test_missing_values_known_ranges_constants_and_offsets(rng):
    X = rng.normal(size=(200, 5)) + np.array([0, 1e9, 0, 0, 5])
    X[:, 2] = 7
    y = rng.integers(0, 3, 200)
    assert_same(SEFRClassifier().fit(X, y), X)
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    assert_same(SEFRClassifier(missing="ignore").fit(holes, y), holes)
    assert_same(SEFRClassifier(scale=(-10, 2e9)).fit(X, y), X)


def test_a_class_that_was_never_seen_is_never_the_answer(rng):
    X = rng.random((20, 3))
    clf = SEFRClassifier().partial_fit(X, rng.integers(0, 3, 20), classes=[0, 1, 2, 3])
    assert_same(clf, X)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 9))
def test_random_models(seed, n_classes, n_features):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, 40)]
    X = rng.normal(size=(len(y), n_features)) * 10.0 ** rng.integers(-6, 6, n_features)
    clf = SEFRClassifier().fit(X, y)
    labels, scores = run(clf, X)
    mine = clf.decision_function(X)
    np.testing.assert_allclose(scores, mine, rtol=1e-11, atol=1e-11)
    gap = np.abs(mine) if mine.ndim == 1 else np.diff(np.sort(mine, axis=1)[:, -2:], axis=1)[:, 0]
    assert (labels == clf.predict(X))[gap > 1e-10].all()


def test_the_names_are_in_the_file(tmp_path):
    frame = load_iris(as_frame=True).frame
    clf = SEFRClassifier().fit(frame.drop(columns="target"), frame["target"])
    session = onnxruntime.InferenceSession(to_onnx(clf), providers=["CPUExecutionProvider"])
    properties = session.get_modelmeta().custom_metadata_map
    assert json.loads(properties["feature_names"]) == list(clf.feature_names_in_)
    assert json.loads(properties["classes"]) == [0, 1, 2]


def test_the_command_writes_it(tmp_path, monkeypatch):
    from sefr.cli import main

    X, y = load_iris(return_X_y=True)
    clf = SEFRClassifier().fit(X, y)
    save(clf, tmp_path / "m.sefr")
    monkeypatch.setattr("sys.argv", ["sefr", "export", str(tmp_path / "m.sefr"), "--to", "onnx", "-q"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code in (0, None)
    assert (tmp_path / "m.onnx").read_bytes() == to_onnx(clf)


def test_skops_brings_the_model_back():
    skops = pytest.importorskip("skops.io")
    X, y = load_iris(return_X_y=True)
    clf = SEFRClassifier().fit(X, y)
    data = skops.dumps(clf)
    again = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    assert again.summary_ == clf.summary_
    assert (again.decision_function(X) == clf.decision_function(X)).all()


@pytest.mark.parametrize("passes", [1, 6])
@pytest.mark.parametrize("classes", [2, 3])
def test_bins_look_up_the_same_cells(passes, classes, rng):
    X = rng.normal(size=(300, 6))
    y = rng.integers(0, classes, size=300)
    X[:, 4] = 7.0  # a feature without an edge
    edges = SEFRClassifier(bins=12).fit(X, y).edges_
    X[np.arange(11), 0] = edges[0][:11]  # values on the edges
    clf = SEFRClassifier(bins=edges, passes=passes).fit(X, y)
    labels, scores = run(clf, X)
    np.testing.assert_allclose(scores, clf.decision_function(X), rtol=0, atol=1e-12)
    assert (labels == clf.predict(X)).all()
    X[3, 1] = np.nan
    assert np.isnan(run(clf, X)[1][3]).all()
    known = SEFRClassifier(bins=12, missing="ignore", passes=passes).fit(X, y)
    labels, scores = run(known, X)
    np.testing.assert_allclose(scores, known.decision_function(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("missing", ["error", "ignore"])
@pytest.mark.parametrize(("passes", "classes"), [(1, 2), (6, 2), (1, 3), (6, 3)])
def test_interactions_choose_the_same_cells(missing, passes, classes, rng):
    """Ferns that were grown, and given ones of one to eight comparisons, of every bin there is."""
    X = rng.normal(size=(400, 5))
    y = ((X[:, 0] > 0).astype(int) + (X[:, 3] > 0.2)) % classes
    if missing == "ignore":
        X[rng.random(X.shape) < 0.2] = np.nan
    clf = SEFRClassifier(bins=9, missing=missing, interactions=20, passes=passes).fit(X, y)
    n_bins = np.diff(clf.summary_.coder.starts) + (2 if missing == "ignore" else 1)
    features = [rng.integers(0, 5, size=length) for length in (1, 2, 5, 8, 8)]
    drawn = [list(zip(own.tolist(), rng.integers(0, n_bins[own]).tolist(), strict=True)) for own in features]
    for ferns in (clf.interactions_, drawn):
        clf = SEFRClassifier(bins=clf.edges_, missing=missing, interactions=ferns, passes=passes).fit(X, y)
        assert_same(clf, X)
        X[3, 1] = np.nan
        assert np.isfinite(run(clf, X)[1][3]).all() == (missing == "ignore")
        X[3, 1] = 0.0


def test_interactions_ask_for_categories_by_their_number(rng):
    soil = rng.choice(["sand", "clay", "peat"], 300)
    frame = pd.DataFrame({"soil": pd.Categorical(soil), "ph": rng.normal(7, 1, 300)})
    y = (soil == "sand") == (frame["ph"] > 7)
    clf = SEFRClassifier(bins=8, interactions=15, passes=6).fit(frame, y)
    assert any(0 in features for features in clf.feature_sets_[2:])
    known = list(clf.summary_.coder.categories[0])
    codes = np.column_stack([[known.index(each) for each in soil], frame["ph"]])
    codes[0, 0] = len(known)  # any other value
    other = frame.astype({"soil": object})
    other.loc[0, "soil"] = "lava"
    other["soil"] = pd.Categorical(other["soil"])
    labels, scores = run(clf, codes)
    np.testing.assert_allclose(scores, clf.decision_function(other), rtol=0, atol=1e-12)
    assert labels.tolist() == clf.predict(other).tolist()
