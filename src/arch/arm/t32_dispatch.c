/*
 * Finds out from the instructions before an indirect jump of T32 how it gets its target. The forms
 * are those of GCC and Clang, and of hand-written code of glibc and OpenSSL:
 *
 *     tbb [pc, ri]; tbh [pc, ri, lsl #1]                             a table behind the jump
 *     adr rb, table; ldr.w rx, [rb, ri, lsl #2]; add rx, rb; bx rx   offsets, with the state's bit
 *     adr rb, table; ldr.w rx, [rb, ri, lsl #2]; add rx, rb; mov pc, rx          offsets
 *     …; add rx, rb; orr.w rx, rx, #1; bx rx                         the same, of GCC's goto *
 *     adr rb, table; ldr.w pc, [rb, ri, lsl #2]                      addresses
 *     add pc, rx                                                     a distance from the pc
 *     adr rb, code; add.w rx, rb, ri, lsl #4; mov pc, rx             the same, as libgcc divides
 *     ldr rx, literal; add rx, pc; bx rx; ldr pc, literal            linkers' stubs: a constant
 *     mov sp, rx; … bx ry; ldr.w sp, [rx, #n]; … bx ry               another stack
 *     bl __gnu_thumb1_case_uqi; .byte …                              t32_inline.c
 */
#include "arch/arm/t32.h"

enum { MOVES = 3 };

struct line { /* the instructions before the jump, nearest first */
    const struct code_bytes *past;
    size_t count;
};

static struct t32 insn_at(const struct line *line, size_t i) {
    return t32_classify(line->past[i].at, line->past[i].size);
}

/* Registers that number I, perhaps a block, may write. */
static uint32_t written_by(const struct line *line, size_t i) {
    struct t32_block block;
    struct t32 in = insn_at(line, i);
    if (!t32_block_at(line->past[i].at, line->past[i].size, &block))
        return t32_written(&in);
    uint32_t written = 0;
    for (uint8_t k = 0; k < block.count; k++)
        written |= t32_written(&block.at[k].in);
    return written;
}

static bool is_block(const struct line *line, size_t i) {
    return insn_at(line, i).row->form == T32_IT;
}

/* The number, from FROM on, of the instruction that wrote REG last; the count if none did, or if a
 * block may have. */
static size_t writer(const struct line *line, size_t from, uint8_t reg) {
    while (from < line->count && !(written_by(line, from) >> reg & 1))
        from++;
    return from < line->count && is_block(line, from) ? line->count : from;
}

/* The register that IN copies; ARM_PC: another instruction. */
static uint8_t copied(const struct t32 *in) {
    uint32_t word = in->word;
    switch (in->row->form) {
    case T32_MOV_HIGH:
        return t32_reg(word, 3);
    case T32_MOVS:
        return t32_low(word, 3);
    case T32_SHIFTED:
        return (word & 0xffeff0f0) == 0xea4f0000 ? t32_rm(word) : ARM_PC;
    case T32_PLAIN: /* uxtb, uxth of the compared register */
        return (word & 0xff80) == 0xb280 && in->size == T32_HALF ? t32_low(word, 3) : ARM_PC;
    default:
        return ARM_PC;
    }
}

/* The address that REG holds behind number FROM; 0: not known. */
static vaddr_t address_in(const struct line *line, size_t from, uint8_t reg) {
    if (reg == ARM_PC)
        return 0;
    size_t i = writer(line, from, reg);
    for (int moves = 0; i < line->count && moves < MOVES; moves++) {
        struct t32 in = insn_at(line, i);
        struct t32_operand operand = t32_operand_of(&in, line->past[i].addr);
        if (operand.kind == OPERAND_PC_ADDRESS)
            return operand.target;
        reg = copied(&in);
        if (reg == ARM_PC)
            return 0;
        i = writer(line, i + 1, reg);
    }
    return 0;
}

/* Is number I a `mov` of a constant? */
static bool is_constant(const struct line *line, size_t i, uint32_t *ret) {
    struct t32 in = insn_at(line, i);
    uint32_t word = in.word;
    if (in.row->form == T32_MOVW)
        *ret = t32_immediate_16(word);
    else if (in.row->form == T32_MOV_8)
        *ret = word & 0xff;
    else if (in.size != T32_HALF && (word & 0xfbef8000) == 0xf04f0000)
        *ret = t32_expand(word);
    else
        return false;
    return true;
}

