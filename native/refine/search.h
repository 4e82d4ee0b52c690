/* The search for the minimum of a penalised loss: L-BFGS, one pass over the rows per step. How far to step is chosen on
   a sample of the rows; the pass over all rows then says what it was worth. The search reads no row: it says what it
   asks, a pass at one point or the sample's scores at some, and goes on when it is told. Plain C: nothing here knows of
   Python. */
#ifndef SEFR_SEARCH_H
#define SEFR_SEARCH_H

#include "refine/mixture.h"
#include "refine/steps.h"

/* A search ends after two passes in a row that lower the loss by less than this part of it. */
#define SEFR_STALLED 1e-4

enum { MOST_ASKED = 3 };

/* What is minimised. A point is n_scores x width weights and n_scores intercepts. Its model has the weights times
   `unit`; with `steps` (not NULL) of cells it has the tables that the weights are steps of, and no unit. */
struct objective {
    ptrdiff_t width, n_scores;
    double unit;
    const struct steps *steps;
    double ridge;                               /* on the weights */
    const double *prior_mean, *prior_precision; /* of a point, or NULL */
    const int32_t *codes;  /* of the n_rows rows of the sample: 1 is positive, or n_scores classes */
    const double *weights; /* add up to 1 */
    ptrdiff_t n_rows;
    bool mixes; /* the scores of a mixture of models are the mixture of their scores, to the last bits */
};

static inline ptrdiff_t weights_of(const struct objective *of) { return of->n_scores * of->width; }
static inline ptrdiff_t point_size(const struct objective *of) { return weights_of(of) + of->n_scores; }

/* What is asked: nothing, since no step lowers the loss or two passes in a row hardly did; a pass; scores. */
enum asked { NOTHING, PASS, SCORES };

/* One block of memory of this size, which is the caller's, holds all of a search and may be copied. */
struct search;
size_t sefr_search_size(const struct objective *of);

/* Begin at a point (n) of which loss and gradient (n) are known; a loss of INFINITY: the gradient is not that of the
   point, and the first step is not remembered. */
void sefr_begin_search(struct search *search, const struct objective *of, const double *point, double loss,
                       const double *gradient);

/* Go on with the steps that another search of points of as many values remembers; false: they have not. */
bool sefr_remember(struct search *search, const struct search *other);

/* Ask for a pass at the first of n_points <= MOST_ASKED points (n_points x n); with `start` (n_points), for the scores
   of all, of which the best mixture is tried, searched from these shares on. */
void sefr_try_points(struct search *search, const double *points, ptrdiff_t n_points, const double *start);

/* What is asked next. */
enum asked sefr_ask(struct search *search);

/* Write the models that are asked about, coef (q x n_scores x width) and intercept (q x n_scores), and return their
   number q: at most MOST_ASKED, 1 for a pass. */
ptrdiff_t sefr_models_asked(const struct search *search, const struct objective *of, double *coef, double *intercept);

/* Whether nothing was asked or told yet; whether a pass is asked for; and by how many models scores are. */
bool sefr_has_begun(const struct search *search);
bool sefr_pass_is_asked(const struct search *search);
ptrdiff_t sefr_scores_asked(const struct search *search);

/* Answer SCORES: those of the sample by the models that were asked about, n_rows x q x n_scores. A pass is asked next.
   BAD_CODE: a code is no class. */
enum outcome sefr_tell_scores(struct search *search, const struct objective *of, const double *scores);

/* Answer PASS: the loss of all rows and its derivatives by the model (n_scores x width, n_scores). Returns the lowest
   loss so far, the penalty included. `scores`: those of the sample, n_rows x n_scores, if they were found with it. */
double sefr_tell_pass(struct search *search, const struct objective *of, double loss, const double *coef,
                      const double *intercept, const double *scores);

/* The best point, its gradient (NULL: not wanted), and its loss. */
double sefr_best(const struct search *search, double *point, double *gradient);

/* Make `search` what `from` is at its best point under another ridge, `to`: no row need be read to know it there. */
void sefr_move_search(struct search *search, const struct objective *to, const struct search *from,
                      const struct objective *before);

#endif
