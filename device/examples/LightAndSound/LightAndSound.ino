// Tells situations in a room apart by light and sound: a photoresistor at A0, a microphone module at A1.
// The loudness is the spread of 64 readings, since the signal of a microphone swings around its middle.
// Hold button 2, 3 or 4 (to ground) for a few seconds in each of three situations. The serial monitor (115200 baud) then
// shows the situation. Type w to keep what was learned over a restart.
#include <sefr.h>
#include <sefr_eeprom.h>
#include <sefr_pins.h>

SEFR_MODEL(model, 3, 3)
SEFR_EEPROM(storage, SEFR_EEPROM_BYTES)
#ifdef SEFR_HAS_EEPROM
SEFR_CHECK_STORAGE(model, SEFR_STATE_BYTES(3, 3, 0), SEFR_EEPROM_BYTES)
#endif

static const char *const NAMES[3] = {"dark and quiet", "bright and quiet", "loud"};

// Light, darkness, loudness. Darkness is light turned around: SEFR compares means, so a class that is known by a low
// value needs a feature that is high there.
static void readSensors(uint8_t *record) {
    int light = sefr_analog(0), low = 1023, high = 0;
    for (uint8_t i = 0; i < 64; i++) {
        int sound = sefr_analog(1);
        if (sound < low) low = sound;
        if (sound > high) high = sound;
    }
    record[0] = sefr_byte(light, 0, 1023);
    record[1] = 255 - record[0];
    record[2] = sefr_byte(high - low, 0, 512);
}

void setup() {
    Serial.begin(115200);
    sefr_pins_begin();
    sefr_reset(&model);
    model.options = SEFR_BALANCED;  // a button held longer does not move the border
    model.id = 3001;
    sefr_eeprom_begin(&storage);
    if (sefr_restore(&model, &storage) == SEFR_OK) sefr_solve(&model);
}

void loop() {
    uint8_t record[3], label;
    readSensors(record);
    for (label = 0; label < 3; label++) {
        if (sefr_button(label)) sefr_learn(&model, record, label);
    }
    sefr_solve(&model);
    if (Serial.read() == 'w') Serial.println(sefr_save(&model, &storage) == SEFR_OK ? F("saved") : F("not saved"));
    if (sefr_classify(&model, record, &label) == SEFR_OK) {
        Serial.println(NAMES[label]);
    } else {
        Serial.println(F("hold each button in its situation first"));
    }
    delay(100);
}
