/* CSR rows of one value type and one index type. Included once per pair with T, I and PAIR defined. */

/* Values and columns of a row into the bench, NaN replaced; the row's scores. False: an index is outside. */
static bool JOIN(score_csr_row, PAIR)(const struct sparse_sweep *plan, int64_t begin, int64_t end, double *score) {
    const struct sparse *x = plan->x;
    const T *data = x->data;
    const volatile I *indices = x->indices;
    const ptrdiff_t n_scores = plan->model->n_scores;
    for (int64_t e = begin; e < end; e++) {
        const int64_t j = indices[e];
        if (j < 0 || j >= x->m) return false;
        const T stored = data[e];
        const double value = stored == stored ? (double)stored : plan->fill[j];
        const double *coef = plan->coef + j * n_scores;
        for (ptrdiff_t k = 0; k < n_scores; k++) score[k] += value * coef[k];
    }
    return true;
}

/* Add the row, pull[k] times, to the slope. The indices are checked again: another thread may have changed them. */
static bool JOIN(add_csr_row, PAIR)(const struct sparse_sweep *plan, int64_t begin, int64_t end, const float *pull,
                                    double *slope) {
    const struct sparse *x = plan->x;
    const T *data = x->data;
    const volatile I *indices = x->indices;
    const ptrdiff_t n_scores = plan->model->n_scores;
    for (int64_t e = begin; e < end; e++) {
        const int64_t j = indices[e];
        if (j < 0 || j >= x->m) return false;
        const T stored = data[e];
        const double value = stored == stored ? (double)stored : plan->fill[j];
        double *to = slope + j * n_scores;
        for (ptrdiff_t k = 0; k < n_scores; k++) to[k] += value * (double)pull[k];
    }
    return true;
}

#undef T
#undef I
#undef PAIR
