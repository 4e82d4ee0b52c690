/* AVR kernels: weights from sums. A part of sefr_avr.S. */
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
