#include "refine/mixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/dtype.h"

/* See loss.c. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "refine/fast_math.h" /* after it: functions of other options are not inlined */

enum { BLOCK = 64, LANES = 8 };
static const int NEWTON_STEPS = 25;
static const double ENOUGH = 1e-4; /* of the loss; the pass over all rows corrects what is left */

struct derivatives {
    double loss, gradient[MOST_POINTS], curvature[MOST_POINTS * MOST_POINTS];
};

struct search {
    const struct mixture *m;
    const int32_t *codes; /* a private copy, checked */
    double *turned;       /* with several scores: blocks of BLOCK rows, in each n_points x n_scores x BLOCK */
    double *z;            /* n_scores x BLOCK */
    double unit[MOST_POINTS], start[MOST_POINTS], correction[MOST_POINTS], hessian[MOST_POINTS * MOST_POINTS];
    struct derivatives first; /* of the rows, at the start */
};

/* LANES sums in flight: one would wait for itself. */
#define ADD_PRODUCTS(total, a, b, count)                                                                             \
    do {                                                                                                             \
        double parts[LANES] = {0.0};                                                                                 \
        ptrdiff_t r = 0;                                                                                             \
        for (; r + LANES <= (count); r += LANES) {                                                                   \
            for (ptrdiff_t u = 0; u < LANES; u++) parts[u] += (a)[r + u] * (b)[r + u];                               \
        }                                                                                                            \
        for (; r < (count); r++) parts[0] += (a)[r] * (b)[r];                                                        \
        (total) = ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7])); \
    } while (0)

/* Rows from `first` on, at most BLOCK. */
CLONES static void add_logistic(const struct search *s, ptrdiff_t first, ptrdiff_t count, const double *a,
                                struct derivatives *out) {
    const ptrdiff_t q = s->m->n_points, n = s->m->n_rows;
    const int32_t *restrict code = s->codes + first;
    const double *restrict weight = s->m->weights + first;
    double z[BLOCK] = {0.0}, residual[BLOCK], curved[BLOCK], losses[BLOCK];
    for (ptrdiff_t i = 0; i < q; i++) {
        const double *restrict own = s->m->scores + i * n + first, share = a[i] * s->unit[i];
        for (ptrdiff_t r = 0; r < count; r++) z[r] += share * own[r];
    }
    for (ptrdiff_t r = 0; r < count; r++) {
        const double truth = code[r] == 1 ? 1.0 : 0.0, size = z[r] < 0.0 ? -z[r] : z[r], e = fast_exp(-size);
        const double one = 1.0 / (1.0 + e), probability = z[r] < 0.0 ? e * one : one;
        const double against = code[r] == 1 ? -z[r] : z[r];
        losses[r] = weight[r] * ((against > 0.0 ? against : 0.0) + fast_log1p(e));
        residual[r] = weight[r] * (probability - truth);
        curved[r] = weight[r] * e * one * one;
    }
    for (ptrdiff_t r = 0; r < count; r++) out->loss += losses[r];
    for (ptrdiff_t i = 0; i < q; i++) {
        const double *own = s->m->scores + i * n + first;
        double sum, along[BLOCK];
        ADD_PRODUCTS(sum, residual, own, count);
        out->gradient[i] += sum * s->unit[i];
        for (ptrdiff_t r = 0; r < count; r++) along[r] = curved[r] * own[r];
        for (ptrdiff_t j = 0; j <= i; j++) {
            const double *other = s->m->scores + j * n + first;
            ADD_PRODUCTS(sum, along, other, count);
            out->curvature[i * q + j] += sum * s->unit[i] * s->unit[j];
        }
    }
}

/* Sums over the classes of each row, side by side. */
INLINE void add_means(const double *restrict own, const double *restrict z, ptrdiff_t k, double *restrict sum) {
    memset(sum, 0, BLOCK * sizeof *sum);
    for (ptrdiff_t c = 0; c < k * BLOCK; c += BLOCK) {
        for (ptrdiff_t r = 0; r < BLOCK; r++) sum[r] += own[c + r] * z[c + r];
    }
}

INLINE void add_squares(const double *restrict own, const double *restrict other, const double *restrict z, ptrdiff_t k,
                        double *restrict sum) {
    memset(sum, 0, BLOCK * sizeof *sum);
    for (ptrdiff_t c = 0; c < k * BLOCK; c += BLOCK) {
        for (ptrdiff_t r = 0; r < BLOCK; r++) sum[r] += own[c + r] * other[c + r] * z[c + r];
    }
}

