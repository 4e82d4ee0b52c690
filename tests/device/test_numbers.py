"""A trained regressor on boards: answers of 16 bits with a stated unit, equal to the twin to the bit."""

import itertools
import json
import runpy

import numpy as np
import pytest
from device_program import EVERYWHERE
from test_micropython import micropython

from sefr import SEFRClassifier, SEFRRegressor
from sefr.device import Twin, export, quantise, simulate

SETTINGS = {
    "line": {},
    "known ranges": {"scale": (-4, 4)},
    "bins": {"bins": 8},
    "interactions": {"bins": 8, "interactions": 6},
    "auto": {"auto": True},
}


def readings(rng, kind="float", n=300, m=5):
    """Sensors of different ranges and a number that bends and has an interaction."""
    X = rng.uniform(-3, 3, (n, m))
    y = 40 + 9 * X[:, 0] - 4 * X[:, 1] + 2 * X[:, 2] ** 2 + 5 * (X[:, 3] > 0) * (X[:, 4] > 1)
    y = y + rng.normal(0, 0.5, n)
    if kind == "int16":
        X = np.rint(X * 10.0 ** np.arange(1, m + 1) / 10)
    elif kind == "uint8":
        X = np.rint(127 + 40 * X)
    return X, y


def strange(X, kind):
    """Rows that were learned from, and rows of values that lie anywhere in the type."""
    if kind == "float":
        outside = np.vstack([X[:10] * 1e3, X[:10] * -1e30, X[:10] * 1e-40, np.zeros_like(X[:1])])
    else:
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        outside = np.random.default_rng(1).integers(least, most + 1, (20, X.shape[1]))
        outside[0], outside[1] = least, most
    return np.vstack([X[:60], outside])


def fitted(name, kind, rng):
    X, y = readings(rng, kind)
    settings = dict(SETTINGS[name])
    if name == "known ranges" and kind != "float":
        settings["scale"] = (-30_000, 30_000) if kind == "int16" else (0, 255)
    return SEFRRegressor(**settings).fit(X, y), X, y


@pytest.mark.parametrize("board", EVERYWHERE)
@pytest.mark.parametrize("kind", ["float", "int16", "uint8"])
def test_boards_answer_as_the_twin_to_the_bit(board, kind, rng):
    for name, target, weights in (
        ("line", "c", None),
        ("known ranges", "arduino", None),
        ("bins", "c", None),
        ("bins", "generated", "int8"),
        ("interactions", "arduino", None),
        ("interactions", "c", "int8"),
        ("auto", "generated", None),
    ):
        reg, X, _ = fitted(name, kind, rng)
        rows = strange(X, kind)
        twin = Twin(reg, weights, input=kind)
        run = simulate(reg, rows, board, target=target, weights=weights, input=kind)
        assert (run.predictions == twin.predict(rows)).all(), (name, target, weights)


@pytest.mark.parametrize("kind", ["float", "int16", "uint8"])
@pytest.mark.parametrize("name", SETTINGS)
def test_an_answer_is_as_near_to_the_host_as_its_integers_allow(name, kind, rng):
    """Rounding costs half a unit, each part of the score a step of it, and each float a step of 16 bits."""
    reg, X, y = fitted(name, kind, rng)
    twin = Twin(reg, input=kind)
    unit = twin.quantised.unit
    assert np.log10(unit) == np.rint(np.log10(unit))
    apart = np.abs(twin.predict(X) - reg.predict(X)) / unit
    lines, shift = name in ("line", "known ranges"), twin.quantised.shift
    parts = twin.quantised.n_features if lines else twin.quantised.n_entries
    steps = np.abs(twin.quantised.weights).sum() * 2.0 ** -(16 + shift) if lines and kind == "float" else 0
    assert apart.max() < 0.51 + parts * 2.0**-shift + steps
    assert apart.mean() < 0.5
    assert np.abs(twin.quantised.answers(X)).max() > 300  # a digit more would not fit
    loss = twin.loss(X, y)
    assert loss.board > loss.host - 1e-3
    assert str(loss).startswith("R2: host ")


@pytest.mark.parametrize("far", [0.0, 1e4, -3e4])
def test_numbers_and_values_far_from_zero(far, rng):
    X, y = readings(rng, "int16")
    for settings in ({}, {"bins": 8}):
        reg = SEFRRegressor(**settings).fit(X / 4 + far, y + far)
        twin = Twin(reg)
        assert np.abs(twin.predict(X / 4 + far) - reg.predict(X / 4 + far)).max() < twin.quantised.unit


