#include "cells/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"

/* The loops over rows and classes choose by comparing: they become vectors only where a comparison cannot trap. None of
   them sums conditionally: see meson.build for what gcc 12 makes of that. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "refine/fast_math.h" /* after it: functions of other options are not inlined */

/* Rows that a side of a comparison is taken to have beside its own, about which it tells nothing. */
static const double SHY = 1.0;
/* One row in HELD_PART, by its cells, is only looked at, where all together weigh so much. */
enum { HELD_PART = 4, FEWEST_ROWS = 128 };
/* Growing ends where so many ferns in a row told nothing new about the rows that were held out. */
enum { PATIENCE = 25 };

struct grower {
    const struct growth *growth;
    const struct coder *coder;
    ptrdiff_t n, n_grown; /* rows that count, and those at the front that ferns are grown on */
    ptrdiff_t *ends;      /* subsets + 1: where the subsets of these begin and end */
    ptrdiff_t first, end; /* the subset of the fern at hand */
    ptrdiff_t n_scores;   /* 1 for two classes, else one per class; one per target */
    uint8_t *cells;       /* m x n: a private copy, checked */
    int32_t *code;        /* n: the class of each row */
    double *weight;       /* n */
    double *target;       /* n x n_scores, of numbers only */
    double *score;        /* n x n_scores: what the ferns so far say */
    ptrdiff_t pitch;      /* n_scores + 1, and then zeros, so that a row is whole vectors */
    double *left;         /* n_grown x pitch: what is left to tell, and how much of it there is */
    uint8_t *place;       /* n: the cell of the fern so far */
    int32_t *features;    /* those with two cells or more, in the order of the last draw */
    int32_t n_features;
    double *sums;              /* of MOST_TOGETHER features: cells of the fern so far x cells of it x pitch */
    double *totals;            /* cells of the fern x pitch */
    double *worth;             /* MOST_CELLS: what each bound that is drawn is worth */
    int32_t drawn[MOST_CELLS]; /* the bounds that are drawn, falling */
    int32_t n_drawn;
    uint64_t state;
    void *allocated[2]; /* where sums and left lie, which are whole lines of the cache */
};

struct choice {
    double worth;
    int32_t feature, bound;
};

/* The nearest multiple of 2**-20: sums of these, each as often as its row counts, are exact in any order. */
static double on_grid(double value) {
    const double shifter = 6442450944.0; /* 1.5 * 2**32 */
    return (value + shifter) - shifter;
}

/* splitmix64 */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t draw(struct grower *g) { return mix(g->state += 0x9e3779b97f4a7c15u); }

/* Bring `tried` features, no two the same, to the front. */
static int32_t draw_features(struct grower *g) {
    const int32_t tried = g->growth->tried < g->n_features ? g->growth->tried : g->n_features;
    for (int32_t i = 0; i < tried; i++) {
        const int32_t other = i + (int32_t)(draw(g) % (uint64_t)(g->n_features - i)), kept = g->features[i];
        g->features[i] = g->features[other];
        g->features[other] = kept;
    }
    return tried;
}

/* Rows that are looked at together. */
enum { BLOCK = 64 };

/* The probabilities of the second of two classes for a block of rows from i on, and minus the logarithms of those of
   their own classes. */
INLINE void chances_of_two(const struct grower *g, ptrdiff_t i, ptrdiff_t n, double *chance, double *loss) {
    const double *score = g->score + i;
    const int32_t *code = g->code + i;
    for (ptrdiff_t r = 0; r < n; r++) {
        const double truth = code[r] > 0 ? 1.0 : 0.0, z = score[r], size = z < 0.0 ? -z : z, e = fast_exp(-size);
        const double one = 1.0 / (1.0 + e), other = e * one;
        chance[r] = z < 0.0 ? other : one;
        loss[r] = fast_log1p(e) + 0.5 * (size - z * (2.0 * truth - 1.0)); /* 0 or 2 size */
    }
}

