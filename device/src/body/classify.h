/* Records -> answers. */

/* Products are added in short blocks of a narrow type: on AVR 24 bits hold 255 products of 127 * 255, elsewhere 32
 * bits hold 32767 of them; 32 bits hold 256 products of 32767 * 255. */
#if SEFR_WEIGHT_BITS == 8
typedef int16_t sefr_term;
#ifdef __AVR__
__extension__ typedef __int24 sefr_block;
#define BLOCK 255
#else
typedef int32_t sefr_block;
#define BLOCK 32767
#endif
#else
typedef int32_t sefr_term;
typedef int32_t sefr_block;
#define BLOCK 256
#endif

#define DEFINE_BLOCK(name, LOAD_WEIGHT, LOAD)                                                                       \
    static sefr_block name(const sefr_weight *weights, const uint8_t *record, sefr_index n) {                       \
        const uint8_t *end = record + n;                                                                            \
        sefr_block sum = 0;                                                                                         \
        do {                                                                                                        \
            sefr_term weight = LOAD_WEIGHT(weights++);                                                              \
            uint8_t value = LOAD(record++);                                                                         \
            sum += (sefr_term)(weight * value);                                                                     \
        } while (record != end);                                                                                    \
        return sum;                                                                                                 \
    }

/* Without kernels a loop of an AVR has registers of its own only in a function of its own. */
#if defined(__AVR__) && !defined(SEFR_KERNELS)
#define SEFR_LOOP SEFR_APART
#else
#define SEFR_LOOP static
#endif
#define DEFINE_DOT(name, block)                                                                                     \
    SEFR_LOOP sefr_score name(const sefr_weight *weights, const uint8_t *record, sefr_index features) {             \
        sefr_score sum = 0;                                                                                         \
        for (; features > BLOCK; features -= BLOCK, weights += BLOCK, record += BLOCK) {                            \
            sum += block(weights, record, BLOCK);                                                                   \
        }                                                                                                           \
        return sum + block(weights, record, features);                                                              \
    }

#ifdef __AVR__
#if SEFR_WEIGHT_BITS == 8
#define LOAD_FLASH_WEIGHT(address) ((int8_t)pgm_read_byte(address))
#else
#define LOAD_FLASH_WEIGHT(address) ((int16_t)pgm_read_word(address))
#endif
#if SEFR_WEIGHT_BITS == 8
#define LOAD_FLASH_BIAS(address) ((sefr_score)pgm_read_dword(address))
#else
SEFR_INLINE sefr_score LOAD_FLASH_BIAS(const sefr_score *address) {
    sefr_score bias;
    memcpy_P(&bias, address, sizeof bias);
    return bias;
}
#endif
#else
#define LOAD_FLASH_WEIGHT LOAD_RAM
#define LOAD_FLASH_BIAS LOAD_RAM
#endif

#if SEFR_BINS
/* Cells: the weight of each value's bin. `features` counts cells. */
#define DEFINE_LOOK_UP(name, LOAD_WEIGHT, LOAD)                                                                     \
    SEFR_APART sefr_score name(const sefr_weight *weights, const uint8_t *record, sefr_index features) {            \
        sefr_index n = features / SEFR_BINS;                                                                        \
        sefr_score sum = 0;                                                                                         \
        do {                                                                                                        \
            sum += (sefr_weight)LOAD_WEIGHT(weights + BIN_OF(LOAD(record++)));                                       \
            weights += SEFR_BINS;                                                                                   \
        } while (--n);                                                                                              \
        return sum;                                                                                                 \
    }
DEFINE_LOOK_UP(dot_ram, LOAD_RAM, LOAD_RAM)
DEFINE_LOOK_UP(dot_fixed, LOAD_FLASH_WEIGHT, LOAD_RAM)
#ifdef __AVR__
DEFINE_LOOK_UP(dot_flash, LOAD_RAM, LOAD_FLASH)
#endif
#elif defined(SEFR_KERNELS) && SEFR_WEIGHT_BITS == 16
/* These kernels make the 64 bits of a score, and say whether it is above 0. */
#define SEFR_SCORE_KERNELS 1
#elif defined(SEFR_KERNELS)
#define DEFINE_KERNEL_BLOCK(name, kernel)                                                                           \
    static int32_t name(const sefr_weight *weights, const uint8_t *record, sefr_index n) {                          \
        return kernel(weights, record, (uint8_t)n);                                                                 \
    }
