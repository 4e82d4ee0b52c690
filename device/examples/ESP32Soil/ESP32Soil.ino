// ESP32: "water me" or "fine", learned from your own plants, and kept in flash without standing still.
//
// Wiring: a capacitive soil sensor (3.3 V) at GPIO 36 (VP), a photoresistor with 10 kilohm at GPIO 39 (VN), a second soil
// sensor at GPIO 34 if there is one; buttons from GPIO 25 ("fine") and GPIO 26 ("water me") to ground. All three inputs are
// of ADC1, which goes on reading beside WiFi. Hold a button for a second when you judge a plant; what was learned is saved in
// steps when the button is let go, so that the loop, a web server or a radio never waits for the flash.
// The Serial Plotter (115200 baud) draws the three sensors and the answer (0 or 255). On other boards the pins are those of
// sefr_pins.h.
#include <sefr_class.h>
#include <sefr_eeprom.h>
#include <sefr_pins.h>

enum { SENSORS = 3, FEATURES = 2 * SENSORS };
static Sefr<FEATURES, 2> model;
SEFR_EEPROM(storage, SEFR_EEPROM_BYTES)
static sefr_saving saving;
static bool busy = false;

// Each sensor and its opposite: a class that is known by a low value needs a feature that is high there.
static void readSensors(uint8_t *record) {
    for (uint8_t i = 0; i < SENSORS; i++) {
        record[i] = sefr_byte(sefr_analog(i), 0, 1023);
        record[SENSORS + i] = 255 - record[i];
    }
}

void setup() {
    Serial.begin(115200);
    sefr_pins_begin();
    model.begin();
    model.c.id = 5101;  // another number when the sensors or the classes change
    sefr_eeprom_begin(&storage);
    model.restore(storage);
}

void loop() {
    static bool learned = false;
    uint8_t record[FEATURES], label = 0;
    bool pressed = false;
    readSensors(record);
    for (uint8_t i = 0; i < 2; i++) {
        if (!sefr_button(i)) continue;
        model.learn(record, i);
        pressed = learned = true;
        busy = false;  // a save that is under way would not be of this model any more
    }
    if (learned && !pressed && model.solve() == SEFR_OK) {
        learned = false;
        busy = model.saveBegin(storage, saving) == SEFR_BUSY;
    }
    if (busy) {
        sefr_status status = model.saveStep(saving);
        busy = status == SEFR_BUSY;
        if (status == SEFR_OK) Serial.println(F("saved"));
    }
    if (model.classify(record, &label) == SEFR_OK) {
        Serial.print(F("soil:"));
        Serial.print(record[0]);
        Serial.print(F(" light:"));
        Serial.print(record[1]);
        Serial.print(F(" soil2:"));
        Serial.print(record[2]);
        Serial.print(F(" waterMe:"));
        Serial.println(label ? 255 : 0);
        sefr_led(label);
    }
    delay(20);
}
