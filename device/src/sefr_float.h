/* The one place with floats, for records that are floats on the board too: a known range maps a value to a byte, like
 * sefr_byte. halves = 510 / (high - low). Counting half steps and then rounding them leaves no sum after the product,
 * so that a compiler cannot fuse the two and the byte is the same on every machine with IEEE 754 floats. */
#ifndef SEFR_FLOAT_H
#define SEFR_FLOAT_H

#include <stdint.h>

static inline uint8_t sefr_byte_of_float(float value, float low, float high, float halves) {
    if (!(value > low)) return 0; /* also not a number */
    if (value >= high) return 255;
    return (uint8_t)(((uint16_t)((value - low) * halves) + 1U) >> 1);
}

#endif
