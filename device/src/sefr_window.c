/* By the definitions in sefr_window.h. Sums are made anew for each result: no error is carried along, and a sample costs
 * two bytes per axis and nothing else. */
#include "sefr_window.h"

#include "body/calls.h"

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

/* The samples of one axis, the oldest first. */
typedef struct {
    const int16_t *x; /* the oldest */
    uint16_t left;  /* samples from there to the end of the array, from where it goes on at its start */
    uint16_t length;
    uint8_t axes;
} axis_samples;

/* To the next sample, or to the first of the array. */
#define NEXT(x, s, left)                                                                                            \
    do {                                                                                                            \
        (x) += (s)->axes;                                                                                           \
        if (--(left) == 0) (x) -= (uint32_t)(s)->length * (s)->axes;                                                \
    } while (0)

/* Two loops, each with as few values as an AVR has registers for. */
SEFR_APART int32_t add_up(const axis_samples *s, uint64_t *squares) {
    const int16_t *x = s->x;
    int32_t sum = 0;   /* |sum| <= 1024 * 2^15 = 2^25 */
    uint32_t low = 0;  /* of the squares, <= 1024 * 2^30 = 2^40 */
    uint8_t high = 0;
    uint16_t n = s->length, left = s->left;
    do {
        int16_t value = *x;
        uint32_t square = (uint32_t)((int32_t)value * value);
        sum += value;
        low += square;
        if (low < square) high++;
        NEXT(x, s, left);
    } while (--n);
    *squares = (uint64_t)high << 32 | low;
    return sum;
}

SEFR_APART void compare(const axis_samples *s, int16_t mean, int32_t *features) {
    const int16_t *x = s->x;
    int16_t low = *x, high = *x, before = *x;
    uint32_t difference = 0; /* <= 1023 * 65535 < 2^26 */
    uint16_t n = s->length, left = s->left, crossings = 0;
    uint8_t side = *x >= mean;
    do {
        int16_t value = *x;
        if ((value >= mean) != side) {
            side = !side;
            crossings++;
        }
        difference += (uint16_t)(value > before ? (uint16_t)value - (uint16_t)before : (uint16_t)before - (uint16_t)value);
        if (value < low) low = value;
        if (value > high) high = value;
        before = value;
        NEXT(x, s, left);
    } while (--n);
    features[2] = low;
    features[3] = high;
    features[4] = crossings;
    features[6] = (int32_t)(difference / (uint16_t)(s->length - 1));
}

static void axis_features(const sefr_window *window, uint8_t axis, int32_t *features) {
    uint64_t squares, above;
    int32_t sum, mean;
    uint32_t n = window->length;
    axis_samples s;
    s.x = window->samples + (uint32_t)window->at * window->axes + axis;
    s.left = (uint16_t)(window->length - window->at);
    s.length = window->length;
    s.axes = window->axes;
    sum = add_up(&s, &squares);
    mean = floor_divide(sum, (int32_t)n);
    compare(&s, (int16_t)mean, features);
    above = n * squares - (uint64_t)((int64_t)sum * sum);
    features[0] = mean;
    features[1] = (int32_t)(above / (n * n));
    features[5] = (int32_t)(squares / n);
}

void sefr_window_features(const sefr_window *window, int32_t *features) {
    uint8_t axis;
    for (axis = 0; axis < window->axes; axis++) axis_features(window, axis, features + SEFR_WINDOW_EACH * axis);
}
