/* All passes of a search over rows that are few: they are kept standardised in float64, and every step is made here.
   Plain C: nothing here knows of Python. */
#ifndef SEFR_SAMPLE_H
#define SEFR_SAMPLE_H

#include "refine/search.h"

/* Make up to n_passes passes over `rows` (n_rows x width), which are the objective's sample and all rows there are.
   curve (n_passes): the lowest loss after each; *made: how many were made. */
enum outcome sefr_search_rows(struct search *search, const struct objective *of, const double *rows, ptrdiff_t n_passes,
                              double *curve, ptrdiff_t *made);

/* scores (n x k) = rows (n x m) . coef (k x m) + intercept (k); false: no memory. */
bool sefr_sample_scores(const double *rows, ptrdiff_t n, ptrdiff_t m, const double *coef, const double *intercept,
                        ptrdiff_t k, double *scores);

#endif
