#include "refine/search.h"

#include <math.h>
#include <string.h>

#include "common/dtype.h"

/* The squared sine of the angle below which two directions are one: near it, rounding grows a millionfold. */
static const double PARALLEL = 1e-6;
/* The least cosine of a step and the change of the gradient along it. */
static const double LEAST_CURVED = 1e-10;
/* Steps that are remembered, fewer where together they had more than so many values, and at least so many. */
enum { MOST_PAIRS = 10, FEWEST_PAIRS = 3, MEMORY_VALUES = 1 << 26 };
/* Points of which loss and gradient are known: where steps start, the best, the one that failed; and the next. */
enum { N_SLOTS = 4, NONE = -1 };
/* Scores of the sample: at the points that are asked about, and at the one that is tried. */
enum { TRIED = MOST_ASKED, N_SCORED };

struct search {
    ptrdiff_t n, n_cells, most; /* of a point, of its scores, and of pairs */
    double loss[N_SLOTS], best_loss;
    double curved[MOST_PAIRS + 1]; /* products of steps and changes, 0 before they are asked for */
    double start[MOST_ASKED];
    int32_t order[MOST_PAIRS], n_pairs; /* which places of pairs are used, the oldest first */
    int32_t at, best, tried, failed;    /* slots */
    int32_t stalled, n_points;
    enum asked asked;
    bool first;                             /* the points asked about were given */
    bool at_known, step_known, tried_known; /* the scores at `at`, along the last step and at `tried` are known */
};

/* Behind it: points and gradients, steps and changes, the direction, scores. */
static double *values_of(const struct search *s) { return (double *)(s + 1); }
static double *point_of(const struct search *s, int32_t slot) { return values_of(s) + 2 * slot * s->n; }
static double *gradient_of(const struct search *s, int32_t slot) { return point_of(s, slot) + s->n; }
static double *step_of(const struct search *s, int32_t place) { return values_of(s) + 2 * (N_SLOTS + place) * s->n; }
static double *change_of(const struct search *s, int32_t place) { return step_of(s, place) + s->n; }
static double *direction_of(const struct search *s) { return step_of(s, (int32_t)s->most + 1); }
static double *scores_of(const struct search *s, ptrdiff_t i) { return direction_of(s) + s->n + i * s->n_cells; }

static ptrdiff_t most_pairs(ptrdiff_t n) {
    const ptrdiff_t most = MEMORY_VALUES / (n > 0 ? n : 1);
    return most < FEWEST_PAIRS ? FEWEST_PAIRS : most < MOST_PAIRS ? most : MOST_PAIRS;
}

size_t sefr_search_size(const struct objective *of) {
    const size_t n = (size_t)point_size(of), cells = (size_t)(of->n_rows * of->n_scores);
    const size_t vectors = 2 * (N_SLOTS + (size_t)most_pairs((ptrdiff_t)n) + 1) + 1;
    return sizeof(struct search) + (vectors * n + N_SCORED * cells) * sizeof(double);
}

/* LANES sums in an order of their own, so that every machine adds up alike. */
enum { LANES = 16 };

INLINE double total_of(const double *part) {
    double sum[4];
    for (int u = 0; u < 4; u++) sum[u] = (part[u] + part[u + 4]) + (part[u + 8] + part[u + 12]);
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

CLONES static double dot(const double *restrict a, const double *restrict b, ptrdiff_t n) {
    double parts[LANES] = {0.0};
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (ptrdiff_t u = 0; u < LANES; u++) parts[u] += a[i + u] * b[i + u];
    }
    for (; i < n; i++) parts[i % LANES] += a[i] * b[i];
    return total_of(parts);
}

static double weighted_dot(const double *restrict a, const double *restrict weight, const double *restrict b,
                           ptrdiff_t n) {
    double sum = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) sum += a[i] * weight[i] * b[i];
    return sum;
}

CLONES static void add(double *restrict to, double share, const double *restrict a, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) to[i] += share * a[i];
}

