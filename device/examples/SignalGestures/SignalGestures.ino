// Learns two gestures from the raw signal of an accelerometer with analog outputs (ADXL335: x, y, z at A0, A1, A2).
// Hold button 2 (to ground) while making the first gesture for some seconds, then button 3 for the second; from then on
// the serial monitor (115200 baud) shows which one it is: 0, 1 or "don't know". Nothing was trained before.
#include <sefr.h>
#include <sefr_signal.h>

enum { AXES = 3, LENGTH = 32, HOP = 16, KERNELS = 21 };
const unsigned long INTERVAL = 20000;  // microseconds: 50 samples per second

static const uint8_t DILATIONS[] = {1, 3};
static const int16_t RANGES[][2] = {{0, 1023}, {0, 1023}, {0, 1023}};
SEFR_SIGNAL(sampled, AXES, LENGTH, HOP, DILATIONS, KERNELS, 1, 0, RANGES)
SEFR_MODEL(model, SEFR_SIGNAL_FEATURES(AXES, sizeof DILATIONS, KERNELS, 1, 0), 2)

void setup() {
    Serial.begin(115200);
    pinMode(2, INPUT_PULLUP);
    pinMode(3, INPUT_PULLUP);
    sefr_reset(&model);
    model.options = SEFR_BALANCED;
    sefr_signal_reset(&sampled);
}

void loop() {
    static unsigned long last = 0;
    int16_t sample[AXES];
    uint8_t label;
    bool learned = false;
    unsigned long now = micros();
    if (now - last < INTERVAL) return;
    if (now - last > 2 * INTERVAL) sefr_signal_reset(&sampled);  // a window must not reach over a gap
    last = now - last < 2 * INTERVAL ? last + INTERVAL : now;
    for (uint8_t axis = 0; axis < AXES; axis++) sample[axis] = analogRead(A0 + axis);
    if (!sefr_signal_add(&sampled, sample)) return;
    if (sampled.clipped > AXES * LENGTH / 8) {
        Serial.println(F("don't know"));  // the sensor is saturated
        return;
    }
    for (label = 0; label < 2; label++) {
        if (digitalRead(2 + label) == HIGH) continue;
        sefr_learn(&model, sampled.record, label);
        learned = true;
    }
    if (learned) sefr_solve(&model);
    if (sefr_classify(&model, sampled.record, &label) == SEFR_OK) Serial.println(label);
}
