/* By the definition in sefr_signal.h. A window is copied when it is complete and worked on while the next samples come,
 * one position of one group at a time: 84 sums of three taps. */
#include "sefr_signal.h"

#ifdef __AVR__
#include <avr/pgmspace.h>
#define TABLE PROGMEM
#define READ(address) ((int8_t)pgm_read_byte(address))
#else
#define TABLE
#define READ(address) (*(address))
#endif

#ifdef __GNUC__
#define SEFR_SIGNAL_ALONE __attribute__((noinline))
#else
#define SEFR_SIGNAL_ALONE
#endif
#if defined(__AVR__) && !defined(SEFR_PORTABLE)
#define SEFR_SIGNAL_AVR
#endif

#define TOP 2047
#define GOLDEN 40503U

/* Quantiles (i + 1/2) / 32 of the Laplace distribution of scale 32, that is 4 spreads. */
static const int8_t LAPLACE[32] TABLE = {-111, -76, -59, -49, -41, -34, -29, -24, -20, -17, -13, -11, -8, -5, -3, -1,
                                         1,    3,   5,   8,   11,  13,  17,  20,  24,  29,  34,  41,  49, 59, 76, 111};

static uint16_t group_size(const sefr_signal *signal) { return (uint16_t)signal->kernels * signal->thresholds; }

uint8_t sefr_signal_reset(sefr_signal *signal) {
    uint8_t i, sound = signal->n_dilations > 0;
    for (i = 0; i < signal->n_dilations; i++) {
        if (signal->dilations[i] == 0 || signal->dilations[i] >= signal->length) sound = 0;
    }
    for (i = 0; i < signal->axes; i++) {
        if (signal->ranges[i][0] >= signal->ranges[i][1]) sound = 0;
    }
    signal->at = 0;
    signal->missing = sound ? signal->length : 0;
    signal->axis = signal->axes;
    return sound;
}

/* Copies the window, axis by axis, and plans the work: all of it before the next window is due. */
static void begin_window(sefr_signal *signal) {
    int16_t *to = signal->window;
    uint8_t axis, p;
    uint32_t units = (uint32_t)signal->axes * (1 + (uint16_t)signal->n_dilations * signal->length);
    signal->clipped = 0;
    for (axis = 0; axis < signal->axes; axis++) {
        uint8_t from = signal->at;
        for (p = 0; p < signal->length; p++) {
            int16_t x = signal->samples[(uint16_t)from * signal->axes + axis];
            if (x <= signal->ranges[axis][0] || x >= signal->ranges[axis][1]) signal->clipped++;
            *to++ = x;
            if (++from == signal->length) from = 0;
        }
    }
    units = (units + signal->hop - 1) / signal->hop;
    signal->quota = units > 0xFFFFU ? 0xFFFFU : (uint16_t)units;
    signal->axis = 0;
    signal->dilation = 0;
    signal->position = 0;
    signal->normal = 0;
}

static uint16_t distance(int16_t a, int16_t b) { return a > b ? (uint16_t)a - (uint16_t)b : (uint16_t)b - (uint16_t)a; }

/* For a divisor above 0. */
static int32_t floor_divide(int32_t a, int32_t b) { return a < 0 ? -((b - 1 - a) / b) : a / b; }

static uint8_t level_of(int32_t value, const int16_t *range) {
    uint32_t width = (uint16_t)range[1] - (uint32_t)(uint16_t)range[0];
    width &= 0xFFFFU;
    if (value <= range[0]) return 0;
    if (value >= range[1]) return 255;
    return (uint8_t)((255UL * (uint32_t)(value - range[0]) + width / 2) / width);
}

static uint8_t logarithm(uint32_t v) {
    uint8_t e = 0;
    v++;
    while (v >> e > 1) e++;
    return (uint8_t)(8 * e + (uint8_t)((v << 3) >> e) - 8);
}

static uint8_t roughness(const int16_t *x, uint8_t n) {
    uint32_t steps = 0; /* 16 * 254 * 65535 < 2^32 */
    uint8_t p;
    for (p = 1; p < n; p++) steps += distance(x[p], x[p - 1]);
    return logarithm(16 * steps / (uint8_t)(n - 1));
}

static int32_t mean_of(const int16_t *x, uint8_t n) {
    int32_t sum = 0;
    uint8_t p;
    for (p = 0; p < n; p++) sum += x[p];
    return floor_divide(sum, n);
}

/* A segment is n samples from x + first: k N / segments. */
static uint8_t segment_start(const sefr_signal *signal, uint8_t k) {
    return (uint8_t)((uint16_t)k * signal->length / signal->segments);
}

