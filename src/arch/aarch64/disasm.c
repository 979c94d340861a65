/*
 * Prints A64 instructions in the syntax of objdump and gdb: those of general registers, of scalar
 * floating point and of memory that compilers emit, and system instructions. Vector instructions,
 * and others without a text, are printed as words. The texts are in tables (opcodes.h); this file
 * prints their operands.
 */
#include <inttypes.h>
#include <stdio.h>

#include "arch/aarch64/opcodes.h"

/* ---- registers ---- */

static void add_general(struct disasm *d, bool wide, bool stack, unsigned reg) {
    if (reg == 31 && stack)
        disasm_add(d, wide ? "sp" : "wsp");
    else if (reg == 31)
        disasm_add(d, wide ? "xzr" : "wzr");
    else
        disasm_add(d, "%c%u", wide ? 'x' : 'w', reg);
}

/* The first letter of a register's name; 0: BANK is no bank. */
static char prefix_of(uint32_t word, char bank) {
    unsigned size = word >> 30;
    switch (bank) {
    case 'r':
    case 'R':
        return word >> 31 ? 'x' : 'w';
    case 'g':
        return size == 3 ? 'x' : 'w';
    case 'y':
        return size & 1 ? 'x' : 'w';
    case 'X':
        return 'x';
    case 'V':
        return 'v';
    case 'f':
        return "sd?h"[a64_bits(word, 22, 2)];
    case 'l':
        return a64_bits(word, 23, 1) ? 'q' : "bhsd"[size];
    case 'z':
        return "sdq?"[size];
    default:
        return strchr("wxbhsdq", bank) ? bank : '\0';
    }
}

static size_t add_register(struct disasm *d, const char *letters) {
    static const char fields[] = "dnamDM";
    static const uint8_t low[] = {0, 5, 10, 16, 0, 16};
    const char bank = letters[0], prefix = prefix_of(d->word, bank);
    if (!prefix)
        return 0;
    size_t field = (size_t)(strchr(fields, letters[1]) - fields);
    unsigned reg = (a64_bits(d->word, low[field], 5) + (field >= 4)) & 31;
    if (prefix == 'w' || prefix == 'x')
        add_general(d, prefix == 'x', bank == 'R' || bank == 'X', reg);
    else
        disasm_add(d, "%c%u", prefix, reg);
    return 2;
}

/* ---- numbers ---- */

static void add_bitmask(struct disasm *d) { disasm_add(d, "#0x%" PRIx64, a64_bitmask(d->word)); }

static unsigned halves_shift(const struct disasm *d) { return 16 * a64_bits(d->word, 21, 2); }

/* The constant of mov as an alias of movz and movn. */
static void add_moved(struct disasm *d) {
    uint64_t value = (uint64_t)a64_bits(d->word, 5, 16) << halves_shift(d);
    if (!a64_bits(d->word, 30, 1)) /* movn */
        value = ~value;
    disasm_add(d, "#0x%" PRIx64, a64_bits(d->word, 31, 1) ? value : value & UINT32_MAX);
}

static void add_lowest(struct disasm *d) {
    disasm_add(d, "#%u", -a64_bits(d->word, 16, 6) & (d->word >> 31 ? 63U : 31U));
}

static unsigned imms_of(const struct disasm *d) { return a64_bits(d->word, 10, 6); }

static void add_width(struct disasm *d) {
    disasm_add(d, "#%u", imms_of(d) - a64_bits(d->word, 16, 6) + 1);
}

static void add_fraction(struct disasm *d) { disasm_add(d, "#%u", 64 - imms_of(d)); }

static void add_bit(struct disasm *d) {
    disasm_add(d, "#%u", a64_bits(d->word, 31, 1) << 5 | a64_bits(d->word, 19, 5));
}

/* Arm ARM, VFPExpandImm(): a sign, three bits of exponent and four of fraction. */
static void add_float(struct disasm *d) {
    uint32_t number = a64_bits(d->word, 13, 8);
    int exponent = (int)(number >> 4 & 7);
    exponent = exponent < 4 ? exponent + 1 : exponent - 7;
    double value = (double)(16 + (number & 15)) / 16;
    for (; exponent > 0; exponent--)
        value *= 2;
    for (; exponent < 0; exponent++)
        value /= 2;
    disasm_add(d, "#%s%.8f", number & 0x80 ? "-" : "", value);
}

/* ---- the last operand ---- */

static void add_shift(struct disasm *d) {
    if (a64_bits(d->word, 22, 2) || imms_of(d))
        disasm_expand(d, ", <22:lsl|lsr|asr|ror> #<10.6>");
}

static const char *const extensions[] = {"uxtb", "uxth", "uxtw", "uxtx",
                                         "sxtb", "sxth", "sxtw", "sxtx"};

/* Beside the stack pointer an extension that keeps all bits is written as lsl. */
static void add_extended(struct disasm *d) {
    unsigned option = a64_bits(d->word, 13, 3), amount = a64_bits(d->word, 10, 3);
    bool flags = a64_bits(d->word, 29, 1);
    bool stack = a64_rn(d->word) == A64_SP || (a64_rd(d->word) == A64_SP && !flags);
    bool plain = stack && option == (a64_bits(d->word, 31, 1) ? 3 : 2);
    add_general(d, a64_bits(d->word, 31, 1) && (option & 3) == 3, false, a64_rm(d->word));
    if (!plain || amount)
        disasm_add(d, ", %s", plain ? "lsl" : extensions[option]);
    if (amount)
        disasm_add(d, " #%u", amount);
}

/* ---- addresses ---- */

