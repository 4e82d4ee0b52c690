/* AVR kernels: sums += record. A part of sefr_avr.S. */
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
