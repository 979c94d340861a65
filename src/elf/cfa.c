/*
 * Call-frame instructions of DWARF 5, 6.4.2, and vendors' ones of <dwarf.h> (libdw). Rules of
 * other registers than the CFA are decoded and ignored.
 */
#include "elf/cfa.h"

#include <dwarf.h>

enum { STATES_MAX = 32 }; /* depth of DW_CFA_remember_state; compilers use 1 */

struct run {
    struct cursor in;
    const struct cfa_factors *factors;
    struct cfa rule;
    bool outermost;
    vaddr_t pc, end;
    size_t depth;
    struct cfa states[STATES_MAX];
    size_t first_row;
    cfa_rows *rows;
};

static const struct cfa unknown = {.reg = CFA_EXPRESSION};

/* Adds a row for the current rule from FROM on, unless the last row is equal. */
static void add_row(struct run *run, vaddr_t from) {
    cfa_rows *rows = run->rows;
    struct cfa_row row = {from, (int16_t)run->rule.reg, run->rule.offset};
    if (rows->count > run->first_row) {
        const struct cfa_row *last = rows->at + rows->count - 1;
        if (last->reg == row.reg && last->offset == row.offset)
            return;
    }
    ARRAY_PUSH(rows, row);
}

/* Advances to PC. False: the other instructions are beyond the end. */
static bool advance_to(struct run *run, vaddr_t pc) {
    if (pc < run->pc)
        run->in.failed = true;
    if (pc <= run->pc)
        return true;
    add_row(run, run->pc);
    run->pc = pc;
    return pc < run->end;
}

static bool advance(struct run *run, uint64_t delta) {
    uint64_t bytes;
    bool fits =
        !__builtin_mul_overflow(delta, run->factors->code, &bytes) && bytes < run->end - run->pc;
    return advance_to(run, fits ? run->pc + bytes : run->end);
}

static void set_offset(struct run *run, int64_t offset) {
    if (run->rule.reg == CFA_EXPRESSION || offset != (int32_t)offset)
        run->rule = unknown;
    else
        run->rule.offset = (int32_t)offset;
}

static void set_rule(struct run *run, uint64_t reg, int64_t offset) {
    run->rule.reg = reg <= INT16_MAX ? (int32_t)reg : CFA_EXPRESSION;
    set_offset(run, offset);
}

static int64_t factored(struct run *run) {
    int64_t product;
    if (__builtin_mul_overflow(cursor_sleb(&run->in), run->factors->data, &product))
        return INT64_MAX; /* set_offset() refuses it */
    return product;
}

static void skip_block(struct run *run) { cursor_take(&run->in, cursor_uleb(&run->in)); }

static void remember_state(struct run *run) {
    if (run->depth < STATES_MAX)
        run->states[run->depth++] = run->rule;
    else
        run->in.failed = true;
}

static void restore_state(struct run *run) {
    if (run->depth)
        run->rule = run->states[--run->depth];
    else
        run->in.failed = true;
}

/* Runs an instruction that defines the CFA. False: OPCODE does not. */
static bool step_cfa(struct run *run, uint8_t opcode) {
    struct cursor *in = &run->in;
    uint64_t reg;
    switch (opcode) {
    case DW_CFA_def_cfa:
        reg = cursor_uleb(in);
        set_rule(run, reg, (int64_t)cursor_uleb(in));
        return true;
    case DW_CFA_def_cfa_sf:
        reg = cursor_uleb(in);
        set_rule(run, reg, factored(run));
        return true;
    case DW_CFA_def_cfa_register:
        set_rule(run, cursor_uleb(in),
                 run->rule.reg == CFA_EXPRESSION ? INT64_MAX : run->rule.offset);
        return true;
    case DW_CFA_def_cfa_offset:
        set_offset(run, (int64_t)cursor_uleb(in));
        return true;
    case DW_CFA_def_cfa_offset_sf:
        set_offset(run, factored(run));
        return true;
    case DW_CFA_def_cfa_expression:
        skip_block(run);
        run->rule = unknown;
        return true;
    case DW_CFA_remember_state:
        remember_state(run);
        return true;
    case DW_CFA_restore_state:
        restore_state(run);
        return true;
    default:
        return false;
    }
}

/* Skips the operands of other instructions. Unknown ones set `failed`. */
static void step_over(struct run *run, uint8_t opcode) {
    struct cursor *in = &run->in;
    switch (opcode) {
    case DW_CFA_nop:
    case DW_CFA_GNU_window_save: /* AArch64: DW_CFA_AARCH64_negate_ra_state */
    case 0x2c:                   /* DW_CFA_AARCH64_negate_ra_state_with_pc */
        return;
    case DW_CFA_undefined:
        if (cursor_uleb(in) == run->factors->return_column && run->rows->count == run->first_row)
            run->outermost = true;
        return;
    case DW_CFA_restore_extended:
    case DW_CFA_same_value:
    case DW_CFA_GNU_args_size:
        cursor_uleb(in);
        return;
    case DW_CFA_offset_extended:
    case DW_CFA_register:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
    case DW_CFA_GNU_negative_offset_extended:
        cursor_uleb(in);
        cursor_uleb(in); /* signed and unsigned numbers have the same length */
        return;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        cursor_uleb(in);
        skip_block(run);
        return;
    default:
        in->failed = true;
    }
}

/* Runs one instruction. False: the other instructions are beyond the range. */
static bool step(struct run *run) {
    uint8_t opcode = cursor_u8(&run->in);
    switch (opcode & 0xc0) {
    case DW_CFA_advance_loc:
        return advance(run, opcode & 0x3f);
    case DW_CFA_offset:
        cursor_uleb(&run->in);
        return true;
    case DW_CFA_restore:
        return true;
    }
    switch (opcode) {
    case DW_CFA_advance_loc1:
        return advance(run, cursor_u8(&run->in));
    case DW_CFA_advance_loc2:
        return advance(run, cursor_u16(&run->in));
    case DW_CFA_advance_loc4:
        return advance(run, cursor_u32(&run->in));
    case DW_CFA_MIPS_advance_loc8:
        return advance(run, cursor_u64(&run->in));
    case DW_CFA_set_loc:
        return advance_to(
            run, cursor_pointer(&run->in, run->factors->encoding, &(struct pointer_bases){0}));
    }
    if (!step_cfa(run, opcode))
        step_over(run, opcode);
    return true;
}

struct cfa cfa_run(const struct cfa_program *program, vaddr_t start, vaddr_t end, cfa_rows *rows) {
    struct run run;
    run.in = program->code;
    run.factors = &program->factors;
    run.rule = program->initial;
    run.outermost = program->initial.outermost;
    run.pc = start;
    run.end = end;
    run.depth = 0;
    run.first_row = rows->count;
    run.rows = rows;
    bool inside = true;
    while (inside && !run.in.failed && run.in.at < run.in.end)
        inside = step(&run);
    if (run.in.failed)
        run.rule = unknown;
    if (inside)
        add_row(&run, run.pc);
    run.rule.outermost = run.outermost;
    return run.rule;
}