/* The probabilities of the classes of a row; returns minus the logarithm of that of its own. */
INLINE double chances(const struct grower *g, ptrdiff_t i, double *restrict chance) {
    const ptrdiff_t n_scores = g->n_scores;
    const double *restrict score = g->score + i * n_scores;
    double highest = score[0], total = 0.0;
    for (ptrdiff_t k = 1; k < n_scores; k++) highest = score[k] > highest ? score[k] : highest;
    for (ptrdiff_t k = 0; k < n_scores; k++) chance[k] = fast_exp(score[k] - highest);
    for (ptrdiff_t k = 0; k < n_scores; k++) total += chance[k];
    const double part = 1.0 / total;
    for (ptrdiff_t k = 0; k < n_scores; k++) chance[k] *= part;
    return log(total) + highest - score[g->code[i]];
}

/* Half of the squared error of a row. */
static double error_of(const struct grower *g, ptrdiff_t i) {
    double squares = 0.0;
    for (ptrdiff_t k = 0; k < g->n_scores; k++) {
        const double left = g->target[i * g->n_scores + k] - g->score[i * g->n_scores + k];
        squares += left * left;
    }
    return squares / 2.0;
}

/* The same for numbers: what the scores lack, and as much as the row counts. */
static void look_at_numbers(struct grower *g) {
    const ptrdiff_t n_scores = g->n_scores;
    for (ptrdiff_t i = g->first; i < g->end; i++) {
        double *left = g->left + i * g->pitch;
        left[n_scores] = g->weight[i];
        for (ptrdiff_t k = 0; k < n_scores; k++) {
            const ptrdiff_t at = i * n_scores + k;
            left[k] = g->weight[i] * on_grid(g->target[at] - g->score[at]);
        }
    }
}

/* Write what is left to tell about every row that the next fern is grown on: the gradient of the logistic loss by its
   scores, and its curvature, which counts at least as much as the row is still wrong, so that no step is beyond
   measure. */
CLONES static void look_at_two(struct grower *g) {
    double chance[BLOCK], loss[BLOCK];
    for (ptrdiff_t first = g->first; first < g->end; first += BLOCK) {
        const ptrdiff_t n = g->end - first < BLOCK ? g->end - first : BLOCK;
        const int32_t *code = g->code + first;
        const double *weight = g->weight + first;
        double *restrict left = g->left + first * 2;
        chances_of_two(g, first, n, chance, loss);
        for (ptrdiff_t r = 0; r < n; r++) {
            const double truth = code[r] > 0 ? 1.0 : 0.0, away = truth - chance[r], wrong = away < 0.0 ? -away : away;
            const double curvature = 2.0 * (chance[r] * (1.0 - chance[r]));
            left[2 * r] = weight[r] * (truth + on_grid(-chance[r]));
            left[2 * r + 1] = weight[r] * on_grid(curvature > wrong ? curvature : wrong);
        }
    }
}

CLONES static void look_at_classes(struct grower *g) {
    const ptrdiff_t n_scores = g->n_scores;
    for (ptrdiff_t i = g->first; i < g->end; i++) {
        double *restrict left = g->left + i * g->pitch;
        const double weight = g->weight[i];
        chances(g, i, left);
        const double own = left[g->code[i]];
        double curvature = 0.0;
        for (ptrdiff_t k = 0; k < n_scores; k++) curvature += left[k] * (1.0 - left[k]);
        left[n_scores] = weight * on_grid(curvature > 1.0 - own ? curvature : 1.0 - own);
        for (ptrdiff_t k = 0; k < n_scores; k++) left[k] = weight * on_grid(-left[k]);
        left[g->code[i]] += weight;
    }
}

static void look_anew(struct grower *g) {
    if (g->target)
        look_at_numbers(g);
    else if (g->n_scores == 1)
        look_at_two(g);
    else
        look_at_classes(g);
}

