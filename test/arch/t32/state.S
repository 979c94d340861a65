/*
 * See state.h. The code under test owns every register, so this file keeps its own values in
 * memory.
 */
#include "state.h"

        .syntax unified
        .arch   armv7-a
        .fpu    neon
        .thumb

        .bss
        .balign 8
saved_sp:
        .skip   4
saved_out:
        .skip   4

        .text
        .balign 4
        .globl  state_run, state_leave
        .thumb_func
        .type   state_run, %function
state_run:
        push    {r4-r11, lr}
        vpush   {d8-d15}
        movw    r2, #:lower16:saved_sp
        movt    r2, #:upper16:saved_sp
        mov     r3, sp
        strd    r3, r1, [r2]
        add     r1, r0, #STATE_D
        vldm    r1!, {d0-d15}
        vldm    r1, {d16-d31}
        ldr     r1, [r0, #STATE_APSR]
        msr     apsr_nzcvqg, r1
        ldr     r1, [r0, #STATE_FPSCR]
        vmsr    fpscr, r1
        .irp    n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
        ldr     r\n, [r0, #(\n * 4)]
        .endr
        ldr     sp, [r0, #STATE_SP]
        ldr     lr, [r0, #STATE_LR]
        ldr     r0, [r0]
        .balign 4, 0
        .size   state_run, . - state_run
/* Data to the assembler: state_leave is written as code. */
state_leave:
        b.w     state_leave

        .macro  arrival n
        .globl  arrive_\n
        .balign 4
        .thumb_func
        .type   arrive_\n, %function
arrive_\n:
        push    {r0, r1}
        mov.w   r1, #\n
        b.w     arrived
        .endm
        arrival 0
        arrival 1

arrived:
        movw    r0, #:lower16:saved_out
        movt    r0, #:upper16:saved_out
        ldr     r0, [r0]
        str     r1, [r0, #STATE_ARRIVED]
        mrs     r1, apsr
        str     r1, [r0, #STATE_APSR]
        vmrs    r1, fpscr
        str     r1, [r0, #STATE_FPSCR]
        .irp    n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
        str     r\n, [r0, #(\n * 4)]
        .endr
        str     lr, [r0, #STATE_LR]
        pop     {r2, r3}
        strd    r2, r3, [r0]
        str     sp, [r0, #STATE_SP]
        add     r1, r0, #STATE_D
        vstm    r1!, {d0-d15}
        vstm    r1, {d16-d31}
        movw    r2, #:lower16:saved_sp
        movt    r2, #:upper16:saved_sp
        ldr     sp, [r2]
        mov     r2, #0 /* as at a program's start */
        vmsr    fpscr, r2
        vpop    {d8-d15}
        pop     {r4-r11, pc}

        .section .note.GNU-stack, "", %progbits
