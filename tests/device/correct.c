/* Learn, solve, then EPOCHS rounds of sefr_correct over the same records, a mark before and after each of the first
 * round; then weights, bias and what an impossible label and an unsolved model are told. Data from data.h. */
#include "board.h"
#include "data.h"
#include "sefr.h"

SEFR_MODEL(model, FEATURES, CLASSES)
static uint8_t record[FEATURES];

#ifdef __AVR__
#define FLASH_BYTE(address) pgm_read_byte(address)
#else
#define FLASH_BYTE(address) (*(address))
#endif

static void put_score(sefr_score value) {
    uint8_t i;
    for (i = 0; i < sizeof value; i++, value >>= 8) board_put((uint8_t)value);
}

int main(void) {
    sefr_index i, j, epoch;
    sefr_reset(&model);
    board_put((uint8_t)sefr_correct(&model, record, 0));
    for (i = 0; i < ROWS; i++) sefr_learn_P(&model, rows[i], FLASH_BYTE(labels + i));
    sefr_solve(&model);
    board_mark();
    board_mark();
    for (epoch = 0; epoch < EPOCHS; epoch++) {
        for (i = 0; i < ROWS; i++) {
            for (j = 0; j < FEATURES; j++) record[j] = FLASH_BYTE(&rows[i][j]);
            if (epoch == 0) board_mark();
            sefr_correct(&model, record, FLASH_BYTE(labels + i));
            if (epoch == 0) board_mark();
        }
    }
    board_put((uint8_t)sefr_correct(&model, record, CLASSES));
    for (j = 0; j < FEATURES * SEFR_ROWS(CLASSES); j++) {
        board_put((uint8_t)model.weights[j]);
        if (SEFR_WEIGHT_BITS == 16) board_put((uint8_t)((uint16_t)model.weights[j] >> 8));
    }
    for (j = 0; j < SEFR_ROWS(CLASSES); j++) put_score(model.bias[j]);
    return 0;
}
