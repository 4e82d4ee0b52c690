/* The board's world on an AVR in avr_runner: I/O registers that the chip leaves to the programmer. */
#include "board.h"

#include <avr/io.h>

uint8_t board_get(void) { return GPIOR2; }
void board_put(uint8_t value) { GPIOR1 = value; }
void board_mark(void) { GPIOR0 = 0; }

/* The C runtime calls this after main; asleep without interrupts is the runner's sign of the end. */
void exit(int status);
void exit(int status) {
    (void)status;
#ifdef SMCR
    SMCR = _BV(SE);
#else
    MCUCR = _BV(SE); /* ATtiny */
#endif
    __asm__ volatile("cli\n\tsleep");
    for (;;) {
    }
}
