/* By the definitions in sefr_moments.h. */
#include "sefr_moments.h"

typedef sefr_moment square_sum;
#include "body/products.h"

enum { FRACTION = 15, RIDGE = 4 };

#if SEFR_MOMENT_BITS == 32
typedef int32_t signed_moment;
#else
typedef int64_t signed_moment;
#endif

static uint8_t is_sound(const sefr_moments *model) {
    return model->features >= 1 && model->features <= SEFR_MOMENT_FEATURES && model->classes >= 2 &&
           model->classes <= SEFR_MOMENT_CLASSES && model->half_life >= 1 && model->half_life <= SEFR_MOMENT_RECORDS / 2;
}

static uint32_t *sums_of(const sefr_moments *model, uint8_t c) { return model->sums + (uint16_t)c * model->features; }

static uint32_t total_count(const sefr_moments *model) {
    uint32_t total = 0;
    uint8_t c;
    for (c = 0; c < model->classes; c++) total += model->counts[c];
    return total;
}

static uint32_t total_sum(const sefr_moments *model, uint8_t j) {
    uint32_t total = 0;
    uint8_t c;
    for (c = 0; c < model->classes; c++) total += sums_of(model, c)[j];
    return total;
}

sefr_status sefr_moments_reset(sefr_moments *model) {
    uint32_t i, cells = (uint32_t)model->classes * model->features;
    if (model->bits != SEFR_MOMENT_BITS) return SEFR_BAD_SETTINGS;
    if (!is_sound(model)) return SEFR_BAD_SHAPE;
    for (i = 0; i < cells; i++) model->sums[i] = 0;
    for (i = 0; i < model->classes; i++) model->counts[i] = 0;
    clear_products(model->squares, model->features);
    model->solved = 0;
    return SEFR_OK;
}

sefr_status sefr_moments_decay(sefr_moments *model) {
    uint32_t before = total_count(model), after;
    uint8_t c, j;
    if (!is_sound(model)) return SEFR_BAD_SHAPE;
    for (c = 0; c < model->classes; c++) {
        uint32_t n = model->counts[c], half = (n + 1) >> 1, *sums = sums_of(model, c);
        if (n < 2) continue;
        for (j = 0; j < model->features; j++) sums[j] = (uint32_t)halved(sums[j], half, n);
        model->counts[c] = half;
    }
    after = total_count(model);
    if (after != before) halve_products(model->squares, model->features, after, before);
    return SEFR_OK;
}

#if defined(SEFR_KERNELS) && SEFR_MOMENT_BITS == 32
#define add_record(sums, squares, record, features) sefr_avr_regress(sums, squares, 0, record, 0, features)
#else
SEFR_APART void add_record(uint32_t *sums, sefr_moment *square, const uint8_t *record, uint8_t features) {
    uint8_t i;
    for (i = 0; i < features; square += ++i) {
        if (record[i] == 0) continue;
        sums[i] += record[i];
        add_row(square, record, i);
    }
}
#endif

sefr_status sefr_moments_learn(sefr_moments *model, const uint8_t *record, uint8_t label) {
    if (label >= model->classes) return SEFR_BAD_LABEL;
    if (total_count(model) >= 2 * model->half_life) (void)sefr_moments_decay(model);
    model->counts[label]++;
    add_record(sums_of(model, label), model->squares, record, model->features);
    return SEFR_OK;
}

static uint8_t may_contain(const sefr_moments *model, const uint8_t *record, uint8_t label) {
    const uint32_t *sums = sums_of(model, label);
    uint32_t n = model->counts[label];
    uint8_t i;
    if (n == 0) return 0;
    for (i = 0; i < model->features; i++) {
        if (sums[i] < record[i] || sums[i] - record[i] > 255 * (n - 1)) return 0;
    }
    return products_contain(model->squares, record, model->features, total_count(model));
}

sefr_status sefr_moments_forget(sefr_moments *model, const uint8_t *record, uint8_t label) {
    uint8_t i;
    if (label >= model->classes) return SEFR_BAD_LABEL;
    if (!may_contain(model, record, label)) return SEFR_NEVER_LEARNED;
    for (i = 0; i < model->features; i++) sums_of(model, label)[i] -= record[i];
    forget_products(model->squares, record, model->features);
    model->counts[label]--;
    return SEFR_OK;
}

sefr_status sefr_moments_merge(sefr_moments *model, const sefr_moments *other) {
    uint32_t i, cells = (uint32_t)model->classes * model->features;
    if (!is_sound(model) || model->features != other->features || model->classes != other->classes) return SEFR_BAD_SHAPE;
#ifndef SEFR_NO_STATE
    if (model->id != other->id) return SEFR_OTHER_MODEL;
#endif
    if (total_count(other) > SEFR_MOMENT_RECORDS - total_count(model)) return SEFR_FULL;
    for (i = 0; i < cells; i++) model->sums[i] += other->sums[i];
    for (i = 0; i < model->classes; i++) model->counts[i] += other->counts[i];
    merge_products(model->squares, other->squares, model->features);
    return SEFR_OK;
}

