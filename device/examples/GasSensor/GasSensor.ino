// Tells clean air from gas with two sensors of the MQ kind at A0 and A1, and says when it does not know.
// Clean air drifts with weather and age: type n now and then, and the board learns that this is clean air, while what is
// long ago counts less and less. Type g while there is gas. LED: gas.
#include <sefr.h>
#include <sefr_pins.h>

SEFR_MODEL(model, 4, 2)

enum { CLEAN = 0, GAS = 1 };

static void readSensors(uint8_t *record) {
    for (uint8_t i = 0; i < 2; i++) {
        record[2 * i] = sefr_byte(sefr_analog(i), 0, 1023);
        record[2 * i + 1] = 255 - record[2 * i];  // high in clean air
    }
}

void setup() {
    Serial.begin(115200);
    sefr_pins_begin();
    model.half_life = 32;  // the means follow the last 32 to 64 records of each class
    model.options = SEFR_BALANCED;
    sefr_reset(&model);
    model.margin = 3000;  // scores nearer to the border are "not sure"
}

void loop() {
    uint8_t record[4], label = CLEAN;
    readSensors(record);
    int command = Serial.read();
    if (command == 'n' || command == 'g') {
        sefr_learn(&model, record, command == 'g' ? GAS : CLEAN);
        sefr_solve(&model);
    }
    sefr_status status = sefr_classify(&model, record, &label);
    sefr_led(status == SEFR_OK && label == GAS);
    if (status == SEFR_OK) {
        Serial.println(label == GAS ? F("gas") : F("clean"));
    } else {
        Serial.println(status == SEFR_UNKNOWN ? F("not sure") : F("type n in clean air and g in gas first"));
    }
    delay(100);
}