/* Statistics of an axis but for the shapes, which need the window normalised. */
static void statistics(const sefr_signal *signal, const int16_t *x, int16_t low, int16_t high, uint8_t *out) {
    const int16_t *range = signal->ranges[signal->axis];
    uint8_t n = signal->length, p, k;
    int16_t mean = (int16_t)mean_of(x, n);
    uint32_t deviation = 0;
    for (p = 0; p < n; p++) deviation += distance(x[p], mean);
    out[0] = level_of(mean, range);
    out[1] = level_of(low, range);
    out[2] = level_of(high, range);
    out[3] = logarithm(16UL * distance(high, low));
    out[4] = roughness(x, n);
    out[5] = logarithm(16 * deviation / n);
    out += SEFR_SIGNAL_WHOLE;
    for (k = 0; k < signal->segments; k++) {
        uint8_t from = segment_start(signal, k), to = segment_start(signal, k + 1);
        out[0] = level_of(mean_of(x + from, (uint8_t)(to - from)), range);
        out[2] = roughness(x + from, (uint8_t)(to - from));
        out += SEFR_SIGNAL_PER_SEGMENT;
    }
}

/* Normalises the axis at work, and writes its statistics. */
static void begin_axis(sefr_signal *signal) {
    int16_t *x = signal->window + (uint16_t)signal->axis * signal->length;
    uint8_t *out = signal->record + (uint32_t)signal->axes * signal->n_dilations * group_size(signal) +
                   (uint16_t)signal->axis * SEFR_SIGNAL_STATISTICS(signal->segments);
    int16_t low = x[0], high = x[0];
    uint8_t p, k, shift = 0;
    for (p = 1; p < signal->length; p++) {
        if (x[p] < low) low = x[p];
        if (x[p] > high) high = x[p];
    }
    if (signal->segments) statistics(signal, x, low, high, out);
    while (distance(high, low) >> shift > TOP) shift++;
    for (p = 0; p < signal->length; p++) x[p] = (int16_t)(distance(x[p], low) >> shift);
    out += SEFR_SIGNAL_WHOLE + 1;
    for (k = 0; k < signal->segments; k++) {
        uint8_t from = segment_start(signal, k), to = segment_start(signal, k + 1);
        *out = (uint8_t)(mean_of(x + from, (uint8_t)(to - from)) >> 3);
        out += SEFR_SIGNAL_PER_SEGMENT;
    }
    signal->normal = 1;
}

static uint8_t *group_counts(const sefr_signal *signal) {
    return signal->record +
           ((uint32_t)signal->axis * signal->n_dilations + signal->dilation) * group_size(signal);
}

/* Bounds from the spread, and counts of 0. |t spread / 8| <= 111 * 2047 / 8 < 2^15. */
static void begin_group(const sefr_signal *signal) {
    const int16_t *u = signal->window + (uint16_t)signal->axis * signal->length;
    uint8_t d = signal->dilations[signal->dilation], p, *count = group_counts(signal);
    uint16_t size = group_size(signal), i, spread;
    uint16_t place = (uint16_t)((uint16_t)(count - signal->record) * GOLDEN);
    uint32_t sum = 0;
    int32_t bound;
    for (p = d; p < signal->length; p++) sum += distance(u[p], u[p - d]);
    spread = (uint16_t)(sum / (uint8_t)(signal->length - d));
    if (spread == 0) spread = 1;
    for (i = 0; i < size; i++) {
        place = (uint16_t)(place + GOLDEN);
        bound = (int32_t)spread * READ(&LAPLACE[place >> 11]);
        signal->bounds[i] = (int16_t)(bound < 0 ? -(int32_t)((uint32_t)(7 - bound) >> 3) : bound >> 3);
        count[i] = 0;
    }
}

/* The nine taps at a position, threefold, and their sum once. */
static int16_t read_taps(const sefr_signal *signal, int16_t *taps) {
    const int16_t *u = signal->window + (uint16_t)signal->axis * signal->length;
    uint8_t d = signal->dilations[signal->dilation], i;
    int16_t at = (int16_t)(signal->position - 4 * d), last = (int16_t)(signal->length - 1), whole = 0;
    for (i = 0; i < 9; i++) {
        int16_t value = u[at < 0 ? 0 : at > last ? last : at];
        whole = (int16_t)(whole + value); /* 9 * 2047 < 2^15 */
        taps[i] = (int16_t)(3 * value);
        at = (int16_t)(at + d);
    }
    return whole;
}

