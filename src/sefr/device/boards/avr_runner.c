/* avr_runner program.elf mcu input output limit: runs an AVR program in simavr until it sleeps without interrupts.
 * GPIOR2 gives bytes of the input, GPIOR1 takes bytes of the output, a write to GPIOR0 is a mark. Prints
 * "mark <cycle>" lines, then "cycles <n>", "sram <bytes ever written>". SRAM is painted before the start, so a stack
 * that grew into the data shows as sram equal to the size of the chip's. Exit 1: crash, 3: cycle limit. */
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <simavr/sim_io.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAINT = 0xC5 };
/* The addresses of GPIOR0, 1, 2 in the data space. */
static const unsigned mega[3] = {0x3E, 0x4A, 0x4B}, tiny[3] = {0x31, 0x32, 0x33};

static FILE *input, *output;

static void mark(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    (void)address, (void)value, (void)param;
    printf("mark %llu\n", (unsigned long long)avr->cycle);
}

static uint8_t get(avr_t *avr, avr_io_addr_t address, void *param) {
    int c = fgetc(input);
    (void)avr, (void)address, (void)param;
    return c == EOF ? 0 : (uint8_t)c;
}

static void put(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    (void)avr, (void)address, (void)param;
    fputc(value, output);
}

static void quiet(avr_t *avr, const int level, const char *format, va_list arguments) {
    (void)avr;
    if (level <= LOG_ERROR) vfprintf(stderr, format, arguments);
}

/* The longest run of paint is what neither data, heap nor stack touched. */
static unsigned touched(const avr_t *avr, unsigned first, unsigned last) {
    unsigned i, run = 0, longest = 0;
    for (i = first; i <= last; i++) {
        run = avr->data[i] == PAINT ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    return last - first + 1 - longest;
}

int main(int argc, char **argv) {
    elf_firmware_t firmware;
    avr_t *avr;
    int state = cpu_Running;
    unsigned first, i;
    const unsigned *gpior;
    avr_cycle_count_t limit;
    if (argc != 6) return 2;
    memset(&firmware, 0, sizeof firmware);
    avr_global_logger_set(quiet);
    input = fopen(argv[3], "rb");
    output = fopen(argv[4], "wb");
    limit = strtoull(argv[5], NULL, 10);
    if (!input || !output || elf_read_firmware(argv[1], &firmware)) return 2;
    avr = avr_make_mcu_by_name(argv[2]);
    if (!avr) return 2;
    avr_init(avr);
    avr->frequency = 16000000;
    avr_load_firmware(avr, &firmware);
    gpior = strncmp(argv[2], "attiny", 6) ? mega : tiny;
    avr_register_io_write(avr, gpior[0], mark, NULL);
    avr_register_io_write(avr, gpior[1], put, NULL);
    avr_register_io_read(avr, gpior[2], get, NULL);
    first = avr->ioend + 1U;
    for (i = first; i <= avr->ramend; i++) avr->data[i] = PAINT;
    while (state != cpu_Done && state != cpu_Crashed && avr->cycle < limit) state = avr_run(avr);
    printf("cycles %llu\nsram %u\n", (unsigned long long)avr->cycle, touched(avr, first, avr->ramend));
    fclose(output);
    return state == cpu_Crashed ? 1 : state == cpu_Done ? 0 : 3;
}
