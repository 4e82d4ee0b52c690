/* Codes, counts, looks up and differentiates cells on random shapes, strides and edges, and prints what comes out.
   Every buffer has exactly the size it needs, so that AddressSanitizer sees a read or write beside it.
   exercise_cells SEED ROUNDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cells/coding.h"
#include "refine/gradient_cells.h"

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

static struct edges make_edges(ptrdiff_t m, int32_t most, bool missing) {
    int64_t *starts = memory((size_t)(m + 1) * sizeof *starts);
    double *values = memory((size_t)(m * most) * sizeof *values);
    for (ptrdiff_t j = 0; j < m; j++) {
        const int32_t n = next(3) ? most - 1 - missing : (int32_t)next((uint32_t)(most - missing));
        double edge = -0.5 * n;
        for (int32_t i = 0; i < n; i++) values[starts[j] + i] = edge += 0.25 * (1 + next(4)) + (next(5) ? 0.0 : 1e-9);
        starts[j + 1] = starts[j] + n;
    }
    return (struct edges){.values = values, .starts = starts, .m = m, .missing = missing};
}

/* Values in steps of 1/4, so that many equal an edge, or hardly any; some are not finite. */
static void *make_table(struct table *x, ptrdiff_t n, ptrdiff_t m, bool odd) {
    const bool wide = next(3) == 0, by_columns = next(3) == 0, in_steps = next(2);
    const ptrdiff_t size = wide ? 8 : 4, apart = size * (1 + (ptrdiff_t)next(4) / 3);
    *x = (struct table){.n = n, .m = m, .type = wide ? F64 : F32};
    x->row_stride = by_columns ? apart : apart * m + size * (ptrdiff_t)next(3);
    x->column_stride = by_columns ? apart * n : apart;
    char *data = memory((size_t)((n - 1) * x->row_stride + (m - 1) * x->column_stride + size));
    x->data = data;
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t j = 0; j < m; j++) {
            double value = 0.25 * ((double)next(200) - 100.0);
            if (!in_steps && next(100)) value = (value + (double)next(1 << 20) / (1 << 22)) / 2.0;
            if (odd && next(200) == 0) value = next(2) ? (double)NAN : (double)INFINITY;
            const float narrow = (float)value;
            memcpy(data + i * x->row_stride + j * x->column_stride, wide ? (void *)&value : (void *)&narrow,
                   (size_t)size);
        }
    }
    return data;
}

static void run_round(void) {
    static const int32_t cells[] = {2, 3, 8, 31, 32, 33, 64, 65, 256};
    const ptrdiff_t n = 1 + (ptrdiff_t)(next(2) ? next(200) : next(6000)), m = 1 + (ptrdiff_t)next(next(4) ? 20 : 80);
    const bool missing = next(2);
    const int32_t n_classes = 2 + (int32_t)(next(2) ? next(3) : next(40)), n_scores = n_classes == 2 ? 1 : n_classes;
    struct edges edges = make_edges(m, cells[next(9)], missing);
    struct table x;
    struct coder coder, coded;
    if (sefr_prepare_coder(&coder, &edges, edges.starts[m]) != FINITE) exit(4);
    void *data = make_table(&x, n, m, next(4) == 0);
    int32_t *codes = memory((size_t)n * sizeof *codes);
    for (ptrdiff_t i = 0; i < n; i++)
        codes[i] = (int32_t)next((uint32_t)n_classes * 50) / 50 - (next(50) == 0 ? n_classes : 0);
    const struct grouping by = {codes, NULL, n_classes, n_classes};
    const size_t n_sums = (size_t)(n_classes * coder.n_cells);
    double *sums = memory(n_sums * 8), *counts = memory((size_t)n_classes * 8);
    const struct totals totals = {.sums = sums, .counts = counts};
    const enum outcome counted = sefr_count_cells(&x, &coder, &by, &totals, 1 + (int)next(3));
    printf("%d %016llx\n", counted, counted == FINITE ? (unsigned long long)digest(sums, n_sums * 8) : 0);

    uint8_t *bytes = memory((size_t)(n * m));
    const enum outcome outcome = sefr_code_cells(&x, &coder, bytes, 1 + (int)next(3));
    printf("%d %016llx\n", outcome, (unsigned long long)digest(bytes, (size_t)(n * m)));

    const size_t n_table = (size_t)(n_scores * coder.n_cells);
    double *table = memory(n_table * 8), *gradient = memory(n_table * 8), *intercept = memory((size_t)n_scores * 8);
    double *bias = memory((size_t)n_scores * 8), *weights = memory((size_t)n_classes * 8), loss = 0.0;
    double *scores = memory((size_t)(n * n_scores) * 8);
    for (size_t i = 0; i < n_table; i++) table[i] = ((double)next(2000) - 1000.0) / 3000.0;
    for (int32_t k = 0; k < n_classes; k++) weights[k] = 1.0 + k;
    sefr_cell_scores(&x, &coder, table, bias, n_scores, NULL, n, scores, 1 + (int)next(3));
    for (ptrdiff_t i = 0; i < n * n_scores; i++) scores[i] = isnan(scores[i]) ? 1e9 : scores[i];
    printf("%016llx\n", (unsigned long long)digest(scores, (size_t)(n * n_scores) * 8));

    if (next(8) == 0) bytes[next((uint32_t)(n * m))] = (uint8_t)next(256); /* perhaps outside its column */
    if (sefr_prepare_coder(&coded, &(struct edges){.starts = edges.starts, .m = m, .missing = missing}, 0) != FINITE)
        exit(5);
    const struct model model = {table, bias, weights, n_scores, n_classes};
    const struct task task = {loss_of_classes(n_scores), NULL};
    const struct gradient out = {gradient, intercept, &loss};
    struct shelf shelf;
    enum outcome found = sefr_shelve(bytes, n, &coded, n_scores, &shelf);
    if (found == FINITE) found = sefr_gradient_cells(&shelf, &coded, &by, &model, &task, &out, 1 + (int)next(3));
    printf("%d %016llx %.17g\n", found, (unsigned long long)digest(gradient, n_table * 8), loss);
    sefr_free_coder(&coder);
    sefr_free_coder(&coded);
    sefr_free_shelf(&shelf);
    void *all[] = {data,
                   codes,
                   sums,
                   counts,
                   bytes,
                   table,
                   gradient,
                   intercept,
                   bias,
                   weights,
                   scores,
                   (void *)edges.values,
                   (void *)edges.starts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    state = strtoull(argv[1], NULL, 10);
    for (long left = strtol(argv[2], NULL, 10); left > 0; left--) run_round();
    return 0;
}