/* Takes the scatter between classes and zero off the products, or puts it back: exactly, since it is the same number. */
static void move_squares(sefr_moments *model, uint8_t back) {
    sefr_moment *square = model->squares;
    uint8_t i, j, c;
    for (i = 0; i < model->features; i++) {
        for (j = 0; j <= i; j++, square++) {
            sefr_moment between = 0;
            for (c = 0; c < model->classes; c++) {
                const uint32_t *sums = sums_of(model, c);
                if (model->counts[c]) between += (sefr_moment)((uint64_t)sums[i] * sums[j] / model->counts[c]);
            }
            *square = back ? *square + between : *square - between;
        }
    }
}

/* W[i][j], shifted; what the products hold now has a sign. */
typedef struct {
    const sefr_moments *model;
    uint32_t n;
    uint8_t shift;
    uint8_t label;
} within;

static int64_t cell(const void *context, uint8_t i, uint8_t j) {
    const within *w = (const within *)context;
    if (i < j) return cell(context, j, i);
    return (int64_t)(signed_moment)w->model->squares[SEFR_TRIANGLE(i) + j] >> w->shift;
}

static int64_t diagonal(const void *context, int64_t variance) {
    const within *w = (const within *)context;
    if (variance < 0) variance = 0; /* by the rounding of halved sums */
    return variance + (variance >> RIDGE) + ((w->n >> w->shift) >> 2) + 1;
}

static int64_t target(const void *context, uint8_t j) {
    const within *w = (const within *)context;
    uint32_t own = w->model->counts[w->label];
    int64_t apart = (int64_t)((uint64_t)w->n * sums_of(w->model, w->label)[j]);
    apart -= (int64_t)((uint64_t)own * total_sum(w->model, j));
    return (floor_of(apart, own) >> w->shift) * ((int64_t)1 << FRACTION);
}

static int32_t bias_of(const sefr_moments *model, uint8_t label, uint32_t n) {
    const int16_t *weights = model->weights + (uint16_t)label * model->features;
    int64_t own = 0, all = 0;
    uint8_t j;
    for (j = 0; j < model->features; j++) {
        own += (int64_t)weights[j] * sums_of(model, label)[j];
        all += (int64_t)weights[j] * total_sum(model, j);
    }
    return (int32_t) - ((floor_of(own, model->counts[label]) + floor_of(all, n)) >> 1);
}

/* Rounds are run twice, first for the k of all classes, then for the weights: no array of classes x 32 bits is needed. */
static void solve_classes(sefr_moments *model, within *w) {
    uint8_t c, j, k = 0, pass;
    for (pass = 0; pass < 2; pass++) {
        for (c = 0; c < model->classes; c++) {
            int16_t *weights = model->weights + (uint16_t)c * model->features;
            w->label = c;
            if (model->counts[c] == 0) {
                for (j = 0; j < model->features; j++) weights[j] = 0;
                continue;
            }
            gauss_seidel(model->features, cell, diagonal, target, w, model->work);
            if (pass == 0) {
                k = narrowing(model->work, model->features, k);
                continue;
            }
            for (j = 0; j < model->features; j++) weights[j] = (int16_t)rounded(model->work[j], k);
        }
    }
}

sefr_status sefr_moments_solve(sefr_moments *model) {
    within w;
    uint8_t c, seen = 0;
    if (!is_sound(model)) return SEFR_BAD_SHAPE;
    for (c = 0; c < model->classes; c++) {
        if (model->counts[c]) seen++;
    }
    if (seen < 2) return SEFR_NOT_READY;
    w.model = model;
    w.n = total_count(model);
    move_squares(model, 0);
    w.shift = 0;
    w.shift = shift_of(model->features, cell, &w);
    solve_classes(model, &w);
    move_squares(model, 1);
    for (c = 0; c < model->classes; c++) model->bias[c] = model->counts[c] ? bias_of(model, c, w.n) : INT32_MIN;
    model->solved = 1;
    return SEFR_OK;
}

static int32_t score_of(const sefr_moments *model, uint8_t label, const uint8_t *record) {
    const int16_t *weights = model->weights + (uint16_t)label * model->features;
    return weighted(weights, record, model->features, model->bias[label]);
}

sefr_status sefr_moments_scores(const sefr_moments *model, const uint8_t *record, int32_t *scores) {
    uint8_t c;
    if (!model->solved) return SEFR_NOT_READY;
    for (c = 0; c < model->classes; c++) scores[c] = score_of(model, c, record);
    return SEFR_OK;
}

