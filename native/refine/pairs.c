#include "refine/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "common/dtype.h"

/* A pair has few enough cells for its sums to stay in the first-level cache, and for the rows to outweigh them. */
enum { MOST_PAIR_CELLS = 2048, FEWEST_ROWS_PER_CELL = 4, MOST_CELLS_OF_PAIRS = 1 << 15 };

/* Whether all pairs together are few enough for the second-level cache. */
static bool pairs_fit(const struct coder *coder) {
    ptrdiff_t sum = 0;
    for (ptrdiff_t j = 0; j + 1 < coder->m; j += 2) sum += (ptrdiff_t)coder->features[j].n * coder->features[j + 1].n;
    return sum <= MOST_CELLS_OF_PAIRS;
}

bool sefr_find_pairs(struct pairs *pairs, const struct coder *coder, ptrdiff_t n_rows) {
    *pairs = (struct pairs){0};
    pairs->pair = malloc(((size_t)coder->m + 1) * sizeof *pairs->pair);
    if (!pairs->pair) return false;
    const bool fit = pairs_fit(coder);
    for (ptrdiff_t j = 0; j < coder->m;) {
        const int32_t low = coder->features[j].n, high = j + 1 < coder->m ? coder->features[j + 1].n : 0;
        const ptrdiff_t both = (ptrdiff_t)low * high;
        const bool paired =
            fit && j % 2 == 0 && high > 1 && both <= MOST_PAIR_CELLS && both * FEWEST_ROWS_PER_CELL <= n_rows;
        pairs->pair[pairs->n_pairs++] = (struct pair){(int32_t)j, low, paired ? high : 1, pairs->n_cells};
        pairs->n_cells += paired ? both : low;
        j += paired ? 2 : 1;
    }
    return true;
}

void sefr_free_pairs(struct pairs *pairs) {
    free(pairs->pair);
    *pairs = (struct pairs){0};
}

void sefr_pair_table(const struct pairs *pairs, const struct coder *coder, const double *coef, double *table) {
    for (ptrdiff_t p = 0; p < pairs->n_pairs; p++) {
        const struct pair *pair = pairs->pair + p;
        const double *low = coef + coder->features[pair->column].first, *high = low + pair->n_low;
        double *to = table + pair->begin;
        for (int32_t h = 0; h < pair->n_high; h++, to += pair->n_low) {
            const double more = pair->n_high > 1 ? high[h] : 0.0;
            for (int32_t l = 0; l < pair->n_low; l++) to[l] = low[l] + more;
        }
    }
}

void sefr_unpair(const struct pairs *pairs, const struct coder *coder, const double *sums, double *gradient) {
    for (ptrdiff_t p = 0; p < pairs->n_pairs; p++) {
        const struct pair *pair = pairs->pair + p;
        const double *from = sums + pair->begin;
        double *low = gradient + coder->features[pair->column].first, *high = low + pair->n_low;
        for (int32_t h = 0; h < pair->n_high; h++, from += pair->n_low) {
            double sum = 0.0;
            for (int32_t l = 0; l < pair->n_low; l++) {
                low[l] += from[l];
                sum += from[l];
            }
            if (pair->n_high > 1) high[h] += sum;
        }
    }
}

CLONES static void pair_two(const uint8_t *restrict low, const uint8_t *restrict high, uint16_t n_low, ptrdiff_t n,
                            uint16_t *restrict at) {
    for (ptrdiff_t i = 0; i < n; i++) at[i] = (uint16_t)(low[i] + high[i] * n_low);
}

CLONES static void widen(const uint8_t *restrict cells, ptrdiff_t n, uint16_t *restrict at) {
    for (ptrdiff_t i = 0; i < n; i++) at[i] = cells[i];
}

void sefr_pair_columns(const struct pairs *pairs, const uint8_t *columns, ptrdiff_t pitch,
                       const struct paired_cells *to) {
    for (ptrdiff_t p = 0; p < pairs->n_pairs; p++) {
        const struct pair *pair = pairs->pair + p;
        const uint8_t *low = columns + pair->column * pitch;
        uint16_t *at = to->at + p * to->pitch;
        if (pair->n_high > 1) {
            pair_two(low, low + pitch, (uint16_t)pair->n_low, to->n, at);
        } else {
            widen(low, to->n, at);
        }
    }
}

/* Two pairs at a time, so that a score is read and written half as often. */
void sefr_score_pairs(const struct pairs *pairs, const struct paired_rows *rows, const double *table, double *score) {
    ptrdiff_t p = 0;
    for (; p + 2 <= pairs->n_pairs; p += 2) {
        const uint16_t *a = rows->at + p * rows->pitch, *b = a + rows->pitch;
        const double *of_a = table + pairs->pair[p].begin, *of_b = table + pairs->pair[p + 1].begin;
        ptrdiff_t i = 0;
        for (; i + 4 <= rows->n; i += 4) {
            const double s0 = of_a[a[i]] + of_b[b[i]], s1 = of_a[a[i + 1]] + of_b[b[i + 1]];
            const double s2 = of_a[a[i + 2]] + of_b[b[i + 2]], s3 = of_a[a[i + 3]] + of_b[b[i + 3]];
            score[i] += s0, score[i + 1] += s1, score[i + 2] += s2, score[i + 3] += s3;
        }
        for (; i < rows->n; i++) score[i] += of_a[a[i]] + of_b[b[i]];
    }
    if (p < pairs->n_pairs) {
        const uint16_t *a = rows->at + p * rows->pitch;
        const double *of_a = table + pairs->pair[p].begin;
        for (ptrdiff_t i = 0; i < rows->n; i++) score[i] += of_a[a[i]];
    }
}

void sefr_add_pairs(const struct pairs *pairs, const struct paired_rows *rows, const double *residual, double *sums) {
    ptrdiff_t p = 0;
    for (; p + 2 <= pairs->n_pairs; p += 2) {
        const uint16_t *a = rows->at + p * rows->pitch, *b = a + rows->pitch;
        double *of_a = sums + pairs->pair[p].begin, *of_b = sums + pairs->pair[p + 1].begin;
        ptrdiff_t i = 0;
        for (; i + 4 <= rows->n; i += 4) {
            const double r0 = residual[i], r1 = residual[i + 1], r2 = residual[i + 2], r3 = residual[i + 3];
            of_a[a[i]] += r0, of_b[b[i]] += r0;
            of_a[a[i + 1]] += r1, of_b[b[i + 1]] += r1;
            of_a[a[i + 2]] += r2, of_b[b[i + 2]] += r2;
            of_a[a[i + 3]] += r3, of_b[b[i + 3]] += r3;
        }
        for (; i < rows->n; i++) of_a[a[i]] += residual[i], of_b[b[i]] += residual[i];
    }
    if (p < pairs->n_pairs) {
        const uint16_t *a = rows->at + p * rows->pitch;
        double *of_a = sums + pairs->pair[p].begin;
        for (ptrdiff_t i = 0; i < rows->n; i++) of_a[a[i]] += residual[i];
    }
}
