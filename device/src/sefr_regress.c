/* By the definitions in sefr_regress.h. */
#include "sefr_regress.h"

typedef uint32_t square_sum;
#include "body/products.h"

enum { FRACTION = 10, RIDGE = 10 };

static uint8_t is_sound(const sefr_regression *model) {
    return model->inputs >= 1 && model->inputs <= SEFR_REGRESS_INPUTS && model->half_life >= 1 &&
           model->half_life <= SEFR_REGRESS_RECORDS / 2;
}

static int64_t wide_of(const sefr_wide *sum) { return (int64_t)sum->high * ((int64_t)1 << 32) + sum->low; }

static void set_wide(sefr_wide *sum, int64_t value) {
    sum->low = (uint32_t)value;
    sum->high = (int8_t)(value >> 32);
}

sefr_status sefr_regress_reset(sefr_regression *model) {
    uint8_t i;
    if (!is_sound(model)) return SEFR_BAD_SHAPE;
    clear_products(model->squares, model->inputs);
    for (i = 0; i < model->inputs; i++) {
        model->sums[i] = 0;
        set_wide(model->products + i, 0);
    }
    model->count = 0;
    model->total = 0;
    model->solved = 0;
    return SEFR_OK;
}

sefr_status sefr_regress_decay(sefr_regression *model) {
    uint16_t n = model->count, half = (uint16_t)((n + 1UL) >> 1);
    uint8_t i;
    if (!is_sound(model)) return SEFR_BAD_SHAPE;
    if (n < 2) return SEFR_OK;
    halve_products(model->squares, model->inputs, half, n);
    for (i = 0; i < model->inputs; i++) {
        model->sums[i] = (uint32_t)halved(model->sums[i], half, n);
        set_wide(model->products + i, floor_of(wide_of(model->products + i) * half, n));
    }
    model->total = (int32_t)floor_of((int64_t)model->total * half, n);
    model->count = half;
    return SEFR_OK;
}

#ifdef SEFR_KERNELS
#define add_record(model, record, y)                                                                                \
    sefr_avr_regress((model)->sums, (model)->squares, (model)->products, record, y, (model)->inputs)
#else
SEFR_APART void add_record(sefr_regression *model, const uint8_t *record, int16_t y) {
    uint32_t *square = model->squares;
    uint8_t i;
    for (i = 0; i < model->inputs; square += ++i) {
        uint8_t value = record[i];
        uint32_t product = (uint32_t)((int32_t)value * y);
        sefr_wide *sum = model->products + i;
        if (value == 0) continue;
        model->sums[i] += value;
        sum->low += product;
        sum->high = (int8_t)(sum->high + (sum->low < product) - (y < 0)); /* the sign, and the carry */
        add_row(square, record, i);
    }
}
#endif

sefr_status sefr_regress_learn(sefr_regression *model, const uint8_t *record, int16_t y) {
    if (model->count >= (uint16_t)(model->half_life << 1)) (void)sefr_regress_decay(model);
    model->count++;
    model->total += y;
    add_record(model, record, y);
    return SEFR_OK;
}

/* Whether a sum of n - 1 records may be left when one is taken from it. */
static uint8_t may_leave(int64_t left, int64_t lowest, int64_t highest, uint16_t n) {
    return left >= lowest * (n - 1) && left <= highest * (n - 1);
}

static uint8_t may_contain(const sefr_regression *model, const uint8_t *record, int16_t y) {
    uint16_t n = model->count;
    uint8_t i;
    if (n == 0 || !may_leave((int64_t)model->total - y, -32768, 32767, n)) return 0;
    for (i = 0; i < model->inputs; i++) {
        if (!may_leave((int64_t)model->sums[i] - record[i], 0, 255, n)) return 0;
        if (!may_leave(wide_of(model->products + i) - (int32_t)record[i] * y, -255L * 32768, 255L * 32767, n)) return 0;
    }
    return products_contain(model->squares, record, model->inputs, n);
}

sefr_status sefr_regress_forget(sefr_regression *model, const uint8_t *record, int16_t y) {
    uint8_t i;
    if (!is_sound(model)) return SEFR_BAD_SHAPE;
    if (!may_contain(model, record, y)) return SEFR_NEVER_LEARNED;
    for (i = 0; i < model->inputs; i++) {
        model->sums[i] -= record[i];
        set_wide(model->products + i, wide_of(model->products + i) - (int32_t)record[i] * y);
    }
    forget_products(model->squares, record, model->inputs);
    model->total -= y;
    model->count--;
    return SEFR_OK;
}

