/* The whole library behind a line of bytes: reads commands, writes what the library answered. The same source runs on
 * every board; the test holds a big-integer model beside it. FEATURES, CLASSES and KIND (SEFR_MODEL, SEFR_RANGE_MODEL or
 * SEFR_LEAN_MODEL) come from the command line. */
#include "board.h"
#include "sefr.h"

KIND(model, FEATURES, CLASSES)
KIND(other, FEATURES, CLASSES)

/* An EEPROM of two states with everything in them. */
enum { COLUMNS = SEFR_COLUMNS(FEATURES) };
enum { PLACE = 24 + 4 * CLASSES + CLASSES * COLUMNS * (SEFR_SUM_BITS / 8) + 2 * FEATURES };
enum { WEIGHTS = CLASSES * (FEATURES * (SEFR_WEIGHT_BITS / 8) + 8) };
enum { STORAGE_BYTES = 2 * (PLACE + WEIGHTS) };
#include "ram_storage.h"

static void put_score(sefr_score score) {
    uint8_t i;
    int64_t value = score;
    for (i = 0; i < 8; i++, value >>= 8) board_put((uint8_t)value);
}

static uint8_t next_value(void *context) {
    (void)context;
    return board_get();
}

/* Puts a class where it would be after many records; never where no records could bring it, so that any bytes may be
 * commands. */
static void fill(uint8_t label, uint32_t count, uint32_t sum) {
    sefr_index j;
    label = (uint8_t)(label % CLASSES);
    if (SEFR_SUM_BITS == 8 && count > 254) count = 254;
    if (SEFR_SUM_BITS == 16 && count > 256) count = 256;
    if (SEFR_SUM_BITS == 32 && count > (1UL << 24) / CLASSES) count = (1UL << 24) / CLASSES;
    if (sum > (SEFR_BINS ? 1U : 255U) * count) sum = (SEFR_BINS ? 1U : 255U) * count;
    model.counts[label] = (sefr_count)count;
    for (j = 0; j < COLUMNS; j++) model.sums[label * COLUMNS + j] = (sefr_sum)sum;
}

static void dump(void) {
    sefr_index j;
    uint8_t row;
    for (j = 0; model.weights && j < SEFR_ROWS(CLASSES) * COLUMNS; j++) {
        board_put((uint8_t)model.weights[j]);
        board_put((uint8_t)(model.weights[j] >> 8));
    }
    for (row = 0; row < SEFR_ROWS(CLASSES); row++) put_score(model.bias[row]);
}

static void answer(sefr_status status, uint8_t label) {
    board_put((uint8_t)status);
    board_put(label);
}

static uint8_t run(uint8_t command) {
    uint8_t label = 0, row;
    uint32_t at, low;
    sefr_status status;
    static sefr_score scores[SEFR_ROWS(CLASSES)];
    switch (command) {
    case 'r': board_put((uint8_t)sefr_reset(&model)); sefr_reset(&other); break;
    case 'l': label = board_get(); board_put((uint8_t)sefr_learn(&model, get_record(), label)); break;
    case 'e':
        label = board_get();
        status = sefr_learn_each(&model, next_value, 0, label);
        board_put((uint8_t)status);
        break;
    case 'b': label = board_get(); board_put((uint8_t)sefr_learn_batch(&model, get_record(), &label, 1)); break;
    case 'o': label = board_get(); board_put((uint8_t)sefr_learn(&other, get_record(), label)); break;
    case 'f': label = board_get(); board_put((uint8_t)sefr_forget(&model, get_record(), label)); break;
    case 'd': board_put((uint8_t)sefr_decay(&model)); break;
    case 'm': board_put((uint8_t)sefr_merge(&model, &other)); break;
    case 's': board_put((uint8_t)sefr_solve(&model)); break;
    case 'c': status = sefr_classify(&model, get_record(), &label); answer(status, label); break;
    case 'y': status = sefr_classify_each(&model, next_value, 0, &label); answer(status, label); break;
    case 'v':
        status = sefr_scores(&model, get_record(), scores);
        board_put((uint8_t)status);
        for (row = 0; status == SEFR_OK && row < SEFR_ROWS(CLASSES); row++) put_score(scores[row]);
        break;
    case 'w': dump(); break;
    case 'x': board_put((uint8_t)sefr_send(&model, send_byte, 0)); break;
    case 'O': model.options = board_get(); break;
    case 'h': model.half_life = (sefr_count)(get_word() % (SEFR_MAX_RECORDS / 2) + 1); break;
    case 'M': model.margin = get_word(); break;
    case 'i': model.id = get_word(); break;
    case 'j': storage.block_bytes = get_word() % sizeof memory + 1; break;
#ifndef SEFR_NO_CORRECT
    case 'u': label = board_get(); board_put((uint8_t)sefr_correct(&model, get_record(), label)); break;
#endif
    case 'p': power = get_word(); board_put((uint8_t)sefr_save(&model, &storage)); break;
    case 'g': board_put((uint8_t)sefr_restore(&model, &storage)); break;
    case 'D': board_put((uint8_t)sefr_discard(&storage)); break;
    case 'k': at = get_word() % sizeof memory; memory[at] = board_get(); break;
    case 'z':
        for (at = 0; at < sizeof memory; at++) memory[at] = 0xFF;
        break;
    case 'n':
        label = board_get();
        at = get_word();
        fill(label, at, get_word());
        break;
    case 't':
        at = get_word();
        low = get_word();
        board_put(sefr_byte((int32_t)at, (int32_t)low, (int32_t)get_word()));
        break;
    default: return command != 'q' && command != 0; /* 0: the end of the input */
    }
    return 1;
}

int main(void) {
    while (run(board_get())) {
    }
    return 0;
}
