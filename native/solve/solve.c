#include "solve/solve.h"

#include "common/dtype.h"

/* Features are worked on in blocks that stay in the first cache: nine arrays of this many doubles. */
enum { BLOCK = 512 };

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
    const double per_row = 1 / n_rows;
    int64_t care = 0;
    for (ptrdiff_t j = 0; j < n; j++) {
        const double wide = span[j], high = low[j] + wide, above = total[j] * per_row - low[j];
        const double flat = wide == 0;
        const int64_t fine = (wide >= NARROW) & (wide < HUGE_VAL) & (fabs(low[j]) <= FAR * wide) &
                             (fabs(high) <= FAR * wide) & (fabs(low[j]) <= DELICATE * above);
        care |= !(fine | (wide == 0));
        inverse[j] = (1 - flat) / (wide + flat);
    }
    return care;
}

/* One hyperplane over n features: what the class's sums and those of the rest are above the low ends, times the other
   side's count, takes the place of the means, so that one division a weight is enough. Returns the sum of weight times
   midpoint. */
INLINE double weigh(const double *restrict own, const double *restrict rest, const double *restrict low,
                    const double *restrict span, const double *restrict inverse, ptrdiff_t n, double n_own,
                    double n_rest, double epsilon, double *restrict weights) {
    double midway[BLOCK];
    const double n_rows = n_own + n_rest, little = epsilon * n_own * n_rest;
    const double own_share = n_rest / (n_own * n_rows), rest_share = n_own / (n_rest * n_rows);
    for (ptrdiff_t j = 0; j < n; j++) {
        const double a = own[j] - n_own * low[j], b = rest[j] - n_rest * low[j];
        const double top = a * n_rest - b * n_own, bottom = a * n_rest + b * n_own + little * span[j];
        const double none = bottom == 0, live = span[j] != 0;
        const double weight = top / (bottom + none) * (live - live * none);
        weights[j] = weight;
        midway[j] = weight * inverse[j] * (a * own_share + b * rest_share);
    }
    for (ptrdiff_t j = n; j < BLOCK; j++) midway[j] = 0;
    return folded(midway);
}

CLONES static bool solve_block(const struct learned *from, ptrdiff_t first, ptrdiff_t n, double n_rows, double epsilon,
                               const struct planes *to) {
    double total[BLOCK], inverse[BLOCK], rest[BLOCK];
    const double *low = from->low + first, *span = from->span + first;
    const ptrdiff_t m = from->m, skipped = from->k == 2;
    add_up(from, first, n, total);
    if (measure(low, span, total, n, n_rows, inverse)) return false;
    for (ptrdiff_t k = skipped; k < from->k; k++) {
        const double *own = from->sums + k * m + first, *others = skipped ? from->sums + first : rest;
        if (!skipped) {
            for (ptrdiff_t j = 0; j < n; j++) rest[j] = total[j] - own[j];
        }
        const ptrdiff_t row = k - skipped;
        to->bias[row] -= weigh(own, others, low, span, inverse, n, from->counts[k], n_rows - from->counts[k], epsilon,
                               to->weights + row * m + first);
    }
    return true;
}

bool sefr_solve(const struct learned *from, double epsilon, const struct planes *to) {
    const ptrdiff_t n_planes = from->k == 2 ? 1 : from->k;
    double n_rows = 0;
    if (from->k < 2) return false;
    for (ptrdiff_t k = 0; k < from->k; k++) {
        if (!(from->counts[k] > 0)) return false;
        n_rows += from->counts[k];
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

CLONES static bool is_delicate_block(const struct learned *from, ptrdiff_t first, ptrdiff_t n, double n_rows) {
    double total[BLOCK];
    int64_t found = 0;
    const double *low = from->low + first;
    add_up(from, first, n, total);
    for (ptrdiff_t j = 0; j < n; j++) found |= !(fabs(low[j]) <= DELICATE * (total[j] / n_rows - low[j]));
    return found;
}

bool sefr_is_delicate(const struct learned *from) {
    double n_rows = 0;
    if (from->k < 1) return false;
    for (ptrdiff_t k = 0; k < from->k; k++) n_rows += from->counts[k];
    for (ptrdiff_t first = 0; first < from->m; first += BLOCK) {
        const ptrdiff_t left = from->m - first;
        if (is_delicate_block(from, first, left < BLOCK ? left : BLOCK, n_rows)) return true;
    }
    return false;
}
