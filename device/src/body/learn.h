/* Rows -> sums. Invariant kept by every call and checked by restore: S <= 255 n for each sum (n for a cell), and n within
 * SEFR_MAX_RECORDS (16-bit sums: per class; 32-bit: in all). So no sum ever overflows its type. */

uint8_t sefr_byte(int32_t value, int32_t low, int32_t high) {
    uint32_t range = (uint32_t)high - (uint32_t)low;
    if (high <= low || value <= low) return 0;
    if (value >= high) return 255;
    return (uint8_t)((255U * ((uint32_t)value - (uint32_t)low) + (range >> 1)) / range);
}

sefr_status sefr_reset(sefr_model *model) {
    sefr_sum *sum = model->sums;
    sefr_index i, cells = model->features * model->classes;
    uint8_t c;
    if (model->settings != SEFR_SETTINGS) return SEFR_BAD_SETTINGS;
    if (model->features < 1 || model->features > SEFR_MAX_FEATURES || model->classes < 2 ||
        model->classes > SEFR_MAX_CLASSES) {
        return SEFR_BAD_SHAPE;
    }
    if (model->half_life < 1 || model->half_life > SEFR_MAX_RECORDS / 2) return SEFR_BAD_SHAPE;
    KEEP_STACK();
#ifdef SEFR_KERNELS
    sefr_avr_clear(sum, (uint16_t)(cells * sizeof *sum));
#else
    while (cells--) *sum++ = 0;
#endif
    for (c = 0; c < model->classes; c++) model->counts[c] = 0;
    if (RANGES_OF(model)) {
        for (i = 0; i < model->features; i++) {
            RANGES_OF(model)[i] = 255;
            RANGES_OF(model)[model->features + i] = 0;
        }
    }
    model->solved = 0;
    model->fresh = 0;
#ifndef SEFR_NO_STATE
    model->base = 0;
#endif
    return SEFR_OK;
}

static void halve(sefr_sum *sums, sefr_index features, sefr_count old_count, sefr_count new_count) {
    sefr_index j;
    if ((old_count & 1) == 0) {
        for (j = 0; j < features; j++) sums[j] = (sefr_sum)(sums[j] >> 1);
        return;
    }
    /* S n' <= 255 * 2^8 * 2^7 < 2^32 with 16-bit sums, 255 * 2^24 * 2^23 < 2^64 with 32-bit sums. */
    for (j = 0; j < features; j++) {
#if SEFR_SUM_BITS <= 16
        sums[j] = (sefr_sum)((uint32_t)sums[j] * new_count / old_count);
#else
        sums[j] = (sefr_sum)((uint64_t)sums[j] * new_count / old_count);
#endif
    }
}

SEFR_APART void halve_class(sefr_model *model, uint8_t c) {
    sefr_count count = model->counts[c], half = (sefr_count)((count + 1U) >> 1);
    if (count < 2) return;
    halve(sums_of(model, c), model->features, count, half);
    model->counts[c] = half;
}

sefr_status sefr_decay(sefr_model *model) {
    uint8_t c;
    for (c = 0; c < model->classes; c++) halve_class(model, c);
    model->fresh = 0;
    return SEFR_OK;
}

/* Whether one more record of a class would pass the limit. */
SEFR_INLINE uint8_t is_full(const sefr_model *model, uint8_t label) {
#if SEFR_SUM_BITS <= 16
    return model->counts[label] >= (sefr_count)(model->half_life << 1);
#else
    return model->counts[label] >= 2U * model->half_life || total_count(model) == SEFR_MAX_RECORDS;
#endif
}

#if SEFR_SUM_BITS == 32
/* The first of the classes with the most records. */
static uint8_t largest_class(const sefr_model *model) {
    uint8_t c, largest = 0;
    for (c = 1; c < model->classes; c++) {
        if (model->counts[c] > model->counts[largest]) largest = c;
    }
    return largest;
}
#endif

/* Halves what is full, so that one more record of a class has room. */
SEFR_APART void make_room(sefr_model *model, uint8_t label) {
    if (model->counts[label] >= 2U * model->half_life) halve_class(model, label);
#if SEFR_SUM_BITS == 32
    if (total_count(model) == SEFR_MAX_RECORDS) halve_class(model, largest_class(model));
#endif
}

SEFR_INLINE void count_one(sefr_model *model, uint8_t label) {
    model->counts[label]++;
    model->fresh = 0;
}

static void widen(uint8_t *low, uint8_t *high, uint8_t value) {
    if (value < *low) *low = value;
    if (value > *high) *high = value;
}

/* Reading before adding saves a copy of the pointer a turn on AVR: 21 cycles from flash instead of 22. */
#define DEFINE_ADD(name, LOAD)                                                                                      \
    SEFR_APART sefr_status name(sefr_sum *sums, const uint8_t *record, const uint8_t *end) {                        \
        do {                                                                                                        \
            uint8_t value = LOAD(record++);                                                                         \
            *sums = (sefr_sum)(*sums + value);                                                                      \
            sums++;                                                                                                 \
        } while (record != end);                                                                                    \
        return SEFR_OK;                                                                                             \
    }
