/*
 * Follows addresses along straight A32 code. No instruction holds an address; it takes two:
 *
 *     ldr r3, literal; add r3, pc, r3          the pc plus a distance from a literal
 *     ldr r3, literal; ldr r3, [pc, r3]        the memory there
 *     movw r3, #low; movt r3, #high            a number: an address in programs that do not move
 *     add ip, pc, #0; add ip, ip, #n; ldr pc, [ip, #low]!      the linker's stubs
 *     ldr ip, literal; add ip, pc, ip; bx ip                   its veneers
 *
 * A register holds a number or, if the pc was added, an address. In trail.known, bit N means that
 * register N is known, bit N + 16 that it is an address. An address plus a number is an address, as
 * of tables.
 */
#include "arch/arm/a32.h"

enum { IS_ADDRESS = 16 };

static bool knows(const struct trail *t, uint8_t reg) {
    return reg < ARM_PC && t->known >> reg & 1;
}
static bool is_address(const struct trail *t, uint8_t reg) {
    return reg < ARM_PC && t->known >> (reg + IS_ADDRESS) & 1;
}

static void forget(struct trail *t, uint32_t registers) {
    registers &= 0xffff;
    t->known &= ~(registers | registers << IS_ADDRESS);
}

static void set(struct trail *t, uint8_t reg, vaddr_t value, bool address) {
    forget(t, UINT32_C(1) << reg);
    if (reg >= ARM_PC)
        return;
    t->at[reg] = value & UINT32_MAX;
    t->known |= UINT32_C(1) << reg;
    if (address)
        t->known |= UINT32_C(1) << (reg + IS_ADDRESS);
}

static bool with_operand(const struct insn *insn, uint8_t operand, vaddr_t target,
                         struct insn *ret) {
    *ret = *insn;
    ret->operand = operand;
    ret->target = target & UINT32_MAX;
    return true;
}

struct value {
    bool known, address;
    vaddr_t at;
};

static struct value value_of(const struct trail *t, const struct insn *insn, uint8_t reg) {
    if (reg == ARM_PC)
        return (struct value){true, true, insn->addr + A32_AHEAD};
    return (struct value){knows(t, reg), is_address(t, reg), knows(t, reg) ? t->at[reg] : 0};
}

/* The result of add, sub or mov with known operands. */
static struct value computed(const struct trail *t, const struct insn *insn, uint32_t word) {
    struct a32_data d = a32_data_of(word);
    struct value none = {0}, first = value_of(t, insn, d.rn), second = {true, false, d.value};
    if (d.form != A32_FORM_IMMEDIATE)
        second = a32_is_plain(&d) ? value_of(t, insn, d.rm) : none;
    if (!d.has_result || !second.known)
        return none;
    if (d.opcode == A32_MOV)
        return second;
    if (!first.known || (first.address && second.address) ||
        (d.opcode != A32_ADD && d.opcode != A32_SUB))
        return none;
    first.at += d.opcode == A32_ADD ? second.at : -second.at;
    first.address |= second.address;
    return first;
}

static bool compute(struct trail *t, const struct insn *insn, uint32_t word, struct insn *ret) {
    struct value v = computed(t, insn, word);
    uint8_t rd = a32_rd(word);
    forget(t, a32_written(word));
    if (!v.known || rd == ARM_PC)
        return false;
    set(t, rd, v.at, v.address);
    return v.address && insn->operand == OPERAND_PLAIN &&
           with_operand(insn, OPERAND_PC_ADDRESS, v.at, ret);
}

static bool set_half(struct trail *t, const struct insn *insn, uint32_t word, struct insn *ret) {
    uint8_t rd = a32_rd(word);
    vaddr_t half = arm_bits(word, 16, 4) << 12 | arm_bits(word, 0, 12);
    bool top = a32_classify(word).form == A32_MOVT, known = knows(t, rd);
    if (!top) {
        set(t, rd, half, false);
        return false;
    }
    vaddr_t value = half << 16 | (t->at[rd] & 0xffff);
    forget(t, UINT32_C(1) << rd);
    if (!known)
        return false;
    set(t, rd, value, false);
    return with_operand(insn, OPERAND_ABSOLUTE, value, ret);
}

/* The address of an access, if its registers are known. */
static struct value place_of(const struct trail *t, const struct insn *insn, uint32_t word,
                             const struct a32_access *a) {
    struct value base = value_of(t, insn, a->base), index = {true, false, 0};
    if (a->indexed) {
        bool plain = !arm_bits(word, 26, 1) || !arm_bits(word, 4, 8);
        index = value_of(t, insn, a32_rm(word));
        index.known &= plain && !a->subtracts && !a->after;
    }
    base.known &= index.known;
    base.address |= index.address;
    base.at += index.at + (vaddr_t)(int64_t)(a->indexed ? 0 : a->offset);
    return base;
}

static bool access(struct trail *t, const struct insn *insn, uint32_t word, struct insn *ret) {
    struct a32_insn in = a32_classify(word);
    struct a32_access a = a32_access_of(word, (enum a32_form)in.form);
    struct value place = place_of(t, insn, word, &a), base = value_of(t, insn, a.base);
    bool constant = in.form == A32_SINGLE && a.load && a.bytes == ARM_WORD && a.base == ARM_PC &&
                    !a.indexed && t->literal;
    forget(t, a32_written(word));
    if (constant && !a32_is_conditional(word))
        set(t, a32_rd(word), a32_word(t->literal), false);
    if (a.moves && !a.indexed && base.known && a.base != ARM_PC && !a32_is_conditional(word))
        set(t, a.base, base.at + (vaddr_t)(int64_t)a.moves, base.address);
    if (!place.known || !place.address || insn->operand != OPERAND_PLAIN)
        return false;
    with_operand(insn, OPERAND_PC_MEMORY, place.at, ret);
    ret->loads = (uint8_t)a32_access_bytes(&a);
    return true;
}

/* The target of a jump, if registers or a literal hold it. */
static bool jumps_to(const struct trail *t, const struct insn *insn, uint32_t word,
                     struct insn *ret) {
    struct value v = {0};
    switch (a32_classify(word).form) {
    case A32_BX:
        v = value_of(t, insn, a32_rm(word));
        break;
    case A32_DATA:
        v = computed(t, insn, word);
        break;
    case A32_SINGLE:
        if (insn->operand == OPERAND_PC_MEMORY && t->literal)
            v = (struct value){true, false, a32_word(t->literal)};
        break;
    default:
        break;
    }
    return v.known &&
           with_operand(insn, v.address ? OPERAND_PC_ADDRESS : OPERAND_ABSOLUTE, v.at, ret);
}

bool a32_follow(struct trail *trail, const struct insn *insn, const uint8_t *bytes,
                struct insn *ret) {
    uint32_t word = a32_word(bytes);
    bool conditional = a32_is_conditional(word);
    if (insn->kind == INSN_JUMP_INDIRECT && !conditional && jumps_to(trail, insn, word, ret))
        return true;
    switch (a32_classify(word).form) {
    case A32_DATA:
        if (!conditional)
            return compute(trail, insn, word, ret);
        break;
    case A32_MOVW:
    case A32_MOVT:
        if (!conditional)
            return set_half(trail, insn, word, ret);
        break;
    case A32_SINGLE:
    case A32_EXTRA:
    case A32_SEVERAL:
    case A32_VECTOR:
        return access(trail, insn, word, ret);
    default:
        break;
    }
    forget(trail, a32_written(word));
    return false;
}
