"""One configuration for the library and its users, and several widths side by side."""

import subprocess

import pytest
from device_program import built, needs_tools
from device_reference import BAD_SETTINGS, BAD_SHAPE, OK

from sefr.device import BOARDS, BuildError, library


def run(tmp_path, program, board="host", defines=(), **files):
    for name, text in files.items():
        (tmp_path / name.replace("_dot_", ".")).write_text(text)
    (tmp_path / "program.c").write_text(program)
    sources = [*sorted(tmp_path.glob("*.c")), library() / "sefr.c"]
    image = BOARDS[board].build(sources, tmp_path, defines=defines, includes=[tmp_path, library()])
    return list(BOARDS[board].run(image).output)


RESET = '#include "board.h"\n#include "sefr.h"\nSEFR_MODEL(m, 4, 2)\nint main(void) {{ {} return 0; }}\n'


@needs_tools
def test_a_model_with_other_settings_is_refused(tmp_path):
    """A sketch that sets a width which the library does not have would write over its neighbours."""
    program = RESET.format("board_put((uint8_t)sefr_reset(&m));")
    assert run(tmp_path, program) == [OK]
    for other in (
        "SEFR_SUM_BITS 32",
        "SEFR_WEIGHT_BITS 16",
        "SEFR_NO_RANGES",
        "SEFR_NO_STATE",
        "SEFR_NO_UNKNOWN",
    ):
        assert run(tmp_path, f"#define {other}\n{program}") == [BAD_SETTINGS]


@needs_tools
def test_a_half_life_beyond_the_limits_is_refused(tmp_path):
    calls = "".join(f"m.half_life = {n}; board_put((uint8_t)sefr_reset(&m));" for n in (0, 1, 128, 129))
    assert run(tmp_path, RESET.format(calls)) == [BAD_SHAPE, OK, OK, BAD_SHAPE]


@pytest.mark.parametrize("board", ["host", "cortex-m0"])
@needs_tools
def test_a_file_is_the_configuration(tmp_path, board):
    """sefr_config.h on the include path is read by the library and by its users."""
    program = RESET.format("board_put((uint8_t)sizeof(sefr_sum)); board_put((uint8_t)sefr_reset(&m));")
    assert run(tmp_path, program, board, sefr_config_dot_h="#define SEFR_SUM_BITS 32\n") == [4, OK]
    (tmp_path / "sefr_config.h").unlink()
    named = run(tmp_path, program, board, ['SEFR_CONFIG="mine.h"'], mine_dot_h="#define SEFR_SUM_BITS 32\n")
    assert named == [4, OK]


@needs_tools
def test_several_widths_in_one_program(tmp_path):
    wide = "#define SEFR_PREFIX wide\n#define SEFR_WEIGHT_BITS 16\n#define SEFR_SUM_BITS 32\n"
    user = f'{wide}#include "sefr.h"\nSEFR_MODEL(w, 4, 2)\n'
    user += "int other(void);\nint other(void) { return sefr_reset(&w); }\n"
    calls = "board_put((uint8_t)sefr_reset(&m)); board_put((uint8_t)other());"
    program = RESET.format(calls).replace("int main", "int other(void);\nint main")
    assert run(tmp_path, program, wide_dot_c=f"{wide}#include <sefr.c>\n", user_dot_c=user) == [OK, OK]


@needs_tools
def test_the_symbols_are_plain_names():
    image = built("cortex-m0", "conformance.c", ("FEATURES=3", "CLASSES=2", "KIND=SEFR_MODEL"))
    command = [BOARDS["cortex-m0"].tool("nm"), str(image.path)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in listing.splitlines()}
    assert {"sefr_learn", "sefr_solve", "sefr_classify", "sefr_save", "sefr_restore"} <= names


@needs_tools
def test_a_storage_that_is_too_small_does_not_compile(tmp_path):
    check = "SEFR_CHECK_STORAGE(m, SEFR_STATE_BYTES(4, 2, 0), {})\nint main"
    program = RESET.format("board_put((uint8_t)sefr_reset(&m));")
    assert run(tmp_path, program.replace("int main", check.format(2 * 48))) == [OK]
    with pytest.raises(BuildError, match="m_state_does_not_fit"):
        run(tmp_path, program.replace("int main", check.format(2 * 48 - 1)))


@needs_tools
def test_states_in_a_file(tmp_path):
    """sefr_file.h: saved, closed, opened again and restored; the file keeps its size."""
    path = tmp_path / "model.sefr"
    program = f'''#include "board.h"
#include "sefr_file.h"
SEFR_MODEL(m, 4, 2)
int main(void) {{
    uint8_t record[4] = {{1, 2, 3, 4}}, i;
    for (i = 0; i < 9; i++) {{
        FILE *file = sefr_file_open("{path}", 200);
        sefr_storage storage = sefr_file_storage(file, 200);
        sefr_reset(&m);
        board_put((uint8_t)sefr_restore(&m, &storage));
        sefr_learn(&m, record, 1);
        board_put((uint8_t)sefr_save(&m, &storage));
        board_put((uint8_t)m.counts[1]);
        fclose(file);
    }}
    return 0;
}}
'''
    output = run(tmp_path, program)
    assert output[:3] == [7, OK, 1]
    assert output[3:] == [value for n in range(2, 10) for value in (OK, OK, n)]
    assert path.stat().st_size == 200


@needs_tools
def test_emulated_eeprom_is_begun_and_committed(tmp_path):
    """The interface of the ESP32, ESP8266 and RP2040 cores: begin, read, write, commit, and no update."""
    (tmp_path / "EEPROM.h").write_text(
        """#pragma once
#include <cstdint>
#include <cstddef>
#include <cstring>
struct EEPROMClass {
    uint8_t buffer[4096], flash[4096];
    size_t size = 0;
    void begin(size_t n) { size = n; memcpy(buffer, flash, n); }
    uint8_t read(int at) { return (size_t)at < size ? buffer[at] : 0; }
    void write(int at, uint8_t value) { if ((size_t)at < size) buffer[at] = value; }
    bool commit() { if (!size) return false; memcpy(flash, buffer, size); return true; }
};
extern EEPROMClass EEPROM;
"""
    )
    (tmp_path / "sketch.cpp").write_text(
        """#include <cstdio>
#include "EEPROM.h"
#include "sefr_eeprom.h"
EEPROMClass EEPROM;
SEFR_MODEL(m, 4, 2)
SEFR_EEPROM(storage, SEFR_EEPROM_BYTES)
SEFR_CHECK_STORAGE(m, SEFR_STATE_BYTES(4, 2, 0), SEFR_EEPROM_BYTES)
int main() {
    uint8_t record[4] = {1, 2, 3, 4};
    sefr_reset(&m);
    sefr_learn(&m, record, 1);
    printf("%d ", sefr_save(&m, &storage)); // not begun
    sefr_eeprom_begin(&storage);
    printf("%d ", sefr_save(&m, &storage));
    memset(EEPROM.buffer, 0, sizeof EEPROM.buffer);
    sefr_eeprom_begin(&storage); // after a reset
    sefr_reset(&m);
    printf("%d ", sefr_restore(&m, &storage));
    printf("%d", (int)m.counts[1]);
}
"""
    )
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-I", str(tmp_path), "-I", str(library())]
    program = str(tmp_path / "sketch")
    subprocess.run(["gcc", "-c", str(library() / "sefr.c"), "-o", f"{program}.o"], check=True)
    subprocess.run(["g++", *flags, str(tmp_path / "sketch.cpp"), f"{program}.o", "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == "9 0 0 1"
