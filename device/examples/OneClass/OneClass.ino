// Says when a machine no longer sounds as it did: learns what is normal, and flags the rest. Nothing else is needed.
//
// Wiring: a piezo disc with 1 megohm beside it, or a microphone module, from A0 to ground; a button from pin 2 to ground.
// Hold the button for ten seconds or more while all is well: the first half of it is learned, the second half sets the
// threshold, above which one normal record in a hundred or fewer will lie. Let it go: LED and "alarm" tell what is new.
// The Serial Plotter (115200 baud) draws score, threshold and alarm. w keeps what was learned.
#include <sefr_eeprom.h>
#include <sefr_normal.h>
#include <sefr_pins.h>

enum { SAMPLES = 64, FEATURES = 6 };
SEFR_NORMAL(normal, FEATURES)
SEFR_EEPROM(storage, SEFR_EEPROM_BYTES)
#ifdef SEFR_HAS_EEPROM
SEFR_CHECK_STORAGE(normal, SEFR_NORMAL_STATE_BYTES(FEATURES), SEFR_EEPROM_BYTES)
#endif

// Level and spread of 64 readings, and how much of the movement is at 1, 2, 4 and 8 samples: pitch without a transform.
static void readMachine(uint8_t *record) {
    int16_t sample[SAMPLES];
    long sum = 0, spread = 0;
    for (uint8_t i = 0; i < SAMPLES; i++) sum += sample[i] = (int16_t)sefr_analog(0);
    for (uint8_t i = 0; i < SAMPLES; i++) spread += labs(sample[i] - sum / SAMPLES);
    record[0] = sefr_byte(sum / SAMPLES, 0, 1023);
    record[1] = sefr_byte(spread / SAMPLES, 0, 256);
    for (uint8_t lag = 1, j = 2; lag <= 8; lag *= 2, j++) {
        long moved = 0;
        for (uint8_t i = lag; i < SAMPLES; i++) moved += labs((long)sample[i] - sample[i - lag]);
        record[j] = sefr_byte(moved / (SAMPLES - lag), 0, 256);
    }
}

void setup() {
    Serial.begin(115200);
    sefr_pins_begin();
    sefr_normal_reset(&normal);
    normal.id = 4101;  // another number when the sensor or the features change
    sefr_eeprom_begin(&storage);
    sefr_normal_restore(&normal, &storage);
}

void loop() {
    static uint16_t held = 0;
    uint8_t record[FEATURES];
    uint32_t score = 0;
    readMachine(record);
    if (sefr_button(0)) {
        if (held++ < 100) {
            sefr_normal_learn(&normal, record);
            if (held == 100) sefr_normal_solve(&normal);
        } else {
            sefr_normal_watch(&normal, record);
        }
        delay(50);
        return;
    }
    held = 0;
    if (Serial.read() == 'w') {
        Serial.println(sefr_normal_save(&normal, &storage) == SEFR_OK ? F("saved") : F("not saved"));
    }
    if (sefr_normal_score(&normal, record, &score) != SEFR_OK) {
        Serial.println(F("hold the button for ten seconds while the machine runs well"));
        delay(500);
        return;
    }
    bool alarm = score > normal.threshold;
    sefr_led(alarm);
    Serial.print(F("score:"));
    Serial.print(score);
    Serial.print(F(" threshold:"));
    Serial.print(normal.threshold);
    Serial.print(F(" alarm:"));
    Serial.println(alarm ? normal.threshold : 0);
    delay(50);
}
