#include "refine/sample.h"

#include <stdlib.h>
#include <string.h>

#include "common/dtype.h"

/* See loss.c. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "refine/fast_math.h" /* after it: functions of other options are not inlined */

/* Rows are worked on so many at a time, with so many scores: their sums then stay in registers. */
enum { LANES = 8, GROUP = 4, BLOCK = 64 };

/* The rows twice: in groups of LANES with the values of a column side by side, for scores; and line by line, padded to
   `width`, for the gradient. Both end with rows of zeros that fill the last block. */
struct sample {
    ptrdiff_t n, m, padded, width;
    double *turned, *lines;
};

static bool keep_rows(struct sample *sample, const double *rows, ptrdiff_t n, ptrdiff_t m, bool lines) {
    const ptrdiff_t padded = (n + BLOCK - 1) / BLOCK * BLOCK, width = (m + LANES - 1) / LANES * LANES;
    *sample = (struct sample){.n = n, .m = m, .padded = padded, .width = width};
    sample->turned = calloc((size_t)(padded * m) + 1, sizeof(double));
    sample->lines = lines ? calloc((size_t)(padded * width) + 1, sizeof(double)) : NULL;
    if (!sample->turned || (lines && !sample->lines)) return false;
    for (ptrdiff_t i = 0; i < n; i++) {
        double *to = sample->turned + (i - i % LANES) * m + i % LANES;
        for (ptrdiff_t j = 0; j < m; j++) to[j * LANES] = rows[i * m + j];
        if (lines) memcpy(sample->lines + i * width, rows + i * m, (size_t)m * sizeof *rows);
    }
    return true;
}

static void drop_rows(struct sample *sample) {
    free(sample->turned);
    free(sample->lines);
}

/* out[g * pitch + lane] = the products of LANES rows with `count` <= GROUP lines of coef, each column after column. */
INLINE void score_group(const double *restrict turned, ptrdiff_t m, const double *restrict coef,
                        const double *restrict intercept, const int count, double *restrict out, ptrdiff_t pitch) {
    double sum[GROUP][LANES];
    for (int g = 0; g < count; g++) {
        for (int lane = 0; lane < LANES; lane++) sum[g][lane] = intercept[g];
    }
    for (ptrdiff_t j = 0; j < m; j++) {
        for (int g = 0; g < count; g++) {
            for (int lane = 0; lane < LANES; lane++) sum[g][lane] += coef[g * m + j] * turned[j * LANES + lane];
        }
    }
    for (int g = 0; g < count; g++) memcpy(out + g * pitch, sum[g], sizeof sum[g]);
}

/* z (k x BLOCK): the scores of the rows from `first` on, a multiple of BLOCK. */
CLONES static void score_block(const struct sample *sample, ptrdiff_t first, const double *coef,
                               const double *intercept, ptrdiff_t k, double *z) {
    const ptrdiff_t m = sample->m;
    for (ptrdiff_t i = 0; i < BLOCK && first + i < sample->n; i += LANES) {
        const double *turned = sample->turned + (first + i) * m;
        ptrdiff_t c = 0;
        for (; c + GROUP <= k; c += GROUP) {
            score_group(turned, m, coef + c * m, intercept + c, GROUP, z + c * BLOCK + i, BLOCK);
        }
        for (; c < k; c++) score_group(turned, m, coef + c * m, intercept + c, 1, z + c * BLOCK + i, BLOCK);
    }
}

/* gradient[g * width + j] += the sum over rows of residual[g * BLOCK + row] * lines[row][j], row after row. */
INLINE void add_group(const double *restrict lines, ptrdiff_t width, ptrdiff_t n, const double *restrict residual,
                      const int count, double *restrict gradient) {
    for (ptrdiff_t j = 0; j < width; j += LANES) {
        double sum[GROUP][LANES];
        for (int g = 0; g < count; g++) memcpy(sum[g], gradient + g * width + j, sizeof sum[g]);
        for (ptrdiff_t i = 0; i < n; i++) {
            for (int g = 0; g < count; g++) {
                for (int lane = 0; lane < LANES; lane++) {
                    sum[g][lane] += residual[g * BLOCK + i] * lines[i * width + j + lane];
                }
            }
        }
        for (int g = 0; g < count; g++) memcpy(gradient + g * width + j, sum[g], sizeof sum[g]);
    }
}

