/*
 * Where code that LLVM has not optimised keeps a parameter. A slot in the frame is described for
 * the whole function; what is passed by its address has a list that begins within the prologue.
 */
#include "types/dwarf_reader.h"

static bool frame_base(Dwarf_Die *function, vaddr_t low_pc, struct home *ret) {
    Dwarf_Attribute found;
    Dwarf_Op *ops;
    size_t count;
    unsigned reg;
    ret->offset = 0;
    if (!dwarf_attr_integrate(function, DW_AT_frame_base, &found) ||
        dwarf_getlocation_addr(&found, low_pc, &ops, &count, 1) != 1 || count != 1)
        return false;
    if (ops[0].atom == DW_OP_call_frame_cfa) {
        ret->base = HOME_CFA;
        return true;
    }
    if (!dwarf_is_register(&ops[0], &reg) && !dwarf_is_based(&ops[0], &reg, &ret->offset))
        return false;
    ret->base = (int32_t)reg;
    return true;
}

/* The place that OP computes. */
static bool memory_of(Dwarf_Die *function, vaddr_t low_pc, const Dwarf_Op *op, struct home *ret) {
    unsigned reg;
    if (op->atom == DW_OP_fbreg)
        return frame_base(function, low_pc, ret) &&
               !__builtin_add_overflow(ret->offset, (int64_t)op->number, &ret->offset);
    if (!dwarf_is_based(op, &reg, &ret->offset))
        return false;
    ret->base = (int32_t)reg;
    return true;
}

static struct home home_of(Dwarf_Die *function, vaddr_t low_pc, const Dwarf_Op *ops, size_t count) {
    struct home home = {.kind = HOME_NONE};
    unsigned reg;
    if (count == 1 && dwarf_is_register(&ops[0], &reg)) {
        home.kind = HOME_REGISTER;
        home.base = (int32_t)reg;
    } else if ((count == 1 || (count == 2 && ops[1].atom == DW_OP_deref)) &&
               memory_of(function, low_pc, &ops[0], &home)) {
        home.kind = count == 1 ? HOME_MEMORY : HOME_ADDRESS;
    }
    return home;
}

/* The description with the lowest range. */
static struct home first_of(Dwarf_Die *function, Dwarf_Attribute *location, vaddr_t low_pc) {
    struct home home = {.kind = HOME_NONE};
    Dwarf_Addr base, start, end;
    Dwarf_Op *ops;
    size_t count;
    ptrdiff_t next = 0;
    while ((next = dwarf_getlocations(location, next, &base, &start, &end, &ops, &count)) > 0) {
        if (end == start || start <= low_pc || (home.from && home.from <= start))
            continue;
        home = home_of(function, low_pc, ops, count);
        home.from = start;
    }
    return home;
}

struct home dwarf_home_of(Dwarf_Die *function, Dwarf_Die *parameter, vaddr_t low_pc) {
    const struct home none = {.kind = HOME_NONE};
    Dwarf_Attribute location;
    Dwarf_Op *ops;
    size_t count;
    if (!dwarf_attr(parameter, DW_AT_location, &location))
        return none;
    if (dwarf_is_list(&location))
        return first_of(function, &location, low_pc);
    if (dwarf_getlocation(&location, &ops, &count) != 0)
        return none;
    struct home home = home_of(function, low_pc, ops, count);
    /* What a register holds may change before the prologue is over. */
    return home.kind == HOME_REGISTER ? none : home;
}
