/*
 * Texts of A64 data processing with general registers and with immediates (Arm ARM, C4.1.92 and
 * C4.1.95). If an instruction has several names, each alias has its condition (C6.2, "Alias
 * conditions").
 */
#include "arch/aarch64/opcodes.h"

static unsigned width_of(uint32_t word) { return word >> 31 ? 64 : 32; }
static unsigned immr_of(uint32_t word) { return a64_bits(word, 16, 6); }
static unsigned imms_of(uint32_t word) { return a64_bits(word, 10, 6); }

/* ---- immediates ---- */

static bool is_move_of_sp(uint32_t word) {
    return a64_rd(word) == A64_SP || a64_rn(word) == A64_SP;
}

static bool is_no_bitmask(uint32_t word) { return !a64_bitmask(word); }

/* orr is not called mov if movz or movn can make the value. */
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

static const struct a64_alias immediate_aliases[] = {
    {0x7ffffc00, 0x11000000, is_move_of_sp, "mov %Rd, %Rn"},
    {0x1f800000, 0x12000000, is_no_bitmask, NULL},
    {0x7f8003e0, 0x320003e0, is_move_of_bitmask, "mov %Rd, %L"},
    {0x1f800000, 0x12800000, is_no_wide_move, NULL},
    {0x7f800000, 0x52800000, is_move, "mov %rd, %M"},
    {0x7f800000, 0x12800000, is_move_of_inverse, "mov %rd, %M"},
    {0x1f000000, 0x13000000, is_no_field, NULL}, /* of extr, too */
    {0x3f800000, 0x13000000, is_shift_right, "<30:a|l>sr %rd, %rn, %H"},
    {0x7f800000, 0x53000000, is_shift_left, "lsl %rd, %rn, %P"},
    {0x3f800000, 0x13000000, is_insertion, "<30:s|u>bfiz %rd, %rn, %P, %Q"},
    {0x7f800000, 0x33000000, is_insertion, "bfi %rd, %rn, %P, %Q"},
    {0x7fa00000, 0x13800000, is_of_one, "ror %rd, %rn, %G"},
    {0, 0, NULL, NULL},
};

static const struct opcode immediates[] = {
    {0x1f000000, 0x10000000, "adr<31:|p> %xd, %B"},
    {0x3f80001f, 0x3100001f, "cm<30:n|p> %Rn, %N"},
    {0x3f800000, 0x11000000, "<30:add|sub> %Rd, %Rn, %N"},
    {0x3f800000, 0x31000000, "<30:add|sub>s %rd, %Rn, %N"},
    {0xbfc0c000, 0x91800000, "<30:add|sub>g %Xd, %Xn, #<16.6*16x>, #<10.4>"},
    {0x7f80001f, 0x7200001f, "tst %rn, %L"},
    {0x1f800000, 0x12000000, "<29:and|orr|eor|?> %Rd, %rn, %L"},
    {0x7f800000, 0x72000000, "ands %rd, %rn, %L"},
    {0x1f800000, 0x12800000, "mov<29:n|?|z|k> %rd, %K"},
    {0x7fbfdc00, 0x13001c00, "sxt<13:b|h> %rd, %wn"},
    {0xfffffc00, 0x93407c00, "sxtw %rd, %wn"},
    {0xffffdc00, 0x53001c00, "uxt<13:b|h> %rd, %wn"},
    {0x1f800000, 0x13000000, "<29:sbfx|bfxil|ubfx|?> %rd, %rn, %H, %O"},
    {0xffc0001f, 0xf380001f, "auti<21:a|b>sppc %4"},
    {0x7fa00000, 0x13800000, "extr %rd, %rn, %rm, %G"},
    {0, 0, NULL},
};

const struct a64_opcodes a64_immediate_opcodes = {immediate_aliases, immediates};

/* ---- registers ---- */

static bool is_no_shift(uint32_t word) { return imms_of(word) >= width_of(word); }

static bool is_no_shift_of_sum(uint32_t word) {
    return is_no_shift(word) || a64_bits(word, 22, 2) == 3;
}

static bool is_no_extension(uint32_t word) { return a64_bits(word, 10, 3) > 4; }

/* "Always" has no inverse. */
static bool has_inverse(uint32_t word) { return a64_bits(word, 12, 4) < 14; }

static bool is_negation(uint32_t word) { return is_of_one(word) && has_inverse(word); }

static bool is_of_one_or_zero(uint32_t word) {
    return is_negation(word) && a64_rn(word) != A64_ZERO;
}

