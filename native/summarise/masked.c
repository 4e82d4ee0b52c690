/* Summarise columns whose rows are all of one fold and of few groups: floats of two, bytes of up to 16. Values are
   added under a mask of their group, which costs less than turning columns into rows; and every column is read from
   end to end, which memory answers faster than pieces of all columns in turn. */
#include <stdlib.h>
#include <string.h>

#include "common/avx2.h"
#include "common/groups.h"
#include "common/threads.h"
#include "summarise/parts.h"

enum {
    FLOAT_GROUPS = 2,
    BYTE_GROUPS = 16,
    RUN = 1 << 14, /* rows that are added up before their sums go to the part; with their groups in the L1 cache */
    PART_ROWS = 1 << 20, /* a column is cut only if it is longer */
};

#ifdef SEFR_AVX2
AVX2_INLINE __m256d mask_of_four(const int8_t *second) {
    int32_t four;
    memcpy(&four, second, sizeof four);
    return _mm256_castsi256_pd(_mm256_cvtepi8_epi64(_mm_cvtsi32_si128(four)));
}

/* Whole lines of 16 values; returns how many values that were. */
#define SPLIT_AVX2(TAG, T, VECTOR, PER, LOAD, WIDE, SET, MIN, MAX, STORE)                                         \
    AVX2 static ptrdiff_t split_avx2_##TAG(const T *x, const int8_t *second, ptrdiff_t n, double *a, double *b,   \
                                           T *least, T *most) {                                                   \
        __m256d sum_a[4], sum_b[4];                                                                               \
        VECTOR low[16 / PER], high[16 / PER];                                                                     \
        ptrdiff_t i = 0;                                                                                          \
        for (int k = 0; k < 4; k++) sum_a[k] = sum_b[k] = _mm256_setzero_pd();                                    \
        for (int k = 0; k < 16 / PER; k++) low[k] = SET(INFINITY), high[k] = SET(-INFINITY);                      \
        for (; i + 16 <= n; i += 16) {                                                                            \
            _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++) {                                                 \
                const __m256d mask = mask_of_four(second + i + 4 * k), values = WIDE(x + i + 4 * k);              \
                sum_a[k] = _mm256_add_pd(sum_a[k], _mm256_andnot_pd(mask, values));                               \
                sum_b[k] = _mm256_add_pd(sum_b[k], _mm256_and_pd(mask, values));                                  \
            }                                                                                                     \
            _Pragma("GCC unroll 4") for (int k = 0; k < 16 / PER; k++) {                                          \
                const VECTOR values = LOAD(x + i + PER * k);                                                      \
                low[k] = MIN(values, low[k]), high[k] = MAX(values, high[k]);                                     \
            }                                                                                                     \
        }                                                                                                         \
        for (int k = 0; k < 4; k++) _mm256_storeu_pd(a + 4 * k, sum_a[k]), _mm256_storeu_pd(b + 4 * k, sum_b[k]); \
        for (int k = 0; k < 16 / PER; k++) STORE(least + PER * k, low[k]), STORE(most + PER * k, high[k]);        \
        return i;                                                                                                 \
    }
#define WIDE_F32(x) _mm256_cvtps_pd(_mm_loadu_ps(x))
SPLIT_AVX2(F32, float, __m256, 8, _mm256_loadu_ps, WIDE_F32, _mm256_set1_ps, _mm256_min_ps, _mm256_max_ps,
           _mm256_storeu_ps)
SPLIT_AVX2(F64, double, __m256d, 4, _mm256_loadu_pd, _mm256_loadu_pd, _mm256_set1_pd, _mm256_min_pd, _mm256_max_pd,
           _mm256_storeu_pd)

