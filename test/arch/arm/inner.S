/*
 * Routines inside functions, for trampolines.c. They are called while their caller's frame exists,
 * and may return for it. No symbol names them. Functions that call them have `inner` in their
 * names. As in module.S, each call adds to r8 and each tail call to r9. The mapping symbols of this
 * file are removed before it is planned.
 */
        .syntax unified
        .arch   armv7-a
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

        /* The routine is outside all symbols. */
        begin   a_inner_behind
        push    {r4-r6, lr}
        movs    r4, r0
        mov     r5, r1
        bleq    1f
        add     r2, r2, #3
        tst     r3, #1
        bne     2f
        pop     {r4-r6, pc}
        end     a_inner_behind
1:      add     r8, r8, #1
        teq     r1, #0
        mov     r4, #7
        bxne    lr
2:      mov     r0, #9
        mov     lr, r1
        pop     {r4-r6, pc}

        /* Routines inside; one continues in the middle of the other, and in code of no symbol. */
        begin   a_inner_within
        push    {r4-r6, lr}
        movs    r4, r2
        bl      1f
        eor     r0, r0, r5
        pop     {r4-r6, pc}
0:      sub     r6, r6, #1
        add     r9, r9, #1
        bx      lr
1:      add     r8, r8, #1
        teq     r0, #0
        beq     2b
        teq     r1, #0
        beq     0b
        mov     r5, #5
        b       0b
        end     a_inner_within

        /* A frame addressed by the frame pointer, which a call through `mov lr, pc` leaves alone.
         * */
        begin   a_called
        add     r8, r8, #1
        mov     r3, #5
        bx      lr
        end     a_called
        begin   a_calls_by_hand
        push    {fp, lr}
        add     fp, sp, #4
        sub     sp, sp, #24
        movw    r3, #:lower16:a_called
        movt    r3, #:upper16:a_called
        mov     lr, pc
        bx      r3
        sub     sp, fp, #4
        pop     {fp, pc}
        end     a_calls_by_hand

        /* Its last instruction calls the next function. */
        begin   a_ends_with_call
        push    {r4, lr}
        cmp     r4, r4
        bne     1f
        pop     {r4, pc}
1:      bl      a_behind
        end     a_ends_with_call
        begin   a_behind
        eor     r1, r1, r0
        bx      lr
        end     a_behind

        /* Two functions in one: the first symbol covers both. */
        begin   a_first
        eor     r1, r1, #0x80000000
        .globl  a_other_second
        .type   a_other_second, %function
a_other_second:
        push    {r4, lr}
        add     r9, r9, #1
        pop     {r4, pc}
        end     a_first
        .size   a_other_second, . - a_other_second

/* ---- T32 ---- */
        .thumb
        begin   t_inner_behind
        .thumb_func
        push    {r4-r6, lr}
        mov     r4, r0
        mov     r5, r1
        cbnz    r0, 0f
        bl      1f
0:      adds    r2, r2, #3
        tst     r3, #1
        bne     2f
        pop     {r4-r6, pc}
        end     t_inner_behind
1:      add     r8, r8, #1
        mov     r4, #7
        cbz     r1, 2f
        bx      lr
2:      movs    r0, #9
        mov     lr, r1
        pop     {r4-r6, pc}

        begin   t_inner_within
        .thumb_func
        push    {r4-r6, lr}
        movs    r4, r2
        bl      1f
        eors    r0, r0, r5
        pop     {r4-r6, pc}
0:      subs    r6, r6, #1
        add     r9, r9, #1
        bx      lr
1:      add     r8, r8, #1
        cmp     r0, #0
        beq     2b
        cmp     r1, #0
        beq     0b
        movs    r5, #5
        b       0b
        end     t_inner_within

        begin   t_ends_with_call
        .thumb_func
        push    {r4, lr}
        cmp     r4, r4
        bne     1f
        pop     {r4, pc}
1:      bl      t_behind
        end     t_ends_with_call
        begin   t_behind
        .thumb_func
        eors    r1, r1, r0
        bx      lr
        end     t_behind
        .section .note.GNU-stack, "", %progbits