/* Rows from `first` on, at most BLOCK, side by side; those beyond `count` are zeros. */
CLONES static void add_softmax(const struct search *s, ptrdiff_t first, ptrdiff_t count, const double *a,
                               struct derivatives *out) {
    const ptrdiff_t q = s->m->n_points, k = s->m->n_scores, size = k * BLOCK;
    const double *turned = s->turned + first * q * k, *restrict weight = s->m->weights + first;
    const int32_t *restrict code = s->codes + first;
    double *restrict z = s->z, mean[MOST_POINTS][BLOCK], both[BLOCK], largest[BLOCK], logs[BLOCK], total[BLOCK] = {0.0};
    memset(z, 0, (size_t)size * sizeof *z);
    for (ptrdiff_t i = 0; i < q; i++) {
        const double *restrict own = turned + i * size, share = a[i] * s->unit[i];
        for (ptrdiff_t c = 0; c < size; c++) z[c] += share * own[c];
    }
    memcpy(largest, z, sizeof largest);
    for (ptrdiff_t c = BLOCK; c < size; c += BLOCK) {
        for (ptrdiff_t r = 0; r < BLOCK; r++) largest[r] = z[c + r] > largest[r] ? z[c + r] : largest[r];
    }
    for (ptrdiff_t r = 0; r < count; r++) both[r] = z[code[r] * BLOCK + r] - largest[r];
    for (ptrdiff_t c = 0; c < size; c += BLOCK) {
        for (ptrdiff_t r = 0; r < BLOCK; r++) z[c + r] = fast_exp(z[c + r] - largest[r]);
        for (ptrdiff_t r = 0; r < BLOCK; r++) total[r] += z[c + r];
    }
    for (ptrdiff_t r = 0; r < BLOCK; r++) logs[r] = fast_log(total[r]);
    for (ptrdiff_t r = 0; r < count; r++) out->loss += weight[r] * (logs[r] - both[r]);
    for (ptrdiff_t i = 0; i < q; i++) {
        const double *own = turned + i * size;
        add_means(own, z, k, mean[i]);
        for (ptrdiff_t r = 0; r < BLOCK; r++) mean[i][r] = mean[i][r] / total[r] * s->unit[i];
        for (ptrdiff_t r = 0; r < count; r++) {
            out->gradient[i] += weight[r] * (mean[i][r] - own[code[r] * BLOCK + r] * s->unit[i]);
        }
        for (ptrdiff_t j = 0; j <= i; j++) {
            add_squares(own, turned + j * size, z, k, both);
            for (ptrdiff_t r = 0; r < BLOCK; r++) {
                both[r] = both[r] / total[r] * s->unit[i] * s->unit[j] - mean[i][r] * mean[j][r];
            }
            for (ptrdiff_t r = 0; r < count; r++) out->curvature[i * q + j] += weight[r] * both[r];
        }
    }
}

/* Put rows side by side, so that vectors work on as many at a time. */
static void turn_rows(struct search *s) {
    const ptrdiff_t q = s->m->n_points, n = s->m->n_rows, k = s->m->n_scores;
    for (ptrdiff_t i = 0; i < q; i++) {
        for (ptrdiff_t row = 0; row < n; row++) {
            const double *own = s->m->scores + (i * n + row) * k;
            double *to = s->turned + (row - row % BLOCK) * q * k + i * k * BLOCK + row % BLOCK;
            for (ptrdiff_t c = 0; c < k; c++) to[c * BLOCK] = own[c];
        }
    }
}

/* Of the rows alone. */
static struct derivatives of_rows(const struct search *s, const double *a) {
    const ptrdiff_t q = s->m->n_points;
    struct derivatives out = {0};
    for (ptrdiff_t first = 0; first < s->m->n_rows; first += BLOCK) {
        const ptrdiff_t left = s->m->n_rows - first, count = left < BLOCK ? left : BLOCK;
        if (s->m->n_scores == 1) {
            add_logistic(s, first, count, a, &out);
        } else {
            add_softmax(s, first, count, a, &out);
        }
    }
    for (ptrdiff_t i = 0; i < q; i++) {
        for (ptrdiff_t j = 0; j < i; j++) out.curvature[j * q + i] = out.curvature[i * q + j];
    }
    return out;
}

/* And of the penalty and the correction. */
static struct derivatives with_penalty(const struct search *s, const double *a, struct derivatives out) {
    const ptrdiff_t q = s->m->n_points;
    for (ptrdiff_t i = 0; i < q; i++) {
        double pull = 0.0;
        for (ptrdiff_t j = 0; j < q; j++) pull += s->hessian[i * q + j] * a[j];
        out.loss += pull * a[i] / 2 + s->correction[i] * (a[i] - s->start[i]);
        out.gradient[i] += pull + s->correction[i];
    }
    for (ptrdiff_t i = 0; i < q * q; i++) out.curvature[i] += s->hessian[i];
    return out;
}

