/*
 * Classifies T32 instructions, as far as planning needs it (Arm ARM for Armv8-A, F3, and for
 * Armv7-A, A6). The first row of a table that fits decides; a word without a row is no instruction.
 * Groups that use neither the pc nor general registers have a single row.
 */
#include "arch/arm/t32.h"

enum { OUT_ALL = T32_SETS(T32_ALL) | T32_OUTSIDE, OUT_NZ = T32_SETS(T32_NZ) | T32_OUTSIDE };
enum { S_ALL = T32_SETS(T32_ALL) | T32_BY_S, S_NZ = T32_SETS(T32_NZ) | T32_BY_S };
enum { NO_ND = T32_NO_N | T32_NO_D, NO_DM = T32_NO_D | T32_NO_M, NO_NDM = NO_ND | T32_NO_M };
enum { NO_NT = T32_NO_N | T32_NO_T, NO_NTD = NO_NT | T32_NO_D, NO_NTM = NO_NT | T32_NO_M };

/* F3.2: narrow instructions, by their upper four bits. 0 and 1: */
static const struct t32_row narrow_0[] = {
    {0xfe00, 0x1800, INSN_OTHER, T32_PLAIN, T32_LOW_0, 0, OUT_ALL}, /* adds, subs */
    {0xfe00, 0x1a00, INSN_OTHER, T32_PLAIN, T32_LOW_0, 0, OUT_ALL},
    {0xfc00, 0x1c00, INSN_OTHER, T32_ADD_3, T32_LOW_0, 0, OUT_ALL},
    {0xffc0, 0x0000, INSN_OTHER, T32_MOVS, T32_LOW_0, 0, OUT_NZ},
    {0xe000, 0x0000, INSN_OTHER, T32_PLAIN, T32_LOW_0, 0, OUT_NZ}, /* shifts */
};

/* 2 and 3 */
static const struct t32_row narrow_2[] = {
    {0xf800, 0x2000, INSN_OTHER, T32_MOV_8, T32_LOW_8, 0, OUT_NZ},
    {0xf800, 0x2800, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, T32_SETS(T32_ALL)}, /* cmp */
    {0xf000, 0x3000, INSN_OTHER, T32_ADD_8, T32_LOW_8, 0, OUT_ALL},
};

/* 4, up to 0x47ff: high registers, jumps to them; data in registers */
static const struct t32_row narrow_4[] = {
    {0xffff, 0x46c0, INSN_NOP, T32_PLAIN, T32_NOTHING, 0, 0}, /* mov r8, r8 */
    {0xff00, 0x4600, INSN_OTHER, T32_MOV_HIGH, T32_HIGH, 0, 0},
    {0xff00, 0x4400, INSN_OTHER, T32_ADD_HIGH, T32_HIGH, 0, 0},
    {0xffff, 0x4770, INSN_RETURN, T32_BX, T32_NOTHING, 0, 0},
    {0xff87, 0x4700, INSN_JUMP_INDIRECT, T32_BX, T32_NOTHING, 0, 0},
    {0xffff, 0x47f8, INSN_FIXED, T32_BX, T32_NOTHING, 0, 0}, /* blx pc */
    {0xff87, 0x4780, INSN_CALL_INDIRECT, T32_BX, T32_NOTHING, 0, 0},
    {0xff00, 0x4700, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0}, /* bits that should be 0 */
    {0xff78, 0x4578, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0}, /* cmp of the pc */
    {0xff87, 0x4587, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xff00, 0x4500, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, T32_SETS(T32_ALL)},
    {0xffc0, 0x4140, INSN_OTHER, T32_PLAIN, T32_LOW_0, 0, OUT_ALL | ARM_C},     /* adcs */
    {0xffc0, 0x4180, INSN_OTHER, T32_PLAIN, T32_LOW_0, 0, OUT_ALL | ARM_C},     /* sbcs */
    {0xffc0, 0x4200, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, T32_SETS(T32_NZ)},  /* tst */
    {0xffc0, 0x4240, INSN_OTHER, T32_PLAIN, T32_LOW_0, 0, OUT_ALL},             /* rsbs */
    {0xff80, 0x4280, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, T32_SETS(T32_ALL)}, /* cmp, cmn */
    {0xfc00, 0x4000, INSN_OTHER, T32_PLAIN, T32_LOW_0, 0, OUT_NZ},
};

