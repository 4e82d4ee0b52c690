/* What is searched between passes, as the page calls it: numbers and places in memory. */
#include "refine/mixture.h"
#include "refine/steps.h"

#define EXPORT(name) __attribute__((export_name(#name)))

EXPORT(minimise_mixture) int studio_minimise_mixture(const struct mixture *mixture, double *shares) {
    return (int)sefr_minimise_mixture(mixture, shares);
}

/* steps and changes (count x n), the oldest first. */
EXPORT(find_direction)
void studio_find_direction(ptrdiff_t n, ptrdiff_t count, const double *steps, const double *changes,
                           const double *gradient, double *direction) {
    double curved[MOST_PAIRS] = {0.0};
    struct pairs pairs = {.steps = steps, .changes = changes, .curved = curved, .n = n, .count = count};
    for (ptrdiff_t p = 0; p < count; p++) pairs.order[p] = p;
    sefr_find_direction(&pairs, gradient, direction);
}

EXPORT(step_tables)
void studio_step_tables(const struct steps *steps, const double *weights, const double *before, ptrdiff_t k,
                        double *tables, double *intercepts) {
    sefr_step_tables(steps, weights, before, k, tables, intercepts);
}

EXPORT(step_slopes)
void studio_step_slopes(const struct steps *steps, const double *by_table, const double *by_intercept, ptrdiff_t k,
                        double *by_weight) {
    sefr_step_slopes(steps, by_table, by_intercept, k, by_weight);
}
