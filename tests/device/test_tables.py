"""Models with bins on boards: the host's cells, whole entries, and the twin's answers to the bit."""

import json
import subprocess

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from device_program import EVERYWHERE
from hypothesis import given, settings
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from test_export_names import TOKENS

from sefr import SEFRClassifier
from sefr._rows.cells import Categories
from sefr.device import BOARDS, BuildError, QuantisedTable, Twin, export, quantise, simulate
from sefr.device.board import HERE as BOARD_FILES
from sefr.device.ferns import thresholds_of
from sefr.device.table_code import float_keys
from sefr.device.tables import _reachable

STRICT = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
TARGETS = ("c", "arduino", "generated")


def rows_of(kind, rng, n=200, features=5):
    """Values of a type with few and many different ones, a constant and both ends of the type."""
    if kind == "float":
        X = rng.normal(size=(n, features)) * 10.0 ** rng.integers(-3, 4, features)
        X[::9, 1] = rng.choice([0.0, -0.0, 3.4e38, -3.4e38, 1e-45], len(X[::9]))
        X = X.astype(np.float32).astype(float)
    else:
        limits = np.iinfo(kind)
        X = rng.integers(limits.min, limits.max + 1, (n, features)).astype(float)
        X[::7, 1] = rng.choice([limits.min, limits.max, 0], len(X[::7]))
    X[:, 2] = rng.integers(0, 2, n)
    X[:, 3] = 7
    return X


def drawn(count, clf, rng):
    """So many interactions of six comparisons, whether they tell anything or not: growing may keep fewer."""
    n_bins = np.diff(clf.summary_.coder.offsets)
    features = rng.choice(np.flatnonzero(n_bins > 1), (count, 6))
    return np.stack([features, rng.integers(1, n_bins[features])], axis=2).tolist()


