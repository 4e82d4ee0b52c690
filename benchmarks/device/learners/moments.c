/* The device library with second moments: the linear discriminant. */
#include "learner.h"
#include "sefr_moments.h"

SEFR_MOMENTS(model, FEATURES, CLASSES)

static void train(void) {
    static uint8_t record[FEATURES];
    uint16_t i, j;
    sefr_moments_reset(&model);
    for (i = 0; i < ROWS; i++) {
        for (j = 0; j < FEATURES; j++) record[j] = VALUE(i, j);
        sefr_moments_learn(&model, record, LABEL(i));
    }
    sefr_moments_solve(&model);
}

static uint8_t classify(const uint8_t *record) {
    uint8_t label = 0;
    sefr_moments_classify(&model, record, &label);
    return label;
}

#include "harness.h"
