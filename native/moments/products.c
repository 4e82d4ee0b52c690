/* X'X of dense rows: some rows at a time become a panel of float64 about the origin, which stays in the L1 or L2 cache
   while all products of its columns are added up in registers, tile by tile. */
#include "moments/products.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/avx512.h"
#include "common/threads.h"

enum {
    PANEL_BYTES = 24576, /* of the L1 cache, which has 32768 or more */
    FEWEST_ROWS = 64,    /* a tile of sums is loaded and stored once per panel */
    MOST_ROWS = 512,
    LANES = 8,
    MOST_PARTS = 16,
    PART_ROWS = 2048,
    CALLED_LINES = 32,
};

/* n rows of `width` columns, `pitch` apart; columns from `width` to the next multiple of LANES are 0. */
struct panel {
    ptrdiff_t n, width, pitch;
    double *values;
    double *weighted;        /* the values of each row times its weight; `values` without weights */
    double *unused;          /* sums that are not asked for */
    const char *ahead, *end; /* what is read next */
};

struct products_plan {
    const struct factors *of;
    ptrdiff_t width, pitch, panel_rows, n_parts;
    double *parts; /* n_parts x (pitch sums, width x pitch products) */
    atomic_int error;
};

#define KERNEL "moments/panel_kernel.inc"
#include "common/each_dtype.inc"

typedef void move_rows_function(const struct table *, ptrdiff_t, const double *, ptrdiff_t, double *, ptrdiff_t,
                                double *);
typedef void move_column_function(const char *, ptrdiff_t, double, ptrdiff_t, double *, ptrdiff_t, double *);
static move_rows_function *const move_rows[N_DTYPES] = OF_EACH_DTYPE(move_rows);
static move_column_function *const move_column[N_DTYPES] = OF_EACH_DTYPE(move_column);

/* Where the rows of the next panel lie, if all lie together. */
static void look_ahead(const struct table *x, ptrdiff_t first, struct panel *panel) {
    const ptrdiff_t left = x->n - first, rows = left < panel->n ? left : panel->n;
    panel->ahead = x->data + first * x->row_stride;
    panel->end = panel->ahead + (x->row_stride > 0 ? rows * x->row_stride : 0);
}

/* They are called into the cache while this one is multiplied, some per tile: more would wait for each other. */
INLINE void call_ahead(struct panel *panel) {
#if defined(__GNUC__)
    for (int line = 0; line < CALLED_LINES && panel->ahead < panel->end; line++, panel->ahead += 64) {
        __builtin_prefetch(panel->ahead, 0, 2);
    }
#else
    (void)panel;
#endif
}

/* The columns of X, less their origins; sums += each. */
static void fill_features(const struct factors *of, ptrdiff_t first, struct panel *panel, double *sums) {
    const struct table *x = of->x;
    if (!x->columns && rows_are_direct(x) && !lies_by_columns(x)) {
        move_rows[x->type](x, first, of->origin, panel->n, panel->values, panel->pitch, sums);
        look_ahead(x, first + panel->n, panel);
        return;
    }
    for (ptrdiff_t j = 0; j < x->m; j++) {
        const struct column column = get_column(x, j);
        const char *from = column.data + first * column.stride;
        move_column[column.type](from, column.stride, of->origin[j], panel->n, panel->values + j, panel->pitch,
                                 sums + j);
    }
}

/* NaN becomes 0, and is told apart in the columns after those of X. */
static void tell_missing(double *row, ptrdiff_t m) {
    for (ptrdiff_t j = 0; j < m; j++) {
        const bool gone = row[j] != row[j];
        row[m + j] = gone ? 1.0 : 0.0;
        row[j] = gone ? 0.0 : row[j];
    }
}

