"""Builds sketches with the real Arduino core (Debian's arduino-core-avr), as the IDE does."""

import functools
import subprocess
import tempfile
from pathlib import Path

CORE = Path("/usr/share/arduino/hardware/arduino/avr")
FLAGS = [
    "-mmcu=atmega328p",
    "-DF_CPU=16000000L",
    "-DARDUINO=10819",
    "-DARDUINO_AVR_UNO",
    "-DARDUINO_ARCH_AVR",
]
FLAGS += ["-DDECIMAL_DIG=9", "-Os", "-ffunction-sections", "-fdata-sections"]
FLAGS += ["-I", str(CORE / "cores/arduino"), "-I", str(CORE / "variants/standard")]
FLAGS += ["-I", str(CORE / "libraries/EEPROM/src")]
CPP = ["-std=gnu++11", "-fno-exceptions", "-fno-threadsafe-statics", "-fpermissive"]
FOLDER = tempfile.TemporaryDirectory(prefix="sefr-core-")
STACK = 200  # bytes that Serial's interrupts and the calls of a sketch take at most


def compile_all(sources, folder, extra=(), warnings=("-w",)):
    """Return the objects of the sources; a sketch is C++ that has Arduino.h in front."""
    objects = []
    for i, source in enumerate(sources):
        objects.append(str(folder / f"{source.stem}{i}.o"))
        language = CPP if source.suffix in {".cpp", ".ino"} else []
        kind = ["-x", "c++", "-include", "Arduino.h"] if source.suffix == ".ino" else []
        command = ["avr-gcc", *FLAGS, *warnings, *extra, *language, *kind, "-c", str(source)]
        done = subprocess.run([*command, "-o", objects[-1]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return objects


@functools.cache
def core():
    """Return the archive of the core, compiled once per session."""
    folder = Path(FOLDER.name)
    sources = [file for file in (CORE / "cores/arduino").iterdir() if file.suffix in {".c", ".cpp", ".S"}]
    subprocess.run(["avr-ar", "rcs", str(folder / "core.a"), *compile_all(sources, folder)], check=True)
    return folder / "core.a"


def link(objects, folder):
    """Link with the core; the program must fit an Uno beside its stack."""
    image = folder / "sketch.elf"
    command = ["avr-gcc", "-mmcu=atmega328p", "-Os", "-Wl,--gc-sections", *objects, str(core()), "-lm"]
    done = subprocess.run([*command, "-o", str(image)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    listing = subprocess.run(["avr-size", str(image)], capture_output=True, text=True, check=True).stdout
    text, data, bss = (int(number) for number in listing.splitlines()[1].split()[:3])
    assert text + data <= 32256
    assert data + bss <= 2048 - STACK
    return image


def build_sketch(path, folder):
    """Build an exported sketch folder with what is in it, and return the program."""
    (sketch,) = path.glob("*.ino")
    assert sketch.stem == path.name, "the IDE wants the sketch to be called as its folder"
    sources = [sketch, *sorted((path / "src").rglob("*.c")), *sorted((path / "src").rglob("*.S"))]
    return link(compile_all(sources, folder), folder)
