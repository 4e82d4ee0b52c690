/* Fits to held-out rows of any shape, and rows left out, in buffers of exactly their size: built with sanitizers and as
   in the package, it prints the same numbers. Usage: exercise_answers SEED ROUNDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers/likelihood.h"
#include "answers/parts.h"
#include "answers/probabilities.h"
#include "refine/leave_one_out.h"

static uint64_t state;

static uint64_t next(void) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t x = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static ptrdiff_t below(ptrdiff_t n) { return (ptrdiff_t)(next() % (uint64_t)n); }
static double uniform(void) { return (double)(next() >> 11) / 9007199254740992.0; }

static double *numbers(ptrdiff_t n, double least, double most) {
    double *found = malloc((size_t)n * sizeof *found);
    for (ptrdiff_t i = 0; i < n; i++) found[i] = least + (most - least) * uniform();
    return found;
}

static uint64_t sum_of(uint64_t sum, const double *values, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, values + i, sizeof bits);
        sum = (sum ^ (values[i] == values[i] ? bits : 1)) * 1099511628211u;
    }
    return sum;
}

static uint64_t round_of_it(void) {
    const ptrdiff_t n = below(3) ? below(200) : below(4), k = 2 + (below(3) ? below(3) : below(40));
    const ptrdiff_t r = k == 2 && below(2) ? 1 : k, p = 1 + below(MOST_SHARES);
    const double size = below(4) ? 4.0 : 1e300;
    double *scores = numbers(n * r, -size, size), *weights = numbers(n, 0.0, below(3) ? 1.0 : 1e12);
    double *evidence = numbers(n, 0.0, 1.0), *counts = numbers(k, 0.0, 100.0), *offsets = numbers(k, -1.0, 1.0);
    double *precision = numbers(k + 1, 0.0, 9.0), *base = numbers(n * k, -9.0, 0.0);
    double *logits = numbers(p * n * k, -9.0, 9.0), shares[MOST_SHARES], losses[MOST_SHARES + 1];
    double *to = numbers(k, 0.0, 0.0), *known = numbers(k + 1, 0.0, 0.0);
    int32_t *codes = malloc((size_t)n * sizeof *codes);
    for (ptrdiff_t i = 0; i < n; i++) codes[i] = (int32_t)below(k);
    for (ptrdiff_t i = 0; n && i < below(4); i++) scores[below(n * r)] = below(2) ? -1.0 / 0.0 : 0.0 / 0.0;
    const struct scaling prior = {uniform(), offsets, precision};
    const struct held_out rows = {n, k, r, scores, codes, weights, evidence};
    const struct held_out_parts parts = {p, n, k, logits, base, codes, weights};
    struct scaling found = {0.0, to, known};
    if (sefr_fit_scaling(&rows, below(2) ? counts : NULL, below(2) ? &prior : NULL, &found) != FINITE) exit(3);
    uint64_t sum = sum_of(sum_of(sum_of(7, &found.inverse, 1), to, k), known, k + 1);
    if (sefr_weigh_parts(&parts, shares, losses) != FINITE) exit(3);
    sum = sum_of(sum_of(sum, shares, p), losses, p + 1);
    if (n) {
        codes[below(n)] = below(2) ? -1 : (int32_t)k;
        if (sefr_fit_scaling(&rows, counts, NULL, &found) != BAD_CODE) exit(4);
        if (sefr_weigh_parts(&parts, shares, losses) != BAD_CODE) exit(4);
    }
    free(scores), free(weights), free(evidence), free(counts), free(offsets), free(precision), free(base);
    free(logits), free(to), free(known), free(codes);
    return sum;
}

static uint64_t round_of_rows(void) {
    const ptrdiff_t n = below(3) ? below(200) : below(4), r = below(2) ? 1 : 2 + below(5);
    const ptrdiff_t width = below(12), kind = r == 1 ? below(3) : 1 + below(2), m = kind ? n / (1 + below(3)) : n;
    const ptrdiff_t columns = kind ? m : width;
    const double size = below(4) ? 4.0 : 1e300, heavy = below(3) ? 2.0 : 1e200;
    double *scores = numbers(n * r, -size, size), *weights = numbers(n, 0.0, heavy), *shares = numbers(n, 0.0, 0.1);
    double *class_weights = numbers(r == 1 ? 2 : r, 0.0, 1.0), *lengths = numbers(n, 0.0, 3.0);
    double *known = numbers(m * columns, below(2) ? -1.0 : 0.0, 1.0), *found = numbers(n * r, 0.0, 0.0);
    int32_t *codes = malloc((size_t)n * sizeof *codes);
    for (ptrdiff_t i = 0; i < n; i++) codes[i] = (int32_t)below(r == 1 ? 2 : r);
    for (ptrdiff_t i = 0; kind && i < m; i++) known[i * m + i] += (double)m; /* of a matrix that is positive */
    const struct fitted_rows of = {n, r, scores, codes, weights, shares, class_weights, lengths, 1e-3 * uniform()};
    const struct known_rows from = {(enum known_by)kind, m, width, known, weights, shares, 1.4};
    if (sefr_leave_one_out(&of, &from, found) != FINITE) exit(5);
    const uint64_t sum = sum_of(7, found, n * r);
    if (n) {
        codes[below(n)] = below(2) ? -1 : (int32_t)(r == 1 ? 2 : r);
        if (sefr_leave_one_out(&of, &from, found) != BAD_CODE) exit(6);
    }
    free(scores), free(weights), free(shares), free(class_weights), free(lengths), free(known), free(found),
        free(codes);
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    state = strtoull(argv[1], NULL, 10);
    const long rounds = strtol(argv[2], NULL, 10);
    for (long i = 0; i < rounds; i++) {
        printf("%llu\n%llu\n", (unsigned long long)round_of_it(), (unsigned long long)round_of_rows());
    }
    return 0;
}
