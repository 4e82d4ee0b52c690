"""Raw flash of RP2040 and ESP32, against stand-ins of the makers' headers that obey the rules of flash."""

import pytest
from device_program import needs_tools

from sefr.device import BOARDS, library

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
@needs_tools
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
