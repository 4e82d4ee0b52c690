/* sefr_regress behind a line of bytes, as conformance.c is for classes. Any bytes may be commands. INPUTS comes from the
 * command line. */
#include "board.h"
#include "sefr_regress.c"

SEFR_REGRESS(model, INPUTS)
#ifdef ALONE /* a large model, and nothing beside it */
#define other model
enum { FEATURES = INPUTS, STORAGE_BYTES = 1 };
#else
SEFR_REGRESS(other, INPUTS)
enum { FEATURES = INPUTS, STORAGE_BYTES = 2 * SEFR_REGRESS_STATE_BYTES(INPUTS) };
#endif
#include "ram_storage.h"

static void put(uint64_t value, uint8_t bytes) {
    for (; bytes; bytes--, value >>= 8) board_put((uint8_t)value);
}

static int16_t get_number(void) {
    uint8_t low = board_get();
    return (int16_t)(low | board_get() << 8);
}

static uint8_t run(uint8_t command) {
    const uint8_t *record;
    uint8_t curve[17], i;
    int16_t y = 0;
    uint32_t at;
    switch (command) {
    case 'r': put(sefr_regress_reset(&model), 1); sefr_regress_reset(&other); break;
    case 'l': record = get_record(); put(sefr_regress_learn(&model, record, get_number()), 1); break;
    case 'o': record = get_record(); put(sefr_regress_learn(&other, record, get_number()), 1); break;
    case 'f': record = get_record(); put(sefr_regress_forget(&model, record, get_number()), 1); break;
    case 'T': /* times the cost of learning, solving, answering */
        record = get_record();
        y = get_number();
        board_mark();
        sefr_regress_learn(&model, record, y);
        board_mark();
        sefr_regress_solve(&model);
        board_mark();
        sefr_regress_answer(&model, record, &y);
        board_mark();
        put((uint16_t)y, 2);
        break;
    case 'n': /* as after many records */
        model.count = (uint16_t)get_number();
        model.total = (int32_t)get_word();
        for (i = 0; i < INPUTS; i++) {
            model.sums[i] = get_word();
            model.products[i].low = get_word();
            model.products[i].high = (int8_t)board_get();
        }
        for (at = 0; at < SEFR_TRIANGLE(INPUTS); at++) model.squares[at] = get_word();
        break;
    case 'd': put(sefr_regress_decay(&model), 1); break;
    case 'm': put(sefr_regress_merge(&model, &other), 1); break;
    case 's':
        put(sefr_regress_solve(&model), 1);
        for (i = 0; i < INPUTS; i++) put((uint16_t)model.weights[i], 2);
        put((uint32_t)model.bias, 4);
        put((uint8_t)model.shift, 1);
        break;
    case 'c': put(sefr_regress_answer(&model, get_record(), &y), 1); put((uint16_t)y, 2); break;
    case 'x': put(sefr_regress_send(&model, send_byte, 0), 1); break;
    case 'h': model.half_life = (uint16_t)get_number(); break;
    case 'i': model.id = get_word(); break;
    case 'p': power = get_word(); put(sefr_regress_save(&model, &storage), 1); break;
    case 'g': put(sefr_regress_restore(&model, &storage), 1); break;
    case 'k': at = get_word() % sizeof memory; memory[at] = board_get(); break;
    case 'z': for (at = 0; at < sizeof memory; at++) memory[at] = 0xFF; break;
    case 'H':
        i = board_get();
        if (i < 2 || i > 17) return 0;
        sefr_regress_hats(board_get(), i, curve);
        for (at = 0; at < i; at++) board_put(curve[at]);
        break;
    default: return command != 'q' && command != 0;
    }
    return 1;
}

int main(void) {
    while (run(board_get())) {
    }
    return 0;
}
