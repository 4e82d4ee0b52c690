#include "answers/probabilities.h"

#include <stdlib.h>
#include <string.h>

#include "answers/likelihood.h"
#include "refine/fast_math.h"

/* The variance of an offset before any row is seen. */
static const double OFFSET_VARIANCE = 25.0;
/* The prior variance of 1 / T, in units of the mean gap between the best two scores, is the number of rows outside the
   largest class over this: few rows cannot show that scores are to be trusted. */
static const double TEMPERATURE_PRECISION = 4.0;
/* Scores must be so many times as clear as the criterion asks, or probabilities are the base rates. */
static const double SURE_OF_SCORES = 3.0;
/* More rows count as this many: beside their curvature the priors would be lost to rounding. */
static const double MOST_EVIDENCE = 1073741824.0; /* 2^30 */
/* A score further behind the best than this many mean gaps is taken to be so far behind. */
static const double FARTHEST_GAPS = 1e3;

static double larger(double a, double b) { return a > b ? a : b; }

/* Write the rows, and `seen` (k) of each class. As many count as were looked at, those of a class as `counts` say. */
static enum outcome weigh_rows(const struct held_out *rows, const double *counts, const struct likelihood *like,
                               double *own, double *seen) {
    double all = 0.0, sum = 0.0;
    for (ptrdiff_t i = 0; i < rows->n; i++) {
        if (rows->codes[i] < 0 || rows->codes[i] >= rows->k) return BAD_CODE;
        own[rows->codes[i]] += rows->weights[i];
        all += rows->evidence[i];
    }
    const double part = all > MOST_EVIDENCE ? MOST_EVIDENCE / all : 1.0;
    for (ptrdiff_t i = 0; i < rows->n; i++) {
        const int32_t code = rows->codes[i];
        seen[code] += rows->evidence[i] * part;
        like->weights[i] = rows->weights[i] * (counts && own[code] > 0.0 ? counts[code] / own[code] : 1.0);
        sum += like->weights[i];
    }
    for (ptrdiff_t i = 0; i < rows->n; i++) like->weights[i] *= all * part / sum;
    return FINITE;
}

/* Write how far scores lie behind the best, in units of the mean gap of the second best, which is returned. */
static double write_gaps(const struct held_out *rows, const struct likelihood *like) {
    const ptrdiff_t k = rows->k;
    double sum = 0.0, gaps = 0.0;
    for (ptrdiff_t i = 0; i < rows->n; i++) {
        double *to = sefr_value_of(like, i, 0), highest = -INFINITY, second = -INFINITY;
        for (ptrdiff_t c = 0; c < k; c++) {
            const double *from = rows->scores + i * rows->n_scores;
            const double score = rows->n_scores == k ? from[c] : c ? from[0] / 2.0 : -from[0] / 2.0;
            second = larger(second, score < highest ? score : highest);
            highest = larger(highest, score);
            to[c * SIDE_BY_SIDE] = score;
        }
        for (ptrdiff_t c = 0; c < k; c++) to[c * SIDE_BY_SIDE] -= highest;
        if (!(highest - second > 0.0) || highest - second == INFINITY) continue;
        sum += like->weights[i];
        gaps += like->weights[i] * (highest - second);
    }
    const double size = sum > 0.0 ? gaps / sum : 1.0;
    for (ptrdiff_t i = 0; i < rows->n; i++) {
        double *to = sefr_value_of(like, i, 0);
        for (ptrdiff_t c = 0; c < k * SIDE_BY_SIDE; c += SIDE_BY_SIDE) {
            to[c] = to[c] / size < -FARTHEST_GAPS ? -FARTHEST_GAPS : to[c] / size;
        }
    }
    return size;
}

/* Platt's targets: n rows of one of two classes cannot show that it is surer than (n + 1) / (n + 2). With k classes the
   doubt is 2 / k of that, or no class would ever be sure if there are many. It goes to the likeliest other class:
   scores may well be sure that it is none of those far away. */
static void write_targets(const struct held_out *rows, const struct likelihood *like, const double *seen) {
    for (ptrdiff_t i = 0; i < rows->n; i++) {
        const double *gaps = sefr_value_of(like, i, 0);
        double *target = sefr_value_of(like, i, 2);
        const ptrdiff_t code = rows->codes[i];
        const double doubt = 2.0 / (double)rows->k / (seen[code] + 2.0);
        ptrdiff_t rival = code == 0 && rows->k > 1;
        for (ptrdiff_t c = 0; c < rows->k; c++) {
            if (c != code && gaps[c * SIDE_BY_SIDE] > gaps[rival * SIDE_BY_SIDE]) rival = c;
        }
        target[rival * SIDE_BY_SIDE] = doubt;
        target[code * SIDE_BY_SIDE] = 1.0 - doubt;
    }
}