sefr_status sefr_moments_classify(const sefr_moments *model, const uint8_t *record, uint8_t *label) {
    int32_t highest, score;
    uint8_t c, best = 0;
    if (!model->solved) return SEFR_NOT_READY;
    highest = score_of(model, 0, record);
    for (c = 1; c < model->classes; c++) {
        score = score_of(model, c, record);
        if (score > highest) {
            highest = score;
            best = c;
        }
    }
    *label = best;
    return SEFR_OK;
}

#ifndef SEFR_NO_STATE
#include "body/place.h"

typedef sefr_moments owner;
#define KIND 'M'
#define HEADER 24U
#define SHAPE_END 7

static uint32_t state_bytes(const owner *model) { return SEFR_MOMENTS_STATE_BYTES(model->features, model->classes); }
static uint32_t features_of(const owner *model) { return model->features; }

static uint8_t own_byte(const owner *model, uint8_t at) {
    if (at == 5) return SEFR_MOMENT_BITS;
    if (at == 6) return model->classes;
    return at == 7 ? model->solved : byte_of(model->half_life, at);
}

static uint8_t sum_byte(const owner *model, uint32_t at) {
    uint32_t bytes = 4UL * model->classes;
    if (at < bytes) return byte_of(model->counts[at >> 2], (uint8_t)at);
    at -= bytes;
    bytes *= model->features;
    if (at < bytes) return byte_of(model->sums[at >> 2], (uint8_t)at);
    at -= bytes;
    return (uint8_t)(model->squares[at / sizeof(sefr_moment)] >> (8 * (at & (sizeof(sefr_moment) - 1))));
}

static sefr_moment read_moment(const sefr_storage *storage, sefr_place at) {
#if SEFR_MOMENT_BITS == 32
    return read_word(storage, at);
#else
    return read_word(storage, at) | (uint64_t)read_word(storage, (sefr_place)(at + 4U)) << 32;
#endif
}

/* Where the counts, the sums and the products of a state begin. */
static sefr_place sums_at(const owner *model, sefr_place begin) { return (sefr_place)(begin + HEADER + 4U * model->classes); }
static sefr_place squares_at(const owner *model, sefr_place begin) {
    return (sefr_place)(sums_at(model, begin) + 4U * (uint32_t)model->classes * model->features);
}

/* The invariant of learning: a checksum can be right and the contents still not be something a board learned. */
static sefr_status check_contents(const owner *model, const sefr_storage *storage, sefr_place begin) {
    uint32_t all = 0, i, half_life = read_word(storage, (sefr_place)(begin + 20U));
    sefr_place at = sums_at(model, begin);
    uint8_t c, j, seen = 0;
    if (half_life < 1 || half_life > SEFR_MOMENT_RECORDS / 2) return SEFR_BAD_STATE;
    for (c = 0; c < model->classes; c++) {
        uint32_t n = read_word(storage, (sefr_place)(begin + HEADER + 4U * c));
        if (n > SEFR_MOMENT_RECORDS - all) return SEFR_BAD_STATE;
        all += n;
        if (n) seen++;
        for (j = 0; j < model->features; j++, at = (sefr_place)(at + 4U)) {
            if (read_word(storage, at) > 255 * n) return SEFR_BAD_STATE;
        }
    }
    for (i = 0; i < SEFR_TRIANGLE(model->features); i++, at = (sefr_place)(at + sizeof(sefr_moment))) {
        if (read_moment(storage, at) > (sefr_moment)65025UL * all) return SEFR_BAD_STATE;
    }
    i = read_byte(storage, (sefr_place)(begin + 7U));
    return i > 1 || (i && seen < 2) ? SEFR_BAD_STATE : SEFR_OK;
}

#define VERB(name) sefr_moments_##name
typedef const owner saved;
static void prepare(saved *model) { (void)model; }
#include "body/verbs.h"

sefr_status sefr_moments_restore(sefr_moments *model, const sefr_storage *storage) {
    sefr_place begin, at;
    uint32_t i, cells = (uint32_t)model->classes * model->features;
    sefr_status status;
    if (!is_sound(model)) return SEFR_BAD_SHAPE;
    status = newest_in(model, storage, &begin);
    if (status != SEFR_OK) return status;
    for (i = 0; i < model->classes; i++) model->counts[i] = read_word(storage, (sefr_place)(begin + HEADER + 4U * i));
    at = sums_at(model, begin);
    for (i = 0; i < cells; i++, at = (sefr_place)(at + 4U)) model->sums[i] = read_word(storage, at);
    at = squares_at(model, begin);
    for (i = 0; i < SEFR_TRIANGLE(model->features); i++, at = (sefr_place)(at + sizeof(sefr_moment))) {
        model->squares[i] = read_moment(storage, at);
    }
    model->solved = 0;
    return read_byte(storage, (sefr_place)(begin + 7U)) ? sefr_moments_solve(model) : SEFR_OK;
}
#endif
