/* AVR kernels: sums of a regression, and products of int16 weights. A part of sefr_avr.S. */
; ---- sums r24, squares r22, products r20 (0: none), record r18, y r16, inputs r14: adds a record.
; A row of the triangle takes 19 cycles per product (6 more on a carry out of 16 bits); an input that is 0 takes 20 in all.
.macro ADD_PRODUCT at         ; Z + at: a sum of 32 bits, X: a value, r22: the row's; r0, r1 and r25 are spoiled
  ld r0,X+
  mul r0,r22
  ldd r25,Z+\at
  add r25,r0
  std Z+\at,r25
  ldd r25,Z+\at+1
  adc r25,r1
  std Z+\at+1,r25
  brcc 9f
  ldd r25,Z+\at+2
  inc r25
  std Z+\at+2,r25
  brne 9f
  ldd r25,Z+\at+3
  inc r25
  std Z+\at+3,r25
9:
.endm
.macro ADD_AT_X value
  ld r0,X
  adc r0,\value
  st X+,r0
.endm
FUNCTION sefr_avr_regress
  push r12
  push r13
  push r15
  push r28
  push r29
  movw r28,r24                ; Y: sums
  movw r30,r22                ; Z: squares
  movw r12,r18                ; the record
  movw r18,r20                ; products
  movw r20,r12                ; the next value
  clr r23
  clr r15                     ; values of the row
  clt
  cp r18,r23
  cpc r19,r23
  brne 1f
  set                         ; no products
1: inc r15
  movw r26,r20
  ld r22,X+
  movw r20,r26
  tst r22
  brne 2f
  mov r25,r15                 ; an input of 0: the next row
  lsl r25
  lsl r25
  add r30,r25
  adc r31,r23
  sbrc r15,6                  ; four times 64 or more
  inc r31
  adiw r28,4
  subi r18,lo8(-5)
  sbci r19,hi8(-5)
  rjmp 6f
2: ld r25,Y                   ; a sum is below 2^24
  add r25,r22
  st Y+,r25
  brcc 3f
  ld r25,Y
  adc r25,r23
  st Y,r25
  ldd r25,Y+1
  adc r25,r23
  std Y+1,r25
3: adiw r28,3
  brts 8f
  mul r16,r22                 ; y times the value: r24 r25 r1, and its sign in r23
  movw r24,r0
  mulsu r17,r22
  sbc r23,r23
  add r25,r0
  brcc 4f
  inc r1
4: movw r26,r18
  ld r0,X
  add r0,r24
  st X+,r0
  ADD_AT_X r25
  ADD_AT_X r1
  ADD_AT_X r23
  ADD_AT_X r23
  movw r18,r26
  clr r23
8: movw r26,r12
  mov r24,r15
  lsr r24
  brcc 5f
  ADD_PRODUCT 0
  adiw r30,4
  tst r24
  breq 6f
5: ADD_PRODUCT 0
  ADD_PRODUCT 4
  adiw r30,8
  dec r24
  breq 6f
  rjmp 5b
6: cpse r15,r14
  rjmp 1b
  clr r1
  pop r29
  pop r28
  pop r15
  pop r13
  pop r12
  ret

; ---- A step of weights . record: the weight's lower byte adds up in r24:r22, its upper byte in r25:r17:r16. 256 products of
; 255 * 255, and of 128 * 255 with a sign, fit 24 bits. 17 cycles in RAM, 18 with the record in flash, 19 with the weights
; there; 0.75 more for the loop.
.macro DOT16_STEP load_weight, load_value
  \load_value
  \load_weight
  mul r0,r18
  add r22,r0
  adc r23,r1
  adc r24,r21
  mulsu r19,r18
  sbc r19,r19
  add r16,r0
  adc r17,r1
  adc r25,r19
.endm
.macro DOT16_CLEAR
  clr r16
  clr r17
  clr r21
  movw r22,r16
  movw r24,r16
.endm
; The sum over r20 features in r25:r22; \fours: over four times as many.
.macro DOT16_SUM load_weight, load_value, fours
  sbrs r20,0
  rjmp 1f
  DOT16_STEP \load_weight,\load_value
1: sbrs r20,1
  rjmp 2f
  DOT16_STEP \load_weight,\load_value
  DOT16_STEP \load_weight,\load_value
2: lsr r20
  lsr r20
  breq 3f
\fours: .rept 4
  DOT16_STEP \load_weight,\load_value
  .endr
  dec r20
  brne \fours\()b
3: clr r1
  add r23,r16
  adc r24,r17
  adc r25,r1
.endm
.macro VALUE_AT_X
  ld r18,X+
.endm
.macro VALUE_IN_FLASH
  lpm r18,Z+
.endm
.macro WEIGHT_AT_Z
  ld r0,Z+
  ld r19,Z+
.endm
.macro WEIGHT_AT_X
  ld r0,X+
  ld r19,X+
.endm
.macro WEIGHT_IN_FLASH
  lpm r0,Z+
  lpm r19,Z+
.endm

; ---- weights r24, record r22, n r20: the sum.
FUNCTION sefr_avr_dot16
  movw r30,r24
  movw r26,r22
  push r16
  push r17
  DOT16_CLEAR
  DOT16_SUM WEIGHT_AT_Z,VALUE_AT_X,4
  pop r17
  pop r16
  ret

.macro ADD_BYTE place, byte
  ldd r19,Y+\place
  adc r19,\byte
  std Y+\place,r19
  or r0,r19
.endm
; ---- weights r24, record r22, n r20 of 16 bits, bias r18, score r16: n % 256 features first, then blocks of 256.
.macro SCORE16 weights, record, load_weight, load_value, load_bias
  push r16
  push r17
  push r28
  push r29
  movw r28,r16
  movw r30,r18
  .irp place, 0, 1, 2, 3, 4, 5, 6, 7
  \load_bias r0,Z+
  std Y+\place,r0
  .endr
  movw \weights,r24
  movw \record,r22
  push r21
  DOT16_CLEAR
  DOT16_SUM \load_weight,\load_value,4
  mov r20,r25        ; the sign
  lsl r20
  sbc r20,r20
  ld r0,Y            ; or, ld and st leave the carry
  add r0,r22
  st Y,r0
  ADD_BYTE 1,r23
  ADD_BYTE 2,r24
  ADD_BYTE 3,r25
  ADD_BYTE 4,r20
  ADD_BYTE 5,r20
  ADD_BYTE 6,r20
  ADD_BYTE 7,r20
  pop r18
  subi r18,1
  brcs 5f
  push r18
  DOT16_CLEAR
  ldi r20,64
  rjmp 4b
5: ldi r24,0
  sbrc r19,7
  rjmp 6f
  cpse r0,r1
  ldi r24,1
6: pop r29
  pop r28
  pop r17
  pop r16
  ret
.endm
FUNCTION sefr_avr_score16
  SCORE16 r30,r26,WEIGHT_AT_Z,VALUE_AT_X,ld
FUNCTION sefr_avr_score16_P
  SCORE16 r26,r30,WEIGHT_AT_X,VALUE_IN_FLASH,ld
FUNCTION sefr_avr_score16_W
  SCORE16 r30,r26,WEIGHT_IN_FLASH,VALUE_AT_X,lpm
