/* Reads rows from libdw. See rows.h. */
#include "unwind/rows.h"

#include <dwarf.h>
#include <stdlib.h>

/* libdw gives a CFA of the form register + offset as one operation. */
static bool read_cfa(Dwarf_Frame *frame, struct rule *ret) {
    Dwarf_Op *ops;
    size_t count;
    if (dwarf_frame_cfa(frame, &ops, &count) < 0 || !count || count > UINT32_MAX)
        return false;
    if (count == 1 && ops[0].atom == DW_OP_bregx) {
        *ret = (struct rule){.kind = RULE_REGISTER,
                             .reg = (uint8_t)ops[0].number,
                             .offset = (int64_t)ops[0].number2};
        return ops[0].number < REGISTERS_MOST;
    }
    *ret = (struct rule){.kind = RULE_EXPRESSION_VALUE, .ops = ops, .op_count = (uint32_t)count};
    return true;
}

/* True if OPS, which begin with the CFA, are "CFA + n", perhaps as a value. */
static bool read_offset(const Dwarf_Op *ops, size_t count, struct rule *ret) {
    size_t at = 1;
    *ret = (struct rule){.kind = RULE_AT};
    if (at < count && ops[at].atom == DW_OP_plus_uconst)
        ret->offset = (int64_t)ops[at++].number;
    if (at < count && ops[at].atom == DW_OP_stack_value) {
        ret->kind = RULE_VALUE;
        at++;
    }
    return at == count;
}

static bool is_register(const Dwarf_Op *op, uint64_t *ret) {
    *ret = op->atom == DW_OP_regx ? op->number : (uint64_t)op->atom - DW_OP_reg0;
    return op->atom == DW_OP_regx || (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31);
}

/* libdw reports registers without a rule as undefined, rbx among them, which callees save. GCC's
 * own unwinder treats them as unchanged. That is right where it matters: a frame without caller has
 * a rule for the return address that says so. */
static bool read_register(Dwarf_Frame *frame, int number, bool is_return, struct rule *ret) {
    Dwarf_Op room[3], *ops;
    size_t count;
    uint64_t reg;
    if (dwarf_frame_register(frame, number, room, &ops, &count) < 0 || count > UINT32_MAX)
        return false;
    if (!count) {
        *ret = (struct rule){.kind = ops && is_return ? RULE_UNDEFINED : RULE_SAME};
    } else if (count == 1 && is_register(&ops[0], &reg)) {
        *ret = (struct rule){.kind = RULE_REGISTER, .reg = (uint8_t)reg};
        return reg < REGISTERS_MOST;
    } else if (ops[0].atom != DW_OP_call_frame_cfa || !read_offset(ops, count, ret)) {
        bool is_value = ops[count - 1].atom == DW_OP_stack_value;
        *ret = (struct rule){.kind = is_value ? RULE_EXPRESSION_VALUE : RULE_EXPRESSION,
                             .ops = ops,
                             .op_count = (uint32_t)count};
        return ops != room;
    }
    return true;
}

static bool read_frame(Dwarf_Frame *frame, unsigned count, struct row *ret) {
    int column = dwarf_frame_info(frame, &ret->start, &ret->end, &ret->signal);
    if (column < 0 || column >= (int)count || !read_cfa(frame, &ret->cfa))
        return false;
    ret->return_register = (uint8_t)column;
    for (int i = 0; i < (int)count; i++)
        if (!read_register(frame, i, i == column, &ret->registers[i]))
            return false;
    return true;
}

void row_read(Dwarf_CFI *cfi, vaddr_t addr, unsigned count, struct row *ret) {
    Dwarf_Frame *frame = NULL;
    *ret = (struct row){0};
    ret->known = cfi && dwarf_cfi_addrframe(cfi, addr, &frame) == 0 && frame &&
                 read_frame(frame, count, ret);
    free(frame);
}
