"""What a board cannot hold is refused at export, and what it holds is the same bits everywhere."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from sefr import SEFRClassifier, save
from sefr.device import BOARDS, Twin, export, quantise, simulate
from sefr.device.quantise import _bounded_bias


def answers(weights, bias, records):
    """By definition, in Python's integers."""
    scores = [
        [
            sum(int(w) * int(x) for w, x in zip(row, record, strict=True)) + b
            for row, b in zip(weights, bias, strict=True)
        ]
        for record in records
    ]
    return [int(row[0] > 0) if len(row) == 1 else row.index(max(row)) for row in scores]


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_a_bounded_bias_gives_the_same_answers(rows, rng):
    for _ in range(150):
        weights = rng.integers(-127, 128, (rows, 6)) * rng.integers(0, 2, (rows, 6))
        size = 10 ** rng.integers(1, 30)
        bias = [int(value * size) for value in rng.normal(size=rows)]
        held = _bounded_bias(weights, bias)
        records = [*rng.integers(0, 256, (40, 6)).tolist(), [0] * 6, [255] * 6]
        assert answers(weights, held, records) == answers(weights, bias, records)
        reach = 255 * np.abs(weights).sum(axis=1)
        assert (np.abs(np.array(held)) <= reach.max() + reach + 1).all()


def lopsided(rng, classes=2):
    """Rows that say next to nothing and classes of very different size: the bias alone decides."""
    X = rng.integers(0, 256, (400, 20))
    y = np.zeros(400, int)
    y[: 4 * (classes - 1)] = np.arange(4 * (classes - 1)) % (classes - 1) + 1
    X[y > 0] = X[-1]
    return SEFRClassifier(passes=10).fit(np.concatenate([X] * 5), np.concatenate([y] * 5)), X[:60]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("target", ["arduino", "c", "generated"])
@pytest.mark.needs("avr")
def test_a_refined_model_answers_on_the_uno_as_on_the_host(target, classes, rng):
    clf, X = lopsided(rng, classes)
    twin = Twin(clf).predict(X).tolist()
    assert simulate(clf, X, "uno", target=target).predictions.tolist() == twin
    assert np.mean(np.array(twin) == clf.predict(X)) > 0.9


@pytest.mark.needs("avr")
def test_a_bias_far_beyond_the_weights_answers_the_same(monkeypatch, rng):
    """Weights near 0 beside a bias of 1: 300 digits before it was bounded."""
    for weight in (1e-3, 1e-9, 1e-300, 0.0):
        for sign in (-1.0, 1.0):
            X = rng.integers(0, 256, (60, 20)).astype(float)
            clf = SEFRClassifier(passes=10, scale=(0, 255)).fit(X, np.arange(60) % 2)
            monkeypatch.setattr(type(clf), "coef_", np.full((1, 20), weight))
            monkeypatch.setattr(type(clf), "intercept_", np.array([sign]))
            q = quantise(clf, input="uint8")
            assert abs(q.bias[0]) <= 127 * 255 * 20 + 1
            result = simulate(clf, X, "uno")
            expected = X.sum(axis=1) * weight + sign > 0
            monkeypatch.undo()
            assert result.predictions.tolist() == expected.astype(int).tolist()


@pytest.mark.parametrize("passes", [1, 10])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "values",
    [np.full((12, 3), 5.0), np.full((12, 3), 5.5), np.full((12, 3), 700.0)],
    ids=["bytes", "floats", "integers"],
)
@pytest.mark.needs("avr")
def test_constant_features_compile_and_answer(values, classes, passes, tmp_path):
    clf = SEFRClassifier(passes=passes).fit(values, np.arange(12) % classes)
    for target in ("c", "generated", "arduino"):
        result = simulate(clf, values, "uno", target=target)
        assert result.predictions.tolist() == Twin(clf).predict(values).tolist()
        path = export(clf, target, tmp_path)
        text = path.read_text() if path.is_file() else (path / "model.h").read_text()
        assert max(map(len, text.split())) < 60, "a number without end"