#ifdef SEFR_NO_SPARSE
#define IS_SPARSE(model) 0
#else
#define IS_SPARSE(model) ((model)->options & SEFR_SPARSE)
#endif
#define DEFINE_KERNEL_ADD(name, dense, skipping)                                                                    \
    SEFR_INLINE sefr_status name(const sefr_model *model, sefr_sum *sums, const uint8_t *record) {                  \
        return (sefr_status)(IS_SPARSE(model) ? skipping(sums, record, model->features)                             \
                                              : dense(sums, record, model->features));                                 \
    }

#define DEFINE_WIDEN(name, LOAD)                                                                                    \
    static void name(const sefr_model *model, const uint8_t *record) {                                              \
        uint8_t *low = RANGES_OF(model), *high = low + model->features;                                                \
        sefr_index j;                                                                                               \
        for (j = 0; j < model->features; j++) widen(low + j, high + j, LOAD(record + j));                           \
    }

/* The rare cases apart: then the common one needs no registers saved and ends in a jump to the loop. */
#define DEFINE_LEARN(learn, learn_rare, add, widen_all)                                                             \
    SEFR_APART sefr_status learn_rare(sefr_model *model, const uint8_t *record, uint8_t label) {                    \
        if (is_full(model, label)) make_room(model, label);                                                         \
        count_one(model, label);                                                                                    \
        if (RANGES_OF(model)) widen_all(model, record);                                                             \
        return add(model, sums_of(model, label), record);                                                           \
    }                                                                                                               \
    sefr_status learn(sefr_model *model, const uint8_t *record, uint8_t label) {                                    \
        if (label >= model->classes) return SEFR_BAD_LABEL;                                                         \
        if (RANGES_OF(model) || is_full(model, label)) return learn_rare(model, record, label);                     \
        count_one(model, label);                                                                                    \
        return add(model, sums_of(model, label), record);                                                           \
    }

#if SEFR_BINS
#define DEFINE_COUNT(name, LOAD)                                                                                    \
    SEFR_APART sefr_status name(sefr_sum *cells, const uint8_t *record, sefr_index n) {                             \
        do {                                                                                                        \
            cells[BIN_OF(LOAD(record++))]++;                                                                        \
            cells += SEFR_BINS;                                                                                     \
        } while (--n);                                                                                              \
        return SEFR_OK;                                                                                             \
    }
#define add_ram(model, sums, record) count_ram(sums, record, RECORD_BYTES(model))
DEFINE_COUNT(count_ram, LOAD_RAM)
#ifdef __AVR__
#define add_flash(model, sums, record) count_flash(sums, record, RECORD_BYTES(model))
DEFINE_COUNT(count_flash, LOAD_FLASH)
#endif
#elif defined(SEFR_PACKED)
#define add_ram(model, sums, record) add_packed(sums, record, (model)->features)
SEFR_APART sefr_status add_packed(sefr_sum *sums, const uint8_t *record, sefr_index features) {
    if (!ANY_ALIGNMENT && ((uintptr_t)sums & 3)) { /* the second row of an odd number of features */
        *sums = (sefr_sum)(*sums + *record);
        sums++;
        record++;
        features--;
    }
    for (; features >= 8; features -= 8, sums += 8, record += 8) {
        add_four(sums, record);
        add_four(sums + 4, record + 4);
    }
    if (features >= 4) {
        add_four(sums, record);
        features -= 4;
        sums += 4;
        record += 4;
    }
    for (; features; features--, sums++, record++) *sums = (sefr_sum)(*sums + *record);
    return SEFR_OK;
}
#elif defined(SEFR_KERNELS) && SEFR_SUM_BITS == 16
DEFINE_KERNEL_ADD(add_ram, sefr_avr_add, sefr_avr_add_sparse)
DEFINE_KERNEL_ADD(add_flash, sefr_avr_add_P, sefr_avr_add_sparse_P)
#else
#define add_ram(model, sums, record) add_loop_ram(sums, record, (record) + (model)->features)
DEFINE_ADD(add_loop_ram, LOAD_RAM)
#ifdef __AVR__
#define add_flash(model, sums, record) add_loop_flash(sums, record, (record) + (model)->features)
DEFINE_ADD(add_loop_flash, LOAD_FLASH)
#endif
#endif
DEFINE_WIDEN(widen_ram, LOAD_RAM)
DEFINE_LEARN(sefr_learn, learn_rare, add_ram, widen_ram)