/* from 0x4800 on, and 5 */
static const struct t32_row narrow_5[] = {
    {0xf800, 0x4800, INSN_OTHER, T32_LITERAL_N, T32_LOW_8, 0, 0},
    {0xf000, 0x5000, INSN_OTHER, T32_INDEXED_N, T32_NOTHING, 0, 0},
};

/* 6 to 10: loads and stores, addresses */
static const struct t32_row narrow_6[] = {
    {0xe000, 0x6000, INSN_OTHER, T32_ACCESS_N, T32_NOTHING, 0, 0},
    {0xe000, 0x8000, INSN_OTHER, T32_ACCESS_N, T32_NOTHING, 0, 0},
    {0xf800, 0xa000, INSN_OTHER, T32_ADR_N, T32_LOW_8, 0, 0},
    {0xf800, 0xa800, INSN_OTHER, T32_ADD_SP, T32_LOW_8, 0, 0},
};

/* 11, up to 0xb7ff … */
static const struct t32_row narrow_11[] = {
    {0xff00, 0xb000, INSN_OTHER, T32_ADJUST_SP, T32_NOTHING, 0, 0},
    {0xf500, 0xb100, INSN_BRANCH, T32_CBZ, T32_NOTHING, 0, 0},
    {0xff00, 0xb200, INSN_OTHER, T32_PLAIN, T32_LOW_0, 0, 0},   /* sxth and its kin */
    {0xffff, 0xb400, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0}, /* no registers */
    {0xfe00, 0xb400, INSN_OTHER, T32_PUSH, T32_NOTHING, 0, 0},
    {0xfff7, 0xb610, INSN_FIXED, T32_PRIVILEGED, T32_NOTHING, 0, 0}, /* setpan */
    {0xfff7, 0xb650, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0},      /* setend */
    {0xffe8, 0xb660, INSN_FIXED, T32_PRIVILEGED, T32_NOTHING, 0, 0}, /* cps */
    {0x0000, 0x0000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
};

/* … and from there on */
static const struct t32_row narrow_11_on[] = {
    {0xf500, 0xb100, INSN_BRANCH, T32_CBZ, T32_NOTHING, 0, 0},
    {0xffff, 0xbf00, INSN_NOP, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xff0f, 0xbf00, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0}, /* other hints */
    {0xff00, 0xbf00, INSN_FIXED, T32_IT, T32_NOTHING, 0, 0},
    {0xffff, 0xbc00, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0}, /* no registers */
    {0xfe00, 0xbc00, INSN_OTHER, T32_POP, T32_NOTHING, 0, 0},
    {0xffc0, 0xba80, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0}, /* hlt */
    {0xff00, 0xba00, INSN_OTHER, T32_PLAIN, T32_LOW_0, 0, 0},   /* rev and its kin */
    {0xff00, 0xbe00, INSN_BREAK, T32_PLAIN, T32_NOTHING, 0, 0},
    {0x0000, 0x0000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
};

/* 12: several registers */
static const struct t32_row narrow_12[] = {
    {0xf0ff, 0xc000, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xf000, 0xc000, INSN_OTHER, T32_MULTIPLE_N, T32_NOTHING, 0, 0},
};

/* 13 and 14: branches, system calls */
static const struct t32_row narrow_13[] = {
    {0xf800, 0xe000, INSN_JUMP, T32_B_N, T32_NOTHING, 0, 0},
    {0xffff, 0xde01, INSN_BREAK, T32_PLAIN, T32_NOTHING, 0, 0}, /* the kernel's: ptrace.c */
    {0xff00, 0xde00, INSN_TRAP, T32_PLAIN, T32_NOTHING, 0, 0},  /* udf */
    {0xff00, 0xdf00, INSN_SYSCALL, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xf000, 0xd000, INSN_BRANCH, T32_B_COND_N, T32_NOTHING, 0, 0},
};

/* By their upper five bits. Larger values begin wide instructions. */
static const struct t32_row *const narrow[] = {
    narrow_0,  narrow_0,  narrow_0,  narrow_0,  narrow_2,  narrow_2, narrow_2,  narrow_2,
    narrow_4,  narrow_5,  narrow_5,  narrow_5,  narrow_6,  narrow_6, narrow_6,  narrow_6,
    narrow_6,  narrow_6,  narrow_6,  narrow_6,  narrow_6,  narrow_6, narrow_11, narrow_11_on,
    narrow_12, narrow_12, narrow_13, narrow_13, narrow_13,
};

/* F3.3.2 and F3.3.3: loads and stores of several registers, exclusive accesses, tables. */
static const struct t32_row several[] = {
    {0xffc00000, 0xe8000000, INSN_FIXED, T32_PRIVILEGED, T32_NOTHING, 0, 0}, /* srs, rfe */
    {0xffc00000, 0xe9800000, INSN_FIXED, T32_PRIVILEGED, T32_NOTHING, 0, 0},
    {0xfe400000, 0xe8000000, INSN_OTHER, T32_MULTIPLE, T32_NOTHING, T32_NO_N, 0},
    {0xfff00000, 0xe8400000, INSN_EXCLUSIVE, T32_PLAIN, T32_RD, NO_NTD, 0}, /* strex */
    {0xfff00f00, 0xe8500f00, INSN_EXCLUSIVE, T32_PLAIN, T32_RT, NO_NT, 0},  /* ldrex */
    {0xfff00000, 0xe8500000, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xfff000e0, 0xe8d00000, INSN_JUMP_INDIRECT, T32_TABLE, T32_NOTHING, T32_NO_M, 0},
    {0xfff000e0, 0xe8c00040, INSN_EXCLUSIVE, T32_PLAIN, T32_RM, NO_NTM, 0}, /* strexb, strexh */
    {0xfff000f0, 0xe8c00070, INSN_EXCLUSIVE, T32_PLAIN, T32_RM, NO_NTM | T32_NO_D, 0},
    {0xfff000c0, 0xe8c00080, INSN_OTHER, T32_PLAIN, T32_NOTHING, NO_NT, 0}, /* stl and its kin */
    {0xfff000f0, 0xe8c000f0, INSN_EXCLUSIVE, T32_PLAIN, T32_RM, NO_NTM | T32_NO_D, 0},
    {0xfff000c0, 0xe8c000c0, INSN_EXCLUSIVE, T32_PLAIN, T32_RM, NO_NTM, 0},
    {0xfff000e0, 0xe8d00040, INSN_EXCLUSIVE, T32_PLAIN, T32_RT, NO_NT, 0}, /* ldrexb, ldrexh */
    {0xfff000f0, 0xe8d00070, INSN_EXCLUSIVE, T32_PLAIN, T32_RT_RD, NO_NTD, 0},
    {0xfff000f0, 0xe8d000f0, INSN_EXCLUSIVE, T32_PLAIN, T32_RT_RD, NO_NTD, 0},
    {0xfff000c0, 0xe8d00080, INSN_OTHER, T32_PLAIN, T32_RT, NO_NT, 0}, /* lda and its kin */
    {0xfff000c0, 0xe8d000c0, INSN_EXCLUSIVE, T32_PLAIN, T32_RT, NO_NT, 0},
    {0xffe00000, 0xe8c00000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xfe400000, 0xe8400000, INSN_OTHER, T32_DUAL, T32_NOTHING, T32_NO_T | T32_NO_D, 0},
    {0x00000000, 0x00000000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
};

/* F3.3.4: data processing with a shifted register. */
static const struct t32_row shifted[] = {
    {0xfff08f00, 0xea100f00, INSN_OTHER, T32_SHIFTED, T32_NOTHING, T32_NO_N | T32_NO_M,
     T32_SETS(T32_NZ)}, /* tst, teq, cmn, cmp */
    {0xfff08f00, 0xea900f00, INSN_OTHER, T32_SHIFTED, T32_NOTHING, T32_NO_N | T32_NO_M,
     T32_SETS(T32_NZ)},
    {0xfff08f00, 0xeb100f00, INSN_OTHER, T32_SHIFTED, T32_NOTHING, T32_NO_N | T32_NO_M,
     T32_SETS(T32_ALL)},
    {0xfff08f00, 0xebb00f00, INSN_OTHER, T32_SHIFTED, T32_NOTHING, T32_NO_N | T32_NO_M,
     T32_SETS(T32_ALL)},
    {0xffc08000, 0xea000000, INSN_OTHER, T32_SHIFTED, T32_RD, NO_NDM, S_NZ}, /* and, bic */
    {0xffc08000, 0xea400000, INSN_OTHER, T32_SHIFTED, T32_RD, NO_DM, S_NZ},  /* orr, orn */
    {0xffe08000, 0xea800000, INSN_OTHER, T32_SHIFTED, T32_RD, NO_NDM, S_NZ}, /* eor */
    {0xfff08010, 0xeac00000, INSN_OTHER, T32_SHIFTED, T32_RD, NO_NDM, 0},    /* pkhbt, pkhtb */
    {0xffe08000, 0xeb000000, INSN_OTHER, T32_SHIFTED, T32_RD, NO_NDM, S_ALL},
    {0xffe08000, 0xeb400000, INSN_OTHER, T32_SHIFTED, T32_RD, NO_NDM, S_ALL | ARM_C}, /* adc */
    {0xffe08000, 0xeb600000, INSN_OTHER, T32_SHIFTED, T32_RD, NO_NDM, S_ALL | ARM_C}, /* sbc */
    {0xffe08000, 0xeba00000, INSN_OTHER, T32_SHIFTED, T32_RD, NO_NDM, S_ALL},
    {0xffe08000, 0xebc00000, INSN_OTHER, T32_SHIFTED, T32_RD, NO_NDM, S_ALL}, /* rsb */
    {0x00000000, 0x00000000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
};

/* F3.3.1: modified constants. */
static const struct t32_row constants[] = {
    {0xfbf08f00, 0xf0100f00, INSN_OTHER, T32_PLAIN, T32_NOTHING, T32_NO_N, T32_SETS(T32_NZ)},
    {0xfbf08f00, 0xf0900f00, INSN_OTHER, T32_PLAIN, T32_NOTHING, T32_NO_N, T32_SETS(T32_NZ)},
    {0xfbf08f00, 0xf1100f00, INSN_OTHER, T32_PLAIN, T32_NOTHING, T32_NO_N, T32_SETS(T32_ALL)},
    {0xfbf08f00, 0xf1b00f00, INSN_OTHER, T32_PLAIN, T32_NOTHING, T32_NO_N, T32_SETS(T32_ALL)},
    {0xfbe08000, 0xf0000000, INSN_OTHER, T32_PLAIN, T32_RD, NO_ND, S_NZ}, /* and */
    {0xfbe08000, 0xf0200000, INSN_OTHER, T32_CLEAR_BITS, T32_RD, NO_ND, S_NZ},
    {0xfbc08000, 0xf0400000, INSN_OTHER, T32_PLAIN, T32_RD, T32_NO_D, S_NZ}, /* orr, orn */
    {0xfbe08000, 0xf0800000, INSN_OTHER, T32_PLAIN, T32_RD, NO_ND, S_NZ},    /* eor */
    {0xfbe08000, 0xf1000000, INSN_OTHER, T32_ADD_IMMEDIATE, T32_RD, NO_ND, S_ALL},
    {0xfbe08000, 0xf1400000, INSN_OTHER, T32_PLAIN, T32_RD, NO_ND, S_ALL | ARM_C},
    {0xfbe08000, 0xf1600000, INSN_OTHER, T32_PLAIN, T32_RD, NO_ND, S_ALL | ARM_C},
    {0xfbe08000, 0xf1a00000, INSN_OTHER, T32_ADD_IMMEDIATE, T32_RD, NO_ND, S_ALL},
    {0xfbe08000, 0xf1c00000, INSN_OTHER, T32_PLAIN, T32_RD, NO_ND, S_ALL},
    {0x00000000, 0x00000000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
};

/* F3.3.5: plain constants. */
static const struct t32_row plain_constants[] = {
    {0xfbf08000, 0xf2000000, INSN_OTHER, T32_ADD_PLAIN, T32_RD, T32_NO_D, 0},
    {0xfbf08000, 0xf2a00000, INSN_OTHER, T32_ADD_PLAIN, T32_RD, T32_NO_D, 0},
    {0xfbf08000, 0xf2400000, INSN_OTHER, T32_MOVW, T32_RD, T32_NO_D, 0},
    {0xfbf08000, 0xf2c00000, INSN_OTHER, T32_MOVT, T32_RD, T32_NO_D, 0},
    {0xfff08020, 0xf3600000, INSN_OTHER, T32_PLAIN, T32_RD, T32_NO_D, 0}, /* bfi, bfc */
    {0xffd08020, 0xf3000000, INSN_OTHER, T32_PLAIN, T32_RD, NO_ND, 0},    /* ssat, ssat16 */
    {0xffd08020, 0xf3800000, INSN_OTHER, T32_PLAIN, T32_RD, NO_ND, 0},    /* usat, usat16 */
    {0xff708020, 0xf3400000, INSN_OTHER, T32_PLAIN, T32_RD, NO_ND, 0},    /* sbfx, ubfx */
    {0x00000000, 0x00000000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
};

/* F3.3.6: branches and control. */
static const struct t32_row branches[] = {
    {0xf800d000, 0xf0009000, INSN_JUMP, T32_B_W, T32_NOTHING, 0, 0},
    {0xf800d000, 0xf000d000, INSN_CALL, T32_BL, T32_NOTHING, 0, 0},
    {0xf800d001, 0xf000c000, INSN_CALL, T32_BLX, T32_NOTHING, 0, 0},
    {0xf800d001, 0xf000c001, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xfff0d020, 0xf3808000, INSN_OTHER, T32_PLAIN, T32_NOTHING, T32_NO_N, T32_SETS(T32_ALL)},
    {0xffe0d000, 0xf3808000, INSN_FIXED, T32_PRIVILEGED, T32_NOTHING, 0, 0}, /* other msr */
    {0xffffffff, 0xf3af8000, INSN_NOP, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xffffff00, 0xf3af8000, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0},           /* hints */
    {0xfff0d000, 0xf3a08000, INSN_FIXED, T32_PRIVILEGED, T32_NOTHING, 0, 0},      /* cps */
    {0xffffffff, 0xf3bf8f2f, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0},           /* clrex */
    {0xffffffc0, 0xf3bf8f40, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0},           /* dsb to sb */
    {0xfff0d000, 0xf3c08000, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0},           /* bxj */
    {0xfff0d000, 0xf3d08000, INSN_FIXED, T32_PRIVILEGED, T32_NOTHING, 0, 0},      /* eret */
    {0xffffd0ff, 0xf3ef8000, INSN_OTHER, T32_PLAIN, T32_RD, T32_NO_D, ARM_FLAGS}, /* mrs */
    {0xffe0d000, 0xf3e08000, INSN_FIXED, T32_PRIVILEGED, T32_NOTHING, 0, 0},
    {0xfff0f000, 0xf7e08000, INSN_FIXED, T32_PRIVILEGED, T32_NOTHING, 0, 0}, /* hvc */
    {0xfff0f000, 0xf7f08000, INSN_FIXED, T32_PRIVILEGED, T32_NOTHING, 0, 0}, /* smc */
    {0xffffffff, 0xf7f0a000, INSN_BREAK, T32_PLAIN, T32_NOTHING, 0, 0},      /* the kernel's */
    {0xfff0f000, 0xf7f0a000, INSN_TRAP, T32_PLAIN, T32_NOTHING, 0, 0},       /* udf */
    {0xfb80d000, 0xf3808000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},        /* no condition */
    {0xf800d000, 0xf0008000, INSN_BRANCH, T32_B_COND_W, T32_NOTHING, 0, 0},
    {0x00000000, 0x00000000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
};

/* F3.3.7 to F3.3.10: loads and stores of one register, of elements of vectors. */
static const struct t32_row singles[] = {
    {0xff700000, 0xf8700000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xff700000, 0xf9500000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0}, /* no signed word */
    {0xff700000, 0xf9700000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xff700000, 0xf8600000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xff900000, 0xf8000000, INSN_OTHER, T32_SINGLE, T32_NOTHING, T32_NO_T, 0},
    {0xff900000, 0xf8800000, INSN_OTHER, T32_SINGLE, T32_NOTHING, T32_NO_T, 0},
    {0xfe100000, 0xf8100000, INSN_OTHER, T32_SINGLE, T32_NOTHING, 0, 0},
    {0xff100000, 0xf9000000, INSN_OTHER, T32_VECTOR_ELEMENTS, T32_NOTHING, T32_NO_N, 0},
    {0x00000000, 0x00000000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
};

/* F3.3.11 to F3.3.14: data processing with registers, multiplication. */
static const struct t32_row registers[] = {
    {0xff80f0f0, 0xfa00f000, INSN_OTHER, T32_PLAIN, T32_RD, NO_NDM, S_NZ}, /* shifts */
    {0xff80f0c0, 0xfa00f080, INSN_OTHER, T32_PLAIN, T32_RD, NO_DM, 0},     /* sxtah and its kin */
    {0xff80f080, 0xfa80f000, INSN_OTHER, T32_PLAIN, T32_RD, NO_NDM, 0},    /* parallel ones */
    {0xfff0f0c0, 0xfa90f080, INSN_OTHER, T32_TWICE, T32_RD, NO_NDM, 0},    /* rev and its kin */
    {0xfff0f0c0, 0xfab0f080, INSN_OTHER, T32_TWICE, T32_RD, NO_NDM, 0},    /* clz */
    {0xff80f0c0, 0xfa80f080, INSN_OTHER, T32_PLAIN, T32_RD, NO_NDM, 0},    /* qadd … crc32 */
    {0xfff000f0, 0xfb000010, INSN_OTHER, T32_PLAIN, T32_RD, T32_NO_T | NO_NDM, 0}, /* mls */
    {0xfff000e0, 0xfb600000, INSN_OTHER, T32_PLAIN, T32_RD, T32_NO_T | NO_NDM, 0}, /* smmls */
    {0xff8000c0, 0xfb000000, INSN_OTHER, T32_PLAIN, T32_RD, NO_NDM, 0}, /* mul, mla … */
    {0xffd0f0f0, 0xfb90f0f0, INSN_OTHER, T32_PLAIN, T32_RD, NO_NDM, 0}, /* sdiv, udiv */
    {0xff800000, 0xfb800000, INSN_OTHER, T32_PLAIN, T32_RT_RD, T32_NO_T | NO_NDM, 0},
    {0x00000000, 0x00000000, INSN_BAD, T32_PLAIN, T32_NOTHING, 0, 0},
};

/* F3.3.15 on: coprocessors, floating point and vectors. */
static const struct t32_row vectors[] = {
    {0xef000000, 0xef000000, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0},     /* vectors' data */
    {0xfff00e00, 0xec400a00, INSN_OTHER, T32_PLAIN, T32_NOTHING, NO_NT, 0}, /* vmov to two … */
    {0xfff00e00, 0xec500a00, INSN_OTHER, T32_PLAIN, T32_RT_RN, NO_NT, 0},   /* … and from them */
    {0xfff00f00, 0xec500f00, INSN_OTHER, T32_PLAIN, T32_RT_RN, NO_NT, 0},   /* mrrc p15 */
    {0xfff00f00, 0xec400f00, INSN_OTHER, T32_PLAIN, T32_NOTHING, NO_NT, 0},
    {0xffe00000, 0xec400000, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0}, /* others */
    {0xff200e00, 0xed000a00, INSN_OTHER, T32_VECTOR_SINGLE, T32_NOTHING, 0, 0},
    {0xff200f00, 0xed000900, INSN_OTHER, T32_VECTOR_SINGLE, T32_NOTHING, 0, 0}, /* of halves */
    {0xff800e00, 0xec800a00, INSN_OTHER, T32_VECTOR_MULTIPLE, T32_NOTHING, T32_NO_N, 0},
    {0xffa00e00, 0xed200a00, INSN_OTHER, T32_VECTOR_MULTIPLE, T32_NOTHING, T32_NO_N, 0},
    {0xffa00000, 0xec000000, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xfe000000, 0xec000000, INSN_OTHER, T32_PLAIN, T32_RN, T32_NO_N, 0}, /* ldc, stc */
    {0xff000e10, 0xee000a00, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0},   /* floating point */
    {0xff000f10, 0xee000900, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xffffffff, 0xeef1fa10, INSN_OTHER, T32_TRANSFER, T32_NOTHING, 0, 0}, /* vmrs, flags */
    {0xff100e10, 0xee100a10, INSN_OTHER, T32_PLAIN, T32_RT, T32_NO_T, 0},  /* vmov to one, vmrs */
    {0xff100f10, 0xee100910, INSN_OTHER, T32_PLAIN, T32_RT, T32_NO_T, 0},
    {0xff100f10, 0xee100f10, INSN_OTHER, T32_TRANSFER, T32_RT, 0, 0}, /* mrc p15 */
    {0xff100e10, 0xee000a10, INSN_OTHER, T32_PLAIN, T32_NOTHING, T32_NO_T, 0},
    {0xff100f10, 0xee000910, INSN_OTHER, T32_PLAIN, T32_NOTHING, T32_NO_T, 0},
    {0xff100f10, 0xee000f10, INSN_OTHER, T32_PLAIN, T32_NOTHING, T32_NO_T, 0}, /* mcr p15 */
    {0xffb00e50, 0xfe000a00, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, ARM_Z},    /* vsel */
    {0xff800e50, 0xfe000a00, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, ARM_Z | ARM_N | ARM_V},
    {0xff800f50, 0xfe000900, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, ARM_Z | ARM_N | ARM_V},
    {0xff800e10, 0xfe800a00, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0}, /* vmaxnm, vrint … */
    {0xff800f10, 0xfe800900, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0},
    {0xfe000f00, 0xfc000800, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0}, /* vcmla, vfmal … */
    {0xfe000e00, 0xfc000c00, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0}, /* products of bytes … */
    {0xff000f00, 0xfe000800, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0}, /* … by an element */
    {0xff000f00, 0xfe000d00, INSN_OTHER, T32_PLAIN, T32_NOTHING, 0, 0},
    {0x00000000, 0x00000000, INSN_FIXED, T32_PLAIN, T32_NOTHING, 0, 0},
};

static const struct t32_row *group_of(uint32_t word) {
    switch (word >> 25) {
    case 0x74:
        return several;
    case 0x75:
        return shifted;
    case 0x78:
    case 0x7a:
        return word & 0x8000 ? branches : constants;
    case 0x79:
    case 0x7b:
        return word & 0x8000 ? branches : plain_constants;
    case 0x7c:
        return singles;
    case 0x7d:
        return registers;
    default:
        return vectors;
    }
}

static bool names_pc(uint32_t word, uint8_t fields) {
    return (fields & T32_NO_N && t32_rn(word) == ARM_PC) ||
           (fields & T32_NO_T && t32_rt(word) == ARM_PC) ||
           (fields & T32_NO_D && t32_rd(word) == ARM_PC) ||
           (fields & T32_NO_M && t32_rm(word) == ARM_PC);
}

/* `mov` and `add` of high registers, where one is the pc. */
static uint8_t kind_of_high(const struct t32 *in) {
    uint8_t to = t32_high(in->word), from = t32_reg(in->word, 3);
    if (to == ARM_PC && from == ARM_PC)
        return INSN_FIXED;
    if (from == ARM_PC)
        return to == ARM_SP ? INSN_FIXED : INSN_OTHER;
    if (to != ARM_PC)
        return INSN_OTHER;
    return in->row->form == T32_MOV_HIGH && from == ARM_LR ? INSN_RETURN : INSN_JUMP_INDIRECT;
}

/* Loads that write the pc. Those that pop it from the stack are returns. */
static uint8_t kind_of_load(const struct t32_access *a) {
    bool pops = a->base == ARM_SP && a->adds && a->offset == 0 && a->step > 0;
    for (uint8_t i = 0; i < a->count; i++) {
        if (a->regs[i] == ARM_PC)
            return !a->load ? INSN_FIXED : pops ? INSN_RETURN : INSN_JUMP_INDIRECT;
    }
    return INSN_OTHER;
}

/* F3.3.2: unpredictable lists of registers. */
static bool is_unpredictable_list(uint32_t word) {
    bool load = arm_bits(word, 20, 1), adds = arm_bits(word, 21, 1);
    uint32_t list = word & 0xffff;
    bool both = list >> ARM_LR == 3, one = !(list & (list - 1));
    bool base = adds && list >> t32_rn(word) & 1;
    return arm_bits(list, ARM_SP, 1) || one || base || (load ? both : list >> ARM_PC);
}

/* Whether this form of a load or store of one register exists. */
static bool is_single(uint32_t word) {
    bool literal = t32_rn(word) == ARM_PC, load = arm_bits(word, 20, 1);
    if (literal || arm_bits(word, 23, 1))
        return load || !literal;
    uint32_t way = arm_bits(word, 8, 4);
    bool indexed = arm_bits(word, 6, 6) == 0;
    return indexed || (way & 8 && (way & 5));
}

static bool writes_back(uint32_t word) {
    return !arm_bits(word, 23, 1) && arm_bits(word, 11, 1) && arm_bits(word, 8, 1);
}

/* Unpredictable forms of loads and stores of one register. */
static bool is_unpredictable_single(uint32_t word) {
    bool load = arm_bits(word, 20, 1), literal = load && t32_rn(word) == ARM_PC;
    uint8_t rt = t32_rt(word), size = (uint8_t)arm_bits(word, 21, 2);
    if (literal)
        return rt == ARM_SP && size != 2;
    bool way = !arm_bits(word, 23, 1) && arm_bits(word, 11, 1);
    bool indexed = !arm_bits(word, 23, 1) && !way;
    bool unprivileged = way && arm_bits(word, 8, 3) == 6;
    bool back = writes_back(word) && !unprivileged;
    if (indexed && t32_rm(word) == ARM_PC)
        return true;
    if (back && (t32_rn(word) == rt || (rt == ARM_PC && size != 2)))
        return true;
    return rt == ARM_PC && unprivileged;
}

/* Does it load or store the pc? */
static bool transfers_pc(const struct t32 *in) {
    switch (in->row->form) {
    case T32_SINGLE:
        return t32_rt(in->word) == ARM_PC;
    case T32_MULTIPLE:
        return arm_bits(in->word, ARM_PC, 1);
    case T32_POP:
        return arm_bits(in->word, 8, 1);
    default:
        return false;
    }
}

/* Its kind, by its row and its fields. */
static uint8_t kind_of(const struct t32 *in) {
    struct t32_access a;
    uint32_t word = in->word;
    switch (in->row->form) {
    case T32_ADD_HIGH:
    case T32_MOV_HIGH:
        return kind_of_high(in);
    case T32_SINGLE:
        if (!is_single(word))
            return INSN_BAD;
        if (is_unpredictable_single(word))
            return INSN_FIXED;
        break;
    case T32_MULTIPLE:
        if (is_unpredictable_list(word))
            return INSN_FIXED;
        break;
    case T32_DUAL:
        if (t32_rn(word) == ARM_PC && (!arm_bits(word, 20, 1) || arm_bits(word, 21, 1)))
            return INSN_FIXED;
        break;
    case T32_VECTOR_SINGLE:
        return t32_rn(word) == ARM_PC && !arm_bits(word, 20, 1) ? INSN_FIXED : INSN_OTHER;
    case T32_ADD_PLAIN:
        return t32_rn(word) == ARM_PC && t32_rd(word) == ARM_SP ? INSN_FIXED : INSN_OTHER;
    case T32_TWICE:
        return t32_rn(word) == t32_rm(word) ? INSN_OTHER : INSN_FIXED;
    case T32_POP:
        break;
    default:
        return in->row->kind;
    }
    return transfers_pc(in) && t32_access_of(in, &a) ? kind_of_load(&a) : in->row->kind;
}

struct t32 t32_classify(const uint8_t *bytes, size_t room) {
    enum { NARROW_GROUP = 11 };
    static const struct t32_row cut_off = {.kind = INSN_BAD, .form = T32_PLAIN};
    struct t32 in = {.kind = INSN_BAD, .row = &cut_off};
    if (room < T32_HALF)
        return in;
    in.word = t32_half(bytes);
    in.size = T32_HALF;
    bool wide = in.word >> NARROW_GROUP >= sizeof narrow / sizeof *narrow;
    if (wide && room < 2 * (size_t)T32_HALF) {
        in.size = 0;
        return in;
    }
    if (wide) {
        in.word = in.word << 16 | t32_half(bytes + T32_HALF);
        in.size = 2 * T32_HALF;
    }
    const struct t32_row *row = wide ? group_of(in.word) : narrow[in.word >> NARROW_GROUP];
    while ((in.word & row->mask) != row->value)
        row++;
    in.row = row;
    in.kind = row->no_pc && names_pc(in.word, row->no_pc) ? INSN_FIXED : kind_of(&in);
    return in;
}

/* F5.1.56, IT: the mask holds the lowest bit of each further condition; its last set bit is the
 * end. */
bool t32_block_at(const uint8_t *bytes, size_t room, struct t32_block *ret) {
    struct t32 it = t32_classify(bytes, room);
    *ret = (struct t32_block){.size = T32_HALF};
    if (it.row->form != T32_IT)
        return false;
    uint32_t mask = it.word & 15, first = arm_bits(it.word, 4, 4);
    ret->count = (uint8_t)(4 - __builtin_ctz(mask));
    for (uint8_t i = 0; i < ret->count; i++) {
        struct t32_member *m = &ret->at[i];
        uint32_t low = i ? mask >> (4 - i) & 1 : first & 1;
        m->condition = (uint8_t)((first & 14) | low);
        m->offset = ret->size;
        m->in = t32_classify(bytes + ret->size, room - ret->size);
        if (!m->in.size) {
            ret->count = 0;
            return false;
        }
        ret->size += m->in.size;
    }
    return true;
}
