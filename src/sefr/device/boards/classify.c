/* Answers the records of the input with an exported header: a count, then raw values, little endian; one byte per
 * record comes out, or of BOARD_NUMBERS two. The first MEASURED records are between two marks each, after a pair with nothing between. */
#include "board.h"

#include BOARD_HEADER

#define JOIN_(name, part) name##_##part
#define JOIN(name, part) JOIN_(name, part)
#define MEASURED 64

static JOIN(BOARD_MODEL, value) record[BOARD_FEATURES];

int main(void) {
    uint32_t i, n = 0;
    for (i = 0; i < 4; i++) n |= (uint32_t)board_get() << (8 * i);
#ifdef BOARD_LEARN
    board_put((uint8_t)JOIN(BOARD_MODEL, begin)());
#endif
    board_mark();
    board_mark();
    for (i = 0; i < n; i++) {
        uint8_t *byte = (uint8_t *)record, *end = byte + sizeof record;
#ifdef BOARD_NUMBERS
        int16_t answer;
#else
        uint8_t answer;
#endif
        while (byte < end) *byte++ = board_get();
        if (i < MEASURED) board_mark();
#ifdef BOARD_NUMBERS
        answer = JOIN(BOARD_MODEL, predict)(record);
#else
        answer = JOIN(BOARD_MODEL, classify)(record);
#endif
        if (i < MEASURED) board_mark();
        board_put((uint8_t)answer);
#ifdef BOARD_NUMBERS
        board_put((uint8_t)((uint16_t)answer >> 8));
#endif
    }
    return 0;
}
