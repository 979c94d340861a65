/*
 * Instructions as text, in the syntax of objdump and gdb: those of general registers, of single
 * numbers of floating point and of memory that compilers emit, and what they have for the system.
 * Vectors of several elements, and what else has no text, are shown as the words that they are.
 *
 * Each form is a row of a table (texts.h), whose text has letters for what the word holds; here is
 * what these print.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "arch/aarch64/texts.h"

struct text {
    char *out;
    size_t used;
    uint32_t word;
    const struct insn *insn;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(t->out + t->used, FORMAT_BYTES - t->used, format, list);
    va_end(list);
    if (n > 0)
        t->used += (size_t)n < FORMAT_BYTES - t->used ? (size_t)n : FORMAT_BYTES - t->used - 1;
}

/* ---- registers ---- */

static bool is_wide(const struct text *t) { return t->word >> 31; }
static unsigned size_of(const struct text *t) { return t->word >> 30; }

static void add_general(struct text *t, bool wide, bool stack, unsigned reg) {
    if (reg == 31 && stack)
        add(t, wide ? "sp" : "wsp");
    else if (reg == 31)
        add(t, wide ? "xzr" : "wzr");
    else
        add(t, "%c%u", wide ? 'x' : 'w', reg);
}

static void add_base(struct text *t) { add_general(t, true, true, a64_rn(t->word)); }

/* The first letter of a register's name, which also is that of a bank of its own; 0: BANK is none.
 */
static char prefix_of(const struct text *t, char bank) {
    switch (bank) {
    case 'r':
    case 'R':
        return is_wide(t) ? 'x' : 'w';
    case 'g':
        return size_of(t) == 3 ? 'x' : 'w';
    case 'y':
        return size_of(t) & 1 ? 'x' : 'w';
    case 'X':
        return 'x';
    case 'V':
        return 'v';
    case 'f':
        return "sd?h"[a64_bits(t->word, 22, 2)];
    case 'l':
        return a64_bits(t->word, 23, 1) ? 'q' : "bhsd"[size_of(t)];
    case 'z':
        return "sdq?"[size_of(t)];
    default:
        return bank && strchr("wxbhsdq", bank) ? bank : '\0';
    }
}

static unsigned register_of(uint32_t word, char field) {
    switch (field) {
    case 'n':
        return a64_rn(word);
    case 'm':
        return a64_rm(word);
    case 'M':
        return a64_rm(word) + 1U;
    case 'a':
        return a64_bits(word, 10, 5);
    case 'D':
        return a64_rd(word) + 1U;
    default:
        return a64_rd(word);
    }
}

static bool add_register(struct text *t, char bank, char field) {
    char prefix = prefix_of(t, bank);
    unsigned reg = register_of(t->word, field) & 31;
    if (!prefix)
        return false;
    if (prefix == 'w' || prefix == 'x')
        add_general(t, prefix == 'x', bank == 'R' || bank == 'X', reg);
    else
        add(t, "%c%u", prefix, reg);
    return true;
}

/* ---- fields of bits ---- */

static const struct field {
    char letter;
    uint8_t low, count;
    bool hex;
} fields[] = {
    {'F', 0, 4, true},   {'Y', 16, 5, true}, {'G', 10, 6, false}, {'H', 16, 6, false},
    {'i', 8, 4, true},   {'k', 5, 16, true}, {'u', 0, 16, false}, {'1', 15, 6, false},
    {'2', 10, 4, false}, {'3', 5, 7, true},
};

static bool add_field(struct text *t, char letter) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const struct field *f = &fields[i];
        if (f->letter != letter)
            continue;
        add(t, f->hex ? "#0x%x" : "#%u", a64_bits(t->word, f->low, f->count));
        return true;
    }
    return false;
}

/* ---- numbers ---- */

static void add_sum_immediate(struct text *t) {
    add(t, "#0x%x%s", a64_bits(t->word, 10, 12), a64_bits(t->word, 22, 1) ? ", lsl #12" : "");
}

static void add_bitmask(struct text *t) { add(t, "#0x%" PRIx64, a64_bitmask(t->word)); }

static unsigned halves_shift(const struct text *t) { return 16 * a64_bits(t->word, 21, 2); }

static void add_half(struct text *t) {
    add(t, "#0x%x", a64_bits(t->word, 5, 16));
    if (halves_shift(t))
        add(t, ", lsl #%u", halves_shift(t));
}

static void add_moved(struct text *t) {
    uint64_t value = (uint64_t)a64_bits(t->word, 5, 16) << halves_shift(t);
    if (!a64_bits(t->word, 30, 1)) /* movn */
        value = ~value;
    add(t, "#0x%" PRIx64, is_wide(t) ? value : value & UINT32_MAX);
}

static unsigned immr_of(const struct text *t) { return a64_bits(t->word, 16, 6); }
static unsigned imms_of(const struct text *t) { return a64_bits(t->word, 10, 6); }

