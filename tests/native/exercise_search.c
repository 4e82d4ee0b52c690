/* Random searches, in buffers of exactly their size: exercise_search SEED ROUNDS. Prints a checksum of all points,
   which must be the same however the search was compiled. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refine/sample.h"

static uint64_t state;

static uint32_t random_below(uint32_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(state >> 33) % n;
}

static void *exactly(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) exit(2);
    return memory;
}

static double *numbers(ptrdiff_t n, double size) {
    double *found = exactly((size_t)n * sizeof *found);
    for (ptrdiff_t i = 0; i < n; i++) found[i] = size * ((double)random_below(2001) - 1000.0) / 1000.0;
    return found;
}

static uint64_t sum_of(uint64_t sum, const double *values, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, values + i, sizeof bits);
        sum = sum * 31 + bits;
    }
    return sum;
}

/* Answers that no loss would give make the search fail, step between and stall. */
static void answer(struct search *search, const struct objective *of, double *coef, double *intercept, int passes) {
    while (passes > 0) {
        const enum asked asked = sefr_ask(search);
        if (asked == NOTHING) return;
        const ptrdiff_t q = sefr_models_asked(search, of, coef, intercept);
        if (asked == SCORES) {
            double *scores = numbers(of->n_rows * q * of->n_scores, 3.0);
            if (sefr_tell_scores(search, of, scores) != FINITE) exit(3);
            free(scores);
            continue;
        }
        double *slope = numbers(weights_of(of), 1.0), *sums = numbers(of->n_scores, 1.0);
        const double loss = random_below(20) ? (double)random_below(1000) / 1000.0 : NAN;
        sefr_tell_pass(search, of, loss, slope, sums, NULL);
        free(slope), free(sums);
        passes--;
    }
}

static uint64_t round_of_it(void) {
    static const ptrdiff_t scores[] = {1, 1, 3, 4, 5, 9};
    const ptrdiff_t r = scores[random_below(6)], m = random_below(40), n = 1 + random_below(200);
    struct objective of = {
        .width = m, .n_scores = r, .unit = 0.5, .ridge = 0.01, .n_rows = n, .mixes = random_below(2)};
    struct steps steps = {.n = m};
    int32_t *codes = exactly((size_t)n * sizeof *codes);
    double *weights = exactly((size_t)n * sizeof *weights), *prior = NULL, *precision = NULL, *scale = NULL,
           *mean = NULL;
    uint8_t *begins = exactly((size_t)m);
    for (ptrdiff_t i = 0; i < n; i++)
        codes[i] = (int32_t)random_below(r == 1 ? 2 : (uint32_t)r), weights[i] = 1.0 / (double)n;
    for (ptrdiff_t j = 0; j < m; j++) begins[j] = random_below(4) == 0;
    of.codes = codes, of.weights = weights;
    const ptrdiff_t size = point_size(&of);
    if (random_below(3) == 0) {
        of.prior_mean = prior = numbers(size, 1.0),
        of.prior_precision = precision = exactly((size_t)size * sizeof *precision);
        for (ptrdiff_t i = 0; i < size; i++) precision[i] = random_below(10) / 100.0;
    }
    if (random_below(3) == 0) {
        steps.begins = begins, steps.mean = mean = numbers(m, 1.0), steps.scale = scale = numbers(m, 1.0);
        of.steps = &steps;
    }
    struct search *search = exactly(sefr_search_size(&of)), *other = exactly(sefr_search_size(&of));
    const ptrdiff_t n_points = 1 + random_below(MOST_ASKED);
    double *points = numbers(n_points * size, 1.0), *gradient = numbers(size, 1.0), *rows = numbers(n * m, 2.0);
    double *start = numbers(n_points, 1.0), *coef = numbers(MOST_ASKED * r * m, 1.0);
    double *intercept = numbers(MOST_ASKED * r, 1.0);
    double *curve = exactly(20 * sizeof *curve);
    ptrdiff_t made;
    sefr_begin_search(search, &of, points, random_below(2) ? INFINITY : 1.0, gradient);
    if (random_below(4)) sefr_try_points(search, points, n_points, n_points > 1 || random_below(2) ? start : NULL);
    uint64_t sum = 0;
    if (random_below(2)) {
        answer(search, &of, coef, intercept, 1 + (int)random_below(20));
    } else {
        if (sefr_search_rows(search, &of, rows, 1 + random_below(20), curve, &made) != FINITE) exit(3);
        sum = sum_of(sum, curve, made);
    }
    sefr_best(search, points, gradient);
    sum = sum_of(sum_of(sum, points, size), gradient, size);
    struct objective weaker = of;
    weaker.ridge = 0.001;
    sefr_move_search(other, &weaker, search, &of);
    if (sefr_search_rows(other, &weaker, rows, 5, curve, &made) != FINITE) exit(3);
    sum = sum_of(sum, curve, made);
    sefr_begin_search(search, &of, points, INFINITY, gradient);
    if (!sefr_remember(search, other)) exit(3);
    answer(search, &of, coef, intercept, 4);
    sefr_best(search, points, NULL);
    sum = sum_of(sum, points, size);
    double *scored = exactly((size_t)(n * r) * sizeof *scored);
    if (!sefr_sample_scores(rows, n, m, coef, intercept, r, scored)) exit(3);
    free(scored), free(codes), free(weights), free(prior), free(precision), free(scale), free(mean), free(begins);
    free(search), free(other), free(points), free(gradient), free(rows), free(start), free(coef), free(intercept);
    free(curve);
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    state = strtoull(argv[1], NULL, 10);
    const long rounds = strtol(argv[2], NULL, 10);
    for (long i = 0; i < rounds; i++) printf("%llu\n", (unsigned long long)round_of_it());
    return 0;
}
