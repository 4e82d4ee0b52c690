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

; ---- bytes r24, n r22: 2.5 cycles a byte.
FUNCTION sefr_avr_clear
  movw r30,r24
  movw r24,r22
  andi r22,7
  rjmp 2f
1: st Z+,r1
  dec r22
2: brne 1b
  .rept 3
  lsr r25
  ror r24
  .endr
  sbiw r24,0
  breq 4f
3: .rept 8
  st Z+,r1
  .endr
  sbiw r24,1
  brne 3b
4: ret

; ---- sums r24, record r22, features r20: sums += record. The high byte of a sum is touched only on a carry:
; 10 cycles a value from flash (9 from RAM) without, 14 with; 12 on average for values spread over 0..255.
.macro ADD_AT value at
  ldd r22,Y+2*(\at)
  add r22,\value
  std Y+2*(\at),r22
  brcc 9f
  ldd r22,Y+2*(\at)+1
  inc r22
  std Y+2*(\at)+1,r22
9:
.endm
.macro RAM value
  ld \value,X+
.endm
.macro FLASH value
  lpm \value,Z+
.endm
.macro ONE load at
  \load r0
  ADD_AT r0 \at
.endm
.macro TWO load at
  ONE \load \at
  ONE \load \at+1
.endm
; The same that skips zeros: 10 cycles for two of them in flash.
.macro ONE_SKIPPING load at
  \load r0
  tst r0
  breq 8f
  ADD_AT r0 \at
8:
.endm
.macro TWO_SKIPPING load at
  \load r0
  \load r18
  mov r19,r0
  or r19,r18
  breq 8f
  tst r0
  breq 7f
  ADD_AT r0 \at
7: tst r18
  breq 8f
  ADD_AT r18 \at+1
8:
.endm
.macro ADD_ALL one two load
  push r28
  push r29
  movw r28,r24
  sbrs r20,0
  rjmp 1f
  \one \load 0
  adiw r28,2
1: sbrs r20,1
  rjmp 2f
  \two \load 0
  adiw r28,4
2: sbrs r20,2
  rjmp 3f
  .irp at,0,2
  \two \load \at
  .endr
  adiw r28,8
3: sbrs r20,3
  rjmp 4f
  .irp at,0,2,4,6
  \two \load \at
  .endr
  adiw r28,16
4: .rept 4
  lsr r21
  ror r20
  .endr
  movw r24,r20
  sbiw r24,0
  brne 5f
  rjmp 6f
5:
  .irp at,0,2,4,6,8,10,12,14
  \two \load \at
  .endr
  adiw r28,32
  sbiw r24,1
  breq 6f
  rjmp 5b
6: pop r29
  pop r28
  ret              ; r24 is 0
.endm
FUNCTION sefr_avr_add
  movw r26,r22
  ADD_ALL ONE TWO RAM
FUNCTION sefr_avr_add_P
  movw r30,r22
  ADD_ALL ONE TWO FLASH
FUNCTION sefr_avr_add_sparse
  movw r26,r22
  ADD_ALL ONE_SKIPPING TWO_SKIPPING RAM
FUNCTION sefr_avr_add_sparse_P
  movw r30,r22
  ADD_ALL ONE_SKIPPING TWO_SKIPPING FLASH

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

; ---- model r24 (sefr_fixed: features at 0, weights at 3, bias at 5), record r22, label r20, features r18. The bias is in
; the 24-bit sum from the start, brought within -2^22 .. 2^22 - 1: beyond that it decides alone, as the products add up to
; at most 127 * 255 * 129 < 2^22 - 1. So |score| < 2^23. The step is the kernel above with fewer registers.
.macro DOT_FIXED
  ld r19,X+
  lpm r18,Z+
  mulsu r18,r19
  sbc r18,r18
  add r22,r0
  adc r23,r1
  adc r24,r18
.endm
FUNCTION sefr_avr_classify_W
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
  breq 9f
