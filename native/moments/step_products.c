#include "moments/step_products.h"

#include <string.h>

#include "common/dtype.h"
#include "moments/products.h"

CLONES static void add_row(const double *restrict from, double *restrict to, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j++) to[j] += from[j];
}

/* The steps from cell `from` on, of a row whose products are in `reached`, times `unit`: to[0] is that of `from`. */
static void write_steps(const struct step_basis *basis, const double *reached, ptrdiff_t from, double unit,
                        double *to) {
    double sum = 0.0;
    double *at = to;
    for (ptrdiff_t j = from; j < basis->n; j++) at += basis->scale[j] != 0.0;
    for (ptrdiff_t j = basis->n - 1; j >= from; j--) {
        sum += reached[j];
        if (basis->scale[j] != 0.0) *--at = sum * basis->scale[j] * unit;
        if (basis->begins[j]) sum = 0.0;
    }
}

void sefr_step_products(const struct step_basis *basis, const double *packed, ptrdiff_t q, double *reached,
                        double *products, ptrdiff_t pitch) {
    const ptrdiff_t n = basis->n;
    ptrdiff_t place = 0;
    for (ptrdiff_t j = 0; j < n; j++) place += basis->scale[j] != 0.0;
    for (ptrdiff_t end = n; end > 0;) {
        ptrdiff_t start = end - 1; /* where the run begins whose last cell is end - 1 */
        while (start > 0 && !basis->begins[start]) start--;
        memset(reached + start, 0, (size_t)(n - start) * sizeof *reached);
        for (ptrdiff_t i = end - 1; i >= start; i--) {
            const double *row = packed + packed_row(q, i);
            add_row(row + i, reached + i, n - i);
            for (ptrdiff_t j = start; j < i; j++) reached[j] += packed[packed_row(q, j) + i];
            if (basis->scale[i] == 0.0) continue;
            place--;
            write_steps(basis, reached, i, basis->scale[i], products + place * pitch + place);
        }
        end = start;
    }
}
