/* The stack of an AVR: bytes set aside for it, and how many were never used. */

#ifdef __AVR__
enum { PAINT = 0xC5 };

extern uint8_t __heap_start; /* the linker's: the first byte that no variable has */
extern char *__brkval;       /* avr-libc's: the end of the heap, 0 without one */

static uint8_t *first_free(void) { return __brkval ? (uint8_t *)__brkval : &__heap_start; }

void sefr_stack_paint(void) {
    uint8_t *byte;
    uint8_t *stack = (uint8_t *)SP; /* the stack is below its pointer's address: nothing of ours is there */
#ifdef SEFR_RESERVE
    for (byte = sefr_stack; byte < sefr_stack + SEFR_STACK_BYTES; byte++) *byte = PAINT;
#endif
    for (byte = first_free(); byte < stack; byte++) *byte = PAINT;
}

static uint16_t painted(const uint8_t *byte, const uint8_t *end) {
    uint16_t n = 0;
    for (; byte < end && *byte == PAINT; byte++) n++;
    return n;
}

uint16_t sefr_stack_left(void) {
    uint16_t left = painted(first_free(), (const uint8_t *)SP);
#ifdef SEFR_RESERVE
    left = (uint16_t)(left + painted(sefr_stack, sefr_stack + SEFR_STACK_BYTES));
#endif
    return left;
}
#endif
