/* Summarise columns: Fortran order, or one buffer per column. */
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "common/threads.h"
#include "summarise/parts.h"
#include "summarise/turned.h"

enum {
    CHUNK = 128,            /* rows that are turned at a time: they stay in the L1 cache */
    COLUMN_BLOCK = 1 << 14, /* rows of a column that are read before those of others */
    COLUMN_ROWS = 2048,     /* fewest rows of a part */
    LANES = 32,
    WIDEST = 16, /* columns of a tile */
    /* With few groups, rows that follow each other would wait for the same sum: each group then has copies of it. */
    COPIES = 4, /* a power of 2 */
    FEW_GROUPS = 16,
    FEW_ROWS = 1024, /* a multiple of COPIES */
};

/* Columns of one type that are read together; if fewer than a whole tile, the last is repeated. */
struct tile {
    int n;
    ptrdiff_t j[WIDEST];
    struct column columns[WIDEST];
    bool adjacent; /* the values of every column, and aligned */
};

/* Some rows: where each adds, and the memory to add in. Groups and folds are numbered as they appear in the block, so
   that this memory depends on the size of a block, not on the number of groups. */
struct block {
    ptrdiff_t n, n_slots, n_folds, copies;
    bool weighted;
    bool one_fold;              /* every row is in, and all in one fold */
    int32_t *group;             /* of each row, or -1 */
    double *weight;             /* of each row */
    int32_t *place, *fold;      /* of each row, places times PLACE; rows left out have the last one */
    int32_t *slots, *folds;     /* the groups and folds that appear */
    int32_t *slot_of, *fold_of; /* of each group and fold, or -1 */
    void *sums, *low, *high, *rows, *loose;
    double *totals, *present; /* a row of the tile's width for each place */
    double *wide, *here;
    double *counts; /* the weight of the rows at each place */
};

/* Turning moves bits, so there is one function a size. A loop of this form is one that compilers know to vectorise. */
#define TURN_EIGHT(name, T)                                                                                       \
    typedef T name##_bits __attribute__((may_alias));                                                             \
    typedef const name##_bits *restrict name##_column;                                                            \
    INLINE void name##_apart(name##_column a, name##_column b, name##_column c, name##_column d, name##_column e, \
                             name##_column f, name##_column g, name##_column h, ptrdiff_t n,                      \
                             name##_bits *restrict rows) {                                                        \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                       \
            rows[8 * i] = a[i], rows[8 * i + 1] = b[i], rows[8 * i + 2] = c[i], rows[8 * i + 3] = d[i];           \
            rows[8 * i + 4] = e[i], rows[8 * i + 5] = f[i], rows[8 * i + 6] = g[i], rows[8 * i + 7] = h[i];       \
        }                                                                                                         \
    }                                                                                                             \
    CLONES static void name(const void *const *x, ptrdiff_t n, void *rows) {                                      \
        name##_apart(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], n, rows);                                    \
    }
TURN_EIGHT(turn_halves, uint16_t)
TURN_EIGHT(turn_words, uint32_t)
TURN_EIGHT(turn_doubles, uint64_t)

typedef const uint8_t *restrict bytes;

INLINE void turn_bytes_apart(bytes a, bytes b, bytes c, bytes d, bytes e, bytes f, bytes g, bytes h, bytes p, bytes q,
                             bytes r, bytes s, bytes t, bytes u, bytes v, bytes w, ptrdiff_t n,
                             uint8_t *restrict rows) {
    for (ptrdiff_t i = 0; i < n; i++) {
        rows[16 * i] = a[i], rows[16 * i + 1] = b[i], rows[16 * i + 2] = c[i], rows[16 * i + 3] = d[i];
        rows[16 * i + 4] = e[i], rows[16 * i + 5] = f[i], rows[16 * i + 6] = g[i], rows[16 * i + 7] = h[i];
        rows[16 * i + 8] = p[i], rows[16 * i + 9] = q[i], rows[16 * i + 10] = r[i], rows[16 * i + 11] = s[i];
        rows[16 * i + 12] = t[i], rows[16 * i + 13] = u[i], rows[16 * i + 14] = v[i], rows[16 * i + 15] = w[i];
    }
}