def trained(kind, classes, rng, **settings_):
    X = rows_of(kind, rng)
    y = (np.argsort(np.argsort(X[:, 0])) * classes // len(X) + (X[:, 2] > 0)) % classes
    count = settings_.get("interactions")
    settings_ = {"bins": 12, **settings_, "interactions": None}
    if settings_.get("missing") == "ignore":
        X[rng.random(X.shape) < 0.1] = np.nan
    clf = SEFRClassifier(**settings_).fit(X, y)
    if count is not None:
        clf = SEFRClassifier(**settings_ | {"interactions": drawn(count, clf, rng)}).fit(X, y)
    return clf, X, y


CASES = [
    ("uint8", 2, {}),
    ("int16", 2, {"bins": 16}),
    ("int16", 4, {"passes": 5}),
    ("int32", 3, {}),
    ("float", 2, {"missing": "ignore"}),
    ("float", 3, {"missing": "ignore", "bins": 40}),
    ("float", 2, {"passes": 5, "bins": 200}),
    ("uint8", 2, {"interactions": 12}),
    ("int16", 3, {"interactions": 12, "passes": 5}),
    ("uint8", 2, {"interactions": 260}),  # more entries than 16 bits add up
    ("float", 4, {"interactions": 12, "missing": "ignore"}),
]


@pytest.mark.parametrize("board", EVERYWHERE)
@pytest.mark.parametrize(("kind", "classes", "settings_"), CASES, ids=str)
def test_boards_answer_as_the_twin(board, kind, classes, settings_, rng):
    clf, X, _ = trained(kind, classes, rng, **settings_)
    target = TARGETS[(EVERYWHERE.index(board) + len(settings_) + classes) % 3]
    result = simulate(clf, X, board, input=kind, target=target)
    assert result.predictions.tolist() == Twin(clf, input=kind).predict(X).tolist()


@pytest.mark.parametrize(
    ("kind", "settings_"),
    [("uint8", {}), ("int16", {}), ("int32", {}), ("float", {}), ("float", {"missing": "ignore"})],
    ids=str,
)
def test_the_cells_of_interactions_are_the_host_s(kind, settings_, rng):
    """At every edge and beside it, at the ends of the type, and where a value is missing."""
    clf, X, _ = trained(kind, 2, rng, interactions=40, **settings_)
    coder = clf.summary_.coder
    columns = []
    for own in coder.parts:
        near = np.concatenate([own, X[:, 0], X[:, 1]])
        if kind == "float":
            near = near.astype(np.float32)
            near = np.concatenate([near, np.nextafter(near, np.float32(np.inf)), [np.inf, -np.inf]])
        else:
            limits = np.iinfo(kind)
            near = np.concatenate([np.floor(near), np.ceil(near), [limits.min, limits.max]])
            near = near.clip(limits.min, limits.max)
        columns.append(rng.permutation(np.resize(near, 2000)).astype(float))
    values = np.stack(columns, axis=1)
    if settings_:
        values[rng.random(values.shape) < 0.2] = np.nan
    model = quantise(clf, input=kind)
    found = np.stack([fern.cells(values) for fern in model.ferns], axis=1)
    assert len(model.ferns) == 40
    told = np.ones(len(values), bool)
    if kind == "float":  # all but values that float32 cannot tell from an edge above them
        for j, own in enumerate(coder.parts):
            at = values[:, j, None] == thresholds_of(own, kind)
            told &= ~(at & (values[:, j, None] < own)).any(axis=1)
    assert told.mean() > 0.5
    assert found[told].tolist() == coder.code(values)[told, coder.n_features :].tolist()


@pytest.mark.parametrize("board", ["uno", "cortex-m4", "host"])
@pytest.mark.parametrize("target", ["c", "generated"])
def test_interactions_of_categories_on_boards(board, target, rng):
    n = 400
    soil = rng.choice(["sand", "clay", "*/ #error", "peat"], n)
    frame = pd.DataFrame({"soil": pd.Categorical(soil), "ph": rng.normal(7, 1, n)})
    y = (np.isin(soil, ["sand", "peat"]) == (frame["ph"] > 7)).astype(int).to_numpy()
    clf = SEFRClassifier(bins=8, interactions=10, passes=10).fit(frame, y)
    assert clf.score(frame, y) > 0.9
    model = Twin(clf)
    assert np.mean(model.predict(frame) == clf.predict(frame)) > 0.98
    codes = frame.assign(soil=[list(clf.summary_.coder.categories[0]).index(own) for own in soil])
    result = simulate(clf, codes.to_numpy(float), board, target=target)
    assert result.predictions.tolist() == model.predict(frame).tolist()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.needs("avr")
def test_entries_of_16_bits_on_the_uno(target, classes, rng):
    clf, X, _ = trained("int16", classes, rng, interactions=9)
    result = simulate(clf, X, "uno", weights="int16", input="int16", target=target)
    assert result.predictions.tolist() == Twin(clf, "int16", "int16").predict(X).tolist()


def test_a_model_without_bins_for_missing_values_takes_none(rng):
    clf, X, _ = trained("float", 2, rng)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Twin(clf, input="float").predict(X)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e39, 1e39), min_size=1, max_size=9, unique=True),
    st.lists(st.floats(-3.4e38, 3.4e38), min_size=1, max_size=30),
)
def test_every_float_has_the_cell_of_the_host(edges, values):
    """Also an edge itself, which is a value that occurred; but not one that float32 takes for the edge."""
    edges = np.sort(np.array(edges))
    values = np.array([*values, *edges[np.abs(edges) < 3.4e38]])
    near = values.astype(np.float32)
    entries = np.arange(len(edges) + 1)[None, :]
    thresholds, kept = _reachable(edges, entries, "float")
    board = kept[0, np.searchsorted(thresholds, near.astype(np.float64), side="right")]
    host = np.searchsorted(edges, values, side="right")
    assert (board >= host).all()
    told = ~((near[:, None] == thresholds_of(edges, "float")) & (values[:, None] < edges)).any(axis=1)
    assert (board == host)[told].all()
    keys = float_keys(thresholds)
    assert (np.diff(keys.astype(np.int64)) > 0).all()
    compared = (float_keys(near)[:, None] >= keys).sum(axis=1)
    assert (kept[0, compared] == board).all()


