// Learns two situations from six analog inputs, and tells them apart from then on.
// Hold button 2 (to ground) in the first situation and button 3 in the second; a few seconds each are enough. What was
// learned is kept in the EEPROM. The serial monitor (115200 baud) shows the class.
#include <sefr.h>
#include <sefr_eeprom.h>
#include <sefr_pins.h>

SEFR_MODEL(model, 6, 2)
SEFR_EEPROM(storage, SEFR_EEPROM_BYTES)
#ifdef SEFR_HAS_EEPROM
SEFR_CHECK_STORAGE(model, SEFR_STATE_BYTES(6, 2, 0), SEFR_EEPROM_BYTES)
#endif

static uint8_t record[6];

static void readSensors() {
    for (uint8_t i = 0; i < 6; i++) record[i] = sefr_byte(sefr_analog(i), 0, 1023);
}

void setup() {
    Serial.begin(115200);
    sefr_pins_begin();
    sefr_reset(&model);
    model.options = SEFR_BALANCED;  // a button held longer does not move the border
    model.id = 1;                   // another number when the inputs or the situations change
    sefr_eeprom_begin(&storage);
    if (sefr_restore(&model, &storage) == SEFR_OK) sefr_solve(&model);
}

void loop() {
    static bool learned = false;
    bool pressed = false;
    uint8_t label;
    readSensors();
    for (uint8_t i = 0; i < 2; i++) {
        if (sefr_button(i)) {
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
