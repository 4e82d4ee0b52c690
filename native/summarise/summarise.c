#include <stdlib.h>
#include <string.h>

#include "summarise/parts.h"

bool sefr_begin_pass(struct pass *pass, ptrdiff_t most, ptrdiff_t least_rows) {
    const ptrdiff_t n = pass->x->n, m = pass->x->m, n_groups = pass->by->n_groups;
    pass->n_folds = pass->by->n_groups / pass->by->n_classes;
    pass->part_size = n_groups * m * (pass->with_present ? 2 : 1) + n_groups + 2 * pass->n_folds * m;
    pass->n_parts = larger(1, smaller(most, smaller(n / least_rows, n / (64 * n_groups))));
    pass->memory = calloc((size_t)(pass->n_parts * pass->part_size) + 1, sizeof(double));
    atomic_init(&pass->error, FINITE);
    return pass->memory != NULL;
}

struct part sefr_get_part(const struct pass *pass, ptrdiff_t i) {
    const ptrdiff_t m = pass->x->m, n_groups = pass->by->n_groups;
    struct part part;
    part.sums = pass->memory + i * pass->part_size;
    part.counts = part.sums + n_groups * m;
    part.low = part.counts + n_groups;
    part.high = part.low + pass->n_folds * m;
    part.present = pass->with_present ? part.high + pass->n_folds * m : NULL;
    return part;
}

ptrdiff_t sefr_part_start(const struct pass *pass, ptrdiff_t i) {
    /* n * i could overflow */
    const ptrdiff_t n = pass->x->n, parts = pass->n_parts;
    return n / parts * i + smaller(i, n % parts);
}

void sefr_settle_zeros(double *values, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits = bits == (uint64_t)1 << 63 ? 0 : bits;
        memcpy(&values[i], &bits, sizeof bits);
    }
}

CLONES static void add(double *restrict to, const double *restrict from, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) to[i] += from[i];
}

/* Neighbours first, then pairs of pairs: the rounding error grows with the logarithm of the number of parts. */
static void fold_parts(const struct pass *pass) {
    const ptrdiff_t m = pass->x->m, n_groups = pass->by->n_groups;
    for (ptrdiff_t step = 1; step < pass->n_parts; step *= 2) {
        for (ptrdiff_t i = 0; i + step < pass->n_parts; i += 2 * step) {
            const struct part to = sefr_get_part(pass, i), from = sefr_get_part(pass, i + step);
            add(to.sums, from.sums, n_groups * m);
            add(to.counts, from.counts, n_groups);
            if (to.present) add(to.present, from.present, n_groups * m);
            for (ptrdiff_t k = 0; k < pass->n_folds * m; k++) {
                if (from.low[k] < to.low[k]) to.low[k] = from.low[k];
                if (from.high[k] > to.high[k]) to.high[k] = from.high[k];
            }
        }
    }
}

enum outcome sefr_check_finite(const struct totals *out, ptrdiff_t n_groups, ptrdiff_t m) {
    /* x - x is 0 for a finite x and NaN otherwise */
    double zero = 0.0, zeros[8] = {0.0};
    ptrdiff_t i = 0;
    for (; i + 8 <= n_groups * m; i += 8) {
        for (int u = 0; u < 8; u++) zeros[u] += out->sums[i + u] - out->sums[i + u];
    }
    for (; i < n_groups * m; i++) zero += out->sums[i] - out->sums[i];
    for (i = 0; i < n_groups; i++) zero += out->counts[i] - out->counts[i];
    for (int u = 0; u < 8; u++) zero += zeros[u];
    return zero == 0.0 ? FINITE : NOT_FINITE;
}

enum outcome sefr_end_pass(struct pass *pass, const struct totals *out) {
    const size_t m = (size_t)pass->x->m, n_groups = (size_t)pass->by->n_groups, n_folds = (size_t)pass->n_folds;
    enum outcome outcome = (enum outcome)atomic_load(&pass->error);
    if (outcome == FINITE) {
        fold_parts(pass);
        const struct part part = sefr_get_part(pass, 0);
        sefr_settle_zeros(part.low, (ptrdiff_t)(n_folds * m));
        sefr_settle_zeros(part.high, (ptrdiff_t)(n_folds * m));
        memcpy(out->sums, part.sums, n_groups * m * sizeof(double));
        memcpy(out->counts, part.counts, n_groups * sizeof(double));
        memcpy(out->low, part.low, n_folds * m * sizeof(double));
        memcpy(out->high, part.high, n_folds * m * sizeof(double));
        if (out->present) memcpy(out->present, part.present, n_groups * m * sizeof(double));
        if (!whole_numbers(pass->x) || pass->by->weights)
            outcome = sefr_check_finite(out, pass->by->n_groups, pass->x->m);
    }
    free(pass->memory);
    return outcome;
}

enum outcome sefr_summarise(const struct table *x, const struct grouping *by, const struct totals *out, int n_threads) {
    if (lies_by_columns(x)) {
        bool done = false;
        const enum outcome outcome =
            sefr_can_mask(x, by, out) ? sefr_summarise_masked(x, by, out, n_threads, &done) : FINITE;
        return done || outcome != FINITE ? outcome : sefr_summarise_columns(x, by, out, n_threads);
    }
    const bool wide = x->m * (ptrdiff_t)dtype_size(x->type) >= WIDE_ROW && x->n <= INT32_MAX;
    if (wide && rows_are_direct(x) && !by->weights && !out->present && !sefr_task_of_byte_rows(x, by, out))
        return sefr_summarise_wide(x, by, out, n_threads);
    return sefr_summarise_rows(x, by, out, n_threads);
}
