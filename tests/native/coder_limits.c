/* Edges, starts and ferns at the limits of their types, for UndefinedBehaviorSanitizer: each is taken or refused. */
#include <float.h>
#include <stdint.h>
#include <stdio.h>

#include "cells/coding.h"

static double edges[255];
static struct comparison comparisons[16];

static void prepare(const char *name, const struct edges *given, ptrdiff_t n_values) {
    struct coder coder;
    printf("%s: %d\n", name, (int)sefr_prepare_coder(&coder, given, n_values));
    fflush(stdout);
    sefr_free_coder(&coder);
}

static void prepare_edges(const char *name, double first, double step) {
    const int64_t starts[] = {0, 20};
    for (int i = 0; i < 20; i++) edges[i] = first + i * step;
    prepare(name, &(struct edges){.values = edges, .starts = starts, .m = 1}, 20);
}

static void prepare_starts(const char *name, int64_t second, int64_t third) {
    const int64_t starts[] = {0, second, third};
    prepare(name, &(struct edges){.values = edges, .starts = starts, .m = 2}, third);
}

static void prepare_ferns(const char *name, int64_t second, int64_t third) {
    const int64_t starts[] = {0, 2}, ferns[] = {0, second, third};
    const struct edges given = {.values = edges,
                                .starts = starts,
                                .m = 1,
                                .ferns = ferns,
                                .comparisons = comparisons,
                                .n_ferns = 2,
                                .n_comparisons = 16};
    prepare(name, &given, 2);
}

int main(void) {
    prepare_edges("plain", 0, 1);
    prepare_edges("one float32", 1, 2.3e-16);
    prepare_edges("below float32", 0, 1e-320);
    prepare_edges("a shift beyond float32", 3e38, 4e31);
    prepare_edges("beyond float32", 1e300, 1e299);
    prepare_edges("half of float64", -DBL_MAX, DBL_MAX / 20);
    prepare_starts("starts fall", 5, INT64_MIN);
    prepare_starts("starts below 0", INT64_MIN, 5);
    prepare_starts("starts beyond", INT64_MAX, INT64_MAX);
    prepare_edges("plain again", 0, 1);
    prepare_ferns("ferns fall", 8, INT64_MIN);
    prepare_ferns("ferns below 0", INT64_MIN, 8);
    prepare_ferns("ferns beyond", 8, INT64_MAX);
    prepare_ferns("ferns", 8, 16);
    return 0;
}