CLONES static void add_block(const struct sample *sample, ptrdiff_t first, ptrdiff_t n, const double *residual,
                             ptrdiff_t k, double *gradient) {
    const double *lines = sample->lines + first * sample->width;
    const ptrdiff_t width = sample->width;
    ptrdiff_t c = 0;
    for (; c + GROUP <= k; c += GROUP) {
        add_group(lines, width, n, residual + c * BLOCK, GROUP, gradient + c * width);
    }
    for (; c < k; c++) add_group(lines, width, n, residual + c * BLOCK, 1, gradient + c * width);
}

/* The loss of up to BLOCK rows, whose scores z (k x BLOCK) become its derivatives by them. */
CLONES static double logistic_block(double *restrict z, const int32_t *restrict code, const double *restrict weight,
                                    ptrdiff_t n) {
    double losses[BLOCK], loss = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double truth = code[i] == 1 ? 1.0 : 0.0, size = z[i] < 0.0 ? -z[i] : z[i], e = fast_exp(-size);
        const double one = 1.0 / (1.0 + e), probability = z[i] < 0.0 ? e * one : one;
        const double against = code[i] == 1 ? -z[i] : z[i];
        losses[i] = weight[i] * ((against > 0.0 ? against : 0.0) + fast_log1p(e));
        z[i] = weight[i] * (probability - truth);
    }
    for (ptrdiff_t i = 0; i < n; i++) loss += losses[i];
    return loss;
}

CLONES static double softmax_block(double *restrict z, ptrdiff_t k, const int32_t *restrict code,
                                   const double *restrict weight, ptrdiff_t n) {
    double largest[BLOCK], total[BLOCK] = {0.0}, own[BLOCK], loss = 0.0;
    memcpy(largest, z, sizeof largest);
    for (ptrdiff_t c = BLOCK; c < k * BLOCK; c += BLOCK) {
        for (ptrdiff_t i = 0; i < BLOCK; i++) largest[i] = z[c + i] > largest[i] ? z[c + i] : largest[i];
    }
    for (ptrdiff_t i = 0; i < n; i++) own[i] = z[code[i] * BLOCK + i] - largest[i];
    for (ptrdiff_t c = 0; c < k * BLOCK; c += BLOCK) {
        for (ptrdiff_t i = 0; i < BLOCK; i++) z[c + i] = fast_exp(z[c + i] - largest[i]);
        for (ptrdiff_t i = 0; i < BLOCK; i++) total[i] += z[c + i];
    }
    for (ptrdiff_t i = 0; i < BLOCK; i++) largest[i] = fast_log(total[i]);
    for (ptrdiff_t i = 0; i < n; i++) {
        loss += weight[i] * (largest[i] - own[i]);
        total[i] = weight[i] / total[i];
    }
    for (ptrdiff_t c = 0; c < k * BLOCK; c += BLOCK) {
        for (ptrdiff_t i = 0; i < n; i++) z[c + i] *= total[i];
    }
    for (ptrdiff_t i = 0; i < n; i++) z[code[i] * BLOCK + i] -= weight[i];
    return loss;
}

/* What one call needs, in one block. */
struct room {
    double *coef, *intercept; /* MOST_ASKED models */
    double *gradient, *slope; /* of a model, padded lines; and as it is told */
    double *sums;             /* n_scores */
    double *z;                /* models x n_scores x BLOCK */
    double *scores;           /* n_rows x models x n_scores */
    int32_t *codes;           /* a private copy, checked */
};

static double *make_room(struct room *room, const struct objective *of, ptrdiff_t width) {
    const ptrdiff_t n = weights_of(of), r = of->n_scores, all = MOST_ASKED * r;
    const ptrdiff_t sizes[] = {MOST_ASKED * n, all, r * width, n, r, all * BLOCK, of->n_rows * all, of->n_rows / 2 + 1};
    double **const places[] = {&room->coef, &room->intercept, &room->gradient, &room->slope,
                               &room->sums, &room->z,         &room->scores};
    ptrdiff_t total = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) total += sizes[i];
    double *memory = calloc((size_t)total, sizeof *memory), *at = memory;
    if (!memory) return NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places; at += sizes[i++]) *places[i] = at;
    room->codes = (int32_t *)at;
    return memory;
}

