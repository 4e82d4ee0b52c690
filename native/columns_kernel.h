/* A block of one column, its rows sorted by group. Included once per type with T, TAG, LOWEST and HIGHEST defined. */

static void JOIN(gather_column, TAG)(const char *data, ptrdiff_t stride, ptrdiff_t n, T *restrict values) {
    for (ptrdiff_t i = 0; i < n; i++) memcpy(&values[i], data + i * stride, sizeof(T));
}

static void JOIN(add_column, TAG)(const struct column *column, ptrdiff_t first, const struct block *block,
                                  const struct part *part, ptrdiff_t j, ptrdiff_t m, void *scratch) {
    const char *data = column->data + first * column->stride;
    const T *x = (const T *)(const void *)data;
    if (column->stride != (ptrdiff_t)sizeof(T) || (uintptr_t)data % sizeof(T)) {
        JOIN(gather_column, TAG)(data, column->stride, block->n, scratch);
        x = scratch;
    }
    for (ptrdiff_t s = 0; s < block->n_segments; s++) {
        const struct segment *segment = &block->segments[s];
        double sum = 0.0, present = 0.0;
        T low = LOWEST, high = HIGHEST;
        if (!block->weighted && !part->present) {
            for (ptrdiff_t r = segment->begin; r < segment->end; r++) {
                T value = x[block->order[r]];
                sum += (double)value;
                low = value < low ? value : low;
                high = value > high ? value : high;
            }
        } else {
            for (ptrdiff_t r = segment->begin; r < segment->end; r++) {
                T value = x[block->order[r]];
                double weight = block->weight[block->order[r]];
                if (part->present && value != value) continue;
                sum += weight * (double)value;
                present += weight;
                low = value < low ? value : low;
                high = value > high ? value : high;
            }
        }
        part->sums[segment->group * m + j] += sum;
        if (part->present) part->present[segment->group * m + j] += present;
        double *part_low = &part->low[segment->fold * m + j], *part_high = &part->high[segment->fold * m + j];
        if ((double)low < *part_low) *part_low = (double)low;
        if ((double)high > *part_high) *part_high = (double)high;
    }
}