static const struct a64_alias register_aliases[] = {
    {0x1f000000, 0x0a000000, is_no_shift, NULL},
    {0x1f200000, 0x0b000000, is_no_shift_of_sum, NULL},
    {0x1fe00000, 0x0b200000, is_no_extension, NULL},
    {0x7fff0fe0, 0x1a9f07e0, has_inverse, "cset %rd, %I"},
    {0x7fff0fe0, 0x5a9f03e0, has_inverse, "csetm %rd, %I"},
    {0x7fe00c00, 0x1a800400, is_of_one_or_zero, "cinc %rd, %rn, %I"},
    {0x7fe00c00, 0x5a800000, is_of_one_or_zero, "cinv %rd, %rn, %I"},
    {0x7fe00c00, 0x5a800400, is_negation, "cneg %rd, %rn, %I"},
    {0, 0, NULL, NULL},
};

static const struct opcode registers[] = {
    {0x7fe0ffe0, 0x2a0003e0, "mov %rd, %rm"},
    {0x7f2003e0, 0x2a2003e0, "mvn %rd, %rm%S"},
    {0x7f20001f, 0x6a00001f, "tst %rn, %rm%S"},
    {0x1f200000, 0x0a000000, "<29:and|orr|eor|ands> %rd, %rn, %rm%S"},
    {0x1f200000, 0x0a200000, "<29:bic|orn|eon|bics> %rd, %rn, %rm%S"},
    {0x3f20001f, 0x2b00001f, "cm<30:n|p> %rn, %rm%S"},
    {0x5f2003e0, 0x4b0003e0, "neg<29:|s> %rd, %rm%S"},
    {0x1f200000, 0x0b000000, "<29:add|adds|sub|subs> %rd, %rn, %rm%S"},
    {0x3fe0001f, 0x2b20001f, "cm<30:n|p> %Rn, %E"},
    {0x3fe00000, 0x0b200000, "<30:add|sub> %Rd, %Rn, %E"},
    {0x3fe00000, 0x2b200000, "<30:add|sub>s %rd, %Rn, %E"},
    {0x5fe0ffe0, 0x5a0003e0, "ngc<29:|s> %rd, %rm"},
    {0x1fe0fc00, 0x1a000000, "<29:adc|adcs|sbc|sbcs> %rd, %rn, %rm"},
    {0xffe07c10, 0xba000400, "rmif %xn, #<15.6>, %F"},
    {0xffffbc1f, 0x3a00080d, "setf<14:8|16> %wn"},
    {0x3fe00410, 0x3a400000, "ccm<30:n|p> %rn, <11:%rm|%Y>, %F, %C"},
    {0x7fe00800, 0x1a800000, "cs<10:el|inc> %rd, %rn, %rm, %C"},
    {0x7fe00800, 0x5a800000, "cs<10:inv|neg> %rd, %rn, %rm, %C"},
    {0x7fe0f800, 0x1ac00800, "<10:u|s>div %rd, %rn, %rm"},
    {0x7fe0f000, 0x1ac02000, "<10:lsl|lsr|asr|ror> %rd, %rn, %rm"},
    {0xffe0e000, 0x1ac04000, "crc32<12:|c><10:b|h|w|?> %wd, %wn, %wm"},
    {0xffe0ec00, 0x9ac04c00, "crc32<12:|c>x %wd, %wn, %xm"},
    {0xffe0fc1f, 0xbac0001f, "cmpp %Xn, %Xm"},
    {0xdfe0fc00, 0x9ac00000, "subp<29:|s> %xd, %Xn, %Xm"},
    {0xfffffc00, 0x9adf1000, "irg %Xd, %Xn"},
    {0xffe0fc00, 0x9ac01000, "irg %Xd, %Xn, %xm"},
    {0xffe0fc00, 0x9ac01400, "gmi %xd, %Xn, %xm"},
    {0xffe0fc00, 0x9ac03000, "pacga %xd, %xn, %Xm"},
    {0x7ffff800, 0x5ac00000, "r<10:bit|ev16> %rd, %rn"},
    {0xfffffc00, 0x5ac00800, "rev %rd, %rn"},
    {0xfffff800, 0xdac00800, "rev<10:32|> %rd, %rn"},
    {0x7ffff800, 0x5ac01000, "cl<10:z|s> %rd, %rn"},
    {0xffffe000, 0xdac10000, "<12:pac|aut><10:ia|ib|da|db> %xd, %Xn"},
    {0xffffe3e0, 0xdac123e0, "<12:pac|aut><10:iza|izb|dza|dzb> %xd"},
    {0xfffffbe0, 0xdac143e0, "xpac<10:i|d> %xd"},
    {0xffffdbff, 0xdac183fe, "pac<13:nb|>i<10:a|b>sppc"},
    {0xfffff81f, 0xdac1901e, "auti<10:a|b>sppcr %xn"},
    {0x7fe07c00, 0x1b007c00, "m<15:ul|neg> %rd, %rn, %rm"},
    {0x7fe00000, 0x1b000000, "m<15:add|sub> %rd, %rn, %rm, %ra"},
    {0xff607c00, 0x9b207c00, "<23:s|u>m<15:ul|neg>l %xd, %wn, %wm"},
    {0xff600000, 0x9b200000, "<23:s|u>m<15:add|sub>l %xd, %wn, %wm, %xa"},
    {0xff608000, 0x9b400000, "<23:s|u>mulh %xd, %xn, %xm"},
    {0, 0, NULL},
};

