"""Raw flash of RP2040, ESP32 and ESP8266, against stand-ins of the makers' headers that keep its rules."""

import subprocess

import pytest

from sefr.device import BOARDS, library

pytestmark = pytest.mark.needs("avr")

MEMORY = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { BYTES = 16384 };
static uint8_t flash_memory[BYTES];
static void rule(int kept, const char *what) { if (!kept) { fprintf(stderr, "%s", what); exit(9); } }
static void erase_bytes(uint32_t at, uint32_t n) {
    rule(at % 4096 == 0 && n % 4096 == 0 && at + n <= BYTES, "erase of no sector");
    for (; n; n--) flash_memory[at++] = 0xFF;
}
static void program_bytes(uint32_t at, const uint8_t *from, uint32_t n, uint32_t unit) {
    rule(at % unit == 0 && n % unit == 0 && at + n <= BYTES, "program of no page");
    for (; n; n--, at++, from++) {
        rule((flash_memory[at] & *from) == *from, "program of a bit that is 0 already");
        flash_memory[at] = *from;
    }
}
"""
PICO = {
    "hardware/flash.h": MEMORY
    + """
#define XIP_BASE ((uintptr_t)flash_memory)
#define FLASH_SECTOR_SIZE 4096U
#define FLASH_PAGE_SIZE 256U
static uint8_t interrupts = 1;
static void flash_range_erase(uint32_t at, size_t n) {
    rule(!interrupts, "interrupts on");
    erase_bytes(at, (uint32_t)n);
}
static void flash_range_program(uint32_t at, const uint8_t *from, size_t n) {
    rule(!interrupts, "interrupts on");
    program_bytes(at, from, (uint32_t)n, 256);
}
""",
    "hardware/sync.h": """
static uint32_t save_and_disable_interrupts(void) { interrupts = 0; return 1; }
static void restore_interrupts(uint32_t state) { interrupts = (uint8_t)state; }
""",
}
ESP = {
    "esp_partition.h": MEMORY
    + """
#define ESP_OK 0
typedef struct { uint32_t size; } esp_partition_t;
static int esp_partition_read(const esp_partition_t *p, size_t at, void *to, size_t n) {
    size_t i;
    rule(at + n <= p->size, "read beyond the partition");
    for (i = 0; i < n; i++) ((uint8_t *)to)[i] = flash_memory[at + i];
    return ESP_OK;
}
static int esp_partition_write(const esp_partition_t *p, size_t at, const void *from, size_t n) {
    (void)p;
    program_bytes((uint32_t)at, (const uint8_t *)from, (uint32_t)n, 16);
    return ESP_OK;
}
static int esp_partition_erase_range(const esp_partition_t *p, size_t at, size_t n) {
    (void)p;
    erase_bytes((uint32_t)at, (uint32_t)n);
    return ESP_OK;
}
"""
}
PROGRAM = """#include "board.h"
#include "sefr_flash.h"
SEFR_MODEL(model, 20, 3)
SEFR_MODEL(other, 20, 3)
#ifdef ESP_PLATFORM
static sefr_storage storage;
#else
SEFR_FLASH_STORAGE(storage, 4096, 3)
#endif
int main(void) {
    static uint8_t record[20];
    uint32_t i, j;
#ifdef ESP_PLATFORM
    static const esp_partition_t partition = {12288};
    if (sefr_flash_partition(&storage, 0) != 1 || sefr_flash_partition(&storage, &partition)) return 1;
#endif
    sefr_reset(&model);
    sefr_reset(&other);
    if (sefr_restore(&other, &storage) != SEFR_BAD_STATE) return 2;
    for (i = 0; i < 120; i++) {
        for (j = 0; j < 20; j++) record[j] = (uint8_t)(i * 7 + j);
        sefr_learn(&model, record, (uint8_t)(i % 3));
        if (sefr_save(&model, &storage) != SEFR_OK) return 3;
        if (sefr_restore(&other, &storage) != SEFR_OK) return 4;
        for (j = 0; j < 60; j++) if (other.sums[j] != model.sums[j]) return 5;
    }
    board_put(1);
    return 0;
}
"""


@pytest.mark.parametrize(("headers", "defines"), [(PICO, []), (ESP, ["ESP_PLATFORM"])], ids=["pico", "esp32"])
def test_states_last_in_raw_flash(headers, defines, tmp_path):
    """120 saves around three sectors: pages and sectors as the flash wants them, no bit programmed twice."""
    for name, text in headers.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "program.c").write_text(PROGRAM)
    sources = [tmp_path / "program.c", library() / "sefr.c"]
    image = BOARDS["host"].build(sources, tmp_path, includes=[tmp_path, library()], defines=defines)
    assert BOARDS["host"].run(image).output == b"\x01"


# Flash that loses power: an operation is torn in its middle, and none follows.
POWER = """
#pragma once
#include <stdint.h>
#include <stddef.h>
#include <string.h>
enum { FLASH_BYTES = 65536 };
extern "C" uint8_t flash_bytes[FLASH_BYTES]; // symbols.S
inline uint8_t *flash_memory() { return flash_bytes; }
inline uint32_t &power() { static uint32_t left = UINT32_MAX; return left; }
inline uint32_t torn(uint32_t n) {
    if (power() == 0) return 0;
    return --power() ? n : n / 2;
}
inline void erase_flash(uint32_t at, uint32_t n) {
    n = torn(n);
    for (uint32_t i = 0; i < n; i++) flash_memory()[at + i] = 0xFF;
}
inline void program_flash(uint32_t at, const uint8_t *from, uint32_t n) {
    n = torn(n);
    for (uint32_t i = 0; i < n; i++) flash_memory()[at + i] &= from[i];
}
// As the EEPROM libraries of the ESP8266 and RP2040 cores: one sector, erased and written by a commit.
struct EEPROMClass {
    uint8_t buffer[4096];
    void begin(size_t) { memcpy(buffer, flash_memory() + 8192, 4096); }
    uint8_t read(int at) { return buffer[at]; }
    void write(int at, uint8_t value) { buffer[at] = value; }
    bool commit() { erase_flash(8192, 4096); program_flash(8192, buffer, 4096); return true; }
};
inline EEPROMClass EEPROM;
"""
CORES = {
    "ARDUINO_ARCH_ESP8266": {
        "flash_hal.h": """#include "power.h"
