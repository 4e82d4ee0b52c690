/* Edges made ready: checked, copied, and put in order as each kind of search meets them. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cells/scale.h"
#include "refine/product.h"

/* The least float32 that is not below x. */
static float narrow_up(double x) {
    const float near = (float)x;
    return (double)near < x ? nextafterf(near, INFINITY) : near;
}

/* Sorted edges level by level, as search_eight meets them. */
static void plant(const float *edges, int32_t levels, float *tree) {
    for (int32_t level = 0; level < levels && levels <= TREE_LEVELS; level++) {
        const int32_t step = 1 << (levels - 1 - level), width = level < 4 ? 8 : 16;
        for (int32_t i = 0; i < width; i++) {
            tree[level < 4 ? 8 * level + i : 32 + i] = edges[(i & ((1 << level) - 1)) * 2 * step + step - 1];
        }
    }
}

#ifdef SEFR_AVX2
/* The bytes of an edge as they are compared: the lower ones are shifted to signed numbers. */
static inline int8_t upper_byte(int32_t edge) { return (int8_t)(edge >> 8); }
static inline int8_t lower_byte(int32_t edge) { return (int8_t)((edge & 255) - 128); }

/* Whether the edges of feature j, given as float32, are few and far enough from each other: no two with one upper byte.
   Where float32 tells eight edges apart, rounding moves none of them by more than 1,000: all are well below 127 * 256,
   the numbers of large values. */
AVX2 static bool quantise_edges(const float *edges, int32_t n, ptrdiff_t j, struct quantised *eight,
                                int32_t numbers[MOST_EDGES + 1]) {
    __attribute__((aligned(32))) float padded[MOST_EDGES + 1] = {0};
    int32_t at[MOST_EDGES + 1];
    if (n < FEWEST_EDGES || n > MOST_EDGES) return false;
    const double span = (double)edges[n - 1] - (double)edges[0];
    if (!(span > (LAST_EDGE - FIRST_EDGE) / (double)FLT_MAX)) return false; /* float32 does not hold the scale */
    const float scale = (float)((LAST_EDGE - FIRST_EDGE) / span);
    const double shifted = (double)edges[0] * (double)scale - FIRST_EDGE;
    if (!(fabs(shifted) <= (double)FLT_MAX)) return false;
    const float shift = (float)shifted;
    memcpy(padded, edges, (size_t)n * sizeof *edges);
    for (ptrdiff_t i = 0; i <= MOST_EDGES; i += 8) {
        const __m256i found = quantise_eight(_mm256_load_ps(padded + i), _mm256_set1_ps(scale), _mm256_set1_ps(shift));
        _mm256_storeu_si256((__m256i *)(void *)(numbers + i), found);
    }
    for (int32_t i = 1; i < n; i++) {
        if (upper_byte(numbers[i]) <= upper_byte(numbers[i - 1])) return false;
    }
    const int32_t none = MOST_EDGES - n;
    for (int32_t i = 0; i < MOST_EDGES; i++) at[i] = i < none ? LOWEST : numbers[i - none];
    at[MOST_EDGES] = LOWEST; /* only looked at for equality */
#define TABLE(name) (eight->tables[j % 4][name] + j % 8 / 4 * 16)
    memset(TABLE(TOP), upper_byte(at[15]), 16);
    memset(TABLE(LEFT), upper_byte(at[7]), 16);
    memset(TABLE(RIGHT), upper_byte(at[23]), 16);
    for (int32_t i = 0; i < 16; i++) TABLE(THIRD)[i] = upper_byte(at[8 * (i & 3) + 3]);
    for (int32_t i = 0; i < 16; i++) TABLE(FOURTH)[i] = upper_byte(at[4 * (i & 7) + 1]);
    for (int32_t i = 0; i < 16; i++) TABLE(EVEN_UPPER)[i] = upper_byte(at[2 * i]);
    for (int32_t i = 0; i < 16; i++) TABLE(EVEN_LOWER)[i] = lower_byte(at[2 * i]);
    for (int32_t i = 0; i < 16; i++) TABLE(ODD_UPPER)[i] = upper_byte(at[2 * i + 1]);
    for (int32_t i = 0; i < 16; i++) TABLE(ODD_LOWER)[i] = lower_byte(at[2 * i + 1]);
    for (int32_t i = 0; i < 16; i++) TABLE(CELL)[i] = (int8_t)(2 * i - none);
#undef TABLE
    eight->scale[j % 8] = scale, eight->shift[j % 8] = shift;
    return true;
}
#endif

