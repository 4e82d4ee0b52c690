/* What a task adds up over some of the rows, and how parts become totals: in the order of the tasks. */
#ifndef SEFR_PARTS_H
#define SEFR_PARTS_H

#include <stdatomic.h>

#include "common/table.h"
#include "common/threads.h"

/* Where a fold has no value, low is +inf and high -inf. */
struct part {
    double *sums;       /* n_groups x m */
    double *counts;     /* n_groups */
    double *low, *high; /* n_folds x m */
    double *present;    /* n_groups x m, or NULL */
};

/* A pass over a table, cut into n_parts by its shape alone, so that the result is the same for any n_threads. */
struct pass {
    const struct table *x;
    const struct grouping *by;
    bool with_present;
    ptrdiff_t n_parts, part_size;
    int32_t n_folds;
    double *memory;
    atomic_int error; /* enum outcome */
};

static inline ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
static inline ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/* At most `most` parts of at least `least_rows` rows, and fewer where they would take more memory than 1/16 of X. */
bool sefr_begin_pass(struct pass *pass, ptrdiff_t most, ptrdiff_t least_rows);
struct part sefr_get_part(const struct pass *pass, ptrdiff_t i);
ptrdiff_t sefr_part_start(const struct pass *pass, ptrdiff_t i);
enum outcome sefr_end_pass(struct pass *pass, const struct totals *out);

/* -0.0 becomes 0.0, since which of the two comes first would depend on the order of the rows. */
void sefr_settle_zeros(double *values, ptrdiff_t n);
/* Integers only: sums without weights are finite. */
static inline bool whole_numbers(const struct table *x) { return !x->columns && x->type != F32 && x->type != F64; }
enum outcome sefr_check_finite(const struct totals *out, ptrdiff_t n_groups, ptrdiff_t m);

/* Rows of at least this many bytes are read several at a time, sorted by group. */
enum { WIDE_ROW = 4096 };
/* Other rows: so many at a time. */
enum { ROW_BLOCK = 256 };

enum outcome sefr_summarise_rows(const struct table *x, const struct grouping *by, const struct totals *out,
                                 int n_threads);
enum outcome sefr_summarise_wide(const struct table *x, const struct grouping *by, const struct totals *out,
                                 int n_threads);
/* What adds up a part of rows of bytes, sorted by group a block at a time; NULL: they are not such, or too many groups.
 */
task_function *sefr_task_of_byte_rows(const struct table *x, const struct grouping *by, const struct totals *out);
/* Columns of few groups, under masks: whether they can be, and whether it is `done`: not if rows are left out. */
bool sefr_can_mask(const struct table *x, const struct grouping *by, const struct totals *out);
enum outcome sefr_summarise_masked(const struct table *x, const struct grouping *by, const struct totals *out,
                                   int n_threads, bool *done);
enum outcome sefr_summarise_columns(const struct table *x, const struct grouping *by, const struct totals *out,
                                    int n_threads);

#endif