AVX2_INLINE uint64_t sum_lanes(__m256i v) {
    uint64_t lanes[4];
    _mm256_storeu_si256((__m256i *)(void *)lanes, v);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

#define LINE(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))

/* Add up the bytes of `count` groups, from `first` on: at most four at a time, whose sums stay in registers. */
AVX2_INLINE void sum_groups(const uint8_t *x, const int8_t *group, ptrdiff_t n, int first, const int count,
                            uint64_t *sums) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i sum[4] = {zero, zero, zero, zero}, own[4];
    for (int g = 0; g < count; g++) own[g] = _mm256_set1_epi8((char)-(first + g));
    for (ptrdiff_t i = 0; i < n; i += 32) {
        const __m256i values = LINE(x + i), of = LINE(group + i);
        _Pragma("GCC unroll 4") for (int g = 0; g < count; g++) {
            const __m256i masked = _mm256_and_si256(values, _mm256_cmpeq_epi8(of, own[g]));
            sum[g] = _mm256_add_epi64(sum[g], _mm256_sad_epu8(masked, zero));
        }
    }
    for (int g = 0; g < count; g++) sums[first + g] = sum_lanes(sum[g]);
}

/* Lines of 32 bytes; returns how many bytes that were. What the other groups leave of the total is of group 0. */
AVX2 static ptrdiff_t split_bytes_avx2(const uint8_t *x, const int8_t *group, ptrdiff_t n, int n_groups, uint64_t *sums,
                                       uint8_t *low, uint8_t *high) {
    const __m256i zero = _mm256_setzero_si256(), second = _mm256_set1_epi8(-1);
    const ptrdiff_t whole = n / 32 * 32;
    __m256i all = zero, one = zero, least = second, most = zero;
    uint8_t lanes[2][32];
    for (ptrdiff_t i = 0; i < whole; i += 32) {
        const __m256i values = LINE(x + i);
        const __m256i masked = _mm256_and_si256(values, _mm256_cmpeq_epi8(LINE(group + i), second));
        all = _mm256_add_epi64(all, _mm256_sad_epu8(values, zero));
        one = _mm256_add_epi64(one, _mm256_sad_epu8(masked, zero));
        least = _mm256_min_epu8(least, values), most = _mm256_max_epu8(most, values);
    }
    if (n_groups > 1) sums[1] = sum_lanes(one);
    int g = 2;
    for (; g + 4 <= n_groups; g += 4) sum_groups(x, group, whole, g, 4, sums);
    for (; g < n_groups; g++) sum_groups(x, group, whole, g, 1, sums);
    sums[0] = sum_lanes(all);
    for (g = 1; g < n_groups; g++) sums[0] -= sums[g];
    _mm256_storeu_si256((__m256i *)(void *)lanes[0], least);
    _mm256_storeu_si256((__m256i *)(void *)lanes[1], most);
    for (int u = 0; u < 32; u++) {
        *low = lanes[0][u] < *low ? lanes[0][u] : *low;
        *high = lanes[1][u] > *high ? lanes[1][u] : *high;
    }
    return whole;
}
#undef LINE
#endif

#define T float
#define TAG F32
#define BITS int32_t
#include "summarise/masked_kernel.inc"
#define T double
#define TAG F64
#define BITS int64_t
#include "summarise/masked_kernel.inc"

