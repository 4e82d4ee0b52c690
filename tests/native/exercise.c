/* Runs every kernel on random shapes, strides, types and groups; every buffer has exactly the size it needs,
   so that AddressSanitizer sees a read or write beside it. Built with -fsanitize=address,undefined. exercise
   SEED ROUNDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labels/labels.h"
#include "refine/gradient.h"
#include "solve/solve.h"

static uint64_t state;

static uint32_t next(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void *filled(size_t size) {
    unsigned char *memory = malloc(size ? size : 1);
    if (!memory) exit(3);
    for (size_t i = 0; i < size; i++) memory[i] = (unsigned char)next(256);
    return memory;
}

struct groups {
    int32_t *codes;
    double *weights;
    struct grouping by;
    struct totals out;
};

static void make_groups(struct groups *g, ptrdiff_t n, ptrdiff_t m) {
    const int32_t n_classes = 1 + (int32_t)next(4), n_groups = n_classes * (1 + (int32_t)next(3));
    const size_t folds = (size_t)(n_groups / n_classes);
    g->codes = filled((size_t)n * sizeof *g->codes);
    for (ptrdiff_t i = 0; i < n; i++) g->codes[i] = (int32_t)next((uint32_t)n_groups + 1) - 1;
    if (n && next(10) == 0) g->codes[next((uint32_t)n)] = n_groups + (int32_t)next(1000);
    g->weights = next(2) ? filled((size_t)n * sizeof *g->weights) : NULL;
    for (ptrdiff_t i = 0; g->weights && i < n; i++) g->weights[i] = next(3);
    g->by = (struct grouping){g->codes, g->weights, n_groups, n_classes};
    g->out.sums = filled((size_t)(n_groups * m) * 8);
    g->out.counts = filled((size_t)n_groups * 8);
    g->out.low = filled(folds * (size_t)m * 8);
    g->out.high = filled(folds * (size_t)m * 8);
    g->out.present = next(2) ? filled((size_t)(n_groups * m) * 8) : NULL;
}

static void free_groups(struct groups *g) {
    free(g->codes);
    free(g->weights);
    free(g->out.sums);
    free(g->out.counts);
    free(g->out.low);
    free(g->out.high);
    free(g->out.present);
}

/* A table of random strides over a buffer without a byte to spare. */
static char *make_table(struct table *x, ptrdiff_t n, ptrdiff_t m) {
    const enum dtype type = (enum dtype)next(N_DTYPES);
    const ptrdiff_t size = (ptrdiff_t)dtype_size(type), odd = next(4) == 0 ? 1 : 0;
    ptrdiff_t row, column;
    switch (next(4)) {
    case 0: column = size, row = m * size; break;
    case 1: row = size, column = n * size; break;
    case 2: column = size * (1 + next(3)), row = column * (m + next(3)) + odd; break;
    default: column = next(2) ? 0 : size, row = next(2) ? 0 : m * size; break;
    }
    if (n == 0 || m == 0) row = column = size;
    const size_t span = n && m ? (size_t)((n - 1) * row + (m - 1) * column + size) : 0;
    char *memory = filled(span + (size_t)odd);
    char *data = memory + odd;
    if (n && next(2)) data += (n - 1) * row, row = -row;
    if (m && next(2)) data += (m - 1) * column, column = -column;
    *x = (struct table){n, m, data, row, column, type, NULL};
    return memory;
}

/* A model of random bytes, and what a gradient is written to; the number of classes is that of the groups. */
struct learner {
    double *coef, *intercept, *class_weights, *centre, *scale, loss;
    struct model model;
    struct task task;
    struct gradient gradient;
};

