/*
 * Instructions as text, in the unified syntax of assemblers: those that compilers emit, apart from
 * vectors of several elements. Others are shown as the words that they are.
 *
 * Each form is a row of a table (a32_texts.c), whose text has letters for what the word holds; here
 * is what these print.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "arch/arm/a32_texts.h"

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

static const char *const conditions[] = {"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc",
                                         "hi", "ls", "ge", "lt", "gt", "le", "",   ""};
static const char *const registers[] = {"r0", "r1", "r2",  "r3", "r4", "r5", "r6", "r7",
                                        "r8", "r9", "r10", "fp", "ip", "sp", "lr", "pc"};
static const char *const shifts[] = {"lsl", "lsr", "asr", "ror"};

static void add_register(struct text *t, unsigned reg) { add(t, "%s", registers[reg & 15]); }

static void add_shift(struct text *t, uint8_t shift, uint8_t amount) {
    if (!amount && !shift)
        return;
    if (!amount && shift == 3)
        add(t, ", rrx");
    else
        add(t, ", %s #%u", shifts[shift], amount ? amount : 32U);
}

/* The last operand of data processing. */
static void add_operand(struct text *t) {
    struct a32_data d = a32_data_of(t->word);
    if (d.form == A32_FORM_IMMEDIATE) {
        uint32_t shortest = 0;
        a32_encode_immediate(d.value, &shortest);
        if (shortest == arm_bits(t->word, 0, 12))
            add(t, "#%" PRIu32, d.value);
        else
            add(t, "#%u, #%u", arm_bits(t->word, 0, 8), d.amount);
        return;
    }
    add_register(t, d.rm);
    if (d.form == A32_FORM_BY_REGISTER)
        add(t, ", %s %s", shifts[d.shift], registers[d.amount]);
    else
        add_shift(t, d.shift, d.amount);
}

static void add_index(struct text *t, const struct a32_access *a, bool shifted) {
    if (!a->indexed) {
        int32_t offset = a->before || a->after ? a->moves : a->offset;
        if (offset || a->before || a->after || a->subtracts)
            add(t, ", #%s%" PRId32, a->subtracts && !offset ? "-" : "", offset);
        return;
    }
    add(t, ", %s%s", a->subtracts ? "-" : "", registers[a32_rm(t->word)]);
    if (shifted)
        add_shift(t, (uint8_t)arm_bits(t->word, 5, 2), (uint8_t)arm_bits(t->word, 7, 5));
}

static void add_place(struct text *t) {
    struct a32_insn in = a32_classify(t->word);
    struct a32_access a = a32_access_of(t->word, (enum a32_form)in.form);
    bool shifted = in.form == A32_SINGLE;
    if (t->insn->operand == OPERAND_PC_MEMORY) {
        add(t, "%" PRIx64, t->insn->target);
        return;
    }
    add(t, "[%s%s", registers[a.base], a.after ? "]" : "");
    add_index(t, &a, shifted);
    add(t, "%s", a.after ? "" : a.before ? "]!" : "]");
}

static void add_list(struct text *t) {
    const char *comma = "";
    add(t, "{");
    for (unsigned reg = 0; reg < 16; reg++) {
        if (!(t->word >> reg & 1))
            continue;
        add(t, "%s%s", comma, registers[reg]);
        comma = ", ";
    }
    add(t, "}");
}

/* FIELD and the bit that makes it five: the lowest of single precision, the highest of double. */
static unsigned vector_number(uint32_t word, unsigned field, unsigned extra, bool wide) {
    uint32_t four = arm_bits(word, field, 4), one = arm_bits(word, extra, 1);
    return wide ? one << 4 | four : four << 1 | one;
}

static void add_vector(struct text *t, unsigned field, unsigned extra, bool wide) {
    add(t, "%c%u", wide ? 'd' : 's', vector_number(t->word, field, extra, wide));
}

static void add_vectors(struct text *t) {
    bool wide = arm_bits(t->word, 8, 1);
    unsigned first = vector_number(t->word, 12, 22, wide);
    unsigned count = arm_bits(t->word, 0, 8) >> (wide ? 1 : 0);
    char letter = wide ? 'd' : 's';
    if (count < 2)
        add(t, "{%c%u}", letter, first);
    else
        add(t, "{%c%u-%c%u}", letter, first, letter, first + count - 1);
}