/* Counts n kernels that differ in their last tap. */
#ifdef SEFR_SIGNAL_AVR
/* Three pointers at once, of which gcc gives two: 21 cycles instead of 45 per kernel. */
#define COUNT_ROW(pair, taps, n, bound, count)                                                                      \
    do {                                                                                                            \
        uint8_t left_ = (n), low_, high_, other_;                                                                   \
        __asm__ volatile("push r28\n\tpush r29\n\tmovw r28, %[from]\n"                                              \
                         "1:\n\tld %[low], Y+\n\tld %[high], Y+\n\t"                                              \
                         "add %[low], %A[sum]\n\tadc %[high], %B[sum]\n\t"                                         \
                         "ld %[other], X+\n\tcp %[other], %[low]\n\t"                                              \
                         "ld %[other], X+\n\tcpc %[other], %[high]\n\t"                                            \
                         "ld %[other], Z\n\tbrge 2f\n\tinc %[other]\n"                                             \
                         "2:\n\tst Z+, %[other]\n\tdec %[left]\n\tbrne 1b\n\t"                                   \
                         "pop r29\n\tpop r28"                                                                      \
                         : "+x"(bound), "+z"(count), [left] "+l"(left_), [low] "=&l"(low_), [high] "=&l"(high_),    \
                           [other] "=&l"(other_)                                                                    \
                         : [sum] "l"(pair), [from] "l"(taps)                                                        \
                         : "memory");                                                                               \
    } while (0)
#else
#define COUNT_ROW(pair, taps, n, bound, count)                                                                      \
    do {                                                                                                            \
        const int16_t *tap_ = (taps), *end_ = tap_ + (n);                                                           \
        for (; tap_ < end_; tap_++, bound++, count++) {                                                             \
            if ((int16_t)((pair) + *tap_) > *bound) ++*count;                                                       \
        }                                                                                                           \
    } while (0)
#endif

/* Counts all kernels of the group at one position. By itself, where every register is free for it. */
static SEFR_SIGNAL_ALONE void count_all(const int16_t *taps, int16_t whole, const int16_t *bound, uint8_t *count) {
    uint8_t a, b;
    for (a = 0; a < 7; a++) {
        for (b = (uint8_t)(a + 1); b < 8; b++) {
            int16_t pair = (int16_t)(taps[a] + taps[b] - whole); /* |c| <= 6 * 2047 */
            const int16_t *third = taps + b + 1;
            COUNT_ROW(pair, third, (uint8_t)(8 - b), bound, count);
        }
    }
}

/* The same with every `stride`-th kernel from `first`, each with several thresholds. */
static void count_some(const sefr_signal *signal, const int16_t *taps, int16_t whole, uint8_t *count) {
    uint8_t stride = SEFR_SIGNAL_KERNELS / signal->kernels, a, b, c, t;
    uint8_t skip = (uint8_t)(((uint16_t)signal->axis * signal->n_dilations + signal->dilation) % stride);
    const int16_t *bound = signal->bounds;
    for (a = 0; a < 7; a++) {
        for (b = a + 1; b < 8; b++) {
            for (c = b + 1; c < 9; c++) {
                int16_t sum;
                if (skip--) continue;
                skip = (uint8_t)(stride - 1);
                sum = (int16_t)(taps[a] + taps[b] - whole + taps[c]);
                for (t = 0; t < signal->thresholds; t++) {
                    if (sum > *bound++) ++*count;
                    count++;
                }
            }
        }
    }
}

static void end_group(const sefr_signal *signal) {
    uint32_t scale = (255UL << 16) / signal->length;
    uint8_t *count = group_counts(signal);
    uint16_t size = group_size(signal), i;
    for (i = 0; i < size; i++) count[i] = (uint8_t)((count[i] * scale + (1UL << 15)) >> 16);
}

/* One unit of work: an axis begun, or a position of a group counted. */
static void work(sefr_signal *signal) {
    int16_t taps[9], whole;
    if (!signal->normal) {
        begin_axis(signal);
        return;
    }
    if (signal->position == 0) begin_group(signal);
    whole = read_taps(signal, taps);
    if (signal->kernels == SEFR_SIGNAL_KERNELS && signal->thresholds == 1) {
        count_all(taps, whole, signal->bounds, group_counts(signal));
    } else {
        count_some(signal, taps, whole, group_counts(signal));
    }
    if (++signal->position < signal->length) return;
    end_group(signal);
    signal->position = 0;
    if (++signal->dilation < signal->n_dilations) return;
    signal->dilation = 0;
    signal->normal = 0;
    signal->axis++;
}

static uint8_t work_on(sefr_signal *signal, uint16_t units) {
    if (signal->axis == signal->axes) return 0;
    for (; units && signal->axis < signal->axes; units--) work(signal);
    return signal->axis == signal->axes;
}

uint8_t sefr_signal_add(sefr_signal *signal, const int16_t *sample) {
    int16_t *place = signal->samples + (uint16_t)signal->at * signal->axes;
    uint8_t axis;
    if (signal->missing == 0) return 0;
    for (axis = 0; axis < signal->axes; axis++) place[axis] = sample[axis];
    if (++signal->at == signal->length) signal->at = 0;
    if (--signal->missing == 0) {
        signal->missing = signal->hop;
        begin_window(signal);
    }
    return work_on(signal, signal->quota);
}

uint8_t sefr_signal_finish(sefr_signal *signal) {
    if (signal->axis == signal->axes) return 0;
    while (signal->axis < signal->axes) work(signal);
    return 1;
}
