/* Lines of text on Serial, as exported sketches read them (C++): a command of one letter, then words with a comma or a blank
 * between them. A line may end with a checksum, *A1B2: the CRC-16 (XMODEM) of all before the star. It is read as it comes, word
 * by word, and refused where something is too long or nothing came for half a second (Serial.setTimeout). */
#ifndef SEFR_LINE_H
#define SEFR_LINE_H

#include <Arduino.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sefr.h"

class SefrLine {
    uint16_t crc;
    char stop; /* what ended the last word: a comma, a blank, a star or the end of the line; 0: it was cut off */
    char text[24];

    void addToCrc(char value) {
        crc ^= (uint16_t)((uint16_t)(uint8_t)value << 8);
        for (uint8_t bit = 0; bit < 8; bit++) crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }

    /* False: the word is empty or too long, or the line was cut off. */
    bool readWord() {
        bool checked = stop != '*';
        uint8_t n = 0;
        if (stop != ',' && stop != ' ' && stop != '*') addToCrc(stop); /* the command */
        while (Serial.readBytes(&stop, 1) == 1) {
            if (stop == '\r') continue;
            if (checked && stop != '*' && stop != '\n') addToCrc(stop);
            if (stop == ' ' && n == 0) continue;
            if (stop == ',' || stop == ' ' || stop == '*' || stop == '\n') {
                text[n] = 0;
                return n > 0;
            }
            if (n == sizeof text - 1) return false;
            text[n++] = stop;
        }
        stop = 0;
        return false;
    }

    bool readNumber(float *value) {
        char *end;
        if (!readWord()) return false;
        *value = (float)strtod(text, &end);
        return *end == 0 && !isinf(*value);
    }

    template <class Whole>
    bool readNumber(Whole *value) {
        char *end;
        if (!readWord()) return false;
        errno = 0;
        long number = strtol(text, &end, 10);
        *value = (Whole)number;
        return *end == 0 && errno == 0 && *value == number;
    }

public:
    static const uint8_t BAD = 100; /* a status of a line, beside those of sefr.h: it is damaged */

    void begin(char command) {
        crc = 0;
        stop = command;
    }

    /* Whether the line ends here, and is what was sent. */
    bool isWhole() {
        uint16_t sum = crc;
        char *end;
        if (stop != '*') return stop == '\n';
        return readWord() && stop == '\n' && strlen(text) == 4 && strtoul(text, &end, 16) == sum && *end == 0;
    }

    /* The status of a line: what is left of a damaged one is no command. */
    uint8_t end(bool good) {
        if (good) return SEFR_OK;
        while (stop != '\n' && Serial.readBytes(&stop, 1) == 1) {
        }
        return BAD;
    }

    /* All values of a record, to the end of the line. */
    template <class Value>
    bool readValues(Value *record, unsigned int n) {
        for (unsigned int i = 0; i < n; i++) {
            if ((i && stop != ',') || !readNumber(record + i)) return false;
        }
        return isWhole();
    }

    /* The class that a command names, or what is wrong with it. */
    uint8_t readLabel(uint8_t *label, unsigned int classes) {
        char *end;
        if (!readWord()) return BAD;
        unsigned long number = strtoul(text, &end, 10);
        if (*end || !isdigit(text[0])) return BAD;
        *label = (uint8_t)number;
        return number < classes ? SEFR_OK : SEFR_BAD_LABEL;
    }

    bool hasMore() const { return stop == ' '; }

    /* Bytes in hexadecimal; without a checksum, since a state has one of its own. */
    bool readBytes(uint8_t *bytes, unsigned int n) {
        stop = 0;
        for (; n; n--) {
            char pair[3] = {0, 0, 0};
            if (Serial.readBytes(pair, 2) != 2 || !isxdigit(pair[0]) || !isxdigit(pair[1])) {
                if (pair[0] == '\n' || pair[1] == '\n') stop = '\n';
                return false;
            }
            *bytes++ = (uint8_t)strtoul(pair, 0, 16);
        }
        return true;
    }
};

#ifndef SEFR_NO_STATE
static inline int sefr_tell_hex(void *, uint8_t value) {
    if (value < 16) Serial.print('0');
    Serial.print(value, HEX);
    return 0;
}

static inline int sefr_read_ram_(void *context, uint32_t address, uint8_t *bytes, uint32_t n) {
    memcpy(bytes, (const uint8_t *)context + address, n);
    return 0;
}

/* Takes a state that lies in RAM. */
static inline sefr_status sefr_restore_from(sefr_model *model, uint8_t *state, uint32_t n) {
    const sefr_storage storage = {sefr_read_ram_, 0, 0, 0, state, n, 1, 1, 0};
    return sefr_restore(model, &storage);
}
#endif

#endif
