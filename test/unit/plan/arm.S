@ Functions of A32 and T32 whose patches and trampolines test_arm.c reads, and code whose states
@ contradict each other. The copy without symbols has neither mapping symbols nor names of hidden
@ symbols.

        .syntax unified
        .arch   armv7-a
        .text

        .macro  begin name, state
        .balign 4
        .globl  \name
        .type   \name, %function
        \state
        .ifc    \state, .thumb
        .thumb_func
        .endif
\name:
        .fnstart
        .endm
        .macro  end name
        .fnend
        .size   \name, . - \name
        .endm
        .macro  place name              @ a label in the copy with symbols, for tests
        .globl  \name
        .hidden \name
        .type   \name, %notype
\name:
        .endm

@ ---- A32 ----
        begin   a_leaf, .arm
        adds    r0, r0, r1
        bx      lr
        end     a_leaf

        begin   a_pops, .arm
        push    {r4-r6, lr}
        mov     r4, r0
        pop     {r4-r6, pc}
        end     a_pops

        begin   a_returns_if, .arm
        cmp     r0, #3
        bxeq    lr
        sub     r0, r0, r2
        bx      lr
        end     a_returns_if

        begin   a_old_frame, .arm       @ of the older procedure call standard
        mov     ip, sp
        push    {r4, fp, ip, lr, pc}
        sub     fp, ip, #4
        sub     sp, sp, #8
        tst     r0, #1
        ldmdbeq fp, {r4, fp, sp, pc}
        sub     sp, fp, #16
        ldm     sp, {r4, fp, sp, pc}
        end     a_old_frame

        begin   a_old_frame_with_arguments, .arm
        mov     ip, sp
        push    {r0-r3}
        push    {fp, ip, lr, pc}
        sub     fp, ip, #20
        mov     r0, #0
        ldmdb   fp, {fp, sp, pc}
        end     a_old_frame_with_arguments

        begin   a_frame_of_any_size, .arm
        mov     ip, sp
        push    {fp, ip, lr, pc}
        sub     fp, ip, #4
        sub     sp, sp, r0
        ldmdb   fp, {fp, sp, pc}
        end     a_frame_of_any_size

        begin   a_frame_of_many_words, .arm
        mov     ip, sp
        push    {fp, ip, lr, pc}
        sub     fp, ip, #4
        sub     sp, sp, #1020
        ldmdb   fp, {fp, sp, pc}
        end     a_frame_of_many_words

        begin   a_go_frame, .arm
        str     lr, [sp, #-44]!
        adds    r0, r0, #1
        ldr     pc, [sp], #44
        end     a_go_frame

        begin   a_go_frame_of_many_words, .arm
        str     lr, [sp, #-1020]!
        adds    r0, r0, #1
        ldr     pc, [sp], #1020
        end     a_go_frame_of_many_words

        begin   a_go_frame_of_too_many_words, .arm
        str     lr, [sp, #-1024]!
        adds    r0, r0, #1
        ldr     pc, [sp], #1024
        end     a_go_frame_of_too_many_words

        begin   a_frame_elsewhere, .arm @ it may load any stack pointer
        mov     ip, sp
        push    {fp, ip, lr, pc}
        sub     fp, ip, #4
        str     r0, [sp, #4]
        ldm     sp, {fp, sp, pc}
        end     a_frame_elsewhere

        begin   a_tail, .arm
        mov     r0, #4
        b       a_leaf
        end     a_tail

        begin   a_tail_through, .arm
        cmp     r3, #0
        bxne    r3
        bx      lr
        end     a_tail_through

        begin   a_branch, .arm
        bne     1f
        mov     r0, #5
1:      bx      lr
        end     a_branch

        begin   a_literal, .arm
        ldr     r0, a_word
        bx      lr
        place   a_word
        .word   0x12345678
        end     a_literal

@ ---- T32 ----
        begin   t_leaf, .thumb
        adds    r0, r0, r1
        add.w   r0, r0, r2
        bx      lr
        nop
        end     t_leaf

        begin   t_pops, .thumb
        push    {r4-r6, lr}
        mov     r4, r0
        pop     {r4-r6, pc}
        end     t_pops

        begin   t_returns, .thumb       @ its return has two bytes, with padding behind
        push    {r4, lr}
        cbz     r0, 1f
        movs    r0, #7
1:      pop     {r4, pc}
        nop
        nop
        end     t_returns

        begin   t_pops_if, .thumb
        push    {r4, lr}
        mov     r4, r1
        cmp     r0, #3
        itt     le
        movle   r0, #1
        pople   {r4, pc}
        mov.w   r1, r4
        pop.w   {r4, pc}
        end     t_pops_if

        begin   t_tail, .thumb
        movs    r0, #4
        b.w     t_leaf
        end     t_tail

        begin   t_tail_through, .thumb
        cmp     r3, #0
        it      ne
        bxne    r3
        add.w   r0, r0, r1
        bx      lr
        end     t_tail_through

        begin   t_literal, .thumb
        ldr.w   r0, t_word
        bx      lr
        .balign 4
        place   t_word
        .word   0x12345678
        end     t_literal

@ ---- lld's padding, which reads as `bmi` to t_filled+2 ----
        begin   t_filled, .thumb
        movs    r2, #0
1:      adds    r2, r0
        subs    r0, #1
        bne     1b
        mov     r0, r2
        bx      lr
        end     t_filled

        begin   t_before_filler, .thumb
        .rept   36
        adds    r0, #1
        .endr
        bx      lr
        end     t_before_filler
        .inst.n 0xd4d4

@ ---- tail calls into the other state, for which the linker makes veneers ----
        begin   a_crosses, .arm
        add     r0, r0, #1
        b       t_crossed
        end     a_crosses

        begin   t_crosses, .thumb
        adds    r0, #1
        b.w     a_crossed
        end     t_crosses

        .thumb
        .balign 4
        .thumb_func
        place   t_crossed
        .type   t_crossed, %function
        push    {r4, lr}
        movs    r0, #1
        pop     {r4, pc}

        .arm
        .balign 4
        place   a_crossed
        .type   a_crossed, %function
        push    {r4, lr}
        mov     r0, #1
        pop     {r4, pc}

@ ---- Thumb-1's switches: a table follows a call that never returns behind itself ----
        .macro  switch name, reader, count
        begin   \name, .thumb
        push    {r4, lr}
        cmp     r0, #\count
        bcs     3f
        bl      \reader
        .endm
        .macro  ways name
        place   \name\()_first
        movs    r0, #7
        pop     {r4, pc}
3:      adds    r0, r1
        pop     {r4, pc}
        end     \name
        .endm

        switch  t_bytes, reads_bytes, 3
1:      .byte   (2f - 1b) / 2, (3f - 1b) / 2, (2f - 1b) / 2, 0
2:
        ways    t_bytes

        switch  t_halves, __gnu_thumb1_case_shi, 2
1:      .short  (3f - 1b) / 2, (2f - 1b) / 2
2:
        ways    t_halves

        switch  t_words, reads_words, 2
        .balign 4, 0
1:      .word   2f - 1b, 3f - 1b
2:
        ways    t_words

        switch  t_unknown, goes_elsewhere, 2
1:      .short  0x4770, 0x4770                  @ as code: bx lr
2:
        ways    t_unknown

        .thumb
        .balign 4
        .thumb_func
        place   reads_bytes
        .type   reads_bytes, %function
        push    {r1}
        mov     r1, lr
        lsrs    r1, r1, #1
        lsls    r1, r1, #1
        ldrb    r1, [r1, r0]
        lsls    r1, r1, #1
        add     lr, r1
        pop     {r1}
        bx      lr
        .balign 4
        .thumb_func
        place   reads_words
        .type   reads_words, %function
        push    {r0, r1}
        mov     r1, lr
        adds.n  r1, r1, #2
        lsrs    r1, r1, #2
        lsls    r0, r0, #2
        lsls    r1, r1, #2
        ldr     r0, [r1, r0]
        adds    r0, r0, r1
        mov     lr, r0
        pop     {r0, r1}
        mov     pc, lr
        .balign 4
        .thumb_func
        place   goes_elsewhere
        .type   goes_elsewhere, %function
        mov     r3, lr
        adds    r3, #4
        bx      r3

@ ---- a switch, and a tail call through a word at a distance from a register ----
        .macro  through_got name, state
        begin   \name, \state
        push    {r4, lr}
        cmp     r0, #2
        bcs     3f
        .ifc    \state, .thumb
        tbb     [pc, r0]
1:      .byte   (2f - 1b) / 2, (4f - 1b) / 2
        .else
        addls   pc, pc, r0, lsl #2
        nop
        b       2f
        b       4f
        .endif
2:      movs    r0, #7
        pop     {r4, pc}
        .endm
        .macro  goes_on name
4:      ldr     r2, 5f
        ldr     r3, [r1, r2]
        pop     {r4, lr}
        place   \name\()_exit
        bx      r3
        .balign 4
5:      .word   12
        end     \name
        .endm
        through_got a_switch_and_tail, .arm
3:      mov     r0, #9
        pop     {r4, pc}
        goes_on a_switch_and_tail
        through_got t_switch_and_tail, .thumb
3:      movs    r0, #9
        pop     {r4, pc}
        goes_on t_switch_and_tail

@ ---- states that contradict each other ----
@ Targets without a function symbol are called in the caller's state: no linker changes it.

        begin   calls_from_a32, .arm
        push    {r4, lr}
        bl      only_a32
        bl      both
        pop     {r4, pc}
        end     calls_from_a32

        begin   calls_from_t32, .thumb
        push    {r4, lr}
        bl      only_t32
        bl      both
        pop     {r4, pc}
        end     calls_from_t32

        .arm
        .balign 4
        place   only_a32
        adds    r0, r0, r1
        adds    r0, r0, r2
        bx      lr
        place   only_a32_end

        .thumb
        .balign 4
        place   both
        adds    r0, r0, r1
        movs    r3, #0
        adds    r0, r0, r2
        movs    r3, #0
        add.w   r0, r0, r3
        bx      lr
        nop
        .word   0xe12fff1e              @ bx lr, for a reader of the whole as A32
        place   both_end

        .thumb
        .balign 4
        place   only_t32
        adds    r0, r0, r1
        add.w   r0, r0, r2
        bx      lr
        nop
        place   only_t32_end
        nop