sefr_status sefr_regress_merge(sefr_regression *model, const sefr_regression *other) {
    uint8_t i;
    if (!is_sound(model) || model->inputs != other->inputs) return SEFR_BAD_SHAPE;
#ifndef SEFR_NO_STATE
    if (model->id != other->id) return SEFR_OTHER_MODEL;
#endif
    if (other->count > SEFR_REGRESS_RECORDS - model->count) return SEFR_FULL;
    merge_products(model->squares, other->squares, model->inputs);
    for (i = 0; i < model->inputs; i++) {
        model->sums[i] += other->sums[i];
        set_wide(model->products + i, wide_of(model->products + i) + wide_of(other->products + i));
    }
    model->total += other->total;
    model->count = (uint16_t)(model->count + other->count);
    return SEFR_OK;
}

/* The centred sums, times n, shifted. */
typedef struct {
    const sefr_regression *model;
    uint8_t shift;
} centred;

SEFR_APART int64_t cell(const void *context, uint8_t i, uint8_t j) {
    const centred *c = (const centred *)context;
    const sefr_regression *model = c->model;
    uint32_t square = i < j ? model->squares[SEFR_TRIANGLE(j) + i] : model->squares[SEFR_TRIANGLE(i) + j];
    int64_t apart = (int64_t)((uint64_t)square * model->count);
    return (apart - (int64_t)((uint64_t)model->sums[i] * model->sums[j])) >> c->shift;
}

static int64_t diagonal(const void *context, int64_t variance) {
    (void)context;
    return variance > 0 ? variance + (variance >> RIDGE) + 1 : 0;
}

static int64_t target(const void *context, uint8_t j) {
    const centred *c = (const centred *)context;
    const sefr_regression *model = c->model;
    int64_t apart = wide_of(model->products + j) * model->count - (int64_t)model->sums[j] * model->total;
    return (apart >> c->shift) * ((int64_t)1 << FRACTION);
}

sefr_status sefr_regress_solve(sefr_regression *model) {
    centred c;
    int64_t bias;
    uint8_t j, k;
    if (!is_sound(model)) return SEFR_BAD_SHAPE;
    if (model->count < 2) return SEFR_NOT_READY;
    c.model = model;
    c.shift = 0;
    c.shift = shift_of(model->inputs, cell, &c);
    gauss_seidel(model->inputs, cell, diagonal, target, &c, model->work);
    k = narrowing(model->work, model->inputs, 0);
    bias = (int64_t)model->total * (1 << FRACTION) >> k;
    for (j = 0; j < model->inputs; j++) {
        model->weights[j] = (int16_t)rounded(model->work[j], k);
        bias -= (int64_t)model->weights[j] * model->sums[j];
    }
    model->bias = (int32_t)floor_of(bias, model->count);
    model->shift = (int8_t)(FRACTION - k);
    model->solved = 1;
    return SEFR_OK;
}

sefr_status sefr_regress_answer(const sefr_regression *model, const uint8_t *record, int16_t *y) {
    int32_t sum;
    if (!model->solved) return SEFR_NOT_READY;
    sum = weighted(model->weights, record, model->inputs, model->bias);
    if (model->shift > 0) {
        sum = (sum >> (model->shift - 1)) + 1;
        sum >>= 1;
    } else if (model->shift < 0) {
        sum = sum > 16383 ? 32767 : sum < -16384 ? -32768 : 2 * sum;
    }
    *y = (int16_t)(sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum);
    return SEFR_OK;
}

void sefr_regress_hats(uint8_t value, uint8_t hats, uint8_t *inputs) {
    uint16_t place = (uint16_t)((uint16_t)value * (uint8_t)(hats - 1));
    uint8_t i, hat = (uint8_t)(place / 255U), right = (uint8_t)(place - 255U * hat);
    for (i = 0; i < hats; i++) inputs[i] = 0;
    inputs[hat] = (uint8_t)(255 - right);
    if (right) inputs[hat + 1] = right;
}

#ifndef SEFR_NO_STATE
#include "body/place.h"

typedef sefr_regression owner;
#define KIND 'L'
#define HEADER 28U
#define SHAPE_END 5

static uint32_t state_bytes(const owner *model) { return SEFR_REGRESS_STATE_BYTES(model->inputs); }
static uint32_t features_of(const owner *model) { return model->inputs; }

static uint8_t own_byte(const owner *model, uint8_t at) {
    if (at == 5) return model->solved;
    if (at < 8) return byte_of(model->half_life, (uint8_t)(at - 6));
    return byte_of(at < 24 ? model->count : (uint32_t)model->total, at);
}

