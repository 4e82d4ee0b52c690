"""Windows in C and in Python are the same bits, and what they say of a signal is right."""

import struct
from itertools import pairwise

import numpy as np
import pytest
from arduino_core import build_sketch
from device_program import HERE

from sefr import SEFRClassifier
from sefr.device import BOARDS, BuildError, export, library, window_names, windows


def by_definition(signal, length, hop):
    """One window at a time, in Python's integers."""
    rows = []
    for start in range(0, len(signal) - length + 1, hop):
        row = []
        for axis in range(signal.shape[1]):
            x = [int(value) for value in signal[start : start + length, axis]]
            n, total, squares = length, sum(x), sum(value * value for value in x)
            mean = total // n
            steps = list(pairwise(x))
            row += [mean, (n * squares - total * total) // n**2, min(x), max(x)]
            row += [sum((a >= mean) != (b >= mean) for a, b in steps), squares // n]
            row += [sum(abs(a - b) for a, b in steps) // (n - 1)]
        rows.append(row)
    return rows


def hostile(rng, n, axes):
    """Noise, steps between the extremes, constants and a slow wave."""
    kinds = [
        rng.integers(-32768, 32768, (n, axes)),
        rng.choice([-32768, 32767], (n, axes)),
        np.full((n, axes), rng.choice([-32768, 0, 32767, -1])),
        (1000 * np.sin(np.arange(n) / 5))[:, None].astype(int) + rng.integers(-3, 4, (n, axes)),
    ]
    return np.concatenate([kind[: n // 4] for kind in kinds])


SHAPES = [(1, 2, 1), (1, 16, 16), (2, 7, 3), (3, 32, 8), (3, 5, 11), (1, 255, 100), (6, 20, 1)]


@pytest.mark.parametrize(("axes", "length", "hop"), [*SHAPES, (2, 1024, 300)])
def test_python_follows_the_definition(axes, length, hop, rng):
    signal = hostile(rng, 4 * max(length, 40), axes)
    assert windows(signal, length, hop).tolist() == by_definition(signal, length, hop)


@pytest.mark.parametrize("board", ["uno", "cortex-m0", "cortex-m4", "riscv32", "host"])
def test_boards_equal_python(board, tmp_path, rng):
    for axes, length, hop in SHAPES if board != "host" else [*SHAPES, (2, 1024, 300)]:
        signal = hostile(rng, 4 * max(length, 40), axes)
        image = BOARDS[board].build(
            [HERE / "window.c", library() / "sefr_window.c"],
            tmp_path,
            includes=[library()],
            defines=[f"AXES={axes}", f"LENGTH={length}", f"HOP={hop}"],
        )
        run = BOARDS[board].run(image, struct.pack("<I", len(signal)) + signal.astype("<i2").tobytes())
        found = np.frombuffer(run.output, "<i4").reshape(-1, 7 * axes)
        assert found.tolist() == windows(signal, length, hop).tolist(), (axes, length, hop)


def test_what_is_no_window_does_not_compile(tmp_path):
    for axes, length, hop in ((1, 1, 1), (1, 1025, 1), (0, 8, 1), (1, 8, 0)):
        with pytest.raises(BuildError, match="window_is_no_window"):
            BOARDS["host"].build(
                [HERE / "window.c", library() / "sefr_window.c"],
                tmp_path,
                includes=[library()],
                defines=[f"AXES={axes}", f"LENGTH={length}", f"HOP={hop}"],
            )


def test_bad_signals_are_refused():
    for signal, message in (
        ([[[1]]], "shape"),
        ([1, 2.5, 3], "sample 1, axis 0: 2.5"),
        ([1, 40000], "sample 1, axis 0: 40000"),
        ([1, np.nan], "sample 1, axis 0: nan"),
        (["a", "b"], "must be numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            windows(signal, 2)
    with pytest.raises(ValueError, match="length must be 2 to 1024, not 1"):
        windows([1, 2, 3], 1)
    with pytest.raises(ValueError, match="hop must be 1 to 65535, not 0"):
        windows([1, 2, 3], 2, 0)
    assert windows([1, 2, 3], 4).shape == (0, 7)


def test_names_follow_the_order():
    assert window_names(["x", "y"])[6:9] == ["x_difference", "y_mean", "y_variance"]


def test_generated_gestures_are_told_apart(rng):
    """Made here, not recorded: stillness, a shake and a slow turn on three axes with gravity and noise."""
    time = np.arange(64 * 60)
    gestures = {
        "still": np.zeros((len(time), 3)),
        "shake": 3000 * np.sin(time[:, None] * [0.9, 1.0, 1.1]),
        "turn": 6000 * np.sin(time[:, None] * [0.05, 0.06, 0.04]),
    }
    gravity = np.array([0, 0, 8192])
    rows = {
        k: windows((v + gravity + rng.normal(0, 150, v.shape)).astype(int), 64, 32)
        for k, v in gestures.items()
    }
    X = np.concatenate(list(rows.values()))
    y = np.repeat(list(rows), [len(part) for part in rows.values()])
    half = np.arange(len(y)) % 2 == 0
    assert SEFRClassifier().fit(X[half], y[half]).score(X[~half], y[~half]) > 0.95


@pytest.mark.parametrize(("axes", "length"), [(1, 32), (3, 64), (6, 100)])
@pytest.mark.needs("avr")
def test_a_window_takes_an_uno_no_longer_than_stated(axes, length, tmp_path, rng):
    """155 cycles per sample and axis, and 5,500 per axis: what the sketch's check of the rate counts with."""
    signal = hostile(rng, 4 * length, axes)
    image = BOARDS["uno"].build(
        [HERE / "window.c", library() / "sefr_window.c"],
        tmp_path,
        includes=[library()],
        defines=[f"AXES={axes}", f"LENGTH={length}", "HOP=7"],
    )
    run = BOARDS["uno"].run(image, struct.pack("<I", len(signal)) + signal.astype("<i2").tobytes())
    assert max(np.diff(run.marks)[::2]) <= axes * (155 * length + 5500)


@pytest.mark.needs("avr", "arduino")
def test_a_rate_that_an_uno_cannot_keep_does_not_compile(tmp_path, rng):
    X = windows(rng.integers(0, 1024, (600, 6)), 100, 5)
    clf = SEFRClassifier().fit(X, np.arange(len(X)) % 2)
    kept = export(clf, "arduino", tmp_path / "a", window=(100, 50, 50), input="int32")
    build_sketch(kept, tmp_path)
    assert "RATE = 50;" in (kept / "model.ino").read_text()
    late = export(clf, "arduino", tmp_path / "b", window=(100, 50, 200), input="int32")
    with pytest.raises(AssertionError, match="longer than from one sample to the next"):
        build_sketch(late, tmp_path)
    with pytest.raises(ValueError, match="1 to 10000 samples per second, not 0"):
        export(clf, "arduino", tmp_path, window=(100, 50, 0), input="int32")
