/* What a program on a simulated board may ask of the world: bytes in, bytes out, and a note of the time. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint8_t board_get(void);       /* the next byte of the input; 0 after its end */
void board_put(uint8_t value); /* the next byte of the output */
void board_mark(void);         /* notes the cycles (AVR) or instructions so far */

#ifdef __cplusplus
}
#endif

#endif
