/* A sefr_storage in EEPROM: the chip's own on AVR, the flash that Arduino's EEPROM library makes look like one elsewhere
 * (ESP32, ESP8266, RP2040; C++ only).
 *
 *     SEFR_EEPROM(storage, SEFR_EEPROM_BYTES)                // all of it; wear is spread over it
 *     SEFR_CHECK_STORAGE(model, SEFR_STATE_BYTES(100, 2, 0), SEFR_EEPROM_BYTES)
 *     sefr_eeprom_begin(&storage);                           // once, before the first restore
 *     sefr_restore(&model, &storage);
 */
#ifndef SEFR_EEPROM_H
#define SEFR_EEPROM_H

#include "sefr.h"

#ifdef __AVR__
#include <avr/eeprom.h>

/* Bytes of the storage, from address 0 on. Default: all that the chip has. */
#ifndef SEFR_EEPROM_BYTES
#define SEFR_EEPROM_BYTES (E2END + 1UL)
#endif

static inline int sefr_eeprom_read(void *context, uint32_t address, uint8_t *bytes, uint32_t n) {
    (void)context;
    eeprom_read_block(bytes, (const void *)(uintptr_t)address, (size_t)n);
    return 0;
}

/* Bytes that are there already are not written again. */
static inline int sefr_eeprom_program(void *context, uint32_t address, const uint8_t *bytes, uint32_t n) {
    (void)context;
    eeprom_update_block(bytes, (void *)(uintptr_t)address, (size_t)n);
    return 0;
}

static inline int sefr_eeprom_sync(void *context) {
    (void)context;
    eeprom_busy_wait();
    return 0;
}

static inline int sefr_eeprom_begin(const sefr_storage *storage) { return storage->blocks ? 0 : 1; }

#elif defined(__cplusplus)
#include <EEPROM.h>

/* Default: one sector of flash, the most that the ESP and RP2040 cores take. */
#ifndef SEFR_EEPROM_BYTES
#define SEFR_EEPROM_BYTES 4096UL
#endif

static inline int sefr_eeprom_read(void *, uint32_t address, uint8_t *bytes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) bytes[i] = EEPROM.read((int)(address + i));
    return 0;
}

static inline int sefr_eeprom_program(void *, uint32_t address, const uint8_t *bytes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) EEPROM.write((int)(address + i), bytes[i]);
    return 0;
}

/* Until here everything is in a buffer of the core's. */
static inline int sefr_eeprom_sync(void *) { return EEPROM.commit() ? 0 : 1; }

static inline int sefr_eeprom_begin(const sefr_storage *storage) {
    EEPROM.begin((size_t)(storage->blocks * storage->block_bytes));
    return 0;
}
#else
#error "sefr_eeprom.h is for AVR, or for C++ with Arduino's EEPROM library; see sefr_state.h for a storage of your own"
#endif

#define SEFR_EEPROM(name, bytes)                                                                                    \
    static const sefr_storage name = {sefr_eeprom_read, sefr_eeprom_program, 0, sefr_eeprom_sync, 0, bytes, 1, 1, 0};

#endif
