"""From recordings to a board that answers, and to one that learns by button.

The recordings are made by formulas; where aeon is installed, also those of real sensors, BasicMotions (a
smart watch, three axes of acceleration) and PickupGestureWiimoteZ (one axis), of the UEA and UCR archives.
They are turned into codes of a 10-bit converter and played at 50 per second.
"""

import csv
import json

import numpy as np
import pytest
from arduino_core import build_sketch
from device_reference import BALANCED, OK, Reference
from signal_recordings import SOURCES, recordings
from simulated_uno import Event, run_uno
from test_examples import EXAMPLES, build
from test_sketch import lines, sefr

from sefr import load
from sefr.device import Twin
from sefr.model_file import columns_of
from sefr.signals import SignalFeatures, cut
from sefr.signals.sampling import Sampling

PERIOD = 20  # milliseconds per sample
pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("avr", "arduino"),
    pytest.mark.skipif(not EXAMPLES.exists(), reason="the examples are in the source tree only"),
]


def on_the_inputs(signal):
    """Samples (n, axes), each on the inputs from half a period before it is read, at 20, 40, ... ms."""
    return [
        Event.analog(PERIOD * i + PERIOD // 2 if i else 0, channel, int(code))
        for i, row in enumerate(signal)
        for channel, code in enumerate(row)
    ]


@pytest.mark.parametrize("source", SOURCES)
def test_from_recordings_to_answers_over_the_serial_line(tmp_path, source):
    """Train on a folder per label, export, build, run: every window is answered as by the twin."""
    data = recordings(source)
    signals, names = data.gestures, data.gesture_names
    for i, (signal, name) in enumerate(zip(signals[::2], names[::2], strict=True)):
        (tmp_path / "recordings" / name).mkdir(parents=True, exist_ok=True)
        with (tmp_path / "recordings" / name / f"{i}.csv").open("w", newline="") as file:
            rows = [[f"{k / 50:.2f}", code] for k, code in enumerate(signal)]
            csv.writer(file).writerows([["time", "z"], *rows])
    arguments = ("--signal", "--rate", "50", "--window", "64:32", "--range", "0:1023", "-o", "gesture.sefr")
    told = json.loads(sefr(tmp_path, "train", "recordings", *arguments, "--passes", "10", "--json"))
    assert told["recordings"] == 10
    assert told["accuracy"] > 0.8
    sefr(tmp_path, "export", "gesture.sefr", "--to", "arduino", "-o", "out")
    clf = load(tmp_path / "gesture.sefr")
    sampling = Sampling.from_plain(columns_of(clf)["signal"])
    assert (sampling.hop, sampling.rate, sampling.plan.axis_names) == (32, 50, ("z",))
    played = np.concatenate(signals[1::4])[:700, None]
    windows = cut(played, 64, 32)[:, :, :].astype(np.int16)
    expected = Twin(clf).predict(sampling.plan.features_of(windows)).tolist()
    image = build_sketch(tmp_path / "out" / "gesture", tmp_path)
    run = run_uno(image, on_the_inputs(played), (len(played) + 1) * PERIOD / 1000)
    answers = [line.split(" ", 2)[2] for line in lines(run, "answer")]
    assert len(answers) >= len(expected) - 1
    assert answers == expected[: len(answers)]
    assert set(answers) == {"shake", "circle"}


def test_a_saturated_sensor_is_not_answered(tmp_path):
    data = recordings("made")
    for name, signal in zip(data.gesture_names, data.gestures, strict=True):
        (tmp_path / "all" / name).mkdir(parents=True, exist_ok=True)
        np.savetxt(tmp_path / "all" / name / f"{signal.sum()}.csv", signal, "%d", header="z", comments="")
    sefr(tmp_path, "train", "all", "--signal", "--rate", "50", "--window", "64:32", "--range", "0:1023")
    sefr(tmp_path, "export", "model.sefr", "--to", "arduino", "-o", "out")
    image = build_sketch(tmp_path / "out" / "model", tmp_path)
    run = run_uno(image, on_the_inputs(np.full((100, 1), 1023)), 2.1)
    assert lines(run, "answer") == ["- 0 don't know: samples lie at the ends of the range"]


@pytest.mark.parametrize("source", SOURCES)
def test_a_board_learns_two_gestures_by_button(tmp_path, source):
    """The example SignalGestures: raw signal and buttons in; to the bit what the definition says."""
    data = recordings(source)
    walking, badminton = (data.motions[data.motion_names == name] for name in ("Walking", "Badminton"))
    order = [*walking[:4], *badminton[:4], *walking[10:13], *badminton[10:13]]
    signal = np.concatenate([recording.T for recording in order])
    held = [(0, 0, 400), (1, 400, 800)]  # button, first sample, last
    buttons = [
        Event.pin(PERIOD * sample + PERIOD // 2, 2 + label, level)
        for label, start, end in held
        for sample, level in ((start, 0), (end, 1))
    ]
    events = sorted([*on_the_inputs(signal), *buttons], key=lambda event: event.milliseconds)
    run = run_uno(build("SignalGestures", tmp_path), events, (len(signal) + 1) * PERIOD / 1000)
    said = run.text.splitlines()
    expected, truth = as_defined(signal, held)
    assert said == expected[: len(said)]
    assert len(said) >= len(expected) - 1
    asked = [(told, real) for told, real in zip(said, truth, strict=False) if real is not None]
    assert np.mean([told == str(real) for told, real in asked]) >= 0.8
    assert len(asked) > 25


def as_defined(signal, held):
    """What the sketch must say at every window, by the oracle; and the truth where it is asked."""
    length, hop, axes, kernels = 32, 16, 3, 21
    settings = {"dilations": (1, 3), "kernels": kernels, "statistics": False, "range": (0, 1023)}
    features = SignalFeatures(length, axes, **settings).fit()
    windows = cut(signal, length, hop)
    units = axes * (1 + 2 * length)
    behind = -(-units // -(-units // hop)) - 1  # samples from the end of a window to its record
    model = Reference(features.plan_.n_features, 2, 8, 16)
    model.options = BALANCED
    said, truth, solved = [], [], False
    clipped = features.clipped(windows)
    for number, record in enumerate(features.transform(windows).tolist()):
        now = number * hop + length - 1 + behind
        if clipped[number] > axes * length // 8:
            said.append("don't know")
            truth.append(None)
            continue
        labels = [label for label, start, end in held if start < now + 1 <= end]
        for label in labels:
            model.learn(record, label)
        if labels:
            solved = model.solve() == OK or solved
        if solved:
            said.append(str(model.classify(record)))
            first = number * hop
            inside = first // 100 == (first + length - 1) // 100 and first >= 800
            truth.append((0 if first < 1100 else 1) if inside else None)
    return said, truth
