/*
 * Where a parameter is at its function's first instruction.
 *
 * Of a location list the entry that covers that address counts. A single description of the whole
 * function is another thing: without optimisation it names the slot in the frame that the prologue
 * fills, so before that only the ABI tells.
 */
#include <elf.h>
#include <string.h>

#include "types/dwarf_reader.h"

struct placing {
    struct debug_types *d;
    Dwarf_Die *function;
    vaddr_t low_pc;
    bool whole, changed;
};

static const struct place MISSING = {.kind = PLACE_MISSING};

static struct place by_abi(const struct placing *p) {
    return (struct place){.kind = p->changed ? PLACE_MISSING : PLACE_BY_ABI};
}

/* ---- registers ---- */

static int stack_register(uint16_t machine) {
    return machine == EM_X86_64 ? 7 : machine == EM_AARCH64 ? 31 : machine == EM_ARM ? 13 : -1;
}

/* CFA minus the stack pointer at the first instruction. */
static int64_t return_address_bytes(uint16_t machine) { return machine == EM_X86_64 ? 8 : 0; }

/* Of DW_OP_reg* and DW_OP_breg*; then OFFSET is what is added. */
static bool register_of(const Dwarf_Op *op, unsigned first, unsigned wide, unsigned *ret_reg,
                        int64_t *ret_offset) {
    if (op->atom >= first && op->atom < first + 32) {
        *ret_reg = op->atom - first;
        *ret_offset = (int64_t)op->number;
        return true;
    }
    *ret_reg = (unsigned)op->number;
    *ret_offset = (int64_t)op->number2;
    return op->atom == wide && op->number <= UINT16_MAX;
}

bool dwarf_is_register(const Dwarf_Op *op, unsigned *ret_reg) {
    int64_t unused;
    return register_of(op, DW_OP_reg0, DW_OP_regx, ret_reg, &unused);
}

bool dwarf_is_based(const Dwarf_Op *op, unsigned *ret_reg, int64_t *ret_offset) {
    return register_of(op, DW_OP_breg0, DW_OP_bregx, ret_reg, ret_offset);
}

/* ---- the frame ---- */

/* Go's locations are blocks, which libdw only takes before DWARF 4. As long as these are short, the
 * bytes are those of the form that came later. */
static void see_as_expression(Dwarf_Attribute *location) {
    Dwarf_Block block;
    bool old = location->form == DW_FORM_block || location->form == DW_FORM_block1;
    if (old && dwarf_formblock(location, &block) == 0 && block.length < 0x80)
        location->form = DW_FORM_exprloc;
}

/* The frame base at the first instruction, as distance from the CFA. */
static bool frame_base(const struct placing *p, int64_t *ret) {
    Dwarf_Attribute found;
    Dwarf_Op *ops;
    size_t count;
    unsigned reg;
    int64_t offset = 0;
    uint16_t machine = p->d->module->machine;
    if (!dwarf_attr_integrate(p->function, DW_AT_frame_base, &found))
        return false;
    see_as_expression(&found);
    if (dwarf_getlocation_addr(&found, p->low_pc, &ops, &count, 1) != 1 || count != 1)
        return false;
    *ret = 0;
    if (ops[0].atom == DW_OP_call_frame_cfa)
        return true;
    if (!dwarf_is_based(&ops[0], &reg, &offset) || (int)reg != stack_register(machine))
        return false;
    *ret = offset - return_address_bytes(machine);
    return true;
}

/* In memory at CFA + OFFSET. What is below the CFA is not written yet; on x86-64 the return address
 * is there. */
static struct place at_frame(const struct placing *p, int64_t offset) {
    if (offset < 0)
        return by_abi(p);
    return (struct place){.kind = PLACE_FRAME, .offset = offset};
}

/* ---- expressions ---- */

static struct place in_register(const struct placing *p, unsigned reg) {
    return (struct place){.kind = PLACE_REGISTER, .reg = (uint16_t)reg, .whole = p->whole};
}

/* Constants of one operation. */
static bool constant_of(const Dwarf_Op *op, uint64_t *ret) {
    *ret = op->number;
    if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
        *ret = op->atom - DW_OP_lit0;
        return true;
    }
    switch (op->atom) {
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
        return true;
    default:
        return false;
    }
}

/* The register whose value at the entry an operation asks for. */
static bool entry_register(Dwarf_Attribute *location, const Dwarf_Op *op, unsigned *ret_reg) {
    Dwarf_Op *inner;
    size_t count;
    Dwarf_Attribute value;
    if ((op->atom != DW_OP_entry_value && op->atom != DW_OP_GNU_entry_value) ||
        dwarf_getlocation_attr(location, op, &value) != 0 ||
        dwarf_getlocation(&value, &inner, &count) != 0 || count != 1)
        return false;
    return dwarf_is_register(&inner[0], ret_reg);
}

