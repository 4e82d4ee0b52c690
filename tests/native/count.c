/* Runs one kernel once on made-up data, for callgrind to count its instructions.
   count KERNEL DTYPE ROWS COLUMNS GROUPS; KERNEL: rows, columns, csr, scores, solve, gradient, cells, or, to count what
   the rest costs, none, of cells edges. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cells/coding.h"
#include "refine/gradient.h"
#include "solve/solve.h"

static enum dtype type_named(const char *name) {
    static const char *const names[N_DTYPES] = {"f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"};
    for (int t = 0; t < N_DTYPES; t++) {
        if (strcmp(name, names[t]) == 0) return (enum dtype)t;
    }
    exit(2);
}

/* Count rows in 32 cells per column, no value on an edge; with `edges_alone`, only prepare them. */
static enum outcome count_cells(const struct table *x, const struct grouping *by, bool edges_alone) {
    enum { EDGES = 31 };
    const ptrdiff_t n_edges = x->m * EDGES, n_cells = x->m * (EDGES + 1);
    double *edges = malloc((size_t)n_edges * 8), *sums = malloc((size_t)(by->n_groups * n_cells) * 8);
    double *counts = malloc((size_t)by->n_groups * 8);
    int64_t *starts = malloc((size_t)(x->m + 1) * 8), no_ferns = 0;
    if (!edges || !sums || !counts || !starts) exit(3);
    for (ptrdiff_t i = 0; i < n_edges; i++) edges[i] = (double)(i % EDGES) - 15.5;
    for (ptrdiff_t j = 0; j <= x->m; j++) starts[j] = j * EDGES;
    const struct edges given = {.values = edges, .starts = starts, .m = x->m, .ferns = &no_ferns};
    const struct totals totals = {sums, counts, NULL, NULL, NULL};
    struct coder coder;
    enum outcome outcome = sefr_prepare_coder(&coder, &given, n_edges);
    if (outcome == FINITE) {
        if (!edges_alone) outcome = sefr_count_cells(x, &coder, by, &totals, 1);
        sefr_free_coder(&coder);
    }
    free(edges), free(sums), free(counts), free(starts);
    return outcome;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    const enum dtype type = type_named(argv[2]);
    const ptrdiff_t n = atol(argv[3]), m = atol(argv[4]), k = atol(argv[5]), size = (ptrdiff_t)dtype_size(type);
    /* zero bytes are the value 0 of every type, and the instructions do not depend on values */
    char *x = calloc((size_t)(n * m), (size_t)size);
    int32_t *codes = malloc((size_t)n * sizeof *codes), *indices = malloc((size_t)(n * m) * sizeof *indices);
    int32_t *pointer = malloc((size_t)(n + 1) * sizeof *pointer);
    double *sums = calloc((size_t)(k * m), 8), *counts = calloc((size_t)k, 8), *out = calloc((size_t)(n * k), 8);
    double *low = calloc((size_t)m, 8), *high = calloc((size_t)m, 8);
    uint32_t state = 1;
    if (!x || !codes || !indices || !pointer || !sums || !counts || !out || !low || !high) return 3;
    for (ptrdiff_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        codes[i] = (int32_t)((state >> 16) % (uint32_t)k);
        pointer[i + 1] = (int32_t)((i + 1) * m);
        for (ptrdiff_t j = 0; j < m; j++) indices[i * m + j] = (int32_t)j;
    }
    pointer[0] = 0;
    const struct grouping by = {codes, NULL, (int32_t)k, (int32_t)k};
    const struct totals totals = {sums, counts, low, high, NULL};
    struct table table = {n, m, x, m * size, size, type, NULL};
    const struct sparse sparse = {n, m, n * m, x, indices, pointer, type, I32, I32};
    enum outcome outcome = FINITE;
    if (strcmp(argv[1], "columns") == 0) table.row_stride = size, table.column_stride = n * size;
    if (strcmp(argv[1], "rows") == 0 || strcmp(argv[1], "columns") == 0)
        outcome = sefr_summarise(&table, &by, &totals, 1);
    if (strcmp(argv[1], "cells") == 0 || strcmp(argv[1], "edges") == 0)
        outcome = count_cells(&table, &by, argv[1][0] == 'e');
    if (strcmp(argv[1], "csr") == 0) outcome = sefr_summarise_csr(&sparse, &by, &totals, 1);
    if (strcmp(argv[1], "scores") == 0) outcome = sefr_scores(&table, sums, counts, k, NULL, n, out, 1);
    if (strcmp(argv[1], "solve") == 0) {
        for (ptrdiff_t i = 0; i < k; i++) counts[i] = 1;
        for (ptrdiff_t j = 0; j < m; j++) high[j] = 1;
        const struct learned from = {k, m, counts, sums, low, high};
        if (!sefr_solve(&from, 1e-7, &(struct planes){(double *)(void *)x, out})) outcome = NOT_FINITE;
    }
    if (strcmp(argv[1], "gradient") == 0) {
        double *ones = malloc((size_t)(m + k) * sizeof *ones), loss;
        if (!ones) return 3;
        for (ptrdiff_t j = 0; j < m + k; j++) ones[j] = 1.0;
        const struct model model = {sums, counts, ones, k == 2 ? 1 : (int32_t)k, (int32_t)k};
        const struct task task = {loss_of_classes(model.n_scores), NULL};
        outcome = sefr_gradient(&table, &by, low, ones, &model, &task, &(struct gradient){sums, counts, &loss}, 1);
        free(ones);
    }
    free(x), free(codes), free(indices), free(pointer), free(sums), free(counts), free(out), free(low), free(high);
    return outcome == FINITE ? 0 : 4;
}
