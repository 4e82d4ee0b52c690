#include "answers/parts.h"

#include <stdlib.h>
#include <string.h>

#include "answers/likelihood.h"

/* How strongly the shares are drawn to those of the last part alone: so much over the weight of the rows. */
static const double HOLD = 2.0;
static const double ENOUGH = 1e-7;

static enum outcome copy_parts(const struct held_out_parts *parts, double all, struct likelihood *like) {
    const ptrdiff_t k = parts->k;
    for (ptrdiff_t i = 0; i < parts->n; i++) {
        const int32_t code = ((const volatile int32_t *)parts->codes)[i];
        if (code < 0 || code >= k) return BAD_CODE;
        for (ptrdiff_t l = 0; l <= parts->p; l++) {
            const double *from = (l < parts->p ? parts->logits + l * parts->n * k : parts->base) + i * k;
            double *to = sefr_value_of(like, i, l);
            for (ptrdiff_t c = 0; c < k; c++) to[c * SIDE_BY_SIDE] = from[c];
        }
        sefr_value_of(like, i, parts->p + 1)[code * SIDE_BY_SIDE] = 1.0;
        like->weights[i] = parts->weights[i] / all;
    }
    return FINITE;
}

enum outcome sefr_weigh_parts(const struct held_out_parts *parts, double *shares, double *losses) {
    const ptrdiff_t p = parts->p;
    struct likelihood like = {.n = parts->n, .k = parts->k, .p = p};
    double *theta = calloc((size_t)(p + like.k), sizeof *theta), all = 0.0;
    double centre[MOST_SHARES] = {0.0}, precision[MOST_SHARES];
    for (ptrdiff_t i = 0; i < parts->n; i++) all += parts->weights[i];
    enum outcome outcome = theta && sefr_begin_likelihood(&like) ? copy_parts(parts, all, &like) : NO_MEMORY;
    if (outcome == FINITE) {
        for (ptrdiff_t i = 0; i < p; i++) {
            theta[i] = 1.0;
            losses[i] = sefr_likelihood(&like, theta, p, NULL, NULL);
            theta[i] = 0.0;
            precision[i] = 2.0 * HOLD / all;
        }
        theta[p - 1] = centre[p - 1] = 1.0;
        struct likelihood held = like;
        held.centre = centre;
        held.precision = precision;
        if (like.n && !sefr_likeliest(&held, theta, p, ENOUGH)) outcome = NO_MEMORY;
        losses[p] = sefr_likelihood(&like, theta, p, NULL, NULL);
        memcpy(shares, theta, (size_t)p * sizeof *shares);
    }
    free(theta);
    sefr_end_likelihood(&like);
    return outcome;
}
