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
    EASY_GROUPS = 6,   /* of bytes: masks of more cost more than turning the columns of a table, */
    MANY_COLUMNS = 32, /* if there are so many */
    AT_ONCE = 9,       /* groups of bytes whose sums stay in registers */
    SHORT_RUN = 2048,  /* rows of bytes that are added up in 16 bits */
    RUN = 1 << 14,     /* rows that are added up before their sums go to the part; with their groups in the L1 cache */
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

#define LINE(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))

AVX2_INLINE uint64_t sum_lanes(__m256i v) {
    uint64_t lanes[4];
    _mm256_storeu_si256((__m256i *)(void *)lanes, v);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

/* Four sums of 64 bits, of 16 numbers of 16 bits. */
AVX2_INLINE __m256i widen_sums(__m256i narrow) {
    const __m256i pairs = _mm256_madd_epi16(narrow, _mm256_set1_epi16(1));
    const __m256i even = _mm256_and_si256(pairs, _mm256_set1_epi64x(UINT32_MAX));
    return _mm256_add_epi64(even, _mm256_srli_epi64(pairs, 32));
}

struct bytes_of_all {
    __m256i sum, least, most;
};

/* Add up the bytes of `count` groups, from `first` on, whose sums stay in registers: a byte times its mask, -1 or 0,
   is taken from 16 bits per pair of rows. SHORT_RUN / 32 * 2 * 255 < 2^15. */
AVX2_INLINE void sum_groups(const uint8_t *x, const int8_t *group, ptrdiff_t n, int first, const int count,
                            const bool with_all, uint64_t *sums, struct bytes_of_all *all) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i sum[AT_ONCE], own[AT_ONCE];
    _Pragma("GCC unroll 9") for (int g = 0; g < count; g++) {
        sum[g] = zero, own[g] = _mm256_set1_epi8((char)-(first + g));
    }
    for (ptrdiff_t i = 0; i < n; i += 32) {
        const __m256i values = LINE(x + i), of = LINE(group + i);
        _Pragma("GCC unroll 9") for (int g = 0; g < count; g++) {
            sum[g] = _mm256_sub_epi16(sum[g], _mm256_maddubs_epi16(values, _mm256_cmpeq_epi8(of, own[g])));
        }
        if (with_all) {
            all->sum = _mm256_add_epi64(all->sum, _mm256_sad_epu8(values, zero));
            all->least = _mm256_min_epu8(all->least, values), all->most = _mm256_max_epu8(all->most, values);
        }
    }
    _Pragma("GCC unroll 9") for (int g = 0; g < count; g++) sums[first + g] += sum_lanes(widen_sums(sum[g]));
}

/* Lines of 32 bytes; returns how many bytes that were. What the other groups leave of the total is of group 0. */
AVX2 static ptrdiff_t split_bytes_avx2(const uint8_t *x, const int8_t *group, ptrdiff_t n, int n_groups, uint64_t *sums,
                                       uint8_t *low, uint8_t *high) {
    const __m256i zero = _mm256_setzero_si256();
    const ptrdiff_t whole = n / 32 * 32;
    struct bytes_of_all all = {zero, _mm256_set1_epi8(-1), zero};
    uint8_t lanes[2][32];
    for (ptrdiff_t i = 0; i < whole; i += SHORT_RUN) {
        const ptrdiff_t rows = whole - i < SHORT_RUN ? whole - i : SHORT_RUN;
#define FROM_FIRST(count) sum_groups(x + i, group + i, rows, 1, count, true, sums, &all)
        switch (n_groups - 1) {
        case 0: FROM_FIRST(0); break;
        case 1: FROM_FIRST(1); break;
        case 2: FROM_FIRST(2); break;
        case 3: FROM_FIRST(3); break;
        case 4: FROM_FIRST(4); break;
        case 5: FROM_FIRST(5); break;
        case 6: FROM_FIRST(6); break;
        case 7: FROM_FIRST(7); break;
        case 8: FROM_FIRST(8); break;
        default: FROM_FIRST(AT_ONCE);
        }
#undef FROM_FIRST
        if (n_groups > 1 + AT_ONCE) { /* groups that are not there match no row */
            sum_groups(x + i, group + i, rows, 1 + AT_ONCE, BYTE_GROUPS - 1 - AT_ONCE, false, sums, &all);
        }
    }
    sums[0] = sum_lanes(all.sum);
    for (int g = 1; g < n_groups; g++) sums[0] -= sums[g];
    _mm256_storeu_si256((__m256i *)(void *)lanes[0], all.least);
    _mm256_storeu_si256((__m256i *)(void *)lanes[1], all.most);
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
    const ptrdiff_t most = x->m < MANY_COLUMNS ? BYTE_GROUPS : EASY_GROUPS;
    bool any_floats = false;
    for (ptrdiff_t j = 0; plain && j < x->m; j++) {
        const struct column column = get_column(x, j);
        const ptrdiff_t size = (ptrdiff_t)dtype_size(column.type);
        const bool floats = (column.type == F32 || column.type == F64) && by->n_groups == FLOAT_GROUPS;
        const bool bytes = column.type == U8 && by->n_groups <= most;
        if ((!floats && !bytes) || column.stride != size || (uintptr_t)column.data % (size_t)size) return false;
        any_floats |= floats;
    }
    /* Floats, alone or beside bytes, are added in the same order on every processor; the sums of bytes are exact. */
    return plain && (any_floats || masks_bytes());
}

/* How many of n bytes are `own`: counted in a byte, 128 of them at a time. */
INLINE int32_t count_of(const int8_t *group, ptrdiff_t n, int8_t own) {
    enum { FEW = 128 };
    int32_t rows = 0;
    ptrdiff_t i = 0;
    for (; i + FEW <= n; i += FEW) {
        uint8_t few = 0;
        for (int u = 0; u < FEW; u++) few = (uint8_t)(few + (group[i + u] == own));
        rows += few;
    }
    for (; i < n; i++) rows += group[i] == own;
    return rows;
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
        for (int32_t g = 1; g < by->n_groups; g++) counts[g] += count_of(group + first, n, (int8_t)-g);
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
