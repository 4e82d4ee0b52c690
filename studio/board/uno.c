/* The program of the simulated Uno: the device library behind a serial line, in the language of exported sketches.
 *
 * The page writes the model into the flash at MODEL_AT, so that one image serves every model: features (2 bytes), classes,
 * mode (0 fixed, 1 learns, 2 learns without stored weights, 4 added: with learned ranges), id (4), then for a fixed model
 * biases (int32) and weights (int8), row by row. Values on the line are bytes; the page has turned raw values into them.
 *
 *   ?            -> sefr ID FEATURES CLASSES uint8
 *   c 17,255,... -> answer NUMBER
 *   t1 17,...    -> status NUMBER     learn as class 1
 *   s            -> status NUMBER     solve
 *   x            -> state 53454652...
 *
 * A write of 1 to GPIOR0 begins what the page measures, a write of 2 ends it; a pair with nothing between comes first. */
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <stddef.h>
#include <string.h>

#include "sefr.h"

#define MODEL_AT 0x4000
#define ARENA 1600

enum { LEARNS = 1, LEAN = 2, RANGES = 4 };

static uint8_t arena[ARENA];
static uint8_t *record;
static sefr_model model;
static sefr_fixed fixed;
static uint8_t mode;

static uint8_t get(void) {
    while (!(UCSR0A & _BV(RXC0))) {
    }
    return UDR0;
}

static void put(char c) {
    while (!(UCSR0A & _BV(UDRE0))) {
    }
    UDR0 = (uint8_t)c;
}

static void tell(const char *text) {
    for (char c; (c = (char)pgm_read_byte(text)); text++) put(c);
}

static void tell_number(uint32_t n) {
    char digits[10];
    uint8_t i = 0;
    do digits[i++] = (char)('0' + n % 10);
    while (n /= 10);
    while (i) put(digits[--i]);
}

static int tell_byte(void *context, uint8_t value) {
    (void)context;
    put("0123456789ABCDEF"[value >> 4]);
    put("0123456789ABCDEF"[value & 15]);
    return 0;
}

static void tell_line(const char *word, uint8_t number) {
    tell(word);
    tell_number(number);
    put('\n');
}

/* The digits that follow; the character after them is taken too. */
static uint8_t get_number(void) {
    uint8_t n = 0, c;
    while ((c = (uint8_t)(get() - '0')) > 9) {
    }
    do n = (uint8_t)(10 * n + c);
    while ((c = (uint8_t)(get() - '0')) <= 9);
    return n;
}

static void get_record(void) {
    for (sefr_index j = 0; j < model.features; j++) record[j] = get_number();
}

static void *take(uint8_t **at, uint16_t n) {
    uint8_t *start = *at;
    *at += n;
    return start;
}

/* Lays the arrays out in the arena. False: they do not fit. */
static uint8_t begin(void) {
    uint8_t *at = arena;
    const uint16_t m = pgm_read_word(MODEL_AT);
    const uint8_t classes = pgm_read_byte(MODEL_AT + 2), rows = SEFR_ROWS(classes);
    mode = pgm_read_byte(MODEL_AT + 3);
    model.features = fixed.features = m;
    model.classes = fixed.classes = classes;
    model.id = pgm_read_dword(MODEL_AT + 4);
    model.settings = SEFR_SETTINGS;
    model.half_life = SEFR_MAX_RECORDS / 2;
    fixed.bias = (const sefr_score *)(MODEL_AT + 8);
    fixed.weights = (const sefr_weight *)(MODEL_AT + 8 + 4 * (uint16_t)rows);
    record = take(&at, m);
    if (mode & LEARNS) {
        uint32_t bytes = (uint32_t)m * classes * sizeof(sefr_sum) + classes * sizeof(sefr_count) + rows * sizeof(sefr_score);
        bytes += mode & LEAN ? 0 : (uint32_t)m * rows;
        bytes += mode & RANGES ? 2UL * m : 0;
        if (bytes + m > ARENA) return 0;
        model.sums = take(&at, (uint16_t)(m * classes * sizeof(sefr_sum)));
        model.counts = take(&at, classes * sizeof(sefr_count));
        model.bias = take(&at, rows * sizeof(sefr_score));
        model.weights = mode & LEAN ? NULL : take(&at, m * rows);
        model.ranges = mode & RANGES ? take(&at, 2 * m) : NULL;
        return sefr_reset(&model) == SEFR_OK;
    }
    return m <= ARENA;
}

static void classify(void) {
    uint8_t label = 0;
    sefr_status status;
    get_record();
    if (mode & LEARNS) {
        GPIOR0 = 1;
        status = sefr_classify(&model, record, &label);
        GPIOR0 = 2;
    } else {
        GPIOR0 = 1;
        status = sefr_classify_fixed(&fixed, record, &label);
        GPIOR0 = 2;
    }
    if (status == SEFR_OK) tell_line(PSTR("answer "), label);
    else tell_line(PSTR("status "), (uint8_t)status);
}

static void learn(void) {
    const uint8_t label = get_number();
    sefr_status status;
    get_record();
    GPIOR0 = 1;
    status = sefr_learn(&model, record, label);
    GPIOR0 = 2;
    tell_line(PSTR("status "), (uint8_t)status);
}

static void solve(void) {
    sefr_status status;
    GPIOR0 = 1;
    status = sefr_solve(&model);
    GPIOR0 = 2;
    tell_line(PSTR("status "), (uint8_t)status);
}

int main(void) {
    UCSR0A = _BV(U2X0); /* 2 million baud: a byte in 80 cycles */
    UCSR0B = _BV(RXEN0) | _BV(TXEN0);
    GPIOR0 = 1;
    GPIOR0 = 2;
    if (!begin()) {
        tell(PSTR("status 5\n"));
        for (;;) {
        }
    }
    for (;;) {
        switch (get()) {
        case '?':
            tell(PSTR("sefr "));
            for (uint8_t i = 4; i--;) tell_byte(NULL, (uint8_t)(model.id >> (8 * i)));
            put(' ');
            tell_number(model.features);
            put(' ');
            tell_number(model.classes);
            tell(PSTR(" uint8\n"));
            break;
        case 'c': classify(); break;
        case 't':
            if (mode & LEARNS) learn();
            break;
        case 's':
            if (mode & LEARNS) solve();
            break;
        case 'x':
            if (!(mode & LEARNS)) break;
            tell(PSTR("state "));
            sefr_send(&model, tell_byte, NULL);
            put('\n');
            break;
        }
    }
}