/* What a panel has beside plain values: columns of missing values and targets, and weights. */
static void finish_panel(const struct factors *of, ptrdiff_t first, const struct panel *panel) {
    const ptrdiff_t m = of->x->m, k = of->n_targets, pitch = panel->pitch, before = panel->width - k;
    for (ptrdiff_t i = 0; i < panel->n; i++) {
        double *row = panel->values + i * pitch;
        if (of->missing) tell_missing(row, m);
        for (ptrdiff_t t = 0; t < k; t++) row[before + t] = of->targets[(first + i) * k + t] - of->origin[m + t];
        if (!of->weights) continue;
        const double weight = ((const volatile double *)of->weights)[first + i];
        double *weighted = panel->weighted + i * pitch;
        if (weight == 0.0) memset(row, 0, (size_t)panel->width * sizeof *row);
        for (ptrdiff_t j = 0; j < panel->width; j++) weighted[j] = weight * row[j];
    }
}

CLONES static void add_sums(const struct panel *panel, double *restrict sums) {
    for (ptrdiff_t i = 0; i < panel->n; i++) {
        const double *restrict row = panel->weighted + i * panel->pitch;
        for (ptrdiff_t j = 0; j < panel->width; j++) sums[j] += row[j];
    }
}

/* sums += columns of the panel, which has the rows from `first` on. */
static void fill_panel(const struct factors *of, ptrdiff_t first, struct panel *panel, double *sums) {
    const bool plain = !of->missing && !of->weights && !of->n_targets;
    fill_features(of, first, panel, plain ? sums : panel->unused);
    if (plain) return;
    finish_panel(of, first, panel);
    add_sums(panel, sums);
}

/* Four columns by four. */
static void add_tiles(struct panel *panel, double *products) {
    const ptrdiff_t pitch = panel->pitch;
    for (ptrdiff_t i = 0; i < panel->width; i += 4) {
        for (ptrdiff_t j = i; j < panel->width; j += 4) {
            double sum[4][4] = {{0.0}};
            call_ahead(panel);
            for (ptrdiff_t r = 0; r < panel->n; r++) {
                const double *a = panel->weighted + r * pitch + i, *b = panel->values + r * pitch + j;
                for (int u = 0; u < 4; u++) {
                    for (int v = 0; v < 4; v++) sum[u][v] += a[u] * b[v];
                }
            }
            for (int u = 0; u < 4 && i + u < panel->width; u++) {
                for (int v = 0; v < 4; v++) products[(i + u) * pitch + j + v] += sum[u][v];
            }
        }
    }
}

#ifdef SEFR_AVX2
/* `n_columns` columns by 4 `n_vectors`: at most 4 by 12 are summed in twelve registers. */
AVX2_INLINE void add_tile_avx2(const struct panel *panel, ptrdiff_t i, ptrdiff_t j, const int n_vectors,
                               double *products) {
    const ptrdiff_t pitch = panel->pitch;
    const double *a = panel->weighted + i, *b = panel->values + j;
    __m256d sum[4][3];
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++) {
#pragma GCC unroll 3
        for (int v = 0; v < n_vectors; v++) sum[u][v] = _mm256_setzero_pd();
    }
    for (ptrdiff_t r = 0; r < panel->n; r++, a += pitch, b += pitch) {
        __m256d right[3];
#pragma GCC unroll 3
        for (int v = 0; v < n_vectors; v++) right[v] = _mm256_loadu_pd(b + 4 * v);
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++) {
            const __m256d left = _mm256_broadcast_sd(a + u);
#pragma GCC unroll 3
            for (int v = 0; v < n_vectors; v++) sum[u][v] = _mm256_fmadd_pd(left, right[v], sum[u][v]);
        }
    }
    for (int u = 0; u < 4 && i + u < panel->width; u++) {
        double *to = products + (i + u) * pitch + j;
#pragma GCC unroll 3
        for (int v = 0; v < n_vectors; v++) {
            _mm256_storeu_pd(to + 4 * v, _mm256_add_pd(_mm256_loadu_pd(to + 4 * v), sum[u][v]));
        }
    }
}

AVX2 static void add_tiles_avx2(struct panel *panel, double *products) {
    for (ptrdiff_t i = 0; i < panel->width; i += 4) {
        for (ptrdiff_t j = i; j < panel->width; j += 12) {
            const ptrdiff_t left = panel->width - j;
            call_ahead(panel);
            if (left > 8) {
                add_tile_avx2(panel, i, j, 3, products);
            } else if (left > 4) {
                add_tile_avx2(panel, i, j, 2, products);
            } else {
                add_tile_avx2(panel, i, j, 1, products);
            }
        }
    }
}
#endif

