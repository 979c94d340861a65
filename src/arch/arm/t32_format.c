/*
 * Instructions as text, in the syntax of objdump and gdb, with addresses in place of distances:
 * what compilers emit, but for vectors. Others are shown as the words that they are. A block is
 * shown as all its instructions.
 */
#include <inttypes.h>
#include <stdio.h>

#include "arch/arm/t32.h"
#include "arch/arm/t32_texts.h"

static const char *const conditions[16] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc",
                                           "hi", "ls", "ge", "lt", "gt", "le", "",   ""};

struct text {
    char *out;
    size_t used;
    const struct t32 *in;
    vaddr_t addr;
    uint32_t condition; /* of the block that it stands in; ARM_ALWAYS: in none */
};

static void put_char(struct text *t, char c) {
    if (t->used + 1 < FORMAT_BYTES)
        t->out[t->used++] = c;
    t->out[t->used] = 0;
}
static void put_string(struct text *t, const char *s) {
    for (; *s; s++)
        put_char(t, *s);
}
static void put_hex(struct text *t, uint64_t value, int digits) {
    char number[32];
    (void)snprintf(number, sizeof number, "%0*" PRIx64, digits, value);
    put_string(t, number);
}
static void put_decimal(struct text *t, int64_t value) {
    char number[32];
    (void)snprintf(number, sizeof number, "%" PRId64, value);
    put_string(t, number);
}

static void put_register(struct text *t, uint8_t reg) {
    static const char *const names[16] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
                                          "r8", "r9", "sl", "fp", "ip", "sp", "lr", "pc"};
    put_string(t, names[reg]);
}

static void put_list(struct text *t) {
    struct t32_access a = {0};
    t32_access_of(t->in, &a);
    put_char(t, '{');
    for (uint8_t i = 0; i < a.count; i++) {
        if (i)
            put_string(t, ", ");
        put_register(t, a.regs[i]);
    }
    put_char(t, '}');
}

/* A part of four bytes, or of eight: four bits at LOW and one at BIT, which comes first or last. */
static void put_vector(struct text *t, unsigned low, unsigned bit, bool wide) {
    uint32_t reg = arm_bits(t->in->word, low, 4), more = arm_bits(t->in->word, bit, 1);
    put_char(t, wide ? 'd' : 's');
    put_decimal(t, wide ? more << 4 | reg : reg << 1 | more);
}

static void put_vectors(struct text *t) {
    uint32_t word = t->in->word, bytes = arm_bits(word, 0, 8);
    bool wide = arm_bits(word, 8, 1);
    uint32_t first = wide ? arm_bits(word, 22, 1) << 4 | t32_rt(word)
                          : (uint32_t)t32_rt(word) << 1 | arm_bits(word, 22, 1);
    uint32_t count = wide ? bytes / 2 : bytes;
    put_char(t, '{');
    put_vector(t, 12, 22, wide);
    if (count > 1) {
        put_char(t, '-');
        put_char(t, wide ? 'd' : 's');
        put_decimal(t, first + count - 1);
    }
    put_char(t, '}');
}

/* [base, #n], [base, #n]!, [base], #n or [base, index, lsl #n] */
static void put_place(struct text *t) {
    struct t32_access a = {0};
    uint32_t shift = arm_bits(t->in->word, 4, 2);
    t32_access_of(t->in, &a);
    bool after = a.adds && !a.offset && a.step;
    put_char(t, '[');
    put_register(t, a.base);
    if (a.indexed) {
        put_string(t, ", ");
        put_register(t, t32_rm(t->in->word));
        if (shift) {
            put_string(t, ", lsl #");
            put_decimal(t, shift);
        }
    } else if (!after && (a.offset || a.adds)) {
        put_string(t, ", #");
        put_decimal(t, a.offset);
    }
    put_string(t, a.adds && !after ? "]!" : "]");
    if (after) {
        put_string(t, ", #");
        put_decimal(t, a.step);
    }
}

static uint32_t shift_bits(uint32_t word) {
    return arm_bits(word, 12, 3) << 2 | arm_bits(word, 6, 2);
}

static void put_shift(struct text *t) {
    static const char *const names[] = {"lsl", "lsr", "asr", "ror"};
    uint32_t word = t->in->word, by = shift_bits(word);
    bool saturates = word >> 25 != 0x75; /* one bit tells how: lsl or asr */
    uint32_t how = saturates ? arm_bits(word, 21, 1) * 2 : arm_bits(word, 4, 2);
    if (!by && how == 0)
        return;
    if (!by && how == 3 && !saturates) {
        put_string(t, ", rrx");
        return;
    }
    put_string(t, ", ");
    put_string(t, names[how]);
    put_string(t, " #");
    put_decimal(t, by ? by : 32);
}

static void put_rotation(struct text *t) {
    uint32_t by = arm_bits(t->in->word, 4, 2) * 8;
    if (by) {
        put_string(t, ", ror #");
        put_decimal(t, by);
    }
}

static void put_target(struct text *t) { put_hex(t, t32_operand_of(t->in, t->addr).target, 1); }

