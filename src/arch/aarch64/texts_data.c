/*
 * The texts of A64 instructions that compute with general registers, and with numbers in them (Arm
 * ARM, C4.1.92 and C4.1.95). Which of several names one has is said at each of them (C6.2, "Alias
 * conditions").
 */
#include "arch/aarch64/texts.h"

static unsigned width_of(uint32_t word) { return word >> 31 ? 64 : 32; }
static unsigned immr_of(uint32_t word) { return a64_bits(word, 16, 6); }
static unsigned imms_of(uint32_t word) { return a64_bits(word, 10, 6); }

/* ---- with numbers ---- */

static bool is_move_of_sp(uint32_t word) {
    return a64_rd(word) == A64_SP || a64_rn(word) == A64_SP;
}

static bool is_no_bitmask(uint32_t word) { return !a64_bitmask(word); }

/* Could movz or movn make it, they would be the ones that are called mov. */
static bool is_move_of_bitmask(uint32_t word) {
    uint64_t value = a64_bitmask(word), all = UINT64_MAX >> (64 - width_of(word));
    for (unsigned low = 0; low < width_of(word); low += 16) {
        uint64_t field = UINT64_C(0xffff) << low;
        if (!(value & ~field) || !(~value & all & ~field))
            return false;
    }
    return true;
}

static bool is_no_wide_move(uint32_t word) { return !(word >> 31) && a64_bits(word, 22, 1); }

static bool is_move(uint32_t word) { return a64_bits(word, 5, 16) || !a64_bits(word, 21, 2); }

static bool is_move_of_inverse(uint32_t word) {
    return is_move(word) && (word >> 31 || a64_bits(word, 5, 16) != 0xffff);
}

static bool is_no_field(uint32_t word) {
    bool wide = word >> 31, authenticates = (word & 0xffc0001f) == 0xf380001f;
    return !authenticates &&
           (wide != (bool)a64_bits(word, 22, 1) || (!wide && (immr_of(word) | imms_of(word)) > 31));
}

static bool is_shift_left(uint32_t word) {
    return imms_of(word) + 1 == immr_of(word) && imms_of(word) + 1 != width_of(word);
}

static bool is_shift_right(uint32_t word) { return imms_of(word) + 1 == width_of(word); }

static bool is_insertion(uint32_t word) { return imms_of(word) < immr_of(word); }

static bool is_of_one(uint32_t word) { return a64_rn(word) == a64_rm(word); }

static const struct a64_alias number_aliases[] = {
    {0x7ffffc00, 0x11000000, is_move_of_sp, "mov %Rd, %Rn"},
    {0x1f800000, 0x12000000, is_no_bitmask, NULL},
    {0x7f8003e0, 0x320003e0, is_move_of_bitmask, "mov %Rd, %L"},
    {0x1f800000, 0x12800000, is_no_wide_move, NULL},
    {0x7f800000, 0x52800000, is_move, "mov %rd, %M"},
    {0x7f800000, 0x12800000, is_move_of_inverse, "mov %rd, %M"},
    {0x1f000000, 0x13000000, is_no_field, NULL}, /* of extr, too */
    {0x7f800000, 0x53000000, is_shift_right, "lsr %rd, %rn, %H"},
    {0x7f800000, 0x53000000, is_shift_left, "lsl %rd, %rn, %P"},
    {0x7f800000, 0x53000000, is_insertion, "ubfiz %rd, %rn, %P, %Q"},
    {0x7f800000, 0x13000000, is_shift_right, "asr %rd, %rn, %H"},
    {0x7f800000, 0x13000000, is_insertion, "sbfiz %rd, %rn, %P, %Q"},
    {0x7f800000, 0x33000000, is_insertion, "bfi %rd, %rn, %P, %Q"},
    {0x7fa00000, 0x13800000, is_of_one, "ror %rd, %rn, %G"},
    {0, 0, NULL, NULL},
};

