/*
 * Classifies A32 instructions, as far as planning needs it (Arm ARM, F4.1: "A32 instruction set
 * encoding"). The first row of a table that fits a word decides. Words without a row, or with wrong
 * bits in unused fields, are INSN_FIXED: not understood.
 *
 * Each row names the fields that must not be the pc; if one is, the word is INSN_FIXED. For
 * A32_DATA, loads and stores the pc has a meaning, which other files handle.
 */
#include "arch/arm/a32.h"

enum { N = A32_N, D = A32_D, S = A32_S, M = A32_M, BARRED = A32_BARRED };

struct row {
    uint32_t mask, value;
    uint8_t kind, form;
    uint8_t uses;   /* fields that may not be the pc */
    uint8_t writes; /* fields, and BARRED */
};

/* With a condition in bits 28 to 31, by bits 25 to 27: data processing, … */
static const struct row data[] = {
    {0x00000000, 0x00000000, INSN_OTHER, A32_DATA, 0, 0},
};

/* … among it, where bits 4 and 7 are set, … */
static const struct row multiplications[] = {
    {0x0fc000f0, 0x00000090, INSN_OTHER, A32_MULTIPLY, N | D | S | M, N},  /* mul, mla */
    {0x0ff000f0, 0x00400090, INSN_OTHER, A32_OTHER, N | D | S | M, N | D}, /* umaal */
    {0x0ff000f0, 0x00600090, INSN_OTHER, A32_OTHER, N | D | S | M, N},     /* mls */
    {0x0f8000f0, 0x00800090, INSN_OTHER, A32_MULTIPLY, N | D | S | M, N | D},
    {0x0fb00ff0, 0x01000090, INSN_OTHER, A32_EXCLUSIVE, N | D | M, D}, /* swp, swpb */
    {0x0f900fff, 0x01900f9f, INSN_EXCLUSIVE, A32_EXCLUSIVE, N | D, D}, /* ldrex and its kin */
    {0x0f900ff0, 0x01800f90, INSN_EXCLUSIVE, A32_EXCLUSIVE, N | D | M, D},
    {0x0f900fff, 0x01900e9f, INSN_EXCLUSIVE, A32_EXCLUSIVE, N | D, D}, /* ldaex */
    {0x0f900ff0, 0x01800e90, INSN_EXCLUSIVE, A32_EXCLUSIVE, N | D | M, D},
    {0x0ff00fff, 0x01b00c9f, INSN_BAD, A32_OTHER, 0, 0}, /* lda of two words: none */
    {0x0ff0fff0, 0x01a0fc90, INSN_BAD, A32_OTHER, 0, 0},
    {0x0f900fff, 0x01900c9f, INSN_OTHER, A32_EXCLUSIVE, N | D, D}, /* lda */
    {0x0f90fff0, 0x0180fc90, INSN_OTHER, A32_EXCLUSIVE, N | M, 0}, /* stl */
    {0x0e0000f0, 0x00000090, INSN_FIXED, A32_OTHER, 0, 0},
    {0x00000000, 0x00000000, INSN_OTHER, A32_EXTRA, 0, 0},
};

/* … and in place of comparisons that do not set flags: with registers, */
static const struct row miscellaneous[] = {
    {0x0fff0fff, 0x010f0000, INSN_OTHER, A32_OTHER, D, D}, /* mrs of the flags, and others */
    {0x0fff0fff, 0x014f0000, INSN_FIXED, A32_OTHER, D, D | BARRED},
    {0x0ff3fff0, 0x0120f000, INSN_OTHER, A32_STATUS, M, 0}, /* msr of flags, and GE bits */
    {0x0fb0fff0, 0x0120f000, INSN_FIXED, A32_OTHER, M, BARRED},
    {0x0fb00eff, 0x01000200, INSN_FIXED, A32_OTHER, D, D | BARRED}, /* banked registers */
    {0x0fb0fef0, 0x0120f200, INSN_FIXED, A32_OTHER, M, BARRED},
    {0x0ffffff0, 0x012fff10, INSN_JUMP_INDIRECT, A32_BX, M, 0},
    {0x0ffffff0, 0x012fff20, INSN_FIXED, A32_OTHER, 0, 0}, /* bxj */
    {0x0ffffff0, 0x012fff30, INSN_CALL_INDIRECT, A32_BX, M, 0},
    {0x0fff0ff0, 0x016f0f10, INSN_OTHER, A32_OTHER, D | M, D}, /* clz */
    {0x0ff00df0, 0x01600040, INSN_BAD, A32_OTHER, 0, 0},
    {0x0f900df0, 0x01000040, INSN_OTHER, A32_OTHER, N | D | M, D},         /* crc32 */
    {0x0f900ff0, 0x01000050, INSN_OTHER, A32_OTHER, N | D | M, D},         /* qadd and its kin */
    {0x0fffffff, 0x0160006e, INSN_FIXED, A32_OTHER, 0, BARRED},            /* eret */
    {0x0ff000f0, 0x01000070, INSN_FIXED, A32_OTHER, 0, 0},                 /* hlt */
    {0x0ff000f0, 0x01200070, INSN_BREAK, A32_OTHER, 0, 0},                 /* bkpt */
    {0x0ff000f0, 0x01400070, INSN_FIXED, A32_OTHER, 0, BARRED},            /* hvc */
    {0x0ffffff0, 0x01600070, INSN_FIXED, A32_OTHER, 0, BARRED},            /* smc */
    {0x0ff00090, 0x01400080, INSN_OTHER, A32_OTHER, N | D | S | M, N | D}, /* smlalbb */
    {0x0f900090, 0x01000080, INSN_OTHER, A32_OTHER, N | D | S | M, N},     /* smlabb, smulbb */
    {0x00000000, 0x00000000, INSN_FIXED, A32_OTHER, 0, 0},
};

