#include "signals/signals.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/dtype.h"
#include "common/threads.h"

enum {
    TAPS = 9,
    TOP = 2047,        /* the highest value of a normalised window: |c| <= 6 * 2047 < 2^14 */
    LANES = 32,        /* positions are counted in whole vectors */
    NEVER = -30000,    /* a pair of taps past the end: with the third, at most 3 * 2047, below every bound */
    FURTHEST = 6 * TOP /* of c from 0 */
};

/* One window of one axis, normalised: its samples once and threefold, with the ends repeated for the widest kernel. */
struct scratch {
    int16_t *once, *threefold; /* pad + length + pad, and a vector more */
    int16_t *whole, *pair, *convolved;
    ptrdiff_t pad;
};

static ptrdiff_t rounded_up(ptrdiff_t n) { return (n + LANES - 1) / LANES * LANES; }

static bool get_scratch(const struct signal_plan *plan, struct scratch *scratch) {
    ptrdiff_t widest = 1;
    for (ptrdiff_t i = 0; i < plan->n_dilations; i++) {
        if (plan->dilations[i] > widest) widest = plan->dilations[i];
    }
    const ptrdiff_t lanes = rounded_up(plan->length), padded = lanes + 8 * widest;
    int16_t *memory = calloc((size_t)(2 * padded + 3 * lanes), sizeof *memory);
    scratch->once = memory;
    if (!memory) return false;
    scratch->threefold = memory + padded;
    scratch->whole = memory + 2 * padded;
    scratch->pair = scratch->whole + lanes;
    scratch->convolved = scratch->pair + lanes;
    scratch->pad = 4 * widest;
    return true;
}

struct extremes {
    int32_t low, high;
};

static struct extremes find_extremes(const int32_t *x, ptrdiff_t n) {
    int32_t low = x[0], high = x[0];
    for (ptrdiff_t p = 1; p < n; p++) {
        low = x[p] < low ? x[p] : low;
        high = x[p] > high ? x[p] : high;
    }
    return (struct extremes){low, high};
}

static void normalise(const int32_t *x, ptrdiff_t n, struct extremes found, struct scratch *scratch) {
    int shift = 0;
    int16_t *once = scratch->once + scratch->pad;
    while ((found.high - found.low) >> shift > TOP) shift++;
    for (ptrdiff_t p = 0; p < n; p++) once[p] = (int16_t)((x[p] - found.low) >> shift);
    for (ptrdiff_t p = 0; p < scratch->pad; p++) {
        scratch->once[p] = once[0];
        once[n + p] = once[n - 1];
    }
    for (ptrdiff_t p = 0; p < n + 2 * scratch->pad; p++) scratch->threefold[p] = (int16_t)(3 * scratch->once[p]);
}

static int32_t find_spread(const int16_t *u, ptrdiff_t n, ptrdiff_t d) {
    int32_t sum = 0; /* 4096 * 2047 < 2^23 */
    for (ptrdiff_t p = d; p < n; p++) sum += u[p] > u[p - d] ? u[p] - u[p - d] : u[p - d] - u[p];
    sum /= (int32_t)(n - d);
    return sum ? sum : 1;
}

/* t spread / 8, rounded down, without a branch that no processor foresees. |t spread| <= 128 * 2047 < 2^18. Below the
   furthest c a bound means all positions, and must stay above NEVER. */
static int16_t find_bound(int32_t spread, int8_t level) {
    const int32_t bound = ((spread * level + (1 << 18)) >> 3) - (1 << 15);
    return (int16_t)(bound < -FURTHEST - 1 ? -FURTHEST - 1 : bound);
}

/* At most 4096 positions: 16 bits hold the count. */
INLINE uint16_t count_above(const int16_t *restrict c, ptrdiff_t lanes, int16_t bound) {
    uint16_t count = 0;
    for (ptrdiff_t p = 0; p < lanes; p++) count = (uint16_t)(count + (c[p] > bound));
    return count;
}

INLINE uint16_t count_sum_above(const int16_t *restrict a, const int16_t *restrict b, ptrdiff_t lanes, int16_t bound) {
    uint16_t count = 0;
    for (ptrdiff_t p = 0; p < lanes; p++) count = (uint16_t)(count + ((int16_t)(a[p] + b[p]) > bound));
    return count;
}

