/*
 * Finds out from the instructions before an indirect jump of A32 how it gets its target. The forms
 * are those of GCC and Clang, and of hand-written code of glibc:
 *
 *     cmp r3, #last; ldrls pc, [pc, r3, lsl #2]; b default; addresses …         GCC, fixed
 *     cmp r3, #last; addls pc, pc, r3, lsl #2; b default; b first; …            GCC, moving
 *     adr r1, table; ldr r0, [r1, r0, lsl #2]; add pc, r0, r1                   Clang, moving
 *     adr r1, table; ldr pc, [r1, r0, lsl #2]                                   Clang, fixed
 *     add pc, pc, r3                                                            memcpy
 *     mov lr, pc; bx r3                                                         a call, of Armv4
 *     mov sp, r3; … bx r4                                                       another stack
 */
#include "arch/arm/a32.h"

enum { MOVES = 3, NONE = ARM_PC };

struct line { /* the instructions before the jump, nearest first */
    const struct code_bytes *past;
    size_t count;
};

static uint32_t word_at(const struct line *line, size_t i) { return a32_word(line->past[i].at); }
static uint8_t form_at(const struct line *line, size_t i) {
    return a32_classify(word_at(line, i)).form;
}

/* The number, from FROM on, of the instruction that wrote REG last; the count if none did. */
static size_t writer(const struct line *line, size_t from, uint8_t reg) {
    if (reg >= ARM_PC)
        return line->count;
    while (from < line->count && !(a32_written(word_at(line, from)) >> reg & 1))
        from++;
    return from;
}

/* The register that WORD copies or shifts left; NONE: another instruction. */
static uint8_t copied(uint32_t word) {
    if (a32_classify(word).form != A32_DATA)
        return NONE;
    struct a32_data d = a32_data_of(word);
    bool shifts = d.form == A32_FORM_SHIFTED && !d.shift;
    return d.opcode == A32_MOV && shifts ? d.rm : NONE;
}

/* The constant of movw or movt. */
static uint32_t half_of(uint32_t word) {
    return arm_bits(word, 16, 4) << 12 | arm_bits(word, 0, 12);
}

/* The number that movw and movt make; movt is number I. 0: there is no movw. */
static vaddr_t absolute(const struct line *line, size_t i) {
    uint32_t word = word_at(line, i);
    size_t k = form_at(line, i) == A32_MOVT ? writer(line, i + 1, a32_rd(word)) : line->count;
    if (k == line->count || form_at(line, k) != A32_MOVW)
        return 0;
    return half_of(word) << 16 | half_of(word_at(line, k));
}

/* The address that REG holds behind number FROM, by adr and constants added to it; 0: not known. */
static vaddr_t address_in(const struct line *line, size_t from, uint8_t reg) {
    vaddr_t sum = 0;
    size_t i = writer(line, from, reg);
    for (int moves = 0; i < line->count && moves < MOVES; moves++) {
        uint32_t word = word_at(line, i);
        struct a32_data d = a32_data_of(word);
        if (a32_is_conditional(word))
            return 0;
        if (form_at(line, i) == A32_MOVT)
            return absolute(line, i) + sum;
        bool adds = d.opcode == A32_ADD || d.opcode == A32_SUB;
        if (form_at(line, i) != A32_DATA || d.form != A32_FORM_IMMEDIATE || !adds)
            return 0;
        sum += d.opcode == A32_ADD ? d.value : -(vaddr_t)d.value;
        if (d.rn == ARM_PC)
            return (line->past[i].addr + A32_AHEAD + sum) & UINT32_MAX;
        i = writer(line, i + 1, d.rn);
    }
    return 0;
}

/* Does number I compare REG with a constant, which may be in another register? */
static bool compares(const struct line *line, size_t i, uint8_t reg, uint32_t *ret_value) {
    uint32_t word = word_at(line, i);
    if ((word & 0xfff0f000) == 0xe3500000) {
        *ret_value = a32_data_of(word).value;
        return a32_rn(word) == reg;
    }
    size_t set =
        (word & 0xfff0fff0) == 0xe1500000 ? writer(line, i + 1, a32_rm(word)) : line->count;
    if (set == line->count || a32_rn(word) != reg)
        return false;
    uint32_t made = word_at(line, set);
    *ret_value = form_at(line, set) == A32_MOVW ? half_of(made) : a32_data_of(made).value;
    return (made & 0xfff00000) == 0xe3000000 || (made & 0xffff0000) == 0xe3a00000;
}

/* How many values REG can have behind number FROM, by the comparison that guards the jump; 0: no
 * comparison is found. CONDITION is the jump's own; ARM_ALWAYS: a branch before it has the
 * condition.
 *
 *     cmp ri, #last; bhi elsewhere; …        or   cmp ri, #count; bhs elsewhere
 *     movw rx, #last; cmp ri, rx; bhi elsewhere; …
 */
