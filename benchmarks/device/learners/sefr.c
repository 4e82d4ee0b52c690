/* The device library, one record at a time. */
#include "learner.h"
#include "sefr.h"

SEFR_LAYOUT(model, FEATURES, CLASSES)

static void train(void) {
    uint16_t i;
    sefr_reset(&model);
    for (i = 0; i < ROWS; i++) sefr_learn_P(&model, rows[i], LABEL(i));
    sefr_solve(&model);
}

static uint8_t classify(const uint8_t *record) {
    uint8_t label = 0;
    sefr_classify(&model, record, &label);
    return label;
}

#include "harness.h"