#ifdef SEFR_AVX512
/* At most 8 columns by 24 are summed in 24 registers. On the diagonal, where i = j, what lies below it is left out of
   the first eight by half: columns 4 to 7 are multiplied among themselves only. */
AVX512_INLINE void add_tile_avx512(const struct panel *panel, ptrdiff_t i, ptrdiff_t j, const int n_vectors,
                                   const bool diagonal, double *products) {
    const ptrdiff_t pitch = panel->pitch;
    const double *a = panel->weighted + i, *b = panel->values + j;
    __m512d sum[8][3];
    __m256d half[4];
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        half[u % 4] = _mm256_setzero_pd();
#pragma GCC unroll 3
        for (int v = 0; v < n_vectors; v++) sum[u][v] = _mm512_setzero_pd();
    }
    for (ptrdiff_t r = 0; r < panel->n; r++, a += pitch, b += pitch) {
        __m512d right[3];
#pragma GCC unroll 3
        for (int v = 0; v < n_vectors; v++) right[v] = _mm512_loadu_pd(b + 8 * v);
        const __m256d high = _mm256_loadu_pd(b + 4);
#pragma GCC unroll 8
        for (int u = 0; u < 8; u++) {
            const __m512d left = _mm512_set1_pd(a[u]);
            const bool halved = diagonal && u >= 4;
            if (halved) half[u % 4] = _mm256_fmadd_pd(_mm512_castpd512_pd256(left), high, half[u % 4]);
#pragma GCC unroll 3
            for (int v = halved; v < n_vectors; v++) sum[u][v] = _mm512_fmadd_pd(left, right[v], sum[u][v]);
        }
    }
#pragma GCC unroll 8
    for (int u = 0; u < 8; u++) {
        if (i + u >= panel->width) break;
        double *to = products + (i + u) * pitch + j;
        const bool halved = diagonal && u >= 4;
        if (halved) _mm256_storeu_pd(to + 4, _mm256_add_pd(_mm256_loadu_pd(to + 4), half[u % 4]));
#pragma GCC unroll 3
        for (int v = halved; v < n_vectors; v++) {
            _mm512_storeu_pd(to + 8 * v, _mm512_add_pd(_mm512_loadu_pd(to + 8 * v), sum[u][v]));
        }
    }
}

AVX512_INLINE void add_line_avx512(struct panel *panel, ptrdiff_t i, ptrdiff_t j, const bool diagonal,
                                   double *products) {
    const ptrdiff_t left = panel->width - j;
    call_ahead(panel);
    if (left > 16) {
        add_tile_avx512(panel, i, j, 3, diagonal, products);
    } else if (left > 8) {
        add_tile_avx512(panel, i, j, 2, diagonal, products);
    } else {
        add_tile_avx512(panel, i, j, 1, diagonal, products);
    }
}

AVX512 static void add_tiles_avx512(struct panel *panel, double *products) {
    for (ptrdiff_t i = 0; i < panel->width; i += 8) {
        add_line_avx512(panel, i, i, true, products);
        for (ptrdiff_t j = i + 24; j < panel->width; j += 24) add_line_avx512(panel, i, j, false, products);
    }
}
#endif

typedef void add_tiles_function(struct panel *, double *);

static add_tiles_function *choose_add_tiles(void) {
#ifdef SEFR_AVX512
    if (has_avx512()) return add_tiles_avx512;
#endif
#ifdef SEFR_AVX2
    if (has_avx2()) return add_tiles_avx2;
#endif
    return add_tiles;
}

static double *part_of(const struct products_plan *plan, ptrdiff_t i) {
    return plan->parts + i * (1 + plan->width) * plan->pitch;
}

