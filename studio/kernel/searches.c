/* What is searched between passes, as the page calls it: numbers and places in memory. */
#include "refine/sample.h"
#include "refine/steps.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* What is minimised: see struct objective. numbers: unit and ridge. begins, or NULL, mean and scale: of steps. */
struct searched {
    ptrdiff_t width, n_scores, n_rows;
    int32_t mixes;
    const double *numbers;
    const int32_t *codes;
    const double *weights;
    const uint8_t *begins;
    const double *mean, *scale;
};

static struct objective objective_of(const struct searched *from, struct steps *steps) {
    *steps = (struct steps){from->begins, from->mean, from->scale, from->width};
    return (struct objective){.width = from->width,
                              .n_scores = from->n_scores,
                              .unit = from->numbers[0],
                              .steps = from->begins ? steps : NULL,
                              .ridge = from->numbers[1],
                              .codes = from->codes,
                              .weights = from->weights,
                              .n_rows = from->n_rows,
                              .mixes = from->mixes != 0};
}

#define OBJECTIVE(name, from) \
    struct steps steps;       \
    const struct objective name = objective_of(from, &steps)

EXPORT(search_size) size_t studio_search_size(const struct searched *from) {
    OBJECTIVE(of, from);
    return sefr_search_size(&of);
}

/* memory: another search, whose steps are remembered, or NULL. */
EXPORT(begin_search)
void studio_begin_search(struct search *search, const struct searched *from, const double *point, double loss,
                         const double *gradient, const struct search *memory) {
    OBJECTIVE(of, from);
    sefr_begin_search(search, &of, point, loss, gradient);
    if (memory) sefr_remember(search, memory);
}

EXPORT(try_points)
void studio_try_points(struct search *search, const double *points, ptrdiff_t n_points, const double *start) {
    sefr_try_points(search, points, n_points, start);
}

EXPORT(search_ask) int studio_search_ask(struct search *search) { return (int)sefr_ask(search); }

EXPORT(models_asked)
ptrdiff_t studio_models_asked(const struct search *search, const struct searched *from, double *coef,
                              double *intercept) {
    OBJECTIVE(of, from);
    return sefr_models_asked(search, &of, coef, intercept);
}

EXPORT(tell_scores)
int studio_tell_scores(struct search *search, const struct searched *from, const double *scores) {
    OBJECTIVE(of, from);
    return (int)sefr_tell_scores(search, &of, scores);
}

EXPORT(tell_pass)
double studio_tell_pass(struct search *search, const struct searched *from, double loss, const double *coef,
                        const double *intercept) {
    OBJECTIVE(of, from);
    return sefr_tell_pass(search, &of, loss, coef, intercept, NULL);
}

/* How many passes were made, or minus an outcome. */
EXPORT(search_rows)
ptrdiff_t studio_search_rows(struct search *search, const struct searched *from, const double *rows,
                             ptrdiff_t n_passes, double *curve) {
    OBJECTIVE(of, from);
    ptrdiff_t made;
    const enum outcome outcome = sefr_search_rows(search, &of, rows, n_passes, curve, &made);
    return outcome == FINITE ? made : -(ptrdiff_t)outcome;
}

EXPORT(search_best) double studio_search_best(const struct search *search, double *point) {
    return sefr_best(search, point, NULL);
}

EXPORT(move_search)
void studio_move_search(struct search *search, const struct searched *to, const struct search *before, double ridge) {
    OBJECTIVE(of, to);
    struct objective other = of;
    other.ridge = ridge;
    sefr_move_search(search, &of, before, &other);
}

EXPORT(sample_scores)
int studio_sample_scores(const double *rows, ptrdiff_t n, ptrdiff_t m, const double *coef, const double *intercept,
                         ptrdiff_t k, double *scores) {
    return sefr_sample_scores(rows, n, m, coef, intercept, k, scores);
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
