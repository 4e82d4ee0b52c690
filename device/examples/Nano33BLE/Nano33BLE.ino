// Nano 33 BLE (Sense, first revision): learns three movements with its own accelerometer; no wires but USB.
//
// Needs the library Arduino_LSM9DS1 (library manager). Type 0, 1 or 2 (115200 baud) and make that movement for four seconds;
// teach each twice. From then on the class is shown for every window of half a second. The core has no EEPROM, so that what
// was learned is gone after a restart.
// The Serial Plotter draws the three axes in hundredths of g, and the class times 100.
#include <Arduino_LSM9DS1.h>
#include <sefr_class.h>
#include <sefr_window.h>

enum { AXES = 3, LENGTH = 52, HOP = 26, FEATURES = SEFR_WINDOW_FEATURES(AXES), CLASSES = 3 };  // 104 samples per second
SEFR_WINDOW(window, AXES, LENGTH, HOP)
static Sefr<2 * FEATURES, CLASSES> model;

// The range of each of the seven features for hundredths of g within 4 g.
static const int32_t LOW_END[7] = {-200, 0, -400, -400, 0, 0, 0};
static const int32_t HIGH_END[7] = {200, 20000, 400, 400, LENGTH, 40000, 400};

// Reads and shows a sample; whether it ended a window, whose features are then the record.
static bool endsWindow(const float *g, uint8_t *record) {
    int16_t codes[AXES];
    int32_t features[FEATURES];
    for (uint8_t i = 0; i < AXES; i++) {
        codes[i] = (int16_t)(100 * g[i]);
        Serial.print(i == 0 ? F("x:") : i == 1 ? F(" y:") : F(" z:"));
        Serial.print(codes[i]);
    }
    if (!sefr_window_add(&window, codes)) return false;
    sefr_window_features(&window, features);
    for (uint8_t i = 0; i < FEATURES; i++) {
        record[i] = sefr_byte(features[i], LOW_END[i % 7], HIGH_END[i % 7]);
        record[FEATURES + i] = 255 - record[i];  // high where there is little of it: stillness has features too
    }
    return true;
}

void setup() {
    Serial.begin(115200);
    model.begin();
    while (!IMU.begin()) delay(1000);
}

void loop() {
    static int8_t taught = -1;
    static unsigned long until = 0;
    static uint8_t label = 0;
    uint8_t record[2 * FEATURES];
    float g[AXES];
    int typed = Serial.read();
    if (typed >= '0' && typed < '0' + CLASSES) {
        taught = (int8_t)(typed - '0');
        until = millis() + 4000;
    }
    if (!IMU.accelerationAvailable() || !IMU.readAcceleration(g[0], g[1], g[2])) return;
    if (endsWindow(g, record)) {
        if (taught >= 0 && (long)(until - millis()) > 0) {
            model.learn(record, (uint8_t)taught);
            model.solve();
        }
        model.classify(record, &label);
    }
    Serial.print(F(" class:"));
    Serial.println(100 * label);
}
