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

/* Several pairs at a time. A score is read and written once for all of them; and where rows that follow each other are
   in one cell, its sum waits for the one before, while those of the other pairs go on. */
enum { TOGETHER = 5 };

/* Where the cells of `count` pairs and their entries lie. */
struct together {
    const uint16_t *at;
    ptrdiff_t n, pitch;
    ptrdiff_t begin[TOGETHER];
};

INLINE void score_together(const struct together *t, const double *table, double *restrict score, const int count) {
    for (ptrdiff_t i = 0; i < t->n; i++) {
        double sum = 0.0;
        for (int p = 0; p < count; p++) sum += table[t->begin[p] + t->at[p * t->pitch + i]];
        score[i] += sum;
    }
}

INLINE void add_together(const struct together *t, const double *residual, double *sums, const int count) {
    for (ptrdiff_t i = 0; i < t->n; i++) {
        const double own = residual[i];
        for (int p = 0; p < count; p++) sums[t->begin[p] + t->at[p * t->pitch + i]] += own;
    }
}

static struct together take_together(const struct pairs *pairs, const struct paired_rows *rows, ptrdiff_t first,
                                     ptrdiff_t count) {
    struct together t = {.at = rows->at + first * rows->pitch, .n = rows->n, .pitch = rows->pitch};
    for (ptrdiff_t p = 0; p < count; p++) t.begin[p] = pairs->pair[first + p].begin;
    return t;
}

void sefr_score_pairs(const struct pairs *pairs, const struct paired_rows *rows, const double *table, double *score) {
    ptrdiff_t p = 0;
    for (; p + TOGETHER <= pairs->n_pairs; p += TOGETHER) {
        const struct together t = take_together(pairs, rows, p, TOGETHER);
        score_together(&t, table, score, TOGETHER);
    }
    for (; p < pairs->n_pairs; p++) {
        const struct together t = take_together(pairs, rows, p, 1);
        score_together(&t, table, score, 1);
    }
}

void sefr_add_pairs(const struct pairs *pairs, const struct paired_rows *rows, const double *residual, double *sums) {
    ptrdiff_t p = 0;
    for (; p + TOGETHER <= pairs->n_pairs; p += TOGETHER) {
        const struct together t = take_together(pairs, rows, p, TOGETHER);
        add_together(&t, residual, sums, TOGETHER);
    }
    for (; p < pairs->n_pairs; p++) {
        const struct together t = take_together(pairs, rows, p, 1);
        add_together(&t, residual, sums, 1);
    }
}
