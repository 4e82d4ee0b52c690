/* The perceptron, PASSES times over the records: int16 weights that move by a quarter of the value at each mistake. */
#include "learner.h"

#define UNITS (CLASSES == 2 ? 1 : CLASSES)

static int16_t weights[UNITS][FEATURES];
static int32_t bias[UNITS];

static int32_t score_of(uint8_t k, const uint8_t *record) {
    int32_t score = bias[k];
    uint16_t j;
    for (j = 0; j < FEATURES; j++) score += (int32_t)weights[k][j] * record[j];
    return score;
}

static uint8_t classify(const uint8_t *record) {
    int32_t highest = score_of(0, record);
    uint8_t k, best = 0;
    if (CLASSES == 2) return highest > 0;
    for (k = 1; k < UNITS; k++) {
        int32_t score = score_of(k, record);
        if (score > highest) {
            highest = score;
            best = k;
        }
    }
    return best;
}

static void move(uint8_t k, const uint8_t *record, int8_t sign) {
    uint16_t j;
    for (j = 0; j < FEATURES; j++) {
        int16_t step = (int16_t)(sign * (record[j] >> 2)), weight = weights[k][j];
        if (step > 0 ? weight <= INT16_MAX - step : weight >= INT16_MIN - step) weights[k][j] = (int16_t)(weight + step);
    }
    bias[k] += sign * 64 * 255L; /* a value that is always 255 */
}

static void train(void) {
    static uint8_t record[FEATURES];
    uint16_t i, j;
    uint8_t pass;
    for (pass = 0; pass < PASSES; pass++) {
        for (i = 0; i < ROWS; i++) {
            uint8_t label = LABEL(i), answer;
            for (j = 0; j < FEATURES; j++) record[j] = VALUE(i, j);
            answer = classify(record);
            if (answer == label) continue;
            if (CLASSES == 2) {
                move(0, record, label ? 1 : -1);
            } else {
                move(label, record, 1);
                move(answer, record, -1);
            }
        }
    }
}

#include "harness.h"
