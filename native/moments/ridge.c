#include "moments/ridge.h"

#include <math.h>
#include <string.h>

#include "common/dtype.h"

/* LANES sums in flight: one would wait for itself. */
enum { LANES = 8 };

INLINE double total_of(const double *sums) {
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

CLONES static double dot(const double *restrict a, const double *restrict b, ptrdiff_t n) {
    double sums[LANES] = {0.0};
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int u = 0; u < LANES; u++) sums[u] += a[i + u] * b[i + u];
    }
    for (; i < n; i++) sums[0] += a[i] * b[i];
    return total_of(sums);
}

CLONES static void add(double *restrict to, const double *restrict from, double share, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) to[i] += share * from[i];
}

/* to += share a; returns dot(a, b), in the same look at a. */
CLONES static double add_and_dot(double *restrict to, double share, const double *restrict a, const double *restrict b,
                                 ptrdiff_t n) {
    double sums[LANES] = {0.0};
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int u = 0; u < LANES; u++) {
            sums[u] += a[i + u] * b[i + u];
            to[i + u] += share * a[i + u];
        }
    }
    for (; i < n; i++) sums[0] += a[i] * b[i], to[i] += share * a[i];
    return total_of(sums);
}

/* row -= v w' + w v', of which `v` and `w` are the values of the row. */
CLONES static void turn_row(double *restrict row, double v, const double *restrict w_of, double w,
                            const double *restrict v_of, ptrdiff_t n) {
    for (ptrdiff_t c = 0; c < n; c++) row[c] -= v * w_of[c] + w * v_of[c];
}

/* The reflection 1 - factor v v', v[0] = 1, that leaves of x (n) its first value alone, which is returned. v replaces
   x but for its first place. */
static double reflection(double *x, ptrdiff_t n, double *factor) {
    double largest = 0.0;
    for (ptrdiff_t i = 1; i < n; i++) largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
    *factor = 0.0;
    if (largest == 0.0) return x[0];
    largest = fabs(x[0]) > largest ? fabs(x[0]) : largest;
    double squares = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) squares += (x[i] / largest) * (x[i] / largest);
    const double length = largest * __builtin_sqrt(squares), beta = x[0] > 0.0 ? -length : length;
    *factor = (beta - x[0]) / beta;
    for (ptrdiff_t i = 1; i < n; i++) x[i] /= x[0] - beta;
    return beta;
}

void sefr_tridiagonal(const struct tridiagonal *t, double *work) {
    const ptrdiff_t p = t->p;
    for (ptrdiff_t i = 0; i + 1 < p; i++) {
        double *x = t->matrix + i * p + i + 1, *v = work, *w = work + p;
        const ptrdiff_t n = p - i - 1;
        t->diagonal[i] = t->matrix[i * p + i];
        t->beside[i] = reflection(x, n, &t->factors[i]);
        if (t->factors[i] == 0.0) continue;
        memcpy(v, x, (size_t)n * sizeof *v);
        v[0] = 1.0;
        /* w = factor B v, B the rest of the matrix, of which the upper triangle counts */
        memset(w, 0, (size_t)n * sizeof *w);
        for (ptrdiff_t r = 0; r < n; r++) {
            const double *row = t->matrix + (i + 1 + r) * p + i + 1 + r;
            w[r] += row[0] * v[r] + add_and_dot(w + r + 1, v[r], row + 1, v + r + 1, n - r - 1);
        }
        for (ptrdiff_t r = 0; r < n; r++) w[r] *= t->factors[i];
        add(w, v, -0.5 * t->factors[i] * dot(w, v, n), n);
        for (ptrdiff_t r = 0; r < n; r++) {
            turn_row(t->matrix + (i + 1 + r) * p + i + 1 + r, v[r], w + r, w[r], v + r, n - r);
        }
    }
    if (p) t->diagonal[p - 1] = t->matrix[p * p - 1];
}

static void reflect(const struct tridiagonal *t, ptrdiff_t i, double *vector) {
    const double *v = t->matrix + i * t->p + i + 2;
    const ptrdiff_t n = t->p - i - 2;
    double *own = vector + i + 1;
    const double share = -t->factors[i] * (own[0] + dot(v, own + 1, n));
    own[0] += share;
    add(own + 1, v, share, n);
}

void sefr_turn(const struct tridiagonal *t, double *vector) {
    for (ptrdiff_t i = 0; i + 1 < t->p; i++) reflect(t, i, vector);
}

void sefr_turn_back(const struct tridiagonal *t, double *vector) {
    for (ptrdiff_t i = t->p - 2; i >= 0; i--) reflect(t, i, vector);
}

bool sefr_factor(const struct tridiagonal *t, double ridge, double *pivots, double *below) {
    for (ptrdiff_t i = 0; i < t->p; i++) {
        pivots[i] = t->diagonal[i] + ridge - (i ? below[i - 1] * t->beside[i - 1] : 0.0);
        if (!(pivots[i] > 0.0)) return false;
        below[i] = i + 1 < t->p ? t->beside[i] / pivots[i] : 0.0;
    }
    return true;
}

