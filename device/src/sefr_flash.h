/* A sefr_storage in raw flash, without an EEPROM that is made to look like one: sectors of 4096 bytes that wear alike.
 * Compiled and run against stand-ins for the makers' headers, which hold the calls to the rules of flash; no physical board
 * was at hand.
 *
 * RP2040 and RP2350 (Pico SDK, hardware/flash.h). `offset` counts from the start of the flash; keep it clear of the
 * program: the last sectors, PICO_FLASH_SIZE_BYTES - 4 * FLASH_SECTOR_SIZE. Interrupts are off while it writes; the second
 * core must not run from flash then.
 *     SEFR_FLASH_STORAGE(storage, PICO_FLASH_SIZE_BYTES - 4 * FLASH_SECTOR_SIZE, 4)     // 4 sectors, 2 or more
 *
 * ESP32 (ESP-IDF, esp_partition.h): a partition of the table, type data.
 *     static sefr_storage storage;
 *     sefr_flash_partition(&storage, esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, "sefr"));
 *
 * Then sefr_restore(&model, &storage) and sefr_save(&model, &storage) as ever. */
#ifndef SEFR_FLASH_H
#define SEFR_FLASH_H

#include "sefr.h"

#ifdef ESP_PLATFORM
#include <esp_partition.h>

static inline int sefr_flash_read(void *context, uint32_t address, uint8_t *bytes, uint32_t n) {
    return esp_partition_read((const esp_partition_t *)context, address, bytes, n) != ESP_OK;
}

static inline int sefr_flash_program(void *context, uint32_t address, const uint8_t *bytes, uint32_t n) {
    return esp_partition_write((const esp_partition_t *)context, address, bytes, n) != ESP_OK;
}

static inline int sefr_flash_erase(void *context, uint32_t block) {
    return esp_partition_erase_range((const esp_partition_t *)context, block * 4096U, 4096U) != ESP_OK;
}

/* 1: there is no such partition. Units of 16 bytes, as encrypted flash wants them. */
static inline int sefr_flash_partition(sefr_storage *storage, const esp_partition_t *partition) {
    static uint8_t buffer[16];
    if (partition == 0) return 1;
    storage->read = sefr_flash_read;
    storage->program = sefr_flash_program;
    storage->erase = sefr_flash_erase;
    storage->sync = 0;
    storage->context = (void *)partition;
    storage->block_bytes = 4096U;
    storage->blocks = partition->size / 4096U;
    storage->program_bytes = sizeof buffer;
    storage->buffer = buffer;
    return 0;
}

#else
#include <hardware/flash.h>
#include <hardware/sync.h>

/* The flash can be read in place, from XIP_BASE on. */
static inline int sefr_flash_read(void *context, uint32_t address, uint8_t *bytes, uint32_t n) {
    const uint8_t *from = (const uint8_t *)((uintptr_t)XIP_BASE + *(const uint32_t *)context + address);
    for (; n; n--) *bytes++ = *from++;
    return 0;
}

static inline int sefr_flash_program(void *context, uint32_t address, const uint8_t *bytes, uint32_t n) {
    uint32_t state = save_and_disable_interrupts();
    flash_range_program(*(const uint32_t *)context + address, bytes, n);
    restore_interrupts(state);
    return 0;
}

static inline int sefr_flash_erase(void *context, uint32_t block) {
    uint32_t state = save_and_disable_interrupts();
    flash_range_erase(*(const uint32_t *)context + block * FLASH_SECTOR_SIZE, FLASH_SECTOR_SIZE);
    restore_interrupts(state);
    return 0;
}

#define SEFR_FLASH_STORAGE(name, offset, sectors)                                                                   \
    static uint32_t name##_offset = offset;                                                                         \
    static uint8_t name##_page[FLASH_PAGE_SIZE];                                                                    \
    static const sefr_storage name = {sefr_flash_read,   sefr_flash_program, sefr_flash_erase, 0,                   \
                                      &name##_offset,    FLASH_SECTOR_SIZE,  sectors,          FLASH_PAGE_SIZE,     \
                                      name##_page};
#endif

#endif
