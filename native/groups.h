/* Which rows of a block belong to which group. Codes and weights are the caller's memory, and another thread may
   change them: each is read once, into here, checked, and only then used. */
#ifndef SEFR_GROUPS_H
#define SEFR_GROUPS_H

#include <stdatomic.h>

#include "table.h"

/* Copy the groups of rows first .. first + n; -1 leaves a row out. False: a code is too large. */
static inline bool read_groups(const struct grouping *by, ptrdiff_t first, ptrdiff_t n, int32_t *group) {
    const int32_t n_groups = by->n_groups;
    int32_t highest = -1;
    for (ptrdiff_t i = 0; i < n; i++) {
        int32_t code = ((const volatile int32_t *)by->codes)[first + i];
        group[i] = code < 0 ? -1 : code;
        highest = code > highest ? code : highest;
    }
    return highest < n_groups;
}

/* read_groups, and the weights beside them; a row of weight 0 is left out. */
static inline bool read_weighted_groups(const struct grouping *by, ptrdiff_t first, ptrdiff_t n, int32_t *group,
                                        double *weight) {
    bool ok = read_groups(by, first, n, group);
    for (ptrdiff_t i = 0; i < n; i++) {
        weight[i] = by->weights ? ((const volatile double *)by->weights)[first + i] : 1.0;
        if (weight[i] == 0.0) group[i] = -1;
    }
    return ok;
}

#endif
