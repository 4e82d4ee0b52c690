/* By the definitions in sefr_normal.h. Invariant: S <= 255 n, Q <= 65025 n, n <= SEFR_NORMAL_RECORDS. */
#include "sefr_normal.h"

static uint8_t is_sound(const sefr_normal *normal) {
    return normal->features >= 1 && normal->features <= SEFR_MAX_FEATURES && normal->half_life >= 1 &&
           normal->half_life <= SEFR_NORMAL_RECORDS / 2;
}

sefr_status sefr_normal_reset(sefr_normal *normal) {
    sefr_index j;
    if (!is_sound(normal)) return SEFR_BAD_SHAPE;
    for (j = 0; j < normal->features; j++) {
        normal->sums[j] = 0;
        normal->squares[j] = 0;
    }
    normal->count = 0;
    normal->solved = 0;
    normal->threshold = 0;
    return SEFR_OK;
}

/* Q n' <= 65025 * 256 * 128 < 2^31. */
static void halve(sefr_normal *normal) {
    uint16_t n = normal->count, half = (uint16_t)((n + 1U) / 2U);
    sefr_index j;
    for (j = 0; j < normal->features; j++) {
        normal->sums[j] = (uint16_t)((uint32_t)normal->sums[j] * half / n);
        normal->squares[j] = normal->squares[j] * half / n;
    }
    normal->count = half;
}

sefr_status sefr_normal_learn(sefr_normal *normal, const uint8_t *record) {
    sefr_index j;
    if (!is_sound(normal)) return SEFR_BAD_SHAPE;
    if (normal->count >= 2U * normal->half_life) halve(normal);
    for (j = 0; j < normal->features; j++) {
        uint8_t value = record[j];
        normal->sums[j] = (uint16_t)(normal->sums[j] + value);
        normal->squares[j] += (uint16_t)((uint16_t)value * value);
    }
    normal->count++;
    return SEFR_OK;
}