static void split_bytes(const uint8_t *x, const int8_t *group, ptrdiff_t n, int n_groups, double *sums, double *low,
                        double *high) {
    uint64_t own[BYTE_GROUPS] = {0};
    uint8_t least = UINT8_MAX, most = 0;
    ptrdiff_t i = 0;
#ifdef SEFR_AVX2
    if (has_avx2()) i = split_bytes_avx2(x, group, n, n_groups, own, &least, &most);
#endif
    for (; i < n; i++) {
        own[-group[i]] += x[i];
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    for (int g = 0; g < n_groups; g++) sums[g] += (double)own[g];
    if (n && (double)least < *low) *low = (double)least;
    if (n && (double)most > *high) *high = (double)most;
}

struct masked_pass {
    struct pass pass;
    const int8_t *group; /* of each row, times -1: of two groups, a mask of the second */
};

/* Without instructions that add up bytes, tiles are quicker. */
static bool masks_bytes(void) {
#ifdef SEFR_AVX2
    return has_avx2();
#else
    return false;
#endif
}

bool sefr_can_mask(const struct table *x, const struct grouping *by, const struct totals *out) {
    const bool plain = by->n_groups == by->n_classes && !by->weights && !out->present && x->n > 0;
    bool any_floats = false;
    for (ptrdiff_t j = 0; plain && j < x->m; j++) {
        const struct column column = get_column(x, j);
        const ptrdiff_t size = (ptrdiff_t)dtype_size(column.type);
        const bool floats = (column.type == F32 || column.type == F64) && by->n_groups == FLOAT_GROUPS;
        const bool bytes = column.type == U8 && by->n_groups <= BYTE_GROUPS;
        if ((!floats && !bytes) || column.stride != size || (uintptr_t)column.data % (size_t)size) return false;
        any_floats |= floats;
    }
    /* Floats, alone or beside bytes, are added in the same order on every processor; the sums of bytes are exact. */
    return plain && (any_floats || masks_bytes());
}

/* Copy the groups of all rows, and count those that are not of the first; false: one is left out, or too large. */
CLONES static bool read_narrow_groups(const struct table *x, const struct grouping *by, int8_t *group, double *counts) {
    enum { BLOCK = 1024 };
    int32_t copy[BLOCK];
    for (ptrdiff_t first = 0; first < x->n; first += BLOCK) {
        const ptrdiff_t n = smaller(BLOCK, x->n - first);
        int32_t any = 0;
        if (!read_groups(by, first, n, copy)) return false;
        for (ptrdiff_t i = 0; i < n; i++) {
            any |= copy[i];
            group[first + i] = (int8_t)-copy[i];
        }
        if (any < 0) return false;
        for (int32_t g = 1; g < by->n_groups; g++) {
            int32_t rows = 0;
            for (ptrdiff_t i = 0; i < n; i++) rows += copy[i] == g;
            counts[g] += rows;
        }
    }
    return true;
}

static void run_masked(void *context, ptrdiff_t task, int worker) {
    const struct masked_pass *masked = context;
    const struct pass *pass = &masked->pass;
    const ptrdiff_t m = pass->x->m, j = task % m, part_number = task / m;
    const struct part part = sefr_get_part(pass, part_number);
    const ptrdiff_t first = sefr_part_start(pass, part_number), last = sefr_part_start(pass, part_number + 1);
    const struct column column = get_column(pass->x, j);
    const int32_t n_groups = pass->by->n_groups;
    double sums[BYTE_GROUPS] = {0.0}, low = INFINITY, high = -INFINITY;
    (void)worker;
    for (ptrdiff_t start = first; start < last; start += RUN) {
        const ptrdiff_t n = smaller(RUN, last - start);
        const void *data = column.data + start * column.stride;
        const int8_t *group = masked->group + start;
        if (column.type == F32) split_F32(data, group, n, sums, &low, &high);
        if (column.type == F64) split_F64(data, group, n, sums, &low, &high);
        if (column.type == U8) split_bytes(data, group, n, n_groups, sums, &low, &high);
    }
    for (int32_t g = 0; g < n_groups; g++) part.sums[g * m + j] = sums[g];
    part.low[j] = low, part.high[j] = high;
}

enum outcome sefr_summarise_masked(const struct table *x, const struct grouping *by, const struct totals *out,
                                   int n_threads, bool *done) {
    struct masked_pass masked = {.pass = {.x = x, .by = by}};
    struct pass *pass = &masked.pass;
    int8_t *group = malloc((size_t)x->n);
    double counts[BYTE_GROUPS] = {0.0};
    *done = false;
    if (!group) return NO_MEMORY;
    if (!read_narrow_groups(x, by, group, counts)) {
        free(group);
        return FINITE;
    }
    if (!sefr_begin_pass(pass, 16, PART_ROWS)) {
        free(group);
        return NO_MEMORY;
    }
    *done = true;
    masked.group = group;
    sefr_run_tasks(run_masked, &masked, pass->n_parts * x->m, n_threads);
    counts[0] = (double)x->n;
    for (int32_t g = 1; g < by->n_groups; g++) counts[0] -= counts[g];
    memcpy(sefr_get_part(pass, 0).counts, counts, (size_t)by->n_groups * sizeof *counts);
    free(group);
    return sefr_end_pass(pass, out);
}