#ifdef SEFR_AVX512
static void fill_buckets(const int32_t *numbers, int32_t n, struct buckets *to) {
    uint8_t cell[N_BUCKETS + 16]; /* by rising bytes, sixteen at a time: the last of them are written again */
    int32_t at = 0;
    memset(to->edge, 0, sizeof to->edge);
    for (int32_t i = 0; i <= n; i++) {
        const int32_t end = i < n ? LOW_BUCKETS + upper_byte(numbers[i]) + 1 : N_BUCKETS;
        for (; at < end; at += 16) memset(cell + at, i, 16);
        at = end;
        if (i == n) break;
        cell[at - 1] = (uint8_t)(i | HAS_EDGE);
        to->edge[(at - 1 + HIGH_BUCKETS) % N_BUCKETS] = (uint8_t)(numbers[i] & 255);
    }
    memcpy(to->cell, cell + LOW_BUCKETS, HIGH_BUCKETS);
    memcpy(to->cell + HIGH_BUCKETS, cell, LOW_BUCKETS);
}
#endif

static enum outcome prepare_feature(struct coder *coder, const struct edges *edges, ptrdiff_t j, int64_t start) {
    struct feature *feature = &coder->features[j];
    const ptrdiff_t n = ((ptrdiff_t)1 << feature->levels) - 1;
    double *wide = coder->wide + feature->place;
    float *narrow = coder->narrow + feature->place, *near = coder->near + feature->place;
    feature->narrow = true;
    for (ptrdiff_t i = 0; i < n; i++) {
        wide[i] = i < feature->n_edges ? ((const volatile double *)edges->values)[start + i] : INFINITY;
        if (i < feature->n_edges && (!isfinite(wide[i]) || (i > 0 && !(wide[i] > wide[i - 1])))) return BAD_EDGE;
        narrow[i] = narrow_up(wide[i]);
        near[i] = (float)wide[i];
        feature->narrow &= (double)near[i] == wide[i];
    }
    plant(narrow, feature->levels, coder->trees + j * TREE_FLOATS);
    plant(near, feature->levels, coder->near_trees + j * TREE_FLOATS);
#ifdef SEFR_AVX2
    int32_t numbers[MOST_EDGES + 1];
    feature->quantised = has_avx2() && quantise_edges(near, feature->n_edges, j, coder->quantised + j / 8, numbers);
    coder->quantised[j / 8].n += feature->quantised;
#endif
#ifdef SEFR_AVX512
    if (feature->quantised && coder->buckets) fill_buckets(numbers, feature->n_edges, coder->buckets + j);
#endif
    return FINITE;
}

/* A column of n cells more; false: there are too many. */
static bool add_column(struct coder *coder, struct feature *feature, int32_t n) {
    if (coder->n_cells > INT32_MAX - MOST_CELLS) return false;
    feature->n = n;
    feature->first = (int32_t)coder->n_cells;
    coder->n_cells += n;
    while (coder->width < n) coder->width *= 2;
    return true;
}

/* The ferns, after the features. */
static enum outcome prepare_ferns(struct coder *coder, const struct edges *edges) {
    coder->ferns = malloc(((size_t)edges->n_ferns + 1) * sizeof *coder->ferns);
    coder->comparisons = malloc(((size_t)edges->n_comparisons + 1) * sizeof *coder->comparisons);
    if (!coder->ferns || !coder->comparisons) return NO_MEMORY;
    for (ptrdiff_t t = 0; t <= edges->n_ferns; t++) {
        const int64_t start = ((const volatile int64_t *)edges->ferns)[t];
        const int64_t before = t ? coder->ferns[t - 1] : 0;
        if (start < before || start > edges->n_comparisons) return BAD_FERN; /* so that nothing overflows below */
        const int64_t own = t ? start - before : 1;
        if ((t == 0 && start != 0) || own < 1 || own > MOST_COMPARISONS) return BAD_FERN;
        coder->ferns[t] = (int32_t)start;
        if (t && !add_column(coder, &coder->features[coder->m + t - 1], 1 << own)) return BAD_STARTS;
    }
    if (coder->ferns[edges->n_ferns] != edges->n_comparisons) return BAD_FERN;
    for (ptrdiff_t c = 0; c < edges->n_comparisons; c++) {
        const volatile struct comparison *given = edges->comparisons + c;
        const struct comparison own = {given->feature, given->bound, given->equal};
        if (own.feature < 0 || own.feature >= coder->m) return BAD_FERN;
        if (own.bound < 0 || own.bound >= coder->features[own.feature].n) return BAD_FERN;
        coder->comparisons[c] = own;
    }
    return FINITE;
}

