/* Pins of boards with an Arduino core (C++), for the examples and exported sketches: analog inputs, buttons and the LED, as
 * far as a board has them.
 *
 *     sefr_pins_begin();                       // in setup
 *     int value = sefr_analog(0);              // 0 .. 1023, on every board; 0 of an input that it does not have
 *     if (sefr_button(1)) ...                  // held to ground
 *     sefr_led(true);
 */
#ifndef SEFR_PINS_H
#define SEFR_PINS_H

#include <Arduino.h>

/* The original ESP32 has no A1 and A2; ADC1 goes on reading beside WiFi, ADC2 does not. */
static const uint8_t SEFR_ANALOG[] = {
#if defined(ARDUINO_ARCH_ESP32) && defined(CONFIG_IDF_TARGET_ESP32)
    36, 39, 34, 35, 32, 33
#elif defined(ARDUINO_ARCH_ESP8266)
    A0
#elif defined(ARDUINO_ARCH_ESP32) || NUM_ANALOG_INPUTS >= 6
    A0, A1, A2, A3, A4, A5
#elif NUM_ANALOG_INPUTS >= 4
    A0, A1, A2, A3
#else
    A0
#endif
};

/* On ESP chips 2 and 3 are a boot pin and the serial line. */
static const uint8_t SEFR_BUTTONS[4] = {
#if defined(ARDUINO_ARCH_ESP32) && defined(CONFIG_IDF_TARGET_ESP32)
    25, 26, 27, 14
#elif defined(ARDUINO_ARCH_ESP32)
    4, 5, 6, 7
#elif defined(ARDUINO_ARCH_ESP8266)
    5, 4, 14, 12 /* D1, D2, D5, D6 */
#else
    2, 3, 4, 5
#endif
};

static inline int sefr_analog(unsigned int i) { return i < sizeof SEFR_ANALOG ? (int)analogRead(SEFR_ANALOG[i]) : 0; }

static inline bool sefr_button(uint8_t i) { return i < 4 && digitalRead(SEFR_BUTTONS[i]) == LOW; }

static inline void sefr_led(bool on) {
#ifdef LED_BUILTIN
    digitalWrite(LED_BUILTIN, on ? HIGH : LOW);
#else
    (void)on;
#endif
}

static inline void sefr_pins_begin(void) {
#ifdef LED_BUILTIN
    pinMode(LED_BUILTIN, OUTPUT);
#endif
#ifdef ARDUINO_ARCH_ESP32
    analogReadResolution(10); /* 12 bits otherwise; the other cores start with 10 */
#endif
    for (uint8_t i = 0; i < 4; i++) pinMode(SEFR_BUTTONS[i], INPUT_PULLUP);
}

#endif