/* to += share a; returns dot(b, to), in the same look at it. */
CLONES static double add_then_dot(double *restrict to, double share, const double *restrict a, const double *restrict b,
                                  ptrdiff_t n) {
    double parts[LANES] = {0.0};
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (ptrdiff_t u = 0; u < LANES; u++) to[i + u] += share * a[i + u];
        for (ptrdiff_t u = 0; u < LANES; u++) parts[u] += b[i + u] * to[i + u];
    }
    for (; i < n; i++) {
        to[i] += share * a[i];
        parts[i % LANES] += b[i] * to[i];
    }
    return total_of(parts);
}

void sefr_begin_search(struct search *s, const struct objective *of, const double *point, double loss,
                       const double *gradient) {
    const ptrdiff_t n = point_size(of);
    *s = (struct search){
        .n = n, .n_cells = of->n_rows * of->n_scores, .most = most_pairs(n), .best_loss = INFINITY, .failed = NONE};
    s->loss[0] = loss;
    memcpy(point_of(s, 0), point, (size_t)n * sizeof *point);
    memcpy(gradient_of(s, 0), gradient, (size_t)n * sizeof *gradient);
}

bool sefr_remember(struct search *s, const struct search *other) {
    if (s->n != other->n) return false;
    s->n_pairs = other->n_pairs;
    for (int32_t p = 0; p < s->n_pairs; p++) {
        s->order[p] = p;
        s->curved[p] = other->curved[other->order[p]];
        memcpy(step_of(s, p), step_of(other, other->order[p]), 2 * (size_t)s->n * sizeof(double));
    }
    return true;
}

static int32_t free_slot(const struct search *s) {
    int32_t slot = 0;
    while (slot == s->at || slot == s->best || slot == s->failed) slot++;
    return slot;
}

void sefr_try_points(struct search *s, const double *points, ptrdiff_t n_points, const double *start) {
    s->first = true;
    s->n_points = (int32_t)n_points;
    s->tried_known = false;
    for (int32_t p = 0; p < s->n_points; p++) { /* a search that begins has one slot in use, the first */
        memcpy(point_of(s, 1 + p), points + p * s->n, (size_t)s->n * sizeof *points);
        s->start[p] = start ? start[p] : 0.0;
    }
    s->tried = 1;
    s->asked = start ? SCORES : PASS;
}

/* direction = -H gradient, H the inverse Hessian that L-BFGS knows from the pairs, by its two loops. */
static void find_direction(struct search *s) {
    const ptrdiff_t n = s->n, last = s->n_pairs - 1;
    const double *gradient = gradient_of(s, s->at), *steps[MOST_PAIRS], *changes[MOST_PAIRS];
    double *direction = direction_of(s), curved[MOST_PAIRS], shares[MOST_PAIRS], along;
    for (ptrdiff_t i = 0; i < n; i++) direction[i] = -gradient[i];
    if (last < 0) return;
    for (ptrdiff_t p = 0; p <= last; p++) {
        double *known = s->curved + s->order[p];
        steps[p] = step_of(s, s->order[p]), changes[p] = change_of(s, s->order[p]);
        if (*known == 0.0) *known = dot(steps[p], changes[p], n);
        curved[p] = *known;
    }
    along = dot(steps[last], direction, n);
    shares[last] = along / curved[last];
    for (ptrdiff_t p = last - 1; p >= 0; p--) {
        along = add_then_dot(direction, -shares[p + 1], changes[p + 1], steps[p], n);
        shares[p] = along / curved[p];
    }
    add(direction, -shares[0], changes[0], n);
    const double scale = curved[last] / dot(changes[last], changes[last], n);
    for (ptrdiff_t i = 0; i < n; i++) direction[i] *= scale;
    along = dot(changes[0], direction, n);
    for (ptrdiff_t p = 0; p < last; p++) {
        along = add_then_dot(direction, shares[p] - along / curved[p], steps[p], changes[p + 1], n);
    }
    add(direction, shares[last] - along / curved[last], steps[last], n);
}

