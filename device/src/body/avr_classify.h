/* AVR kernels: weights . record, and the answer. A part of sefr_avr.S. */
; ---- weights . record in 24 bits: 10 cycles a feature, 11 with one side in flash. The carry of mulsu is the sign.
.macro MULTIPLY_ADD
  mulsu r18,r19
  sbc r25,r25
  add r22,r0
  adc r23,r1
  adc r24,r25
.endm
.macro DOT_RAM
  ld r19,X+
  ld r18,Z+
  MULTIPLY_ADD
.endm
.macro DOT_RECORD_FLASH
  lpm r19,Z+
  ld r18,X+
  MULTIPLY_ADD
.endm
.macro DOT_WEIGHT_FLASH
  ld r19,X+
  lpm r18,Z+
  MULTIPLY_ADD
.endm
.macro DOT step
  clr r22
  clr r23
  clr r24
  REPEAT \step
  clr r1
  clr r25
  sbrc r24,7
  com r25
  ret
.endm
FUNCTION sefr_avr_dot
  movw r30,r24
  movw r26,r22
  DOT DOT_RAM
FUNCTION sefr_avr_dot_P
  movw r26,r24
  movw r30,r22
  DOT DOT_RECORD_FLASH
FUNCTION sefr_avr_dot_W
  movw r30,r24
  movw r26,r22
  DOT DOT_WEIGHT_FLASH

; ---- model r24 (sefr_fixed: features at 0, weights at 3, bias at 5, margin at 7), record r22, label r20, features r18. The
; bias is in the 24-bit sum from the start, and must lie within -2^22 .. 2^22 - 1: the products add up to at most
; 127 * 255 * 129 < 2^22 - 1, so |score| < 2^23. Beyond that a bias decides alone; where the margin is asked for, a slower
; loop then adds 32 bits. The step is the kernel above with fewer registers.
.macro DOT_FIXED
  ld r19,X+
  lpm r18,Z+
  mulsu r18,r19
  sbc r18,r18
  add r22,r0
  adc r23,r1
  adc r24,r18
.endm
.macro DOTS_FIXED n
  .rept \n
  DOT_FIXED
  .endr
.endm
; Class 1, and the carry where the score in r25:r22 is below the margin.
.macro CLASS_1_BELOW_MARGIN
  ldi r20,1
  st X,r20
  ldd r18,Z+7
  cp r22,r18
  ldd r18,Z+8
  cpc r23,r18
  ldd r18,Z+9
  cpc r24,r18
  ldd r18,Z+10
  cpc r25,r18
.endm
.macro CLASSIFY known
  .if \known
  push r24
  push r25
  .endif
  movw r30,r24
  movw r26,r22
  mov r25,r18
  ldd r18,Z+3
  ldd r19,Z+4
  ldd r0,Z+5
  ldd r31,Z+6
  mov r30,r0
  lpm r22,Z+
  lpm r23,Z+
  lpm r24,Z+
  lpm r0,Z
  mov r30,r24        ; within the range where bits 31 to 22 are all alike
  mov r31,r0
  lsl r30
  brvs 12f           ; bits 23 and 22 differ
  adc r31,r1
  breq 13f
12:
  .if \known
  rjmp 18f
  .else
  ldi r22,0          ; -2^22
  ldi r23,0
  ldi r24,0xC0
  sbrc r0,7
  rjmp 13f
  ldi r22,0xFF       ; 2^22 - 1
  ldi r23,0xFF
  ldi r24,0x3F
  .endif
13:
  movw r30,r18
  subi r25,32
  brcc 1f
  rjmp 2f
1: DOTS_FIXED 32
  subi r25,32        ; leaves the low five bits alone
  brcs 2f
  rjmp 1b
2: sbrs r25,4
  rjmp 3f
  DOTS_FIXED 16
3: sbrs r25,3
  rjmp 4f
  DOTS_FIXED 8
4: sbrs r25,2
  rjmp 5f
  DOTS_FIXED 4
5: sbrc r25,1        ; out of the way: most rows are multiples of four
  rjmp 11f
6: sbrc r25,0
  rjmp 10f
7: clr r1
  .if \known
  pop r31            ; the model
  pop r30
  .endif
  movw r26,r20
  cp r1,r22
  cpc r1,r23
  cpc r1,r24
  .if \known
  brge 15f
  ldi r25,0
  CLASS_1_BELOW_MARGIN
  ldi r24,0
  brcs 17f
  ret
15: st X,r1          ; 0 or below: class 0, unknown where margin + score is above 0
  breq 20f
  ldi r25,0xFF
16: ldd r18,Z+7
  add r22,r18
  ldd r18,Z+8
  adc r23,r18
  ldd r18,Z+9
  adc r24,r18
  ldd r18,Z+10
  adc r25,r18
  brcs 21f
22: ldi r24,0
  ldi r25,0
  ret
21: or r22,r23       ; equal to the margin is known
  or r22,r24
  or r22,r25
  breq 22b
  ldi r25,0
17: ldi r24,11       ; SEFR_UNKNOWN
  ret
20: ldd r22,Z+7      ; the score is 0: unknown with any margin
  ldd r23,Z+8
  ldd r24,Z+9
  ldd r25,Z+10
  rjmp 21b
18: push r16         ; a bias that needs 32 bits
  mov r16,r0
  movw r30,r18
19: DOT_FIXED
  adc r16,r18
  dec r25
  brne 19b
  clr r1
  mov r25,r16
  pop r16
  pop r31
  pop r30
  movw r26,r20
  st X,r1            ; it decides alone: the score is not 0
  sbrc r25,7
  rjmp 16b
  CLASS_1_BELOW_MARGIN
  ldi r25,0
  brcs 17b
  ldi r24,0
  ret
  .else
  ldi r24,0
  brge 8f            ; the sum is above 0: class 1
  ldi r24,1
8: st X,r24
  ldi r24,0
  ldi r25,0
  ret
  .endif
10: DOT_FIXED
  rjmp 7b
11: DOTS_FIXED 2
  rjmp 6b
.endm
FUNCTION sefr_avr_classify_W
  CLASSIFY 0
FUNCTION sefr_avr_classify_known_W
  CLASSIFY 1
