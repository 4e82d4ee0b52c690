/* What is fitted to rows that were held out, as the page calls it: numbers and places in memory. */
#include "answers/parts.h"
#include "answers/probabilities.h"
#include "refine/leave_one_out.h"

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

/* See struct fitted_rows and struct known_rows. */
struct learned_rows {
    ptrdiff_t n, n_scores;
    const double *scores;
    const int32_t *codes;
    const double *weights, *shares, *class_weights, *lengths;
    enum known_by by;
    ptrdiff_t m, width;
    const double *known, *known_weights, *known_shares;
};

EXPORT(leave_one_out)
int studio_leave_one_out(const struct learned_rows *rows, double ridge, double say, double *left_out) {
    const struct fitted_rows of = {rows->n,      rows->n_scores,      rows->scores,  rows->codes, rows->weights,
                                   rows->shares, rows->class_weights, rows->lengths, ridge};
    const struct known_rows from = {rows->by,           rows->m, rows->width, rows->known, rows->known_weights,
                                    rows->known_shares, say};
    return (int)sefr_leave_one_out(&of, &from, left_out);
}
