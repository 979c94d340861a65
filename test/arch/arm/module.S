/*
 * Functions in A32 and T32 with entries and exits of all kinds, for trampolines.c. They are
 * entered with any values in all registers. Each function adds to r9 the number of functions that
 * it goes on with by tail calls, and to r8 the number that it calls. The called function does the
 * adding, so a function that the test itself calls is counted too. Otherwise r8 and r9 stay as
 * they are.
 */
        .syntax unified
        .arch   armv7-a
        .fpu    neon
        .text

        .macro  begin name
        .balign 4
        .globl  \name
        .type   \name, %function
\name:
        .fnstart
        .endm
        .macro  end name
        .fnend
        .size   \name, . - \name
        .endm

/* ---- A32 ---- */
        .arm
        .globl  start /* the file's entry point: not called as a function */
start:
        bx      lr
        begin   a_other
        add     r9, r9, #1
        bx      lr
        end     a_other

        begin   a_called
        add     r8, r8, #1
        mov     r10, lr
        bx      lr
        end     a_called

        begin   a_leaf
        adds    r0, r0, r1
        bx      lr
        end     a_leaf

        begin   a_one
        bx      lr
        end     a_one

        begin   a_move
        eor     r0, r0, r7
        mov     pc, lr
        end     a_move

        begin   a_pops
        push    {r4-r7, lr}
        mov     r4, r0
        mvns    r5, r4
        pop     {r4-r7, pc}
        end     a_pops

        begin   a_ends_if
        push    {r4-r6, lr}
        sub     sp, sp, #8
        tst     r0, #1
        mvn     r4, r0
        addeq   sp, sp, #8
        movne   r5, #3
        popeq   {r4-r6, pc}
        str     r4, [sp, #4]
        add     sp, sp, #8
        pop     {r4-r6, pc}
        end     a_ends_if

        begin   a_jumps_if
        push    {r4, lr}
        tst     r1, #2
        mov     r4, r1
        popne   {r4, lr}
        bne     a_other
        eor     r2, r2, r4
        pop     {r4, pc}
        end     a_jumps_if

        begin   a_pops_one
        str     lr, [sp, #-4]!
        mov     lr, r3
        ldr     pc, [sp], #4
        end     a_pops_one

        begin   a_pops_aligned
        str     lr, [sp, #-8]!
        mov     lr, r3
        ldr     pc, [sp], #8
        end     a_pops_aligned

        begin   a_old_frame             /* of the older procedure call standard */
        mov     ip, sp
        push    {r0-r3}
        push    {r4, fp, ip, lr, pc}
        sub     fp, ip, #20
        mvn     r4, r1
        ldmdbeq fp, {r4, fp, sp, pc}
        ldm     sp, {r4, fp, sp, pc}
        end     a_old_frame

        begin   a_all
        push    {r0-r12, lr}
        vpush   {d8-d9}
        mov     r0, #0
        vpop    {d8-d9}
        ldm     sp!, {r0-r12, pc}
        end     a_all

        begin   a_returns_if
        bxeq    lr
        add     r0, r0, #1
        movmi   pc, lr
        sub     r0, r0, r2
        bx      lr
        end     a_returns_if

        begin   a_pops_if
        push    {r4, lr}
        mov     r4, #3
        pople   {r4, pc}
        ldmcs   sp!, {r4, pc}
        mov     r1, r4
        pop     {r4, pc}
        end     a_pops_if

        begin   a_tail
        mov     r0, #4
        b       a_other
        end     a_tail

        begin   a_tail_at_once
        b       a_other
        end     a_tail_at_once

        begin   a_tail_if
        beq     a_other
        bvs     a_other
        add     r0, r0, #5
        bhi     a_other
        bx      lr
        end     a_tail_if

        begin   a_pops_and_tails
        push    {r4, lr}
        mov     r4, r1
        pop     {r4, lr}
        b       a_other
        end     a_pops_and_tails

        begin   a_tail_through
        movw    ip, #:lower16:t_other
        movt    ip, #:upper16:t_other
        bx      ip
        end     a_tail_through

        begin   a_tail_through_if
        movw    ip, #:lower16:a_other
        movt    ip, #:upper16:a_other
        bxpl    ip
        ldr     ip, =pointers
        ldrcc   pc, [ip, #4]
        bx      lr
        .ltorg
        end     a_tail_through_if

        begin   a_selects
        and     r1, r1, #1
        movw    ip, #:lower16:pointers
        movt    ip, #:upper16:pointers
        ldrls   pc, [ip, r1, lsl #2]
        add     r0, r0, #1
        bx      lr
        end     a_selects

        begin   a_loops
        movs    r0, r0, lsr #3
        bne     a_loops
        bx      lr
        end     a_loops

        begin   a_loops_behind
        b       1f
0:      mov     r1, r0
        bx      lr
1:      lsrs    r0, r0, #4
        beq     0b
        b       a_loops_behind
        end     a_loops_behind

        begin   a_literal
        ldr     r0, =0x12345678
        ldrls   r1, =0x87654321
        bx      lr
        .ltorg
        end     a_literal

        begin   a_address
        adr     r2, 1f
        ldr     r0, [r2]
        ldr     pc, [pc, #-4]
        .word   a_other
1:      .word   0x1020304
        end     a_address

        begin   a_vector
        vldr    d5, 1f
        vmov    r0, r1, d5
        bx      lr
        .balign 8
1:      .quad   0x123456789abcdef0
        end     a_vector

        begin   a_calls
        push    {r4, lr}
        bl      a_called
        blx     t_called
        blne    a_called
        pop     {r4, pc}
        end     a_calls

        begin   setjmp
        add     r8, r8, #1
        bx      lr
        end     setjmp

        begin   a_comes_twice
        push    {r4, lr}
        bl      setjmp
        movs    r1, r0
        pop     {r4, pc}
        end     a_comes_twice

        begin   a_runs_on
        push    {r4, lr}
        pop     {r4, lr}
        add     r9, r9, #1
        end     a_runs_on
        begin   a_runs_into
        mov     r0, #6
        bx      lr
        end     a_runs_into

#include "module_t32.S"

        .data
        .globl  pointers
pointers:
        .word   a_other, t_other
        .section .note.GNU-stack, "", %progbits