/* Try the lowest point of the cubic through `at` and the point that failed, with their slopes. The sample chose the
   step there and was wrong about it, so that all rows decide now: where most features are rare, a thousand rows do not
   show how the loss curves along them. */
static void try_between(struct search *s) {
    const double *low = point_of(s, s->at), *high = point_of(s, s->failed);
    double *direction = direction_of(s);
    for (ptrdiff_t i = 0; i < s->n; i++) direction[i] = high[i] - low[i];
    const double down = dot(gradient_of(s, s->at), direction, s->n);
    const double up = dot(gradient_of(s, s->failed), direction, s->n);
    const double rise = 3.0 * (s->loss[s->at] - s->loss[s->failed]) + down + up, square = rise * rise - down * up;
    const double root = sqrt(square > 0.0 ? square : 0.0), over = up - down + 2.0 * root;
    double part = over > 0.0 ? 1.0 - (up + root - rise) / over : 0.5;
    part = part < 0.1 ? 0.1 : part > 0.9 ? 0.9 : part;
    s->tried = free_slot(s);
    s->tried_known = false;
    double *point = point_of(s, s->tried);
    for (ptrdiff_t i = 0; i < s->n; i++) point[i] = low[i] + part * direction[i];
}

/* The points that are asked about, and how much the loss of all rows rises along each, from `at` on. */
static const double *asked_point(const struct search *s, int32_t p) {
    if (s->first) return point_of(s, 1 + p);
    return p == 0 ? point_of(s, s->at) : p == 1 ? direction_of(s) : step_of(s, s->order[s->n_pairs - 1]);
}

/* Whether the last step leads where the point lies: as a third direction it would add rounding alone. */
static bool last_step_is_parallel(const struct search *s) {
    const double *step = step_of(s, s->order[s->n_pairs - 1]), *point = point_of(s, s->at);
    const double along = dot(step, point, s->n);
    return along * along >= (1.0 - PARALLEL) * dot(step, step, s->n) * dot(point, point, s->n);
}

enum asked sefr_ask(struct search *s) {
    if (s->asked != NOTHING || s->stalled == 2) return s->asked;
    if (s->failed != NONE) {
        try_between(s);
        return s->asked = PASS;
    }
    find_direction(s);
    if (!(dot(direction_of(s), gradient_of(s, s->at), s->n) < 0.0)) return NOTHING;
    s->first = false;
    s->n_points = s->n_pairs && !last_step_is_parallel(s) ? 3 : 2;
    return s->asked = SCORES;
}

static bool is_known(const struct search *s, int32_t p) {
    return !s->first && ((p == 0 && s->at_known) || (p == 2 && s->step_known));
}

static void write_model(const struct objective *of, const double *point, double *coef, double *intercept) {
    const ptrdiff_t n = weights_of(of);
    if (of->steps) {
        sefr_step_tables(of->steps, point, point + n, of->n_scores, coef, intercept);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++) coef[i] = point[i] * of->unit;
    memcpy(intercept, point + n, (size_t)of->n_scores * sizeof *intercept);
}

ptrdiff_t sefr_models_asked(const struct search *s, const struct objective *of, double *coef, double *intercept) {
    ptrdiff_t q = 0;
    if (s->asked == PASS) write_model(of, point_of(s, s->tried), coef, intercept);
    if (s->asked != SCORES) return s->asked == PASS;
    for (int32_t p = 0; p < s->n_points; p++) {
        if (is_known(s, p)) continue;
        write_model(of, asked_point(s, p), coef + q * weights_of(of), intercept + q * of->n_scores);
        q++;
    }
    return q;
}

/* The second derivative of the penalty along two points. */
static double bent(const struct objective *of, const double *a, const double *b) {
    const double weights = of->ridge * dot(a, b, weights_of(of));
    return of->prior_precision ? weights + weighted_dot(a, of->prior_precision, b, point_size(of)) : weights;
}