12:
  ldi r22,0          ; -2^22
  ldi r23,0
  ldi r24,0xC0
  sbrc r0,7
  rjmp 9f
  ldi r22,0xFF       ; 2^22 - 1
  ldi r23,0xFF
  ldi r24,0x3F
9:
  movw r30,r18
  subi r25,32
  brcc 1f
  rjmp 2f
1:
  .rept 32
  DOT_FIXED
  .endr
  subi r25,32        ; leaves the low five bits alone
  brcs 2f
  rjmp 1b
2: sbrs r25,4
  rjmp 3f
  .rept 16
  DOT_FIXED
  .endr
3: sbrs r25,3
  rjmp 4f
  .rept 8
  DOT_FIXED
  .endr
4: sbrs r25,2
  rjmp 5f
  .rept 4
  DOT_FIXED
  .endr
5: sbrc r25,1        ; out of the way: most rows are multiples of four
  rjmp 11f
6: sbrc r25,0
  rjmp 10f
7: clr r1
  movw r26,r20
  cp r1,r22
  cpc r1,r23
  cpc r1,r24
  ldi r24,0
  brge 8f            ; the sum is above 0: class 1
  ldi r24,1
8: st X,r24
  ldi r24,0
  ldi r25,0
  ret
10: DOT_FIXED
  rjmp 7b
11: DOT_FIXED
  DOT_FIXED
  rjmp 6b

; ---- rows of one class: list r24, rows r22, stride r20, labels r18, label r16, n r14.
FUNCTION sefr_avr_pick_P
  movw r26,r24
  movw r30,r18
  mov r18,r14
1: lpm r0,Z+
  cpse r0,r16
  rjmp 2f
  st X+,r22
  st X+,r23
2: add r22,r20
  adc r23,r21
  dec r18
  brne 1b
  sub r26,r24
  sbc r27,r25
  lsr r27
  ror r26
  mov r24,r26
  ret

; ---- both classes at once: list r24, rows r22, stride r20, labels r18, n r16. Class 0 from the front of the list (X),
; class 1 from its end (Y): 14 and 19 cycles a row.
FUNCTION sefr_avr_split_P
  push r28
  push r29
  movw r26,r24
  movw r28,r24
  add r28,r16
  adc r29,r1
  add r28,r16
  adc r29,r1
  movw r30,r18
  mov r18,r16
1: lpm r0,Z+
  cpse r0,r1
  rjmp 3f
  st X+,r22
  st X+,r23
2: add r22,r20
  adc r23,r21
  dec r18
  brne 1b
  sub r26,r24
  sbc r27,r25
  lsr r27
  ror r26
  mov r24,r26
  rjmp 5f
3: dec r0
  brne 4f
  st -Y,r23
  st -Y,r22
  rjmp 2b
4: ldi r24,255        ; a label that is neither
5: pop r29
  pop r28
  ret

; ---- sums r24, list r22, offset r20, n r18: the sums stay in r2-r25 while the rows go by, 5 cycles a value.
.macro ADD_HELD low high
  lpm r0,Z+
  add r\low,r0
  adc r\high,r1
.endm
.macro NEXT_ROW offset
  ld r30,X+
  ld r31,X+
  add r30,\offset
  adc r31,r1
.endm
.macro ADD_TWELVE
  NEXT_ROW r29
  ADD_HELD 2 3
  ADD_HELD 4 5
  ADD_HELD 6 7
  ADD_HELD 8 9
  ADD_HELD 10 11
  ADD_HELD 12 13
  ADD_HELD 14 15
  ADD_HELD 16 17
  ADD_HELD 18 19
  ADD_HELD 20 21
  ADD_HELD 22 23
  ADD_HELD 24 25
.endm
; blocks r16: twelves of features. On the stack of the loop: sums (two bytes), list (two), n, blocks.
FUNCTION sefr_avr_batch12_P
  .irp r,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,28,29
  push r\r
  .endr
  mov r29,r20
