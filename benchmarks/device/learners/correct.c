/* The device library, then one more pass in which it is told what it answers wrong (sefr_correct). */
#include "learner.h"
#include "sefr.h"

SEFR_MODEL(model, FEATURES, CLASSES)

static void train(void) {
    static uint8_t record[FEATURES];
    uint16_t i, j;
    sefr_reset(&model);
    for (i = 0; i < ROWS; i++) sefr_learn_P(&model, rows[i], LABEL(i));
    sefr_solve(&model);
    for (i = 0; i < ROWS; i++) {
        for (j = 0; j < FEATURES; j++) record[j] = VALUE(i, j);
        sefr_correct(&model, record, LABEL(i));
    }
}

static uint8_t classify(const uint8_t *record) {
    uint8_t label = 0;
    sefr_classify(&model, record, &label);
    return label;
}

#include "harness.h"
