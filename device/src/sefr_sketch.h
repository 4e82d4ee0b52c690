/* What the sketches that sefr.device.export writes have in common; a part of each exported model for Arduino. */
#ifndef SEFR_SKETCH_H
#define SEFR_SKETCH_H

#include "sefr.h"
#include "sefr_answer.h"

#if SEFR_WEIGHT_BITS == 8
#define sefr_lead_of sefr_lead
#else
#define sefr_lead_of sefr_lead_wide
#endif

/* A lead in hundredths of one that is clear, up to 100. */
static inline uint8_t sefr_percent(sefr_margin lead, sefr_margin clear) {
    if (lead >= clear) return 100;
    return (uint8_t)(clear > 1000000UL ? lead / (clear / 100) : lead * 100 / clear);
}

/* Of a model that was solved, by how much the mean record of each class leads; 1 where it does not. `x` has room for a record,
 * `scores` for `rows` scores. */
SEFR_WITH_CONSTANTS sefr_status sefr_clear_of_means(const sefr_model *model, uint8_t *x, sefr_score *scores, uint8_t rows,
                                                    sefr_margin *clear) {
    const sefr_sum *sum = model->sums;
    uint8_t label;
    for (label = 0; label < model->classes; label++, clear++) {
        sefr_count n = model->counts[label];
        sefr_index j;
        sefr_status status;
        *clear = 1;
        if (!n) {
            sum += model->features;
            continue;
        }
        for (j = 0; j < model->features; j++) x[j] = (uint8_t)(*sum++ / n);
        status = sefr_scores(model, x, scores);
        if (status != SEFR_OK) return status;
        if (sefr_lead_of(scores, rows, clear) != label || !*clear) *clear = 1;
    }
    return SEFR_OK;
}

#ifndef SEFR_NO_STATE
static inline int sefr_read_flash_(void *context, uint32_t address, uint8_t *bytes, uint32_t n) {
    const uint8_t *from = (const uint8_t *)context + address;
    for (; n; n--) *bytes++ = SEFR_READ_8(from++);
    return 0;
}

/* Starts from a state in flash; balanced, so that a button held longer does not move the border. */
static inline sefr_status sefr_begin_from(sefr_model *model, uint32_t id, const uint8_t *state, uint32_t state_bytes) {
    sefr_storage storage = {sefr_read_flash_, 0, 0, 0, 0, 0, 1, 1, 0};
    sefr_status status = sefr_reset(model);
    storage.context = (void *)(uintptr_t)state;
    storage.block_bytes = state_bytes;
    model->options = SEFR_BALANCED;
    model->id = id; /* states of another model, scaling or classes are refused */
    return status == SEFR_OK ? sefr_restore(model, &storage) : status;
}
#endif

#endif
