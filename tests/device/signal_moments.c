/* A board that learns a signal with second moments: raw samples in, nothing else. There are n steps, each a byte and, but
 * for BEGIN, AXES samples of int16. BEGIN: a recording begins. Else the byte is a label, under which a window that is
 * complete is learned, or ASK, and it is answered. What was done comes out: 'l' and the label, or 'a' and the answer; at
 * the end, the state. Marks lie around learning, around solving, which comes before the first answer, and around
 * answering. */
#include "board.h"
#include "sefr_moments.c"
#include "sefr_signal.h"

enum { ASK = 255, BEGIN = 254 };
static const uint8_t dilations[] = {DILATIONS};
static const int16_t ranges[][2] = {RANGES};
SEFR_SIGNAL(signal, AXES, LENGTH, HOP, dilations, KERNELS, 1, SEGMENTS, ranges)
SEFR_MOMENTS(model, FEATURES, CLASSES)
typedef char record_has_other_size[sizeof signal_record == FEATURES ? 1 : -1];

static uint32_t get(uint8_t bytes) {
    uint32_t value = 0;
    uint8_t i;
    for (i = 0; i < bytes; i++) value |= (uint32_t)board_get() << (8 * i);
    return value;
}

static void use(uint8_t label) {
    static uint8_t solved = 0;
    uint8_t answer = ASK;
    if (label != ASK) {
        board_mark();
        sefr_moments_learn(&model, signal_record, label);
        board_mark();
        solved = 0;
        board_put('l');
        board_put(label);
        return;
    }
    if (!solved) {
        board_mark();
        solved = sefr_moments_solve(&model) == SEFR_OK;
        board_mark();
    }
    board_mark();
    sefr_moments_classify(&model, signal_record, &answer);
    board_mark();
    board_put('a');
    board_put(answer);
}

static int put_byte(void *context, uint8_t value) {
    (void)context;
    board_put(value);
    return 0;
}

int main(void) {
    uint32_t n = get(4);
    sefr_moments_reset(&model);
    for (; n; n--) {
        int16_t sample[AXES];
        uint8_t i, what = (uint8_t)get(1);
        if (what == BEGIN) {
            sefr_signal_reset(&signal);
            continue;
        }
        for (i = 0; i < AXES; i++) sample[i] = (int16_t)get(2);
        if (sefr_signal_add(&signal, sample) || sefr_signal_finish(&signal)) use(what);
    }
    sefr_moments_send(&model, put_byte, 0);
    return 0;
}