sefr_status sefr_learn_each(sefr_model *model, sefr_reader next, void *context, uint8_t label) {
    sefr_sum *sums;
    sefr_index j;
    if (label >= model->classes) return SEFR_BAD_LABEL;
    if (is_full(model, label)) make_room(model, label);
    count_one(model, label);
    sums = sums_of(model, label);
    for (j = 0; j < RECORD_BYTES(model); j++) {
        uint8_t value = next(context);
#if SEFR_BINS
        sums[BIN_OF(value)]++;
        sums += SEFR_BINS;
#else
        sums[j] = (sefr_sum)(sums[j] + value);
        if (RANGES_OF(model)) widen(RANGES_OF(model) + j, RANGES_OF(model) + model->features + j, value);
#endif
    }
    return SEFR_OK;
}

#define DEFINE_BATCH(learn_batch, learn, LOAD)                                                                      \
    sefr_status learn_batch(sefr_model *model, const uint8_t *rows, const uint8_t *labels, sefr_index records) {    \
        sefr_index i;                                                                                               \
        for (i = 0; i < records; i++) {                                                                             \
            if (LOAD(labels + i) >= model->classes) return SEFR_BAD_LABEL;                                          \
        }                                                                                                           \
        for (i = 0; i < records; i++, rows += RECORD_BYTES(model)) learn(model, rows, LOAD(labels + i));                \
        return SEFR_OK;                                                                                             \
    }
DEFINE_BATCH(sefr_learn_batch, sefr_learn, LOAD_RAM)

#ifdef __AVR__
DEFINE_WIDEN(widen_flash, LOAD_FLASH)
DEFINE_LEARN(sefr_learn_P, learn_rare_flash, add_flash, widen_flash)
#if defined(SEFR_KERNELS) && SEFR_SUM_BITS == 16
#include "batch.h"
#else
DEFINE_BATCH(sefr_learn_batch_P, sefr_learn_P, LOAD_FLASH)
#endif
#endif

sefr_status sefr_forget(sefr_model *model, const uint8_t *record, uint8_t label) {
#if SEFR_BINS
    sefr_sum *sums;
#else
    sefr_sum *sums, most;
#endif
    sefr_index j;
    if (label >= model->classes) return SEFR_BAD_LABEL;
    if (model->counts[label] == 0) return SEFR_NEVER_LEARNED;
    sums = sums_of(model, label);
#if SEFR_BINS
    for (j = 0; j < model->features; j++) {
        uint8_t counted = j % SEFR_BINS == BIN_OF(record[j / SEFR_BINS]);
        if (counted ? sums[j] == 0 : sums[j] == model->counts[label]) return SEFR_NEVER_LEARNED;
    }
    for (j = 0; j < RECORD_BYTES(model); j++) sums[j * SEFR_BINS + BIN_OF(record[j])]--;
#else
    most = (sefr_sum)(255U * (sefr_sum)(model->counts[label] - 1U));
    for (j = 0; j < model->features; j++) {
        if (sums[j] < record[j] || sums[j] - record[j] > most) return SEFR_NEVER_LEARNED;
    }
    for (j = 0; j < model->features; j++) sums[j] = (sefr_sum)(sums[j] - record[j]);
#endif
    model->counts[label]--;
    model->fresh = 0;
    return SEFR_OK;
}

/* Whether the counts of both fit; the sums then do too. */
static uint8_t fits(const sefr_model *model, const sefr_model *other) {
#if SEFR_SUM_BITS <= 16
    uint8_t c;
    for (c = 0; c < model->classes; c++) {
        if (model->counts[c] + other->counts[c] > SEFR_MAX_RECORDS) return 0;
    }
    return 1;
#else
    return total_count(model) + total_count(other) <= SEFR_MAX_RECORDS;
#endif
}

sefr_status sefr_merge(sefr_model *model, const sefr_model *other) {
    sefr_index i, cells = model->features * model->classes;
    uint8_t c;
    if (model->features != other->features || model->classes != other->classes || !RANGES_OF(model) != !RANGES_OF(other)) {
        return SEFR_BAD_SHAPE;
    }
#ifndef SEFR_NO_STATE
    if (model->id != other->id) return SEFR_OTHER_MODEL;
#endif
    if (!fits(model, other)) return SEFR_FULL;
    for (i = 0; i < cells; i++) model->sums[i] = (sefr_sum)(model->sums[i] + other->sums[i]);
    for (c = 0; c < model->classes; c++) model->counts[c] = (sefr_count)(model->counts[c] + other->counts[c]);
    if (RANGES_OF(model)) {
        uint8_t *low = RANGES_OF(model), *high = low + model->features;
        const uint8_t *other_low = RANGES_OF(other), *other_high = other_low + model->features;
        for (i = 0; i < model->features; i++) {
            if (other_low[i] < low[i]) low[i] = other_low[i];
            if (other_high[i] > high[i]) high[i] = other_high[i];
        }
    }
    model->fresh = 0;
    return SEFR_OK;
}
