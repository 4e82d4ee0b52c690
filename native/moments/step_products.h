/* Products of columns as products of steps between them. Plain C: nothing here knows of Python. */
#ifndef SEFR_STEP_PRODUCTS_H
#define SEFR_STEP_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

/* n columns; those with `begins` other than 0, and the first, begin a run. A step is the sum of the columns from its
   own to the end of the run, times its scale; there is none where the scale is 0. */
struct step_basis {
    const uint8_t *begins;
    const double *scale;
    ptrdiff_t n;
};

/* The upper triangle of the products of all steps, rows `pitch` apart, from those of q columns, packed, of which the
   first n are taken. `reached` (n) is memory to work in. */
void sefr_step_products(const struct step_basis *basis, const double *packed, ptrdiff_t q, double *reached,
                        double *products, ptrdiff_t pitch);

#endif