static uint32_t values_of(const struct line *line, size_t from, uint8_t reg, uint32_t condition) {
    bool guarded = condition == ARM_LS || condition == ARM_LO;
    bool last = condition == ARM_LS; /* the number is the last value, not the count */
    uint32_t value;
    for (size_t i = from; i < line->count; i++) {
        uint32_t word = word_at(line, i);
        uint32_t here = a32_condition(word);
        bool branch = (word & 0x0f000000) == 0x0a000000;
        if (branch && (here == ARM_HI || here == ARM_HS)) {
            guarded = true;
            last = here == ARM_HI;
            continue;
        }
        if (guarded && compares(line, i, reg, &value))
            return value + last;
        struct a32_insn in = a32_classify(word);
        if (a32_flags_changed(word, &in))
            guarded = false;
        if (!(a32_written(word) >> reg & 1))
            continue;
        reg = copied(word);
        if (reg == NONE || a32_is_conditional(word))
            return 0;
    }
    return 0;
}

/* ldr, ldrh, ldrb and the like of rd, [rn, rm]: number I of the line. */
static bool reads_entry(const struct line *line, size_t i, struct a32_access *ret) {
    uint8_t form = i < line->count ? form_at(line, i) : A32_OTHER;
    if (form != A32_SINGLE && form != A32_EXTRA)
        return false;
    *ret = a32_access_of(word_at(line, i), (enum a32_form)form);
    bool two = form == A32_EXTRA && ret->bytes == ARM_WORD;
    return ret->load && ret->indexed && !ret->subtracts && !ret->before && !ret->after && !two;
}

/* If REG behind number FROM was loaded from a table: the table and its form. */
static bool read_entry(const struct line *line, size_t from, uint8_t reg, uint32_t condition,
                       struct dispatch *ret) {
    struct a32_access a;
    size_t i = writer(line, from, reg);
    if (!reads_entry(line, i, &a))
        return false;
    uint32_t word = word_at(line, i);
    uint8_t base = a.base, index = a32_rm(word);
    bool sign = form_at(line, i) == A32_EXTRA && arm_bits(word, 6, 1);
    vaddr_t table = address_in(line, i + 1, base);
    bool plain = form_at(line, i) == A32_EXTRA || !arm_bits(word, 4, 8);
    if (!table && plain) { /* base and index may be exchanged */
        table = address_in(line, i + 1, index);
        index = table ? base : index;
    }
    ret->table = table;
    ret->entry_bytes = (uint8_t)a.bytes;
    ret->is_signed = sign || a.bytes == ARM_WORD;
    ret->count = values_of(line, i + 1, index, condition);
    return true;
}

/* Was REG loaded from a literal? */
static bool is_literal(const struct line *line, size_t from, uint8_t reg) {
    size_t i = writer(line, from, reg);
    if (i == line->count || form_at(line, i) != A32_SINGLE)
        return false;
    struct a32_access a = a32_access_of(word_at(line, i), A32_SINGLE);
    return a.base == ARM_PC && !a.indexed;
}

/* Does REG hold an address made by `adr`? Tables at such addresses are in the code. */
static bool is_in_code(const struct line *line, size_t from, uint8_t reg) {
    size_t i = writer(line, from, reg);
    struct insn in = {.operand = OPERAND_PLAIN};
    if (i < line->count)
        a32_decode(line->past[i].at, line->past[i].size, line->past[i].addr, &in, NULL);
    return in.operand == OPERAND_PC_ADDRESS;
}

/* A sum of two registers, WORD at ADDR; number I of the line is the instruction before it. */
static struct dispatch dispatch_of_sum(const struct line *line, size_t i, uint32_t word,
                                       vaddr_t addr) {
    struct a32_data d = a32_data_of(word);
    uint32_t condition = a32_condition(word);
    struct dispatch how = {.kind = DISPATCH_OFFSETS, .shift = d.amount};
    if (d.form != A32_FORM_SHIFTED || d.shift || d.opcode != A32_ADD)
        return (struct dispatch){.kind = DISPATCH_ANY};
    uint8_t base = d.rn, offset = d.rm;
    if (offset == ARM_PC && !d.amount) {
        offset = base;
        base = ARM_PC;
    }
    /* A register that the condition guards is a number, not an offset. */
    bool number = condition == ARM_LS || condition == ARM_LO;
    if (base == ARM_PC && !number && is_literal(line, i, offset))
        return (struct dispatch){.kind = DISPATCH_ANY}; /* one constant target */
    bool found = !number && read_entry(line, i, offset, condition, &how);
    if (!found && base == ARM_PC)
        return (struct dispatch){.kind = DISPATCH_COMPUTED,
                                 .table = addr + A32_AHEAD,
                                 .entry_bytes = (uint8_t)(1U << (d.amount & 7)),
                                 .count = values_of(line, i, offset, condition)};
    if (!found && !d.amount && read_entry(line, i, base, condition, &how)) {
        found = true;
        base = offset;
    }
    if (!found)
        return (struct dispatch){.kind = DISPATCH_ANY};
    how.base = base == ARM_PC ? addr + A32_AHEAD : address_in(line, i, base);
    if (!how.base)
        how.table = 0;
    return how;
}

