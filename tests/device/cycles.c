/* What learning and classifying cost, from flash: marks around each step, then the weights, the bias and the answers
 * with record in flash, both in RAM, weights in flash.
 * ROWS x FEATURES and the data come from data.h, which the test writes; MODE says how to learn. */
#include "board.h"
#include "data.h"
#include "sefr.h"

enum { STREAM = 0, SPARSE = 1, BATCH = 2 };
#ifndef MARGIN
#define MARGIN 0
#endif

SEFR_MODEL(model, FEATURES, 2)
static uint8_t record[FEATURES];
static const sefr_weight fixed_weights[FEATURES] SEFR_FLASH = WEIGHTS;
static const sefr_score fixed_bias[1] SEFR_FLASH = {BIAS};
#ifdef SEFR_NO_UNKNOWN
static const sefr_fixed fixed = {FEATURES, 2, fixed_weights, fixed_bias};
#else
static const sefr_fixed fixed = {FEATURES, 2, fixed_weights, fixed_bias, MARGIN};
#endif
static uint8_t label;

static void put_word(uint32_t value) {
    uint8_t i;
    for (i = 0; i < 4; i++, value >>= 8) board_put((uint8_t)value);
}

#ifdef __AVR__
#define FLASH_BYTE(address) pgm_read_byte(address)
#else
#define FLASH_BYTE(address) (*(address))
#endif

int main(void) {
    sefr_index i, j;
    board_mark();
    board_mark();
    sefr_reset(&model);
    board_mark();
    model.options = MODE == SPARSE ? SEFR_SPARSE : 0;
    if (MODE == BATCH) {
        sefr_learn_batch_P(&model, rows[0], labels, ROWS);
    } else {
        for (i = 0; i < ROWS; i++) sefr_learn_P(&model, rows[i], FLASH_BYTE(labels + i));
    }
    board_mark();
    sefr_solve(&model);
    board_mark();
    for (i = 0; i < FEATURES; i++) board_put((uint8_t)model.weights[i]);
    put_word((uint32_t)model.bias[0]);
#ifndef SEFR_NO_UNKNOWN
    model.margin = MARGIN;
#endif
    for (j = 0; j < FEATURES; j++) record[j] = FLASH_BYTE(&rows[0][j]);
    board_mark();
    sefr_classify(&model, record, &label);
    board_mark();
    sefr_classify_fixed(&fixed, record, &label);
    board_mark();
    for (i = 0; i < ROWS; i++) {
        sefr_classify_P(&model, rows[i], &label);
        board_put(label);
        for (j = 0; j < FEATURES; j++) record[j] = FLASH_BYTE(&rows[i][j]);
        sefr_classify(&model, record, &label);
        board_put(label);
        sefr_classify_fixed(&fixed, record, &label);
        board_put(label);
    }
    return 0;
}
