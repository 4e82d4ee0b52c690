/* Products of a tile with a few vectors, in float32.
   A tile has lines of `length` floats, `width` apart; both are multiples of PAD, and what pads a line is 0 in tiles and
   vectors alike. Everything is aligned to 64 bytes. */
#ifndef SEFR_PRODUCT_H
#define SEFR_PRODUCT_H

#include "common/dtype.h"

/* Lines are multiplied strip by strip, so that those in hand and the vectors stay in the first-level cache. */
enum { PAD = 16, STRIP_PLACES = 512 };

static inline ptrdiff_t padded(ptrdiff_t length) { return (length + PAD - 1) / PAD * PAD; }

struct tile {
    float *data;
    ptrdiff_t n_lines, length, width;
};

/* Memory that is needed next. The products call it into the cache, `per_step` bytes at each of their steps: a few lines
   among many multiplications cost no time, more at once would be waited for. */
struct ahead {
    const char *next, *end;
    ptrdiff_t per_step;
};

INLINE void look_ahead(struct ahead *ahead) {
    const char *at = ahead->next, *stop = ahead->end - at > ahead->per_step ? at + ahead->per_step : ahead->end;
    for (; at < stop; at += 64) __builtin_prefetch(at, 0, 2);
    ahead->next = stop;
}

/* out[k * out_width + line] += tile line . vector k, for k < n_vectors; vectors lie `vector_width` apart. */
void sefr_multiply_lines(const struct tile *tile, const float *vectors, ptrdiff_t vector_width, ptrdiff_t n_vectors,
                         double *out, ptrdiff_t out_width, struct ahead *ahead);

/* out[k * out_width + j] += sum over lines of factors[k * factor_width + line] * tile[line][j]. */
void sefr_add_lines(const struct tile *tile, const float *factors, ptrdiff_t factor_width, ptrdiff_t n_vectors,
                    float *out, ptrdiff_t out_width, struct ahead *ahead);

/* to[k * to_width + j] += from[k * width + j] for j < length; from becomes 0. */
void sefr_flush_lines(float *from, ptrdiff_t width, ptrdiff_t length, ptrdiff_t n_vectors, double *to,
                      ptrdiff_t to_width);

/* n floats (n * size bytes in general), aligned for the products; NULL if there is no memory. free() it. */
void *sefr_aligned(ptrdiff_t n, size_t size);

#endif
