"""Every example and exported sketch compiles for every core that the library declares.

AVR with the real core (test_arduino.py); the others against stand-ins with the signatures of their cores.
"""

import subprocess

import numpy as np
import pytest
from arduino_core import CORE as AVR_CORE
from arduino_core import CPP, FLAGS
from arduino_stand_ins import CORE, CORES

from sefr import SEFRClassifier, SEFRRegressor
from sefr.device import export, library, windows

EXAMPLES = library().parent / "examples"
in_the_tree = pytest.mark.skipif(library().name != "src", reason="the examples are in the source tree only")
FLAGS_ELSEWHERE = ["-std=gnu++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]


@pytest.fixture(scope="module")
def sketches(tmp_path_factory):
    """Sketches of every kind, by their files."""
    folder, rng = tmp_path_factory.mktemp("sketches"), np.random.default_rng(0)
    y = np.arange(60) % 3
    X = np.clip(rng.normal(300 + 200 * y[:, None], 90, (60, 8)), 0, 1023).astype(int)
    signal = windows(X[:, :2], 8, 1)
    made = [
        export(SEFRClassifier().fit(X, y), "arduino", folder, name="plain", margin=50),
        export(SEFRClassifier(scale=(0, 1023)).fit(X, y), "arduino", folder, name="learns", learn=True),
        export(SEFRClassifier().fit(X / 8, y), "arduino", folder, name="floats", learn=True, input="float"),
        export(SEFRClassifier(scale=(0, 255)).fit(X // 4, y), "arduino", folder, name="bytes_in", learn=True),
        export(SEFRClassifier(bins=8).fit(X, y), "arduino", folder, name="table"),
        export(SEFRClassifier().fit(X, y), "arduino", folder, name="folded", folded=True, margin=50),
        export(SEFRRegressor().fit(X, X @ X[0]), "arduino", folder, name="line", check=True),
        export(SEFRRegressor(bins=8).fit(X / 8, X @ X[0]), "arduino", folder, name="curve"),
        export(
            SEFRClassifier(scale=(0, 1 << 20)).fit(signal, np.arange(len(signal)) % 2),
            "arduino",
            folder,
            name="signal",
            window=(8, 4, 50),
            input="int32",
            learn=True,
        ),
    ]
    return [path / f"{path.name}.ino" for path in made]


def examples_for(core):
    """Return the sketches of the examples, without those that need what other boards have."""
    only = {"Nano33BLE": "mbed_nano"}
    return [sketch for sketch in EXAMPLES.glob("*/*.ino") if only.get(sketch.stem, core) == core]


def compiled(command, sketch):
    words = [*command, "-x", "c++", "-include", "Arduino.h", str(sketch)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{sketch.name}: {done.stderr[:3000]}"


@pytest.mark.slow
@in_the_tree
@pytest.mark.parametrize("core", CORES)
def test_examples_and_sketches_compile(core, tmp_path, sketches):
    defines, headers = CORES[core]
    for name, text in headers.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(CORE + text if name == "Arduino.h" else text)
    command = ["g++", *FLAGS_ELSEWHERE, *(f"-D{word}" for word in ("ARDUINO=10819", *defines))]
    command += ["-I", str(tmp_path), "-I", str(library())]
    for sketch in [*examples_for(core), *sketches]:
        compiled(command, sketch)


@in_the_tree
@pytest.mark.needs("avr", "arduino")
def test_they_compile_for_a_mega_avr_whose_eeprom_is_mapped(tmp_path, sketches):
    """With the macros of the ATmega4809's header (Nano Every); its compiler is newer than Debian's."""
    (tmp_path / "pack.h").write_text(
        "#include <avr/io.h>\n#undef E2END\n#define EEPROM_START (0x1400)\n#define EEPROM_SIZE (256)\n"
        "#define EEPROM_END (EEPROM_START + EEPROM_SIZE - 1)\n#define E2END EEPROM_END\n"
    )
    command = ["avr-gcc", *FLAGS, *CPP, "-fsyntax-only", "-include", str(tmp_path / "pack.h")]
    command += ["-I", str(AVR_CORE / "libraries/EEPROM/src"), "-I", str(library())]
    too_large = {"SelfCalibration", "PicoThermometer"}  # two states of 170 bytes, and of 293
    examples = [sketch for sketch in examples_for("megaavr") if sketch.stem not in too_large]
    for sketch in [*examples, *sketches]:
        compiled(command, sketch)


@in_the_tree
def test_the_manifests_declare_what_is_compiled():
    lines = (library().parent / "library.properties").read_text().splitlines()
    declared = dict(line.split("=", 1) for line in lines)["architectures"].split(",")
    assert declared == ["avr", "megaavr", *(core for core in CORES if "," not in core)]