static void add_rotation(struct text *t) {
    unsigned eights = arm_bits(t->word, 10, 2);
    if (eights)
        add(t, ", ror #%u", 8 * eights);
}

static void add_barrier(struct text *t) {
    static const char *const names[16] = {[2] = "oshst",  [3] = "osh",  [6] = "nshst", [7] = "nsh",
                                          [10] = "ishst", [11] = "ish", [14] = "st",   [15] = "sy"};
    unsigned number = arm_bits(t->word, 0, 4);
    if (names[number])
        add(t, "%s", names[number]);
    else
        add(t, "#%u", number);
}

/* Letters for registers. */
static bool add_named(struct text *t, char letter) {
    bool wide = arm_bits(t->word, 8, 1);
    switch (letter) {
    case 'd':
        add_register(t, a32_rd(t->word));
        return true;
    case 't':
        add_register(t, a32_rd(t->word) + 1U);
        return true;
    case 'n':
        add_register(t, a32_rn(t->word));
        return true;
    case 's':
        add_register(t, a32_rs(t->word));
        return true;
    case 'm':
        add_register(t, a32_rm(t->word));
        return true;
    case 'D':
        add_vector(t, 12, 22, wide);
        return true;
    case 'N':
        add_vector(t, 16, 7, wide);
        return true;
    case 'M':
        add_vector(t, 0, 5, wide);
        return true;
    case 'P': /* the register of the other precision … */
        add_vector(t, 12, 22, !wide);
        return true;
    case 'Q': /* … of single precision, as source … */
        add_vector(t, 0, 5, false);
        return true;
    case 'R': /* … and as result */
        add_vector(t, 12, 22, false);
        return true;
    case 'l':
        add_list(t);
        return true;
    case 'L':
        add_vectors(t);
        return true;
    default:
        return false;
    }
}

/* Letters for numbers. */
static bool add_number(struct text *t, char letter) {
    uint32_t w = t->word, low = arm_bits(w, 7, 5), high = arm_bits(w, 16, 5);
    switch (letter) {
    case 'b':
        add(t, "%" PRIx64, t->insn->target);
        return true;
    case 'h':
        add(t, "#%u", arm_bits(w, 16, 4) << 12 | arm_bits(w, 0, 12));
        return true;
    case 'k':
        add(t, "#%u", arm_bits(w, 8, 12) << 4 | arm_bits(w, 0, 4));
        return true;
    case 'v':
        add(t, "#%u", arm_bits(w, 0, 24));
        return true;
    case 'x':
        add(t, "#%u", low);
        return true;
    case 'y':
        add(t, "#%u", high + 1);
        return true;
    case 'z':
        add(t, "#%u", high - low + 1);
        return true;
    case 'u':
        add(t, "#%u", high);
        return true;
    case 'g':
        add_shift(t, arm_bits(w, 6, 1) ? 2 : 0, (uint8_t)low);
        return true;
    default:
        return false;
    }
}

static void add_letter(struct text *t, char letter) {
    switch (letter) {
    case 'c':
        add(t, "%s", conditions[a32_condition(t->word)]);
        return;
    case 'f':
        add(t, "%s", arm_bits(t->word, 20, 1) ? "s" : "");
        return;
    case 'F':
        add(t, "%s", arm_bits(t->word, 8, 1) ? ".f64" : ".f32");
        return;
    case 'w':
        add(t, "%s", arm_bits(t->word, 21, 1) ? "!" : "");
        return;
    case 'o':
        add_operand(t);
        return;
    case 'a':
        add_place(t);
        return;
    case 'r':
        add_rotation(t);
        return;
    case 'q':
        add_barrier(t);
        return;
    default:
        if (!add_named(t, letter))
            add_number(t, letter);
    }
}

size_t a32_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]) {
    struct insn insn;
    out[0] = '\0';
    if (!a32_decode(bytes, room, addr, &insn, NULL)) {
        (void)snprintf(out, FORMAT_BYTES, "(bad)");
        return insn.size;
    }
    struct text t = {.out = out, .word = a32_word(bytes), .insn = &insn};
    const char *p = a32_text_of(t.word);
    if (!p)
        add(&t, ".word 0x%08" PRIx32, t.word);
    for (; p && *p; p++) {
        if (*p != '%')
            add(&t, "%c", *p);
        else
            add_letter(&t, *++p);
    }
    return A32_BYTES;
}