static void run_products(void *context, ptrdiff_t task, int worker) {
    struct products_plan *plan = context;
    const ptrdiff_t n = plan->of->x->n, each = n / plan->n_parts, more = n % plan->n_parts;
    const ptrdiff_t first = each * task + (task < more ? task : more), last = first + each + (task < more);
    const size_t size = (size_t)(plan->panel_rows * plan->pitch);
    struct panel panel = {.width = plan->width, .pitch = plan->pitch};
    double *sums = part_of(plan, task), *products = sums + plan->pitch;
    add_tiles_function *const add = choose_add_tiles();
    (void)worker;
    panel.values = calloc(size + 1, sizeof(double));
    panel.weighted = plan->of->weights ? calloc(size + 1, sizeof(double)) : panel.values;
    panel.unused = calloc((size_t)plan->width + 1, sizeof(double));
    if (!panel.values || !panel.weighted || !panel.unused) {
        atomic_store(&plan->error, NO_MEMORY);
    } else {
        for (ptrdiff_t start = first; start < last; start += plan->panel_rows) {
            panel.n = last - start < plan->panel_rows ? last - start : plan->panel_rows;
            fill_panel(plan->of, start, &panel, sums);
            add(&panel, products);
        }
    }
    if (panel.weighted != panel.values) free(panel.weighted);
    free(panel.values);
    free(panel.unused);
}

/* Neighbours first, then pairs of pairs, as sums of parts are elsewhere. */
static void fold_parts(const struct products_plan *plan) {
    const ptrdiff_t size = (1 + plan->width) * plan->pitch;
    for (ptrdiff_t step = 1; step < plan->n_parts; step *= 2) {
        for (ptrdiff_t i = 0; i + step < plan->n_parts; i += 2 * step) {
            double *to = part_of(plan, i), *from = part_of(plan, i + step);
            for (ptrdiff_t k = 0; k < size; k++) to[k] += from[k];
        }
    }
}

/* x - x is 0 for a finite x and NaN otherwise */
static enum outcome check_finite(const double *values, ptrdiff_t n) {
    double zero = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) zero += values[i] - values[i];
    return zero == 0.0 ? FINITE : NOT_FINITE;
}

enum outcome sefr_products(const struct factors *of, double *sums, double *squares, int n_threads) {
    struct products_plan plan = {.of = of, .width = n_factors(of)};
    const ptrdiff_t n = of->x->n, width = plan.width;
    plan.pitch = (width + LANES - 1) / LANES * LANES;
    if (plan.pitch % 64 == 0)
        plan.pitch += LANES; /* rows a multiple of 512 bytes apart would share lines of the cache */
    plan.panel_rows = PANEL_BYTES / 8 / plan.pitch;
    if (plan.panel_rows < FEWEST_ROWS) plan.panel_rows = FEWEST_ROWS;
    if (plan.panel_rows > MOST_ROWS) plan.panel_rows = MOST_ROWS;
    /* a part adds up over at least 8 times as many rows as it has columns, which it costs to put together */
    const ptrdiff_t least = 8 * width > PART_ROWS ? 8 * width : PART_ROWS;
    plan.n_parts = n / least < 1 ? 1 : n / least > MOST_PARTS ? MOST_PARTS : n / least;
    plan.parts = calloc((size_t)(plan.n_parts * (1 + width) * plan.pitch) + 1, sizeof(double));
    if (!plan.parts) return NO_MEMORY;
    sefr_run_tasks(run_products, &plan, plan.n_parts, n_threads);
    enum outcome outcome = (enum outcome)atomic_load(&plan.error);
    if (outcome == FINITE) {
        fold_parts(&plan);
        const double *from = part_of(&plan, 0);
        memcpy(sums, from, (size_t)width * sizeof(double));
        for (ptrdiff_t i = 0; i < width; i++) {
            double *to = squares + packed_row(width, i) + i;
            memcpy(to, from + plan.pitch * (i + 1) + i, (size_t)(width - i) * sizeof(double));
        }
        outcome = check_finite(sums, width);
        if (outcome == FINITE) outcome = check_finite(squares, packed_size(width));
    }
    free(plan.parts);
    return outcome;
}
