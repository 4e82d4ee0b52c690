/* Start-up for RISC-V in QEMU; minstret counts instructions itself. */
#include "semihosting.h"

extern uint32_t image_bss, image_bss_end, image_stack_top;
extern uint8_t image_data_end;
__attribute__((used)) void boot(void);

static long semihost(long operation, const void *argument) {
    register long a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n.option push\n.option norvc\n slli x0,x0,0x1f\n ebreak\n srai x0,x0,7\n.option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

static uint32_t ticks(void) {
    uint32_t value;
    __asm__ volatile("csrr %0, minstret" : "=r"(value));
    return value;
}

__asm__(".section .vectors,\"ax\"\n.global _start\n_start: la sp,image_stack_top\n call boot\n1: j 1b\n.text");

void boot(void) {
    uint32_t *word;
    uint8_t *paint, *here = (uint8_t *)__builtin_frame_address(0) - 64;
    for (paint = &image_harness; paint < &image_harness_end; paint++) *paint = 0;
    for (word = &image_bss; word < &image_bss_end; word++) *word = 0;
    for (paint = &image_data_end; paint < here; paint++) *paint = PAINT;
    start(65536, &image_data_end, here);
    semihost(SYS_EXIT, (const void *)0x20026);
    for (;;) {
    }
}