def test_values_of_two_digits_lie_where_they_do_on_the_host():
    """4.7 is an edge, and the float32 next to it lies below it."""
    X, y = load_iris(return_X_y=True)
    clf = SEFRClassifier(bins=16, passes=5).fit(X, y)
    coder, q = clf.summary_.coder, quantise(clf)
    cells = coder.code(X)
    for j, thresholds in enumerate(q.thresholds):
        board = np.searchsorted(thresholds, X[:, j].astype(np.float32), side="right")
        _, first = np.unique(cells[:, j], return_index=True)
        joined = dict(zip(cells[first, j].tolist(), board[first].tolist(), strict=True))
        assert [joined[cell] for cell in cells[:, j].tolist()] == board.tolist()
    assert (Twin(clf, "int16").predict(X) == clf.predict(X)).all()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-300, 600), min_size=1, max_size=20, unique=True),
    st.sampled_from(["uint8", "int16", "int32"]),
)
def test_every_whole_number_has_the_cell_of_the_host(edges, kind):
    edges = np.sort(np.array(edges))
    limits = np.iinfo(kind)
    values = np.arange(max(-700, limits.min), min(700, limits.max) + 1)
    thresholds, kept = _reachable(edges, np.arange(len(edges) + 1)[None, :], kind)
    board = kept[0, np.searchsorted(thresholds, values, side="right")]
    assert (board == np.searchsorted(edges, values, side="right")).all()
    assert len(thresholds) <= len(edges)
    assert kept.shape[1] == len(thresholds) + 1


@pytest.mark.parametrize("classes", [2, 5])
def test_entries_are_the_host_s_within_half_a_step(classes, rng):
    """A score is the host's in units of the largest entry, but for half a step per feature."""
    clf, X, _ = trained("float", classes, rng, passes=4)
    twin = Twin(clf, "int16")
    own, host = twin.scores(X).astype(float), clf.decision_function(X).reshape(len(X), -1)
    if classes > 2:  # what all classes have more or less decides nothing
        own, host = (part - part.mean(axis=1, keepdims=True) for part in (own, host))
    unit = np.sum(own * host) / np.sum(host * host)
    assert np.abs(own - unit * host).max() <= 0.5 * X.shape[1] * 2 + 2
    assert (twin.predict(X) == clf.predict(X)).mean() > 0.99


def test_int8_entries_lose_little_on_real_tables():
    for load, most in ((load_breast_cancer, 0.01), (load_digits, 0.01)):
        X, y = load(return_X_y=True)
        for passes in (1, 10):
            clf = SEFRClassifier(bins=16, passes=passes).fit(X[::2], y[::2])
            assert Twin(clf).loss(X[1::2], y[1::2]).accuracy_lost <= most


def test_types_follow_the_edges(rng):
    X, y = rng.integers(0, 200, (60, 2)), np.arange(60) % 2
    assert quantise(SEFRClassifier(bins=8).fit(X, y)).input == "int16"
    assert quantise(SEFRClassifier(bins=8).fit(X * 1000, y)).input == "int32"
    assert quantise(SEFRClassifier(bins=8).fit(X / 7, y)).input == "float"
    assert quantise(SEFRClassifier(bins=8, missing="ignore").fit(X, y)).input == "float"
    assert quantise(SEFRClassifier(bins=8, scale=(0, 256)).fit(X, y)).input == "int16"
    assert quantise(SEFRClassifier(bins=5, scale=(0, 255)).fit(X, y)).input == "uint8"
    with pytest.raises(ValueError, match=r"row 0, feature 0: 300 is not a value .* uint8"):
        Twin(SEFRClassifier(bins=8).fit(X, y), input="uint8").predict([[300, 1]])


