// Learns two situations from six analog inputs, and tells them apart from then on.
// Hold button 2 (to ground) in the first situation and button 3 in the second; a few seconds each are enough. What was
// learned is kept in the EEPROM. The serial monitor (115200 baud) shows the class.
#include <EEPROM.h>
#include <sefr.h>

const uint8_t BUTTONS[2] = {2, 3};
SEFR_MODEL(model, 6, 2)

static uint8_t record[6];

static uint8_t readEeprom(void *, uint32_t address) { return EEPROM.read((int)address); }
static int writeEeprom(void *, uint32_t address, uint8_t value) {
    EEPROM.update((int)address, value);
    return 0;
}
static const sefr_storage storage = {readEeprom, writeEeprom, 0, 1024};

static void readSensors() {
    for (uint8_t i = 0; i < 6; i++) record[i] = sefr_byte(analogRead(A0 + i), 0, 1023);
}

void setup() {
    Serial.begin(115200);
    for (uint8_t i = 0; i < 2; i++) pinMode(BUTTONS[i], INPUT_PULLUP);
    sefr_reset(&model);
    if (sefr_restore(&model, &storage) == SEFR_OK) sefr_solve(&model);
}

void loop() {
    static bool learned = false;
    bool pressed = false;
    uint8_t label;
    readSensors();
    for (uint8_t i = 0; i < 2; i++) {
        if (digitalRead(BUTTONS[i]) == LOW) {
            sefr_learn(&model, record, i);
            pressed = learned = true;
        }
    }
    if (learned && !pressed) {  // a button was let go
        learned = false;
        if (sefr_solve(&model) == SEFR_OK) sefr_save(&model, &storage);
    }
    if (sefr_classify(&model, record, &label) == SEFR_OK) {
        Serial.println(label);
    } else {
        Serial.println(F("hold each button in its situation first"));
    }
    delay(50);
}
