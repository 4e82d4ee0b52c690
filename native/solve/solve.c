#include "solve/solve.h"

#include "common/dtype.h"

/* Features are worked on in blocks that stay in the first cache: nine arrays of this many doubles. */
enum { BLOCK = 512 };

/* The two sides of a hyperplane: their counts, epsilon times both, and what part of each side's distances the midpoint
   takes. */
struct sides {
    double own, rest, little, own_share, rest_share;
};

/* Some features: the sums of both sides, and what they are scaled by. */
struct block {
    const double *own, *rest, *low, *span, *inverse;
    ptrdiff_t n;
};

/* There are no branches in the loops below: a division in one would not be done for several features at a time. */

/* The sum of terms[0 .. BLOCK), pairwise. */
INLINE double folded(double *terms) {
    for (ptrdiff_t half = BLOCK / 2; half >= 4; half /= 2) {
        for (ptrdiff_t j = 0; j < half; j++) terms[j] += terms[half + j];
    }
    return (terms[0] + terms[2]) + (terms[1] + terms[3]);
}

INLINE void add_up(const struct learned *from, ptrdiff_t first, ptrdiff_t n, double *restrict total) {
    for (ptrdiff_t j = 0; j < n; j++) total[j] = from->sums[first + j];
    for (ptrdiff_t k = 1; k < from->k; k++) {
        const double *sums = from->sums + k * from->m + first;
        for (ptrdiff_t j = 0; j < n; j++) total[j] += sums[j];
    }
}

/* Write the inverses of n spans, 0 for a constant feature; true if a feature needs care. */
INLINE bool measure(const double *restrict low, const double *restrict span, const double *restrict total, ptrdiff_t n,
                    double n_rows, double *restrict inverse) {
    const double per_row = 1 / n_rows, pairs = n_rows * n_rows;
    int64_t care = 0;
    for (ptrdiff_t j = 0; j < n; j++) {
        const double wide = span[j], high = low[j] + wide, above = total[j] * per_row - low[j];
        const double flat = wide == 0;
        const int64_t fine = (wide >= NARROW) & (wide * pairs <= WIDE) & (fabs(low[j]) <= FAR * wide) &
                             (fabs(high) <= FAR * wide) & (fabs(low[j]) <= DELICATE * above);
        care |= !(fine | (wide == 0));
        inverse[j] = (1 - flat) / (wide + flat);
    }
    return care;
}

/* Equations 3 to 9 for one hyperplane over n features. What the sums of its two sides are above the low ends, times the
   other side's count, takes the place of the means, so that one division per weight is enough. Equation 9 splits over
   the features: a record's score is the sum of weight times (x' - midpoint), with midpoint (a N- + b N+) / (N- + N+),
   since tau+ = w.a and tau- = w.b. Returns the sum of weight times midpoint. */
INLINE double weigh(const struct block *x, struct sides sides, double *restrict weights, double *restrict midpoints) {
    const double *restrict own = x->own, *restrict rest = x->rest, *restrict low = x->low, *restrict span = x->span,
                           *restrict inverse = x->inverse;
    double midway[BLOCK];
    for (ptrdiff_t j = 0; j < x->n; j++) {
        const double a = own[j] - sides.own * low[j], b = rest[j] - sides.rest * low[j];
        const double top = a * sides.rest - b * sides.own,
                     bottom = a * sides.rest + b * sides.own + sides.little * span[j];
        const double none = bottom == 0, live = span[j] != 0;
        const double weight = top / (bottom + none) * (live - live * none);
        weights[j] = weight;
        midway[j] = weight * inverse[j] * (a * sides.own_share + b * sides.rest_share);
    }
    for (ptrdiff_t j = 0; midpoints && j < x->n; j++) {
        const double a = own[j] - sides.own * low[j], b = rest[j] - sides.rest * low[j];
        midpoints[j] = inverse[j] * (a * sides.own_share + b * sides.rest_share);
    }
    for (ptrdiff_t j = x->n; j < BLOCK; j++) midway[j] = 0;
    return folded(midway);
}

INLINE void weigh_into(const struct planes *to, ptrdiff_t row, ptrdiff_t at, const struct block *x,
                       struct sides sides) {
    to->bias[row] -= weigh(x, sides, to->weights + at, to->midpoints ? to->midpoints + at : NULL);
}

