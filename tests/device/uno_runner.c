/* uno_runner program.elf eeprom seconds events: an Uno with sensors, buttons and a serial line, in simavr.
 * The serial line is standard input and output. `eeprom` is a file that is read before the start and written at the end
 * ("-": none). It runs for `seconds` of the board's time; 0: until standard input ends, no faster than a real board.
 * `events` ("-": none) has lines in order of time: MILLISECONDS adc CHANNEL CODE (0..1023), MILLISECONDS pin NUMBER LEVEL
 * (2..7), MILLISECONDS send TEXT. The level of pin 13 (the LED) is written to standard error as "led MILLISECONDS LEVEL".
 * Exit 1: crash, 2: usage. */
#include <fcntl.h>
#include <poll.h>
#include <simavr/avr_adc.h>
#include <simavr/avr_eeprom.h>
#include <simavr/avr_ioport.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <simavr/sim_io.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HERTZ = 16000000, PER_MS = HERTZ / 1000, PER_BYTE = HERTZ / 11520, EEPROM_BYTES = 1024, QUEUE = 1 << 16 };

static unsigned char waiting[QUEUE];
static unsigned head, tail;
static int full; /* the chip's own buffer takes no byte now */
static avr_t *avr;

static void quiet(avr_t *self, const int level, const char *format, va_list arguments) {
    (void)self;
    if (level <= LOG_ERROR) vfprintf(stderr, format, arguments);
}

static void put(struct avr_irq_t *irq, uint32_t value, void *param) {
    unsigned char byte = (unsigned char)value;
    (void)irq, (void)param;
    if (write(1, &byte, 1) != 1) exit(0); /* nobody listens any more */
}

static void on(struct avr_irq_t *irq, uint32_t value, void *param) { (void)irq, (void)value, (void)param, full = 0; }
static void off(struct avr_irq_t *irq, uint32_t value, void *param) { (void)irq, (void)value, (void)param, full = 1; }

static void led(struct avr_irq_t *irq, uint32_t value, void *param) {
    (void)irq, (void)param;
    fprintf(stderr, "led %llu %u\n", (unsigned long long)(avr->cycle / PER_MS), value & 1U);
}

static void queue(unsigned char byte) {
    waiting[tail++ % QUEUE] = byte;
}

/* Standard input, without waiting; 0: it has ended. */
static int listen_once(void) {
    struct pollfd line = {0, POLLIN, 0};
    unsigned char bytes[256];
    ssize_t n, i;
    if (tail - head > QUEUE - sizeof bytes || poll(&line, 1, 0) <= 0) return 1;
    n = read(0, bytes, sizeof bytes);
    for (i = 0; i < n; i++) queue(bytes[i]);
    return n > 0;
}

static void happen(char *line) {
    unsigned number, level;
    char *text = strstr(line, " send ");
    if (text) {
        for (text += 6; *text && *text != '\n'; text++) queue((unsigned char)*text);
        queue('\n');
    } else if (sscanf(line, "%*u adc %u %u", &number, &level) == 2) {
        /* the smallest voltage that simavr turns into this code */
        avr_raise_irq(avr_io_getirq(avr, AVR_IOCTL_ADC_GETIRQ, (int)(ADC_IRQ_ADC0 + number)), (level * 5000U + 1022U) / 1023U);
    } else if (sscanf(line, "%*u pin %u %u", &number, &level) == 2) {
        avr_raise_irq(avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ('D'), (int)number), level);
    }
}

static void eeprom_file(const char *path, int save) {
    static unsigned char bytes[EEPROM_BYTES];
    avr_eeprom_desc_t all = {bytes, 0, EEPROM_BYTES};
    FILE *file = strcmp(path, "-") ? fopen(path, save ? "wb" : "rb") : NULL;
    if (!file) return;
    if (save) {
        avr_ioctl(avr, AVR_IOCTL_EEPROM_GET, &all);
        fwrite(bytes, 1, sizeof bytes, file);
    } else if (fread(bytes, 1, sizeof bytes, file) == sizeof bytes) {
        avr_ioctl(avr, AVR_IOCTL_EEPROM_SET, &all);
    }
    fclose(file);
}

static void keep_pace(const struct timespec *start) {
    struct timespec now, rest = {0, 1000000};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((double)avr->cycle / HERTZ > (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9) {
        nanosleep(&rest, NULL);
    }
}

static int run(double seconds, FILE *events) {
    avr_irq_t *input = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
    char line[QUEUE / 4] = "";
    avr_cycle_count_t next_byte = 0, next_look = 0, end = (avr_cycle_count_t)(seconds * HERTZ);
    int state = cpu_Running, open = 1, more = events && fgets(line, sizeof line, events);
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (state != cpu_Done && state != cpu_Crashed && (end ? avr->cycle < end : open)) {
        while (more && avr->cycle >= strtoull(line, NULL, 10) * PER_MS) {
            happen(line);
            more = fgets(line, sizeof line, events) != NULL;
        }
        if (head != tail && !full && avr->cycle >= next_byte) {
            avr_raise_irq(input, waiting[head++ % QUEUE]);
            next_byte = avr->cycle + PER_BYTE;
        }
        if (!end && avr->cycle >= next_look) {
            open = listen_once();
            keep_pace(&start);
            next_look = avr->cycle + PER_MS;
        }
        state = avr_run(avr);
    }
    return state == cpu_Crashed;
}

int main(int argc, char **argv) {
    static elf_firmware_t firmware;
    uint32_t flags = 0;
    int pin, failed;
    FILE *events;
    if (argc != 5) return 2;
    avr_global_logger_set(quiet);
    if (elf_read_firmware(argv[1], &firmware) || !(avr = avr_make_mcu_by_name("atmega328p"))) return 2;
    events = strcmp(argv[4], "-") ? fopen(argv[4], "r") : NULL;
    avr_init(avr);
    avr->frequency = HERTZ;
    avr->vcc = avr->avcc = avr->aref = 5000;
    avr_load_firmware(avr, &firmware);
    eeprom_file(argv[2], 0);
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags); /* no echo, no sleeping of its own */
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), put, NULL);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUT_XON), on, NULL);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUT_XOFF), off, NULL);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ('B'), 5), led, NULL);
    for (pin = 2; pin < 8; pin++) avr_raise_irq(avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ('D'), pin), 1);
    failed = run(atof(argv[3]), events);
    eeprom_file(argv[2], 1);
    return failed;
}
