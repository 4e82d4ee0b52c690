/* A sefr_storage in what the board keeps without power: EEPROM, or the flash that stands in for it. In Arduino sketches
 * (C++) on every core; in C on AVR.
 *
 *     SEFR_EEPROM(storage, SEFR_EEPROM_BYTES)                // all of it; wear is spread over it
 *     SEFR_CHECK_STORAGE(model, SEFR_STATE_BYTES(100, 2, 0), SEFR_EEPROM_BYTES)
 *     sefr_eeprom_begin(&storage);                           // once, before the first restore; not 0: nothing can be kept
 *     sefr_restore(&model, &storage);
 *
 * What holds when power is lost during a save, and how it wears:
 *   AVR             EEPROM, written byte by byte: the old state or the new one; wear is spread.
 *   RP2040, RP2350  (arduino-pico) raw flash, SEFR_EEPROM_BYTES of free sketch space below the file system; the same.
 *   ESP8266         raw flash, the first SEFR_EEPROM_BYTES of the file system's; the same. Choose a flash layout with a file
 *                   system (Tools menu), and do not mount it.
 *   ESP32           Arduino's EEPROM, which is an entry of NVS: NVS keeps the old entry until the new one is written, and
 *                   spreads the wear.
 *   other cores     Arduino's EEPROM: as safe as its emulation is. Renesas (Uno R4) and STM32 erase a block of flash for a
 *                   write: power lost there may lose every state in that block. Use raw flash (sefr_state.h) if that counts.
 *   no EEPROM       SAMD, nRF52, Arduino's mbed cores: SEFR_EEPROM_BYTES is 0, SEFR_HAS_EEPROM is not defined, and a save
 *                   answers SEFR_NO_ROOM.
 * No core but AVR's was at hand to run on; the others are compiled, and the flash ones run, against stand-ins for their
 * headers. */
#ifndef SEFR_EEPROM_H
#define SEFR_EEPROM_H

#include "sefr.h"

#ifdef __AVR__
#include <avr/eeprom.h>

/* Bytes that the chip has. On chips where the EEPROM is mapped into the data space (ATmega4809, tinyAVR 0 to 2, AVR Dx),
 * E2END is an address there. */
#if defined(EEPROM_SIZE)
#define SEFR_CHIP_EEPROM_BYTES ((uint32_t)(EEPROM_SIZE))
#elif defined(EEPROM_START)
#define SEFR_CHIP_EEPROM_BYTES (E2END - EEPROM_START + 1UL)
#elif defined(E2END) && E2END > 0
#define SEFR_CHIP_EEPROM_BYTES (E2END + 1UL)
#else
#error "this chip has no EEPROM; see sefr_state.h for a storage of your own"
#endif

/* Bytes of the storage. Default: all that the chip has. */
#ifndef SEFR_EEPROM_BYTES
#define SEFR_EEPROM_BYTES SEFR_CHIP_EEPROM_BYTES
#endif

/* Whether n bytes at an address of the storage are the chip's; beyond them there may be SRAM. */
static inline uint8_t sefr_eeprom_has(uint32_t place, uint32_t n) {
    return place < SEFR_CHIP_EEPROM_BYTES && n <= SEFR_CHIP_EEPROM_BYTES - place;
}

static inline int sefr_eeprom_read(void *context, uint32_t address, uint8_t *bytes, uint32_t n) {
    address += *(const uint16_t *)context;
    if (!sefr_eeprom_has(address, n)) return 1;
    eeprom_read_block(bytes, (const void *)(uintptr_t)address, (size_t)n);
    return 0;
}

/* Bytes that are there already are not written again. */
static inline int sefr_eeprom_program(void *context, uint32_t address, const uint8_t *bytes, uint32_t n) {
    address += *(const uint16_t *)context;
    if (!sefr_eeprom_has(address, n)) return 1;
    eeprom_update_block(bytes, (void *)(uintptr_t)address, (size_t)n);
    return 0;
}

static inline int sefr_eeprom_sync(void *context) {
    (void)context;
    eeprom_busy_wait();
    return 0;
}

static inline int sefr_eeprom_begin(const sefr_storage *storage) { return storage->blocks ? 0 : 1; }

#define SEFR_EEPROM_AT(name, offset, bytes)                                                                         \
    typedef char name##_is_beyond_the_eeprom[(offset) + (bytes) <= SEFR_CHIP_EEPROM_BYTES ? 1 : -1];                \
    static uint16_t name##_offset = offset;                                                                         \
    static const sefr_storage name = {sefr_eeprom_read, sefr_eeprom_program, 0, sefr_eeprom_sync, &name##_offset,   \
                                      bytes, 1, 1, 0};

#elif !defined(__cplusplus)
#error "sefr_eeprom.h is for AVR, or for C++ with an Arduino core; see sefr_state.h for a storage of your own"

#elif defined(ARDUINO_ARCH_ESP8266)
#include <flash_hal.h>

#ifndef SEFR_EEPROM_BYTES
#define SEFR_EEPROM_BYTES 16384UL
#endif

static inline int sefr_eeprom_read(void *, uint32_t address, uint8_t *bytes, uint32_t n) {
    return flash_hal_read(FS_PHYS_ADDR + address, n, bytes) != FLASH_HAL_OK;
}

