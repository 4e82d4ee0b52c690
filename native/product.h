/* Products of a tile with a few vectors, in float32.
   A tile has lines of `length` floats, `width` apart; width is a multiple of PAD, and what lies between length and
   width is 0 in tiles and vectors alike. Everything is aligned to 64 bytes. */
#ifndef SEFR_PRODUCT_H
#define SEFR_PRODUCT_H

#include <stddef.h>

enum { PAD = 16 };

static inline ptrdiff_t padded(ptrdiff_t length) { return (length + PAD - 1) / PAD * PAD; }

/* out[k * out_width + line] = tile line . vector k, for k < n_vectors; vectors lie `width` apart. */
void multiply_lines(const float *tile, ptrdiff_t n_lines, ptrdiff_t width, const float *vectors, ptrdiff_t n_vectors,
                    double *out, ptrdiff_t out_width);

/* out[k * width + j] += sum over lines of factors[k * factor_width + line] * tile[line][j]. */
void add_lines(const float *tile, ptrdiff_t n_lines, ptrdiff_t width, const float *factors, ptrdiff_t factor_width,
               ptrdiff_t n_vectors, float *out);

/* to[k * to_width + j] += from[k * width + j] for j < length; from becomes 0. */
void flush_lines(float *from, ptrdiff_t width, ptrdiff_t length, ptrdiff_t n_vectors, double *to, ptrdiff_t to_width);

/* n floats (n * size bytes in general), aligned for the products; NULL if there is no memory. free() it. */
void *aligned(ptrdiff_t n, size_t size);

#endif