/* Does IN compare two registers? */
static bool compares_two(const struct t32 *in, uint8_t *ret_reg, uint8_t *ret_other) {
    uint32_t word = in->word;
    if (in->size != T32_HALF && (word & 0xfff0fff0) == 0xebb00f00) {
        *ret_reg = t32_rn(word);
        *ret_other = t32_rm(word);
        return true;
    }
    bool low = in->size == T32_HALF && (word & 0xffc0) == 0x4280;
    bool high = in->size == T32_HALF && (word & 0xff00) == 0x4500;
    *ret_reg = low ? t32_low(word, 0) : t32_high(word);
    *ret_other = low ? t32_low(word, 3) : t32_reg(word, 3);
    return low || high;
}

/* Does number I compare a register with a constant, which may be in another register? */
static bool compares(const struct line *line, size_t i, uint8_t *ret_reg, uint32_t *ret_value) {
    struct t32 in = insn_at(line, i);
    uint32_t word = in.word;
    uint8_t other;
    if (in.size == T32_HALF && (word & 0xf800) == 0x2800) {
        *ret_reg = t32_low(word, 8);
        *ret_value = word & 0xff;
        return true;
    }
    if (in.size != T32_HALF && (word & 0xfbf08f00) == 0xf1b00f00) {
        *ret_reg = t32_rn(word);
        *ret_value = t32_expand(word);
        return true;
    }
    size_t set = compares_two(&in, ret_reg, &other) ? writer(line, i + 1, other) : line->count;
    return set < line->count && is_constant(line, set, ret_value);
}

static bool is_branch(const struct t32 *in, uint32_t *ret_condition) {
    if (in->row->form != T32_B_COND_N && in->row->form != T32_B_COND_W)
        return false;
    *ret_condition = arm_bits(in->word, in->size == T32_HALF ? 8 : 22, 4);
    return true;
}

static bool writes_flags(const struct line *line, size_t i) {
    struct insn in;
    t32_decode(line->past[i].at, line->past[i].size, line->past[i].addr, &in, NULL);
    return in.writes_flags;
}

/* How many values REG can have behind number FROM, by the comparison that guards the jump; 0: no
 * comparison is found.
 *
 *     cmp ri, #last; bhi elsewhere; …        or   cmp ri, #count; bcs elsewhere
 *     movw rx, #last; cmp ri, rx; bhi elsewhere; …
 */
static uint32_t values_of(const struct line *line, size_t from, uint8_t reg) {
    uint32_t condition, value;
    uint32_t guard = 0; /* the condition of a branch that uses the flags as they are here */
    uint8_t compared;
    for (size_t i = from; i < line->count; i++) {
        struct t32 in = insn_at(line, i);
        if (is_branch(&in, &condition) && (condition == ARM_HI || condition == ARM_HS))
            guard = condition;
        if (guard && compares(line, i, &compared, &value) && compared == reg)
            return value + (guard == ARM_HI);
        if (writes_flags(line, i))
            guard = 0;
        if (!(written_by(line, i) >> reg & 1))
            continue;
        reg = copied(&in);
        if (reg == ARM_PC)
            return 0;
    }
    return 0;
}

/* tbb, tbh: entries count halfwords from the pc on. */
static struct dispatch dispatch_of_table(const struct line *line, const struct code_bytes *jump,
                                         const struct t32 *in) {
    vaddr_t pc = jump->addr + T32_PC;
    uint8_t base = t32_rn(in->word);
    struct dispatch d = {.kind = DISPATCH_OFFSETS, .base = pc, .shift = 1};
    d.table = base == ARM_PC ? pc : address_in(line, 0, base);
    d.entry_bytes = (uint8_t)(1U << arm_bits(in->word, 4, 1));
    d.count = values_of(line, 0, t32_rm(in->word));
    if (!d.table)
        d.base = 0;
    return d;
}

