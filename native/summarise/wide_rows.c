/* Summarise wide rows: all of them sorted by group first, then added eight at a time. */
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "common/threads.h"
#include "summarise/byte_strips.h"
#include "summarise/parts.h"

/* Rows of one group that one task adds up; more than one segment a group are summed pairwise at the end. */
enum { SEGMENT = 256 };

/* A task takes at least this many bytes of a row: shorter pieces are slow to read. */
enum { PIECE = 65536 };

/* Rows of bytes whose strips are added after each other, in so many columns; the rows after them are called into the
   cache meanwhile. */
enum { AT_ONCE = 16, COLUMNS = 8192, MANY_ROWS = 64 /* fewer of a segment are not faster so */ };

#ifdef SEFR_AVX2
AVX2 static void add_strips_avx2(const char *data, ptrdiff_t stride, const int32_t *rows, ptrdiff_t n, ptrdiff_t m,
                                 uint16_t *sums, uint8_t *low, uint8_t *high) {
    ptrdiff_t offset[SEGMENT + AT_ONCE];
    for (ptrdiff_t i = 0; i < n + AT_ONCE; i++) offset[i] = rows[i] * stride;
    for (ptrdiff_t first = 0; first < m; first += COLUMNS) {
        for (ptrdiff_t i = 0; i < n; i += AT_ONCE) {
            const ptrdiff_t some = smaller(AT_ONCE, n - i), *at = offset + i, end = smaller(m, first + COLUMNS);
            for (ptrdiff_t j = first; j < end; j += STRIP) {
                add_strip(2, data + j, at, some, at + AT_ONCE, NULL, sums + j, low + j, high + j);
            }
        }
    }
    for (ptrdiff_t j = 0; j < m; j += LANES) order_sums(sums + j, sums + j);
}
#endif

/* Add the whole strips of a segment of bytes, unless it has few rows; returns how many columns that were. */
static ptrdiff_t add_strips(const char *data, ptrdiff_t stride, const int32_t *rows, ptrdiff_t n, ptrdiff_t m,
                            void *sums, void *low, void *high) {
#ifdef SEFR_AVX2
    const ptrdiff_t whole = m / STRIP * STRIP;
    if (n >= MANY_ROWS && has_avx2()) return add_strips_avx2(data, stride, rows, n, whole, sums, low, high), whole;
#endif
    (void)data, (void)stride, (void)rows, (void)n, (void)m, (void)sums, (void)low, (void)high;
    return 0;
}

#define KERNEL "summarise/wide_rows_kernel.inc"
#include "common/each_dtype.inc"

typedef void add_segment_function(const char *, ptrdiff_t, const int32_t *, ptrdiff_t, ptrdiff_t, void *, void *,
                                  void *);
typedef void start_range_function(void *, void *, ptrdiff_t);
typedef void widen_range_function(const void *, const void *, ptrdiff_t, double *, double *);
typedef void widen_sums_function(const void *, ptrdiff_t, double *);
static add_segment_function *const add_segment[N_DTYPES] = OF_EACH_DTYPE(add_segment);
static start_range_function *const start_range[N_DTYPES] = OF_EACH_DTYPE(start_range);
static widen_range_function *const widen_range[N_DTYPES] = OF_EACH_DTYPE(widen_range);
static widen_sums_function *const widen_sums[N_DTYPES] = OF_EACH_DTYPE(widen_sums);
static const uint8_t sum_size[N_DTYPES] = OF_EACH_DTYPE(SUM_SIZE);

struct segment {
    int32_t group;
    int32_t begin, end; /* in `order` */
    double *sums;       /* m cells: the group's own, or a place of the segment's */
};

/* Memory of one worker. Extremes do not depend on the order, so each worker keeps its own. */
struct scratch {
    void *sums, *low, *high;
    bool used;
};

struct wide {
    const struct table *x;
    const struct grouping *by;
    const struct totals *out;
    ptrdiff_t n_folds, n_segments, n_pieces;
    int32_t *order;  /* and row 0 AT_ONCE times, as the rows after the last */
    int32_t *starts; /* of each group in `order`, and the end */
    struct segment *segments;
    double *places;
    struct scratch *scratches;
    int n_workers;
};