enum outcome sefr_prepare_coder(struct coder *coder, const struct edges *edges, ptrdiff_t n_values) {
    const ptrdiff_t m = edges->m;
    const int32_t extra = edges->missing ? 2 : 1;
    ptrdiff_t n_edges = 0;
    *coder = (struct coder){.m = m, .width = 1, .missing = edges->missing, .coded = !edges->values};
    coder->n_columns = m + edges->n_ferns;
    coder->features = calloc((size_t)coder->n_columns + 1, sizeof *coder->features);
    int64_t *starts = malloc(((size_t)m + 1) * sizeof *starts);
    enum outcome outcome = coder->features && starts ? FINITE : NO_MEMORY;
    for (ptrdiff_t j = 0; outcome == FINITE && j <= m; j++) {
        starts[j] = ((const volatile int64_t *)edges->starts)[j];
        if (j == 0 && starts[j] != 0) outcome = BAD_STARTS;
        if (j == m && edges->values && starts[j] != n_values) outcome = BAD_STARTS;
    }
    for (ptrdiff_t j = 0; outcome == FINITE && j < m; j++) {
        struct feature *feature = &coder->features[j];
        if (starts[j + 1] < starts[j] || starts[j + 1] - starts[j] > MOST_CELLS - extra) { /* they begin at 0 */
            outcome = BAD_STARTS;
            break;
        }
        feature->n_edges = (int32_t)(starts[j + 1] - starts[j]);
        if (!add_column(coder, feature, feature->n_edges + extra)) {
            outcome = BAD_STARTS;
            break;
        }
        feature->levels = 1; /* without an edge, one that nothing reaches */
        while ((1 << feature->levels) - 1 < feature->n_edges) feature->levels++;
        feature->place = n_edges;
        n_edges += ((ptrdiff_t)1 << feature->levels) - 1;
    }
    if (outcome == FINITE && edges->n_ferns) outcome = prepare_ferns(coder, edges);
    if (outcome == FINITE && edges->values) {
        coder->wide = malloc(((size_t)n_edges + 1) * sizeof *coder->wide);
        coder->narrow = malloc(((size_t)n_edges + 1) * sizeof *coder->narrow);
        coder->near = malloc(((size_t)n_edges + 1) * sizeof *coder->near);
        coder->trees = sefr_aligned(m * TREE_FLOATS, sizeof *coder->trees);
        coder->near_trees = sefr_aligned(m * TREE_FLOATS, sizeof *coder->near_trees);
        coder->quantised = sefr_aligned(m / 8 + 1, sizeof *coder->quantised);
        if (!coder->wide || !coder->narrow || !coder->near || !coder->trees || !coder->near_trees || !coder->quantised)
            outcome = NO_MEMORY;
#ifdef SEFR_AVX512
        if (has_avx512() && !(coder->buckets = sefr_aligned(m, sizeof *coder->buckets))) outcome = NO_MEMORY;
#endif
        if (outcome == FINITE) {
            for (ptrdiff_t e = 0; e <= m / 8; e++) coder->quantised[e].n = 0;
            memset(coder->trees, 0, (size_t)m * TREE_FLOATS * sizeof *coder->trees);
            memset(coder->near_trees, 0, (size_t)m * TREE_FLOATS * sizeof *coder->near_trees);
        }
        for (ptrdiff_t j = 0; outcome == FINITE && j < m; j++) outcome = prepare_feature(coder, edges, j, starts[j]);
    }
    free(starts);
    if (outcome != FINITE) sefr_free_coder(coder);
    return outcome;
}

void sefr_free_coder(struct coder *coder) {
    free(coder->features);
    free(coder->ferns);
    free(coder->comparisons);
    free(coder->wide);
    free(coder->narrow);
    free(coder->near);
    free(coder->trees);
    free(coder->near_trees);
    free(coder->quantised);
    free(coder->buckets);
    *coder = (struct coder){0};
}