/* Constants of more than a word are pieces. */
static struct place constant_block(const Dwarf_Block *block) {
    struct place place = {.kind = PLACE_CONSTANT};
    if (block->length <= sizeof place.constant) {
        memcpy(&place.constant, block->data, block->length);
        return place;
    }
    place.kind = PLACE_PIECES;
    for (uint64_t at = 0, size; at < block->length; at += size) {
        size = block->length - at < 8 ? block->length - at : 8;
        if (place.piece_count == PLACE_MOST_PIECES)
            return MISSING;
        struct place_piece *piece = &place.pieces[place.piece_count++];
        *piece = (struct place_piece){.kind = PLACE_CONSTANT, .bytes = (uint32_t)size};
        memcpy(&piece->constant, block->data + at, size);
    }
    return place;
}

static bool implicit_constant(Dwarf_Attribute *location, const Dwarf_Op *op, struct place *ret) {
    Dwarf_Block block;
    if (op->atom != DW_OP_implicit_value ||
        dwarf_getlocation_implicit_value(location, op, &block) != 0)
        return false;
    *ret = constant_block(&block);
    return true;
}

/* In memory at the register's value + OFFSET. */
static struct place at_register(const struct placing *p, unsigned reg, int64_t offset) {
    uint16_t machine = p->d->module->machine;
    if (p->whole && !p->changed)
        return by_abi(p);
    if ((int)reg == stack_register(machine))
        return at_frame(p, offset - return_address_bytes(machine));
    return (struct place){.kind = PLACE_REGISTER,
                          .reg = (uint16_t)reg,
                          .offset = offset,
                          .address = true,
                          .whole = p->whole};
}

static struct place one_operation(const struct placing *p, Dwarf_Attribute *location,
                                  const Dwarf_Op *op) {
    unsigned reg;
    int64_t offset, base;
    struct place constant;
    if (dwarf_is_register(op, &reg))
        return in_register(p, reg);
    if (dwarf_is_based(op, &reg, &offset))
        return at_register(p, reg, offset);
    if (op->atom == DW_OP_fbreg)
        return frame_base(p, &base) ? at_frame(p, base + (int64_t)op->number) : by_abi(p);
    if (op->atom == DW_OP_call_frame_cfa) /* Go's first one on the stack */
        return at_frame(p, 0);
    if (implicit_constant(location, op, &constant))
        return constant;
    if (entry_register(location, op, &reg))
        return (struct place){.kind = PLACE_REGISTER, .reg = (uint16_t)reg, .address = true};
    return p->whole ? by_abi(p) : MISSING;
}

/* OP's value itself, which no memory holds. */
static struct place stack_value(const struct placing *p, Dwarf_Attribute *location,
                                const Dwarf_Op *op) {
    unsigned reg;
    int64_t offset;
    uint64_t value;
    if (constant_of(op, &value))
        return (struct place){.kind = PLACE_CONSTANT, .constant = value};
    if (entry_register(location, op, &reg))
        return (struct place){.kind = PLACE_REGISTER, .reg = (uint16_t)reg};
    if (dwarf_is_based(op, &reg, &offset) && offset == 0 &&
        (int)reg != stack_register(p->d->module->machine))
        return in_register(p, reg);
    return p->whole ? by_abi(p) : MISSING;
}

/* The object whose address is in the frame. */
static struct place behind(const struct placing *p, const Dwarf_Op *op) {
    int64_t base;
    struct place place = by_abi(p);
    if (op->atom == DW_OP_fbreg && frame_base(p, &base))
        place = at_frame(p, base + (int64_t)op->number);
    place.address = place.kind == PLACE_FRAME;
    return place;
}

static struct place simple(const struct placing *p, Dwarf_Attribute *location, const Dwarf_Op *ops,
                           size_t count) {
    if (count == 1)
        return one_operation(p, location, &ops[0]);
    if (count == 2 && ops[1].atom == DW_OP_stack_value)
        return stack_value(p, location, &ops[0]);
    if (count == 2 && ops[1].atom == DW_OP_deref)
        return behind(p, &ops[0]);
    return p->whole ? by_abi(p) : MISSING;
}

/* ---- pieces ---- */

static bool has_pieces(const Dwarf_Op *ops, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (ops[i].atom == DW_OP_piece || ops[i].atom == DW_OP_bit_piece)
            return true;
    return false;
}

