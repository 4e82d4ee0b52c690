/* Saving to a memory that loses power. The memory is NOR flash (BLOCK_BYTES, BLOCKS, UNIT: programming clears bits, erasing
 * sets those of a block, a byte that was programmed is not programmed again) or, where BLOCK_BYTES is 0, EEPROM of
 * EEPROM_BYTES. For every number of operations after which the power may fail, in the middle of that operation: learn,
 * save, then start again from what is there. Writes for each: the status of the save, then 'o' (the state before), 'n' (the
 * new one) or 'x' (neither). Then 0xFF, the result of WORN saves to a memory with a bad byte, and, per block or place, how
 * often it was erased or written in 64 saves; then how many bytes a restore read (16 bits), and what is there when the number
 * of the one before the newest is damaged.
 *
 * STEPS saves in steps. Then, last, a save between whose steps a record is learned: its status and what is there. */
#include "board.h"
#ifdef NORMAL /* a model of one class */
#include "sefr_normal.c"

typedef sefr_normal learner;
SEFR_NORMAL(model, FEATURES)
SEFR_NORMAL(back, FEATURES)
enum { STATE = SEFR_NORMAL_STATE_BYTES(FEATURES) };
#define learner_reset sefr_normal_reset
#define learner_save_at_once sefr_normal_save
#define learner_save_begin sefr_normal_save_begin
#define learner_save_step sefr_normal_save_step
#define learner_restore sefr_normal_restore
#else
#include "sefr.h"

typedef sefr_model learner;
SEFR_MODEL(model, FEATURES, CLASSES)
SEFR_MODEL(back, FEATURES, CLASSES)
enum { STATE = 24 + 4 * CLASSES + 2 * CLASSES * FEATURES };
#define learner_reset sefr_reset
#define learner_save_at_once sefr_save
#define learner_save_begin sefr_save_begin
#define learner_save_step sefr_save_step
#define learner_restore sefr_restore
#endif
#if BLOCK_BYTES
enum { BYTES = BLOCK_BYTES * BLOCKS, WEARING = BLOCKS, WEARING_BYTES = BLOCK_BYTES };
#else
enum { BYTES = EEPROM_BYTES, WEARING = EEPROM_BYTES / STATE, WEARING_BYTES = STATE };
#endif
enum { PLACE = (STATE + UNIT - 1) / UNIT * UNIT };
static uint8_t memory[BYTES], buffer[UNIT];
static uint16_t wear[WEARING + 1];
static uint32_t power; /* operations left; the last one is torn */
static uint32_t bad = BYTES, wrong, programs, reads;

static int read_memory(void *context, uint32_t address, uint8_t *bytes, uint32_t n) {
    (void)context;
    if (address + n > BYTES) wrong++;
    reads += n;
    for (; n; n--, address++) *bytes++ = memory[address];
    return 0;
}

static int program_memory(void *context, uint32_t address, const uint8_t *bytes, uint32_t n) {
    uint32_t i;
    (void)context;
    if (address % UNIT || n % UNIT || address + n > BYTES) wrong++;
    programs++;
    if (power == 0) return 0;
    power--;
    for (i = 0; i < n; i++) {
        uint8_t value = bytes[i];
        if (power == 0 && i >= n / 2) value |= i == n / 2 ? 0xF0 : 0xFF; /* torn: half the bits of a byte, then none */
#if BLOCK_BYTES
        if (memory[address + i] != 0xFF) wrong++; /* NOR: programmed twice */
        memory[address + i] &= value;
#else
        if (power || i < n / 2) memory[address + i] = value;
#endif
        if (address + i == bad) memory[address + i] = 0;
    }
#if !BLOCK_BYTES
    if (address % STATE == 0) wear[address / STATE]++;
#endif
    return 0;
}

#if BLOCK_BYTES
static int erase_memory(void *context, uint32_t block) {
    uint32_t i;
    (void)context;
    if (block >= BLOCKS) wrong++;
    if (power == 0) return 0;
    power--;
    wear[block]++;
    for (i = 0; i < (power ? BLOCK_BYTES : BLOCK_BYTES / 2); i++) {
        if (block * BLOCK_BYTES + i != bad) memory[block * BLOCK_BYTES + i] = 0xFF;
    }
    return 0;
}
#else
#define erase_memory 0
#endif

static int sync_memory(void *context) {
    (void)context;
    return 0;
}

static const sefr_storage storage = {
    read_memory, program_memory, erase_memory, sync_memory, 0, BLOCK_BYTES ? BLOCK_BYTES : BYTES, BLOCK_BYTES ? BYTES / WEARING_BYTES : 1,
    UNIT,        buffer};

#ifdef STEPS
static sefr_status finish(learner *some, sefr_saving *saving) {
    sefr_status status = SEFR_BUSY;
    while (status == SEFR_BUSY) {
        programs = 0;
        status = learner_save_step(some, saving);
        if (programs > 1) wrong++;
    }
    if (learner_save_step(some, saving) != status) wrong++; /* what has ended has ended */
    return status;
}

static sefr_status learner_save(learner *some, const sefr_storage *to) {
    sefr_saving saving;
    sefr_status status = learner_save_begin(some, to, &saving);
    return status == SEFR_BUSY ? finish(some, &saving) : status;
}
#else
#define learner_save learner_save_at_once
#endif

