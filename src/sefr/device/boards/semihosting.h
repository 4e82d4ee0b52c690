/* The board's world over Arm semihosting, which QEMU offers on Cortex-M and RISC-V alike: the files input, output
 * and report of the working directory. A port gives semihost(), ticks() and calls start() with a painted stack. */
#include "board.h"

#include <stddef.h>

enum { SYS_OPEN = 1, SYS_WRITE = 5, SYS_READ = 6, SYS_EXIT = 0x18, MARKS = 256, CHUNK = 256, PAINT = 0xC5 };

static long semihost(long operation, const void *argument);
static uint32_t ticks(void);
int main(void);

/* What a board in the world would not have is kept apart, so that it does not count as the program's RAM. */
extern uint8_t image_harness, image_harness_end;
static struct {
    uint8_t in[CHUNK], out[CHUNK];
    size_t in_at, in_end, out_at;
    long in_file, out_file;
    uint32_t marks[MARKS], mark_count;
} harness __attribute__((section(".harness")));

static long open_file(const char *name, size_t length, long mode) {
    const void *block[3];
    block[0] = name;
    block[1] = (const void *)mode;
    block[2] = (const void *)length;
    return semihost(SYS_OPEN, block);
}

static long transfer(long operation, long file, const void *bytes, size_t length) {
    const void *block[3];
    block[0] = (const void *)file;
    block[1] = bytes;
    block[2] = (const void *)length;
    return semihost(operation, block);
}

uint8_t board_get(void) {
    if (harness.in_at == harness.in_end) {
        long left = transfer(SYS_READ, harness.in_file, harness.in, CHUNK);
        harness.in_at = 0;
        harness.in_end = CHUNK - (size_t)left;
        if (harness.in_end == 0) return 0;
    }
    return harness.in[harness.in_at++];
}

static void flush(void) {
    transfer(SYS_WRITE, harness.out_file, harness.out, harness.out_at);
    harness.out_at = 0;
}

void board_put(uint8_t value) {
    harness.out[harness.out_at++] = value;
    if (harness.out_at == CHUNK) flush();
}

void board_mark(void) {
    if (harness.mark_count < MARKS) harness.marks[harness.mark_count++] = ticks();
}

/* Untouched paint above the data, below the stack. */
static uint32_t untouched(const uint8_t *first, const uint8_t *last) {
    uint32_t n = 0;
    for (; first < last && *first == PAINT; first++) n++;
    return n;
}

/* The report: calibration, untouched bytes, bytes of the harness, marks; little-endian words. */
static void start(uint32_t calibration, const uint8_t *free_first, const uint8_t *free_last) {
    uint32_t head[3];
    long report;
    harness.in_file = open_file("input", 5, 1);
    harness.out_file = open_file("output", 6, 5);
    main();
    flush();
    head[0] = calibration;
    head[1] = untouched(free_first, free_last);
    head[2] = (uint32_t)(&image_harness_end - &image_harness);
    report = open_file("report", 6, 5);
    transfer(SYS_WRITE, report, head, sizeof head);
    transfer(SYS_WRITE, report, harness.marks, harness.mark_count * sizeof harness.marks[0]);
}
