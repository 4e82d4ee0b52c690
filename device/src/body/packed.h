/* Four bytes of a record at once: two 16-bit sums per word, and two products per instruction where the core has SMLAD. A
 * sum is at most 65,280, so that no carry leaves its half; a block of products stays within 32 bits (BLOCK). */

/* A word at any address; where the core cannot load such (M0), only at multiples of four, and records by the byte. */
#ifdef __ARM_FEATURE_UNALIGNED
#define ANY_ALIGNMENT 1
typedef uint32_t __attribute__((may_alias, aligned(1))) sefr_word;
#else
#define ANY_ALIGNMENT 0
typedef uint32_t __attribute__((may_alias)) sefr_word;
#endif
#define WORD(address) (*(sefr_word *)(address))
#define CONST_WORD(address) (*(const sefr_word *)(address))

#ifdef __ARM_FEATURE_SIMD32
#define DEFINE_PACKED(name, instruction)                                                                            \
    SEFR_INLINE uint32_t name(uint32_t word) {                                                                      \
        uint32_t result;                                                                                            \
        __asm__(instruction : "=r"(result) : "r"(word));                                                            \
        return result;                                                                                              \
    }
#if SEFR_WEIGHT_BITS == 8 && !SEFR_BINS
#define SEFR_SIMD 1
DEFINE_PACKED(even_bytes, "uxtb16 %0,%1")
DEFINE_PACKED(odd_bytes, "uxtb16 %0,%1,ror #8")
DEFINE_PACKED(even_weights, "sxtb16 %0,%1")
DEFINE_PACKED(odd_weights, "sxtb16 %0,%1,ror #8")

SEFR_INLINE int32_t multiply_four(int32_t sum, const int8_t *weights, const uint8_t *record) {
    uint32_t w = CONST_WORD(weights), x = CONST_WORD(record);
    __asm__("smlad %0,%1,%2,%0" : "+r"(sum) : "r"(even_weights(w)), "r"(even_bytes(x)));
    __asm__("smlad %0,%1,%2,%0" : "+r"(sum) : "r"(odd_weights(w)), "r"(odd_bytes(x)));
    return sum;
}
#endif
#endif

#if SEFR_SUM_BITS == 16
#define SEFR_PACKED 1
#ifdef __ARM_FEATURE_SIMD32
DEFINE_PACKED(spread_first, "pkhbt %0,%1,%1,lsl #8") /* bytes 0 and 1 to places 0 and 2 */
DEFINE_PACKED(spread_last, "pkhtb %0,%1,%1,asr #8")  /* bytes 2 and 3 to places 1 and 3 */
SEFR_INLINE void add_four(uint16_t *sums, const uint8_t *record) {
    uint32_t word = CONST_WORD(record), first = WORD(sums), last = WORD(sums + 2);
    __asm__("uxtab16 %0,%0,%1" : "+r"(first) : "r"(spread_first(word)));
    __asm__("uxtab16 %0,%0,%1,ror #8" : "+r"(last) : "r"(spread_last(word)));
    WORD(sums) = first;
    WORD(sums + 2) = last;
}
#else
SEFR_INLINE void add_four(uint16_t *sums, const uint8_t *record) {
    WORD(sums) += record[0] | (uint32_t)record[1] << 16;
    WORD(sums + 2) += record[2] | (uint32_t)record[3] << 16;
}
#endif
#endif