def test_categories_are_numbers_on_the_board(tmp_path, rng):
    """A frame is answered by its values; the header says which number stands for which."""
    colours = pd.Categorical.from_codes(rng.integers(0, 3, 90), ["red", "green */", "blue"])
    frame = pd.DataFrame({"colour": colours, "size": rng.integers(0, 50, 90)})
    y = np.where(frame["colour"] == "green */", 1, frame["size"] > 25)
    clf = SEFRClassifier(bins=8).fit(frame, y)
    q = quantise(clf)
    assert isinstance(q, QuantisedTable)
    assert isinstance(q.categories[0], Categories)
    twin = Twin(clf)
    assert (twin.predict(frame) == clf.predict(frame)).mean() > 0.97
    codes = np.column_stack([frame["colour"].cat.codes, frame["size"]])
    assert (twin.predict(codes) == twin.predict(frame)).all()
    for target in ("c", "generated"):
        text = export(clf, target, tmp_path).read_text()
        assert "/* 0 colour: 0 red, 1 green \\052\\057, 2 blue, 3 any other */" in text
    frame["colour"] = pd.Categorical.from_codes(rng.integers(0, 90, 90), [f"c{k}" for k in range(90)])
    text = export(SEFRClassifier(bins=8).fit(frame, y), "c", tmp_path).read_text()
    assert ", 89 c89, 90 any other */" in text


def test_a_class_never_seen_never_wins(rng):
    X, y = rng.integers(0, 50, (60, 3)), np.arange(60) % 3
    clf = SEFRClassifier(bins=6).fit(X, y).forget(X[y == 1], y[y == 1])
    assert 1 in clf.classes_
    assert set(Twin(clf).predict(X)) <= {0, 2}
    assert (Twin(clf).predict(X) == clf.predict(X)).mean() > 0.9


