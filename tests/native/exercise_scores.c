/* Scores random tables of every type, all rows, listed rows and columns of float64, which are to be the same to the
   bit, and prints what comes out. Every buffer has exactly the size it needs. exercise_scores SEED ROUNDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"

static uint64_t state;

static uint32_t next(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void *memory(size_t size) {
    void *found = calloc(size ? size : 1, 1);
    if (!found) exit(3);
    return found;
}

/* One number of all bits that came out. */
static uint64_t digest(const void *data, size_t size) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

static double random_number(void) { return ((double)next(1 << 30) - (1 << 29)) / (1 << 20); }

/* A value of the type, any of it, and the same as float64. */
static double make_value(enum dtype type, void *to) {
    const uint64_t bits = (uint64_t)next(1u << 31) << 33 | (uint64_t)next(1u << 31) << 2 | next(4);
    switch (type) {
#define CASE(tag, T, ...)                                         \
    case tag: {                                                   \
        T value;                                                  \
        memcpy(&value, &bits, sizeof value);                      \
        if (tag == F32 || tag == F64) value = (T)random_number(); \
        memcpy(to, &value, sizeof value);                         \
        return (double)value;                                     \
    }
        SEFR_EACH_DTYPE(CASE)
#undef CASE
    default: exit(4);
    }
}

static void run_round(void) {
    const enum dtype type = (enum dtype)next(N_DTYPES);
    const ptrdiff_t n = 1 + (ptrdiff_t)(next(4) ? next(200) : next(9000)), m = 1 + (ptrdiff_t)next(next(4) ? 20 : 80);
    const ptrdiff_t size = (ptrdiff_t)dtype_size(type), row = size * (m + (ptrdiff_t)next(3));
    char *data = memory((size_t)((n - 1) * row + m * size));
    double *wide = memory((size_t)(n * m) * 8), *coef = memory((size_t)m * 8), *found[3];
    int64_t *rows = memory((size_t)n * sizeof *rows);
    struct column *columns = memory((size_t)m * sizeof *columns);
    const double intercept = random_number();
    for (ptrdiff_t j = 0; j < m; j++) {
        coef[j] = random_number();
        columns[j] = (struct column){(char *)(wide + j * n), 8, F64};
        for (ptrdiff_t i = 0; i < n; i++) wide[j * n + i] = make_value(type, data + i * row + j * size);
    }
    const struct table x = {n, m, data, row, size, type, NULL}, by_columns = {n, m, NULL, 0, 0, F64, columns};
    for (int w = 0; w < 3; w++) found[w] = memory((size_t)n * 8);
    for (ptrdiff_t i = 0; i < n; i++) rows[i] = i;
    sefr_scores(&x, coef, &intercept, 1, NULL, n, found[0], 1 + (int)next(3));
    sefr_scores(&x, coef, &intercept, 1, rows, n, found[1], 1);
    sefr_scores(&by_columns, coef, &intercept, 1, NULL, n, found[2], 1);
    printf("%016llx\n", (unsigned long long)digest(found[0], (size_t)n * 8));
    for (int w = 1; w < 3; w++) {
        if (memcmp(found[0], found[w], (size_t)n * 8) == 0) continue;
        fprintf(stderr, "type %d, %td x %td, way %d\n", type, n, m, w);
        exit(5);
    }
    for (int w = 0; w < 3; w++) free(found[w]);
    free(data), free(wide), free(coef), free(rows), free(columns);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    state = strtoull(argv[1], NULL, 10);
    for (long left = strtol(argv[2], NULL, 10); left > 0; left--) run_round();
    return 0;
}
