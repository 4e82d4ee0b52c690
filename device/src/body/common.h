/* Shared by the bodies: the types and loads of one choice of SEFR_WEIGHT_BITS and SEFR_SUM_BITS. */
#include "../sefr_avr.h"

/* At -Os a compiler for AVR would otherwise merge a loop into a larger function, and keep its values on the stack, or
 * call what costs less in place. */
#ifdef __GNUC__
#define SEFR_APART static __attribute__((noinline))
#define SEFR_INLINE static inline __attribute__((always_inline))
#else
#define SEFR_APART static
#define SEFR_INLINE static inline
#endif

/* The first sum of a class. */
static sefr_sum *sums_of(const sefr_model *model, uint8_t class_) {
    return model->sums + (sefr_index)class_ * model->features;
}

static uint8_t rows_of(uint8_t classes) { return classes == 2 ? 1 : classes; }

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
