/* ESP-IDF: a sensor that calibrates itself, as examples/SelfCalibration, with its state in a partition. In partitions.csv:
 *     sefr, data, 0x40, , 16K
 * read_sensors and reference are yours: the ADC driver, a radio, a serial line. */
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>
#include <stdio.h>

#include "sefr_flash.h"
#include "sefr_regress.h"

enum { INPUTS = 6 };
SEFR_REGRESS(model, INPUTS)

/* Bytes of the sensors: sefr_byte(value, 0, 4095) of each. */
void read_sensors(uint8_t *record);
/* Whether a reference is there, and its number in the unit of the answers. */
int reference(int16_t *number);

void app_main(void) {
    static sefr_storage storage;
    uint8_t record[INPUTS];
    int16_t number;
    int kept = !sefr_flash_partition(&storage, esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, "sefr"));
    model.half_life = 48;
    sefr_regress_reset(&model);
    model.id = 2101;
    if (kept) (void)sefr_regress_restore(&model, &storage);
    for (;;) {
        read_sensors(record);
        if (reference(&number)) {
            sefr_regress_learn(&model, record, number);
            sefr_regress_solve(&model);
            if (kept && sefr_regress_save(&model, &storage) != SEFR_OK) printf("not saved\n");
        }
        if (sefr_regress_answer(&model, record, &number) == SEFR_OK) printf("%d\n", (int)number);
        vTaskDelay(pdMS_TO_TICKS(1000));
    }
}