/* Does IN load a word from a table of words? */
static bool reads_table(const struct t32 *in) {
    return in->size != T32_HALF && (in->word & 0xfff00ff0) == 0xf8500020;
}

static struct dispatch dispatch_of_load(const struct line *line, size_t from,
                                        const struct t32 *in) {
    struct t32_access a;
    if (!t32_access_of(in, &a))
        return (struct dispatch){.kind = DISPATCH_ANY};
    if (a.base == ARM_PC)
        return (struct dispatch){.kind = DISPATCH_VARIABLE};
    if (!a.indexed)
        return (struct dispatch){.kind = DISPATCH_ANY};
    struct dispatch d = {.kind = DISPATCH_ADDRESSES,
                         .table = address_in(line, from, t32_rn(in->word))};
    if (reads_table(in))
        d.count = values_of(line, from, t32_rm(in->word));
    return d;
}

/* The operands of `add` of two registers; ARM_PC: another instruction. */
static void addends(const struct t32 *in, uint8_t ret[2]) {
    uint32_t word = in->word;
    ret[0] = ret[1] = ARM_PC;
    if (in->row->form == T32_ADD_HIGH) {
        ret[0] = t32_high(word);
        ret[1] = t32_reg(word, 3);
    } else if (in->size == T32_HALF && (word & 0xfe00) == 0x1800) {
        ret[0] = t32_low(word, 3);
        ret[1] = t32_low(word, 6);
    } else if (in->row->form == T32_SHIFTED && (word & 0xffe0f0f0) == 0xeb000000) {
        ret[0] = t32_rn(word);
        ret[1] = t32_rm(word);
    }
}

/* add.w rd, rn, rm, lsl #n: targets at equal distances, for a jump that ignores the state's bit. */
static bool dispatch_of_scaled_sum(const struct line *line, size_t i, struct dispatch *ret) {
    struct t32 add = insn_at(line, i);
    uint32_t shift = arm_bits(add.word, 12, 3) << 2 | arm_bits(add.word, 6, 2);
    if (add.row->form != T32_SHIFTED || (add.word & 0xfff08030) != 0xeb000000 || !shift ||
        shift > 7)
        return false;
    *ret = (struct dispatch){.kind = DISPATCH_COMPUTED,
                             .table = address_in(line, i + 1, t32_rn(add.word)),
                             .entry_bytes = (uint8_t)(1U << shift),
                             .count = values_of(line, i + 1, t32_rm(add.word))};
    return ret->table != 0;
}

/* Number I adds an offset from a table to a base. BIT: the jump uses the state's bit. */
static struct dispatch dispatch_of_sum(const struct line *line, size_t i, bool bit) {
    struct dispatch d = {.kind = DISPATCH_OFFSETS, .entry_bytes = 4, .is_signed = true};
    struct t32 add = insn_at(line, i);
    uint8_t two[2];
    addends(&add, two);
    for (int k = 0; k < 2 && two[0] != ARM_PC && two[1] != ARM_PC; k++) {
        size_t load = writer(line, i + 1, two[k]);
        struct t32 in = {0};
        if (load < line->count)
            in = insn_at(line, load);
        if (load == line->count || !reads_table(&in))
            continue;
        d.table = address_in(line, load + 1, t32_rn(in.word));
        d.count = values_of(line, load + 1, t32_rm(in.word));
        d.base = address_in(line, i + 1, two[1 - k]);
        if (!d.base)
            d.table = 0;
        else if (bit)
            d.base--; /* entries include the bit */
        return d;
    }
    return (struct dispatch){.kind = DISPATCH_ANY};
}

/* Number I adds the pc to REG, which is a constant in linkers' stubs. BIT: the jump uses the
 * state's bit, as in these stubs. */
static struct dispatch dispatch_by_pc(const struct line *line, size_t i, uint8_t reg, bool bit) {
    size_t w = writer(line, i + 1, reg);
    struct t32 in = {0};
    if (w < line->count)
        in = insn_at(line, w);
    bool constant = bit && w < line->count &&
                    (in.row->form == T32_MOVT || t32_operand_of(&in, 0).kind == OPERAND_PC_MEMORY);
    return (struct dispatch){.kind = constant ? DISPATCH_VARIABLE : DISPATCH_ANY};
}