/* Scores by q models of all rows, one row after the other. */
static void score_rows(const struct sample *sample, const struct room *room, ptrdiff_t k, double *scores) {
    for (ptrdiff_t first = 0; first < sample->n; first += BLOCK) {
        const ptrdiff_t left = sample->n - first, n = left < BLOCK ? left : BLOCK;
        score_block(sample, first, room->coef, room->intercept, k, room->z);
        for (ptrdiff_t i = 0; i < n; i++) {
            for (ptrdiff_t c = 0; c < k; c++) scores[(first + i) * k + c] = room->z[c * BLOCK + i];
        }
    }
}

/* One pass: scores, loss and derivatives; returns the loss. */
static double pass_over(const struct sample *sample, const struct objective *of, const struct room *room) {
    const ptrdiff_t r = of->n_scores, m = sample->m;
    double loss = 0.0;
    memset(room->gradient, 0, (size_t)(r * sample->width) * sizeof(double));
    memset(room->sums, 0, (size_t)r * sizeof(double));
    for (ptrdiff_t first = 0; first < sample->n; first += BLOCK) {
        const ptrdiff_t left = sample->n - first, n = left < BLOCK ? left : BLOCK;
        const int32_t *code = room->codes + first;
        const double *weight = of->weights + first;
        score_block(sample, first, room->coef, room->intercept, r, room->z);
        for (ptrdiff_t i = 0; i < n; i++) {
            for (ptrdiff_t c = 0; c < r; c++) room->scores[(first + i) * r + c] = room->z[c * BLOCK + i];
        }
        loss += r == 1 ? logistic_block(room->z, code, weight, n) : softmax_block(room->z, r, code, weight, n);
        for (ptrdiff_t c = 0; c < r; c++) {
            for (ptrdiff_t i = 0; i < n; i++) room->sums[c] += room->z[c * BLOCK + i];
        }
        add_block(sample, first, n, room->z, r, room->gradient);
    }
    for (ptrdiff_t c = 0; c < r; c++) {
        memcpy(room->slope + c * m, room->gradient + c * sample->width, (size_t)m * sizeof(double));
    }
    return loss;
}

static bool copy_codes(const struct objective *of, int32_t *codes) {
    for (ptrdiff_t i = 0; i < of->n_rows; i++) {
        codes[i] = ((const volatile int32_t *)of->codes)[i];
        if (codes[i] < 0 || codes[i] >= (of->n_scores == 1 ? 2 : of->n_scores)) return false;
    }
    return true;
}

enum outcome sefr_search_rows(struct search *search, const struct objective *of, const double *rows, ptrdiff_t n_passes,
                              double *curve, ptrdiff_t *made) {
    struct sample sample;
    struct room room;
    enum outcome outcome = keep_rows(&sample, rows, of->n_rows, of->width, true) ? FINITE : NO_MEMORY;
    double *memory = outcome == FINITE ? make_room(&room, of, sample.width) : NULL;
    if (!memory) outcome = NO_MEMORY;
    if (outcome == FINITE && !copy_codes(of, room.codes)) outcome = BAD_CODE;
    *made = 0;
    while (outcome == FINITE && *made < n_passes) {
        const enum asked asked = sefr_ask(search);
        if (asked == NOTHING) break;
        const ptrdiff_t q = sefr_models_asked(search, of, room.coef, room.intercept);
        if (asked == SCORES) {
            score_rows(&sample, &room, q * of->n_scores, room.scores);
            outcome = sefr_tell_scores(search, of, room.scores);
        } else {
            const double loss = pass_over(&sample, of, &room);
            curve[(*made)++] = sefr_tell_pass(search, of, loss, room.slope, room.sums, room.scores);
        }
    }
    free(memory);
    drop_rows(&sample);
    return outcome;
}

bool sefr_sample_scores(const double *rows, ptrdiff_t n, ptrdiff_t m, const double *coef, const double *intercept,
                        ptrdiff_t k, double *scores) {
    struct sample sample;
    double *z = malloc((size_t)(k * BLOCK) * sizeof *z + 1);
    const bool enough = keep_rows(&sample, rows, n, m, false) && z;
    for (ptrdiff_t first = 0; enough && first < n; first += BLOCK) {
        const ptrdiff_t left = n - first, count = left < BLOCK ? left : BLOCK;
        score_block(&sample, first, coef, intercept, k, z);
        for (ptrdiff_t i = 0; i < count; i++) {
            for (ptrdiff_t c = 0; c < k; c++) scores[(first + i) * k + c] = z[c * BLOCK + i];
        }
    }
    free(z);
    drop_rows(&sample);
    return enough;
}
