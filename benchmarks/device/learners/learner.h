/* What a learner has: ROWS x FEATURES bytes and their labels in flash, from data.h; CLASSES. */
#ifndef LEARNER_H
#define LEARNER_H

#include "board.h"
#ifdef __AVR__
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#define FLASH_BYTE(address) pgm_read_byte(address)
#else
#define FLASH
#define FLASH_BYTE(address) (*(address))
#endif
#include "data.h"

#define LABEL(i) FLASH_BYTE(labels + (i))
#define VALUE(i, j) FLASH_BYTE(&rows[i][j])

#endif
