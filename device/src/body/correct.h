/* A user says what the answer should have been: an error-driven step of the weights, one record at a time. */

/* A sixteenth of ONE for a value of 255: int8 weights move by up to 8 of 127, int16 by 2040 of 32767. */
#if SEFR_WEIGHT_BITS == 8
#define STEP_OF(value) ((int16_t)(((uint16_t)(value) + 16U) >> 5))
#else
#define STEP_OF(value) ((int32_t)(value) << 3)
#endif

SEFR_APART void pull(sefr_weight *weights, sefr_score *bias, const uint8_t *record, sefr_index features, int8_t sign) {
    const uint8_t *end = record + features;
    const sefr_score step = (sefr_score)STEP_OF(255) * 255;
    for (; record != end; record++, weights++) {
        uint8_t value = *record;
        if (value) {
            sefr_term moved = (sefr_term)(sign > 0 ? *weights + STEP_OF(value) : *weights - STEP_OF(value));
            if (moved > SEFR_ONE) moved = SEFR_ONE;
            if (moved < -SEFR_ONE) moved = -SEFR_ONE;
            *weights = (sefr_weight)moved;
        }
    }
    *bias += sign > 0 ? step : -step;
    if (*bias > SEFR_MAX_BIAS) *bias = SEFR_MAX_BIAS;
    if (*bias < -SEFR_MAX_BIAS) *bias = -SEFR_MAX_BIAS;
}

sefr_status sefr_correct(sefr_model *model, const uint8_t *record, uint8_t label) {
    uint8_t answer;
    if (label >= model->classes) return SEFR_BAD_LABEL;
    if (!HAS_WEIGHTS(model)) return SEFR_BAD_SHAPE;
    if (!model->solved) return SEFR_NOT_READY;
    if (!IS_PAIR(model) && model->bias[label] == LOWEST_SCORE) return SEFR_NOT_READY;
    (void)sefr_classify(model, record, &answer);
    if (answer == label) return SEFR_OK;
    if (IS_PAIR(model)) {
        pull(model->weights, model->bias, record, model->features, label ? 1 : -1);
        return SEFR_OK;
    }
    pull(model->weights + (sefr_index)label * model->features, model->bias + label, record, model->features, 1);
    pull(model->weights + (sefr_index)answer * model->features, model->bias + answer, record, model->features, -1);
    return SEFR_OK;
}
