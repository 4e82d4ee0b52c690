/* The loops of sefr_table.h on an AVR, bit-identical to the C beside them. The assembler leaves out what a model does not
 * need: the conditions (.if) are constants of its table. */
#ifndef SEFR_TABLE_AVR_H
#define SEFR_TABLE_AVR_H

#define SEFR_TEXT_(number) #number

/* The key of the float in registers a (lowest) to d. What is rare stands before the label 1 of a loop, under 11 to 14. */
#define SEFR_FLOAT_RARE_(a, b, c, d, nan)                                                                             \
    "11: com " a "\n\tcom " b "\n\tcom " c "\n\tcom " d "\n\tbrne 2f\n\t"                                              \
    "cpi " c ",0x7F\n\tbrlo 14f\n\tbrne 2f\n\tmov r0," b "\n\tand r0," a "\n\tcom r0\n\tbreq 2f\n\trjmp 14f\n\t"       \
    "12: cpi " c ",0x80\n\tbrlo 2f\n\tbrne 14f\n\tmov r0," b "\n\tor r0," a "\n\tbreq 2f\n\t"                         \
    "14: clr " a "\n\tclr " b "\n\tclr " c "\n\tclr " d "\n\t" nan "rjmp 2f\n\t"
#define SEFR_FLOAT_KEY_(d) "sbrc " d ",7\n\trjmp 11b\n\tori " d ",0x80\n\tcpi " d ",0xFF\n\tbreq 12b\n\t2: "

/* Z, and the place of the next block in r25 r24. */
#define SEFR_MOVE_(by) "subi r30,lo8(-(" by "))\n\tsbci r31,hi8(-(" by "))\n\t"
#define SEFR_ADVANCE_(depth)                                                                                          \
    "subi r24,lo8(-((%[cell]<<" depth ")-%[size]+%[after]))\n\tsbci r25,hi8(-((%[cell]<<" depth ")-%[size]+%[after]))\n\t"

/* A block of this depth, where depths differ: further down by as many steps as it has fewer. */
#define SEFR_ENTER_(depth, first)                                                                                     \
    ".if %[depths]>>" #depth "&1\n\tcpi r22," #depth "\n\tbrne 5" #depth "f\n\t" SEFR_ADVANCE_(#depth) "rjmp " first "f\n\t" \
    "5" #depth ": \n\t.endif\n\t"

