/* AVR kernels: many records in flash at once. A part of sefr_avr.S. */
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
