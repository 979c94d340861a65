/*
 * The texts of T32 instructions (templates: arch/disasm.h). Every mnemonic has the condition of its
 * IT block behind it, before its first dot. Operands, besides those of arch/arm/disasm.h:
 *
 *     a b c e      low registers of bits 0, 3, 6, 8       H M   all registers, narrow instructions
 *     n d D R      all registers, of bits 16, 12, 8, 0    L     a list of registers
 *     s f          "s" outside of blocks; with bit 20     !     "!" if the base changes
 *     i w p l V z  numbers (t32_disasm.c)                 h r   shift, rotation
 *     j            target of a branch, or address         A     address
 */
#pragma once

#include "arch/arm/disasm.h"

extern const struct opcode t32_narrow_opcodes[], t32_wide_opcodes[];
