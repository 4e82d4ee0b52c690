#include "refine/leave_one_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/dtype.h"
#include "moments/ridge.h"
#include "refine/fast_math.h"

/* A row of more weight counts as so many copies: squares of weights stay within float64. */
static const double MOST_COPIES = 1073741824.0;
/* The least curvature along a direction, over the mean: the ridge is lost if rows have huge weights. */
static const double LEAST_CURVATURE = 1e-12;
/* Rows that determine nearly as many weights as they are do not show what more rows would: so much is left over. */
static const double LEAST_LEFT = 0.25;
/* The ridge is searched by halving its logarithm, from exp(-20) of the least it can be if no row determines its own
   score. */
static const double BELOW_LEAST = 2.061153622438558e-9;
enum { HALVINGS = 50, LANES = 8 };

static double larger(double a, double b) { return a > b ? a : b; }

/* What is known of each row: how much doubt there is of it, the mean of p (1 - p) over its scores; what it weighs in
   the loss that is left out, one row or as much of it as there is; and its leverage or reach, which is wanted. */
struct found {
    double *doubts, *pushes, *leverage;
};

/* Write the probabilities (n x n_scores), of code 1 for one score, and all that is found but the leverage. */
static enum outcome predict(const struct fitted_rows *of, double *likely, const struct found *to) {
    const ptrdiff_t r = of->n_scores;
    for (ptrdiff_t i = 0; i < of->n; i++) {
        const double *score = of->scores + i * r;
        double *p = likely + i * r, highest = r == 1 ? 0.0 : -INFINITY, total, doubt = 0.0; /* one score: beside 0 */
        const int32_t code = ((const volatile int32_t *)of->codes)[i];
        if (code < 0 || code >= (r == 1 ? 2 : r)) return BAD_CODE;
        for (ptrdiff_t k = 0; k < r; k++) highest = larger(score[k], highest);
        total = r == 1 ? fast_exp(-highest) : 0.0;
        for (ptrdiff_t k = 0; k < r; k++) total += p[k] = fast_exp(score[k] - highest);
        for (ptrdiff_t k = 0; k < r; k++) {
            p[k] /= total;
            doubt += p[k] * (1.0 - p[k]);
        }
        to->doubts[i] = doubt / (double)r;
        to->pushes[i] = of->class_weights[code] * (of->weights[i] < 1.0 ? of->weights[i] : 1.0);
    }
    return FINITE;
}

/* LANES sums in flight: one would wait for itself. */
CLONES static double product(const double *restrict a, const double *restrict b, ptrdiff_t n) {
    double part[LANES] = {0.0}, sum = 0.0;
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (ptrdiff_t u = 0; u < LANES; u++) part[u] += a[i + u] * b[i + u];
    }
    for (; i < n; i++) sum += a[i] * b[i];
    for (ptrdiff_t u = 0; u < LANES; u++) sum += part[u];
    return sum;
}

static enum outcome by_all_rows(const struct fitted_rows *of, const struct known_rows *from, const struct found *to) {
    const ptrdiff_t n = of->n, p = from->width + 1; /* the intercept has a 1 */
    double *columns = malloc((size_t)((n + p) * p + n) * sizeof *columns), trace = 0.0;
    if (!columns) return NO_MEMORY;
    double *matrix = columns + n * p, *curved = matrix + p * p;
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t a = 0; a < p; a++) columns[a * n + i] = a + 1 < p ? from->known[i * (p - 1) + a] : 1.0;
    }
    for (ptrdiff_t a = 0; a < p; a++) {
        for (ptrdiff_t i = 0; i < n; i++) curved[i] = of->shares[i] * to->doubts[i] * columns[a * n + i];
        for (ptrdiff_t b = 0; b <= a; b++) matrix[a * p + b] = product(curved, columns + b * n, n);
        trace += matrix[a * p + a];
    }
    const double ridge = larger(larger(of->ridge, LEAST_CURVATURE * trace / (double)p), 1e-300);
    for (ptrdiff_t a = 0; a < p; a++) matrix[a * p + a] += ridge;
    sefr_leverages(matrix, p, columns, n, to->leverage);
    for (ptrdiff_t i = 0; i < n; i++) to->leverage[i] *= to->pushes[i];
    free(columns);
    return FINITE;
}

static void by_pairs(const struct fitted_rows *of, const struct known_rows *from, const struct found *to) {
    const ptrdiff_t n = of->n, m = from->m;
    double heaviest = MOST_COPIES, all = 0.0, lengths = 0.0, own = 0.0, alike = 0.0;
    for (ptrdiff_t i = 0; i < m; i++) heaviest = larger(from->weights[i], heaviest);
    const double unit = MOST_COPIES / heaviest;
    for (ptrdiff_t i = 0; i < m; i++) {
        const double share = from->weights[i] * unit, *row = from->known + i * m;
        double squares = 0.0;
        for (ptrdiff_t j = 0; j < m; j++) squares += row[j] * row[j] * (from->weights[j] * unit);
        lengths += share * row[i];
        own += share * row[i] * row[i];
        alike += share * squares;
    }
    /* over pairs of different rows: a row of weight 2 is two */
    const double shared = larger(0.0, alike - own) / larger(1e-300, lengths * lengths - own);
    const double directions = 1.0 / larger(shared, 1.0 / (double)(from->width ? from->width : 1));
    for (ptrdiff_t i = 0; i < n; i++) all += of->weights[i];
    const double curvature = product(of->weights, to->doubts, n) / all / directions + of->ridge;
    for (ptrdiff_t i = 0; i < n; i++) to->leverage[i] = to->pushes[i] * of->lengths[i] / curvature;
}

