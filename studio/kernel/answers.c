/* What is fitted to rows that were held out, as the page calls it: numbers and places in memory. */
#include "answers/parts.h"
#include "answers/probabilities.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* found: 1 / T, the offsets (k), and how well each of them is known (k + 1). */
EXPORT(fit_scaling) int studio_fit_scaling(const struct held_out *rows, const double *counts, double *found) {
    struct scaling scaling = {0.0, found + 1, found + 1 + rows->k};
    const int outcome = (int)sefr_fit_scaling(rows, counts, NULL, &scaling);
    found[0] = scaling.inverse;
    return outcome;
}

EXPORT(weigh_parts) int studio_weigh_parts(const struct held_out_parts *parts, double *shares, double *losses) {
    return (int)sefr_weigh_parts(parts, shares, losses);
}