static void put_named(struct text *t, char what) {
    uint32_t word = t->in->word;
    bool wide = arm_bits(word, 8, 1);
    switch (what) {
    case 'a':
        put_register(t, t32_low(word, 0));
        return;
    case 'b':
        put_register(t, t32_low(word, 3));
        return;
    case 'c':
        put_register(t, t32_low(word, 6));
        return;
    case 'e':
        put_register(t, t32_low(word, 8));
        return;
    case 'H':
        put_register(t, t32_high(word));
        return;
    case 'M':
        put_register(t, t32_reg(word, 3));
        return;
    case 'N':
        put_register(t, t32_rn(word));
        return;
    case 'T':
        put_register(t, t32_rt(word));
        return;
    case 'D':
        put_register(t, t32_rd(word));
        return;
    case 'R':
        put_register(t, t32_rm(word));
        return;
    case 'x':
        put_vector(t, 12, 22, wide);
        return;
    case 'y':
        put_vector(t, 16, 7, wide);
        return;
    case 'v':
        put_vector(t, 0, 5, wide);
        return;
    case 'k':
    case 'K':
        put_vector(t, 12, 22, what == 'K');
        return;
    case 'n':
    case 'O':
        put_vector(t, 0, 5, what == 'O');
        return;
    default:
        put_vector(t, 16, 7, false);
    }
}

/* Numbers of all kinds. */
static int64_t number_of(const struct t32 *in, char what) {
    uint32_t word = in->word;
    switch (what) {
    case '3':
        return arm_bits(word, 6, 3);
    case '5':
        return arm_bits(word, 6, 5);
    case 'z':
        return arm_bits(word, 6, 5) ? arm_bits(word, 6, 5) : 32;
    case '8':
        return arm_bits(word, 0, 8);
    case '4':
        return (int64_t)arm_bits(word, 0, 8) * 4;
    case '7':
        return (int64_t)arm_bits(word, 0, 7) * 4;
    case 'i':
        return t32_expand(word);
    case 'w':
        return t32_immediate_16(word);
    case 'p':
        return t32_immediate_16(word) & 0xfff;
    case 'l':
        return shift_bits(word);
    case 'W':
    case 't':
        return (int64_t)arm_bits(word, 0, 5) + 1;
    case 'V':
        return (int64_t)arm_bits(word, 0, 5) - shift_bits(word) + 1;
    default: /* u */
        return arm_bits(word, 0, 5);
    }
}

static bool is_one_of(char c, const char *all) { return strchr(all, c) != NULL; }

static void put_operand(struct text *t, char what) {
    struct t32_access a;
    if (what == 'L')
        put_list(t);
    else if (what == 'X')
        put_vectors(t);
    else if (what == 'm')
        put_place(t);
    else if (what == 'h')
        put_shift(t);
    else if (what == 'j')
        put_target(t);
    else if (what == '!')
        put_string(t, t32_access_of(t->in, &a) && a.adds ? "!" : "");
    else if (what == 'r')
        put_rotation(t);
    else if (is_one_of(what, "abceHMNTDRxyvgkKnO"))
        put_named(t, what);
    else
        put_decimal(t, number_of(t->in, what));
}

/* Of its own, or that of the block. */
static uint32_t condition_of(const struct text *t) {
    if (t->in->row->form == T32_B_COND_N)
        return arm_bits(t->in->word, 8, 4);
    return t->in->row->form == T32_B_COND_W ? arm_bits(t->in->word, 22, 4) : t->condition;
}

/* Branches that have both sizes say which. */
static const char *size_of(const struct t32 *in) {
    uint8_t form = in->row->form;
    if (form == T32_B_N || form == T32_B_COND_N)
        return ".n";
    return form == T32_B_COND_W ? ".w" : "";
}

static void put_name(struct text *t, const char *name) {
    const char *condition = conditions[condition_of(t)];
    bool in_block = t->condition != ARM_ALWAYS, done = false;
    for (; *name; name++) {
        if (*name == '.' && !done) {
            put_string(t, condition);
            done = true;
        }
        if (*name == '*')
            put_string(t, in_block ? "" : "s");
        else if (*name == '^')
            put_string(t, arm_bits(t->in->word, 20, 1) ? "s" : "");
        else if (*name == '?')
            put_string(t, arm_bits(t->in->word, 8, 1) ? "64" : "32");
        else
            put_char(t, *name);
    }
    if (!done)
        put_string(t, condition);
    put_string(t, size_of(t->in));
}

static void print(struct text *t) {
    const struct t32 *in = t->in;
    const bool narrow = in->size == T32_HALF;
    const struct t32_text *row = narrow ? t32_narrow_texts : t32_wide_texts;
    while ((in->word & row->mask) != row->value)
        row++;
    if (!row->name || in->kind == INSN_FIXED) {
        put_string(t, narrow ? ".short 0x" : ".word 0x");
        put_hex(t, in->word, narrow ? 4 : 8);
        return;
    }
    put_name(t, row->name);
    if (*row->operands)
        put_char(t, ' ');
    for (const char *c = row->operands; *c; c++) {
        if (*c == '%')
            put_operand(t, *++c);
        else
            put_char(t, *c);
    }
}

static void print_block(struct text *t, const struct t32_block *block) {
    put_string(t, "it");
    for (uint8_t i = 1; i < block->count; i++)
        put_char(t, block->at[i].condition == block->at[0].condition ? 't' : 'e');
    put_char(t, ' ');
    put_string(t, conditions[block->at[0].condition]);
    for (uint8_t i = 0; i < block->count; i++) {
        put_string(t, "; ");
        t->in = &block->at[i].in;
        t->condition = block->at[i].condition;
        struct text member = *t;
        member.addr = t->addr + block->at[i].offset;
        print(&member);
        t->used = member.used;
    }
}

size_t t32_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]) {
    struct insn insn;
    struct t32_block block;
    if (!t32_decode(bytes, room, addr, &insn, NULL)) {
        (void)snprintf(out, FORMAT_BYTES, "(bad)");
        return insn.size;
    }
    struct t32 in = t32_classify(bytes, insn.size);
    struct text t = {.out = out, .in = &in, .addr = addr, .condition = ARM_ALWAYS};
    out[0] = 0;
    if (t32_block_at(bytes, insn.size, &block))
        print_block(&t, &block);
    else
        print(&t);
    return insn.size;
}
