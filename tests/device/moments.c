/* sefr_moments behind a line of bytes, as conformance.c is for sefr. Any bytes may be commands. FEATURES and CLASSES come
 * from the command line. */
#include "board.h"
#include "sefr_moments.c"

SEFR_MOMENTS(model, FEATURES, CLASSES)
#ifdef ALONE /* a large model, and nothing beside it */
#define other model
enum { STORAGE_BYTES = 1 };
#else
SEFR_MOMENTS(other, FEATURES, CLASSES)
enum { STORAGE_BYTES = 2 * SEFR_MOMENTS_STATE_BYTES(FEATURES, CLASSES) };
#endif
#include "ram_storage.h"

static void put(uint64_t value, uint8_t bytes) {
    for (; bytes; bytes--, value >>= 8) board_put((uint8_t)value);
}

static uint8_t run(uint8_t command) {
    static int32_t scores[CLASSES];
    const uint8_t *record;
    uint8_t label = 0, c;
    uint32_t at;
    switch (command) {
    case 'r': put(sefr_moments_reset(&model), 1); sefr_moments_reset(&other); break;
    case 'l': label = board_get(); put(sefr_moments_learn(&model, get_record(), label), 1); break;
    case 'o': label = board_get(); put(sefr_moments_learn(&other, get_record(), label), 1); break;
    case 'f': label = board_get(); put(sefr_moments_forget(&model, get_record(), label), 1); break;
    case 'T': /* times the cost of learning, solving, classifying */
        label = board_get();
        record = get_record();
        board_mark();
        sefr_moments_learn(&model, record, label);
        board_mark();
        sefr_moments_solve(&model);
        board_mark();
        sefr_moments_classify(&model, record, &label);
        board_mark();
        put(label, 1);
        break;
    case 'd': put(sefr_moments_decay(&model), 1); break;
    case 'm': put(sefr_moments_merge(&model, &other), 1); break;
    case 's': put(sefr_moments_solve(&model), 1); break;
    case 'w':
        for (at = 0; at < (uint32_t)FEATURES * CLASSES; at++) put((uint16_t)model.weights[at], 2);
        for (c = 0; c < CLASSES; c++) put((uint32_t)model.bias[c], 4);
        break;
    case 'c':
        record = get_record();
        put(sefr_moments_classify(&model, record, &label), 1);
        put(label, 1);
        if (sefr_moments_scores(&model, record, scores) == SEFR_OK) {
            for (c = 0; c < CLASSES; c++) put((uint32_t)scores[c], 4);
        }
        break;
    case 'x': put(sefr_moments_send(&model, send_byte, 0), 1); break;
    case 'h': model.half_life = get_word(); break;
    case 'i': model.id = get_word(); break;
    case 'p': power = get_word(); put(sefr_moments_save(&model, &storage), 1); break;
    case 'g': put(sefr_moments_restore(&model, &storage), 1); break;
    case 'k': at = get_word() % sizeof memory; memory[at] = board_get(); break;
    case 'z': for (at = 0; at < sizeof memory; at++) memory[at] = 0xFF; break;
    default: return command != 'q' && command != 0;
    }
    return 1;
}

int main(void) {
    while (run(board_get())) {
    }
    return 0;
}
