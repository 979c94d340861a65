/*
 * Instructions as text, in the syntax of objdump and gdb: those that planning looks at, and those
 * by which frames are made. Others are shown as the words that they are.
 */
#include <inttypes.h>
#include <stdio.h>

#include "arch/aarch64/aarch64.h"

struct text {
    char *out;
    uint32_t word;
    const struct insn *insn;
};

static const char *const conditions[] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc",
                                         "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"};

#define PRINT(t, ...) (void)snprintf((t)->out, FORMAT_BYTES, __VA_ARGS__)

/* The name of REG; 31 is the stack pointer or zero. */
struct name {
    char text[8];
};
static struct name name_of(uint8_t reg, bool wide, bool stack) {
    struct name n;
    if (reg == 31)
        (void)snprintf(n.text, sizeof n.text, "%s",
                       stack ? (wide ? "sp" : "wsp") : (wide ? "xzr" : "wzr"));
    else
        (void)snprintf(n.text, sizeof n.text, "%c%u", wide ? 'x' : 'w', reg);
    return n;
}
static struct name x(uint8_t reg) { return name_of(reg, true, false); }

static void branch(const struct text *t) {
    uint32_t word = t->word;
    uint64_t to = t->insn->target;
    struct name reg = name_of(a64_rd(word), word >> 31, false);
    bool test = (word & 0x7e000000) == 0x36000000, compare = (word & 0x7e000000) == 0x34000000;
    if (compare)
        PRINT(t, "cb%sz %s, %" PRIx64, a64_bits(word, 24, 1) ? "n" : "", reg.text, to);
    else if (test)
        PRINT(t, "tb%sz %s, #%u, %" PRIx64, a64_bits(word, 24, 1) ? "n" : "", reg.text,
              a64_bits(word, 31, 1) << 5 | a64_bits(word, 19, 5), to);
    else if (word >> 24 == 0x54)
        PRINT(t, "b%s.%s %" PRIx64, word & 16 ? "c" : "", conditions[word & 15], to);
    else
        PRINT(t, "b%s %" PRIx64, t->insn->kind == INSN_CALL ? "l" : "", to);
}

static void indirect(const struct text *t) {
    static const char *const names[] = {"br", "blr", "ret"};
    uint32_t word = t->word, opc = a64_bits(word, 21, 2);
    const char *key = a64_bits(word, 10, 1) ? "b" : "a";
    if (opc > 2)
        PRINT(t, ".inst 0x%08x", word);
    else if (!a64_bits(word, 11, 1))
        PRINT(t, word == 0xd65f03c0 ? "ret" : "%s %s", names[opc], x(a64_rn(word)).text);
    else if (opc == 2)
        PRINT(t, "reta%s", key);
    else if (a64_bits(word, 24, 1))
        PRINT(t, "%sa%s %s, %s", names[opc], key, x(a64_rn(word)).text,
              name_of(a64_rd(word), true, true).text);
    else
        PRINT(t, "%sa%sz %s", names[opc], key, x(a64_rn(word)).text);
}

static void literal(const struct text *t) {
    static const char letters[] = "sdq?";
    uint32_t word = t->word, opc = word >> 30;
    uint64_t to = t->insn->target;
    if (a64_bits(word, 26, 1))
        PRINT(t, "ldr %c%u, %" PRIx64, letters[opc], a64_rd(word), to);
    else if (opc == 3)
        PRINT(t, "prfm #%u, %" PRIx64, a64_rd(word), to);
    else
        PRINT(t, "%s %s, %" PRIx64, opc == 2 ? "ldrsw" : "ldr",
              name_of(a64_rd(word), opc != 0, false).text, to);
}

static void add(const struct text *t) {
    static const char *const names[] = {"add", "adds", "sub", "subs"};
    uint32_t word = t->word, value = a64_bits(word, 10, 12);
    bool wide = word >> 31, flags = a64_bits(word, 29, 1), shifted = a64_bits(word, 22, 1);
    uint8_t rd = a64_rd(word), rn = a64_rn(word);
    struct name to = name_of(rd, wide, !flags), from = name_of(rn, wide, true);
    const char *shift = shifted ? ", lsl #12" : "";
    if (flags && rd == A64_ZERO)
        PRINT(t, "cm%s %s, #0x%x%s", a64_bits(word, 30, 1) ? "p" : "n", from.text, value, shift);
    else if (!(word & 0x7ffffc00 & ~UINT32_C(0x11000000)) && (rd == A64_SP || rn == A64_SP))
        PRINT(t, "mov %s, %s", to.text, from.text);
    else
        PRINT(t, "%s %s, %s, #0x%x%s", names[a64_bits(word, 29, 2)], to.text, from.text, value,
              shift);
}

