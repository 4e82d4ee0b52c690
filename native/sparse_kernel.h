/* Compressed lines of one value type and one type of INDEX. See each_dtype.h. */

static void PAIR(add_csr, TAG)(struct sparse_plan *plan, ptrdiff_t first, ptrdiff_t last,
                                const struct sparse_part *part) {
    const struct sparse *x = plan->x;
    const struct grouping *by = plan->by;
    const T *data = x->data;
    const volatile INDEX *indices = x->indices;
    for (ptrdiff_t i = first; i < last; i++) {
        int32_t group;
        double weight;
        if (!read_weighted_groups(by, i, 1, &group, &weight)) {
            atomic_store(&plan->error, BAD_CODE);
            return;
        }
        int64_t begin = read_index(x->pointer, x->pointer_type, i), end = read_index(x->pointer, x->pointer_type, i + 1);
        if (begin < 0 || end < begin || end > x->n_entries) {
            atomic_store(&plan->error, BAD_POINTER);
            return;
        }
        if (group < 0) continue;
        part->counts[group] += weight;
        part->rows[group] += 1.0;
        double *sums = part->sums + group * x->m;
        struct cell *cells = part->cells + group / by->n_classes * x->m;
        for (int64_t e = begin; e < end; e++) {
            const int64_t j = indices[e];
            if (j < 0 || j >= x->m) {
                atomic_store(&plan->error, BAD_INDEX);
                return;
            }
            const T value = data[e];
            if (part->missing && value != value) {
                part->missing[group * x->m + j].weight += weight;
                part->missing[group * x->m + j].n += 1.0;
            } else {
                sums[j] += weight * (double)value;
                cells[j].low = (double)value < cells[j].low ? (double)value : cells[j].low;
                cells[j].high = (double)value > cells[j].high ? (double)value : cells[j].high;
            }
            cells[j].n++;
        }
    }
}

static void PAIR(add_csc, TAG)(struct sparse_plan *plan, ptrdiff_t first, ptrdiff_t last,
                                const struct sparse_part *part) {
    const struct sparse *x = plan->x;
    const struct grouping *by = plan->by;
    const T *data = x->data;
    const volatile INDEX *indices = x->indices;
    for (ptrdiff_t j = first; j < last; j++) {
        int64_t begin = read_index(x->pointer, x->pointer_type, j), end = read_index(x->pointer, x->pointer_type, j + 1);
        if (begin < 0 || end < begin || end > x->n_entries) {
            atomic_store(&plan->error, BAD_POINTER);
            return;
        }
        for (int64_t e = begin; e < end; e++) {
            const int64_t i = indices[e];
            int32_t group;
            double weight;
            if (i < 0 || i >= x->n) {
                atomic_store(&plan->error, BAD_INDEX);
                return;
            }
            if (!read_weighted_groups(by, i, 1, &group, &weight)) {
                atomic_store(&plan->error, BAD_CODE);
                return;
            }
            if (group < 0) continue;
            const T value = data[e];
            struct cell *cell = &part->cells[group / by->n_classes * x->m + j];
            if (part->missing && value != value) {
                part->missing[group * x->m + j].weight += weight;
                part->missing[group * x->m + j].n += 1.0;
            } else {
                part->sums[group * x->m + j] += weight * (double)value;
                cell->low = (double)value < cell->low ? (double)value : cell->low;
                cell->high = (double)value > cell->high ? (double)value : cell->high;
            }
            cell->n++;
        }
    }
}

#include "forget_dtype.h"