DEFINE_KERNEL_BLOCK(block_ram, sefr_avr_dot)
DEFINE_KERNEL_BLOCK(block_fixed, sefr_avr_dot_W)
DEFINE_KERNEL_BLOCK(block_flash, sefr_avr_dot_P)
#elif defined(SEFR_SIMD)
static int32_t block_ram(const sefr_weight *weights, const uint8_t *record, sefr_index n) {
    const uint8_t *end = record + (n & ~15U), *last = record + n;
    int32_t sum = 0;
    for (; record != end; weights += 16, record += 16) {
        sum = multiply_four(sum, weights, record);
        sum = multiply_four(sum, weights + 4, record + 4);
        sum = multiply_four(sum, weights + 8, record + 8);
        sum = multiply_four(sum, weights + 12, record + 12);
    }
    for (; last - record >= 4; weights += 4, record += 4) sum = multiply_four(sum, weights, record);
    for (; record != last; weights++, record++) sum += *weights * *record;
    return sum;
}
#define block_fixed block_ram
#else
DEFINE_BLOCK(block_ram, LOAD_RAM, LOAD_RAM)
DEFINE_BLOCK(block_fixed, LOAD_FLASH_WEIGHT, LOAD_RAM)
#ifdef __AVR__
DEFINE_BLOCK(block_flash, LOAD_RAM, LOAD_FLASH)
#endif
#endif
#if !SEFR_BINS && !defined(SEFR_SCORE_KERNELS)
DEFINE_DOT(dot_ram, block_ram)
DEFINE_DOT(dot_fixed, block_fixed)
#ifdef __AVR__
DEFINE_DOT(dot_flash, block_flash)
#endif
#endif

/* The score of a row of weights. */
#ifdef SEFR_SCORE_KERNELS
#define score_ram sefr_avr_score16
#define score_fixed sefr_avr_score16_W
#define score_flash sefr_avr_score16_P
#else
#define DEFINE_SCORE(name, dot, LOAD_BIAS)                                                                          \
    SEFR_INLINE void name(const sefr_weight *weights, const uint8_t *record, sefr_index features,                   \
                          const sefr_score *bias, sefr_score *score) {                                              \
        *score = dot(weights, record, features) + LOAD_BIAS(bias);                                                  \
    }
DEFINE_SCORE(score_ram, dot_ram, LOAD_RAM)
DEFINE_SCORE(score_fixed, dot_fixed, LOAD_FLASH_BIAS)
#ifdef __AVR__
DEFINE_SCORE(score_flash, dot_flash, LOAD_RAM)
#endif
#endif

/* Without stored weights: each is computed from the sums. `next` gives the values where there is no record. */
#ifndef SEFR_NO_LEAN
static sefr_score score_lean(const sefr_model *model, uint8_t row, const uint8_t *record, sefr_reader next,
                             void *context) {
    sefr_score sum = model->bias[row];
    sefr_index j;
    sides s;
    choose_sides(&s, model, row);
    if (s.n_positive == 0) return sum;
    for (j = 0; j < model->features; j++) {
        uint8_t value = record ? record[j] : next(context);
        if (value) sum += (sefr_score)weigh(&s, j, s.positive[j], negative_sum(&s, j)) * value;
    }
    return sum;
}
#else
#define score_lean(model, row, record, next, context) 0
#endif

static uint8_t ready(const sefr_model *model) { return HAS_WEIGHTS(model) ? model->solved : model->fresh; }

static sefr_score score_of(const sefr_model *model, const uint8_t *record, uint8_t row) {
    sefr_score score;
    if (!HAS_WEIGHTS(model)) return score_lean(model, row, record, 0, 0);
    score_ram(model->weights + (sefr_index)row * model->features, record, model->features, model->bias + row, &score);
    return score;
}

static sefr_score score_of_fixed(const sefr_fixed *model, const uint8_t *record, uint8_t row) {
    sefr_score score;
    score_fixed(model->weights + (sefr_index)row * model->features, record, model->features, model->bias + row, &score);
    return score;
}

#ifdef SEFR_NO_UNKNOWN
#define CHECKS_RANGES(model) 0
#define KNOWN(score, model) SEFR_OK
#define KNOWN_PAIR(score, model) SEFR_OK
#define CLASSIFY_FIXED sefr_avr_classify_W
#define KNOWN_FROM(highest, second, model) ((void)(second), SEFR_OK)
#else
/* Whether a value lies outside the range learned, where that is asked for. */
#define DEFINE_OUTSIDE(name, LOAD)                                                                                  \
    SEFR_APART uint8_t name(const sefr_model *model, const uint8_t *record) {                                       \
        const uint8_t *low = RANGES_OF(model), *high = low + model->features;                                       \
        sefr_index j;                                                                                               \
        for (j = 0; j < model->features; j++) {                                                                     \
            uint8_t value = LOAD(record + j);                                                                       \
            if (value < low[j] || value > high[j]) return 1;                                                        \
        }                                                                                                           \
        return 0;                                                                                                   \
    }
