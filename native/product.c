#include "product.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"

/* Eight lanes fit every x86-64 with AVX2 and are split in two elsewhere; 8 sums in flight hide the latency. */
enum { LANES = 8 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* Macros, not functions: what returns a vector would have another ABI in each clone. */
#define LOAD(p) (*(const lanes *)(const void *)(p))
#define STORE(p, a) (*(lanes *)(void *)(p) = (a))

typedef float quarter __attribute__((vector_size(4 * sizeof(float))));

#if defined(__clang__)
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
typedef int32_t places __attribute__((vector_size(4 * sizeof(int32_t))));
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (places){i, j, k, l})
#endif

/* out[i] += sum of the lanes of line i, for four lines at once: a transposition spares most of the additions. */
static inline void add_totals(float (*sums)[LANES], double *out) {
    quarter h[4];
    for (int i = 0; i < 4; i++) {
        quarter low, high;
        memcpy(&low, sums[i], sizeof low);
        memcpy(&high, sums[i] + 4, sizeof high);
        h[i] = low + high;
    }
    const quarter a = SHUFFLE(h[0], h[1], 0, 4, 2, 6) + SHUFFLE(h[0], h[1], 1, 5, 3, 7);
    const quarter b = SHUFFLE(h[2], h[3], 0, 4, 2, 6) + SHUFFLE(h[2], h[3], 1, 5, 3, 7);
    const quarter all = SHUFFLE(a, b, 0, 1, 4, 5) + SHUFFLE(a, b, 2, 3, 6, 7);
    for (int i = 0; i < 4; i++) out[i] += (double)all[i];
}