CLONES static void turn_bytes(const void *const *x, ptrdiff_t n, void *rows) {
    turn_bytes_apart(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11], x[12], x[13], x[14],
                     x[15], n, rows);
}

/* Add a chunk of floats without writing its rows; false: these columns are turned in memory. */
static bool add_turned(enum dtype type, const void *const *at, const int32_t *place, ptrdiff_t n, void *sums, void *low,
                       void *high) {
#ifdef SEFR_AVX2
    if (n % 4 == 0 && has_avx2() && type == F32) return add_turned_F32(at, place, n, sums, low, high), true;
    if (n % 4 == 0 && has_avx2() && type == F64) return add_turned_F64(at, place, n, sums, low, high), true;
    if (n % 32 == 0 && has_avx2() && type == U8) return add_turned_U8(at, place, n, sums, low, high), true;
#endif
    (void)type, (void)at, (void)place, (void)n, (void)sums, (void)low, (void)high;
    return false;
}

#define KERNEL "summarise/columns_kernel.inc"
#include "common/each_dtype.inc"

typedef void add_tile_function(const struct tile *, ptrdiff_t, const struct block *, const struct part *, ptrdiff_t);
static add_tile_function *const add_tile[N_DTYPES] = OF_EACH_DTYPE(add_tile);

/* Say where n rows of the block add, from `first` on, and count them: FEW_ROWS at most, which stay in the L1 cache.
   Returns the lowest of their groups. */
CLONES static int32_t place_few_rows(const struct block *block, ptrdiff_t first, ptrdiff_t n,
                                     int32_t (*rows)[FEW_GROUPS]) {
    const int32_t *restrict group = block->group + first;
    int32_t *restrict place = block->place + first, lowest = 0;
    ptrdiff_t i = 0;
    for (i = 0; i < n; i++) lowest = group[i] < lowest ? group[i] : lowest;
    if (lowest < 0) return lowest;
    for (i = 0; i < n; i++) place[i] = (group[i] * COPIES + ((int32_t)i & (COPIES - 1))) * PLACE;
    for (i = 0; i + COPIES <= n; i += COPIES) {
        for (int c = 0; c < COPIES; c++) rows[c][group[i + c]]++;
    }
    for (; i < n; i++) rows[0][group[i]]++;
    return 0;
}

/* Rows without weights, all in one fold of few groups, which keep their numbers: the sums are those of place_rows.
   False: a row is left out, or a code is too large. */
static bool place_few_groups(struct block *block, const struct grouping *by, ptrdiff_t start, double *counts) {
    int32_t rows[COPIES][FEW_GROUPS] = {{0}};
    for (ptrdiff_t i = 0; i < block->n; i += FEW_ROWS) {
        const ptrdiff_t n = smaller(FEW_ROWS, block->n - i);
        if (!read_groups(by, start + i, n, block->group + i) || place_few_rows(block, i, n, rows) < 0) return false;
    }
    for (int32_t g = 0; g < by->n_groups; g++) {
        block->slots[g] = g;
        for (int c = 0; c < COPIES; c++) counts[g] += rows[c][g];
    }
    block->folds[0] = 0;
    block->n_slots = by->n_groups, block->n_folds = 1, block->copies = COPIES, block->one_fold = true;
    return true;
}