/* with constants. */
static const struct row immediates[] = {
    {0x0ff00000, 0x03000000, INSN_OTHER, A32_MOVW, D, D},
    {0x0ff00000, 0x03400000, INSN_OTHER, A32_MOVT, D, D},
    {0x0fffffff, 0x0320f000, INSN_NOP, A32_OTHER, 0, 0},
    {0x0fffff00, 0x0320f000, INSN_OTHER, A32_OTHER, 0, 0},  /* other hints */
    {0x0ff3f000, 0x0320f000, INSN_OTHER, A32_STATUS, 0, 0}, /* msr */
    {0x0fb0f000, 0x0320f000, INSN_FIXED, A32_OTHER, 0, BARRED},
    {0x00000000, 0x00000000, INSN_FIXED, A32_OTHER, 0, 0},
};

static const struct row singles[] = {
    {0x00000000, 0x00000000, INSN_OTHER, A32_SINGLE, 0, 0},
};

/* Loads and stores at a register plus a register, and, with bit 4, media instructions. */
static const struct row media[] = {
    {0x0e000010, 0x06000000, INSN_OTHER, A32_SINGLE, 0, 0},
    {0x0fb00010, 0x06000010, INSN_BAD, A32_OTHER, 0, 0},
    {0x0f8000f0, 0x060000b0, INSN_BAD, A32_OTHER, 0, 0},
    {0x0f8000f0, 0x060000d0, INSN_BAD, A32_OTHER, 0, 0},
    {0x0f800f10, 0x06000f10, INSN_OTHER, A32_OTHER, N | D | M, D}, /* sadd16 and its kin */
    {0x0ff00030, 0x06800010, INSN_OTHER, A32_OTHER, N | D | M, D}, /* pkhbt, pkhtb */
    {0x0fa00030, 0x06a00010, INSN_OTHER, A32_OTHER, D | M, D},     /* ssat, usat */
    {0x0fb00ff0, 0x06a00f30, INSN_OTHER, A32_OTHER, D | M, D},     /* ssat16, usat16 */
    {0x0ff00ff0, 0x06800fb0, INSN_OTHER, A32_OTHER, N | D | M, D}, /* sel */
    {0x0fb003f0, 0x06900070, INSN_BAD, A32_OTHER, 0, 0},
    {0x0f8003f0, 0x06800070, INSN_OTHER, A32_OTHER, D | M, D},     /* sxtb, uxtab and their kin */
    {0x0fff0f70, 0x06bf0f30, INSN_OTHER, A32_OTHER, D | M, D},     /* rev, rev16 */
    {0x0fff0f70, 0x06ff0f30, INSN_OTHER, A32_OTHER, D | M, D},     /* rbit, revsh */
    {0x0ff00090, 0x07000010, INSN_OTHER, A32_OTHER, N | S | M, N}, /* smlad, smuad */
    {0x0ff00090, 0x07400010, INSN_OTHER, A32_OTHER, N | D | S | M, N | D}, /* smlald */
    {0x0ff000d0, 0x07500010, INSN_OTHER, A32_OTHER, N | S | M, N},         /* smmla, smmul */
    {0x0ff000d0, 0x075000d0, INSN_OTHER, A32_OTHER, N | D | S | M, N},     /* smmls */
    {0x0fd0f0f0, 0x0710f010, INSN_OTHER, A32_OTHER, N | S | M, N},         /* sdiv, udiv */
    {0x0ff000f0, 0x07800010, INSN_OTHER, A32_OTHER, N | S | M, N},         /* usad8, usada8 */
    {0x0fa00070, 0x07a00050, INSN_OTHER, A32_OTHER, D | M, D},             /* sbfx, ubfx */
    {0x0fe00070, 0x07c00010, INSN_OTHER, A32_OTHER, D, D},                 /* bfc, bfi */
    {0x0fffffff, 0x07f001f0, INSN_BREAK, A32_OTHER, 0, 0}, /* of debuggers, on Linux */
    {0x0fffffff, 0x07f001f9, INSN_BREAK, A32_OTHER, 0, 0}, /* uprobes put it into mapped files */
    {0x0ff000f0, 0x07f000f0, INSN_TRAP, A32_OTHER, 0, 0},  /* udf */
    {0x00000000, 0x00000000, INSN_FIXED, A32_OTHER, 0, 0},
};