static inline float total(const float *a) {
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

void *aligned(ptrdiff_t n, size_t size) {
    const size_t bytes = ((size_t)n * size + 127) / 64 * 64;
    return aligned_alloc(64, bytes);
}

/* A strip of the lines in hand and of the vectors stays in the first-level cache. */
enum { STRIP = 1024 };

/* LINES lines by VECTORS vectors, their sums in registers. */
#define MULTIPLY(LINES, VECTORS)                                                                                  \
    do {                                                                                                          \
        lanes sum[LINES][VECTORS] = {{{0.0f}}};                                                                   \
        for (ptrdiff_t j = begin; j < end; j += LANES) {                                                          \
            lanes v[VECTORS];                                                                                     \
            for (int k = 0; k < VECTORS; k++) v[k] = LOAD(vector + k * width + j);                                \
            for (int i = 0; i < LINES; i++) {                                                                     \
                const lanes x = LOAD(line + i * width + j);                                                       \
                for (int k = 0; k < VECTORS; k++) sum[i][k] += x * v[k];                                          \
            }                                                                                                     \
        }                                                                                                         \
        for (int k = 0; k < VECTORS; k++) {                                                                       \
            float values[LINES][LANES];                                                                           \
            for (int i = 0; i < LINES; i++) memcpy(values[i], &sum[i][k], sizeof values[i]);                      \
            double *to = target + k * out_width;                                                                  \
            for (int i = 0; LINES >= 4 && i < LINES; i += 4) add_totals(values + i, to + i);                      \
            for (int i = 0; LINES < 4 && i < LINES; i++) to[i] += (double)total(values[i]);                       \
        }                                                                                                         \
    } while (0)

CLONES static void multiply_strip(const float *tile, ptrdiff_t n_lines, ptrdiff_t width, ptrdiff_t begin,
                                  ptrdiff_t end, const float *vectors, ptrdiff_t n_vectors, double *out,
                                  ptrdiff_t out_width) {
    for (ptrdiff_t i = 0; i < n_lines;) {
        const float *line = tile + i * width;
        const ptrdiff_t left = n_lines - i;
        const int step = n_vectors == 1 && left >= 8 ? 8 : left >= 4 ? 4 : 1;
        for (ptrdiff_t k = 0; k < n_vectors;) {
            const float *vector = vectors + k * width;
            double *target = out + k * out_width + i;
            const ptrdiff_t more = n_vectors - k;
            if (step == 4 && more >= 3 && more != 4) {
                MULTIPLY(4, 3);
                k += 3;
            } else if (step == 4 && more >= 2) {
                MULTIPLY(4, 2);
                k += 2;
            } else if (step == 8) {
                MULTIPLY(8, 1);
                k += 1;
            } else if (step == 4) {
                MULTIPLY(4, 1);
                k += 1;
            } else {
                MULTIPLY(1, 1);
                k += 1;
            }
        }
        i += step;
    }
}

void multiply_lines(const float *tile, ptrdiff_t n_lines, ptrdiff_t width, const float *vectors, ptrdiff_t n_vectors,
                    double *out, ptrdiff_t out_width) {
    for (ptrdiff_t k = 0; k < n_vectors; k++) memset(out + k * out_width, 0, (size_t)n_lines * sizeof *out);
    for (ptrdiff_t begin = 0; begin < width; begin += STRIP) {
        const ptrdiff_t end = width - begin < STRIP ? width : begin + STRIP;
        multiply_strip(tile, n_lines, width, begin, end, vectors, n_vectors, out, out_width);
    }
}

/* VECTORS outputs over BLOCKS * LANES places, their sums in registers. */
#define ADD(BLOCKS, VECTORS)                                                                                      \
    do {                                                                                                          \
        lanes sum[VECTORS][BLOCKS];                                                                               \
        for (int k = 0; k < VECTORS; k++) {                                                                       \
            for (int b = 0; b < BLOCKS; b++) sum[k][b] = LOAD(out + (first + k) * width + j + b * LANES);         \
        }                                                                                                         \
        for (ptrdiff_t i = 0; i < n_lines; i++) {                                                                 \
            lanes x[BLOCKS];                                                                                      \
            for (int b = 0; b < BLOCKS; b++) x[b] = LOAD(tile + i * width + j + b * LANES);                       \
            for (int k = 0; k < VECTORS; k++) {                                                                   \
                const float f = factor[k * factor_width + i];                                                     \
                for (int b = 0; b < BLOCKS; b++) sum[k][b] += x[b] * f;                                           \
            }                                                                                                     \
        }                                                                                                         \
        for (int k = 0; k < VECTORS; k++) {                                                                       \
            for (int b = 0; b < BLOCKS; b++) STORE(out + (first + k) * width + j + b * LANES, sum[k][b]);         \
        }                                                                                                         \
    } while (0)

CLONES void add_lines(const float *tile, ptrdiff_t n_lines, ptrdiff_t width, const float *factors,
                      ptrdiff_t factor_width, ptrdiff_t n_vectors, float *out) {
    for (ptrdiff_t j = 0; j < width;) {
        /* a wide step for one vector; for more, the same narrow step for all vectors of a place */
        const bool wide = n_vectors == 1 && j + 8 * LANES <= width;
        for (ptrdiff_t first = 0; first < n_vectors;) {
            const float *factor = factors + first * factor_width;
            const ptrdiff_t more = n_vectors - first;
            if (wide) {
                ADD(8, 1);
                first += 1;
            } else if (more >= 5) {
                ADD(2, 5);
                first += 5;
            } else if (more >= 3) {
                ADD(2, 3);
                first += 3;
            } else {
                ADD(2, 1);
                first += 1;
            }
        }
        j += wide ? 8 * LANES : 2 * LANES;
    }
}

CLONES void flush_lines(float *restrict from, ptrdiff_t width, ptrdiff_t length, ptrdiff_t n_vectors,
                        double *restrict to, ptrdiff_t to_width) {
    for (ptrdiff_t k = 0; k < n_vectors; k++) {
        for (ptrdiff_t j = 0; j < length; j++) to[k * to_width + j] += (double)from[k * width + j];
    }
    memset(from, 0, (size_t)(n_vectors * width) * sizeof *from);
}
