/* Features of windows of a signal, in integers: counts of convolutions, and statistics. Plain C: nothing here knows of
   Python. The definition stands in device/src/sefr_signal.h; boards and this file give the same bytes. */
#ifndef SEFR_SIGNALS_H
#define SEFR_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIGNAL_KERNELS = 84,
    SIGNAL_LONGEST = 4096,
    SIGNAL_WHOLE = 6,
    SIGNAL_PER_SEGMENT = 3,
    SIGNAL_FURTHEST = (1 << 27) - 1 /* of a sample from 0: 16 times a difference is below 2^32, its logarithm a byte */
};

struct signal_plan {
    ptrdiff_t length, axes; /* length 2 .. SIGNAL_LONGEST */
    const int32_t *dilations;
    ptrdiff_t n_dilations; /* each 1 .. length - 1 */
    ptrdiff_t kernels;     /* per axis and dilation, a divisor of 84 */
    ptrdiff_t thresholds;  /* per kernel */
    const int8_t *levels;  /* a threshold per count, in eighths of the spread */
    ptrdiff_t segments;    /* 0: no statistics; else at most length / 2 */
    const int32_t *lowest; /* range of each axis, lowest < highest, within SIGNAL_FURTHEST */
    const int32_t *highest;
};

static inline ptrdiff_t signal_counts(const struct signal_plan *plan) {
    return plan->axes * plan->n_dilations * plan->kernels * plan->thresholds;
}

static inline ptrdiff_t signal_statistics(const struct signal_plan *plan) {
    return plan->segments ? plan->axes * (SIGNAL_WHOLE + SIGNAL_PER_SEGMENT * plan->segments) : 0;
}

/* features (n x counts and statistics) of windows (n x axes x length), samples within SIGNAL_FURTHEST. False: no
   memory. */
bool sefr_signal_features(const struct signal_plan *plan, const int32_t *windows, ptrdiff_t n, uint8_t *features,
                          int n_threads);

#endif