1: push r16
  push r18
  push r22
  push r23
  push r24
  push r25
  movw r30,r24
  movw r26,r22
  mov r28,r18
  .irp r,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25
  ld r\r,Z+
  .endr
  sbrs r28,0
  rjmp 2f
  ADD_TWELVE
2: sbrs r28,1
  rjmp 6f
  ADD_TWELVE
  ADD_TWELVE
6: lsr r28
  lsr r28
  brne 3f
  rjmp 4f
3: ADD_TWELVE
  ADD_TWELVE
  ADD_TWELVE
  ADD_TWELVE
  dec r28
  breq 4f
  rjmp 3b
4: pop r31
  pop r30
  .irp r,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25
  st Z+,r\r
  .endr
  movw r24,r30
  pop r23
  pop r22
  pop r18
  pop r16
  subi r29,-12
  dec r16
  breq 5f
  rjmp 1b
5:
  .irp r,29,28,17,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2
  pop r\r
  .endr
  ret
.macro ADD_FOUR
  NEXT_ROW r16
  ADD_HELD 18 19
  ADD_HELD 20 21
  ADD_HELD 22 23
  ADD_HELD 24 25
.endm
FUNCTION sefr_avr_batch4_P
  push r28
  push r29
  push r16
  push r17
  movw r28,r24
  movw r26,r22
  mov r16,r20
  mov r17,r18
  ldd r18,Y+0
  ldd r19,Y+1
  ldd r20,Y+2
  ldd r21,Y+3
  ldd r22,Y+4
  ldd r23,Y+5
  ldd r24,Y+6
  ldd r25,Y+7
  sbrs r17,0
  rjmp 1f
  ADD_FOUR
1: lsr r17
  breq 3f
2: ADD_FOUR
  ADD_FOUR
  dec r17
  brne 2b
3: std Y+0,r18
  std Y+1,r19
  std Y+2,r20
  std Y+3,r21
  std Y+4,r22
  std Y+5,r23
  std Y+6,r24
  std Y+7,r25
  pop r17
  pop r16
  pop r29
  pop r28
  ret
FUNCTION sefr_avr_batch1_P
  movw r26,r24
  ld r24,X+
  ld r25,X
  push r27
  push r26
  movw r26,r22
1: NEXT_ROW r20
  ADD_HELD 24 25
  dec r18
  brne 1b
  pop r26
  pop r27
  st X,r25
  st -X,r24
  ret

; ---- dividend r25:r22, divisor r20 of 8 bits: quotient in r25:r22. Byte by byte from the top, the remainder in r21; a byte
; of zeros before the first other one stays as it is.
.macro DIVIDE_BYTE byte
  ldi r18,8
1: lsl \byte
  rol r21
  brcs 2f
  cp r21,r20
  brlo 3f
2: sub r21,r20
  inc \byte
3: dec r18
  brne 1b
.endm
FUNCTION sefr_avr_divide
  clr r21
  tst r25
  breq 4f
  DIVIDE_BYTE r25
4: mov r18,r21
  or r18,r24
  breq 5f
  DIVIDE_BYTE r24
5: DIVIDE_BYTE r23
  DIVIDE_BYTE r22
  ret

; ---- negative r24, positive r22, weights r20, n r18, n_negative r16, n_positive r14, totals r12.
; u = positive * n_negative and v = negative * n_positive in 24 bits; with r = |u - v| and d = u + v the weight is 127 r / d,
; rounded. q = 128 r / d comes by division without restoring: while the remainder is negative, d is added; 127 r / d is then
; q + (remainder - r) / d.
.macro SHIFT
  lsl r18
  rol r19
  rol r20
.endm
.macro SUBTRACT_D
  sub r18,r21
  sbc r19,r22
  sbc r20,r23
.endm
.macro ADD_D
  add r18,r21
  adc r19,r22
  adc r20,r23
.endm
; One bit of the quotient, for a remainder of 0 or more and for one below 0; both go on to the next bit of their own kind.
.macro DIVIDE_POSITIVE bit next
30\bit: SHIFT
  SUBTRACT_D
  brcs 31\next\()f