CLONES static bool solve_block(const struct learned *from, ptrdiff_t first, ptrdiff_t n, double n_rows, double epsilon,
                               const struct planes *to) {
    double total[BLOCK], inverse[BLOCK], others[BLOCK];
    const double *low = from->low + first, *span = from->span + first;
    const ptrdiff_t m = from->m, skipped = from->k == 2;
    add_up(from, first, n, total);
    if (measure(low, span, total, n, n_rows, inverse)) return false;
    for (ptrdiff_t k = skipped; k < from->k; k++) {
        const double *sums = from->sums + k * m + first, *other_sums = skipped ? from->sums + first : others;
        const double n_own = from->counts[k], n_rest = n_rows - n_own;
        const struct sides sides = {n_own, n_rest, epsilon * n_own * n_rest, n_rest / (n_own * n_rows),
                                    n_own / (n_rest * n_rows)};
        if (!skipped) {
            for (ptrdiff_t j = 0; j < n; j++) others[j] = total[j] - sums[j];
        }
        weigh_into(to, k - skipped, (k - skipped) * m + first, &(struct block){sums, other_sums, low, span, inverse, n},
                   sides);
    }
    return true;
}

static double all_rows(const struct learned *from) {
    double n_rows = 0;
    for (ptrdiff_t k = 0; k < from->k; k++) n_rows += from->counts[k];
    return n_rows;
}

bool sefr_solve(const struct learned *from, double epsilon, const struct planes *to) {
    const ptrdiff_t n_planes = from->k == 2 ? 1 : from->k;
    const double n_rows = all_rows(from);
    if (from->k < 2) return false;
    for (ptrdiff_t k = 0; k < from->k; k++) {
        if (!(from->counts[k] > 0)) return false;
    }
    for (ptrdiff_t k = 0; from->k > 2 && k < from->k; k++) {
        if (from->counts[k] > DOMINANT * (n_rows - from->counts[k])) return false;
    }
    for (ptrdiff_t k = 0; k < n_planes; k++) to->bias[k] = 0;
    for (ptrdiff_t first = 0; first < from->m; first += BLOCK) {
        const ptrdiff_t left = from->m - first;
        if (!solve_block(from, first, left < BLOCK ? left : BLOCK, n_rows, epsilon, to)) return false;
    }
    bool finite = true;
    for (ptrdiff_t k = 0; k < n_planes; k++) finite &= isfinite(to->bias[k]);
    return finite;
}

/* Both sides' means with 0 for a feature that one of them has no value of: it says nothing then. */
INLINE void both_known(const double *restrict own, const double *restrict rest, ptrdiff_t n, double *restrict own_known,
                       double *restrict rest_known) {
    for (ptrdiff_t j = 0; j < n; j++) {
        const bool known = !(isnan(own[j]) || isnan(rest[j]));
        own_known[j] = known ? own[j] : 0;
        rest_known[j] = known ? rest[j] : 0;
    }
}

void sefr_solve_means(const struct learned *from, const double *rest, double epsilon, const struct planes *to) {
    const ptrdiff_t m = from->m, skipped = from->k == 2;
    const double n_rows = all_rows(from);
    double own_known[BLOCK], rest_known[BLOCK], ones[BLOCK], zeros[BLOCK] = {0};
    for (ptrdiff_t j = 0; j < BLOCK; j++) ones[j] = 1;
    for (ptrdiff_t k = skipped; k < from->k; k++) {
        const ptrdiff_t row = k - skipped;
        const double n_own = from->counts[k];
        const struct sides sides = {1, 1, epsilon, (n_rows - n_own) / n_rows, n_own / n_rows};
        to->bias[row] = 0;
        for (ptrdiff_t first = 0; first < m; first += BLOCK) {
            const ptrdiff_t n = m - first < BLOCK ? m - first : BLOCK, at = row * m + first;
            both_known(from->sums + k * m + first, rest + at, n, own_known, rest_known);
            weigh_into(to, row, at, &(struct block){own_known, rest_known, zeros, ones, ones, n}, sides);
        }
    }
}

CLONES static bool is_delicate_block(const struct learned *from, ptrdiff_t first, ptrdiff_t n, double n_rows) {
    double total[BLOCK];
    int64_t found = 0;
    const double *low = from->low + first;
    add_up(from, first, n, total);
    for (ptrdiff_t j = 0; j < n; j++) found |= !(fabs(low[j]) <= DELICATE * (total[j] / n_rows - low[j]));
    return found;
}

bool sefr_is_delicate(const struct learned *from) {
    const double n_rows = all_rows(from);
    if (from->k < 1) return false;
    for (ptrdiff_t first = 0; first < from->m; first += BLOCK) {
        const ptrdiff_t left = from->m - first;
        if (is_delicate_block(from, first, left < BLOCK ? left : BLOCK, n_rows)) return true;
    }
    return false;
}