/* The loss of the rows that are held out. */
CLONES static double held_loss(const struct grower *g) {
    double total = 0.0, chance[BLOCK], loss[BLOCK];
    for (ptrdiff_t first = g->n_grown; first < g->n; first += BLOCK) {
        const ptrdiff_t n = g->n - first < BLOCK ? g->n - first : BLOCK;
        if (g->target)
            for (ptrdiff_t r = 0; r < n; r++) loss[r] = error_of(g, first + r);
        else if (g->n_scores == 1)
            chances_of_two(g, first, n, chance, loss);
        else
            for (ptrdiff_t r = 0; r < n; r++) loss[r] = chances(g, first + r, g->totals);
        for (ptrdiff_t r = 0; r < n; r++) total += g->weight[first + r] * on_grid(loss[r]);
    }
    return total;
}

typedef double two __attribute__((vector_size(16), aligned(8), may_alias));
typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));

/* Bounds that are looked at together. */
enum { BOUNDS = 8 };

/* Features whose sums are found together: where rows that follow each other are in one cell, its sum waits for the one
   before, while those of the others go on. With several classes a row is long enough by itself. */
enum { MOST_TOGETHER = 4 };

struct columns {
    const uint8_t *own[MOST_TOGETHER]; /* NULL: one cell for all rows */
    double *sums[MOST_TOGETHER];       /* of the first cell of the fern */
    ptrdiff_t n_cells;                 /* from a cell of the fern to the next: those of all these features */
};

#define DEFINE_ADD(T)                                                                            \
    INLINE void add_##T(const struct grower *g, const struct columns *to, ptrdiff_t n_vectors) { \
        const uint8_t *place = g->place, *own = to->own[0];                                      \
        const ptrdiff_t end = g->end, n_cells = to->n_cells;                                     \
        const T *left = (const T *)g->left + g->first * n_vectors;                               \
        T *sums = (T *)to->sums[0];                                                              \
        for (ptrdiff_t i = g->first; i < end; i++, left += n_vectors) {                          \
            T *sum = sums + (place[i] * n_cells + (own ? own[i] : 0)) * n_vectors;               \
            for (ptrdiff_t v = 0; v < n_vectors; v++) sum[v] += left[v];                         \
        }                                                                                        \
    }
DEFINE_ADD(two)
DEFINE_ADD(eight)
#undef DEFINE_ADD

/* sums of one feature += what is left of the rows in each cell, of the fern and of the feature. The usual widths with a
   number of vectors that the compiler knows. */
CLONES static void add_up(const struct grower *g, const struct columns *to) {
    switch (g->pitch) {
    case 2: add_two(g, to, 1); break;
    case 8: add_eight(g, to, 1); break;
    case 16: add_eight(g, to, 2); break;
    case 32: add_eight(g, to, 4); break;
    default: add_eight(g, to, g->pitch / 8); break;
    }
}

/* The same of MOST_TOGETHER features. What is written could be anything, for all that the compiler knows, and only what
   has no address stays in registers. */
CLONES static void add_up_together(const struct grower *g, const struct columns *to) {
    const uint8_t *place = g->place, *own[MOST_TOGETHER];
    const ptrdiff_t end = g->end, n_cells = to->n_cells;
    const two *left = (const two *)g->left;
    double *sums[MOST_TOGETHER];
    for (int f = 0; f < MOST_TOGETHER; f++) own[f] = to->own[f], sums[f] = to->sums[f];
    for (ptrdiff_t i = g->first; i < end; i++) {
        const two more = left[i];
        const ptrdiff_t at = place[i] * n_cells;
        for (int f = 0; f < MOST_TOGETHER; f++) *(two *)(sums[f] + 2 * (at + own[f][i])) += more;
    }
}

/* By how much a step lowers the loss of the rows of a sum and, in another step, of the others of a total. */
INLINE double gain(const double *restrict sums, const double *restrict total, ptrdiff_t n) {
    double within = 0.0, beyond = 0.0;
    for (ptrdiff_t k = 0; k < n; k++) within += sums[k] * sums[k];
    for (ptrdiff_t k = 0; k < n; k++) {
        const double rest = total[k] - sums[k];
        beyond += rest * rest;
    }
    return within / (sums[n] + SHY) + beyond / (total[n] - sums[n] + SHY);
}

/* Add what every bound that is drawn is worth in one cell of the fern so far. Of an order, sums become those at or
   above a bound. */