#define CHECKS_RANGES(model) (RANGES_OF(model) && ((model)->options & SEFR_CHECK_RANGES))
#ifndef SEFR_NO_RANGES
DEFINE_OUTSIDE(outside_ram, LOAD_RAM)
#ifdef __AVR__
DEFINE_OUTSIDE(outside_flash, LOAD_FLASH)
#endif
#endif

SEFR_INLINE sefr_status known_here(sefr_score score, sefr_margin margin) {
    if (score < 0) score = -score; /* |score| < 2^31, see SEFR_MAX_FEATURES */
    return (sefr_margin)score < margin ? SEFR_UNKNOWN : SEFR_OK;
}
SEFR_APART sefr_status known(sefr_score score, sefr_margin margin) { return known_here(score, margin); }
/* Whether a margin is set, byte by byte: on AVR a number of 32 bits would take registers that must be saved first. */
SEFR_INLINE uint8_t has_margin(const sefr_margin *margin) {
    const uint8_t *byte = (const uint8_t *)margin;
    if (sizeof *margin > 4 || sizeof(int) > 2) return *margin != 0;
    return byte[0] || byte[1] || byte[2] || byte[3];
}
#define KNOWN(score, model) (has_margin(&(model)->margin) ? known_here(score, (model)->margin) : SEFR_OK)
#define KNOWN_PAIR(score, model) known(score, (model)->margin)
#define CLASSIFY_FIXED sefr_avr_classify_known_W
#define KNOWN_FROM(highest, second, model)                                                                          \
    ((sefr_margin)(highest) - (sefr_margin)(second) < (model)->margin ? SEFR_UNKNOWN : SEFR_OK)
#endif

/* Binary: above 0 is class 1. More: the first of the highest. */
#define DEFINE_CHOOSE(name, type, score)                                                                            \
    SEFR_APART sefr_status name(const type *model, const uint8_t *record, uint8_t *label) {                         \
        uint8_t row, best = 0;                                                                                      \
        sefr_score highest = score(model, record, 0), second = LOWEST_SCORE;                                        \
        if (IS_PAIR(model)) {                                                                                       \
            *label = highest > 0;                                                                                   \
            return KNOWN_PAIR(highest, model);                                                                         \
        }                                                                                                           \
        for (row = 1; row < model->classes; row++) {                                                                \
            sefr_score next = score(model, record, row);                                                            \
            if (next > highest) {                                                                                   \
                second = highest;                                                                                   \
                highest = next;                                                                                     \
                best = row;                                                                                         \
            } else if (next > second) {                                                                             \
                second = next;                                                                                      \
            }                                                                                                       \
        }                                                                                                           \
        *label = best;                                                                                              \
        return KNOWN_FROM(highest, second, model);                                                                  \
    }
DEFINE_CHOOSE(choose, sefr_model, score_of)
DEFINE_CHOOSE(choose_fixed, sefr_fixed, score_of_fixed)

#define DEFINE_INSIDE(name, choose_any, outside)                                                                    \
    SEFR_APART sefr_status name(const sefr_model *model, const uint8_t *record, uint8_t *label) {                   \
        sefr_status status = choose_any(model, record, label);                                                      \
        return outside(model, record) ? SEFR_UNKNOWN : status;                                                      \
    }
#if defined(SEFR_NO_UNKNOWN) || defined(SEFR_NO_RANGES)
#define choose_inside choose
#else
DEFINE_INSIDE(choose_inside, choose, outside_ram)
#endif

sefr_status sefr_classify(const sefr_model *model, const uint8_t *record, uint8_t *label) {
    if (!ready(model)) return SEFR_NOT_READY;
    if (CHECKS_RANGES(model)) return choose_inside(model, record, label);
#if (defined(SEFR_KERNELS) || defined(SEFR_SIMD)) && SEFR_WEIGHT_BITS == 8 && !SEFR_BINS
    if (HAS_WEIGHTS(model) && IS_PAIR(model) && model->features <= BLOCK) {
        sefr_score score = block_ram(model->weights, record, model->features) + model->bias[0];
        *label = score > 0;
        return KNOWN(score, model);
    }
#elif defined(SEFR_SCORE_KERNELS)
    if (HAS_WEIGHTS(model) && IS_PAIR(model)) {
        sefr_score score;
        *label = score_ram(model->weights, record, model->features, model->bias, &score);
        return KNOWN_PAIR(score, model);
    }
#endif
    return choose(model, record, label);
}