/* Z is at a threshold and goes to what follows it, or to the next tree where the value in r18 .. is not below it. */
#define SEFR_STEP_(level)                                                                                             \
    ".if %[depth]>" #level "\n\t3" #level ": \n\t.if %[size]<4\n\t"                                                    \
    "lpm r0,Z+\n\tcp r18,r0\n\t.if %[size]==2\n\tlpm r0,Z+\n\tcpc r19,r0\n\tbrlt 4" #level "f\n\t.else\n\tbrlo 4" #level "f\n\t.endif\n\t" \
    SEFR_MOVE_("(%[cell]<<" #level ")-%[size]") SEFR_NOTE_(level)                                                       \
    ".else\n\t"                                                                                                       \
    "lpm r0,Z+\n\tcp r20,r0\n\tlpm r0,Z+\n\tcpc r21,r0\n\tbrlo 4" #level "f\n\tbrne 2" #level "f\n\t"                   \
    SEFR_MOVE_("(%[cell]<<" #level ")-4") "lpm r0,Z+\n\tcp r18,r0\n\tlpm r0,Z+\n\tcpc r19,r0\n\tbrsh 6" #level "f\n\t"    \
    SEFR_MOVE_("2-(%[cell]<<" #level ")") "rjmp 4" #level "f\n\t"                                                      \
    "2" #level ": " SEFR_MOVE_("(%[cell]<<" #level ")-2") "6" #level ": \n\t" SEFR_NOTE_(level)                              \
    ".endif\n\t4" #level ": \n\t.endif\n\t"
#define SEFR_NOTE_(level) ".if %[ferns]\n\tori r23,1<<" #level "\n\t.endif\n\t"

/* r18 to r21: the value; r22: the depth; r23: the number of the cell; r25 r24: the next block. */
#define SEFR_SEARCH_(write_number, add)                                                                               \
    "movw r24,r30\n\t"                                                                                              \
    ".if %[value]==3\n\trjmp 1f\n\t" SEFR_FLOAT_RARE_("r18", "r19", "r20", "r21", "set\n\t") ".endif\n\t"                          \
    "1: movw r30,r24\n\t.if %[depths]\n\tlpm r22,Z+\n\t.endif\n\t.if %[ferns]\n\tldi r23,0\n\t.endif\n\t"               \
    "ld r18,X+\n\t.if %[size]>1\n\tld r19,X+\n\t.endif\n\t.if %[size]>2\n\tld r20,X+\n\tld r21,X+\n\t.endif\n\t"         \
    ".if %[missing]\n\tclt\n\t.endif\n\t.if %[value]==3\n\t" SEFR_FLOAT_KEY_("r21") "\n\t.endif\n\t.if %[value]==2\n\tsubi r21,0x80\n\t.endif\n\t"   \
    ".if %[depths]\n\t" SEFR_ENTER_(8, "37") SEFR_ENTER_(7, "36") SEFR_ENTER_(6, "35") SEFR_ENTER_(5, "34")             \
    SEFR_ENTER_(4, "33") SEFR_ENTER_(3, "32") SEFR_ENTER_(2, "31") SEFR_ENTER_(1, "30") SEFR_ENTER_(0, "6")             \
    ".else\n\t" SEFR_ADVANCE_("%[depth]") ".endif\n\t"                                                                \
    SEFR_STEP_(7) SEFR_STEP_(6) SEFR_STEP_(5) SEFR_STEP_(4) SEFR_STEP_(3) SEFR_STEP_(2) SEFR_STEP_(1) SEFR_STEP_(0)     \
    "6: \n\t.if %[missing]\n\tbrtc 7f\n\tmovw r30,r24\n\t" SEFR_MOVE_("-%[row]")                                       \
    ".if %[ferns]\n\tldi r23,255\n\t.endif\n\t7: \n\t.endif\n\t" write_number add                                     \
    ".if %[few]\n\tdec %A[count]\n\t.else\n\tcp r26,%A[count]\n\tcpc r27,%B[count]\n\t.endif\n\t"                       \
    ".if %[near]\n\tbrne 1b\n\t.else\n\tbreq 9f\n\trjmp 1b\n\t.endif\n\t9: "

/* The number of the cell, for the questions of interactions. */
#define SEFR_WRITE_NUMBER_                                                                                            \
    "movw %[own],r26\n\tmovw r26,%[cells]\n\tst X+,r23\n\tmovw %[cells],r26\n\tmovw r26,%[own]\n\t"
/* The entry at Z, to one sum in registers or those at Z to as many at Y. */
#define SEFR_ADD_ONE_                                                                                                 \
    ".if %[width]==1\n\tlpm r0,Z\n\tadd %A[sum],r0\n\tadc %B[sum],__zero_reg__\n\t"                                   \
    ".else\n\tlpm r0,Z+\n\tadd %A[sum],r0\n\tlpm r0,Z\n\tadc %B[sum],r0\n\t.endif\n\t"                                \
    ".if !%[narrow]\n\tadc %C[sum],__zero_reg__\n\tadc %D[sum],__zero_reg__\n\t.endif\n\t"
#define SEFR_ADD_ROWS_                                                                                                \
    "ldi r18,%[rows]\n\t8: lpm r0,Z+\n\tld r19,Y\n\tadd r19,r0\n\tst Y+,r19\n\t"                                       \
    ".if %[width]==1\n\tld r19,Y\n\tadc r19,__zero_reg__\n\t.else\n\tlpm r0,Z+\n\tld r19,Y\n\tadc r19,r0\n\t.endif\n\tst Y+,r19\n\t" \
    ".if !%[narrow]\n\tld r19,Y\n\tadc r19,__zero_reg__\n\tst Y+,r19\n\tld r19,Y\n\tadc r19,__zero_reg__\n\tst Y+,r19\n\t.endif\n\t" \
    "dec r18\n\tbrne 8b\n\t"                                                                                          \
    "subi r28,lo8(%[rows]*(4-2*%[narrow]))\n\tsbci r29,hi8(%[rows]*(4-2*%[narrow]))\n\t"
/* Y cannot be named as used, since it may be the frame; and no operand may be there. */
#define SEFR_WITH_SUMS_AT_Y_(text) "push r28\n\tpush r29\n\tmovw r28,%[sums]\n\t" text "pop r29\n\tpop r28"

/* One question: the carry is a no, and goes into the number of the fern's cell. */
#define SEFR_ASK_                                                                                                     \
    "movw r26,%[cells]\n\tlpm r0,Z+\n\tadd r26,r0\n\tadc r27,__zero_reg__\n\t"                                         \
    ".if %[feature]==2\n\tlpm r0,Z+\n\tadd r27,r0\n\t.endif\n\tld r18,X\n\tlpm r0,Z+\n\t"                               \
    ".if %[bounded]\n\tsub r18,r0\n\tlpm r0,Z+\n\tcp r0,r18\n\t.else\n\tcp r18,r0\n\t.endif\n\trol r19\n\t"

/* r25 r24: ferns left; r19: the number of the cell; r22: questions left; r21 r20: bytes of the entries, which begin at X. */
#define SEFR_ASK_FERNS_(add)                                                                                          \
    "ldi r24,lo8(%[ferns])\n\tldi r25,hi8(%[ferns])\n\t1: ldi r19,0\n\t"                                               \
    ".if %[questions]\n\t.rept %[questions]\n\t" SEFR_ASK_ ".endr\n\t"                                                 \
    ".else\n\tlpm r22,Z+\n\tldi r20,lo8(%[row])\n\tldi r21,hi8(%[row])\n\t"                                            \
    "2: " SEFR_ASK_ "lsl r20\n\trol r21\n\tdec r22\n\tbrne 2b\n\t.endif\n\t"                                           \
    "movw r26,r30\n\t.if %[row]==1\n\tadd r30,r19\n\tadc r31,__zero_reg__\n\t"                                          \
    ".else\n\tldi r18,%[row]\n\tmul r19,r18\n\tadd r30,r0\n\tadc r31,r1\n\tclr r1\n\t.endif\n\t" add                    \
    "movw r30,r26\n\t.if %[questions]\n\t" SEFR_MOVE_("%[row]<<%[questions]")                                          \
    ".else\n\tadd r30,r20\n\tadc r31,r21\n\t.endif\n\t"                                                               \
    ".if %[ferns]<256\n\tdec r24\n\t.else\n\tsbiw r24,1\n\t.endif\n\tbreq 9f\n\trjmp 1b\n\t9: "

#define SEFR_CONSTANTS_OF_SUMS_(table)                                                                                \
    [row] "n"(sefr_row_bytes_(table)), [width] "n"(table->entry_bytes), [narrow] "n"(sefr_is_narrow_(table)),        \
        [ferns] "n"(table->ferns)
#define SEFR_CONSTANTS_OF_BLOCKS_(table)                                                                              \
    [value] "n"(table->value), [size] "n"(sefr_value_bytes_(table)), [depth] "n"(table->depth),                      \
        [cell] "n"(sefr_value_bytes_(table) + sefr_row_bytes_(table)), [depths] "n"(table->depths),                  \
        [missing] "n"(table->missing), [few] "n"(table->features < 256), [near] "n"(sefr_is_near_(table)),           \
        [after] "n"((table->depths != 0) + table->missing * sefr_row_bytes_(table)), SEFR_CONSTANTS_OF_SUMS_(table)
#define SEFR_CONSTANTS_OF_FERNS_(table)                                                                               \
    [questions] "n"(table->questions), [feature] "n"(table->feature_bytes), [bounded] "n"(table->bounded),           \
        SEFR_CONSTANTS_OF_SUMS_(table)

/* Bytes whose sum fits 16 bits: entries of 8 bits, of 257 features and ferns. */
SEFR_WITH_CONSTANTS uint8_t sefr_is_narrow_(const sefr_table *table) {
    return table->entry_bytes == 1 && (uint32_t)table->features + table->ferns <= 257;
}

/* Whether the loop is within the reach of a branch: 64 words. */
SEFR_WITH_CONSTANTS uint8_t sefr_is_near_(const sefr_table *table) {
    return table->rows == 1 && !table->depths && !table->ferns && (table->value == SEFR_UINT8 || (table->value == SEFR_INT16 && table->depth < 7));
}

#ifdef __AVR_HAVE_MUL__
#define SEFR_HAS_FERN_ASSEMBLY_(table) (sefr_row_bytes_(table) < 256)
#else
#define SEFR_HAS_FERN_ASSEMBLY_(table) (sefr_row_bytes_(table) == 1)
#endif

/* Operands are no larger than they must be: a register less is neither saved nor restored. */
#define SEFR_SEARCH_ONE_(write_number, added, left, further, ...)                                                        \
    __asm__ volatile(SEFR_SEARCH_(write_number, SEFR_ADD_ONE_)                                                         \
                     : [record] "+x"(record), [at] "+z"(at), [count] "+r"(left), [sum] "+r"(added)further                \
                     : SEFR_CONSTANTS_OF_BLOCKS_(table)                                                                \
                     : __VA_ARGS__, "r18", "r19", "r24", "r25", "memory")
#define SEFR_SEARCH_ROWS_(write_number, further)                                                                       \
    __asm__ volatile(SEFR_WITH_SUMS_AT_Y_(SEFR_SEARCH_(write_number, SEFR_ADD_ROWS_))                                   \
                     : [record] "+x"(record), [at] "+z"(at), [count] "+l"(large)further                                \
                     : [sums] "r"(sums), [rows] "n"(table->rows), SEFR_CONSTANTS_OF_BLOCKS_(table)                      \
                     : "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "memory")
#define SEFR_NUMBERED_(constraint) , [own] "=&" constraint(own), [cells] "+" constraint(cells)

SEFR_WITH_CONSTANTS uint32_t sefr_search_avr_(const sefr_table *table, const void *record, uint8_t *cells, int32_t *sums) {
    const uint8_t *at = table->blocks;
    uint8_t small = (uint8_t)table->features, is_small = table->features < 256 && sefr_is_narrow_(table);
    uintptr_t large = table->features, own;
    uint32_t sum = 0;
    uint16_t narrow = 0;
    if (large > 255) large = (uintptr_t)record + large * sefr_value_bytes_(table);
    if (table->rows > 1) {
        if (table->ferns) {
            SEFR_SEARCH_ROWS_(SEFR_WRITE_NUMBER_, SEFR_NUMBERED_("l"));
        } else {
            SEFR_SEARCH_ROWS_("", );
        }
        return 0;
    }
    if (table->ferns && is_small) {
        SEFR_SEARCH_ONE_(SEFR_WRITE_NUMBER_, narrow, small, SEFR_NUMBERED_("r"), "r20", "r21", "r22", "r23");
    } else if (table->ferns) {
        SEFR_SEARCH_ONE_(SEFR_WRITE_NUMBER_, sum, large, SEFR_NUMBERED_("r"), "r20", "r21", "r22", "r23");
    } else if (!is_small) {
        SEFR_SEARCH_ONE_("", sum, large, , "r20", "r21", "r22");
    } else if (sefr_value_bytes_(table) == 4) {
        SEFR_SEARCH_ONE_("", narrow, small, , "r20", "r21", "r22");
    } else {
        SEFR_SEARCH_ONE_("", narrow, small, , "r22");
    }
    return sum + narrow;
}

SEFR_WITH_CONSTANTS uint32_t sefr_ferns_avr_(const sefr_table *table, const uint8_t *cells, int32_t *sums) {
    const uint8_t *at = table->fern_blocks;
    uint32_t sum = 0;
    uint16_t narrow = 0;
#define SEFR_ASK_ONE_(added)                                                                                          \
    __asm__ volatile(SEFR_ASK_FERNS_(SEFR_ADD_ONE_)                                                                    \
                     : [at] "+z"(at), [sum] "+r"(added)                                                                \
                     : [cells] "r"(cells), SEFR_CONSTANTS_OF_FERNS_(table)                                             \
                     : "r18", "r19", "r20", "r21", "r22", "r24", "r25", "r26", "r27", "memory")
    if (table->rows > 1) {
        __asm__ volatile(SEFR_WITH_SUMS_AT_Y_(SEFR_ASK_FERNS_(SEFR_ADD_ROWS_))
                         : [at] "+z"(at)
                         : [cells] "l"(cells), [sums] "r"(sums), [rows] "n"(table->rows), SEFR_CONSTANTS_OF_FERNS_(table)
                         : "r18", "r19", "r20", "r21", "r22", "r24", "r25", "r26", "r27", "memory");
    } else if (sefr_is_narrow_(table)) {
        SEFR_ASK_ONE_(narrow);
    } else {
        SEFR_ASK_ONE_(sum);
    }
    return sum + narrow;
}

#endif