/* Sort the rows by group; order within a group is kept. */
static enum outcome sort_rows(struct wide *wide) {
    const struct grouping *by = wide->by;
    const ptrdiff_t n = wide->x->n;
    int32_t *group = malloc((size_t)n * sizeof *group + 1);
    wide->order = calloc((size_t)n + AT_ONCE, sizeof *wide->order);
    wide->starts = calloc((size_t)by->n_groups + 2, sizeof *wide->starts);
    if (!group || !wide->order || !wide->starts) {
        free(group);
        return NO_MEMORY;
    }
    if (!read_groups(by, 0, n, group)) {
        free(group);
        return BAD_CODE;
    }
    int32_t *next = wide->starts + 1; /* next[g] becomes the start of group g + 1 */
    for (ptrdiff_t i = 0; i < n; i++) {
        if (group[i] >= 0) next[group[i] + 1]++;
    }
    for (int32_t g = 0; g < by->n_groups; g++) next[g + 1] += next[g];
    for (ptrdiff_t i = 0; i < n; i++) {
        if (group[i] >= 0) wide->order[next[group[i]]++] = (int32_t)i;
    }
    free(group);
    return FINITE;
}

static ptrdiff_t n_segments_of(const struct wide *wide, int32_t g) {
    return (wide->starts[g + 1] - wide->starts[g] + SEGMENT - 1) / SEGMENT;
}

static enum outcome cut_segments(struct wide *wide) {
    const ptrdiff_t m = wide->x->m;
    ptrdiff_t n_places = 0;
    wide->n_segments = 0;
    for (int32_t g = 0; g < wide->by->n_groups; g++) {
        ptrdiff_t k = n_segments_of(wide, g);
        wide->n_segments += k;
        n_places += k > 1 ? k : 0;
    }
    wide->segments = malloc((size_t)wide->n_segments * sizeof *wide->segments + 1);
    wide->places = malloc((size_t)(n_places * m) * sizeof *wide->places + 1);
    if (!wide->segments || !wide->places) return NO_MEMORY;
    struct segment *segment = wide->segments;
    double *place = wide->places;
    for (int32_t g = 0; g < wide->by->n_groups; g++) {
        const int32_t start = wide->starts[g], rows = wide->starts[g + 1] - start;
        const int32_t k = (int32_t)n_segments_of(wide, g);
        for (int32_t i = 0; i < k; i++) {
            /* multiples of eight, so that only the last segment has rows left over */
            const int32_t length = ((rows + k - 1) / k + 7) / 8 * 8;
            const int32_t begin = (int32_t)smaller(rows, (ptrdiff_t)i * length);
            const int32_t end = (int32_t)smaller(rows, (ptrdiff_t)(i + 1) * length);
            *segment++ = (struct segment){g, start + begin, start + end, k > 1 ? place : wide->out->sums + g * m};
            place += k > 1 ? m : 0;
        }
    }
    return FINITE;
}

static bool allocate_scratch(struct wide *wide) {
    const size_t m = (size_t)wide->x->m, cells = (size_t)wide->n_folds * m, size = dtype_size(wide->x->type);
    wide->scratches = calloc((size_t)wide->n_workers, sizeof *wide->scratches);
    if (!wide->scratches) return false;
    for (int i = 0; i < wide->n_workers; i++) {
        struct scratch *scratch = &wide->scratches[i];
        scratch->sums = malloc(m * sizeof(double));
        scratch->low = malloc(cells * size);
        scratch->high = malloc(cells * size);
        if (!scratch->sums || !scratch->low || !scratch->high) return false;
    }
    return true;
}

static void run_segment(void *context, ptrdiff_t task, int worker) {
    struct wide *wide = context;
    const struct table *x = wide->x;
    const struct segment *segment = &wide->segments[task / wide->n_pieces];
    const ptrdiff_t piece = task % wide->n_pieces, whole = x->m / wide->n_pieces;
    const ptrdiff_t first = piece * whole, m = piece + 1 == wide->n_pieces ? x->m - first : whole;
    const ptrdiff_t size = (ptrdiff_t)dtype_size(x->type);
    const ptrdiff_t cell = segment->group / wide->by->n_classes * x->m + first;
    struct scratch *scratch = &wide->scratches[worker];
    if (!scratch->used) {
        start_range[x->type](scratch->low, scratch->high, wide->n_folds * x->m);
        scratch->used = true;
    }
    const bool narrow = sum_size[x->type] < sizeof(double);
    double *to = segment->sums + first;
    void *sums = narrow ? scratch->sums : to;
    memset(sums, 0, (size_t)m * sum_size[x->type]);
    add_segment[x->type](x->data + first * size, x->row_stride, wide->order + segment->begin,
                         segment->end - segment->begin, m, sums, (char *)scratch->low + cell * size,
                         (char *)scratch->high + cell * size);
    if (narrow) widen_sums[x->type](sums, m, to);
}

