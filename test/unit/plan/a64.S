// Shapes of AArch64 code that take several instructions to understand. test_a64.c states the plan
// of each.

        .macro  function name
        .globl  \name
        .hidden \name
        .type   \name, %function
        .balign 16
\name:
        .cfi_startproc
        .endm
        .macro  end name
        .cfi_endproc
        .size   \name, . - \name
        .endm
        .macro  place name              // a label in the copy with symbols, for tests
        .globl  \name
        .hidden \name
\name:
        .endm

        .text

        .macro  begins name, instruction:vararg
        function begins_with_\name
        \instruction
        nop
        ret
        end     begins_with_\name
        .endm
        begins  address, adr x0, guarded_table
        begins  literal, ldr x1, variable
        begins  odd_literal, ldr x1, odd_constant
        begins  vector, ldr q1, constant
        function begins_with_call
        bl      puts
        mov     w0, #1
        ret
        end     begins_with_call

// No call-frame information: its code shows the depth, if the table is read to its end and not
// beyond.
        .globl  guarded
        .type   guarded, %function
        .balign 16
guarded:
        stp     x29, x30, [sp, #-16]!
        cmp     w0, #2
        b.hi    9f
        adrp    x1, guarded_table
        add     x1, x1, :lo12:guarded_table
        ldrb    w1, [x1, w0, uxtw]
        adr     x2, 0f
        add     x1, x2, w1, sxtb #2
        br      x1
0:      ldp     x29, x30, [sp], #16
        ret
1:      mov     w0, #1
        ldp     x29, x30, [sp], #16
        ret
2:      mov     w0, #2
9:      ldp     x29, x30, [sp], #16
        ret
        .size   guarded, . - guarded

// The same, but other data shows the table's end.
        .globl  masked
        .type   masked, %function
        .balign 16
masked:
        stp     x29, x30, [sp, #-16]!
        and     x0, x0, #1
        adrp    x1, masked_table
        add     x1, x1, :lo12:masked_table
        ldrh    w1, [x1, w0, uxtw #1]
        adr     x2, 0f
        add     x1, x2, w1, sxth #2
        br      x1
0:      ldp     x29, x30, [sp], #16
        ret
1:      mov     w0, #1
        ldp     x29, x30, [sp], #16
        ret
        .size   masked, . - masked

        function reads_beyond           // reads the data behind that table
        adrp    x0, beyond
        add     x0, x0, :lo12:beyond
        ret
        end     reads_beyond

// Its last arm is elsewhere, and only the table leads there.
        function parted
        cmp     w0, #1
        b.hi    9f
        adrp    x1, parted_table
        add     x1, x1, :lo12:parted_table
        ldrh    w1, [x1, w0, uxtw #1]
        adr     x2, 0f
        add     x1, x2, w1, sxth #2
        br      x1
0:      mov     w0, #10
        ret
9:      mov     w0, #0
        ret
        end     parted
        .balign 16
        place   parted_rest
        .cfi_startproc
        mov     w0, #11
        ret
        .cfi_endproc

        function calls_twice            // through a linker stub
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset 29, -16
        .cfi_offset 30, -8
        bl      setjmp
        place   behind_setjmp
        cbz     w0, 1f
        bl      puts
        place   behind_puts
        nop
1:      adrp    x1, :got:vfork          // and through the stub's slot
        ldr     x1, [x1, :got_lo12:vfork]
        blr     x1
        place   behind_vfork
        add     w0, w0, #1
        adrp    x1, :got:puts
        ldr     x1, [x1, :got_lo12:puts]
        blr     x1
        place   behind_second_puts
        add     w0, w0, #1
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        ret
        end     calls_twice

        function first_choice
        mov     w0, #1
        ret
        end     first_choice
        function second_choice
        mov     w0, #2
        ret
        end     second_choice
        function third_choice
        mov     w0, #3
        ret
        end     third_choice
        function no_choice
        mov     w0, #4
        ret
        end     no_choice

        function resolver               // makes addresses by two instructions each, and loads one
        adrp    x1, first_choice
        add     x1, x1, :lo12:first_choice
        adrp    x2, second_choice
        add     x2, x2, :lo12:second_choice
        tst     x0, #1
        csel    x0, x1, x2, eq
        b.ne    1f
        adrp    x3, third
        ldr     x0, [x3, :lo12:third]
1:      ret
        end     resolver

        function binds                  // its caller has pushed x16 and x30
        nop
        stp     x8, x9, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        bl      puts
        ldp     x8, x9, [sp], #16
        .cfi_adjust_cfa_offset -16
        ldp     x17, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        br      x16
        end     binds

        function adds_members           // and jumps to their sum
        ldr     x1, [x0]
        cbz     x1, 1f
        ldr     x0, [x0, #8]
        add     x0, x0, x1
        mov     x16, x0
        br      x16
1:      ret
        end     adds_members

        function described_at_calls     // call-frame information as LLVM makes it: right behind calls
        cbz     w0, 1f
        stp     x29, x30, [sp, #-16]!
        mov     x29, sp
        .cfi_def_cfa x29, 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      puts
        cbz     w0, 2f
        ldp     x29, x30, [sp], #16
        br      x1
2:      ldp     x29, x30, [sp], #16
        ret
1:      b       puts
        end     described_at_calls

        function keeps_frame            // and jumps without removing it
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        bl      puts
        br      x1
        ldp     x29, x30, [sp], #16
        ret
        end     keeps_frame

        .macro  signs name, landing:vararg      // signs by its own address (FEAT_PAuth_LR)
        function \name
        .inst   \landing
        place   \name\()_body
        sub     sp, sp, #16
        .cfi_def_cfa_offset 16
        add     sp, sp, #16
        .cfi_def_cfa_offset 0
        .endm
        signs   signs_here, 0xdac1a3fe          // paciasppc
        .inst   0xf380007f                      // autiasppc signs_here
        ret
        end     signs_here
        signs   signs_behind_bti, 0xd503245f, 0xdac183fe
        .inst   0x5500007f                      // retaasppc
        end     signs_behind_bti
        signs   signs_for_a_register, 0xdac1a7fe
        adr     x16, signs_for_a_register
        .inst   0xd65f0ff0                      // retabsppcr x16
        end     signs_for_a_register
        signs   signs_by_hint, 0xd503245f, 0xd50324ff, 0xd503233f       // bti c; pacm; paciasp
        adr     x16, signs_by_hint + 8
        .inst   0xd50324ff, 0xd50323bf          // pacm; autiasp
        ret
        end     signs_by_hint
        signs   returns_by_hint, 0xd50324ff, 0xd503233f
        adr     x16, returns_by_hint + 4
        .inst   0xd50324ff, 0xd65f0bff          // pacm; retaa
        end     returns_by_hint
        .type   signs_undescribed, %function         // its code shows its depth
        .globl  signs_undescribed
        .balign 16
signs_undescribed:
        .inst   0xdac1a3fe
        place   signs_undescribed_body
        stp     x29, x30, [sp, #-16]!
        bl      puts
        ldp     x29, x30, [sp], #16
        .inst   0xf380009f, 0xd65f03c0          // autiasppc; ret
        .size   signs_undescribed, . - signs_undescribed

        .balign 16
        place   late_stub               // followed by a number for its linker
        .type   late_stub, %function
        adrp    x16, variable
        add     x16, x16, :lo12:variable
        ldr     x16, [x16]
        br      x16
        .word   5
        .size   late_stub, . - late_stub
        .balign 16
        place   through_variable        // followed by other code
        .type   through_variable, %function
        adrp    x1, variable
        ldr     x1, [x1, :lo12:variable]
        br      x1
        mov     w0, #1
        ret
        .size   through_variable, . - through_variable

        function generates              // loads code as data
        ldr     w1, 1f
        ldr     x2, 2f
        ldr     w3, 3f
        str     w1, [x0]
        b       4f
1:      ret
2:      b       puts
        .inst   0x02000000              // none
4:      ret
3:      br      x17
        end     generates

        function looks_like_a_load      // at another instruction of this function
        ret
        .inst   0x58fffff8              // ldr x24, the return above
        end     looks_like_a_load

        .section .rodata
guarded_table:
        .byte   0, 2, 5
        .byte   1, 1, 1                 // offsets to a place where a frame is gone
        .balign 2
masked_table:
        .hword  0, 2
beyond: .hword  1, 1, 1
parted_table:
        .hword  0, (parted_rest - parted - 32) / 4

        .balign 16
constant:
        .quad   1, 2
        .word   3
odd_constant:
        .quad   4

        .data
        .balign 8
third:  .quad   third_choice
variable:
        .quad   0
        .section .note.GNU-stack, "", %progbits
