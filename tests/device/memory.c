/* The most that 2 KB of RAM can learn: no stored weights, and records that stream by where STREAM is 1. Reads a count, then
 * labels and records to learn, then a count and records to classify; writes the bias and the classes. */
#include "board.h"
#include "sefr.h"

SEFR_LEAN_MODEL(model, FEATURES, CLASSES)

static uint8_t next_value(void *context) {
    (void)context;
    return board_get();
}

static uint16_t get_count(void) {
    uint16_t low = board_get();
    return (uint16_t)(low | board_get() << 8);
}

#if STREAM
static void learn(uint8_t label) { sefr_learn_each(&model, next_value, 0, label); }
static void classify(uint8_t *label) { sefr_classify_each(&model, next_value, 0, label); }
#else
static uint8_t record[FEATURES];
static const uint8_t *get_record(void) {
    sefr_index j;
    for (j = 0; j < FEATURES; j++) record[j] = next_value(0);
    return record;
}
static void learn(uint8_t label) { sefr_learn(&model, get_record(), label); }
static void classify(uint8_t *label) { sefr_classify(&model, get_record(), label); }
#endif

static __attribute__((noinline)) void put_bias(void) {
    uint8_t row, i;
    for (row = 0; row < SEFR_ROWS(CLASSES); row++) {
        for (i = 0; i < 4; i++) board_put((uint8_t)(model.bias[row] >> (8 * i)));
    }
}

/* Apart, so that main keeps nothing on the stack while the model is solved. */
static __attribute__((noinline)) void learn_all(void) {
    uint16_t n;
    for (n = get_count(); n; n--) learn(board_get());
}

static __attribute__((noinline)) void classify_all(void) {
    uint16_t n;
    for (n = get_count(); n; n--) {
        uint8_t label = 0xFF;
        classify(&label);
        board_put(label);
    }
}

int main(void) {
    sefr_reset(&model);
    learn_all();
    sefr_solve(&model);
    put_bias();
    classify_all();
    return 0;
}
