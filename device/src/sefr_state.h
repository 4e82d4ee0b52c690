/* States: what a model learned, as bytes on a line or in a memory. Part of sefr.h, which includes it.
 *
 * A state holds all that a model learned, little endian:
 *   0  'S' 'E' 'F' 'R'      4  version (2)     5  bits of a sum (8, 16, 32)   6  classes
 *   7  flags: 1 with ranges, 2 with int8 weights, 4 with int16 weights, 8 with 8 bins, 16 with 16 bins, 32 with a base
 *   8  features (cells with bins), uint32    12  sequence number, uint32                    16  id of the model, uint32
 *  20  counts, uint32 each, then sums (class by class), then low and high of each feature (with ranges), then weights and
 *   bias (int32 or int64; with weights), then what the model started from (with a base), uint32, then the CRC-32
 *   (IEEE 802.3, as zlib's) of all before it, uint32.
 * Without weights: solve again after restore. Version 1 had no id and no weights. */
#ifndef SEFR_STATE_H
#define SEFR_STATE_H

#define SEFR_STATE_VERSION 2
#define SEFR_STATE_BYTES(features, classes, with_ranges)                                                            \
    ((uint32_t)(24U + 4U * (uint32_t)(classes) + SEFR_COLUMNS(features) * (classes) * sizeof(sefr_sum) +              \
                ((with_ranges) ? 2U * (uint32_t)(features) : 0U)))
/* What SEFR_KEEP_WEIGHTS adds; a base (model.base) adds 4. */
#define SEFR_WEIGHT_BYTES(features, classes)                                                                        \
    ((uint32_t)(SEFR_ROWS(classes) * (SEFR_COLUMNS(features) * sizeof(sefr_weight) + sizeof(sefr_score))))

/* Where states are kept, in the way of littlefs. All calls return 0 when done. Addresses run from 0 to
 * blocks * block_bytes - 1. */
typedef struct {
    int (*read)(void *context, uint32_t address, uint8_t *bytes, uint32_t n);
    /* Writes n bytes; address and n are multiples of program_bytes. */
    int (*program)(void *context, uint32_t address, const uint8_t *bytes, uint32_t n);
    /* Makes every byte of a block 0xFF: a memory, such as NOR flash, that programs a byte but once. 0: a memory, such as
     * EEPROM, FRAM or a file, where a byte can be written over. */
    int (*erase)(void *context, uint32_t block);
    int (*sync)(void *context); /* everything programmed must last from here on; 0: nothing to do */
    void *context;
    uint32_t block_bytes;   /* smallest unit of erase; without erase any size will do */
    uint32_t blocks;        /* how many there are */
    uint32_t program_bytes; /* smallest unit of program: 1 for EEPROM and most NOR, 8 for STM32L4, 256 for RP2040 */
    uint8_t *buffer;        /* of program_bytes, the caller's; 0 where that is 1 */
} sefr_storage;

/* A save that is under way; the caller's, and not to be looked into. */
typedef struct {
    const sefr_storage *storage;
    uint32_t sequence, expected, crc;
    uint32_t place, left;          /* the next place to try, and how many are left */
    uint32_t newest, newest_bytes; /* where the newest state lies */
    uint32_t body, at, address;    /* bytes before the checksum, how many are done, where they go */
    uint8_t step, status;
} sefr_saving;

/* A line at file scope that does not compile when a storage holds fewer than two states ("size of array
 * ..._state_does_not_fit is negative"): SEFR_CHECK_STORAGE(model, SEFR_STATE_BYTES(100, 2, 0), 1024). With erase, give
 * the bytes of half the blocks, times two. */
#define SEFR_CHECK_STORAGE(name, state_bytes, storage_bytes)                                                        \
    typedef char name##_state_does_not_fit[(storage_bytes) / 2 >= (state_bytes) ? 1 : -1];

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes that sefr_send would write now. */
uint32_t sefr_state_bytes(const sefr_model *model);

/* Writes the state, byte after byte, to a serial line or a radio; sefr.device.read_state reads it. */
sefr_status sefr_send(const sefr_model *model, sefr_writer put, void *context);

/* Saves to the place after the newest state, around all of the storage (wear levelling); no byte is a marker that wears
 * before the others. The newest state stays until a later save comes around, so power lost at any program or erase leaves
 * the old state or the new one. A place that does not read back what was written is passed over.
 * Nothing is written over what another model learned: SEFR_OTHER_MODEL, SEFR_BAD_SHAPE or SEFR_BAD_VERSION, until
 * sefr_discard. SEFR_NO_ROOM: smaller than two states; or the newest state, of another size since an option was changed,
 * leaves no place for a new one. */
sefr_status sefr_save(const sefr_model *model, const sefr_storage *storage);
#ifndef SEFR_NO_STEPS
/* The same in steps, for programs that must not stand still: sefr_save_begin looks for the place and answers SEFR_BUSY, or why
 * nothing can be saved; then sefr_save_step until it no longer answers SEFR_BUSY. A step is one program (AVR: one byte of
 * EEPROM, up to 3.4 ms while the byte before is still being written; RP2040: a page), one erase of what a state needs, or 16
 * bytes read back. The model may classify in between; if it learned, the last step answers SEFR_CHANGED and the state saved
 * before is still there. One save per storage at a time. */
sefr_status sefr_save_begin(const sefr_model *model, const sefr_storage *storage, sefr_saving *saving);
sefr_status sefr_save_step(const sefr_model *model, sefr_saving *saving);
#endif
/* Takes the newest good state. A storage of one state's size is read as a single place. Everything is checked before
 * the model is touched. */
sefr_status sefr_restore(sefr_model *model, const sefr_storage *storage);
/* Forgets every state in a storage, of whatever model. */
sefr_status sefr_discard(const sefr_storage *storage);

#ifdef __cplusplus
}
#endif

#endif
