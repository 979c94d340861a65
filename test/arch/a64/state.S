/*
 * See state.h. The code under test owns every register, so this file keeps its own values in
 * memory.
 */
#include "state.h"

        .bss
        .balign 8
saved_sp:
        .skip 8
saved_out:
        .skip 8

        .text
        .globl state_run, state_leave
        .type state_run, %function
state_run:
        stp     x29, x30, [sp, #-160]!
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        adrp    x2, saved_sp
        add     x2, x2, :lo12:saved_sp
        mov     x3, sp
        stp     x3, x1, [x2]

        add     x1, x0, #STATE_Q
        .irp    n, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
        ldr     q\n, [x1, #(\n * 16)]
        .endr
        .irp    n, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
        ldr     q\n, [x1, #(\n * 16)]
        .endr
        ldr     x1, [x0, #STATE_NZCV]
        msr     nzcv, x1
        ldr     x1, [x0, #STATE_SP]
        mov     sp, x1
        .irp    n, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29
        ldr     x\n, [x0, #(\n * 8)]
        .endr
        .irp    n, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
        ldr     x\n, [x0, #(\n * 8)]
        .endr
        ldr     x0, [x0]
state_leave:
        b       .
        .size state_run, . - state_run

        .macro  arrival n
        .globl  arrive_\n
        .type   arrive_\n, %function
arrive_\n:
        stp     x0, x1, [sp, #-16]!
        mov     x1, #\n
        b       arrived
        .endm
        arrival 0
        arrival 1
        arrival 2
        arrival 3
        arrival 4
        arrival 5

arrived:
        adrp    x0, saved_out
        ldr     x0, [x0, :lo12:saved_out]
        str     x1, [x0, #STATE_ARRIVED]
        mrs     x1, nzcv
        str     x1, [x0, #STATE_NZCV]
        .irp    n, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29
        str     x\n, [x0, #(\n * 8)]
        .endr
        .irp    n, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
        str     x\n, [x0, #(\n * 8)]
        .endr
        ldp     x2, x3, [sp], #16
        stp     x2, x3, [x0]
        mov     x2, sp
        str     x2, [x0, #STATE_SP]
        add     x1, x0, #STATE_Q
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        str     q\n, [x1, #(\n * 16)]
        .endr
        .irp    n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        str     q\n, [x1, #(\n * 16)]
        .endr

        adrp    x2, saved_sp
        ldr     x3, [x2, :lo12:saved_sp]
        mov     sp, x3
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldp     x29, x30, [sp], #160
        ret

        .section .note.GNU-stack, "", %progbits