/* orr.w rd, rn, #1 sets the state's bit. */
static bool sets_bit(const struct t32 *in) {
    return in->size != T32_HALF && (in->word & 0xfbf08000) == 0xf0400000 &&
           t32_rn(in->word) != ARM_PC && t32_expand(in->word) == 1;
}

static struct dispatch dispatch_through(const struct line *line, uint8_t reg, bool bit) {
    size_t i = 0;
    for (int moves = 0; moves < MOVES; moves++, i++) {
        i = writer(line, i, reg);
        if (i == line->count)
            break;
        struct t32 in = insn_at(line, i);
        struct t32_operand operand = t32_operand_of(&in, line->past[i].addr);
        if (operand.kind == OPERAND_PC_PAGE)
            return dispatch_by_pc(line, i, reg, bit);
        if (operand.kind != OPERAND_PLAIN || in.row->form == T32_MOVT)
            return (struct dispatch){.kind = DISPATCH_VARIABLE};
        uint8_t two[2];
        struct dispatch d;
        addends(&in, two);
        if (!bit && dispatch_of_scaled_sum(line, i, &d))
            return d;
        if (two[0] != ARM_PC)
            return dispatch_of_sum(line, i, bit);
        struct t32_access a;
        if (t32_access_of(&in, &a))
            return dispatch_of_load(line, i + 1, &in);
        reg = sets_bit(&in) ? t32_rn(in.word) : copied(&in);
        bit &= !sets_bit(&in); /* then entries do not include it */
        if (reg == ARM_PC)
            break;
    }
    return (struct dispatch){.kind = DISPATCH_ANY};
}

/* Does number I switch to another stack? Not if sp comes from a frame pointer, or from a sum with
 * one. */
static bool loads_sp(const struct line *line, size_t i) {
    struct t32 in = insn_at(line, i);
    uint8_t from = copied(&in);
    struct t32_access a;
    if (t32_access_of(&in, &a) && a.load && a.general && a.count == 1 && a.regs[0] == ARM_SP)
        return a.base != ARM_SP && a.base != ARM_FP_T32 && a.base != ARM_FP;
    bool sets = from != ARM_PC && written_by(line, i) >> ARM_SP & 1;
    if (!sets || from == ARM_FP_T32 || from == ARM_FP)
        return false;
    size_t w = writer(line, i + 1, from);
    if (w == line->count)
        return true;
    struct t32 made = insn_at(line, w);
    bool adds = made.row->form == T32_ADD_IMMEDIATE || made.row->form == T32_ADD_PLAIN;
    uint8_t base = adds ? t32_rn(made.word) : ARM_PC;
    return base != ARM_FP_T32 && base != ARM_FP && base != ARM_SP;
}

struct dispatch t32_dispatch(struct code_bytes jump, const struct code_bytes *past, size_t count) {
    struct line line = {past, count};
    struct t32 in = t32_classify(jump.at, jump.size);
    struct t32_block block;
    if (in.kind == INSN_CALL) /* t32_inline.c: the entry's number is in r0 */
        return (struct dispatch){.kind = DISPATCH_OFFSETS, .count = values_of(&line, 0, 0)};
    for (size_t i = 0; i < count; i++) {
        if (loads_sp(&line, i))
            return (struct dispatch){.kind = DISPATCH_STACK};
    }
    if (in.row->form == T32_IT && t32_block_at(jump.at, jump.size, &block)) {
        in = t32_last(&block)->in;
        jump.addr += t32_last(&block)->offset;
        line.count = block.count == 1 ? line.count : 0;
    }
    switch (in.row->form) {
    case T32_TABLE:
        return dispatch_of_table(&line, &jump, &in);
    case T32_BX:
        return dispatch_through(&line, t32_reg(in.word, 3), true);
    case T32_MOV_HIGH:
        return dispatch_through(&line, t32_reg(in.word, 3), false);
    case T32_ADD_HIGH:
        return (struct dispatch){.kind = DISPATCH_COMPUTED, .table = jump.addr + T32_PC};
    default:
        return dispatch_of_load(&line, 0, &in);
    }
}