const struct a64_opcodes a64_register_opcodes = {register_aliases, registers};

/* ---- system registers ---- */

/* op0 to op2, as a word encodes them. */
#define SYSTEM(op0, op1, cn, cm, op2) ((op0) << 14 | (op1) << 11 | (cn) << 7 | (cm) << 3 | (op2))

static const struct {
    uint16_t number;
    const char *name;
} system_registers[] = {{SYSTEM(3, 3, 4, 2, 0), "nzcv"},
                        {SYSTEM(3, 3, 4, 2, 1), "daif"},
                        {SYSTEM(3, 3, 4, 4, 0), "fpcr"},
                        {SYSTEM(3, 3, 4, 4, 1), "fpsr"},
                        {SYSTEM(3, 3, 4, 2, 5), "dit"},
                        {SYSTEM(3, 3, 4, 2, 6), "ssbs"},
                        {SYSTEM(3, 3, 4, 2, 7), "tco"},
                        {SYSTEM(3, 3, 13, 0, 2), "tpidr_el0"},
                        {SYSTEM(3, 3, 13, 0, 3), "tpidrro_el0"},
                        {SYSTEM(3, 3, 13, 0, 5), "tpidr2_el0"},
                        {SYSTEM(3, 3, 14, 0, 0), "cntfrq_el0"},
                        {SYSTEM(3, 3, 14, 0, 1), "cntpct_el0"},
                        {SYSTEM(3, 3, 14, 0, 2), "cntvct_el0"},
                        {SYSTEM(3, 3, 14, 0, 5), "cntpctss_el0"},
                        {SYSTEM(3, 3, 14, 0, 6), "cntvctss_el0"},
                        {SYSTEM(3, 3, 0, 0, 1), "ctr_el0"},
                        {SYSTEM(3, 3, 0, 0, 7), "dczid_el0"},
                        {SYSTEM(3, 3, 2, 4, 0), "rndr"},
                        {SYSTEM(3, 3, 2, 4, 1), "rndrrs"},
                        {SYSTEM(3, 3, 9, 13, 0), "pmccntr_el0"},
                        {SYSTEM(3, 0, 0, 0, 0), "midr_el1"},
                        {SYSTEM(3, 0, 0, 0, 5), "mpidr_el1"},
                        {SYSTEM(3, 0, 0, 0, 6), "revidr_el1"},
                        {SYSTEM(3, 0, 0, 4, 0), "id_aa64pfr0_el1"},
                        {SYSTEM(3, 0, 0, 4, 1), "id_aa64pfr1_el1"},
                        {SYSTEM(3, 0, 0, 4, 4), "id_aa64zfr0_el1"},
                        {SYSTEM(3, 0, 0, 5, 0), "id_aa64dfr0_el1"},
                        {SYSTEM(3, 0, 0, 6, 0), "id_aa64isar0_el1"},
                        {SYSTEM(3, 0, 0, 6, 1), "id_aa64isar1_el1"},
                        {SYSTEM(3, 0, 0, 6, 2), "id_aa64isar2_el1"},
                        {SYSTEM(3, 0, 0, 7, 0), "id_aa64mmfr0_el1"},
                        {SYSTEM(3, 0, 0, 7, 1), "id_aa64mmfr1_el1"},
                        {SYSTEM(3, 0, 0, 7, 2), "id_aa64mmfr2_el1"}};

const char *a64_system_register(uint32_t number) {
    for (size_t i = 0; i < sizeof system_registers / sizeof *system_registers; i++)
        if (system_registers[i].number == number)
            return system_registers[i].name;
    return NULL;
}
