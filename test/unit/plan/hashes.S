/*
 * Hashes that compilers put before functions, for the checks of indirect calls (kCFI, Clang's
 * function sanitizer). They follow a return, where padding would be, and look as much like padding
 * as they can. Before each group is a function too short for a jump, so the planner looks for room.
 * Labels as in rules.S.
 */
    .macro FUNC name
    .type \name, @function
\name:
    .cfi_startproc
    .endm
    .macro END name
    .cfi_endproc
    .size \name, . - \name
    .endm
    .macro SHORT name
    .skip 256, 0xf4 /* nothing is near */
FUNC \name
    xor %eax, %eax
    ret
END \name
    .endm
    .macro LONG name
FUNC \name
    mov %edi, %eax
    imul $100, %eax, %eax
    ret
END \name
    .endm

    .text
    SHORT before_padding
at_padding:
    .skip 8, 0x90
at_padding_end:
    LONG behind_padding

    SHORT before_kcfi
at_kcfi:
    mov $0x90909090, %eax
at_kcfi_end:
    LONG behind_kcfi

    SHORT before_sanitizer
at_sanitizer:
    .long 0xc105cafe
    .long 0x90909090
at_sanitizer_end:
    LONG behind_sanitizer

    .skip 256, 0xf4
