"""The EEPROM of every AVR: its size by the chip's own header, and nothing written beyond it."""

import re
import subprocess
from pathlib import Path

import pytest

from sefr.device import BOARDS, library

HEADERS = Path("/usr/lib/avr/include/avr")
# As in the device packs of Microchip, which avr-libc of Debian does not have: the EEPROM is mapped at START,
# so that E2END, its last address there, is no size. Sizes by the data sheets.
MAPPED = {"atmega4809": (0x1400, 256), "attiny3217": (0x1400, 256), "avr128da48": (0x1400, 512)}
PROBE = """
#include "sefr_eeprom.h"
uint32_t probe = SEFR_EEPROM_BYTES;
"""


def preprocessed(tmp_path, chip, before=""):
    """Return the size that the library takes for a chip, or the compiler's words."""
    source = tmp_path / f"{chip}.c"
    source.write_text(before + PROBE)
    flags = [f"-mmcu={chip}", "-Os", "-w", "-S", "-I", str(library()), str(source), "-o", "-"]
    return subprocess.run([BOARDS["uno"].tool("gcc"), *flags], capture_output=True, text=True, check=False)


def size_of(listing):
    words = re.findall(r"probe:\s*((?:\.(?:byte|word|long)\s+\S+\s*)+)", listing)[0]
    parts = [int(number) for number in re.findall(r"\.(?:byte|word|long)\s+(\S+)", words)]
    unit = 256 if ".byte" in words else 65536
    return sum(part % unit * unit**i for i, part in enumerate(parts))


def chips():
    """The chips that avr-libc has a header for, by its table of them."""
    table = (HEADERS / "io.h").read_text() if HEADERS.exists() else ""
    return [name.lower() for name in re.findall(r"defined \(__AVR_(\w+?)__\)", table)]


def header_of(chip):
    """The macros of a chip's header, as the compiler sees them."""
    command = [
        BOARDS["uno"].tool("gcc"),
        f"-mmcu={chip}",
        "-E",
        "-dM",
        "-w",
        "-include",
        "avr/io.h",
        "-x",
        "c",
        "/dev/null",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return dict(re.findall(r"#define (\w+) (.+)", done.stdout)) if done.returncode == 0 else {}


def number(text):
    """A macro's number: (0x7FF), 2048U or (64 - 1)."""
    first, *less = re.findall(r"0x[0-9A-Fa-f]+|\d+", text)
    return int(first, 0) - sum(int(part, 0) for part in less)


@pytest.mark.needs("avr")
@pytest.mark.slow
def test_the_size_is_that_of_each_device_header(tmp_path):
    """EEPROM_SIZE where the header has it, else E2END + 1; a chip without EEPROM does not compile."""
    BOARDS["uno"].tool("gcc")
    sizes = {}
    for chip in chips():
        macros = header_of(chip)
        if "RAMEND" not in macros:
            continue  # the compiler does not know the chip
        done = preprocessed(tmp_path, chip)
        if "supported for assembler only" in done.stderr or "RAMSTART" in done.stderr:
            continue
        said = (
            number(macros["EEPROM_SIZE"]) if "EEPROM_SIZE" in macros else number(macros.get("E2END", "0")) + 1
        )
        if said <= 1:
            assert "has no EEPROM" in done.stderr, chip
        else:
            assert done.returncode == 0, (chip, done.stderr)
            sizes[chip] = size_of(done.stdout)
            assert sizes[chip] == said, chip
    assert len(sizes) > 150
    assert {
        "atmega328p": 1024,
        "atmega2560": 4096,
        "attiny85": 512,
        "atxmega128a1": 2048,
    }.items() <= sizes.items()


@pytest.mark.needs("avr")
@pytest.mark.parametrize("chip", MAPPED)
def test_a_mapped_eeprom_has_its_size_and_not_its_last_address(tmp_path, chip):
    start, size = MAPPED[chip]
    pack = f"""
#include <avr/io.h>
#undef E2END
#define EEPROM_START ({start:#x})
#define EEPROM_SIZE ({size})
#define EEPROM_END (EEPROM_START + EEPROM_SIZE - 1)
#define E2END EEPROM_END
"""
    done = preprocessed(tmp_path, "atmega328p", pack)
    assert done.returncode == 0, done.stderr
    assert size_of(done.stdout) == size
    without = pack.replace("#define EEPROM_SIZE", "#define OTHER_SIZE").replace(
        "START + EEPROM_SIZE", "START + OTHER_SIZE"
    )
    assert size_of(preprocessed(tmp_path, "atmega328p", without).stdout) == size


OUTSIDE = """
#include "board.h"
#include "sefr_eeprom.h"
SEFR_EEPROM_AT(storage, 24, 200)
int main(void) {
    uint8_t byte = 1;
    const sefr_storage *s = &storage;
    board_put((uint8_t)s->program(s->context, 0, &byte, 1));
    board_put(eeprom_read_byte((uint8_t *)24));
    board_put((uint8_t)s->program(s->context, 199, &byte, 1));
    board_put((uint8_t)(s->program(s->context, SEFR_EEPROM_BYTES - 24, &byte, 1) != 0));
    board_put((uint8_t)(s->read(s->context, SEFR_EEPROM_BYTES - 24, &byte, 1) != 0));
    return 0;
}
"""


@pytest.mark.needs("avr")
def test_an_offset_leaves_the_bytes_before_it_and_nothing_is_written_beyond_the_chip(tmp_path):
    (tmp_path / "program.c").write_text(OUTSIDE)
    uno = BOARDS["uno"]
    sources = [tmp_path / "program.c", library() / "sefr.c", library() / "sefr_avr.S"]
    image = uno.build(sources, tmp_path, includes=[library()])
    assert list(uno.run(image).output) == [0, 1, 0, 1, 1]


@pytest.mark.needs("avr")
def test_a_storage_beyond_the_eeprom_does_not_compile(tmp_path):
    (tmp_path / "program.c").write_text(
        '#include "sefr_eeprom.h"\nSEFR_EEPROM_AT(storage, 824, 201)\nint main(void) { return 0; }\n'
    )
    gcc = [
        BOARDS["uno"].tool("gcc"),
        "-mmcu=atmega328p",
        "-I",
        str(library()),
        "-c",
        str(tmp_path / "program.c"),
    ]
    done = subprocess.run([*gcc, "-o", str(tmp_path / "x.o")], capture_output=True, text=True, check=False)
    assert "storage_is_beyond_the_eeprom" in done.stderr
