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

#define DEFINE_DOT(name, block)                                                                                     \
    static sefr_score name(const sefr_weight *weights, const uint8_t *record, sefr_index features) {                \
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
#else
#define LOAD_FLASH_WEIGHT LOAD_RAM
#endif

#if defined(SEFR_KERNELS) && SEFR_WEIGHT_BITS == 8
#define DEFINE_KERNEL_BLOCK(name, kernel)                                                                           \
    static int32_t name(const sefr_weight *weights, const uint8_t *record, sefr_index n) {                          \
        return kernel(weights, record, (uint8_t)n);                                                                 \
    }
DEFINE_KERNEL_BLOCK(block_ram, sefr_avr_dot)
DEFINE_KERNEL_BLOCK(block_fixed, sefr_avr_dot_W)
DEFINE_KERNEL_BLOCK(block_flash, sefr_avr_dot_P)
#else
DEFINE_BLOCK(block_ram, LOAD_RAM, LOAD_RAM)
DEFINE_BLOCK(block_fixed, LOAD_FLASH_WEIGHT, LOAD_RAM)
#ifdef __AVR__
DEFINE_BLOCK(block_flash, LOAD_RAM, LOAD_FLASH)
#endif
#endif
DEFINE_DOT(dot_ram, block_ram)
DEFINE_DOT(dot_fixed, block_fixed)

/* Without stored weights: each is computed from the sums. `next` gives the values where there is no record. */
static sefr_score dot_lean(const sefr_model *model, uint8_t row, const uint8_t *record, sefr_reader next,
                           void *context) {
    sefr_score sum = 0;
    sefr_index j;
    sides s;
    choose_sides(&s, model, row);
    if (s.n_positive == 0) return 0;
    for (j = 0; j < model->features; j++) {
        uint8_t value = record ? record[j] : next(context);
        if (value) {
            sefr_weight weight = model->weights ? model->weights[j] : weigh(&s, j, s.positive[j], negative_sum(&s, j));
            sum += (sefr_score)weight * value;
        }
    }
    return sum;
}

static uint8_t ready(const sefr_model *model) { return model->weights ? model->solved : model->fresh; }

static sefr_score score_of(const sefr_model *model, const uint8_t *record, uint8_t row) {
    sefr_score dot = model->weights
                         ? dot_ram(model->weights + (sefr_index)row * model->features, record, model->features)
                         : dot_lean(model, row, record, 0, 0);
    return dot + model->bias[row];
}

#ifdef __AVR__
static sefr_score bias_of(const sefr_fixed *model, uint8_t row) {
#if SEFR_WEIGHT_BITS == 8
    return (sefr_score)pgm_read_dword(model->bias + row);
#else
    sefr_score bias;
    memcpy_P(&bias, model->bias + row, sizeof bias);
    return bias;
#endif
}
#else
static sefr_score bias_of(const sefr_fixed *model, uint8_t row) { return model->bias[row]; }
#endif

static sefr_score score_of_fixed(const sefr_fixed *model, const uint8_t *record, uint8_t row) {
    return dot_fixed(model->weights + (sefr_index)row * model->features, record, model->features) + bias_of(model, row);
}

/* Binary: above 0 is class 1. More: the first of the highest. */
#define DEFINE_CHOOSE(name, type, score)                                                                            \
    SEFR_APART uint8_t name(const type *model, const uint8_t *record) {                                             \
        uint8_t row, best = 0;                                                                                      \
        sefr_score highest = score(model, record, 0);                                                               \
        if (model->classes == 2) return highest > 0;                                                                \
        for (row = 1; row < model->classes; row++) {                                                                \
            sefr_score next = score(model, record, row);                                                            \
            if (next > highest) {                                                                                   \
                highest = next;                                                                                     \
                best = row;                                                                                         \
            }                                                                                                       \
        }                                                                                                           \
        return best;                                                                                                \
    }
DEFINE_CHOOSE(choose, sefr_model, score_of)
DEFINE_CHOOSE(choose_fixed, sefr_fixed, score_of_fixed)

sefr_status sefr_classify(const sefr_model *model, const uint8_t *record, uint8_t *label) {
    if (!ready(model)) return SEFR_NOT_READY;
#if defined(SEFR_KERNELS) && SEFR_WEIGHT_BITS == 8
    if (model->weights && model->classes == 2 && model->features <= 255) {
        *label = sefr_avr_dot(model->weights, record, (uint8_t)model->features) > -model->bias[0];
        return SEFR_OK;
    }
#endif
    *label = choose(model, record);
    return SEFR_OK;
}

sefr_status sefr_classify_each(const sefr_model *model, sefr_reader next, void *context, uint8_t *label) {
    if (model->classes != 2) return SEFR_BAD_SHAPE;
    if (!ready(model)) return SEFR_NOT_READY;
    *label = dot_lean(model, 0, 0, next, context) + model->bias[0] > 0;
    return SEFR_OK;
}

SEFR_APART sefr_status classify_any_fixed(const sefr_fixed *model, const uint8_t *record, uint8_t *label) {
    *label = choose_fixed(model, record);
    return SEFR_OK;
}

sefr_status sefr_classify_fixed(const sefr_fixed *model, const uint8_t *record, uint8_t *label) {
#if defined(SEFR_KERNELS) && SEFR_WEIGHT_BITS == 8
    if (model->classes == 2 && model->features <= 129) {
        return (sefr_status)sefr_avr_classify_W(model, record, label, model->features);
    }
#endif
    return classify_any_fixed(model, record, label);
}

sefr_status sefr_scores(const sefr_model *model, const uint8_t *record, sefr_score *scores) {
    uint8_t row;
    if (!ready(model)) return SEFR_NOT_READY;
    for (row = 0; row < rows_of(model->classes); row++) scores[row] = score_of(model, record, row);
    return SEFR_OK;
}

sefr_status sefr_scores_fixed(const sefr_fixed *model, const uint8_t *record, sefr_score *scores) {
    uint8_t row;
    for (row = 0; row < rows_of(model->classes); row++) scores[row] = score_of_fixed(model, record, row);
    return SEFR_OK;
}

#ifdef __AVR__
DEFINE_DOT(dot_flash, block_flash)

static uint8_t next_in_flash(void *context) {
    const uint8_t **next = (const uint8_t **)context;
    return pgm_read_byte((*next)++);
}

static sefr_score score_of_P(const sefr_model *model, const uint8_t *record, uint8_t row) {
    sefr_score dot = model->weights
                         ? dot_flash(model->weights + (sefr_index)row * model->features, record, model->features)
                         : dot_lean(model, row, 0, next_in_flash, &record);
    return dot + model->bias[row];
}
DEFINE_CHOOSE(choose_P, sefr_model, score_of_P)

sefr_status sefr_classify_P(const sefr_model *model, const uint8_t *record, uint8_t *label) {
    if (!ready(model)) return SEFR_NOT_READY;
    *label = choose_P(model, record);
    return SEFR_OK;
}
#endif