static void logical(const struct text *t) {
    uint32_t word = t->word;
    bool wide = word >> 31;
    if ((word & 0x7fe0ffe0) == 0x2a0003e0)
        PRINT(t, "mov %s, %s", name_of(a64_rd(word), wide, false).text,
              name_of(a64_rm(word), wide, false).text);
    else
        PRINT(t, ".inst 0x%08x", word);
}

/* [base], [base, #n], [base, #n]! or [base], #n */
static void put_place(char *out, size_t room, const struct a64_access *a) {
    struct name base = name_of(a->base, true, true);
    if (a->after)
        (void)snprintf(out, room, "[%s], #%" PRId64, base.text, a->offset);
    else if (a->offset || a->before)
        (void)snprintf(out, room, "[%s, #%" PRId64 "]%s", base.text, a->offset,
                       a->before ? "!" : "");
    else
        (void)snprintf(out, room, "[%s]", base.text);
}

static void access(const struct text *t, enum a64_form form) {
    struct a64_access a = a64_access_of(t->word, form);
    char place[48];
    bool known = a.general && (a.wide || (form == A64_PAIR && a.bytes == 4 && !a.load));
    if (!known) {
        PRINT(t, ".inst 0x%08x", t->word);
        return;
    }
    put_place(place, sizeof place, &a);
    const char *unscaled = form == A64_UNSCALED && !a.before && !a.after ? "u" : "";
    struct name first = name_of(a.regs[0], a.wide, false),
                second = name_of(a.regs[1], a.wide, false);
    if (form == A64_PAIR)
        PRINT(t, "%s %s, %s, %s", a.load ? "ldp" : "stp", first.text, second.text, place);
    else
        PRINT(t, "%s%sr %s, %s", a.load ? "ld" : "st", unscaled, first.text, place);
}

static void system(const struct text *t) {
    static const struct {
        uint32_t word;
        const char *text;
    } names[] = {{0xd503201f, "nop"},     {0xd503203f, "yield"},   {0xd503205f, "wfe"},
                 {0xd503233f, "paciasp"}, {0xd503237f, "pacibsp"}, {0xd50323bf, "autiasp"},
                 {0xd50323ff, "autibsp"}, {0xd50320ff, "xpaclri"}, {0xd503241f, "bti"},
                 {0xd503245f, "bti c"},   {0xd503249f, "bti j"},   {0xd50324df, "bti jc"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].word == t->word) {
            PRINT(t, "%s", names[i].text);
            return;
        }
    }
    uint32_t number = a64_bits(t->word, 5, 16);
    if ((t->word & 0xffe0001f) == 0xd4000001)
        PRINT(t, "svc #0x%x", number);
    else if ((t->word & 0xffe0001f) == 0xd4200000)
        PRINT(t, "brk #0x%x", number);
    else
        PRINT(t, ".inst 0x%08x", t->word);
}

static void print(const struct text *t, const struct a64_insn *in) {
    switch ((enum a64_form)in->form) {
    case A64_B:
    case A64_IMM19:
    case A64_IMM14:
        branch(t);
        return;
    case A64_INDIRECT:
        indirect(t);
        return;
    case A64_ADR:
    case A64_ADRP:
        PRINT(t, "adr%s %s, %" PRIx64, in->form == A64_ADRP ? "p" : "", x(a64_rd(t->word)).text,
              t->insn->target);
        return;
    case A64_LITERAL:
        literal(t);
        return;
    case A64_ADD_IMMEDIATE:
        add(t);
        return;
    case A64_LOGICAL_SHIFTED:
        logical(t);
        return;
    case A64_PAIR:
    case A64_UNSCALED:
    case A64_SCALED:
        access(t, (enum a64_form)in->form);
        return;
    case A64_SYSTEM:
        system(t);
        return;
    default:
        PRINT(t, in->kind == INSN_TRAP ? "udf #%u" : ".inst 0x%08x", t->word);
    }
}

size_t a64_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]) {
    struct insn insn;
    if (!a64_decode(bytes, room, addr, &insn, NULL)) {
        (void)snprintf(out, FORMAT_BYTES, "(bad)");
        return insn.size;
    }
    uint32_t word = a64_word(bytes);
    struct a64_insn in = a64_classify(word);
    print(&(struct text){out, word, &insn}, &in);
    return A64_BYTES;
}