/* A load, WORD at ADDR, of the pc or of the jump's register; number I of the line is before it. */
static struct dispatch dispatch_of_load(const struct line *line, size_t i, uint32_t word,
                                        vaddr_t addr) {
    struct a32_access a = a32_access_of(word, A32_SINGLE);
    bool before_pc = a.base == ARM_PC;
    if (!a.indexed) {
        bool variable = before_pc || address_in(line, i, a.base);
        return (struct dispatch){.kind = variable ? DISPATCH_VARIABLE : DISPATCH_ANY};
    }
    uint32_t count = values_of(line, i, a32_rm(word), a32_condition(word));
    if (before_pc && arm_bits(word, 4, 8)) /* a table in the code, behind the jump: a switch */
        return (struct dispatch){.kind = DISPATCH_OFFSETS,
                                 .table = addr + A32_AHEAD,
                                 .entry_bytes = ARM_WORD,
                                 .count = count};
    if (before_pc)
        return (struct dispatch){.kind = DISPATCH_VARIABLE}; /* its distance is a literal */
    bool switches = is_in_code(line, i, a.base);
    return (struct dispatch){.kind = switches ? DISPATCH_OFFSETS : DISPATCH_ADDRESSES,
                             .table = address_in(line, i, a.base),
                             .entry_bytes = ARM_WORD,
                             .count = count};
}

static struct dispatch dispatch_through(const struct line *line, uint8_t reg) {
    size_t i = 0;
    for (int moves = 0; moves < MOVES; moves++, i++) {
        i = writer(line, i, reg);
        if (i == line->count)
            break;
        uint32_t word = word_at(line, i);
        uint8_t form = form_at(line, i);
        if (form == A32_SINGLE && a32_access_of(word, A32_SINGLE).load)
            return dispatch_of_load(line, i + 1, word, line->past[i].addr);
        if (form != A32_DATA)
            break;
        struct a32_data d = a32_data_of(word);
        if (d.opcode == A32_ADD && d.form == A32_FORM_SHIFTED)
            return dispatch_of_sum(line, i + 1, word, line->past[i].addr);
        if (d.opcode != A32_MOV || !a32_is_plain(&d))
            break;
        reg = d.rm;
    }
    return (struct dispatch){.kind = DISPATCH_ANY};
}

/* Does WORD switch to another stack? Not if it leaves a frame by sub or mov from a frame pointer.
 */
static bool loads_sp(uint32_t word) {
    struct a32_insn in = a32_classify(word);
    if (in.form == A32_DATA) {
        struct a32_data d = a32_data_of(word);
        bool result = d.has_result && d.rd == ARM_SP && d.form != A32_FORM_IMMEDIATE;
        bool frame = d.opcode == A32_MOV && (d.rm == ARM_FP || d.rm == ARM_FP_T32);
        bool moved = d.opcode == A32_ADD && d.rn == ARM_SP; /* eh_return, or a large frame */
        return result && !frame && (d.opcode == A32_MOV || moved);
    }
    if (in.form != A32_SINGLE && in.form != A32_SEVERAL)
        return false;
    struct a32_access a = a32_access_of(word, (enum a32_form)in.form);
    return a.load && a.list >> ARM_SP & 1 && a.base != ARM_SP && a.base != ARM_FP;
}

/* Is the instruction before the jump a mov or add that puts the jump's return address into lr? */
static bool makes_return_address(const struct line *line) {
    if (!line->count || form_at(line, 0) != A32_DATA)
        return false;
    struct insn in;
    a32_decode(line->past[0].at, line->past[0].size, line->past[0].addr, &in, NULL);
    return in.operand == OPERAND_PC_ADDRESS && a32_rd(word_at(line, 0)) == ARM_LR &&
           in.target == in.addr + A32_AHEAD;
}

struct dispatch a32_dispatch(struct code_bytes jump, const struct code_bytes *past, size_t count) {
    struct line line = {past, count};
    struct dispatch any = {.kind = DISPATCH_ANY};
    uint32_t word = a32_word(jump.at);
    uint8_t form = a32_classify(word).form;
    if (makes_return_address(&line))
        return (struct dispatch){.kind = DISPATCH_CALL};
    bool other_stack = form == A32_SEVERAL && loads_sp(word);
    for (size_t i = 0; i < count; i++)
        other_stack |= loads_sp(word_at(&line, i));
    if (other_stack)
        return (struct dispatch){.kind = DISPATCH_STACK};
    if (form == A32_BX)
        return dispatch_through(&line, a32_rm(word));
    if (form == A32_SINGLE)
        return dispatch_of_load(&line, 0, word, jump.addr);
    if (form != A32_DATA)
        return any;
    struct a32_data d = a32_data_of(word);
    if (d.opcode == A32_MOV && a32_is_plain(&d))
        return dispatch_through(&line, d.rm);
    return dispatch_of_sum(&line, 0, word, jump.addr);
}