/* The largest r with r^2 <= value. */
static uint16_t square_root(uint32_t value) {
    uint32_t root = 0, bit = 1UL << 30;
    while (bit > value) bit >>= 2;
    for (; bit; bit >>= 2) {
        if (value >= root + bit) {
            value -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (uint16_t)root;
}

sefr_status sefr_normal_solve(sefr_normal *normal) {
    uint32_t n = normal->count, least = n * n / 4;
    sefr_index j;
    if (n < 2) return SEFR_NOT_READY;
    for (j = 0; j < normal->features; j++) {
        uint32_t sum = normal->sums[j], products = n * normal->squares[j], variance = 0;
        if (products > sum * sum) variance = products - sum * sum; /* rounding of halved sums may leave less */
        if (variance < least) variance = least;
        normal->means[j] = (uint8_t)((sum + n / 2) / n);
        normal->scales[j] = (uint16_t)(variance < (1UL << 24) ? (n << 16) / square_root(variance << 8)
                                                               : (n << 12) / square_root(variance));
    }
    normal->solved = 1;
    return SEFR_OK;
}

static uint32_t score_of(const sefr_normal *normal, const uint8_t *record) {
    const uint8_t *mean = normal->means, *end = record + normal->features;
    const uint16_t *scale = normal->scales;
    uint32_t score = 0;
    do {
        uint8_t value = *record++, centre = *mean++, distance, z = 255;
        uint16_t high, low, factor = *scale++;
        distance = (uint8_t)(value > centre ? value - centre : centre - value);
        low = (uint16_t)(distance * (uint8_t)factor);
        high = (uint16_t)(distance * (uint8_t)(factor >> 8)); /* the product is 256 high + low */
        high = (uint16_t)(high + (low >> 8));
        if (high < 255) z = (uint8_t)high;
        score += (uint16_t)((uint16_t)z * z);
    } while (record != end);
    return score;
}

sefr_status sefr_normal_score(const sefr_normal *normal, const uint8_t *record, uint32_t *score) {
    if (!normal->solved) return SEFR_NOT_READY;
    *score = score_of(normal, record);
    return SEFR_OK;
}

sefr_status sefr_normal_watch(sefr_normal *normal, const uint8_t *record) {
    uint32_t score;
    if (!normal->solved) return SEFR_NOT_READY;
    score = score_of(normal, record);
    if (score > normal->threshold) normal->threshold = score;
    return SEFR_OK;
}

sefr_status sefr_normal_check(const sefr_normal *normal, const uint8_t *record) {
    if (!normal->solved) return SEFR_NOT_READY;
    return score_of(normal, record) > normal->threshold ? SEFR_UNKNOWN : SEFR_OK;
}

#ifndef SEFR_NO_STATE
#include "body/place.h"

typedef sefr_normal owner;
#define KIND 'N'
#define HEADER 28U
#define SHAPE_END 5

static uint32_t state_bytes(const owner *normal) { return SEFR_NORMAL_STATE_BYTES(normal->features); }
static uint32_t features_of(const owner *normal) { return normal->features; }

static uint8_t own_byte(const owner *normal, uint8_t at) {
    if (at == 5) return normal->solved;
    if (at < 8) return byte_of(normal->half_life, (uint8_t)(at - 6));
    return byte_of(at < 24 ? normal->threshold : normal->count, at);
}

static uint8_t sum_byte(const owner *normal, uint32_t at) {
    uint32_t sum_bytes = 2U * (uint32_t)normal->features;
    if (at < sum_bytes) return byte_of(normal->sums[at >> 1], (uint8_t)(at & 1));
    at -= sum_bytes;
    return byte_of(normal->squares[at >> 2], (uint8_t)at);
}

static uint16_t read_half(const sefr_storage *storage, sefr_place at) {
    return (uint16_t)(read_byte(storage, at) | read_byte(storage, (sefr_place)(at + 1U)) << 8);
}

/* The invariant of learning: a checksum can be right and the contents still not be something a board learned. */
static sefr_status check_contents(const owner *normal, const sefr_storage *storage, sefr_place begin) {
    uint8_t solved = read_byte(storage, (sefr_place)(begin + 5U));
    uint16_t half_life = read_half(storage, (sefr_place)(begin + 6U));
    uint32_t count = read_word(storage, (sefr_place)(begin + 24U));
    sefr_place sums = (sefr_place)(begin + HEADER), squares = (sefr_place)(sums + 2U * normal->features);
    sefr_index j;
    if (solved > 1 || half_life < 1 || half_life > SEFR_NORMAL_RECORDS / 2 || count > 2U * half_life) return SEFR_BAD_STATE;
    if (solved && count < 2) return SEFR_BAD_STATE;
    for (j = 0; j < normal->features; j++, sums = (sefr_place)(sums + 2U), squares = (sefr_place)(squares + 4U)) {
        if (read_half(storage, sums) > 255U * count || read_word(storage, squares) > 65025UL * count) return SEFR_BAD_STATE;
    }
    return SEFR_OK;
}

#define VERB(name) sefr_normal_##name
typedef owner saved;
static void prepare(saved *model) {
    if (model->solved) (void)sefr_normal_solve(model);
}
#include "body/verbs.h"

sefr_status sefr_normal_restore(sefr_normal *normal, const sefr_storage *storage) {
    sefr_place begin, sums, squares;
    sefr_index j;
    sefr_status status;
    if (!is_sound(normal)) return SEFR_BAD_SHAPE;
    status = newest_in(normal, storage, &begin);
    if (status != SEFR_OK) return status;
    sums = (sefr_place)(begin + HEADER);
    squares = (sefr_place)(sums + 2U * normal->features);
    for (j = 0; j < normal->features; j++, sums = (sefr_place)(sums + 2U), squares = (sefr_place)(squares + 4U)) {
        normal->sums[j] = read_half(storage, sums);
        normal->squares[j] = read_word(storage, squares);
    }
    normal->threshold = read_word(storage, (sefr_place)(begin + 20U));
    normal->count = (uint16_t)read_word(storage, (sefr_place)(begin + 24U));
    normal->solved = 0;
    return read_byte(storage, (sefr_place)(begin + 5U)) ? sefr_normal_solve(normal) : SEFR_OK;
}
#endif
