/* The functions of module.S in T32. */
        .thumb
        begin   t_other
        .thumb_func
        add     r9, r9, #1
        bx      lr
        end     t_other

        begin   t_called
        .thumb_func
        add     r8, r8, #1
        mov     r10, lr
        bx      lr
        end     t_called

        begin   t_leaf
        .thumb_func
        adds    r0, r0, r1
        bx      lr
        end     t_leaf

        begin   t_one
        .thumb_func
        bx      lr
        nop
        end     t_one

        begin   t_pops
        .thumb_func
        push    {r4-r7, lr}
        mov     r4, r0
        mvns    r5, r4
        pop     {r4-r7, pc}
        end     t_pops

        begin   t_pops_wide
        .thumb_func
        push    {r4-r11, lr}
        mov     r11, r0
        pop     {r4-r11, pc}
        end     t_pops_wide

        begin   t_pops_one
        .thumb_func
        str     lr, [sp, #-4]!
        mov     lr, r3
        ldr     pc, [sp], #4
        end     t_pops_one

        begin   t_pops_aligned
        .thumb_func
        str     lr, [sp, #-16]!
        mov     lr, r3
        ldr     pc, [sp], #16
        end     t_pops_aligned

        begin   t_returns_to_returns
        .thumb_func
        cbz     r0, 1f
        lsls    r0, r0, #2
        bcs     1f
        beq     2f
        movs    r1, #9
1:      bx      lr
2:      movs    r2, #0
        bx      lr
        end     t_returns_to_returns

        begin   t_returns_if
        .thumb_func
        it      eq
        bxeq    lr
        adds    r0, r0, #1
        it      mi
        bxmi    lr
        subs    r0, r0, r2
        bx      lr
        end     t_returns_if

        begin   t_pops_if
        .thumb_func
        push    {r4, lr}
        mov     r4, #3
        itt     le
        movle   r0, #1
        pople   {r4, pc}
        ite     cs
        movcs   r1, #2
        popcc   {r4, pc}
        mov     r1, r4
        pop     {r4, pc}
        end     t_pops_if

        begin   t_returns_by_flags_of_its_own
        .thumb_func
        itttt   ne
        andsne.w r2, r1, #5
        teqne   r2, r0
        eorne   r0, r1
        bxne    lr
        adds    r0, #1
        bx      lr
        end     t_returns_by_flags_of_its_own

        begin   t_pops_by_flags_of_its_own
        .thumb_func
        push    {r4, lr}
        sub     sp, #8
        itttt   hi
        cmphi   r1, r0
        ldrhi   r4, 1f
        addhi   sp, #8
        pophi   {r4, pc}
        adds    r4, r0, r1
        add     sp, #8
        pop     {r4, pc}
        .balign 4
1:      .word   0x27182818
        end     t_pops_by_flags_of_its_own

        begin   t_tail_by_flags_of_its_own
        .thumb_func
        ittt    pl
        cmppl   r0, r2
        movpl   r3, #1
        bpl.w   t_other
        movs    r1, #6
        bx      lr
        end     t_tail_by_flags_of_its_own

        begin   t_gives_back_if
        .thumb_func
        push    {r4, lr}
        sub     sp, #24
        ittt    hi
        addhi   sp, #24
        ldrhi   r0, 1f
        pophi   {r4, pc}
        iteet   vs
        movvs   r2, #2
        movvc   r2, r3
        movvc   r3, #3
        addvs   r0, r1
        add     sp, #24
        pop     {r4, pc}
        .balign 4
1:      .word   0x31415926
        end     t_gives_back_if

        begin   t_gives_back_in_blocks
        .thumb_func
        push    {r4, lr}
        sub     sp, #8
        itt     hi
        movhi   r0, r1
        addhi   sp, #8
        it      hi
        pophi   {r4, pc}
        it      eq
        addeq   sp, #8
        beq     1f
        str     r0, [sp, #4]
        add     sp, #8
1:      pop     {r4, pc}
        end     t_gives_back_in_blocks

        begin   t_tail
        .thumb_func
        movs    r0, #4
        b.w     t_other
        end     t_tail

        begin   t_tail_short
        .thumb_func
        b.n     t_other_next
        end     t_tail_short
        begin   t_other_next
        .thumb_func
        add     r9, r9, #1
        bx      lr
        end     t_other_next

        begin   t_tail_if
        .thumb_func
        beq.w   t_other
        bvs.w   t_other
        adds    r0, r0, #5
        bhi.w   t_other
        bx      lr
        end     t_tail_if

        begin   t_tail_in_blocks
        .thumb_func
        it      eq
        beq.w   t_other
        itt     vs
        movvs   r2, #8
        bvs.w   t_other
        ite     mi
        movmi   r0, #7
        bpl.w   t_other
        bx      lr
        end     t_tail_in_blocks

        begin   t_tail_if_zero
        .thumb_func
        cbz     r0, 1f
        cbnz    r1, 1f
        adds    r0, #1
        bx      lr
        end     t_tail_if_zero
        begin   t_other_near
        .thumb_func
1:      add     r9, r9, #1
        bx      lr
        end     t_other_near

        begin   t_pops_and_tails
        .thumb_func
        push    {r4, lr}
        sub     sp, #8
        mov     r4, r1
        ittt    vs
        addvs   sp, #8
        popvs.w {r4, lr}
        bvs.w   t_other
        itt     mi
        addmi   sp, #8
        bmi.w   1f
        add     sp, #8
        pop.w   {r4, lr}
        b.w     t_other
1:      movs    r0, #3
        pop     {r4, pc}
        end     t_pops_and_tails

        begin   t_divides
        .thumb_func
        cmp     r1, #0
        beq.w   t_other
        and     r2, r1, #7
        adr     r3, 1f
        add.w   r3, r3, r2, lsl #3
        mov     pc, r3
        .balign 8
1:      .rept   8
        cmp.w   r0, r1, lsl #3
        adc.w   r0, r0, r0
        .endr
        bx      lr
        end     t_divides

        begin   t_tail_through
        .thumb_func
        movw    ip, #:lower16:a_other
        movt    ip, #:upper16:a_other
        bx      ip
        end     t_tail_through

        begin   t_tail_through_if
        .thumb_func
        movw    ip, #:lower16:t_other
        movt    ip, #:upper16:t_other
        it      pl
        bxpl    ip
        bx      lr
        end     t_tail_through_if

        begin   t_selects
        .thumb_func
        and     r1, r1, #1
        movw    ip, #:lower16:pointers
        movt    ip, #:upper16:pointers
        itt     ls
        addls   r0, #3
        ldrls   pc, [ip, r1, lsl #2]
        adds    r0, #1
        bx      lr
        end     t_selects

        begin   t_loops
        .thumb_func
        lsrs    r0, r0, #3
        bne     t_loops
        bx      lr
        end     t_loops

        begin   t_loops_in_blocks
        .thumb_func
        lsrs    r0, r0, #5
        it      ne
        bne.w   t_loops_in_blocks
        bx      lr
        end     t_loops_in_blocks

        begin   t_loops_by_number
        .thumb_func
        lsrs    r0, r0, #1
        cmp     r0, #0
        beq     1f
        b.n     t_loops_by_number
1:      bx      lr
        end     t_loops_by_number

        begin   t_literal
        .thumb_func
        ldr     r0, 1f
        ldr.w   r1, 1f
        bx      lr
        .balign 4
1:      .word   0x12345678
        end     t_literal

        begin   t_literal_in_block
        .thumb_func
        ite     cs
        ldrcs   r0, 1f
        ldrcc   r1, 1f
        bx      lr
        .balign 4
1:      .word   0x12345678
        end     t_literal_in_block

        begin   t_adds_pc
        .thumb_func
        add     r0, pc
        add     r1, pc
        bx      lr
        end     t_adds_pc

        begin   t_address
        .thumb_func
        adr     r2, 1f
        ldr     r0, [r2]
        ldr.w   pc, 1f + 4
        .balign 4
1:      .word   0x1020304, a_other
        end     t_address

        begin   t_calls
        .thumb_func
        push    {r4, lr}
        blx     a_called
        bl      t_called
        it      ne
        blne    t_called
        pop     {r4, pc}
        end     t_calls

        begin   t_calls_at_once
        .thumb_func
        push    {r3, lr}
        bl      t_called
        movs    r1, #0
        pop     {r3, pc}
        end     t_calls_at_once

        begin   t_comes_twice
        .thumb_func
        push    {r4, lr}
        blx     setjmp
        movs    r1, r0
        movs    r2, r4
        pop     {r4, pc}
        end     t_comes_twice

        begin   t_block_at_once
        .thumb_func
        itete   ge
        movge   r0, r1
        movlt   r1, #3
        addge   r2, r2, #0x10000
        addlt   r2, r2, r3
        bx      lr
        end     t_block_at_once