@pytest.mark.parametrize(("kind", "classes", "settings_"), CASES, ids=str)
def test_headers_compile_without_a_warning(kind, classes, settings_, tmp_path, rng):
    clf, _, _ = trained(kind, classes, rng, **settings_)
    for target, language in zip(
        TARGETS, ("c", "c++", "c") if classes == 2 else ("c++", "c", "c++"), strict=True
    ):
        weights = "int16" if settings_ else "int8"
        path = export(clf, target, tmp_path, input=kind, weights=weights, margin=3)
        header = path if path.is_file() else path / "model.h"
        command = ["gcc", "-fsyntax-only", *STRICT, "-x", language, str(header)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_names_of_features_and_categories(target, tmp_path, rng):
    tokens = [token for token in TOKENS if token.isascii() or token.isprintable()]  # as Arrow takes them
    names = [token + str(i) for i, token in enumerate(tokens)]
    frame = pd.DataFrame(rng.integers(0, 9, (40, len(names))), columns=names)
    frame[names[0]] = pd.Categorical.from_codes(rng.integers(0, len(tokens), 40), tokens)
    clf = SEFRClassifier(bins=4).fit(frame, np.array(["*/ x", "\\"])[np.arange(40) % 2])
    path = export(clf, target, tmp_path, name="*/")
    header = path if path.is_file() else next(path.glob("*.h"))
    command = ["gcc", "-fsyntax-only", *STRICT, "-x", "c", str(header)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert header.read_text().isascii()


@pytest.mark.needs("avr", "arm")
def test_a_table_that_does_not_fit_is_refused_when_compiled(tmp_path, rng):
    X = rng.normal(size=(600, 300))
    clf = SEFRClassifier(bins=64).fit(X, np.arange(600) % 3)
    with pytest.raises(BuildError, match=r"takes \d+ bytes of flash, which this chip does not have"):
        simulate(clf, X[:3], "uno", target="c")
    with pytest.raises(BuildError):
        simulate(clf, X[:3], "uno", target="generated")
    result = simulate(clf, X[:3], "cortex-m4", target="c")
    assert result.predictions.tolist() == Twin(clf).predict(X[:3]).tolist()


def test_what_a_board_cannot_do_is_refused(tmp_path, rng):
    clf, _, _ = trained("int16", 2, rng)
    with pytest.raises(ValueError, match="goes on learning cuts bytes by their top bits"):
        export(clf, "arduino", tmp_path / "none", learn=True)
    assert not (tmp_path / "none").exists()
    with pytest.raises(ValueError, match="21845 features with bins and interactions, not 21846"):
        quantise(SEFRClassifier(bins=2).fit(rng.integers(0, 2, (4, 21846)), [0, 1, 0, 1]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("bins", [None, 8])
@pytest.mark.needs("avr")
def test_a_margin_makes_boards_say_that_they_do_not_know(target, classes, bins, tmp_path, rng):
    X = rng.integers(0, 1000, (120, 4))
    clf = SEFRClassifier(bins=bins).fit(X, X[:, 0] * classes // 1000)
    twin = Twin(clf)
    margin = twin.margin(X, coverage=0.7)
    path = export(clf, target, tmp_path, name="m", margin=margin)
    folder = path if path.is_dir() else tmp_path
    sources = [BOARD_FILES / "classify.c", *sorted(folder.glob("src/sefr/*.[cS]"))]
    defines = ['BOARD_HEADER="m.h"', "BOARD_MODEL=m", "BOARD_FEATURES=M_FEATURES"]
    image = BOARDS["uno"].build(sources, tmp_path, defines=defines, includes=[folder])
    data = np.uint32(len(X)).tobytes() + X.astype("<i2").tobytes()
    found = np.frombuffer(BOARDS["uno"].run(image, data).output, np.uint8)
    expected = np.where(twin.leads(X) < margin, 255, twin.quantised.answers(X))
    assert found.tolist() == expected.tolist()
    assert 0 < np.count_nonzero(found == 255) <= 36


def test_a_margin_must_be_a_whole_number(tmp_path, rng):
    clf, _, _ = trained("int16", 2, rng)
    for margin in (-1, 1.5, True, 1 << 31, "7"):
        with pytest.raises(ValueError, match="margin must be a whole number from 0"):
            export(clf, "c", tmp_path, margin=margin)
    assert not list(tmp_path.iterdir())


def table_cycles(kind, target, board="uno", interactions=None):
    """Cycles to classify 32 features x 16 bins, on an Uno or elsewhere; answers are the twin's.

    Floats of the kind "float near 1000" have the same upper 16 bits, all of them.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 32)).astype(np.float32) if kind == "float" else rng.integers(0, 256, (400, 32))
    X = X * 16 if kind == "int16" else X
    if kind == "float near 1000":
        kind, X = "float", (1000 + rng.random((400, 32)) * 3.9).astype(np.float32)
        assert set((X.view(np.uint32) >> 16).ravel().tolist()) == {0x447A}
    y = rng.integers(0, 2, 400)
    clf = SEFRClassifier(bins=16).fit(X, y)
    if interactions is not None:
        clf = SEFRClassifier(bins=16, interactions=drawn(interactions, clf, rng)).fit(X, y)
    q = quantise(clf, input=kind)
    assert min(map(len, q.thresholds)) > 7, "every search has four steps"
    result = simulate(clf, X[:64], board, input=kind, target=target)
    assert result.predictions.tolist() == Twin(clf, input=kind).predict(X[:64]).tolist()
    return result


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kind", "most"), [("uint8", 1_400), ("int16", 2_000), ("float", 2_500), ("float near 1000", 3_900)]
)
@pytest.mark.needs("avr")
def test_cycles_of_32_features_and_16_bins(kind, most, target):
    assert table_cycles(kind, target).per_record <= most


def test_the_sketch_of_a_table_says_what_it_is(tmp_path, rng):
    clf, _, _ = trained("int16", 3, rng)
    path = export(clf, "arduino", tmp_path, name="sound", input="int16")
    about = json.loads((path / "model.json").read_text())
    assert about == {"name": "sound", "input": "int16", "features": 5, "classes": [0, 1, 2], "learn": False}


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.needs("avr")
def test_generated_code_is_never_the_slower_choice(classes, rng):
    """With more than two classes branches take more cycles and flash than the search of the target c."""
    y = np.arange(300) % classes
    X = np.clip(rng.normal(300 + 60 * (y[:, None] * np.arange(1, 9) % 7), 90, (300, 8)), 0, 1023).astype(int)
    clf = SEFRClassifier(bins=16).fit(X, y)
    c, generated = (simulate(clf, X[:10], "uno", target=target) for target in ("c", "generated"))
    assert generated.per_record <= c.per_record
    assert classes == 2 or generated.flash <= c.flash
    assert generated.predictions.tolist() == c.predictions.tolist()