/* Write the reach of each row where the loss is curved so much along a score and rows determine so many weights; return
   how much it then is curved. `lengths` are over the mean. */
static double find_reach(const struct fitted_rows *of, const struct found *to, const double *lengths, double determined,
                         double curvature) {
    double found = 0.0;
    for (ptrdiff_t i = 0; i < of->n; i++) {
        const double reach = to->leverage[i] = (lengths[i] * determined + to->pushes[i]) / curvature;
        found += of->shares[i] * (to->doubts[i] / (1.0 + reach * to->doubts[i]));
    }
    return found;
}

static enum outcome by_spectrum(const struct fitted_rows *of, const struct known_rows *from, const struct found *to) {
    const ptrdiff_t n = of->n, m = from->m, r = of->n_scores;
    double *matrix = malloc((size_t)((m + 5) * m + n) * sizeof *matrix + 1), share = 0.0, rows = 0.0, all = 0.0;
    if (!matrix) return NO_MEMORY;
    const struct tridiagonal t = {m, matrix, matrix + m * m, matrix + (m + 1) * m, matrix + (m + 2) * m};
    double *roots = t.factors + m, *lengths = roots + 2 * m, least = 0.0;
    for (ptrdiff_t i = 0; i < m; i++) share += from->shares[i], rows += from->weights[i];
    for (ptrdiff_t i = 0; i < m; i++) roots[i] = sqrt(from->shares[i] / larger(share, 1e-300));
    for (ptrdiff_t i = 0; i < m; i++) {
        for (ptrdiff_t j = i; j < m; j++) matrix[i * m + j] = from->known[i * m + j] * roots[i] * roots[j];
        all += matrix[i * m + i];
    }
    all = larger(all, 1e-300);
    rows = larger(rows, (double)m);
    sefr_tridiagonal(&t, roots);
    for (ptrdiff_t i = 0; i < n; i++) {
        if (r > 1) to->pushes[i] *= 1.0 - 1.0 / (double)r;
        lengths[i] = to->pushes[i] * of->lengths[i] / all;
        least += of->shares[i] * (to->doubts[i] / (1.0 + lengths[i] * (all / of->ridge) * to->doubts[i]));
    }
    double low = of->ridge / larger(product(of->shares, to->doubts, n), 1e-200) * BELOW_LEAST;
    double high = of->ridge / larger(least, 1e-200);
    for (int turn = 0; turn <= HALVINGS; turn++) {
        const double weaker = turn < HALVINGS ? sqrt(low) * sqrt(high) : high;
        const double ridge = larger(weaker, LEAST_CURVATURE * all); /* less than rounding is nothing */
        const double determined =
            sefr_factor(&t, ridge, roots, roots + m) ? sefr_freedom(m, ridge, roots, roots + m) : NAN;
        const double curvature = of->ridge * larger(1.0 - determined / rows, LEAST_LEFT) / weaker;
        *(curvature > find_reach(of, to, lengths, determined, curvature) ? &low : &high) = weaker;
    }
    for (ptrdiff_t i = 0; i < n; i++) to->leverage[i] *= from->say;
    free(matrix);
    return FINITE;
}

enum outcome sefr_leave_one_out(const struct fitted_rows *of, const struct known_rows *from, double *left_out) {
    const ptrdiff_t n = of->n, r = of->n_scores;
    double *work = malloc((size_t)(3 * n) * sizeof *work + 1);
    if (!work) return NO_MEMORY;
    const struct found found = {work, work + n, work + 2 * n};
    enum outcome outcome = predict(of, left_out, &found);
    if (outcome == FINITE && from->by == ALL_ROWS) outcome = by_all_rows(of, from, &found);
    if (outcome == FINITE && from->by == PAIRS) by_pairs(of, from, &found);
    if (outcome == FINITE && from->by == SPECTRUM) outcome = by_spectrum(of, from, &found);
    for (ptrdiff_t i = 0; outcome == FINITE && i < n; i++) {
        for (ptrdiff_t k = 0; k < r; k++) {
            const double p = left_out[i * r + k], truth = of->codes[i] == (r == 1 ? 1 : k), h = found.leverage[i];
            const double over = from->by == SPECTRUM ? 1.0 : larger(1.0 - h * p * (1.0 - p), 0.5);
            left_out[i * r + k] = of->scores[i * r + k] + h * (p - truth) / over;
        }
    }
    free(work);
    return outcome;
}
