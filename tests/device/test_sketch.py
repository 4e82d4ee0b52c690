"""The exported sketch, built with the real core, on an Uno with sensors, buttons and a serial line."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from arduino_core import build_sketch
from simulated_uno import Event, run_uno
from sklearn.datasets import load_digits

from sefr import SEFRClassifier, SEFRRegressor, load
from sefr.device import StateError, Twin, export, read_state, windows
from sefr.device.serial_board import checked

pytestmark = [pytest.mark.needs("avr", "arduino"), pytest.mark.slow]
COLUMNS = ["light", "sound", "heat", "wind", "rain", "dust"]


def readings(rng, n=60):
    """Codes of six analog inputs in two situations."""
    y = np.arange(n) % 2
    return np.clip(rng.normal(300 + 400 * y[:, None], 120, (n, 6)), 0, 1023).astype(int), y


def shown(rows, every=400, first=250):
    """Each row on the inputs for a while."""
    return [
        Event.analog(0 if i == 0 else first + i * every - 100, channel, int(code))
        for i, row in enumerate(rows)
        for channel, code in enumerate(row)
    ]


def lines(run, kind):
    return [line.split(" ", 1)[1] for line in run.text.splitlines() if line.startswith(f"{kind} ")]


def sefr(folder, *arguments):
    """Run the command and return what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "sefr.cli", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_from_a_csv_to_answers_over_the_serial_line(tmp_path, rng):
    """The journey: train by the command, export with the defaults, build, run, read."""
    X, y = readings(rng)
    names = np.array(["quiet day", "Sturm (für alle)"])[y]
    with (tmp_path / "model.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [[*COLUMNS, "situation"], *([*row, name] for row, name in zip(X, names, strict=True))]
        )
    sefr(tmp_path, "train", "model.csv", "--label", "situation", "--paper", "-o", "model.sefr")
    sefr(tmp_path, "export", "model.sefr", "--to", "arduino", "-o", "out")
    (sketch,) = (tmp_path / "out").iterdir()
    text = (sketch / f"{sketch.name}.ino").read_text()
    assert all(f"//   {i}  {column}\n" in text for i, column in enumerate(COLUMNS))
    run = run_uno(build_sketch(sketch, tmp_path), shown(X[:6]), 6 * 0.4 + 0.3)
    expected = Twin(SEFRClassifier().fit(X, names)).predict(X[:6]).tolist()
    answers = [line.split(" ", 2)[2] for line in lines(run, "answer")]
    assert list(dict.fromkeys(answers)) == list(dict.fromkeys(expected))
    assert answers[-1] == expected[-1]
    assert {line.split(" ")[0] for line in lines(run, "answer")} == {"0", "1"}