static const struct a64_row numbers[] = {
    {0x9f000000, 0x10000000, "adr %xd, %B"},
    {0x9f000000, 0x90000000, "adrp %xd, %B"},
    {0x7f80001f, 0x3100001f, "cmn %Rn, %N"},
    {0x7f80001f, 0x7100001f, "cmp %Rn, %N"},
    {0x7f800000, 0x11000000, "add %Rd, %Rn, %N"},
    {0x7f800000, 0x31000000, "adds %rd, %Rn, %N"},
    {0x7f800000, 0x51000000, "sub %Rd, %Rn, %N"},
    {0x7f800000, 0x71000000, "subs %rd, %Rn, %N"},
    {0xffc0c000, 0x91800000, "addg %Xd, %Xn, %W, %2"},
    {0xffc0c000, 0xd1800000, "subg %Xd, %Xn, %W, %2"},
    {0x7f80001f, 0x7200001f, "tst %rn, %L"},
    {0x7f800000, 0x12000000, "and %Rd, %rn, %L"},
    {0x7f800000, 0x32000000, "orr %Rd, %rn, %L"},
    {0x7f800000, 0x52000000, "eor %Rd, %rn, %L"},
    {0x7f800000, 0x72000000, "ands %rd, %rn, %L"},
    {0x7f800000, 0x12800000, "movn %rd, %K"},
    {0x7f800000, 0x52800000, "movz %rd, %K"},
    {0x7f800000, 0x72800000, "movk %rd, %K"},
    {0x7fbffc00, 0x13001c00, "sxtb %rd, %wn"},
    {0x7fbffc00, 0x13003c00, "sxth %rd, %wn"},
    {0xfffffc00, 0x93407c00, "sxtw %rd, %wn"},
    {0xfffffc00, 0x53001c00, "uxtb %rd, %wn"},
    {0xfffffc00, 0x53003c00, "uxth %rd, %wn"},
    {0x7f800000, 0x13000000, "sbfx %rd, %rn, %H, %O"},
    {0x7f800000, 0x33000000, "bfxil %rd, %rn, %H, %O"},
    {0x7f800000, 0x53000000, "ubfx %rd, %rn, %H, %O"},
    {0xffe0001f, 0xf380001f, "autiasppc %4"},
    {0xffe0001f, 0xf3a0001f, "autibsppc %4"},
    {0x7fa00000, 0x13800000, "extr %rd, %rn, %rm, %G"},
    {0, 0, NULL},
};

const struct a64_texts a64_number_texts = {number_aliases, numbers};

/* ---- with registers ---- */

static bool is_no_shift(uint32_t word) { return imms_of(word) >= width_of(word); }

static bool is_no_shift_of_sum(uint32_t word) {
    return is_no_shift(word) || a64_bits(word, 22, 2) == 3;
}

static bool is_no_extension(uint32_t word) { return a64_bits(word, 10, 3) > 4; }

/* There are no contraries of "always". */
static bool has_contrary(uint32_t word) { return a64_bits(word, 12, 4) < 14; }

static bool is_negation(uint32_t word) { return is_of_one(word) && has_contrary(word); }

static bool is_of_one_or_zero(uint32_t word) {
    return is_negation(word) && a64_rn(word) != A64_ZERO;
}

static const struct a64_alias register_aliases[] = {
    {0x1f000000, 0x0a000000, is_no_shift, NULL},
    {0x1f200000, 0x0b000000, is_no_shift_of_sum, NULL},
    {0x1fe00000, 0x0b200000, is_no_extension, NULL},
    {0x7fff0fe0, 0x1a9f07e0, has_contrary, "cset %rd, %I"},
    {0x7fff0fe0, 0x5a9f03e0, has_contrary, "csetm %rd, %I"},
    {0x7fe00c00, 0x1a800400, is_of_one_or_zero, "cinc %rd, %rn, %I"},
    {0x7fe00c00, 0x5a800000, is_of_one_or_zero, "cinv %rd, %rn, %I"},
    {0x7fe00c00, 0x5a800400, is_negation, "cneg %rd, %rn, %I"},
    {0, 0, NULL, NULL},
};

