/* Labels to codes. Plain C: nothing here knows of Python. */
#ifndef SEFR_LABELS_H
#define SEFR_LABELS_H

#include "common/table.h"

enum labels_outcome { LABELS_CODED, LABELS_SPREAD, LABELS_CHANGED, LABELS_NO_MEMORY };

/* n values: integers as two's complement, or positions. free_distinct after use. */
struct distinct {
    uint64_t *values;
    ptrdiff_t n;
};

struct items {
    const char *data;
    ptrdiff_t stride, n;
    size_t size;
};

/* codes[i] = rank of y[i] among the distinct integers, found sorted. LABELS_SPREAD: highest - lowest exceeds
   65536 + 4 n. */
enum labels_outcome sefr_code_integers(const struct column *y, ptrdiff_t n, int32_t *codes, struct distinct *found);

/* codes[i] counts distinct items in order of appearance; found: where each appeared first. */
enum labels_outcome sefr_code_bytes(const struct items *y, int32_t *codes, struct distinct *found);

void sefr_free_distinct(struct distinct *found);

#endif
