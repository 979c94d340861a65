/*
 * The texts of A64 instructions. arch/disasm.h explains templates. A register is two letters, its
 * bank and its field:
 *
 *     r R   w or x by bit 31; 31 is zero, or the stack pointer    d  bits 0 on     D  the next of d
 *     g y   w or x by bits 30 and 31 (both: x), by bit 30         n  bits 5 on
 *     w x   the same, of one width                                a  bits 10 on
 *     X     x; 31 is the stack pointer                            m  bits 16 on    M  the next of m
 *     f     s, d or h by bits 22 and 23
 *     l z   of loads and stores, of one register and of two
 *     b h s d q V
 *
 * Every other operand is one letter:
 *
 *     A a n address: by the word's encoding, with 9 bits of offset, with 9 bits times 16
 *     B     target of a branch, or address of a literal
 *     4     address of the instruction that signed
 *     C I J condition in bits 12 on, its inverse, condition in bits 0 on
 *     N L K immediate of add, of and, of movz                     M  immediate that mov shows
 *     S E   shift and extension of the last operand, with a comma
 *     F Y G H k   fields of bits
 *     O P Q c Z   widths, positions, fraction bits, tested bit
 *     o p   order of atomic accesses, "a", "l" or both; of compare and swap
 *     t T   "b" or "h" by size; or "w"
 *     D U   system register, system operation
 *     e v   prefetch operation; immediate of floating point
 */
#pragma once

#include "arch/aarch64/aarch64.h"
#include "arch/disasm.h"

/* An alias, preferred if `when` holds. The last row has none. */
struct a64_alias {
    uint32_t mask, value;
    bool (*when)(uint32_t word);
    const char *text;
};

/* The texts of a group of encodings (Arm ARM, C4.1). */
struct a64_opcodes {
    const struct a64_alias *aliases; /* looked at first; or NULL */
    const struct opcode *rows;
};

extern const struct a64_opcodes a64_immediate_opcodes, a64_register_opcodes; /* data processing */

/* False: the instruction has no text. */
bool a64_print(struct disasm *d);

/* The name of system register NUMBER, which are bits 5 to 20 of mrs and msr, or NULL. */
const char *a64_system_register(uint32_t number);
