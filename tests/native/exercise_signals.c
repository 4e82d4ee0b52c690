/* Random plans and windows, in buffers of exactly their size: exercise_signals SEED ROUNDS. Prints a checksum of all
   features, which must be the same however the kernel was compiled. */
#include <stdio.h>
#include <stdlib.h>

#include "signals/signals.h"

static uint64_t state;

static uint32_t random_below(uint32_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(state >> 33) % n;
}

static void *exactly(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) exit(2);
    return memory;
}

static uint64_t round_of_it(void) {
    static const int divisors[] = {1, 2, 3, 4, 6, 7, 12, 14, 21, 28, 42, 84};
    struct signal_plan plan = {.length = 2 + random_below(140), .axes = 1 + random_below(3)};
    plan.n_dilations = 1 + random_below(3);
    plan.kernels = divisors[random_below(12)];
    plan.thresholds = 1 + random_below(3);
    plan.segments = random_below((uint32_t)plan.length / 2 + 1);
    const ptrdiff_t n = random_below(40), counts = signal_counts(&plan), width = counts + signal_statistics(&plan);
    int32_t *dilations = exactly((size_t)plan.n_dilations * sizeof *dilations);
    int32_t *ranges = exactly(2 * (size_t)plan.axes * sizeof *ranges);
    int8_t *levels = exactly((size_t)counts);
    int32_t *windows = exactly((size_t)(n * plan.axes * plan.length) * sizeof *windows);
    uint8_t *features = exactly((size_t)(n * width));
    const uint32_t spread = 1U << random_below(29); /* half of them within 16 bits */
    uint64_t sum = 0;
    for (ptrdiff_t i = 0; i < plan.n_dilations; i++)
        dilations[i] = 1 + (int32_t)random_below((uint32_t)plan.length - 1);
    for (ptrdiff_t i = 0; i < plan.axes; i++) {
        ranges[i] = (int32_t)random_below(spread) - (int32_t)(spread / 2);
        ranges[plan.axes + i] = ranges[i] + 1 + (int32_t)random_below(spread / 4 + 1);
    }
    for (ptrdiff_t i = 0; i < counts; i++) levels[i] = (int8_t)((int)random_below(256) - 128);
    for (ptrdiff_t i = 0; i < n * plan.axes * plan.length; i++) {
        windows[i] = (int32_t)random_below(spread) - (int32_t)(spread / 2);
        if (windows[i] < -SIGNAL_FURTHEST) windows[i] = -SIGNAL_FURTHEST;
    }
    plan.dilations = dilations;
    plan.levels = levels;
    plan.lowest = ranges;
    plan.highest = ranges + plan.axes;
    if (!sefr_signal_features(&plan, windows, n, features, 1 + (int)random_below(3))) exit(2);
    for (ptrdiff_t i = 0; i < n * width; i++) sum = sum * 31 + features[i];
    free(dilations);
    free(ranges);
    free(levels);
    free(windows);
    free(features);
    return sum;
}

int main(int argc, char **argv) {
    uint64_t sum = 0;
    if (argc != 3) return 2;
    state = strtoull(argv[1], NULL, 10);
    for (long left = strtol(argv[2], NULL, 10); left > 0; left--) sum = sum * 1000003 + round_of_it();
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