/* Number the groups and folds of the block, say where each row adds, and count the rows. */
static void place_rows(struct block *block, const struct grouping *by, double *counts) {
    bool all_in = true;
    block->n_slots = block->n_folds = 0;
    for (ptrdiff_t i = 0; i < block->n; i++) {
        const int32_t group = block->group[i];
        if (group < 0) {
            all_in = false;
        } else if (block->slot_of[group] < 0) {
            const int32_t fold = group / by->n_classes;
            block->slot_of[group] = (int32_t)block->n_slots;
            block->slots[block->n_slots++] = group;
            if (block->fold_of[fold] < 0) {
                block->fold_of[fold] = (int32_t)block->n_folds;
                block->folds[block->n_folds++] = fold;
            }
        }
    }
    block->one_fold = all_in && block->n_folds == 1;
    block->copies = block->n_slots <= FEW_GROUPS ? COPIES : 1;
    const int32_t copies = (int32_t)block->copies, last = (int32_t)block->n_slots * copies;
    memset(block->counts, 0, ((size_t)last + 1) * sizeof *block->counts);
    for (ptrdiff_t i = 0; i < block->n; i++) {
        const int32_t group = block->group[i];
        const int32_t place = group < 0 ? last : block->slot_of[group] * copies + ((int32_t)i & (copies - 1));
        block->place[i] = place * PLACE;
        block->counts[place] += block->weight[i];
    }
    for (int32_t place = 0; place < last; place++) counts[block->slots[place / copies]] += block->counts[place];
    for (ptrdiff_t i = 0; !block->one_fold && i < block->n; i++) {
        const int32_t group = block->group[i];
        block->fold[i] = group < 0 ? (int32_t)block->n_folds : block->fold_of[group / by->n_classes];
    }
    for (ptrdiff_t s = 0; s < block->n_slots; s++) block->slot_of[block->slots[s]] = -1;
    for (ptrdiff_t f = 0; f < block->n_folds; f++) block->fold_of[block->folds[f]] = -1;
}

/* Read where each row of the block adds. False: a code is too large. */
static bool read_places(struct block *block, const struct grouping *by, ptrdiff_t start, bool few, double *counts) {
    if (few && place_few_groups(block, by, start, counts)) return true;
    if (!read_weighted_groups(by, start, block->n, block->group, block->weight)) return false;
    place_rows(block, by, counts);
    return true;
}

/* The next `bytes` of the memory, on a cache line of their own; before there is memory, only their number. */
static void *take(char *memory, size_t *used, size_t bytes) {
    void *taken = memory ? memory + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return taken;
}

/* Lay out the arrays of a block of n rows; return the bytes that they need. */
static size_t lay_out(struct block *block, char *memory, const struct pass *pass, ptrdiff_t n) {
    const size_t rows = (size_t)n, line = WIDEST * sizeof(double);
    const size_t slots = (size_t)smaller(n, pass->by->n_groups), folds = (size_t)smaller(n, pass->n_folds);
    const size_t places = slots < FEW_GROUPS * COPIES ? FEW_GROUPS * COPIES + 1 : slots + 1;
    const size_t ranges = folds + 1 < LANES / 8 ? LANES / 8 : folds + 1;
    size_t used = 0;
    block->group = take(memory, &used, rows * sizeof *block->group);
    block->weight = take(memory, &used, rows * sizeof *block->weight);
    block->place = take(memory, &used, rows * sizeof *block->place);
    block->fold = take(memory, &used, rows * sizeof *block->fold);
    block->slots = take(memory, &used, slots * sizeof *block->slots);
    block->folds = take(memory, &used, folds * sizeof *block->folds);
    block->slot_of = take(memory, &used, (size_t)pass->by->n_groups * sizeof *block->slot_of);
    block->fold_of = take(memory, &used, (size_t)pass->n_folds * sizeof *block->fold_of);
    block->counts = take(memory, &used, places * sizeof *block->counts);
    block->sums = take(memory, &used, places * line);
    block->totals = take(memory, &used, places * line);
    block->present = pass->with_present ? take(memory, &used, places * line) : NULL;
    block->low = take(memory, &used, ranges * line);
    block->high = take(memory, &used, ranges * line);
    block->rows = take(memory, &used, CHUNK * line / 2);
    block->loose = take(memory, &used, CHUNK * line / 2);
    block->wide = take(memory, &used, CHUNK * line);
    block->here = take(memory, &used, CHUNK * line);
    return used;
}

/* Return the memory of a block of n rows, to be freed; NULL if there is none. */
static void *allocate_block(struct block *block, const struct pass *pass, ptrdiff_t n) {
    char *memory = malloc(lay_out(block, NULL, pass, n) + 63);
    if (!memory) return NULL;
    lay_out(block, memory + (64 - (uintptr_t)memory % 64) % 64, pass, n);
    for (int32_t g = 0; g < pass->by->n_groups; g++) block->slot_of[g] = -1;
    for (int32_t f = 0; f < pass->n_folds; f++) block->fold_of[f] = -1;
    return memory;
}