static void add_width(struct text *t) { add(t, "#%u", imms_of(t) - immr_of(t) + 1); }
static void add_inserted(struct text *t) { add(t, "#%u", imms_of(t) + 1); }

static void add_lowest(struct text *t) { add(t, "#%u", -immr_of(t) & (is_wide(t) ? 63U : 31U)); }

static void add_fraction(struct text *t) { add(t, "#%u", 64 - imms_of(t)); }

static void add_bit(struct text *t) {
    add(t, "#%u", a64_bits(t->word, 31, 1) << 5 | a64_bits(t->word, 19, 5));
}

static void add_sixteens(struct text *t) { add(t, "#0x%x", 16 * immr_of(t)); }

/* Arm ARM, VFPExpandImm(): a sign, three bits of exponent and four of fraction. */
static void add_float(struct text *t) {
    uint32_t number = a64_bits(t->word, 13, 8);
    int exponent = (int)(number >> 4 & 7);
    exponent = exponent < 4 ? exponent + 1 : exponent - 7;
    double value = (double)(16 + (number & 15)) / 16;
    for (; exponent > 0; exponent--)
        value *= 2;
    for (; exponent < 0; exponent++)
        value /= 2;
    add(t, "#%s%.8f", number & 0x80 ? "-" : "", value);
}

/* ---- the last operand ---- */

static const char *const shifts[] = {"lsl", "lsr", "asr", "ror"};

static void add_shift(struct text *t) {
    unsigned shift = a64_bits(t->word, 22, 2), amount = imms_of(t);
    if (shift || amount)
        add(t, ", %s #%u", shifts[shift], amount);
}

static const char *const extensions[] = {"uxtb", "uxth", "uxtw", "uxtx",
                                         "sxtb", "sxth", "sxtw", "sxtx"};

/* An extension that keeps all bits is written as a shift to the left beside the stack pointer. */
static void add_extended(struct text *t) {
    unsigned option = a64_bits(t->word, 13, 3), amount = a64_bits(t->word, 10, 3);
    bool flags = a64_bits(t->word, 29, 1);
    bool stack = a64_rn(t->word) == A64_SP || (a64_rd(t->word) == A64_SP && !flags);
    bool plain = stack && option == (is_wide(t) ? 3 : 2);
    add_general(t, is_wide(t) && (option & 3) == 3, false, a64_rm(t->word));
    if (!plain || amount)
        add(t, ", %s", plain ? "lsl" : extensions[option]);
    if (amount)
        add(t, " #%u", amount);
}

/* ---- places ---- */

static void add_indexed(struct text *t) {
    unsigned option = a64_bits(t->word, 13, 3), size = size_of(t);
    bool scaled = a64_bits(t->word, 12, 1);
    if (a64_bits(t->word, 26, 1) && a64_bits(t->word, 23, 1))
        size = 4;
    add(t, "[");
    add_base(t);
    add(t, ", ");
    add_general(t, option & 1, false, a64_rm(t->word));
    if (option != 3 || scaled)
        add(t, ", %s", option == 3 ? "lsl" : extensions[option]);
    if (scaled)
        add(t, " #%u", size);
    add(t, "]");
}

enum write_back { NONE, BEFORE, AFTER };

/* [base], [base, #n], [base, #n]! or [base], #n */
static void add_offset(struct text *t, int64_t offset, enum write_back write_back) {
    add(t, "[");
    add_base(t);
    add(t, "%s", write_back == AFTER ? "]" : "");
    if (offset || write_back)
        add(t, ", #%" PRId64, offset);
    add(t, "%s", write_back == AFTER ? "" : write_back == BEFORE ? "]!" : "]");
}

/* ldraa, ldrab: nine bits and the sign, of eight bytes each. */
static void add_authenticated(struct text *t) {
    int64_t high = a64_bits(t->word, 22, 1) ? -512 : 0;
    add_offset(t, 8 * (high + a64_bits(t->word, 12, 9)), a64_bits(t->word, 11, 1) ? BEFORE : NONE);
}

static void add_place(struct text *t) {
    enum a64_form form = (enum a64_form)a64_classify(t->word).form;
    if (form == A64_INDEXED) {
        add_indexed(t);
    } else if (form == A64_MEMORY) {
        add_authenticated(t);
    } else {
        struct a64_access a = a64_access_of(t->word, form);
        add_offset(t, a.offset, a.before ? BEFORE : a.after ? AFTER : NONE);
    }
}

static void add_nine_bits(struct text *t) { add_offset(t, a64_signed(t->word, 12, 9), NONE); }

static void add_tagged(struct text *t) {
    static const enum write_back modes[] = {NONE, AFTER, NONE, BEFORE};
    add_offset(t, 16 * a64_signed(t->word, 12, 9), modes[a64_bits(t->word, 10, 2)]);
}

static void add_target(struct text *t) { add(t, "%" PRIx64, t->insn->target); }

