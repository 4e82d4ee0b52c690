// Classifies with weights in flash: no RAM but the record. sefr.device.export(clf, "arduino", ...) writes such a sketch
// for a model trained on a computer; these weights compare the first two analog inputs with the last two.
#include <sefr.h>
#include <sefr_pins.h>

static const sefr_weight weights[] SEFR_FLASH = {127, 127, -127, -127};
static const sefr_score bias[] SEFR_FLASH = {0};
static const sefr_fixed model = {4, 2, weights, bias, 0};

void setup() {
    Serial.begin(115200);
    sefr_pins_begin();
}

void loop() {
    uint8_t record[4], label;
    for (uint8_t i = 0; i < 4; i++) record[i] = sefr_byte(sefr_analog(i), 0, 1023);
    sefr_classify_fixed(&model, record, &label);
    Serial.println(label ? F("the first two are higher") : F("the last two are higher, or none"));
    delay(200);
}