INLINE void weigh_by(struct grower *g, double *restrict sums, const double *total, int32_t n, bool equal,
                     ptrdiff_t n_scores, ptrdiff_t width) {
    for (ptrdiff_t at = (n - 1) * width - 1; !equal && at >= width; at--) sums[at] += sums[at + width];
    for (int32_t d = 0; d < g->n_drawn; d++) g->worth[d] += gain(sums + g->drawn[d] * width, total, n_scores);
}

/* The same of a score and how much of it is left: several bounds at once. */
INLINE void weigh_two(struct grower *g, double *sums, const double *total, int32_t n, bool equal) {
    two *own = (two *)sums, run = own[n - 1];
    for (int32_t b = n - 2; !equal && b >= 1; b--) own[b] = run += own[b];
    for (int32_t first = 0; first < g->n_drawn; first += BOUNDS) {
        double sum[BOUNDS], count[BOUNDS];
        for (int32_t d = 0; d < BOUNDS; d++) {
            const double *at = sums + 2 * g->drawn[first + d];
            sum[d] = at[0], count[d] = at[1];
        }
        for (int32_t d = 0; d < BOUNDS; d++) {
            const double rest = total[0] - sum[d];
            g->worth[first + d] += sum[d] * sum[d] / (count[d] + SHY) + rest * rest / (total[1] - count[d] + SHY);
        }
    }
}

/* What the bounds that are drawn are worth in all cells of the fern so far; `step` is from the sums of one of them to
   those of the next. */
CLONES static void weigh(struct grower *g, double *sums, ptrdiff_t step, int32_t places, int32_t n, bool equal) {
    for (int32_t p = 0; p < places; p++) {
        const double *total = g->totals + p * g->pitch;
        if (g->n_scores == 1)
            weigh_two(g, sums + p * step, total, n, equal);
        else
            weigh_by(g, sums + p * step, total, n, equal, g->n_scores, g->pitch);
    }
}

static void draw_bounds(struct grower *g, int32_t n, bool equal) {
    const int32_t lowest = equal ? 0 : 1, most = n - lowest, bounds = g->growth->bounds;
    bool drawn[MOST_CELLS];
    memset(drawn, bounds >= most, sizeof drawn);
    for (int32_t i = 0; i < bounds && bounds < most; i++) {
        drawn[lowest + (int32_t)(draw(g) % (uint64_t)most)] = true; /* perhaps one of them twice */
    }
    g->n_drawn = 0;
    for (int32_t b = n - 1; b >= lowest; b--) {
        if (drawn[b]) g->drawn[g->n_drawn++] = b;
    }
    for (int32_t d = g->n_drawn; d % BOUNDS; d++) g->drawn[d] = lowest; /* never looked at */
    memset(g->worth, 0, MOST_CELLS * sizeof(double));
}

/* The sums of the features from `first` on that are tried: of as many as are found together. Returns how many. */
static int32_t sum_up(struct grower *g, int32_t first, int32_t tried, int32_t places, struct columns *of) {
    const bool together = g->pitch == 2 && tried - first >= MOST_TOGETHER;
    const int32_t count = together ? MOST_TOGETHER : 1;
    of->n_cells = 0;
    for (int32_t f = 0; f < count; f++) {
        const int32_t feature = g->features[first + f];
        of->own[f] = g->cells + feature * g->n;
        of->sums[f] = g->sums + of->n_cells * g->pitch;
        of->n_cells += g->coder->features[feature].n;
    }
    memset(g->sums, 0, (size_t)(places * of->n_cells * g->pitch) * sizeof(double));
    if (together) {
        add_up_together(g, of);
    } else {
        add_up(g, of);
    }
    return count;
}

/* totals = sums over the rows in each cell of the fern so far, from those of a feature: exact in any order. */
static void total_of(struct grower *g, int32_t n, const struct columns *of, int32_t places) {
    const ptrdiff_t pitch = g->pitch;
    for (int32_t p = 0; p < places; p++) {
        const double *sums = of->sums[0] + p * of->n_cells * pitch;
        double *total = g->totals + p * pitch;
        if (pitch == 2) { /* so that the compiler knows */
            two run = {0.0, 0.0};
            for (int32_t c = 0; c < n; c++) run += ((const two *)sums)[c];
            *(two *)total = run;
            continue;
        }
        memset(total, 0, (size_t)pitch * sizeof(double));
        for (int32_t c = 0; c < n; c++) {
            for (ptrdiff_t k = 0; k < pitch; k++) total[k] += sums[c * pitch + k];
        }
    }
}

