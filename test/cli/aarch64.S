// Shapes of AArch64 code. aarch64.py states the plan of each.

        .macro  function name
        .globl  \name
        .type   \name, %function
        .balign 16
\name:
        .cfi_startproc
        .endm
        .macro  end name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .text
        function lands                  // the site is behind the landing instruction
        bti     c
        paciasp
        add     x0, x0, #1
        retaa
        end     lands

        function first_page             // pc-relative
        adrp    x1, table
        ldr     w0, [x1, :lo12:table]
        ret
        end     first_page

        function first_vector           // its constant is copied
        ldr     q0, literal
        ret
        .balign 16
literal:
        .quad   1, 2
        end     first_vector

        function tail_direct
        mov     x1, #1
        b       lands
        end     tail_direct

        function tail_indirect
        ldr     x1, [x0]
        br      x1
        end     tail_indirect

        function tail_if
        cbz     x0, lands
        ret
        end     tail_if

        function leaf_switch            // br inside: not the end of the call
        cmp     x0, #3
        b.hi    9f
        adrp    x1, table
        add     x1, x1, :lo12:table
        ldrb    w1, [x1, w0, uxtw]
        adr     x2, 0f
        add     x1, x2, w1, sxtb #2
        br      x1
0:      mov     x0, #10
        ret
1:      mov     x0, #11
        ret
9:      mov     x0, #0
        ret
        end     leaf_switch

        function atomic_first           // a pair that must stay together
        ldxr    x1, [x0]
        add     x1, x1, #1
        stxr    w2, x1, [x0]
        cbnz    w2, atomic_first
        ret
        end     atomic_first

        function atomic_inside          // the branch out is between the two
        mov     x3, #1
1:      ldxr    x1, [x0]
        cbz     x1, lands
        stxr    w2, x3, [x0]
        cbnz    w2, 1b
        ret
        end     atomic_inside

        function calls_first
        bl      lands
        udf     #0
        end     calls_first

        function kernel_first
        svc     #0
        ret
        end     kernel_first

        function by_another_stack       // as longjmp does
        ldr     x30, [x0]
        ldr     x2, [x0, #8]
        mov     sp, x2
        br      x30
        end     by_another_stack

        function large_frame            // leaves its frame by an addition, on the same stack
        mov     x12, #4112
        .cfi_def_cfa_offset 0
        sub     sp, sp, x12
        .cfi_def_cfa_offset 4112
        str     x30, [sp]
        bl      lands
        ldr     x30, [sp]
        mov     x12, #4112
        add     sp, sp, x12
        .cfi_def_cfa_offset 0
        ldr     x1, [x0]
        br      x1
        end     large_frame

        .type   undescribed, %function  // no call-frame information: its code is followed
        .globl  undescribed
undescribed:
        stp     x29, x30, [sp, #-32]!
        mov     x29, sp
        stp     x19, x20, [sp, #16]
        bl      lands
        cbz     x0, 1f
        ldp     x19, x20, [sp, #16]
        ldp     x29, x30, [sp], #32
        b       lands
1:      mov     sp, x29
        ldp     x19, x20, [sp, #16]
        ldp     x29, x30, [sp], #32
        ret
        .size   undescribed, . - undescribed

        .section .rodata
table:
        .byte   0, 2, 0, 2
        .section .note.GNU-stack, "", %progbits
