/* Which rows of a block belong to which group. Codes and weights are the caller's memory, and another thread may
   change them: each is read once, into here, checked, and only then used. */
#ifndef SEFR_GROUPS_H
#define SEFR_GROUPS_H

#include <stdatomic.h>
#include <string.h>

#include "common/table.h"

/* The compiler may not look again at memory that was copied. */
#if defined(__GNUC__)
#define READ_ONCE_DONE() __asm__ volatile("" ::: "memory")
#else
#define READ_ONCE_DONE() atomic_signal_fence(memory_order_seq_cst)
#endif

/* Copy the groups of rows first .. first + n; negative leaves a row out. False: a code is too large. */
INLINE bool read_groups(const struct grouping *by, ptrdiff_t first, ptrdiff_t n, int32_t *group) {
    int32_t highest = -1;
    memcpy(group, by->codes + first, (size_t)n * sizeof *group);
    READ_ONCE_DONE();
    for (ptrdiff_t i = 0; i < n; i++) highest = group[i] > highest ? group[i] : highest;
    return highest < by->n_groups;
}

/* read_groups, and the weights beside them; a row of weight 0 is left out. */
static inline bool read_weighted_groups(const struct grouping *by, ptrdiff_t first, ptrdiff_t n, int32_t *group,
                                        double *weight) {
    bool ok = read_groups(by, first, n, group);
    for (ptrdiff_t i = 0; i < n; i++) {
        weight[i] = by->weights ? ((const volatile double *)by->weights)[first + i] : 1.0;
        if (weight[i] == 0.0 || group[i] < 0) group[i] = -1;
    }
    return ok;
}

#endif
