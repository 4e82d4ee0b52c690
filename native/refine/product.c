#include "refine/product.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Eight lanes fit every x86-64 with AVX2 and are split in two elsewhere; 8 sums in flight hide the latency. */
enum { LANES = 8 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef float quarter __attribute__((vector_size(4 * sizeof(float))));
typedef double four __attribute__((vector_size(4 * sizeof(double))));

/* SEFR_FUSED_BY_HAND: see loss.c. Macros, not functions: what returns a vector would have another ABI in each clone. */
#define LOAD(p) (*(const lanes *)(const void *)(p))
#define STORE(p, a) (*(lanes *)(void *)(p) = (a))
#ifdef SEFR_FUSED_BY_HAND
typedef double wide_lanes __attribute__((vector_size(LANES * sizeof(double))));
#define WIDE(a) __builtin_convertvector(a, wide_lanes)
#define ADD_PRODUCT(sum, a, b) __builtin_convertvector(WIDE(a) * WIDE(b) + WIDE(sum), lanes)
#define ADD_SCALED(sum, a, b) __builtin_convertvector(WIDE(a) * (double)(b) + WIDE(sum), lanes)
#else
#define ADD_PRODUCT(sum, a, b) ((sum) + (a) * (b))
#define ADD_SCALED ADD_PRODUCT
#endif

#if defined(__clang__)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t places __attribute__((vector_size(LANES * sizeof(int32_t))));
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
#endif

/* to[i] += sum of the lanes of s[i], for four at once: a transposition spares most of the additions. */
#define ADD_TOTALS(s, to)                                                                                          \
    do {                                                                                                           \
        const lanes ab =                                                                                           \
            SHUFFLE(s[0], s[1], 0, 8, 1, 9, 4, 12, 5, 13) + SHUFFLE(s[0], s[1], 2, 10, 3, 11, 6, 14, 7, 15);       \
        const lanes cd =                                                                                           \
            SHUFFLE(s[2], s[3], 0, 8, 1, 9, 4, 12, 5, 13) + SHUFFLE(s[2], s[3], 2, 10, 3, 11, 6, 14, 7, 15);       \
        const lanes all = SHUFFLE(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) + SHUFFLE(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15); \
        quarter half[2];                                                                                           \
        memcpy(half, &all, sizeof half);                                                                           \
        four so_far;                                                                                               \
        memcpy(&so_far, to, sizeof so_far);                                                                        \
        so_far += __builtin_convertvector(half[0] + half[1], four);                                                \
        memcpy(to, &so_far, sizeof so_far);                                                                        \
    } while (0)

void *sefr_aligned(ptrdiff_t n, size_t size) {
    const size_t bytes = ((size_t)n * size + 127) / 64 * 64;
    return aligned_alloc(64, bytes);
}

/* LINES lines by VECTORS vectors, their sums in registers. */
#define MULTIPLY(LINES, VECTORS)                                                                      \
    do {                                                                                              \
        lanes sum[VECTORS][LINES];                                                                    \
        for (int k = 0; k < VECTORS; k++) {                                                           \
            for (int i = 0; i < LINES; i++) sum[k][i] = (lanes){0.0f};                                \
        }                                                                                             \
        ptrdiff_t j = begin;                                                                          \
        do { /* tested at the end, or the sums would pass through memory for the case of no places */ \
            lanes v[VECTORS];                                                                         \
            for (int k = 0; k < VECTORS; k++) v[k] = LOAD(vector + k * vector_width + j);             \
            for (int i = 0; i < LINES; i++) {                                                         \
                const lanes x = LOAD(line + i * width + j);                                           \
                for (int k = 0; k < VECTORS; k++) sum[k][i] = ADD_PRODUCT(sum[k][i], x, v[k]);        \
            }                                                                                         \
        } while ((j += LANES) < end);                                                                 \
        for (int k = 0; k < VECTORS; k++) {                                                           \
            double *to = target + k * out_width;                                                      \
            for (int i = 0; i + 4 <= LINES; i += 4) ADD_TOTALS((sum[k] + i), to + i);                 \
            for (int i = LINES / 4 * 4; i < LINES; i++) {                                             \
                float total = 0.0f;                                                                   \
                for (int u = 0; u < LANES; u++) total += sum[k][i][u];                                \
                to[i] += (double)total;                                                               \
            }                                                                                         \
        }                                                                                             \
    } while (0)

CLONES static void multiply_strip(const struct tile *tile, ptrdiff_t begin, ptrdiff_t end, const float *vectors,
                                  ptrdiff_t vector_width, ptrdiff_t n_vectors, double *out, ptrdiff_t out_width,
                                  struct ahead *ahead) {
    const ptrdiff_t width = tile->width;
    for (ptrdiff_t i = 0; i < tile->n_lines;) {
        const float *line = tile->data + i * width;
        const ptrdiff_t left = tile->n_lines - i;
        const int step = n_vectors == 1 && left >= 8 ? 8 : left >= 4 ? 4 : 1;
        for (ptrdiff_t k = 0; k < n_vectors;) {
            const float *vector = vectors + k * vector_width;
            double *target = out + k * out_width + i;
            const ptrdiff_t more = n_vectors - k;
            look_ahead(ahead);
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

void sefr_multiply_lines(const struct tile *tile, const float *vectors, ptrdiff_t vector_width, ptrdiff_t n_vectors,
                         double *out, ptrdiff_t out_width, struct ahead *ahead) {
    for (ptrdiff_t begin = 0; begin < tile->length; begin += STRIP_PLACES) {
        const ptrdiff_t end = tile->length - begin < STRIP_PLACES ? tile->length : begin + STRIP_PLACES;
        multiply_strip(tile, begin, end, vectors, vector_width, n_vectors, out, out_width, ahead);
    }
}

/* VECTORS outputs over BLOCKS * LANES places, their sums in registers. */
#define ADD(BLOCKS, VECTORS)                                                                                  \
    do {                                                                                                      \
        lanes sum[VECTORS][BLOCKS];                                                                           \
        for (int k = 0; k < VECTORS; k++) {                                                                   \
            for (int b = 0; b < BLOCKS; b++) sum[k][b] = LOAD(out + (first + k) * out_width + j + b * LANES); \
        }                                                                                                     \
        for (ptrdiff_t i = 0; i < n_lines; i++) {                                                             \
            lanes x[BLOCKS];                                                                                  \
            for (int b = 0; b < BLOCKS; b++) x[b] = LOAD(lines + i * width + j + b * LANES);                  \
            for (int k = 0; k < VECTORS; k++) {                                                               \
                const float f = factor[k * factor_width + i];                                                 \
                for (int b = 0; b < BLOCKS; b++) sum[k][b] = ADD_SCALED(sum[k][b], x[b], f);                  \
            }                                                                                                 \
        }                                                                                                     \
        for (int k = 0; k < VECTORS; k++) {                                                                   \
            for (int b = 0; b < BLOCKS; b++) STORE(out + (first + k) * out_width + j + b * LANES, sum[k][b]); \
        }                                                                                                     \
        first += VECTORS;                                                                                     \
    } while (0)

CLONES void sefr_add_lines(const struct tile *tile, const float *factors, ptrdiff_t factor_width, ptrdiff_t n_vectors,
                           float *out, ptrdiff_t out_width, struct ahead *ahead) {
    const float *lines = tile->data;
    const ptrdiff_t n_lines = tile->n_lines, width = tile->width;
    /* the same narrow step for all vectors of a place, which go in groups of about the same size */
    const ptrdiff_t n_groups = (n_vectors + 4) / 5;
    for (ptrdiff_t j = 0; j < tile->length;) {
        const bool wide = n_vectors == 1 && j + 8 * LANES <= tile->length;
        for (ptrdiff_t first = 0, group = 0; first < n_vectors; group++) {
            const float *factor = factors + first * factor_width;
            look_ahead(ahead);
            const ptrdiff_t take = (n_vectors - first) / (n_groups - group);
            if (wide) {
                ADD(8, 1);
            } else if (take == 5) {
                ADD(2, 5);
            } else if (take == 4) {
                ADD(2, 4);
            } else if (take == 3) {
                ADD(2, 3);
            } else if (take == 2) {
                ADD(2, 2);
            } else {
                ADD(2, 1);
            }
        }
        j += wide ? 8 * LANES : 2 * LANES;
    }
}

CLONES void sefr_flush_lines(float *restrict from, ptrdiff_t width, ptrdiff_t length, ptrdiff_t n_vectors,
                             double *restrict to, ptrdiff_t to_width) {
    for (ptrdiff_t k = 0; k < n_vectors; k++) {
        for (ptrdiff_t j = 0; j < length; j++) to[k * to_width + j] += (double)from[k * width + j];
    }
    memset(from, 0, (size_t)(n_vectors * width) * sizeof *from);
}
