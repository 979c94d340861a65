/*
 * The texts of A32 instructions (templates: arch/disasm.h). Every mnemonic has the condition behind
 * it, before its first dot. Operands, besides those of arch/arm/disasm.h:
 *
 *     d n s m t    general registers of bits 12, 16, 8 and 0 on, and the next one of d
 *     f            "s" with bit 20                    b    target of a branch
 *     o            last operand of data processing    A    address
 *     l            list of general registers          r g  rotation, shift
 *     h i z K      numbers (a32_disasm.c)             q    kind of barrier
 */
#pragma once

#include "arch/arm/a32.h"
#include "arch/arm/disasm.h"

/* The rows for WORD. */
const struct opcode *a32_opcodes_of(uint32_t word);
