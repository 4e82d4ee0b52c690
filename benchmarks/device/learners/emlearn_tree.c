/* Trees that emlearn wrote (model.h): trained on a computer. */
#include "learner.h"
#include "model.h"

static void train(void) {}

static uint8_t classify(const uint8_t *record) { return (uint8_t)model_predict(record, FEATURES); }

#include "harness.h"