/* What is known of theta (k + 1) before any row, and from earlier ones. */
static void take_prior(const struct scaling *prior, double size, const double *seen, ptrdiff_t k, double *centre,
                       double *precision) {
    double all = 0.0, most = 0.0;
    for (ptrdiff_t c = 0; c < k; c++) all += seen[c], most = larger(most, seen[c]);
    precision[0] = TEMPERATURE_PRECISION / larger(1.0, all - most);
    for (ptrdiff_t c = 1; c <= k; c++) precision[c] = 1.0 / OFFSET_VARIANCE;
    for (ptrdiff_t c = 0; prior && c <= k; c++) {
        const double known = c ? prior->precision[c] : prior->precision[0] / (size * size);
        precision[c] += known;
        centre[c] = (c ? prior->offsets[c - 1] : prior->inverse * size) * known / precision[c];
    }
}

/* Let theta (k + 1), which is the likeliest, be that of 1 / T alone, `plain`, or the base rates, `base`. */
static bool choose(const struct likelihood *like, const int32_t *codes, double *theta, double *plain, double *base) {
    const ptrdiff_t k = like->k, m = k + 1;
    double all = 0.0;
    plain[0] = 1.0;
    if (!sefr_likeliest(like, plain, 1, 0.0)) return false;
    double value = sefr_likelihood(like, theta, m, NULL, NULL);
    const double alone = sefr_likelihood(like, plain, m, NULL, NULL);
    if (alone - value < (double)(k - 1)) {
        memcpy(theta, plain, (size_t)m * sizeof *theta);
        value = alone;
    }
    for (ptrdiff_t i = 0; i < like->n; i++) all += like->weights[i], base[1 + codes[i]] += like->weights[i];
    for (ptrdiff_t c = 1; c <= k; c++) base[c] = -fast_log(1.0 / larger(base[c] / all, 1e-300));
    const double of_one = fast_log(larger(2.0, all)) / 2.0;
    if (sefr_likelihood(like, base, m, NULL, NULL) - value < SURE_OF_SCORES * of_one) {
        memcpy(theta, base, (size_t)m * sizeof *theta);
    }
    return true;
}

enum outcome sefr_fit_scaling(const struct held_out *given, const double *counts, const struct scaling *prior,
                              struct scaling *found) {
    const ptrdiff_t n = given->n, k = given->k, m = k + 1;
    struct likelihood like = {.n = n, .k = k, .p = 1};
    struct held_out rows = *given;
    double *work = calloc((size_t)(m * m + 7 * m), sizeof *work), *theta = work + m * m, *centre = theta + m;
    double *precision = centre + m, *own = precision + m, *seen = own + m, *plain = seen + m, *base = plain + m;
    int32_t *codes = malloc((size_t)n * sizeof *codes + 1); /* a private copy, checked */
    enum outcome outcome = sefr_begin_likelihood(&like) && work && codes ? FINITE : NO_MEMORY;
    if (outcome == FINITE) {
        if (n) memcpy(codes, given->codes, (size_t)n * sizeof *codes);
        rows.codes = codes;
        outcome = weigh_rows(&rows, counts, &like, own, seen);
    }
    if (outcome == FINITE) {
        const double size = write_gaps(&rows, &like);
        bool is_known = false;
        for (ptrdiff_t c = 0; prior && c < k; c++) is_known |= prior->offsets[c] != 0.0;
        write_targets(&rows, &like, seen);
        take_prior(prior, size, seen, k, centre, precision);
        like.centre = centre;
        like.precision = precision;
        memcpy(theta, centre, (size_t)m * sizeof *theta);
        theta[0] = larger(theta[0], 1.0);
        if (!sefr_likeliest(&like, theta, m, 0.0)) outcome = NO_MEMORY;
        if (!is_known && !choose(&like, codes, theta, plain, base)) outcome = NO_MEMORY;
        like.precision = NULL;
        sefr_likelihood(&like, theta, m, base, work);
        found->inverse = theta[0] / size;
        memcpy(found->offsets, theta + 1, (size_t)k * sizeof *theta);
        for (ptrdiff_t c = 0; c < m; c++) {
            found->precision[c] = work[c * (m + 1)] * (c ? 1.0 : size * size) + (prior ? prior->precision[c] : 0.0);
        }
    }
    free(codes);
    free(work);
    sefr_end_likelihood(&like);
    return outcome;
}
