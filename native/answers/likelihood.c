#include "answers/likelihood.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* See loss.c. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "refine/fast_math.h" /* after it: functions of other options are not inlined */

enum { BLOCK = SIDE_BY_SIDE, LANES = 8, NEWTON_STEPS = 50 };

bool sefr_begin_likelihood(struct likelihood *like) {
    const size_t padded = ((size_t)like->n + BLOCK - 1) / BLOCK * BLOCK, k = (size_t)like->k;
    const size_t values = padded * (size_t)(like->p + 2) * k;
    like->values = calloc(values + padded + 2 * k * BLOCK, sizeof(double));
    if (!like->values) return false;
    like->weights = like->values + values;
    like->scratch = like->weights + padded;
    return true;
}

void sefr_end_likelihood(struct likelihood *like) { free(like->values); }

/* LANES sums in flight: one would wait for itself. */
INLINE double product(const double *restrict a, const double *restrict b, ptrdiff_t n) {
    double part[LANES] = {0.0};
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (ptrdiff_t u = 0; u < LANES; u++) part[u] += a[i + u] * b[i + u];
    }
    for (; i < n; i++) part[0] += a[i] * b[i];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

/* Products of two values of rows, added up over their classes. */
INLINE void add_products(const double *restrict a, const double *restrict b, ptrdiff_t size, double *restrict sums) {
    for (ptrdiff_t c = 0; c < size; c += BLOCK) {
        for (ptrdiff_t r = 0; r < BLOCK; r++) sums[r] += a[c + r] * b[c + r];
    }
}

/* What BLOCK rows from `first` on add to the value and its derivatives; those beyond the last have no weight. */
CLONES static double add_rows(const struct likelihood *like, ptrdiff_t first, const double *theta, ptrdiff_t m,
                              double *slopes, double *curvature) {
    const ptrdiff_t p = like->p, size = like->k * BLOCK;
    const double *own = like->values + first * (p + 2) * like->k, *added = own + p * size, *target = added + size;
    const double *restrict weight = like->weights + first;
    double *restrict likely = like->scratch, *restrict push = likely + size, value = 0.0;
    double highest[BLOCK], total[BLOCK] = {0.0}, aimed[BLOCK] = {0.0}, ones[BLOCK];
    for (ptrdiff_t r = 0; r < BLOCK; r++) highest[r] = -INFINITY, ones[r] = 1.0;
    for (ptrdiff_t c = 0; c < size; c++) likely[c] = theta[p + c / BLOCK] + added[c];
    for (ptrdiff_t i = 0; i < p; i++) {
        for (ptrdiff_t c = 0; c < size; c++) likely[c] += theta[i] * own[i * size + c];
    }
    add_products(target, likely, size, aimed);
    for (ptrdiff_t c = 0; c < size; c += BLOCK) {
        for (ptrdiff_t r = 0; r < BLOCK; r++) highest[r] = likely[c + r] > highest[r] ? likely[c + r] : highest[r];
    }
    for (ptrdiff_t c = 0; c < size; c += BLOCK) {
        for (ptrdiff_t r = 0; r < BLOCK; r++) total[r] += likely[c + r] = fast_exp(likely[c + r] - highest[r]);
    }
    for (ptrdiff_t r = 0; r < BLOCK; r++) value += weight[r] * (fast_log(total[r]) + highest[r] - aimed[r]);
    if (!slopes) return value;
    for (ptrdiff_t c = 0; c < size; c += BLOCK) {
        for (ptrdiff_t r = 0; r < BLOCK; r++) likely[c + r] /= total[r];
    }
    for (ptrdiff_t i = 0; i < p; i++, own += size) {
        double mean[BLOCK] = {0.0}, wanted[BLOCK] = {0.0};
        add_products(likely, own, size, mean);
        add_products(target, own, size, wanted);
        for (ptrdiff_t r = 0; r < BLOCK; r++) slopes[i] += weight[r] * (mean[r] - wanted[r]);
        for (ptrdiff_t c = 0; c < size; c += BLOCK) {
            for (ptrdiff_t r = 0; r < BLOCK; r++) push[c + r] = weight[r] * likely[c + r] * (own[c + r] - mean[r]);
            if (m > p) curvature[(p + c / BLOCK) * m + i] += product(push + c, ones, BLOCK);
        }
        for (ptrdiff_t j = 0; j <= i; j++) curvature[i * m + j] += product(push, own - (i - j) * size, size);
    }
    for (ptrdiff_t c = 0; c < m - p; c++) {
        double *restrict row = curvature + (p + c) * m + p;
        for (ptrdiff_t r = 0; r < BLOCK; r++) push[r] = weight[r] * likely[c * BLOCK + r];
        for (ptrdiff_t d = 0; d <= c; d++) row[d] -= product(push, likely + d * BLOCK, BLOCK);
        const double sum = product(push, ones, BLOCK);
        row[c] += sum;
        slopes[p + c] += sum - product(weight, target + c * BLOCK, BLOCK);
    }
    return value;
}

