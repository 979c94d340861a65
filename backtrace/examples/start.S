/* For the boards without Cortex-M: stacks and the vector table, before reset() of main.c. */
#if defined(__aarch64__)
    .section .vectors, "ax"
    .p2align 11
vectors: /* four groups: from this level with SP_EL0, with SP_EL1, from programs in A64, in A32 */
    .rept 4
    b spoor_fault_handler /* synchronous */
    .p2align 7
    b . /* interrupts: there are none */
    .p2align 7
    b .
    .p2align 7
    b spoor_fault_handler /* SError */
    .p2align 7
    .endr

    .globl start
start:
    adrp x0, vectors
    add x0, x0, :lo12:vectors
    msr vbar_el1, x0
    isb
    adrp x0, stack_top
    add x0, x0, :lo12:stack_top
    mov sp, x0
    bl reset
    b .
#else
    .syntax unified
    .arm
    .section .vectors, "ax"
    .p2align 5
vectors:
    b start
    ldr pc, =spoor_undefined_handler
    b .
    ldr pc, =spoor_prefetch_abort_handler
    ldr pc, =spoor_data_abort_handler
    b .
    b .
    b .

    .globl start
start:
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0 /* VBAR */
    ldr r0, =stack_top
    add r1, r0, #0x1000
    add r2, r0, #0x2000
    cps #0x17 /* Abort */
    mov sp, r1
    cps #0x1b /* Undefined */
    mov sp, r2
    cps #0x13 /* Supervisor */
    mov sp, r0
    bl reset
    b .
#endif
