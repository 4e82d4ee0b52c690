/* Rows of one type, added one at a time. Included once per type with T, TAG, LOWEST and HIGHEST defined. */

/* Copy a row of any stride; memcpy, because it may not be aligned. */
static void JOIN(gather, TAG)(const char *data, ptrdiff_t stride, ptrdiff_t m, T *restrict row) {
    for (ptrdiff_t j = 0; j < m; j++) memcpy(&row[j], data + j * stride, sizeof(T));
}

CLONES static void JOIN(add_row, TAG)(const T *restrict x, ptrdiff_t m, double *restrict sums, T *restrict low,
                                      T *restrict high) {
    for (ptrdiff_t j = 0; j < m; j++) {
        T value = x[j];
        sums[j] += (double)value;
        low[j] = value < low[j] ? value : low[j];
        high[j] = value > high[j] ? value : high[j];
    }
}

CLONES static void JOIN(add_weighted_row, TAG)(const T *restrict x, ptrdiff_t m, double weight, double *restrict sums,
                                               T *restrict low, T *restrict high) {
    for (ptrdiff_t j = 0; j < m; j++) {
        T value = x[j];
        sums[j] += weight * (double)value;
        low[j] = value < low[j] ? value : low[j];
        high[j] = value > high[j] ? value : high[j];
    }
}

/* NaN is missing: it compares false, so it stays out of the range by itself. */
CLONES static void JOIN(add_present_row, TAG)(const T *restrict x, ptrdiff_t m, double weight, double *restrict sums,
                                              T *restrict low, T *restrict high, double *restrict present) {
    for (ptrdiff_t j = 0; j < m; j++) {
        T value = x[j];
        bool there = value == value;
        sums[j] += there ? weight * (double)value : 0.0;
        present[j] += there ? weight : 0.0;
        low[j] = value < low[j] ? value : low[j];
        high[j] = value > high[j] ? value : high[j];
    }
}

static void JOIN(add_rows, TAG)(const struct table *x, const struct grouping *by, ptrdiff_t first, ptrdiff_t last,
                                const struct part *part, struct range range, atomic_int *error) {
    const ptrdiff_t m = x->m;
    const ptrdiff_t n_folds = by->n_groups / by->n_classes;
    const bool direct = rows_are_direct(x);
    T *low = range.low, *high = range.high, *row = range.row;
    int32_t group[ROW_BLOCK];
    double weight[ROW_BLOCK];
    for (ptrdiff_t i = 0; i < n_folds * m; i++) low[i] = LOWEST, high[i] = HIGHEST;
    for (ptrdiff_t block = first; block < last; block += ROW_BLOCK) {
        ptrdiff_t n = last - block < ROW_BLOCK ? last - block : ROW_BLOCK;
        if (!read_weighted_groups(by, block, n, group, weight)) {
            atomic_store(error, BAD_CODE);
            return;
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            if (group[i] < 0) continue;
            const ptrdiff_t g = group[i] * m, fold = group[i] / by->n_classes * m;
            const char *data = x->data + (block + i) * x->row_stride;
            const T *values = (const T *)(const void *)data;
            if (!direct) JOIN(gather, TAG)(data, x->column_stride, m, row), values = row;
            part->counts[group[i]] += weight[i];
            part->seen[group[i] / by->n_classes] = 1;
            if (part->present) {
                JOIN(add_present_row, TAG)(values, m, weight[i], part->sums + g, low + fold, high + fold,
                                           part->present + g);
            } else if (by->weights) {
                JOIN(add_weighted_row, TAG)(values, m, weight[i], part->sums + g, low + fold, high + fold);
            } else {
                JOIN(add_row, TAG)(values, m, part->sums + g, low + fold, high + fold);
            }
        }
    }
    for (ptrdiff_t i = 0; i < n_folds * m; i++) {
        part->low[i] = part->seen[i / m] ? (double)low[i] : INFINITY;
        part->high[i] = part->seen[i / m] ? (double)high[i] : -INFINITY;
    }
}