static void make_learner(struct learner *l, struct groups *g, ptrdiff_t m) {
    const int32_t n_classes = 2 + (int32_t)next(11), n_scores = n_classes == 2 ? 1 : n_classes;
    const bool tame = next(2);
    g->by.n_groups = g->by.n_classes = n_classes;
    l->coef = filled((size_t)(n_scores * m) * 8), l->intercept = filled((size_t)n_scores * 8);
    l->class_weights = filled((size_t)n_classes * 8);
    l->centre = filled((size_t)m * 8), l->scale = filled((size_t)m * 8);
    for (ptrdiff_t j = 0; tame && j < n_scores * m; j++) l->coef[j] = next(3) - 1.0;
    for (ptrdiff_t j = 0; tame && j < m; j++) l->centre[j] = next(100), l->scale[j] = 0.01;
    for (int32_t k = 0; k < n_classes; k++) l->class_weights[k] = 1 + next(3);
    l->model = (struct model){l->coef, l->intercept, l->class_weights, n_scores, n_classes};
    l->task = (struct task){loss_of_classes(n_scores), NULL};
    l->gradient = (struct gradient){filled((size_t)(n_scores * m) * 8), filled((size_t)n_scores * 8), &l->loss};
}

static void free_learner(struct learner *l) {
    free(l->coef), free(l->intercept), free(l->class_weights), free(l->centre), free(l->scale);
    free(l->gradient.coef), free(l->gradient.intercept);
}

static void exercise_dense(ptrdiff_t n, ptrdiff_t m) {
    struct table x;
    struct groups g;
    char *memory = make_table(&x, n, m);
    make_groups(&g, n, m);
    sefr_summarise(&x, &g.by, &g.out, 1 + (int)next(3));
    struct column *columns = calloc(m ? (size_t)m : 1, sizeof *columns); /* storm.c leaves it alone */
    for (ptrdiff_t j = 0; j < m; j++) columns[j] = (struct column){x.data + j * x.column_stride, x.row_stride, x.type};
    struct table listed = {.n = n, .m = m, .columns = columns};
    sefr_summarise(&listed, &g.by, &g.out, 1 + (int)next(3));
    if (n && m) {
        struct learner l;
        make_learner(&l, &g, m);
        sefr_gradient(&x, &g.by, l.centre, l.scale, &l.model, &l.task, &l.gradient, 1 + (int)next(3));
        sefr_gradient(&listed, &g.by, l.centre, l.scale, &l.model, &l.task, &l.gradient, 1 + (int)next(3));
        free_learner(&l);
    }
    free_groups(&g);

    const ptrdiff_t k = next(6), n_rows = n ? next(2 * (uint32_t)n) : 0;
    double *coef = filled((size_t)(k * m) * 8), *intercept = filled((size_t)k * 8);
    double *out = filled((size_t)(n * k) * 8), *some = filled((size_t)(n_rows * k) * 8);
    int64_t *rows = filled((size_t)n_rows * sizeof *rows);
    for (ptrdiff_t i = 0; i < n_rows; i++) rows[i] = next((uint32_t)n + (next(50) == 0));
    sefr_scores(&x, coef, intercept, k, NULL, n, out, 1 + (int)next(3));
    sefr_scores(&x, coef, intercept, k, rows, n_rows, some, 1 + (int)next(3));
    sefr_scores(&listed, coef, intercept, k, NULL, n, out, 1 + (int)next(3));
    sefr_scores(&listed, coef, intercept, k, rows, n_rows, some, 1 + (int)next(3));
    free(coef), free(intercept), free(out), free(some), free(rows), free(columns), free(memory);
}

