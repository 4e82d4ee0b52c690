#include "cells/grow.h"

#include <stdlib.h>
#include <string.h>

#include "common/groups.h"

struct grower {
    const struct growth *growth;
    const struct coder *coder;
    uint8_t *cells;    /* m x n: a private copy, checked */
    int32_t *code;     /* n: the class of each row, -1 where it does not count */
    double *weight;    /* n */
    uint8_t *place;    /* n: the cell of the fern so far */
    int32_t *features; /* those with two cells or more, in the order of the last draw */
    int32_t n_features;
    double *counts; /* cells of the fern so far x cells of a feature x classes */
    double *totals; /* cells of the fern so far x classes */
    double *scores; /* MOST_CELLS: what each bound is worth, of those that are drawn */
    bool drawn[MOST_CELLS];
    uint64_t state;
};

struct choice {
    double worth;
    int32_t feature, bound;
};

/* splitmix64 */
static uint64_t draw(struct grower *g) {
    uint64_t z = g->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

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

/* Sum of squares over sum: what is left of the Gini impurity falls as it rises. */
static double purity(const double *counts, const double *taken_from, int32_t n) {
    double sum = 0.0, squares = 0.0;
    for (int32_t k = 0; k < n; k++) {
        const double count = taken_from ? taken_from[k] - counts[k] : counts[k];
        sum += count;
        squares += count * count;
    }
    return sum > 0.0 ? squares / sum : 0.0;
}

/* Add what every bound of a feature is worth in one cell of the fern so far. */
static void weigh(struct grower *g, double *counts, const double *total, int32_t n, bool equal) {
    const int32_t n_classes = g->growth->by->n_classes;
    if (equal) {
        for (int32_t b = 0; b < n; b++) {
            const double *own = counts + b * n_classes;
            if (g->drawn[b]) g->scores[b] += purity(own, NULL, n_classes) + purity(own, total, n_classes);
        }
        return;
    }
    for (int32_t b = n - 1; b > 0; b--) { /* the rows at or above b: those above it and its own */
        double *own = counts + b * n_classes;
        for (int32_t k = 0; b + 1 < n && k < n_classes; k++) own[k] += own[n_classes + k];
        if (g->drawn[b]) g->scores[b] += purity(own, NULL, n_classes) + purity(own, total, n_classes);
    }
}

static void draw_bounds(struct grower *g, int32_t n, bool equal) {
    const int32_t lowest = equal ? 0 : 1, most = n - lowest, bounds = g->growth->bounds;
    memset(g->drawn, bounds >= most, sizeof g->drawn);
    for (int32_t i = 0; i < bounds && bounds < most; i++) {
        g->drawn[lowest + (int32_t)(draw(g) % (uint64_t)most)] = true; /* perhaps one of them twice */
    }
}

/* The best bound of a feature, if it is better. */
static void look_at(struct grower *g, int32_t feature, int32_t places, struct choice *best) {
    const struct growth *growth = g->growth;
    const int32_t n = g->coder->features[feature].n, n_classes = growth->by->n_classes;
    const ptrdiff_t size = (ptrdiff_t)n * n_classes;
    const uint8_t *own = g->cells + feature * growth->n;
    const bool equal = growth->equal[feature];
    memset(g->counts, 0, (size_t)(places * size) * sizeof(double));
    for (ptrdiff_t i = 0; i < growth->n; i++) {
        if (g->code[i] < 0) continue;
        g->counts[g->place[i] * size + own[i] * n_classes + g->code[i]] += g->weight[i];
    }
    memset(g->scores, 0, MOST_CELLS * sizeof(double));
    draw_bounds(g, n, equal);
    for (int32_t p = 0; p < places; p++) weigh(g, g->counts + p * size, g->totals + p * n_classes, n, equal);
    for (int32_t b = equal ? 0 : 1; b < n; b++) {
        if (g->drawn[b] && g->scores[b] > best->worth) *best = (struct choice){g->scores[b], feature, b};
    }
}

static void grow_one(struct grower *g, int32_t *comparisons) {
    const struct growth *growth = g->growth;
    const int32_t n_classes = growth->by->n_classes;
    memset(g->place, 0, (size_t)growth->n);
    for (int32_t d = 0; d < growth->depth; d++) {
        struct choice best = {-1.0, 0, 0};
        const int32_t tried = draw_features(g);
        memset(g->totals, 0, ((size_t)n_classes << d) * sizeof(double));
        for (ptrdiff_t i = 0; i < growth->n; i++) {
            if (g->code[i] >= 0) g->totals[g->place[i] * n_classes + g->code[i]] += g->weight[i];
        }
        for (int32_t f = 0; f < tried; f++) look_at(g, g->features[f], 1 << d, &best);
        comparisons[2 * d] = best.feature;
        comparisons[2 * d + 1] = best.bound;
        const uint8_t *own = g->cells + best.feature * growth->n;
        for (ptrdiff_t i = 0; i < growth->n; i++) {
            const bool yes = growth->equal[best.feature] ? own[i] == best.bound : own[i] >= best.bound;
            g->place[i] = (uint8_t)(2 * g->place[i] + yes);
        }
    }
}

static enum outcome prepare(struct grower *g) {
    const struct growth *growth = g->growth;
    const size_t n = (size_t)growth->n, places = (size_t)1 << growth->depth;
    const size_t n_classes = (size_t)growth->by->n_classes;
    g->cells = malloc(n * (size_t)g->coder->m + 1);
    g->code = malloc((n + 1) * sizeof *g->code);
    g->weight = malloc((n + 1) * sizeof *g->weight);
    g->place = malloc(n + 1);
    g->features = malloc(((size_t)g->coder->m + 1) * sizeof *g->features);
    g->counts = malloc(places / 2 * (size_t)g->coder->width * n_classes * sizeof(double) + 1);
    g->totals = malloc(places / 2 * n_classes * sizeof(double) + 1);
    g->scores = malloc(MOST_CELLS * sizeof(double));
    if (!g->cells || !g->code || !g->weight || !g->place || !g->features || !g->counts || !g->totals || !g->scores) {
        return NO_MEMORY;
    }
    if (!read_weighted_groups(growth->by, 0, growth->n, g->code, g->weight)) return BAD_CODE;
    for (int32_t j = 0; j < g->coder->m; j++) {
        const int32_t cells = g->coder->features[j].n;
        uint8_t *own = g->cells + j * growth->n;
        for (ptrdiff_t i = 0; i < growth->n; i++) {
            own[i] = ((const volatile uint8_t *)growth->cells)[i * g->coder->m + j];
            if (own[i] >= cells) return BAD_CELL;
        }
        if (cells > 1) g->features[g->n_features++] = j;
    }
    return FINITE;
}

enum outcome sefr_grow_ferns(const struct growth *growth, const struct coder *coder, int32_t *comparisons,
                             bool *grown) {
    struct grower g = {.growth = growth, .coder = coder, .state = growth->seed};
    const enum outcome outcome = prepare(&g);
    *grown = outcome == FINITE && g.n_features > 0;
    for (int32_t t = 0; *grown && t < growth->n_ferns; t++) {
        grow_one(&g, comparisons + (ptrdiff_t)t * growth->depth * 2);
    }
    free(g.cells);
    free(g.code);
    free(g.weight);
    free(g.place);
    free(g.features);
    free(g.counts);
    free(g.totals);
    free(g.scores);
    return outcome;
}
