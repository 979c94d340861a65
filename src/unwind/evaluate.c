/* Computes the values of rules. Of DWARF's expressions (DWARF 5, 2.5.1) it knows what call-frame
 * information uses in practice: the linker's PLT, the C libraries' signal return code, hand-written
 * assembly. All other operations give no value. */
#include <dwarf.h>
#include <string.h>

#include "unwind/rows.h"

static uint64_t narrow(const struct machine *m, uint64_t value) {
    return m->word == sizeof value ? value : (uint32_t)value;
}

/* Little-endian, as the host is. */
bool machine_read(struct machine *m, taddr_t addr, uint64_t *ret) {
    addr = narrow(m, addr);
    for (size_t i = 0; i < m->piece_count; i++) {
        const struct unwind_piece *p = &m->pieces[i];
        uint64_t offset = addr - p->at;
        if (offset < p->size && p->size - offset >= m->word) {
            *ret = 0;
            memcpy(ret, p->bytes + offset, m->word);
            return true;
        }
    }
    m->missed = true;
    m->missed_at = addr;
    return false;
}

bool machine_register(struct machine *m, uint64_t number, uint64_t *ret) {
    if (number >= m->count)
        return false;
    if (!(m->known >> number & 1)) {
        m->missing_registers |= (uint64_t)1 << number;
        return false;
    }
    *ret = m->registers[number];
    return true;
}

enum { DEPTH = 16 };
struct values {
    uint64_t at[DEPTH];
    unsigned count;
};

static bool push(struct values *v, uint64_t value) {
    if (v->count == DEPTH)
        return false;
    v->at[v->count++] = value;
    return true;
}

static bool push_register(struct machine *m, uint64_t number, uint64_t offset, struct values *v) {
    uint64_t value;
    return machine_register(m, number, &value) && push(v, value + offset);
}

/* Operations that take no operand from the stack of values. *RET_IS: OP is one of them. */
static bool push_plain(struct machine *m, const Dwarf_Op *op, taddr_t cfa, struct values *v,
                       bool *ret_is) {
    *ret_is = true;
    if (op->atom == DW_OP_call_frame_cfa)
        return push(v, cfa);
    if (op->atom == DW_OP_bregx)
        return push_register(m, op->number, op->number2, v);
    if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
        return push_register(m, op->atom - (unsigned)DW_OP_breg0, op->number, v);
    if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
        return push(v, op->atom - (unsigned)DW_OP_lit0);
    if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)
        return push(v, op->number);
    *ret_is = false;
    return true;
}

/* Operations that replace the topmost value. *RET_IS: OP is one of them. */
static bool change_one(struct machine *m, const Dwarf_Op *op, uint64_t *top, bool *ret_is) {
    *ret_is = true;
    switch (op->atom) {
    case DW_OP_deref:
        return machine_read(m, *top, top);
    case DW_OP_plus_uconst:
        *top += op->number;
        return true;
    case DW_OP_neg:
        *top = -*top;
        return true;
    case DW_OP_not:
        *top = ~*top;
        return true;
    case DW_OP_nop:
        return true;
    default:
        *ret_is = false;
        return true;
    }
}

static bool compute(unsigned atom, uint64_t a, uint64_t b, uint64_t *ret) {
    switch (atom) {
    case DW_OP_plus:
        *ret = a + b;
        return true;
    case DW_OP_minus:
        *ret = a - b;
        return true;
    case DW_OP_mul:
        *ret = a * b;
        return true;
    case DW_OP_and:
        *ret = a & b;
        return true;
    case DW_OP_or:
        *ret = a | b;
        return true;
    case DW_OP_xor:
        *ret = a ^ b;
        return true;
    case DW_OP_shl:
        *ret = b < 64 ? a << b : 0;
        return true;
    case DW_OP_shr:
        *ret = b < 64 ? a >> b : 0;
        return true;
    case DW_OP_eq:
        *ret = a == b;
        return true;
    case DW_OP_ne:
        *ret = a != b;
        return true;
    case DW_OP_ge:
        *ret = (int64_t)a >= (int64_t)b;
        return true;
    case DW_OP_gt:
        *ret = (int64_t)a > (int64_t)b;
        return true;
    case DW_OP_le:
        *ret = (int64_t)a <= (int64_t)b;
        return true;
    case DW_OP_lt:
        *ret = (int64_t)a < (int64_t)b;
        return true;
    default:
        return false;
    }
}

static bool rearrange(unsigned atom, struct values *v) {
    uint64_t top = v->at[v->count - 1];
    if (atom == DW_OP_dup)
        return push(v, top);
    if (atom == DW_OP_drop)
        return --v->count > 0;
    if (v->count < 2)
        return false;
    if (atom == DW_OP_over)
        return push(v, v->at[v->count - 2]);
    if (atom == DW_OP_swap) {
        v->at[v->count - 1] = v->at[v->count - 2];
        v->at[v->count - 2] = top;
        return true;
    }
    v->count--;
    return compute(atom, v->at[v->count - 1], top, &v->at[v->count - 1]);
}

static bool run(struct machine *m, const struct rule *rule, taddr_t cfa, uint64_t *ret) {
    struct values v = {.count = 0};
    for (uint32_t i = 0; i < rule->op_count; i++) {
        const Dwarf_Op *op = &rule->ops[i];
        bool done;
        if (op->atom == DW_OP_stack_value)
            break;
        if (!push_plain(m, op, cfa, &v, &done))
            return false;
        if (done)
            continue;
        if (!v.count || !change_one(m, op, &v.at[v.count - 1], &done))
            return false;
        if (!done && !rearrange(op->atom, &v))
            return false;
    }
    *ret = v.count ? v.at[v.count - 1] : 0;
    return v.count > 0;
}

static bool apply(struct machine *m, const struct rule *rule, taddr_t cfa, uint64_t *ret) {
    uint64_t at;
    switch (rule->kind) {
    case RULE_AT:
        return machine_read(m, cfa + (uint64_t)rule->offset, ret);
    case RULE_VALUE:
        *ret = cfa + (uint64_t)rule->offset;
        return true;
    case RULE_REGISTER:
        if (!machine_register(m, rule->reg, &at))
            return false;
        *ret = at + (uint64_t)rule->offset;
        return true;
    case RULE_EXPRESSION:
        return run(m, rule, cfa, &at) && machine_read(m, at, ret);
    case RULE_EXPRESSION_VALUE:
        return run(m, rule, cfa, ret);
    default:
        return false;
    }
}

bool rule_apply(struct machine *m, const struct rule *rule, taddr_t cfa, uint64_t *ret) {
    uint64_t value;
    if (!apply(m, rule, cfa, &value))
        return false;
    *ret = narrow(m, value);
    return true;
}
