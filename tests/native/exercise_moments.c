/* Multiplies columns and counts pairs of cells on random shapes, strides and types, and prints what comes out. Values
   are small whole numbers, so that every path has the same bits. Every buffer has exactly the size it needs, so that
   AddressSanitizer sees a read or write beside it. exercise_moments SEED ROUNDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moments/products.h"

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

static uint64_t digest(const void *data, size_t size) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

static double *make_weights(ptrdiff_t n) {
    double *weights = next(2) ? memory((size_t)n * 8) : NULL;
    for (ptrdiff_t i = 0; weights && i < n; i++) weights[i] = next(4);
    return weights;
}

static void write_value(char *to, enum dtype type, uint32_t value) {
    switch (type) {
#define WRITE(tag, type, ...)         \
    case tag: {                       \
        type own = (type)value;       \
        memcpy(to, &own, sizeof own); \
        break;                        \
    }
        SEFR_EACH_DTYPE(WRITE)
#undef WRITE
    default: exit(4);
    }
}

/* A table of random strides, which may run backwards, over a buffer without a byte to spare. */
static char *make_table(struct table *x, ptrdiff_t n, ptrdiff_t m, enum dtype type) {
    const ptrdiff_t size = (ptrdiff_t)dtype_size(type), apart = size * (1 + (ptrdiff_t)next(4) / 3);
    const bool by_columns = next(3) == 0, backwards = next(4) == 0;
    *x = (struct table){.n = n, .m = m, .type = type};
    x->row_stride = by_columns ? apart : apart * m + size * (ptrdiff_t)next(3);
    x->column_stride = by_columns ? apart * n : apart;
    char *data = memory((size_t)((n - 1) * x->row_stride + (m - 1) * x->column_stride + size));
    x->data = data;
    if (backwards) x->data += (n - 1) * x->row_stride, x->row_stride = -x->row_stride;
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t j = 0; j < m; j++) {
            write_value((char *)x->data + i * x->row_stride + j * x->column_stride, type, next(100));
        }
    }
    return data;
}

static void multiply_dense(ptrdiff_t n, ptrdiff_t m) {
    struct table x;
    const ptrdiff_t k = next(2) ? 0 : 1 + (ptrdiff_t)next(3);
    char *data = make_table(&x, n, m, (enum dtype)next(N_DTYPES));
    double *weights = make_weights(n), *targets = memory((size_t)(n * k) * 8), *origin = memory((size_t)(m + k) * 8);
    for (ptrdiff_t i = 0; i < n * k; i++) targets[i] = next(1000);
    for (ptrdiff_t j = 0; j < m + k; j++) origin[j] = (double)next(50) - 20.0;
    const struct factors of = {&x, k ? targets : NULL, k, origin, weights, next(3) == 0};
    const ptrdiff_t q = n_factors(&of);
    double *sums = memory((size_t)q * 8), *squares = memory((size_t)packed_size(q) * 8);
    const enum outcome outcome = sefr_products(&of, sums, squares, 1 + (int)next(3));
    printf("%d %016llx %016llx\n", outcome, (unsigned long long)digest(sums, (size_t)q * 8),
           (unsigned long long)digest(squares, (size_t)packed_size(q) * 8));
    void *all[] = {data, weights, targets, origin, sums, squares};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void multiply_sparse(ptrdiff_t n, ptrdiff_t m) {
    const bool wide = next(2);
    const size_t size = wide ? 8 : 4, most = (size_t)(n * m);
    float *values = memory(most * 4);
    char *indices = memory(most * size), *pointer = memory((size_t)(n + 1) * size);
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i <= n; i++) {
        if (wide) {
            ((int64_t *)(void *)pointer)[i] = count;
        } else {
            ((int32_t *)(void *)pointer)[i] = (int32_t)count;
        }
        for (ptrdiff_t j = 0; i < n && j < m; j++) {
            if (next(5)) continue;
            values[count] = (float)next(100);
            if (wide) {
                ((int64_t *)(void *)indices)[count++] = j;
            } else {
                ((int32_t *)(void *)indices)[count++] = (int32_t)j;
            }
        }
    }
    if (count && next(10) == 0) { /* outside, or falling */
        const ptrdiff_t at = (ptrdiff_t)next((uint32_t)count);
        const int64_t wrong = next(2) ? (int64_t)next(1000) + m : -1;
        memcpy(indices + (size_t)at * size, &wrong, size);
    }
    /* without a byte to spare */
    values = realloc(values, count ? (size_t)count * 4 : 1);
    indices = realloc(indices, count ? (size_t)count * size : 1);
    if (!values || !indices) exit(3);
    double *weights = make_weights(n), *origin = memory((size_t)m * 8);
    double *sums = memory((size_t)m * 8), *squares = memory((size_t)packed_size(m) * 8);
    const enum dtype index = wide ? I64 : I32;
    const struct sparse x = {n, m, count, values, indices, pointer, F32, index, index};
    const enum outcome outcome = sefr_products_csr(&x, origin, weights, sums, squares, 1 + (int)next(3));
    printf("%d %016llx\n", outcome,
           outcome == FINITE ? (unsigned long long)digest(squares, (size_t)packed_size(m) * 8) : 0);
    void *all[] = {values, indices, pointer, weights, origin, sums, squares};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void count_cells(ptrdiff_t n, ptrdiff_t m) {
    int64_t *starts = memory((size_t)(m + 1) * 8);
    double *edges = memory((size_t)(m * 255) * 8);
    const uint32_t most = next(4) ? 40 : 255;
    for (ptrdiff_t j = 0; j < m; j++) {
        const int64_t count = next(most);
        for (int64_t e = 0; e < count; e++) edges[starts[j] + e] = (double)e * 100.0 / (double)most;
        starts[j + 1] = starts[j] + count;
    }
    const int64_t ferns[] = {0, 2};
    const struct comparison comparisons[] = {{0, 0, 0}, {(int32_t)next((uint32_t)m), 0, 1}};
    struct edges cut = {.values = edges, .starts = starts, .m = m, .missing = next(2)};
    if (next(2)) cut.ferns = ferns, cut.comparisons = comparisons, cut.n_ferns = 1, cut.n_comparisons = 2;
    struct coder coder;
    if (sefr_prepare_coder(&coder, &cut, starts[m]) != FINITE) exit(5);
    struct table x;
    char *data = make_table(&x, n, m, (enum dtype)next(N_DTYPES));
    double *weights = make_weights(n), *pairs = memory((size_t)packed_size(coder.n_cells) * 8);
    const enum outcome outcome = sefr_count_pairs(&x, &coder, weights, pairs, 1 + (int)next(3));
    printf("%d %016llx\n", outcome, (unsigned long long)digest(pairs, (size_t)packed_size(coder.n_cells) * 8));
    sefr_free_coder(&coder);
    void *all[] = {data, weights, pairs, edges, starts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    state = strtoull(argv[1], NULL, 10);
    for (long left = strtol(argv[2], NULL, 10); left > 0; left--) {
        multiply_dense(1 + (ptrdiff_t)(next(3) ? next(200) : next(5000)), 1 + (ptrdiff_t)next(next(4) ? 30 : 90));
        multiply_sparse(1 + (ptrdiff_t)next(300), 1 + (ptrdiff_t)next(60));
        count_cells(1 + (ptrdiff_t)(next(8) ? next(300) : 33000), 1 + (ptrdiff_t)next(12));
    }
    return 0;
}