@pytest.mark.parametrize("settings", [{}, {"bins": 8}])
def test_the_unit_can_be_chosen_and_answers_beyond_16_bits_are_its_ends(settings, rng):
    X, y = readings(rng)
    reg = SEFRRegressor(**settings).fit(X, y)
    twin = Twin(reg, unit=(y.mean() + 2 * y.std()) / 32_000)
    X = np.array(list(itertools.product(*zip(X.min(axis=0), X.max(axis=0), strict=True))))
    answers = twin.quantised.answers(X)
    assert answers.max() == 32767
    inside = np.abs(answers) < 32767
    assert np.abs(twin.predict(X) - reg.predict(X))[inside].max() < 2 * twin.quantised.unit
    coarse = Twin(reg, unit=20)
    assert np.abs(coarse.predict(X) - reg.predict(X)).max() <= 10.01
    with pytest.raises(ValueError, match=r"unit=0.001 is too fine: y is about 46"):
        Twin(reg, unit=0.001)


def test_a_value_outside_counts_as_the_nearest_end(rng):
    X, y = readings(rng)
    twin = Twin(SEFRRegressor().fit(X, y))
    ends = np.clip(3 * X, X.min(axis=0), X.max(axis=0))
    assert (twin.predict(3 * X) == twin.predict(ends)).all()


@pytest.mark.needs("avr")
@pytest.mark.parametrize("target", ["c", "arduino", "generated"])
def test_check_answers_unknown_to_what_lies_far_outside(target, tmp_path, rng):
    X, y = readings(rng)
    path = export(SEFRRegressor().fit(X, y), target, tmp_path, check=True, name="room")
    header = (path / "room.h" if target == "arduino" else path).read_text()
    assert "#define ROOM_UNKNOWN (-32767 - 1)" in header
    if target != "arduino":
        return
    rows = np.array([X[0], X[1] + 1e4, X[2] * np.nan])
    answered = simulate(path, rows).predictions / json.loads((path / "model.json").read_text())["unit"]
    assert np.rint(answered)[1:].tolist() == [-32768, -32768]
    assert answered[0] > -32767


@pytest.mark.needs("micropython")
@pytest.mark.parametrize("kind", ["float", "int16", "uint8"])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_module_for_micropython_answers_as_the_twin(name, kind, tmp_path, rng):
    reg, X, _ = fitted(name, kind, rng)
    rows = strange(X, kind)
    rows = rows[np.isfinite(rows.astype(np.float32)).all(axis=1)]
    expected = Twin(reg, input=kind).quantised.answers(rows).tolist()
    path = export(reg, "micropython", tmp_path, name="room", input=kind)
    module = runpy.run_path(str(path))
    plain = [[value if kind == "float" else int(value) for value in row] for row in rows.tolist()]
    assert [module["predict"](row) for row in plain] == expected
    assert module["UNIT"] == quantise(reg, input=kind).unit
    calls = f"print([predict(row) for row in {plain[:20]!r}])"
    assert micropython(f"{path.read_text()}\n{calls}\n", tmp_path) == [expected[:20]]


def test_what_cannot_be_exported_is_refused(tmp_path, rng):
    X, y = readings(rng)
    reg = SEFRRegressor().fit(X, y)
    with pytest.raises(ValueError, match="answers one number, and the model has 2"):
        quantise(SEFRRegressor().fit(X, np.column_stack([y, -y])))
    with pytest.raises(ValueError, match="weights of 32 bits"):
        quantise(reg, "int8")
    with pytest.raises(ValueError, match="takes values of uint8, int16, float, not int32"):
        quantise(reg, input="int32")
    with pytest.raises(ValueError, match="does not hold the range"):
        quantise(SEFRRegressor().fit(X * 1e6, y), input="int16")
    for unit in (0, -1.0, float("nan"), float("inf"), "K"):
        with pytest.raises(ValueError, match="unit must be a number above 0"):
            quantise(reg, unit=unit)
    with pytest.raises(ValueError, match="unit goes with a regressor"):
        quantise(SEFRClassifier().fit(X, y > 40), unit=0.1)
    for words in ({"learn": True}, {"margin": 5}):
        with pytest.raises(ValueError, match="goes without learn and margin"):
            export(reg, "arduino", tmp_path, **words)
    with pytest.raises(ValueError, match="folded goes with"):
        export(reg, "c", tmp_path, folded=True)
    with pytest.raises(ValueError, match="has no leads"):
        Twin(reg).margin(X, coverage=0.9)
    assert list(tmp_path.iterdir()) == []