double sefr_likelihood(const struct likelihood *like, const double *theta, ptrdiff_t m, double *slopes,
                       double *curvature) {
    double value = 0.0;
    if (slopes) {
        memset(slopes, 0, (size_t)m * sizeof *slopes);
        memset(curvature, 0, (size_t)(m * m) * sizeof *curvature);
    }
    for (ptrdiff_t i = 0; i < like->n; i += BLOCK) value += add_rows(like, i, theta, m, slopes, curvature);
    for (ptrdiff_t i = 0; like->precision && i < m; i++) {
        const double away = theta[i] - like->centre[i], pull = like->precision[i] * away;
        value += pull * away / 2.0;
        if (!slopes) continue;
        slopes[i] += pull;
        curvature[i * (m + 1)] += like->precision[i];
    }
    return value;
}

/* x with A x = b, in the place of b, by Cholesky's method, in the place of A (n x n, the lower triangle); false: A is
   not positive. */
CLONES static bool solve(double *a, ptrdiff_t n, double *x) {
    for (ptrdiff_t i = 0; i < n; i++) {
        double *row = a + i * n;
        for (ptrdiff_t j = 0; j < i; j++) row[j] = (row[j] - product(row, a + j * n, j)) / a[j * n + j];
        const double pivot = row[i] - product(row, row, i);
        if (!(pivot > 0.0)) return false;
        row[i] = sqrt(pivot);
        x[i] = (x[i] - product(row, x, i)) / row[i];
    }
    for (ptrdiff_t i = n - 1; i >= 0; i--) {
        x[i] /= a[i * n + i];
        for (ptrdiff_t j = 0; j < i; j++) x[j] -= a[i * n + j] * x[i];
    }
    return true;
}

/* The step (m) to where the quadratic is lowest with no share below 0: the few sets of shares that are 0 there are
   tried in turn. inner has room for m x m and m; false: there is no such step. */
static bool find_step(ptrdiff_t p, ptrdiff_t m, const double *theta, const double *slopes, const double *curvature,
                      double *inner, double *step) {
    double best = INFINITY, *own = inner + m * m;
    for (unsigned fixed = 0; fixed < 1u << p; fixed++) {
        double value = 0.0, least = 0.0;
        for (ptrdiff_t i = 0; i < m; i++) {
            const bool still = i < p && fixed >> i & 1;
            own[i] = still ? -theta[i] : -slopes[i];
            for (ptrdiff_t j = 0; j <= i; j++) {
                const bool other = j < p && fixed >> j & 1;
                inner[i * m + j] = still || other ? (double)(i == j) : curvature[i * m + j];
                if (still != other) own[still ? j : i] += curvature[i * m + j] * theta[still ? i : j];
            }
        }
        if (!solve(inner, m, own)) continue;
        for (ptrdiff_t i = 0; i < p; i++) least = theta[i] + own[i] < least ? theta[i] + own[i] : least;
        if (least < 0.0) continue;
        for (ptrdiff_t i = 0; i < m; i++) {
            value += own[i] * (slopes[i] + product(curvature + i * m, own, i) + curvature[i * (m + 1)] * own[i] / 2.0);
        }
        if (!(value < best)) continue;
        best = value;
        memcpy(step, own, (size_t)m * sizeof *step);
        if (!fixed) break; /* nothing is lower than without bounds */
    }
    return best < INFINITY;
}

bool sefr_likeliest(const struct likelihood *like, double *theta, ptrdiff_t m, double enough) {
    const size_t size = (size_t)(like->p + like->k) * sizeof *theta;
    double *work = malloc((size_t)(2 * m * m + 3 * m) * sizeof *work + size);
    if (!work) return false;
    double *curvature = work + m * m + m, *slopes = curvature + m * m, *step = slopes + m, *trial = step + m;
    double value = sefr_likelihood(like, theta, m, slopes, curvature), found = value;
    memcpy(trial, theta, size);
    for (int turn = 0; turn < NEWTON_STEPS; turn++) {
        /* near the minimum the value is flat to its rounding, and the step is still right */
        const double slack = 1e-13 * fabs(value);
        if (!find_step(like->p, m, theta, slopes, curvature, work, step)) break;
        if (-product(step, slopes, m) < enough * fabs(value)) break;
        for (double shrink = 1.0;; shrink /= 2.0) {
            for (ptrdiff_t i = 0; i < m; i++) trial[i] = theta[i] + shrink * step[i];
            found = sefr_likelihood(like, trial, m, slopes, curvature);
            if (found <= value + slack || shrink < 1e-6) break;
        }
        if (found <= value + slack) memcpy(theta, trial, size);
        if (!(value - found > slack)) break;
        value = found;
    }
    free(work);
    return true;
}
