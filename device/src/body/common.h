/* Shared by the bodies: the loads, and what the switches of sefr.h leave of a model. */
#include "../sefr_avr.h"

#include "calls.h"

/* Constants where a switch leaves no choice, so that the compiler drops the other side. */
#ifdef SEFR_TWO_CLASSES
#define IS_PAIR(model) 1
#else
#define IS_PAIR(model) ((model)->classes == 2)
#endif
#ifdef SEFR_NO_RANGES
#define RANGES_OF(model) ((uint8_t *)0)
#else
#define RANGES_OF(model) ((model)->ranges)
#endif
#ifdef SEFR_NO_LEAN
#define HAS_WEIGHTS(model) 1
#else
#define HAS_WEIGHTS(model) ((model)->weights != 0)
#endif

/* The score of a class without records. */
#define LOWEST_SCORE ((sefr_score)(-2 * (SEFR_MAX_BIAS - 1) - 2))

/* The first sum of a class. */
static sefr_sum *sums_of(const sefr_model *model, uint8_t class_) {
    return model->sums + (sefr_index)class_ * model->features;
}

/* Bytes of a record, the cell of a value, and the most that a record adds to a sum. */
#if SEFR_BINS
#define RECORD_BYTES(model) ((sefr_index)((model)->features / SEFR_BINS))
#define BIN_OF(value) ((uint8_t)((value) / (256U / SEFR_BINS)))
#define MOST_VALUE 1U
#else
#define RECORD_BYTES(model) ((model)->features)
#define MOST_VALUE 255U
#endif

#define ROWS_OF(model) ((uint8_t)(IS_PAIR(model) ? 1 : (model)->classes))

static uint32_t total_count(const sefr_model *model) {
    uint32_t total = 0;
    uint8_t c;
    for (c = 0; c < model->classes; c++) total += model->counts[c];
    return total;
}

#define LOAD_RAM(address) (*(address))
#ifdef __AVR__
#define LOAD_FLASH(address) pgm_read_byte(address)
#endif

/* SEFR_STACK_BYTES of an AVR, as data that nothing touches but the stack: the linker then refuses a program whose data
 * would leave less. sefr_reset names them so that --gc-sections keeps them. */
#if defined(__AVR__) && SEFR_STACK_BYTES > 0
#define SEFR_RESERVE 1
extern uint8_t sefr_stack[SEFR_STACK_BYTES];
uint8_t sefr_stack[SEFR_STACK_BYTES] __attribute__((section(".noinit")));
#define KEEP_STACK() __asm__ volatile("" : : "r"(sefr_stack))
#else
#define KEEP_STACK()
#endif

/* Packed arithmetic on Cortex-M, bit-identical to the loops; SEFR_PORTABLE leaves it out. */
#if !defined(SEFR_PORTABLE) && defined(__GNUC__) && defined(__BYTE_ORDER__) && defined(__arm__)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include "packed.h"
#endif
#endif
