/* A model that micromlgen wrote (model.h, class MODEL): trained on a computer, takes floats. */
#include "learner.h"
#include "model.h"

static Eloquent::ML::Port::MODEL model;

static void train(void) {}

static uint8_t classify(const uint8_t *record) {
    static float values[FEATURES];
    uint16_t j;
    for (j = 0; j < FEATURES; j++) values[j] = record[j];
    return (uint8_t)model.predict(values);
}

#include "harness.h"