void sefr_solve_factored(ptrdiff_t p, const double *pivots, const double *below, double *vector) {
    for (ptrdiff_t i = 1; i < p; i++) vector[i] -= below[i - 1] * vector[i - 1];
    for (ptrdiff_t i = p - 1; i >= 0; i--) {
        vector[i] = vector[i] / pivots[i] - (i + 1 < p ? below[i] * vector[i + 1] : 0.0);
    }
}

double sefr_freedom(ptrdiff_t p, double ridge, const double *pivots, const double *below) {
    double trace = 0.0, own = 0.0; /* of the inverse of L D L': from the last place to the first */
    for (ptrdiff_t i = p - 1; i >= 0; i--) trace += own = 1.0 / pivots[i] + below[i] * below[i] * own;
    const double found = (double)p - ridge * trace;
    return found > 0.0 ? found : 0.0;
}

/* Where losses (n_ridges), `step` apart, are lowest: the last of such places. */
static ptrdiff_t lowest(const double *losses, ptrdiff_t n, ptrdiff_t step, double flat) {
    double least = losses[0];
    ptrdiff_t last = n - 1;
    for (ptrdiff_t r = 1; r < n; r++) least = losses[r * step] < least ? losses[r * step] : least;
    while (last > 0 && losses[last * step] > least + flat) last--;
    return last;
}

/* Solve for one target under a ridge; return what is left over. `work` has the factors of T + ridge I, 2 p. */
static double solve_target(const struct tridiagonal *t, const struct ridge_targets *of, ptrdiff_t c, const double *work,
                           double *solved) {
    const double *rotated = of->rotated + c * t->p, power = of->power[c];
    if (t->p) memcpy(solved, rotated, (size_t)t->p * sizeof *solved);
    sefr_solve_factored(t->p, work, work + t->p, solved);
    const double left = power - dot(solved, rotated, t->p);
    return left > 1e-12 * power ? left : 1e-12 * power;
}

bool sefr_likeliest_ridges(const struct tridiagonal *t, const struct ridge_targets *of,
                           const struct ridge_solutions *to, double *work) {
    const ptrdiff_t p = t->p, k = of->k;
    double *pivots = work, *below = pivots + p, *one = below + p, *losses = one + p;
    const double degrees = of->count - 1.0 > 1.0 ? of->count - 1.0 : 1.0, flat = 1e-6 + 1e-10 * degrees;
    for (ptrdiff_t r = 0; r < of->n_ridges; r++) {
        const double ridge = of->ridges[r] * of->count;
        double determinant = of->others * log(1.0 + of->square / ridge) - (double)p * log(ridge), sum = 0.0;
        if (!sefr_factor(t, ridge, pivots, below)) return false;
        for (ptrdiff_t i = 0; i < p; i++) determinant += log(pivots[i]);
        for (ptrdiff_t c = 0; c < k; c++) {
            const double left = solve_target(t, of, c, work, one);
            losses[r * k + c] = degrees * log((left > 1e-300 ? left : 1e-300) / degrees) + determinant;
            sum += of->power[c] > 0.0 ? losses[r * k + c] : 0.0;
        }
        for (ptrdiff_t c = 0; of->together && c < k; c++) losses[r * k + c] = sum;
    }
    for (ptrdiff_t c = 0; c < k; c++) {
        to->chosen[c] = of->ridges[lowest(losses + c, of->n_ridges, k, flat)];
        const double ridge = to->chosen[c] * of->count;
        if (!sefr_factor(t, ridge, pivots, below)) return false;
        const double left = solve_target(t, of, c, work, to->solved + c * p);
        if (to->left) to->left[c] = left;
        if (to->freedom) {
            to->freedom[c] = sefr_freedom(p, ridge, pivots, below) + of->others * of->square / (of->square + ridge);
        }
    }
    return true;
}

void sefr_leverages(double *matrix, ptrdiff_t p, double *columns, ptrdiff_t n, double *leverage) {
    enum { ROWS = 128 }; /* at a time: their columns stay in the second cache */
    for (ptrdiff_t a = 0; a < p; a++) {
        double *row = matrix + a * p;
        for (ptrdiff_t b = 0; b < a; b++) row[b] = (row[b] - dot(row, matrix + b * p, b)) / matrix[b * p + b];
        row[a] = sqrt(row[a] - dot(row, row, a));
    }
    for (ptrdiff_t i = 0; i < n; i++) leverage[i] = 0.0;
    for (ptrdiff_t first = 0; first < n; first += ROWS) {
        const ptrdiff_t size = n - first < ROWS ? n - first : ROWS;
        for (ptrdiff_t a = 0; a < p; a++) {
            double *own = columns + a * n + first;
            for (ptrdiff_t b = 0; b < a; b++) add(own, columns + b * n + first, -matrix[a * p + b], size);
            for (ptrdiff_t i = 0; i < size; i++) {
                own[i] /= matrix[a * p + a];
                leverage[first + i] += own[i] * own[i];
            }
        }
    }
}