def test_bins_from_a_real_table_to_answers_over_the_serial_line(tmp_path):
    """Handwritten digits, 64 values, ten classes: trained with bins by the command, answered by a sketch."""
    X, y = load_digits(return_X_y=True)
    rows = np.column_stack([X, y]).astype(int)
    with (tmp_path / "digits.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*(f"pixel {i}" for i in range(64)), "digit"], *rows.tolist()])
    sefr(tmp_path, "train", "digits.csv", "--label", "digit", "--bins", "16", "--passes", "5", "-o", "d.sefr")
    said = json.loads(sefr(tmp_path, "simulate", "d.sefr", "digits.csv", "--rows", "60", "--json"))
    assert said["agreement"] >= 0.95
    assert said["counter"] == "cycles"
    sefr(tmp_path, "export", "d.sefr", "--to", "arduino", "--margin", "300", "-o", "out")
    twin = Twin(load(tmp_path / "d.sefr"))
    unsure = np.flatnonzero(twin.leads(X) < 300)[:2]
    asked = X[[*range(4), *unsure]].astype(int)
    events = [Event.send(10, "q")]
    events += [Event.send(100 + 400 * i, "c " + ",".join(map(str, row))) for i, row in enumerate(asked)]
    run = run_uno(build_sketch(tmp_path / "out" / "d", tmp_path), events, 2.6)
    answers = [line.split(" ", 2) for line in lines(run, "answer")][-6:]
    expected = ["don't know" if lead < 300 else str(label) for lead, label in answered(twin, asked)]
    assert [answer[2] for answer in answers] == expected
    assert expected[-2:] == ["don't know"] * 2


def answered(twin, X):
    return zip(twin.leads(X).tolist(), twin.predict(X).tolist(), strict=True)


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("kind", ["int16", "float", "uint8"])
def test_values_sent_over_the_line_are_answered_as_by_the_twin(tmp_path, rng, kind, learn):
    X, y = readings(rng, 90)
    y = np.arange(90) % 3 if kind == "float" else y
    X = X / 8 if kind == "float" else X // 5 if kind == "uint8" else X
    clf = SEFRClassifier(scale=(0, 255) if kind == "uint8" else "minmax").fit(X, y)
    image = build_sketch(export(clf, "arduino", tmp_path, learn=learn, input=kind), tmp_path)
    asked = X[:8]
    events = [Event.send(10, "q")]
    events += [
        Event.send(50 + 120 * i, "c " + ",".join(f"{v:g}" for v in row)) for i, row in enumerate(asked)
    ]
    answers = lines(run_uno(image, events, 1.5), "answer")
    found = [int(answer.split()[0]) for answer in answers][-8:]
    assert found == Twin(clf, input=kind).predict(asked).tolist()
    assert all(0 <= int(answer.split()[1]) <= 100 for answer in answers)


@pytest.mark.parametrize("kind", ["int16", "float"])
def test_numbers_are_answered_over_the_line_as_by_the_twin(tmp_path, rng, kind):
    X, _ = readings(rng, 90)
    X = X / 8 if kind == "float" else X
    reg = SEFRRegressor(bins=8 if kind == "float" else None).fit(X, X @ np.arange(1, 7) - 900)
    image = build_sketch(export(reg, "arduino", tmp_path), tmp_path)
    asked = X[:8]
    events = [Event.send(10, "q")]
    events += [
        Event.send(50 + 120 * i, "c " + ",".join(f"{v:g}" for v in row)) for i, row in enumerate(asked)
    ]
    answers = lines(run_uno(image, events, 1.5), "answer")
    assert list(map(int, answers[-8:])) == Twin(reg).quantised.answers(asked).tolist()


def test_learning_by_button_and_by_command_then_saving(tmp_path, rng):
    """What was taught is answered, sent, kept over a restart, and by the model trained again."""
    X, y = readings(rng)
    clf = SEFRClassifier(scale=(0, 1023)).fit(X[:4], y[:4])
    path = export(clf, "arduino", tmp_path / "one", learn=True)
    image = build_sketch(path, tmp_path)
    eeprom = tmp_path / "eeprom"
    button = [*shown([[1000] * 6]), Event.pin(450, 2, 0), Event.pin(1250, 2, 1)]
    typed = [Event.send(1400, "q"), *(Event.send(1450 + 150 * i, "t1 3,3,3,3,3,3") for i in range(5))]
    closing = [Event.send(2300, "s"), Event.send(2450, "x"), Event.send(2600, "w"), Event.send(2900, "l7")]
    run = run_uno(image, [*button, *typed, *closing], 3.3, eeprom)
    statuses = lines(run, "status")
    assert statuses[-1] == "1", "class 7 is not there"
    assert set(statuses[:-1]) == {"0"}
    state = bytes.fromhex(lines(run, "state")[0])
    learned = read_state(state, base=(path / "base.state").read_bytes(), low=0, high=1023)
    assert learned.counts[1] == 5
    assert 3 <= learned.counts[0] <= 5, "held for four answers"
    after = run_uno(image, [Event.send(10, "q"), Event.send(100, "x")], 0.4, eeprom)
    assert (
        read_state(bytes.fromhex(lines(after, "state")[0])).counts.tolist()
        == read_state(state).counts.tolist()
    )
    again = export(SEFRClassifier(scale=(0, 1023)).fit(X[:8], y[:8]), "arduino", tmp_path / "two", learn=True)
    kept = run_uno(build_sketch(again, tmp_path), [Event.send(10, "q"), Event.send(100, "x")], 0.4, eeprom)
    assert lines(kept, "state") == lines(after, "state"), "trained again: what the board learned stays"
    with pytest.raises(StateError, match="the sketch that it first ran"):
        read_state(bytes.fromhex(lines(kept, "state")[0]), base=(again / "base.state").read_bytes())


def test_what_another_model_learned_is_refused_aloud_and_not_written_over(tmp_path, rng):
    X, _ = readings(rng)
    eeprom, images = tmp_path / "eeprom", []
    for classes in (2, 3):
        clf = SEFRClassifier(scale=(0, 1023)).fit(X[:12], np.arange(12) % classes)
        path = export(clf, "arduino", tmp_path / str(classes), learn=True)
        images.append(build_sketch(path, path.parent))
    saving = [Event.send(10, "q"), Event.send(100, "t1 3,3,3,3,3,3"), Event.send(250, "w")]
    assert lines(run_uno(images[0], saving, 1.0, eeprom), "status") == ["0", "0"]
    before = eeprom.read_bytes()
    run = run_uno(images[1], [*saving, Event.send(600, "x")], 1.0, eeprom)
    assert "another model learned; d discards it, w would not save: status 5" in run.text
    assert lines(run, "status") == ["0", "5"]
    assert eeprom.read_bytes() == before
    run = run_uno(images[1], [Event.send(10, "q"), Event.send(100, "d"), Event.send(400, "w")], 1.5, eeprom)
    assert lines(run, "status") == ["0", "0"]
    assert len(read_state(eeprom.read_bytes()).classes) == 3


def test_a_damaged_line_is_refused_and_changes_nothing(tmp_path, rng):
    X, y = readings(rng)
    path = export(SEFRClassifier(scale=(0, 1023)).fit(X, y), "arduino", tmp_path, learn=True)
    image, base = build_sketch(path, tmp_path), (path / "base.state").read_bytes()
    good = "t1 512,17,3,4,5,6"
    damaged = [
        "t1 512",
        "t1 512,17,3,4,5",
        "t1 512,17,3,4,5,6,7",
        "t1 512,17,,4,5,6",
        "t1 512,1x7,3,4,5,6",
        "t1 512,99999,3,4,5,6",
        "t 512,17,3,4,5,6",
        "t1,512,17,3,4,5,6",
        checked(good).replace("17", "11"),
        checked(good).replace("t1 ", "t0 "),
        checked(good)[:-1],
        "l",
        "l1 5",
        "lx",
        "c 1,2,3",
        "c",
    ]
    events = [Event.send(10, "q")]
    events += [Event.send(100 + 150 * i, line) for i, line in enumerate(damaged)]
    end = 100 + 150 * len(damaged)
    events += [Event.send(end, "l256"), Event.send(end + 150, "t2 1,2,3,4,5,6"), Event.send(end + 300, "x")]
    events += [Event.send(end + 600, checked(good)), Event.send(end + 750, good), Event.send(end + 900, "x")]
    run = run_uno(image, events, end / 1000 + 1.3)
    assert lines(run, "status") == ["100"] * len(damaged) + ["1", "1", "0", "0"]
    states = [bytes.fromhex(text) for text in lines(run, "state")]
    assert states[0] == base
    assert read_state(states[1], base=base).counts.tolist() == [0, 2]


def test_a_button_held_for_a_minute_does_not_unlearn_the_other_class(tmp_path):
    """Two classes that overlap; one button is held long: the answers for the other stay as good."""
    rng = np.random.default_rng(3)

    def shown_rows(label, n):
        return np.clip(rng.normal(450 + 110 * label, 90, (n, 6)), 0, 1023).astype(int)

    X, y = np.concatenate([shown_rows(0, 40), shown_rows(1, 40)]), np.repeat([0, 1], 40)
    path = export(SEFRClassifier(scale=(0, 1023)).fit(X, y), "arduino", tmp_path, learn=True)
    asked = shown_rows(0, 40)
    events = [Event.send(10, "q")]
    events += [
        Event.send(50 + 40 * i, f"t1 {','.join(map(str, row))}") for i, row in enumerate(shown_rows(1, 210))
    ]
    end = 50 + 40 * 210
    events += [Event.send(end, "s")]
    events += [Event.send(end + 100 + 60 * i, f"c {','.join(map(str, row))}") for i, row in enumerate(asked)]
    run = run_uno(build_sketch(path, tmp_path), events, end / 1000 + 2.8)
    answers = [line.split()[0] for line in lines(run, "answer")][-40:]
    assert len(answers) == 40
    assert answers.count("0") >= 36


def test_the_led_shows_the_answer(tmp_path, rng):
    X, y = readings(rng)
    image = build_sketch(export(SEFRClassifier().fit(X, y), "arduino", tmp_path), tmp_path)
    run = run_uno(image, shown([[100] * 6, [900] * 6, [100] * 6], every=600), 1.8)
    assert [level for _, level in run.led][-3:] == [0, 1, 0]


def test_a_damaged_state_is_not_taken(tmp_path, rng):
    X, y = readings(rng)
    path = export(SEFRClassifier(scale=(0, 1023)).fit(X, y), "arduino", tmp_path, learn=True)
    image, base = build_sketch(path, tmp_path), (path / "base.state").read_bytes()
    torn = base[:30] + bytes([base[30] ^ 1]) + base[31:]
    events = [
        Event.send(10, "q"),
        Event.send(50, f"p{torn.hex()}"),
        Event.send(400, "x"),
        Event.send(600, "pzz"),
    ]
    run = run_uno(image, [*events, Event.send(900, f"p{base.hex()}")], 1.4)
    assert lines(run, "status") == ["7", "7", "0"]
    assert bytes.fromhex(lines(run, "state")[0]) == base


def test_windows_of_a_signal_on_the_board_are_those_of_the_host(tmp_path, rng):
    """Trained on windows in Python, run on samples in C; the signal is made here."""

    def movement(size, speed, n=1200):
        swing = size * np.sin(2 * np.pi * speed * np.arange(n)[:, None] * 0.01 + [0, 1])
        return np.clip(512 + swing + rng.normal(0, 3, (n, 2)), 0, 1023).astype(int)

    kinds = {"rest": (0, 1), "wave": (250, 3)}
    rows = {name: windows(movement(*kind), 32, 16) for name, kind in kinds.items()}
    X, y = np.concatenate(list(rows.values())), np.repeat(list(rows), [len(part) for part in rows.values()])
    clf = SEFRClassifier().fit(X, y)
    with pytest.raises(ValueError, match="no multiple"):
        export(SEFRClassifier().fit(X[:, :8], y), "arduino", tmp_path, window=(32, 16), input="int32")
    path = export(clf, "arduino", tmp_path, window=(32, 16), input="int32")
    played = np.concatenate([movement(*kinds["rest"], 200), movement(*kinds["wave"], 200)])
    events = [
        Event.analog(10 * i, axis, int(code)) for i, row in enumerate(played) for axis, code in enumerate(row)
    ]
    answers = [
        line.split()[-1] for line in lines(run_uno(build_sketch(path, tmp_path), events, 4.0), "answer")
    ]
    assert len(answers) >= 18
    assert answers[1:8] == ["rest"] * 7
    assert answers[-7:] == ["wave"] * 7


def test_what_a_sketch_does_not_call_is_left_out(tmp_path, rng):
    """The exporter sets the switches: a sketch that learns takes at least 4 KB less flash with them."""
    X, y = readings(rng)
    path = export(SEFRClassifier(scale=(0, 1023)).fit(X, y), "arduino", tmp_path, learn=True)
    config = path / "src" / "sefr" / "sefr_config.h"
    assert "#define SEFR_TWO_CLASSES\n" in config.read_text()
    sizes = []
    for name in ("lean", "whole"):
        (tmp_path / name).mkdir()
        listing = ["avr-size", str(build_sketch(path, tmp_path / name))]
        done = subprocess.run(listing, capture_output=True, text=True, check=True)
        sizes.append(int(done.stdout.splitlines()[1].split()[0]))
        config.write_text("".join(config.read_text().splitlines(keepends=True)[:3]))
    assert sizes[1] - sizes[0] >= 4096