static const struct a64_row registers[] = {
    {0x7fe0ffe0, 0x2a0003e0, "mov %rd, %rm"},
    {0x7f2003e0, 0x2a2003e0, "mvn %rd, %rm%S"},
    {0x7f20001f, 0x6a00001f, "tst %rn, %rm%S"},
    {0x7f200000, 0x0a000000, "and %rd, %rn, %rm%S"},
    {0x7f200000, 0x0a200000, "bic %rd, %rn, %rm%S"},
    {0x7f200000, 0x2a000000, "orr %rd, %rn, %rm%S"},
    {0x7f200000, 0x2a200000, "orn %rd, %rn, %rm%S"},
    {0x7f200000, 0x4a000000, "eor %rd, %rn, %rm%S"},
    {0x7f200000, 0x4a200000, "eon %rd, %rn, %rm%S"},
    {0x7f200000, 0x6a000000, "ands %rd, %rn, %rm%S"},
    {0x7f200000, 0x6a200000, "bics %rd, %rn, %rm%S"},
    {0x7f20001f, 0x2b00001f, "cmn %rn, %rm%S"},
    {0x7f20001f, 0x6b00001f, "cmp %rn, %rm%S"},
    {0x7f2003e0, 0x4b0003e0, "neg %rd, %rm%S"},
    {0x7f2003e0, 0x6b0003e0, "negs %rd, %rm%S"},
    {0x7f200000, 0x0b000000, "add %rd, %rn, %rm%S"},
    {0x7f200000, 0x2b000000, "adds %rd, %rn, %rm%S"},
    {0x7f200000, 0x4b000000, "sub %rd, %rn, %rm%S"},
    {0x7f200000, 0x6b000000, "subs %rd, %rn, %rm%S"},
    {0x7fe0001f, 0x2b20001f, "cmn %Rn, %E"},
    {0x7fe0001f, 0x6b20001f, "cmp %Rn, %E"},
    {0x7fe00000, 0x0b200000, "add %Rd, %Rn, %E"},
    {0x7fe00000, 0x2b200000, "adds %rd, %Rn, %E"},
    {0x7fe00000, 0x4b200000, "sub %Rd, %Rn, %E"},
    {0x7fe00000, 0x6b200000, "subs %rd, %Rn, %E"},
    {0x7fe0fc00, 0x1a000000, "adc %rd, %rn, %rm"},
    {0x7fe0fc00, 0x3a000000, "adcs %rd, %rn, %rm"},
    {0x7fe0ffe0, 0x5a0003e0, "ngc %rd, %rm"},
    {0x7fe0ffe0, 0x7a0003e0, "ngcs %rd, %rm"},
    {0x7fe0fc00, 0x5a000000, "sbc %rd, %rn, %rm"},
    {0x7fe0fc00, 0x7a000000, "sbcs %rd, %rn, %rm"},
    {0xffe07c10, 0xba000400, "rmif %xn, %1, %F"},
    {0xfffffc1f, 0x3a00080d, "setf8 %wn"},
    {0xfffffc1f, 0x3a00480d, "setf16 %wn"},
    {0x7fe00c10, 0x3a400000, "ccmn %rn, %rm, %F, %C"},
    {0x7fe00c10, 0x3a400800, "ccmn %rn, %Y, %F, %C"},
    {0x7fe00c10, 0x7a400000, "ccmp %rn, %rm, %F, %C"},
    {0x7fe00c10, 0x7a400800, "ccmp %rn, %Y, %F, %C"},
    {0x7fe00c00, 0x1a800000, "csel %rd, %rn, %rm, %C"},
    {0x7fe00c00, 0x1a800400, "csinc %rd, %rn, %rm, %C"},
    {0x7fe00c00, 0x5a800000, "csinv %rd, %rn, %rm, %C"},
    {0x7fe00c00, 0x5a800400, "csneg %rd, %rn, %rm, %C"},
    {0x7fe0fc00, 0x1ac00800, "udiv %rd, %rn, %rm"},
    {0x7fe0fc00, 0x1ac00c00, "sdiv %rd, %rn, %rm"},
    {0x7fe0fc00, 0x1ac02000, "lsl %rd, %rn, %rm"},
    {0x7fe0fc00, 0x1ac02400, "lsr %rd, %rn, %rm"},
    {0x7fe0fc00, 0x1ac02800, "asr %rd, %rn, %rm"},
    {0x7fe0fc00, 0x1ac02c00, "ror %rd, %rn, %rm"},
    {0xffe0fc00, 0x1ac04000, "crc32b %wd, %wn, %wm"},
    {0xffe0fc00, 0x1ac04400, "crc32h %wd, %wn, %wm"},
    {0xffe0fc00, 0x1ac04800, "crc32w %wd, %wn, %wm"},
    {0xffe0fc00, 0x9ac04c00, "crc32x %wd, %wn, %xm"},
    {0xffe0fc00, 0x1ac05000, "crc32cb %wd, %wn, %wm"},
    {0xffe0fc00, 0x1ac05400, "crc32ch %wd, %wn, %wm"},
    {0xffe0fc00, 0x1ac05800, "crc32cw %wd, %wn, %wm"},
    {0xffe0fc00, 0x9ac05c00, "crc32cx %wd, %wn, %xm"},
    {0xffe0fc00, 0x9ac00000, "subp %xd, %Xn, %Xm"},
    {0xffe0fc1f, 0xbac0001f, "cmpp %Xn, %Xm"},
    {0xffe0fc00, 0xbac00000, "subps %xd, %Xn, %Xm"},
    {0xfffffc00, 0x9adf1000, "irg %Xd, %Xn"},
    {0xffe0fc00, 0x9ac01000, "irg %Xd, %Xn, %xm"},
    {0xffe0fc00, 0x9ac01400, "gmi %xd, %Xn, %xm"},
    {0xffe0fc00, 0x9ac03000, "pacga %xd, %xn, %Xm"},
    {0x7ffffc00, 0x5ac00000, "rbit %rd, %rn"},
    {0x7ffffc00, 0x5ac00400, "rev16 %rd, %rn"},
    {0xfffffc00, 0x5ac00800, "rev %rd, %rn"},
    {0xfffffc00, 0xdac00800, "rev32 %rd, %rn"},
    {0xfffffc00, 0xdac00c00, "rev %rd, %rn"},
    {0x7ffffc00, 0x5ac01000, "clz %rd, %rn"},
    {0x7ffffc00, 0x5ac01400, "cls %rd, %rn"},
    {0xfffffc00, 0xdac10000, "pacia %xd, %Xn"},
    {0xfffffc00, 0xdac10400, "pacib %xd, %Xn"},
    {0xfffffc00, 0xdac10800, "pacda %xd, %Xn"},
    {0xfffffc00, 0xdac10c00, "pacdb %xd, %Xn"},
    {0xfffffc00, 0xdac11000, "autia %xd, %Xn"},
    {0xfffffc00, 0xdac11400, "autib %xd, %Xn"},
    {0xfffffc00, 0xdac11800, "autda %xd, %Xn"},
    {0xfffffc00, 0xdac11c00, "autdb %xd, %Xn"},
    {0xffffffe0, 0xdac123e0, "paciza %xd"},
    {0xffffffe0, 0xdac127e0, "pacizb %xd"},
    {0xffffffe0, 0xdac12be0, "pacdza %xd"},
    {0xffffffe0, 0xdac12fe0, "pacdzb %xd"},
    {0xffffffe0, 0xdac133e0, "autiza %xd"},
    {0xffffffe0, 0xdac137e0, "autizb %xd"},
    {0xffffffe0, 0xdac13be0, "autdza %xd"},
    {0xffffffe0, 0xdac13fe0, "autdzb %xd"},
    {0xffffffe0, 0xdac143e0, "xpaci %xd"},
    {0xffffffe0, 0xdac147e0, "xpacd %xd"},
    {0xffffffff, 0xdac183fe, "pacnbiasppc"},
    {0xffffffff, 0xdac187fe, "pacnbibsppc"},
    {0xfffffc1f, 0xdac1901e, "autiasppcr %xn"},
    {0xfffffc1f, 0xdac1941e, "autibsppcr %xn"},
    {0xffffffff, 0xdac1a3fe, "paciasppc"},
    {0xffffffff, 0xdac1a7fe, "pacibsppc"},
    {0x7fe0fc00, 0x1b007c00, "mul %rd, %rn, %rm"},
    {0x7fe0fc00, 0x1b00fc00, "mneg %rd, %rn, %rm"},
    {0x7fe08000, 0x1b000000, "madd %rd, %rn, %rm, %ra"},
    {0x7fe08000, 0x1b008000, "msub %rd, %rn, %rm, %ra"},
    {0xffe0fc00, 0x9b207c00, "smull %xd, %wn, %wm"},
    {0xffe0fc00, 0x9b20fc00, "smnegl %xd, %wn, %wm"},
    {0xffe08000, 0x9b200000, "smaddl %xd, %wn, %wm, %xa"},
    {0xffe08000, 0x9b208000, "smsubl %xd, %wn, %wm, %xa"},
    {0xffe0fc00, 0x9ba07c00, "umull %xd, %wn, %wm"},
    {0xffe0fc00, 0x9ba0fc00, "umnegl %xd, %wn, %wm"},
    {0xffe08000, 0x9ba00000, "umaddl %xd, %wn, %wm, %xa"},
    {0xffe08000, 0x9ba08000, "umsubl %xd, %wn, %wm, %xa"},
    {0xffe08000, 0x9b400000, "smulh %xd, %xn, %xm"},
    {0xffe08000, 0x9bc00000, "umulh %xd, %xn, %xm"},
    {0, 0, NULL},
};

const struct a64_texts a64_register_texts = {register_aliases, registers};
