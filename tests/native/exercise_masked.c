/* Sums of columns of few groups, and of the same values as rows, as bits: exercise_masked SEED COUNT. What is written
   for AVX2 and what is portable print the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"

static uint32_t state;
static uint32_t draw(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(state >> 4) * below) >> 28);
}

static void print_bits(const char *name, const double *values, ptrdiff_t n) {
    printf("%s", name);
    for (ptrdiff_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        printf(" %016llx", (unsigned long long)bits);
    }
    printf("\n");
}

/* A value of any kind: huge, tiny, negative, zero of either sign; with `wild`, NaN and infinity too. */
static double any_value(int wild) {
    static const double odd[] = {0.0, -0.0, 1e30, -1e30, 1e-30, 3.0, INFINITY, NAN};
    return draw(4) ? (double)draw(1000) / 7.0 - 50.0 : odd[draw(wild ? 8 : 6)];
}

static void summarise(const struct table *x, const struct grouping *by) {
    const ptrdiff_t k = by->n_groups, m = x->m;
    double *sums = malloc((size_t)(k * m) * 8), *counts = malloc((size_t)k * 8);
    double *low = malloc((size_t)m * 8), *high = malloc((size_t)m * 8);
    if (!sums || !counts || !low || !high) exit(3);
    const struct totals totals = {sums, counts, low, high, NULL};
    const enum outcome outcome = sefr_summarise(x, by, &totals, 1 + (int)draw(3));
    printf("%d %d %d\n", (int)x->type, (int)k, (int)outcome);
    if (outcome == FINITE) {
        print_bits("sums", sums, k * m), print_bits("counts", counts, k);
        print_bits("low", low, m), print_bits("high", high, m);
    }
    free(sums), free(counts), free(low), free(high);
}

/* Wide rows, with more of a group than 16 bits hold the sums of. */
static void many_wide_rows(ptrdiff_t n, int32_t k) {
    const ptrdiff_t m = 4097 + draw(300);
    char *x = malloc((size_t)(n * m));
    int32_t *codes = malloc((size_t)n * sizeof *codes);
    if (!x || !codes) exit(3);
    for (ptrdiff_t i = 0; i < n * m; i++) x[i] = (char)(i % 7 ? 255 : draw(256));
    for (ptrdiff_t i = 0; i < n; i++) codes[i] = draw(50) ? (int32_t)draw((uint32_t)k) : -1;
    summarise(&(struct table){n, m, x, m, 1, U8, NULL}, &(struct grouping){codes, NULL, k, k});
    free(x), free(codes);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    state = (uint32_t)atol(argv[1]);
    for (long round = 0; round < atol(argv[2]); round++) {
        const ptrdiff_t n = 1 + draw(round % 8 ? 200 : 40000), m = 1 + draw(draw(8) ? 10 : 40);
        const int32_t k = draw(2) ? 2 : 1 + (int32_t)draw(18);
        const enum dtype types[] = {F32, F64, U8}, type = types[draw(3)];
        const ptrdiff_t size = (ptrdiff_t)dtype_size(type);
        char *x = malloc((size_t)(n * m * size)); /* of their size to the byte: reading beyond is an error */
        int32_t *codes = malloc((size_t)n * sizeof *codes);
        char *bytes = malloc((size_t)n);
        if (!x || !bytes || !codes) return 3;
        const int wild = !draw(6), left_out = !draw(4), full = !draw(3); /* full: sums as large as they can be */
        const uint32_t below = 1 + draw(256);
        for (ptrdiff_t i = 0; i < n * m; i++) {
            const double value = any_value(wild);
            const float narrow = (float)value;
            if (type == F64) memcpy(x + i * size, &value, sizeof value);
            if (type == F32) memcpy(x + i * size, &narrow, sizeof narrow);
            if (type == U8) x[i] = (char)(full && draw(3) ? 255 : draw(below));
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            codes[i] = full && draw(20) ? k - 1 : (int32_t)draw((uint32_t)k);
            if (left_out && !draw(50)) codes[i] = -1;
        }
        const struct table table = {n, m, x, size, n * size, type, NULL};
        struct column own[40];
        for (ptrdiff_t j = 0; j < m; j++) own[j] = (struct column){x + j * n * size, size, type};
        for (ptrdiff_t i = 0; i < n; i++) bytes[i] = (char)draw(below);
        if (draw(2)) own[draw((uint32_t)m)] = (struct column){bytes, 1, U8}; /* beside columns of another type */
        const struct table columns = {n, m, NULL, 0, 0, type, own};
        const struct grouping by = {codes, NULL, k, k};
        summarise(m > 1 && draw(2) ? &table : &columns, &by);
        const ptrdiff_t width = 1 + draw(draw(4) ? 90 : 270), rows = n * m / width < n ? n * m / width : n;
        summarise(&(struct table){rows, width, x, width * size, size, type, NULL}, &by);
        const ptrdiff_t wide = 4096 / size + draw(300), few = n * m / wide; /* sorted by group */
        if (few && draw(4) == 0) summarise(&(struct table){few, wide, x, wide * size, size, type, NULL}, &by);
        free(x), free(bytes), free(codes);
    }
    many_wide_rows(900, 3), many_wide_rows(4200, 2);
    return 0;
}