static void learn(uint8_t seed) {
    uint8_t record[FEATURES];
    sefr_index j;
    for (j = 0; j < FEATURES; j++) record[j] = (uint8_t)(seed * 37 + j * 11);
#ifdef NORMAL
    sefr_normal_learn(&model, record);
#else
    sefr_learn(&model, record, (uint8_t)(seed % CLASSES));
#endif
}

#ifdef NORMAL
static uint8_t same(const learner *a, const learner *b) {
    sefr_index j;
    for (j = 0; j < FEATURES; j++) {
        if (a->sums[j] != b->sums[j] || a->squares[j] != b->squares[j]) return 0;
    }
    return a->count == b->count;
}

static void take(const learner *from) {
    sefr_index j;
    for (j = 0; j < FEATURES; j++) {
        model.sums[j] = from->sums[j];
        model.squares[j] = from->squares[j];
    }
    model.count = from->count;
}

static uint8_t records_of(const learner *some) { return (uint8_t)some->count; }
#else
static uint8_t same(const learner *a, const learner *b) {
    sefr_index i;
    for (i = 0; i < FEATURES * CLASSES; i++) {
        if (a->sums[i] != b->sums[i]) return 0;
    }
    for (i = 0; i < CLASSES; i++) {
        if (a->counts[i] != b->counts[i]) return 0;
    }
    return 1;
}

static void take(const learner *from) {
    sefr_index i;
    for (i = 0; i < FEATURES * CLASSES; i++) model.sums[i] = from->sums[i];
    for (i = 0; i < CLASSES; i++) model.counts[i] = from->counts[i];
}

static uint8_t records_of(const learner *some) {
    uint8_t c, total = 0;
    for (c = 0; c < CLASSES; c++) total = (uint8_t)(total + some->counts[c]);
    return total;
}
#endif

static void blank(void) {
    uint32_t i;
    for (i = 0; i < BYTES; i++) memory[i] = 0xFF;
}

static uint8_t what_is_there(uint8_t old_counts, const learner *now) {
    learner_reset(&back);
    if (learner_restore(&back, &storage) != SEFR_OK) return 'x';
    if (same(&back, now)) return 'n';
    return records_of(&back) == old_counts ? 'o' : 'x';
}

/* Power fails after 1, 2, 3, ... operations of a save, until a save is through before it fails. */
static void lose_power(uint8_t start) {
    uint32_t operations;
    uint8_t i, seen = 'o', status = SEFR_IO;
    blank();
    learner_reset(&model);
    for (i = 0; i < start; i++) { /* so that the save under test falls on each place of the ring */
        learn(i);
        power = 100000;
        if (learner_save(&model, &storage) != SEFR_OK) wrong++;
    }
    for (operations = 0; status != SEFR_OK; operations++) {
        learn(i);
        power = operations;
        status = (uint8_t)learner_save(&model, &storage);
        power = 0;
        seen = what_is_there(i, &model);
        board_put(status);
        board_put(seen);
        if (seen == 'n') i++;
        if (seen == 'x') return;
        take(&back); /* the board starts again */
    }
}

/* Puts the three newest states, as many as there are, to the first places, newest first; the second with the highest bit of
 * its number turned: it then looks newer than the first, and the third newer than it. */
static void damage(uint8_t newest) {
    static uint8_t kept[3][STATE];
    uint32_t at, i;
    for (at = 0; at + STATE <= BYTES; at++) {
        uint8_t age = (uint8_t)(newest - memory[at + 12]);
        if (memory[at] != 'S' || memory[at + 1] != 'E' || memory[at + 2] != 'F' || age > 2) continue;
        for (i = 0; i < STATE; i++) kept[age][i] = memory[at + i];
    }
    kept[1][15] ^= 0x80;
    blank();
    for (at = 0; at < 3 && at * PLACE + STATE <= BYTES; at++) {
        for (i = 0; i < STATE; i++) memory[at * PLACE + i] = kept[at][i];
    }
}

int main(void) {
    uint8_t start, i;
    for (start = 1; start <= STARTS; start++) lose_power(start);
    board_put(0xFF);
    blank();
    learner_reset(&model);
    bad = STATE / 2; /* a byte of the first place does not hold what is written to it */
    for (i = 0; i < 5; i++) {
        learn(i);
        power = 100000;
        board_put((uint8_t)learner_save(&model, &storage));
        board_put(what_is_there(i, &model));
    }
    bad = BYTES;
    blank();
    for (i = 0; i < WEARING; i++) wear[i] = 0;
    for (i = 0; i < 64; i++) {
        learn(i);
        power = 100000;
        if (learner_save(&model, &storage) != SEFR_OK) wrong++;
    }
    board_put((uint8_t)wrong);
    for (i = 0; i < WEARING; i++) board_put((uint8_t)wear[i]);
    reads = 0;
    learner_restore(&back, &storage);
    board_put((uint8_t)reads);
    board_put((uint8_t)(reads >> 8));
    damage(63);
    board_put(what_is_there(0, &model));
#ifdef STEPS
    blank();
    {
        sefr_saving saving;
        uint8_t steps = 3, before = records_of(&model);
        learn(i);
        power = 100000;
        if (learner_save(&model, &storage) != SEFR_OK) wrong++;
        learner_save_begin(&model, &storage, &saving);
        for (; steps; steps--) learner_save_step(&model, &saving);
        learn((uint8_t)(i + 1));
        board_put((uint8_t)finish(&model, &saving));
        board_put(what_is_there((uint8_t)(before + 1), &model));
        board_put((uint8_t)wrong);
    }
#endif
    return 0;
}