40\bit: ori r24,1<<\bit
.endm
.macro DIVIDE_NEGATIVE bit
31\bit: SHIFT
  ADD_D
  brcs 40\bit\()b
.endm
.macro ACCUMULATE a0 a1 a2 a3 low high
  mulsu r18,\low
  sbc r22,r22
  add \a0,r0
  adc \a1,r1
  adc \a2,r22
  adc \a3,r22
  mulsu r18,\high
  sbc r22,r22
  add \a1,r0
  adc \a2,r1
  adc \a3,r22
.endm
FUNCTION sefr_avr_weigh
  .irp r,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,28,29
  push r\r
  .endr
  push r12
  push r13
  movw r26,r24
  movw r30,r22
  mov r2,r16
  mov r3,r14
  movw r28,r20
  mov r4,r18
  clr r6
  clr r7
  movw r8,r6
  movw r10,r6
  movw r12,r6
1: ld r14,X+
  ld r15,X+
  ld r16,Z+
  ld r17,Z+
  ldi r24,127        ; one side without sums: 127, -127, or 0 where neither has any
  mov r25,r14
  or r25,r15
  brne 0f
  rjmp 6f
0:
  ldi r24,-127
  mov r25,r16
  or r25,r17
  brne 2f
  rjmp 5f
2: mul r16,r2         ; u in r20:r19:r18
  movw r18,r0
  mul r17,r2
  clr r20
  add r19,r0
  adc r20,r1
  mul r14,r3         ; v in r5:r25:r24
  movw r24,r0
  mul r15,r3
  clr r5
  add r25,r0
  adc r5,r1
  clt
  mov r21,r18        ; u + v in r23:r22:r21
  mov r22,r19
  mov r23,r20
  add r21,r24
  adc r22,r25
  adc r23,r5
  sub r18,r24        ; |u - v| in r20:r19:r18, T: negative
  sbc r19,r25
  sbc r20,r5
  brcc 3f
  com r20
  com r19
  neg r18
  sbci r19,-1
  sbci r20,-1
  set
3: movw r0,r18        ; r in r25:r1:r0
  mov r25,r20
  clr r24
  DIVIDE_POSITIVE 6 5
  DIVIDE_POSITIVE 5 4
  DIVIDE_POSITIVE 4 3
  DIVIDE_POSITIVE 3 2
  DIVIDE_POSITIVE 2 1
  DIVIDE_POSITIVE 1 0
  DIVIDE_POSITIVE 0 9
  rjmp 10f
  DIVIDE_NEGATIVE 5
  DIVIDE_NEGATIVE 4
  DIVIDE_NEGATIVE 3
  DIVIDE_NEGATIVE 2
  DIVIDE_NEGATIVE 1
  DIVIDE_NEGATIVE 0
319: ADD_D
10: sub r18,r0        ; remainder - r: rounded down, to 0 or up
  sbc r19,r1
  sbc r20,r25
  brcc 11f
  ADD_D
  SHIFT
  cp r18,r21
  cpc r19,r22
  cpc r20,r23
  brcc 4f
  dec r24
  rjmp 4f
11: SHIFT
  cp r18,r21
  cpc r19,r22
  cpc r20,r23
  brcs 4f
  inc r24
4: brtc 5f
  neg r24
5: st Y+,r24
  mov r18,r24
  movw r20,r14
  ACCUMULATE r6 r7 r8 r9 r20 r21
  ACCUMULATE r10 r11 r12 r13 r16 r17
  dec r4
  breq 8f
  rjmp 1b
6: mov r25,r16
  or r25,r17
  breq 7f
  rjmp 5b
7: st Y+,r25
  dec r4
  breq 8f
  rjmp 1b
8: clr r1
  pop r31
  pop r30
  std Z+0,r6
  std Z+1,r7
  std Z+2,r8
  std Z+3,r9
  std Z+4,r10
  std Z+5,r11
  std Z+6,r12
  std Z+7,r13
  .irp r,29,28,17,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2
  pop r\r
  .endr
  ret
#endif