static inline int sefr_eeprom_program(void *, uint32_t address, const uint8_t *bytes, uint32_t n) {
    return flash_hal_write(FS_PHYS_ADDR + address, n, bytes) != FLASH_HAL_OK;
}

static inline int sefr_eeprom_erase(void *, uint32_t block) {
    return flash_hal_erase(FS_PHYS_ADDR + block * 4096U, 4096U) != FLASH_HAL_OK;
}

/* 1: the flash layout has no file system, or a smaller one. */
static inline int sefr_eeprom_begin(const sefr_storage *storage) {
    return storage->blocks * storage->block_bytes > (uint32_t)FS_PHYS_SIZE;
}

#define SEFR_EEPROM(name, bytes)                                                                                    \
    static uint32_t name##_word[1];                                                                                 \
    static const sefr_storage name = {sefr_eeprom_read, sefr_eeprom_program, sefr_eeprom_erase, 0, 0, 4096U,        \
                                      (bytes) / 4096U, sizeof name##_word, (uint8_t *)name##_word};

#elif defined(ARDUINO_ARCH_RP2040) && !defined(ARDUINO_ARCH_MBED)
#include "sefr_flash.h"

#ifndef SEFR_EEPROM_BYTES
#define SEFR_EEPROM_BYTES 16384UL
#endif

extern "C" uint8_t _FS_start;             /* the linker's: where the file system begins, or would */
extern "C" uint8_t __flash_binary_end;    /* the first byte behind the program */

/* 1: the program reaches into the last sectors before the file system. */
static inline int sefr_eeprom_begin(const sefr_storage *storage) {
    uint32_t bytes = storage->blocks * storage->block_bytes;
    *(uint32_t *)storage->context = (uint32_t)((uintptr_t)&_FS_start - XIP_BASE) - bytes;
    return (uintptr_t)&__flash_binary_end > (uintptr_t)&_FS_start - bytes;
}

#define SEFR_EEPROM(name, bytes) SEFR_FLASH_STORAGE(name, 0, (bytes) / FLASH_SECTOR_SIZE)

#elif defined(__has_include) && __has_include(<EEPROM.h>)
#include <EEPROM.h>

/* Default: the smallest of the boards that a core is for (Uno R4: 8192, Teensy LC: 128, STM32: a page of 1024 or more). */
#ifndef SEFR_EEPROM_BYTES
#if defined(ARDUINO_ARCH_ESP32) || defined(ARDUINO_ARCH_RENESAS)
#define SEFR_EEPROM_BYTES 4096UL
#elif defined(E2END)
#define SEFR_EEPROM_BYTES (E2END + 1UL)
#else
#define SEFR_EEPROM_BYTES 1024UL
#endif
#endif

static inline int sefr_eeprom_read(void *context, uint32_t address, uint8_t *bytes, uint32_t n) {
    address += *(const uint16_t *)context;
    for (uint32_t i = 0; i < n; i++) bytes[i] = EEPROM.read((int)(address + i));
    return 0;
}

static inline int sefr_eeprom_program(void *context, uint32_t address, const uint8_t *bytes, uint32_t n) {
    address += *(const uint16_t *)context;
    for (uint32_t i = 0; i < n; i++) {
        if (EEPROM.read((int)(address + i)) != bytes[i]) EEPROM.write((int)(address + i), bytes[i]);
    }
    return 0;
}

#ifdef ARDUINO_ARCH_ESP32
/* Until here everything is in a buffer of the core's. */
static inline int sefr_eeprom_sync(void *) { return EEPROM.commit() ? 0 : 1; }

static inline int sefr_eeprom_begin(const sefr_storage *storage) {
    uint32_t offset = *(const uint16_t *)storage->context;
    return EEPROM.begin((size_t)(offset + storage->blocks * storage->block_bytes)) ? 0 : 1;
}
#else
static inline int sefr_eeprom_sync(void *) { return 0; }

static inline int sefr_eeprom_begin(const sefr_storage *storage) {
    uint32_t offset = *(const uint16_t *)storage->context;
    return offset + storage->blocks * storage->block_bytes > (uint32_t)EEPROM.length();
}
#endif

#define SEFR_EEPROM_AT(name, offset, bytes)                                                                         \
    static uint16_t name##_offset = offset;                                                                         \
    static const sefr_storage name = {sefr_eeprom_read, sefr_eeprom_program, 0, sefr_eeprom_sync, &name##_offset,   \
                                      bytes, 1, 1, 0};

#else
#undef SEFR_EEPROM_BYTES
#define SEFR_EEPROM_BYTES 0UL

static inline int sefr_eeprom_begin(const sefr_storage *) { return 1; }

#define SEFR_EEPROM(name, bytes) static const sefr_storage name = {0, 0, 0, 0, 0, bytes, 0, 1, 0};
#define SEFR_NO_EEPROM_
#endif
#ifndef SEFR_NO_EEPROM_
#define SEFR_HAS_EEPROM 1
#endif

/* SEFR_EEPROM_AT(name, offset, bytes) leaves the bytes before `offset` to the rest of the program. Not on raw flash. */
#ifdef SEFR_EEPROM_AT
#define SEFR_EEPROM(name, bytes) SEFR_EEPROM_AT(name, 0, bytes)
#endif

#endif