/* Add what was summed in a block, every group's copies together, to the part. */
static void flush(const double *totals, const struct block *block, const struct tile *tile, int width, ptrdiff_t m,
                  double *out) {
    for (ptrdiff_t s = 0; s < block->n_slots; s++) {
        const double *at = totals + s * block->copies * width;
        double *to = out + block->slots[s] * m;
        for (int u = 0; u < tile->n; u++) {
            double total = at[u];
            for (ptrdiff_t c = 1; c < block->copies; c++) total += at[c * width + u];
            to[tile->j[u]] += total;
        }
    }
}

static bool are_adjacent(const struct tile *tile) {
    const ptrdiff_t size = (ptrdiff_t)dtype_size(tile->columns[0].type);
    bool all = true;
    for (int u = 0; u < tile->n; u++) {
        all &= tile->columns[u].stride == size && (uintptr_t)tile->columns[u].data % (size_t)size == 0;
    }
    return all;
}

/* Add the columns of one type, a tile at a time. */
static void add_columns(const struct pass *pass, enum dtype type, ptrdiff_t start, const struct block *block,
                        const struct part *part) {
    const ptrdiff_t m = pass->x->m;
    const int width = dtype_size(type) == 1 ? 16 : 8;
    struct tile tile = {.n = 0};
    for (ptrdiff_t j = 0; j <= m; j++) {
        if (j < m && get_column(pass->x, j).type == type) {
            tile.j[tile.n] = j;
            tile.columns[tile.n++] = get_column(pass->x, j);
        }
        if (tile.n == width || (j == m && tile.n)) {
            for (int u = tile.n; u < width; u++) tile.columns[u] = tile.columns[tile.n - 1];
            tile.adjacent = are_adjacent(&tile);
            add_tile[type](&tile, start, block, part, m);
            flush(block->totals, block, &tile, width, m, part->sums);
            if (part->present) flush(block->present, block, &tile, width, m, part->present);
            tile.n = 0;
        }
    }
}

static void run_columns(void *context, ptrdiff_t task, int worker) {
    struct pass *pass = context;
    const struct part part = sefr_get_part(pass, task);
    const ptrdiff_t first = sefr_part_start(pass, task), last = sefr_part_start(pass, task + 1);
    const ptrdiff_t n_blocks = (last - first + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
    const ptrdiff_t size = n_blocks ? (last - first + n_blocks - 1) / n_blocks : 1;
    struct block block = {.weighted = pass->by->weights != NULL};
    const bool one_fold = pass->n_folds == 1 && pass->by->n_groups <= smaller(FEW_GROUPS, size);
    const bool few = one_fold && !block.weighted && !pass->with_present;
    bool has[N_DTYPES] = {false};
    (void)worker;
    for (ptrdiff_t i = 0; i < pass->n_folds * pass->x->m; i++) part.low[i] = INFINITY, part.high[i] = -INFINITY;
    for (ptrdiff_t j = 0; j < pass->x->m; j++) has[get_column(pass->x, j).type] = true;
    void *memory = allocate_block(&block, pass, size);
    if (!memory) {
        atomic_store(&pass->error, NO_MEMORY);
        return;
    }
    for (ptrdiff_t start = first; start < last; start += size) {
        block.n = smaller(size, last - start);
        if (!read_places(&block, pass->by, start, few, part.counts)) {
            atomic_store(&pass->error, BAD_CODE);
            break;
        }
        for (int t = 0; t < N_DTYPES; t++) {
            if (has[t]) add_columns(pass, (enum dtype)t, start, &block, &part);
        }
    }
    free(memory);
}

enum outcome sefr_summarise_columns(const struct table *x, const struct grouping *by, const struct totals *out,
                                    int n_threads) {
    struct pass pass = {.x = x, .by = by, .with_present = out->present != NULL};
    if (!sefr_begin_pass(&pass, 16, COLUMN_ROWS)) return NO_MEMORY;
    sefr_run_tasks(run_columns, &pass, pass.n_parts, n_threads);
    return sefr_end_pass(&pass, out);
}
