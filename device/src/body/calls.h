/* How a function is compiled, where that decides on speed or size. */
#ifndef SEFR_CALLS_H
#define SEFR_CALLS_H

/* At -Os a compiler for AVR would otherwise merge a loop into a larger function, and keep its values on the stack, or
 * call what costs less in place. */
#ifdef __GNUC__
#define SEFR_APART static __attribute__((noinline))
#define SEFR_INLINE static inline __attribute__((always_inline))
#else
#define SEFR_APART static
#define SEFR_INLINE static inline
#endif

#endif
