// _registers_call(before, after, thunk) fills every register from BEFORE and goes to THUNK. THUNK
// calls a function before->times times and saves all registers to AFTER. Then the functions follow.
// They keep to no calling convention, and change nothing that their caller does not expect. A
// second call changes nothing more. x30 is what calls leave in it.

        .arch   armv8.5-a+sve

        .set    SP_AT, 31 * 8
        .set    NZCV, 32 * 8
        .set    FPCR, 33 * 8
        .set    FPSR, 34 * 8
        .set    THREAD, 35 * 8
        .set    TIMES, 36 * 8
        .set    SCALABLE, 37 * 8
        .set    STACK, 38 * 8           // that many bytes above the stack pointer: STACK_BYTES
        .set    STACK_BYTES, 256
        .set    VECTORS, STACK + STACK_BYTES
        .set    PREDICATES, VECTORS + 32 * 256
        .set    FAULTS, PREDICATES + 16 * 32

        .macro  function name
        .globl  \name
        .type   \name, %function
        .balign 16
\name:
        .cfi_startproc
        .endm
        .macro  finish name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .macro  all_vectors op, at
        add     x1, \at, #VECTORS
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        \op     q\n, [x1, #(\n * 16)]
        .endr
        .endm
        .macro  all_scalable op, at
        add     x1, \at, #VECTORS
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        \op     z\n, [x1, #\n, mul vl]
        .endr
        .endm
        .macro  all_predicates op, at
        add     x1, \at, #(PREDICATES & ~4095)
        add     x1, x1, #(PREDICATES & 4095)
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        \op     p\n, [x1, #\n, mul vl]
        .endr
        .endm

        .text
        .globl  _registers_call
        .balign 16
_registers_call:
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-176]!
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        stp     x0, x1, [sp, #160]
        mov     x30, x2
        sub     sp, sp, #STACK_BYTES
        mov     x1, sp
        str     x1, [x0, #SP_AT]
        add     x2, x0, #STACK
        .irp    n, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
        ldp     x3, x4, [x2, #(\n * 8)]
        stp     x3, x4, [sp, #(\n * 8)]
        .endr
        mrs     x1, tpidr_el0
        str     x1, [x0, #THREAD]
        ldr     x1, [x0, #SCALABLE]
        cbnz    x1, 1f
        all_vectors ldr, x0
        b       2f
1:      add     x1, x0, #(FAULTS & ~4095)
        add     x1, x1, #(FAULTS & 4095)
        ldr     p0, [x1]
        setffr
        wrffr   p0.b
        all_predicates ldr, x0
        all_scalable ldr, x0
2:      ldr     x1, [x0, #FPCR]
        msr     fpcr, x1
        ldr     x1, [x0, #FPSR]
        msr     fpsr, x1
        ldr     x1, [x0, #NZCV]
        msr     nzcv, x1
        .irp    n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
        ldr     x\n, [x0, #(\n * 8)]
        .endr
        ldr     x0, [x0]
        ret                             // to the thunk

// The stack pointer must be unchanged. The address of the thunk's call is before the return
// address.
_registers_again:
        stp     x0, x1, [sp, #-16]!
        ldr     x0, [sp, #(16 + STACK_BYTES + 160)]
        ldr     x1, [x0, #TIMES]
        sub     x1, x1, #1
        str     x1, [x0, #TIMES]
        cbz     x1, _registers_save
        ldp     x0, x1, [sp], #16
        sub     x30, x30, #4
        ret

_registers_save:
        ldr     x0, [sp, #(16 + STACK_BYTES + 168)]
        .irp    n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
        str     x\n, [x0, #(\n * 8)]
        .endr
        mrs     x1, nzcv
        str     x1, [x0, #NZCV]
        mrs     x1, fpcr
        str     x1, [x0, #FPCR]
        mrs     x1, fpsr
        str     x1, [x0, #FPSR]
        mrs     x1, tpidr_el0
        str     x1, [x0, #THREAD]
        ldr     x1, [x0, #SCALABLE]
        cbnz    x1, 1f
        all_vectors str, x0
        b       2f
1:      all_scalable str, x0
        all_predicates str, x0
        rdffr   p0.b
        add     x1, x0, #(FAULTS & ~4095)
        add     x1, x1, #(FAULTS & 4095)
        str     p0, [x1]
2:      msr     fpcr, xzr
        msr     fpsr, xzr
        ldp     x2, x3, [sp], #16
        stp     x2, x3, [x0]
        mov     x1, sp
        str     x1, [x0, #SP_AT]
        add     x2, x0, #STACK
        .irp    n, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
        ldp     x3, x4, [sp, #(\n * 8)]
        stp     x3, x4, [x2, #(\n * 8)]
        .endr
        add     sp, sp, #STACK_BYTES
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldp     x29, x30, [sp], #176
        ret

        .macro  thunk shape
        .globl  _call_\shape
_call_\shape:
        bl      shape_\shape
        b       _registers_again
        .endm
        .irp    shape, plain, landing, signed, signed_tail, tail, tail_register, tail_if_carry, tail_if_zero, tail_if_bit
        thunk   \shape
        .endr
        .irp    shape, calls, calls_signed, takes_carry, reads_flags, reads_by_tail, loop_head, begins_with_place, begins_with_page
        thunk   \shape
        .endr
        .irp    shape, begins_with_word, begins_with_half, begins_with_signed, begins_with_vector, begins_with_branch
        thunk   \shape
        .endr
        .irp    shape, links, returns_elsewhere, exclusive, runs_on, pad, pad_before, comes_back
        thunk   \shape
        .endr

// Entry and return.
        function shape_plain
        mov     x0, x0
        mov     x11, x11
        ret
        finish  shape_plain

// First a landing instruction of indirect calls, ...
        function shape_landing
        bti     c
        mov     x10, x10
        ret
        finish  shape_landing

// ... or the signing of the return address, which is authenticated before a tail call, ...
        function shape_signed
        paciasp
        .cfi_negate_ra_state
        mov     x10, x10
        autiasp
        .cfi_negate_ra_state
        ret
        finish  shape_signed

        function shape_signed_tail
        pacibsp
        .cfi_negate_ra_state
        mov     x10, x10
        autibsp
        .cfi_negate_ra_state
        b       shape_signed
        finish  shape_signed_tail

// A tail call to a direct target, ...
        function shape_tail
        mov     x1, x1
        b       shape_plain
        finish  shape_tail

// ... through a register, ...
        function shape_tail_register
        mov     x1, x1
        br      x16
        finish  shape_tail_register

// ... and with conditions of each form.
        function shape_tail_if_carry
        mov     x1, x1
        b.cs    shape_plain
        ret
        finish  shape_tail_if_carry

        function shape_tail_if_zero
        mov     x1, x1
        cbz     x19, shape_plain
        cbnz    w19, shape_landing
        ret
        finish  shape_tail_if_zero

        function shape_tail_if_bit
        mov     x1, x1
        tbz     x19, #40, shape_plain
        tbnz    x20, #3, shape_landing
        ret
        finish  shape_tail_if_bit

        .macro  frame
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset 29, -16
        .cfi_offset 30, -8
        .endm
        .macro  unframe
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore 29
        .cfi_restore 30
        .endm

// Calls in the middle of its body.
        function shape_calls
        frame
        bl      shape_plain
        mov     x2, x2
        unframe
        ret
        finish  shape_calls

// ... or by the return itself, which leaves x30 signed: its caller has another value in it.
        function shape_returns_signed
        paciasp
        .cfi_negate_ra_state
        mov     x10, x10
        retaa
        finish  shape_returns_signed

        function shape_calls_signed
        frame
        bl      shape_returns_signed
        unframe
        ret
        finish  shape_calls_signed

// Copies the carry flag to x10 first.
        function shape_takes_carry
        cset    x10, cs
        mov     x2, x2
        ret
        finish  shape_takes_carry

// Returns its result in flags, which its caller reads.
        function shape_gives_flags
        mov     x2, x2
        cmp     x8, x9
        ret
        finish  shape_gives_flags

        function shape_reads_flags
        frame
        mrs     x12, nzcv
        bl      shape_gives_flags
        cset    x10, hi
        cset    x11, lt
        msr     nzcv, x12
        unframe
        ret
        finish  shape_reads_flags

// The same through a tail call.
        function shape_gives_by_tail
        cmp     x9, x8
        b       shape_gives_flags
        finish  shape_gives_by_tail

        function shape_reads_by_tail
        frame
        mrs     x12, nzcv
        bl      shape_gives_by_tail
        cset    x10, hi
        cset    x11, lt
        msr     nzcv, x12
        unframe
        ret
        finish  shape_reads_by_tail

// The entry is the head of a loop. Sets bit 3 of x8.
        function shape_loop_head
        eor     x8, x8, #8
        tbz     x8, #3, shape_loop_head
        ret
        finish  shape_loop_head

// First instructions that are relative to the pc: an address, a page, ...
        function shape_begins_with_place
        adr     x10, literal
        ret
        finish  shape_begins_with_place

        function shape_begins_with_page
        adrp    x10, literal
        add     x10, x10, :lo12:literal
        ret
        finish  shape_begins_with_page

// ... constants, ...
        function shape_begins_with_word
        ldr     x10, literal
        ret
        finish  shape_begins_with_word

        function shape_begins_with_half
        ldr     w10, literal + 4
        ret
        finish  shape_begins_with_half

        function shape_begins_with_signed
        ldrsw   x10, literal + 4
        ret
        finish  shape_begins_with_signed

        function shape_begins_with_vector
        ldr     q10, literal
        ret
        finish  shape_begins_with_vector

// ... a branch, which notes in x10 whether it was taken, ...
        function shape_begins_with_branch
        b.hi    1f
        mov     x10, #0
        ret
1:      mov     x10, #1
        ret
        finish  shape_begins_with_branch

// ... and a call, behind which it returns to the address in x17.
        function shape_begins_with_call
        bl      shape_plain
        ret     x17
        finish  shape_begins_with_call

        function shape_links
        frame
        adr     x17, 1f
        bl      shape_begins_with_call
1:      unframe
        ret
        finish  shape_links

// Returns through another register.
        function shape_returns_elsewhere
        mov     x17, x30
        ret     x17
        finish  shape_returns_elsewhere

// Has an exclusive pair in its body: x10 is the word on the stack, x11 is 0.
        function shape_exclusive
        mov     x2, x2
1:      ldxr    x10, [sp]
        stxr    w11, x10, [sp]
        cbnz    w11, 1b
        ret
        finish  shape_exclusive

// Runs on into the next function.
        function shape_runs_on
        mov     x2, x2
        mov     x3, x3
        nop
        nop
        finish  shape_runs_on
        function shape_run_on_to
        mov     x4, x4
        ret
        finish  shape_run_on_to

// Nops left for patching: at the entry, and most of them before it.
        function shape_pad
        nop
        nop
        mov     x2, x2
        ret
        finish  shape_pad

        .balign 16
        nop
        nop
        nop
        .globl  shape_pad_before
        .type   shape_pad_before, %function
shape_pad_before:
        .cfi_startproc
        bti     c
        nop
        mov     x2, x2
        ret
        finish  shape_pad_before

// Continues at the target of another function's jump, with the stack pointer from then (as after
// longjmp). Changes x10 to x12.
        function shape_comes_back
        frame
        adr     x10, 1f
        mov     x11, sp
        stp     x10, x11, [sp, #-16]!
        .cfi_def_cfa_offset 32
        mov     x10, sp
        bl      shape_jumps_back
        .cfi_def_cfa_offset 16
1:      hint    #36                     // bti j
        mov     x11, #0
        unframe
        ret
        finish  shape_comes_back

        function shape_jumps_back
        ldr     x30, [x10]
        ldr     x12, [x10, #8]
        mov     sp, x12
        mov     x10, #0
        mov     x12, #0
        br      x30
        finish  shape_jumps_back

        .balign 16
        .globl  literal
literal:
        .quad   0x0123456789abcdef, 0xfedcba9876543210

        .section __patchable_function_entries, "awo", %progbits, .text
        .balign 8
        .quad   shape_pad
        .quad   shape_pad_before - 12
        .section .note.GNU-stack, "", %progbits
