/*
 * Classifies A64 instructions, as far as planning needs it. The first row of a table that fits a
 * word decides; the last rows decide by the word's group (Arm ARM, C4.1: bits 25 to 28). Most of
 * the instruction set is A64_OTHER: it may run anywhere.
 */
#include "arch/aarch64/aarch64.h"

struct row {
    uint32_t mask, value;
    uint8_t kind, form;
};

/* C4.1.4, branches, exceptions and system instructions. */
static const struct row branches[] = {
    {0xfc000000, 0x14000000, INSN_JUMP, A64_B},
    {0xfc000000, 0x94000000, INSN_CALL, A64_B},
    {0xff00000e, 0x5400000e, INSN_JUMP, A64_IMM19},         /* b.al, b.nv: on any condition */
    {0xff000000, 0x54000000, INSN_BRANCH, A64_IMM19},       /* b.cond, bc.cond */
    {0xffc0001f, 0x5500001f, INSN_RETURN, A64_SIGNED_HERE}, /* retaasppc, retabsppc by a label */
    {0x7e000000, 0x34000000, INSN_BRANCH, A64_IMM19},       /* cbz, cbnz */
    {0x7e000000, 0x36000000, INSN_BRANCH, A64_IMM14},       /* tbz, tbnz */
    {0xfffffc1f, 0xd61f0000, INSN_JUMP_INDIRECT, A64_INDIRECT},
    {0xfffff81f, 0xd61f081f, INSN_JUMP_INDIRECT, A64_INDIRECT}, /* braaz, brabz */
    {0xfffff800, 0xd71f0800, INSN_JUMP_INDIRECT, A64_INDIRECT}, /* braa, brab */
    {0xfffffc1f, 0xd63f0000, INSN_CALL_INDIRECT, A64_INDIRECT},
    {0xfffff81f, 0xd63f081f, INSN_CALL_INDIRECT, A64_INDIRECT}, /* blraaz, blrabz */
    {0xfffff800, 0xd73f0800, INSN_CALL_INDIRECT, A64_INDIRECT}, /* blraa, blrab */
    {0xffffffff, 0xd65f03c0, INSN_RETURN, A64_INDIRECT},
    {0xfffffbe0, 0xd65f0be0, INSN_RETURN, A64_INDIRECT},        /* retaa, retab; retaasppc … xm */
    {0xfffffc1f, 0xd65f0000, INSN_JUMP_INDIRECT, A64_INDIRECT}, /* ret by another register */
    {0xfffff3ff, 0xd69f03e0, INSN_FIXED, A64_SYSTEM},   /* eret and its authenticated forms */
    {0xffe0001f, 0xd4000001, INSN_SYSCALL, A64_SYSTEM}, /* svc */
    {0xffe0001e, 0xd4000002, INSN_FIXED, A64_SYSTEM},   /* hvc, smc */
    {0xffffffff, 0xd4200000, INSN_BREAK, A64_SYSTEM}, /* brk #0: a debugger may go on behind it … */
    {0xffffffff, 0xd43e0000, INSN_BREAK, A64_SYSTEM}, /* … and #0xf000, Clang's __debugbreak; */
    {0xffffffff, 0xd42000a0, INSN_BREAK, A64_SYSTEM}, /* #5, the kernel's (brk-imm.h): uprobes put
                                                       * it into mapped files */
    {0xffe0001f, 0xd4200000, INSN_TRAP, A64_SYSTEM},
    {0xffe0001f, 0xd4400000, INSN_FIXED, A64_SYSTEM}, /* hlt */
    {0xffe0001c, 0xd4a00000, INSN_FIXED, A64_SYSTEM}, /* dcps */
    {0xffffffff, 0xd503201f, INSN_NOP, A64_SYSTEM},
    {0xffffffbf, 0xd503233f, INSN_LANDING, A64_SYSTEM},         /* paciasp, pacibsp */
    {0xffffff7f, 0xd503245f, INSN_LANDING, A64_SYSTEM},         /* bti c, bti jc */
    {0xffffffff, 0xd503249f, INSN_LANDING, A64_SYSTEM},         /* bti j */
    {0xffffffff, (uint32_t)A64_PACM, INSN_LANDING, A64_SYSTEM}, /* for the next instruction */
    {0xfffff01f, 0xd503201f, INSN_OTHER, A64_SYSTEM},           /* other hints */
    {0xfffff0ff, 0xd503305f, INSN_OTHER, A64_SYSTEM},           /* clrex */
    {0xffffffe0, 0xd5233060, INSN_FIXED, A64_SYSTEM}, /* tstart: failures return to where it is */
    {0xff000000, 0xd5000000, INSN_OTHER, A64_SYSTEM},
    {0x00000000, 0x00000000, INSN_BAD, A64_OTHER}, /* unknown, in this group */
};