bool sefr_has_begun(const struct search *s) { return s->asked == NOTHING && s->best_loss == INFINITY; }

bool sefr_pass_is_asked(const struct search *s) { return s->asked == PASS; }

ptrdiff_t sefr_scores_asked(const struct search *s) {
    ptrdiff_t unknown = 0;
    for (int32_t p = 0; s->asked == SCORES && p < s->n_points; p++) unknown += !is_known(s, p);
    return unknown;
}

enum outcome sefr_tell_scores(struct search *s, const struct objective *of, const double *scores) {
    const ptrdiff_t r = of->n_scores;
    const int32_t q = s->n_points;
    double hessian[MOST_ASKED * MOST_ASKED], slope[MOST_ASKED], shares[MOST_ASKED];
    const double *points[MOST_ASKED];
    const ptrdiff_t unknown = sefr_scores_asked(s);
    ptrdiff_t place = 0;
    for (int32_t p = 0; p < q; p++) {
        points[p] = asked_point(s, p);
        if (is_known(s, p)) continue;
        double *to = scores_of(s, p);
        for (ptrdiff_t i = 0; i < of->n_rows; i++) {
            memcpy(to + i * r, scores + (i * unknown + place) * r, (size_t)r * sizeof *to);
        }
        place++;
    }
    for (int32_t p = 0; p < q; p++) {
        for (int32_t o = 0; o <= p; o++) hessian[p * q + o] = hessian[o * q + p] = bent(of, points[p], points[o]);
        slope[p] = s->first ? 0.0 : dot(gradient_of(s, s->at), points[p], s->n);
    }
    static const double at[MOST_ASKED] = {1.0};
    const struct mixture mixture = {.scores = scores_of(s, 0),
                                    .codes = of->codes,
                                    .weights = of->weights,
                                    .n_points = q,
                                    .n_rows = of->n_rows,
                                    .n_scores = r,
                                    .n_classes = r == 1 ? 2 : r,
                                    .hessian = hessian,
                                    .start = s->first ? s->start : at,
                                    .slope = s->first ? NULL : slope};
    const enum outcome outcome = sefr_minimise_mixture(&mixture, shares);
    if (outcome != FINITE) return outcome;
    s->tried = s->first ? 1 : free_slot(s);
    double *tried = point_of(s, s->tried);
    for (ptrdiff_t i = 0; i < s->n; i++) { /* may be the first of the points itself */
        double sum = shares[0] * points[0][i];
        for (int32_t p = 1; p < q; p++) sum += shares[p] * points[p][i];
        tried[i] = sum;
    }
    if (of->mixes) {
        double *to = scores_of(s, TRIED);
        for (ptrdiff_t i = 0; i < s->n_cells; i++) {
            double sum = shares[0] * scores_of(s, 0)[i];
            for (int32_t p = 1; p < q; p++) sum += shares[p] * scores_of(s, p)[i];
            to[i] = sum;
        }
        s->tried_known = true;
        s->at_known = !s->first;
        s->step_known = !s->first && q == 3;
    }
    s->asked = PASS;
    return FINITE;
}

/* Remember a step along which the gradient rises; say whether it does. */
static bool remember_step(struct search *s) {
    int32_t place = 0;
    for (int32_t p = 0; p < s->n_pairs; p++) {
        if (s->order[p] == place) place++, p = -1;
    }
    double *step = step_of(s, place), *change = change_of(s, place);
    const double *from = point_of(s, s->at), *to = point_of(s, s->tried);
    const double *slope_from = gradient_of(s, s->at), *slope_to = gradient_of(s, s->tried);
    for (ptrdiff_t i = 0; i < s->n; i++) step[i] = to[i] - from[i], change[i] = slope_to[i] - slope_from[i];
    const double sizes = dot(step, step, s->n) * dot(change, change, s->n);
    if (!(dot(step, change, s->n) > LEAST_CURVED * sqrt(sizes))) return false;
    s->curved[place] = 0.0;
    if (s->n_pairs == s->most) {
        memmove(s->order, s->order + 1, (size_t)(--s->n_pairs) * sizeof *s->order);
    }
    s->order[s->n_pairs++] = place;
    return true;
}