#define FS_PHYS_ADDR 32768U
#define FS_PHYS_SIZE 28672U
#define FLASH_HAL_OK 0
inline int32_t flash_hal_read(uint32_t at, uint32_t n, uint8_t *to) {
    memcpy(to, flash_memory() + at, n);
    return 0;
}
inline int32_t flash_hal_write(uint32_t at, uint32_t n, const uint8_t *from) {
    program_flash(at, from, n);
    return 0;
}
inline int32_t flash_hal_erase(uint32_t at, uint32_t n) { erase_flash(at, n); return 0; }
"""
    },
    "ARDUINO_ARCH_RP2040": {
        "hardware/flash.h": """#include "power.h"
#define FLASH_SECTOR_SIZE 4096U
#define FLASH_PAGE_SIZE 256U
extern "C" uint8_t _FS_start, __flash_binary_end;
#define XIP_BASE ((uintptr_t)flash_bytes)
#define flash_range_erase erase_flash
#define flash_range_program program_flash
""",
        "hardware/sync.h": """
inline uint32_t save_and_disable_interrupts() { return 0; }
inline void restore_interrupts(uint32_t) {}
""",
    },
}
SYMBOLS = """.globl flash_bytes, _FS_start, __flash_binary_end
.bss
flash_bytes: .space 24576
__flash_binary_end: .space 24576
_FS_start: .space 16384
.section .note.GNU-stack,"",@progbits
"""
LOSING = """#include <stdio.h>
#include "power.h"
#include "sefr_eeprom.h"
SEFR_MODEL(model, 20, 3)
SEFR_MODEL(other, 20, 3)
SEFR_EEPROM(storage, SEFR_EEPROM_BYTES)
int main() {
    memset(flash_memory(), 0xFF, FLASH_BYTES);
    uint8_t record[20];
    uint32_t saved = 0, cuts = 0;
    if (sefr_eeprom_begin(&storage)) return 2;
    sefr_reset(&model);
    for (uint32_t i = 0; i < 90; i++) {
        for (uint32_t j = 0; j < 20; j++) record[j] = (uint8_t)(i * 7 + j);
        sefr_learn(&model, record, (uint8_t)(i % 3));
        power() = i < 3 ? UINT32_MAX : 1 + (i % 2 ? i % 30 : i % 4);
        sefr_status status = sefr_save(&model, &storage);
        cuts += power() == 0;
        power() = UINT32_MAX;
        if (status == SEFR_OK) saved = i + 1;
        sefr_reset(&other); // the board starts again
        sefr_eeprom_begin(&storage);
        if (sefr_restore(&other, &storage) != SEFR_OK) return 3;
        uint32_t seen = other.counts[0] + other.counts[1] + other.counts[2];
        if (seen != saved && seen != i + 1) return 4;
        saved = seen;
    }
    printf("%u", cuts > 10);
    return 0;
}
"""


@pytest.mark.parametrize("core", CORES)
def test_power_lost_in_a_sketch_with_flash_for_an_eeprom(core, tmp_path):
    """sefr_eeprom.h on ESP8266 and RP2040: the state before or the new one, at every erase and program."""
    for name, text in {"power.h": POWER, "EEPROM.h": '#include "power.h"\n', **CORES[core]}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "symbols.S").write_text(SYMBOLS)
    (tmp_path / "sketch.cpp").write_text(LOSING)
    program, folder = str(tmp_path / "sketch"), str(tmp_path)
    subprocess.run(["gcc", "-c", str(library() / "sefr.c"), "-o", f"{program}.o"], check=True)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-no-pie", f"-D{core}", "-I", folder, "-I", str(library())]
    sources = [f"{program}.cpp", f"{folder}/symbols.S", f"{program}.o"]
    subprocess.run(["g++", *flags, *sources, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1")
