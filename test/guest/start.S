/*
 * The start code of programs whose code is all guarded (BTI, linked with "-z force-bti"). Debian's
 * C library has no landing instructions in its start code, so programs linked with that are not
 * guarded.
 */
    .text
    .globl _start
    .type _start, %function
_start:
    bti c
    mov x29, #0
    mov x30, #0
    mov x5, x0 /* a function to call at exit */
    ldr x1, [sp]
    add x2, sp, #8
    mov x6, sp
    adrp x0, main
    add x0, x0, :lo12:main
    mov x3, #0
    mov x4, #0
    bl __libc_start_main
    brk #0
    .size _start, . - _start

    .data
    .balign 8
    .globl __dso_handle /* identifies the objects that C++ destroys */
    .hidden __dso_handle
__dso_handle:
    .quad __dso_handle
    .section .note.GNU-stack, "", %progbits
