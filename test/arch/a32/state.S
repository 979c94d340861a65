/*
 * See state.h. The code under test owns every register, so this file keeps its own values in
 * memory.
 */
#include "state.h"

        .syntax unified
        .arm
#ifdef ARMV6
        .fpu    vfpv2           /* vfpv2 has half of the registers */
#else
        .fpu    neon
#endif

        .bss
        .balign 8
saved_sp:
        .skip 4
saved_out:
        .skip 4

        .text
        .globl state_run
        .type state_run, %function
state_run:
        push    {r4-r11, lr}
        vpush   {d8-d15}
        ldr     r2, =saved_sp
        str     sp, [r2]
        str     r1, [r2, #4]
        add     r1, r0, #STATE_D
        vldmia  r1!, {d0-d15}
#ifndef ARMV6
        vldmia  r1, {d16-d31}
#endif
        ldr     r1, [r0, #STATE_APSR]
        msr     cpsr_fs, r1
        ldr     r1, [r0, #STATE_FPSCR]
        vmsr    fpscr, r1
        ldr     sp, [r0, #(STATE_R + 52)]
        sub     sp, sp, #4
        ldr     lr, [r0, #(STATE_R + 56)]
        ldm     r0, {r0-r12}
        ldr     pc, [sp], #4
        .size state_run, . - state_run
        .ltorg

        .macro  arrival n
        .globl  arrive_\n
        .type   arrive_\n, %function
arrive_\n:
        push    {r0, r1}
        mov     r1, #\n
        b       arrived
        .endm
        arrival 0
        arrival 1
        arrival 2
        arrival 3
        arrival 4

arrived:
        ldr     r0, =saved_out
        ldr     r0, [r0]
        str     r1, [r0, #STATE_ARRIVED]
        mrs     r1, cpsr
        str     r1, [r0, #STATE_APSR]
        vmrs    r1, fpscr
        str     r1, [r0, #STATE_FPSCR]
        add     r1, r0, #8
        stm     r1, {r2-r12}
        pop     {r2, r3}
        stm     r0, {r2, r3}
        str     sp, [r0, #(STATE_R + 52)]
        str     lr, [r0, #(STATE_R + 56)]
        add     r1, r0, #STATE_D
        vstmia  r1!, {d0-d15}
#ifndef ARMV6
        vstmia  r1, {d16-d31}
#endif
        ldr     r2, =saved_sp
        ldr     sp, [r2]
        mov     r2, #0 /* as at a program's start */
        vmsr    fpscr, r2
        vpop    {d8-d15}
        pop     {r4-r11, pc}
        .ltorg

        .section .note.GNU-stack, "", %progbits
