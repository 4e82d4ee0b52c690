"""One configuration for the library and its users, and several widths side by side."""

import subprocess

import pytest
from device_program import Conversation, built
from device_reference import BAD_SETTINGS, BAD_SHAPE, OK

from sefr.device import BOARDS, BuildError, library

pytestmark = pytest.mark.slow


def run(tmp_path, program, board="host", defines=(), **files):
    for name, text in files.items():
        (tmp_path / name.replace("_dot_", ".")).write_text(text)
    (tmp_path / "program.c").write_text(program)
    sources = [*sorted(tmp_path.glob("*.c")), library() / "sefr.c"]
    image = BOARDS[board].build(sources, tmp_path, defines=defines, includes=[tmp_path, library()])
    return list(BOARDS[board].run(image).output)


RESET = '#include "board.h"\n#include "sefr.h"\nSEFR_MODEL(m, 4, 2)\nint main(void) {{ {} return 0; }}\n'


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


def test_a_half_life_beyond_the_limits_is_refused(tmp_path):
    calls = "".join(f"m.half_life = {n}; board_put((uint8_t)sefr_reset(&m));" for n in (0, 1, 128, 129))
    assert run(tmp_path, RESET.format(calls)) == [BAD_SHAPE, OK, OK, BAD_SHAPE]


@pytest.mark.parametrize("board", ["host", "cortex-m0"])
def test_a_file_is_the_configuration(tmp_path, board):
    """sefr_config.h on the include path is read by the library and by its users."""
    program = RESET.format("board_put((uint8_t)sizeof(sefr_sum)); board_put((uint8_t)sefr_reset(&m));")
    assert run(tmp_path, program, board, sefr_config_dot_h="#define SEFR_SUM_BITS 32\n") == [4, OK]
    (tmp_path / "sefr_config.h").unlink()
    named = run(tmp_path, program, board, ['SEFR_CONFIG="mine.h"'], mine_dot_h="#define SEFR_SUM_BITS 32\n")
    assert named == [4, OK]


def test_several_widths_in_one_program(tmp_path):
    wide = "#define SEFR_PREFIX wide\n#define SEFR_WEIGHT_BITS 16\n#define SEFR_SUM_BITS 32\n"
    user = f'{wide}#include "sefr.h"\nSEFR_MODEL(w, 4, 2)\n'
    user += "int other(void);\nint other(void) { return sefr_reset(&w); }\n"
    calls = "board_put((uint8_t)sefr_reset(&m)); board_put((uint8_t)other());"
    program = RESET.format(calls).replace("int main", "int other(void);\nint main")
    assert run(tmp_path, program, wide_dot_c=f"{wide}#include <sefr.c>\n", user_dot_c=user) == [OK, OK]


@pytest.mark.parametrize("board", ["uno", "cortex-m0", "riscv32", "host"])
def test_link_time_optimisation_changes_nothing(board, rng):
    """With -flto a compiler sees through every file at once: the same bits, assembly and stack included."""
    talk = Conversation(7, 3)
    for i in range(9):
        talk.learn(rng.integers(0, 256, 7).tolist(), i % 3)
    talk.solve()
    for _ in range(5):
        talk.scores(rng.integers(0, 256, 7).tolist())
    talk.send()
    talk.run(board, optimise="-Os -flto")


@pytest.mark.needs("arm")
def test_the_symbols_are_plain_names():
    image = built("cortex-m0", "conformance.c", ("FEATURES=3", "CLASSES=2", "KIND=SEFR_MODEL"))
    command = [BOARDS["cortex-m0"].tool("nm"), str(image.path)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in listing.splitlines()}
    assert {"sefr_learn", "sefr_solve", "sefr_classify", "sefr_save", "sefr_restore"} <= names


def test_a_storage_that_is_too_small_does_not_compile(tmp_path):
    check = "SEFR_CHECK_STORAGE(m, SEFR_STATE_BYTES(4, 2, 0), {})\nint main"
    program = RESET.format("board_put((uint8_t)sefr_reset(&m));")
    assert run(tmp_path, program.replace("int main", check.format(2 * 48))) == [OK]
    with pytest.raises(BuildError, match="m_state_does_not_fit"):
        run(tmp_path, program.replace("int main", check.format(2 * 48 - 1)))


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


