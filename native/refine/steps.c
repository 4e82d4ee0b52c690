#include "refine/steps.h"

#include <string.h>

#include "common/dtype.h"

void sefr_step_tables(const struct steps *steps, const double *weights, const double *before, ptrdiff_t k,
                      double *tables, double *intercepts) {
    const ptrdiff_t n = steps->n;
    for (ptrdiff_t r = 0; r < k; r++) {
        const double *own = weights + r * n;
        double *table = tables + r * n, effect = 0.0, moved[2] = {0.0, 0.0};
        for (ptrdiff_t c = 0; c < n; c++) {
            const double step = steps->scale ? own[c] * steps->scale[c] : own[c];
            effect = steps->begins[c] ? step : effect + step;
            table[c] = effect;
            if (steps->mean) moved[c & 1] += step * steps->mean[c]; /* two sums: one waits for itself */
        }
        intercepts[r] = (before ? before[r] : 0.0) - (moved[0] + moved[1]);
    }
}

void sefr_step_slopes(const struct steps *steps, const double *by_table, const double *by_intercept, ptrdiff_t k,
                      double *by_weight) {
    const ptrdiff_t n = steps->n;
    for (ptrdiff_t r = 0; r < k; r++) {
        const double *own = by_table + r * n, moved = by_intercept ? by_intercept[r] : 0.0;
        double *out = by_weight + r * n, reached = 0.0;
        for (ptrdiff_t c = n - 1; c >= 0; c--) {
            reached += own[c];
            const double slope = steps->mean ? reached - moved * steps->mean[c] : reached;
            out[c] = steps->scale ? slope * steps->scale[c] : slope;
            if (steps->begins[c]) reached = 0.0;
        }
    }
}

CLONES static void add_lower(const double *restrict gone, ptrdiff_t n, double *restrict shared) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const double own = gone[i];
        for (ptrdiff_t h = 0; h <= i; h++) shared[i * n + h] += gone[h] < own ? gone[h] : own;
    }
}

CLONES static void add_equal(const double *restrict places, const double *restrict worth, ptrdiff_t n,
                             double *restrict shared) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const double own = places[i], value = worth[i];
        for (ptrdiff_t h = 0; h <= i; h++) shared[i * n + h] += places[h] == own ? value : 0.0;
    }
}

void sefr_shared_steps(const struct common_steps *steps, double *shared) {
    const ptrdiff_t n = steps->n;
    memset(shared, 0, (size_t)(n * n) * sizeof *shared);
    for (ptrdiff_t j = 0; j < steps->m; j++) add_lower(steps->gone + j * n, n, shared);
    for (ptrdiff_t j = 0; j < steps->k; j++) add_equal(steps->places + j * n, steps->worth + j * n, n, shared);
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t h = 0; h < i; h++) shared[h * n + i] = shared[i * n + h];
    }
}
