/* The AVR kernels; sefr_avr.h is their contract. avr-gcc calling convention: arguments from r25 down, r2-r17, r28 and
 * r29 belong to the caller, r1 is 0 on entry and exit. */
#if defined(__AVR_HAVE_MUL__) && !defined(SEFR_PORTABLE)

.macro FUNCTION name
  .section .text.\name,"ax",@progbits
  .global \name
  .type \name,@function
\name:
.endm

.macro TWICE step
  \step
  \step
.endm
.macro FOUR_TIMES step
  TWICE \step
  TWICE \step
.endm
; step for each of r20 features: one, two and four by the low bits, then eights.
.macro REPEAT step
  sbrs r20,0
  rjmp 1f
  \step
1: sbrs r20,1
  rjmp 2f
  TWICE \step
2: sbrs r20,2
  rjmp 3f
  FOUR_TIMES \step
3: lsr r20
  lsr r20
  lsr r20
  breq 5f
4: FOUR_TIMES \step
  FOUR_TIMES \step
  dec r20
  brne 4b
5:
.endm

#include "body/avr_add.h"
#include "body/avr_classify.h"
#include "body/avr_batch.h"
#include "body/avr_solve.h"
#include "body/avr_regress.h"
#endif
