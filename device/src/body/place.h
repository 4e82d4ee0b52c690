/* Bytes of a storage, and their checksum. */
#include "calls.h"

/* A place in a storage. On AVR 64 KB are enough, and half the code. */
#ifdef __AVR__
typedef uint16_t sefr_place;
#define MOST_BYTES 65535UL
#else
typedef uint32_t sefr_place;
#define MOST_BYTES 0xFFFFFFFFUL
#endif

static uint8_t byte_of(uint32_t value, uint8_t place) { return (uint8_t)(value >> (uint8_t)(8 * (place & 3))); }

static uint32_t crc_step(uint32_t crc, uint8_t value) {
    uint8_t bit;
    crc ^= value;
    for (bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) ? 0xEDB88320UL : 0);
    return crc;
}

/* Bytes of a storage, in whole blocks; 0 of one that was never set. */
static sefr_place bytes_of(const sefr_storage *storage) {
    uint32_t blocks = storage->blocks;
    if (storage->block_bytes == 0) return 0;
    if (blocks > MOST_BYTES / storage->block_bytes) blocks = MOST_BYTES / storage->block_bytes;
    return (sefr_place)(blocks * storage->block_bytes);
}

/* A byte that cannot be read is one that a checksum will not match. */
SEFR_APART uint8_t read_byte(const sefr_storage *storage, sefr_place at) {
    uint8_t value = 0;
    if (storage->read(storage->context, at, &value, 1)) return 0;
    return value;
}

SEFR_APART uint32_t read_word(const sefr_storage *storage, sefr_place at) {
    uint32_t word = 0;
    uint8_t i;
    for (i = 4; i; i--) word = (word << 8) | read_byte(storage, (sefr_place)(at + i - 1U));
    return word;
}

static sefr_status check_crc(const sefr_storage *storage, sefr_place begin, sefr_place body) {
    sefr_place at;
    uint32_t crc = 0xFFFFFFFFUL;
    for (at = 0; at < body; at++) crc = crc_step(crc, read_byte(storage, (sefr_place)(begin + at)));
    return read_word(storage, (sefr_place)(begin + body)) == (uint32_t)~crc ? SEFR_OK : SEFR_BAD_STATE;
}