/* The counts of one axis and dilation: kernels first, first + stride, ... of the 84. */
struct group {
    const struct scratch *scratch;
    ptrdiff_t length, dilation, first, stride, thresholds;
    const int8_t *levels;
    uint32_t scale; /* 255 * 2^16 / length */
    uint8_t *features;
};

INLINE void add_pair(const struct group *group, const int16_t *restrict a, const int16_t *restrict b, ptrdiff_t lanes) {
    int16_t *restrict pair = group->scratch->pair;
    const int16_t *restrict whole = group->scratch->whole;
    for (ptrdiff_t p = 0; p < lanes; p++) pair[p] = (int16_t)(a[p] + b[p] - whole[p]);
    for (ptrdiff_t p = group->length; p < lanes; p++) pair[p] = NEVER;
}

INLINE uint8_t byte_of(const struct group *group, uint16_t count) {
    return (uint8_t)((count * group->scale + (1U << 15)) >> 16);
}

CLONES static void count_group(const struct group *group) {
    const struct scratch *scratch = group->scratch;
    const ptrdiff_t lanes = rounded_up(group->length), d = group->dilation;
    const int16_t *tap[TAPS];
    const int8_t *level = group->levels;
    uint8_t *out = group->features;
    int16_t *restrict whole = scratch->whole;
    const int32_t spread = find_spread(scratch->once + scratch->pad, group->length, d);
    ptrdiff_t number = 0, next = group->first;
    for (int i = 0; i < TAPS; i++) tap[i] = scratch->threefold + scratch->pad + (i - 4) * d;
    memset(whole, 0, (size_t)lanes * sizeof *whole);
    for (int i = 0; i < TAPS; i++) {
        const int16_t *restrict once = scratch->once + scratch->pad + (i - 4) * d;
        for (ptrdiff_t p = 0; p < lanes; p++) whole[p] = (int16_t)(whole[p] + once[p]);
    }
    for (int i = 0; i < TAPS - 2; i++) {
        for (int j = i + 1; j < TAPS - 1; j++) {
            bool paired = false;
            for (int l = j + 1; l < TAPS; l++, number++) {
                if (number != next) continue;
                next += group->stride;
                if (!paired) add_pair(group, tap[i], tap[j], lanes);
                paired = true;
                if (group->thresholds == 1) {
                    *out++ =
                        byte_of(group, count_sum_above(scratch->pair, tap[l], lanes, find_bound(spread, *level++)));
                    continue;
                }
                int16_t *restrict c = scratch->convolved;
                const int16_t *restrict pair = scratch->pair, *restrict third = tap[l];
                for (ptrdiff_t p = 0; p < lanes; p++) c[p] = (int16_t)(pair[p] + third[p]);
                for (ptrdiff_t t = 0; t < group->thresholds; t++) {
                    *out++ = byte_of(group, count_above(c, lanes, find_bound(spread, *level++)));
                }
            }
        }
    }
}

/* Eight steps per octave: e = floor(log2(v + 1)), then three bits of what follows. v < 2^32 - 1: at most 255. */
static uint8_t logarithm(uint64_t v) {
    unsigned e = 0;
    while ((v + 1) >> (e + 1)) e++;
    return (uint8_t)(8 * e + ((v + 1) * 8 >> e) - 8);
}

static int32_t floor_divide(int64_t a, int64_t b) { return (int32_t)(a < 0 ? -((b - 1 - a) / b) : a / b); }

static uint8_t level_of(int32_t value, int32_t low, int32_t high) {
    if (value <= low) return 0;
    if (value >= high) return 255;
    return (uint8_t)((INT64_C(255) * (value - low) + (high - low) / 2) / (high - low));
}

struct sums {
    int64_t values;
    uint64_t steps; /* 4095 * 2^28 < 2^40 */
    uint32_t shape;
};

static struct sums add_up(const int32_t *x, const int16_t *u, ptrdiff_t from, ptrdiff_t to) {
    struct sums sums = {x[from], 0, (uint32_t)u[from]};
    for (ptrdiff_t p = from + 1; p < to; p++) {
        sums.values += x[p];
        sums.steps += (uint64_t)(x[p] > x[p - 1] ? x[p] - x[p - 1] : x[p - 1] - x[p]);
        sums.shape += (uint32_t)u[p];
    }
    return sums;
}