/* The best bound of a feature, if it is better; of equal ones the lowest. */
static void look_at(struct grower *g, int32_t feature, double *sums, ptrdiff_t step, int32_t places,
                    struct choice *best) {
    const int32_t n = g->coder->features[feature].n;
    const bool equal = g->growth->equal[feature];
    draw_bounds(g, n, equal);
    weigh(g, sums, step, places, n, equal);
    for (int32_t d = g->n_drawn - 1; d >= 0; d--) {
        if (g->worth[d] > best->worth) *best = (struct choice){g->worth[d], feature, g->drawn[d]};
    }
}

/* Each row goes to one of two cells of the fern after a comparison. */
CLONES static void answer(const uint8_t *restrict own, ptrdiff_t n, bool equal, uint8_t bound,
                          uint8_t *restrict place) {
    if (equal) {
        for (ptrdiff_t i = 0; i < n; i++) place[i] = (uint8_t)(2 * place[i] + (own[i] == bound));
    } else {
        for (ptrdiff_t i = 0; i < n; i++) place[i] = (uint8_t)(2 * place[i] + (own[i] >= bound));
    }
}

static void grow_one(struct grower *g, int32_t *comparisons) {
    const struct growth *growth = g->growth;
    memset(g->place, 0, (size_t)g->n);
    for (int32_t d = 0; d < growth->depth; d++) {
        struct choice best = {-1.0, 0, 0};
        const int32_t tried = draw_features(g);
        for (int32_t f = 0; f < tried;) {
            struct columns of;
            const int32_t count = sum_up(g, f, tried, 1 << d, &of);
            if (f == 0) total_of(g, g->coder->features[g->features[0]].n, &of, 1 << d);
            const ptrdiff_t step = of.n_cells * g->pitch;
            for (int32_t i = 0; i < count; i++) look_at(g, g->features[f + i], of.sums[i], step, 1 << d, &best);
            f += count;
        }
        comparisons[2 * d] = best.feature;
        comparisons[2 * d + 1] = best.bound;
        answer(g->cells + best.feature * g->n, g->n, growth->equal[best.feature], (uint8_t)best.bound, g->place);
    }
}

/* Add what a fern says to the scores: a Newton step per cell, of which a part is taken. */
CLONES static void listen(struct grower *g) {
    const int32_t places = 1 << g->growth->depth;
    const ptrdiff_t n_scores = g->n_scores, width = g->pitch;
    const double n_classes = g->target ? 1.0 : n_scores > 1 ? (double)n_scores : 2.0; /* that share the curvature */
    const struct columns all = {.own = {NULL}, .sums = {g->totals}, .n_cells = 1};
    memset(g->totals, 0, (size_t)(places * width) * sizeof(double));
    add_up(g, &all);
    for (int32_t p = 0; p < places; p++) {
        double *total = g->totals + p * width;
        for (ptrdiff_t k = 0; k < n_scores; k++) total[k] *= g->growth->step / (total[n_scores] / n_classes + SHY);
    }
    double *restrict score = g->score;
    if (n_scores == 1) { /* so that the compiler knows */
        for (ptrdiff_t i = 0; i < g->n; i++) score[i] += g->totals[2 * g->place[i]];
        return;
    }
    for (ptrdiff_t i = 0; i < g->n; i++) {
        const double *restrict total = g->totals + g->place[i] * width;
        for (ptrdiff_t k = 0; k < n_scores; k++) score[i * n_scores + k] += total[k];
    }
}

