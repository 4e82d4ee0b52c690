"""The examples and the exported sketches build with the real Arduino core, and fit an Uno."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from sefr import SEFRClassifier
from sefr.device import export, library

CORE = Path("/usr/share/arduino/hardware/arduino/avr")
EXAMPLES = library().parent / "examples" if library().name == "src" else None
FLAGS = [
    "-mmcu=atmega328p",
    "-DF_CPU=16000000L",
    "-DARDUINO=10819",
    "-DARDUINO_AVR_UNO",
    "-DARDUINO_ARCH_AVR",
]
FLAGS += ["-DDECIMAL_DIG=9", "-Os", "-ffunction-sections", "-fdata-sections", "-w"]
FLAGS += ["-I", str(CORE / "cores/arduino"), "-I", str(CORE / "variants/standard")]
FLAGS += ["-I", str(CORE / "libraries/EEPROM/src")]
CPP = ["-std=gnu++11", "-fno-exceptions", "-fno-threadsafe-statics", "-fpermissive"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not CORE.exists() and os.environ.get("CI") != "true",
        reason="the Arduino core is not installed; Debian package: arduino-core-avr (make device-tools)",
    ),
]


def compile_all(sources, folder, extra=()):
    objects = []
    for i, source in enumerate(sources):
        objects.append(str(folder / f"{source.stem}{i}.o"))
        language = CPP if source.suffix in {".cpp", ".ino"} else []
        kind = ["-x", "c++", "-include", "Arduino.h"] if source.suffix == ".ino" else []
        command = ["avr-gcc", *FLAGS, *extra, *language, *kind, "-c", str(source), "-o", objects[-1]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return objects


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core")
    sources = [file for file in (CORE / "cores/arduino").iterdir() if file.suffix in {".c", ".cpp", ".S"}]
    return compile_all(sources, folder)


def link(objects, core, folder):
    image = folder / "sketch.elf"
    command = [
        "avr-gcc",
        "-mmcu=atmega328p",
        "-Os",
        "-Wl,--gc-sections",
        *objects,
        *core,
        "-lm",
        "-o",
        str(image),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    listing = subprocess.run(
        ["avr-size", str(image)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    text, data, bss = (int(word) for word in listing[1].split()[:3])
    assert text + data <= 32256
    assert data + bss <= 2048 - 200


@pytest.mark.parametrize("name", ["LearnOnDevice", "ClassifyOnly"])
def test_examples_build(core, tmp_path, name):
    if EXAMPLES is None:
        pytest.skip("the examples are in the source tree only")
    sources = [EXAMPLES / name / f"{name}.ino", *library().glob("*.c"), library() / "sefr_avr.S"]
    link(compile_all(sources, tmp_path, ["-I", str(library())]), core, tmp_path)


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("data", ["iris", "digits", "adc"])
def test_exported_sketches_build(core, tmp_path, data, learn, rng):
    if data == "adc":
        X, y = rng.integers(0, 1024, (60, 8)), np.arange(60) % 2
    else:
        X, y = (load_iris if data == "iris" else load_digits)(return_X_y=True)
    if data == "digits" and learn:
        X, y = X[y < 3], y[y < 3]
    path = export(SEFRClassifier().fit(X, y), "arduino", tmp_path, name=f"my_{data}", learn=learn)
    sources = [path / f"my_{data}.ino", *(path / "src/sefr").glob("*.c"), path / "src/sefr/sefr_avr.S"]
    link(compile_all(sources, tmp_path), core, tmp_path)
