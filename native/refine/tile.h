/* Values of any type as the floats of a tile: see product.h. Plain C: nothing here knows of Python. */
#ifndef SEFR_TILE_H
#define SEFR_TILE_H

#include <stdbool.h>

#include "common/dtype.h"
#include "refine/product.h"

/* Which of double and float the types are calculated in: float holds the narrow ones exactly. */
static inline bool is_narrow(enum dtype type) { return type == F32 || dtype_size(type) < 4; }

/* out = from - centre for a row of m values, not checked. They are adjacent and aligned; centre is of floats for narrow
   types, else of doubles. */
void sefr_fill_plain(enum dtype type, const char *from, ptrdiff_t m, const void *centre, float *out);

/* out = (from - centre) * unit, and 0 where that is not finite. unit is of the type of centre. */
void sefr_fill_checked(enum dtype type, const char *from, ptrdiff_t m, const void *centre, const void *unit,
                       float *out);

/* The same for n values of one column. */
void sefr_fill_column(enum dtype type, const char *from, ptrdiff_t n, double centre, double scale, float *out);

/* Copy n values, `stride` bytes apart and aligned or not, to adjacent ones. */
void sefr_gather(enum dtype type, const char *from, ptrdiff_t stride, ptrdiff_t n, char *to);

#endif
