/*
 * Whether a unit is compiled without optimisation, where its compiler does not say so: then its
 * variables are in slots of the frame, one for each. With optimisation most are in registers, from
 * place to place.
 */
#include "types/dwarf_reader.h"

enum { ENOUGH = 400, MOST_DEPTH = 16, RARE = 8 };

struct evidence {
    size_t slots, others; /* variables: in one slot; with lists of values and pieces */
    bool in_register;     /* one is in a register for a while */
};

static void see_list(struct evidence *e, Dwarf_Attribute *location) {
    Dwarf_Addr base, start, end;
    Dwarf_Op *ops;
    size_t count;
    ptrdiff_t next = 0;
    unsigned reg;
    bool is_value = false;
    while ((next = dwarf_getlocations(location, next, &base, &start, &end, &ops, &count)) > 0) {
        if (count == 1 && dwarf_is_register(&ops[0], &reg))
            e->in_register = true;
        for (size_t i = 0; i < count; i++)
            is_value |= ops[i].atom == DW_OP_stack_value || ops[i].atom == DW_OP_piece;
    }
    e->others += is_value;
}

static void see_variable(struct evidence *e, Dwarf_Die *die) {
    Dwarf_Attribute location;
    Dwarf_Op *ops;
    size_t count;
    if (!dwarf_attr(die, DW_AT_location, &location))
        return;
    if (dwarf_is_list(&location))
        see_list(e, &location);
    else if (dwarf_getlocation(&location, &ops, &count) == 0 && count && ops[0].atom == DW_OP_fbreg)
        e->slots++;
}

static void see_children(struct evidence *e, Dwarf_Die *die, unsigned depth) {
    Dwarf_Die child;
    for (int rc = dwarf_child(die, &child); rc == 0; rc = dwarf_siblingof(&child, &child)) {
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_formal_parameter || tag == DW_TAG_variable)
            see_variable(e, &child);
        else if (depth < MOST_DEPTH &&
                 (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine))
            see_children(e, &child, depth + 1);
    }
}

bool dwarf_unit_is_plain(struct debug_types *d, const Dwarf_Die *function) {
    struct dwarf_unit *unit = dwarf_unit_of(d, function);
    struct evidence e = {0};
    for (size_t i = 0; !unit->judged && i < unit->functions.count && !e.in_register; i++) {
        see_children(&e, &unit->functions.at[i].die, 0);
        if (e.slots > ENOUGH)
            break;
    }
    if (!unit->judged)
        unit->plain = !e.in_register && e.slots > RARE * e.others;
    unit->judged = true;
    return unit->plain;
}
