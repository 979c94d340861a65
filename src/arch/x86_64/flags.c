/*
 * Which flags x86-64 instructions test and write. A table has the instructions that most functions
 * begin with; others are left to Zydis. test/arch/test_common.c compares both.
 */
#include "arch/x86_64/operands.h"

/* Instructions that change flags only sometimes: shifts by %cl, string instructions with rep. */
static bool may_keep_flags(const ZydisDecodedInstruction *in) {
    bool shift =
        in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
        (in->opcode == 0xd2 || in->opcode == 0xd3 || in->opcode == 0xc0 || in->opcode == 0xc1);
    bool wide =
        in->opcode_map == ZYDIS_OPCODE_MAP_0F &&
        (in->opcode == 0xa4 || in->opcode == 0xa5 || in->opcode == 0xac || in->opcode == 0xad);
    return shift || wide ||
           (in->attributes &
            (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE));
}

_Static_assert(X86_FLAGS == (ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF |
                             ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF),
               "Zydis numbers flags as the processor does");

struct flags_use x86_64_flags_any(const uint8_t *bytes, size_t size) {
    ZydisDecodedInstruction in;
    if (!x86_64_instruction(bytes, size, &in))
        return (struct flags_use){.tested = X86_FLAGS};
    if (!in.cpu_flags)
        return (struct flags_use){0};
    const ZydisAccessedFlags *f = in.cpu_flags;
    struct flags_use use = {.tested = f->tested & X86_FLAGS};
    if (!may_keep_flags(&in))
        use.written = (f->modified | f->set_0 | f->set_1 | f->undefined) & X86_FLAGS;
    return use;
}

/* One-byte opcodes: '-' leaves flags alone, 'w' writes all, 'c' writes all and tests the carry
 * flag, 'g' is 'c' or 'w' by ModRM.reg (group 1), '.' is left to Zydis. Intel SDM volume 2,
 * appendix A. */
static const char drawn[257] = "wwwwww..wwwwww.." /* 0 */
                               "cccccc..cccccc.." /* 1 */
                               "wwwwww..wwwwww.." /* 2 */
                               "wwwwww..wwwwww.." /* 3 */
                               "................" /* 4: REX */
                               "----------------" /* 5 */
                               "...-....-.-....." /* 6 */
                               "................" /* 7 */
                               "gg.gww--------.." /* 8 */
                               "----------......" /* 9 */
                               "........ww......" /* a */
                               "----------------" /* b */
                               ".........-......" /* c */
                               "................" /* d */
                               "................" /* e */
                               "................" /* f */;

struct flags_use x86_64_flags(const uint8_t *bytes, size_t size) {
    enum { CARRY = ZYDIS_CPUFLAG_CF, OPERAND_SIZE = 0x66 };
    size_t at = size > 1 && bytes[0] == OPERAND_SIZE;
    at += at < size - 1 && (bytes[at] & 0xf0) == 0x40;
    unsigned reg = at + 1 < size ? bytes[at + 1] >> 3 & 7 : 0;
    switch (drawn[bytes[at]]) {
    case '-':
        return (struct flags_use){0};
    case 'w':
        return (struct flags_use){.written = X86_FLAGS};
    case 'c':
        return (struct flags_use){CARRY, X86_FLAGS};
    case 'g':
        return (struct flags_use){(reg & 6) == 2 ? CARRY : 0, X86_FLAGS};
    default:
        return x86_64_flags_any(bytes, size);
    }
}
