/*
 * Instructions for relocated.c, which runs them in their place and in the place they were moved
 * to. Their targets and data lie 64 bytes ahead or behind; r1 points to data, r4 and lr to code.
 */
        .syntax unified
        .arch   armv7-a
        .fpu    neon
        .thumb

        .macro  form text:vararg
        .section .rodata.names, "aMS", %progbits, 1
90001:
        .asciz  "\text"
        .section .rodata.table, "a", %progbits
        .word   90001b, 90002f, 90003f
        .text
        .balign 4
90002:
        .endm
        .macro  end
90003:
        .endm
        .macro  single text:vararg
        form    \text
        \text
        end
        .endm

        .section .rodata.table, "a", %progbits
        .balign 4
        .globl  forms
forms:
        .text
        .irp    c, eq, ne, cs, cc, mi, pl, vs, vc, hi, ls, ge, lt, gt, le
        single  b\c\().n . + 0x44
        single  b\c\().w . - 0x3c
        .endr
        single  b.n . + 0x44
        single  b.n . - 0x3c
        single  b.w . + 0x44
        single  b.w . - 0x3c
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7
        single  cbz r\n, . + 0x44
        single  cbnz r\n, . + 0x44
        single  ldr.n r\n, [pc, #64]
        single  adr.n r\n, . + 0x44
        .endr
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, lr
        .ifc    \n, lr
        .set    reg, 14
        .else
        .set    reg, \n
        .endif
        form    add r\n, pc
        .inst.n 0x4400 | (reg & 8) << 4 | 15 << 3 | (reg & 7)
        end
        form    mov r\n, pc
        .inst.n 0x4600 | (reg & 8) << 4 | 15 << 3 | (reg & 7)
        end
        form    ldr.w r\n, literal
        .inst.w 0xf8df0040 | reg << 12
        end
        form    ldr.w r\n, literal before
        .inst.w 0xf85f0040 | reg << 12
        end
        form    adr.w r\n
        .inst.w 0xf20f0041 | reg << 8
        end
        form    adr.w r\n before
        .inst.w 0xf2af0042 | reg << 8
        end
        .endr
        single  ldrb.w r3, [pc, #65]
        single  ldrh.w r3, [pc, #66]
        single  ldrsb.w r8, [pc, #67]
        single  ldrsh.w r8, [pc, #-66]
        single  ldrd r2, r3, [pc, #64]
        single  ldrd r12, r3, [pc, #-64]
        single  pld [pc, #64]
        single  pli [pc, #-64]
        single  vldr s3, [pc, #64]
        single  vldr s30, [pc, #-64]
        single  vldr d5, [pc, #64]
        single  vldr d30, [pc, #-64]
        single  bl . + 0x44
        single  bl . - 0x3c
        single  blx . + 0x44
        single  blx . - 0x3c
        single  blx r4
        single  bx r4
        single  bx lr
        single  mov pc, lr
        single  mov pc, r4
        single  adds r0, r1, r2
        single  adcs r0, r2
        single  adc.w r0, r2, r3, rrx
        single  lsls r0, r2
        single  push {r0-r7, lr}
        single  pop {r2, r3}
        single  push.w {r3-r11}
        single  ldr.w r3, [r1], #4
        single  strd r2, r3, [r1, #-8]!
        single  vpush {d8-d10}
        single  vld1.64 {d3, d4}, [r1]!
        single  mrs r0, apsr

        .irp    c, eq, ne, cs, cc, mi, pl, vs, vc, hi, ls, ge, lt, gt, le
        form    it \c + bx lr
        it      \c
        bx\c    lr
        end
        form    it \c + b
        it      \c
        b\c\().n . + 0x42
        end
        form    it \c + ldr literal
        it      \c
        ldr\c   r0, [pc, #64]
        end
        .endr
        form    itte + adds, cmp, bx
        itte    eq
        addeq   r0, r0, r2
        cmpeq   r2, r3
        movne   r5, r6
        end
        form    ittt + add, lsl, b.w
        ittt    lt
        addlt   r0, r2, r3
        lsllt   r2, r3
        blt.w   . - 0x42
        end
        form    ite + ldr literal, ldr literal
        ite     hi
        ldrhi   r0, [pc, #64]
        ldrls   r2, [pc, #68]
        end
        form    itete + mov, adr, add, orr
        itete   cc
        movcc   r2, r3
        adrcs   r3, . + 0x42
        addcc   r2, r2, #1
        movcs   r0, r2
        end
        form    itt + mov pc, ldr literal
        itt     vs
        movvs   r3, pc
        ldrdvs  r2, r0, [pc, #64]
        end
        form    ittt + ldr literal, add, bx
        ittt    ne
        ldrne   r0, [pc, #64]
        addne   r0, r2
        bxne    r4
        end
        form    itt + cmp, add literal
        itt     ge
        ldrge   r0, [pc, #64]
        cmpge   r0, r2
        end
        form    itet + add, pld, vadd
        ite     pl
        pldpl   [pc, #64]
        vaddmi.f32 s0, s1, s2
        end
        form    it + pop
        it      eq
        popeq   {r2, r3}
        end
        .section .rodata.table, "a", %progbits
        .word   0

        .section .note.GNU-stack, "", %progbits