static struct place_piece piece_of(const struct place *place, uint64_t bytes) {
    bool known = !place->address && (place->kind == PLACE_REGISTER || place->kind == PLACE_FRAME ||
                                     place->kind == PLACE_CONSTANT);
    return (struct place_piece){known ? place->kind : PLACE_MISSING, place->reg, place->offset,
                                place->constant, (uint32_t)bytes};
}

static struct place in_pieces(const struct placing *p, Dwarf_Attribute *location,
                              const Dwarf_Op *ops, size_t count) {
    struct place whole = {.kind = PLACE_PIECES, .whole = p->whole};
    size_t first = 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i].atom == DW_OP_bit_piece)
            return MISSING;
        if (ops[i].atom != DW_OP_piece)
            continue;
        if (whole.piece_count == PLACE_MOST_PIECES || ops[i].number > UINT32_MAX)
            return MISSING;
        struct place one = i == first ? MISSING : simple(p, location, ops + first, i - first);
        if (one.kind == PLACE_BY_ABI)
            return one;
        whole.pieces[whole.piece_count++] = piece_of(&one, ops[i].number);
        first = i + 1;
    }
    return whole;
}

/* ---- computed values ---- */

static bool is_computation(const Dwarf_Op *op) {
    uint64_t unused;
    switch (op->atom) {
    case DW_OP_and:
    case DW_OP_shr:
    case DW_OP_convert:
    case DW_OP_stack_value:
    case DW_OP_piece:
        return true;
    default:
        return constant_of(op, &unused);
    }
}

/* Clang computes the members of a small struct from the register that it comes in. That the
 * function uses this register at its entry tells that the parameter is passed: where the ABI says,
 * if it is the same register. */
static bool is_computed(const struct placing *p, const Dwarf_Op *ops, size_t count,
                        struct place *ret) {
    unsigned found = 0, reg;
    int64_t offset;
    *ret = (struct place){.kind = PLACE_REGISTER, .whole = true};
    for (size_t i = 0; i < count; i++) {
        bool based = dwarf_is_based(&ops[i], &reg, &offset);
        if (!based && !is_computation(&ops[i]))
            return false;
        if (based && (offset || (found && reg != ret->reg)))
            return false;
        if (based)
            ret->reg = (uint16_t)reg;
        found += based;
    }
    return found && count > 2 && !p->whole && !p->changed &&
           (int)ret->reg != stack_register(p->d->module->machine);
}

/* ---- a parameter ---- */

static bool constant_attribute(Dwarf_Die *parameter, struct place *ret) {
    Dwarf_Attribute found;
    Dwarf_Block block;
    *ret = (struct place){.kind = PLACE_CONSTANT};
    if (!dwarf_attr(parameter, DW_AT_const_value, &found))
        return false;
    if (dwarf_number(parameter, DW_AT_const_value, &ret->constant))
        return true;
    *ret = dwarf_formblock(&found, &block) == 0 ? constant_block(&block) : MISSING;
    return true;
}

bool dwarf_is_list(Dwarf_Attribute *location) {
    unsigned form = dwarf_whatform(location);
    return form == DW_FORM_sec_offset || form == DW_FORM_loclistx || form == DW_FORM_data4 ||
           form == DW_FORM_data8;
}

/* The description that holds at LOW_PC. An empty range there is for the entry alone, before the
 * first instruction's own statements (as gdb has it: dwarf2_find_location_expression()). */
static bool description_at(Dwarf_Attribute *location, vaddr_t low_pc, Dwarf_Op **ret_ops,
                           size_t *ret_count) {
    Dwarf_Addr base, start, end;
    ptrdiff_t next = 0;
    while (dwarf_is_list(location) &&
           (next = dwarf_getlocations(location, next, &base, &start, &end, ret_ops, ret_count)) > 0)
        if (start == low_pc && end == low_pc)
            return *ret_count > 0;
    return dwarf_getlocation_addr(location, low_pc, ret_ops, ret_count, 1) == 1 && *ret_count;
}

struct place dwarf_place_of(struct debug_types *d, Dwarf_Die *function, Dwarf_Die *parameter,
                            vaddr_t low_pc, bool changed) {
    struct place place;
    Dwarf_Attribute location;
    Dwarf_Op *ops;
    size_t count;
    if (constant_attribute(parameter, &place))
        return place;
    if (!dwarf_attr(parameter, DW_AT_location, &location))
        return MISSING;
    see_as_expression(&location);
    struct placing p = {d, function, low_pc, !dwarf_is_list(&location), changed};
    if (!description_at(&location, low_pc, &ops, &count))
        return MISSING;
    if (is_computed(&p, ops, count, &place))
        return place;
    return has_pieces(ops, count) ? in_pieces(&p, &location, ops, count)
                                  : simple(&p, &location, ops, count);
}