static void exercise_sparse(ptrdiff_t n, ptrdiff_t m) {
    const bool by_rows = next(2), wild = next(4) == 0;
    const ptrdiff_t lines = by_rows ? n : m, across = by_rows ? m : n;
    int32_t *pointer = filled((size_t)(lines + 1) * sizeof *pointer);
    pointer[0] = 0;
    for (ptrdiff_t i = 0; i < lines; i++) pointer[i + 1] = pointer[i] + (int32_t)next((uint32_t)across + 1);
    const ptrdiff_t entries = pointer[lines];
    int32_t *indices = filled((size_t)entries * sizeof *indices);
    for (ptrdiff_t e = 0; e < entries; e++) indices[e] = across ? (int32_t)next((uint32_t)across) : 0;
    if (wild && entries) indices[next((uint32_t)entries)] = (int32_t)(next(2) ? next(UINT32_MAX) : (uint32_t)across);
    if (wild && next(2)) pointer[next((uint32_t)lines + 1)] = (int32_t)next(UINT32_MAX);
    const enum dtype type = (enum dtype)next(N_DTYPES);
    void *data = filled((size_t)entries * dtype_size(type));
    struct sparse x = {n, m, entries, data, indices, pointer, type, I32, I32};
    struct groups g;
    make_groups(&g, n, m);
    (by_rows ? sefr_summarise_csr : sefr_summarise_csc)(&x, &g.by, &g.out, 1 + (int)next(3));
    if (by_rows && n && m) {
        struct learner l;
        make_learner(&l, &g, m);
        sefr_gradient_csr(&x, &g.by, l.centre, &l.model, &l.task, &l.gradient, 1 + (int)next(3));
        free_learner(&l);
    }
    free_groups(&g);
    free(pointer), free(indices), free(data);
}

static void exercise_solve(ptrdiff_t m) {
    const ptrdiff_t k = next(6), planes = k == 2 ? 1 : k;
    double *sums = filled((size_t)(k * m) * 8), *counts = filled((size_t)k * 8), *low = filled((size_t)m * 8);
    double *span = filled((size_t)m * 8), *weights = filled((size_t)(planes * m) * 8),
           *bias = filled((size_t)planes * 8);
    if (next(2)) { /* what can be solved: filled gives any bytes */
        for (ptrdiff_t i = 0; i < k * m; i++) sums[i] = next(1000);
        for (ptrdiff_t i = 0; i < k; i++) counts[i] = 1 + next(9);
        for (ptrdiff_t j = 0; j < m; j++) low[j] = 0, span[j] = next(100);
    }
    const struct learned from = {k, m, counts, sums, low, span};
    sefr_solve(&from, 1e-7, &(struct planes){weights, bias});
    sefr_is_delicate(&from);
    free(sums), free(counts), free(low), free(span), free(weights), free(bias);
}

static void exercise_labels(ptrdiff_t n) {
    const enum dtype type = (enum dtype)(I8 + next(8));
    const ptrdiff_t size = (ptrdiff_t)dtype_size(type), stride = size * (1 + next(2)), width = next(20);
    char *memory = filled(n ? (size_t)((n - 1) * stride + size) : 0), *items = filled((size_t)(n * width));
    int32_t *codes = calloc(n ? (size_t)n : 1, sizeof *codes); /* the kernel's own, as columns above */
    const bool back = n && next(2);
    struct column y = {back ? memory + (n - 1) * stride : memory, back ? -stride : stride, type};
    struct distinct found = {0};
    sefr_code_integers(&y, n, codes, &found);
    sefr_free_distinct(&found);
    for (ptrdiff_t i = 0; i < n * width; i++) items[i] &= 1;
    sefr_code_bytes(&(struct items){items, width, n, (size_t)width}, codes, &found);
    sefr_free_distinct(&found);
    free(memory), free(items), free(codes);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    state = strtoull(argv[1], NULL, 10);
    const long rounds = strtol(argv[2], NULL, 10);
    for (long i = 0; i < rounds; i++) {
        static const uint32_t longest[] = {3, 40, 400, 3000}, widest[] = {3, 70, 600, 5000};
        const uint32_t size = next(4);
        const ptrdiff_t n = next(longest[size]), m = next(widest[3 - size]);
        exercise_dense(n, m);
        exercise_sparse(n, next(widest[3 - size] < 100 ? 100 : 20));
        exercise_labels(n);
        exercise_solve(m);
    }
    printf("%ld rounds\n", rounds);
    return 0;
}
