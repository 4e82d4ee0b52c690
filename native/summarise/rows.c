/* Summarise rows that are narrow, weighted, incomplete or strided. */
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "summarise/parts.h"
#include "summarise/two_groups.h"

/* gcc unrolls a loop of a known length up to this before it looks for vectors, and then finds none. */
enum { SHORT_LOOP = 16 };
#define KEEP_LOOP _Pragma("GCC unroll 1")

/* Add a block of bytes in two groups; false: it is none, or a row is left out. */
static bool add_pairs(const struct pass *pass, ptrdiff_t n, const ptrdiff_t *first, ptrdiff_t width,
                      int32_t (*group)[ROW_BLOCK], void *low, void *high, const struct part *part) {
#ifdef SEFR_AVX2
    if (pass->x->type == U8 && pass->by->n_groups == 2 && pass->n_folds == 1 && width <= PAIRED_WIDTH && has_avx2())
        return add_two_groups(pass->x, n, first, group, low, high, part);
#endif
    (void)pass, (void)n, (void)first, (void)width, (void)group, (void)low, (void)high, (void)part;
    return false;
}

/* The groups of n rows of each of four streams; false: a code is too large. */
CLONES static bool read_four_groups(const struct grouping *by, const ptrdiff_t *first, ptrdiff_t n,
                                    int32_t (*group)[ROW_BLOCK]) {
    bool ok = true;
    for (int s = 0; s < 4; s++) {
        const int32_t *next = by->codes + first[s] + n; /* too short a stream for the processor to read ahead */
        for (ptrdiff_t i = 0; i < n; i += 64 / (ptrdiff_t)sizeof *next) __builtin_prefetch(next + i);
        ok &= read_groups(by, first[s], n, group[s]);
    }
    return ok;
}

#define KERNEL "summarise/rows_kernel.inc"
#include "common/each_dtype.inc"

typedef enum outcome add_rows_function(const struct pass *, ptrdiff_t, ptrdiff_t, struct part *);
static add_rows_function *const add_rows[N_DTYPES] = OF_EACH_DTYPE(add_rows);

static void run_rows(void *context, ptrdiff_t task, int worker) {
    struct pass *pass = context;
    struct part part = sefr_get_part(pass, task);
    (void)worker;
    for (ptrdiff_t i = 0; i < pass->n_folds * pass->x->m; i++) part.low[i] = INFINITY, part.high[i] = -INFINITY;
    enum outcome outcome =
        add_rows[pass->x->type](pass, sefr_part_start(pass, task), sefr_part_start(pass, task + 1), &part);
    if (outcome != FINITE) atomic_store(&pass->error, outcome);
}

enum outcome sefr_summarise_rows(const struct table *x, const struct grouping *by, const struct totals *out,
                                 int n_threads) {
    struct pass pass = {.x = x, .by = by, .with_present = out->present != NULL};
    const ptrdiff_t row_bytes = larger(1, x->m * (ptrdiff_t)dtype_size(x->type));
    if (!sefr_begin_pass(&pass, 16, larger(1024, (1 << 20) / row_bytes))) return NO_MEMORY;
    task_function *run_bytes = sefr_task_of_byte_rows(x, by, out);
    sefr_run_tasks(run_bytes ? run_bytes : run_rows, &pass, pass.n_parts, n_threads);
    return sefr_end_pass(&pass, out);
}
