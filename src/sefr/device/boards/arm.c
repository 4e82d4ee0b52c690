/* Start-up for Cortex-M in QEMU. SysTick counts virtual time; with -icount a loop of known length calibrates it. */
#include "semihosting.h"

extern uint32_t image_bss, image_bss_end, image_stack_top;
extern uint8_t image_data_end;
void reset(void);

static long semihost(long operation, const void *argument) {
    register long r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

#define ICSR (*(volatile uint32_t *)0xE000ED04)
#define SYST_CSR (*(volatile uint32_t *)0xE000E010)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018)

/* SysTick has 24 bits; its interrupt counts how often they are through. */
static volatile uint32_t rounds;

static void count_round(void) { rounds++; }

static uint32_t ticks(void) {
    uint32_t before, now, waiting;
    do {
        before = rounds;
        now = 0xFFFFFF - SYST_CVR;
        waiting = ICSR >> 26 & 1; /* the interrupt is due, but was not taken yet */
    } while (before != rounds);
    return ((before + (waiting && now < 0x800000)) << 24) | now;
}

/* Ticks of 65536 instructions. */
static uint32_t calibrate(void) {
    uint32_t begin = ticks(), turns = 32768;
    __asm__ volatile(".syntax unified\n1: subs %0,%0,#1\n bne 1b" : "+l"(turns) : : "cc");
    return ticks() - begin;
}

void reset(void) {
    uint32_t *word;
    uint8_t *paint, *here = (uint8_t *)__builtin_frame_address(0) - 64;
    for (paint = &image_harness; paint < &image_harness_end; paint++) *paint = 0;
    for (word = &image_bss; word < &image_bss_end; word++) *word = 0;
    for (paint = &image_data_end; paint < here; paint++) *paint = PAINT;
    SYST_RVR = 0xFFFFFF;
    SYST_CVR = 0;
    SYST_CSR = 7;
    start(calibrate(), &image_data_end, here);
    semihost(SYS_EXIT, (const void *)0x20026);
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &image_stack_top, (const void *)reset, (const void *)reset, (const void *)reset, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    (const void *)count_round};