/* A byte of the sums of 40 bits. */
static uint8_t wide_byte(const owner *model, uint32_t at) {
    const sefr_wide *sum = model->products + (uint8_t)at / 5U;
    uint8_t place = (uint8_t)((uint8_t)at % 5U);
    if (at >= 255) { /* beyond 51 inputs */
        sum = model->products + at / 5U;
        place = (uint8_t)(at % 5U);
    }
    return place < 4 ? byte_of(sum->low, place) : (uint8_t)sum->high;
}

static uint8_t sum_byte(const owner *model, uint32_t at) {
    uint32_t bytes = 4U * (uint32_t)model->inputs;
    if (at < bytes) return byte_of(model->sums[at >> 2], (uint8_t)at);
    at -= bytes;
    bytes = 4U * SEFR_TRIANGLE(model->inputs);
    if (at < bytes) return byte_of(model->squares[at >> 2], (uint8_t)at);
    return wide_byte(model, at - bytes);
}

static int64_t read_wide(const sefr_storage *storage, sefr_place at) {
    int8_t high = (int8_t)read_byte(storage, (sefr_place)(at + 4U));
    return (int64_t)high * ((int64_t)1 << 32) + read_word(storage, at);
}

/* Where the sums of products begin: squares, then products. */
static sefr_place squares_at(const owner *model, sefr_place begin) {
    return (sefr_place)(begin + HEADER + 4U * model->inputs);
}

static sefr_place products_at(const owner *model, sefr_place begin) {
    return (sefr_place)(squares_at(model, begin) + 4U * SEFR_TRIANGLE(model->inputs));
}

/* The invariant of learning: a checksum can be right and the contents still not be something a board learned. */
static sefr_status check_contents(const owner *model, const sefr_storage *storage, sefr_place begin) {
    uint8_t solved = read_byte(storage, (sefr_place)(begin + 5U)), j;
    uint16_t half_life = (uint16_t)read_word(storage, (sefr_place)(begin + 6U));
    uint32_t n = read_word(storage, (sefr_place)(begin + 20U)), i;
    int32_t total = (int32_t)read_word(storage, (sefr_place)(begin + 24U));
    sefr_place squares = squares_at(model, begin), products = products_at(model, begin);
    if (solved > 1 || half_life < 1 || half_life > SEFR_REGRESS_RECORDS / 2 || n > SEFR_REGRESS_RECORDS) return SEFR_BAD_STATE;
    if ((solved && n < 2) || total > 32767 * (int32_t)n || total < -32768 * (int32_t)n) return SEFR_BAD_STATE;
    for (j = 0; j < model->inputs; j++) {
        int64_t product = read_wide(storage, (sefr_place)(products + 5U * j));
        if (read_word(storage, (sefr_place)(begin + HEADER + 4U * j)) > 255U * n) return SEFR_BAD_STATE;
        if (product > (int64_t)(255L * 32767) * n || product < (int64_t)(-255L * 32768) * n) return SEFR_BAD_STATE;
    }
    for (i = 0; i < SEFR_TRIANGLE(model->inputs); i++) {
        if (read_word(storage, (sefr_place)(squares + 4U * i)) > 65025UL * n) return SEFR_BAD_STATE;
    }
    return SEFR_OK;
}

#define VERB(name) sefr_regress_##name
typedef const owner saved;
static void prepare(saved *model) { (void)model; }
#include "body/verbs.h"

sefr_status sefr_regress_restore(sefr_regression *model, const sefr_storage *storage) {
    sefr_place begin, squares, products;
    uint32_t i;
    sefr_status status;
    if (!is_sound(model)) return SEFR_BAD_SHAPE;
    status = newest_in(model, storage, &begin);
    if (status != SEFR_OK) return status;
    squares = squares_at(model, begin);
    products = products_at(model, begin);
    for (i = 0; i < SEFR_TRIANGLE(model->inputs); i++) {
        model->squares[i] = read_word(storage, (sefr_place)(squares + 4U * i));
    }
    for (i = 0; i < model->inputs; i++) {
        model->sums[i] = read_word(storage, (sefr_place)(begin + HEADER + 4U * i));
        set_wide(model->products + i, read_wide(storage, (sefr_place)(products + 5U * i)));
    }
    model->count = (uint16_t)read_word(storage, (sefr_place)(begin + 20U));
    model->total = (int32_t)read_word(storage, (sefr_place)(begin + 24U));
    model->solved = 0;
    return read_byte(storage, (sefr_place)(begin + 5U)) ? sefr_regress_solve(model) : SEFR_OK;
}
#endif
