// A sensor that calibrates itself: cheap sensors at the analog inputs, and now and then the number that they should show.
// Send r and the number of a reference (an analyser beside it, a thermometer) and the board learns it with what its sensors
// show now: r215. Every second it answers in the same unit. What is older counts less and less, so that the answers follow
// ageing sensors. w keeps what was learned over a restart. The Serial Plotter (115200 baud) draws answer and reference.
#include <sefr_eeprom.h>
#include <sefr_pins.h>
#include <sefr_regress.h>

enum { INPUTS = 6 };
SEFR_REGRESS(model, INPUTS)
SEFR_EEPROM(storage, SEFR_EEPROM_BYTES)
#ifdef SEFR_HAS_EEPROM
SEFR_CHECK_STORAGE(model, SEFR_REGRESS_STATE_BYTES(INPUTS), SEFR_EEPROM_BYTES)
#endif

static int16_t reference = 0;

static void readSensors(uint8_t *record) {
    for (uint8_t i = 0; i < INPUTS; i++) record[i] = sefr_byte(sefr_analog(i), 0, 1023);
}

// A number to the end of the line; false where it is none.
static bool readNumber(int16_t *number) {
    char text[8];
    size_t n = Serial.readBytesUntil('\n', text, sizeof text - 1);
    char *end;
    text[n] = 0;
    long value = strtol(text, &end, 10);
    while (*end == '\r' || *end == ' ') end++;
    if (end == text || *end || value < -32768 || value > 32767) return false;
    *number = (int16_t)value;
    return true;
}

void setup() {
    Serial.begin(115200);
    sefr_pins_begin();
    model.half_life = 48;  // from 96 records on, what came before counts half
    sefr_regress_reset(&model);
    model.id = 2101;  // another number when the inputs or the unit change
    sefr_eeprom_begin(&storage);
    sefr_regress_restore(&model, &storage);
}

void loop() {
    static unsigned long last = 0;
    uint8_t record[INPUTS];
    int16_t answer;
    int command = Serial.read();
    if (command == 'r' && readNumber(&reference)) {
        readSensors(record);
        sefr_regress_learn(&model, record, reference);
        sefr_regress_solve(&model);  // a tenth of a second on an Uno
    } else if (command == 'w') {
        Serial.println(sefr_regress_save(&model, &storage) == SEFR_OK ? F("saved") : F("not saved"));
    }
    if (millis() - last < 1000) return;
    last = millis();
    readSensors(record);
    if (sefr_regress_answer(&model, record, &answer) != SEFR_OK) {
        Serial.println(F("send two references first, as r215"));
        return;
    }
    Serial.print(F("answer:"));
    Serial.print(answer);
    Serial.print(F(" reference:"));
    Serial.println(reference);
}
