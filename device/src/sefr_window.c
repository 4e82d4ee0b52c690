/* By the definitions in sefr_window.h. Sums are made anew for each result: no error is carried along, and a sample costs
 * two bytes per axis and nothing else. */
#include "sefr_window.h"

void sefr_window_reset(sefr_window *window) {
    window->at = 0;
    window->missing = window->length;
}

uint8_t sefr_window_add(sefr_window *window, const int16_t *sample) {
    int16_t *place = window->samples + (uint32_t)window->at * window->axes;
    uint8_t axis;
    for (axis = 0; axis < window->axes; axis++) place[axis] = sample[axis];
    if (++window->at == window->length) window->at = 0;
    if (--window->missing) return 0;
    window->missing = window->hop;
    return 1;
}

/* For a divisor above 0. */
static int32_t floor_divide(int32_t a, int32_t b) { return a < 0 ? -((b - 1 - a) / b) : a / b; }

static void axis_features(const sefr_window *window, uint8_t axis, int32_t *features) {
    const int16_t *x = window->samples + (uint32_t)window->at * window->axes + axis;
    const int16_t *end = window->samples + (uint32_t)window->length * window->axes;
    int32_t sum = 0, mean;       /* |sum| <= 1024 * 2^15 = 2^25 */
    uint64_t squares = 0, above; /* <= 1024 * 2^30 = 2^40 */
    uint32_t difference = 0;     /* <= 1023 * 65535 < 2^26 */
    int16_t low = *x, high = *x, before = *x;
    uint16_t n = window->length, i, crossings = 0;
    uint8_t side;
    for (i = 0; i < n; i++) {
        int32_t change = (int32_t)*x - before;
        sum += *x;
        squares += (uint32_t)((int32_t)*x * *x);
        difference += (uint32_t)(change < 0 ? -change : change);
        if (*x < low) low = *x;
        if (*x > high) high = *x;
        before = *x;
        x += window->axes;
        if (x >= end) x -= (uint32_t)n * window->axes;
    }
    mean = floor_divide(sum, n); /* x is at the oldest sample again */
    side = *x >= mean;
    for (i = 0; i < n; i++) {
        if ((*x >= mean) != side) {
            side = !side;
            crossings++;
        }
        x += window->axes;
        if (x >= end) x -= (uint32_t)n * window->axes;
    }
    above = (uint64_t)n * squares - (uint64_t)((int64_t)sum * sum);
    features[0] = mean;
    features[1] = (int32_t)(above / ((uint32_t)n * n));
    features[2] = low;
    features[3] = high;
    features[4] = crossings;
    features[5] = (int32_t)(squares / n);
    features[6] = (int32_t)(difference / (uint16_t)(n - 1));
}

void sefr_window_features(const sefr_window *window, int32_t *features) {
    uint8_t axis;
    for (axis = 0; axis < window->axes; axis++) axis_features(window, axis, features + SEFR_WINDOW_EACH * axis);
}
