@ A program at a fixed address, whose numbers and words of data may look like addresses of code:
@ test_arm_fixed.c. The copy without symbols has neither mapping symbols nor names, and only one
@ function has unwind information.

        .syntax unified
        .arch   armv7-a
        .thumb
        .text

        .macro  begin name
        .balign 4
        .globl  \name
        .hidden \name
        .type   \name, %function
        .thumb_func
\name:
        .endm
        .macro  end name
        .size   \name, . - \name
        .endm
        .macro  place name              @ a label in the copy with symbols, for tests
        .globl  \name
        .hidden \name
        .type   \name, %notype
\name:
        .endm
        .macro  number register, value
        movw    \register, #:lower16:(\value)
        movt    \register, #:upper16:(\value)
        .endm

        begin   _start
        bl      uses_numbers
        bl      switches_by_register
        blx     switches_a32_by_register
        bl      is_pointed_into
        bl      holds_no_label
        bl      holds_a_label
        bl      checks
        bl      leaf
1:      b       1b
        end     _start

@ ---- numbers: bit masks, as far as the code shows, and one address ----

        begin   uses_numbers
        push    {r4, lr}
        number  r0, on_the_way + 1
        number  r1, in_a_loop + 1
        number  r2, behind_a_jump + 1
        number  r3, is_called_back      @ with the bit of the state
        number  r4, on_padding + 1
        mov     r0, r4
        bl      loops
        bl      jumps
        pop     {r4, pc}
        end     uses_numbers

        place   on_padding              @ a nop that aligns the next function
        begin   is_not_called
        push    {r4, lr}
        mov     r4, r0
        bl      leaf
        pop     {r4, pc}
        end     is_not_called

        begin   loops
        push    {r4, lr}
        mov     r4, r0
        place   in_a_loop
        subs    r4, r4, #1
        place   on_the_way
        mov     r0, r4
        bl      leaf
        cmp     r4, #0
        bne     in_a_loop
        pop     {r4, pc}
        end     loops

        begin   jumps
        push    {r4, lr}
        cmp     r0, #3
        bne     2f
1:      movs    r0, #1
        pop     {r4, pc}
        place   behind_a_jump
2:      adds    r0, r0, #2
        cmp     r0, #9
        bhi     1b
        adds    r0, r0, #7
        pop     {r4, pc}
        end     jumps

        begin   is_called_back
        push    {r4, lr}
        mov     r4, r0
        bl      leaf
        adds    r0, r0, r4
        pop     {r4, pc}
        end     is_called_back

        begin   leaf
        add.w   r0, r0, #1
        bx      lr
        end     leaf

@ ---- a switch whose number of cases is in a register; the data behind its table is no entry ----

        begin   switches_by_register
        push    {r4, lr}
        movw    r3, #1
        cmp     r0, r3
        bhi     1f
        tbh     [pc, r0, lsl #1]
3:      .short  (first - 3b) / 2, (second - 3b) / 2
1:      lsls    r4, r0, #1              @ as an entry: 0x88 bytes on, inside an instruction
        movs    r0, #4
        pop     {r4, pc}
        .balign 4
        nop
        nop
first:  .rept   40
        movw    r0, #77
        .endr
        pop     {r4, pc}
second: movs    r0, #9
        pop     {r4, pc}
        end     switches_by_register

        .arm
        .balign 4
        .globl  switches_a32_by_register
        .hidden switches_a32_by_register
        .type   switches_a32_by_register, %function
switches_a32_by_register:
        push    {r4, lr}
        movw    r3, #1
        cmp     r0, r3
        ldrls   pc, [pc, r0, lsl #2]
        b       1f
        .word   2f, 3f
        .word   behind_a_push           @ no entry: no code jumps there
1:      mov     r0, #4
        pop     {r4, pc}
2:      mov     r0, #9
        pop     {r4, pc}
3:      add     r0, r0, #1
        pop     {r4, pc}
        .size   switches_a32_by_register, . - switches_a32_by_register
        .thumb

@ ---- a word that looks like a label of a switch ----

        begin   is_pointed_into
        push    {r4, lr}
        place   behind_a_push
        mov     r4, r0
        cmp     r0, #1
        bhi     1f
        tbb     [pc, r0]
3:      .byte   (2f - 3b) / 2, (1f - 3b) / 2
2:      movs    r0, #7
        pop     {r4, pc}
1:      movs    r0, #9
        pop     {r4, pc}
        end     is_pointed_into

@ ---- words that point behind a first instruction: a number, and a label of the other part ----

        begin   holds_no_label
        push    {r4, lr}
.Lnumber:
        mov     r4, r0
        bl      leaf
        mov     r0, r4
        pop     {r4, pc}
        end     holds_no_label

        .cfi_sections .eh_frame
        begin   holds_a_label
        .cfi_startproc
        push    {r4, lr}
        .cfi_def_cfa_offset 8
        .cfi_offset r4, -8
        .cfi_offset lr, -4
.Llabel:
        mov     r4, r0
        cmp     r0, #4
        bhi.w   holds_a_label.cold
.Lother:
        bl      leaf
        pop     {r4, pc}
        .cfi_endproc
        end     holds_a_label

        .type   holds_a_label.cold, %function
        .thumb_func
holds_a_label.cold:
        .cfi_startproc
        .cfi_def_cfa_offset 8
        .cfi_offset r4, -8
        .cfi_offset lr, -4
        ldr     r3, [r4]
        mov     pc, r3
        .cfi_endproc
        .size   holds_a_label.cold, . - holds_a_label.cold

        .section .rodata
        .word   .Lnumber + 1, 0, .Llabel + 1, .Lother + 1
        .text

@ ---- two functions that end by calls of each other; the next function is behind such a call ----

        begin   fails
        push    {r4, lr}
        mov     r4, r0
        bl      reports
        end     fails

        begin   reports
        push    {r4, lr}
        mov     r4, r0
        bl      leaf
        bl      fails
        end     reports

        begin   checks
        push    {r4, lr}
        cbz     r0, 1f
        bl      leaf
        pop     {r4, pc}
1:      bl      fails
        end     checks
        place   padding
        nop

        begin   follows
        push    {r4, r5, r6, lr}
        mov     r4, r0
        bl      leaf
        adds    r0, r0, r4
        pop     {r4, r5, r6, pc}
        end     follows

        .data
        .balign 4
        .word   behind_a_push + 1, follows, padding + 1, in_a_loop + 1, behind_a_jump + 1
