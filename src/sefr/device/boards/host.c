/* The board's world on the host: stdin, stdout, and nothing to count. */
#include "board.h"

#include <stdio.h>

uint8_t board_get(void) {
    int c = getchar();
    return c == EOF ? 0 : (uint8_t)c;
}
void board_put(uint8_t value) { putchar(value); }
void board_mark(void) {}