/* A record that streams by, with stored weights: the score, and in *outside whether a value was outside its range. */
#if SEFR_BINS
static sefr_score dot_each(const sefr_model *model, sefr_reader next, void *context, uint8_t *outside) {
    const sefr_weight *weights = model->weights;
    sefr_score sum = 0;
    sefr_index j;
    (void)outside;
    for (j = 0; j < RECORD_BYTES(model); j++, weights += SEFR_BINS) sum += weights[BIN_OF(next(context))];
    return sum;
}
#else
static sefr_score dot_each(const sefr_model *model, sefr_reader next, void *context, uint8_t *outside) {
    const uint8_t *low = RANGES_OF(model), *high = low ? low + model->features : 0;
    sefr_score sum = 0;
    sefr_index j;
    for (j = 0; j < model->features; j++) {
        uint8_t value = next(context);
        if (value) sum += (sefr_score)model->weights[j] * value;
        if (low && (value < low[j] || value > high[j])) *outside = 1;
    }
    return sum;
}
#endif

sefr_status sefr_classify_each(const sefr_model *model, sefr_reader next, void *context, uint8_t *label) {
    sefr_score score;
    uint8_t outside = 0;
    if (!IS_PAIR(model)) return SEFR_BAD_SHAPE;
    if (!ready(model)) return SEFR_NOT_READY;
    score = HAS_WEIGHTS(model) ? dot_each(model, next, context, &outside) + model->bias[0]
                               : score_lean(model, 0, 0, next, context);
    *label = score > 0;
    return outside && CHECKS_RANGES(model) ? SEFR_UNKNOWN : KNOWN(score, model);
}

SEFR_APART sefr_status classify_any_fixed(const sefr_fixed *model, const uint8_t *record, uint8_t *label) {
#if (defined(SEFR_KERNELS) || defined(SEFR_SIMD)) && SEFR_WEIGHT_BITS == 8 && !SEFR_BINS
    if (IS_PAIR(model) && model->features <= BLOCK) {
        sefr_score score = block_fixed(model->weights, record, model->features) + LOAD_FLASH_BIAS(model->bias);
        *label = score > 0;
        return KNOWN_PAIR(score, model);
    }
#elif defined(SEFR_SCORE_KERNELS)
    if (IS_PAIR(model)) {
        sefr_score score;
        *label = score_fixed(model->weights, record, model->features, model->bias, &score);
        return KNOWN_PAIR(score, model);
    }
#endif
    return choose_fixed(model, record, label);
}

sefr_status sefr_classify_fixed(const sefr_fixed *model, const uint8_t *record, uint8_t *label) {
#if defined(SEFR_KERNELS) && SEFR_WEIGHT_BITS == 8 && !SEFR_BINS
    if (IS_PAIR(model) && model->features <= 129) {
        return (sefr_status)CLASSIFY_FIXED(model, record, label, model->features);
    }
#endif
    return classify_any_fixed(model, record, label);
}

sefr_status sefr_scores(const sefr_model *model, const uint8_t *record, sefr_score *scores) {
    uint8_t row;
    if (!ready(model)) return SEFR_NOT_READY;
    for (row = 0; row < ROWS_OF(model); row++) scores[row] = score_of(model, record, row);
    return SEFR_OK;
}

sefr_status sefr_scores_fixed(const sefr_fixed *model, const uint8_t *record, sefr_score *scores) {
    uint8_t row;
    for (row = 0; row < ROWS_OF(model); row++) scores[row] = score_of_fixed(model, record, row);
    return SEFR_OK;
}

#ifdef __AVR__
#ifndef SEFR_NO_LEAN
static uint8_t next_in_flash(void *context) {
    const uint8_t **next = (const uint8_t **)context;
    return pgm_read_byte((*next)++);
}
#endif

static sefr_score score_of_P(const sefr_model *model, const uint8_t *record, uint8_t row) {
    sefr_score score;
    if (!HAS_WEIGHTS(model)) return score_lean(model, row, 0, next_in_flash, &record);
    score_flash(model->weights + (sefr_index)row * model->features, record, model->features, model->bias + row, &score);
    return score;
}
DEFINE_CHOOSE(choose_P, sefr_model, score_of_P)
#if defined(SEFR_NO_UNKNOWN) || defined(SEFR_NO_RANGES)
#define choose_inside_P choose_P
#else
DEFINE_INSIDE(choose_inside_P, choose_P, outside_flash)
#endif

sefr_status sefr_classify_P(const sefr_model *model, const uint8_t *record, uint8_t *label) {
    if (!ready(model)) return SEFR_NOT_READY;
    if (CHECKS_RANGES(model)) return choose_inside_P(model, record, label);
    return choose_P(model, record, label);
}
#endif