static void add_indexed(struct disasm *d) {
    unsigned option = a64_bits(d->word, 13, 3);
    bool scaled = a64_bits(d->word, 12, 1), vector = a64_bits(d->word, 26, 1);
    disasm_expand(d, option & 1 ? "[%Xn, %xm" : "[%Xn, %wm");
    if (option != 3 || scaled)
        disasm_add(d, ", %s", option == 3 ? "lsl" : extensions[option]);
    if (scaled)
        disasm_add(d, " #%u", vector && a64_bits(d->word, 23, 1) ? 4 : d->word >> 30);
    disasm_add(d, "]");
}

enum write_back { NONE, BEFORE, AFTER };

/* [base], [base, #n], [base, #n]! or [base], #n */
static void add_offset(struct disasm *d, int64_t offset, enum write_back write_back) {
    disasm_expand(d, write_back == AFTER ? "[%Xn]" : "[%Xn");
    if (offset || write_back)
        disasm_add(d, ", #%" PRId64, offset);
    disasm_add(d, "%s", write_back == AFTER ? "" : write_back == BEFORE ? "]!" : "]");
}

/* ldraa, ldrab: a sign and nine bits, in units of eight bytes. */
static void add_authenticated(struct disasm *d) {
    int64_t high = a64_bits(d->word, 22, 1) ? -512 : 0;
    add_offset(d, 8 * (high + a64_bits(d->word, 12, 9)), a64_bits(d->word, 11, 1) ? BEFORE : NONE);
}

static void add_address(struct disasm *d) {
    enum a64_form form = (enum a64_form)a64_classify(d->word).form;
    if (form == A64_INDEXED) {
        add_indexed(d);
    } else if (form == A64_MEMORY) {
        add_authenticated(d);
    } else {
        struct a64_access a = a64_access_of(d->word, form);
        add_offset(d, a.offset, a.before ? BEFORE : a.after ? AFTER : NONE);
    }
}

static void add_nine_bits(struct disasm *d) { add_offset(d, a64_signed(d->word, 12, 9), NONE); }

static void add_tagged(struct disasm *d) {
    static const enum write_back modes[] = {NONE, AFTER, NONE, BEFORE};
    add_offset(d, 16 * a64_signed(d->word, 12, 9), modes[a64_bits(d->word, 10, 2)]);
}

static void add_target(struct disasm *d) { disasm_add(d, "%" PRIx64, d->target); }

static void add_signer(struct disasm *d) {
    disasm_add(d, "%" PRIx64, d->addr - (vaddr_t)A64_BYTES * a64_bits(d->word, 5, 16));
}

static void add_prefetch(struct disasm *d) {
    unsigned number = a64_rd(d->word);
    disasm_expand(d, number >> 3 < 3 && (number >> 1 & 3) < 3
                         ? "<3:pld|pli|pst|?>l<1:1|2|3|?><0:keep|strm>"
                         : "#<0.5>");
}

static void add_system_register(struct disasm *d) {
    const char *name = a64_system_register(a64_bits(d->word, 5, 16));
    if (name)
        disasm_add(d, "%s", name);
    else
        disasm_expand(d, "s<19.2>_<16.3>_c<12.4>_c<8.4>_<5.3>");
}

/* ---- all ---- */

#define CONDITIONS "eq|ne|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al|nv>"
#define INVERSES "ne|eq|lo|hs|pl|mi|vc|vs|ls|hi|lt|ge|le|gt|nv|al>"

static const struct operand operands[] = {
    {'4', NULL, add_signer},
    {'A', NULL, add_address},
    {'B', NULL, add_target},
    {'C', "<12:" CONDITIONS, NULL},
    {'D', NULL, add_system_register},
    {'E', NULL, add_extended},
    {'F', "#<0.4x>", NULL},
    {'G', "#<10.6>", NULL},
    {'H', "#<16.6>", NULL},
    {'I', "<12:" INVERSES, NULL},
    {'J', "<0:" CONDITIONS, NULL},
    {'K', "#<5.16x><21:|, lsl #16|, lsl #32|, lsl #48>", NULL},
    {'L', NULL, add_bitmask},
    {'M', NULL, add_moved},
    {'N', "#<10.12x><22:|, lsl #12>", NULL},
    {'O', NULL, add_width},
    {'P', NULL, add_lowest},
    {'Q', "#<10.6+1>", NULL},
    {'S', NULL, add_shift},
    {'T', "<30:b|h|w|>", NULL},
    {'U', "#<16.3>, c<12.4>, c<8.4>, #<5.3>", NULL},
    {'Y', "#<16.5x>", NULL},
    {'Z', NULL, add_bit},
    {'a', NULL, add_nine_bits},
    {'c', NULL, add_fraction},
    {'e', NULL, add_prefetch},
    {'k', "#<5.16x>", NULL},
    {'n', NULL, add_tagged},
    {'o', "<23:|a><22:|l>", NULL},
    {'p', "<22:|a><15:|l>", NULL},
    {'t', "<30:b|h||>", NULL},
    {'v', NULL, add_float},
    {0, NULL, NULL},
};

size_t a64_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]) {
    struct insn insn;
    out[0] = '\0';
    if (!a64_decode(bytes, room, addr, &insn, NULL)) {
        (void)snprintf(out, FORMAT_BYTES, "(bad)");
        return insn.size;
    }
    struct disasm d = {.out = out,
                       .word = a64_word(bytes),
                       .addr = addr,
                       .target = insn.target,
                       .operands = operands,
                       .print_register = add_register};
    if (!a64_print(&d))
        disasm_add(&d, ".inst 0x%08" PRIx32, d.word);
    return A64_BYTES;
}