static void add_signer(struct text *t) {
    add(t, "%" PRIx64, t->insn->addr - (vaddr_t)A64_BYTES * a64_bits(t->word, 5, 16));
}

/* ---- words ---- */

static const char *const conditions[] = {"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc",
                                         "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"};

static void add_condition(struct text *t) { add(t, "%s", conditions[a64_bits(t->word, 12, 4)]); }
static void add_contrary(struct text *t) { add(t, "%s", conditions[a64_bits(t->word, 12, 4) ^ 1]); }
static void add_branches(struct text *t) { add(t, "%s", conditions[a64_bits(t->word, 0, 4)]); }

static void add_order(struct text *t) {
    add(t, "%s%s", a64_bits(t->word, 23, 1) ? "a" : "", a64_bits(t->word, 22, 1) ? "l" : "");
}

static void add_order_of_compare(struct text *t) {
    add(t, "%s%s", a64_bits(t->word, 22, 1) ? "a" : "", a64_bits(t->word, 15, 1) ? "l" : "");
}

static void add_size(struct text *t) {
    static const char *const names[] = {"b", "h", "", ""};
    add(t, "%s", names[size_of(t)]);
}

static void add_signed_size(struct text *t) {
    static const char *const names[] = {"b", "h", "w", ""};
    add(t, "%s", names[size_of(t)]);
}

static void add_barrier(struct text *t) {
    static const char *const names[16] = {
        [1] = "oshld", [2] = "oshst",  [3] = "osh",  [5] = "nshld", [6] = "nshst", [7] = "nsh",
        [9] = "ishld", [10] = "ishst", [11] = "ish", [13] = "ld",   [14] = "st",   [15] = "sy"};
    unsigned number = a64_bits(t->word, 8, 4);
    if (names[number])
        add(t, "%s", names[number]);
    else
        add(t, "#%u", number);
}

static void add_prefetch(struct text *t) {
    static const char *const what[] = {"pld", "pli", "pst"};
    unsigned number = a64_rd(t->word);
    if (number >> 3 < 3 && (number >> 1 & 3) < 3)
        add(t, "%sl%u%s", what[number >> 3], (number >> 1 & 3) + 1, number & 1 ? "strm" : "keep");
    else
        add(t, "#%u", number);
}

static void add_system_register(struct text *t) {
    uint32_t number = a64_bits(t->word, 5, 16);
    const char *name = a64_system_register(number);
    if (name) {
        add(t, "%s", name);
        return;
    }
    add(t, "s%u_%u_c%u_c%u_%u", number >> 14, a64_bits(number, 11, 3), a64_bits(number, 7, 4),
        a64_bits(number, 3, 4), a64_bits(number, 0, 3));
}

static void add_system_operation(struct text *t) {
    add(t, "#%u, c%u, c%u, #%u", a64_bits(t->word, 16, 3), a64_bits(t->word, 12, 4),
        a64_bits(t->word, 8, 4), a64_bits(t->word, 5, 3));
}

static const struct {
    char letter;
    void (*add)(struct text *t);
} letters[] = {
    {'4', add_signer},
    {'A', add_place},
    {'B', add_target},
    {'C', add_condition},
    {'D', add_system_register},
    {'E', add_extended},
    {'I', add_contrary},
    {'J', add_branches},
    {'K', add_half},
    {'L', add_bitmask},
    {'M', add_moved},
    {'N', add_sum_immediate},
    {'O', add_width},
    {'P', add_lowest},
    {'Q', add_inserted},
    {'S', add_shift},
    {'T', add_signed_size},
    {'U', add_system_operation},
    {'W', add_sixteens},
    {'Z', add_bit},
    {'a', add_nine_bits},
    {'c', add_fraction},
    {'e', add_prefetch},
    {'j', add_barrier},
    {'n', add_tagged},
    {'o', add_order},
    {'p', add_order_of_compare},
    {'t', add_size},
    {'v', add_float},
};

/* What stands for the letters at P, which is behind a '%'; returns how many these are. */
static size_t add_letters(struct text *t, const char *p) {
    if (add_register(t, p[0], p[1]))
        return 2;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (letters[i].letter == *p) {
            letters[i].add(t);
            return 1;
        }
    }
    (void)add_field(t, *p);
    return 1;
}

size_t a64_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]) {
    struct insn insn;
    out[0] = '\0';
    if (!a64_decode(bytes, room, addr, &insn, NULL)) {
        (void)snprintf(out, FORMAT_BYTES, "(bad)");
        return insn.size;
    }
    struct text t = {.out = out, .word = a64_word(bytes), .insn = &insn};
    const char *p = a64_text_of(t.word);
    if (!p)
        add(&t, ".inst 0x%08" PRIx32, t.word);
    while (p && *p) {
        if (*p == '%')
            p += 1 + add_letters(&t, p + 1);
        else
            add(&t, "%c", *p++);
    }
    return A64_BYTES;
}