@pytest.mark.needs("avr")
def test_ranges_near_the_smallest_float(tmp_path, rng):
    X = rng.uniform(1e-38, 3e-38, (40, 4))
    y = (X[:, 0] > 2e-38).astype(int)
    clf = SEFRClassifier().fit(X, y)
    for target in ("c", "generated", "arduino"):
        result = simulate(clf, X, "uno", target=target)
        assert result.predictions.tolist() == Twin(clf).predict(X).tolist()
        assert np.mean(result.predictions == clf.predict(X)) > 0.9
        path = export(clf, target, tmp_path)
        header = path if path.is_file() else path / "model.h"
        command = ["gcc", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Woverflow", str(header)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or target == "arduino", done.stderr


def test_a_range_that_floats_cannot_tell_is_refused(rng):
    X = 1.7e9 + rng.random((20, 3)) * 0.01
    with pytest.raises(ValueError, match="feature 0: floats on a board cannot hold the range"):
        Twin(SEFRClassifier().fit(X, np.arange(20) % 2)).predict(X)


def test_more_than_the_eeprom_holds_is_refused(tmp_path, rng):
    """Two states of 20 + 8 + 4 m bytes (and the model's id) in 1,024 bytes; nothing is written."""
    X = rng.integers(0, 256, (30, 200))
    clf = SEFRClassifier(scale=(0, 255)).fit(X, np.arange(30) % 2)
    with pytest.raises(
        ValueError, match=r"200 features x 2 classes takes two states of \d+ bytes, and the EEPROM.* --eeprom"
    ):
        export(clf, "arduino", tmp_path / "new", learn=True)
    assert not (tmp_path / "new").exists()
    assert export(clf, "arduino", tmp_path, learn=True, eeprom=4096).is_dir()
    few = SEFRClassifier(scale=(0, 255)).fit(X[:, :100], np.arange(30) % 2)
    assert export(few, "arduino", tmp_path, learn=True).is_dir()


def test_an_interrupt_leaves_no_folder_behind(tmp_path, rng, monkeypatch):
    """In the moment after the fresh folder is made: found by faults at every system call."""
    clf, made = SEFRClassifier().fit(rng.normal(size=(20, 3)), np.arange(20) % 2), os.mkdir

    def interrupted(path, *arguments, **more):
        made(path, *arguments, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export(clf, "arduino", tmp_path, name="rain")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_the_old_sketch_is_removed_leaves_the_new_one_alone(tmp_path, rng, monkeypatch):
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    export(SEFRClassifier().fit(X, y), "arduino", tmp_path, name="rain")
    remove, calls = shutil.rmtree, []

    def interrupted(*arguments, **more):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        remove(*arguments, **more)

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export(SEFRClassifier().fit(X, 1 - y), "arduino", tmp_path, name="rain")
    assert [path.name for path in tmp_path.iterdir()] == ["rain"]


CHECKED = """#include "board.h"
#include "checked.h"
int main(void) {
    checked_value record[CHECKED_FEATURES];
    uint8_t n = board_get(), i;
    unsigned int j;
    for (i = 0; i < n; i++) {
        for (j = 0; j < sizeof record; j++) ((uint8_t *)record)[j] = board_get();
        board_put(checked_classify(record));
    }
    return 0;
}
"""


@pytest.mark.parametrize("board", ["uno", "host"])
@pytest.mark.parametrize("kind", ["int16", "int32", "float"])
@pytest.mark.parametrize("target", ["c", "generated", "arduino", "learn"])
def test_values_far_outside_and_nan_are_not_known(tmp_path, rng, board, kind, target):
    """With check: NaN, infinity, and values beyond the range by more than it is wide."""
    X, y = rng.integers(100, 301, (40, 3)), np.arange(40) % 2
    X[:2] = [[100] * 3, [300] * 3]
    clf = SEFRClassifier(scale="minmax" if target != "learn" else (100, 300)).fit(X, y)
    learn = target == "learn"
    path = export(
        clf, "arduino" if learn else target, tmp_path, name="checked", input=kind, check=True, learn=learn
    )
    folder = path if path.is_dir() else path.parent
    known = [[100, 200, 300], [-100, 500, 200]]
    unknown = [[-101, 200, 200], [200, 501, 200], [200, 200, -32768], [32767, 200, 200]]
    if kind == "float":
        unknown += [[np.nan, 200, 200], [200, 200, np.inf], [200, -np.inf, 200]]
    text = CHECKED.replace("uint8_t n =", "checked_begin();\n    uint8_t n =") if learn else CHECKED
    (tmp_path / "program.c").write_text(text)
    sources = [tmp_path / "program.c", *folder.glob("src/sefr/*.c")]
    sources += folder.glob("src/sefr/*.S") if board == "uno" else []
    image = BOARDS[board].build(sources, tmp_path, includes=[folder])
    records = np.array(known + unknown, {"int16": "<i2", "int32": "<i4", "float": "<f4"}[kind])
    found = list(BOARDS[board].run(image, bytes([len(records)]) + records.tobytes()).output)
    assert found == Twin(clf, input=kind).predict(np.clip(known, 100, 300)).tolist() + [255] * len(unknown)


def test_check_goes_without_bins(tmp_path, rng):
    clf = SEFRClassifier(bins=4).fit(rng.normal(size=(30, 2)), np.arange(30) % 2)
    with pytest.raises(ValueError, match="check goes without bins"):
        export(clf, "c", tmp_path, check=True)


def test_the_command_has_the_settings_of_a_board(tmp_path, rng):
    save(
        SEFRClassifier(scale=(0, 255)).fit(rng.integers(0, 256, (40, 150)), np.arange(40) % 2),
        tmp_path / "m.sefr",
    )

    def command(*words):
        line = [sys.executable, "-m", "sefr.cli", "export", "m.sefr", "--to", "arduino", *words]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert "the EEPROM has 1024" in command("--learn").stderr
    done = command("--learn", "--eeprom", "4096", "--sum-bits", "32", "--name", "my room", "--check")
    assert done.returncode == 0, done.stderr
    assert "#define SEFR_SUM_BITS 32" in (tmp_path / "my_room" / "src" / "sefr" / "sefr_config.h").read_text()
    assert "my_room_is_known" in (tmp_path / "my_room" / "my_room.h").read_text()
    refused = command("--eeprom", "4096")
    assert refused.returncode == 2
    assert "--eeprom goes with --learn" in refused.stderr
    assert "sum_bits must be 16 or 32" in command("--learn", "--sum-bits", "24").stderr
