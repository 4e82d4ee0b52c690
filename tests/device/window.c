/* Windows of a signal: a count, then samples of AXES int16 each; every result comes out as int32, little endian. */
#include "board.h"
#include "sefr_window.h"

SEFR_WINDOW(window, AXES, LENGTH, HOP)

static uint32_t get(uint8_t bytes) {
    uint32_t value = 0;
    uint8_t i;
    for (i = 0; i < bytes; i++) value |= (uint32_t)board_get() << (8 * i);
    return value;
}

int main(void) {
    static int32_t features[SEFR_WINDOW_FEATURES(AXES)];
    uint32_t n = get(4);
    for (; n; n--) {
        int16_t sample[AXES];
        uint16_t i;
        for (i = 0; i < AXES; i++) sample[i] = (int16_t)get(2);
        if (!sefr_window_add(&window, sample)) continue;
        board_mark();
        sefr_window_features(&window, features);
        board_mark();
        for (i = 0; i < 4 * SEFR_WINDOW_FEATURES(AXES); i++) board_put((uint8_t)((uint32_t)features[i / 4] >> (8 * (i % 4))));
    }
    return 0;
}
