// Raspberry Pi Pico (arduino-pico): a thermistor becomes a thermometer by being told the temperature a few times.
//
// Wiring: 10 kilohm from 3V3 to GP26 (A0), a 10 kilohm thermistor from GP26 to ground. Type the temperature in tenths of a
// degree and Enter (215 for 21.5) at a dozen temperatures: tap water, ice, your hand. Its curve is learned by nine hats, each
// for a part of the range, and answered between them. w keeps it in the flash of the Pico.
// The Serial Plotter (115200 baud) draws the temperature. On an Uno: the same, at A0 and 5 V.
#include <sefr_eeprom.h>
#include <sefr_pins.h>
#include <sefr_regress.h>

enum { HATS = 9 };
SEFR_REGRESS(curve, HATS)
SEFR_EEPROM(storage, SEFR_EEPROM_BYTES)
#ifdef SEFR_HAS_EEPROM
SEFR_CHECK_STORAGE(curve, SEFR_REGRESS_STATE_BYTES(HATS), SEFR_EEPROM_BYTES)
#endif

static void readHats(uint8_t *record) {
    long sum = 0;
    for (uint8_t i = 0; i < 16; i++) sum += sefr_analog(0);
    sefr_regress_hats(sefr_byte(sum / 16, 0, 1023), HATS, record);
}

static void obey(char *line, const uint8_t *record) {
    char *end;
    long tenths = strtol(line, &end, 10);
    if (end != line && *end == 0 && tenths >= -500 && tenths <= 1500) {
        sefr_regress_learn(&curve, record, (int16_t)tenths);
        sefr_regress_solve(&curve);
    } else if (line[0] == 'w' && line[1] == 0) {
        Serial.println(sefr_regress_save(&curve, &storage) == SEFR_OK ? F("saved") : F("not saved"));
    } else {
        Serial.println(F("type tenths of a degree, as 215, or w"));
    }
}

void setup() {
    Serial.begin(115200);
    sefr_pins_begin();
    sefr_regress_reset(&curve);
    curve.id = 6101;  // another number when the thermistor changes
    sefr_eeprom_begin(&storage);
    sefr_regress_restore(&curve, &storage);
}

void loop() {
    static char line[8];
    static uint8_t length = 0;
    static unsigned long last = 0;
    uint8_t record[HATS];
    int16_t tenths;
    int typed = Serial.read();
    if (typed == '\n') {
        line[length] = 0;
        length = 0;
        readHats(record);
        obey(line, record);
    } else if (typed > ' ' && length < sizeof line - 1) {
        line[length++] = (char)typed;
    }
    if (millis() - last < 500) return;
    last = millis();
    readHats(record);
    if (sefr_regress_answer(&curve, record, &tenths) != SEFR_OK) return;
    Serial.print(F("degrees:"));
    Serial.println(tenths / 10.0, 1);
}
