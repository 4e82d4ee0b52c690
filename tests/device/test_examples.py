"""The examples of the library on a simulated Uno, with signals that were made here, not recorded."""

import subprocess

import numpy as np
import pytest
from arduino_core import compile_all, link
from simulated_uno import Event, run_uno

from sefr.device import library

EXAMPLES = library().parent / "examples"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("avr", "arduino"),
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


def test_one_class(tmp_path, rng):
    """Held for twelve seconds while it hums; then it hums on, and then it rattles."""
    hum = 512 + 60 * np.sin(np.arange(4000) * 1.3)
    parts = [
        (0, 15000, [hum[:3000] + rng.normal(0, 6, 3000)]),
        (15000, 19000, [hum[:800] + rng.normal(0, 120, 800)]),
    ]
    run = run_uno(build("OneClass", tmp_path), in_order(played(parts), held(0, 200, 12500)), 19.0)
    said = run.text.splitlines()
    assert said[0] == "hold the button for ten seconds while the machine runs well"
    pairs = [dict(word.split(":") for word in line.split()) for line in said[1:] if line.startswith("score:")]
    alarms = np.array([pair["alarm"] != "0" for pair in pairs])
    quiet, loud = alarms[: len(alarms) // 3], alarms[-20:]
    assert quiet.mean() < 0.1
    assert loud.mean() > 0.8
    assert any(time > 15000 and level for time, level in run.led)


def test_a_drift_alarm(tmp_path, rng):
    """Two situations; answers for the first; then a sensor comes loose, and the answers are less clear."""

    def world(a, b, n):
        return [rng.normal(level, 25, n) for level in (a, b, a, b)]

    parts = [
        (0, 1500, world(800, 300, 300)),
        (1500, 3000, world(300, 800, 300)),
        (3000, 16000, world(800, 300, 2600)),
        (16000, 19000, world(560, 540, 600)),
    ]
    buttons = [*held(0, 200, 1300), *held(1, 1700, 2800)]
    run = run_uno(build("DriftAlarm", tmp_path), in_order(played(parts), buttons), 19.0)
    lines = [line for line in run.text.splitlines() if line.startswith("class:")]
    pairs = [dict(word.split(":") for word in line.split()) for line in lines if line.count(":") == 3]
    drifts = [pair["drift"] for pair in pairs]
    assert drifts[len(drifts) // 2] == "0"
    assert drifts[-1] == "1"


def test_a_thermometer_of_a_thermistor(tmp_path):
    """Told eight temperatures, it answers between them; what is no temperature is refused."""
    codes = np.linspace(100, 900, 9).astype(int)
    tenths = np.rint(900 - 0.9 * codes + 40 * np.sin(codes / 150)).astype(int)
    events = []
    for i, (code, value) in enumerate(zip(codes, tenths, strict=True)):
        events += [Event.analog(700 * i + 10, 0, int(code)), Event.send(700 * i + 200, str(value))]
    events += [Event.send(6400, "hot"), Event.analog(6500, 0, 500)]
    run = run_uno(build("PicoThermometer", tmp_path), events, 8.0)
    said = run.text.splitlines()
    assert "type tenths of a degree, as 215, or w" in said
    last = float([line for line in said if line.startswith("degrees:")][-1].split(":")[1])
    assert abs(last - (900 - 0.9 * 500 + 40 * np.sin(500 / 150)) / 10) < 1.5


def test_a_sensor_that_calibrates_itself(tmp_path, rng):
    """Two sensors that see a temperature and each other; references now and then; kept over a restart."""

    def codes(degrees, humidity):
        return [300 + 8 * degrees + humidity, 100 + 6 * humidity - 2 * degrees]

    weather = [(float(rng.uniform(5, 35)), float(rng.uniform(20, 80))) for _ in range(14)]
    events = []
    for i, (degrees, humidity) in enumerate(weather):
        at = 1500 + 500 * i
        events += [Event.analog(at, channel, int(c)) for channel, c in enumerate(codes(degrees, humidity))]
        events.append(Event.send(at + 200, f"r{round(10 * degrees)}"))
    image, eeprom = build("SelfCalibration", tmp_path), tmp_path / "eeprom"
    events += [Event.send(8600, "r12x"), Event.send(8700, "w")]
    run = run_uno(image, events, 10.5, eeprom)
    assert run.text.startswith("send two references first")
    assert "saved" in run.text
    asked = [(12.0, 40.0), (28.0, 66.0)]
    events = [
        Event.analog(2000 * i, channel, int(code))
        for i, (degrees, humidity) in enumerate(asked)
        for channel, code in enumerate(codes(degrees, humidity))
    ]
    again = run_uno(image, events, 4.0, eeprom).text.splitlines()
    answers = [int(line.split()[0].removeprefix("answer:")) for line in again if line.startswith("answer:")]
    assert abs(answers[0] - 120) <= 10
    assert abs(answers[-1] - 280) <= 10


def test_the_example_for_esp_idf_compiles(tmp_path):
    """Against stand-ins of the framework's headers."""
    headers = {
        "freertos/FreeRTOS.h": "#define pdMS_TO_TICKS(ms) (ms)\n",
        "freertos/task.h": "void vTaskDelay(unsigned ticks);\n",
        "esp_partition.h": "#include <stddef.h>\n#include <stdint.h>\n#define ESP_OK 0\n"
        "typedef int esp_err_t;\ntypedef struct { uint32_t size; } esp_partition_t;\n"
        "enum { ESP_PARTITION_TYPE_DATA = 1, ESP_PARTITION_SUBTYPE_ANY = 0xff };\n"
        "const esp_partition_t *esp_partition_find_first(int, int, const char *);\n"
        "esp_err_t esp_partition_read(const esp_partition_t *, size_t, void *, size_t);\n"
        "esp_err_t esp_partition_write(const esp_partition_t *, size_t, const void *, size_t);\n"
        "esp_err_t esp_partition_erase_range(const esp_partition_t *, size_t, size_t);\n",
    }
    for name, text in headers.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    source = EXAMPLES / "esp-idf-calibration" / "main" / "main.c"
    flags = ["-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-DESP_PLATFORM"]
    command = ["gcc", *flags, "-I", str(tmp_path), "-I", str(library()), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