/* Sum the segments of a group pairwise, in their order, into the totals. */
static void add_segments(const struct wide *wide) {
    const ptrdiff_t m = wide->x->m;
    const struct segment *segment = wide->segments;
    for (int32_t g = 0; g < wide->by->n_groups; g++) {
        const ptrdiff_t k = n_segments_of(wide, g);
        wide->out->counts[g] = (double)(wide->starts[g + 1] - wide->starts[g]);
        if (k == 0) memset(wide->out->sums + g * m, 0, (size_t)m * sizeof(double));
        if (k > 1) {
            for (ptrdiff_t step = 1; step < k; step *= 2) {
                for (ptrdiff_t i = 0; i + step < k; i += 2 * step) {
                    double *restrict to = segment[i].sums;
                    const double *restrict from = segment[i + step].sums;
                    for (ptrdiff_t j = 0; j < m; j++) to[j] += from[j];
                }
            }
            memcpy(wide->out->sums + g * m, segment->sums, (size_t)m * sizeof(double));
        }
        segment += k;
    }
}

static void join_ranges(const struct wide *wide) {
    const ptrdiff_t m = wide->x->m, n_classes = wide->by->n_classes;
    const ptrdiff_t size = (ptrdiff_t)dtype_size(wide->x->type);
    for (ptrdiff_t i = 0; i < wide->n_folds * m; i++) wide->out->low[i] = INFINITY, wide->out->high[i] = -INFINITY;
    for (ptrdiff_t fold = 0; fold < wide->n_folds; fold++) {
        if (wide->starts[fold * n_classes] == wide->starts[(fold + 1) * n_classes]) continue;
        for (int i = 0; i < wide->n_workers; i++) {
            const struct scratch *scratch = &wide->scratches[i];
            const ptrdiff_t at = fold * m * size;
            if (!scratch->used) continue;
            widen_range[wide->x->type]((const char *)scratch->low + at, (const char *)scratch->high + at, m,
                                       wide->out->low + fold * m, wide->out->high + fold * m);
        }
    }
    sefr_settle_zeros(wide->out->low, wide->n_folds * m);
    sefr_settle_zeros(wide->out->high, wide->n_folds * m);
}

static void free_wide(struct wide *wide) {
    for (int i = 0; wide->scratches && i < wide->n_workers; i++) {
        free(wide->scratches[i].sums);
        free(wide->scratches[i].low);
        free(wide->scratches[i].high);
    }
    free(wide->scratches);
    free(wide->order);
    free(wide->starts);
    free(wide->segments);
    free(wide->places);
}

enum outcome sefr_summarise_wide(const struct table *x, const struct grouping *by, const struct totals *out,
                                 int n_threads) {
    struct wide wide = {.x = x, .by = by, .out = out, .n_folds = by->n_groups / by->n_classes};
    wide.n_pieces = larger(1, smaller(64, x->m * (ptrdiff_t)dtype_size(x->type) / PIECE));
    enum outcome outcome = sort_rows(&wide);
    if (outcome == FINITE) outcome = cut_segments(&wide);
    if (outcome == FINITE) {
        const ptrdiff_t n_tasks = wide.n_segments * wide.n_pieces;
        wide.n_workers = (int)larger(1, smaller(n_tasks, smaller(n_threads, MOST_THREADS)));
        if (allocate_scratch(&wide)) {
            sefr_run_tasks(run_segment, &wide, n_tasks, wide.n_workers);
            add_segments(&wide);
            join_ranges(&wide);
            if (!whole_numbers(x)) outcome = sefr_check_finite(out, by->n_groups, x->m);
        } else {
            outcome = NO_MEMORY;
        }
    }
    free_wide(&wide);
    return outcome;
}
