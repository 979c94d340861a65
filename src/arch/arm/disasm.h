/*
 * Shared by the texts of A32 and T32 (a32_disasm.c, t32_disasm.c). VFP instructions are the same in
 * both states, except for the condition. Operands in their table:
 *
 *     x y v X   vector registers of bits 12, 16 and 0 on, of the precision in bit 8; a list of them
 *     P Q k     x in the other precision; v and x in single precision
 *     F         ".f32" or ".f64" by bit 8
 *     d n A     of the instruction set's table: general registers of bits 12 and 16 on; an address
 */
#pragma once

#include "arch/disasm.h"

extern const struct opcode arm_vfp_opcodes[];

/* A register of four bits from LOW on. T32's texts call r10 sl. */
#define ARM_REGISTERS_TO_9 "r0|r1|r2|r3|r4|r5|r6|r7|r8|r9|"
#define ARM_REGISTER(low) "<" #low ":" ARM_REGISTERS_TO_9 "r10|fp|ip|sp|lr|pc>"

/* struct disasm's print_register, for x y v X P Q k. */
size_t arm_print_vector(struct disasm *d, const char *letter);
/* ", lsl #N", ", rrx" or nothing. TYPE and AMOUNT are as an instruction encodes them. */
void arm_add_shift(struct disasm *d, uint32_t type, uint32_t amount);
/* Prints a branch's target, or a literal's address. */
void arm_add_target(struct disasm *d);