static const struct row several[] = {
    {0x0e400000, 0x08400000, INSN_FIXED, A32_OTHER, 0, BARRED}, /* of another mode's registers */
    {0x00000000, 0x00000000, INSN_OTHER, A32_SEVERAL, 0, 0},
};

static const struct row branches[] = {
    {0x0f000000, 0x0a000000, INSN_JUMP, A32_BRANCH, 0, 0},
    {0x00000000, 0x00000000, INSN_CALL, A32_BRANCH, 0, 0},
};

/* Coprocessors: 9, 10 and 11 are vectors; 15 has the system registers, some for programs. */
static const struct row copied[] = {
    {0x0ff00ed0, 0x0c400a10, INSN_OTHER, A32_OTHER, N | D, 0}, /* vmov to a vector */
    {0x0ff00ed0, 0x0c500a10, INSN_OTHER, A32_OTHER, N | D, N | D},
    {0x0ff00f00, 0x0c400f00, INSN_FIXED, A32_OTHER, 0, BARRED},    /* mcrr */
    {0x0ff00f0f, 0x0c500f0e, INSN_OTHER, A32_OTHER, N | D, N | D}, /* mrrc: the clock */
    {0x0fe00000, 0x0c400000, INSN_FIXED, A32_OTHER, 0, 0},
    {0x0fa00000, 0x0c000000, INSN_BAD, A32_OTHER, 0, 0},
    {0x0f200e00, 0x0d000a00, INSN_OTHER, A32_VECTOR, 0, 0},
    {0x0f200f00, 0x0d000900, INSN_OTHER, A32_VECTOR, 0, 0}, /* of half the size */
    {0x0fa00e00, 0x0da00a00, INSN_BAD, A32_OTHER, 0, 0},
    {0x0fa00e00, 0x0c200a00, INSN_BAD, A32_OTHER, 0, 0},
    {0x0e000e00, 0x0c000a00, INSN_OTHER, A32_VECTORS, 0, 0},
    {0x00000000, 0x00000000, INSN_OTHER, A32_OTHER, N, N}, /* ldc, stc, as in old setjmp */
};

static const struct row coprocessors[] = {
    {0x0f000000, 0x0f000000, INSN_SYSCALL, A32_OTHER, 0, 0},
    {0x0f000e10, 0x0e000a00, INSN_OTHER, A32_OTHER, 0, 0}, /* arithmetic */
    {0x0f000f10, 0x0e000900, INSN_OTHER, A32_OTHER, 0, 0},
    {0x0fff0fff, 0x0ef10a10, INSN_OTHER, A32_VMRS, 0, D},
    {0x0fff0fff, 0x0ee10a10, INSN_OTHER, A32_OTHER, D, 0},
    {0x0fe00f7f, 0x0ee00a10, INSN_FIXED, A32_OTHER, 0, BARRED}, /* other status registers */
    {0x0f100e10, 0x0e000a10, INSN_OTHER, A32_OTHER, D, 0},      /* vmov, vdup to a vector */
    {0x0f100e10, 0x0e100a10, INSN_OTHER, A32_OTHER, D, D},
    {0x0f100f10, 0x0e000910, INSN_OTHER, A32_OTHER, D, 0},
    {0x0f100f10, 0x0e100910, INSN_OTHER, A32_OTHER, D, D},
    /* barriers of Armv6: c7, c10, 4 and 5 … */
    {0x0fff0fdf, 0x0e070f9a, INSN_OTHER, A32_OTHER, D, 0},
    {0x0fff0fff, 0x0e070f95, INSN_OTHER, A32_OTHER, D, 0}, /* … and c5, 4 */
    {0x0fff0fff, 0x0e1d0f50, INSN_OTHER, A32_OTHER, D, D}, /* thread pointers: c13, c0, 2 … */
    {0x0fff0fff, 0x0e1d0f70, INSN_OTHER, A32_OTHER, D, D}, /* … and 3, … */
    {0x0fff0fff, 0x0e0d0f50, INSN_OTHER, A32_OTHER, D, 0}, /* … writes of the first */
    {0x0f1f0f10, 0x0e190f10, INSN_OTHER, A32_OTHER, D, D}, /* counters: c9 … */
    {0x0f1f0f10, 0x0e090f10, INSN_OTHER, A32_OTHER, D, 0},
    {0x0f1f0f10, 0x0e1e0f10, INSN_OTHER, A32_OTHER, D, D}, /* … and the clock's: c14 */
    {0x0f000f10, 0x0e000f10, INSN_FIXED, A32_OTHER, 0, BARRED},
    {0x00000000, 0x00000000, INSN_FIXED, A32_OTHER, 0, 0},
};

