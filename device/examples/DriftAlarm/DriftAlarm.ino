// Two situations, and an alarm when the answers are no longer as clear as they were: a sensor aged, came loose, or the world
// changed. No labels are needed for that.
//
// Wiring: sensors at A0 to A3; a button from pin 2 to ground (first situation) and one from pin 3 (second). Hold each for a
// few seconds. Then let it run: the first 16 x 50 answers set the range of "as clear as usual". From then on every 50
// answers are compared with it; LED and "drift" stay on until a button is pressed again.
// The Serial Plotter (115200 baud) draws class, lead and drift.
#include <sefr_class.h>
#include <sefr_drift.h>
#include <sefr_pins.h>

enum { FEATURES = 4 };
static Sefr<FEATURES, 2> model;
static const sefr_drift START = SEFR_DRIFT(50, 16);
static sefr_drift drift = START;
static bool drifted = false;

static void readSensors(uint8_t *record) {
    for (uint8_t i = 0; i < FEATURES; i++) record[i] = sefr_byte(sefr_analog(i), 0, 1023);
}

static bool learnFromButtons(const uint8_t *record) {
    bool pressed = false;
    for (uint8_t i = 0; i < 2; i++) {
        if (!sefr_button(i)) continue;
        model.learn(record, i);
        pressed = true;
    }
    if (!pressed) return false;
    model.solve();
    drift = START;  // what is usual is measured again
    drifted = false;
    return true;
}

void setup() {
    Serial.begin(115200);
    sefr_pins_begin();
    model.begin();
}

void loop() {
    uint8_t record[FEATURES], label = 0;
    sefr_score score;
    readSensors(record);
    if (!learnFromButtons(record) && sefr_scores(&model.c, record, &score) == SEFR_OK) {
        uint32_t lead = sefr_lead(&score, 1);
        model.classify(record, &label);
        if (sefr_drift_watch(&drift, lead) == SEFR_DRIFTED) drifted = true;
        sefr_led(drifted);
        Serial.print(F("class:"));
        Serial.print(label);
        Serial.print(F(" lead:"));
        Serial.print(lead);
        Serial.print(F(" drift:"));
        Serial.println(drifted ? 1 : 0);
    }
    delay(10);
}