/* x with A x = -b, by elimination with the largest pivot; false: A is singular. */
static bool solve(const struct derivatives *d, ptrdiff_t q, double *x) {
    double rows[MOST_POINTS][MOST_POINTS + 1], trace = 0.0;
    for (ptrdiff_t i = 0; i < q; i++) trace += d->curvature[i * q + i];
    for (ptrdiff_t i = 0; i < q; i++) {
        for (ptrdiff_t j = 0; j < q; j++) rows[i][j] = d->curvature[i * q + j];
        rows[i][i] += 1e-10 * trace / (double)q + 1e-300;
        rows[i][q] = -d->gradient[i];
    }
    for (ptrdiff_t c = 0; c < q; c++) {
        ptrdiff_t best = c;
        for (ptrdiff_t i = c + 1; i < q; i++) best = fabs(rows[i][c]) > fabs(rows[best][c]) ? i : best;
        if (!(fabs(rows[best][c]) > 0.0)) return false;
        for (ptrdiff_t j = c; j <= q; j++) {
            const double kept = rows[c][j];
            rows[c][j] = rows[best][j];
            rows[best][j] = kept;
        }
        for (ptrdiff_t i = c + 1; i < q; i++) {
            const double share = rows[i][c] / rows[c][c];
            for (ptrdiff_t j = c; j <= q; j++) rows[i][j] -= share * rows[c][j];
        }
    }
    for (ptrdiff_t i = q - 1; i >= 0; i--) {
        x[i] = rows[i][q];
        for (ptrdiff_t j = i + 1; j < q; j++) x[i] -= rows[i][j] * x[j];
        x[i] /= rows[i][i];
    }
    return true;
}

/* Points in units of the size of their scores; a point without scores has no size. */
static void begin(struct search *s) {
    const ptrdiff_t q = s->m->n_points, size = s->m->n_rows * s->m->n_scores;
    for (ptrdiff_t i = 0; i < q; i++) {
        double squares = 0.0;
        for (ptrdiff_t c = 0; c < size; c++) squares += s->m->scores[i * size + c] * s->m->scores[i * size + c];
        const double root = sqrt(squares / (double)s->m->n_rows);
        s->unit[i] = root > 1e-150 ? 1.0 / root : 1.0;
        s->start[i] = s->m->start[i] / s->unit[i];
    }
    for (ptrdiff_t i = 0; i < q; i++) {
        for (ptrdiff_t j = 0; j < q; j++) s->hessian[i * q + j] = s->m->hessian[i * q + j] * s->unit[i] * s->unit[j];
    }
    s->first = of_rows(s, s->start);
    if (!s->m->slope) return;
    const struct derivatives found = with_penalty(s, s->start, s->first); /* and no correction, which is 0 still */
    for (ptrdiff_t i = 0; i < q; i++) s->correction[i] = s->m->slope[i] * s->unit[i] - found.gradient[i];
}

/* From the start, which is in `a`. */
static void search_minimum(const struct search *s, double *a) {
    const ptrdiff_t q = s->m->n_points;
    struct derivatives here = with_penalty(s, a, s->first), there = here;
    for (int turn = 0; turn < NEWTON_STEPS; turn++) {
        double step[MOST_POINTS], next[MOST_POINTS], slope = 0.0, size = 1.0;
        if (!solve(&here, q, step)) return;
        for (ptrdiff_t i = 0; i < q; i++) slope += here.gradient[i] * step[i];
        for (; size > 1e-4; size /= 2) {
            for (ptrdiff_t i = 0; i < q; i++) next[i] = a[i] + size * step[i];
            there = with_penalty(s, next, of_rows(s, next));
            if (there.loss <= here.loss + 1e-4 * size * slope) break;
        }
        if (!(size > 1e-4)) return;
        const double gain = here.loss - there.loss;
        memcpy(a, next, (size_t)q * sizeof *a);
        here = there;
        if (gain <= ENOUGH * fabs(here.loss)) return;
    }
}

enum outcome sefr_minimise_mixture(const struct mixture *mixture, double *shares) {
    const ptrdiff_t n = mixture->n_rows;
    int32_t *codes = malloc(((size_t)n + 1) * sizeof *codes);
    const ptrdiff_t padded = mixture->n_scores > 1 ? (n + BLOCK - 1) / BLOCK * BLOCK : 0;
    struct search s = {.m = mixture, .codes = codes};
    s.turned = calloc((size_t)(mixture->n_points * padded * mixture->n_scores) + 1, sizeof *s.turned);
    s.z = malloc((size_t)(mixture->n_scores * BLOCK) * sizeof *s.z);
    enum outcome outcome = codes && s.turned && s.z ? FINITE : NO_MEMORY;
    for (ptrdiff_t i = 0; outcome == FINITE && i < n; i++) {
        codes[i] = ((const volatile int32_t *)mixture->codes)[i];
        if (codes[i] < 0 || codes[i] >= mixture->n_classes) outcome = BAD_CODE;
    }
    if (outcome == FINITE) {
        double a[MOST_POINTS];
        if (padded) turn_rows(&s);
        begin(&s);
        memcpy(a, s.start, sizeof a);
        search_minimum(&s, a);
        for (ptrdiff_t i = 0; i < mixture->n_points; i++) shares[i] = a[i] * s.unit[i];
    }
    free(codes);
    free(s.turned);
    free(s.z);
    return outcome;
}