def test_a_file_is_synced_to_disk(tmp_path):
    """A save that was answered with SEFR_OK lasts: fsync after it, and its fault is told."""
    program = f'''#include "board.h"
#include "sefr_file.h"
SEFR_MODEL(m, 4, 2)
static int synced, fault;
int fsync(int descriptor) {{ synced += descriptor > 2; return fault; }}
int main(void) {{
    FILE *file = sefr_file_open("{tmp_path / "state"}", 400);
    sefr_storage storage = sefr_file_storage(file, 400);
    sefr_reset(&m);
    board_put((uint8_t)sefr_save(&m, &storage));
    board_put((uint8_t)synced);
    fault = -1;
    board_put((uint8_t)sefr_save(&m, &storage));
    return 0;
}}
'''
    assert run(tmp_path, program) == [OK, 1, 9]


def test_emulated_eeprom_is_begun_and_committed(tmp_path):
    """The interface of the ESP32's core: begin, read, write, commit, and no update."""
    (tmp_path / "EEPROM.h").write_text(
        """#pragma once
#include <cstdint>
#include <cstddef>
#include <cstring>
struct EEPROMClass {
    uint8_t buffer[4096], flash[4096];
    size_t size = 0;
    bool begin(size_t n) { size = n; memcpy(buffer, flash, n); return n > 0; }
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
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-DARDUINO_ARCH_ESP32"]
    flags += ["-I", str(tmp_path), "-I", str(library())]
    program = str(tmp_path / "sketch")
    subprocess.run(["gcc", "-c", str(library() / "sefr.c"), "-o", f"{program}.o"], check=True)
    subprocess.run(["g++", *flags, str(tmp_path / "sketch.cpp"), f"{program}.o", "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == "9 0 0 1"


CLASS = """#include <cstdio>
#include "sefr_class.h"
static uint8_t memory[400];
static int read_memory(void *, uint32_t at, uint8_t *to, uint32_t n) {
    for (; n; n--) *to++ = memory[at++];
    return 0;
}
static int program_memory(void *, uint32_t at, const uint8_t *from, uint32_t n) {
    for (; n; n--) memory[at++] = *from++;
    return 0;
}
static Sefr<6, 2> model, again;
static Sefr<3, 4> other;
SEFR_MODEL(plain, 6, 2)
int main() {
    const sefr_storage storage = {read_memory, program_memory, 0, 0, 0, sizeof memory, 1, 1, 0};
    uint8_t record[6], label = 9, expected = 8;
    plain.options = SEFR_BALANCED;
    int wrong = model.begin() + other.begin() + again.begin() + sefr_reset(&plain);
    for (int i = 0; i < 30; i++) {
        for (int j = 0; j < 6; j++) record[j] = (uint8_t)(i * 37 + j * 11 + (i % 3 ? 90 : 0));
        wrong += model.learn(record, i % 3 != 0) + sefr_learn(&plain, record, i % 3 != 0);
    }
    wrong += model.solve() + sefr_solve(&plain) + model.save(storage) + again.restore(storage);
    for (int i = 0; i < 50; i++) {
        for (int j = 0; j < 6; j++) record[j] = (uint8_t)(i * 51 + j * 7);
        wrong += model.classify(record, &label) + sefr_classify(&plain, record, &expected);
        wrong += label != expected;
        wrong += again.classify(record, &label) + (label != expected);
    }
    printf("%d %d", wrong, other.learn(record, 4));
}
"""


def test_the_class_for_sketches_is_the_same_model(tmp_path):
    (tmp_path / "sketch.cpp").write_text(CLASS)
    flags = [
        "-std=c++11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsanitize=undefined,address",
        "-I",
        str(library()),
    ]
    program = str(tmp_path / "sketch")
    subprocess.run(["gcc", "-c", str(library() / "sefr.c"), "-o", f"{program}.o"], check=True)
    subprocess.run(["g++", *flags, str(tmp_path / "sketch.cpp"), f"{program}.o", "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == "0 1"
    (tmp_path / "large.cpp").write_text('#include "sefr_class.h"\nSefr<40000, 2> model;\n')
    flags = ["-std=c++11", "-fsyntax-only", "-I", str(library())]
    refused = subprocess.run(
        ["g++", *flags, str(tmp_path / "large.cpp")], capture_output=True, text=True, check=False
    )
    assert "does not fit the RAM of the board" in refused.stderr
