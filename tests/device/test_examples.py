"""The examples of the library on a simulated Uno, with signals that were made here, not recorded."""

import numpy as np
import pytest
from arduino_core import compile_all, link, needs_core
from device_program import needs_tools

from sefr.device import library
from sefr.device.uno import Event, run_uno

EXAMPLES = library().parent / "examples"
pytestmark = [
    pytest.mark.slow,
    needs_core,
    pytest.mark.skipif(library().name != "src", reason="the examples are in the source tree only"),
]


def build(name, folder):
    sources = [EXAMPLES / name / f"{name}.ino", *library().glob("*.c"), library() / "sefr_avr.S"]
    return link(compile_all(sources, folder, ["-I", str(library())]), folder)


def signal(start, stop, channel, codes):
    """One code after the other, five milliseconds each."""
    times = range(start, stop, 5)
    return [
        Event.analog(time, channel, int(np.clip(code, 0, 1023)))
        for time, code in zip(times, codes, strict=False)
    ]


def played(parts):
    """Events of (start, stop, codes of each channel), in order of time."""
    return [
        event
        for start, stop, channels in parts
        for channel, codes in enumerate(channels)
        for event in signal(start, stop, channel, codes)
    ]


def in_order(*events):
    return sorted((event for part in events for event in part), key=lambda event: event.milliseconds)


def held(label, start, stop):
    return [Event.pin(start, 2 + label, 0), Event.pin(stop, 2 + label, 1)]


@needs_tools
def test_light_and_sound(tmp_path, rng):
    def room(light, loudness):
        return [rng.normal(light, 15, 400), rng.normal(512, loudness, 400)]

    situations = [(100, 5), (850, 5), (500, 120)]
    taught = [(i * 1500, i * 1500 + 1500, room(*s)) for i, s in enumerate(situations)]
    asked = [(4500 + i * 1000, 5500 + i * 1000, room(*s)) for i, s in enumerate(situations)]
    buttons = [event for i in range(3) for event in held(i, i * 1500 + 200, i * 1500 + 1300)]
    run = run_uno(build("LightAndSound", tmp_path), in_order(played([*taught, *asked]), buttons), 7.5)
    said = run.text.splitlines()
    names = ["dark and quiet", "bright and quiet", "loud"]
    last = [line for line in said if line in names][-24:]
    assert list(dict.fromkeys(last)) == names
    assert said[0] == "hold each button in its situation first"


@needs_tools
def test_gas(tmp_path, rng):
    def air(level):
        return [rng.normal(level, 8, 600), rng.normal(level + 50, 8, 600)]

    parts = [(0, 1500, air(200)), (1500, 3000, air(700)), (3000, 4000, air(210)), (4000, 5000, air(690))]
    parts.append((5000, 6000, air(450)))
    typed = [Event.send(300 + 150 * i, "n") for i in range(5)] + [
        Event.send(1800 + 150 * i, "g") for i in range(5)
    ]
    run = run_uno(build("GasSensor", tmp_path), in_order(played(parts), typed), 6.0)
    said = run.text.splitlines()
    assert said[0] == "type n in clean air and g in gas first"
    assert said[-6:] == ["not sure"] * 6
    assert said[-15:-12] == ["gas"] * 3
    assert "clean" in said[-30:-20]
    assert {level for _, level in run.led} == {0, 1}


@needs_tools
def test_gestures(tmp_path, rng):
    def movement(size, speed):
        time = np.arange(400) * 0.005
        gravity = np.array([512, 512, 620])
        return [
            g + size * np.sin(2 * np.pi * speed * time + i) + rng.normal(0, 3, 400)
            for i, g in enumerate(gravity)
        ]

    movements = [(0, 1), (200, 1.0), (150, 8.0)]  # still, a slow swing, a shake
    taught = [(i * 2000, i * 2000 + 2000, movement(*m)) for i, m in enumerate(movements)]
    asked = [(6000 + i * 2000, 8000 + i * 2000, movement(*m)) for i, m in enumerate(movements)]
    buttons = [event for i in range(3) for event in held(i, i * 2000 + 400, i * 2000 + 1900)]
    run = run_uno(build("Gestures", tmp_path), in_order(played([*taught, *asked]), buttons), 12.0)
    said = run.text.splitlines()  # one answer per 16 samples of 10 ms or a little more: 11 or 12 per movement
    assert [said[-4], said[-15], said[-27]] == ["2", "1", "0"], said
    assert sum(a != b for a, b in zip(said[-30:], said[-29:], strict=False)) <= 4, said
