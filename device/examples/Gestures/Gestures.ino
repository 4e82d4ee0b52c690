// Learns movements from an accelerometer with analog outputs (ADXL335: x, y, z at A0, A1, A2), by windows of 32 samples.
// Hold button 2, 3 or 4 (to ground) while making each of three movements for some seconds; then the serial monitor
// (115200 baud) shows the number of the movement. The features are those of sefr.device.windows.
#include <sefr.h>
#include <sefr_pins.h>
#include <sefr_window.h>

enum { AXES = 3, FEATURES = SEFR_WINDOW_FEATURES(AXES) };

SEFR_WINDOW(window, AXES, 32, 16)
SEFR_MODEL(model, 2 * FEATURES, 3)

// The range of each of the seven features for codes of 10 bits; variance and energy end where movements do.
static const int32_t LOW_END[7] = {0, 0, 0, 0, 0, 200000, 0};
static const int32_t HIGH_END[7] = {1023, 20000, 1023, 1023, 31, 400000, 200};

static bool readSensors(uint8_t *record) {
    int16_t sample[AXES];
    int32_t features[FEATURES];
    for (uint8_t axis = 0; axis < AXES; axis++) sample[axis] = sefr_analog(axis);
    if (!sefr_window_add(&window, sample)) return false;
    sefr_window_features(&window, features);
    for (uint8_t i = 0; i < FEATURES; i++) {
        record[i] = sefr_byte(features[i], LOW_END[i % 7], HIGH_END[i % 7]);
        record[FEATURES + i] = 255 - record[i];  // high where there is little of it: stillness has features too
    }
    return true;
}

void setup() {
    Serial.begin(115200);
    sefr_pins_begin();
    sefr_reset(&model);
    model.options = SEFR_BALANCED;
}

void loop() {
    static unsigned long last = 0;
    uint8_t record[2 * FEATURES], label;
    if (millis() - last < 10) return;  // 100 samples per second
    last = millis();
    if (!readSensors(record)) return;
    for (label = 0; label < 3; label++) {
        if (sefr_button(label)) sefr_learn(&model, record, label);
    }
    sefr_solve(&model);
    if (sefr_classify(&model, record, &label) == SEFR_OK) Serial.println(label);
}