/* Where no fern is asked every row has the base rates. */
static void begin(struct grower *g) {
    const ptrdiff_t n_scores = g->n_scores, n_classes = n_scores > 1 ? n_scores : 2;
    if (g->target) {
        memset(g->score, 0, (size_t)(g->n * n_scores) * sizeof(double));
        return;
    }
    double *count = g->totals; /* long enough for them */
    memset(count, 0, (size_t)n_classes * sizeof(double));
    for (ptrdiff_t i = 0; i < g->n; i++) count[g->code[i]] += g->weight[i];
    for (ptrdiff_t k = 0; k < n_classes; k++) count[k] = log(count[k] + 0.5);
    for (ptrdiff_t i = 0; i < g->n; i++) {
        for (ptrdiff_t k = 0; k < n_scores; k++)
            g->score[i * n_scores + k] = n_scores > 1 ? count[k] : count[1] - count[0];
    }
}

/* The cells of a block of rows, by columns, and what they add to a number per row. Returns whether all are there. */
CLONES static bool take_cells(struct grower *g, ptrdiff_t first, ptrdiff_t rows, uint64_t *restrict hash) {
    const ptrdiff_t m = g->coder->m;
    const volatile uint8_t *cells = g->growth->cells + first * m; /* read once: others may write */
    int32_t beyond = 0;
    for (ptrdiff_t j = 0; j < m; j++) {
        const int32_t n = g->coder->features[j].n;
        uint8_t *restrict own = g->cells + j * g->growth->n + first;
        for (ptrdiff_t i = 0; i < rows; i++) own[i] = cells[i * m + j];
        for (ptrdiff_t i = 0; i < rows; i++) beyond |= own[i] >= n;
        for (ptrdiff_t i = 0; i < rows; i++) hash[i] = mix(hash[i] + own[i] + 1);
    }
    return !beyond;
}

/* Rows that count, those that are held out last; where a row goes is given, or depends on its cells alone. */
static enum outcome take_rows(struct grower *g) {
    const struct growth *growth = g->growth;
    const ptrdiff_t n = growth->n, m = g->coder->m;
    int32_t *code = malloc(((size_t)n + 1) * sizeof *code);
    double *weight = malloc(((size_t)n + 1) * sizeof *weight), total = 0.0;
    uint64_t *hash = calloc((size_t)n + 1, sizeof *hash);
    ptrdiff_t *to = malloc(((size_t)n + 1) * sizeof *to);
    uint8_t *column = malloc((size_t)n + 1);
    int32_t *subset = malloc(((size_t)n + 1) * sizeof *subset); /* the last are held out; below 0: left out */
    enum outcome outcome = code && weight && hash && to && column && subset ? FINITE : NO_MEMORY;
    if (outcome == FINITE && !read_weighted_groups(growth->by, 0, n, code, weight)) outcome = BAD_CODE;
    for (ptrdiff_t i = 0; outcome == FINITE && i < n; i++) total += code[i] < 0 ? 0.0 : weight[i];
    for (ptrdiff_t first = 0; outcome == FINITE && first < n; first += BLOCK) {
        const ptrdiff_t rows = n - first < BLOCK ? n - first : BLOCK;
        if (!take_cells(g, first, rows, hash + first)) outcome = BAD_CELL;
    }
    for (ptrdiff_t j = 0; j < m; j++) {
        if (g->coder->features[j].n > 1) g->features[g->n_features++] = (int32_t)j;
    }
    const int32_t subsets = growth->subsets;
    for (ptrdiff_t i = 0; outcome == FINITE && i < n; i++) {
        const bool held = growth->held ? ((const volatile uint8_t *)growth->held)[i] != 0
                                       : total >= FEWEST_ROWS && hash[i] % HELD_PART == 0;
        subset[i] = code[i] < 0 ? -1 : held ? subsets : (int32_t)((hash[i] / HELD_PART) % (uint64_t)subsets);
    }
    for (int32_t s = 0; outcome == FINITE && s <= subsets; s++) {
        g->ends[s] = g->n;
        for (ptrdiff_t i = 0; i < n; i++) {
            if (subset[i] != s) continue;
            g->code[g->n] = code[i], g->weight[g->n] = weight[i];
            for (ptrdiff_t k = 0; k < growth->n_targets; k++) {
                g->target[g->n * g->n_scores + k] = growth->targets[i * growth->n_targets + k];
            }
            to[g->n++] = i;
        }
    }
    g->n_grown = g->ends[subsets];
    for (ptrdiff_t j = 0; outcome == FINITE && j < m; j++) { /* n may be fewer now: columns move to the front */
        memcpy(column, g->cells + j * n, (size_t)n);
        for (ptrdiff_t i = 0; i < g->n; i++) g->cells[j * g->n + i] = column[to[i]];
    }
    free(code);
    free(weight);
    free(hash);
    free(to);
    free(column);
    free(subset);
    return outcome;
}