/* C4.1.2 and C4.1.92, data processing with immediates and loads of literals. */
static const struct row others[] = {
    {0x9f000000, 0x10000000, INSN_OTHER, A64_ADR},
    {0x9f000000, 0x90000000, INSN_OTHER, A64_ADRP},
    {0x1f800000, 0x11000000, INSN_OTHER, A64_ADD_IMMEDIATE},
    {0x1f800000, 0x12000000, INSN_OTHER, A64_LOGICAL_IMMEDIATE},
    {0x1f200000, 0x0b000000, INSN_OTHER, A64_ADD_SHIFTED},
    {0x1fe00000, 0x0b200000, INSN_OTHER, A64_ADD_EXTENDED},
    {0x1f000000, 0x0a000000, INSN_OTHER, A64_LOGICAL_SHIFTED},
    {0xff000000, 0xd8000000, INSN_OTHER, A64_LITERAL},    /* prfm */
    {0xff000000, 0xdc000000, INSN_BAD, A64_OTHER},        /* no vector is so wide */
    {0x3b000000, 0x18000000, INSN_OTHER, A64_LITERAL},    /* ldr, ldrsw; general and vector */
    {0x3fa00000, 0x08000000, INSN_EXCLUSIVE, A64_MEMORY}, /* ldxr, stxr and their kin, … */
    {0xbfa00000, 0x88200000, INSN_EXCLUSIVE, A64_MEMORY}, /* … of pairs */
    {0x3a000000, 0x28000000, INSN_OTHER, A64_PAIR},
    {0x3b200000, 0x38000000, INSN_OTHER, A64_UNSCALED},
    {0x3b200c00, 0x38200800, INSN_OTHER, A64_INDEXED},
    {0x3b000000, 0x39000000, INSN_OTHER, A64_SCALED},
    {0x0a000000, 0x08000000, INSN_OTHER, A64_MEMORY},
    {0xffffdbff, 0xdac183fe, INSN_LANDING, A64_SIGNED_HERE}, /* paciasppc, pacnbiasppc, … */
    {0xfffffc1f, 0xdac1901e, INSN_OTHER, A64_SIGNED},        /* autiasppc by a register, … */
    {0xfffffc1f, 0xdac1941e, INSN_OTHER, A64_SIGNED},        /* … autibsppc */
    {0xffc0001f, 0xf380001f, INSN_OTHER, A64_SIGNED_HERE},   /* both by a label */
    {0xffff0000, 0x00000000, INSN_TRAP, A64_OTHER},          /* udf */
    {0x9e000000, 0x00000000, INSN_BAD, A64_OTHER},           /* reserved; with bit 31: SME */
    {0x1e000000, 0x02000000, INSN_BAD, A64_OTHER},
    {0x1e000000, 0x06000000, INSN_BAD, A64_OTHER},
    {0x00000000, 0x00000000, INSN_OTHER, A64_OTHER},
};

struct a64_insn a64_classify(uint32_t word) {
    const struct row *row = (word >> 25 & 14) == 10 ? branches : others;
    while ((word & row->mask) != row->value)
        row++;
    return (struct a64_insn){row->kind, row->form};
}

static struct a64_access pair(uint32_t word) {
    bool vector = a64_bits(word, 26, 1);
    uint32_t opc = a64_bits(word, 30, 2), mode = a64_bits(word, 23, 2);
    unsigned shift = vector ? 2 + opc : 2 + (opc >> 1); /* ldpsw loads four bytes each */
    struct a64_access a = {.count = 2, .bytes = (uint8_t)(1U << shift)};
    a.load = a64_bits(word, 22, 1);
    a.general = !vector;
    a.wide = !vector && opc == 2;
    a.before = mode == 3;
    a.after = mode == 1;
    if (!vector && opc == 1 && !a.load) { /* stgp */
        a.bytes = 8;
        a.wide = true;
        shift = 4;
    }
    a.offset = a64_signed(word, 15, 7) * (INT64_C(1) << shift);
    return a;
}

static struct a64_access single(uint32_t word, enum a64_form form) {
    bool vector = a64_bits(word, 26, 1);
    uint32_t size = a64_bits(word, 30, 2), opc = a64_bits(word, 22, 2);
    unsigned shift = vector && opc & 2 ? 4 : size;
    struct a64_access a = {.count = 1, .bytes = (uint8_t)(1U << shift)};
    a.load = vector ? opc & 1 : opc != 0;
    a.general = !vector;
    a.wide = !vector && size == 3 && opc < 2;
    uint32_t mode = a64_bits(word, 10, 2);
    a.before = form == A64_UNSCALED && mode == 3;
    a.after = form == A64_UNSCALED && mode == 1;
    a.offset =
        form == A64_SCALED ? (int64_t)a64_bits(word, 10, 12) << shift : a64_signed(word, 12, 9);
    if (!vector && size == 3 && opc == 2) { /* prfm */
        a.count = 0;
        a.load = true;
    }
    return a;
}

struct a64_access a64_access_of(uint32_t word, enum a64_form form) {
    struct a64_access a = form == A64_PAIR ? pair(word) : single(word, form);
    a.base = a64_rn(word);
    a.regs[0] = a64_rd(word);
    a.regs[1] = (uint8_t)a64_bits(word, 10, 5);
    return a;
}

/* Arm ARM, DecodeBitMasks(): a run of ones, rotated, repeated. */
uint64_t a64_bitmask(uint32_t word) {
    uint32_t immr = a64_bits(word, 16, 6), imms = a64_bits(word, 10, 6);
    uint32_t length = a64_bits(word, 22, 1) << 6 | (~imms & 63);
    unsigned size = 64;
    while (size > 1 && !(length & size))
        size /= 2;
    unsigned ones = (imms & (size - 1)) + 1, right = immr & (size - 1);
    if (size < 2 || ones == size || (size == 64 && !(word >> 31)))
        return 0;
    uint64_t run = (UINT64_C(1) << ones) - 1, value = 0;
    if (right)
        run = run >> right | run << (size - right);
    run &= UINT64_MAX >> (64 - size);
    for (unsigned low = 0; low < (word >> 31 ? 64U : 32U); low += size)
        value |= run << low;
    return value;
}
