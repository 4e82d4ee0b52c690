/* sefr_normal and sefr_drift behind a line of bytes, as conformance.c is for the rest. Any bytes may be commands. */
#include "board.h"
#include "sefr_drift.h"
#include "sefr_normal.h"

enum { STORAGE_BYTES = 3 * SEFR_NORMAL_STATE_BYTES(FEATURES) + 5 }; /* three states */
#include "ram_storage.h"

SEFR_NORMAL(normal, FEATURES)
static sefr_drift drift = SEFR_DRIFT(1, 8);

static void put(uint64_t value, uint8_t bytes) {
    for (; bytes; bytes--, value >>= 8) board_put((uint8_t)value);
}

static void dump(void) {
    sefr_index j;
    for (j = 0; j < FEATURES; j++) {
        put(normal.means[j], 1);
        put(normal.scales[j], 2);
    }
    put(normal.threshold, 4);
}

static void lead(void) {
    sefr_score scores[4];
    uint8_t rows = (uint8_t)(board_get() % 4 + 1), i;
    for (i = 0; i < rows; i++) scores[i] = (sefr_score)(int32_t)get_word() * (sefr_score)(SEFR_WEIGHT_BITS == 16 ? 1L << 20 : 1);
    put(sefr_lead(scores, rows), 4);
}

static uint8_t run(uint8_t command) {
    sefr_status status;
    uint32_t score = 0;
    switch (command) {
    case 'r': put(sefr_normal_reset(&normal), 1); break;
    case 'l': put(sefr_normal_learn(&normal, get_record()), 1); break;
    case 's': put(sefr_normal_solve(&normal), 1); break;
    case 'w': put(sefr_normal_watch(&normal, get_record()), 1); break;
    case 'c': put(sefr_normal_check(&normal, get_record()), 1); break;
    case 'v':
        status = sefr_normal_score(&normal, get_record(), &score);
        put(status, 1);
        put(score, 4);
        break;
    case 'h': normal.half_life = (uint16_t)(board_get() % 130); put(sefr_normal_reset(&normal), 1); break;
    case 'd': dump(); break;
    case 'S': put(sefr_normal_save(&normal, &storage), 1); break;
    case 'B': put(sefr_normal_restore(&normal, &storage), 1); break;
    case 'N': put(sefr_normal_send(&normal, send_byte, 0), 1); break;
    case 'i': normal.id = get_word(); break;
    case 'm': memory[get_word() % sizeof memory] = board_get(); break;
    case 'D':
        drift.length = (uint16_t)get_word();
        drift.blocks = board_get();
        drift.done = 0;
        drift.seen = 0;
        drift.sum = 0;
        break;
    case 'a': put(sefr_drift_watch(&drift, get_word()), 1); break;
    case 'R':
        put(drift.low, 8);
        put(drift.high, 8);
        break;
    case 'L': lead(); break;
    default: return command != 'q' && command != 0; /* 0: the end of the input */
    }
    return 1;
}

int main(void) {
    while (run(board_get())) {
    }
    return 0;
}
