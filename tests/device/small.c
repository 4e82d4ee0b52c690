/* A whole program for the smallest chips, and what the bytes of flash are measured with: learns, saves to the EEPROM, takes
 * the state back and classifies. Reads a count and that many labels and records, then a count and records to classify;
 * writes the status of the save and of the restore, the classes, and the bytes of stack that were never used. PARTS says
 * how much of it there is: 1 learn and classify, 2 save and restore too, 3 weights in flash only. */
#include "board.h"
#include "sefr.h"
#if PARTS == 2
#include "sefr_eeprom.h"
SEFR_EEPROM(storage, SEFR_EEPROM_BYTES)
SEFR_CHECK_STORAGE(model, SEFR_STATE_BYTES(FEATURES, 2, 0), SEFR_EEPROM_BYTES)
#endif
#if PARTS == 3
static const sefr_weight weights[FEATURES] SEFR_FLASH = {1};
static const sefr_score bias[1] SEFR_FLASH = {-5};
#ifdef SEFR_NO_UNKNOWN
static const sefr_fixed model = {FEATURES, 2, weights, bias};
#else
static const sefr_fixed model = {FEATURES, 2, weights, bias, 0};
#endif
#else
SEFR_MODEL(model, FEATURES, 2)
#endif
static uint8_t record[FEATURES];

static void get_record(void) {
    sefr_index j;
    for (j = 0; j < FEATURES; j++) record[j] = board_get();
}

int main(void) {
    uint8_t n, label = 0;
#if PARTS == 3
    for (n = board_get(); n; n--) {
        get_record();
        sefr_classify_fixed(&model, record, &label);
        board_put(label);
    }
#else
#ifdef STACK
    sefr_stack_paint();
#endif
    sefr_reset(&model);
    for (n = board_get(); n; n--) {
        label = board_get();
        get_record();
        sefr_learn(&model, record, label);
    }
#if PARTS == 2
    board_put((uint8_t)sefr_save(&model, &storage));
    sefr_reset(&model);
    board_put((uint8_t)sefr_restore(&model, &storage));
#endif
    sefr_solve(&model);
    for (n = board_get(); n; n--) {
        get_record();
        label = 255;
        sefr_classify(&model, record, &label);
        board_put(label);
    }
#ifdef STACK
    board_put((uint8_t)(sefr_stack_left() > 255 ? 255 : sefr_stack_left()));
#endif
#endif
    return 0;
}