/* Without a condition. */
static const struct row others[] = {
    {0xfe000000, 0xfa000000, INSN_CALL, A32_BRANCH, 0, 0},
    {0xfe000000, 0xf2000000, INSN_OTHER, A32_OTHER, 0, 0}, /* vectors */
    {0xff100000, 0xf4000000, INSN_OTHER, A32_ELEMENTS, N, 0},
    {0xff70f000, 0xf450f000, INSN_OTHER, A32_PRELOAD, 0, 0}, /* pli */
    {0xff70f000, 0xf510f000, INSN_OTHER, A32_PRELOAD, 0, 0}, /* pldw */
    {0xff70f000, 0xf550f000, INSN_OTHER, A32_PRELOAD, 0, 0}, /* pld */
    {0xff70f010, 0xf650f000, INSN_OTHER, A32_OTHER, N | M, 0},
    {0xff30f010, 0xf710f000, INSN_OTHER, A32_OTHER, N | M, 0},
    {0xffffffff, 0xf57ff01f, INSN_OTHER, A32_OTHER, 0, 0}, /* clrex */
    {0xffffffe0, 0xf57ff040, INSN_OTHER, A32_OTHER, 0, 0}, /* dsb, dmb */
    {0xffffffe0, 0xf57ff060, INSN_OTHER, A32_OTHER, 0, 0}, /* isb, sb */
    {0xff000e10, 0xfe000a00, INSN_OTHER, A32_OTHER, 0, 0}, /* vsel, vmaxnm, vrinta, … */
    {0xff000f10, 0xfe000900, INSN_OTHER, A32_OTHER, 0, 0},
    {0xfe50ffff, 0xf8100a00, INSN_FIXED, A32_OTHER, 0, BARRED}, /* rfe */
    {0xfe5fffe0, 0xf84d0500, INSN_FIXED, A32_OTHER, 0, BARRED}, /* srs */
    {0xfff1fe20, 0xf1000000, INSN_FIXED, A32_OTHER, 0, BARRED}, /* cps */
    {0xf8000000, 0xf8000000, INSN_FIXED, A32_OTHER, 0, 0},      /* other coprocessors */
    {0x00000000, 0x00000000, INSN_FIXED, A32_OTHER, 0, 0},
};

static const struct row *table_for(uint32_t word) {
    enum { TWO_BITS = 0x90, COMPARES = 0x01900000, NO_FLAGS = 0x01000000 };
    static const struct row *const tables[] = {NULL,    NULL,     singles, media,
                                               several, branches, copied,  coprocessors};
    const struct row *table = tables[arm_bits(word, 25, 3)];
    const bool constant = arm_bits(word, 25, 1);
    if (a32_condition(word) == ARM_UNCONDITIONAL)
        return others;
    if (table)
        return table;
    if (!constant && (word & TWO_BITS) == TWO_BITS)
        return multiplications;
    if ((word & COMPARES) != NO_FLAGS)
        return data;
    return constant ? immediates : miscellaneous;
}

/* Does one of the FIELDS name the pc? */
static bool names_pc(uint32_t word, uint8_t fields) {
    return (fields & N && a32_rn(word) == ARM_PC) || (fields & D && a32_rd(word) == ARM_PC) ||
           (fields & S && a32_rs(word) == ARM_PC) || (fields & M && a32_rm(word) == ARM_PC);
}

struct a32_insn a32_classify(uint32_t word) {
    enum { FILLED = (int)0xd4d4d4d4, MOVE = (int)0xe1a00000 };
    const struct row *row = table_for(word);
    while ((word & row->mask) != row->value)
        row++;
    uint8_t kind = names_pc(word, row->uses) ? INSN_FIXED : row->kind;
    if ((kind == INSN_BREAK || kind == INSN_TRAP) && a32_is_conditional(word))
        kind = INSN_FIXED;        /* the manual leaves the condition's effect open */
    if (word == (uint32_t)FILLED) /* lld's padding between functions */
        kind = INSN_BREAK;
    if (word == (uint32_t)MOVE) /* mov r0, r0: the old nop */
        kind = INSN_NOP;
    return (struct a32_insn){kind, row->form, row->writes & (uint8_t)~BARRED,
                             (row->writes & BARRED) != 0};
}
