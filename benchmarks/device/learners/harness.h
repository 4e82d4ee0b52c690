/* The end of every learner of the benchmark: trains from the rows in flash, then classifies the records of the input
 * (their number in two bytes, then records). Marks: nothing, training, then classifying of the first MEASURED records.
 * A learner defines train() and classify() before it includes this. */
#define MEASURED 64

#ifndef __AVR__
/* The boards under QEMU are linked without a C library; code that others wrote asks for these. */
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
void *memset(void *memory, int value, size_t bytes);
void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *memory, int value, size_t bytes) {
    uint8_t *byte = (uint8_t *)memory;
    while (bytes--) *byte++ = (uint8_t)value;
    return memory;
}
void *memcpy(void *to, const void *from, size_t bytes) {
    uint8_t *byte = (uint8_t *)to;
    const uint8_t *next = (const uint8_t *)from;
    while (bytes--) *byte++ = *next++;
    return to;
}
#ifdef __cplusplus
}
#endif
#endif

int main(void) {
    static uint8_t record[FEATURES];
    uint16_t i, j, n;
    board_mark();
    board_mark();
    train();
    board_mark();
    n = board_get();
    n = (uint16_t)(n | (uint16_t)board_get() << 8);
    for (i = 0; i < n; i++) {
        uint8_t label;
        for (j = 0; j < FEATURES; j++) record[j] = board_get();
        if (i < MEASURED) board_mark();
        label = classify(record);
        if (i < MEASURED) board_mark();
        board_put(label);
    }
    return 0;
}