static void statistics(const struct signal_plan *plan, ptrdiff_t axis, const int32_t *x, struct extremes found,
                       const int16_t *u, uint8_t *out) {
    const ptrdiff_t n = plan->length;
    const int32_t low = plan->lowest[axis], high = plan->highest[axis];
    const struct sums all = add_up(x, u, 0, n);
    const int32_t mean = floor_divide(all.values, n);
    uint64_t deviation = 0;
    for (ptrdiff_t p = 0; p < n; p++) deviation += (uint64_t)(x[p] > mean ? x[p] - mean : mean - x[p]);
    *out++ = level_of(mean, low, high);
    *out++ = level_of(found.low, low, high);
    *out++ = level_of(found.high, low, high);
    *out++ = logarithm(16 * (uint64_t)(found.high - found.low));
    *out++ = logarithm(16 * all.steps / (uint64_t)(n - 1));
    *out++ = logarithm(16 * deviation / (uint64_t)n);
    for (ptrdiff_t k = 0; k < plan->segments; k++) {
        const ptrdiff_t from = k * n / plan->segments, to = (k + 1) * n / plan->segments;
        const struct sums part = add_up(x, u, from, to);
        *out++ = level_of(floor_divide(part.values, to - from), low, high);
        *out++ = (uint8_t)(part.shape / (uint32_t)(to - from) >> 3);
        *out++ = logarithm(16 * part.steps / (uint64_t)(to - from - 1));
    }
}

struct job {
    const struct signal_plan *plan;
    const int32_t *windows;
    ptrdiff_t n;
    uint8_t *features;
    atomic_bool failed;
};

enum { WINDOWS_PER_TASK = 16 };

static void one_window(const struct signal_plan *plan, const int32_t *window, struct scratch *scratch,
                       uint8_t *features) {
    const ptrdiff_t each = plan->kernels * plan->thresholds, counts = signal_counts(plan);
    const ptrdiff_t stride = SIGNAL_KERNELS / plan->kernels;
    ptrdiff_t g = 0;
    for (ptrdiff_t axis = 0; axis < plan->axes; axis++) {
        const int32_t *x = window + axis * plan->length;
        const struct extremes found = find_extremes(x, plan->length);
        normalise(x, plan->length, found, scratch);
        for (ptrdiff_t i = 0; i < plan->n_dilations; i++, g++) {
            count_group(&(struct group){.scratch = scratch,
                                        .length = plan->length,
                                        .dilation = plan->dilations[i],
                                        .first = g % stride,
                                        .stride = stride,
                                        .thresholds = plan->thresholds,
                                        .levels = plan->levels + g * each,
                                        .scale = (255U << 16) / (uint32_t)plan->length,
                                        .features = features + g * each});
        }
        if (plan->segments) {
            statistics(plan, axis, x, found, scratch->once + scratch->pad,
                       features + counts + axis * (SIGNAL_WHOLE + SIGNAL_PER_SEGMENT * plan->segments));
        }
    }
}

static void some_windows(void *context, ptrdiff_t task, int worker) {
    struct job *job = context;
    const struct signal_plan *plan = job->plan;
    const ptrdiff_t width = signal_counts(plan) + signal_statistics(plan), first = task * WINDOWS_PER_TASK;
    struct scratch scratch;
    (void)worker;
    if (!get_scratch(plan, &scratch)) {
        atomic_store(&job->failed, true);
        return;
    }
    for (ptrdiff_t i = first; i < job->n && i < first + WINDOWS_PER_TASK; i++) {
        one_window(plan, job->windows + i * plan->axes * plan->length, &scratch, job->features + i * width);
    }
    free(scratch.once);
}

bool sefr_signal_features(const struct signal_plan *plan, const int32_t *windows, ptrdiff_t n, uint8_t *features,
                          int n_threads) {
    struct job job = {plan, windows, n, features, false};
    sefr_run_tasks(some_windows, &job, (n + WINDOWS_PER_TASK - 1) / WINDOWS_PER_TASK, n_threads);
    return !atomic_load(&job.failed);
}
