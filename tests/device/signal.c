/* Records of a signal: a count, then samples of AXES int16 each; every record comes out, then the number of clipped
 * samples. From the first whole window on there is a mark before and after every sample. */
#include "board.h"
#include "sefr_signal.h"

static const uint8_t dilations[] = {DILATIONS};
static const int16_t ranges[][2] = {RANGES};
SEFR_SIGNAL(signal, AXES, LENGTH, HOP, dilations, KERNELS, THRESHOLDS, SEGMENTS, ranges)

static uint32_t get(uint8_t bytes) {
    uint32_t value = 0;
    uint8_t i;
    for (i = 0; i < bytes; i++) value |= (uint32_t)board_get() << (8 * i);
    return value;
}

int main(void) {
    uint32_t n = get(4), seen = 0;
    board_put(sefr_signal_reset(&signal));
    for (; n; n--) {
        int16_t sample[AXES];
        uint16_t i;
        uint8_t complete;
        for (i = 0; i < AXES; i++) sample[i] = (int16_t)get(2);
        if (++seen >= LENGTH) board_mark();
        complete = sefr_signal_add(&signal, sample);
#ifdef FINISH
        complete |= sefr_signal_finish(&signal);
#endif
        if (seen >= LENGTH) board_mark();
        if (!complete) continue;
        for (i = 0; i < sizeof signal_record; i++) board_put(signal_record[i]);
        board_put((uint8_t)signal.clipped);
        board_put((uint8_t)(signal.clipped >> 8));
    }
    return 0;
}