/* n zeros from a line of the cache on; `allocated` is what to free. */
static double *zeros(size_t n, void **allocated) {
    enum { LINE = 64 };
    *allocated = calloc(n * sizeof(double) + LINE, 1);
    return *allocated ? (double *)(((uintptr_t)*allocated + LINE - 1) / LINE * LINE) : NULL;
}

static enum outcome prepare(struct grower *g) {
    const struct growth *growth = g->growth;
    const size_t n = (size_t)growth->n, places = (size_t)1 << growth->depth;
    const bool numbers = growth->n_targets > 0;
    const size_t n_classes = (size_t)(numbers ? growth->n_targets : growth->by->n_classes);
    g->n_scores = !numbers && n_classes == 2 ? 1 : (ptrdiff_t)n_classes;
    g->pitch = g->n_scores == 1 ? 2 : (g->n_scores + 8) / 8 * 8;
    const size_t pitch = (size_t)g->pitch, together = g->pitch == 2 ? MOST_TOGETHER : 1;
    g->target = numbers ? malloc((n + 1) * n_classes * sizeof *g->target) : NULL;
    g->cells = malloc(n * (size_t)g->coder->m + 1);
    g->code = malloc((n + 1) * sizeof *g->code);
    g->weight = malloc((n + 1) * sizeof *g->weight);
    g->score = malloc((n + 1) * n_classes * sizeof *g->score);
    g->left = zeros((n + 1) * pitch, g->allocated);
    g->place = malloc(n + 1);
    g->features = malloc(((size_t)g->coder->m + 1) * sizeof *g->features);
    g->ends = calloc((size_t)growth->subsets + 1, sizeof *g->ends);
    g->sums = zeros(together * places / 2 * (size_t)g->coder->width * pitch, g->allocated + 1);
    g->totals = malloc((places * pitch + n_classes) * sizeof(double));
    g->worth = malloc(MOST_CELLS * sizeof(double));
    if (!g->cells || !g->code || !g->weight || !g->score || !g->left || !g->place || !g->features || !g->ends ||
        !g->sums || !g->totals || !g->worth || (numbers && !g->target)) {
        return NO_MEMORY;
    }
    return take_rows(g);
}

enum outcome sefr_grow_ferns(const struct growth *growth, const struct coder *coder, int32_t *comparisons,
                             int32_t *grown) {
    struct grower g = {.growth = growth, .coder = coder, .state = growth->seed};
    const enum outcome outcome = prepare(&g);
    const int32_t n_ferns = outcome == FINITE && g.n_features > 0 ? growth->n_ferns : 0;
    double least = INFINITY;
    *grown = 0;
    if (n_ferns) begin(&g);
    for (int32_t t = 0; t < n_ferns && t < *grown + PATIENCE; t++) {
        g.first = g.ends[t % growth->subsets];
        g.end = g.ends[t % growth->subsets + 1];
        look_anew(&g);
        grow_one(&g, comparisons + (ptrdiff_t)t * growth->depth * 2);
        listen(&g);
        const double loss = held_loss(&g);
        if (g.n_grown < g.n && !(loss < least)) continue;
        least = loss, *grown = t + 1;
    }
    free(g.cells);
    free(g.code);
    free(g.weight);
    free(g.target);
    free(g.score);
    free(g.allocated[0]);
    free(g.place);
    free(g.features);
    free(g.ends);
    free(g.allocated[1]);
    free(g.totals);
    free(g.worth);
    return outcome;
}
