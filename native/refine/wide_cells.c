#include "refine/wide_cells.h"

#include <string.h>

#include "common/dtype.h"

/* Columns are taken two by two, and all rows of a column before the next, so that its part of the table or of the sums
   stays in the first-level cache. */
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));

/* Two columns, or one: b is NULL then. */
struct two {
    const uint8_t *a, *b;
    ptrdiff_t n;
};

#define DEFINE_WIDE(T)                                                                          \
    INLINE void score_##T(struct two cells, const float *of_a, const float *of_b, float *score, \
                          const ptrdiff_t n_vectors) {                                          \
        const ptrdiff_t width = n_vectors * (ptrdiff_t)(sizeof(T) / sizeof(float));             \
        for (ptrdiff_t i = 0; i < cells.n; i++) {                                               \
            const T *restrict a = (const T *)(of_a + cells.a[i] * width);                       \
            const T *restrict b = cells.b ? (const T *)(of_b + cells.b[i] * width) : NULL;      \
            T *restrict to = (T *)(score + i * width);                                          \
            for (ptrdiff_t v = 0; v < n_vectors; v++) {                                         \
                if (cells.b) {                                                                  \
                    to[v] += a[v] + b[v];                                                       \
                } else {                                                                        \
                    to[v] += a[v];                                                              \
                }                                                                               \
            }                                                                                   \
        }                                                                                       \
    }                                                                                           \
    INLINE void add_##T(struct two cells, const float *residual, float *of_a, float *of_b,      \
                        const ptrdiff_t n_vectors) {                                            \
        const ptrdiff_t width = n_vectors * (ptrdiff_t)(sizeof(T) / sizeof(float));             \
        for (ptrdiff_t i = 0; i < cells.n; i++) {                                               \
            const T *restrict from = (const T *)(residual + i * width);                         \
            T *restrict a = (T *)(of_a + cells.a[i] * width);                                   \
            T *restrict b = cells.b ? (T *)(of_b + cells.b[i] * width) : NULL;                  \
            for (ptrdiff_t v = 0; v < n_vectors; v++) {                                         \
                const T own = from[v];                                                          \
                a[v] += own;                                                                    \
                if (cells.b) b[v] += own;                                                       \
            }                                                                                   \
        }                                                                                       \
    }
DEFINE_WIDE(four)
DEFINE_WIDE(eight)
#undef DEFINE_WIDE

/* The usual widths with a number of vectors that the compiler knows. */
#define OF_WIDTH(name, ...)                               \
    switch (width) {                                      \
    case 4: name##_four(__VA_ARGS__, 1); break;           \
    case 8: name##_eight(__VA_ARGS__, 1); break;          \
    case 16: name##_eight(__VA_ARGS__, 2); break;         \
    case 32: name##_eight(__VA_ARGS__, 4); break;         \
    default: name##_eight(__VA_ARGS__, width / 8); break; \
    }

CLONES static void score_two(struct two cells, const float *of_a, const float *of_b, float *score,
                             ptrdiff_t width){OF_WIDTH(score, cells, of_a, of_b, score)}

CLONES static void add_two(struct two cells, const float *residual, float *of_a, float *of_b, ptrdiff_t width) {
    OF_WIDTH(add, cells, residual, of_a, of_b)
}

static struct two two_columns(const struct wide_rows *rows, ptrdiff_t j) {
    const uint8_t *cells = rows->cells + j * rows->pitch;
    return (struct two){cells, j + 1 < rows->coder->m ? cells + rows->pitch : NULL, rows->n};
}

void sefr_score_wide(const struct wide_rows *rows, const float *table, float *score) {
    const struct feature *features = rows->coder->features;
    memset(score, 0, (size_t)(rows->n * rows->width) * sizeof *score);
    for (ptrdiff_t j = 0; j < rows->coder->m; j += 2) {
        const float *of_a = table + features[j].first * rows->width, *of_b = of_a + features[j].n * rows->width;
        score_two(two_columns(rows, j), of_a, of_b, score, rows->width);
    }
}

CLONES static void add_sums(const float *restrict sum, ptrdiff_t n, double *restrict gradient) {
    for (ptrdiff_t i = 0; i < n; i++) gradient[i] += (double)sum[i];
}

void sefr_add_wide(const struct wide_rows *rows, const float *residual, float *sum, double *gradient) {
    const struct feature *features = rows->coder->features;
    for (ptrdiff_t j = 0; j < rows->coder->m; j += 2) {
        const ptrdiff_t n_a = features[j].n, n = n_a + (j + 1 < rows->coder->m ? features[j + 1].n : 0);
        memset(sum, 0, (size_t)(n * rows->width) * sizeof *sum);
        add_two(two_columns(rows, j), residual, sum, sum + n_a * rows->width, rows->width);
        add_sums(sum, n * rows->width, gradient + features[j].first * rows->width);
    }
}