/* Add the penalty to the gradient at a point; returns its value. */
static double add_penalty(const struct objective *of, const double *point, double *gradient) {
    const ptrdiff_t n_weights = weights_of(of), n = point_size(of);
    double value = of->ridge / 2.0 * dot(point, point, n_weights);
    for (ptrdiff_t i = 0; i < n_weights; i++) gradient[i] += of->ridge * point[i];
    if (!of->prior_mean) return value;
    double pull = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double away = point[i] - of->prior_mean[i], slope = of->prior_precision[i] * away;
        gradient[i] += slope;
        pull += slope * away;
    }
    return value + pull / 2.0;
}

double sefr_tell_pass(struct search *s, const struct objective *of, double loss, const double *coef,
                      const double *intercept, const double *scores) {
    const ptrdiff_t n_weights = weights_of(of);
    const int32_t tried = s->tried;
    double *gradient = gradient_of(s, tried);
    if (of->steps) {
        sefr_step_slopes(of->steps, coef, intercept, of->n_scores, gradient);
    } else {
        for (ptrdiff_t i = 0; i < n_weights; i++) gradient[i] = coef[i] * of->unit;
    }
    memcpy(gradient + n_weights, intercept, (size_t)of->n_scores * sizeof *gradient);
    s->loss[tried] = loss + add_penalty(of, point_of(s, tried), gradient);
    if (scores) {
        memcpy(scores_of(s, TRIED), scores, (size_t)s->n_cells * sizeof *scores);
        s->tried_known = true;
    }
    if (isfinite(s->loss[s->at]) && remember_step(s)) {
        s->step_known = s->tried_known && s->at_known;
        for (ptrdiff_t i = 0; s->step_known && i < s->n_cells; i++) {
            scores_of(s, 2)[i] = scores_of(s, TRIED)[i] - scores_of(s, 0)[i];
        }
    }
    const double before = s->loss[s->at] < s->best_loss ? s->loss[s->at] : s->best_loss, gain = before - s->loss[tried];
    if (s->loss[tried] < s->best_loss) s->best = tried, s->best_loss = s->loss[tried];
    if (s->loss[tried] < s->loss[s->at]) {
        s->at = tried;
        s->at_known = s->tried_known;
        if (s->at_known) memcpy(scores_of(s, 0), scores_of(s, TRIED), (size_t)s->n_cells * sizeof(double));
    }
    const double small = SEFR_STALLED * fabs(s->best_loss);
    s->failed = gain < -small ? tried : NONE;
    s->stalled = fabs(gain) < small ? s->stalled + 1 : 0;
    s->asked = NOTHING;
    return s->best_loss;
}

double sefr_best(const struct search *s, double *point, double *gradient) {
    memcpy(point, point_of(s, s->best), (size_t)s->n * sizeof *point);
    if (gradient) memcpy(gradient, gradient_of(s, s->best), (size_t)s->n * sizeof *gradient);
    return s->best_loss;
}

void sefr_move_search(struct search *s, const struct objective *to, const struct search *from,
                      const struct objective *before) {
    const ptrdiff_t n_weights = weights_of(to);
    const double more = to->ridge - before->ridge, *point = point_of(from, from->best);
    sefr_begin_search(s, to, point, from->best_loss, gradient_of(from, from->best));
    add(gradient_of(s, 0), more, point, n_weights);
    s->loss[0] = s->best_loss = from->best_loss + more / 2.0 * dot(point, point, n_weights);
    sefr_remember(s, from);
    for (int32_t p = 0; p < s->n_pairs; p++) {
        add(change_of(s, p), more, step_of(s, p), n_weights);
        s->curved[p] = 0.0;
    }
}
